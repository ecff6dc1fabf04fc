"""VLMEvalKit's table of accuracies: a row a split, a column overall and for every category.

Source of the rule: open-compass/VLMEvalKit, commit e8e78f05. Golden vectors: tests/golden/report_acc.jsonl.
Numbers are fractions. Where the official code fails (a category that only some rows have), rows without
one count in no category.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from eyechart.report.credit import credit
from eyechart.report.exports import guarded
from eyechart.report.files import text_file
from eyechart.types import Result

GROUPS = ("l2-category", "category")
NO_SPLIT = "none"
_FIRST = ("split", "Overall")  # how every line begins

# As published: the six abilities of MMBench go by these.
SHORT_NAMES: Mapping[str, str] = {
    "coarse_perception": "CP",
    "finegrained_perception (instance-level)": "FP-S",
    "finegrained_perception (cross-instance)": "FP-C",
    "logic_reasoning": "LR",
    "relation_reasoning": "RR",
    "attribute_reasoning": "AR",
}

Line: TypeAlias = dict[str, str | float]


def report_acc(rows: Iterable[Mapping[str, Any]]) -> list[Line]:
    """One line a split, sorted: `split`, `Overall`, the values of `l2-category`, then those of `category`.

    A row has a `hit` (0 to 1) and may have the three columns. A group that a split has nothing of is NaN.
    As published, a name that both columns have is that of `category`. Unlike there, no group replaces another
    number of its line: one that is called ``Overall`` or ``split`` is ``Overall (category)`` here.

    >>> report_acc([{"hit": 1, "category": "ocr"}, {"hit": 0, "category": "scene"}])
    [{'split': 'none', 'Overall': 0.5, 'ocr': 1.0, 'scene': 0.0}]
    """
    sums: dict[tuple[str, str, str], list[float]] = {}  # split, column, value to sum and count
    for row in rows:
        split = _text(row.get("split")) or NO_SPLIT
        for column in ("", *GROUPS):
            value = _text(row.get(column)) if column else ""
            if value or not column:
                total = sums.setdefault((split, column, value), [0.0, 0.0])
                total[0] += row["hit"]
                total[1] += 1
    groups = {column: _names({value for _, of, value in sums if of == column}, column) for column in GROUPS}
    lines: list[Line] = []
    for split in sorted({split for split, _, _ in sums}):
        line: Line = {"split": split, "Overall": _mean(sums.get((split, "", "")))}
        for column in GROUPS:
            for value, name in groups[column].items():
                line[name] = _mean(sums.get((split, column, value)))
        lines.append(line)
    return lines


def _names(values: Iterable[str], column: str) -> dict[str, str]:
    """What the groups of a column are called in the table, sorted by their values; no two by one name.

    >>> _names({"ocr", "Overall", "coarse_perception"}, "category")
    {'Overall': 'Overall (category)', 'coarse_perception': 'CP', 'ocr': 'ocr'}
    """
    found: dict[str, str] = {}
    for value in sorted(values):
        name = SHORT_NAMES.get(value, value)
        while name in _FIRST or name in found.values():
            name = f"{name} ({column})"
        found[value] = name
    return found


def accuracy(questions: Iterable[Result]) -> list[Line]:
    """The table of a run, circles folded already: what has no score does not count."""
    return report_acc(
        {**{name: question.sample.meta.get(name) for name in ("split", *GROUPS)}, "hit": value}
        for question in questions
        if question.sample.weight and (value := credit(question)) is not None
    )


def write_acc(lines: Sequence[Line], path: str | Path) -> None:
    """The table as CSV: every cell in quotes, nothing between them for NaN."""
    with text_file(path) as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow([guarded(name) for name in lines[0]])
        writer.writerows([_cell(value) for value in line.values()] for line in lines)


def _cell(value: str | float) -> str:
    if isinstance(value, str):
        return guarded(value)
    return "" if math.isnan(value) else repr(value)


def _mean(total: Sequence[float] | None) -> float:
    return total[0] / total[1] if total else math.nan


def _text(value: Any) -> str:
    """A group's name; an empty cell, which may come as NaN, is none."""
    return "" if value is None or value != value else str(value).strip()
