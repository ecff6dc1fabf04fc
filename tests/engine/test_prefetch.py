"""Work made ready ahead: all of it, within its budget, and no thread stays behind."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.engine import prepare as prefetching
from eyechart.engine.prepare import Prefetcher, Prepared, has_small_images
from eyechart.store.reader import Task
from eyechart.types import ImageRef
from support.parts import no_thread_left, sample


def tasks(n: int) -> Iterator[Task]:
    for k in range(n):
        yield Task(position=k, sample=sample(k), trial=0)


def sized(n_bytes: int) -> Callable[[Task], Prepared]:
    return lambda task: Prepared(task=task, n_bytes=n_bytes)


def prefetch(
    source: Iterator[Task], prepare: Callable[[Task], Prepared], **options: Any
) -> Prefetcher[Prepared]:
    usual: dict[str, Any] = {"n_threads": 2, "max_items": 8, "max_bytes": 1000}
    return Prefetcher(source, prepare, **(usual | options))


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


# -- quick work in the loop, slow work in threads --------------------------------------------------


def quick(
    source: Iterator[Task], prepare: Callable[[Task], Prepared], **options: Any
) -> Prefetcher[Prepared]:
    """Work that looks quick from afar."""
    return prefetch(source, prepare, **({"is_quick": lambda task: True} | options))


def made_at(
    where: list[str], *, slow_from: int | None = None, n_bytes: int = 10
) -> Callable[[Task], Prepared]:
    """Remembers which thread each was made in."""

    def prepare(task: Task) -> Prepared:
        where.append(threading.current_thread().name)
        if slow_from is not None and task.position >= slow_from:
            time.sleep(1.5 * prefetching._QUICK_S)
        return Prepared(task=task, n_bytes=n_bytes)

    return prepare


def taken(
    make: Callable[[], Prefetcher[Prepared]], n_workers: int = 1
) -> tuple[list[int], Prefetcher[Prepared]]:
    """Everything, in the order in which it came."""

    async def drive() -> tuple[list[int], Prefetcher[Prepared]]:
        ahead = make()
        found: list[int] = []

        async def work() -> None:
            async for item in ahead:
                found.append(item.task.position)
                await asyncio.sleep(0)
                ahead.release(item)

        await asyncio.gather(*(work() for _ in range(n_workers)))
        return found, ahead

    found, ahead = asyncio.run(drive())
    assert no_thread_left()
    assert (ahead._n_items, ahead._n_bytes) == (0, 0), "all room is given back"
    return found, ahead


def is_here(where: str) -> bool:
    return not where.startswith("eyechart-prefetch")


@pytest.mark.parametrize("n_workers", [1, 3, 64])
def test_quick_work_needs_no_thread_and_keeps_its_order(n_workers: int) -> None:
    where: list[str] = []
    found, _ = taken(lambda: quick(tasks(2000), made_at(where), max_bytes=10_000), n_workers)
    assert found == list(range(2000))
    assert all(map(is_here, where))


@pytest.mark.slow
def test_a_few_slow_ones_are_an_accident_and_many_are_not() -> None:
    where: list[str] = []
    found, _ = taken(lambda: quick(tasks(100), made_at(where, slow_from=20), n_threads=1))
    assert found == list(range(100)), "one thread keeps the order"
    first = next(k for k, name in enumerate(where) if not is_here(name))
    assert 20 + 1 <= first <= 20 + prefetching._SLOW_ONES
    assert not any(map(is_here, where[first:])), "from then on all of it"


def test_slow_ones_far_apart_stay_in_the_loop() -> None:
    where: list[str] = []
    make = made_at(where)

    def prepare(task: Task) -> Prepared:
        if task.position % 16 == 0:
            time.sleep(1.5 * prefetching._QUICK_S)
        return make(task)

    taken(lambda: quick(tasks(100), prepare))
    # A busy machine may slow down others, but hardly six of sixteen.
    assert sum(map(is_here, where)) >= 32


def test_a_slow_source_is_read_in_a_thread() -> None:
    def source() -> Iterator[Task]:
        for task in tasks(30):
            time.sleep(1.5 * prefetching._QUICK_S)
            yield task

    where: list[str] = []
    taken(lambda: quick(source(), made_at(where)))
    assert not any(map(is_here, where[prefetching._SLOW_ONES :]))


def test_a_large_picture_brings_the_threads() -> None:
    where: list[str] = []
    large = prefetching._QUICK_BYTES + 1
    found, _ = taken(
        lambda: quick(tasks(20), made_at(where, n_bytes=large), max_bytes=10 * large, n_threads=1)
    )
    assert found == list(range(20))
    assert [is_here(name) for name in where] == [True] + [False] * 19


def test_the_first_that_does_not_look_quick_is_not_made_in_the_loop() -> None:
    where: list[str] = []

    def looks_quick(task: Task) -> bool:
        return task.position != 7

    found, _ = taken(lambda: prefetch(tasks(20), made_at(where), is_quick=looks_quick, n_threads=1))
    assert found == list(range(20))
    assert [is_here(name) for name in where] == [True] * 7 + [False] * 13


@pytest.mark.parametrize("max_items", [1000, 5])
def test_quick_ones_are_made_a_handful_at_a_time_when_the_last_of_those_before_is_taken(
    max_items: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prefetching, "_BATCH_S", 60.0)
    made: list[int] = []

    def prepare(task: Task) -> Prepared:
        made.append(task.position)
        return Prepared(task=task)

    async def drive() -> None:
        ahead = quick(tasks(100), prepare, max_items=max_items)
        handful = min(prefetching._BATCH, max_items)
        async for item in ahead:
            handfuls = item.task.position // handful + 1
            assert made == list(range(min(100, handfuls * handful)))
            ahead.release(item)

    asyncio.run(drive())
    assert len(made) == 100


def test_a_handful_takes_no_longer_than_others_in_the_loop_can_wait() -> None:
    made: list[int] = []

    def prepare(task: Task) -> Prepared:
        time.sleep(0.9 * prefetching._BATCH_S)
        made.append(task.position)
        return Prepared(task=task)

    async def drive() -> int:
        ahead = quick(tasks(100), prepare)
        async for item in ahead:
            ahead.release(item)
            break
        ahead.stop()
        return len(made)

    assert asyncio.run(drive()) <= 2


@pytest.mark.parametrize(
    ("refs", "expected"),
    [
        ([], True),
        ([ImageRef(kind="file", location="a.png")], True),
        ([ImageRef(kind="cell", location="a.tsv", offset=0, length=20_000)], True),
        ([ImageRef(kind="cell", location="a.tsv", offset=0, length=2_000_000)], False),
        ([ImageRef(kind="url", location="https://example.org/a.png")], False),
        ([ImageRef(kind="file", location="a.png"), ImageRef(kind="url", location="https://x.org/")], False),
        ([ImageRef(kind="parquet", location="a.parquet")], False),
    ],
)
def test_addresses_and_large_cells_do_not_look_quick(refs: list[ImageRef], expected: bool) -> None:
    task = Task(position=0, sample=sample(0, images=tuple(refs)), trial=0)
    assert has_small_images(task) is expected


@pytest.mark.slow
@pytest.mark.parametrize("is_quick", [True, False])
@pytest.mark.parametrize("n_workers", [2, 20])
def test_the_budget_of_bytes_holds_in_both_modes(is_quick: bool, n_workers: int) -> None:
    size, budget, n_threads = 100, 450, 2
    lock = threading.Lock()
    held = peak = 0

    def prepare(task: Task) -> Prepared:
        nonlocal held, peak
        with lock:
            held += size
            peak = max(peak, held)
        return Prepared(task=task, n_bytes=size)

    async def drive() -> None:
        nonlocal held
        ahead = prefetch(
            tasks(300),
            prepare,
            is_quick=lambda task: is_quick,
            n_threads=n_threads,
            max_items=1000,
            max_bytes=budget,
        )

        async def work() -> None:
            nonlocal held
            async for item in ahead:
                await asyncio.sleep(0.0005)
                with lock:
                    held -= size
                ahead.release(item)

        async with asyncio.timeout(20):
            await asyncio.gather(*(work() for _ in range(n_workers)))
        assert (ahead._n_items, ahead._n_bytes) == (0, 0)

    asyncio.run(drive())
    assert peak <= budget + n_threads * size
    assert held == 0


def test_room_is_given_back_though_the_mode_changed_while_it_was_taken() -> None:
    async def drive() -> None:
        ahead = prefetch(tasks(60), sized(10), is_quick=lambda task: task.position < 20, max_items=30)
        held: list[Prepared] = []
        n = 0
        async for item in ahead:
            n += 1
            held.append(item)
            if len(held) == 25:  # some from the loop, some from threads
                while held:
                    ahead.release(held.pop())
        while held:
            ahead.release(held.pop())
        assert n == 60
        assert (ahead._n_items, ahead._n_bytes) == (0, 0)

    asyncio.run(drive())
    assert no_thread_left()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(0, 60),
    slow=st.sets(st.integers(0, 60), max_size=4),
    sizes=st.lists(st.sampled_from([0, 1, 60, 500, 2000]), min_size=1, max_size=7),
    n_workers=st.integers(1, 5),
    n_threads=st.integers(1, 3),
)
def test_everything_arrives_once_whatever_the_work_is_like(
    n: int, slow: set[int], sizes: list[int], n_workers: int, n_threads: int
) -> None:
    def prepare(task: Task) -> Prepared:
        return Prepared(task=task, n_bytes=sizes[task.position % len(sizes)])

    def make() -> Prefetcher[Prepared]:
        return prefetch(
            tasks(n), prepare, is_quick=lambda task: task.position not in slow, n_threads=n_threads
        )

    found, _ = taken(make, n_workers)
    assert sorted(found) == list(range(n))


@pytest.mark.parametrize("is_quick", [True, False])
@pytest.mark.parametrize("n_workers", [1, 8])
def test_stopping_ends_every_worker_and_closes_the_source(is_quick: bool, n_workers: int) -> None:
    closed = threading.Event()

    def source() -> Iterator[Task]:
        try:
            yield from tasks(10_000)
        finally:
            closed.set()

    async def drive() -> int:
        ahead = prefetch(source(), sized(1), is_quick=lambda task: is_quick)
        count = 0

        async def work() -> None:
            nonlocal count
            async for item in ahead:
                count += 1
                ahead.release(item)
                if count == 100:
                    ahead.stop()
                await asyncio.sleep(0)

        async with asyncio.timeout(10):
            await asyncio.gather(*(work() for _ in range(n_workers)))
        ahead.stop()
        return count

    assert 100 <= asyncio.run(drive()) <= 100 + 2 * n_workers
    assert closed.wait(5)
    assert no_thread_left()


@pytest.mark.parametrize("is_quick", [True, False])
@pytest.mark.parametrize(
    ("source", "prepare"), [(broken_source, sized(0)), (lambda: tasks(100), broken_prepare)]
)
def test_an_error_reaches_one_worker_and_ends_the_others(
    source: Callable[[], Iterator[Task]], prepare: Callable[[Task], Prepared], is_quick: bool
) -> None:
    async def drive() -> list[Any]:
        ahead = prefetch(source(), prepare, is_quick=lambda task: is_quick)
        found: list[int] = []

        async def work() -> None:
            async for item in ahead:
                found.append(item.task.position)
                ahead.release(item)
                await asyncio.sleep(0)

        async with asyncio.timeout(10):
            ends = await asyncio.gather(*(work() for _ in range(4)), return_exceptions=True)
        assert set(found) <= {0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "no worker goes on for long"
        return ends

    ends = asyncio.run(drive())
    assert [type(one) for one in ends if one] == [LookupError]
    assert no_thread_left()


@pytest.mark.slow
@pytest.mark.parametrize("n_workers", [1, 100])
def test_thousands_that_are_answered_already_do_not_hold_up_the_loop(n_workers: int) -> None:
    work_s = 0.00005

    def prepare(task: Task) -> Prepared:
        until = time.perf_counter() + work_s
        while time.perf_counter() < until:
            pass
        return Prepared(task=task, is_answered=True)

    async def drive() -> list[float]:
        ahead = quick(tasks(5000), prepare)
        gaps: list[float] = []

        async def tick() -> None:
            last = time.perf_counter()
            while True:
                await asyncio.sleep(0)
                gaps.append(time.perf_counter() - last)
                last += gaps[-1]

        async def work() -> None:
            async for item in ahead:
                ahead.release(item)

        ticking = asyncio.create_task(tick())
        await asyncio.gather(*(work() for _ in range(n_workers)))
        ticking.cancel()
        return sorted(gaps)

    gaps = asyncio.run(drive())
    # It takes a quarter of a second in all: the loop came round every ten milliseconds or so.
    assert len(gaps) >= 12
    assert gaps[len(gaps) // 2] < 0.1


class Kept(dict[str, Any]):
    """Can be watched as it goes."""


@pytest.mark.slow
def test_a_waiting_worker_holds_nothing_of_the_item_before() -> None:
    may_go_on = threading.Event()
    watched: list[weakref.ref[Kept]] = []

    def prepare(task: Task) -> Prepared:
        if task.position:
            may_go_on.wait(10)
            return Prepared(task=task)
        kept = Kept()
        watched.append(weakref.ref(kept))
        return Prepared(task=msgspec.structs.replace(task, sample=sample(0, meta=kept)))

    async def drive() -> bool:
        ahead = prefetch(tasks(2), prepare, n_threads=1)
        items = ahead.__aiter__()
        item: Prepared | None = await anext(items)
        assert item is not None
        ahead.release(item)
        item = None
        waiting = asyncio.ensure_future(anext(items))
        await asyncio.sleep(0.02)
        gc.collect()
        is_gone = watched[0]() is None
        may_go_on.set()
        await waiting
        ahead.stop()
        return is_gone

    assert asyncio.run(drive())
    assert no_thread_left()
