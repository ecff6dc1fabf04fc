"""Spreadsheets, row by row: the first sheet of a workbook, with the columns named in its first row.

Workbooks are .xlsx, .xlsm and .xlsb (Excel), .xls (Excel before 2007) and .ods (LibreOffice).

A few kilobytes can expand to terabytes: a long text used in a million cells, or one cell in the last corner
of the sheet. So the unpacked size is checked first, and the file is then opened in a separate process with a
memory limit, which passes on one row at a time.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

from eyechart.data.files.rows import OnProblem, Row, raise_problem, refuse_repeated_names
from eyechart.errors import DataError

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
    """The names in a zip archive; empty if the file is not one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return frozenset()


def refuse_bomb(path: Path) -> None:
    """Raise `DataError` for an archive that claims an absurd unpacked size."""
    with path.open("rb") as file:
        if file.read(len(_COMPOUND)) == _COMPOUND:
            return  # .xls is not compressed
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > MAX_UNPACKED:
        raise DataError(
            f"{path.name}: the archive unpacks to {size / 1024**3:,.1f} GB",
            hint=f"the limit is {MAX_UNPACKED // 1024**3} GB; if that is correct, save it as .tsv or .jsonl",
        )


def refuse_too_large(path: Path) -> None:
    """Raise `DataError` for a workbook that needs too much memory, before it is opened in this process."""
    with SheetReader(path)._lines() as lines:
        next(lines, None)


@dataclass(slots=True)
class SheetReader:
    """Rows of a workbook's first sheet. Every cell is text; an empty cell is None."""

    path: Path
    _columns: tuple[str, ...] = ()

    def columns(self) -> tuple[str, ...]:
        if not self._columns:
            with self._lines() as lines:
                self._columns = self._names(next(lines, None))
        return self._columns

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order; empty rows are skipped."""
        with self._lines() as lines:
            names = self._columns = self._names(next(lines, None))
            for number, cells in enumerate(lines, start=1):
                if any(cell not in (None, "") for cell in cells):
                    texts = (format_cell(cell) for cell in cells)
                    yield Row(number, number + 1, dict(zip(names, texts, strict=False)))

    def _names(self, cells: list[Any] | None) -> tuple[str, ...]:
        if not cells:
            raise DataError(f"{self.path.name}: the first sheet is empty", hint="its first row names columns")
        names = [format_cell(cell) or f"Unnamed: {index}" for index, cell in enumerate(cells)]
        refuse_repeated_names(names, f"{self.path.name}: the first row")
        return tuple(names)

    @contextmanager
    def _lines(self) -> Iterator[Iterator[list[Any]]]:
        with open_sheet(self.path) as lines:
            yield lines


@contextmanager
def open_sheet(path: Path, *what: str) -> Iterator[Iterator[Any]]:
    """What the separate process prints: by default the rows of the first sheet (see sheet_rows.py)."""
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
        why = _explain(code, message)
        hint = _DECRYPT if "password" in why.lower() else "open it and save it again as .xlsx, or export .tsv"
        raise DataError(f"{path.name}: the spreadsheet cannot be read: {why}", hint=hint)


def _explain(code: int, message: list[str]) -> str:
    """Why the child ended: its own message, or the limit that it reached."""
    if code == -_SIGXCPU:
        return f"it needs more than {MAX_CPU_S} s of CPU time"
    if code == _FAILED and message:
        return message[-1][:300]
    return f"it needs more than {MAX_MEMORY // 1024**3} GB of memory; is one cell far from all others?"


def format_cell(cell: Any) -> str | None:
    """A cell as text. Spreadsheets have one number type, so 3.0 becomes "3".

    >>> format_cell(3.0), format_cell(2.5), format_cell("007"), format_cell(True), format_cell("")
    ('3', '2.5', '007', 'True', None)
    """
    if isinstance(cell, float) and math.isfinite(cell) and cell == int(cell):
        cell = int(cell)
    return None if cell is None or cell == "" else str(cell)
