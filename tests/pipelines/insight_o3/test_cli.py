"""``eyechart insight``: the authors' whole run over a local server, and how it goes on where it was left."""

import argparse
import base64
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image

from eyechart.pipelines.insight_o3.arguments import read_object
from support.command import Outcome, eyechart
from support.files import jsonl, picture
from support.insight_o3 import E2E, expected, scripted, stub_judge
from support.runs import write_model
from support.server import Answer, Asked, Server

TRIALS = 3
OPTIONS = "A. red\nB. blue"
AT_ONCE = {"Retry-After": "0"}


def choices(*contents: str, finish: str = "stop") -> Answer:
    return body([{"content": content, "finish_reason": finish} for content in contents])


def body(said: list[dict[str, Any]]) -> Answer:
    listed = [
        {
            "index": index,
            "message": {"role": "assistant", "content": one["content"]},
            "finish_reason": one["finish_reason"],
        }
        for index, one in enumerate(said)
    ]
    return Answer(body=json.dumps({"id": "x", "model": "m", "choices": listed}).encode())


def recorded(asked: Asked) -> Answer | str:
    """The replies and the judge of the authors' run."""
    if asked.body["model"] == "judge":
        answer = asked.text.rpartition("Answer:")[2]
        return stub_judge(answer.partition("Output")[0])
    said = scripted()[asked.text.partition("\n")[0]]
    if said["status"] != 200:
        return Answer(status=said["status"], body=b"{}", headers=AT_ONCE)
    return body(said["choices"][: asked.body["n"]])


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The authors' questions, with pictures."""
    shutil.copy(E2E / "ann.jsonl", tmp_path)
    (tmp_path / "images").mkdir()
    for number in range(24):
        (tmp_path / "images" / f"{number}.png").write_bytes(picture())
    (tmp_path / "judge.json").write_text(
        json.dumps({"mcqa": "{question}\n{options}\nAnswer: {answer}"}), encoding="utf-8"
    )
    return tmp_path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    rows = [
        {
            "image": "a.png",
            "question": f"Question {n}?",
            "options": OPTIONS,
            "answer": "B",
            "category": "x" if n % 2 else "y",
        }
        for n in range(4)
    ]
    jsonl(tmp_path / "ann.jsonl", rows)
    (tmp_path / "a.png").write_bytes(picture(size=(40, 30)))
    return tmp_path


def insight(cwd: Path, server: Server, *more: object, name: str = "m/small", **changes: str) -> Outcome:
    return eyechart(
        "insight", "--eval_name", name, "--ann_file", "ann.jsonl", "--img_dir", ".", "--model", "served",
        "--api_base_url", server.base_url, "--api_key", "sk-model", "--judge_model", "judge",
        "--judge_api_base_url", server.base_url, "--judge_api_key", "sk-judge", "-q", *more,
        cwd=cwd, **changes,
    )  # fmt: skip


def records(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]
    for record in found:
        record["eval_result"]["inference_result"]["conversations"] = "[removed]"
    return found


@pytest.mark.slow
def test_the_files_of_the_authors_run_come_out_of_it(data: Path) -> None:
    with Server(recorded) as server:
        done = insight(data, server, "--num_trials", TRIALS, "--judge_prompts", "judge.json")
    folder = data / "outputs" / "eval" / "m" / "small"
    assert done.code == 1, done.err  # some requests failed
    for trial in range(TRIALS):
        of_trial = folder / f"trial_{trial}"
        metrics = (of_trial / "eval_metrics.json").read_text(encoding="ascii")
        assert metrics == (E2E / f"expected_eval_metrics_trial_{trial}.json").read_text(encoding="ascii")
        assert records(of_trial / "eval_records.jsonl") == expected(f"eval_records_trial_{trial}.jsonl")
        assert (of_trial / "done").read_bytes() == b""
    summary = (folder / "summary_metrics.json").read_text(encoding="ascii")
    assert summary == (E2E / "expected_summary_metrics.json").read_text(encoding="ascii")
    assert "59.7±9.8 @3" in done.out
    assert re.search(r"map +63\.6±14\.8 +81\.8±7\.4 +90\.0±8\.2", done.out)
    assert "success rate 84.7±2.0" in done.err
    assert "completion rate 88.4±2.0" in done.err


def test_what_is_asked_is_what_the_authors_ask(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        insight(small, server, "--num_trials", 2, "--img_max_pixels", 300)
        asked = server.asked[0]
        assert insight(small, server, "--sys_prompt", "think", name="think").code == 0
    assert [part["type"] for part in asked.body["messages"][-1]["content"]] == ["image_url", "text"]
    assert asked.text.endswith(f"?\n{OPTIONS}")
    image = asked.body["messages"][-1]["content"][0]["image_url"]
    assert (image["detail"], image["url"][:23]) == ("high", "data:image/jpeg;base64,")
    rest = {name: value for name, value in asked.body.items() if name != "messages"}
    assert rest == {"model": "served", "max_completion_tokens": 16384, "n": 2}
    assert asked.headers["Authorization"] == "Bearer sk-model"
    assert [turn["role"] for turn in server.asked[-1].body["messages"]] == ["system", "user"]


def test_further_arguments_reach_the_request(small: Path) -> None:
    kwargs = '{"temperature": 0.5, "extra_body": {"mine": 1}}'
    with Server(lambda asked: "B") as server:
        done = insight(
            small, server, "--chat_completion_kwargs", kwargs, "--image_url_extra_settings", "{}",
            "--img_max_pixels", 0, "--separate_trial_requests", "--num_trials", 2, "--client_timeout", 30,
        )  # fmt: skip
        assert done.code == 0, done.err
    assert len(server.asked) == 8
    asked = server.asked[0].body
    assert (asked["temperature"], asked["mine"]) == (0.5, 1)
    assert not {"n", "max_completion_tokens"} & set(asked)
    assert set(asked["messages"][0]["content"][0]["image_url"]) == {"url"}


def test_no_key_is_written(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        insight(small, server, "--chat_completion_kwargs", '{"extra_body": {"api_key": "sk-third"}}')
    folder = small / "outputs" / "eval" / "m" / "small"
    arguments = json.loads((folder / "args.json").read_text(encoding="utf-8"))
    assert (arguments["api_key"], arguments["judge_api_key"]) == ("[secret]", "[secret]")
    assert (arguments["eval_name"], arguments["num_trials"], arguments["max_answer_length"]) == (
        "m/small",
        1,
        1000,
    )
    for path in folder.rglob("*"):
        assert not path.is_file() or b"sk-" not in path.read_bytes(), path


@pytest.mark.slow
def test_a_second_start_asks_nothing_and_more_trials_only_the_missing(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        assert insight(small, server).code == 0
        assert len(server.asked) == 4
        again = insight(small, server)
        assert (again.code, len(server.asked)) == (0, 4)
        assert "100.0±0.0 @1" in again.out
        more = insight(small, server, "--num_trials", 3)
    assert "100.0±0.0 @3" in more.out
    assert [asked.body["n"] for asked in server.asked[4:]] == [2] * 4
    folder = small / "outputs" / "eval" / "m" / "small"
    assert sorted(path.parent.name for path in folder.glob("*/done")) == ["trial_0", "trial_1", "trial_2"]


def test_what_failed_is_asked_again_and_counts_as_wrong_until_then(small: Path) -> None:
    down: list[bool] = [True]

    def answer(asked: Asked) -> Answer | str:
        is_out = down and "Question 3" in asked.text
        return Answer(status=400, body=b'{"error": "no"}') if is_out else "B"

    with Server(answer) as server:
        first = insight(small, server)
        assert first.code == 1
        assert "75.0±0.0 @1" in first.out
        assert "success rate 75.0±0.0 is below 100" in first.err
        assert "completion" not in first.err
        down.clear()
        n_asked = len(server.asked)
        second = insight(small, server)
    assert second.code == 0
    assert len(server.asked) == n_asked + 1
    assert "100.0±0.0 @1" in second.out


def test_an_answer_is_cropped_for_the_judge(small: Path) -> None:
    long = "x" * 50 + " it is B"

    def answer(asked: Asked) -> str:
        return "B" if asked.body["model"] == "judge" else long

    def shown(server: Server) -> list[str]:
        return [asked.text for asked in server.asked if asked.body["model"] == "judge"]

    with Server(answer) as server:
        assert insight(small, server, "--max_answer_length", 10).code == 0
        assert all(f"[cropped] ... {long[-10:]}" in text for text in shown(server))
        n_asked = len(server.asked)
        wider = insight(small, server)  # the replies are there; the judge is shown more of them
    assert wider.code == 0
    assert {asked.body["model"] for asked in server.asked[n_asked:]} == {"judge"}
    assert all(long in text for text in shown(server)[4:])


def test_without_a_judge_our_rules_decide_and_it_says_so(small: Path) -> None:
    with Server(lambda asked: "The answer is (B).") as server:
        done = insight(small, server, "--judge_model", "none")
    assert done.code == 0
    assert "100.0±0.0 @1" in done.out
    assert "no judge" in done.err
    assert len(server.asked) == 4


@pytest.mark.parametrize("how", ["key", "address", "environment"])
def test_the_default_judge_is_the_authors(small: Path, how: str) -> None:
    with Server(lambda asked: "It is B" if asked.body["model"] == "served" else "B") as server:
        said = {
            "key": ["--judge_api_key", "sk-2"],
            "address": ["--judge_api_base_url", server.base_url],
            "environment": [],
        }[how]
        changes = {"OPENAI_API_KEY": "sk-3"} if how == "environment" else {}
        if how != "address":
            changes["OPENAI_BASE_URL"] = server.base_url
        done = eyechart(
            "insight", "--eval_name", "x", "--ann_file", "ann.jsonl", "--img_dir", ".", "--model", "served",
            "--api_base_url", server.base_url, "-q", *said, cwd=small, **changes,
        )  # fmt: skip
    assert done.code == 0, done.err
    assert {asked.body["model"] for asked in server.asked} == {"served", "gpt-5-nano"}


def test_without_any_way_to_a_judge_one_message_says_what_to_do(small: Path) -> None:
    done = eyechart(
        "insight", "--eval_name", "x", "--ann_file", "ann.jsonl", "--img_dir", ".", "--model", "m",
        "--api_base_url", "http://127.0.0.1:9/v1", cwd=small,
    )  # fmt: skip
    assert done.code == 2
    assert "no judge" in done.err
    assert all(flag in done.err for flag in ("--judge_api_key", "--judge_api_base_url", "--judge_model none"))
    assert not (small / "outputs").exists()
    named = eyechart(
        "insight", "--eval_name", "x", "--ann_file", "ann.jsonl", "--img_dir", ".", "--model", "m",
        "--api_base_url", "http://127.0.0.1:9/v1", "--judge_model", "gpt-5-nano", cwd=small,
    )  # fmt: skip
    assert named.code == 2
    assert "--judge_api_base_url" in named.err
    assert "--judge-" not in named.err


def test_json_holds_their_figures_and_ours(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        done = insight(small, server, "--json", "--num_trials", 2)
    found = done.json
    assert found["accuracy"] == "100.0±0.0 @2"
    assert found["summary_metrics"]["overall_accuracy"] == {"mean": 1.0, "std": 0.0}
    assert (found["score"], found["n"], found["warnings"]) == (1.0, 4, [])
    assert Path(small, found["eval_dir"], "summary_metrics.json").is_file()


def test_another_model_under_the_same_name_is_refused(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        insight(small, server)
        other = insight(small, server, "--model", "other")
        assert other.code == 2
        assert "model was 'served', is 'other'" in other.err
        assert "eval_name" in other.err
        (small / "outputs" / "eval" / "m" / "small" / "args.json").write_text("[", encoding="utf-8")
        assert insight(small, server, "--model", "other").code == 2
        assert len(server.asked) == 4


@pytest.mark.parametrize("status", [404, 400])
def test_an_evaluation_that_never_got_an_answer_makes_way(small: Path, status: int) -> None:
    with Server(lambda asked: "B" if asked.body["model"] == "served" else Answer(status=status)) as server:
        assert insight(small, server, "--model", "srved").code in (1, 2)
        done = insight(small, server)
    assert done.code == 0
    assert "100.0±0.0 @1" in done.out
    assert len(list((small / "outputs" / "eval" / "m" / "small" / "run").iterdir())) == 1


def test_trials_that_the_authors_program_made_are_never_written_over(small: Path) -> None:
    folder = small / "outputs" / "eval" / "theirs"
    for trial in range(2):
        of_trial = folder / f"trial_{trial}"
        of_trial.mkdir(parents=True)
        shutil.copy(E2E / f"expected_eval_metrics_trial_{trial}.json", of_trial / "eval_metrics.json")
        (of_trial / "done").touch()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with Server(lambda asked: "B") as server:
        whole = insight(small, server, "--num_trials", 2, name="theirs")
        assert whole.code == 0
        assert re.search(r"theirs +\d+\.\d±\d+\.\d @2", whole.out)
        assert "another program" in whole.err
        part = insight(small, server, "--num_trials", 3, name="theirs")
        assert part.code == 2
        assert "2 of 3" in part.err
        assert "--num_trials 2 shows the finished ones" in part.err
        (folder / "trial_0" / "eval_metrics.json").write_text("{}", encoding="utf-8")
        assert insight(small, server, "--num_trials", 2, name="theirs").code == 2
        assert not server.asked
    (folder / "trial_0" / "eval_metrics.json").write_bytes(before[folder / "trial_0" / "eval_metrics.json"])
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def write_their_trial(folder: Path, **arguments: object) -> None:
    """A folder as the authors' program leaves it: every argument in args.json, keys included."""
    (folder / "trial_0").mkdir(parents=True)
    shutil.copy(E2E / "expected_eval_metrics_trial_0.json", folder / "trial_0" / "eval_metrics.json")
    (folder / "trial_0" / "done").touch()
    theirs = {
        "ann_file": "ann.jsonl", "img_dir": ".", "model": "served", "img_max_pixels": 12250000,
        "sys_prompt": "model_default", "chat_completion_kwargs": {"max_completion_tokens": 16384},
        "image_url_extra_settings": {"detail": "high"}, "api_key": "sk-theirs",
    }  # fmt: skip
    (folder / "args.json").write_text(json.dumps({**theirs, **arguments}), encoding="utf-8")


def test_figures_of_the_authors_program_are_shown_only_for_the_same_questions(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        write_their_trial(small / "outputs" / "eval" / "same", api_base_url=server.base_url + "/")
        write_their_trial(
            small / "outputs" / "eval" / "other", api_base_url=server.base_url, img_max_pixels=1638400
        )
        assert insight(small, server, name="same").code == 0
        other = insight(small, server, name="other")
    assert other.code == 2
    assert "img_max_pixels was 1638400, is 12250000" in other.err
    assert "sk-theirs" not in other.err
    assert not server.asked


def test_a_folder_in_which_the_authors_program_was_interrupted_is_used(small: Path) -> None:
    folder = small / "outputs" / "eval" / "m" / "small"
    write_their_trial(folder, model="another")
    shutil.rmtree(folder / "trial_0")
    (folder / "trial_0").mkdir()  # nothing of a trial is kept before its end
    with Server(lambda asked: "B") as server:
        assert insight(small, server).code == 0
    assert (folder / "trial_0" / "done").exists()


# -- Verdicts of odd replies, and golds that the official loader reads as numbers


def raw_choice(role: str | None, finish_reason: str | None, content: str | None = "B") -> Answer:
    message = {"content": content, **({"role": role} if role else {})}
    return Answer(
        body=json.dumps({"choices": [{"message": message, "finish_reason": finish_reason}]}).encode()
    )


@pytest.mark.parametrize(
    ("said", "reason", "inner", "finish_reason", "end"),
    [
        (raw_choice("assistant", None), "finish_reason:None", "", None, "incomplete"),
        (raw_choice("tool", "stop"), "inference_failed", "failed_to_parse_response", "", "invalid"),
        (raw_choice(None, "stop"), "inference_failed", "failed_to_parse_response", "", "invalid"),
        (raw_choice("tool", None), "inference_failed", "failed_to_parse_response", "", "invalid"),
        (raw_choice("assistant", "stop"), None, "", "stop", "correct"),
    ],
)
def test_a_reply_without_a_finish_reason_or_of_another_role_is_a_failure(
    small: Path, said: Answer, reason: str | None, inner: str, finish_reason: str | None, end: str
) -> None:
    with Server(lambda asked: said) as server:
        done = insight(small, server)
    assert done.code == 0, done.err
    folder = small / "outputs" / "eval" / "m" / "small" / "trial_0"
    metrics = json.loads((folder / "eval_metrics.json").read_text(encoding="utf-8"))
    assert metrics["overall_stats"][end] == metrics["overall_stats"]["total"] == 4
    for line in (folder / "eval_records.jsonl").read_text(encoding="utf-8").splitlines():
        found = json.loads(line)["eval_result"]
        inference = found["inference_result"]
        assert (found["fail_reason"], inference["fail_reason"]) == (reason, inner)
        assert inference["finish_reason"] == finish_reason
        assert bool(inference["conversations"]) == inference["success"] == (inner == "")
    [run] = (small / "outputs" / "eval" / "m" / "small" / "run").iterdir()
    shown = eyechart("show", run, "1", cwd=small)
    assert ("finish: stop" in shown.out) == ('"stop"' in (said.body or b"").decode())


@pytest.mark.parametrize(
    ("golds", "reply", "shown"),
    [
        (["5", "007"], "5", ["5", "7"]),
        ([5, 7], "5", ["5", "7"]),
        (["5", "2.50"], "5", ["5.0", "2.5"]),
        ([5, "seven"], "5", ["5", "seven"]),  # a number among texts stays one
    ],
)
def test_golds_that_the_official_loader_makes_numbers_equal_no_reply(
    tmp_path: Path, golds: list[object], reply: str, shown: list[str]
) -> None:
    rows = [{"image": "a.png", "question": f"How many {gold!r}?", "answer": gold} for gold in golds]
    jsonl(tmp_path / "ann.jsonl", rows)
    (tmp_path / "a.png").write_bytes(picture(size=(40, 30)))
    prompts = {"openqa": "extract {answer}", "judge": "gold={gold} answer={answer}"}
    (tmp_path / "judge.json").write_text(json.dumps(prompts), encoding="utf-8")

    def answer(asked: Asked) -> str:
        if asked.body["model"] != "judge":
            return reply
        return "<wrong>" if asked.text.startswith("gold=") else reply

    with Server(answer) as server:
        done = insight(tmp_path, server, "--judge_prompts", "judge.json")
    assert "0.0±0.0 @1" in done.out, done.err
    judged = [one.text for one in server.asked if one.text.startswith("gold=")]
    assert sorted(judged) == sorted(f"gold={gold} answer={reply}" for gold in shown)


def test_a_gold_among_texts_is_compared_as_text(tmp_path: Path) -> None:
    rows = [{"image": "a.png", "question": "How many?", "answer": gold} for gold in ("5", "five")]
    jsonl(tmp_path / "ann.jsonl", rows)
    (tmp_path / "a.png").write_bytes(picture(size=(40, 30)))
    with Server(lambda asked: "5" if asked.body["model"] != "judge" else "<wrong>") as server:
        assert "50.0±0.0 @1" in insight(tmp_path, server).out


# -- The conversations of a record


def list_pictures(record: dict[str, Any]) -> list[tuple[int, int]]:
    """Walk a record as the authors' notebook does; the sizes of its pictures."""
    found = []
    inference = record["eval_result"]["inference_result"]
    assert inference["success"]
    for conversation in inference["conversations"]:
        assert isinstance(conversation["agent"], str)
        for message in conversation["messages"]:
            assert message["role"] in ("system", "user", "assistant")
            if isinstance(message["content"], str):
                continue
            for part in message["content"]:
                if part["type"] == "text":
                    assert isinstance(part["text"], str)
                    continue
                assert part["type"] == "image_url"
                head, _, data = part["image_url"]["url"].partition(",")
                assert head == "data:image/jpeg;base64"
                found.append(Image.open(io.BytesIO(base64.b64decode(data))).size)
    return found


@pytest.mark.parametrize("prompt", ["model_default", "think"])
def test_records_can_be_walked_as_the_authors_notebook_does(small: Path, prompt: str) -> None:
    with Server(lambda asked: choices(*"BA"[: asked.body.get("n", 1)])) as server:
        done = insight(
            small, server, "--num_trials", 2, "--full_images", "--img_max_pixels", 300, "--sys_prompt", prompt
        )
        assert done.code == 0, done.err
        sent = next(one.body["messages"] for one in server.asked if one.body["model"] == "served")
    for trial, said in enumerate("BA"):
        path = small / "outputs" / "eval" / "m" / "small" / f"trial_{trial}" / "eval_records.jsonl"
        lines = path.read_text(encoding="ascii").splitlines()
        for line in lines:
            assert list_pictures(json.loads(line)) == [(20, 15)]
        first = json.loads(lines[0])["eval_result"]["inference_result"]
        [conversation] = first["conversations"]
        assert conversation["agent"] == "served"
        # All that was sent, byte for byte, then the reply.
        assert conversation["messages"] == [*sent, {"role": "assistant", "content": said}]
        assert first["last_message_content"] == said


def test_without_full_images_records_name_them_in_the_same_structure(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        assert insight(small, server).code == 0
    folder = small / "outputs" / "eval" / "m" / "small"
    line = (folder / "trial_0" / "eval_records.jsonl").read_text(encoding="ascii").splitlines()[0]
    [conversation] = json.loads(line)["eval_result"]["inference_result"]["conversations"]
    [image, text] = conversation["messages"][0]["content"]
    assert text == {"type": "text", "text": "Question 0?\nA. red\nB. blue"}
    assert image["type"] == "image_url"
    named = image["image_url"]
    assert named["url"].endswith("a.png")
    assert (named["detail"], named["width"], named["height"], len(named["sha256"])) == ("high", 40, 30, 64)
    # An image that has changed since is named, and a remark says why it is not included.
    (small / "a.png").write_bytes(picture((1, 2, 3), (40, 30)))
    [run] = (folder / "run").iterdir()
    done = eyechart("report", run, "--files", "insight-o3", "--official", "again", "--full-images", cwd=small)
    assert done.code == 0, done.err
    line = (small / "again" / "trial_0" / "eval_records.jsonl").read_text(encoding="ascii").splitlines()[0]
    [conversation] = json.loads(line)["eval_result"]["inference_result"]["conversations"]
    again = conversation["messages"][0]["content"][0]["image_url"]
    assert again.pop("remark").startswith("the image has changed")
    assert again == named


def test_group_names_are_written_as_they_are(tmp_path: Path) -> None:
    row = {"image": "a.png", "question": "Q?", "options": OPTIONS, "answer": "B", "category": "地图 é"}
    jsonl(tmp_path / "ann.jsonl", [row])
    (tmp_path / "a.png").write_bytes(picture(size=(40, 30)))
    with Server(lambda asked: "B") as server:
        assert insight(tmp_path, server).code == 0
    folder = tmp_path / "outputs" / "eval" / "m" / "small"
    rates = ("success_rate", "completion_rate", "accuracy")
    ends = {"correct": 1, "wrong": 0, "incomplete": 0, "invalid": 0, "total": 1}
    metrics = {
        **{f"overall_{rate}": 1.0 for rate in rates},
        "overall_stats": ends,
        **{f"category_{rate}": {"地图 é": 1.0} for rate in rates},
        "category_stats": {"地图 é": ends},
    }
    spread = {"mean": 1.0, "std": 0.0}
    summary = {
        "num_trials": 1,
        **{f"overall_{rate}": spread for rate in rates},
        **{f"category_{rate}": {"地图 é": spread} for rate in rates},
    }
    for name, content in (("trial_0/eval_metrics.json", metrics), ("summary_metrics.json", summary)):
        assert (folder / name).read_text(encoding="utf-8") == json.dumps(
            content, ensure_ascii=False, indent=4
        )


WRONG = [
    (["--num_trials", "0"], "num_trials is 0"),
    (["--max_answer_length", "0"], "max_answer_length is 0"),
    (["--img_max_pixels", "-1"], "img_max_pixels is -1"),
    (["--chat_completion_kwargs", '{"n": 3}'], "must not hold 'n'"),
    (["--chat_completion_kwargs", "{"], "not a JSON object: Input data was truncated"),
    (["--chat_completion_kwargs", "[1]"], "not a JSON object"),
    (["--chat_completion_kwargs", '{"tempratur": 1}'], "did you mean temperature"),
    (["--chat_completion_kwargs", '{"zzz": 1}'], "extra_body"),
    (["--image_url_extra_settings", '{"size": 3}'], "size cannot be sent"),
    (["--sys_prompt", "other"], "invalid choice"),
    (["--ann_file", "nowhere.jsonl"], "nowhere.jsonl"),
    (["--img_dir", "nowhere"], "nowhere"),
    (["--eval_name", "../x"], "not a folder name"),
    (["--eval_name", ""], "not a folder name"),
    (["--api_base_url", "http://user:pw@host/v1"], "password"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=lambda value: str(value)[:40])
def test_mistakes_are_named_before_anything_is_asked(small: Path, arguments: list[str], words: str) -> None:
    with Server() as server:
        done = insight(small, server, *arguments)
        assert done.code == 2
        assert words in done.err
        assert not server.asked
    assert not (small / "outputs").exists()


def test_bad_rows_are_named_and_leave_no_files(small: Path) -> None:
    jsonl(small / "ann.jsonl", [{"image": 5, "question": "Which?", "answer": "A"}])
    (small / "other.bin").write_bytes(picture())
    with Server() as server:
        done = insight(small, server)
        assert done.code == 2
        assert "row 1" in done.err
        other = insight(small, server, "--ann_file", "other.bin")
        assert other.code == 2
        assert "other.bin" in other.err
        assert "--format" not in other.err
        assert not server.asked
    assert not [path for path in (small / "outputs").rglob("*") if path.is_file()]


@pytest.mark.slow
@given(st.dictionaries(st.text(), st.none() | st.booleans() | st.integers() | st.text()))
def test_an_object_in_an_argument_is_read_as_it_is_written(value: dict[str, Any]) -> None:
    assert read_object(json.dumps(value)) == value


@given(st.text() | st.lists(st.integers()).map(json.dumps) | st.integers().map(str))
def test_anything_else_is_refused(text: str) -> None:
    assume(not text.strip().startswith("{"))
    with pytest.raises(argparse.ArgumentTypeError, match=r"not .*JSON"):
        read_object(text)


@pytest.mark.parametrize("text", ['{"api_key": "sk-1"', '["sk-1"]', "[" * 100_000 + "sk-1"])
def test_an_argument_that_is_no_object_is_not_shown(small: Path, text: str) -> None:
    with Server() as server:
        done = insight(small, server, "--chat_completion_kwargs", text)
    assert done.code == 2
    assert "argument --chat_completion_kwargs: not" in done.err
    assert "sk-1" not in done.err + done.out


def test_judge_prompts_that_are_not_there(small: Path) -> None:
    with Server() as server:
        done = insight(small, server, "--judge_prompts", "nowhere.yaml")
        assert not server.asked
    assert done.code == 2
    assert "nowhere.yaml cannot be read: No such file or directory\n  hint: --judge_prompts takes" in done.err


def test_a_picture_that_is_not_there_is_invalid_and_the_rest_goes_on(small: Path) -> None:
    rows = [json.loads(line) for line in (small / "ann.jsonl").read_text(encoding="utf-8").splitlines()]
    jsonl(small / "ann.jsonl", [{**rows[0], "image": "gone.png"}, *rows[1:]])
    with Server(lambda asked: "B") as server:
        done = insight(small, server)
    assert done.code == 1
    assert "75.0±0.0 @1" in done.out
    assert "gone.png" in done.err


def test_a_model_that_runs_here(small: Path) -> None:
    write_model(small, "B")
    done = eyechart(
        "insight", "--eval_name", "x", "--ann_file", "ann.jsonl", "--img_dir", ".", "--model",
        "python:mine.py:Mine", "--judge_model", "none", "-q", cwd=small,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "100.0±0.0 @1" in done.out


@pytest.mark.slow
def test_one_that_was_killed_is_known_by_its_arguments(small: Path) -> None:
    """Killed, it never came to its end; here the same is done by taking its end away."""
    seen: list[Any] = []

    def answer(asked: Asked) -> str:
        seen.append(args_json(small))
        return "B"

    with Server(answer) as server:
        insight(small, server)
        assert seen[0]["model"] == "served"  # on disk when the first question arrives
        folder = small / "outputs" / "eval" / "m" / "small"
        for path in [*folder.glob("trial_*"), folder / "summary_metrics.json"]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        other = insight(small, server, "--model", "another", "--img_max_pixels", 5)
        assert other.code == 2
        assert "model was 'served', is 'another'; img_max_pixels was 12250000, is 5" in other.err


def args_json(cwd: Path) -> Any:
    return json.loads((cwd / "outputs" / "eval" / "m" / "small" / "args.json").read_bytes())


def test_advice_names_the_flags_of_this_command(small: Path) -> None:
    rows = [{"image": "gone.png", "question": "Which?", "answer": "A"}]
    jsonl(small / "ann.jsonl", rows)
    with Server() as server:
        missing = insight(small, server)
        refusing = insight(small, server, "--model", "python:mine.py:Mine")
        (small / "mine.py").write_text("class Mine:\n    def __init__(self, size): ...\n", encoding="utf-8")
        unmade = insight(small, server, "--model", "python:mine.py:Mine")
    assert "gone.png: no such file\n  hint: paths start from --img_dir" in missing.err
    assert "no such file: mine.py" in refusing.err
    assert "--chat_completion_kwargs '{\"NAME\": VALUE}'" in unmade.err
    assert "--api_key has no effect: python:mine.py:Mine runs locally" in unmade.err


def test_advice_about_flags_of_other_commands_is_left_out(small: Path) -> None:
    with Server(lambda asked: Answer(status=400, body=b"{}")) as server:
        jsonl(small / "ann.jsonl", [{"image": "a.png", "question": f"{n}?", "answer": "A"} for n in range(9)])
        done = insight(small, server)
    assert "requests were all refused" in done.err
    assert "--give-up-after" not in done.err


def test_rows_without_an_answer_are_told(small: Path) -> None:
    jsonl(
        small / "ann.jsonl", [{"image": "a.png", "question": f"{n}?", "answer": "AB"[n:]} for n in range(3)]
    )
    with Server(lambda asked: "B") as server:
        done = insight(small, server)
    assert "1 row of ann.jsonl without an answer: counted as wrong" in done.err


def test_replies_that_were_not_asked_for_are_told(small: Path) -> None:
    shared = {"EYECHART_CACHE": str(small / "cache")}
    with Server(lambda asked: "B") as server:
        first = insight(small, server, **shared)
        again = insight(small, server, name="m/again", **shared)
        assert len(server.asked) == 4
        anew = insight(small, server, name="m/anew", EYECHART_CACHE_SIZE="0", **shared)
        assert len(server.asked) == 8
    assert "4 replies were found in the cache of earlier runs" in again.err
    assert "found in the cache" not in first.err + anew.err


def test_only_what_differs_is_named(small: Path) -> None:
    with Server(lambda asked: "B") as server:
        insight(small, server)
        same = insight(small, server, "--img_dir", f"{small}/", "--api_base_url", f"{server.base_url}/")
        assert same.code == 0
        other = insight(small, server, "--ann_file", small / "ann.jsonl", "--sys_prompt", "think")
        assert len(server.asked) == 4
    assert "(sys_prompt was 'model_default', is 'think')" in other.err
