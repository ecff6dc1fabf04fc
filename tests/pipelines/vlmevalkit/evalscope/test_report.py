"""EvalScope's own files. Its classes read them; what they expect is stated here."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from eyechart.pipelines.logs.evalscope import read_report
from eyechart.registry import exporters
from eyechart.types import Outcome, Result
from support.results import export_of, result

MANIFEST = {
    "benchmark": "zoo",
    "model": "openai/Qwen2.5:7b",
    "scorer": "default",
    "about": "Animals",
    "group_by": ["split", "category"],
}
MODEL = "Qwen2_5-7b"


def write(folder: Path, results: list[Result], **manifest: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The report, and the lines of every other file by its name."""
    report, config, *files = exporters.get("evalscope-report")(
        export_of(folder, results, **(MANIFEST | manifest))
    )
    assert report == folder / "reports" / MODEL / "zoo.json"
    assert yaml.safe_load(config.read_text())["datasets"] == ["zoo"]
    lines = {
        str(path.relative_to(folder)): [
            json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()
        ]
        for path in files
    }
    return json.loads(report.read_text(encoding="utf-8")), lines


def test_report_predictions_and_reviews(tmp_path: Path) -> None:
    results = [
        result(0, meta={"category": "apes/../x"}),
        result(1, "wrong", meta={"category": "cats"}),
        result(2, meta={"category": "cats"}),
        result(3, meta={"category": "cats"}),
        result(4, "failed", meta={"category": "cats"}),
        result(5, "unscored", golds=()),
    ]
    report, lines = write(tmp_path, results)
    assert (report["schema_version"], report["name"]) == (2, f"{MODEL}@zoo")
    assert (report["dataset_name"], report["model_name"], report["num"]) == ("zoo", MODEL, 4)
    [metric] = report["metrics"]
    assert metric["identity"] == report["primary_metric_identity"]
    assert (metric["num"], metric["score"]) == (4, 0.75)
    [category] = metric["categories"]
    assert [(part["name"], part["num"], part["score"]) for part in category["subsets"]] == [
        ("apes_.._x", 1, 1.0),
        ("cats", 3, 0.6667),
    ]
    assert category["score"] == metric["macro_score"] == 0.75
    assert report["execution_summary"]["errored"] == 1
    assert report["execution_summary"]["incomplete"] is True
    names = [f"zoo_{name}.jsonl" for name in ("apes_.._x", "cats", "default")]
    assert sorted(lines) == [
        f"{kind}/{MODEL}/{name}" for kind in ("predictions", "reviews") for name in names
    ]
    first, _, _, failed = lines[f"predictions/{MODEL}/zoo_cats.jsonl"]
    assert (first["index"], first["model"]) == (1, "openai/Qwen2.5:7b")
    assert first["model_output"]["choices"][0]["message"]["content"] == "The answer is B."
    assert first["model_output"]["usage"]["input_tokens"] == 100
    output = failed["model_output"]
    assert (output["choices"], output["error"], output["usage"]) == ([], "generate: HTTP 503", None)
    wrong, _, _, lost = lines[f"reviews/{MODEL}/zoo_cats.jsonl"]
    assert wrong["target"] == ["B"]
    assert wrong["sample_score"]["score"]["value"] == {"accuracy": 0.0}
    assert wrong["sample_score"]["score"]["extracted_prediction"] == "B"
    assert lost["sample_score"]["score"]["status"] == "transport_error"
    assert lost["sample_score"]["score"]["value"] == {}
    [unscored] = lines[f"reviews/{MODEL}/zoo_default.jsonl"]
    assert (unscored["target"], unscored["sample_score"]["score"]["value"]) == (None, {})


def test_trials_are_generations_of_one_group(tmp_path: Path) -> None:
    results = [result(n, "correct" if trial else "wrong", trial=trial) for n in (0, 1) for trial in (0, 1)]
    report, lines = write(tmp_path, results, trials=2)
    reviews = lines[f"reviews/{MODEL}/zoo_default.jsonl"]
    found = [
        (line["index"], *(line["sample_score"][key] for key in ("group_id", "generation_index")))
        for line in reviews
    ]
    assert found == [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
    assert (report["metrics"][0]["score"], report["num"]) == (0.5, 2)


def test_nothing_scored_is_no_metric(tmp_path: Path) -> None:
    report, _ = write(tmp_path, [result(0, "failed")])
    assert (report["metrics"], report["primary_metric_identity"]) == ([], None)
    assert report["primary_metric_unavailable_reason"]


def test_a_column_of_identifiers_makes_no_thousand_files(tmp_path: Path) -> None:
    results = [result(n, meta={"category": f"c{n}"}) for n in range(150)]
    report, lines = write(tmp_path, results)
    assert len(lines) == 2 * 101
    assert report["num"] == 150


def test_values_that_look_alike_in_a_file_name_are_not_mixed(tmp_path: Path) -> None:
    values = ["a/b", "a_b", "A_B", "a/b", "?"]
    results = [
        result(n, "wrong" if n == 1 else "correct", meta={"category": value})
        for n, value in enumerate(values)
    ]
    report, lines = write(tmp_path, results)
    [category] = report["metrics"][0]["categories"]
    assert [(part["name"], part["num"], part["score"]) for part in category["subsets"]] == [
        ("a_b", 2, 1.0),
        ("a_b_2", 1, 0.0),
        ("A_B_3", 1, 1.0),
        ("_", 1, 1.0),
    ]
    assert len(lines) == 2 * 4
    log = read_report(tmp_path / "reports" / MODEL / "zoo.json", with_questions=True)
    assert sorted(entry.id for entry in log.entries) == ["q0", "q1", "q2", "q3", "q4"]


def test_files_of_subsets_that_are_gone_go(tmp_path: Path) -> None:
    write(tmp_path, [result(0, meta={"category": "apes"}), result(1, meta={"category": "cats"})])
    other = tmp_path / "reviews" / MODEL / "zoo_hard_cats.jsonl"
    other.write_text("of another data set\n")
    write(tmp_path, [result(0, meta={"category": "apes"}), result(1, None, meta={"category": "cats"})])
    assert [path.name for path in (tmp_path / "predictions" / MODEL).iterdir()] == ["zoo_apes.jsonl"]
    assert {path.name for path in other.parent.iterdir()} == {"zoo_apes.jsonl", other.name}


@pytest.mark.parametrize("before", [b"", b"[]", b'{"execution_summary": {"subsets": ["../../x", 7]}}'])
def test_a_report_that_was_damaged_is_replaced(tmp_path: Path, before: bytes) -> None:
    path = tmp_path / "reports" / MODEL / "zoo.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(before)
    report, _ = write(tmp_path, [result(0)])
    assert report["num"] == 1


@pytest.mark.parametrize("outcome", ["failed", "unscored"])
def test_a_subset_without_any_score_comes_back(tmp_path: Path, outcome: Outcome) -> None:
    results = [result(0, meta={"category": "apes"}), result(1, outcome, meta={"category": "cats"})]
    write(tmp_path / "one", results)
    write(tmp_path / "none", results[1:])
    for folder, ids in (("one", ["q0", "q1"]), ("none", ["q1"])):
        path = tmp_path / folder / "reports" / MODEL / "zoo.json"
        for with_questions in (True, False):
            log = read_report(path, with_questions=with_questions)
            assert [entry.id for entry in log.entries] == ids
