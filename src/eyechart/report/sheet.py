"""One table as a workbook, as other tools read it back: a heading, then a row each, on the first sheet.

Every text is written as text. What Excel cannot hold is cut or replaced with a mark, as in xlsx.py.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import StoreError
from eyechart.report.record import Cell
from eyechart.report.visible import visible
from eyechart.report.xlsx import MAX_CHARACTERS, MAX_ROWS
from eyechart.store.replacing import replacing

_MAX_EXACT = 2**53  # Excel's numbers are doubles; longer whole numbers would lose digits


def write_sheet(columns: Sequence[str], rows: Iterable[Sequence[Cell]], path: str | Path) -> None:
    """Write the table row by row. More rows than a sheet holds are refused: no reader looks at a second."""
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with replacing(path) as place, tempfile.TemporaryDirectory() as scratch:
        workbook = xlsxwriter.Workbook(str(place), {**options, "tmpdir": scratch})
        workbook.use_zip64()  # no limit at 4 GB
        try:
            sheet = workbook.add_worksheet("Sheet1")
            _write_row(sheet, 0, columns)
            for number, cells in enumerate(rows, start=1):
                if number == MAX_ROWS:
                    raise StoreError(
                        f"{path}: a sheet holds {MAX_ROWS:,} rows",
                        hint="export with --csv or --jsonl instead",
                    )
                _write_row(sheet, number, cells)
        finally:
            # Closed whatever happened, to let go of its files; `replacing` drops what is incomplete.
            try:
                workbook.close()
            except FileCreateError as error:
                raise OSError(str(error)) from error


def fitting(text: str) -> str:
    r"""The text as a cell can hold it.

    >>> fitting("red\x07"), len(fitting("x" * 40_000)), fitting("x" * 40_000)[-27:]
    ('red␇', 32767, 'x… [cut: 40,000 characters]')
    """
    shown = visible(text)
    if 2 * len(shown) <= MAX_CHARACTERS:  # a character is two UTF-16 units at most, which is what counts
        return shown
    units = shown.encode("utf-16-le")
    if len(units) // 2 <= MAX_CHARACTERS:
        return shown
    mark = f"… [cut: {len(text):,} characters]"
    return units[: 2 * (MAX_CHARACTERS - len(mark))].decode("utf-16-le", "ignore") + mark


def _write_row(sheet: Any, number: int, cells: Sequence[Cell]) -> None:
    for column, cell in enumerate(cells):
        if cell is None or cell == "":
            continue
        if isinstance(cell, str) or abs(cell) > _MAX_EXACT:
            sheet.write_string(number, column, fitting(str(cell)))
        else:
            sheet.write_number(number, column, cell)
