"""Which endpoint is asked next, how an endpoint rests, and when all are dead."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Hashable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.engine.pool import AdaptiveLimit, Endpoint, EndpointPool, FailedAttempt, Refusal
from eyechart.engine.retry import CircuitBreaker
from eyechart.errors import ModelError
from support.parts import ScriptedModel

BROKEN = ModelError("HTTP 500", status=500, is_retryable=True)
BUSY = ModelError("HTTP 429", status=429, is_retryable=True)
OVERLOADED = ModelError("HTTP 503", status=503, is_retryable=True)
GONE = ModelError("cannot connect", is_retryable=True, is_unreachable=True)
REFUSED = ModelError("HTTP 400", status=400)
WRONG_KEY = ModelError("HTTP 401", status=401, is_fatal=True)
SILENT = ModelError("no answer within 600 s", is_retryable=True, was_silent=True)


class Clock:
    def __init__(self) -> None:
        self.now = 1.0

    def __call__(self) -> float:
        return self.now


class Place:
    """Endpoints by a clock of the test's own."""

    def __init__(self, n: int = 1, *, ceiling: int = 8, give_up_after: int = 8, **more: Any) -> None:
        self.clock = Clock()
        self.members = [Endpoint(ScriptedModel(), AdaptiveLimit(ceiling, clock=self.clock)) for _ in range(n)]
        self.all = EndpointPool(self.members, clock=self.clock, **more)
        self.breaker = CircuitBreaker(self.all, give_up_after=give_up_after)
        self._began: dict[Hashable, float] = {}

    def acquire(self) -> Endpoint:
        """Must be free."""
        endpoint: Endpoint = go(asyncio.wait_for(self.all.acquire(), 0.05))
        return endpoint

    def fail(
        self,
        endpoint: Endpoint,
        error: ModelError,
        who: Hashable,
        *,
        sent_at: float | None = None,
        is_last: bool = False,
    ) -> None:
        sent_at = self.clock.now if sent_at is None else sent_at
        self.clock.now += 0.001
        began_at = self._began.setdefault(who, self.clock.now)
        trouble = FailedAttempt(owner=who, sent_at=sent_at, began_at=began_at)
        self.all.record_failure(endpoint, trouble, error, is_last=is_last)

    def answer(self, endpoint: Endpoint, latency_s: float = 0.1) -> None:
        sent_at = self.clock.now
        self.clock.now += latency_s
        self.all.record_answer(endpoint, sent_at)


def go(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(coroutine)


# -- who is next -----------------------------------------------------------------------------------


def test_the_one_with_the_fewest_under_way_is_next() -> None:
    place = Place(3, ceiling=8)
    met = [place.acquire() for _ in range(9)]
    assert Counter(map(id, met)) == {id(member): 3 for member in place.members}
    place.answer(place.members[1])
    place.answer(place.members[1])
    assert [place.acquire(), place.acquire()] == [place.members[1]] * 2


def test_no_endpoint_is_sent_more_than_its_limit() -> None:
    place = Place(2, ceiling=2)
    met = [place.acquire() for _ in range(4)]
    assert place.all.in_flight == place.all.limit == 4
    with pytest.raises(TimeoutError):
        place.acquire()
    place.all.release(met[0])
    assert place.acquire() is met[0]


def test_another_one_is_asked_if_one_may_choose() -> None:
    place = Place(2, ceiling=1)
    first, second = place.members
    assert go(place.all.acquire(first)) is second
    assert place.all.has_free_besides(second)
    assert not place.all.has_free_besides(first)
    assert go(place.all.acquire(first)) is first, "if there is no choice, there is none"


def test_the_limit_that_people_read_is_the_one_they_set() -> None:
    place = Place(3, ceiling=8, at_most=8)
    assert place.all.limit == 8, "each of the three could take eight, but eight is all there will be"
    for member in place.members:
        for _ in range(3):
            place.clock.now += 1
            member.limit.record_overload(place.clock.now)
    assert place.all.limit == 3


@pytest.mark.slow
@given(
    n=st.integers(1, 4),
    ceiling=st.integers(1, 5),
    steps=st.lists(st.tuples(st.sampled_from(["enter", "answer", "500", "429", "gone"]), st.integers(0, 99))),
)
def test_what_is_under_way_is_what_entered_and_has_not_left(
    n: int, ceiling: int, steps: list[tuple[str, int]]
) -> None:
    place = Place(n, ceiling=ceiling)
    under_way: list[Endpoint] = []

    async def play() -> None:
        for what, which in steps:
            place.clock.now += 0.5
            if what == "enter":
                free = [one for one in place.members if one.is_free(place.clock.now)]
                if free:
                    under_way.append(await place.all.acquire())
                    assert under_way[-1] in free
            elif under_way:
                endpoint = under_way.pop(which % len(under_way))
                if what == "answer":
                    place.answer(endpoint)
                else:
                    error = {"500": BROKEN, "429": BUSY, "gone": GONE}[what]
                    place.fail(endpoint, error, which)
            assert place.all.in_flight == len(under_way)
            assert all(one.in_flight == under_way.count(one) for one in place.members)
            assert all(1 <= one.limit.value <= ceiling for one in place.members)
        place.all.close()

    go(play())


# -- those who wait --------------------------------------------------------------------------------


def test_those_who_wait_are_let_in_as_places_become_free() -> None:
    place = Place(ceiling=2)

    async def play() -> None:
        first, second = await place.all.acquire(), await place.all.acquire()
        waiting = [asyncio.create_task(place.all.acquire()) for _ in range(5)]
        await asyncio.sleep(0)
        place.answer(first)
        await asyncio.sleep(0.001)
        assert sum(task.done() for task in waiting) == 1
        place.answer(second)
        await asyncio.sleep(0.001)
        assert sum(task.done() for task in waiting) == 2
        assert place.all.in_flight == 2
        waiting[2].cancel()
        for _ in range(2):
            place.all.release(first)
        await asyncio.sleep(0.001)
        assert place.all.in_flight == 2
        assert sum(task.done() for task in waiting) == 5, "a place is not lost on one who has gone"

    go(play())


def test_the_end_waits_for_no_rest() -> None:
    place = Place()

    async def play() -> None:
        for who in range(3):
            place.fail(await place.all.acquire(), GONE, who)
        waiting = asyncio.create_task(place.all.acquire())
        await asyncio.sleep(0.01)
        assert not waiting.done()
        place.all.close()
        async with asyncio.timeout(0.2):
            place.all.release(await waiting)
            place.all.release(await place.all.acquire())

    go(play())


def real_time(*first_rests_s: float) -> EndpointPool:
    members = [Endpoint(ScriptedModel(), AdaptiveLimit(8), first_rest_s=rest_s) for rest_s in first_rests_s]
    return EndpointPool(members)


async def break_down(endpoints: EndpointPool, member: Endpoint) -> None:
    loop = asyncio.get_running_loop()
    for who in range(3):
        member.in_flight += 1
        now = loop.time()
        endpoints.record_failure(
            member, FailedAttempt(owner=who, sent_at=now, began_at=now), GONE, is_last=False
        )


def test_the_endpoint_that_has_rested_first_is_asked_first() -> None:
    endpoints = real_time(5.0, 0.05)

    async def play() -> float:
        slow, quick = endpoints.members
        await break_down(endpoints, slow)
        quick.in_flight = 8  # it is busy for now
        waiting = asyncio.create_task(endpoints.acquire())
        await asyncio.sleep(0)
        quick.in_flight = 0
        await break_down(endpoints, quick)
        start = asyncio.get_running_loop().time()
        assert await asyncio.wait_for(waiting, 2.0) is quick
        endpoints.close()
        return asyncio.get_running_loop().time() - start

    assert 0.03 < go(play()) < 1.0


# -- rest ------------------------------------------------------------------------------------------


def test_after_three_failures_it_is_left_alone_then_asked_one_at_a_time() -> None:
    place = Place(ceiling=8)
    [endpoint] = place.members
    for who in range(3):
        assert endpoint.is_free(place.clock.now)
        place.fail(place.acquire(), BROKEN, who)
    assert endpoint.is_suspect
    assert not endpoint.is_free(place.clock.now)
    place.clock.now += 2.0
    place.acquire()
    assert not endpoint.is_free(place.clock.now), "one at a time"
    place.fail(endpoint, BROKEN, 4)
    place.clock.now += 3.9
    assert not endpoint.is_free(place.clock.now), "its rests grow"
    place.clock.now += 0.2
    place.answer(place.acquire())
    assert endpoint.failures == 0
    assert [place.acquire() for _ in range(8)], "it is used again as before"


@pytest.mark.slow
def test_rests_do_not_grow_for_ever() -> None:
    place = Place(give_up_after=10**9)
    [endpoint] = place.members
    for who in range(1200):
        place.clock.now = max(place.clock.now, endpoint.rests_until)
        place.fail(place.acquire(), GONE, who)
    assert endpoint.rests_until - place.clock.now <= 30


def test_failures_that_were_under_way_together_count_once() -> None:
    place = Place(ceiling=8)
    [endpoint] = place.members
    sent_at = place.clock.now
    for _ in range(8):
        place.acquire()
    for who in range(8):
        place.fail(endpoint, GONE, who, sent_at=sent_at)
    assert endpoint.failures == 1
    assert not endpoint.is_suspect


@pytest.mark.parametrize(("silent_s", "is_dead"), [(5.0, False), (600.0, True)])
def test_silence_counts_once_more_for_every_minute_of_it(silent_s: float, is_dead: bool) -> None:
    place = Place(ceiling=8)
    [endpoint] = place.members
    sent_at = place.clock.now
    for _ in range(8):
        place.acquire()
    place.clock.now += silent_s
    for who in range(8):
        place.fail(endpoint, SILENT, who, sent_at=sent_at)
    assert place.breaker.is_dead() == is_dead


def test_one_sample_that_hangs_is_no_dead_endpoint() -> None:
    place = Place(ceiling=8)
    for _ in range(6):
        endpoint, sent_at = place.acquire(), place.clock.now
        place.clock.now += 600
        place.fail(endpoint, SILENT, "the one", sent_at=sent_at)
    assert not place.breaker.is_dead()


def test_one_that_is_refused_alone_is_left_alone_for_a_moment() -> None:
    """Else all that wait would ask in turn, and be refused in turn."""
    place = Place(ceiling=2)
    [endpoint] = place.members
    place.fail(place.acquire(), BUSY, 0)
    assert endpoint.limit.value == 1
    assert endpoint.is_free(place.clock.now), "it has not refused one alone yet"
    pauses = []
    for _ in range(12):
        place.fail(place.acquire(), BUSY, 0)
        pauses.append(endpoint.rests_until - place.clock.now)
        place.clock.now = endpoint.rests_until
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.1
    assert pauses[-1] == pytest.approx(4)
    place.answer(place.acquire())
    assert endpoint.is_free(place.clock.now)
    assert not place.breaker.is_dead(), "an endpoint that counts our requests is alive"


def test_it_is_not_left_alone_for_longer_than_it_asks_for() -> None:
    place = Place(ceiling=1)
    [endpoint] = place.members
    soon = ModelError("HTTP 429", status=429, is_retryable=True, retry_after_s=1.0)
    for _ in range(10):
        place.fail(place.acquire(), soon, 0)
        assert endpoint.rests_until - place.clock.now <= 1.0 + 1e-9
        place.clock.now = endpoint.rests_until


# -- death -----------------------------------------------------------------------------------------


def test_so_many_failures_of_different_samples_in_a_row_are_death() -> None:
    place = Place(give_up_after=8)
    [endpoint] = place.members
    for who in range(8):
        assert not place.breaker.is_dead()
        place.clock.now = max(place.clock.now, endpoint.rests_until)
        place.fail(place.acquire(), BROKEN, who)
    assert place.breaker.is_dead()


@pytest.mark.parametrize("give_up_after", [1, 2, 3, 8, 50])
def test_how_many_is_the_users_choice(give_up_after: int) -> None:
    place = Place(give_up_after=give_up_after)
    [endpoint] = place.members
    n = 0
    while not place.breaker.is_dead():
        place.clock.now = max(place.clock.now, endpoint.rests_until)
        place.fail(place.acquire(), GONE, n)
        n += 1
    assert n == give_up_after


def test_one_sample_that_fails_again_and_again_is_not_death() -> None:
    place = Place(give_up_after=8)
    [endpoint] = place.members
    for _ in range(50):
        place.fail(place.acquire(), BROKEN, "poison")
    assert not place.breaker.is_dead()
    assert not endpoint.is_suspect


def test_a_sample_that_others_were_answered_around_says_nothing() -> None:
    place = Place(give_up_after=3)
    for n in range(100):
        place.answer(place.acquire())
        place.fail(place.acquire(), BROKEN, f"poison {n % 5}")
    assert not place.breaker.is_dead()
    assert place.members[0].failures <= 1


def test_an_answer_takes_all_suspicion_away() -> None:
    place = Place(give_up_after=8)
    [endpoint] = place.members
    for _ in range(5):
        for who in range(7):
            place.clock.now = max(place.clock.now, endpoint.rests_until)
            place.fail(place.acquire(), GONE, who)
        place.clock.now = endpoint.rests_until
        place.answer(place.acquire())
        place._began.clear()
    assert not place.breaker.is_dead()


def test_one_of_two_that_lives_is_enough() -> None:
    place = Place(2, give_up_after=3)
    dead, alive = place.members
    for who in range(20):
        dead.in_flight += 1
        place.fail(dead, GONE, who)
    assert dead.is_dead(3)
    assert not place.breaker.is_dead()
    met = {id(place.acquire()) for _ in range(4)}
    assert met == {id(alive)}
    for who in range(20):
        place.fail(alive, GONE, f"again {who}")
        alive.in_flight += 1
    assert place.breaker.is_dead()


def test_refusals_for_being_too_many_count_when_a_sample_has_no_try_left() -> None:
    place = Place(give_up_after=4)
    [endpoint] = place.members
    for who in range(4):
        place.clock.now = max(place.clock.now, endpoint.rests_until)
        place.fail(place.acquire(), BUSY, who)
    assert not place.breaker.is_dead()
    for who in range(4):
        place.clock.now = max(place.clock.now, endpoint.rests_until)
        place.fail(place.acquire(), BUSY, who, is_last=True)
    assert place.breaker.is_dead()


# -- refusals --------------------------------------------------------------------------------------


def refuse(place: Place, endpoint: Endpoint, error: ModelError) -> Refusal:
    """It is sent a request and will not answer it."""
    endpoint.in_flight += 1
    sent_at = place.clock.now
    place.clock.now += 0.001
    place.all.record_refusal(endpoint, error, sent_at)
    return Refusal(endpoint, error, sent_at)


def test_who_refuses_what_others_answer_is_left_alone_then_asked_one_at_a_time() -> None:
    place = Place(2)
    bad, good = place.members
    for who in range(3):
        assert not bad.is_suspect
        refusal = refuse(place, bad, REFUSED)
        place.clock.now += 0.1
        place.all.record_contradiction([refusal], who)
    assert bad.is_suspect
    assert {id(place.acquire()) for _ in range(5)} == {id(good)}
    place.clock.now += 2.0
    assert place.acquire() is bad
    assert not bad.is_free(place.clock.now), "one at a time"
    bad.in_flight -= 1
    refuse(place, bad, REFUSED)
    place.clock.now += 3.9
    assert not bad.is_free(place.clock.now), "at once, and for longer, before another one has answered"
    place.clock.now += 0.2
    place.answer(place.acquire())
    assert not bad.is_suspect


def test_refusals_of_one_wave_are_one_rest() -> None:
    place = Place(2, ceiling=64)
    bad, _ = place.members
    refusals = [refuse(place, bad, REFUSED) for _ in range(32)]
    place.clock.now += 1.0
    for who, refusal in enumerate(refusals):
        place.all.record_contradiction([refusal], who)
    assert bad.rests_until - place.clock.now == pytest.approx(2.0)
    assert bad.failures == 3


def test_who_refuses_a_few_and_answers_others_is_used_as_before() -> None:
    place = Place(2)
    picky, _ = place.members
    for who in range(20):
        refusal = refuse(place, picky, WRONG_KEY if who % 2 else REFUSED)
        picky.in_flight += 1
        place.answer(picky)
        place.all.record_contradiction([refusal], who)
    assert not picky.is_suspect
    assert picky.is_free(place.clock.now)


def test_one_sample_that_is_refused_again_and_again_says_nothing() -> None:
    place = Place(2)
    bad, _ = place.members
    for _ in range(9):
        place.all.record_contradiction([refuse(place, bad, REFUSED)], "long")
    assert not bad.is_suspect


def test_who_turns_all_away_is_left_out_at_once_if_it_never_answered() -> None:
    place = Place(2)
    wrong, right = place.members
    refuse(place, wrong, WRONG_KEY)
    assert wrong.is_blocked
    assert place.acquire() is right
    place.clock.now = wrong.rests_until
    place.answer(wrong)
    assert not wrong.is_blocked, "it has been put right"


@pytest.mark.parametrize("is_proven", [False, True])
def test_who_has_answered_may_mean_one_sample_alone(is_proven: bool) -> None:
    place = Place(2, is_proven=is_proven)
    turned, _ = place.members
    if not is_proven:
        turned.in_flight += 1
        place.answer(turned)
    for _ in range(2):
        refuse(place, turned, WRONG_KEY)
        assert not turned.is_blocked
    refuse(place, turned, WRONG_KEY)
    assert turned.is_blocked


def test_who_turns_away_what_another_answers_is_left_out_though_it_has_answered() -> None:
    place = Place(2)
    turned, _ = place.members
    turned.in_flight += 1
    place.answer(turned)
    place.all.record_contradiction([refuse(place, turned, WRONG_KEY)], 0)
    assert turned.is_blocked


def test_people_are_told_once_of_each_that_is_left_out() -> None:
    place = Place(3)
    said: list[str] = []
    place.all.announce = said.append
    for member in place.members[:2]:
        for who in range(5):
            place.all.record_contradiction([refuse(place, member, WRONG_KEY)], who)
    assert said == ["HTTP 401 (left out for now: others answer what it refuses)"] * 2


def test_what_one_refused_it_is_not_asked_again() -> None:
    place = Place(3, ceiling=1)
    one, two, three = place.members
    refusals = [refuse(place, one, REFUSED)]
    assert place.all.try_acquire(one, refusals) is two
    refusals.append(refuse(place, three, REFUSED))
    assert place.all.try_acquire(three, refusals) is None, "it waits, though two others are free"
    assert place.all.find_others(refusals) == [two]


def test_a_second_opinion_comes_rather_from_one_in_good_standing() -> None:
    place = Place(3)
    one, doubtful, good = place.members
    for who in range(3):
        doubtful.in_flight += 1
        place.fail(doubtful, GONE, who)
    place.clock.now += 2.0
    good.in_flight = 5
    assert place.all.try_acquire(one, [refuse(place, one, REFUSED)]) is good


def test_the_refusal_of_an_only_one_does_not_make_its_rest_longer() -> None:
    place = Place()
    [endpoint] = place.members
    for who in range(3):
        place.fail(place.acquire(), GONE, who)
    place.clock.now += 2.0
    refuse(place, endpoint, REFUSED)
    assert endpoint.is_free(place.clock.now), "it is reachable again"


def test_a_place_is_not_lost_on_one_who_cannot_take_it() -> None:
    place = Place(2, ceiling=1)
    one, two = place.members

    async def play() -> None:
        for _ in range(2):
            await place.all.acquire()
        refusal = Refusal(one, REFUSED, 0.0)
        choosy = [asyncio.create_task(place.all.acquire(one, [refusal])) for _ in range(3)]
        await asyncio.sleep(0)
        anyone = asyncio.create_task(place.all.acquire())
        await asyncio.sleep(0)
        place.answer(one)
        assert await asyncio.wait_for(anyone, 0.1) is one
        for task in choosy:
            place.answer(two)
            await asyncio.sleep(0.001)
            assert task.done()
            assert task.result() is two

    go(play())


# -- what the live line reads ----------------------------------------------------------------------


def test_the_latest_answers_and_refusals_are_remembered() -> None:
    place = Place()
    for _ in range(300):
        place.answer(place.acquire(), latency_s=0.25)
    place.fail(place.acquire(), BUSY, 0)
    place.fail(place.acquire(), OVERLOADED, 1)
    place.fail(place.acquire(), BROKEN, 2)
    assert len(place.all.latencies) == 256
    assert place.all.latencies[-1] == pytest.approx(0.25)
    assert list(place.all.throttled)[-4:] == [False, True, True, False]


def test_people_hear_that_an_endpoint_may_be_dead_once_a_minute_at_most() -> None:
    place = Place(ceiling=8)
    said: list[str] = []
    place.all.announce = said.append
    [member] = place.members

    def die() -> None:
        for who in range(5):
            member.in_flight += 1
            place.clock.now += 40.0  # longer than any rest
            place.fail(member, who=who, error=ModelError("no answer", is_retryable=True))

    die()
    assert said[0] == "no answer (retrying with increasing delays)"
    assert len(said) == 2, "two minutes after the third failure, the fifth"
    place.answer(member)
    place.clock.now += 1.0
    assert len(said) == 2
