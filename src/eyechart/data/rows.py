"""What every reader hands on: a row of named values, and the place it came from.

A value is text (delimited files), a JSON value, or, in columns that may hold pictures, a `Blob`: bytes
that know where they lie in the file, so that a picture can be left there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec

from eyechart.errors import DataError, listed, quoted

# A row longer than this is a quote that never closes, not a row: the largest published picture cells
# are a tenth of it.
MAX_ROW_BYTES = 256 * 1024 * 1024

# Enough of a picture to find it by: the first characters of a base64 text hold size and tables.
_HEAD_BYTES = 96

OnProblem = Callable[[DataError], None]


def raise_problem(error: DataError) -> NoReturn:
    """The usual answer to a malformed row: stop."""
    raise error


class Blob(msgspec.Struct, frozen=True):
    """A value that may hold a picture. `raw` is how it stands in the file, from byte `offset` on.

    >>> blob = Blob(b"['abc', 'xyz']", offset=100)
    >>> blob.find(b"xyz")
    109
    """

    data: bytes
    offset: int = -1  # -1: not at one place of a file
    raw: bytes = b""  # where quoting or escapes make it differ from `data`
    column: str = ""  # set for a column that is read by row number, not by byte

    def find(self, part: bytes) -> int:
        """Byte offset of `part` in the file, or -1 when it is written differently there."""
        if self.offset < 0 or not part:
            return -1
        raw = self.raw or self.data
        at = raw.find(part[:_HEAD_BYTES])
        if at >= 0 and not raw.startswith(part, at):
            at = raw.find(part, at + 1)
        return self.offset + at if at >= 0 else -1


class Row(msgspec.Struct, frozen=True):
    """One row. `number` counts data rows from 1, `line` lines of the file from 1 (0: no lines there)."""

    number: int
    line: int
    values: dict[str, Any]


class Reader(Protocol):
    """One file, read row by row as often as wanted."""

    def columns(self) -> tuple[str, ...]:
        """Names of a header; empty where each row names its own values."""
        ...

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows; values of the columns `blobs` come as `Blob` (or as references to pictures)."""
        ...


def refuse_twice(names: Sequence[str], where: str) -> None:
    """Refuse a header in which a name stands more than once."""
    if len(set(names)) < len(names):
        twice = sorted(map(quoted, (name for name, n in Counter(names).items() if n > 1)))
        raise DataError(f"{where} names {listed(twice, 10)} more than once", hint="rename one of them")


_ROW = re.compile(r": row (\d+)")


def row_of(message: str) -> int:
    """The row that a message names with `place`; 0 when it names none.

    >>> row_of("demo.tsv: row 3 (line 4): 2 cells"), row_of("demo.tsv: the file is empty")
    (3, 0)
    """
    found = _ROW.search(message)
    return int(found[1]) if found else 0


def place(path: Path, number: int, line: int = 0) -> str:
    """How messages name a row; the header is row 0.

    >>> place(Path("demo.tsv"), 3, 4), place(Path("demo.tsv"), 0, 1)
    ('demo.tsv: row 3 (line 4)', 'demo.tsv: header (line 1)')
    """
    row = f"row {number}" if number else "header"
    return f"{path.name}: {row}" + (f" (line {line})" if line else "")
