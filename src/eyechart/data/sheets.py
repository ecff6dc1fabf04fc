"""Spreadsheets, row by row: the first sheet of an .xlsx file, its first row naming the columns.

A few kilobytes can claim to be a table of terabytes: a long text used in a million cells, or one cell in the
last corner of the sheet. So a file is refused by what it says it unpacks to, and then opened in a process of
its own that may use so much memory and no more. Its rows come here one at a time.
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
from pathlib import Path
from typing import Any

from eyechart.data.rows import OnProblem, Row, raise_problem, refuse_repeated_names
from eyechart.errors import DataError

MAX_UNPACKED = 2 * 1024**3  # bytes; a prediction file of 100,000 long replies has a tenth of it
MAX_MEMORY = 4 * 1024**3
MAX_CPU_S = 300  # of the child's own time: how slowly its rows are wanted does not count

_SIGXCPU = 24
_SAID_WHY = 3  # as sheet_rows.FAILED, which cannot be imported without its library
_WORKBOOK = "xl/workbook.xml"

_PROGRAM = Path(__file__).with_name("sheet_rows.py")


def is_workbook(path: Path) -> bool:
    """Whether a file is an .xlsx workbook, whatever its name is."""
    return _WORKBOOK in list_archive_names(path)


def list_archive_names(path: Path) -> frozenset[str]:
    """What a zip archive holds; nothing where the file is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            return frozenset(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return frozenset()


def refuse_bomb(path: Path) -> None:
    """Refuse an archive that says of itself that it unpacks to an absurd size."""
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > MAX_UNPACKED:
        raise DataError(
            f"{path.name}: the archive says it unpacks to {size / 1024**3:,.1f} GB",
            hint=f"at most {MAX_UNPACKED // 1024**3} GB are read; save it as .tsv or .jsonl if it is sound",
        )


def refuse_too_large(path: Path) -> None:
    """Refuse a workbook that takes more memory than it may, before something opens it in this process."""
    with SheetReader(path)._lines() as lines:
        next(lines, None)


@dataclass(slots=True)
class SheetReader:
    """Rows of a workbook's first sheet. Every cell is text; a cell with nothing in it is None."""

    path: Path
    _columns: tuple[str, ...] = ()

    def columns(self) -> tuple[str, ...]:
        if not self._columns:
            with self._lines() as lines:
                self._columns = self._names(next(lines, None))
        return self._columns

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order; one without any value is skipped."""
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
        refuse_bomb(self.path)
        # -P: nothing that lies in the current folder is imported in the other process.
        command = [
            sys.executable,
            "-P",
            str(_PROGRAM),
            str(self.path.absolute()),
            str(MAX_MEMORY),
            str(MAX_CPU_S),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:  # noqa: S603
            try:
                yield self._cells(child)
            finally:
                child.kill()  # where nobody wants the rest

    def _cells(self, child: subprocess.Popen[bytes]) -> Iterator[list[Any]]:
        assert child.stdout is not None
        assert child.stderr is not None
        for line in child.stdout:
            yield json.loads(line)
        said = child.stderr.read().decode("utf-8", "replace").strip().splitlines()
        if code := child.wait():
            raise DataError(
                f"{self.path.name}: the spreadsheet cannot be read: {_why(code, said)}",
                hint="open it and save it again as .xlsx, or export .tsv",
            )


def _why(code: int, said: list[str]) -> str:
    """What ended the child: what it says itself, or the limit that it ran into."""
    if code == -_SIGXCPU:
        return f"it takes more than {MAX_CPU_S} s of computing"
    if code == _SAID_WHY and said:
        return said[-1][:300]
    return f"it takes more than {MAX_MEMORY // 1024**3} GB of memory; is a cell far from all others?"


def format_cell(cell: Any) -> str | None:
    """A cell as text. A spreadsheet knows one kind of number, so a whole one is written as people write it.

    >>> format_cell(3.0), format_cell(2.5), format_cell("007"), format_cell(True), format_cell("")
    ('3', '2.5', '007', 'True', None)
    """
    if isinstance(cell, float) and math.isfinite(cell) and cell == int(cell):
        cell = int(cell)
    return None if cell is None or cell == "" else str(cell)
