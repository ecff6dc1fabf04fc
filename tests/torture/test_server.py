"""Servers that die, break off, babble and refuse: a failure is no answer, and in the end all is there."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
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
SMALL = replace(CHOICE, n=24)
NEVER = ("--give-up-after", "1000")  # these servers live, however it looks

# A reply without any content is kept as an empty answer (model/completion.py), so the sample counts as
# answered and unparsed where a second try would have brought the answer.
NULL_CONTENT = pytest.mark.xfail(strict=True, reason="null content is kept as an empty answer")


# Silences of requests that were under way together count one by one (engine/endpoints.py): eight of them
# are a dead endpoint, and seven make it rest for 30 s.
TOGETHER = pytest.mark.xfail(strict=True, reason="silences that come together count one by one")


def kinds(names: Sequence[str]) -> list[Any]:
    return [pytest.param(name, marks=[NULL_CONTENT] if name == "null-content" else []) for name in names]


def patient(timeout_s: float = 0.5) -> tuple[str, ...]:
    """Flags of somebody who waits for no answer for long, but tries often."""
    return ("--retries", "20", "--timeout", f"{timeout_s:g}", *NEVER)


# -- each kind of failure alone --------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Case]:
    """One small workload, run once undisturbed for all the tests that disturb it."""
    folder = tmp_path_factory.mktemp("small")
    with Endpoint(folder, loris_finishes=False, retry_after_s=0.1) as endpoint:
        case = Case(folder, SMALL, endpoint, flags=patient())
        _ = case.undisturbed
        yield case


@pytest.mark.slow
@pytest.mark.parametrize("kind", kinds([*BODIES, *WIRES, *REFUSALS]))
def test_a_failure_of_each_kind_is_tried_again(small: Case, kind: str) -> None:
    n_failures = 2 if kind in SILENCES else CONCURRENCY  # after three silences it is left alone for a while
    small.endpoint.control(fail_first_n=0)  # so that it counts anew
    small.endpoint.control(fail_first_kind=kind, fail_first_n=n_failures)
    run = Disturbed(small, kind)
    done = run.go_on()
    met = Counter(entry.kind for entry in run.asked)
    assert met[kind] == n_failures
    run.compare(done)


@pytest.mark.torture
@pytest.mark.parametrize("kind", kinds([*BODIES, *WIRES, *REFUSALS]))
def test_a_server_that_often_fails_in_one_way(tmp_path: Path, kind: str) -> None:
    with Endpoint(tmp_path, loris_finishes=False, retry_after_s=0.1) as endpoint:
        case = Case(tmp_path, replace(CHOICE, n=48), endpoint, flags=patient())
        _ = case.undisturbed
        endpoint.control(failures={kind: 0.3})
        Disturbed(case, "disturbed").finish()


@pytest.mark.torture
def test_answers_that_drip_are_answers(tmp_path: Path) -> None:
    with Endpoint(tmp_path, loris_s=0.3) as endpoint:
        case = Case(tmp_path, CHOICE, endpoint)
        _ = case.undisturbed
        endpoint.control(failures={"slow-loris": 0.5})
        Disturbed(case, "disturbed").finish()


# -- all of them together --------------------------------------------------------------------------


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workload", ALL, ids=lambda workload: workload.name)
def test_three_in_ten_requests_fail_somehow(tmp_path: Path, workload: Workload) -> None:
    mix = [kind for kind in (*BODIES, *WIRES, *REFUSALS) if kind != "null-content"]
    with Endpoint(tmp_path, loris_finishes=False, retry_after_s=0.1, latency_jitter_s=0.02) as endpoint:
        case = Case(tmp_path, workload, endpoint, flags=patient())
        _ = case.undisturbed
        endpoint.control(failures=each(mix, 0.3))
        Disturbed(case, "disturbed").finish()


def fail_for_good(case: Case, kinds: Sequence[str], longest_s: float = 60.0) -> None:
    """What fails whenever it is asked ends as a failure, is no answer anywhere, and is asked next time."""
    endpoint, run = case.endpoint, Disturbed(case, "disturbed", longest_s=longest_s)
    _ = case.undisturbed
    endpoint.control(failures=each(kinds, 0.3), sticky=True)
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
def test_what_fails_for_good_is_a_failure(tmp_path: Path) -> None:
    mix = [kind for kind in (*BODIES, "reset", *REFUSALS) if kind != "null-content"]
    with Endpoint(tmp_path, retry_after_s=0.1) as endpoint:
        fail_for_good(Case(tmp_path, SMALL, endpoint, flags=("--retries", "1", *NEVER)), mix)


@pytest.mark.slow
@TOGETHER
def test_one_moment_of_silence_is_no_death(small: Case) -> None:
    """All requests under way are met with silence once; the server answers whatever comes after."""
    small.endpoint.control(fail_first_n=0)
    small.endpoint.control(fail_first_kind="hang", fail_first_n=CONCURRENCY)
    run = Disturbed(replace(small, flags=("--timeout", "0.5")), "silence", longest_s=20)
    done = run.go_on()
    assert done.code == 0, done.err


@pytest.mark.torture
@pytest.mark.parametrize(
    "kind",
    [*kinds([*BODIES, "reset", *REFUSALS]), *(pytest.param(kind, marks=TOGETHER) for kind in SILENCES)],
)
def test_what_fails_for_good_in_one_way_is_a_failure(tmp_path: Path, kind: str) -> None:
    flags = ("--retries", "1", "--timeout", "0.5", *NEVER)
    with Endpoint(tmp_path, loris_finishes=False, retry_after_s=0.1) as endpoint:
        fail_for_good(Case(tmp_path, SMALL, endpoint, flags=flags), [kind], longest_s=25)


@pytest.mark.torture
@pytest.mark.parametrize("workload", [TRIALS, JUDGED, ROUNDS], ids=lambda workload: workload.name)
def test_what_fails_for_good_in_any_workload_is_a_failure(tmp_path: Path, workload: Workload) -> None:
    mix = [kind for kind in (*BODIES, "reset", *REFUSALS) if kind != "null-content"]
    with Endpoint(tmp_path, retry_after_s=0.1) as endpoint:
        fail_for_good(Case(tmp_path, workload, endpoint, flags=("--retries", "1", *NEVER)), mix)


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


def survive(case: Case, away_s: float) -> Disturbed:
    """The server dies amid the run and returns: the run goes on, or ends with code 1 and is started again."""
    endpoint = case.endpoint
    _ = case.undisturbed
    run = Disturbed(case, "disturbed", may_repeat=CONCURRENCY * case.workload.trials)
    process = run.start()
    after_answers(case.workload.n_replies // 3 // case.workload.trials)(process, run)
    endpoint.control(dead=True)
    time.sleep(away_s)
    endpoint.control(dead=False)
    done = run.end(process)
    if done.code != 0:
        assert done.code == 1, done.err
        assert "start the same command again" in done.err
        run.finish()
    else:
        run.compare(done)
    return run


@pytest.mark.slow
def test_a_server_that_dies_and_returns(tmp_path: Path) -> None:
    with Endpoint(tmp_path) as endpoint:
        survive(Case(tmp_path, SMALL, endpoint, flags=("--retries", "20")), away_s=0.4)


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("workload", "away_s"),
    [*((workload, 0.2) for workload in ALL), (CHOICE, 3.0), (JUDGED, 3.0), (ROUNDS, 3.0)],
    ids=lambda value: value.name if isinstance(value, Workload) else f"{value:g} s",
)
def test_a_server_that_dies_and_returns_in_any_workload(
    tmp_path: Path, workload: Workload, away_s: float
) -> None:
    with Endpoint(tmp_path) as endpoint:
        survive(Case(tmp_path, workload, endpoint, flags=("--retries", "2")), away_s)


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


@pytest.mark.slow
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
        assert "start the same command again" in done.err
        assert done.json["outcomes"]["failed"] + done.json["pending"] > 0
        endpoint.control(dead=False)
        run.finish()


def test_a_server_that_was_never_there_costs_nothing(tmp_path: Path) -> None:
    with Endpoint(tmp_path, dead=True) as endpoint:
        run = Disturbed(Case(tmp_path, SMALL, endpoint, flags=("--retries", "1")), "disturbed")
        done = run.go_on()
        assert done.code == 2
        assert "cannot connect" in done.err
        assert run.on_disk.replies == journal.Journal().replies
