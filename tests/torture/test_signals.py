"""Runs that are asked to end: they end cleanly, lose nothing that came in, and go on at the next start."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import time
from pathlib import Path

import pytest

from torture.endpoint import Endpoint
from torture.harness import Case, Disturbed, after_answers, after_s
from torture.workloads import ALL, CHOICE, ROUNDS, TRIALS, Workload


def end_by_signal(run: Disturbed, number: signal.Signals, *, times: int = 1) -> None:
    """One signal in the middle: code 130, a report of what is there, and every answer that was given kept."""
    process = run.start()
    after_answers(4)(process, run)
    for _ in range(times):
        process.send_signal(number)
        time.sleep(0.02)  # else the system makes one of two
    done = run.end(process)
    assert done.code == 130, done.err
    assert "run the same command again" in done.err
    assert done.json["pending"] > 0
    assert run.n_lost == 0, "answers under way are waited for"
    run.finish()
    assert run.n_lost == 0


@pytest.mark.slow
def test_sigterm_ends_it_cleanly(run: Disturbed) -> None:
    run.case.endpoint.control(latency_s=0.1)  # so that the signal comes before the last answer
    end_by_signal(run, signal.SIGTERM)


@pytest.mark.slow
def test_a_closed_session_ends_it_cleanly(run: Disturbed) -> None:
    run.case.endpoint.control(latency_s=0.1)
    end_by_signal(run, signal.SIGHUP, times=2)  # by the system and by the shell


@pytest.mark.slow
def test_a_run_that_shall_outlive_its_terminal_does(run: Disturbed) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does, for what is started now
    try:
        process = run.start()
    finally:
        signal.signal(signal.SIGHUP, before)
    after_answers(4)(process, run)
    process.send_signal(signal.SIGHUP)
    assert run.end(process).code == 0


@pytest.mark.slow
def test_a_terminal_that_is_closed_leaves_the_answers_and_the_exit_code(run: Disturbed) -> None:
    run.case.endpoint.control(latency_s=0.1)
    ours, theirs = pty.openpty()
    process = run.start(theirs)
    os.close(theirs)
    after_answers(4)(process, run)
    os.close(ours)
    assert process.wait(60) == 130
    run.check()
    assert run.n_lost == 0, "answers under way are waited for"
    run.finish()


@pytest.mark.torture
@pytest.mark.parametrize(
    ("workload", "number"),
    [
        *((workload, signal.SIGTERM) for workload in ALL),
        *((workload, number) for workload in (CHOICE, ROUNDS) for number in (signal.SIGINT, signal.SIGHUP)),
    ],
    ids=lambda value: value.name,
)
def test_one_signal_ends_it_cleanly(tmp_path: Path, workload: Workload, number: signal.Signals) -> None:
    with Endpoint(tmp_path) as endpoint:
        end_by_signal(Disturbed(Case(tmp_path, workload, endpoint), "ended"), number)


@pytest.mark.slow
def test_a_second_signal_ends_it_at_once(run: Disturbed) -> None:
    endpoint = run.case.endpoint
    run.kill(after_answers(6))
    endpoint.control(latency_s=30)
    process = run.start()
    while endpoint.stats()["in_flight"] == 0:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    done = run.end(process)
    assert time.monotonic() - began < 5
    assert done.code == 130
    endpoint.control(latency_s=0.03)
    run.finish()


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workload", [CHOICE, TRIALS], ids=lambda workload: workload.name)
def test_signals_at_any_moment_do_no_harm(tmp_path: Path, workload: Workload) -> None:
    """Also before the run has begun and after it has ended, where Python itself deals with them."""
    rng = random.Random(5)
    with Endpoint(tmp_path) as endpoint:
        run = Disturbed(Case(tmp_path, workload, endpoint), "ended")
        for _ in range(8):
            process = run.start()
            after_s(rng.uniform(0.05, 0.9))(process, run)
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=30)
            assert process.returncode in (0, 130, -signal.SIGTERM)
            if process.returncode != -signal.SIGTERM:
                assert json.loads(out)["n"] == workload.n
            run.check()
        run.finish()
