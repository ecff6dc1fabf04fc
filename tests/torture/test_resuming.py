"""Runs that go on otherwise than they began: at another pace, with fewer servers, with more to spend."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torture.endpoint import Endpoint
from torture.harness import CONCURRENCY, Case, Disturbed, Moment, after_answers
from torture.workloads import CHOICE, JUDGED, ROUNDS, TRIALS, Workload

# -- at another pace -------------------------------------------------------------------------------


def kill_at_every_pace(run: Disturbed) -> None:
    """Each start has another number of requests under way."""
    for n_at_once in (2, 16, 1):
        run.flags = ("--concurrency", str(n_at_once))
        assert run.kill(after_answers(4))
    run.flags = ("--concurrency", "32", "--no-adapt")
    run.finish()


@pytest.mark.slow
def test_another_concurrency(run: Disturbed) -> None:
    kill_at_every_pace(run)


@pytest.mark.torture
@pytest.mark.parametrize("workload", [TRIALS, JUDGED, ROUNDS], ids=lambda workload: workload.name)
def test_another_concurrency_in_any_workload(tmp_path: Path, workload: Workload) -> None:
    with Endpoint(tmp_path) as endpoint:
        kill_at_every_pace(Disturbed(Case(tmp_path, workload, endpoint), "disturbed"))


# Refusals are spread over the whole run; one that is told to wait for whole seconds would be killed first.
STORMS: dict[str, dict[str, Any]] = {
    "rate": {"max_rps": 30.0, "burst": 4.0, "retry_after_s": 0.1},
    "few at once": {"max_in_flight": 2, "retry_after_s": 0.05},
    "503, unsaid": {"max_in_flight": 3, "over_limit": "503", "retry_after_form": "none"},
}


def kill_in_a_storm(run: Disturbed, storm: str, kills: int) -> None:
    """The limit has adapted to the storm by then, and begins anew; the storm is over after the last kill."""
    endpoint = run.case.endpoint
    endpoint.control(**STORMS[storm])
    for _ in range(kills):
        assert run.kill(after_answers(5))
    refused = [entry for entry in run.asked if entry.kind in {"429", "503"}]
    assert len(refused) >= kills, "there was no storm"
    endpoint.reset()
    run.finish()


@pytest.mark.slow
def test_killed_in_a_storm_of_refusals(run: Disturbed) -> None:
    kill_in_a_storm(run, "few at once", kills=2)


@pytest.mark.torture
@pytest.mark.parametrize("storm", STORMS)
@pytest.mark.parametrize("workload", [CHOICE, JUDGED], ids=lambda workload: workload.name)
def test_killed_in_any_storm(tmp_path: Path, workload: Workload, storm: str) -> None:
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, workload, endpoint, flags=("--concurrency", "24"))
        _ = case.undisturbed
        kill_in_a_storm(Disturbed(case, "disturbed"), storm, kills=3)


# -- several servers -------------------------------------------------------------------------------


@contextmanager
def served_thrice(folder: Path, workload: Workload) -> Iterator[Case]:
    """One model at three addresses."""
    for name in ("second", "third"):
        (folder / name).mkdir()
    with (
        Endpoint(folder) as first,
        Endpoint(folder / "second") as second,
        Endpoint(folder / "third") as third,
    ):
        yield Case(folder, workload, first, others=(second, third))


@pytest.mark.slow
def test_one_of_several_servers_dies(tmp_path: Path) -> None:
    """The run ends well by itself, as if nothing had happened; only what the dead one had is asked again."""
    with served_thrice(tmp_path, replace(CHOICE, n=48)) as case:
        _ = case.undisturbed
        run = Disturbed(case, "disturbed", may_repeat=CONCURRENCY)
        process = run.start()
        after_answers(8)(process, run)
        dead = case.others[0]
        dead.control(dead=True)
        done = run.end(process)
        run.compare(done)


def after_death_of(server: Endpoint) -> Moment:
    """When one of the servers has been dead for some answers of the others."""

    def wait(process: subprocess.Popen[str], run: Disturbed) -> None:
        after_answers(3)(process, run)
        server.control(dead=True)
        after_answers(8)(process, run)

    return wait


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workload", [CHOICE, TRIALS, JUDGED, ROUNDS], ids=lambda workload: workload.name)
def test_servers_die_and_return_while_the_run_is_killed(tmp_path: Path, workload: Workload) -> None:
    """Another one is dead at every start; at the last, one dies, and returns while the others work."""
    with served_thrice(tmp_path, workload) as case:
        _ = case.undisturbed
        servers = (case.endpoint, *case.others)
        run = Disturbed(case, "disturbed", may_repeat=4 * CONCURRENCY * workload.trials)
        # The judge is served at the first address alone: it may not be the dead one for long.
        for dead in servers[1:] if workload.has_judge else servers:
            run.kill(after_death_of(dead))
            dead.control(dead=False)
        process = run.start()
        after_answers(2)(process, run)
        servers[2].control(dead=True)
        time.sleep(0.3)
        servers[2].control(dead=False)
        run.compare(run.end(process))


# -- with more to spend ----------------------------------------------------------------------------

TOKENS = 11  # of every answer, as the server counts


def spend(run: Disturbed, *limits: int) -> None:
    """Each limit is kept over all starts together, and with the last one gone the run ends as any other."""
    for limit in limits:
        run.flags = ("--max-total-tokens", str(limit))
        done = run.go_on()
        assert done.code == 1, done.err
        assert f"--max-total-tokens {limit} is reached" in done.err
        assert "higher limit" in done.err
        n_answers = len(run.on_disk.committed)
        assert n_answers == run.given.total(), "an answer that was paid for is not there"
        assert (n_answers + 1) * TOKENS > limit, "there was room for another answer"
        assert n_answers * TOKENS <= limit, "more was spent than was allowed"
        assert done.json["pending"] > 0
        n_asked = len(run.asked)
        assert run.go_on().code == 1
        assert len(run.asked) == n_asked, "the same limit allows nothing more"
    run.flags = ("--max-total-tokens", "1000000")
    run.finish()


@pytest.mark.slow
def test_a_limit_is_reached_and_raised(run: Disturbed) -> None:
    spend(run, 100)


@pytest.mark.torture
@pytest.mark.parametrize("workload", [CHOICE, JUDGED, ROUNDS], ids=lambda workload: workload.name)
def test_limits_are_reached_and_raised_in_any_workload(tmp_path: Path, workload: Workload) -> None:
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, workload, endpoint)
        _ = case.undisturbed
        spend(Disturbed(case, "disturbed"), 100, 350)


@pytest.mark.torture
def test_what_a_killed_run_has_kept_counts_against_the_limit(run: Disturbed) -> None:
    run.flags = ("--max-total-tokens", "180")
    run.case.endpoint.control(latency_s=0.1)  # the first answers are on disk when the second ones come
    assert run.kill(after_answers(10))
    assert run.on_disk.replies
    done = run.go_on()
    assert done.code == 1, done.err
    assert len(run.on_disk.replies) == 180 // TOKENS
    run.flags = ()
    run.finish()
