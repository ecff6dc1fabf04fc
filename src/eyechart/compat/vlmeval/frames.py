"""pandas, asked for only where a table is wanted, and what its cells hold in plain values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import import_module
from typing import Any, TypeAlias

from eyechart.errors import DataError, MissingExtra, listed

Frame: TypeAlias = Any  # pandas.DataFrame, which is not imported for its name alone
Row: TypeAlias = Any  # pandas.Series, or a dict of the same names

FOLDER = "eyechart_folder"  # in a table's attrs: where the file lies that it was read from

WHOLE = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_LETTER = re.compile(r"[A-Z]")


def pandas() -> Any:
    """The library, or the line that installs it."""
    try:
        return import_module("pandas")
    except ImportError as err:
        raise MissingExtra.named("pandas", needed_for="data set classes in the way of vlmeval") from err


def is_frame(value: Any) -> bool:
    """Whether a value is a table of pandas."""
    return hasattr(value, "iloc") and hasattr(value, "columns")


def checked_frame(value: Any, who: str) -> Frame:
    """The table that a method returned; anything else is named."""
    if not is_frame(value):
        raise DataError(
            f"{who} returned {type(value).__name__}, not a pandas DataFrame",
            hint="load() of a .tsv file gives one",
        )
    return value


def is_missing(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NA or NaT.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing([])
    (True, True, False, False)
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def plain(value: Any) -> Any:
    """A cell as Python has it: numpy's numbers become plain ones, an empty cell becomes None."""
    if is_missing(value):
        return None
    item = getattr(value, "item", None)
    if callable(item) and getattr(value, "ndim", None) == 0:
        return plain(item())
    return value


def typed(texts: Sequence[str], name: str = "") -> list[Any]:
    """The cells of a column as scripts expect them: numbers where all of them are, else text; NaN for gaps.

    Unlike pandas' own reading, no word means "missing", a gap does not turn 3 into 3.0, 007 stays text, and
    options (columns named by a letter) are always text.

    >>> typed(["1", "2"]), typed(["0.5", "2"]), typed(["007", "1"]), typed(["None", "NA"]), typed(["3"], "A")
    ([1, 2], [0.5, 2.0], ['007', '1'], ['None', 'NA'], ['3'])
    >>> typed(["1", ""])
    [1, nan]
    """
    nan = float("nan")
    present = [text for text in texts if text]
    if not present or _LETTER.fullmatch(name):
        return [text or nan for text in texts]
    if all(map(WHOLE.fullmatch, present)):
        return [int(text) if text else nan for text in texts]
    if all(map(_NUMBER.fullmatch, present)):
        return [float(text) if text else nan for text in texts]
    if len(present) == len(texts) and set(present) <= {"True", "False"}:
        return [text == "True" for text in texts]
    return [text or nan for text in texts]


def column_of(values: Sequence[Any]) -> Any:
    """A column that keeps its values as they are: of one kind of number, or of objects."""
    kinds = {type(value) for value in values}
    dtype = {int: "int64", float: "float64", bool: "bool"}.get(next(iter(kinds), object))
    return pandas().Series(list(values), dtype=dtype if len(kinds) == 1 and dtype else "object")


def rows_where(frame: Frame, mask: Sequence[bool]) -> Frame:
    """The rows for which the mask says so, also of a table that has none."""
    return frame.iloc[[position for position, is_meant in enumerate(mask) if is_meant]]


def require(frame: Frame, columns: Sequence[str], who: str) -> None:
    """Refuse a table that lacks a column."""
    found = [str(name) for name in frame.columns]
    for name in columns:
        if name not in found:
            shown = listed(found, 12) or "none"
            raise DataError(f"{who}: no column {name!r} (found: {shown})", hint="add it to the file")
