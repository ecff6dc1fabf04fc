"""TSV and CSV at the speed of the disk: cells as bytes, with their place in the file.

Rows without a quoted cell, which are nearly all rows and nearly all bytes, are split by one call; a
quoted cell takes the slow road. Quoting is that of Python's csv module and of pandas: a cell is quoted
when it begins with a quote, a doubled quote stands for one, and newlines may stand inside. A quote
later in a cell is a plain character.

A row must have as many cells as the header. A short row is refused although pandas would fill it up:
the usual cause is a line break in an unquoted text, which would become two rows that look sound.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from eyechart.data.encoding import BOM, refuse_wide_text, undecodable
from eyechart.data.pandas_cells import Kind, as_pandas_reads, infer_kinds
from eyechart.data.rows import MAX_ROW_BYTES, Blob, OnProblem, Row, place, raise_problem
from eyechart.errors import DataError

_BUFFER_BYTES = 1 << 20  # measured: larger buffers gain nothing, smaller ones cost joins on picture rows


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


@dataclass(slots=True)
class DelimitedReader:
    """Rows of a TSV or CSV file. `as_pandas` reads cells the way pandas does by default."""

    path: Path
    format: str
    encoding: str = "utf-8"
    as_pandas: bool = False
    _columns: tuple[str, ...] = ()
    _kinds: Mapping[str, Kind] | None = field(default=None, repr=False)

    def columns(self) -> tuple[str, ...]:
        """The header's names."""
        if not self._columns:
            with self.path.open("rb") as file:
                refuse_wide_text(self.path, file.read(4))
                file.seek(0)
                header = next(scan(file, self._separator, self.path), None)
            if header is None:
                raise DataError(
                    f"{self.path.name}: the file is empty", hint="the first line names the columns"
                )
            self._columns = self._names(header)
        return self._columns

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order."""
        columns = self.columns()
        kinds: Mapping[str, Kind] | None = None
        if self.as_pandas:
            kinds = self._kinds = self._kinds or self._infer(blobs)
        is_blob = [name in blobs for name in columns]
        for raw in self._scan(on_problem):
            values: dict[str, Any] = {}
            name, cell = "", b""
            try:
                for index, (name, cell) in enumerate(zip(columns, raw.cells, strict=True)):
                    if is_blob[index]:
                        values[name] = raw.blob(index) if cell else None
                    else:
                        values[name] = cell.decode(self.encoding) or None
            except UnicodeDecodeError:
                where = place(self.path, raw.number, raw.line)
                on_problem(undecodable(where, name, cell, self.encoding))
                continue
            if kinds is not None:
                for name, kind in kinds.items():
                    values[name] = as_pandas_reads(values[name] or "", kind)
            yield Row(raw.number, raw.line, values)

    @property
    def _separator(self) -> bytes:
        return b"\t" if self.format == "tsv" else b","

    def _names(self, header: RawRow) -> tuple[str, ...]:
        if header.has_nul:
            raise self._nul(header)
        if len(header.cells) == 1 and b"\r" in header.cells[0]:
            hint = f"tr '\\r' '\\n' < {self.path.name} > new-{self.path.name}"
            raise DataError(f"{self.path.name}: lines end with a lone carriage return", hint=hint)
        names = []
        for index, cell in enumerate(header.cells):
            try:
                names.append(cell.decode(self.encoding) or f"Unnamed: {index}")  # pandas' own index column
            except UnicodeDecodeError as err:
                raise undecodable(f"{self.path.name}: header", f"#{index + 1}", cell, self.encoding) from err
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            listed = ", ".join(map(repr, twice))
            raise DataError(
                f"{self.path.name}: the header names {listed} more than once", hint="rename one of them"
            )
        return tuple(names)

    def _scan(self, on_problem: OnProblem) -> Iterator[RawRow]:
        """Data rows that have the header's number of cells."""
        n_columns = len(self.columns())
        with self.path.open("rb", buffering=_BUFFER_BYTES) as file:
            for raw in scan(file, self._separator, self.path):
                if raw.number == 0:
                    continue
                if raw.has_nul:
                    on_problem(self._nul(raw))
                    continue
                n_cells = len(raw.cells)
                if n_cells == 1 < n_columns and not raw.cells[0].strip():
                    continue  # a line of blanks, often the last one
                if n_cells == n_columns:
                    yield raw
                elif n_cells < n_columns and self.as_pandas:
                    raw.cells.extend([b""] * (n_columns - n_cells))
                    if raw.spans is not None:
                        raw.spans.extend([(0, 0)] * (n_columns - n_cells))
                    yield raw
                else:
                    on_problem(self._uneven(raw, n_columns))

    def _nul(self, raw: RawRow) -> DataError:
        return DataError(
            f"{place(self.path, raw.number, raw.line)}: holds a NUL byte, so it is not a text row",
            hint="the file may be damaged or UTF-16 without its mark; export it again as UTF-8",
        )

    def _uneven(self, raw: RawRow, n_columns: int) -> DataError:
        first = raw.cells[0][:40].decode(self.encoding, "replace")
        hint = "quote cells that hold a separator or a line break"
        if len(raw.cells) < n_columns:
            missing = ", ".join(self.columns()[len(raw.cells) :][:5])
            hint = f"nothing for {missing}: write empty cells too, and quote cells that hold a line break"
        where = place(self.path, raw.number, raw.line)
        return DataError(
            f"{where}: {len(raw.cells)} cells where the header has {n_columns} (the row begins {first!r})",
            hint=hint,
        )

    def _infer(self, blobs: Collection[str]) -> Mapping[str, Kind]:
        names = [name for name in self.columns() if name not in blobs]
        at = {name: self.columns().index(name) for name in names}
        rows = self._scan(lambda problem: None)  # a malformed row is reported by the reading itself
        return infer_kinds(
            names,
            ({name: raw.cells[at[name]].decode(self.encoding, "replace") for name in names} for raw in rows),
        )
