"""Corrections of golds: a CSV with the columns id, old, new and why, laid over any benchmark.

The published golds stay in the run, and the headline is theirs; the score with the corrections stands beside
it, computed from the same replies. A correction whose `old` is not the gold of the question any more is
not applied: the published file has changed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from eyechart.errors import DataError
from eyechart.report.export import strip_guard
from eyechart.score.thinking import show_reply
from eyechart.types import Result, Sample, Scorer

COLUMNS = ("id", "old", "new", "why")
_BETWEEN = " | "  # accepted answers in a cell


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """One corrected gold."""

    id: str
    old: str
    new: str
    why: str = ""

    def fits(self, sample: Sample) -> bool:
        """Whether it corrects this question as it is now."""
        return not list(list_stale([sample], [self]))


def format_golds(golds: Sequence[str]) -> str:
    """The accepted answers in one cell.

    >>> format_golds(["cat", "a cat"])
    'cat | a cat'
    """
    return _BETWEEN.join(golds)


def read_corrections(path: str | Path) -> list[Correction]:
    """The rows with a new answer; the others are questions that a person left as they are."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            if missing := [name for name in COLUMNS if name not in (reader.fieldnames or ())]:
                found = ", ".join(reader.fieldnames or ()) or "nothing"
                hint = f"its columns are {', '.join(COLUMNS)}; more may follow (found: {found})"
                raise DataError(f"{path}: no column {missing[0]!r}", hint=hint)
            rows = [{name: strip_guard((row[name] or "").strip()) for name in COLUMNS} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        raise DataError(f"{path} cannot be read: {err}", hint="a correction file is a CSV in UTF-8") from err
    known: dict[str, Correction] = {}
    for number, row in enumerate(rows, start=2):
        if not row["new"]:
            continue
        one = Correction(**row)
        if not one.id or not one.old:
            raise DataError(
                f"{path}, row {number}: id and old are needed", hint="old is the published answer"
            )
        if known.setdefault(one.id, one) != one:
            raise DataError(f"{path}, row {number}: {one.id} is corrected twice", hint="leave one row out")
    if not known:
        raise DataError(f"{path} corrects nothing", hint="fill in the column new")
    return list(known.values())


def list_stale(samples: Iterable[Sample], corrections: Sequence[Correction]) -> Iterator[str]:
    """A line for each correction that does not fit the file, which has changed or is another one."""
    left = {one.id: one for one in corrections}
    for sample in samples:
        one = left.pop(sample.id, None)
        if one is not None and format_golds(sample.golds) != one.old:
            yield (
                f"{one.id} had the answer {one.old!r}, and has {format_golds(sample.golds)!r} now: "
                "not corrected, the published file has changed"
            )
        elif one is not None and sample.choices and not set(_split(one.new)) <= set(sample.choices):
            yield f"{one.id} has no option {one.new!r}: not corrected (options: {', '.join(sample.choices)})"
    for name in left:
        yield f"no question is called {name}: not corrected"


def correct_results(
    results: Iterable[Result], usable: Sequence[tuple[Correction, Sample]], scoring: Scorer
) -> Iterator[Result]:
    """The results with those of corrected questions scored again; `usable`: what fits, with the question."""
    by_id = {one.id: (one, sample) for one, sample in usable}
    for result in results:
        one, original = by_id.get(result.sample.circle or result.sample.id, (None, None))
        if one is None or original is None or result.reply is None:
            yield result
            continue
        letters = {text: letter for letter, text in result.sample.choices.items()}
        options = original.choices  # of a rotation, the new gold has another letter
        golds = tuple(letters.get(options.get(gold, ""), gold) for gold in _split(one.new))
        sample = replace(result.sample, golds=golds)
        yield replace(result, sample=sample, score=scoring(show_reply(result.reply, scoring), sample))


def _split(cell: str) -> list[str]:
    return [part.strip() for part in cell.split("|")]
