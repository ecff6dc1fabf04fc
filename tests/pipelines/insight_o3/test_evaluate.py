"""InSight-o3's evaluation as a function: its arguments, and what comes back."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import UsageError
from eyechart.pipelines.insight_o3.arguments import Arguments
from eyechart.pipelines.insight_o3.evaluate import evaluate
from support.files import jsonl, picture
from support.server import Answer, Asked, Server

MINE = """
class Mine:
    def __init__(self, letter="B"):
        self.letter = letter

    def generate(self, text, images):
        return self.letter
"""


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    rows = [{"image": "a.png", "question": f"{n}?", "options": "A. x\nB. y", "answer": "B"} for n in range(3)]
    jsonl(tmp_path / "ann.jsonl", rows)
    (tmp_path / "a.png").write_bytes(picture())
    (tmp_path / "mine.py").write_text(MINE, encoding="utf-8")
    return tmp_path


def arguments(**changes: Any) -> Arguments:
    said = {"eval_name": "x", "ann_file": "ann.jsonl", "img_dir": ".", "model": "python:mine.py:Mine"}
    return Arguments(**{**said, "judge_model": "none", **changes})


def test_what_comes_back(small: Path) -> None:
    done = evaluate(arguments(num_trials=2), progress=False)
    assert (done.cell, done.warnings, done.exit_code) == ("100.0±0.0 @2", [], 0)
    assert done.folder == Path("outputs/eval/x")
    assert done.run is not None
    assert done.run.folder.is_relative_to(done.folder / "run")
    assert done.summary is not None
    assert done.summary["category_accuracy"] == {"unknown": {"mean": 1.0, "std": 0.0}}
    names = {path.relative_to(done.folder).as_posix() for path in done.files}
    assert names == {"args.json", "summary_metrics.json"} | {
        f"trial_{n}/{name}" for n in range(2) for name in ("eval_metrics.json", "eval_records.jsonl", "done")
    }


def test_keys_are_shown_to_nobody() -> None:
    said = arguments(api_key="sk-1", judge_api_key="sk-2")
    assert "sk-" not in repr(said)
    assert "sk-" not in json.dumps(said.record())


def test_a_model_of_ones_own_is_made_with_what_was_said(small: Path) -> None:
    wrong = evaluate(arguments(chat_completion_kwargs={"letter": "A"}), progress=False)
    assert wrong.cell == "0.0±0.0 @1"
    with pytest.raises(UsageError, match="'size'"):
        evaluate(arguments(eval_name="y", chat_completion_kwargs={"size": 1}), progress=False)


def test_fewer_trials_show_fewer_and_lose_none(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        served = {"model": "m", "api_base_url": server.base_url}
        evaluate(arguments(num_trials=3, **served), progress=False)
        assert evaluate(arguments(num_trials=1, **served), progress=False).cell.endswith("@1")
        assert not (small / "outputs/eval/x/trial_2/done").exists()
        assert evaluate(arguments(num_trials=3, **served), progress=False).cell.endswith("@3")
        assert len(server.asked) == 3


def test_another_judge_judges_again_and_asks_the_model_nothing(small: Path) -> None:
    def answer(asked: Asked) -> Answer | str:
        return {"m": "It is B.", "kind": "B", "stern": "A"}[asked.body["model"]]

    with Server(answer) as server:
        place = {"api_base_url": server.base_url, "judge_api_base_url": server.base_url, "model": "m"}
        assert evaluate(arguments(judge_model="kind", **place), progress=False).cell == "100.0±0.0 @1"
        assert evaluate(arguments(judge_model="stern", **place), progress=False).cell == "0.0±0.0 @1"
        assert [asked.body["model"] for asked in server.asked].count("m") == 3


def test_a_judge_that_fails_leaves_invalid_samples_for_the_next_start(small: Path) -> None:
    down = [True]

    def answer(asked: Asked) -> Answer | str:
        if asked.body["model"] == "m":
            return "It is B."
        return Answer(status=400, body=b"{}") if down else "B"

    with Server(answer) as server:
        place = {"api_base_url": server.base_url, "judge_api_base_url": server.base_url, "model": "m"}
        first = evaluate(arguments(judge_model="j", **place), progress=False)
        assert (first.cell, first.exit_code) == ("0.0±0.0 @1", 1)
        assert first.warnings == ["Overall success rate", "Overall completion rate"]
        record = json.loads((first.folder / "trial_0/eval_records.jsonl").read_text().splitlines()[0])
        assert record["eval_result"]["fail_reason"] == "answer_extraction_failed"
        down.clear()
        assert evaluate(arguments(judge_model="j", **place), progress=False).cell == "100.0±0.0 @1"


def test_wrong_values_are_named(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"Invalid enum value 'loud' - at `\$.sys_prompt`"):
        evaluate(arguments(sys_prompt="loud"), progress=False)
    monkeypatch.setenv("OPENAI_CLIENT_TIMEOUT", "soon")
    with pytest.raises(UsageError, match="OPENAI_CLIENT_TIMEOUT is 'soon'"):
        evaluate(arguments(), progress=False)
    monkeypatch.setenv("OPENAI_CLIENT_TIMEOUT", "30")
    done = evaluate(arguments(), progress=False)
    assert done.run is not None
    assert done.run.manifest["options"]["timeout_s"] == 30


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"client_timeout": -1.0}, "client_timeout is -1"),
        ({"client_timeout": float("nan")}, "client_timeout is nan"),
        ({"client_timeout": "5"}, "Expected `float.*client_timeout"),
        ({"num_trials": "2"}, r"Expected `int`, got `str` - at `\$.num_trials"),
        ({"num_trials": True}, "Expected `int`, got `bool`"),
        ({"img_max_pixels": None}, "Expected `int`, got `null`"),
        ({"ann_file": None}, "Expected `str`, got `null`"),
        ({"api_base_url": ["http://x/v1"]}, r"Expected `str.*got `array` - at `\$.api_base_url"),
        ({"eval_name": Path("x")}, r"Expected `str`, got `PosixPath`"),
        ({"chat_completion_kwargs": '{"seed": 1}'}, "Expected `object`, got `str`"),
        ({"model": ""}, "model is empty"),
        ({"image_url_extra_settings": {"detail": None}}, "detail cannot be sent"),
        (
            {"chat_completion_kwargs": {"extra_body": {"top_k": [float("inf")]}}},
            "a number that JSON cannot hold",
        ),
    ],
)
def test_values_that_cannot_be_sent_are_refused_by_name(
    small: Path, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        evaluate(arguments(**changes), progress=False)
    assert not (small / "outputs").exists()


def test_what_may_hold_a_key_is_not_shown(small: Path) -> None:
    for name in ("chat_completion_kwargs", "image_url_extra_settings", "judge_api_base_url"):
        value = ["sk-1"] if name == "judge_api_base_url" else '{"extra_body": {"api_key": "sk-1"}}'
        with pytest.raises(UsageError, match=f"Expected .*{name}") as caught:
            evaluate(arguments(**{name: value}), progress=False)
        assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize("judge", ["none", "python:mine.py:Mine"])
def test_an_address_at_which_nobody_is_asked_is_not_written(small: Path, judge: str) -> None:
    secret = "http://me:unmistakable@127.0.0.1:9/v1"
    said = arguments(judge_model=judge, api_base_url=secret, judge_api_base_url=secret)
    assert {"api_base_url", "judge_api_base_url"} <= set(said.unused)
    done = evaluate(said, progress=False)
    assert done.cell == "100.0±0.0 @1"
    files = [path for path in small.rglob("*") if path.is_file()]
    assert done.folder.absolute() / "args.json" in files
    assert not [path.name for path in files if b"unmistakable" in path.read_bytes()]
    evaluate(said, progress=False)  # goes on with what lies there


def test_a_time_of_the_environment_is_named_by_its_variable(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_CLIENT_TIMEOUT", "-3")
    with pytest.raises(UsageError, match="OPENAI_CLIENT_TIMEOUT is '-3'"):
        evaluate(arguments(), progress=False)


def test_pythons_none_is_no_judge_either(small: Path) -> None:
    done = evaluate(arguments(judge_model="None"), progress=False)
    assert done.run is not None
    assert done.run.manifest.get("judge") is None


def test_what_changes_nothing_is_known() -> None:
    assert arguments(chat_completion_kwargs={"letter": "A"}, num_trials=3, concurrency=2).unused == {}
    said = arguments(api_key="sk-1", image_url_extra_settings={"detail": "low"}, max_answer_length=9)
    assert said.unused == {
        "api_key": "python:mine.py:Mine runs locally",
        "image_url_extra_settings": "python:mine.py:Mine runs locally",
        "max_answer_length": "there is no judge",
    }
    assert arguments(model="m", api_key="sk-1", judge_model="j", judge_prompts="x.yaml").unused == {}
