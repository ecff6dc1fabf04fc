"""The budget gate: no request waits for ever, and nothing is spent that was not allowed."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.engine.budget import Budget, BudgetGate, BudgetSpent, Role
from eyechart.models.prices import Price
from eyechart.types import Usage


def gate(max_tokens: int | None = None, max_cost: float | None = None) -> BudgetGate:
    prices: dict[Role, Price | None] = {"model": Price(input=1, output=1), "judge": Price(input=1, output=1)}
    return BudgetGate(Budget(max_cost=max_cost, max_tokens=max_tokens, prices=prices))


def used(tokens: int) -> Usage:
    return Usage(prompt_tokens=tokens)


async def spend(
    one: BudgetGate, sizes: list[int], n_workers: int, rng: random.Random
) -> tuple[int, BudgetSpent | None]:
    """Workers that ask until the gate says no; how much was sent for, and the reason of the end."""
    left, n_sent, ended = list(sizes), 0, None

    async def work() -> None:
        nonlocal n_sent, ended
        while left:
            tokens = left.pop()
            if (spent := await one.acquire()) is not None:
                ended = spent
                one.wake_all()
                return
            n_sent += 1
            for _ in range(rng.randrange(3)):
                await asyncio.sleep(0)
            has_failed = rng.random() < 0.1
            one.release(rng.choice(["model", "judge"]), None if has_failed else used(tokens))

    async with asyncio.timeout(5):
        await asyncio.gather(*(work() for _ in range(n_workers)))
    return n_sent, ended


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 100), max_size=60),
    max_tokens=st.integers(1, 2000),
    n_workers=st.integers(1, 20),
    seed=st.integers(0, 10**6),
)
def test_no_request_waits_for_ever(sizes: list[int], max_tokens: int, n_workers: int, seed: int) -> None:
    asyncio.run(spend(gate(max_tokens), sizes, n_workers, random.Random(seed)))


@settings(max_examples=60)
@given(
    size=st.integers(1, 100),
    n=st.integers(1, 100),
    max_tokens=st.integers(1, 3000),
    n_workers=st.integers(1, 64),
    seed=st.integers(0, 10**6),
)
def test_requests_alike_never_pass_the_limit_once_one_is_known(
    size: int, n: int, max_tokens: int, n_workers: int, seed: int
) -> None:
    one = gate(max_tokens)
    asyncio.run(spend(one, [size] * n, n_workers, random.Random(seed)))
    assert one.budget.tokens <= max(max_tokens, 4 * size), "while none is known, four are under way at most"


@pytest.mark.parametrize("n_workers", [1, 64])
def test_all_that_can_be_afforded_is_sent(n_workers: int) -> None:
    one = gate(1000)
    n_sent = 0

    async def work() -> BudgetSpent | None:
        nonlocal n_sent
        while (spent := await one.acquire()) is None:
            n_sent += 1
            await asyncio.sleep(0)
            one.release("model", used(10))
        one.wake_all()
        return spent

    async def all_of_them() -> list[BudgetSpent | None]:
        async with asyncio.timeout(5):
            return await asyncio.gather(*(work() for _ in range(n_workers)))

    reasons = asyncio.run(all_of_them())
    assert n_sent == 100
    assert one.budget.tokens == 1000
    for why in reasons:
        assert why is not None
        assert why.exit_code == 1
        assert why.message == "--max-total-tokens 1,000 is reached: 1,000 for 100 requests"
        assert "higher limit" in why.hint


def test_without_a_limit_no_request_waits() -> None:
    one = gate()

    async def all_of_them() -> None:
        for _ in range(1000):
            assert await one.acquire() is None

    asyncio.run(all_of_them())


def test_what_failed_costs_nothing_and_makes_room() -> None:
    one = gate(max_cost=1e-9)

    async def play() -> None:
        for _ in range(4):
            assert await one.acquire() is None
        fifth = asyncio.create_task(one.acquire())
        await asyncio.sleep(0.01)
        assert not fifth.done(), "the size of a request is not known yet"
        one.release("model", None)
        assert await asyncio.wait_for(fifth, 1) is None
        assert one.budget.cost == 0.0

    asyncio.run(play())


def test_one_who_was_cancelled_does_not_keep_others_waiting() -> None:
    one = gate(100)

    async def play() -> None:
        for _ in range(4):
            await one.acquire()
        gone, patient = (asyncio.create_task(one.acquire()) for _ in range(2))
        await asyncio.sleep(0.01)
        gone.cancel()
        one.release("model", used(10))
        assert await asyncio.wait_for(patient, 1) is None

    asyncio.run(play())
