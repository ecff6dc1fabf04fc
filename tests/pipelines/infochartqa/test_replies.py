"""InfoChartQA's response files: both forms, what is left out, what is malformed."""

# ruff: noqa: E501  (a row of examples is one line, however long)

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import DataError
from eyechart.pipelines.infochartqa.data import read_entries, read_model_response

GOLDEN = Path(__file__).parents[2] / "golden" / "infochartqa_e2e"
ENTRY = {"qtype": 72, "answer": "5", "question_id": "q1", "response": "5"}


def written(folder: Path, value: Any) -> Path:
    path = folder / "model_response.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["dict", "list"])
def test_a_file_brings_its_questions_along(form: str) -> None:
    said = read_model_response(GOLDEN / f"input_{form}.json")
    expected = json.loads((GOLDEN / f"expected_results_{form}.json").read_text(encoding="utf-8"))
    assert list(said.by_id) == [str(record["question_id"]) for record in expected]
    assert said.source is not None
    samples = {sample.id: sample for sample in said.source}
    assert set(samples) == {*said.by_id, *said.skipped}
    assert set(said.skipped.values()) == {"no response", "the call failed (Error!)"}
    for record in expected:
        sample = samples[str(record["question_id"])]
        assert (sample.golds, sample.question) == ((record["answer"],), record["question"])
        assert sample.meta["qtype"] == record["qtype"]


def test_the_last_content_of_a_repeated_id_counts_at_its_first_place(tmp_path: Path) -> None:
    entries = [ENTRY, {**ENTRY, "question_id": "q2"}, {**ENTRY, "response": "6"}]
    for value in (
        entries,
        '{"q1": '
        + json.dumps(ENTRY)
        + ', "q2": '
        + json.dumps(entries[1])
        + ', "q1": '
        + json.dumps(entries[2])
        + "}",
    ):
        read = read_entries(written(tmp_path, value))
        assert [(entry["question_id"], entry["response"]) for entry in read] == [("q1", "6"), ("q2", "5")]


def test_what_is_no_text_is_scored_as_python_writes_it(tmp_path: Path) -> None:
    said = read_model_response(written(tmp_path, [{**ENTRY, "response": None, "answer": None}]))
    assert said.by_id["q1"].text == "None"
    assert said.by_id["q1"].evidence == {"response": None}
    assert said.source is not None
    assert next(iter(said.source)).golds == ("None",)


@pytest.mark.parametrize("text", ["{}", " [ ]\n", "\ufeff[]"])
def test_a_file_may_hold_nothing(tmp_path: Path, text: str) -> None:
    assert read_entries(written(tmp_path, text)) == []
    with pytest.raises(DataError, match="no replies found"):
        read_model_response(written(tmp_path, text))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([ENTRY, {"answer": "5", "response": "5"}], "entry 2: no 'question_id' (found: answer, response)"),
        ({"a": {**ENTRY, "question_id": "a"}, "q9": {"question_id": "q9", "response": "5"}}, "entry 2 ('q9'): no 'answer'"),
        ([ENTRY, 5], "entry 2: '5' is not an entry"),
        ([{**ENTRY, "question_id": ["x"]}], "the question_id ['x'] is not an id"),
        ('[{"question_id": 1,,}]', "entry 1: invalid JSON"),
        ('[{"question_id": 1', "invalid JSON at byte"),
        ("5", "expected a list or an object"),
        ("", "the file is empty"),
        ([ENTRY, {**ENTRY, "question_id": 1}, {**ENTRY, "question_id": "1"}], "entries 2 and 3 have the same question_id '1'"),
    ],
)  # fmt: skip
def test_malformed_files_are_named(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(DataError) as caught:
        read_model_response(written(tmp_path, value))
    assert caught.value.message.startswith("model_response.json: ")
    assert said in caught.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_entries(tmp_path / "none.json")


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=8),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(st.sampled_from(["question_id", "answer", "response", "qtype", "x"]), v, max_size=5)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@given(VALUES)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = written(tmp_path_factory.getbasetemp(), value)
    try:
        entries = read_entries(path)
    except DataError:
        return
    assert all("question_id" in entry for entry in entries)
