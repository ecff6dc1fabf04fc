"""Runs that are killed, interrupted or let down by the server, and what the next start makes of them."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.command import eyechart, eyechart_process, start
from support.files import choice_tsv, jsonl
from support.runs import number_of, right
from support.server import Answer, Asked, Server

N = 120
PATIENCE_S = 120


def mostly_right(asked: Asked) -> Answer:
    """Every fifth question is answered wrongly, every eleventh unreadably; each after a moment."""
    number = number_of(asked)
    letter = "ABCD"[number % 4]
    if number % 11 == 0:
        letter = "I see a picture."
    elif number % 5 == 0:
        letter = "ABCD"[(number + 1) % 4]
    return Answer(letter, delay_s=0.03)


def committed(folder: Path) -> set[str]:
    """Ids of the samples whose reply is on disk."""
    path = folder / "run.sqlite"
    if not path.exists():
        return set()
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        try:
            return {row[0] for row in db.execute("SELECT sample FROM replies")}
        except sqlite3.OperationalError:  # killed before the tables were laid out
            return set()


def comparable(summary: dict[str, Any]) -> dict[str, Any]:
    """What must not depend on how often a run was disturbed."""
    changing = ("run", "requests", "seconds")
    named = json.loads(json.dumps(summary).replace(summary["run"], "RUN"))  # in commands that help
    return {name: value for name, value in named.items() if name not in changing}


def run_arguments(server: Server, out: str) -> list[str]:
    flags = ["--base-url", server.base_url, "--concurrency", "8", "--out", out, "--json", "-q", "--no-cache"]
    return ["run", "q.tsv", "-m", "openai/m", *flags]


def kill_after(n_requests: int, server: Server, process: subprocess.Popen[str]) -> None:
    """Kill it when it has sent so many requests more, or when it has ended before that."""
    wanted = len(server.asked) + n_requests
    while len(server.asked) < wanted and process.poll() is None:
        time.sleep(0.001)
    time.sleep(0.02)  # in the midst of what they bring about
    process.send_signal(signal.SIGKILL)
    process.communicate()


def folder_in(out: Path) -> Path:
    [folder] = out.glob("*/*")
    return folder


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_at_random_moments_and_resumed_to_the_same_table(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", N)
    rng = random.Random(2026)
    kills_mid_run = 0
    with Server(mostly_right) as server:
        undisturbed = eyechart(*run_arguments(server, "calm"), cwd=tmp_path).json
        for attempt in range(3):
            out = tmp_path / f"kill{attempt}"
            arguments = run_arguments(server, out.name)
            for _ in range(2):
                kill_after(rng.randint(0, N // 2), server, start(*arguments, cwd=tmp_path))
            kept = {name for folder in out.glob("*/*") for name in committed(folder)}
            kills_mid_run += 0 < len(kept) < N
            before = len(server.asked)
            resumed = eyechart(*arguments, cwd=tmp_path)
            asked = Counter(str(number_of(one)) for one in server.asked[before:])
            assert resumed.code == 0
            assert not kept & asked.keys(), "a committed reply was asked for again"
            assert kept | asked.keys() == {str(number) for number in range(N)}, "a question was lost"
            assert set(asked.values()) <= {1}
            assert committed(folder_in(out)) == {str(number) for number in range(N)}
            assert comparable(resumed.json) == comparable(undisturbed)
    assert kills_mid_run, "the kills came too early or too late to prove anything"


def judged_calls(folder: Path) -> set[str]:
    """Ids of the samples on which the judge's word is on disk."""
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as db, db:
        try:
            return {row[0] for row in db.execute("SELECT sample FROM calls")}
        except sqlite3.OperationalError:
            return set()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_killed_while_judging_and_resumed_to_the_same_verdicts(tmp_path: Path) -> None:
    """Neither the model nor the judge is asked again for anything that is on disk."""
    rows = [{"id": str(k), "question": f"Question {k}?", "answer": f"answer {k}"} for k in range(N)]
    jsonl(tmp_path / "q.jsonl", rows)

    def answer(asked: Asked) -> Answer:
        if asked.body["model"] == "judge":
            return Answer("CORRECT" if number_of(asked) % 3 else "INCORRECT", delay_s=0.03)
        return Answer("something like it", delay_s=0.03)

    rng = random.Random(2026)
    kills_mid_judging = 0
    with Server(answer) as server:
        judge = ["--judge", "openai/judge", "--judge-base-url", server.base_url]
        flags = ["--base-url", server.base_url, "--concurrency", "8", "--json", "-q", "--no-cache", *judge]
        arguments = ["run", "q.jsonl", "-m", "openai/m", *flags, "--out"]
        undisturbed = eyechart(*arguments, "calm", cwd=tmp_path).json
        assert undisturbed["outcomes"]["correct"] == 80
        for attempt in range(3):
            out = tmp_path / f"kill{attempt}"
            kill_after(rng.randint(N // 4, 2 * N), server, start(*arguments, out.name, cwd=tmp_path))
            folders = list(out.glob("*/*"))
            replied = {name for folder in folders for name in committed(folder)}
            judged = {name for folder in folders for name in judged_calls(folder)}
            kills_mid_judging += 0 < len(judged) < N
            before = len(server.asked)
            resumed = eyechart(*arguments, out.name, cwd=tmp_path)
            again: dict[str, set[str]] = {"m": set(), "judge": set()}
            for one in server.asked[before:]:
                again[one.body["model"]].add(str(number_of(one)))
            assert resumed.code == 0
            assert not replied & again["m"], "a committed reply was asked for again"
            assert not judged & again["judge"], "a judge's committed word was asked for again"
            assert judged | again["judge"] == {str(number) for number in range(N)}
            assert comparable(resumed.json) == comparable(undisturbed)
    assert kills_mid_judging >= 1, "the kills came too early or too late to prove anything"


def test_the_same_command_again_asks_nothing(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 12)
    with Server(mostly_right) as server:
        first = eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        second = eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        assert len(server.asked) == 12
    assert first.code == second.code == 0
    assert comparable(first.json) == comparable(second.json)


def test_fresh_starts_over(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 5)
    with Server(mostly_right) as server:
        eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        again = eyechart(*run_arguments(server, "out"), "--fresh", cwd=tmp_path)
        assert len(server.asked) == 10
    assert again.json["requests"]["sent"] == 5


def test_an_edited_question_is_asked_again_and_only_that_one(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 6)
    with Server(mostly_right) as server:
        eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        file.write_text(file.read_text().replace("Question 3?", "Question 3? Look well."))
        eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        assert [number_of(asked) for asked in server.asked[6:]] == [3]


def test_touched_but_unchanged_pictures_are_not_asked_again(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 6)
    with Server(mostly_right) as server:
        eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        file.write_text(file.read_text() + "")
        eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        assert len(server.asked) == 6


@pytest.mark.slow
def test_ctrl_c_stops_cleanly_and_the_next_start_goes_on(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", N)
    with Server(mostly_right) as server:
        process = start(*run_arguments(server, "out"), cwd=tmp_path)
        while len(server.asked) < 20:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130
        assert "Traceback" not in err
        assert "run the same command again" in err
        assert json.loads(out)["pending"] > 0
        kept = committed(folder_in(tmp_path / "out"))
        # What the server had answered before the end is not lost: the grace period waits for it.
        assert len(kept) == sum(server.answered.values())
        before = len(server.asked)
        resumed = eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        assert resumed.code == 0
        assert len(server.asked) - before == N - len(kept)


@pytest.mark.slow
def test_failures_are_failures_and_are_asked_again(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 12)
    is_broken = True

    def answer(asked: Asked) -> Answer:
        if is_broken and number_of(asked) % 4 == 1:
            return Answer(status=400, body=b'{"error": {"message": "no such luck"}}')
        return mostly_right(asked)

    with Server(answer) as server:
        first = eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        assert first.code == 1
        assert first.json["outcomes"]["failed"] == 3
        assert first.json["coverage"] == pytest.approx(9 / 12)
        assert "no such luck" in first.err
        folder = folder_in(tmp_path / "out")
        assert len(committed(folder)) == 9
        worst, best = first.json["bounds"]
        assert worst < first.json["score"] < best
        is_broken = False
        before = len(server.asked)
        second = eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        assert second.code == 0
        assert sorted(number_of(asked) for asked in server.asked[before:]) == [1, 5, 9]
        assert second.json["outcomes"]["failed"] == 0


@pytest.mark.slow
def test_a_second_process_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 8)
    is_over = threading.Event()
    with Server(lambda asked: Answer("A", after=is_over)) as server:
        first = start(*run_arguments(server, "out"), cwd=tmp_path)
        while len(server.asked) < 8:
            time.sleep(0.01)
        second = eyechart_process(*run_arguments(server, "out"), cwd=tmp_path)
        is_over.set()
        first.communicate(timeout=PATIENCE_S)
    assert second.code == 2
    assert f"in use by another run (process {first.pid})" in second.err
    assert first.returncode == 0


@pytest.mark.slow
def test_a_second_ctrl_c_leaves_at_once(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", 40)
    is_over = threading.Event()
    with Server(lambda asked: Answer("A", after=is_over)) as server:
        process = start(*run_arguments(server, "out"), cwd=tmp_path)
        while len(server.asked) < 8:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        next(line for line in process.stderr if "stopping" in line)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert not server.answered
        is_over.set()
    assert process.returncode == 130
    assert "Traceback" not in err


def test_an_edited_gold_is_judged_anew_without_asking(tmp_path: Path) -> None:
    file = choice_tsv(tmp_path / "q.tsv", 4)
    with Server(right) as server:
        first = eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        file.write_text(
            file.read_text().replace("four\tD\t", "four\tA\t", 1).replace("four\tA\teven", "four\tB\teven", 1)
        )
        second = eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        assert len(server.asked) == 4
    assert first.json["score"] == 1.0
    assert second.json["score"] == 0.5


@pytest.mark.slow
def test_the_requests_of_killed_starts_are_counted(tmp_path: Path) -> None:
    choice_tsv(tmp_path / "q.tsv", N)
    with Server(mostly_right) as server:
        process = start(*run_arguments(server, "out"), cwd=tmp_path)
        while len(server.asked) < 40:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done = eyechart(*run_arguments(server, "out"), cwd=tmp_path)
        # What was under way at the kill was never written down, nor were its requests.
        assert N <= done.json["requests"]["sent"] <= len(server.asked)
