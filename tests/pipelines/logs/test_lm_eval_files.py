"""The files of lm-eval."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from eyechart.registry import exporters
from eyechart.types import Outcome, Result
from support.results import export_of, result

MANIFEST = {
    "benchmark": "zoo",
    "model": "openai/m",
    "scorer": "default",
    "versions": {"default": "3"},
    "identity": {"parameters": {"temperature": 0}},
    "trials": 1,
}


def write(
    folder: Path, results: list[Result], **manifest: Any
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    numbers, samples = exporters.get("lm-eval")(export_of(folder, results, **(MANIFEST | manifest)))
    assert numbers.name.startswith("results_")
    assert samples.name == numbers.name.replace("results_", "samples_zoo_").replace(".json", ".jsonl")
    lines = samples.read_text(encoding="utf-8").splitlines()
    return json.loads(numbers.read_text(encoding="utf-8")), [json.loads(line) for line in lines]


def test_samples_and_results(tmp_path: Path) -> None:
    numbers, lines = write(
        tmp_path,
        [result(0, meta={"category": "map", "answer": "hidden"}), result(1, "wrong"), result(2, "failed")],
    )
    first, second, third = lines
    assert first["doc_id"] == 0
    assert first["doc"]["question"] == "Which?"
    assert (first["doc"]["category"], first["doc"]["answer"], first["target"]) == ("map", "B", "B")
    assert first["arguments"] == {"gen_args_0": {"arg_0": "Which?", "arg_1": {"temperature": 0}}}
    assert (first["resps"], first["filtered_resps"], first["acc"]) == ([["The answer is B."]], ["B"], 1.0)
    assert len(first["doc_hash"]) == len(first["prompt_hash"]) == len(first["target_hash"]) == 64
    assert first["doc_hash"] != second["doc_hash"]
    assert "errors" not in first
    assert (third["resps"], third["acc"], third["errors"]) == ([[None]], None, ["generate: HTTP 503"])
    assert numbers["results"] == {"zoo": {"alias": "zoo", "acc,none": 0.5, "acc_stderr,none": 0.5}}
    assert numbers["n-samples"] == {"zoo": {"original": 3, "effective": 2}}
    assert numbers["versions"] == {"zoo": "3"}
    assert numbers["n-shot"] == {"zoo": 0}
    assert numbers["higher_is_better"] == {"zoo": {"acc": True}}
    assert numbers["configs"]["zoo"]["repeats"] == 1
    assert numbers["config"]["model_args"] == {"model": "openai/m"}
    assert numbers["date"] > 1e9


def test_the_error_is_that_of_the_interval(tmp_path: Path) -> None:
    """Questions on one image are not independent, here as in the run's own interval."""
    ends: list[Outcome] = ["correct", "wrong"] * 4
    apart, together = (
        write(tmp_path, [replace(result(n, end), cluster=str(n % n_images)) for n, end in enumerate(ends)])[0]
        for n_images in (8, 2)
    )
    assert together["results"]["zoo"]["acc,none"] == apart["results"]["zoo"]["acc,none"] == 0.5
    assert (
        together["results"]["zoo"]["acc_stderr,none"] > 1.5 * apart["results"]["zoo"]["acc_stderr,none"] > 0.2
    )


def test_one_line_for_all_trials(tmp_path: Path) -> None:
    results = [
        result(0, trial=0),
        result(0, "wrong", trial=1, reply="A"),
        result(1, None, trial=0),
        result(1, None, trial=1),
    ]
    numbers, lines = write(tmp_path, results, trials=2)
    [line] = lines
    assert (line["resps"], line["acc"]) == ([["The answer is B.", "A"]], 0.5)
    assert numbers["configs"]["zoo"]["repeats"] == 2
    assert numbers["results"]["zoo"]["acc_stderr,none"] == "N/A"
