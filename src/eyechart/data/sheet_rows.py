"""Runs in a separate process: prints the rows of a workbook's first sheet, one JSON list per line.

Dates and similar values become text. Libraries that write spreadsheets turn a text that begins with ``=``
into a formula without a value; such a cell becomes the text again.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from typing import IO, Any
from xml.parsers import expat

import python_calamine

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # Excel's limits
MAX_CELLS = 100_000_000  # a hundred full columns
FAILED = 3  # exit code for an error with a message; Python and Rust use others

_CHUNK_BYTES = 1 << 20
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")
_NEVER_CALCULATED = ("", "0")  # the value until a spreadsheet program calculates it

Formulas = Mapping[int, Mapping[int, str]]  # row to column to text, counted from 0


def read_rows(path: str) -> Iterator[list[Any]]:
    """All rows of the first sheet."""
    sheet = python_calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0)
    _refuse_far_cells(sheet)
    texts: Formulas = read_formulas(path) if sheet.start == (0, 0) else {}
    for number, row in enumerate(sheet.iter_rows()):
        cells: list[Any] = list(row)
        for column, text in texts.get(number, {}).items():
            if column < len(cells):
                cells[column] = text
        yield cells


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


def main(path: str, max_memory: int, max_cpu_s: int) -> None:
    """Print the rows, within limits of memory and CPU time."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_memory, max_memory))
        resource.setrlimit(resource.RLIMIT_CPU, (max_cpu_s, max_cpu_s + 1))
    try:
        for row in read_rows(path):
            sys.stdout.write(json.dumps(row, default=str) + "\n")
    except BrokenPipeError:
        pass
    except (python_calamine.CalamineError, OSError, ValueError) as error:
        is_own = type(error) is ValueError
        sys.stderr.write(f"{error}" if is_own else f"{type(error).__name__}: {error}")
        sys.exit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
