"""Escape sequences of data, names, servers and models never reach the terminal, by stdout or by stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eyechart.terminal import UNSAFE
from support.command import Outcome, eyechart
from support.files import picture
from support.server import Answer, Server

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202egnp.\u2066x"


def rows(path: Path, **changes: object) -> Path:
    row = {"id": "q1", "question": "Q?", "A": "x", "B": "y", "answer": "A", "image": "p.png", **changes}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    return path


def assert_shown(done: Outcome) -> None:
    """What was hostile is told, and can be looked at."""
    assert "owned" in done.out + done.err, done
    assert not UNSAFE.search(done.out), done.out
    assert not UNSAFE.search(done.err), done.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "p.png").write_bytes(picture())
    return tmp_path


CASES = {
    "an image path": {"image": EVIL + ".png"},
    "an id": {"id": EVIL, "image": "missing.png"},
    "a column": {"question": "", EVIL: "1"},
    "a question": {"question": EVIL},
    "a category": {"category": EVIL},
    "an answer": {"answer": EVIL},
    "an address": {"image": f"http://127.0.0.1/{EVIL}"},
}


@pytest.mark.parametrize("what", CASES)
def test_data(what: str, folder: Path) -> None:
    rows(folder / "q.jsonl", **CASES[what])
    ran = eyechart("run", "q.jsonl", "-m", "baseline/majority", "--out", "runs", cwd=folder)
    outcomes = [
        ran,
        eyechart("run", "q.jsonl", "-m", "baseline/majority", "--out", "runs", "--json", cwd=folder),
        eyechart("data", "check", "q.jsonl", cwd=folder),
        eyechart("data", "show", "q.jsonl", cwd=folder),
        eyechart("show", "runs", cwd=folder),
        eyechart("show", "runs", EVIL if what == "an id" else "q1", cwd=folder),
    ]
    assert any("owned" in done.out + done.err for done in outcomes)
    for done in outcomes:
        assert not UNSAFE.search(done.out), done.out
        assert not UNSAFE.search(done.err), done.err


# Whatever is repeated from the command line may come from a file or from another program.
ARGUMENTS = {
    "a file that is not there": ("run", f"{EVIL}.tsv", "-m", "baseline/majority"),
    "an unknown flag": ("run", "q.jsonl", f"--{EVIL}"),
    "an unknown verb": (EVIL,),
    "a number that is none": ("run", "q.jsonl", "--limit", EVIL),
    "an unknown model": ("run", "q.jsonl", "-m", EVIL),
    "an unknown scorer": ("run", "q.jsonl", "-m", "baseline/majority", "--scorer", EVIL),
    "ids": ("run", "q.jsonl", "-m", "baseline/majority", "--ids", EVIL),
    "a field": ("run", "q.jsonl", "-m", "baseline/majority", "--field", f"question={EVIL}"),
    "a template": ("run", "q.jsonl", "-m", "baseline/majority", "--prompt-template", "{{ " + EVIL),
    "a setting": ("run", "q.jsonl", "-m", "baseline/majority", "--set", f"{EVIL}=1"),
    "a run": ("report", EVIL),
    "a sample": ("show", "runs", EVIL),
    "a model in the cache": ("cache", "clear", "--model", EVIL, "--yes"),
    "MULTI's flag": ("multi", "--model", EVIL),
    "the kit's flag": ("vlmeval", "--data", EVIL, "--model", EVIL),
}


@pytest.mark.parametrize("what", ARGUMENTS)
def test_arguments(what: str, folder: Path) -> None:
    rows(folder / "q.jsonl")
    if what == "a sample":
        assert eyechart("run", "q.jsonl", "-m", "baseline/majority", "--out", "runs", cwd=folder).code == 0
    done = eyechart(*ARGUMENTS[what], cwd=folder)
    assert done.code == 2, done
    assert not UNSAFE.search(done.out + done.err), done
    if what not in ("a model in the cache", "a template"):
        assert "owned" in done.err, done.err


def test_a_replies_file_of_strange_ids(folder: Path) -> None:
    rows(folder / "q.jsonl")
    lines = [{"id": "q1", "reply": "A"}, {"id": EVIL, "reply": "A"}]
    (folder / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert_shown(eyechart("score", "--benchmark", "q.jsonl", "--replies", "r.jsonl", cwd=folder))


def test_a_configuration(folder: Path) -> None:
    (folder / "c.json").write_text(json.dumps({EVIL: 1, "model": "baseline/majority"}))
    assert_shown(eyechart("run", "c.json", cwd=folder))


@pytest.mark.parametrize("body", [EVIL.encode(), json.dumps({"error": {"message": EVIL}}).encode()])
def test_an_http_error(folder: Path, body: bytes) -> None:
    rows(folder / "q.jsonl")
    with Server(lambda asked: Answer(status=418, body=body)) as server:
        done = eyechart("run", "q.jsonl", "-m", "openai/m", "--base-url", server.base_url, cwd=folder)
    assert done.code == 1
    assert_shown(done)


@pytest.mark.slow
def test_a_reply_of_a_model(folder: Path) -> None:
    rows(folder / "q.jsonl")
    with Server(lambda asked: EVIL) as server:
        where = ("--base-url", server.base_url, "--out", "runs")
        ran = eyechart("run", "q.jsonl", "-m", "openai/m", *where, cwd=folder)
        check = ("model", "check", "openai/m", "--base-url", server.base_url)
        checked = [eyechart(*check, cwd=folder), eyechart(*check, "--json", cwd=folder)]
    assert not UNSAFE.search(ran.out + ran.err)
    for done in checked:
        assert_shown(done)
    assert_shown(eyechart("show", "runs", "q1", cwd=folder))
