"""Files of replies."""

import json
from pathlib import Path

import openpyxl
import pytest

from eyechart.data.replies import questions_of, read_replies
from eyechart.errors import DataError, UsageError
from support.files import jsonl


def texts(path: Path) -> dict[str, str]:
    return {name: reply.text for name, reply in read_replies(path).by_id.items()}


def test_the_names_that_tools_use(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('index,question,prediction\n1,"Which?",B\n002,Why?,"because, so"\n')
    assert texts(tmp_path / "a.csv") == {"1": "B", "002": "because, so"}
    jsonl(tmp_path / "b.jsonl", [{"question_id": 7, "response": "yes"}, {"question_id": 8, "response": None}])
    assert texts(tmp_path / "b.jsonl") == {"7": "yes"}


def test_a_repeated_id_names_both_rows(tmp_path: Path) -> None:
    jsonl(
        tmp_path / "r.jsonl",
        [{"id": "x", "reply": "A"}, {"id": "y", "reply": "A"}, {"id": "x", "reply": "B"}],
    )
    with pytest.raises(DataError, match=r"row 3 .*'x'.*row 1"):
        read_replies(tmp_path / "r.jsonl")


def test_missing_columns_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("index\tanswer\n1\tB\n")
    with pytest.raises(DataError, match=r"reply, prediction, response \(found: index, answer"):
        read_replies(tmp_path / "a.tsv")


def test_no_reply_at_all(tmp_path: Path) -> None:
    jsonl(tmp_path / "r.jsonl", [{"id": "x", "reply": None}])
    with pytest.raises(DataError, match="no reply"):
        read_replies(tmp_path / "r.jsonl")


def kit(path: Path, rows: list[tuple[object, object]]) -> Path:
    """A prediction file as VLMEvalKit writes it."""
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in [("index", "prediction"), *rows]:
        sheet.append(list(row))
    book.save(path)
    return path


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
    with pytest.raises(DataError, match=rf"{name}: a pickle is not read") as caught:
        read_replies(tmp_path / name)
    assert ".tsv" in caught.value.hint


def test_questions_of_a_prediction_file(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["index", "question", "A", "B", "answer", "category", "prediction"])
    book.active.append([7, "Which?", "cat", 3, "B", "ocr", "B"])
    book.save(tmp_path / "m.xlsx")
    [sample] = questions_of(tmp_path / "m.xlsx")
    assert (sample.id, sample.question, sample.golds) == ("7", "Which?", ("B",))
    assert sample.choices == {"A": "cat", "B": "3"}
    assert sample.meta["category"] == "ocr"
    with pytest.raises(UsageError, match=r"k\.xlsx does not say which questions"):
        questions_of(kit(tmp_path / "k.xlsx", [(1, "A")]))
    jsonl(tmp_path / "r.jsonl", [{"id": "x", "reply": "A"}])
    with pytest.raises(UsageError, match=r"r\.jsonl does not say which questions"):
        questions_of(tmp_path / "r.jsonl")
