"""A table as a spreadsheet: text stays text, numbers numbers, and what did not fit is said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from eyechart.compat.vlmeval.frames import Frame, plain
from eyechart.errors import DataError
from eyechart.report.record import Cell
from eyechart.report.workbook import MAX_CHARACTERS, MAX_ROWS, new_workbook
from eyechart.terminal import print_note


def write_frame(frame: Frame, path: Path) -> None:
    """Write a table to the first sheet of a workbook, without its row numbers."""
    if len(frame) >= MAX_ROWS:
        raise DataError(f"{path.name}: a sheet holds {MAX_ROWS:,} rows", hint="write .tsv or .json instead")
    with new_workbook(path) as book:
        sheet = book.add_sheet("Sheet1")
        book.write_row(sheet, 0, [str(name) for name in frame.columns])
        for number, values in enumerate(frame.itertuples(index=False, name=None), 1):
            cells = [_cell(value) for value in values]
            book.write_row(sheet, number, [None if isinstance(cell, bool) else cell for cell in cells])
            for column, cell in enumerate(cells):
                if isinstance(cell, bool):
                    sheet.write_boolean(number, column, cell)
    if book.n_cut:
        what = "1 cell was" if book.n_cut == 1 else f"{book.n_cut:,} cells were"
        note = f"{path.name}: {what} cut at {MAX_CHARACTERS:,} characters, the most that a sheet takes"
        print_note(f"eyechart: {note}\n  hint: PRED_FORMAT=tsv keeps them whole")


def _cell(value: Any) -> Cell:
    value = plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, str | int | float) else str(value)
