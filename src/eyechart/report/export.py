"""Results as files: CSV, JSON, JSON lines, Parquet and Excel.

Every writer takes the results one at a time and leaves either a complete new file or the previous one. With
the price of the model's tokens, each row has the cost of its reply. In spreadsheets every text stays text: a
reply cannot become a formula or a link, and a cell that exceeds Excel's limits is cut, marked and counted.
"""

from __future__ import annotations

import csv
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from eyechart.errors import MissingExtra, StoreError
from eyechart.files import atomic_write
from eyechart.models.prices import Price
from eyechart.report.counting import Group, describe_speeds
from eyechart.report.rows import (
    FRACTIONS,
    INTEGERS,
    Cell,
    Rows,
    open_text_file,
    to_json_text,
    to_record,
    to_rows,
)
from eyechart.report.summary import Summary
from eyechart.terminal import escape_controls, print_note
from eyechart.types import OUTCOMES, Result

MAX_ROWS = 1_048_576  # of a sheet, its heading included
MAX_CHARACTERS = 32_767  # of a cell, counted as Excel does: in UTF-16 units
MAX_EXACT = 2**53  # Excel's numbers are doubles; longer whole numbers would lose digits
AddRow: TypeAlias = Callable[[Sequence[Cell]], None]
_WIDE = frozenset({"question", "reply", "thinking", "choices"})
_ROWS_PER_GROUP = 2000  # of a Parquet file: held in memory at once,
_CHARS_PER_GROUP = 2**23  # as far as they are short

# Spreadsheets run a cell that begins with one of these as a formula (OWASP, "CSV Injection"), the
# full-width forms too where such keyboards are in use.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_GUARDED = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def write_csv(results: Iterable[Result], path: str | Path, price: Price | None = None) -> None:
    """One line per sample-trial: UTF-8, text in quotes, numbers without, empty cells for missing values.

    Text that a spreadsheet would run as a formula gets an apostrophe in front (`guard_formula`); lone
    surrogates, which UTF-8 cannot hold, are written as escapes.
    """
    rows = to_rows(results, price)
    write_csv_rows(path, rows.columns, rows.cells)


def write_csv_rows(path: str | Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """A table as a CSV that spreadsheets may open."""
    with open_text_file(path) as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(map(guard_formula, columns))
        for cells in rows:
            writer.writerow([guard_formula(cell) if isinstance(cell, str) else cell for cell in cells])


def write_jsonl(results: Iterable[Result], path: str | Path, price: Price | None = None) -> None:
    """One complete record per line."""
    with open_text_file(path) as file:
        file.writelines(to_json_text(to_record(result, price)) + "\n" for result in results)


def write_json(
    results: Iterable[Result],
    path: str | Path,
    summary: Summary | None = None,
    price: Price | None = None,
) -> None:
    """One object: the summary's keys as ``--json`` prints them, and `samples`, a list of records."""
    head = to_json_text(summary.to_json()).removesuffix("}") + ",\n" if summary else "{"
    with open_text_file(path) as file:
        file.write(f'{head}"samples": [')
        for position, result in enumerate(results):
            file.write((",\n" if position else "\n") + to_json_text(to_record(result, price)))
        file.write("\n]}\n")


def require_parquet() -> Any:
    """Import pyarrow; raises `MissingExtra` if it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtra.named("parquet", needed_for="Parquet files") from error
    return pyarrow


def write_parquet(results: Iterable[Result], path: str | Path, price: Price | None = None) -> None:
    """One row per sample-trial, in columns of fixed types; the columns of the samples' meta are text."""
    pyarrow = require_parquet()
    rows = to_rows(results, price)
    numbers = dict.fromkeys(INTEGERS, pyarrow.int64()) | dict.fromkeys(FRACTIONS, pyarrow.float64())
    schema = pyarrow.schema([(name, numbers.get(name, pyarrow.string())) for name in rows.columns])
    with atomic_write(path) as place, pyarrow.parquet.ParquetWriter(place, schema) as writer:
        for chunk in _chunks(rows.cells):
            columns = [
                pyarrow.array(column if name in numbers else map(_to_text, column), schema.field(name).type)
                for name, column in zip(rows.columns, zip(*chunk, strict=True), strict=True)
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))


def _to_text(cell: Cell) -> str | None:
    return None if cell is None else str(cell).encode("utf-8", "backslashreplace").decode("utf-8")


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


def guard_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet could run as a formula.

    Text that already looks guarded gets one more, so that `strip_guard` gives back every text exactly.

    >>> guard_formula("=1+1"), guard_formula("'=1+1"), guard_formula("it's 1+1")
    ("'=1+1", "''=1+1", "it's 1+1")
    >>> strip_guard(guard_formula("'=1+1"))
    "'=1+1"
    """
    return "'" + text if _FORMULA.match(text) else text


def strip_guard(text: str) -> str:
    """The text as it was before `guard_formula`: one apostrophe less, where one was put.

    >>> strip_guard("'-5"), strip_guard("'quoted'")
    ('-5', "'quoted'")
    """
    return text[1:] if _GUARDED.match(text) else text


# -- Excel


def write_xlsx(
    results: Iterable[Result],
    path: str | Path,
    summary: Summary | None = None,
    price: Price | None = None,
) -> None:
    """Write a workbook: the summary if given, then one row per sample-trial, on several sheets if needed.

    A text longer than a cell holds is cut and marked, control characters are replaced by visible symbols, and
    a last sheet counts both.
    """
    with open_workbook(path) as book:
        if summary is not None:
            _add_table(book, "summary", _summary_rows(summary))
        _add_samples(book, to_rows(results, price))
        notes: list[list[Cell]] = [
            [f"cells longer than {MAX_CHARACTERS:,} characters, cut; whole in the other exports", book.n_cut],
            ["cells with control characters, replaced by visible symbols", book.n_replaced],
        ]
        if book.n_cut or book.n_replaced:
            _add_table(book, "notes", [["note", "cells"], *(note for note in notes if note[1])])


def _add_table(book: Workbook, name: str, rows: Iterable[list[Cell]]) -> None:
    """Add a sheet of a few rows, the first in bold."""
    sheet = book.add_sheet(name)
    sheet.set_column(0, 0, 28)
    sheet.set_column(1, 20, 12)
    for number, cells in enumerate(rows):
        book.write_row(sheet, number, cells, is_heading=number == 0)


def _add_samples(book: Workbook, rows: Rows) -> None:
    """Add the samples, on as many sheets as they need."""
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


def _summary_rows(summary: Summary) -> Iterator[list[Cell]]:
    """The overall row, a row per group, then facts about the run. Scores are fractions from 0 to 1."""
    groups = [("overall", None, summary.overall), *(("also", *item) for item in summary.also.items())]
    groups += [(key, *item) for key, by_value in summary.by.items() for item in by_value.items()]
    yield ["group", "value", *_group_cells(summary.overall)]
    yield from ([key, value, *_group_cells(group).values()] for key, value, group in groups)
    yield []
    yield from _metric_rows(summary)
    facts: dict[str, Cell] = {
        "benchmark": summary.benchmark,
        "model": summary.model,
        "run": summary.run,
        "scorer": summary.scorer,
        "parity": summary.parity,
        "unread": summary.unread.line if summary.unread else None,
        "thinking": "; ".join(summary.thinking.lines()) if summary.thinking else None,
        "rules": summary.rules,
        "eyechart": summary.version,
        "seconds": summary.seconds,
        "speed": describe_speeds(summary.speed) if summary.speed else None,
        "cost (USD)": summary.cost,
    }
    facts |= {f"requests {name}": count for name, count in summary.requests.items()}
    facts |= {f"tokens {name}": count for name, count in summary.tokens.items()}
    if summary.trials:
        facts |= {"trials": summary.trials.k, "trials mean": summary.trials.mean}
        facts |= {"trials std": summary.trials.std}
        facts |= {f"trials {name}": fact for name, fact in summary.trials.list_facts()}
    facts |= dict(summary.judge.facts()) if summary.judge else {}
    for name, fact in facts.items():
        if fact not in (None, ""):
            yield [name, fact]


def _metric_rows(summary: Summary) -> Iterator[list[Cell]]:
    """The benchmark's official number, a row per metric; fractions or points."""
    metrics = summary.metrics
    if metrics is None:
        return
    name = f"{metrics.aggregate} ({metrics.scale})"
    yield [name, metrics.problem or None, "value", "ci95 low", "ci95 high"]
    for name, metric in metrics.overall.items():
        yield ["overall", name, metric.value, *(metric.ci95 or (None, None))]
    for group, values in metrics.by.items():
        for name, value in values.items():
            yield [group, name, value, *metrics.by_ci95.get(group, {}).get(name, ())]
    yield []


def _group_cells(group: Group) -> dict[str, Cell]:
    low, high = group.ci95 or (None, None)
    worst, best = group.bounds or (None, None)
    lowest, highest = group.ci95_with_failures or (None, None)
    return {
        "n": group.n, "score": group.score, "ci95 low": low, "ci95 high": high,
        **{outcome: group.outcomes[outcome] for outcome in OUTCOMES},
        "pending": group.pending, "coverage": group.coverage, "worst": worst, "best": best,
        "chance": group.chance, "n scored": group.n_scored, "n clusters": group.n_clusters,
        "method": group.method, "stderr": group.stderr, "ci95 with failures low": lowest,
        "ci95 with failures high": highest, "shrunk": group.shrunk,
    }  # fmt: skip


@contextmanager
def open_sheet(columns: Sequence[str], path: str | Path, *, cut_hint: str = "") -> Iterator[AddRow]:
    """A workbook of one sheet; yields the function that adds a row. The block's end moves it to `path`.

    More rows than a sheet holds are refused: other tools read only the first sheet. With a `cut_hint`, a note
    says how many cells were cut.
    """
    with open_workbook(path) as book:
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
    if cut_hint and book.n_cut:
        what = "1 cell was" if book.n_cut == 1 else f"{book.n_cut:,} cells were"
        note = f"{Path(path).name}: {what} cut at {MAX_CHARACTERS:,} characters, the limit of a cell"
        print_note(f"eyechart: {note}\n  hint: {cut_hint}")


@contextmanager
def open_workbook(path: str | Path) -> Iterator[Workbook]:
    """A workbook to fill row by row in little memory; at the end of the block it is moved to `path`."""
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with (
        atomic_write(path) as place,
        tempfile.TemporaryDirectory() as scratch,
        place.open("w+b") as file,
    ):
        output = _Output(file)
        book = xlsxwriter.Workbook(output, {**options, "tmpdir": scratch})
        book.use_zip64()  # no limit at 4 GB
        try:
            yield Workbook(book)
        finally:
            # Closed whatever happened, to let go of its files; `replacing` drops what is incomplete.
            try:
                book.close()
            except FileCreateError as error:
                raise OSError(str(error)) from error
            finally:
                output.is_over = True


class _Output:
    """A file that ignores writes after the end: zipfile writes again when it is garbage-collected."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._at = 0
        self.is_over = False

    def write(self, data: bytes) -> int:
        self._at += len(data)
        return len(data) if self.is_over else self._file.write(data)

    def seek(self, offset: int) -> int:
        self._at = offset
        return offset if self.is_over else self._file.seek(offset)

    def tell(self) -> int:
        return self._at if self.is_over else self._file.tell()

    def flush(self) -> None:
        if not self.is_over:
            self._file.flush()


class Workbook:
    """Sheets, written one after the other; counts the cells that did not fit."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._bold = book.add_format({"bold": True})
        self.wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        self.n_cut = 0
        self.n_replaced = 0

    def add_sheet(self, name: str) -> Any:
        """A new sheet of xlsxwriter."""
        return self._book.add_worksheet(name)

    def write_row(
        self,
        sheet: Any,
        number: int,
        cells: Sequence[Cell],
        *,
        is_heading: bool = False,
        is_wrapped: bool = False,
    ) -> None:
        """Write a row, counted from 0; rows must come in order. Empty cells are left out."""
        style = self._bold if is_heading else self.wrapped if is_wrapped else None
        for column, cell in enumerate(cells):
            if cell is None or cell == "":
                continue
            if isinstance(cell, bool):
                sheet.write_boolean(number, column, cell, style)
            elif isinstance(cell, str) or abs(cell) > MAX_EXACT:
                fitted = fit(str(cell))
                self.n_cut += fitted.is_cut
                self.n_replaced += fitted.is_replaced
                sheet.write_string(number, column, fitted.text, style)
            else:
                sheet.write_number(number, column, cell, style)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A text as a cell can hold it, and whether it was cut or changed."""

    text: str
    is_cut: bool
    is_replaced: bool


def fit(text: str) -> Fitted:
    r"""Replace control characters by visible symbols, and cut a text that is too long, with a mark.

    >>> fit("red\x07").text, len(fit("x" * 40_000).text), fit("x" * 40_000).text[-27:]
    ('red␇', 32767, 'x… [cut: 40,000 characters]')
    """
    shown = escape_controls(text)
    is_replaced = shown != text.replace("\r\n", "\n")
    # A character is two UTF-16 units at most, so short texts need no count.
    units = shown.encode("utf-16-le") if 2 * len(shown) > MAX_CHARACTERS else b""
    if len(units) <= 2 * MAX_CHARACTERS:
        return Fitted(text=shown, is_cut=False, is_replaced=is_replaced)
    mark = f"… [cut: {len(text):,} characters]"
    kept = units[: 2 * (MAX_CHARACTERS - len(mark))].decode("utf-16-le", "ignore")
    return Fitted(text=kept + mark, is_cut=True, is_replaced=is_replaced)
