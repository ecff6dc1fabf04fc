"""Work made ready ahead: all of it, within its budget, and no thread stays behind."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from eyechart.engine.prefetch import Prefetch
from eyechart.engine.prepare import Prepared
from eyechart.store.reader import Task
from support.parts import no_thread_left, sample


def tasks(n: int) -> Iterator[Task]:
    for k in range(n):
        yield Task(position=k, sample=sample(k), trial=0)


def sized(n_bytes: int) -> Callable[[Task], Prepared]:
    return lambda task: Prepared(task=task, n_bytes=n_bytes)


def prefetch(source: Iterator[Task], prepare: Callable[[Task], Prepared], **options: Any) -> Prefetch:
    usual: dict[str, Any] = {"n_threads": 2, "max_items": 8, "max_bytes": 1000}
    return Prefetch(source, prepare, **(usual | options))


def test_everything_arrives_once() -> None:
    async def drive() -> list[int]:
        ahead = prefetch(tasks(200), sized(10))
        found = []
        async for item in ahead:
            found.append(item.task.position)
            ahead.release(item)
        return found

    assert sorted(asyncio.run(drive())) == list(range(200))
    assert no_thread_left()


def test_an_empty_source_ends_at_once() -> None:
    async def drive() -> list[Prepared]:
        return [item async for item in prefetch(tasks(0), sized(1))]

    assert asyncio.run(drive()) == []
    assert no_thread_left()


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_bytes_in_flight_stay_within_the_budget_and_one_picture_a_thread(n_threads: int) -> None:
    size, budget = 100, 450
    lock = threading.Lock()
    held = peak = 0

    def prepare(task: Task) -> Prepared:
        nonlocal held, peak
        with lock:
            held += size
            peak = max(peak, held)
        return Prepared(task=task, n_bytes=size)

    async def drive() -> int:
        nonlocal held
        ahead = prefetch(tasks(100), prepare, n_threads=n_threads, max_items=1000, max_bytes=budget)
        kept: list[Prepared] = []
        seen = 0
        async for item in ahead:
            seen += 1
            kept.append(item)
            if len(kept) == 3:  # as requests do, let go some time after taking
                for one in kept:
                    with lock:
                        held -= size
                    ahead.release(one)
                kept.clear()
        return seen

    assert asyncio.run(drive()) == 100
    assert 3 * size <= peak <= budget + n_threads * size


def test_no_more_items_are_in_flight_than_allowed() -> None:
    made: list[int] = []

    def prepare(task: Task) -> Prepared:
        made.append(task.position)
        return Prepared(task=task)

    async def drive() -> None:
        ahead = prefetch(tasks(100), prepare, max_items=5)
        taken = 0
        async for item in ahead:
            taken += 1
            assert len(made) <= 5 + taken - 1
            ahead.release(item)

    asyncio.run(drive())
    assert len(made) == 100


def test_a_picture_larger_than_the_budget_still_goes() -> None:
    async def drive() -> int:
        ahead = prefetch(tasks(5), sized(10_000), max_bytes=1000)
        count = 0
        async for item in ahead:
            count += 1
            ahead.release(item)
        return count

    assert asyncio.run(drive()) == 5


def broken_source() -> Iterator[Task]:
    yield from tasks(3)
    raise LookupError("row 4")


def broken_prepare(task: Task) -> Prepared:
    if task.position == 3:
        raise LookupError("row 4")
    return Prepared(task=task)


@pytest.mark.parametrize(
    ("source", "prepare"), [(broken_source, sized(0)), (lambda: tasks(100), broken_prepare)]
)
def test_an_error_reaches_the_loop_and_ends_the_threads(
    source: Callable[[], Iterator[Task]], prepare: Callable[[Task], Prepared]
) -> None:
    async def drive() -> None:
        ahead = prefetch(source(), prepare)
        async for item in ahead:
            ahead.release(item)

    with pytest.raises(LookupError, match="row 4"):
        asyncio.run(drive())
    assert no_thread_left()


def test_stopping_ends_the_loop_at_once_though_a_picture_is_still_loading() -> None:
    may_end = threading.Event()

    def slow(task: Task) -> Prepared:
        if task.position:
            may_end.wait(30)
        return Prepared(task=task)

    async def drive() -> int:
        ahead = prefetch(tasks(100), slow)
        count = 0
        async for item in ahead:
            count += 1
            ahead.release(item)
            asyncio.get_running_loop().call_later(0.01, ahead.stop)
        return count

    async def within() -> int:
        async with asyncio.timeout(5):
            return await drive()

    assert asyncio.run(within()) == 1
    may_end.set()
    assert no_thread_left()


def test_stopping_wakes_threads_that_wait_for_room() -> None:
    async def drive() -> None:
        ahead = prefetch(tasks(100), sized(0), max_items=2)
        count = 0
        async for _ in ahead:
            count += 1
            if count == 2:
                break
        ahead.stop()

    asyncio.run(drive())
    assert no_thread_left()


def test_a_loop_that_is_gone_leaves_no_thread_behind() -> None:
    may_go_on = threading.Event()

    def slow(task: Task) -> Prepared:
        may_go_on.wait(30)
        return Prepared(task=task)

    async def drive() -> None:
        ahead = prefetch(tasks(100), slow)
        reading = ahead.__aiter__()
        waiting = asyncio.ensure_future(anext(reading))
        await asyncio.sleep(0)
        waiting.cancel()

    asyncio.run(drive())
    may_go_on.set()
    assert no_thread_left()


def test_the_source_is_closed_when_the_run_stops_early() -> None:
    closed = threading.Event()

    def source() -> Iterator[Task]:
        try:
            yield from tasks(100)
        finally:
            closed.set()

    async def drive(ahead_of: Iterator[Task]) -> None:
        ahead = prefetch(ahead_of, sized(0))
        async for _ in ahead:
            break
        ahead.stop()

    held = source()
    asyncio.run(drive(held))
    assert closed.wait(5)
