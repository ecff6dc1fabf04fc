"""Rows as InSight-o3's loader reads them, without pandas.

The authors read annotation files with `pandas.read_json`, which guesses types over whole columns (quirk Q7):
texts that all look like numbers become numbers, and a key that a row lacks is NaN. Golds, records and groups
follow. Not reproduced: a row without options in a file that has them is asked without the word ``nan``, and
columns whose name looks like a date, at which the official code fails, are read as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from eyechart.types import Sample

AS_WRITTEN = "as-written"  # in meta: the row's own names, in its order
OFFICIAL_GOLD = "official-answer"  # in what is withheld: the gold, where the loader makes it a number
NAN_GROUP = "NaN"  # as Python's JSON spells it

Kind: TypeAlias = Literal["as written", "whole", "real"]  # what a column's values are made


def make_official_records(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `pandas.read_json` gives them back.

    >>> make_official_records([{"answer": "5", "options": "A. 1"}, {"answer": " 7"}])
    [{'answer': 5, 'options': 'A. 1'}, {'answer': 7, 'options': nan}]
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = []
    for name in names:
        values = [row.get(name, math.nan) for row in rows]
        kind = guess_kind(values)
        columns.append([convert_value(value, kind) for value in values])
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def find_group(record: Mapping[str, Any]) -> str:
    """The group that a record counts in: its category, else its subset, else unknown.

    >>> find_group({"category": math.nan, "subset": "map"}), find_group({"subset": "map"}), find_group({})
    ('NaN', 'map', 'unknown')
    """
    group = next((record[name] for name in ("category", "subset") if name in record), "unknown")
    if isinstance(group, str):
        return group
    if group is None or isinstance(group, bool):
        return {None: "null", True: "true", False: "false"}[group]
    return NAN_GROUP if group != group else str(group)


def find_official_gold(sample: Sample) -> object:
    """The gold as the official code compares it: text, or what its loader makes of the column.

    >>> find_official_gold(Sample(id="0", question="How many?", golds=("007",)))
    '007'
    """
    return sample.withheld.get(OFFICIAL_GOLD, sample.golds[0])


def guess_kind(values: Iterable[Any]) -> Kind:
    """What the values of a column are made; looks no further than the first that is no number.

    >>> guess_kind(["5", " 7"]), guess_kind(["5", "2.5"]), guess_kind(["5", math.nan]), guess_kind(["5", "B"])
    ('whole', 'real', 'real', 'as written')
    """
    kinds: set[type] = set()
    is_whole = True
    for value in values:
        number = _number(value)
        if number is None:
            return "as written"
        kinds.add(type(value))
        is_whole = is_whole and number.is_integer() and abs(number) < 2**63
    if kinds <= {bool} or kinds == {int}:
        return "as written"
    return "whole" if is_whole else "real"


def convert_value(value: Any, kind: Kind) -> Any:
    """A value of a column of this kind."""
    if kind == "as written":
        return value
    number = _number(value)
    assert number is not None, "the kind was guessed from all values"
    return int(number) if kind == "whole" else number


def _number(value: Any) -> float | None:
    """A cell as a float, null as NaN; None if it is not a number."""
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
