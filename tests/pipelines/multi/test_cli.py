"""``eyechart multi``: the folder people know, resumed after a kill, and scored alike by every way."""

import json
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from eyechart.runs.results import Run
from support.command import Outcome, eyechart, start
from support.multi import MultiData, make_multi, write_json
from support.server import Answer, Asked, Server

EVALUATOR = """
from pathlib import Path

class XEvaluator:
    def __init__(self, model_dir=None, device_map="cpu"):
        self.said = f"{model_dir} {device_map}"

    def generate_answer(self, question):
        for path in question.get("image_list", []):
            assert path == "" or Path(path).is_file(), path
        with open("asked.txt", "a", encoding="utf-8") as log:
            log.write(f"{question['question_id']} {self.said}\\n")
        if "prompted_content_list" in question:
            rounds = question.pop("prompted_content_list")
            question["input_message_list"] = rounds
            question["answer_history"] = ["seen"] * (len(rounds) - 1) + ["AB"]
            question["prediction"] = "AB"
        else:
            question["input_message"] = question.pop("prompted_content")
            question["prediction"] = "100\\n9" if "[MASK]个" not in question["input_message"] else "A"
        return question
"""

AT_ONCE = """
import threading

together = threading.Barrier(4, timeout=20)

class Remote:
    def __init__(self, api_url, api_key, model):
        self.question = None

    def generate_answer(self, question):
        assert self.question is None
        self.question = question
        together.wait()
        self.question = None
        question["prediction"] = "A"
        return question
"""


@pytest.fixture
def data(tmp_path: Path) -> MultiData:
    """The layout of the original: data beside eval."""
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "mine.py").write_text(EVALUATOR, encoding="utf-8")
    return make_multi(tmp_path / "data")


@pytest.fixture
def place(data: MultiData) -> Path:
    return data.folder.parent / "eval"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def multi(place: Path, *said: object, code: int = 0, **env: str) -> Outcome:
    done = eyechart("multi", *said, "-q", cwd=place, **env)
    assert done.code == code, done.err
    return done


def only_run(place: Path) -> Path:
    [folder] = (place.parent / "results").iterdir()
    return folder


def answer(asked: Asked) -> str:
    return "A" if asked.images else "100\n0"


# -- the folder ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_endpoint_is_asked_and_the_folder_is_the_known_one(place: Path) -> None:
    with Server(answer) as server:
        done = multi(
            place, "--problem_file", "../data/problem.json", "--input_type", 2, "-v", "my/model",
            "--api_url", f"{server.base_url}/chat/completions", "--api_key", "sk-secret-1", "-n", 2,
            "--exp_name", "first",
        )  # fmt: skip
    folder = only_run(place)
    assert folder.name.startswith("first_my-model_input_2_shot_0_2")
    names = {path.name for path in folder.iterdir()}
    assert names == {"args.json", "prediction.json", "checkpoints", "eyechart"}
    assert {asked.headers["Authorization"] for asked in server.asked} == {"Bearer sk-secret-1"}
    assert {asked.body["model"] for asked in server.asked} == {"my/model"}
    roles = {tuple(turn["role"] for turn in asked.body["messages"]) for asked in server.asked}
    assert roles == {("system", "user")}  # as the original's classes for endpoints
    assert {"temperature", "max_tokens"}.isdisjoint(server.asked[0].body)
    args = read(folder / "args.json")
    assert (args["model_version"], args["num_workers"], args["output_name"]) == ("my/model", 2, folder.name)
    entries = read(folder / "prediction.json")
    assert list(entries) == ["czsx_0_0", "czsx_0_1", "gzwl_1_0", "shjk_2_0"]
    entry = entries["czsx_0_1"]
    assert {"question_id", "question_image_number", "prediction", "input_message"} < set(entry)
    paths = ["../data/images/czsx/0_1.png", "../data/images/czsx/0_2.png"]  # as the problem file names them
    assert entry["image_list"] == paths
    sent = next(asked.body["messages"] for asked in server.asked if len(asked.images) == 2)
    system, user = entry["input_message"]  # all messages, as the authors' classes for endpoints write them
    assert system == sent[0]
    assert [part["type"] for part in user["content"]] == ["text", "image_url", "image_url"]
    assert user["content"][0] == sent[1]["content"][0]
    assert [part["image_url"]["url"] for part in user["content"][1:]] == paths
    assert entries["gzwl_1_0"]["input_message"][1]["content"].startswith("\n水的沸点")
    assert f"predictions: ../results/{folder.name}/prediction.json" in done.err
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"sk-secret-1" not in kept
    assert "sk-secret-1" not in done.out + done.err


@pytest.mark.slow
def test_a_class_is_asked_in_rounds_with_its_arguments(place: Path) -> None:
    done = multi(
        place, "--problem_file", "../data/problem.json", "--input_type", 2, "--in_turn", "--cot",
        "-d", "weights", "-c", "0,1", "-m", "python:mine.py:XEvaluator",
        "--knowledge_file", "../data/knowledge.json", "-n", 4, "--output_name", "mine",
    )  # fmt: skip
    entries = read(place.parent / "results" / "mine" / "prediction.json")
    two = entries["czsx_0_1"]
    assert len(two["input_message_list"]) == len(two["image_list"]) == 4  # two, one of the knowledge, the end
    assert (two["image_list"][-1], two["prediction"]) == ("", "AB")
    assert two["answer_history"] == ["seen", "seen", "seen", "AB"]
    asked = (place / "asked.txt").read_text(encoding="utf-8").splitlines()
    assert {line.split(" ", 1)[1] for line in asked} == {"weights 0,1"}
    assert "--num_workers 4: a local class answers one question at a time" in done.err


@pytest.mark.slow
def test_the_key_of_a_class_is_written_nowhere(place: Path) -> None:
    (place / "remote.py").write_text(
        EVALUATOR.replace("model_dir=None", "api_url, api_key, model").replace(
            "{model_dir}", "{model} {api_url}"
        ),
        encoding="utf-8",
    )
    done = multi(
        place, "--problem_file", "../data/problem.json", "-m", "python:remote.py:XEvaluator", "-v", "v1",
        "--api_url", "http://host/v1?api-version=2", "--api_key", "sk-secret-2", "-n", 3,
    )  # fmt: skip
    folder = only_run(place)
    assert folder.name.startswith("v1_input_0_shot_0_2")
    assert "v1 http://host/v1?api-version=2 cpu" in (place / "asked.txt").read_text(encoding="utf-8")
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"sk-secret-2" not in kept
    assert "sk-secret-2" not in done.out + done.err


LEAKY = """
class Raises:
    def __init__(self, api_url, api_key, model):
        self.key = api_key

    def generate_answer(self, question):
        raise RuntimeError(f"401: {self.key} is wrong")

class Says(Raises):
    def generate_answer(self, question):
        question["input_message"] = f"Bearer {self.key}"
        return question | {"prediction": "", "feedback": f"401: {self.key} is wrong"}

class Waits(Raises):
    async def generate_answer(self, question):
        raise OSError(5, self.key)

class Own(Exception):
    def __str__(self):
        return "wrong: " + self.key

class Names(Raises):
    def generate_answer(self, question):
        error = Own()
        error.key = self.key
        raise error

class Never:
    def __init__(self, api_url, api_key, model):
        raise ValueError(api_key)

    def generate_answer(self, question):
        return question
"""


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", ["Raises", "Says", "Waits", "Names", "Never"])
def test_a_key_that_a_class_complains_of_is_written_nowhere(place: Path, name: str, n: int) -> None:
    (place / "leaky.py").write_text(LEAKY, encoding="utf-8")
    done = multi(
        place, "--problem_file", "../data/problem.json", "-m", f"python:leaky.py:{name}", "-v", "m",
        "--api_key", "sk-0123456789", "-n", n, code=2 if name == "Never" else 1,
    )  # fmt: skip
    assert "[secret]" in done.err
    assert "sk-0123456789" not in done.err
    files = [path for path in place.parent.rglob("*") if path.is_file()]
    assert not [path for path in files if b"sk-0123456789" in path.read_bytes()]


@pytest.mark.slow
def test_copies_of_a_class_that_speaks_to_an_endpoint_are_asked_at_once(place: Path, data: MultiData) -> None:
    (place / "remote.py").write_text(AT_ONCE, encoding="utf-8")
    usual = ["--problem_file", many(data, 4), "-m", "python:remote.py:Remote", "-v", "v1"]
    done = multi(place, *usual, "-n", 4)  # each waits until all four are under way
    assert "--num_workers 4: that many copies of the class run at once" in done.err
    assert [entry["prediction"] for entry in read(only_run(place) / "prediction.json").values()] == ["A"] * 4


@pytest.mark.slow
@pytest.mark.parametrize("is_absolute", [False, True])
@pytest.mark.parametrize("where", ["eval", "data", "elsewhere"])
def test_images_are_found_in_every_layout(
    place: Path, data: MultiData, where: str, is_absolute: bool
) -> None:
    """From the folder eval, from the data's own, and from anywhere by absolute paths."""
    cwd = place.parent / where
    cwd.mkdir(exist_ok=True)
    file: Path | str = data.problem_file
    if is_absolute:
        problems = read(data.problem_file)
        for problem in problems.values():
            problem["img_paths"] = [str(place / path) for path in problem["img_paths"]]
        file = write_json(data.folder / "absolute.json", problems)
    elif where != "elsewhere":
        file = {"eval": "../data/problem.json", "data": "problem.json"}[where]
    multi(
        cwd, "--problem_file", file, "--input_type", 2, "-m", f"python:{place / 'mine.py'}:XEvaluator",
        "--output_dir", place.parent / "results",
    )  # fmt: skip
    entries = read(only_run(place) / "prediction.json")
    assert all("feedback" not in entry for entry in entries.values())
    assert len(entries["czsx_0_1"]["image_list"]) == 2


@pytest.mark.slow
def test_a_problem_file_away_from_its_images_is_asked_from_the_folder_eval(
    place: Path, data: MultiData
) -> None:
    (place / "own").mkdir()
    file = data.problem_file.rename(place / "own" / "problem.json")
    multi(place, "--problem_file", file, "--input_type", 2, "-m", "python:mine.py:XEvaluator")
    assert all("feedback" not in entry for entry in read(only_run(place) / "prediction.json").values())


# -- the same points by every way --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("drawn_charts")
@pytest.mark.parametrize("position", ["start", "end"])
def test_every_way_leads_to_the_same_points(place: Path, position: str) -> None:
    usual = ["--problem_file", "../data/problem.json", "--input_type", "2", "--questions_type", "0,1,2,3"]
    multi(place, *usual, "-m", "python:mine.py:XEvaluator", "--set", f"answer_position={position}")
    folder = only_run(place)
    done = eyechart(
        "multi-metrics", "--label_file", "../data/problem.json",
        "--prediction_file", folder / "prediction.json", "--detail", "--answer_position", position, "--json",
        cwd=place,
    )  # fmt: skip
    assert done.code == 0, done.err
    settings = ["--set", "problem_file=../data/problem.json", "--set", "input_type=2"]
    settings += ["--set", "questions_type=0,1,2,3", "--set", f"answer_position={position}"]
    run = eyechart("run", "multi", *settings, "-m", "python:mine.py:XEvaluator", "-q", "--json", cwd=place)
    assert run.code == 0, run.err
    reported = eyechart("report", folder, "--json", cwd=place)
    assert 0 < done.json["score"] < 1
    assert done.json["score"] == pytest.approx(run.json["score"]) == pytest.approx(reported.json["score"])
    official = Path(place / run.json["run"]) / "official"
    for name in ("score.json", "statistics.csv", "heatmap.png"):
        assert (folder / name).read_bytes() == (official / name).read_bytes()


# -- going on --------------------------------------------------------------------------------------


def many(data: MultiData, n: int) -> Path:
    """A problem file of n questions in words."""
    problem = {
        "problem_content": "", "problem_type_list": ["单选"], "problem_answer_list": ["A"],
        "problem_analysis_list": [""], "img_paths": [], "knowledge": ["数"], "education": "初中",
        "subject": ["数学"],
    }  # fmt: skip
    problems = {
        f"czsx_{k}": {**problem, "problem_content_list": [f"number {k}:\nA. 1\nB. 2"]} for k in range(n)
    }
    return write_json(data.folder / "many.json", problems)


def number_in(asked: Asked) -> int:
    return int(asked.text.partition("number ")[2].partition(":")[0])


@pytest.mark.slow
def test_after_a_kill_only_what_is_missing_is_asked(place: Path, data: MultiData) -> None:
    file = many(data, 12)
    ours = place.parent / "results" / "killed" / "eyechart"
    with Server(lambda asked: Answer("A", delay_s=60 if number_in(asked) >= 7 else 0)) as server:
        process = start(
            "multi", "--problem_file", file, "-v", "m", "--api_url", server.base_url,
            "--output_name", "killed", "--save_every", 2, "-q", cwd=place,
        )  # fmt: skip
        until = time.monotonic() + 30
        checkpoints = ours.parent / "checkpoints"
        while time.monotonic() < until and not list(checkpoints.glob("prediction_*.json")):
            time.sleep(0.05)
        while time.monotonic() < until and len(dict(Run(ours).verdicts())) < 7:
            time.sleep(0.05)
        process.kill()
        process.communicate()
        assert len(dict(Run(ours).verdicts())) == 7
        assert not (ours.parent / "prediction.json").exists()
        [first, *_] = sorted(checkpoints.iterdir())
        n_answered = int(first.stem.rpartition("_")[2])
        entries = read(first)
        assert len(entries) == 12
        assert sum("prediction" in entry for entry in entries.values()) >= n_answered >= 2
        server.answer = lambda asked: "A"
        server.asked.clear()
        done = multi(place, "--checkpoint_dir", "../results/killed", "--api_key", "sk-2", "--input_type", 2)
        assert sorted(map(number_in, server.asked)) == [7, 8, 9, 10, 11]
        assert server.asked[0].headers["Authorization"] == "Bearer sk-2"
        assert "--input_type 2: ignored, because args.json of the run has 0" in done.err
        assert len(read(ours.parent / "prediction.json")) == 12
        server.asked.clear()
        multi(place, "--checkpoint_dir", "../results/killed")
        assert server.asked == []


@pytest.mark.slow
def test_ctrl_c_leaves_the_last_checkpoint(place: Path, data: MultiData) -> None:
    folder = place.parent / "results" / "stopped"
    with Server(lambda asked: Answer("A", delay_s=1 if number_in(asked) >= 3 else 0)) as server:
        process = start(
            "multi", "--problem_file", many(data, 40), "-v", "m", "--api_url", server.base_url,
            "--output_name", "stopped", "-q", cwd=place,
        )  # fmt: skip
        until = time.monotonic() + 30
        while time.monotonic() < until and not any(number_in(asked) >= 3 for asked in server.asked):
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert "to resume: eyechart multi --checkpoint_dir ../results/stopped" in err
    last = read(folder / "checkpoints" / "prediction_last.json")
    assert 3 <= sum("prediction" in entry for entry in last.values()) < 40 == len(last)
    assert not (folder / "prediction.json").exists()


@pytest.mark.slow
def test_what_failed_is_asked_again(place: Path, data: MultiData) -> None:
    file = many(data, 4)
    with Server(lambda asked: Answer(status=400) if number_in(asked) == 2 else Answer("A")) as server:
        done = multi(place, "--problem_file", file, "-v", "m", "--api_url", server.base_url, code=1)
        folder = only_run(place)
        assert f"to resume: eyechart multi --checkpoint_dir ../results/{folder.name}" in done.err
        assert "1 sample failed\n  e.g. czsx_2_0: HTTP 400" in done.err
        entry = read(folder / "prediction.json")["czsx_2_0"]
        assert entry["prediction"] == ""
        assert "HTTP 400" in entry["feedback"]
        server.answer = lambda asked: "A"
        server.asked.clear()
        multi(place, "--checkpoint_dir", folder)
        assert [number_in(asked) for asked in server.asked] == [2]
    assert read(folder / "prediction.json")["czsx_2_0"]["prediction"] == "A"


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_a_class_that_was_mended_is_asked_what_failed_alone(place: Path, data: MultiData, n: int) -> None:
    mended = """
class Mine:
    def __init__(self, api_url, api_key, model):
        pass

    def generate_answer(self, question):
        with open("asked.txt", "a", encoding="utf-8") as log:
            log.write(question["question_id"] + "\\n")
        return question | {"prediction": "A"}
"""
    broken = mended.replace(
        "return", "assert not question['question_id'].startswith('czsx_1')\n        return"
    )
    usual = ["--problem_file", many(data, 4), "-m", "python:own.py:Mine", "-v", "m", "-n", n]
    (place / "own.py").write_text(broken, encoding="utf-8")
    assert "edited" not in multi(place, *usual, code=1).err
    (place / "own.py").write_text(mended, encoding="utf-8")
    done = multi(place, "--checkpoint_dir", only_run(place))
    assert "the class was edited since" in done.err
    asked = (place / "asked.txt").read_text(encoding="utf-8").split()
    assert sorted(asked) == ["czsx_0_0", "czsx_1_0", "czsx_1_0", "czsx_2_0", "czsx_3_0"]
    assert {entry["prediction"] for entry in read(only_run(place) / "prediction.json").values()} == {"A"}


@pytest.mark.slow
def test_a_server_that_moved_is_asked_what_failed_alone(place: Path, data: MultiData) -> None:
    with Server(lambda asked: Answer(status=400) if number_in(asked) == 2 else Answer("A")) as server:
        multi(place, "--problem_file", many(data, 4), "-v", "m", "--api_url", server.base_url, code=1)
    folder = only_run(place)
    with Server() as moved:
        kept = read(folder / "args.json")
        write_json(folder / "args.json", {**kept, "api_url": moved.base_url})
        done = multi(place, "--checkpoint_dir", folder)
        assert "the endpoint has changed: earlier answers are kept" in done.err
        assert [number_in(asked) for asked in moved.asked] == [2]
        write_json(folder / "args.json", {**kept, "api_url": moved.base_url, "cot": True})
        multi(place, "--checkpoint_dir", folder)
        assert len(moved.asked) == 5  # other prompts are other questions


@pytest.mark.slow
def test_a_run_that_cannot_go_on_leaves_what_it_has(place: Path, data: MultiData) -> None:
    def dies(asked: Asked) -> Answer:
        return Answer("A") if number_in(asked) < 3 else Answer(status=401)

    with Server(dies) as server:
        done = multi(
            place, "--problem_file", many(data, 6), "-v", "m", "--api_url", server.base_url,
            "--save_every", -1, code=1,
        )  # fmt: skip
        folder = only_run(place)
        assert "the run was stopped: HTTP 401" in done.err
        assert not (folder / "prediction.json").exists()
        last = read(folder / "checkpoints" / "prediction_last.json")
        assert [name for name, entry in last.items() if "prediction" in entry] == [
            "czsx_0_0",
            "czsx_1_0",
            "czsx_2_0",
        ]
        assert len(last) == 6
        server.answer = lambda asked: Answer("A")
        multi(place, "--checkpoint_dir", folder)
    assert len(read(folder / "prediction.json")) == 6
    assert not (folder / "checkpoints" / "prediction_last.json").exists(), "the run is over"


@pytest.mark.slow
def test_a_wrong_key_says_how_to_go_on(place: Path, data: MultiData) -> None:
    with Server(lambda asked: Answer(status=401)) as server:
        done = multi(place, "--problem_file", many(data, 2), "-v", "m", "--api_url", server.base_url, code=2)
        assert f"--checkpoint_dir ../results/{only_run(place).name}" in done.err
        server.answer = lambda asked: "A"
        multi(place, "--checkpoint_dir", only_run(place), "--api_key", "sk-right")


@pytest.mark.slow
def test_a_named_folder_is_gone_on_with_by_the_same_command_alone(place: Path) -> None:
    usual = [
        "--problem_file",
        "../data/problem.json",
        "-m",
        "python:mine.py:XEvaluator",
        "--output_name",
        "mine",
    ]
    multi(place, *usual)
    n_asked = len((place / "asked.txt").read_text(encoding="utf-8").splitlines())
    multi(place, *usual)
    assert len((place / "asked.txt").read_text(encoding="utf-8").splitlines()) == n_asked
    multi(place, *usual, "--save_every", 7)  # which changes nothing that is asked
    assert read(only_run(place) / "args.json")["save_every"] == 7
    assert len((place / "asked.txt").read_text(encoding="utf-8").splitlines()) == n_asked
    done = multi(place, *usual, "--cot", code=2)
    assert "holds another run: cot is False there, not True" in done.err
    assert "--checkpoint_dir ../results/mine" in done.err


@pytest.mark.slow
def test_a_folder_where_nobody_answered_may_be_begun_again(place: Path, data: MultiData) -> None:
    usual = ["--problem_file", many(data, 3), "-v", "m", "--output_name", "mine"]
    done = multi(place, *usual, "--api_url", "http://127.0.0.1:9/v1", code=2)
    assert "--api_url names another one" in done.err
    assert "to go on" not in done.err
    done = multi(place, "--checkpoint_dir", "../results/mine", code=2)
    assert "api_url in args.json names another one" in done.err
    with Server() as server:
        done = multi(place, *usual, "--api_url", server.base_url, "--cot")
        assert "another one now" not in done.err  # there is nothing to keep
        assert len(server.asked) == 3
        assert read(only_run(place) / "args.json")["api_url"] == server.base_url
        multi(place, "--checkpoint_dir", "../results/mine")
        assert len(server.asked) == 3


def test_a_run_under_way_keeps_its_arguments(place: Path, data: MultiData) -> None:
    from eyechart.store.folder import lock_folder

    ours = place.parent / "results" / "mine" / "eyechart"
    ours.mkdir(parents=True)
    usual = ["--problem_file", many(data, 2), "-v", "m", "--output_name", "mine"]
    with lock_folder(ours):
        done = multi(place, *usual, "--api_url", "http://127.0.0.1:9/v1", code=2)
    assert "in use by another run" in done.err
    assert "choose another folder with --output_name" in done.err
    assert "to go on" not in done.err
    assert not (ours.parent / "args.json").exists()


@pytest.mark.slow
def test_paths_of_a_run_count_from_where_it_was_begun(place: Path) -> None:
    usual = ["--problem_file", "../data/problem.json", "-m", "python:mine.py:XEvaluator"]
    multi(place, *usual, "--output_name", "mine")
    elsewhere = place.parent / "far" / "away"
    elsewhere.mkdir(parents=True)
    (elsewhere / "mine.py").write_text(EVALUATOR, encoding="utf-8")
    done = multi(elsewhere, "--checkpoint_dir", place.parent / "results" / "mine", code=2)
    assert "no such file" in done.err
    assert "are relative to the folder where the run began" in done.err


@pytest.mark.slow
def test_replies_are_shared_with_other_runs_unless_that_is_refused(place: Path, data: MultiData) -> None:
    with Server() as server:
        usual = ["--problem_file", many(data, 2), "-v", "m", "--api_url", server.base_url]
        multi(place, *usual, "--output_name", "one")
        multi(place, *usual, "--output_name", "two")
        assert len(server.asked) == 2
        multi(place, *usual, "--output_name", "three", "--no-cache")
        assert len(server.asked) == 4
        usual[1] = many(data, 3)
        multi(place, *usual, "--output_name", "four", EYECHART_CACHE_SIZE="0")
        assert len(server.asked) == 5, "the run folders beside it are enough to know what was asked"


@pytest.mark.slow
def test_what_fails_says_why_without_advice_for_other_verbs(place: Path, data: MultiData) -> None:
    problems = read(data.problem_file)
    problems["shjk_2"]["img_paths"] = ["../data/images/gone.png"]
    file = write_json(data.folder / "lacking.json", problems)
    done = multi(
        place, "--problem_file", file, "--input_type", 2, "--subject", "shjk",
        "-m", "python:mine.py:XEvaluator", code=1,
    )  # fmt: skip
    assert "--set image_root=DIR" in done.err
    feedback = read(only_run(place) / "prediction.json")["shjk_2_0"]["feedback"]
    assert feedback.endswith("gone.png: no such file")


@pytest.mark.slow
@pytest.mark.parametrize("n_answered", [0, 1], ids=["at once", "later"])
@pytest.mark.parametrize("status", [400, 401])
def test_advice_names_no_flag_that_this_verb_lacks(
    place: Path, data: MultiData, n_answered: int, status: int
) -> None:
    def refuses(asked: Asked) -> Answer:
        return Answer("A") if number_in(asked) < n_answered else Answer(status=status)

    own = eyechart("multi", "--help", cwd=place).out
    with Server(refuses) as server:
        told = multi(
            place, "--problem_file", many(data, 12), "-v", "m", "--api_url", server.base_url, "-q",
            code=1 if n_answered or status == 400 else 2,
        ).err  # fmt: skip
    assert f"HTTP {status}" in told
    assert set(re.findall(r"--[a-z][\w-]*", told)) <= set(re.findall(r"--[a-z][\w-]*", own))


@pytest.mark.slow
def test_answers_of_another_program_are_not_mixed_with_ours(place: Path) -> None:
    folder = place.parent / "results" / "theirs"
    folder.mkdir(parents=True)
    write_json(
        folder / "args.json", {"problem_file": "../data/problem.json", "model": "python:mine.py:XEvaluator"}
    )
    write_json(folder / "prediction.json", {})
    done = multi(place, "--checkpoint_dir", folder, code=2)
    assert "holds answers of another program, such as the authors' eval.py" in done.err
    assert "has prediction.json, but no eyechart/run.sqlite" in done.err
    (folder / "prediction.json").unlink()
    multi(place, "--checkpoint_dir", folder)  # nothing was answered there yet
    assert len(read(folder / "prediction.json")) == 4


def test_the_folder_of_the_authors_program_is_refused_for_what_it_is(place: Path) -> None:
    """Their args.json has lists where the command line has texts."""
    folder = place.parent / "results" / "theirs"
    said = {"problem_file": "../data/problem.json", "questions_type": [0], "image_type": [0, 1, 2]}
    (folder / "checkpoints").mkdir(parents=True)
    write_json(folder / "args.json", {**said, "model": "python:mine.py:XEvaluator"})
    write_json(folder / "checkpoints" / "prediction_last.json", {})
    for given in (
        ["--checkpoint_dir", folder],
        ["--output_name", "theirs", "--problem_file", "../data/problem.json", "-v", "m"],
    ):
        done = multi(place, *given, code=2)
        assert "holds answers of another program" in done.err
        assert "checkpoints/prediction_last.json" in done.err
        assert "--replies" in done.err
    (folder / "checkpoints" / "prediction_last.json").unlink()
    multi(place, "--checkpoint_dir", folder)
    assert list(read(folder / "prediction.json")) == ["czsx_0_0", "shjk_2_0"]


# -- choosing --------------------------------------------------------------------------------------


def asked_ids(place: Path, *said: object) -> list[str]:
    (place / "asked.txt").unlink(missing_ok=True)
    multi(place, "--problem_file", "../data/problem.json", "-m", "python:mine.py:XEvaluator", *said)
    return [line.split()[0] for line in (place / "asked.txt").read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_a_subset_combines_with_types_and_what_is_left_out_is_told(place: Path, data: MultiData) -> None:
    write_json(data.hard_list, ["shjk_2_0", "gzwl_1_1", "gone_1_0"])
    subset = ("--subset", "../data/hard_list.json")
    assert asked_ids(place, *subset) == ["gzwl_1_1", "shjk_2_0"]
    assert asked_ids(place, *subset, "--questions_type", 0) == ["shjk_2_0"]
    assert asked_ids(place, *subset, "--question_type", 3) == ["gzwl_1_1"]
    done = multi(
        place,
        "--problem_file",
        "../data/problem.json",
        "-v",
        "m",
        "--subset",
        "../data/hard_list.json",
        "--debug",
    )
    assert "2 of 6 questions selected; left out: 4 by subset\n" in done.err
    assert "hard_list.json: 1 unknown id, not in problem.json: gone_1_0; ignored, as published" in done.err


@pytest.mark.slow
def test_a_shuffle_is_seeded_and_says_so(place: Path) -> None:
    orders = [asked_ids(place, "--random", "--eval_num", 3) for _ in range(2)]
    assert orders[0] == orders[1]
    others = {tuple(asked_ids(place, "--random", "--set", f"seed={seed}")) for seed in range(3)}
    assert len(others) > 1
    usual = ["--problem_file", "../data/problem.json", "-v", "m", "--debug"]
    assert "shuffled with seed 0" in multi(place, *usual, "--random").err


def test_captions_without_a_line_are_empty_and_told(place: Path, data: MultiData) -> None:
    data.caption_file.write_text("../data/images/czsx/0_1.png,red\n", encoding="utf-8")
    usual = ["--problem_file", "../data/problem.json", "-v", "m", "--input_type", 1, "--debug"]
    done = multi(place, *usual, "--caption_file", "../data/captions.csv")
    assert "no line for 2 images that the questions show, e.g. ../data/images/czsx/0_2.png" in done.err
    assert "is asked as 0, as published" in multi(place, *usual).err
    strict = ["--caption_file", "../data/captions.csv", "--set", "allow_missing_captions=false"]
    assert "no line for 2 images" in multi(place, *usual, *strict, code=2).err


def test_debug_asks_and_writes_nothing(place: Path) -> None:
    done = multi(place, "--problem_file", "../data/problem.json", "-v", "m", "--input_type", 2, "--debug")
    assert "4 questions with 4 images to send; nothing was asked" in done.out
    assert not (place.parent / "results").exists()


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ([], "no model given"),
        (["-v", "m"], "--problem_file is missing"),
        (["--problem_file", "gone.json", "-v", "m"], "gone.json"),
        (
            ["--problem_file", "../data/problem.json", "-v", "m", "--input_type", "3"],
            "never implemented",
        ),
        (["--problem_file", "../data/problem.json", "-v", "m", "--questions_type", "0,9"], "questions_type"),
        (["--problem_file", "../data/problem.json", "-v", "m", "--subject", "zz"], "its subjects are: czsx"),
        (["--problem_file", "../data/problem.json", "-m", "viscpm"], "give an evaluator file"),
        (["--problem_file", "../data/problem.json", "-v", "m", "--use_modelscope"], "--use_modelscope"),
        (["--problem_file", "../data/problem.json", "-v", "m", "--set", "nonsense=1"], "'nonsense'"),
        (["--problem_file", "../data/problem.json", "-v", "m", "--save_every", "0"], "--save_every"),
        (["--checkpoint_dir", "../data"], "it has no args.json"),
        (["--problem_file", "../data/problem.json", "-v", "m", "--questions_type", ""], "is empty"),
        (["--problem_file", "../data/problem.json", "-m", "mine.py"], "or python:mine.py:XEvaluator"),
        (["--problem_file", "../data/late.json", "-v", "m"], "question 'shjk_2_0': the text has [IMAGE_1]"),
        (["--problem_file", "../data/problem.json", "--input_type", "two"], "--input_type"),
        (
            ["--problem_file", "../data/problem.json", "-m", "gpt-4o", "--api_url", "gone"],
            "is not a URL",
        ),
        (
            ["--problem_file", "../data/problem.json", "-m", "python:broken.py:X"],
            "with --model_dir, --cuda_device",
        ),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(place: Path, said: list[str], words: str) -> None:
    broken = "class X:\n    def __init__(self, device_map):\n        raise ValueError\n"
    (place / "broken.py").write_text(broken, encoding="utf-8")
    problems = read(place.parent / "data" / "problem.json")
    problems["shjk_2"]["img_paths"] = []  # not the first question
    write_json(place.parent / "data" / "late.json", problems)
    done = multi(place, *said, code=2, OPENAI_BASE_URL="http://127.0.0.1:9/v1")
    assert words in done.err
    assert "Traceback" not in done.err
    assert not (place.parent / "results").exists()


def test_the_list_of_models_and_the_help(place: Path) -> None:
    listed = eyechart("multi", "-l", cwd=place)
    assert listed.code == 0
    assert "deepseek-vl2" in listed.out
    assert "deepseek-vl2" in eyechart("multi", "-l", "--json", cwd=place).json["models"]
    helped = " ".join(eyechart("multi", "--help", cwd=place).out.split())
    assert all(
        flag in helped for flag in ("--blank_image", "-k K", "--save_every", "Every answer is stored at once")
    )


@pytest.mark.slow
def test_as_json(place: Path) -> None:
    done = multi(place, "--problem_file", "../data/problem.json", "-m", "python:mine.py:XEvaluator", "--json")
    assert done.json["n"] == 4
    usual = ["--problem_file", "../data/problem.json", "-v", "m", "--debug", "--json"]
    assert multi(place, *usual).json == {"n": 4, "images": 0}
    assert Path(place / done.json["prediction_file"]).is_file()
    assert Path(place / done.json["folder"]) == place / ".." / "results" / only_run(place).name


@pytest.mark.slow
def test_every_way_in_says_what_is_left_out_and_which_images_are_not_shown(
    place: Path, data: MultiData
) -> None:
    problems = read(data.problem_file)
    problems["shjk_2"]["problem_content"] = ""
    write_json(data.problem_file, problems)
    left_out = "4 of 6 questions selected; left out: 2 by questions_type 0,1,2 (1 OP, 1 other)"
    not_shown = "img_paths: 1 of 3 images not shown"
    source = ("../data/problem.json", "--as", "multi", "--set", "input_type=2")
    asked = eyechart("run", *source, "-m", "python:mine.py:XEvaluator", "-q", cwd=place)
    by_name = ("--problem_file", "../data/problem.json", "--input_type", 2, "-m", "python:mine.py:XEvaluator")
    for told in (asked.err, multi(place, *by_name).err, eyechart("data", "check", *source, cwd=place).out):
        assert left_out in told
        assert not_shown in told


OWN = """
class Own:
    def generate_answer(self, question):
        rounds = question.pop("prompted_content_list", None)
        if rounds is None:
            question["input_message"] = question.pop("prompted_content")
            return {**question, "prediction": "<think>one red</think>A", "latency": 0.5}
        question |= {"input_message_list": rounds, "answer_history": ["first said", "second said"]}
        return {**question, "prediction": "A", "thinking": "two squares", "latency": 0.5}
"""


def test_what_an_evaluator_returns_is_in_the_predictions_as_it_returned_it(place: Path) -> None:
    (place / "own.py").write_text(OWN, encoding="utf-8")
    multi(
        place, "--problem_file", "../data/problem.json", "--input_type", 2, "--in_turn", "-m",
        "python:own.py:Own", "--output_name", "own",
    )  # fmt: skip
    folder = place.parent / "results" / "own"
    entries = read(folder / "prediction.json")
    assert entries == read(folder / "eyechart" / "official" / "prediction.json")
    rounds = entries["czsx_0_1"]
    assert rounds["answer_history"] == ["first said", "second said"]
    assert (rounds["prediction"], rounds["thinking"], rounds["latency"]) == ("A", "two squares", 0.5)
    assert len(rounds["input_message_list"]) == len(rounds["image_list"]) == 2
    assert entries["czsx_0_0"]["prediction"] == "<think>one red</think>A"
    assert entries["czsx_0_0"]["latency"] == 0.5
    assert list(entries["czsx_0_0"])[:2] == ["question_id", "question_image_number"]
    shown = eyechart("show", folder, "czsx_0_1", cwd=place).out
    for said in ("first said", "second said", "two squares"):
        assert said in shown
    files = ("--label_file", "../data/problem.json", "--prediction_file", folder / "prediction.json")
    scored = eyechart("multi-metrics", *files, cwd=place)
    points = {name: entry["score"] for name, entry in read(folder / "score.json").items()}
    assert scored.code == 0
    assert points == {
        name: entry["score"] for name, entry in read(folder / "eyechart" / "official" / "score.json").items()
    }


def test_a_class_that_gives_no_prediction_is_quoted_in_its_own_words(place: Path) -> None:
    (place / "none.py").write_text(
        "class None_:\n    def generate_answer(self, question):\n"
        "        return {**question, 'prediction': '', 'feedback': 'context too long'}\n",
        encoding="utf-8",
    )
    by_name = (
        "--problem_file",
        "../data/problem.json",
        "-m",
        "python:none.py:None_",
        "--output_name",
        "none",
    )
    multi(place, *by_name, "--eval_num", 2, code=1)
    folder = place.parent / "results" / "none"
    for path in (folder / "prediction.json", folder / "eyechart" / "official" / "prediction.json"):
        assert {entry["feedback"] for entry in read(path).values()} == {"context too long"}


@pytest.mark.slow
@pytest.mark.parametrize("education", ["小学", "", None])
def test_an_unknown_education_is_counted_as_other_by_both_commands(
    place: Path, data: MultiData, education: str | None
) -> None:
    problems = read(data.problem_file)
    problems["czsx_0"]["education"] = education
    write_json(data.problem_file, problems)
    by_name = ("--problem_file", "../data/problem.json", "-m", "python:mine.py:XEvaluator")
    asked = multi(place, *by_name, "--output_name", "one")
    folder = place.parent / "results" / "one"
    files = ("--label_file", "../data/problem.json", "--prediction_file", folder / "prediction.json")
    scored = eyechart("multi-metrics", *files, "--detail", cwd=place)
    assert scored.code == 0, scored.err
    for told in (asked.err, scored.err):
        assert "is not one of 初中, 高中, 大学, 社会, 其他" in told
        assert "counted as Other" in told
    tables = [
        [line for line in path.read_text("utf-8").splitlines() if line.startswith("| Other")]
        for path in (folder / "summary.md", folder / "eyechart" / "official" / "summary.md")
    ]
    assert tables[0] == tables[1] != []


def test_the_options_of_the_benchmark_are_listed_without_a_file(place: Path) -> None:
    done = eyechart("data", "show", "multi", cwd=place)
    assert done.code == 0
    assert "set questions_type" in done.out
    assert "problem_file=" in done.err
    wrong = eyechart(
        "data",
        "show",
        "multi",
        "--set",
        "problem_file=../data/problem.json",
        "--set",
        "subject=zz",
        cwd=place,
    )
    assert wrong.code == 2


def test_a_problem_file_read_as_a_plain_one_is_told_as_what_it_is(place: Path) -> None:
    done = eyechart("run", "../data/problem.json", "-m", "python:mine.py:XEvaluator", cwd=place)
    assert done.code == 2
    assert "--as multi" in done.err


def test_without_answers_the_table_is_one_line(place: Path) -> None:
    by_name = ("--problem_file", "../data/problem_release.json", "-m", "python:mine.py:XEvaluator")
    done = multi(place, *by_name)
    assert "overall" in done.out
    assert "question_type" not in done.out


def test_a_class_without_its_gpu_is_told_of_the_flag_for_devices(place: Path) -> None:
    (place / "gpu.py").write_text(
        "class C:\n def __init__(self, device_map):\n  raise AssertionError('Torch not compiled with CUDA')\n"
        " def generate_answer(self, question): ...\n",
        encoding="utf-8",
    )
    by_name = ("--problem_file", "../data/problem.json", "-m", "python:gpu.py:C", "-c", "cuda:0")
    assert "--cuda_device cpu" in multi(place, *by_name, code=2).err
