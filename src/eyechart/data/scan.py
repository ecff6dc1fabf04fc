"""TSV and CSV at the speed of the disk: cells as bytes, with their place in the file.

Rows without a quoted cell, which are nearly all rows and nearly all bytes, are split by one call; a
quoted cell takes the slow road. Quoting is that of Python's csv module and of pandas: a cell is quoted
when it begins with a quote, a doubled quote stands for one, and newlines may stand inside. A quote
later in a cell is a plain character.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from eyechart.data.encoding import BOM
from eyechart.data.rows import MAX_ROW_BYTES, Blob, place
from eyechart.errors import DataError


class RawRow(msgspec.Struct, frozen=True):
    """One row as bytes. `number` 0 is the header."""

    number: int
    line: int
    offset: int
    cells: list[bytes]
    has_nul: bool = False
    spans: list[tuple[int, int]] | None = None  # begin and end of each cell's raw text, if any is quoted
    raw: bytes = b""

    def blob(self, index: int) -> Blob:
        """One cell with its place in the file."""
        data = self.cells[index]
        if self.spans is None:
            before = sum(map(len, self.cells[:index])) + index
            return Blob(data, self.offset + before)
        begin, end = self.spans[index]
        raw = self.raw[begin:end]
        return Blob(data, self.offset + begin, b"" if raw == data else raw)


def scan(file: BinaryIO, separator: bytes, path: Path) -> Iterator[RawRow]:
    r"""Split a file into rows of bytes; blank lines are skipped.

    >>> from io import BytesIO
    >>> rows = list(scan(BytesIO(b'id\tq\n1\t"a ""b"" c"\n'), b"\t", Path("demo.tsv")))
    >>> rows[1].cells, rows[1].blob(1).offset
    ([b'1', b'a "b" c'], 8)
    """
    offset = len(BOM) if file.read(len(BOM)) == BOM else 0
    file.seek(offset)
    number = line_number = 0
    quoted = separator + b'"'
    while line := file.readline(MAX_ROW_BYTES + 1):
        first_line = line_number = line_number + 1
        begin = offset
        if len(line) > MAX_ROW_BYTES:
            raise _endless(path, number, first_line, "no line break")
        if b'"' in line and (line.startswith(b'"') or quoted in line):
            row = _Quoted(file, separator, line, place(path, number, first_line))
            cells, spans, line = row.split()
            line_number += row.n_more_lines
            offset += len(line)
            yield RawRow(number, first_line, begin, cells, b"\0" in line, spans, line)
        else:
            offset += len(line)
            cells = line.split(separator)
            last = cells[-1]
            cells[-1] = last[:-2] if last.endswith(b"\r\n") else last.removesuffix(b"\n")
            if not any(cells) and len(cells) == 1:
                continue
            yield RawRow(number, first_line, begin, cells, b"\0" in line)
        number += 1


def _endless(path: Path, number: int, line: int, why: str) -> DataError:
    limit_mb = MAX_ROW_BYTES // 1024 // 1024
    return DataError(
        f"{place(path, number, line)}: {why} within {limit_mb} MB",
        hint="is it a text file, and does every quoted cell end with a quote?",
    )


class _Quoted:
    """The slow road: one row with at least one quoted cell, reading on while a quote is open."""

    def __init__(self, file: BinaryIO, separator: bytes, line: bytes, where: str) -> None:
        self.file = file
        self.separator = separator
        self.buffer = bytearray(line)
        self.where = where
        self.n_more_lines = 0

    def split(self) -> tuple[list[bytes], list[tuple[int, int]], bytes]:
        """Cells, the range of each in the row's bytes, and those bytes."""
        cells: list[bytes] = []
        spans: list[tuple[int, int]] = []
        at = 0
        while True:
            if self.buffer.startswith(b'"', at):
                close = self._closing_quote(at + 1)
                content = bytes(self.buffer[at + 1 : close])
                end = self._cell_end(close + 1)
                rest = bytes(self.buffer[close + 1 : end])  # `"a"b` is read as ab, as csv does
                cells.append(content.replace(b'""', b'"') + rest)
                spans.append((at + 1, close))
            else:
                end = self._cell_end(at)
                cells.append(bytes(self.buffer[at:end]))
                spans.append((at, end))
            if end >= self._row_end():
                return cells, spans, bytes(self.buffer)
            at = end + 1

    def _row_end(self) -> int:
        size = len(self.buffer)
        if self.buffer.endswith(b"\r\n"):
            return size - 2
        return size - 1 if self.buffer.endswith(b"\n") else size

    def _cell_end(self, start: int) -> int:
        end = self.buffer.find(self.separator, start)
        return self._row_end() if end < 0 else end

    def _closing_quote(self, search: int) -> int:
        while True:
            close = self.buffer.find(b'"', search)
            if close < 0:
                search = len(self.buffer)
                self._read_on()
            elif self.buffer.startswith(b'"', close + 1):
                search = close + 2
            else:
                return close

    def _read_on(self) -> None:
        more = self.file.readline(MAX_ROW_BYTES + 1)
        if not more or len(self.buffer) + len(more) > MAX_ROW_BYTES:
            why = "ends" if not more else f"goes on for {MAX_ROW_BYTES // 1024 // 1024} MB"
            raise DataError(
                f"{self.where}: a quoted cell is never closed; the file {why}",
                hint='close it with a quote; a cell that begins with a quote is written """like this"""',
            )
        self.buffer += more
        self.n_more_lines += 1
