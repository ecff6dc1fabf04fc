import tempfile
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from openpyxl.utils.escape import unescape

from eyechart.report import export
from eyechart.report.export import MAX_CHARACTERS, write_xlsx
from eyechart.report.summary import summarise
from eyechart.terminal import escape_controls
from eyechart.types import OUTCOMES, Result
from support.results import result


def as_excel_shows(value: Any) -> Any:
    """The reader leaves Excel's own escape (_x005F_ for an underscore) in place."""
    return unescape(value) if isinstance(value, str) else value


def sheets_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Every sheet as rows by column name."""
    book = openpyxl.load_workbook(path, read_only=True)
    try:
        found: dict[str, list[dict[str, Any]]] = {}
        for sheet in book:
            heading, *rows = ([as_excel_shows(cell.value) for cell in row] for row in sheet.iter_rows())
            found[sheet.title] = [dict(zip(heading, row, strict=False)) for row in rows]
        return found
    finally:
        book.close()


def written(results: list[Result], folder: Path) -> list[dict[str, Any]]:
    write_xlsx(results, folder / "out.xlsx")
    return sheets_of(folder / "out.xlsx")["samples"]


def test_summary_first_then_samples(tmp_path: Path) -> None:
    results = [result(i, outcome, meta={"category": "map"}) for i, outcome in enumerate(OUTCOMES)]
    summary = summarise(results, benchmark="demo", model="openai/tiny", group_by=("category",))
    write_xlsx(iter(results), tmp_path / "out.xlsx", summary)
    sheets = sheets_of(tmp_path / "out.xlsx")
    assert list(sheets) == ["summary", "samples"]
    overall, by_map = sheets["summary"][:2]
    assert (overall["group"], overall["n"], overall["score"]) == ("overall", 8, summary.score)
    assert (by_map["group"], by_map["value"], by_map["failed"]) == ("category", "map", 1)
    group = summary.overall
    assert (overall["n scored"], overall["n clusters"], overall["method"]) == (6, 6, group.method)
    ends = [overall["ci95 with failures low"], overall["ci95 with failures high"]]
    assert ends == pytest.approx(group.ci95_with_failures)
    assert {"group": "model", "value": "openai/tiny"}.items() <= sheets["summary"][4].items()
    assert [row["outcome"] for row in sheets["samples"]] == list(OUTCOMES)
    assert sheets["samples"][3]["cluster"] == "q3"
    assert [type(sheets["samples"][0][name]) for name in ("score", "trial", "reply")] == [int, int, str]


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "{=1}", "https://example.com", "mailto:a@b", "internal:Sheet1!A1",
     "007", "1e5", "_x0041_", " spaced ", "答案是Ｂ", "<b>&amp;</b>", "'=1"],
)  # fmt: skip
def test_text_stays_text(tmp_path: Path, text: str) -> None:
    (row,) = written([result(0, reply=text, meta={text: text})], tmp_path)
    assert row["reply"] == row[text] == text
    with zipfile.ZipFile(tmp_path / "out.xlsx") as archive:
        names = archive.namelist()
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    assert not [name for name in names if "rels" in name and "sheet" in name]


def test_numbers_stay_numbers_while_they_are_exact(tmp_path: Path) -> None:
    (row,) = written([result(0, meta={"year": -5, "share": 0.25, "long": 12345678901234567890})], tmp_path)
    assert (row["year"], row["share"], row["long"]) == (-5, 0.25, "12345678901234567890")


@pytest.mark.parametrize("letter", ["x", "图", "😀"])
def test_long_text_is_cut_in_the_open(tmp_path: Path, letter: str) -> None:
    fits, long = letter * (MAX_CHARACTERS // (1 + (letter == "😀"))), letter * (MAX_CHARACTERS + 1)
    write_xlsx([result(0, reply=fits), result(1, reply=long)], tmp_path / "out.xlsx")
    sheets = sheets_of(tmp_path / "out.xlsx")
    whole, cut = (row["reply"] for row in sheets["samples"])
    assert whole == fits
    assert cut.endswith("… [cut: 32,768 characters]")
    assert MAX_CHARACTERS - 1 <= len(cut.encode("utf-16-le")) // 2 <= MAX_CHARACTERS
    assert sheets["notes"][0]["cells"] == 1


def test_control_characters_become_pictures(tmp_path: Path) -> None:
    write_xlsx([result(0, reply="a\x00\x1b[31mb\r\nc")], tmp_path / "out.xlsx")
    sheets = sheets_of(tmp_path / "out.xlsx")
    assert sheets["samples"][0]["reply"] == "a␀␛[31mb\nc"
    assert "control characters" in sheets["notes"][0]["note"]


def test_more_rows_than_a_sheet_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MAX_ROWS", 4)
    write_xlsx([result(i) for i in range(7)], tmp_path / "out.xlsx")
    sheets = sheets_of(tmp_path / "out.xlsx")
    assert {name: [row["id"] for row in rows] for name, rows in sheets.items()} == {
        "samples": ["q0", "q1", "q2"],
        "samples 2": ["q3", "q4", "q5"],
        "samples 3": ["q6"],
    }


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@example("\ud800_x000D_\uffff\u202e")
@given(st.text(st.characters(), max_size=30))
def test_any_text_comes_back_or_is_marked(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (row,) = written([result(0, reply=text)], Path(folder))
    assert (row["reply"] or "") == escape_controls(text)
