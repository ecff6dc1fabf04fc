"""Files of replies."""

from pathlib import Path

import pytest

from eyechart.data.replies import read_replies
from eyechart.errors import DataError
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
