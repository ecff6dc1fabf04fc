import builtins
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyechart.pipelines.multi import report
from eyechart.pipelines.multi.metrics import summarise_predictions
from eyechart.pipelines.multi.report import make_arguments, make_prediction
from eyechart.registry import exporters
from eyechart.types import ImageRef, Reply, Result, Usage
from support.multi_examples import (
    failed,
    multi_result,
    multi_sample,
    official,
    official_results,
    read_json,
    to_problems,
)
from support.results import export_of

PROBLEM: dict[str, Any] = {
    "problem_type_list": ["单选", "多选", "其他"],
    "problem_answer_list": ["B", "ACE", "无"],
    "problem_analysis_list": ["因为", "", ""],
    "education": "初中",
    "subject": ["数学"],
}
FIRST = multi_sample("czsx_0_0", PROBLEM, 1)


def without(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def importing(name: str, *rest: Any) -> Any:
        if name.startswith(module):
            raise ImportError(name)
        return really(name, *rest)

    monkeypatch.setattr(builtins, "__import__", importing)


@pytest.fixture
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    report._matplotlib.cache_clear()
    without("matplotlib", monkeypatch)


@pytest.mark.usefixtures("no_charts")
@pytest.mark.parametrize("number", [0, 1], ids=["start", "end"])
def test_a_run_writes_what_the_official_step_writes(tmp_path: Path, number: int) -> None:
    run = official()["runs"][number]
    results = official_results(run["answer_position"])
    paths = exporters.get("multi")(export_of(tmp_path, results, model="m"))
    assert [path.name for path in paths] == [
        "prediction.json", "args.json", "score.json", "detail.json", "statistics.csv", "summary.md",
    ]  # fmt: skip
    expected = run["expected"]
    scores = read_json(tmp_path / "score.json")
    assert list(scores) == expected["order"]
    assert scores == {
        name: entry | {"score": pytest.approx(entry["score"], abs=1e-9)}
        for name, entry in expected["score"].items()
    }
    assert (tmp_path / "statistics.csv").read_text("utf-8").splitlines() == expected["statistics_csv"]
    lines = (tmp_path / "summary.md").read_text("utf-8").splitlines()
    assert lines[0] == expected["first_line"]
    assert [line for line in lines if line.startswith("|")] == expected["summary_tables"]
    assert f"> {expected['stdout_lines'][1]}" in lines
    block = "\n".join(lines).split("```json\n")[1].split("\n```")[0]
    assert json.loads(block) == expected["summary"]


@pytest.mark.usefixtures("no_charts")
def test_without_matplotlib_the_summary_says_so(tmp_path: Path) -> None:
    exporters.get("multi")(export_of(tmp_path, [multi_result(FIRST, "B")]))
    text = (tmp_path / "summary.md").read_text("utf-8")
    assert "pip install 'eyechart[multi]'" in text
    assert "png" not in text
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.usefixtures("no_charts")
def test_details_have_bare_answers_and_no_type_without_one(tmp_path: Path) -> None:
    problem = PROBLEM | {
        "problem_answer_list": ["B", " ACE\n", None],
        "problem_type_list": ["单选"] + 2 * ["多选"],
    }
    samples = [multi_sample(f"czsx_0_{k}", problem, 1) for k in range(3)]
    exporters.get("multi")(export_of(tmp_path, [multi_result(one, "B") for one in samples]))
    details = read_json(tmp_path / "detail.json")
    assert [(one["answer"], one["type"]) for one in details.values()] == [
        ("B", "单选"), ("ACE", "多选"), ("", "其他"),
    ]  # fmt: skip
    again = summarise_predictions(to_problems({"czsx_0": problem}), read_json(tmp_path / "prediction.json"))
    assert details == again.details
    assert "JuH,数学,MA,SI,1,0,3,0" in (tmp_path / "statistics.csv").read_text("utf-8")


@pytest.mark.usefixtures("no_charts")
def test_the_predictions_score_to_the_same_numbers(tmp_path: Path) -> None:
    second, third = (multi_sample(f"czsx_0_{k}", PROBLEM, k - 1) for k in (1, 2))
    results = [failed(third), multi_result(FIRST, "B"), failed(second)]
    exporters.get("multi")(export_of(tmp_path, results))
    predictions = read_json(tmp_path / "prediction.json")
    assert predictions["czsx_0_1"]["feedback"] == "HTTP 503"
    again = summarise_predictions(to_problems({"czsx_0": PROBLEM}), predictions)
    scores = read_json(tmp_path / "score.json")
    assert [(row.score, row.total) for row in again.rows] == [
        (one["score"], one["total_score"]) for one in scores.values()
    ]
    assert read_json(tmp_path / "detail.json") == again.details
    assert "Failed: 2 of 3 questions" in (tmp_path / "summary.md").read_text("utf-8")


def test_the_release_file_has_predictions_to_hand_in_and_no_scores(tmp_path: Path) -> None:
    open_sample = replace(FIRST, golds=())
    paths = exporters.get("multi")(export_of(tmp_path, [multi_result(open_sample, "B")]))
    assert {path.name for path in paths} == {"prediction.json", "args.json"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["args.json", "prediction.json"]


@pytest.mark.usefixtures("no_charts")
def test_trials_have_folders_of_their_own(tmp_path: Path) -> None:
    results = [multi_result(FIRST, text, trial=trial) for trial, text in enumerate("AB")]
    exporters.get("multi")(export_of(tmp_path, results, trials=2))
    scores = [read_json(tmp_path / f"trial-{k}" / "score.json")["czsx_0_0"]["score"] for k in (0, 1)]
    assert scores == [0, 1]


@pytest.mark.usefixtures("no_charts")
def test_files_of_an_earlier_time_do_not_stay(tmp_path: Path) -> None:
    def write(trials: int) -> set[str]:
        results = [multi_result(FIRST, text, trial=trial) for trial, text in enumerate("ABC"[:trials])]
        paths = exporters.get("multi")(export_of(tmp_path, results, trials=trials))
        found = {path for path in tmp_path.rglob("*") if path.is_file() and path.name != "mine.txt"}
        assert found == set(paths)
        return {path.name for path in tmp_path.iterdir()}

    assert write(3) == {"trial-0", "trial-1", "trial-2"}
    (tmp_path / "trial-1" / "mine.txt").touch()
    assert {name for name in write(1) if name.startswith("trial")} == {"trial-1"}
    assert write(2) == {"trial-0", "trial-1"}
    exporters.get("multi")(export_of(tmp_path, [multi_result(replace(FIRST, golds=()), "B")]))
    assert {path.name for path in tmp_path.iterdir()} == {"args.json", "prediction.json", "trial-1"}


@pytest.mark.usefixtures("no_charts")
def test_what_was_not_asked_yet_is_left_out(tmp_path: Path) -> None:
    pending = Result(sample=multi_sample("czsx_0_1", PROBLEM, 0), position=1)
    exporters.get("multi")(export_of(tmp_path, [multi_result(FIRST, "B"), pending]))
    assert list(read_json(tmp_path / "prediction.json")) == ["czsx_0_0"]


@pytest.mark.usefixtures("no_charts")
def test_a_scorer_that_counts_no_points(tmp_path: Path) -> None:
    sample = multi_sample("czsx_0_1", PROBLEM, 0)
    exporters.get("multi")(export_of(tmp_path, [multi_result(sample, "ACE", scorer="exact")]))
    entry = {"question_id": "czsx_0_1", "score": 3, "total_score": 3}
    assert read_json(tmp_path / "score.json") == {"czsx_0_1": entry}


def test_answered_questions() -> None:
    plain = make_prediction(multi_result(FIRST, "B"))
    assert plain == {"question_id": "czsx_0_0", "question_image_number": 1, "prediction": "B"}
    pictured = replace(FIRST, images=(ImageRef(kind="file", location="images/czsx/0_1.png"),))
    reply = Reply(
        text="B",
        earlier=("看到了",),
        usage=Usage(prompt_tokens=9, completion_tokens=2),
        evidence={"input_message_list": ["图一", "图二"], "other": 1},
    )
    result = Result(sample=pictured, position=0, reply=reply, sent=({"width": 1},))
    assert make_prediction(result) == {
        "question_id": "czsx_0_0",
        "question_image_number": 1,
        "image_list": ["images/czsx/0_1.png", ""],
        "input_message_list": ["图一", "图二"],
        "answer_history": ["看到了", "B"],
        "prediction": "B",
        "prompt_tokens": 9,
        "completion_tokens": 2,
    }
    black = Result(sample=FIRST, position=0, reply=Reply(text="B"), sent=({"width": 1},))
    assert make_prediction(black)["image_list"] == [""]
    withheld = Result(sample=FIRST, position=0, reply=Reply(text="", finish_reason="content_filter"))
    assert make_prediction(withheld)["feedback"] == "content_filter"


def test_arguments_hold_the_settings_and_never_a_key() -> None:
    manifest = {
        "settings": {"input_type": 2, "cot": True, "api_key": "sk-1"},
        "model": "openai/m",
        "benchmark": "multi",
        "options": {
            "max_tokens": 5,
            "hf_token": "sk-3",
            "nested": [{"Authorization": "sk-2", "token": "sk-4"}],
        },
    }
    found = make_arguments(manifest)
    assert (found["input_type"], found["model"], found["options"]["max_tokens"]) == (2, "openai/m", 5)
    assert "sk-" not in json.dumps(found)


@pytest.mark.usefixtures("no_charts")
def test_half_characters_are_written_as_json_writes_them(tmp_path: Path) -> None:
    exporters.get("multi")(export_of(tmp_path, [multi_result(FIRST, "half \ud800 of it")]))
    assert read_json(tmp_path / "prediction.json")["czsx_0_0"]["prediction"] == "half \ud800 of it"


@pytest.mark.slow
def test_charts(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    report._matplotlib.cache_clear()
    paths = exporters.get("multi")(export_of(tmp_path, official_results("start")))
    charts = [path.name for path in paths if path.suffix == ".png"]
    assert charts == ["summary_education.png", "summary_image.png", "summary_type.png", "heatmap.png"]
    for name in charts:
        with Image.open(tmp_path / name) as picture:
            colours = picture.convert("RGB").getcolors(1 << 20) or []
        assert (picture.format, picture.size, len(colours) > 10) == ("PNG", (1000, 600), True)
        assert f"({name})" in (tmp_path / "summary.md").read_text("utf-8")


@pytest.mark.slow
def test_charts_of_nothing_scored(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert len(report.write_charts([], tmp_path, "none_")) == 4
    assert (tmp_path / "none_heatmap.png").stat().st_size > 1000
