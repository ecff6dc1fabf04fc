"""Runs in a separate process: prints the rows of a workbook's first sheet, one JSON list per line.

After the first row, a number stands for so many empty rows.

With ``--sheets`` it prints the beginning of every visible sheet instead; with ``--sheet NAME`` all rows of
that sheet, after one line with its merged cells and its pictures (sheet_pictures.py). Dates and similar
values become text. Libraries that write spreadsheets turn a text that begins with ``=`` into a formula
without a value; such a cell becomes the text again.
"""

from __future__ import annotations

import contextlib
import json
import re
import runpy
import sys
import zipfile
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import IO, Any
from xml.parsers import expat

import python_calamine

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # Excel's limits
MAX_CELLS = 100_000_000  # a hundred full columns
BEGINNING_ROWS = 40  # of each sheet, to find the one with the questions
FAILED = 3  # exit code for an error with a message; Python and Rust use others

_CHUNK_BYTES = 1 << 20
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_PICTURE = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff[\xe0\xe1]"
)  # in .xls files they are stored as they are
_NEVER_CALCULATED = ("", "0")  # the value until a spreadsheet program calculates it

Formulas = Mapping[int, Mapping[int, str]]  # row to column to text, counted from 0


def read_rows(path: str) -> Iterator[list[Any]]:
    """All rows of the first sheet."""
    yield from _read_cells(path, open_book(path).get_sheet_by_index(0))


def open_book(path: str) -> python_calamine.CalamineWorkbook:
    """A workbook by its ending or, if that misleads, by its content."""
    try:
        return python_calamine.CalamineWorkbook.from_path(path)
    except python_calamine.PasswordError:
        raise
    except python_calamine.CalamineError:
        with open(path, "rb") as file:  # noqa: PTH123
            return python_calamine.CalamineWorkbook.from_filelike(file)


def _read_cells(path: str, sheet: python_calamine.CalamineSheet) -> Iterator[list[Any]]:
    _refuse_far_cells(sheet)
    texts: Formulas = read_formulas(path) if sheet.start == (0, 0) else {}
    for number, row in enumerate(sheet.iter_rows()):
        cells: list[Any] = list(row)
        for column, text in texts.get(number, {}).items():
            if column < len(cells):
                cells[column] = text
        yield cells


def read_beginnings(path: str) -> Iterator[dict[str, Any]]:
    """The first rows of each worksheet that is not hidden, with its merged cells."""
    book = open_book(path)
    kinds = python_calamine.SheetTypeEnum, python_calamine.SheetVisibleEnum
    for told in book.sheets_metadata:
        if told.typ == kinds[0].WorkSheet and told.visible == kinds[1].Visible:
            sheet = book.get_sheet_by_name(told.name)
            rows = list(islice(_read_cells(path, sheet), BEGINNING_ROWS))
            yield {"name": told.name, **_describe(sheet), "rows": rows}


def read_sheet(path: str, name: str) -> Iterator[Any]:
    """Merged cells and pictures of a sheet, then its rows."""
    sheet = open_book(path).get_sheet_by_name(name)
    _refuse_far_cells(sheet)
    found = _find_pictures(path, name)
    yield {**_describe(sheet), "pictures": [[*cell, members] for cell, members in found.items()]}
    yield from _read_cells(path, sheet)


def _find_pictures(path: str, sheet: str) -> Mapping[tuple[int, int], list[str]]:
    """The pictures of a sheet. Formats whose pictures are not read are refused if they have one."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if "xl/workbook.xml" in archive.namelist():
                find = runpy.run_path(__file__.replace("sheet_rows", "sheet_pictures"))["find_pictures"]
                found: Mapping[tuple[int, int], list[str]] = find(archive, sheet)
                return found
            has_any = any(name.startswith(("Pictures/", "xl/media/")) for name in archive.namelist())
    else:
        with open(path, "rb") as file:  # noqa: PTH123
            has_any = _PICTURE.search(file.read()) is not None
    if has_any:
        raise ValueError("it has pictures inside, which are read from .xlsx files only")
    return {}


def _describe(sheet: python_calamine.CalamineSheet) -> dict[str, Any]:
    return {"left": (sheet.start or (0, 0))[1], "merged": sheet.merged_cell_ranges or []}


def _refuse_far_cells(sheet: python_calamine.CalamineSheet) -> None:
    """Every row up to the last cell is generated: a file of 5 KB can ask for a billion."""
    n_rows, n_columns = (last + 1 for last in sheet.end or (-1, -1))
    if n_rows > MAX_ROWS or n_columns > MAX_COLUMNS:
        raise ValueError(
            f"a cell is in row {n_rows:,}, column {n_columns:,}; a sheet ends at row {MAX_ROWS:,}, "
            f"column {MAX_COLUMNS:,}"
        )
    if (n_cells := n_rows * sheet.width) > MAX_CELLS:
        raise ValueError(
            f"the last cell is in row {n_rows:,}, column {n_columns:,}, which makes {n_cells:,} cells; "
            f"the limit is {MAX_CELLS:,}"
        )


def read_formulas(path: str) -> Formulas:
    """The formulas of a workbook with one sheet in which no formula was ever calculated."""
    with contextlib.suppress(zipfile.BadZipFile, NotImplementedError, expat.ExpatError, OSError):  # noqa: SIM117
        with zipfile.ZipFile(path) as archive:
            sheets = [name for name in archive.namelist() if re.fullmatch(r"xl/worksheets/[^/]+\.xml", name)]
            if len(sheets) == 1 and _has_any(archive.open(sheets[0])):
                return _Cells().read(archive.open(sheets[0]))
    return {}


def _has_any(file: IO[bytes]) -> bool:
    """Whether there is any formula, which is much faster than finding them."""
    before = b""
    while chunk := file.read(_CHUNK_BYTES):
        if b"<f>" in before + chunk:
            return True
        before = (before + chunk)[-2:]
    return False


class _Cells:
    """Collects cells with formulas from an XML parser."""

    def __init__(self) -> None:
        self.found: dict[int, dict[int, str]] = {}
        self.is_calculated = False
        self.reference = ""
        self.parts: dict[str, list[str]] = {}  # formula and value of the current cell
        self.inside = ""

    def read(self, file: IO[bytes]) -> Formulas:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._begin
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        while chunk := file.read(_CHUNK_BYTES):
            parser.Parse(chunk)
        parser.Parse(b"", True)
        return {} if self.is_calculated else self.found

    def _begin(self, name: str, attributes: dict[str, str]) -> None:
        if name == "c":
            self.reference, self.parts = attributes.get("r", ""), {}
        elif name in ("f", "v"):
            self.inside = name
            self.parts[name] = []

    def _add_text(self, text: str) -> None:
        if self.inside:
            self.parts[self.inside].append(text)

    def _end(self, name: str) -> None:
        self.inside = ""
        where = _REFERENCE.fullmatch(self.reference)
        if name != "c" or "f" not in self.parts or where is None:
            return
        if "".join(self.parts.get("v", ())) not in _NEVER_CALCULATED:
            self.is_calculated = True
        column = 0
        for letter in where[1]:
            column = column * 26 + ord(letter) - ord("A") + 1
        self.found.setdefault(int(where[2]) - 1, {})[column - 1] = "=" + "".join(self.parts["f"])


def _join_empty(rows: Iterator[Any]) -> Iterator[Any]:
    """Of empty rows in succession only their number: a cell at the end of a sheet makes a million of them."""
    yield from islice(rows, 1)
    n_empty = 0
    for row in rows:
        if isinstance(row, list) and all(cell is None or cell == "" for cell in row):
            n_empty += 1
            continue
        if n_empty:
            yield n_empty
            n_empty = 0
        yield row


def main(path: str, max_memory: int, max_cpu_s: int, *what: str) -> None:
    """Print the rows, within limits of memory and CPU time."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_memory, max_memory))
        resource.setrlimit(resource.RLIMIT_CPU, (max_cpu_s, max_cpu_s + 1))
    try:
        if what:
            rows = read_beginnings(path) if what[0] == "--sheets" else read_sheet(path, what[1])
        else:
            rows = read_rows(path)
        for line in _join_empty(rows):
            sys.stdout.write(json.dumps(line, default=str) + "\n")
    except BrokenPipeError:
        pass
    except (
        python_calamine.CalamineError, python_calamine.WorksheetNotFound, zipfile.BadZipFile,
        expat.ExpatError, NotImplementedError, OSError, ValueError,
    ) as error:  # fmt: skip
        is_own = type(error) is ValueError
        sys.stderr.write(f"{error}" if is_own else f"{type(error).__name__}: {error}")
        sys.exit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
