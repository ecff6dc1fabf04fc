"""Texts that a library took for formulas are texts again."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.files import sheet_rows
from eyechart.data.files.sheet_rows import open_book, read_formulas, read_sheet
from support.tables import write_workbook


def read_rows(path: str) -> list[Any]:
    _, *rows = read_sheet(path, open_book(path).sheet_names[0])
    return rows


def with_sheet(path: Path, new: Path, edit: Any) -> Path:
    """The same workbook with another text of its sheet."""
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(new, "w") as archive:
        for name in old.namelist():
            data = old.read(name)
            archive.writestr(name, edit(data) if name.startswith("xl/worksheets/sheet") else data)
    return new


def test_a_text_that_begins_with_an_equals_sign(tmp_path: Path) -> None:
    path = write_workbook(
        tmp_path / "m.xlsx", ["index", "prediction"], [1, "=B"], [2, "A"], [3, '= 5 & "<x>"']
    )
    assert list(read_rows(str(path))) == [["index", "prediction"], [1, "=B"], [2, "A"], [3, '= 5 & "<x>"']]
    zeros = with_sheet(path, tmp_path / "0.xlsx", lambda data: data.replace(b"<v />", b"<v>0</v>"))
    assert list(read_rows(str(zeros)))[1:] == [[1, "=B"], [2, "A"], [3, '= 5 & "<x>"']]


def test_what_a_spreadsheet_program_calculated_is_its_value(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "m.xlsx", ["index", "prediction"], ["=1-1", "=B"], ["=1+1", "A"])
    done = with_sheet(path, tmp_path / "c.xlsx", lambda data: data.replace(b"<v />", b"<v>2</v>", 1))
    assert read_formulas(str(path)) == {1: {0: "=1-1", 1: "=B"}, 2: {0: "=1+1"}}
    assert read_formulas(str(done)) == {}


def test_of_several_sheets_none_is_guessed(tmp_path: Path) -> None:
    made = openpyxl.Workbook()
    made.create_sheet("other").append(["=B"])
    made.save(tmp_path / "m.xlsx")
    assert read_formulas(str(tmp_path / "m.xlsx")) == {}


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    texts=st.lists(st.text(alphabet="ABx1+ <>&\"'=()\n漢", min_size=1, max_size=12), min_size=1, max_size=6)
)
def test_every_text_comes_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = write_workbook(
        tmp_path_factory.mktemp("x") / "m.xlsx", [1, "prediction"], *([1, f"={text}"] for text in texts)
    )
    assert [row[1] for row in read_rows(str(path))][1:] == [f"={text}" for text in texts]


@pytest.mark.parametrize("damage", [b"<f>", b"<c r='ZZZZ1'><f>", b"<!DOCTYPE x [<!ENTITY a 'b'>]><f>&a;"])
def test_what_cannot_be_parsed_holds_no_formula(tmp_path: Path, damage: bytes) -> None:
    path = write_workbook(tmp_path / "m.xlsx", ["prediction"], ["=B"])
    assert read_formulas(str(with_sheet(path, tmp_path / "d.xlsx", lambda data: damage + data))) == {}
    (tmp_path / "no.xlsx").write_bytes(b"PK\x03\x04")
    assert read_formulas(str(tmp_path / "no.xlsx")) == {}


def test_a_mark_across_two_chunks_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_workbook(tmp_path / "m.xlsx", ["prediction"], ["=B"])
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(sheet_rows, "_CHUNK_BYTES", size)
        assert read_formulas(str(path)) == {1: {0: "=B"}}


def test_as_a_program(tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "m.xlsx", ["index", "prediction"], [1, "=B"])
    command = [
        sys.executable,
        "-P",
        sheet_rows.__file__,
        str(path),
        str(4 * 1024**3),
        "60",
        "--sheet",
        "Sheet",
    ]
    done = subprocess.run(command, capture_output=True, check=False)
    assert [json.loads(line) for line in done.stdout.splitlines()][1:3] == [
        ["index", "prediction"],
        [1, "=B"],
    ]
    path.write_bytes(b"PK")
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == sheet_rows.FAILED
    assert b"Traceback" not in done.stderr
