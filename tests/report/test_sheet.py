"""One table as a workbook."""

import tempfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.errors import StoreError
from eyechart.report import export
from eyechart.report.export import open_sheet
from eyechart.terminal import escape_controls
from report.test_xlsx import as_excel_shows


def read(path: Path) -> list[list[Any]]:
    book = openpyxl.load_workbook(path, read_only=True)
    try:
        [page] = list(book)
        return [[as_excel_shows(cell) for cell in row] for row in page.iter_rows(values_only=True)]
    finally:
        book.close()


def write_sheet(columns: list[str], rows: list[list[Any]], path: Path) -> None:
    with open_sheet(columns, path) as add:
        for cells in rows:
            add(cells)


def test_numbers_are_numbers_and_text_is_text(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write_sheet(
        ["index", "text"], [[7, "=1+1"], [2**60, "https://example.org"], [None, ""], [0.5, "x"]], path
    )
    assert read(path) == [
        ["index", "text"],
        [7, "=1+1"],
        [str(2**60), "https://example.org"],
        [None, None],
        [0.5, "x"],
    ]


@pytest.mark.slow
@given(st.text(max_size=30))
@settings(deadline=None, max_examples=25)
def test_any_text_comes_back_as_it_is_shown(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.xlsx"
        write_sheet(["text", "end"], [[text, 1]], path)
        assert (read(path)[1][0] or "") == escape_controls(text)


def test_a_text_that_is_too_long_says_so(tmp_path: Path) -> None:
    write_sheet(["text"], [["😀" * 20_000]], tmp_path / "a.xlsx")
    [_, [cell]] = read(tmp_path / "a.xlsx")
    assert cell.endswith("… [cut: 20,000 characters]")
    assert len(cell.encode("utf-16-le")) // 2 <= 32_767


def test_too_many_rows_are_refused_and_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MAX_ROWS", 3)
    write_sheet(["n"], [[1], [2]], tmp_path / "a.xlsx")
    with pytest.raises(StoreError, match="3 rows"):
        write_sheet(["n"], [[1], [2], [3]], tmp_path / "b.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["a.xlsx"]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write"):
        write_sheet(["n"], [[1]], tmp_path / "none" / "a.xlsx")
