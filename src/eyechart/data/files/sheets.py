"""Spreadsheets, row by row. Workbooks are .xlsx, .xlsm and .xlsb (Excel), .xls (before 2007) and .ods.

`WorkbookReader` finds the sheet, the header and the pictures. A cell that is merged over several rows counts
in each of them, and a picture stays in the archive.

A few kilobytes can expand to terabytes: a long text used in a million cells, or one cell in the last corner
of the sheet. So the unpacked size is checked first, and the file is then opened in a separate process with a
memory limit, which passes on one row at a time.
"""

from __future__ import annotations

import json
import math
import shlex
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

from eyechart.data.columns.names import Header, NamesQuestion, find_header
from eyechart.data.files.rows import (
    MAX_FILE_BYTES,
    URLS,
    OnProblem,
    Row,
    raise_problem,
    refuse_repeated_names,
)
from eyechart.errors import DataError, ImageError, UsageError, join_names
from eyechart.types import ImageRef

MAX_UNPACKED = 2 * 1024**3  # bytes; a prediction file of 100,000 long replies has a tenth of it
MAX_MEMORY = 4 * 1024**3
MAX_CPU_S = 300  # CPU time of the child: waiting for the reader does not count

_SIGXCPU = 24
_FAILED = 3  # as sheet_rows.FAILED, which needs its library to be imported
_WORKBOOKS = {"xl/workbook.xml": ".xlsx", "xl/workbook.bin": ".xlsb", "content.xml": ".ods"}
_COMPOUND = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how files of Office before 2007 begin, and encrypted ones
_MAX_SEARCHED = 256 * 1024 * 1024

_PROGRAM = Path(__file__).with_name("sheet_rows.py")


def is_workbook(path: Path) -> bool:
    """Whether a file is a workbook, by content."""
    with path.open("rb") as file:
        return bool(find_workbook_kind(path, file.read(4096)))


def find_workbook_kind(path: Path, head: bytes) -> str:
    """The usual ending of a workbook, by content; empty for any other file.

    An encrypted workbook is refused. `head` is the beginning of the file.
    """
    if head.startswith(b"PK"):
        names = list_archive_names(path)
        found = next((ending for member, ending in _WORKBOOKS.items() if member in names), "")
        return found if found != ".ods" or b"opendocument.spreadsheet" in head else ""
    if not head.startswith(_COMPOUND):
        return ""
    with path.open("rb") as file:
        data = file.read(_MAX_SEARCHED)
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise DataError(f"{path.name}: protected by a password", hint=_DECRYPT)
    is_excel = any(name.encode("utf-16-le") + b"\0\0" in data for name in ("Workbook", "Book"))
    return ".xls" if is_excel else ""


_DECRYPT = "open it, save it without a password (or as CSV), and use that file"


def list_archive_names(path: Path) -> frozenset[str]:
    """The names of the files in a zip archive; empty if the file is not one."""
    with suppress(DataError):
        return frozenset(list_members(str(path)))
    return frozenset()


def refuse_bomb(path: Path) -> None:
    """Raise `DataError` for an archive that claims an absurd unpacked size."""
    with path.open("rb") as file:
        if file.read(len(_COMPOUND)) == _COMPOUND:
            return  # .xls is not compressed
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError) as err:
        hint = "is it a file of another format?"
        raise DataError(f"{path.name}: not a workbook ({err})", hint=hint) from err
    if size > MAX_UNPACKED:
        hint = f"the limit is {MAX_UNPACKED // 1024**3} GB; if that is correct, save it as .tsv or .jsonl"
        raise DataError(f"{path.name}: the archive unpacks to {size / 1024**3:,.1f} GB", hint=hint)


def refuse_too_large(path: Path) -> None:
    """Raise `DataError` for a workbook that needs too much memory, before it is opened in this process."""
    with open_sheet(path, "--sheets") as lines:
        next(lines, None)


@contextmanager
def open_sheet(path: Path, *what: str) -> Iterator[Iterator[Any]]:
    """What the separate process prints (see sheet_rows.py)."""
    refuse_bomb(path)
    # -P: the child imports nothing from the current folder.
    limits = (str(MAX_MEMORY), str(MAX_CPU_S))
    command = [sys.executable, "-P", str(_PROGRAM), str(path.absolute()), *limits, *what]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:  # noqa: S603
        try:
            yield _read_lines(path, child)
        finally:
            child.kill()  # if the rest is not read


def _read_lines(path: Path, child: subprocess.Popen[bytes]) -> Iterator[Any]:
    assert child.stdout is not None
    assert child.stderr is not None
    for line in child.stdout:
        told = json.loads(line)
        if isinstance(told, int):
            yield from repeat([], told)
        else:
            yield told
    message = child.stderr.read().decode("utf-8", "replace").strip().splitlines()
    if code := child.wait():
        why = f"it needs more than {MAX_MEMORY // 1024**3} GB of memory; is one cell far from all others?"
        if code == -_SIGXCPU:
            why = f"it needs more than {MAX_CPU_S} s of CPU time"
        elif code == _FAILED and message:
            why = message[-1][:300]
        hint = _DECRYPT if "password" in why.lower() else "open it and save it again as .xlsx, or export .tsv"
        raise DataError(f"{path.name}: the spreadsheet cannot be read: {why}", hint=hint)


def format_cell(cell: Any) -> str | None:
    """A cell as text. Spreadsheets have one number type, so 3.0 becomes "3".

    >>> format_cell(3.0), format_cell(2.5), format_cell("007"), format_cell(True), format_cell("")
    ('3', '2.5', '007', 'True', None)
    """
    if isinstance(cell, float) and math.isfinite(cell) and cell == int(cell):
        cell = int(cell)
    return None if cell is None or cell == "" else str(cell)


FIRST = ""  # the first sheet, whatever its name


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet with a header."""

    name: str
    header: Header
    left: int  # the column of its first cells
    has_question: bool


@dataclass(slots=True)
class WorkbookReader:
    """Rows of one sheet. Every cell is text, None, or a list of image references.

    `names_question`: whether names are those of the columns that are sought. Unless a sheet is named, one of
    several must have them.
    """

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
        which = f"sheet {chosen.name!r} of {self._n_sheets} (--sheet NAME chooses another)"
        return [which] * (self._n_sheets > 1 and self.sheet is None) + chosen.header.describe()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows below the header, in order; empty ones are skipped."""
        chosen = self._choose()
        above = chosen.header.above + chosen.header.n_rows
        with open_sheet(self.path, "--sheet", chosen.name) as lines:
            told = next(lines)
            pictures: dict[int, list[tuple[int, Sequence[str]]]] = defaultdict(list)
            for row, column, members in told["pictures"]:
                pictures[row].append((column, members))
            merged = _Merged(told["merged"], chosen.left)
            names = chosen.header.names
            for at, cells in enumerate(lines):
                values: dict[str, Any] = dict(zip(names, map(format_cell, cells), strict=False))
                merged.fill(at, values, names)
                if at < above:
                    continue
                # Pictures go into the cells under them; a text in such a cell stays beside it.
                for column, members in sorted(pictures.get(at, ())):
                    index = column - chosen.left
                    name = names[index] if 0 <= index < len(names) else "(pictures)"
                    if values.get(name) and not str(values[name]).startswith("="):
                        name = f"{name} (picture)"
                    values[name] = [self._to_ref(member) for member in members]
                if any(value not in (None, "") for value in values.values()):
                    yield Row(at - above + 1, at + 1, values)

    def _to_ref(self, member: str) -> ImageRef:
        if "://" in member:
            return ImageRef(kind="url", location=member, refused="" if self.allow_urls else URLS)
        return ImageRef(kind="member", location=str(self.path), column=member)

    def _choose(self) -> _Sheet:
        if self._chosen is None:
            chosen = self._find_sheet()
            where = f"{self.path.name}: row {chosen.header.above + 1} of sheet {chosen.name!r}"
            refuse_repeated_names(chosen.header.names, where)
            self._chosen = chosen
        return self._chosen

    def _find_sheet(self) -> _Sheet:
        with open_sheet(self.path, "--sheets") as lines:
            sheets = [self._look(told) for told in lines if any(any(row) for row in told["rows"])]
        self._n_sheets = len(sheets)
        if not sheets:
            raise DataError(f"{self.path.name}: no sheet has any cells", hint="its first row names columns")
        if self.sheet == FIRST:
            return sheets[0]
        if self.sheet is not None:
            found = next((one for one in sheets if one.name == self.sheet), None)
            if found is None:
                listed = join_names([one.name for one in sheets], 10)
                raise UsageError(f"{self.path.name} has no sheet {self.sheet!r}", hint=f"it has: {listed}")
            return found
        asking = [one for one in sheets if one.has_question]
        if len(asking) > 1:
            listed = join_names([one.name for one in asking], 10)
            what = f"{self.path.name}: {len(asking)} sheets hold questions ({listed})"
            raise DataError(what, hint=f"choose one, e.g. --sheet {shlex.quote(asking[0].name)}")
        return asking[0] if asking else sheets[0]

    def _look(self, told: Mapping[str, Any]) -> _Sheet:
        rows = [[format_cell(cell) for cell in row] for row in told["rows"]]
        header = find_header(rows, self.names_question)
        return _Sheet(told["name"], header, told["left"], self.names_question(header.names))


class _Merged:
    """Cells merged over several rows: their value counts in each."""

    def __init__(self, ranges: Sequence[Sequence[Sequence[int]]], left: int) -> None:
        self._by_row: dict[int, list[tuple[int, int]]] = defaultdict(list)  # first row: columns, last rows
        for (top, first), (bottom, last) in ranges:
            if bottom > top and first == last:  # merged over columns, it is a title
                self._by_row[top].append((first - left, bottom))
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
            if (size := entry.file_size) > MAX_FILE_BYTES:
                raise ImageError(f"{ref}: {size // 1_000_000} MB; the limit is {MAX_FILE_BYTES // 2**20} MB")
            with archive.open(entry) as file:
                return file.read(MAX_FILE_BYTES + 1)
    except (KeyError, zipfile.BadZipFile, NotImplementedError, OSError, ValueError, EOFError) as err:
        raise ImageError(f"{ref}: cannot be read: {err}", hint="was the file changed?") from err
