import json
from typing import Any

from eyechart.report.summary import Summary, summarise
from eyechart.stats import compute_wilson
from eyechart.types import OUTCOMES, Result
from support.results import result


def summary_of(results: list[Result], **options: Any) -> Summary:
    return summarise(results, benchmark="demo", model="openai/tiny", **options)


def test_bounds_that_are_the_score_are_not_worth_showing() -> None:
    overall = summary_of([result(0, "correct"), result(1, "partial"), result(2, "refused")]).overall
    assert overall.bounds == (0.5, 0.5)
    assert not overall.is_bounded_apart


def test_json_holds_the_contract() -> None:
    summary = summary_of(
        [result(0, meta={"category": "map"}, attempts=3), result(1, "failed", meta={"category": "map"})],
        group_by=("category",), run="runs/demo/tiny-12345678", seconds=2.5, version="0.1.0", scorer="choice",
        parity="official",
    )  # fmt: skip
    found = json.loads(json.dumps(summary.to_json()))
    assert found["run"] == "runs/demo/tiny-12345678"
    assert (found["benchmark"], found["model"], found["n"]) == ("demo", "openai/tiny", 2)
    assert found["score"] == 1.0
    assert found["ci95"] == list(compute_wilson(1, 1) or ())
    assert list(found["outcomes"]) == list(OUTCOMES)
    assert found["outcomes"]["failed"] == 1
    assert found["by"]["category"]["map"]["n"] == 2
    assert found["by"]["category"]["map"]["outcomes"]["wrong"] == 0
    assert found["requests"] == {"sent": 4, "retried": 2, "cached": 0}
    assert found["tokens"] == {"prompt": 100, "completion": 10, "reasoning": 3}
    assert found["cost"] is None
    assert found["seconds"] == 2.5
    assert found["bounds"] == [0.5, 1.0]
    assert found["coverage"] == 0.5
    assert found["chance"] == 0.5
    assert found["pending"] == 0
    assert found["trials"] is None
    assert (found["scorer"], found["parity"], found["version"]) == ("choice", "official", "0.1.0")
