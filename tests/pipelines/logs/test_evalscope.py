"""EvalScope's predictions, reviews and reports."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.pipelines.logs.evalscope import read_predictions, read_report, read_reviews
from eyechart.types import Usage
from support.files import jsonl

ASKED = [{"id": "1", "role": "user", "content": [{"type": "text", "text": "Which?"}]}]
SAID = {"id": "2", "role": "assistant", "content": "ANSWER: B", "source": "generate"}


def prediction(index: int = 0, **fields: Any) -> dict[str, Any]:
    output = {
        "model": "m",
        "choices": [{"message": SAID, "stop_reason": "max_tokens"}],
        "usage": {"input_tokens": 9, "output_tokens": 4},
        "time": 2.0,
    }
    usual = {"model": "m", "model_output": output, "messages": [*ASKED, SAID], "metadata": {"topic": "zoo"}}
    return {"index": index, **usual, **fields}


def review(index: int = 0, **fields: Any) -> dict[str, Any]:
    score = {"value": {"acc": 1.0}, "prediction": "ANSWER: B", "extracted_prediction": "B"}
    scored = {"score": score, "sample_id": index, "group_id": index, "generation_index": 0}
    usual = {"target": ["B"], "messages": [*ASKED, SAID], "sample_score": scored}
    return {"index": index, **usual, **fields}


def test_predictions(tmp_path: Path) -> None:
    failed = prediction(1, model_output={"error": "HTTP 500", "choices": []})
    found = read_predictions(jsonl(tmp_path / "zoo_default.jsonl", [prediction(), failed]))
    assert (found.model, found.task) == ("m", "zoo_default")
    first, second = found.entries
    assert first.reply is not None
    assert (first.id, first.position, first.asked) == ("0", 0, "Which?")
    assert (first.reply.text, first.reply.finish_reason, first.reply.latency_s) == (
        "ANSWER: B",
        "length",
        2.0,
    )
    assert first.reply.usage == Usage(prompt_tokens=9, completion_tokens=4)
    assert first.sample is None, "predictions have no accepted answers"
    assert (second.reply, second.failure) == (None, "HTTP 500")


def test_files_without_a_folder_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(read_predictions(jsonl(Path("p.jsonl"), [prediction()])).entries) == 1
    assert read_reviews(jsonl(Path("r.jsonl"), [review()])).model == ""


def test_reviews_bring_their_questions(tmp_path: Path) -> None:
    folder = tmp_path / "reviews" / "qwen"
    folder.mkdir(parents=True)
    again = review(1)
    again["sample_score"] |= {"group_id": 0, "generation_index": 1}
    bare = review(2, messages=ASKED)
    silent = review(3, messages=ASKED)
    silent["sample_score"] = {"score": {"value": {}, "explanation": "no reply"}}
    found = read_reviews(jsonl(folder / "zoo_default.jsonl", [review(), again, bare, silent]))
    assert found.model == "qwen"
    assert [(entry.id, entry.trial) for entry in found.entries] == [("0", 0), ("0", 1), ("2", 0), ("3", 0)]
    assert [entry.reply and entry.reply.text for entry in found.entries] == [*["ANSWER: B"] * 3, None]
    assert found.entries[3].failure == "no reply"
    sample = found.entries[0].sample
    assert sample is not None
    assert (sample.question, sample.golds) == ("Which?", ("B",))


def test_lines_come_in_any_order_and_the_last_of_one_number_counts(tmp_path: Path) -> None:
    old = prediction(1, model_output={"error": "HTTP 500", "choices": []})
    found = read_predictions(jsonl(tmp_path / "p.jsonl", [old, prediction(2), prediction(0), prediction(1)]))
    assert [(entry.id, bool(entry.reply)) for entry in found.entries] == [
        ("0", True),
        ("1", True),
        ("2", True),
    ]


def outputs(root: Path, *subsets: str) -> Path:
    for kind, row in (("predictions", prediction), ("reviews", review)):
        folder = root / kind / "m"
        folder.mkdir(parents=True)
        for name in subsets:
            jsonl(folder / f"zoo_{name}.jsonl", [row(0), row(1)])
    parts = [{"name": name, "score": 1.0, "num": 2} for name in [*subsets, "../../secret", "not there"]]
    report = root / "reports" / "m" / "zoo.json"
    report.parent.mkdir(parents=True)
    metric = {"name": "acc", "categories": [{"name": ["default"], "subsets": parts}]}
    report.write_text(
        json.dumps({"name": "m@zoo", "dataset_name": "zoo", "model_name": "served", "metrics": [metric, 7]})
    )
    return report


def test_a_report_leads_to_what_it_was_made_of(tmp_path: Path) -> None:
    report = outputs(tmp_path, "default")
    found = read_report(report, with_questions=False)
    assert (found.task, found.model) == ("zoo", "served")
    assert [(entry.id, entry.position, entry.sample) for entry in found.entries] == [
        ("0", 0, None),
        ("1", 1, None),
    ]
    asked = read_report(report, with_questions=True)
    assert all(entry.sample for entry in asked.entries)


def test_numbers_begin_anew_in_every_subset(tmp_path: Path) -> None:
    found = read_report(outputs(tmp_path, "apes", "cats"), with_questions=True)
    assert [entry.id for entry in found.entries] == ["apes/0", "apes/1", "cats/0", "cats/1"]
    assert [entry.sample.id for entry in found.entries if entry.sample] == [
        entry.id for entry in found.entries
    ]
    assert {entry.position for entry in found.entries} == {None}


def test_a_report_alone(tmp_path: Path) -> None:
    (tmp_path / "zoo.json").write_text(json.dumps({"dataset_name": "d", "model_name": "m", "metrics": []}))
    with pytest.raises(DataError, match=r"zoo\.json: a report contains no replies") as caught:
        read_report(tmp_path / "zoo.json", with_questions=False)
    assert "predictions" in caught.value.hint


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"index": "x", "model_output": {}}, r"p\.jsonl: row 1 \(line 1\): field index: Expected `int`"),
        ({"index": 10**400, "model_output": {}}, r"p\.jsonl: row 1"),
        (prediction(model=7), r"field model: Expected `str`"),
        (prediction(metadata={"eyechart": {}}), r"\(index 0\), eyechart: .*missing required field `id`"),
    ],
)
def test_what_is_wrong_names_file_and_row(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_predictions(jsonl(tmp_path / "p.jsonl", [row]))


def test_a_review_without_a_score_is_none(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"r\.jsonl: row 2 \(line 2\): .*sample_score"):
        read_reviews(jsonl(tmp_path / "r.jsonl", [review(), {"index": 1}]))


@pytest.mark.parametrize("output", [None, 7, {}, {"choices": [None]}, {"choices": [{"message": "x"}]}])
def test_an_output_that_is_none(tmp_path: Path, output: Any) -> None:
    [entry] = read_predictions(jsonl(tmp_path / "p.jsonl", [prediction(model_output=output)])).entries
    assert (entry.reply, entry.failure) == (None, "the file holds no output of the model")


def test_a_report_whose_replies_lie_there_in_part_is_refused(tmp_path: Path) -> None:
    subsets = [{"name": name, "is_aggregate": name == "all"} for name in ("a", "b", "all")]
    content = {
        "name": "m@zoo",
        "dataset_name": "zoo",
        "model_name": "m",
        "metrics": [{"categories": [{"subsets": subsets}]}],
    }
    for kind in ("reports", "reviews"):
        (tmp_path / kind / "m").mkdir(parents=True)
    path = tmp_path / "reports" / "m" / "zoo.json"
    path.write_text(json.dumps(content))
    jsonl(tmp_path / "reviews" / "m" / "zoo_a.jsonl", [review()])
    with pytest.raises(DataError, match=r"replies of b are not in its folder \(reviews/m/zoo_b\.jsonl"):
        read_report(path, with_questions=True)
    jsonl(tmp_path / "reviews" / "m" / "zoo_b.jsonl", [review()])
    assert len(read_report(path, with_questions=True).entries) == 2


def test_repeats_are_known_by_the_reviews(tmp_path: Path) -> None:
    """Lines are numbered on through the repeats; facts are those of the line of the same number."""
    scored, said = [], []
    for index in range(4):
        scored.append(review(index))
        scored[-1]["sample_score"] |= {"group_id": index // 2, "generation_index": index % 2}
        said.append(prediction(index))
        said[-1]["model_output"] = {**said[-1]["model_output"], "time": float(index)}
    for kind, lines in (("predictions", said), ("reviews", scored)):
        (tmp_path / kind / "m").mkdir(parents=True)
        jsonl(tmp_path / kind / "m" / "zoo_default.jsonl", lines)
    expected = [(0, 0, 0.0), (0, 1, 1.0), (1, 0, 2.0), (1, 1, 3.0)]
    for kind, read in (("predictions", read_predictions), ("reviews", read_reviews)):
        path = tmp_path / kind / "m" / "zoo_default.jsonl"
        found = [(one.position, one.trial, one.reply and one.reply.latency_s) for one in read(path).entries]
        assert found == expected
    (tmp_path / "reviews" / "m" / "zoo_default.jsonl").write_text("{}")
    alone = read_predictions(tmp_path / "predictions" / "m" / "zoo_default.jsonl")
    assert [entry.position for entry in alone.entries] == [0, 1, 2, 3]
