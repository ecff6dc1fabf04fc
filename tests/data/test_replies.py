"""Files of replies."""

import json
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from eyechart.data.files.replies import open_questions, read_replies
from eyechart.errors import DataError, UsageError
from support.files import jsonl
from support.tables import write_workbook


def texts(path: Path) -> dict[str, str]:
    return {name: reply.text for name, reply in read_replies(path).by_id.items()}


def test_the_names_that_tools_use(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('index,question,prediction\n1,"Which?",B\n002,Why?,"because, so"\n')
    assert texts(tmp_path / "a.csv") == {"1": "B", "002": "because, so"}
    jsonl(tmp_path / "b.jsonl", [{"question_id": 7, "response": "yes"}, {"question_id": 8, "response": None}])
    assert texts(tmp_path / "b.jsonl") == {"7": "yes"}


def test_an_object_of_ids_and_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"v1_0": "a cat", "v1_1": None, "v1_2": ""}).encode())
    assert {name: reply.text for name, reply in read_replies(path).by_id.items()} == {
        "v1_0": "a cat",
        "v1_2": "",
    }
    with pytest.raises(UsageError, match="replies but no questions"):
        open_questions(path)
    path.write_text(json.dumps({f"v{k}": "x" for k in range(20)} | {"v20": ["x"]}), encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.json: 'v20': "):
        read_replies(path)


def test_a_repeated_id_names_both_rows(tmp_path: Path) -> None:
    jsonl(
        tmp_path / "r.jsonl",
        [{"id": "x", "reply": "A"}, {"id": "y", "reply": "A"}, {"id": "x", "reply": "B"}],
    )
    with pytest.raises(DataError, match=r"row 3 .*'x'.*row 1"):
        read_replies(tmp_path / "r.jsonl")


def test_missing_columns_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("index\tanswer\n1\tB\n")
    with pytest.raises(DataError, match=r"reply, prediction or response \(found: index, answer"):
        read_replies(tmp_path / "a.tsv")


def test_no_reply_at_all(tmp_path: Path) -> None:
    jsonl(tmp_path / "r.jsonl", [{"id": "x", "reply": None}])
    with pytest.raises(DataError, match="no replies"):
        read_replies(tmp_path / "r.jsonl")


def kit(path: Path, rows: list[tuple[object, object]]) -> Path:
    """A prediction file as VLMEvalKit writes it."""
    return write_workbook(path, ("index", "prediction"), *rows)


FAILED = "Failed to obtain answer via API."


def test_a_prediction_file_as_a_spreadsheet(tmp_path: Path) -> None:
    rows = [(7, "A"), (8.0, 42), ("009", FAILED), ("q1", None)]
    found = read_replies(kit(tmp_path / "m.xlsx", rows))
    assert {name: reply.text for name, reply in found.by_id.items()} == {"7": "A", "8": "42", "q1": ""}
    assert found.skipped == {"009": f"m.xlsx: {FAILED}"}


def test_a_spreadsheet_is_one_by_its_content(tmp_path: Path) -> None:
    kit(tmp_path / "m.xlsx", [(1, "A")]).rename(tmp_path / "m.data")
    assert texts(tmp_path / "m.data") == {"1": "A"}


def test_a_prediction_file_as_tsv(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text(f'"index"\t"prediction"\n"1"\t"two\nlines"\n"2"\t"{FAILED}"\n"3"\t""\n')
    found = read_replies(tmp_path / "m.tsv")
    assert {name: reply.text for name, reply in found.by_id.items()} == {"1": "two\nlines", "3": ""}
    assert list(found.skipped) == ["2"]


@pytest.mark.parametrize(
    "content",
    [
        [
            {"index": 1, "prediction": "A"},
            {"index": 2.0, "prediction": FAILED},
            {"index": 3, "prediction": None},
        ],
        {"index": {"0": 1, "1": 2, "2": 3}, "prediction": {"0": "A", "1": FAILED, "2": None}},
        {"index": [1, 2, 3], "prediction": ["A", FAILED, None]},
    ],
    ids=["records", "columns", "lists"],
)
def test_a_prediction_file_as_json(tmp_path: Path, content: object) -> None:
    (tmp_path / "m.json").write_text(json.dumps(content))
    found = read_replies(tmp_path / "m.json")
    assert {name: reply.text for name, reply in found.by_id.items()} == {"1": "A"}
    assert list(found.skipped) == ["2"]


def test_what_only_looks_like_the_mark_of_a_failure_elsewhere_is_a_reply(tmp_path: Path) -> None:
    jsonl(tmp_path / "r.jsonl", [{"id": "1", "reply": FAILED}])
    assert texts(tmp_path / "r.jsonl") == {"1": FAILED}


@pytest.mark.parametrize(("name", "head"), [("m.pkl", b"{}"), ("m.xlsx", b"\x80\x04\x95")])
def test_nothing_is_unpickled(tmp_path: Path, name: str, head: bytes) -> None:
    (tmp_path / name).write_bytes(head)
    with pytest.raises(DataError, match=rf"{name}: pickles are not read") as caught:
        read_replies(tmp_path / name)
    assert ".tsv" in caught.value.hint


def test_questions_of_a_prediction_file(tmp_path: Path) -> None:
    names = ["index", "question", "A", "B", "answer", "category", "prediction"]
    write_workbook(tmp_path / "m.xlsx", names, [7, "Which?", "cat", 3, "B", "ocr", "B"])
    [sample] = open_questions(tmp_path / "m.xlsx")
    assert (sample.id, sample.question, sample.golds) == ("7", "Which?", ("B",))
    assert sample.choices == {"A": "cat", "B": "3"}
    assert sample.meta["category"] == "ocr"
    with pytest.raises(UsageError, match=r"k\.xlsx has replies but no questions"):
        open_questions(kit(tmp_path / "k.xlsx", [(1, "A")]))
    jsonl(tmp_path / "r.jsonl", [{"id": "x", "reply": "A"}])
    with pytest.raises(UsageError, match=r"r\.jsonl has replies but no questions"):
        open_questions(tmp_path / "r.jsonl")


@pytest.mark.parametrize("orient", ["split", "records", "index", "columns", "table"])
def test_a_prediction_file_in_every_way_that_pandas_writes_json(tmp_path: Path, orient: Any) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"index": [1, 2, 3], "question": "?", "prediction": ["A", FAILED, "=B"]})
    table.rename_axis("row").to_json(tmp_path / "m.json", orient=orient)
    found = read_replies(tmp_path / "m.json")
    assert {name: reply.text for name, reply in found.by_id.items()} == {"1": "A", "3": "=B"}
    assert found.skipped.keys() == {"2"}
    assert [sample.question for sample in open_questions(tmp_path / "m.json")] == ["?", "?", "?"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"columns": ["index", "prediction"], "index": [0], "data": [[1]]},
            "row 1: 1 cells, but 2 columns",
        ),
        ({"columns": ["index", "index"], "index": [0], "data": [[1, 2]]}, "repeated column name"),
        ({"columns": ["index", 7], "index": [0], "data": [[1, 2]]}, r"field columns\[1\]"),
        ({"columns": ["index", "answer"], "index": [0], "data": [[1, 2]]}, "no column reply"),
        ({"columns": ["index", "prediction"], "index": [], "data": []}, "no replies found"),
    ],
)
def test_a_split_table_that_is_none(tmp_path: Path, content: object, message: str) -> None:
    (tmp_path / "m.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match=message):
        read_replies(tmp_path / "m.json")


def test_a_row_without_an_id_is_named(tmp_path: Path) -> None:
    kit(tmp_path / "m.xlsx", [(1, "A"), (None, "B")])
    with pytest.raises(DataError, match=r"m\.xlsx: row 2 \(line 3\), column 'index': no id"):
        read_replies(tmp_path / "m.xlsx")


def test_a_text_that_fills_its_cell_was_cut_off(tmp_path: Path) -> None:
    whole, cut, wide = "x" * 32_766, "x" * 32_767, "\U0001f9ea" * 16_383 + "x"
    kit(tmp_path / "m.xlsx", [(1, whole), (2, cut), (3, wide)])
    found = read_replies(tmp_path / "m.xlsx").by_id
    assert [found[name].finish_reason for name in "123"] == ["stop", "length", "length"]
    (tmp_path / "m.tsv").write_text(f"index\tprediction\n1\t{cut}x\n")
    assert read_replies(tmp_path / "m.tsv").by_id["1"].finish_reason == "stop", (
        "which holds texts of any length"
    )


def test_what_was_thought_beside_a_prediction(tmp_path: Path) -> None:
    (tmp_path / "m.tsv").write_text("index\tprediction\tthinking\n1\tB\tHm.\n2\tA\t\n")
    found = read_replies(tmp_path / "m.tsv").by_id
    assert (found["1"].text, found["1"].thinking, found["2"].thinking) == ("B", "Hm.", "")


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("m.tsv", "index\tprediction\n1\tcaf\xe9\n".encode("latin-1"), "if it is cp1252: iconv -f cp1252"),
        ("m.xlsx", b"index\tprediction\n1\tA\n", "rename it according to its format: .xlsx, .tsv"),
        ("m.json", b'[{"index": 1,', "one object per line .jsonl"),
    ],
)
def test_advice_names_no_flag_that_is_about_the_questions(
    tmp_path: Path, name: str, content: bytes, hint: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_replies(tmp_path / name)
    assert hint in caught.value.hint
    assert "--" not in caught.value.hint


def test_other_sheets_are_not_searched(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.create_sheet("read me", 0).append(["note"])
    book["read me"].append(["see below"])
    book.save(tmp_path / "m.xlsx")
    with pytest.raises(DataError, match="found: note") as caught:
        read_replies(tmp_path / "m.xlsx")
    assert "first sheet" in caught.value.hint
