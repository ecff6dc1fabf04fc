"""``eyechart run`` with configurations of EvalScope's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.command import Outcome, eyechart
from support.files import choice_tsv
from support.server import Answer, Server
from support.tasks import KEY, M, User, number_of, right


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    (tmp_path / "desk").mkdir()
    (tmp_path / "home" / "LMUData").mkdir(parents=True)
    choice_tsv(tmp_path / "home" / "LMUData" / "mine.tsv", 8)
    with Server(right) as server:
        yield User(tmp_path / "desk", tmp_path / "home" / "LMUData", server)


def run(user: User, *arguments: object) -> Outcome:
    return eyechart("run", *arguments, cwd=user.desk, HOME=str(user.data.parent))


def written(user: User, name: str, config: dict[str, Any]) -> str:
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
        ["--as", "mmbench"], ["--no-cache"], ["--dry-run"], ["--trials", 2], ["--fresh"], ["--timeout", 3],
    ],
    ids=lambda flags: str(flags[0]),
)  # fmt: skip
def test_other_flags_are_refused_by_name(user: User, flags: list[object]) -> None:
    done = run(user, written(user, "task.yaml", user.config()), *flags)
    assert done.code == 2
    assert ("--model" if flags[0] == "-m" else str(flags[0])) in done.err
    assert not user.server.asked


def test_failed_samples(user: User) -> None:
    choice_tsv(user.data / "other.tsv", 4)
    user.server.answer = lambda asked: (
        Answer(status=400, body=b"{}") if number_of(asked) == 6 else right(asked)
    )
    done = run(user, written(user, "task.json", user.config("mine", "other")), "--json", "-q")
    assert done.code == 1
    assert [*done.json] == [f"{M}_other_acc"]
    assert "dataset mine: 1 of 8 questions got no answer" in done.err


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
    assert "a configuration is run alone" in done.err
