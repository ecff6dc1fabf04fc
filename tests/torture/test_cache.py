"""kill -9 while the response cache is written: it opens again, gives true answers, and changes no report."""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
import subprocess
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from torture.endpoint import Endpoint, good_answer
from torture.harness import Case, Disturbed, Moment, after_the_last
from torture.workloads import CHOICE, CIRCULAR, JUDGED, TRIALS, Workload


def when(holds: Callable[[Disturbed], bool], more_s: float = 0.0) -> Moment:
    """As soon as it is so; without a pause between two looks, for a transaction takes no longer."""

    def wait(process: subprocess.Popen[str], run: Disturbed) -> None:
        while process.poll() is None and not holds(run):
            pass
        time.sleep(more_s)

    return wait


def is_there(run: Disturbed) -> bool:
    return run.cache_file.exists()


def grows() -> Callable[[Disturbed], bool]:
    """Whether its log changes once there are answers: a group of replies is being written."""
    seen: list[tuple[int, int]] = []

    def look(run: Disturbed) -> bool:
        if run.case.logs.n_answered(run.since) == 0:
            return False  # what is written before are the tables
        log = run.cache_file.with_name(f"{run.cache_file.name}-wal")
        with contextlib.suppress(FileNotFoundError):
            seen.append((log.stat().st_size, log.stat().st_mtime_ns))
        return bool(seen) and seen[-1] != seen[0]

    return look


def texts(run: Disturbed) -> list[str]:
    """What the cache holds, read from a copy by plain SQL; fails if the file or an entry is damaged."""
    place = run.cache_file.with_name("copy")
    for suffix in ("", "-wal"):
        place.with_name(place.name + suffix).unlink(missing_ok=True)
        with contextlib.suppress(FileNotFoundError):
            shutil.copy(f"{run.cache_file}{suffix}", f"{place}{suffix}")
    if not place.exists():
        return []
    with contextlib.closing(sqlite3.connect(place)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            return []  # killed before the tables were laid out
        found = []
        for key, crc, body in db.execute("SELECT key, crc, body FROM replies"):
            assert zlib.crc32(body, zlib.crc32(key)) == crc, "an entry with another's body"
            found.append(json.loads(body)["text"])
    return found


def kill_while_it_is_written(run: Disturbed, *, seed: int, kills: int) -> None:
    """Killed while the file is made, while replies go into it, and while it is closed at the end."""
    rng = random.Random(seed)
    moments = [when(is_there, more_s=rng.uniform(0, 0.01))]
    moments += [when(grows(), more_s=rng.choice([0.0, 0.0, rng.uniform(0, 0.004)])) for _ in range(kills - 2)]
    for moment in [*moments, after_the_last(rng.uniform(0, 0.1))]:
        run.kill(moment)
        given: Counter[str] = Counter()
        for words, n in run.given.items():
            given[good_answer(words)] += n
        assert Counter(texts(run)) <= given, "the cache holds what no server said"


def is_used_by_another(run: Disturbed) -> None:
    """Another run asks the same: what is in the cache is not asked again, and the report is the same."""
    kept = texts(run)
    assert kept, "nothing had been written, so nothing was proven"
    other = Disturbed(run.case, "another", cache=run.out, given=Counter(run.given))
    done = other.go_on()
    assert len(other.on_disk.committed) == len(kept) + sum(entry.choices for entry in other.asked)
    other.compare(done)
    run.given = Counter(other.given)  # what the other one asked is in the cache now, for this one to find


def stays_in_use(run: Disturbed) -> None:
    """None of the kills made it a file to be set aside."""
    names = {path.name.removeprefix(run.cache_file.name) for path in run.cache_file.parent.iterdir()}
    assert names == {"", "copy"}, "the cache was left open, or set aside as damaged"


@pytest.mark.slow
def test_killed_while_the_cache_is_written(tmp_path: Path) -> None:
    with Endpoint(tmp_path, latency_s=0.1) as endpoint:  # a group of replies is written every half second
        run = Disturbed(Case(tmp_path, replace(CHOICE, n=48), endpoint, has_cache=True), "killed")
        kill_while_it_is_written(run, seed=1, kills=3)
        endpoint.control(latency_s=0.01)
        is_used_by_another(run)
        run.finish()
        stays_in_use(run)


# Not ROUNDS: of a conversation the cache keeps the last answer with the earlier ones in it, so that a run
# which finds it has fewer rows in its journal than one which asked.
@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("workload", [CHOICE, TRIALS, CIRCULAR, JUDGED], ids=lambda workload: workload.name)
def test_killed_again_and_again_while_the_cache_is_written(tmp_path: Path, workload: Workload) -> None:
    with Endpoint(tmp_path, latency_s=0.15) as endpoint:
        run = Disturbed(Case(tmp_path, workload, endpoint, has_cache=True), "killed")
        kill_while_it_is_written(run, seed=2, kills=6)
        endpoint.control(latency_s=0.03)
        is_used_by_another(run)
        run.finish()
        stays_in_use(run)


@pytest.mark.torture
def test_killed_while_a_full_cache_makes_room(tmp_path: Path) -> None:
    """Of a size that holds few replies: others have to leave with every group that comes."""
    small = {"EYECHART_CACHE_SIZE": "30KB"}
    with Endpoint(tmp_path, latency_s=0.1) as endpoint:
        case = Case(tmp_path, CHOICE, endpoint, flags=("--concurrency", "4"), has_cache=True)
        run = Disturbed(case, "killed")
        for more_s in (0.0, 0.002, 0.01):
            assert run.kill(when(grows(), more_s), **small)
            texts(run)
        run.finish(**small)
        assert 0 < len(texts(run)) < CHOICE.n
        stays_in_use(run)
