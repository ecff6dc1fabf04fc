"""Delays grow, stay within bounds, differ from one another, and never undercut what a server asked for."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.engine.retry import RetryPolicy
from eyechart.errors import ModelError

seeds = st.integers(0, 2**32)


@given(attempt=st.integers(1, 100_000), seed=seeds)
def test_a_wait_lies_between_nothing_and_the_doubled_first_one(attempt: int, seed: int) -> None:
    backoff = RetryPolicy(first_s=0.5, longest_s=60)
    most = min(60.0, 0.5 * 2 ** min(attempt - 1, 20))
    assert 0 <= backoff.delay_s(attempt, None, random.Random(seed)) <= most


@given(asked_s=st.floats(0, 600), attempt=st.integers(1, 20), seed=seeds)
def test_what_the_server_asked_for_is_never_undercut(asked_s: float, attempt: int, seed: int) -> None:
    delay_s = RetryPolicy().delay_s(attempt, asked_s, random.Random(seed))
    assert asked_s <= delay_s <= asked_s + 6


def test_many_clients_do_not_come_back_at_the_same_moment() -> None:
    rng = random.Random(1)
    waits = [RetryPolicy().delay_s(5, None, rng) for _ in range(200)]
    assert len(set(waits)) == 200
    assert min(waits) < 1 < 7 < max(waits)
    after = [RetryPolicy().delay_s(5, 10.0, rng) for _ in range(200)]
    assert len(set(after)) == 200


@pytest.mark.parametrize(
    ("attempt", "error", "expected"),
    [
        (1, ModelError("busy", is_retryable=True), True),
        (2, ModelError("busy", is_retryable=True), True),
        (3, ModelError("busy", is_retryable=True), False),
        (1, ModelError("wrong"), False),
        (1, ModelError("busy", is_retryable=True, retry_after_s=600), True),
        (1, ModelError("busy", is_retryable=True, retry_after_s=601), False),
        (1, ModelError("busy", is_retryable=True, retry_after_s=float("inf")), False),
    ],
)
def test_another_try_is_made_only_where_it_can_help(attempt: int, error: ModelError, expected: bool) -> None:
    assert RetryPolicy(attempts=3).may_retry(attempt, error) is expected
