"""Adaptive and rate limits, by clocks that the tests move."""

from __future__ import annotations

import asyncio
import itertools
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.engine.pool import (
    AdaptiveLimit,
    LatencyMonitor,
    RateLimit,
    RateLimits,
    StopSignal,
    TokenReservation,
)


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def round_of_answers(
    limit: AdaptiveLimit, clock: Clock, latency_s: float = 0.1, n: int | None = None
) -> None:
    """As many as may be in flight are sent together, and come back together."""
    sent_at, at_once = clock.now, limit.value if n is None else n
    clock.now += latency_s
    for _ in range(at_once):
        limit.record_answer(latency_s, sent_at)


# -- the limit -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ceiling", [1, 2, 17, 64, 1000])
def test_it_starts_at_the_ceiling_and_stays_there_while_all_is_well(ceiling: int) -> None:
    clock = Clock()
    limit = AdaptiveLimit(ceiling, clock=clock)
    for _ in range(20):
        assert limit.value == ceiling
        round_of_answers(limit, clock)


def test_refusals_of_requests_that_were_sent_together_halve_it_once() -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, clock=clock)
    sent_at, clock.now = clock.now, 0.2
    for _ in range(64):
        limit.record_overload(sent_at)
        clock.now += 0.001  # they come back one after the other
    assert limit.value == 32
    sent_at, clock.now = clock.now, clock.now + 0.2
    for _ in range(32):
        limit.record_overload(sent_at)
    assert limit.value == 16


def test_it_is_never_less_than_one() -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, clock=clock)
    for _ in range(50):
        limit.record_overload(clock.now)
        clock.now += 1
    assert limit.value == 1


@pytest.mark.parametrize("ceiling", [8, 64, 256])
def test_it_grows_back_by_a_sixteenth_of_the_ceiling_a_round(ceiling: int) -> None:
    clock = Clock()
    limit = AdaptiveLimit(ceiling, clock=clock)
    limit.record_overload(clock.now)
    clock.now += 1
    seen = [limit.value]
    while limit.value < ceiling:
        round_of_answers(limit, clock)
        seen.append(limit.value)
    steps = [b - a for a, b in itertools.pairwise(seen)]
    assert 0 < max(steps) <= max(1, ceiling / 16)
    assert len(steps) <= 11, "eight rounds and a few"


def test_from_one_it_at_most_doubles_with_each_round() -> None:
    clock = Clock()
    limit = AdaptiveLimit(256, clock=clock)
    while limit.value > 1:
        limit.record_overload(clock.now)
        clock.now += 1
    seen = [1]
    while limit.value < 256:
        round_of_answers(limit, clock)
        seen.append(limit.value)
    assert all(b <= 2 * a for a, b in itertools.pairwise(seen))
    assert len(seen) < 30


def test_answers_to_what_was_sent_before_the_cut_do_not_raise_it() -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, clock=clock)
    clock.now = 1.0
    limit.record_overload(sent_at=0.5)
    for _ in range(200):
        limit.record_answer(0.5, sent_at=0.9)
    assert limit.value == 32
    for _ in range(200):
        limit.record_answer(0.5, sent_at=1.1)
    assert limit.value > 32


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["answered", "overloaded"]),
        st.floats(0, 100, allow_nan=False),  # latency
        st.floats(0, 5, allow_nan=False),  # time that passes
    ),
    max_size=300,
)


@pytest.mark.slow
@given(ceiling=st.integers(1, 300), events=EVENTS)
def test_whatever_happens_it_stays_between_one_and_the_ceiling(
    ceiling: int, events: list[tuple[str, float, float]]
) -> None:
    clock = Clock()
    limit = AdaptiveLimit(ceiling, clock=clock)
    for event, latency_s, passed_s in events:
        clock.now += passed_s
        if event == "answered":
            limit.record_answer(latency_s, clock.now - latency_s)
        else:
            limit.record_overload(clock.now - latency_s)
        assert 1 <= limit.value <= ceiling


@pytest.mark.slow
@given(ceiling=st.integers(1, 300), events=EVENTS)
def test_whatever_has_happened_it_recovers(ceiling: int, events: list[tuple[str, float, float]]) -> None:
    clock = Clock()
    limit = AdaptiveLimit(ceiling, clock=clock)
    for event, latency_s, passed_s in events:
        clock.now += passed_s
        if event == "answered":
            limit.record_answer(latency_s, clock.now - latency_s)
        else:
            limit.record_overload(clock.now - latency_s)
    clock.now += 1
    for _ in range(60):
        round_of_answers(limit, clock, latency_s=0.1)
    assert limit.value == ceiling


@pytest.mark.slow
@given(events=EVENTS)
def test_one_that_does_not_adapt_is_constant(events: list[tuple[str, float, float]]) -> None:
    clock = Clock()
    limit = AdaptiveLimit(48, is_adaptive=False, clock=clock)
    for event, latency_s, passed_s in events:
        clock.now += passed_s
        if event == "answered":
            limit.record_answer(latency_s, clock.now - latency_s)
        else:
            limit.record_overload(clock.now)
        assert limit.value == 48


# -- latency ---------------------------------------------------------------------------------------


def serve(
    limit: AdaptiveLimit, clock: Clock, n_rounds: int, *, usual_s: float, chokes_above: int = 10**9
) -> list[int]:
    """A server whose latency grows with the cube of what it has too much; the limit after each round."""
    seen = []
    for _ in range(n_rounds):
        crowd = max(1.0, limit.value / chokes_above)
        round_of_answers(limit, clock, latency_s=usual_s * crowd**3)
        seen.append(limit.value)
    return seen


def test_a_server_that_chokes_is_sent_less() -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, clock=clock)
    serve(limit, clock, 5, usual_s=0.1)
    assert limit.value == 64
    seen = serve(limit, clock, 60, usual_s=0.1, chokes_above=16)
    assert min(seen) <= 32
    assert sum(seen) / len(seen) < 56, "and not once alone"
    serve(limit, clock, 60, usual_s=0.1)
    assert limit.value == 64, "it grows back when the server breathes again"


@pytest.mark.parametrize("times", [3, 10, 100])
def test_answers_that_take_longer_whatever_is_sent_do_not_keep_it_down(times: int) -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, clock=clock)
    serve(limit, clock, 5, usual_s=0.1)
    seen = serve(limit, clock, 12, usual_s=0.1 * times)
    assert seen[-1] == 64
    assert sum(value < 64 for value in seen) <= 3, "a cut in vain is taken back at once"
    assert serve(limit, clock, 30, usual_s=0.1 * times) == [64] * 30, "and is not tried again"


def test_answers_that_grow_slowly_longer_are_no_collapse() -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, clock=clock)
    for n in range(200):
        assert serve(limit, clock, 1, usual_s=0.1 * 1.02**n) == [64]


@pytest.mark.slow
@given(seed=st.integers(0, 1000))
def test_latency_that_scatters_is_no_collapse(seed: int) -> None:
    rng = random.Random(seed)
    clock = Clock()
    limit = AdaptiveLimit(64, clock=clock)
    for _ in range(2000):
        clock.now += 0.01
        latency_s = rng.lognormvariate(0, 1)  # one in a hundred takes ten times as long as the middle
        limit.record_answer(latency_s, clock.now)
    assert limit.value == 64


def test_slow_answers_at_a_steady_rate_are_no_collapse() -> None:
    """A batching server: each takes longer, and as many come through."""
    clock = Clock()
    watch = LatencyMonitor(clock)
    for latency_s in (0.1, 1.0):
        for _ in range(640):
            clock.now += 0.01
            assert watch.add(latency_s, 64) == ""


def test_a_refusal_makes_the_watch_forget() -> None:
    clock = Clock()
    limit = AdaptiveLimit(64, clock=clock)
    serve(limit, clock, 3, usual_s=0.1)
    clock.now += 100
    limit.record_overload(clock.now)
    clock.now += 1
    assert limit.value == 32
    seen = serve(limit, clock, 2, usual_s=0.1)
    assert min(seen) >= 32, "the pause is not taken for a rate"


# -- rates -----------------------------------------------------------------------------------------


def sent(rate: RateLimit, clock: Clock, idle_s: list[float]) -> list[float]:
    """When requests are sent that come after so much idleness each."""
    times = []
    for idle in idle_s:
        clock.now += idle
        times.append(clock.now + rate.reserve())
    return times


@given(
    per_minute=st.floats(1, 10_000),
    idle_s=st.lists(st.one_of(st.just(0.0), st.floats(0, 30)), max_size=200),
)
def test_no_window_holds_more_than_its_share_and_a_second_of_burst(
    per_minute: float, idle_s: list[float]
) -> None:
    clock = Clock()
    times = sorted(sent(RateLimit(per_minute, clock=clock), clock, idle_s))
    for window_s in (0.0, 1.0, 10.0, 60.0):
        most = per_minute / 60 * (window_s + 1) + 1 + 1e-6
        for k, start in enumerate(times):
            n = sum(start <= at <= start + window_s for at in times[k:])
            assert n <= most


@given(per_minute=st.floats(1, 10_000), n=st.integers(1, 200))
def test_the_whole_rate_is_used(per_minute: float, n: int) -> None:
    clock = Clock()
    times = sent(RateLimit(per_minute, clock=clock), clock, [0.0] * n)
    assert times == pytest.approx([k * 60 / per_minute for k in range(n)])


def test_what_was_left_unused_for_long_is_gone() -> None:
    clock = Clock()
    rate = RateLimit(60, clock=clock)
    clock.now = 1000.0
    waits = [rate.reserve() for _ in range(4)]
    assert waits == [0.0, 0.0, 1.0, 2.0]


def test_tokens_that_were_not_foreseen_are_waited_for_later() -> None:
    clock = Clock()
    rate = RateLimit(600, clock=clock)  # ten a second
    assert rate.reserve(10) == 0.0
    rate.correct(20)  # it took thirty
    assert rate.reserve(10) == pytest.approx(3.0)
    rate.correct(-10)
    assert rate.reserve(10) == pytest.approx(3.0)


def test_the_later_of_both_rates_counts() -> None:
    clock = Clock()
    rates = RateLimits(requests=RateLimit(60, clock=clock), tokens=RateLimit(6000, clock=clock))
    rates.release(rates.reserve(300), used=300)
    assert rates.wait_s() == pytest.approx(3.0), "three seconds' worth of tokens are gone"
    only_requests = RateLimits(requests=RateLimit(60, clock=clock))
    assert only_requests.wait_s() == 0.0
    only_requests.release(only_requests.reserve(10**9), used=10**9)
    assert only_requests.wait_s() == 1.0
    assert RateLimits().wait_s() == 0.0


def test_the_limit_that_requests_wait_for_is_named() -> None:
    async def look(**limits: RateLimit) -> list[str]:
        rates, stop = RateLimits(**limits), StopSignal()
        said = [rates.find_slowest()]
        rates.reserve(10)
        held = asyncio.create_task(rates.acquire(10, stop))
        await asyncio.sleep(0)
        said.append(rates.find_slowest())
        stop.interrupt()
        await held
        return [*said, rates.find_slowest()]

    few, many = RateLimit(0.001), RateLimit(1e9)
    assert asyncio.run(look(requests=few, tokens=many)) == ["", "--rpm", ""]
    assert asyncio.run(look(tokens=few)) == ["", "--tpm", ""]


def test_a_reply_of_unknown_length_is_taken_for_a_long_one_until_the_first_is_in() -> None:
    clock = Clock()
    rates = RateLimits(tokens=RateLimit(60_000, clock=clock))  # a thousand a second
    first = rates.reserve(50)
    assert first.reserved == 1050
    rates.release(first, used=60)
    assert rates.wait_s() == pytest.approx(0.06), "the rest is given back"
    assert rates.reserve(50).reserved == 60


def test_where_nothing_came_back_no_reply_is_counted_and_nothing_learnt() -> None:
    clock = Clock()
    rates = RateLimits(tokens=RateLimit(60_000, clock=clock))
    rates.release(rates.reserve(50), used=None)
    assert rates.wait_s() == pytest.approx(0.05)
    assert rates.reserve(50).reserved == 1050


@given(
    lengths=st.lists(st.integers(0, 5000), min_size=1, max_size=300),
    n_under_way=st.integers(1, 64),
)
def test_all_that_was_used_is_counted_however_it_was_guessed(lengths: list[int], n_under_way: int) -> None:
    clock = Clock()
    rates = RateLimits(tokens=RateLimit(60_000, clock=clock))
    under_way: list[tuple[TokenReservation, int]] = []
    for length in lengths:
        under_way.append((rates.reserve(100), 100 + length))
        if len(under_way) == n_under_way:
            share, used = under_way.pop(0)
            rates.release(share, used)
    for share, used in under_way:
        rates.release(share, used)
    assert rates.wait_s() == pytest.approx(sum(100 + length for length in lengths) / 1000)
    assert 100 <= rates.reserve(100).reserved <= 100 + max(lengths) + 1e-6


def test_all_get_through_in_turn_and_a_stop_lets_them_go() -> None:
    async def drive() -> tuple[list[int], float]:
        stop, rates, through = StopSignal(), RateLimits(requests=RateLimit(60 * 200)), list[int]()
        some_are_through = asyncio.Event()

        async def go(k: int) -> None:
            await rates.acquire(0, stop)
            if not stop.is_set:
                through.append(k)
            if len(through) == 20:
                some_are_through.set()

        began_at = time.monotonic()
        async with asyncio.timeout(5):
            waiting = [asyncio.create_task(go(k)) for k in range(2000)]
            await some_are_through.wait()
            stop.set()
            seconds = time.monotonic() - began_at  # a busy machine sleeps longer
            await asyncio.gather(*waiting)
        return through, seconds

    through, seconds = asyncio.run(drive())
    assert through == list(range(len(through)))
    assert 20 <= len(through) <= 40 + 200 * seconds


@pytest.mark.slow
def test_a_wait_ends_sooner_when_less_was_used() -> None:
    async def drive() -> float:
        rates, stop = (
            RateLimits(tokens=RateLimit(600)),
            StopSignal(),
        )  # ten a second: a long reply would take minutes
        first = await rates.acquire(1, stop)
        began_at = time.monotonic()
        second = asyncio.create_task(rates.acquire(1, stop))
        await asyncio.sleep(0.01)
        rates.release(first, used=2)
        async with asyncio.timeout(5):
            await second
        return time.monotonic() - began_at

    assert asyncio.run(drive()) < 5
