"""kill -9 at random moments, over every workload: what was on disk stays, what was not is asked again."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from torture.endpoint import Endpoint, each
from torture.harness import CONCURRENCY, Case, Disturbed, after_answers, after_s, after_the_last
from torture.workloads import ALL, CHOICE, FILES, JUDGED, ROUNDS, TRIALS, Workload

GATHERED_S = 0.06  # answers are gathered for up to 10 ms: what came before the last ones is on disk


def kill_often(case: Case, *, seed: int, kills: int) -> Disturbed:
    """Kill one run again and again: on its way up and between two answers, then while it sums up."""
    rng = random.Random(seed)
    run = Disturbed(case, "killed")
    n_up, n_down = kills // 4, kills // 4
    few = max(4, case.workload.n // (2 * kills))
    moments = [after_s(rng.uniform(0.0, 0.5)) for _ in range(n_up)]
    moments += [
        after_answers(rng.randint(1, few), more_s=rng.uniform(0, 0.12)) for _ in range(kills - n_up - n_down)
    ]
    rng.shuffle(moments)
    moments += [after_the_last(rng.uniform(0, 0.15)) for _ in range(n_down)]
    for moment in moments:
        run.kill(moment)
    while run.kills < kills:  # some were too late
        run.kill(after_s(rng.uniform(0.0, 0.5)))
    return run


def was_worth_it(run: Disturbed) -> None:
    """The kills fell into the run, and each cost no more answers than were under way and being written."""
    assert run.kills_mid_run >= run.kills / 3, "the kills came too early or too late to prove anything"
    assert run.n_lost <= 2 * CONCURRENCY * run.kills * run.case.workload.trials


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_killed_again_and_again(tmp_path: Path, workload: Workload) -> None:
    with Endpoint(tmp_path, latency_s=GATHERED_S) as endpoint:
        run = kill_often(Case(tmp_path, workload, endpoint), seed=1, kills=9)
        run.finish()
    was_worth_it(run)


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workload", [FILES, TRIALS, JUDGED, ROUNDS], ids=lambda workload: workload.name)
def test_killed_while_the_server_fails(tmp_path: Path, workload: Workload) -> None:
    kinds = ["500", "503", "429", "truncated", "invalid-json", "empty-choices", "null-content", "empty-body"]
    with Endpoint(tmp_path, latency_s=GATHERED_S, retry_after_s=0.05) as endpoint:
        case = Case(tmp_path, workload, endpoint, flags=("--retries", "20"))
        _ = case.undisturbed
        endpoint.control(failures=each([*kinds, "reset"], 0.2))
        run = kill_often(case, seed=3, kills=8)
        run.finish()
    was_worth_it(run)


@pytest.mark.slow
@pytest.mark.parametrize("workload", [JUDGED, ROUNDS], ids=lambda workload: workload.name)
def test_killed_a_few_times(tmp_path: Path, workload: Workload) -> None:
    with Endpoint(tmp_path, latency_s=0.02) as endpoint:
        run = kill_often(Case(tmp_path, replace(workload, n=16), endpoint), seed=4, kills=3)
        run.finish()


@pytest.mark.slow
def test_killed_once(tmp_path: Path) -> None:
    with Endpoint(tmp_path, latency_s=0.02) as endpoint:
        run = Disturbed(Case(tmp_path, replace(CHOICE, n=16), endpoint), "killed")
        assert run.kill(after_answers(6))
        run.finish()
