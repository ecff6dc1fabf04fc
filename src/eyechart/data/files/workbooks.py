"""Workbooks as questions: finds the sheet, the header and the pictures of an .xlsx file.

Cells come from a separate process with limits (sheets.py). A cell that is merged over several rows counts in
each of them. A picture stays in the archive: its cell becomes an image reference.
"""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyechart.data.columns.names import Header, find_header
from eyechart.data.files.rows import (
    MAX_FILE_BYTES,
    URLS,
    OnProblem,
    Row,
    raise_problem,
    refuse_repeated_names,
)
from eyechart.data.files.sheets import format_cell, open_sheet
from eyechart.errors import DataError, ImageError, UsageError, join_names
from eyechart.types import ImageRef

NamesQuestion = Callable[[Sequence[str]], bool]


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet with a header."""

    name: str
    header: Header
    left: int  # the column of its first cells
    has_question: bool


@dataclass(slots=True)
class WorkbookReader:
    """Rows of one sheet. Every cell is text, None, or a list of image references."""

    path: Path
    names_question: NamesQuestion
    sheet: str | None = None
    allow_urls: bool = True
    _chosen: _Sheet | None = field(default=None, repr=False)
    _n_sheets: int = 1

    def columns(self) -> tuple[str, ...]:
        return self._choose().header.names

    def remarks(self) -> list[str]:
        """What was decided without the user: the sheet, and a header that is not the first row."""
        chosen = self._choose()
        header = chosen.header
        found = []
        if self._n_sheets > 1 and self.sheet is None:
            found.append(f"sheet {chosen.name!r} of {self._n_sheets} (--sheet NAME chooses another)")
        if header.above or header.n_rows > 1:
            last = header.above + header.n_rows
            rows = f"row {last}" if header.n_rows == 1 else f"rows {header.above + 1} and {last}"
            found.append(f"the header is in {rows}")
        return found

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows below the header, in order; empty ones are skipped."""
        chosen = self._choose()
        above = chosen.header.above + chosen.header.n_rows
        with open_sheet(self.path, "--sheet", chosen.name) as lines:
            told = next(lines)
            pictures: dict[int, list[tuple[int, Sequence[str]]]] = {}
            for row, column, members in told["pictures"]:
                pictures.setdefault(row, []).append((column, members))
            merged = _Merged(told["merged"], chosen.left)
            names = chosen.header.names
            for at, cells in enumerate(lines):
                values: dict[str, Any] = dict(zip(names, map(format_cell, cells), strict=False))
                merged.fill(at, values, names)
                if at < above:
                    continue
                self._add_pictures(values, names, chosen.left, pictures.get(at, ()))
                if any(value not in (None, "") for value in values.values()):
                    yield Row(at - above + 1, at + 1, values)

    def _add_pictures(
        self,
        values: dict[str, Any],
        names: Sequence[str],
        left: int,
        pictures: Sequence[tuple[int, Sequence[str]]],
    ) -> None:
        """Put the row's pictures into the cells under them; a text in such a cell stays beside it."""
        for column, members in sorted(pictures):
            name = names[column - left] if 0 <= column - left < len(names) else "(pictures)"
            if values.get(name) and not str(values[name]).startswith("="):
                name = f"{name} (picture)"
            values[name] = [self._to_ref(member) for member in members]

    def _to_ref(self, member: str) -> ImageRef:
        if "://" in member:
            return ImageRef(kind="url", location=member, refused="" if self.allow_urls else URLS)
        return ImageRef(kind="member", location=str(self.path), column=member)

    def _choose(self) -> _Sheet:
        if self._chosen is None:
            self._chosen = self._find_sheet()
            names = self._chosen.header.names
            where = f"{self.path.name}: row {self._chosen.header.above + 1} of sheet {self._chosen.name!r}"
            refuse_repeated_names(names, where)
        return self._chosen

    def _find_sheet(self) -> _Sheet:
        with open_sheet(self.path, "--sheets") as lines:
            sheets = [self._look(told) for told in lines if any(any(row) for row in told["rows"])]
        self._n_sheets = len(sheets)
        if not sheets:
            raise DataError(f"{self.path.name}: no sheet has any cells", hint="its first row names columns")
        if self.sheet is not None:
            found = next((one for one in sheets if one.name == self.sheet), None)
            if found is None:
                listed = join_names([one.name for one in sheets], 10)
                raise UsageError(f"{self.path.name} has no sheet {self.sheet!r}", hint=f"it has: {listed}")
            return found
        asking = [one for one in sheets if one.has_question]
        if len(asking) > 1:
            listed = join_names([one.name for one in asking], 10)
            raise DataError(
                f"{self.path.name}: {len(asking)} sheets hold questions ({listed})",
                hint=f"choose one, e.g. --sheet {shlex.quote(asking[0].name)}",
            )
        return asking[0] if asking else sheets[0]

    def _look(self, told: Mapping[str, Any]) -> _Sheet:
        rows = [[format_cell(cell) for cell in row] for row in told["rows"]]
        header = find_header(rows, self.names_question)
        return _Sheet(told["name"], header, told["left"], self.names_question(header.names))


class _Merged:
    """Cells merged over several rows: their value counts in each."""

    def __init__(self, ranges: Sequence[Sequence[Sequence[int]]], left: int) -> None:
        self._by_row: dict[int, list[tuple[int, int]]] = {}  # first row to columns and last rows
        for (top, first), (bottom, last) in ranges:
            if bottom > top and first == last:  # merged over columns, it is a title
                self._by_row.setdefault(top, []).append((first - left, bottom))
        self._open: list[tuple[int, int, Any]] = []  # column, last row, value

    def fill(self, row: int, values: dict[str, Any], names: Sequence[str]) -> None:
        self._open = [one for one in self._open if one[1] >= row]
        for column, _, value in self._open:
            if values.get(names[column]) is None:
                values[names[column]] = value
        for column, bottom in self._by_row.get(row, ()):
            if 0 <= column < len(names):
                self._open.append((column, bottom, values.get(names[column])))


def list_members(path: str) -> list[str]:
    """The names of the files in an archive."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except (zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError) as err:
        name = Path(path).name
        raise DataError(f"{name}: not a zip archive: {err}", hint="was the download interrupted?") from err


def read_member(ref: ImageRef) -> bytes:
    """The bytes of a picture in a workbook or another archive."""
    try:
        with zipfile.ZipFile(ref.location) as archive:
            entry = archive.getinfo(ref.column)
            if entry.file_size > MAX_FILE_BYTES:
                raise ImageError(
                    f"{ref}: {entry.file_size // 1_000_000} MB; the limit is {MAX_FILE_BYTES // 2**20} MB"
                )
            with archive.open(entry) as file:
                return file.read(MAX_FILE_BYTES + 1)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError) as err:
        raise ImageError(f"{ref}: cannot be read: {err}", hint="was the file changed?") from err
