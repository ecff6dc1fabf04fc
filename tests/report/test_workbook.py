"""What goes into the cells of a workbook, and what becomes of the rest."""

from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart.errors import StoreError
from eyechart.report.export import MAX_CHARACTERS, MAX_EXACT, Workbook, fit, open_workbook
from eyechart.terminal import escape_controls


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def test_rows_sheets_and_headings(tmp_path: Path) -> None:
    with open_workbook(tmp_path / "a.xlsx") as book:
        for name in ("one", "two"):
            sheet = book.add_sheet(name)
            book.write_row(sheet, 0, ["name", "n"], is_heading=True)
            book.write_row(sheet, 1, [None, 0.5])
            book.write_row(sheet, 3, ["", "=1+1"])
    loaded = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert loaded.sheetnames == ["one", "two"]
    for page in loaded:
        rows: list[tuple[Any, ...]] = list(page.iter_rows(values_only=True))
        assert rows == [("name", "n"), (None, 0.5), (None, None), (None, "=1+1")]
        assert [page["A1"].font.bold, page["B2"].font.bold] == [True, False]
        assert page["B4"].data_type == "s"


@pytest.mark.parametrize("number", [MAX_EXACT + 1, -MAX_EXACT - 1, 10**400])
def test_a_number_that_would_lose_digits_is_text(tmp_path: Path, number: int) -> None:
    with open_workbook(tmp_path / "a.xlsx") as book:
        book.write_row(book.add_sheet("x"), 0, [number, MAX_EXACT])
    [[long, exact]] = openpyxl.load_workbook(tmp_path / "a.xlsx")["x"].iter_rows(values_only=True)
    assert (long, exact) == (str(number), MAX_EXACT)


def test_what_did_not_fit_is_counted(tmp_path: Path) -> None:
    with open_workbook(tmp_path / "a.xlsx") as book:
        sheet = book.add_sheet("x")
        book.write_row(sheet, 0, ["plain", "two\r\nlines", "bell\x07", "x" * 40_000, "\x07" * 40_000])
        assert (book.n_cut, book.n_replaced) == (2, 2)


@pytest.mark.parametrize("letter", ["x", "图", "😀"])
def test_a_cell_holds_what_excel_holds(letter: str) -> None:
    most = MAX_CHARACTERS // units(letter)
    assert fit(letter * most).text == letter * most
    cut = fit(letter * (most + 1))
    assert cut.is_cut
    assert cut.text.endswith(f"… [cut: {most + 1:,} characters]")
    assert MAX_CHARACTERS - 1 <= units(cut.text) <= MAX_CHARACTERS


@pytest.mark.slow
@example("\ud800", 20_000)
@example("\r\n", 20_000)
@given(st.text(st.characters(), max_size=30), st.sampled_from([1, 1200, 20_000]))
def test_any_text_fits(text: str, times: int) -> None:
    fitted = fit(text * times)
    assert units(fitted.text) <= MAX_CHARACTERS
    assert fitted.is_cut == (units(escape_controls(text * times)) > MAX_CHARACTERS)
    if not fitted.is_cut:
        assert fitted.text == escape_controls(text * times)
        assert fitted.is_replaced == (fitted.text != (text * times).replace("\r\n", "\n"))


def fill(book: Workbook) -> None:
    book.write_row(book.add_sheet("x"), 0, ["new"])
    raise RuntimeError("half way")


def test_a_workbook_that_was_not_finished_leaves_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_bytes(b"before")
    with pytest.raises(RuntimeError, match="half way"), open_workbook(path) as book:
        fill(book)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write"), open_workbook(tmp_path / "none" / "a.xlsx"):
        pass
