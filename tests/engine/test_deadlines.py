"""Deadlines: what takes too long is ended, and nothing else."""

from __future__ import annotations

import asyncio
import time

import pytest

from eyechart.engine.retry import Deadline
from eyechart.memory import Claim, MemoryBudget, current_claim
from eyechart.models.streams import Heard


async def wait_for(limit_s: float, seconds: float) -> str:
    wait = Deadline(limit_s)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        if not wait.was_ended():
            raise
        return "too long"
    finally:
        wait.end()
    await asyncio.sleep(0)  # the task goes on as if nothing had been
    return "in time"


def test_who_waits_too_long_is_ended_and_goes_on() -> None:
    async def work() -> list[str]:
        found = await asyncio.gather(*(wait_for(0.09, seconds) for seconds in (5, 0.01, 5, 0)))
        return [*found, await wait_for(0.09, 5), await wait_for(0.09, 0.01)]

    assert asyncio.run(work()) == ["too long", "in time", "too long", "in time", "too long", "in time"]


@pytest.mark.slow
def test_one_after_the_other_each_has_its_whole_time() -> None:
    async def work() -> list[str]:
        first = asyncio.create_task(wait_for(0.8, 5))
        await asyncio.sleep(0.7)
        second = asyncio.create_task(wait_for(0.8, 0.12))  # goes on when the first one is ended
        return [await first, await second]

    assert asyncio.run(work()) == ["too long", "in time"]


def test_the_end_of_others_is_not_ours() -> None:
    async def work() -> None:
        task = asyncio.create_task(wait_for(0.05, 5))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())


def test_a_model_that_ignores_its_cancellation_ends_nothing_later() -> None:
    async def stubborn(limit_s: float) -> str:
        wait, said = Deadline(limit_s), ""
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            said = "answered all the same"
        finally:
            wait.end()
        current = asyncio.current_task()
        assert current is not None
        assert current.cancelling() == 0
        async with asyncio.timeout(5):  # which would take an old cancellation for its own
            await asyncio.sleep(0)
        return said

    assert asyncio.run(stubborn(0.02)) == "answered all the same"


def test_time_in_which_the_loop_was_busy_does_not_count() -> None:
    async def work() -> str:
        waiting = asyncio.create_task(wait_for(0.2, 0.1))
        await asyncio.sleep(0)
        time.sleep(0.5)  # noqa: ASYNC251 - a scorer that does not let go
        return await waiting

    assert asyncio.run(work()) == "in time"


def test_time_in_which_an_answer_was_held_up_here_is_not_counted() -> None:
    async def work() -> tuple[str, float]:
        budget, loop = MemoryBudget(10), asyncio.get_running_loop()
        holder, claim = Claim("answer", budget), Claim("answer", budget)
        current_claim.set(claim)
        assert holder.acquire(10, lambda: None)
        assert not claim.acquire(10, lambda: None)
        loop.call_later(0.3, holder.release)
        start = loop.time()
        found = await asyncio.create_task(wait_for(0.1, 5))
        return found, loop.time() - start

    found, took_s = asyncio.run(work())
    assert found == "too long"
    assert took_s > 0.35


async def listen(limit_s: float, parts_s: list[float]) -> str:
    """Wait for a reply whose parts come at these times after each other."""
    heard = Heard()
    wait = Deadline(limit_s, heard)
    try:
        for part_s in parts_s:
            await asyncio.sleep(part_s)
            heard.is_new = True
    except asyncio.CancelledError:
        if not wait.was_ended():
            raise
        return f"cut after {wait.waited_s() / limit_s:.0f} limits"
    finally:
        wait.end()
    return "whole"


@pytest.mark.slow
def test_a_reply_whose_parts_come_in_time_may_take_longer() -> None:
    async def work() -> list[str]:
        limit_s = 0.2
        waits = ([0.1] * 6, [0.1, 5], [0.1] * 50)  # it ends; it falls silent; it goes on for ever
        return await asyncio.gather(*(listen(limit_s, each) for each in waits))

    assert asyncio.run(work()) == ["whole", "cut after 2 limits", "cut after 6 limits"]
