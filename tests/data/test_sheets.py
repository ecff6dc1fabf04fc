"""Spreadsheets: read row by row, and never beyond reason."""

import string
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.files import sheets
from eyechart.data.files.sheets import WorkbookReader, is_workbook
from eyechart.data.source import SourceOptions, open_source
from eyechart.errors import DataError
from support.tables import write_workbook


def workbook(path: Path, rows: list[list[Any]]) -> Path:
    return write_workbook(path, *rows)


def reader_of(path: Path) -> WorkbookReader:
    return WorkbookReader(path, lambda names: "index" in names)


def values(path: Path) -> list[dict[str, object]]:
    return [row.values for row in reader_of(path).rows(())]


def test_cells_are_text_and_whole_numbers_look_whole(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "a.xlsx",
        [
            ["index", "answer", "said"],
            [1, "007", 2.5],
            [2.0, True, None],
            [None, None, None],
            ["x", " two  words ", "=1"],
        ],
    )
    assert values(path) == [
        {"index": "1", "answer": "007", "said": "2.5"},
        {"index": "2", "answer": "True", "said": None},
        {"index": "x", "answer": " two  words ", "said": "=1"},  # a formula that was never computed
    ]
    assert reader_of(path).columns() == ("index", "answer", "said")


@pytest.mark.slow
def test_a_reader_can_stop_early_and_begin_again(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["index"], *([n] for n in range(5000))])
    reader = reader_of(path)
    rows = reader.rows(())
    assert next(rows).values == {"index": "0"}
    rows.close()  # type: ignore[attr-defined]
    assert sum(1 for _ in reader.rows(())) == 5000


def test_heads_that_cannot_be_meant(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"a\.xlsx: row 1 of sheet .* names 'index' more than once"):
        values(workbook(tmp_path / "a.xlsx", [["index", "index"], [1, 2]]))
    with pytest.raises(DataError, match=r"b\.xlsx: no sheet has any cells"):
        values(workbook(tmp_path / "b.xlsx", []))


def test_an_archive_that_claims_an_absurd_size_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = workbook(tmp_path / "a.xlsx", [["index"], ["x" * 30_000]])
    monkeypatch.setattr(sheets, "MAX_UNPACKED", 20_000)
    with pytest.raises(DataError, match=r"a\.xlsx: the archive unpacks to"):
        values(path)


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is only sure there")
def test_a_table_of_terabytes_in_a_few_kilobytes_is_told_and_not_fatal(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["index"], [1]])
    bomb = tmp_path / "bomb.xlsx"
    corner = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(b"</sheetData>", corner) if "sheet1" in name else data)
    with pytest.raises(DataError, match=r"bomb\.xlsx: the spreadsheet cannot be read"):
        values(bomb)


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.99])
def test_a_file_that_was_cut_off_is_told(tmp_path: Path, keep: float) -> None:
    data = workbook(tmp_path / "a.xlsx", [["index"], [1]]).read_bytes()
    path = tmp_path / "cut.xlsx"
    path.write_bytes(data[: int(len(data) * keep)])
    assert not is_workbook(path)


def test_a_broken_sheet_is_told(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["index"], [1]])
    broken = tmp_path / "broken.xlsx"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(broken, "w") as target:
        for name in source.namelist():
            target.writestr(name, b"<worksheet><sheetData><row" if "sheet1" in name else source.read(name))
    with pytest.raises(
        DataError, match=r"broken\.xlsx: (the spreadsheet cannot be read|no sheet has any cells)"
    ):
        values(broken)


def sheet_of(path: Path, *cells: str) -> Path:
    """A workbook whose sheet holds cells at these places and says nothing else."""
    workbook(path.with_name("model.xlsx"), [["x"]])
    rows = "".join(
        f'<row r="{place.lstrip(string.ascii_uppercase)}">'
        f'<c r="{place}" t="inlineStr"><is><t>index</t></is></c></row>'
        for place in cells
    )
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'
    with zipfile.ZipFile(path.with_name("model.xlsx")) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            new.writestr(name, sheet if name == "xl/worksheets/sheet1.xml" else old.read(name))
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "why"),
    [
        (["A999999999"], "a sheet ends at row 1,048,576"),
        (["A1", "A999999999"], "a sheet ends at row 1,048,576|GB of memory"),
        (["A1", "A1048577"], "a sheet ends at row 1,048,576"),
        (["XFE1"], "a sheet ends at row 1,048,576, column 16,384"),
        (["A1048000", "CZ1048001"], "108,992,104 cells"),
        (["A1", "XFD1048576"], "of memory; is one cell far from all others|17,179,869,184 cells"),
    ],
)
def test_a_sheet_ends_where_excels_ends(tmp_path: Path, cells: list[str], why: str) -> None:
    path = sheet_of(tmp_path / "far.xlsx", *cells)
    with pytest.raises(DataError, match=why) as caught:
        values(path)
    assert "RUST" not in str(caught.value)
    with pytest.raises(DataError, match=why):
        sheets.refuse_too_large(path)


@pytest.mark.slow
def test_one_cell_in_the_last_column_and_one_in_the_last_row(tmp_path: Path) -> None:
    assert len(reader_of(sheet_of(tmp_path / "wide.xlsx", "A1", "XFD2")).columns()) == 16_384
    assert reader_of(sheet_of(tmp_path / "tall.xlsx", "A1", "A1048576")).columns() == ("index",)


@pytest.mark.slow
def test_a_child_that_computes_for_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MAX_CPU_S", 1)
    path = sheet_of(tmp_path / "slow.xlsx", "A1", "CV1000000")
    with pytest.raises(DataError, match="it needs more than 1 s of CPU time"):
        values(path)


def test_a_text_that_is_called_a_workbook_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"question": "?"}\n')
    with pytest.raises(DataError, match=r"a\.jsonl: not a workbook"):
        open_source(path, SourceOptions(format="xlsx"))
