"""Results to files: CSV, JSON, JSON lines, Parquet. Spreadsheets have a module of their own, xlsx.py.

All take the results as they come, one at a time, and leave either a whole file or the one before. With the
price of the model's tokens, each sample says what its reply cost.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from eyechart.errors import MissingExtra
from eyechart.model.prices import Price
from eyechart.replacing import replacing
from eyechart.report.files import text_file
from eyechart.report.record import FRACTIONS, INTEGERS, Cell, to_json_text, to_record, to_rows
from eyechart.report.summary import Summary
from eyechart.report.xlsx import write_xlsx
from eyechart.types import Result

__all__ = [
    "guarded",
    "unguarded",
    "write_csv",
    "write_json",
    "write_jsonl",
    "write_parquet",
    "write_xlsx",
]

_ROWS_PER_GROUP = 2000  # of a Parquet file: held in memory at once,
_CHARS_PER_GROUP = 2**23  # as far as they are short

# Spreadsheets run a cell that begins with one of these as a formula (OWASP, "CSV Injection"), the
# full-width forms too where such keyboards are in use.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula: those that could be get an apostrophe in front.

    Text that already looks guarded gets one more, so that `unguarded` gives back every text exactly.

    >>> guarded("=1+1"), guarded("'=1+1"), guarded("it's 1+1"), unguarded(guarded("'=1+1"))
    ("'=1+1", "''=1+1", "it's 1+1", "'=1+1")
    """
    return "'" + text if _FORMULA.match(text) else text


def unguarded(text: str) -> str:
    """The text as it was before `guarded`: one apostrophe less, where one was put.

    >>> unguarded("'-5"), unguarded("'quoted'")
    ('-5', "'quoted'")
    """
    return text[1:] if _GUARDED.match(text) else text


def write_csv(results: Iterable[Result], path: str | Path, price: Price | None = None) -> None:
    """One line a sample-trial: UTF-8, text in quotes, numbers bare, empty where there is nothing.

    Text that begins as a formula would is `guarded` by an apostrophe; half characters, which UTF-8 cannot
    hold, are written as their escape.
    """
    rows = to_rows(results, price)
    with text_file(path) as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(map(guarded, rows.columns))
        writer.writerows(map(_guarded_cell, cells) for cells in rows.cells)


def write_jsonl(results: Iterable[Result], path: str | Path, price: Price | None = None) -> None:
    """One record a line, with all that is known of it."""
    with text_file(path) as file:
        file.writelines(to_json_text(to_record(result, price)) + "\n" for result in results)


def write_json(
    results: Iterable[Result],
    path: str | Path,
    summary: Summary | None = None,
    price: Price | None = None,
) -> None:
    """One object: the summary's keys as ``--json`` prints them, and `samples`, a list of records."""
    head = to_json_text(summary.to_json()).removesuffix("}") + ",\n" if summary else "{"
    with text_file(path) as file:
        file.write(f'{head}"samples": [')
        for position, result in enumerate(results):
            file.write((",\n" if position else "\n") + to_json_text(to_record(result, price)))
        file.write("\n]}\n")


def require_parquet() -> Any:
    """The library that writes Parquet; `MissingExtra` where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra.named("parquet", needed_for="Parquet files") from error
    return pyarrow


def write_parquet(results: Iterable[Result], path: str | Path, price: Price | None = None) -> None:
    """One row a sample-trial, in columns of fixed types; those of the samples' meta are text."""
    pyarrow = require_parquet()
    rows = to_rows(results, price)
    schema = pyarrow.schema([(name, _parquet_type(name, pyarrow)) for name in rows.columns])
    with replacing(path) as place, pyarrow.parquet.ParquetWriter(place, schema) as writer:
        for chunk in _chunks(rows.cells):
            columns = [
                pyarrow.array([_typed(cell, name) for cell in column], type=schema.field(name).type)
                for name, column in zip(rows.columns, zip(*chunk, strict=True), strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))


def _chunks(rows: Iterable[Sequence[Cell]]) -> Iterator[list[Sequence[Cell]]]:
    chunk: list[Sequence[Cell]] = []
    n_chars = 0
    for row in rows:
        chunk.append(row)
        n_chars += sum(len(cell) for cell in row if isinstance(cell, str))
        if len(chunk) == _ROWS_PER_GROUP or n_chars > _CHARS_PER_GROUP:
            yield chunk
            chunk, n_chars = [], 0
    if chunk:
        yield chunk


def _guarded_cell(cell: Cell) -> Cell:
    return guarded(cell) if isinstance(cell, str) else cell


def _parquet_type(name: str, pyarrow: Any) -> Any:
    if name in INTEGERS:
        return pyarrow.int64()
    return pyarrow.float64() if name in FRACTIONS else pyarrow.string()


def _typed(cell: Cell, name: str) -> Cell:
    if cell is None or name in INTEGERS or name in FRACTIONS:
        return cell
    return str(cell).encode("utf-8", "backslashreplace").decode("utf-8")
