"""Samples of lm-eval and lmms-eval."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.data.files.replies import recognise
from eyechart.errors import DataError
from eyechart.pipelines.logs.lm_eval import read_samples
from support.files import jsonl


def line(doc_id: Any = 0, **fields: Any) -> dict[str, Any]:
    doc = {"question": "Which?", "choices": ["cat", "dog"], "answer": 1, "topic": "zoo"}
    arguments = {"gen_args_0": {"arg_0": "Which?\nA. cat\nB. dog", "arg_1": {"until": ["\n"]}}}
    usual = {"doc": doc, "target": 1, "arguments": arguments, "resps": [["B"]], "filtered_resps": ["B"]}
    return {"doc_id": doc_id, **usual, "doc_hash": "x", "acc": 1.0, **fields}


def test_documents_go_by_their_place_unless_they_have_an_id(tmp_path: Path) -> None:
    named = line(1, doc={"question_id": "q7", "question": "Why?"}, target="so")
    found = read_samples(jsonl(tmp_path / "samples_zoo_2026-11-15T10-00-00.1.jsonl", [line(), named]))
    assert (found.task, found.model) == ("zoo", "")
    first, second = found.entries
    assert (first.id, first.position, first.asked) == ("0", 0, "Which?\nA. cat\nB. dog")
    assert (second.id, second.position) == ("q7", None)
    assert first.sample is not None
    assert second.sample is not None
    assert (first.sample.golds, first.sample.choices) == (("B",), {"A": "cat", "B": "dog"})
    assert first.sample.meta == {"topic": "zoo"}
    assert second.sample.golds == ("so",)


def test_repeats_are_trials_and_what_is_missing_has_its_reason(tmp_path: Path) -> None:
    row = line(resps=[["A", None, ""]], errors=[None, "timeout", None])
    entries = read_samples(jsonl(tmp_path / "s.jsonl", [row])).entries
    assert [(entry.trial, entry.reply and entry.reply.text, entry.failure) for entry in entries] == [
        (0, "A", ""),
        (1, None, "timeout"),
        (2, "", ""),
    ]


def test_replies_that_stand_there_once_for_every_filter(tmp_path: Path) -> None:
    rows = [line(filter="strict"), line(1, filter="strict"), line(filter="loose"), line(1, filter="loose")]
    assert [entry.id for entry in read_samples(jsonl(tmp_path / "s.jsonl", rows)).entries] == ["0", "1"]


def test_the_model_is_that_of_the_results_beside(tmp_path: Path) -> None:
    path = jsonl(tmp_path / "samples_zoo_2026-11-15T10-00-00.1.jsonl", [line()])
    beside = tmp_path / "results_2026-11-15T10-00-00.1.json"
    beside.write_text(json.dumps({"results": {}, "model_name": "openai/m"}))
    assert read_samples(path).model == "openai/m"
    beside.write_text("[broken")
    assert read_samples(path).model == ""


def test_an_older_file_is_one_list(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps([line(), line(1)], indent=1))
    assert len(read_samples(tmp_path / "s.json").entries) == 2


def test_arguments_of_other_shapes(tmp_path: Path) -> None:
    arguments: Any
    for arguments in ([["Which?", {"until": []}]], ["Which?"], "Which?", {"a": {"b": "Which?"}}):
        path = jsonl(tmp_path / "s.jsonl", [line(arguments=arguments)])
        assert read_samples(path).entries[0].asked == "Which?"
    for arguments in (None, 7, [], {}):
        path = jsonl(tmp_path / "s.jsonl", [line(arguments=arguments)])
        assert read_samples(path).entries[0].asked == ""


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (line(resps=[[[-1.5, True]], [[-2.5, False]]]), r"row 1 \(line 1\) \(doc_id 0\): field resps"),
        (line(resps=[]), "field resps"),
        (line(resps=5), r"s\.jsonl: row 1 \(line 1\) \(doc_id 0\): field resps: it holds no text"),
        (line(resps=None, filtered_resps=None), "field filtered_resps: it holds no text"),
        (line(resps=["B", ["A"]]), "field resps: it holds no text"),
        (line(doc="text"), r"field doc: Expected `object`"),
        (line([1]), r"field doc_id"),
        (line(doc={"choices": ["x"] * 30}), r"30 options"),
        (line(doc={"eyechart": "?"}), r"eyechart: Expected `object`"),
    ],
)
def test_what_is_wrong_names_file_and_row(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_samples(jsonl(tmp_path / "s.jsonl", [row]))


def test_a_document_that_stands_there_twice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"row 2 .*second reply to '0'; the first is in s\.jsonl: row 1"):
        read_samples(jsonl(tmp_path / "s.jsonl", [line(), line()]))


def test_the_samples_of_lmms_eval(tmp_path: Path) -> None:
    """It writes no document; the replies stand there once where no filter changed them."""
    usual = {"target": "B", "doc_hash": "", "acc": 1.0}
    rows = [
        {"doc_id": 0, "input": "Which?", "filtered_resps": ["It is B"], **usual},
        {"doc_id": 1, "input": "Which?", "filtered_resps": [["A", "B"]], **usual},
        {"doc_id": 2, "input": "Which?", "resps": [["It is B"]], "filtered_resps": ["B"], **usual},
    ]
    path = jsonl(tmp_path / "20261115_193000_samples_mmmu_val.jsonl", rows)
    results = {"results": {}, "configs": {}, "versions": {}, "model_name": "qwen"}
    (tmp_path / "20261115_193000_results.json").write_text(json.dumps(results))
    assert recognise(path) is read_samples
    log = read_samples(path)
    assert (log.task, log.model) == ("mmmu_val", "qwen")
    said = [(entry.id, entry.trial, entry.reply and entry.reply.text) for entry in log.entries]
    assert said == [("0", 0, "It is B"), ("1", 0, "A"), ("1", 1, "B"), ("2", 0, "It is B")]
    first = log.entries[0]
    assert (first.position, first.asked) == (0, "Which?")
    assert first.sample is not None
    assert (first.sample.question, first.sample.golds) == ("Which?", ("B",))


@pytest.mark.parametrize(
    ("fields", "replies"),
    [
        ({"resps": "It is B", "filtered_resps": "B"}, ["It is B"]),
        ({"resps": ["It is B"], "filtered_resps": "B"}, ["It is B"]),
        ({"resps": [["It is B"]], "filtered_resps": ["B"]}, ["It is B"]),
        ({"filtered_resps": "It is B"}, ["It is B"]),
        ({"filtered_resps": ""}, [""]),
        ({"filtered_resps": ["A", "B"]}, ["A", "B"]),
        ({"resps": ["A", "B"], "filtered_resps": ["A", "B"]}, ["A", "B"]),
    ],
)
def test_lists_of_one_may_be_written_as_their_only_element(
    fields: dict[str, Any], replies: list[str], tmp_path: Path
) -> None:
    row = {"doc_id": 0, "input": "Which?", "target": "B", **fields}
    path = jsonl(tmp_path / "20261116_samples_zoo.jsonl", [row])
    assert recognise(path) is not None
    assert [entry.reply and entry.reply.text for entry in read_samples(path).entries] == replies
