"""InSight-o3's result files: the authors' own, from the same replies."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyechart.pipelines.insight_o3.benchmark import AnnotationSource
from eyechart.pipelines.insight_o3.report import write_insight_o3
from eyechart.pipelines.insight_o3.score import InsightScorer
from eyechart.types import Failure, Reply, Result, Sample, answer_calls
from support.files import jsonl
from support.insight_o3 import E2E, expected, scripted, stub_judge
from support.results import export_of

TRIALS = 3


def evaluated(sample: Sample, position: int, trial: int) -> Result:
    """The scripted reply, scored by the official rule and the scripted run's judge."""
    said = scripted()[sample.question]
    if said["status"] != 200:
        failure = Failure(stage="generate", reason="HTTP 500", status=said["status"])
        return Result(sample=sample, position=position, trial=trial, failure=failure)
    choice = said["choices"][trial]
    reply = Reply(text=choice["content"], finish_reason=choice["finish_reason"])
    score = answer_calls(InsightScorer().steps(reply, sample), lambda call: stub_judge(call.values["answer"]))
    return Result(sample=sample, position=position, trial=trial, reply=reply, score=score)


def results() -> Iterator[Result]:
    source = AnnotationSource(name="o3-bench", path=E2E / "ann.jsonl", image_roots=(E2E,))
    for position, sample in enumerate(source):
        for trial in range(TRIALS):
            yield evaluated(sample, position, trial)


def export(folder: Path, found: list[Result], **manifest: Any) -> dict[str, Path]:
    written = write_insight_o3(export_of(folder, found, **{"trials": TRIALS, **manifest}))
    assert all(path.exists() for path in written)
    return {path.relative_to(folder).as_posix(): path for path in written}


def records(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    for record in found:
        record["eval_result"]["inference_result"]["conversations"] = "[removed]"
    return found


def test_the_files_of_the_authors_run_are_reproduced(tmp_path: Path) -> None:
    files = export(tmp_path, list(results()), benchmark="o3-bench")
    for trial in range(TRIALS):
        metrics = files[f"trial_{trial}/eval_metrics.json"].read_text(encoding="ascii")
        assert metrics == (E2E / f"expected_eval_metrics_trial_{trial}.json").read_text(encoding="ascii")
        want = expected(f"eval_records_trial_{trial}.jsonl")
        found = records(files[f"trial_{trial}/eval_records.jsonl"])
        assert found == want
        assert [list(record) for record in found] == [list(record) for record in want]
        assert f"trial_{trial}/done" in files
    summary = files["summary_metrics.json"].read_text(encoding="ascii")
    assert summary == (E2E / "expected_summary_metrics.json").read_text(encoding="ascii")


def test_no_key_is_written(tmp_path: Path) -> None:
    options = {"api_key": "sk-1", "judge_api_key": "sk-2", "params": {"headers": {"X-Api-Key": "sk-3"}}}
    files = export(tmp_path, list(results()), options=options)
    assert "sk-" not in files["args.json"].read_text(encoding="ascii")
    assert json.loads(files["args.json"].read_text(encoding="ascii"))["trials"] == TRIALS


def test_a_trial_that_is_not_whole_is_not_done(tmp_path: Path) -> None:
    whole = list(results())
    export(tmp_path, whole)
    last = whole[-1]
    open_end = Result(sample=last.sample, position=last.position, trial=last.trial)
    files = export(tmp_path, [*whole[:-1], open_end])
    assert {"trial_0/done", "trial_1/done"} <= set(files)
    assert not (tmp_path / "trial_2" / "done").exists()
    assert not (tmp_path / "summary_metrics.json").exists()
    assert len(records(files["trial_2/eval_records.jsonl"])) == len(whole) // TRIALS - 1


def test_trials_of_an_earlier_time_do_not_stay(tmp_path: Path) -> None:
    found = list(results())
    export(tmp_path, found)
    (tmp_path / "trial_2" / "mine.txt").write_text("kept", encoding="ascii")
    export(tmp_path, found, trials=1)
    assert sorted(path.name for path in tmp_path.glob("trial_*")) == ["trial_0", "trial_2"]
    assert [path.name for path in (tmp_path / "trial_2").iterdir()] == ["mine.txt"]


def test_types_and_groups_are_those_of_the_official_loader(tmp_path: Path) -> None:
    rows = [
        {
            "image": "a.png",
            "question": "Which?",
            "options": "A. red\nB. blue",
            "answer": "B",
            "question_id": "0",
        },
        {"image": "b.png", "question": "Which?", "answer": "A", "question_id": "1", "category": "map"},
    ]
    source = AnnotationSource(name="vstar", path=jsonl(tmp_path / "x.jsonl", rows), image_roots=(tmp_path,))
    found = []
    for position, sample in enumerate(source):
        reply = Reply(text="A")
        score = answer_calls(InsightScorer().steps(reply, sample), lambda call: "A")
        found.append(Result(sample=sample, position=position, reply=reply, score=score))
    files = export(tmp_path, found, trials=1)
    first, second = records(files["trial_0/eval_records.jsonl"])
    assert (first["question_id"], first["category"]) == (0, None)
    assert second["options"] is None
    stats = json.loads(files["trial_0/eval_metrics.json"].read_text(encoding="ascii"))["category_stats"]
    assert {group: count["correct"] for group, count in stats.items()} == {"NaN": 0, "map": 1}


@pytest.mark.parametrize("text", ["\ud800 half", "图 \u2028", "\x00"])
def test_any_reply_can_be_written(tmp_path: Path, text: str) -> None:
    sample = Sample(id="1", question="What?", golds=("x",))
    score = answer_calls(InsightScorer().steps(Reply(text=text), sample), lambda call: text)
    files = export(
        tmp_path, [Result(sample=sample, position=0, reply=Reply(text=text), score=score)], trials=1
    )
    [record] = records(files["trial_0/eval_records.jsonl"])
    assert record["eval_result"]["inference_result"]["last_message_content"] == text
