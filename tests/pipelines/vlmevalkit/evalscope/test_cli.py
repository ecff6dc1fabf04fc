"""``eyechart run`` with configurations of EvalScope's."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.command import Outcome, eyechart
from support.files import choice_tsv, picture
from support.runs import number_of, right
from support.server import Answer, Server
from support.tasks import KEY, M, User, files_with


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    (tmp_path / "desk").mkdir()
    (tmp_path / "home" / "LMUData").mkdir(parents=True)
    choice_tsv(tmp_path / "home" / "LMUData" / "mine.tsv", 8)
    with Server(right) as server:
        yield User(tmp_path / "desk", tmp_path / "home" / "LMUData", server)


def run(user: User, *arguments: object, **environment: str) -> Outcome:
    return eyechart("run", *arguments, cwd=user.desk, HOME=str(user.data.parent), **environment)


@contextlib.contextmanager
def images_at() -> Iterator[str]:
    """An address on this machine where an image is to be had."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(picture())

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/one.png"
        server.shutdown()
        thread.join()


def written(user: User, name: str, config: Any) -> str:
    text = {
        ".yaml": lambda: yaml.safe_dump(config),
        ".json": lambda: json.dumps(config),
        ".py": lambda: f"task_cfg = {config!r}\nprint('here')\n",
    }[Path(name).suffix]()
    (user.desk / name).write_text(text, encoding="utf-8")
    return name


@pytest.mark.parametrize("name", ["task.yaml", "task.json", "task.py"])
def test_a_file_is_known_by_its_keys(user: User, name: str) -> None:
    done = run(user, written(user, name, user.config()))
    assert done.code == 0, done.err
    assert f"The evaluation of model {M} x dataset mine has finished!" in done.out
    assert "Overall  1.0" in done.out
    assert len(user.server.asked) == 8
    assert len(user.folders()) == 1
    assert KEY not in done.out + done.err


def test_the_results_as_json(user: User) -> None:
    done = run(user, written(user, "task.py", user.config()), "--json", "-q")
    assert done.json == {f"{M}_mine_acc": {"split": "none", "Overall": "1.0", "even": "1.0", "odd": "1.0"}}
    assert "Run Summary Report:" in done.err
    assert done.err.count("here") == 1  # the file is run once


def test_what_may_be_said_beside_it(user: User) -> None:
    user.server.answer = lambda asked: Answer(right(asked), delay_s=0.02)
    config = written(user, "task.yaml", user.config(limit=7, nproc=1))
    done = run(user, config, "--limit", 6, "--concurrency", 3, "--out", "there", "-q", "-v")
    assert done.code == 0, done.err
    assert len(user.server.asked) == 6
    assert user.server.most_at_once == 3
    assert len(list((user.desk / "there").glob(f"*/{M}/{M}_mine.xlsx"))) == 1
    assert "mine 5: B" in done.err


@pytest.mark.parametrize(
    "flags",
    [
        ["--temperature", 1], ["-m", "baseline/random"], ["--judge", "openai/j"], ["--param", "top_p=1"],
        ["--as", "mmbench"], ["--scorer", "exact"], ["--circular"],
    ],
    ids=lambda flags: str(flags[0]),
)  # fmt: skip
def test_other_flags_are_refused_by_name(user: User, flags: list[object]) -> None:
    done = run(user, written(user, "task.yaml", user.config()), *flags)
    assert done.code == 2
    assert ("--model" if flags[0] == "-m" else str(flags[0])) in done.err
    assert not user.server.asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "n_asked"),
    [
        (["--trials", 2, "--separate-trials"], 16), (["--fresh"], 8), (["--no-cache"], 8), (["--dry-run"], 0),
        (["--allow-private-urls"], 8), (["--timeout", 30], 8), (["--where", "category=even"], 4),
        (["--ids", "1,2"], 2), (["--rpm", 60000, "--retries", 1], 8), (["--no-adapt"], 8),
    ],
    ids=lambda flags: str(flags[0]) if isinstance(flags, list) else "",
)  # fmt: skip
def test_flags_that_change_no_question_work_beside_it(user: User, flags: list[object], n_asked: int) -> None:
    done = run(user, written(user, "task.yaml", user.config()), *flags, "-q")
    assert done.code == 0, done.err
    assert len(user.server.asked) == n_asked
    assert (user.folders() == []) == (n_asked == 0)


@pytest.mark.slow
def test_fresh_asks_again_what_reuse_would_keep(user: User) -> None:
    config = written(user, "task.yaml", user.config(reuse=True))
    for flags, n_asked in (((), 8), ((), 8), (("--fresh", "--no-cache"), 16)):
        assert run(user, config, *flags, "-q").code == 0
        assert len(user.server.asked) == n_asked


def test_trials_beside_it_have_files_of_their_own(user: User) -> None:
    turns = iter(range(99))
    user.server.answer = lambda asked: right(asked) if next(turns) < 8 else "A"
    flags = ("--trials", 2, "--separate-trials", "--concurrency", 1, "-q")
    done = run(user, written(user, "task.yaml", user.config()), *flags)
    assert done.code == 0, done.err
    assert "over 2 trials" in done.err
    [folder] = user.folders()
    assert {path.name for path in (folder / M).glob("*_acc.csv")} == {
        f"{M}_mine_acc.csv",
        f"{M}_mine_trial2_acc.csv",
    }


def test_an_estimate_of_a_task_sends_and_writes_nothing(user: User) -> None:
    choice_tsv(user.data / "other.tsv", 4)
    done = run(user, written(user, "task.yaml", user.config("mine", "other")), "--dry-run", "--json")
    assert done.code == 0, done.err
    assert [one["n"] for one in done.json["estimates"]] == [8, 4]
    assert not user.server.asked
    assert user.folders() == []
    scored = run(user, written(user, "task.yaml", user.config(mode="eval")), "--dry-run")
    assert scored.code == 2
    assert "calls no model" in scored.err


def test_failed_samples(user: User) -> None:
    choice_tsv(user.data / "other.tsv", 4)
    user.server.answer = lambda asked: (
        Answer(status=400, body=b"{}") if number_of(asked) == 6 else right(asked)
    )
    done = run(user, written(user, "task.json", user.config("mine", "other")), "--json", "-q")
    assert done.code == 1
    assert [*done.json] == [f"{M}_other_acc"]
    assert "dataset mine: 1 of 8 questions got no reply" in done.err


def test_bad_configurations(user: User) -> None:
    for config, says in (
        (user.config(limt=3), "did you mean limit"),
        (user.config("nothing"), "dataset nothing: no such file"),
        ({**user.config(), "eval_backend": "Native"}, "eval_backend is Native"),
        ({**user.config(), "limit": 3}, "limit"),
        (user.config(model=["qwen-vl-chat"]), "CustomAPIModel"),
    ):
        done = run(user, written(user, "task.yaml", config))
        assert done.code == 2
        assert says in done.err
        assert KEY not in done.err
    assert not user.server.asked
    assert user.folders() == []


def test_it_is_run_alone(user: User) -> None:
    done = run(user, written(user, "task.yaml", user.config()), "demo")
    assert done.code == 2
    assert "a configuration must be the only source" in done.err


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tasks.yaml", "tasks.json", "tasks.py"])
def test_a_list_of_tasks(user: User, name: str) -> None:
    choice_tsv(user.data / "other.tsv", 3)
    tasks = [user.config(limit=2), user.config("other")]
    done = run(user, written(user, name, tasks), "--json", "-q")
    assert done.code == 0, done.err
    assert [[*results] for results in done.json["tasks"]] == [[f"{M}_mine_acc"], [f"{M}_other_acc"]]
    assert len(user.server.asked) == 5
    done = run(user, name, "--limit", 1)
    assert done.code == 0, done.err
    assert f"{{'{M}_other_acc': " in done.out.splitlines()[-1]
    assert len(user.server.asked) == 7


@pytest.mark.slow
def test_a_list_of_tasks_in_which_one_fails(user: User) -> None:
    choice_tsv(user.data / "other.tsv", 3)
    user.server.answer = lambda asked: (
        Answer(status=400, body=b"{}") if number_of(asked) == 6 else right(asked)
    )
    name = written(user, "tasks.json", [user.config(), user.config("other")])
    done = run(user, name, "--json", "-q")
    assert (done.code, [[*one] for one in done.json["tasks"]]) == (1, [[], [f"{M}_other_acc"]])
    (user.desk / "tasks.json").write_text(json.dumps([user.config(), user.config(limt=3)]))
    done = run(user, name)
    assert done.code == 2
    assert "task 2 of 2: eval_config has no key 'limt'" in done.err


def test_a_list_of_rows_is_data(user: User) -> None:
    rows = [
        {"question": "Question 0? eval_config", "A": "x", "B": "y", "answer": "A", "eval_config": "z"}
    ] * 2
    (user.desk / "rows.json").write_text(json.dumps([{**row, "id": k} for k, row in enumerate(rows)]))
    words = ("rows.json", "-m", "openai/m", "--base-url", user.server.base_url, "--json", "-q")
    assert run(user, *words).json["n"] == 2


@pytest.mark.parametrize("key", [KEY, "EMPTY"])
def test_the_saved_configuration_can_be_run_again(user: User, key: str) -> None:
    config = user.config(model=[user.entry(key=key)], limit=3)
    assert run(user, written(user, "task.json", config)).code == 0
    (folder,) = user.folders()
    saved = folder / "configs" / "task_config.yaml"
    if key == KEY:
        refused = run(user, saved)
        assert (refused.code, len(user.server.asked)) == (2, 3)
        assert "MODEL_2_5_7B_API_KEY, which is not set" in refused.err
    done = run(user, saved, MODEL_2_5_7B_API_KEY=key)
    assert done.code == 0, done.err
    assert [asked.headers["Authorization"] for asked in user.server.asked] == [f"Bearer {key}"] * 6
    assert key == "EMPTY" or not files_with(user.desk / "outputs", key)


@pytest.mark.slow
def test_images_at_a_private_address_have_a_key(user: User) -> None:
    with images_at() as address:
        (user.data / "far.tsv").write_text(
            f"index\tquestion\tA\tB\tanswer\timage_path\n0\tQuestion 0?\tx\ty\tA\t{address}\n"
        )
        refused = run(user, written(user, "task.yaml", user.config("far")))
        assert refused.code == 1
        assert "allow_private_urls: true in eval_config" in refused.err
        assert not user.server.asked
        done = run(user, written(user, "task.yaml", user.config("far", allow_private_urls=True)))
        assert done.code == 0, done.err
        assert len(user.server.asked[0].images) == 1

        words = ("vlmeval", "--data", "far", "--model", "m", "--base-url", user.server.base_url)
        home = str(user.data.parent)
        refused = eyechart(*words, cwd=user.desk, HOME=home)
        assert "for your own server: --allow-private-urls" in refused.err
        assert eyechart(*words, "--allow-private-urls", cwd=user.desk, HOME=home).code == 0


def test_what_vlmeval_writes_down_says_how_to_run_it_again(user: User) -> None:
    words = ("vlmeval", "--data", "mine", "--model", "m", "--base-url", user.server.base_url, "--limit", 2)
    assert eyechart(*words, "--key", KEY, cwd=user.desk, HOME=str(user.data.parent)).code == 0
    refused = run(user, "outputs/configs/task_config.yaml")
    assert refused.code == 2
    command = f"eyechart vlmeval --data mine --model m --limit 2 --base-url {user.server.base_url}"
    assert f"hint: run: {command}" in refused.err
