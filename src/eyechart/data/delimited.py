"""TSV and CSV files: rows of named cells, pictures left where they lie.

A row must have as many cells as the header. A short row is refused although pandas would fill it up:
the usual cause is a line break in an unquoted text, which would become two rows that look sound.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyechart.data.encoding import refuse_wide_text, undecodable
from eyechart.data.pandas_cells import Kind, as_pandas_reads, infer_kinds
from eyechart.data.rows import OnProblem, Row, place, raise_problem, refuse_twice
from eyechart.data.scan import RawRow, scan
from eyechart.errors import DataError

# Semicolons to commas. Pictures are longer than what the csv module takes by itself.
_CONVERT = (
    'python -c "import csv, sys; csv.field_size_limit(2**30); '
    "csv.writer(sys.stdout).writerows(csv.reader(sys.stdin, delimiter=';'))\""
)

_BUFFER_BYTES = 1 << 20  # measured: larger buffers gain nothing, smaller ones cost joins on picture rows


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
        if header.spans is None and any(b"\r" in cell for cell in header.cells):
            old, new = shlex.quote(self.path.name), shlex.quote(f"new-{self.path.name}")
            hint = f"tr '\\r' '\\n' < {old} > {new}"
            raise DataError(f"{self.path.name}: lines end with a lone carriage return", hint=hint)
        names = []
        for index, cell in enumerate(header.cells):
            try:
                names.append(cell.decode(self.encoding) or f"Unnamed: {index}")  # pandas' own index column
            except UnicodeDecodeError as err:
                raise undecodable(f"{self.path.name}: header", f"#{index + 1}", cell, self.encoding) from err
        if len(names) == 1:
            self._refuse_other_separator(names[0])
        refuse_twice(names, f"{self.path.name}: the header")
        return tuple(names)

    def _refuse_other_separator(self, header: str) -> None:
        """A header that is one cell and holds what separates cells elsewhere: read so, it has no columns."""
        if header.lower().startswith("sep="):
            hint = "the line is for spreadsheets alone: take it out, and separate cells by commas or tabs"
        elif "\t" in header:
            hint = "its cells are separated by tabs: --format tsv"
        elif "," in header:
            hint = "its cells are separated by commas: --format csv"
        elif ";" in header:
            new = shlex.quote(f"new-{self.path.name}")
            hint = f"convert it: {_CONVERT} < {shlex.quote(self.path.name)} > {new}"
        else:
            return
        what = f"read as {self.format} it has a single column ({header[:60]!r})"
        raise DataError(f"{self.path.name}: {what}", hint=hint)

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
                if not self.as_pandas and not any(raw.cells):
                    continue  # nothing in any cell: spreadsheets write such rows below the last one
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
