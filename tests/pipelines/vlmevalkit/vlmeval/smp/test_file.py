"""`load` and `dump` in every format."""

import json
import math
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.compat.vlmeval import smp
from eyechart.compat.vlmeval.smp import LMUDataRoot, dump, load
from eyechart.data.files import sheets
from eyechart.errors import DataError, StoreError, UsageError
from support.extras import extra

pd: Any = extra("pandas")
CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1)


def table() -> Any:
    return pd.DataFrame(
        {
            "index": [1, 2],
            "answer": ["None", "007"],
            "A": ["=1+1", "line\nbreak, \"quoted\"\ttab"],
            "hit": [True, False],
            "gap": [0.5, math.nan],
            "中文": ["猫", "-5"],
        }
    )  # fmt: skip


@pytest.mark.parametrize("ending", ["tsv", "csv", "xlsx"])
def test_a_table_is_read_back_as_it_was(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.{ending}"
    dump(table(), path)
    found = load(str(path))
    assert list(found.columns) == list(table().columns)
    for name in table().columns:
        for was, now in zip(table()[name], found[name], strict=True):
            assert was == now or (was != was and now != now), name


@pytest.mark.slow
@given(st.lists(CELLS, min_size=1, max_size=4))
def test_texts_are_read_back(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    path = tmp_path_factory.mktemp("t") / "a.tsv"
    dump(pd.DataFrame({"A": texts, "other": ["x"] * len(texts)}), path)
    assert load(path)["A"].tolist() == texts


def test_every_cell_of_a_csv_is_quoted(tmp_path: Path) -> None:
    dump(smp.d2df({"split": "none", "Overall": 1.0}), tmp_path / "a_acc.csv")
    assert (tmp_path / "a_acc.csv").read_text() == '"split","Overall"\n"none","1.0"\n'


def test_a_tsv_is_read_cell_by_cell(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("\ufeffindex\tA\tB\tanswer\tn\n1\tNone\t3\tA\t7\n2\tN/A\t\tB\t\n", encoding="utf-8")
    found = load(path)
    assert found.to_dict("records")[0] == {"index": 1, "A": "None", "B": "3", "answer": "A", "n": 7}
    assert found["A"].tolist() == ["None", "N/A"]
    assert found["n"].isna().tolist() == [False, True]
    assert found["n"].iloc[0] == 7
    assert str(found["index"].dtype) == "int64"


def test_json_in_both_forms(tmp_path: Path) -> None:
    numpy = extra("numpy")
    dump({"a": numpy.int64(1), "b": numpy.array([0.5]), "c": {"猫"}, "d": tmp_path}, tmp_path / "a.json")
    text = (tmp_path / "a.json").read_text(encoding="utf-8")
    assert text.startswith('{\n    "a": 1')
    assert load(tmp_path / "a.json") == {"a": 1, "b": [0.5], "c": ["猫"], "d": str(tmp_path)}
    dump(pd.DataFrame({"x": [1, 2]}), tmp_path / "b.json")
    assert json.loads((tmp_path / "b.json").read_text()) == [{"x": 1}, {"x": 2}]
    dump(pd.DataFrame({"x": [1, 2]}), tmp_path / "c.jsonl")
    assert load(tmp_path / "c.jsonl") == [{"x": 1}, {"x": 2}]


def test_rows_can_be_dumped_without_a_table(tmp_path: Path) -> None:
    dump([{"x": "a"}, {"x": "b"}], tmp_path / "a.tsv")
    assert load(tmp_path / "a.tsv")["x"].tolist() == ["a", "b"]


def test_pickles_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pkl").write_bytes(pickle.dumps({"x": 1}))
    with pytest.raises(UsageError, match="can run any code"):
        load(tmp_path / "a.pkl")
    (tmp_path / "a.json").write_bytes(pickle.dumps({"x": 1}))
    with pytest.raises(UsageError, match="can run any code"):
        load(tmp_path / "a.json", fmt="pkl")
    with pytest.raises(UsageError, match="unknown extension"):
        load(tmp_path / "a.pickle")


def test_names_beside_the_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    name = smp.get_intermediate_file_path
    assert name("out.d/m_d.xlsx", "_judge") == "out.d/m_d_judge.xlsx"
    assert name("m_d.xlsx", "_acc", "json") == "m_d_acc.json"
    assert name("m_d.xlsx", "_rating") == "m_d_rating.json"
    monkeypatch.setenv("PRED_FORMAT", "tsv")
    monkeypatch.setenv("EVAL_FORMAT", "json")
    assert (name("m_d.tsv", "_judge"), name("m_d.tsv", "_acc")) == ("m_d_judge.tsv", "m_d_acc.json")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("gone.tsv", None, "no such file"),
        ("a.txt", b"x", r"use \.tsv"),
        ("a.json", b"{", "invalid JSON"),
        ("a.jsonl", b"{}\n{\n", "line 2"),
        ("a.xlsx", b"no workbook", "not a workbook"),
        ("a.tsv", b"", "cannot be read as a table"),
        ("b.tsv", b"a\tb\n1\t2\t3\t4\n5\t6\t7\t8\t9\n", "cannot be read as a table"),
        ("c.tsv", b"a\tb\n\xff\xfe\t1\n", "cannot be read as a table"),
    ],
)
def test_bad_files_are_named(name: str, content: bytes | None, says: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises((DataError, UsageError), match=says) as caught:
        load(tmp_path / name)
    assert name in str(caught.value)


def changed_workbook(path: Path, old: bytes, new: bytes) -> Path:
    """A workbook with other bytes in its only sheet."""
    plain = path.with_name("plain.xlsx")
    dump(table(), plain)
    with zipfile.ZipFile(plain) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            data = source.read(name)
            assert old in data or "sheet1" not in name
            target.writestr(name, data.replace(old, new) if "sheet1" in name else data)
    return path


def test_a_workbook_that_says_it_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MAX_UNPACKED", 1_000_000)
    bomb = changed_workbook(tmp_path / "bomb.xlsx", b"</sheetData>", b" " * 2_000_000 + b"</sheetData>")
    with pytest.raises(DataError, match=r"bomb\.xlsx: the archive unpacks to"):
        load(bomb)


def test_a_workbook_with_a_cell_in_the_last_corner(tmp_path: Path) -> None:
    corner = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    bomb = changed_workbook(tmp_path / "bomb.xlsx", b"</sheetData>", corner)
    with pytest.raises(DataError, match=r"bomb\.xlsx: the spreadsheet cannot be read"):
        load(bomb)


def test_addresses_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a URL"):
        load("https://example.org/a.tsv")
    (tmp_path / "b.tsv").mkdir()
    with pytest.raises(DataError, match="a folder"):
        load(tmp_path / "b.tsv")
    with pytest.raises(StoreError, match="does not exist"):
        dump({}, tmp_path / "nowhere" / "a.json")


def test_a_cell_that_is_too_long_is_cut_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump(pd.DataFrame({"prediction": ["x" * 40_000, "short"]}), tmp_path / "a.xlsx")
    assert "a.xlsx: 1 cell was cut at 32,767 characters" in capsys.readouterr().err
    assert len(load(tmp_path / "a.xlsx")["prediction"].iloc[0]) == 32_767


def test_the_root_is_the_variables_folder_or_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LMUData", str(tmp_path / "not there"))
    assert LMUDataRoot() == str(tmp_path / "LMUData")
    assert (tmp_path / "LMUData").is_dir()
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("LMUData", str(tmp_path / "data"))
    assert LMUDataRoot() == str(tmp_path / "data")


def test_a_star_import_brings_what_scripts_expect() -> None:
    names: dict[str, Any] = {}
    exec("from eyechart.compat.vlmeval.smp import *", names)
    assert {"load", "dump", "d2df", "osp", "pd", "np", "json", "LMUDataRoot"} <= set(names)
    with pytest.raises(AttributeError, match="no attribute 'gone'"):
        smp.gone  # noqa: B018
