"""The cache of replies as runs use it: what is found, what is asked all the same, and what is never kept."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from support.command import Outcome, eyechart
from support.files import picture_base64
from support.runs import questions_fixture, run_command, server_fixture, some_letter, write_model
from support.server import Answer, Server
from torture.workloads import CHOICE, CIRCULAR, JUDGE, JUDGED, ROUNDS, SEPARATE, TRIALS, Workload

N = 6
# What may differ between two runs of the same questions.
CHANGING = ("run", "requests", "seconds")
server = server_fixture(some_letter)
questions = questions_fixture(N)


def run(questions: Path, server: Server, *flags: object, out: str) -> Outcome:
    return run_command(questions, server, "--out", out, *flags)


def report(done: Outcome) -> dict[str, Any]:
    said = {name: value for name, value in done.json.items() if name not in CHANGING}
    for judge in (said["judge"] or {}).get("judges", ()):
        del judge["cached"]
    return said


def kept(cwd: Path) -> int:
    """How many replies the cache holds."""
    n = eyechart("cache", "info", "--json", cwd=cwd).json["entries"]
    assert isinstance(n, int)
    return n


# -- what is found ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "workload", [CHOICE, TRIALS, SEPARATE, CIRCULAR, JUDGED, ROUNDS], ids=lambda workload: workload.name
)
def test_another_run_of_the_same_asks_nothing(tmp_path: Path, server: Server, workload: Workload) -> None:
    small = replace(workload, n=N)
    small.make(tmp_path, N)
    judge = ("--judge", f"openai/{JUDGE}", "--judge-base-url", server.base_url) if small.has_judge else ()
    first, second = (
        eyechart(
            "run", *small.arguments, "-m", "openai/m", "--base-url", server.base_url, *judge,
            "--out", out, "--json", "-q", cwd=tmp_path,
        )
        for out in ("one", "two")
    )  # fmt: skip
    assert (first.code, second.code) == (0, 0), first.err + second.err
    assert first.json["requests"]["cached"] == 0
    assert second.json["requests"]["sent"] == second.json["requests"]["retried"] == 0
    assert second.json["requests"]["cached"] == small.n_replies
    assert report(second) == report(first)
    n_asked = len(server.asked)
    assert n_asked == first.json["requests"]["sent"] + first.json["requests"].get("judge", 0)
    one, two = (ec.Run(tmp_path / done.json["run"]) for done in (first, second))
    for mine, other in zip(one.samples(), two.samples(), strict=True):
        assert (mine.score, mine.asked, mine.sent) == (other.score, other.asked, other.sent)
        assert mine.reply is not None
        assert other.reply is not None
        if "tokens" in small.changing:  # of replies that came together, the first one has them all
            assert replace(mine.reply, usage=None) == replace(other.reply, usage=None)
        else:
            assert mine.reply == other.reply


def test_only_what_is_missing_is_asked(questions: Path, server: Server) -> None:
    run(questions, server, "--limit", 2, out="one")
    done = run(questions, server, out="two")
    assert done.json["requests"] == {"sent": N - 2, "retried": 0, "cached": 2}
    again = run(questions, server, out="two")
    assert again.json["requests"] == done.json["requests"], "a resumed run finds its own"
    assert len(server.asked) == N


def test_what_this_run_paid_is_told_from_what_its_replies_cost(questions: Path, server: Server) -> None:
    prices = ("--prices", "input=1000,output=1000")
    run(questions, server, "--limit", 2, *prices, out="one")
    done = run(questions, server, *prices, out="two")
    assert done.json["paid"] == pytest.approx(done.json["cost"] * (N - 2) / N)
    assert done.json["cost"] > done.json["paid"] > 0
    shown = eyechart("report", done.json["run"], cwd=questions.parent)
    assert re.search(r"USD \([0-9.]+ per sample\), of which [0-9.]+ paid by this run", shown.out)
    plain = eyechart("report", "one", cwd=questions.parent)
    assert "paid by this run" not in plain.out, "where nothing was found, the cost is what was paid"


def test_the_order_of_addresses_does_not_matter(questions: Path) -> None:
    with Server(some_letter) as one, Server(some_letter) as other:
        for out, addresses in (("one", (one, other)), ("two", (other, one))):
            base = [word for server in addresses for word in ("--base-url", server.base_url)]
            command = ("run", questions, "-m", "openai/m", *base, "--out", out, "--json", "-q")
            assert eyechart(*command, cwd=questions.parent).code == 0
        assert len(one.asked) + len(other.asked) == N


# -- what is asked all the same --------------------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        ("--temperature", 0.5),
        ("--seed", 1),
        ("--max-tokens", 9),
        ("--system", "Be brief."),
        ("--max-pixels", 64),
        ("--input", "none"),
    ],
    ids=lambda flags: str(flags[0]),
)
def test_anything_that_may_change_the_answer_is_another_question(
    questions: Path, server: Server, flags: tuple[object, ...]
) -> None:
    run(questions, server, out="one")
    done = run(questions, server, *flags, out="two")
    assert done.json["requests"] == {"sent": N, "retried": 0, "cached": 0}


def test_another_model_or_endpoint_is_another_question(questions: Path, server: Server) -> None:
    run(questions, server, out="one")
    with Server(some_letter) as other:
        assert run(questions, other, out="two").json["requests"]["sent"] == N
    base = ("--base-url", server.base_url, "--out", "three", "--json", "-q")
    done = eyechart("run", questions, "-m", "openai/other", *base, cwd=questions.parent)
    assert done.json["requests"]["sent"] == N


def test_another_trial_is_another_question(questions: Path, server: Server) -> None:
    run(questions, server, out="one")
    done = run(questions, server, "--trials", 3, "--separate-trials", out="two")
    assert done.json["requests"] == {"sent": 2 * N, "retried": 0, "cached": N}


def test_another_picture_is_another_question(questions: Path, server: Server) -> None:
    run(questions, server, out="one")
    lines = questions.read_text().splitlines()
    cells = lines[3].split("\t")
    lines[3] = "\t".join([*cells[:-1], picture_base64("green")])
    questions.write_text("\n".join(lines) + "\n")
    assert run(questions, server, out="two").json["requests"] == {"sent": 1, "retried": 0, "cached": N - 1}


def test_an_edited_answer_is_the_same_question(questions: Path, server: Server) -> None:
    run(questions, server, out="one")
    questions.write_text(questions.read_text().replace("\tA\teven", "\tB\teven"))
    assert run(questions, server, out="two").json["requests"]["sent"] == 0


# -- what is not kept ------------------------------------------------------------------------------


@pytest.mark.slow
def test_without_the_cache_nothing_is_found_and_nothing_kept(questions: Path, server: Server) -> None:
    assert run(questions, server, "--no-cache", out="one").json["requests"]["sent"] == N
    assert kept(questions.parent) == 0
    assert run(questions, server, out="two").json["requests"]["sent"] == N
    assert run(questions, server, "--no-cache", out="three").json["requests"]["sent"] == N


def test_fresh_asks_anew_and_what_it_hears_is_found_from_then_on(questions: Path, server: Server) -> None:
    run(questions, server, out="one")
    server.answer = lambda asked: "D"
    fresh = run(questions, server, "--fresh", out="one")
    assert fresh.json["requests"] == {"sent": N, "retried": 0, "cached": 0}
    later = run(questions, server, out="two")
    assert later.json["requests"] == {"sent": 0, "retried": 0, "cached": N}
    assert report(later) == report(fresh)


def test_failures_are_asked_again(questions: Path, server: Server) -> None:
    server.answer = lambda asked: Answer(status=400, body=b"{}") if "Question 3" in asked.text else "A"
    first = run(questions, server, out="one")
    assert (first.code, kept(questions.parent)) == (1, N - 1)
    server.answer = lambda asked: "A"
    done = run(questions, server, out="two")
    assert done.code == 0
    assert done.json["requests"] == {"sent": 1, "retried": 0, "cached": N - 1}


def test_what_runs_here_is_asked_every_time(questions: Path) -> None:
    for model in (write_model(questions.parent), "baseline/random"):
        for out in ("one", "two"):
            done = eyechart("run", questions, "-m", model, "--out", out, "--json", "-q", cwd=questions.parent)
            assert done.code == 0, done.err
            assert done.json["requests"]["cached"] == 0
    assert kept(questions.parent) == 0


def test_what_was_found_costs_no_budget(questions: Path, server: Server) -> None:
    run(questions, server, out="one")
    done = run(questions, server, "--max-total-tokens", 1, out="two")
    assert (done.code, done.json["requests"]["cached"]) == (0, N)


# -- trouble ---------------------------------------------------------------------------------------


def test_a_damaged_file_costs_a_note(questions: Path, server: Server, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "responses.sqlite").write_bytes(b"this is no database" * 1000)
    command = ("run", questions, "-m", "openai/m", "--base-url", server.base_url, "--json", "-q", "--out")
    first = eyechart(*command, "one", cwd=tmp_path, EYECHART_CACHE=str(home))
    assert first.code == 0
    assert first.json["requests"]["sent"] == N
    second = eyechart(*command, "two", cwd=tmp_path, EYECHART_CACHE=str(home))
    third = eyechart(*command, "three", cwd=tmp_path, EYECHART_CACHE=str(home))
    assert third.json["requests"]["cached"] == N, "a new one takes its place"
    assert "cache" in first.err + second.err or second.json["requests"]["cached"] == N


def test_a_folder_that_cannot_be_written_costs_a_note(
    questions: Path, server: Server, tmp_path: Path
) -> None:
    (tmp_path / "in the way").write_text("")
    command = ("run", questions, "-m", "openai/m", "--base-url", server.base_url, "--json", "-q")
    done = eyechart(*command, cwd=tmp_path, EYECHART_CACHE=str(tmp_path / "in the way" / "cache"))
    assert done.code == 0
    assert done.json["requests"]["sent"] == N
    assert "the response cache was not used" in done.err
    assert json.loads(done.out), "stdout is for the numbers alone"


def test_a_size_of_the_cache_that_is_none_is_told_before_anything_is_asked(
    questions: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EYECHART_CACHE_SIZE", "plenty")
    done = run(questions, server, out=str(tmp_path / "runs"))
    assert (done.code, server.asked) == (2, [])
    assert "$EYECHART_CACHE_SIZE: 'plenty' is not a size" in done.err
    assert run(questions, server, "--no-cache", out=str(tmp_path / "runs")).code == 0
