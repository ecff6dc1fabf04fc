"""One table as a workbook, as other tools read it back: a heading, then a row each, on the first sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

from eyechart.errors import StoreError
from eyechart.report.record import Cell
from eyechart.report.workbook import MAX_ROWS, new_workbook

AddRow: TypeAlias = Callable[[Sequence[Cell]], None]


@contextmanager
def new_sheet(columns: Sequence[str], path: str | Path) -> Iterator[AddRow]:
    """What adds a row to the table, which stands at `path` when the block ends.

    More rows than a sheet holds are refused: no reader looks at a second.
    """
    with new_workbook(path) as book:
        sheet = book.add_sheet("Sheet1")
        book.write_row(sheet, 0, columns)
        n_rows = 1

        def add(cells: Sequence[Cell]) -> None:
            nonlocal n_rows
            if n_rows == MAX_ROWS:
                raise StoreError(
                    f"{path}: a sheet holds {MAX_ROWS:,} rows",
                    hint="export with --csv or --jsonl instead",
                )
            book.write_row(sheet, n_rows, cells)
            n_rows += 1

        yield add


def write_sheet(columns: Sequence[str], rows: Iterable[Sequence[Cell]], path: str | Path) -> None:
    """Write a whole table, row by row."""
    with new_sheet(columns, path) as add:
        for cells in rows:
            add(cells)
