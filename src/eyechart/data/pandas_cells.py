"""Cells as pandas' `read_csv` reads them by default, without pandas: a named parity mode.

The other tools read TSVs that way, so `None` is a missing option, `007` is `7`, and a column of whole
numbers with one gap shows `3.0` for `3`. Types are inferred over the whole column (pandas does so in
chunks of a large file, where a mixed column may keep both forms).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

Kind = Literal["int", "float", "bool", "text"]

NA_WORDS = frozenset(
    {
        "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
        "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
    }
)  # fmt: skip

_TRUE = frozenset({"True", "TRUE", "true"})
_FALSE = frozenset({"False", "FALSE", "false"})
_INT = re.compile(r"\s*[+-]?\d+\s*", re.ASCII)
_FLOAT = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*", re.ASCII)
_INFINITY = re.compile(r"\s*[+-]?inf(?:inity)?\s*", re.IGNORECASE)
_INT64 = range(-(2**63), 2**63)
_UINT64 = range(2**64)


class _Column:
    """What one column can still be."""

    def __init__(self) -> None:
        self.can_int = self.can_float = self.can_bool = True
        self.has_gap = False
        self.n_values = 0
        self.fits_int64 = self.fits_uint64 = True

    def see(self, text: str) -> None:
        if text in NA_WORDS:
            self.has_gap = True
            return
        self.n_values += 1
        if self.can_int:
            self.can_int = _INT.fullmatch(text) is not None
            if self.can_int:
                value = int(text) if len(text) < 64 else 2**64
                self.fits_int64 &= value in _INT64
                self.fits_uint64 &= value in _UINT64
        if self.can_float:
            self.can_float = _FLOAT.fullmatch(text) is not None or _INFINITY.fullmatch(text) is not None
        if self.can_bool:
            self.can_bool = text in _TRUE or text in _FALSE

    @property
    def kind(self) -> Kind:
        if self.n_values == 0:
            return "text"
        if self.can_int:
            if not self.fits_int64 and not self.fits_uint64:
                return "text"
            return "float" if self.has_gap else "int"
        if self.can_float:
            return "float"
        return "bool" if self.can_bool else "text"


def infer_kinds(names: Sequence[str], rows: Iterable[Mapping[str, str]]) -> dict[str, Kind]:
    """The type of each column, from one pass over all rows.

    >>> infer_kinds(["a", "b"], [{"a": "007", "b": "3"}, {"a": "8", "b": ""}])
    {'a': 'int', 'b': 'float'}
    """
    columns = {name: _Column() for name in names}
    for row in rows:
        for name, column in columns.items():
            column.see(row[name])
    return {name: column.kind for name, column in columns.items()}


def as_pandas_reads(text: str, kind: Kind) -> str | None:
    """The text that a cell has after a pandas column of that type; None for a missing one.

    >>> as_pandas_reads("007", "int"), as_pandas_reads("3", "float"), as_pandas_reads("None", "text")
    ('7', '3.0', None)
    """
    if text in NA_WORDS:
        return None
    if kind == "int":
        return str(int(text))
    if kind == "float":
        return repr(float(text))
    if kind == "bool":
        return "True" if text in _TRUE else "False"
    return text
