"""A workbook in the making: what goes into a cell, and what becomes of what does not fit.

Every text is written as text: no formula runs and no link is made out of a reply. Excel's own limits are
met in the open: what had to be cut or replaced carries a mark and is counted.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from eyechart.replacing import replacing
from eyechart.report.record import Cell
from eyechart.terminal import visible

MAX_ROWS = 1_048_576  # of a sheet, its heading included
MAX_CHARACTERS = 32_767  # of a cell, counted as Excel does: in UTF-16 units
MAX_EXACT = 2**53  # Excel's numbers are doubles; longer whole numbers would lose digits


@contextmanager
def new_workbook(path: str | Path) -> Iterator[Workbook]:
    """A workbook to be filled row by row, in little memory; at the end of the block it stands at `path`."""
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with (
        replacing(path) as place,
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
    """A file that fails once: Python's archive tries to complete itself again when it is forgotten."""

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
        self.n_cut = 0
        self.n_replaced = 0

    def add_sheet(self, name: str) -> Any:
        """A new sheet, as the library has it."""
        return self._book.add_worksheet(name)

    def write_row(self, sheet: Any, number: int, cells: Sequence[Cell], *, is_heading: bool = False) -> None:
        """One row, counted from 0, and never one above the last. Cells with nothing in them stay empty."""
        style = self._bold if is_heading else None
        for column, cell in enumerate(cells):
            if cell is None or cell == "":
                continue
            if isinstance(cell, str) or abs(cell) > MAX_EXACT:
                fitted = fit(str(cell))
                self.n_cut += fitted.is_cut
                self.n_replaced += fitted.is_replaced
                sheet.write_string(number, column, fitted.text, style)
            else:
                sheet.write_number(number, column, cell, style)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """A text as a cell can hold it, and what that took."""

    text: str
    is_cut: bool
    is_replaced: bool


def fit(text: str) -> Fitted:
    r"""Control characters become their pictures, and a text that is too long ends in a mark.

    >>> fit("red\x07").text, len(fit("x" * 40_000).text), fit("x" * 40_000).text[-27:]
    ('red␇', 32767, 'x… [cut: 40,000 characters]')
    """
    shown = visible(text)
    is_replaced = shown != text.replace("\r\n", "\n")
    # A character is two UTF-16 units at most, so short texts need no count.
    units = shown.encode("utf-16-le") if 2 * len(shown) > MAX_CHARACTERS else b""
    if len(units) <= 2 * MAX_CHARACTERS:
        return Fitted(text=shown, is_cut=False, is_replaced=is_replaced)
    mark = f"… [cut: {len(text):,} characters]"
    kept = units[: 2 * (MAX_CHARACTERS - len(mark))].decode("utf-16-le", "ignore")
    return Fitted(text=kept + mark, is_cut=True, is_replaced=is_replaced)
