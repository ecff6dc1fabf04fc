"""The rows of VLMEvalKit's files: a question as it was asked, its `prediction`, its `hit` and its `log`.

Two passes make them: the first finds the columns and what became of the circles, the second writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from eyechart.exchange import NO_ANSWER
from eyechart.report.circles import fold
from eyechart.report.credit import credit
from eyechart.report.record import MAX_META, Cell, to_json_text
from eyechart.report.vlmevalkit.accuracy import Line, accuracy
from eyechart.types import Result

_OUR_OWN = frozenset({"rotation"})  # what we put into a sample's meta ourselves
NOTED = "l2_category"  # as MMBench's note calls the column `l2-category` of its files
_SAME = {NOTED: "l2-category"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What the first pass found."""

    columns: Columns
    verdicts: Verdicts
    accuracies: list[Line]


def survey(results: Iterable[Result], *, as_noted: bool = False) -> Survey:
    """Look over the results of one trial; `as_noted`: with every column that MMBench's note names."""
    finder, verdicts = _Finder(), Verdicts()

    def seen() -> Iterator[Result]:
        for result in results:
            finder.see(result)
            verdicts.see(result)
            yield result

    def questions() -> Iterator[Result]:
        for question in fold(seen()):
            verdicts.settle(question)
            yield question

    lines = accuracy(questions())
    return Survey(columns=finder.columns(as_noted=as_noted), verdicts=verdicts, accuracies=lines)


@dataclass(slots=True)
class _Finder:
    """The columns, while rows that may have further ones come in."""

    letters: dict[str, None] = field(default_factory=dict)
    meta: dict[str, None] = field(default_factory=dict)
    has_hints: bool = False
    has_answers: bool = False

    def see(self, result: Result) -> None:
        sample = result.sample
        self.letters.update(dict.fromkeys(sample.choices))
        if len(self.meta) < MAX_META:
            self.meta.update(dict.fromkeys(str(key) for key in sample.meta if key not in _OUR_OWN))
        self.has_hints |= bool(sample.hint)
        self.has_answers |= bool(sample.golds)

    def columns(self, *, as_noted: bool) -> Columns:
        noted_letters, noted_meta = ("ABCD", ("category", NOTED)) if as_noted else ("", ())
        letters = {*self.letters, *noted_letters}
        named = {"index", "question", "hint", "answer", "prediction", "hit", "log", *letters}
        return Columns(
            letters=tuple(sorted(letters)),
            meta=tuple(key for key in dict.fromkeys((*self.meta, *noted_meta)) if key not in named),
            has_hints=self.has_hints,
            has_answers=self.has_answers,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a file: those of the source without its pictures."""

    letters: tuple[str, ...]
    meta: tuple[str, ...]
    has_hints: bool
    has_answers: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The heading, but for what came of the questions."""
        hint = ("hint",) if self.has_hints else ()
        answer = ("answer",) if self.has_answers else ()
        return ("index", "question", *hint, *self.letters, *answer, *self.meta)

    def predicted(self, result: Result) -> list[Cell]:
        """A row of the file."""
        sample = result.sample
        golds = sample.golds
        gold = golds[0] if len(golds) == 1 else to_json_text(golds) if golds else None
        return [
            _index(sample.id),
            sample.question,
            *([sample.hint] if self.has_hints else []),
            *(sample.choices.get(letter) for letter in self.letters),
            *([gold] if self.has_answers else []),
            *(_cell(sample.meta.get(key, sample.meta.get(_SAME.get(key, "")))) for key in self.meta),
            result.reply.text if result.reply else NO_ANSWER,
        ]


@dataclass(slots=True)
class Verdicts:
    """What became of every circle: whether it was hit, and how each of its rows was read."""

    hits: dict[str, float | None] = field(default_factory=dict)  # by the id of the question
    logs: dict[str, list[str]] = field(default_factory=dict)  # by circle

    def see(self, result: Result) -> None:
        """Note how one row was read."""
        sample = result.sample
        if sample.circle:
            self.logs.setdefault(sample.circle, []).append(f"{sample.id}: {_line(result)}")

    def settle(self, question: Result) -> None:
        """Note what became of a whole circle."""
        if question.sample.circle:
            self.hits[question.sample.id] = credit(question)

    def has(self, result: Result) -> bool:
        """Whether the row is a question of its own, and not the rotation of another."""
        sample = result.sample
        return sample.id in self.hits if sample.circle else bool(sample.weight)

    def of(self, result: Result) -> tuple[Cell, str]:
        """The `hit` and the `log` of a question."""
        sample = result.sample
        if not sample.circle:
            return _number(credit(result)), _line(result)
        return _number(self.hits[sample.id]), "\n".join(self.logs[sample.circle])


def _line(result: Result) -> str:
    """One row's verdict in words."""
    if result.score is None:
        return result.failure.reason if result.failure else "not asked yet"
    score, wanted = result.score, ", ".join(result.sample.golds) or "unknown"
    return f"{score.outcome}: read {score.read or 'nothing'}, answer {wanted} ({score.route})"


def _number(value: float | None) -> Cell:
    """1 rather than 1.0, as a hit is counted."""
    return int(value) if value is not None and value == int(value) else value


def _index(sample_id: str) -> Cell:
    is_number = len(sample_id) < 16 and sample_id.isascii() and sample_id.isdigit()
    return int(sample_id) if is_number and str(int(sample_id)) == sample_id else sample_id


def _cell(value: Any) -> Cell:
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None  # no cell holds it
    return value if value is None or isinstance(value, str | int | float) else to_json_text(value)
