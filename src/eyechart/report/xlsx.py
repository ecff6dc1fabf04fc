"""Results to a spreadsheet: a sheet with the summary, then the samples, row by row.

What did not fit into a cell is counted, and a last sheet says how often that was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from eyechart.model.prices import Price
from eyechart.report.record import Cell, Rows, to_rows
from eyechart.report.summary import Group, Summary
from eyechart.report.workbook import MAX_CHARACTERS, MAX_ROWS, Workbook, new_workbook
from eyechart.types import OUTCOMES, Result

_WIDE = frozenset({"question", "reply", "thinking", "choices"})


def write_xlsx(
    results: Iterable[Result],
    path: str | Path,
    summary: Summary | None = None,
    price: Price | None = None,
) -> None:
    """Write a workbook: `summary` first when given, then one row a sample-trial.

    Rows beyond what one sheet holds go on in a second sheet. A text longer than a cell holds is cut, with
    a mark at its end; control characters are replaced by their pictures.
    """
    with new_workbook(path) as book:
        if summary is not None:
            _add_table(book, "summary", _summary_rows(summary))
        _add_samples(book, to_rows(results, price))
        if notes := list(_notes(book)):
            _add_table(book, "notes", [["note", "cells"], *notes])


def _add_table(book: Workbook, name: str, rows: Iterable[list[Cell]]) -> None:
    """A sheet of a few rows, the first in bold."""
    sheet = book.add_sheet(name)
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 20, 12)
    for number, cells in enumerate(rows):
        book.write_row(sheet, number, cells, is_heading=number == 0)


def _add_samples(book: Workbook, rows: Rows) -> None:
    """The samples, on as many sheets as they need."""
    sheet = _add_samples_sheet(book, "samples", rows.columns)
    number, n_sheets = 1, 1
    for cells in rows.cells:
        if number == MAX_ROWS:
            n_sheets += 1
            sheet = _add_samples_sheet(book, f"samples {n_sheets}", rows.columns)
            number = 1
        book.write_row(sheet, number, cells)
        number += 1


def _add_samples_sheet(book: Workbook, name: str, columns: tuple[str, ...]) -> Any:
    sheet = book.add_sheet(name)
    sheet.freeze_panes(1, 1)
    for index, column in enumerate(columns):
        sheet.set_column(index, index, 40 if column in _WIDE else 12)
    book.write_row(sheet, 0, columns, is_heading=True)
    return sheet


def _notes(book: Workbook) -> Iterator[list[Cell]]:
    """What there is to say of the cells, if anything."""
    if book.n_cut:
        yield [
            f"cells longer than {MAX_CHARACTERS:,} characters, cut; whole in the other exports",
            book.n_cut,
        ]
    if book.n_replaced:
        yield ["cells with control characters, replaced by their pictures", book.n_replaced]


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
        "cost (USD)": summary.cost,
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
