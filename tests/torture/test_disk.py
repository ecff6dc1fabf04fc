"""Disks that fill up or cannot be written: one clear message, nothing lost; with room, on it goes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from support.command import Outcome
from torture.endpoint import Endpoint
from torture.harness import Case, Disturbed, after_answers
from torture.room import Room
from torture.workloads import CHOICE, JUDGED, ROUNDS, TRIALS, Workload

SMALL = replace(CHOICE, n=48)


def says_once(done: Outcome, *words: str) -> None:
    """One message on stderr, with these words and with what to do."""
    assert done.code in (1, 2)
    said = [
        line for line in done.err.splitlines() if line.startswith("eyechart: ")
    ]  # after findings in the data
    assert len(said) == done.err.count("eyechart: ") == 1, done.err
    assert "  hint: " in done.err, done.err
    for word in words:
        assert word in done.err, done.err


def run_in(room: Room, case: Case) -> Disturbed:
    """A run whose folder lies in the room. The path is one that works on either side of its door."""
    before = (*room.inside, "env", "-C", str(case.folder))
    return Disturbed(case, str(room.place / "runs"), before=before, place=room.seen / "runs")


def fill(case: Case, size_kb: int) -> int:
    """How many replies there were when the disk was full; with room made, all are there, none asked twice."""
    with Room(case.folder / f"room-{size_kb}", f"{size_kb}k") as room:
        run = run_in(room, case)
        done = run.go_on()
        n_kept = len(run.on_disk.replies)
        if done.code != 0:
            says_once(done, "full" if n_kept else "")
            says_once(run.go_on())  # still full, and still nothing is lost
        room.change("size=64m")
        run.finish()
        return n_kept


@pytest.mark.slow
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    with Endpoint(tmp_path, latency_s=0.1) as endpoint:  # several groups of answers, one after the other
        assert 0 < fill(Case(tmp_path, SMALL, endpoint), 200) < SMALL.n


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("workload", "sizes_kb"),
    [
        (CHOICE, (40, 100, 150, 200, 260, 340)),
        (TRIALS, (40, 260, 340)),
        (JUDGED, (40, 200, 260)),
        (ROUNDS, (40, 260, 340)),
    ],
    ids=lambda value: value.name if isinstance(value, Workload) else "",
)
def test_disks_of_many_sizes(tmp_path: Path, workload: Workload, sizes_kb: Sequence[int]) -> None:
    """From too small for the tables to too small for the last replies."""
    with Endpoint(tmp_path, latency_s=0.05) as endpoint:  # slow enough for several groups of answers
        case = Case(tmp_path, workload, endpoint)
        kept = [fill(case, size_kb) for size_kb in sizes_kb]
    assert kept[0] == 0
    assert any(0 < n < workload.n_replies for n in kept), "the sizes were all too small or too large"


@pytest.mark.torture
def test_a_disk_that_is_full_when_the_report_is_written(tmp_path: Path) -> None:
    """Answers that come at once are kept at once, or not at all; then there may be no room for the rest."""
    with Endpoint(tmp_path, latency_s=0.0) as endpoint:
        case = Case(tmp_path, CHOICE, endpoint)
        kept = [fill(case, size_kb) for size_kb in (260, 300, 340, 380, 1000)]
    assert kept[-1] == CHOICE.n_replies


@pytest.mark.torture
def test_a_file_that_may_not_grow(tmp_path: Path) -> None:
    """The limit that a shell or a scheduler sets: `ulimit -f`."""
    if shutil.which("prlimit") is None:
        pytest.skip("needs prlimit(1)")
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, SMALL, endpoint)
        run = Disturbed(case, "runs")
        for limit in (60_000, 120_000, 240_000):
            run.before = ("prlimit", f"--fsize={limit}")
            done = run.go_on()
            if limit == 60_000:
                assert done.code != 0
            if done.code != 0:
                says_once(done)
        run.before = ()
        run.finish()


@pytest.mark.slow
def test_a_read_only_disk_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    # So slow that the first answers are on disk when the second ones come, however busy the machine.
    with Room(tmp_path / "room", "8m") as room, Endpoint(tmp_path, latency_s=0.1) as endpoint:
        case = Case(tmp_path, SMALL, endpoint)
        run = run_in(room, case)
        room.change("ro")
        says_once(run.go_on(), "Read-only", "--out")
        room.change("rw")
        run.kill(after_answers(12))
        room.change("ro")
        says_once(run.go_on(), "--out")
        assert len(run.on_disk.replies) > 0
        room.change("rw")
        run.finish()


@pytest.mark.slow
def test_a_file_in_place_of_the_folder(small: Case) -> None:
    run = Disturbed(small, "taken")
    run.root.write_text("mine")
    since = small.endpoint.position()
    says_once(run.go_on(), "taken", "--out")
    assert not small.endpoint.entries(since)
    assert run.root.read_text() == "mine"
