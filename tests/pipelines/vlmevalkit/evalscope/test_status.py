"""The status file: no key in it, and nothing lost where several processes write it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eyechart.pipelines.vlmevalkit.evalscope.config import DataEntry, ModelEntry, Task
from eyechart.pipelines.vlmevalkit.evalscope.output import read_status, write_status
from support.command import eyechart, eyechart_process
from support.files import choice_tsv
from support.runs import right
from support.server import Answer
from support.tasks import User, files_with, status

SECRET = "sk-unused-0123456789"


@pytest.mark.slow
@pytest.mark.parametrize(
    "flags",
    [
        ["--mode", "eval", "--key", SECRET],
        ["--mode", "eval", "--judge", "exact_matching", "--judge-key", SECRET],
        ["--mode", "eval", "--judge", "exact_matching", f"--judge-key={SECRET}"],
        ["--mode", "eval", "--extra-body", f'{{"auth": "{SECRET}"}}'],
        ["--mode", "eval", "--judge", "exact_matching", "--judge-args", f'{{"password": "{SECRET}"}}'],
        ["--mode", "eval", "--judge", "exact_matching", "--judge-base-url", f"http://me:{SECRET}@host/v1"],
    ],
)
def test_keys_that_nobody_uses_are_written_nowhere(
    user: User, flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = user.desk / "outputs" / "m"
    folder.mkdir(parents=True)
    rows = [f"{k}\tQuestion {k}?\t{'ABCD'[k % 4]}" for k in range(8)]
    (folder / "m_mine.tsv").write_text(
        "\n".join(["index\tquestion\tprediction", *rows]) + "\n", encoding="utf-8"
    )
    words = ["vlmeval", "--data", "mine", "--model", "m", *flags]
    monkeypatch.setattr(sys, "argv", ["eyechart", *words])
    done = eyechart(*words, cwd=user.desk, HOME=str(user.data.parent))
    assert done.code == 0, done.err
    assert "vlmeval" in status(folder)["argv"]
    assert not files_with(user.desk, SECRET)
    assert SECRET not in done.out + done.err


@pytest.mark.slow
def test_a_key_beside_an_entry_that_has_its_own(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    (user.desk / "two.json").write_text(
        f'{{"model": {{"m": {{"class": "GPT4V", "model": "m", "key": "sk-own-123456", "api_base": '
        f'"{user.server.base_url}"}}}}, "data": {{"mine": {{}}}}}}',
        encoding="utf-8",
    )
    words = ["vlmeval", "--config", "two.json", "--key", SECRET]
    monkeypatch.setattr(sys, "argv", ["eyechart", *words])
    done = eyechart(*words, cwd=user.desk, HOME=str(user.data.parent))
    assert done.code == 0, done.err
    assert {one.headers["Authorization"] for one in user.server.asked} == {"Bearer sk-own-123456"}
    assert files_with(user.desk, "sk-own-123456") == [user.desk / "two.json"]
    assert not files_with(user.desk, SECRET)


def test_a_script_is_named_without_its_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["run.py", "--password", SECRET])
    write_status(tmp_path, "m", Task(models=(), data=()), "mine", "done")
    assert status(tmp_path)["argv"] == ["run.py"]


def task(*data: str) -> Task:
    entries = tuple(DataEntry(name=name, source=name) for name in data)
    return Task(models=(ModelEntry(spec="openai/m", name="m"),), data=entries)


def test_two_that_write_one_file_keep_what_the_other_said(tmp_path: Path) -> None:
    write_status(tmp_path, "m", task("a"), "a", "infer")
    write_status(tmp_path, "m", task("b"), "b", "done")
    write_status(tmp_path, "m", task("a"), "a", "done")
    assert {name: one["status"] for name, one in status(tmp_path)["datasets"].items()} == {
        "a": "done",
        "b": "done",
    }


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    script = """
import sys, time
from pathlib import Path
from eyechart.pipelines.vlmevalkit.evalscope.output import write_status
from eyechart.pipelines.vlmevalkit.evalscope.config import Task
folder = Path(sys.argv[1])
task = Task(models=(), data=())
(folder / f"{sys.argv[2]}.ready").touch()
while len(list(folder.glob("*.ready"))) < 3:
    time.sleep(0.01)
for k in range(40):
    write_status(folder, "m", task, f"{sys.argv[2]}-{k}", "done")
"""
    started = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path), who]) for who in "abc"]
    assert [one.wait(60) for one in started] == [0, 0, 0]
    assert len(status(tmp_path)["datasets"]) == 120


@pytest.mark.slow
def test_two_commands_in_one_folder(user: User) -> None:
    """One model, a set of questions each, at the same time."""
    sets = ("mine", "other")
    choice_tsv(user.data / "other.tsv", 8)
    user.server.answer = lambda asked: Answer(right(asked), delay_s=0.2)
    flags = ["--model", "m", "--base-url", user.server.base_url, "--api-nproc", "4"]
    with ThreadPoolExecutor() as pool:
        home = str(user.data.parent)
        done = list(
            pool.map(
                lambda name: eyechart_process("vlmeval", "--data", name, *flags, cwd=user.desk, HOME=home),
                sets,
            )
        )
    assert [one.code for one in done] == [0, 0], done
    folder = user.desk / "outputs" / "m"
    assert {name: one["status"] for name, one in status(folder)["datasets"].items()} == dict.fromkeys(
        sets, "done"
    )
    assert all((folder / f"m_{name}_acc.csv").is_file() for name in sets)
    assert not list(folder.glob(".scores*"))


@pytest.mark.parametrize("text", ["", "[]", '{"datasets": 3}', '{"datasets": {"a": 1}}'])
def test_a_file_that_cannot_be_read_is_written_anew(tmp_path: Path, text: str) -> None:
    (tmp_path / "status.json").write_text(text, encoding="utf-8")
    assert read_status(tmp_path).datasets == {}
    write_status(tmp_path, "m", task("b"), "b", "done")
    assert read_status(tmp_path).datasets["b"]["status"] == "done"
