"""A prediction file through the command line: the same numbers as the official step, from the journal."""

import json
from pathlib import Path

import pytest

from support.command import eyechart
from support.multi_examples import official, read_json


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["start", "end"])
def test_scoring_a_prediction_file(tmp_path: Path, number: int) -> None:
    given = official()
    run = given["runs"][number]
    predictions = {name: entry for name, entry in given["predictions"].items() if name[:4] != "zzzz"}
    (tmp_path / "label.json").write_text(json.dumps(given["problems"]), encoding="utf-8")
    (tmp_path / "prediction.json").write_text(json.dumps(predictions), encoding="utf-8")
    position = f"answer_position={run['answer_position']}"
    done = eyechart(
        "score", "--benchmark", "multi", "--set", "problem_file=label.json", "--set", position,
        "--replies", "prediction.json", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.err
    expected = run["expected"]
    told = done.json
    assert round(told["score"] * 100, 1) == expected["summary"]["Overall"]
    (statistics,) = tmp_path.glob("runs/**/statistics.csv")
    assert statistics.read_text("utf-8").splitlines() == expected["statistics_csv"]
    scores = read_json(statistics.with_name("score.json"))
    assert [(one["score"], one["total_score"]) for one in scores.values()] == [
        (pytest.approx(one["score"], abs=1e-9), one["total_score"]) for one in expected["score"].values()
    ]
    assert read_json(statistics.with_name("args.json"))["answer_position"] == run["answer_position"]
