"""A wall clock that jumps years between two looks at it: results, order and resuming are unharmed."""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from torture import jumping
from torture.endpoint import Endpoint
from torture.harness import Case, Disturbed, after_answers
from torture.workloads import CHOICE, FILES, JUDGED, ROUNDS, TRIALS, Workload

PROGRAM = (jumping.__file__,)


def jump_and_kill(case: Case, kills: int) -> Disturbed:
    """Kill it a few times under the jumping clock, with files that seem to come from the past or future."""
    rng = random.Random(6)
    run = Disturbed(case, "jumped", program=PROGRAM)
    for _ in range(kills):
        run.kill(after_answers(rng.randint(2, 12)))
        for path in case.folder.glob("q.*"):
            at = time.time() + rng.choice([-1e8, 1e8])
            os.utime(path, (at, at))
    return run


@pytest.mark.slow
def test_a_clock_that_jumps(tmp_path: Path) -> None:
    with Endpoint(tmp_path) as endpoint:
        run = jump_and_kill(Case(tmp_path, replace(CHOICE, n=24), endpoint), kills=1)
        run.finish()
    with contextlib.closing(sqlite3.connect(run.file)) as db:
        [(first, last)] = db.execute("SELECT min(at), max(at) FROM replies")
    assert last - first > 365 * 86_400, "the clock did not jump, so nothing was proven"


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workload", [FILES, TRIALS, JUDGED, ROUNDS], ids=lambda workload: workload.name)
def test_a_clock_that_jumps_in_any_workload(tmp_path: Path, workload: Workload) -> None:
    with Endpoint(tmp_path) as endpoint:
        run = jump_and_kill(Case(tmp_path, workload, endpoint), kills=2)
        run.finish()


@pytest.mark.torture
def test_dates_to_wait_for_are_read_by_a_clock_that_jumps(tmp_path: Path) -> None:
    """A wrong clock may wait too short or too long for a date in `Retry-After`, but loses nothing."""
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, replace(CHOICE, n=24), endpoint, flags=("--retries", "40"))
        _ = case.undisturbed
        endpoint.control(max_rps=20.0, burst=4.0, retry_after_form="date")
        Disturbed(case, "jumped", program=PROGRAM).finish()
