"""Tables as files: TSV and .xlsx."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import openpyxl


def write_tsv(path: Path, heading: Sequence[str], *rows: Sequence[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerows([heading, *rows])
    return path


def write_workbook(path: Path, *rows: Sequence[object]) -> Path:
    """Rows on the first sheet of an .xlsx file."""
    book = openpyxl.Workbook()
    for row in rows:
        book.worksheets[0].append(list(row))
    book.save(path)
    return path
