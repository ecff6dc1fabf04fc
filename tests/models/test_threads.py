"""Calls off the event loop: as many at once as allowed, with what they return or raise."""

import asyncio
import threading

import pytest

from eyechart.models.python import Threads
from support.parts import no_thread_left


def test_a_call_returns_or_raises_to_whoever_waits() -> None:
    def broken() -> None:
        raise LookupError("no")

    async def work() -> tuple[object, BaseException]:
        threads = Threads(2)
        results = await asyncio.gather(threads.call(max, 1, 2), threads.call(broken), return_exceptions=True)
        threads.close()
        return results[0], results[1]

    value, error = asyncio.run(work())
    assert value == 2
    assert isinstance(error, LookupError)
    assert no_thread_left()


def test_calls_beyond_the_limit_wait_their_turn() -> None:
    together = threading.Barrier(3, timeout=5)
    lock = threading.Lock()
    now = most = 0

    def one() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        together.wait()
        with lock:
            now -= 1

    async def work() -> None:
        threads = Threads(3)
        await asyncio.gather(*(threads.call(one) for _ in range(12)))
        threads.close()

    asyncio.run(work())
    assert most == 3
    assert no_thread_left()


def test_a_call_that_was_given_up_before_its_turn_is_never_made() -> None:
    made: list[str] = []
    may_end = threading.Event()

    async def work() -> None:
        threads = Threads(1)
        first = asyncio.create_task(threads.call(may_end.wait, 5))
        second = asyncio.create_task(threads.call(made.append, "second"))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        may_end.set()
        await first
        threads.close()

    asyncio.run(work())
    assert no_thread_left()
    assert made == []


def test_a_call_that_raises_what_no_future_holds_keeps_nobody_waiting() -> None:
    async def work() -> None:
        threads = Threads(1)
        with pytest.raises(RuntimeError, match="StopIteration"):
            await asyncio.wait_for(threads.call(next, iter(())), timeout=5)
        threads.close()

    asyncio.run(work())
    assert no_thread_left()
