"""Results to a spreadsheet: a sheet with the summary, then the samples, row by row.

Every text is written as text: no formula runs and no link is made out of a reply. Excel's own limits are
met in the open: what had to be cut or replaced carries a mark, and a last sheet says how often.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from eyechart.report.record import Cell, Rows, to_rows
from eyechart.report.summary import Group, Summary
from eyechart.report.visible import visible
from eyechart.store.replacing import replacing
from eyechart.types import OUTCOMES, Result

MAX_ROWS = 1_048_576  # of a sheet, its heading included
MAX_CHARACTERS = 32_767  # of a cell, counted as Excel does: in UTF-16 units
_MAX_EXACT = 2**53  # Excel's numbers are doubles; longer whole numbers would lose digits
_WIDE = frozenset({"question", "reply", "thinking", "choices"})


def write_xlsx(results: Iterable[Result], path: str | Path, summary: Summary | None = None) -> None:
    """Write a workbook: `summary` first when given, then one row a sample-trial.

    Rows beyond what one sheet holds go on in a second sheet. A text longer than a cell holds is cut, with
    a mark at its end; control characters are replaced by their pictures.
    """
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with replacing(path) as place, tempfile.TemporaryDirectory() as scratch:
        workbook = xlsxwriter.Workbook(str(place), {**options, "tmpdir": scratch})
        workbook.use_zip64()  # no limit at 4 GB
        book = _Book(workbook)
        try:
            if summary is not None:
                book.add_table("summary", iter(_summary_rows(summary)))
            rows = to_rows(results)
            book.add_samples(rows)
            book.add_notes()
        finally:
            # Closed whatever happened, to let go of its files; `replacing` drops what is incomplete.
            try:
                workbook.close()
            except FileCreateError as error:
                raise OSError(str(error)) from error


class _Book:
    """A workbook in the making, counting what did not fit."""

    def __init__(self, workbook: Any) -> None:
        self._workbook = workbook
        self._bold = workbook.add_format({"bold": True})
        self._n_cut = 0
        self._n_replaced = 0

    def add_table(self, name: str, rows: Iterator[list[Cell]]) -> None:
        """A sheet of a few rows, the first in bold."""
        sheet = self._workbook.add_worksheet(name)
        sheet.set_column(0, 0, 28)
        sheet.set_column(1, 20, 12)
        for number, cells in enumerate(rows):
            self._write_row(sheet, number, cells, self._bold if number == 0 else None)

    def add_samples(self, rows: Rows) -> None:
        """The samples, on as many sheets as they need."""
        sheet = self._add_sheet("samples", rows.columns)
        number, n_sheets = 1, 1
        for cells in rows.cells:
            if number == MAX_ROWS:
                n_sheets += 1
                sheet = self._add_sheet(f"samples {n_sheets}", rows.columns)
                number = 1
            self._write_row(sheet, number, cells)
            number += 1

    def add_notes(self) -> None:
        """A last sheet, only when there is something to say."""
        notes: list[list[Cell]] = []
        if self._n_cut:
            text = f"cells longer than {MAX_CHARACTERS:,} characters, cut; whole in the other exports"
            notes.append([text, self._n_cut])
        if self._n_replaced:
            notes.append(["cells with control characters, replaced by their pictures", self._n_replaced])
        if notes:
            self.add_table("notes", iter([["note", "cells"], *notes]))

    def _add_sheet(self, name: str, columns: tuple[str, ...]) -> Any:
        sheet = self._workbook.add_worksheet(name)
        sheet.freeze_panes(1, 1)
        for index, column in enumerate(columns):
            sheet.set_column(index, index, 40 if column in _WIDE else 12)
        self._write_row(sheet, 0, list(columns), self._bold)
        return sheet

    def _write_row(self, sheet: Any, number: int, cells: list[Cell], style: Any = None) -> None:
        for column, cell in enumerate(cells):
            if cell is None or cell == "":
                continue
            if isinstance(cell, str) or abs(cell) > _MAX_EXACT:
                sheet.write_string(number, column, self._fitting(str(cell)), style)
            else:
                sheet.write_number(number, column, cell, style)

    def _fitting(self, text: str) -> str:
        shown = visible(text)
        self._n_replaced += shown != text.replace("\r\n", "\n")
        if _units(shown) <= MAX_CHARACTERS:
            return shown
        self._n_cut += 1
        mark = f"… [cut: {len(text):,} characters]"
        kept = shown.encode("utf-16-le")[: 2 * (MAX_CHARACTERS - len(mark))].decode("utf-16-le", "ignore")
        return kept + mark


def _units(text: str) -> int:
    """UTF-16 units; a character is two at most, so short texts need no count."""
    return len(text) if 2 * len(text) <= MAX_CHARACTERS else len(text.encode("utf-16-le")) // 2


def _summary_rows(summary: Summary) -> Iterator[list[Cell]]:
    """The overall row, a row a group, then the run's own facts. Scores are fractions from 0 to 1."""
    yield ["group", "value", "n", "score", "ci95 low", "ci95 high", *OUTCOMES, "pending", "coverage",
           "worst", "best", "chance"]  # fmt: skip
    yield ["overall", None, *_group_cells(summary.overall)]
    for key, groups in summary.by.items():
        for value, group in groups.items():
            yield [key, value, *_group_cells(group)]
    yield []
    facts: dict[str, Cell] = {
        "benchmark": summary.benchmark,
        "model": summary.model,
        "run": summary.run,
        "scorer": summary.scorer,
        "parity": summary.parity,
        "eyechart": summary.version,
        "seconds": summary.seconds,
        "cost": summary.cost,
    }
    facts |= {f"requests {name}": count for name, count in summary.requests.items()}
    facts |= {f"tokens {name}": count for name, count in summary.tokens.items()}
    if summary.trials:
        facts |= {"trials": summary.trials.k, "trials mean": summary.trials.mean}
        facts |= {"trials std": summary.trials.std}
    for name, fact in facts.items():
        if fact not in (None, ""):
            yield [name, fact]


def _group_cells(group: Group) -> list[Cell]:
    low, high = group.ci95 or (None, None)
    worst, best = group.bounds or (None, None)
    counts = [group.outcomes[outcome] for outcome in OUTCOMES]
    return [group.n, group.score, low, high, *counts, group.pending, group.coverage, worst, best,
            group.chance]  # fmt: skip
