"""InfoChartQA's own result files, written from a run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eyechart.pipelines.infochartqa.report import make_report, score_entries
from eyechart.registry import exporters
from eyechart.types import Failure, Reply, Result, Sample
from support.results import export_of

# question_id, split, gold, type, reply (None: failed)
ASKED: list[tuple[Any, str, str, int, str | None]] = [
    (1, "info", "5", 72, "5"),
    (1, "plain", "5", 72, "6"),
    (2, "info", "Japan, China", 71, ""),
    (2, "plain", "Japan, China", 71, "Japan\u00a0, China"),
    ("q3", "info", "A", 202, "\ud83d"),
    ("q3", "plain", "A", 202, None),
]


def result(asked: tuple[Any, str, str, int, str | None], position: int, trial: int = 0) -> Result:
    question_id, split, gold, qtype, text = asked
    meta = {
        "question_id": question_id,
        "question_type_id": qtype,
        "split": split,
        "chart_form": {"info": "infographic"}.get(split, split),
    }
    name = str(question_id) if split == "info" else f"{split}/{question_id}"
    sample = Sample(id=name, question="?", golds=(gold,), meta=meta)
    if text is None:
        return Result(
            sample=sample, position=position, trial=trial, failure=Failure(stage="generate", reason="down")
        )
    return Result(sample=sample, position=position, trial=trial, reply=Reply(text=text))


def export(folder: Path, results: Sequence[Result], **manifest: Any) -> list[str]:
    written = exporters.get("infochartqa")(export_of(folder, results, **manifest))
    return [path.name for path in written]


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_files_of_a_run(tmp_path: Path) -> None:
    results = [result(asked, k) for k, asked in enumerate(ASKED)]
    pending = Result(sample=Sample(id="later", question="?"), position=9)
    names = export(tmp_path, [*results, pending])
    assert names == ["model_response.json", "results.json", "report.json", "pairs.json"]
    response = load(tmp_path / "model_response.json")
    assert list(response) == ["1", "plain/1", "2", "plain/2", "q3", "plain/q3"]
    assert response["1"] == {"qtype": 72, "answer": "5", "question_id": 1, "response": "5"}
    assert response["plain/q3"]["response"] == "Error!"
    records = load(tmp_path / "results.json")
    assert records == list(score_entries(response.values()))
    assert [record["score"] for record in records] == [True, False, True, True, False]
    report = load(tmp_path / "report.json")
    assert report == make_report(records)
    assert report["overall_accuracy"] == 60.0
    assert load(tmp_path / "pairs.json") == {
        "pairs": 2,
        "both_right": 1,
        "only_infographic": 1,
        "only_plain": 0,
        "neither": 0,
        "accuracy_infographic": 100.0,
        "accuracy_plain": 50.0,
    }


def test_the_layout_is_that_of_the_authors(tmp_path: Path) -> None:
    export(tmp_path, [result(asked, k) for k, asked in enumerate(ASKED[:4])])
    for name in ("model_response", "results", "report"):
        text = (tmp_path / f"{name}.json").read_text(encoding="utf-8")
        assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    export(tmp_path, [])
    assert (tmp_path / "model_response.json").read_text(encoding="utf-8") == "{}"
    assert load(tmp_path / "report.json") == {
        "overall_accuracy": 0.0,
        "qtype_accuracy": {},
        "figure_accuracy": {},
    }


def test_each_trial_has_its_files(tmp_path: Path) -> None:
    results = [result(ASKED[trial], 0, trial) for trial in (0, 1)]
    names = export(tmp_path, results, trials=2)
    assert names[3:] == ["model_response-trial2.json", "results-trial2.json", "report-trial2.json"]
    assert load(tmp_path / "report.json")["overall_accuracy"] == 100.0
    assert load(tmp_path / "report-trial2.json")["overall_accuracy"] == 0.0


def test_files_of_an_earlier_time_do_not_stay(tmp_path: Path) -> None:
    pair = [result(ASKED[k], k, trial) for trial in (0, 1, 2) for k in (0, 1)]
    assert len(export(tmp_path, pair, trials=3)) == 12
    names = export(tmp_path, pair[:1])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    assert names == ["model_response.json", "results.json", "report.json"]


def test_types_are_counted_as_numbers_in_order_of_appearance() -> None:
    entries = [
        {"question_id": k, "answer": "5", "response": "5", "qtype": qtype}
        for k, qtype in enumerate([72, 1, 72.0, None, [3]])
    ]
    assert list(make_report(score_entries(entries))["qtype_accuracy"]) == [
        "qtype_72",
        "qtype_1",
        "qtype_None",
        "qtype_[3]",
    ]


def test_the_question_that_is_numbered_0_has_its_pair(tmp_path: Path) -> None:
    pair = [
        Sample(
            id=name,
            question="?",
            golds=("5",),
            meta={"question_id": 0, "question_type_id": 72, "chart_form": form},
        )
        for name, form in (("0", "infographic"), ("plain/0", "plain"))
    ]
    export(
        tmp_path, [Result(sample=sample, position=k, reply=Reply(text="5")) for k, sample in enumerate(pair)]
    )
    assert load(tmp_path / "pairs.json")["pairs"] == 1
