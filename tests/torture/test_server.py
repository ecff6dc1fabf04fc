"""Servers that die, break off, babble and refuse: a failure is no answer, and in the end all is there."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from torture import journal
from torture.endpoint import Endpoint, each
from torture.harness import CONCURRENCY, Case, Disturbed, after_answers
from torture.workloads import ALL, CHOICE, JUDGED, ROUNDS, TRIALS, Workload

BODIES = ("truncated", "invalid-json", "empty-choices", "null-content", "empty-body")
SILENCES = ("slow-loris", "hang")
WIRES = ("reset", *SILENCES)
REFUSALS = ("500", "503", "429")
EVERY = (*BODIES, *WIRES, *REFUSALS)
SMALL = replace(CHOICE, n=24)
# Tries often, and waits for no answer for long; but longer than a busy machine keeps a good one waiting.
PATIENT = ("--retries", "20", "--timeout", "3")


# -- each kind of failure alone --------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.parametrize("kind", EVERY)
def test_a_failure_of_each_kind_is_tried_again(run: Disturbed, kind: str) -> None:
    """All that is under way at first fails; the server answers whatever comes after."""
    run.flags = PATIENT
    run.case.endpoint.control(fail_first_kind=kind, fail_first_n=CONCURRENCY, retry_after_s=0.1)
    done = run.go_on()
    assert Counter(entry.kind for entry in run.asked)[kind] == CONCURRENCY
    run.compare(done)


@pytest.mark.torture
@pytest.mark.parametrize("kind", EVERY)
def test_a_server_that_often_fails_in_one_way(run: Disturbed, kind: str) -> None:
    run.flags = PATIENT
    run.case.endpoint.control(failures={kind: 0.3}, retry_after_s=0.1)
    done = run.go_on()
    assert kind in {entry.kind for entry in run.asked}
    run.compare(done)


@pytest.mark.slow
def test_one_moment_of_silence_is_no_death(run: Disturbed) -> None:
    run.flags, run.longest_s = ("--timeout", "3"), 30
    run.case.endpoint.control(fail_first_kind="hang", fail_first_n=CONCURRENCY)
    run.finish()


@pytest.mark.torture
def test_answers_that_drip_are_answers(tmp_path: Path) -> None:
    with Endpoint(tmp_path, loris_s=0.3) as endpoint:
        case = Case(tmp_path, CHOICE, endpoint)
        _ = case.undisturbed
        endpoint.control(failures={"slow-loris": 0.5})
        Disturbed(case, "disturbed").finish()


# -- all of them together --------------------------------------------------------------------------


@pytest.mark.slow
def test_every_kind_of_failure_amid_the_others(run: Disturbed) -> None:
    run.flags = PATIENT
    run.case.endpoint.control(failures=each(EVERY, 0.4), seed=7908, retry_after_s=0.1)  # dice that meet all
    done = run.go_on()
    assert {entry.kind for entry in run.asked} == {"ok", *EVERY}
    run.compare(done)


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_three_in_ten_requests_fail_somehow(tmp_path: Path, workload: Workload) -> None:
    with Endpoint(tmp_path, loris_finishes=False, retry_after_s=0.1, latency_jitter_s=0.02) as endpoint:
        case = Case(tmp_path, workload, endpoint, flags=PATIENT)
        _ = case.undisturbed
        endpoint.control(failures=each(EVERY, 0.3))
        Disturbed(case, "disturbed").finish()


def fail_for_good(run: Disturbed, kinds: Sequence[str]) -> None:
    """What fails whenever it is asked ends as a failure, is no answer anywhere, and is asked next time."""
    case, endpoint = run.case, run.case.endpoint
    # Refused for now, a request tries ten times as often as any other: it is not told to wait for long.
    endpoint.control(failures=each(kinds, 0.3), sticky=True, retry_after_s=0.01)
    done = run.go_on()
    assert done.code == 1, done.err
    now = run.on_disk
    failed = {entry.words for entry in run.asked if entry.kind in kinds}
    assert failed
    assert not failed & set(now.words.values()), "a failure was kept as an answer"
    assert not now.unsettled(), "neither answered nor failed"
    assert len(now.replies) + len(now.failures) == case.workload.n_replies
    if not case.workload.has_judge:  # where a judge failed, the reply is there and its verdict waits
        assert done.json["outcomes"]["failed"] == len(now.failures) > 0
        assert done.json["coverage"] == pytest.approx(len(now.replies) / case.workload.n_replies)
    endpoint.control(failures={})
    run.finish()


@pytest.mark.slow
def test_what_fails_for_good_is_a_failure(run: Disturbed) -> None:
    run.flags = ("--retries", "1")
    fail_for_good(run, (*BODIES, "reset", *REFUSALS))


@pytest.mark.torture
@pytest.mark.parametrize("kind", EVERY)
def test_what_fails_for_good_in_one_way_is_a_failure(run: Disturbed, kind: str) -> None:
    run.flags, run.longest_s = ("--retries", "1", "--timeout", "0.5"), 25
    fail_for_good(run, [kind])


@pytest.mark.torture
@pytest.mark.parametrize("workload", [TRIALS, JUDGED, ROUNDS], ids=lambda workload: workload.name)
def test_what_fails_for_good_in_any_workload_is_a_failure(tmp_path: Path, workload: Workload) -> None:
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, workload, endpoint, flags=("--retries", "1"))
        _ = case.undisturbed
        fail_for_good(Disturbed(case, "disturbed"), (*BODIES, "reset", *REFUSALS))


# -- limits ----------------------------------------------------------------------------------------

STORMS: dict[str, dict[str, Any]] = {
    "rate": {"max_rps": 30.0, "burst": 4.0},
    "rate, with dates": {"max_rps": 30.0, "burst": 4.0, "retry_after_form": "date"},
    "rate, unsaid": {"max_rps": 30.0, "burst": 4.0, "retry_after_form": "none"},
    "few at once": {"max_in_flight": 2, "retry_after_s": 0.1},
    "few at once, unsaid, 503": {"max_in_flight": 3, "over_limit": "503", "retry_after_form": "none"},
    "every second": {"failures": {"429": 0.5}, "retry_after_s": 0.05},
}


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("storm", STORMS)
def test_a_storm_of_refusals_is_sat_out(tmp_path: Path, storm: str) -> None:
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, replace(CHOICE, n=64), endpoint, flags=("--retries", "40"))
        _ = case.undisturbed
        endpoint.control(**STORMS[storm])
        Disturbed(case, "disturbed").finish()


# -- a server that dies ----------------------------------------------------------------------------


def survive(run: Disturbed, away_s: float) -> None:
    """The server dies amid the run and returns: the run goes on, or ends with code 1 and is started again."""
    case, endpoint = run.case, run.case.endpoint
    run.may_repeat = CONCURRENCY * case.workload.trials
    process = run.start()
    after_answers(case.workload.n_replies // 3 // case.workload.trials)(process, run)
    endpoint.control(dead=True)
    time.sleep(away_s)
    endpoint.control(dead=False)
    done = run.end(process)
    if done.code != 0:
        assert done.code == 1, done.err
        assert "run the same command again" in done.err
        run.finish()
    else:
        run.compare(done)


@pytest.mark.slow
def test_a_server_that_dies_and_returns(run: Disturbed) -> None:
    survive(run, away_s=0.3)


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("workload", "away_s"),
    [*((workload, 0.2) for workload in ALL), (CHOICE, 3.0), (JUDGED, 3.0)],
    ids=lambda value: value.name if isinstance(value, Workload) else f"{value:g} s",
)
def test_a_server_that_dies_and_returns_in_any_workload(
    tmp_path: Path, workload: Workload, away_s: float
) -> None:
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, workload, endpoint, flags=("--retries", "2"))
        _ = case.undisturbed
        survive(Disturbed(case, "disturbed"), away_s)


@pytest.mark.torture
def test_a_server_that_is_killed_and_started_again(tmp_path: Path) -> None:
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, CHOICE, endpoint, flags=("--retries", "20"))
        _ = case.undisturbed
        run = Disturbed(case, "disturbed", may_repeat=2 * CONCURRENCY)
        process = run.start()
        for share in (0.2, 0.6):
            after_answers(int(CHOICE.n * share))(process, run)
            endpoint.end()
            time.sleep(0.3)
            endpoint.start(endpoint.port)
        run.compare(run.end(process))


@pytest.mark.torture
def test_a_server_that_stays_away_ends_the_run(tmp_path: Path) -> None:
    """With code 1 and one message; whatever had come in is there at the next start."""
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, replace(CHOICE, n=48), endpoint, flags=("--give-up-after", "4"))
        _ = case.undisturbed
        run = Disturbed(case, "disturbed", may_repeat=CONCURRENCY)
        process = run.start()
        after_answers(12)(process, run)
        endpoint.control(dead=True)
        done = run.end(process)
        assert done.code == 1, done.err
        assert "4 failures in a row" in done.err
        assert "run the same command again" in done.err
        assert done.json["outcomes"]["failed"] + done.json["pending"] > 0
        endpoint.control(dead=False)
        run.finish()


@pytest.mark.slow
def test_a_server_that_was_never_there_costs_nothing(tmp_path: Path) -> None:
    with Endpoint(tmp_path, dead=True) as endpoint:
        run = Disturbed(Case(tmp_path, SMALL, endpoint, flags=("--retries", "1")), "disturbed")
        done = run.go_on()
        assert done.code == 2
        assert "cannot connect" in done.err
        assert run.on_disk.replies == journal.Journal().replies
