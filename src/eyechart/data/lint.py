"""Looking a benchmark file over before money is spent on it.

One pass, row by row; only ids and the references of pictures already looked at are kept.
"""

from __future__ import annotations

import os
import shlex
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from eyechart.data.choices import LETTERS
from eyechart.data.columns import REPEATING_IDS
from eyechart.data.findings import ABOUT, SEVERITY, Finding, Report
from eyechart.data.images import ImageLoader, MissingImage
from eyechart.data.lazy import remarks_of
from eyechart.data.reading import DuplicateId
from eyechart.data.rows import OnProblem, row_of
from eyechart.data.source import FileSource, reasons_of
from eyechart.errors import DataError, ImageError
from eyechart.types import ImageRef, Sample, Source

Progress = Callable[[int], None]

LARGE_BYTES = 20_000_000  # endpoints commonly refuse request bodies above this
LARGE_PIXELS = 50_000_000
_BALANCE_MIN_GOLDS = 20  # below, a lopsided count of letters says nothing


def check(
    source: Source, loader: ImageLoader, *, look_at_images: bool = True, progress: Progress | None = None
) -> Report:
    """Read all of a source, decode all of its pictures, and say what was found."""
    lint = _Lint(source)
    pool = ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1))
    pictures = _Pictures(loader, pool, lint) if look_at_images else None
    try:
        for sample in lint.samples():
            lint.look_at(sample)
            if pictures is not None:
                pictures.look_at(sample)
            if progress is not None:
                progress(lint.report.n_rows)
        if pictures is not None:
            pictures.finish()
        for remark in remarks_of(source) if "stopped" not in lint.found else ():
            lint.add("remark", 0, remark)
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C nobody wants the pictures that wait their turn
    return lint.finished()


class _Lint:
    """The findings so far."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.report = Report(source.name, source.origin, reasons=reasons_of(source))
        self.found: dict[str, Finding] = {}
        fields = source.detection.fields if isinstance(source, FileSource) else {}
        self.expects_images = "image" in fields
        self.ids_may_repeat = fields.get("id", ("",))[0].lower() in REPEATING_IDS
        if isinstance(source, FileSource) and (columns := source.detection.like_options):
            named = zip(LETTERS, map(shlex.quote, columns), strict=False)
            hint = " ".join(f"--field {letter}={column}" for letter, column in named)
            self.add("unused-options", 0, ", ".join(columns), f"if they are: {hint}")
        self.by_chance = 0.0  # expected hits of a random letter, over the rows counted in `letters`

    def add(self, code: str, row: int, example: str = "", hint: str = "") -> None:
        self.found.setdefault(code, Finding(SEVERITY[code], code, ABOUT[code])).add(row, example, hint)

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
        self.add(code, row_of(problem.message), problem.message, problem.hint)

    def look_at(self, sample: Sample) -> None:
        presence = {
            "question": sample.question.strip(),
            "picture": sample.images,
            "answer": sample.golds,
            "options": sample.choices,
            "hint": sample.hint,
            **{name: sample.meta.get(name) for name in ("category", "l2-category", "split")},
        }
        self.report.presence.update(name for name, value in presence.items() if value)
        self.report.n_images += len(sample.images)
        if not sample.question.strip():
            self.add("empty-question", sample.row)
        if not sample.images and self.expects_images:
            self.add("no-image", sample.row)
        if not sample.golds:
            self.add("no-answer", sample.row)
        if self.ids_may_repeat and "#" in sample.id:
            self.add("repeated-id", sample.row, sample.id)
        if sample.choices_text and not sample.choices:
            self.add("unread-options", sample.row, repr(sample.choices_text[:80]))
        if sample.choices:
            self._look_at_choices(sample)

    def _look_at_choices(self, sample: Sample) -> None:
        if len(sample.choices) == 1:
            self.add("one-option", sample.row)
        texts = Counter(text.strip() for text in sample.choices.values())
        if texts and (twice := texts.most_common(1)[0])[1] > 1:
            self.add("repeated-option", sample.row, repr(twice[0][:80]))
        for gold in sample.golds:
            letter = gold.strip()
            if letter and all(part in sample.choices for part in _letters(letter, sample)):
                self.report.letters.update([letter])
                self.by_chance += 1 / len(sample.choices)
            elif letter.upper() in sample.choices:
                self.add("answer-case", sample.row, repr(gold))
            else:
                known = ", ".join(sample.choices)
                self.add(
                    "answer-not-an-option", sample.row, f"row {sample.row}: {gold[:40]!r} (options: {known})"
                )

    def finished(self) -> Report:
        report = self.report
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
        order = list(SEVERITY)
        report.findings = sorted(
            self.found.values(),
            key=lambda finding: (
                ("error", "warning", "note").index(finding.severity),
                order.index(finding.code),
            ),
        )
        return report


def _letters(gold: str, sample: Sample) -> Iterable[str]:
    """The letters of a gold; ``ACD`` is a question with several right options."""
    return [gold] if gold in sample.choices else gold


def _readable(source: Source, on_problem: OnProblem) -> Iterator[Sample]:
    return source.read(on_problem) if isinstance(source, FileSource) else iter(source)


class _Pictures:
    """Decodes pictures in a few threads, each picture once, with a bounded number under way."""

    def __init__(self, loader: ImageLoader, pool: ThreadPoolExecutor, lint: _Lint) -> None:
        self.loader = loader
        self.pool = pool
        self.lint = lint
        self.results: dict[ImageRef, ImageError | None] = {}
        self.under_way: deque[tuple[int, ImageRef, Future[tuple[int, int, int]] | None]] = deque()

    def look_at(self, sample: Sample) -> None:
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
            else:
                if n_bytes > LARGE_BYTES or width * height > LARGE_PIXELS:
                    self.lint.add("large-image", row, f"{ref}: {width} x {height}, {n_bytes / 1e6:.1f} MB")
        error_before = self.results[ref]
        if error_before is not None:
            code = "missing-image" if isinstance(error_before, MissingImage) else "bad-image"
            self.lint.add(code, row, error_before.message, error_before.hint)
