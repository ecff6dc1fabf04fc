"""Checks of a benchmark file before a run: `eyechart data check`.

`check_source` reads every row in one pass, decodes every image and returns a report of findings, each with a
code, a severity and examples. A run checks its samples with the same `Lint` while it reads them
(runs/sources.py). Only ids and image references are kept in memory.
"""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec

from eyechart.data.columns.answers import LETTERS, ROTATION_OFFSET
from eyechart.data.columns.image_columns import MediaColumn, MediaDetector, guess_media
from eyechart.data.files.rows import find_row_number
from eyechart.data.files.tables import NA_WORDS
from eyechart.data.images.loading import ImageLoader, MissingImage
from eyechart.data.samples import DuplicateId, FileSource, find_file_source, get_reasons, get_remarks
from eyechart.errors import DataError, ImageError
from eyechart.placeholders import place_images
from eyechart.registry import find_benchmark_by_columns
from eyechart.types import ImageRef, Sample, Source

Severity = Literal["error", "warning", "note"]
Progress = Callable[[int], None]

# By code, the most serious first: how serious a finding is, and what it says.
FINDINGS: Mapping[str, tuple[Severity, str]] = {
    "stopped": ("error", "the file cannot be read any further"),
    "malformed-row": ("error", "rows that cannot be read"),
    "duplicate-id": ("error", "rows with an id that is already in use"),
    "other-benchmark": ("error", "the columns are those of a benchmark with its own prompt and scoring"),
    "unused-images": ("error", "columns that look like images but are not sent"),
    "unused-media": ("error", "columns of videos, audio or documents, which cannot be sent"),
    "no-images": ("error", "no image was found (if they are in another folder: --image-root)"),
    "missing-image": ("error", "missing images"),
    "bad-image": ("error", "images that cannot be sent"),
    "no-image": ("error", "rows without an image"),
    "answer-not-an-option": ("error", "answers that are not among the options"),
    "empty-question": ("error", "rows without a question"),
    "answer-case": ("warning", "lower-case answers to upper-case options"),
    "answer-blanks": ("warning", "answers with blanks around them, which official scorers may never accept"),
    "missing-option": ("warning", "options such as None and NA, which official loaders read as missing"),
    "several-letters": ("warning", "answers of several letters, which single-choice scorers never accept"),
    "single-answer": ("warning", "rows with a single answer, for which VQA accuracy is always 0"),
    "no-answer": ("note", "rows without an answer; they are asked but not scored"),
    "one-option": ("warning", "rows with a single option"),
    "repeated-option": ("warning", "rows with two options of the same text"),
    "unread-options": ("warning", "option texts in which no letters were found"),
    "unused-options": ("warning", "columns that look like options; the questions are asked without them"),
    "one-option-column": ("warning", "a single option column; the questions are asked without it"),
    "option-images": ("warning", "options that look like images; they are sent as text"),
    "text-images": ("warning", "questions with an image in Markdown or HTML; it is sent as text"),
    "unread-images": ("warning", "columns named like image columns, but without images"),
    "unfilled-placeholder": ("warning", "rows with more image placeholders than images"),
    "unplaced-image": ("warning", "rows with an image that no placeholder refers to"),
    "rotations": ("warning", "rotations of other rows, each asked as a separate question"),
    "published-file": ("warning", "a published file that is not asked by its official rules"),
    "large-image": ("warning", "images over 20 MB or 50 million pixels"),
    "remark": ("warning", "can change the score"),
    "letter-balance": ("note", "one letter is the answer unusually often"),
    "repeated-id": ("note", "repeated ids, made unique by a number"),
}
LARGE_BYTES = 20_000_000  # endpoints commonly refuse request bodies above this
LARGE_PIXELS = 50_000_000

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
_MAX_EXAMPLES = 5
_MAX_UNDER_WAY = 32  # images
_BALANCE_MIN_GOLDS = 20  # below, an uneven count of letters means nothing
_OPTION_ROWS_CHECKED = 1000  # options without an image up to here are not images
_IMAGE_IN_TEXT = re.compile(r"!\[[^\]\n]{0,200}\]\([^)\s]|<img\s[^>]{0,200}src\s?=", re.IGNORECASE)
_GROUP_COLUMN = "g_index"  # in files that hold rotations: the index of the question


@dataclass(slots=True)
class Finding:
    """All cases of one code: how many, and the first few."""

    severity: Severity
    code: str
    about: str
    count: int = 0
    rows: list[int] = field(default_factory=list)  # the first few, as `examples`
    examples: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)  # what to do about them, without repeats


@dataclass(slots=True)
class LintReport:
    """What was found in a file."""

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
        """Whether there are no errors."""
        return all(finding.severity != "error" for finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        return {**msgspec.to_builtins(self), "is_clean": self.is_clean}

    def lines(self) -> list[str]:
        lines = [f"{self.name}: {self.n_rows} rows, {self.n_images} images ({self.origin})"]
        lines += [f"  {reason}" for reason in self.reasons]
        for name, count in self.presence.items():
            lines.append(f"  {'image' if name == 'picture' else name}: {count} of {self.n_rows}")
        if self.letters:
            total = self.letters.total()
            counts = ", ".join(f"{letter} {count}" for letter, count in sorted(self.letters.items()))
            top, most = self.letters.most_common(1)[0]
            lines.append(f"  answers by letter: {counts} (always {top}: {most / total:.1%})")
        for finding in self.findings:
            where = f"; rows {', '.join(map(str, finding.rows))}" if finding.rows else ""
            more = ", ..." if finding.count > len(finding.rows) > 0 else ""
            found = f"{finding.about}: {finding.count}{where}{more}"
            lines.append(f"{finding.severity}: {found} [{finding.code}]")
            lines += [f"    {example}" for example in finding.examples]
            lines += [f"    hint: {hint}" for hint in finding.hints]
        return lines if self.findings else [*lines, "no problems found"]


def check_source(
    source: Source | Lint,
    loader: ImageLoader,
    *,
    look_at_images: bool = True,
    progress: Progress | None = None,
) -> LintReport:
    """Read all of a source, decode all of its images, and report what was found."""
    lint = source if isinstance(source, Lint) else Lint(source)
    pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))
    images = _ImageChecks(loader, pool, lint)
    try:
        for sample in lint.samples():
            lint.check_sample(sample)
            lint.count_sample(sample)
            if look_at_images:
                images.check_sample(sample)
            if progress is not None:
                progress(lint.report.n_rows)
        images.finish()
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C, do not decode what is queued
    return lint.finish()


class Lint:
    """Collects findings, sample by sample. `is_plain`: the user said that no benchmark reads the file."""

    def __init__(self, source: Source, *, needs_images: bool = False, is_plain: bool = False) -> None:
        self.source = source
        self.report = LintReport(source.name, source.origin, reasons=get_reasons(source))
        self.found: dict[str, Finding] = {}
        self.file = find_file_source(source)  # None: a benchmark reads the columns in its own way
        fields = self.file.detection.fields if self.file else {}
        self.expects_images = "image" in fields or needs_images
        self.ids_may_repeat = self.file is not None and self.file.detection.ids_may_repeat
        self.keeps_golds = bool(
            self.file and self.file.detection.keeps_golds and not self.file.options.is_official
        )
        self.by_chance = 0.0  # expected hits of a random letter, over the rows in `letters`
        self.n_samples = 0
        self._questions: set[int] = set()  # ids below ROTATION_OFFSET, of which larger ones are rotations
        self._without_image: list[int] = []  # the first rows, where images are optional
        self._looks: MediaDetector | None = None
        if self.file is not None:
            self._check_columns(self.file, is_plain=is_plain)

    def _check_columns(self, file: FileSource, *, is_plain: bool) -> None:
        detection = file.detection
        media = {one.column for one in detection.media}
        self._looks = MediaDetector({*detection.tried.get("image", ()), *detection.same_images, *media})
        self._add_media(detection.media)
        if (meant := find_benchmark_by_columns(detection.columns)) is not None:
            name, telling = meant
            severity: Severity = "warning" if is_plain else "error"
            hint = f"--as {name} asks and scores as {name} does; --as plain treats it as an ordinary file"
            self.add("other-benchmark", 0, f"{', '.join(sorted(telling))}: {name}", hint, severity)
        for column in detection.unread_images:
            self.add("unread-images", 0, column, f"if it holds file names: {_flags([column])}")
        if len(columns := detection.like_options) > 1:
            named = zip(LETTERS, map(shlex.quote, columns), strict=False)
            hint = " ".join(f"--field {letter}={column}" for letter, column in named)
            self.add("unused-options", 0, ", ".join(columns), f"if they are options: {hint}")
        elif columns:
            self.add("one-option-column", 0, columns[0], "options need two or more columns: A, B, ...")

    def _add_media(self, media: Sequence[MediaColumn]) -> None:
        """Columns that are not sent: an error where the question may depend on them."""
        assert self.file is not None
        detection = self.file.detection
        used = [slot[0] for slot in detection.images if slot[0] in detection.fields.get("image", ())]
        both = _flags((*used, *(one.column for one in media if one.kind == "image")))
        hint = f"{both} sends them; --input none asks without images"
        if used:
            hint = f"{both} sends all of them; {_flags(used)} sends {', '.join(used)} alone"
        for one in media:
            example = f"column {one.column}, row {one.row}: {one.example}"
            is_image = one.kind == "image"
            code, advice = "unused-images" if is_image else "unused-media", hint
            if not is_image:
                advice = f"--input none asks without the {one.kind}"
            if one.kind == "document":
                advice = f"{_flags([one.column])} sends their pages (needs eyechart[pdf]); {advice}"
            if detection.has_named_images if is_image else used:
                self.add(code, one.row, example, severity="warning")
            else:
                self.add(code, one.row, example, advice)

    def add(
        self, code: str, row: int, example: str = "", hint: str = "", severity: Severity | None = None
    ) -> None:
        usual, about = FINDINGS[code]
        severity = severity or usual
        found = self.found.setdefault(code, Finding(severity, code, about))
        found.severity = "error" if severity == "error" else found.severity
        found.count += 1
        found.rows += [row] * (row > 0 and len(found.rows) < _MAX_EXAMPLES)
        found.examples += [example] * (example != "" and len(found.examples) < _MAX_EXAMPLES)
        found.hints += [hint] * (hint not in ("", *found.hints) and len(found.hints) < _MAX_EXAMPLES)

    def samples(self) -> Iterator[Sample]:
        """All samples that can be read; a row that cannot becomes a finding."""
        try:
            readable: Iterable[Sample] = self.source
            if isinstance(self.source, FileSource):  # with the blanks that a run removes from golds
                detection = replace(self.source.detection, trims_golds=False)
                readable = replace(self.source, detection=detection).read(self._add_problem)
            for sample in readable:
                self.report.n_rows += 1
                yield sample
        except DataError as stop:
            self.add("stopped", 0, stop.message, stop.hint)

    def _add_problem(self, problem: DataError) -> None:
        self.report.n_rows += 1
        code = "duplicate-id" if isinstance(problem, DuplicateId) else "malformed-row"
        self.add(code, find_row_number(problem.message), problem.message, problem.hint)

    def check_sample(self, sample: Sample) -> None:
        """Check what can change the score."""
        self.n_samples += 1
        self.report.n_images += len(sample.images)
        if not sample.question.strip():
            self.add("empty-question", sample.row)
        if not sample.images and self.expects_images:
            self.add("no-image", sample.row, hint="--input any asks such rows without images")
        elif not sample.images and len(self._without_image) < _MAX_EXAMPLES:
            self._without_image.append(sample.row)
        if sample.choices_text and not sample.choices:
            self.add("unread-options", sample.row, repr(sample.choices_text[:80]))
        if len(sample.golds) == 1 and sample.golds[0] != sample.golds[0].strip():
            example = f"row {sample.row}: {sample.golds[0][:40]!r}"
            self.add("answer-blanks", sample.row, example, "remove the blanks; eyechart's own scorers do")
        if sample.choices:
            self._check_golds(sample)
        if self._looks is not None:
            self._check_plain(sample, self._looks)

    def _check_golds(self, sample: Sample) -> None:
        if len(sample.choices) == 1:
            self.add("one-option", sample.row)
        if lost := next((text for text in sample.choices.values() if text in NA_WORDS), ""):
            self.add("missing-option", sample.row, f"row {sample.row}: {lost!r}")
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
            # Official code compares letters, so the text of an option is never right.
            elif sample.circle or self.keeps_golds or letter not in map(str.strip, sample.choices.values()):
                self.add("answer-not-an-option", sample.row, example)

    def _check_plain(self, sample: Sample, looks: MediaDetector) -> None:
        """Check what applies only to files that no benchmark reads in its own way."""
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
        if self.n_samples < _OPTION_ROWS_CHECKED and (
            look := next((text for text in sample.choices.values() if guess_media(text) == "image"), "")
        ):
            self.add("option-images", sample.row, f"row {sample.row}: {look[:60]!r}")
        if not sample.circle and self._is_rotation(sample):
            self.add("rotations", sample.row, hint="--as mmbench scores a question by all of its rotations")

    def _is_rotation(self, sample: Sample) -> bool:
        """By the column with the question's index, or by the published numbering."""
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
        """Count what samples have, and check what cannot change the score."""
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
            # `ACD` is a question with several right options.
            if letter and (letter in sample.choices or all(part in sample.choices for part in letter)):
                self.report.letters.update([letter])
                self.by_chance += 1 / len(sample.choices)

    def finish(self) -> LintReport:
        """The report, once all samples were checked."""
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
            missing.code, (missing.severity, missing.about) = "no-images", FINDINGS["no-images"]
            missing.examples = missing.examples[:1]
        in_order = sorted(self.found.values(), key=lambda one: list(FINDINGS).index(one.code))
        report.findings = sorted(in_order, key=lambda one: _SEVERITIES.index(one.severity))
        return report


def _flags(columns: Sequence[str]) -> str:
    return " ".join(f"--field image={shlex.quote(column)}" for column in columns)


class _ImageChecks:
    """Decodes images in a few threads, each image once, with a bounded number under way."""

    def __init__(self, loader: ImageLoader, pool: ThreadPoolExecutor, lint: Lint) -> None:
        self.loader = loader
        self.pool = pool
        self.lint = lint
        self.errors: dict[ImageRef, ImageError | None] = {}  # of all images that were met
        self.under_way: deque[tuple[int, ImageRef, Future[tuple[int, int, int]] | None]] = deque()

    def check_sample(self, sample: Sample) -> None:
        for ref in sample.images:
            future = None if ref in self.errors else self.pool.submit(self.loader.check, ref)
            self.errors.setdefault(ref)
            self.under_way.append((sample.row, ref, future))
        self.finish(_MAX_UNDER_WAY)

    def finish(self, at_most: int = 0) -> None:
        """Wait until at most so many images are under way."""
        while len(self.under_way) > at_most:
            row, ref, future = self.under_way.popleft()
            try:
                width, height, n_bytes = future.result() if future else (0, 0, 0)
                if n_bytes > LARGE_BYTES or width * height > LARGE_PIXELS:
                    self.lint.add("large-image", row, f"{ref}: {width} x {height}, {n_bytes / 1e6:.1f} MB")
            except ImageError as error:
                self.errors[ref] = error
            except Exception as error:  # an unexpected error must not hide the other images
                self.errors[ref] = ImageError(f"{ref}: cannot be read ({type(error).__name__}: {error})")
            if found := self.errors[ref]:
                code = "missing-image" if isinstance(found, MissingImage) else "bad-image"
                self.lint.add(code, row, found.message, found.hint)
