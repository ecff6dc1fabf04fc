"""Rows of a table as our samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from eyechart.compat.vlmeval.frames import Frame, plain
from eyechart.data.circular import OFFSET
from eyechart.data.columns import detect
from eyechart.data.fields import take_apart
from eyechart.data.rows import Row
from eyechart.errors import DataError, listed
from eyechart.types import Sample

# A data set with one of these in its name holds rotations: a question counts if all its rows are right.
CIRCULAR_NAMES = ("mmbench", "ccbench", "circular", "mmcr")
_LOOKED_AT = 20


def is_circular(name: str) -> bool:
    """Whether a data set's name says that its rows are rotations of fewer questions.

    >>> is_circular("my_MMBench"), is_circular("custom_mcq")
    (True, False)
    """
    return any(part in name.lower() for part in CIRCULAR_NAMES)


def samples_of(frame: Frame, name: str) -> list[Sample]:
    """A sample a row; its pictures are left to whoever builds the prompt."""
    columns = [str(column) for column in frame.columns]
    if "question" not in [column.lower() for column in columns]:
        raise DataError(f"{name}: no column 'question' (found: {listed(columns, 12)})", hint="add it")
    records = frame.itertuples(index=False, name=None)
    rows = [
        Row(number, 0, dict(zip(columns, map(_value, values), strict=True)))
        for number, values in enumerate(records, 1)
    ]
    detection = detect(Path(name), "tsv", "utf-8", columns, rows[:_LOOKED_AT], {})
    made = []
    for row in rows:
        parts = take_apart(row, detection, f"{name}: row {row.number}")
        made.append(
            Sample(
                id=parts.id,
                question=parts.question,
                golds=parts.golds,
                choices=parts.choices,
                choices_text=parts.choices_text,
                hint=parts.hint,
                meta=parts.meta,
                row=row.number,
            )
        )
    return list(circled(made)) if is_circular(name) and detection.letters else made


def circled(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The samples, each with the circle it belongs to; a rotation whose question is not there counts nothing.

    Rows of one question share the column `g_index`, or else the remainder of their index by 1,000,000.
    """
    kept = list(samples)
    known = {sample.id for sample in kept}
    for sample in kept:
        group = _number(sample.meta.get("g_index"))
        index = _number(sample.id)
        question = str(group if group is not None else index % OFFSET if index is not None else "")
        if not question:
            yield sample
        elif question in known:
            yield replace(sample, circle=question)
        else:
            yield replace(sample, weight=0.0)


def _value(cell: Any) -> Any:
    """A cell as the journal can keep it."""
    value = plain(cell)
    return value if value is None or isinstance(value, str | int | float | list | dict) else str(value)


def _number(value: object) -> int | None:
    text = str(value).removesuffix(".0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
