"""What is found wrong with a benchmark file: kinds of trouble, how grave they are, and the report."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from eyechart.data.choices import LETTERS, ROTATION_OFFSET
from eyechart.data.columns import REPEATING_IDS
from eyechart.data.image_columns import MediaColumn, MediaDetector, guess_media
from eyechart.data.images import ImageLoader, MissingImage
from eyechart.data.rows import OnProblem, find_row_number
from eyechart.data.source import DuplicateId, FileSource, find_file_source, get_reasons, get_remarks
from eyechart.errors import DataError, ImageError
from eyechart.placeholders import place_images
from eyechart.registry import find_benchmark_by_columns
from eyechart.types import ImageRef, Sample, Source

Severity = Literal["error", "warning", "note"]

_EXAMPLES = 5
_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

SEVERITY: dict[str, Severity] = {
    "stopped": "error",
    "malformed-row": "error",
    "duplicate-id": "error",
    "other-benchmark": "error",
    "unused-images": "error",
    "unused-media": "error",
    "no-images": "error",
    "missing-image": "error",
    "bad-image": "error",
    "no-image": "error",
    "answer-not-an-option": "error",
    "empty-question": "error",
    "answer-case": "warning",
    "several-letters": "warning",
    "no-answer": "note",
    "one-option": "warning",
    "repeated-option": "warning",
    "unread-options": "warning",
    "unused-options": "warning",
    "one-option-column": "warning",
    "option-images": "warning",
    "text-images": "warning",
    "unread-images": "warning",
    "unfilled-placeholder": "warning",
    "unplaced-image": "warning",
    "rotations": "warning",
    "published-file": "warning",
    "large-image": "warning",
    "remark": "warning",
    "letter-balance": "note",
    "repeated-id": "note",
}
ABOUT = {
    "stopped": "the file cannot be read further",
    "malformed-row": "rows that cannot be read",
    "duplicate-id": "rows whose id was used before",
    "other-benchmark": "the columns are those of a benchmark, which asks and scores in its own way",
    "unused-images": "columns that look like images and are not sent",
    "unused-media": "columns of videos, audio or documents, which cannot be sent",
    "no-images": "none of the pictures is there (if they lie elsewhere: --image-root)",
    "missing-image": "pictures that are not there",
    "bad-image": "pictures that cannot be sent",
    "answer-not-an-option": "answers that are none of the options",
    "empty-question": "rows without a question",
    "answer-case": "answers in small letters where the options are capital",
    "several-letters": "answers of several letters, which scorers of single choices never accept",
    "no-answer": "rows without an answer; they will be asked but not scored",
    "one-option": "rows with a single option",
    "repeated-option": "rows with two options of the same text",
    "unread-options": "option texts in which no letters were found",
    "unused-options": "columns that look like options; the questions are asked without them",
    "one-option-column": "a single column of options; the questions are asked without it",
    "option-images": "options that look like images; they are sent as text",
    "text-images": "questions with an image in Markdown or HTML; it is sent as text",
    "unread-images": "columns named after images, which hold nothing that can be sent",
    "no-image": "rows without an image",
    "unfilled-placeholder": "rows with more placeholders for images than images",
    "unplaced-image": "rows with an image that none of the placeholders means",
    "rotations": "rotations of other rows, each asked as a question of its own",
    "published-file": "a published file, asked by another rule",
    "large-image": "pictures over 20 MB or 50 million pixels",
    "remark": "what can move the score",
    "letter-balance": "one letter is the answer unusually often",
    "repeated-id": "repeated ids, told apart by a number",
}


@dataclass(slots=True)
class Finding:
    """One kind of trouble: how often, and where first."""

    severity: Severity
    code: str
    about: str
    count: int = 0
    rows: list[int] = field(default_factory=list)  # the first few
    examples: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)  # what to do about them, each said once

    def add(self, row: int, example: str, hint: str) -> None:
        """One more case, of which the first few are kept."""
        self.count += 1
        if len(self.rows) < _EXAMPLES and row:
            self.rows.append(row)
        if len(self.examples) < _EXAMPLES and example:
            self.examples.append(example)
        if len(self.hints) < _EXAMPLES and hint and hint not in self.hints:
            self.hints.append(hint)


@dataclass(slots=True)
class LintReport:
    """What a look through a file found."""

    name: str
    origin: str
    n_rows: int = 0
    n_images: int = 0
    presence: Counter[str] = field(default_factory=Counter)  # rows that have a question, answer, ...
    letters: Counter[str] = field(default_factory=Counter)  # gold letters
    findings: list[Finding] = field(default_factory=list)
    reasons: tuple[str, ...] = ()  # why the file was taken for what it is

    @property
    def is_clean(self) -> bool:
        """Whether nothing needs to be mended before a run."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "origin": self.origin,
            "n_rows": self.n_rows,
            "n_images": self.n_images,
            "is_clean": self.is_clean,
            "presence": dict(self.presence),
            "letters": dict(self.letters),
            "findings": [asdict(finding) for finding in self.findings],
            "reasons": list(self.reasons),
        }

    def in_order(self) -> list[Finding]:
        """The findings, the gravest first."""
        order = list(SEVERITY)
        return sorted(self.findings, key=lambda one: (_SEVERITIES.index(one.severity), order.index(one.code)))

    def lines(self) -> list[str]:
        lines = [f"{self.name}: {self.n_rows} rows, {self.n_images} pictures ({self.origin})"]
        lines += [f"  {reason}" for reason in self.reasons]
        lines += [f"  {name}: {count} of {self.n_rows}" for name, count in self.presence.items()]
        if self.letters:
            total = self.letters.total()
            counts = ", ".join(f"{letter} {count}" for letter, count in sorted(self.letters.items()))
            top, most = self.letters.most_common(1)[0]
            lines.append(f"  answers by letter: {counts} (always {top}: {most / total:.1%})")
        for finding in self.findings:
            where = f"; rows {', '.join(map(str, finding.rows))}" if finding.rows else ""
            more = ", ..." if finding.count > len(finding.rows) > 0 else ""
            lines.append(
                f"{finding.severity}: {finding.about}: {finding.count}{where}{more} [{finding.code}]"
            )
            lines += [f"    {example}" for example in finding.examples]
            lines += [f"    hint: {hint}" for hint in finding.hints]
        return lines if self.findings else [*lines, "nothing to complain about"]


# -- Looking a benchmark file over before money is spent on it.
#
# One pass, row by row; only ids and the references of pictures already looked at are kept. A run looks at its
# samples in the same way while it reads them: see run/preflight.py.

Progress = Callable[[int], None]

LARGE_BYTES = 20_000_000  # endpoints commonly refuse request bodies above this
LARGE_PIXELS = 50_000_000
_BALANCE_MIN_GOLDS = 20  # below, a lopsided count of letters says nothing
_OPTIONS_LOOKED_AT = 1000  # rows: what options do not look like by then they are not
_IMAGE_IN_TEXT = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\s]|<img\s[^>]{0,200}src\s?=", re.IGNORECASE)
_GROUP_COLUMN = "g_index"  # in files that hold rotations: the index of the question


def check_source(
    source: Source | Lint,
    loader: ImageLoader,
    *,
    look_at_images: bool = True,
    progress: Progress | None = None,
) -> LintReport:
    """Read all of a source, decode all of its pictures, and say what was found."""
    lint = source if isinstance(source, Lint) else Lint(source)
    pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))
    pictures = _Pictures(loader, pool, lint) if look_at_images else None
    try:
        for sample in lint.samples():
            lint.check_sample(sample)
            lint.count_sample(sample)
            if pictures is not None:
                pictures.check_sample(sample)
            if progress is not None:
                progress(lint.report.n_rows)
        if pictures is not None:
            pictures.finish()
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C nobody wants the pictures that wait their turn
    return lint.finish()


class Lint:
    """The findings so far. `is_plain`: somebody said that it is a file like any other."""

    def __init__(self, source: Source, *, needs_images: bool = False, is_plain: bool = False) -> None:
        self.source = source
        self.report = LintReport(source.name, source.origin, reasons=get_reasons(source))
        self.found: dict[str, Finding] = {}
        self.file = find_file_source(source)  # None: a source that reads its columns in its own way
        fields = self.file.detection.fields if self.file else {}
        self.expects_images = "image" in fields or needs_images
        self.ids_may_repeat = fields.get("id", ("",))[0].lower() in REPEATING_IDS
        self.by_chance = 0.0  # expected hits of a random letter, over the rows counted in `letters`
        self.n_samples = 0
        self._questions: set[int] = set()  # small numbers that are ids, of which larger ones are rotations
        self._without_image: list[int] = []  # the first rows, where nothing says that there should be one
        self._looks: MediaDetector | None = None
        if self.file is not None:
            self._look_at_columns(self.file, is_plain=is_plain)

    def _look_at_columns(self, file: FileSource, *, is_plain: bool) -> None:
        detection = file.detection
        media = {one.column for one in detection.media}
        self._looks = MediaDetector({*detection.tried.get("image", ()), *detection.same_images, *media})
        self._add_media(detection.media)
        if (meant := find_benchmark_by_columns(detection.columns)) is not None:
            name, telling = meant
            severity: Severity = "warning" if is_plain else "error"
            hint = f"--as {name} asks and scores as {name} does; --as plain: as a file like any other"
            self.add("other-benchmark", 0, f"{', '.join(sorted(telling))}: {name}", hint, severity)
        for column in detection.unread_images:
            hint = f"if it holds file names: --field image={shlex.quote(column)}"
            self.add("unread-images", 0, column, hint)
        if columns := detection.like_options:
            named = zip(LETTERS, map(shlex.quote, columns), strict=False)
            hint = " ".join(f"--field {letter}={column}" for letter, column in named)
            self.add("unused-options", 0, ", ".join(columns), f"if they are: {hint}")
        elif detection.one_option:
            self.add(
                "one-option-column", 0, detection.one_option, "options are in two columns or more: A, B, ..."
            )

    def _add_media(self, media: Sequence[MediaColumn]) -> None:
        """Columns that nobody sends: an error where a question may be asked without what it is about."""
        assert self.file is not None
        detection = self.file.detection
        used = [slot[0] for slot in detection.images if slot[0] in detection.fields.get("image", ())]
        both = _flags((*used, *(one.column for one in media if one.kind == "image")))
        hint = f"{both} sends them; --input none asks without images"
        if used:
            hint = f"{both} sends all of them; {_flags(used)} sends {', '.join(used)} alone"
        for one in media:
            example = f"column {one.column}, row {one.row}: {one.example}"
            if one.kind == "image" and detection.has_named_images:
                self.add("unused-images", one.row, example, severity="warning")
            elif one.kind == "image":
                self.add("unused-images", one.row, example, hint)
            elif used:
                self.add("unused-media", one.row, example, severity="warning")
            else:
                self.add("unused-media", one.row, example, f"--input none asks without the {one.kind}")

    def add(
        self, code: str, row: int, example: str = "", hint: str = "", severity: Severity | None = None
    ) -> None:
        """One more case of a kind of trouble."""
        finding = self.found.get(code)
        if finding is None:
            finding = self.found[code] = Finding(severity or SEVERITY[code], code, ABOUT[code])
        if (severity or SEVERITY[code]) == "error":
            finding.severity = "error"
        finding.add(row, example, hint)

    def samples(self) -> Iterator[Sample]:
        """All samples that can be read; what cannot becomes a finding."""
        try:
            for sample in _readable(self.source, self._problem):
                self.report.n_rows += 1
                yield sample
        except DataError as stop:
            self.add("stopped", 0, stop.message, stop.hint)

    def _problem(self, problem: DataError) -> None:
        self.report.n_rows += 1
        code = "duplicate-id" if isinstance(problem, DuplicateId) else "malformed-row"
        self.add(code, find_row_number(problem.message), problem.message, problem.hint)

    def check_sample(self, sample: Sample) -> None:
        """What can move the number."""
        self.n_samples += 1
        self.report.n_images += len(sample.images)
        if not sample.question.strip():
            self.add("empty-question", sample.row)
        if not sample.images:
            if self.expects_images:
                self.add("no-image", sample.row, hint="--input any asks such rows as text")
            elif len(self._without_image) < 5:
                self._without_image.append(sample.row)
        if sample.choices_text and not sample.choices:
            self.add("unread-options", sample.row, repr(sample.choices_text[:80]))
        if sample.choices:
            self._look_at_golds(sample)
        if self._looks is not None:
            self._look_at_plain(sample, self._looks)

    def _look_at_golds(self, sample: Sample) -> None:
        if len(sample.choices) == 1:
            self.add("one-option", sample.row)
        for gold in sample.golds:
            letter = gold.strip()
            if letter in sample.choices:
                continue
            example = f"row {sample.row}: {gold[:40]!r} (options: {', '.join(sample.choices)})"
            if letter and all(part in sample.choices for part in letter):
                if self.file is not None:
                    self.add("several-letters", sample.row, example)
            elif letter.upper() in sample.choices:
                self.add("answer-case", sample.row, repr(gold))
            elif not any(text.strip() == letter for text in sample.choices.values()):
                self.add("answer-not-an-option", sample.row, example)

    def _look_at_plain(self, sample: Sample, looks: MediaDetector) -> None:
        """What is told only of files that no benchmark reads in its own way."""
        looks.add_row(sample.row, sample.meta)
        block = (sample.choices_text,) if sample.choices_text else sample.choices.values()
        placed = place_images("\n".join((sample.hint, sample.question, *block)), len(sample.images))
        if placed is not None and placed.unfilled:
            many = f"{len(sample.images)} image{'s' * (len(sample.images) != 1)}"
            self.add("unfilled-placeholder", sample.row, f"row {sample.row}: {placed.unfilled[0]}, {many}")
        elif placed is not None and placed.n_unplaced:
            self.add("unplaced-image", sample.row)
        if ("![" in sample.question or "<" in sample.question) and _IMAGE_IN_TEXT.search(sample.question):
            self.add("text-images", sample.row)
        if not sample.choices:
            return
        if self.n_samples < _OPTIONS_LOOKED_AT and (look := _image_among(sample.choices.values())):
            self.add("option-images", sample.row, f"row {sample.row}: {look[:60]!r}")
        if not sample.circle and self._is_rotation(sample):
            self.add(
                "rotations", sample.row, hint="--as mmbench counts a question if all its rotations are right"
            )

    def _is_rotation(self, sample: Sample) -> bool:
        """By the column that names the question, or by the published numbering."""
        group = sample.meta.get(_GROUP_COLUMN)
        if group is not None:
            return str(group).removesuffix(".0") != sample.id
        if not (sample.id.isascii() and sample.id.isdigit()) or len(sample.id) > 9:
            return False
        index = int(sample.id)
        if index < ROTATION_OFFSET:
            self._questions.add(index)
        return index >= ROTATION_OFFSET and index % ROTATION_OFFSET in self._questions

    def count_sample(self, sample: Sample) -> None:
        """What samples have, and what is worth a remark without moving any number."""
        presence = {
            "question": sample.question.strip(),
            "picture": sample.images,
            "answer": sample.golds,
            "options": sample.choices,
            "hint": sample.hint,
            **{name: sample.meta.get(name) for name in ("category", "l2-category", "split")},
        }
        self.report.presence.update(name for name, value in presence.items() if value)
        if not sample.golds:
            self.add("no-answer", sample.row)
        if self.ids_may_repeat and "#" in sample.id:
            self.add("repeated-id", sample.row, sample.id)
        if not sample.choices:
            return
        texts = Counter(text.strip() for text in sample.choices.values())
        if (twice := texts.most_common(1)[0])[1] > 1:
            self.add("repeated-option", sample.row, repr(twice[0][:80]))
        for gold in sample.golds:
            letter = gold.strip()
            if letter and all(part in sample.choices for part in _letters(letter, sample)):
                self.report.letters.update([letter])
                self.by_chance += 1 / len(sample.choices)

    def finish(self) -> LintReport:
        """The report, once all samples were looked at."""
        report = self.report
        remarks = None if "stopped" in self.found else get_remarks(self.source)
        for remark in remarks or ():
            self.add("remark", 0, remark)
        if self._looks is not None:
            self._add_media(self._looks.found())
        if report.n_images and not self.expects_images and remarks is None:
            for row in self._without_image:
                self.add("no-image", row, severity="warning")
        total = report.letters.total()
        if total >= _BALANCE_MIN_GOLDS and len(report.letters) > 1:
            letter, most = report.letters.most_common(1)[0]
            if most > 1.5 * self.by_chance:
                self.add("letter-balance", 0, f"always {letter} would score {most / total:.1%}")
        missing = self.found.get("missing-image")
        if missing is not None and missing.count == report.n_images:
            self.found.pop("missing-image")
            missing.code, missing.about = "no-images", ABOUT["no-images"]
            missing.severity = SEVERITY["no-images"]
            missing.examples = missing.examples[:1]
            self.found["no-images"] = missing
        report.findings = list(self.found.values())
        report.findings = report.in_order()
        return report


def _image_among(options: Iterable[str]) -> str:
    return next((text for text in options if guess_media(text) == "image"), "")


def _flags(columns: Sequence[str]) -> str:
    return " ".join(f"--field image={shlex.quote(column)}" for column in columns)


def _letters(gold: str, sample: Sample) -> Iterable[str]:
    """The letters of a gold; ``ACD`` is a question with several right options."""
    return [gold] if gold in sample.choices else gold


def _readable(source: Source, on_problem: OnProblem) -> Iterator[Sample]:
    return source.read(on_problem) if isinstance(source, FileSource) else iter(source)


class _Pictures:
    """Decodes pictures in a few threads, each picture once, with a bounded number under way."""

    def __init__(self, loader: ImageLoader, pool: ThreadPoolExecutor, lint: Lint) -> None:
        self.loader = loader
        self.pool = pool
        self.lint = lint
        self.results: dict[ImageRef, ImageError | None] = {}
        self.under_way: deque[tuple[int, ImageRef, Future[tuple[int, int, int]] | None]] = deque()

    def check_sample(self, sample: Sample) -> None:
        for ref in sample.images:
            is_new = ref not in self.results
            self.results.setdefault(ref, None)
            future = self.pool.submit(self.loader.check, ref) if is_new else None
            self.under_way.append((sample.row, ref, future))
        while len(self.under_way) > 32:
            self._take_one()

    def finish(self) -> None:
        while self.under_way:
            self._take_one()

    def _take_one(self) -> None:
        row, ref, future = self.under_way.popleft()
        if future is not None:
            try:
                width, height, n_bytes = future.result()
            except ImageError as error:
                self.results[ref] = error
            except Exception as error:  # one image, whatever is wrong with it, never hides the others
                self.results[ref] = ImageError(f"{ref}: cannot be read ({type(error).__name__}: {error})")
            else:
                if n_bytes > LARGE_BYTES or width * height > LARGE_PIXELS:
                    self.lint.add("large-image", row, f"{ref}: {width} x {height}, {n_bytes / 1e6:.1f} MB")
        error_before = self.results[ref]
        if error_before is not None:
            code = "missing-image" if isinstance(error_before, MissingImage) else "bad-image"
            self.lint.add(code, row, error_before.message, error_before.hint)
