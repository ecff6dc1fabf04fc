"""Many calls at once."""

import threading
import time
from pathlib import Path

import pytest

from eyechart.compat.vlmeval.smp import dump, load
from eyechart.errors import UsageError
from eyechart.pipelines.vlmevalkit.vlmeval.bridge import track_progress_rich


def double(number: int, plus: int = 0) -> int:
    time.sleep(0.001 * (5 - number))  # the first ends last
    return 2 * number + plus


def test_results_come_in_the_order_of_the_tasks(tmp_path: Path) -> None:
    tasks = [(0,), [1, 1], {"number": 2, "plus": 2}, 3]
    assert track_progress_rich(double, tasks, nproc=4, chunksize=2, desc="sums") == [0, 3, 6, 6]
    assert track_progress_rich(double, []) == []


def test_results_are_kept_beside_those_of_earlier_times(tmp_path: Path) -> None:
    file = tmp_path / "tmp.pkl"
    dump({"a": 7}, file)
    track_progress_rich(double, [(1,), (2,)], nproc=2, save=file, keys=["b", 3])
    assert load(file) == {"a": 7, "b": 2, 3: 4}


def test_what_is_done_is_kept_when_a_call_fails(tmp_path: Path) -> None:
    def call(number: int) -> int:
        if number == 2:
            raise ValueError("no")
        return number

    with pytest.raises(ValueError, match="no"):
        track_progress_rich(call, [(1,), (2,), (3,)], nproc=1, save=tmp_path / "t.pkl", keys=[1, 2, 3])
    assert load(tmp_path / "t.pkl")[1] == 1
    assert 2 not in load(tmp_path / "t.pkl")


@pytest.mark.slow
def test_calls_in_flight_are_kept_when_another_fails(tmp_path: Path) -> None:
    together, begun = threading.Barrier(4, timeout=10), []

    def call(number: int) -> int:
        begun.append(number)
        if number < 4:
            together.wait()
        if number == 0:
            raise ValueError("no")
        time.sleep(0.05 * number)  # it ends after the one that fails
        return number

    tasks = [(number,) for number in range(40)]
    with pytest.raises(ValueError, match="no"):
        track_progress_rich(call, tasks, nproc=4, save=tmp_path / "t.pkl", keys=range(40))
    kept = load(tmp_path / "t.pkl")
    assert sorted(kept) == sorted(set(begun) - {0})
    assert {1, 2, 3} <= kept.keys()
    assert len(begun) < 40


def test_as_many_at_once_as_asked() -> None:
    together = threading.Barrier(3, timeout=10)
    assert track_progress_rich(lambda: bool(together.wait() + 1), [()] * 3, nproc=3) == [True] * 3


def test_a_key_a_task() -> None:
    with pytest.raises(UsageError, match="1 tasks and 2 keys"):
        track_progress_rich(double, [(1,)], keys=[1, 2])
