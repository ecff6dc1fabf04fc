"""The budget: what is counted, when one more fits, and what is said when none does."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.engine.budget import Budget
from eyechart.models.prices import Price
from eyechart.types import Usage

MILLION = 1_000_000
A_DOLLAR = Price(input=1.0, output=1.0)


def budget(
    max_cost: float | None = None, max_tokens: int | None = None, price: Price | None = A_DOLLAR
) -> Budget:
    return Budget(max_cost=max_cost, max_tokens=max_tokens, prices={"model": price, "judge": price})


def test_without_limits_there_is_always_room() -> None:
    free = budget()
    free.count("model", Usage(prompt_tokens=10**12))
    assert free.has_room(10**6)
    assert free.why_spent() is None
    assert free.cost == pytest.approx(1_000_000)


def test_the_judge_is_counted_as_well() -> None:
    both = budget(max_tokens=100)
    both.count("model", Usage(prompt_tokens=40, completion_tokens=5))
    both.count("judge", Usage(prompt_tokens=10, completion_tokens=1))
    assert both.tokens == 56
    assert not both.has_room(0), "one more may take 45, and 44 are left"
    assert both.why_spent() == "--max-total-tokens 100 is reached: 56 for 2 requests"


def test_an_endpoint_that_does_not_count_is_counted_by_the_guess() -> None:
    one = budget(max_tokens=100)
    one.count("model", Usage(prompt_tokens=60, completion_tokens=10))
    assert one.tokens == 70
    assert not one.has_room(0)


def test_what_is_under_way_counts_as_those_that_came_back() -> None:
    one = budget(max_cost=2.0)
    for _ in range(10):
        one.count("model", Usage(prompt_tokens=MILLION // 10))
    assert one.has_room(8)
    assert not one.has_room(10)
    assert one.why_spent() is None, "they may come back cheaper: the next request waits"


def test_the_next_may_be_larger_than_all_before_where_sizes_differ() -> None:
    one = budget(max_tokens=100)
    one.count("model", Usage(prompt_tokens=10))
    one.count("model", Usage(prompt_tokens=30))
    assert one.has_room(0), "one may take 50, and 60 are left"
    assert not one.has_room(1)


def test_no_more_are_under_way_than_have_come_back() -> None:
    """Short replies come first: the first few say little about the others."""
    one = budget(max_tokens=10**6)
    for n in range(1, 9):
        one.count("model", Usage(prompt_tokens=1))
        assert one.has_room(max(4, n) - 1)
        assert not one.has_room(max(4, n))


@pytest.mark.parametrize("at_once", [8, 64])
def test_replies_of_many_lengths_stay_below_the_limit(at_once: int) -> None:
    """Replies of 1 to 60 tokens, the short ones first; before, nine of ten such runs passed the limit."""
    passed = 0
    for seed in range(50):
        rng = random.Random(seed)
        one = budget(max_tokens=40 * 330)
        now, under_way = 0.0, list[tuple[float, int]]()
        while True:
            while len(under_way) < at_once and one.has_room(len(under_way)):
                n = rng.randint(1, 60)
                under_way.append((now + 20 + n, n))
            if not under_way:
                break
            under_way.sort()
            now, n = under_way.pop(0)
            one.count("model", Usage(prompt_tokens=300, completion_tokens=n))
        passed += one.tokens > 40 * 330
        assert one.tokens > 0.9 * 40 * 330
    assert passed == 0


def test_few_are_sent_while_the_cost_of_one_is_unknown() -> None:
    one = budget(max_cost=1.0)
    assert one.has_room(3)
    assert not one.has_room(4)
    assert one.why_spent() is None
    assert budget().has_room(1000)


def test_cheap_calls_to_a_judge_do_not_hide_dear_ones() -> None:
    one = budget(max_cost=1.0)
    one.count("model", Usage(prompt_tokens=MILLION // 2))
    for _ in range(10):
        one.count("judge", Usage(prompt_tokens=10))
    assert not one.has_room(1)


def test_earlier_starts_count() -> None:
    one = budget(max_cost=5.0)
    one.carry("model", Usage(prompt_tokens=4_980_000), A_DOLLAR, 1_234)
    assert one.cost == pytest.approx(4.98)
    assert one.n_requests == 1_234
    assert one.has_room(0)
    one.carry("model", Usage(prompt_tokens=30_000), A_DOLLAR)
    assert not one.has_room(0)
    assert one.why_spent() == "--max-cost 5.00 is reached: 5.01 USD for 1,235 requests"


def test_a_cost_that_is_not_known_is_none() -> None:
    assert budget(price=None).cost is None
    half = Budget(max_cost=None, max_tokens=None, prices={"model": A_DOLLAR, "judge": None})
    half.count("model", Usage(prompt_tokens=MILLION))
    assert half.cost == pytest.approx(1.0)
    half.count("judge", Usage(prompt_tokens=1))
    assert half.cost is None
    before = budget()
    before.carry("model", Usage(prompt_tokens=100), None)
    assert before.cost is None


@given(
    st.lists(st.integers(1, 1000), min_size=1, max_size=200),
    st.integers(1, 20_000),
    st.integers(1, 32),
)
def test_a_limit_is_passed_by_what_was_under_way_at_most(sizes: list[int], limit: int, at_once: int) -> None:
    """Requests go out and come back as an engine sends them; what is spent stays near the limit."""
    one = budget(max_tokens=limit)
    waiting = list(sizes)
    under_way: list[int] = []
    while waiting or under_way:
        while waiting and len(under_way) < at_once and one.has_room(len(under_way)):
            under_way.append(waiting.pop())
        if not under_way:
            break
        one.count("model", Usage(prompt_tokens=under_way.pop(0)))
    assert one.tokens <= limit + at_once * 1000
    if waiting:
        assert one.why_spent() is not None


@given(st.integers(1, 500), st.integers(1, 50_000))
def test_equal_requests_never_pass_the_limit(size: int, limit: int) -> None:
    one = budget(max_tokens=limit)
    n = 0
    while n < 300 and one.has_room(0):
        one.count("model", Usage(completion_tokens=size))
        n += 1
    assert one.tokens <= max(limit, size), "the first one is sent before anybody knows"
    assert n == 300 or one.tokens + size > limit
