"""Rechecks and the noise of a comparison: asked past every cache, kept beside the run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import UsageError
from eyechart.report.compare import FlipRate, Noise, compute_excess
from eyechart.runs.noise import RECHECKS, measure_noise
from support.command import eyechart
from support.files import jsonl
from support.runs import run_here, server_fixture
from support.server import Asked, Server

N = 60

# Every tenth question is answered by turns: asking it twice flips it.
MODEL = """
import collections
turns = collections.Counter()

class Mine:
    def __init__(self, quiet=0, model="", **more):
        self.quiet = int(quiet)

    def generate(self, text, images):
        k = int(text.split("Question ")[1].split("?")[0])
        with open("asked.txt", "a", encoding="utf-8") as file:
            file.write(f"{k}\\n")
        turns[k] += 1
        flips = k % 10 == 0 and turns[k] % 2 == 0
        return "ABC"[(k + flips) % 3]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(MODEL, encoding="utf-8")
    rows = [
        {
            "id": f"q{k}",
            "question": f"Question {k}?",
            "answer": "ABC"[k % 3],
            "A": "one",
            "B": "two",
            "C": "x",
        }
        for k in range(N)
    ]  # fmt: skip
    jsonl(tmp_path / "q.jsonl", rows)
    return tmp_path


def ask(folder: Path, out: str, **options: Any) -> ec.Run:
    return run_here(folder / "q.jsonl", "python:m.py:Mine", out=folder / out, **options)


def count_asked(folder: Path) -> int:
    file = folder / "asked.txt"
    n = len(file.read_text(encoding="utf-8").split()) if file.exists() else 0
    file.unlink(missing_ok=True)
    return n


def test_a_recheck_asks_again_and_changes_no_number(folder: Path) -> None:
    plain = ask(folder, "a")
    before = plain.summary.to_json()
    assert count_asked(folder) == N
    done = ask(folder, "a", recheck=N)
    assert count_asked(folder) == N
    after = done.summary.to_json()
    for name in ("score", "ci95", "outcomes", "n", "by", "also"):
        assert after[name] == before[name]
    ask(folder, "a", recheck=N)
    assert count_asked(folder) == 0, "what is stored is not asked again"
    assert done.journal.meta(RECHECKS) == [64]


def test_the_expected_flips(folder: Path) -> None:
    a = ask(folder, "a", recheck=N)
    b = ask(folder, "b")
    found = measure_noise(ec.compare(a, b))
    assert found.rate.n == N
    assert found.rate.n_flipped == N // 10
    assert found.expected == pytest.approx(N / 10)
    low, high = found.expected_ci95
    assert low < N / 10 < high
    assert not found.is_excess
    assert "are expected from asking the same model twice" in found.verdict


def test_another_load_is_asked_twice(folder: Path) -> None:
    a = ask(folder, "a", recheck=20)
    count_asked(folder)
    ask(folder, "a", recheck=20, concurrency=1)
    assert count_asked(folder) == 40
    found = measure_noise(ec.compare(a, ask(folder, "b")))
    assert found.load == 64
    assert found.by_concurrency[1].n == 20
    assert "with 64 requests in flight" in found.cause
    assert found.to_json()["by_concurrency"]["1"]["n"] == 20


def test_without_a_recheck_the_command_is_told_and_does_what_is_needed(folder: Path) -> None:
    for name, system in (("a", "Be brief."), ("b", "Look.")):
        ask(folder, name, limit=20, system=system, concurrency=8)
    compared = ("compare", "a", "b", "--noise")
    done = eyechart(*compared, cwd=folder)
    assert done.code == 2
    [told] = [line for line in done.err.splitlines() if "hint: " in line]
    command = shlex.split(told.partition("ask some again: ")[2])
    assert command[:2] == ["eyechart", "run"]
    assert command[-4:] == ["--concurrency", "8", "--recheck", "100"]
    # Rechecked at another concurrency alone, the noise at that of the run is still unknown.
    assert eyechart(*command[1:], "--concurrency", "1", cwd=folder).code == 0
    assert eyechart(*compared, cwd=folder).code == 2
    rechecked = eyechart(*command[1:], cwd=folder)
    assert "no requests sent" not in rechecked.err
    assert re.search(r"rechecked with 8 in flight: \d+ of 20 questions flipped", rechecked.err)
    assert eyechart(*compared, cwd=folder).code == 0
    assert len(list((folder / "a" / "q").iterdir())) == 1, "the same run"


def test_the_command_prints_it_and_json_has_it(folder: Path) -> None:
    ask(folder, "a", recheck=30)
    ask(folder, "b")
    shown = eyechart("compare", "a", "b", "--noise", cwd=folder)
    assert shown.code == 0
    assert "expected from asking the same model twice" in shown.out
    for form in ("--markdown", "--latex"):
        assert (
            "expected from asking the same model twice"
            in eyechart("compare", "a", "b", "--noise", form, cwd=folder).err
        )
    told = eyechart("compare", "a", "b", "--noise", "--json", cwd=folder).json["noise"]
    assert told.keys() >= {"flips", "expected", "expected_ci95", "is_excess", "floor", "verdict"}
    assert "noise" not in eyechart("compare", "a", "b", "--json", cwd=folder).json


def answer(asked: Asked) -> str:
    return "A"


server = server_fixture(answer)


def test_a_recheck_goes_past_the_response_cache(folder: Path, server: Server) -> None:
    options = {"base_url": server.base_url, "temperature": 0, "progress": False}
    ec.run("q.jsonl", "openai/m", out=folder / "a", **options)
    n = len(server.asked)
    ec.run("q.jsonl", "openai/m", out=folder / "b", **options)
    assert len(server.asked) == n, "another run takes the replies from the cache"
    ec.run("q.jsonl", "openai/m", out=folder / "b", recheck=10, **options)
    assert len(server.asked) == n + 10


@pytest.mark.parametrize(
    "options", [{"batch": True}, {"shard": "1/2"}, {"circular": True}, {"executor": "ray"}]
)
def test_what_cannot_be_rechecked(folder: Path, options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="recheck"):
        ask(folder, "a", recheck=5, **options)


def test_more_flips_than_noise() -> None:
    quiet = FlipRate.of([False] * 99 + [True])
    found = Noise(n=1000, flips=90, rate=quiet)
    assert found.is_excess
    assert found.verdict.endswith("more than noise explains")
    assert not Noise(n=1000, flips=12, rate=quiet).is_excess
    assert found.floor == pytest.approx(1.96 * 10**0.5 / 1000)


def test_the_load_as_a_cause() -> None:
    loaded, alone = FlipRate.of([True] * 20 + [False] * 80), FlipRate.of([False] * 100)
    found = Noise(n=500, flips=90, rate=loaded, by_concurrency={1: alone}, load=64)
    assert found.cause == ("20 of 100 flip with 64 requests in flight, 0 of 100 with 1: the load is a cause")
    same = Noise(n=500, flips=90, rate=loaded, by_concurrency={1: loaded}, load=64)
    assert same.cause.endswith("no effect of the load shows")
    assert Noise(n=500, flips=90, rate=loaded, load=64).cause == ""


def test_the_exact_test() -> None:
    assert compute_excess(0, 10, 0, 10) == pytest.approx(0.5)
    assert compute_excess(10, 10, 0, 10) == pytest.approx(1 / 184_756 / 2)
    assert compute_excess(1, 1, 0, 99) == pytest.approx(0.005)
