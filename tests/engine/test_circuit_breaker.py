"""When one request is given up, and when the run is."""

from __future__ import annotations

import pytest

from eyechart.engine.pool import AdaptiveLimit, Endpoint, EndpointPool
from eyechart.engine.retry import Attempts, CircuitBreaker, DeadEndpoint, RetryPolicy
from eyechart.errors import ModelError
from eyechart.types import Message, Request
from support.parts import ScriptedModel, sample

BROKEN = ModelError("HTTP 500", status=500, is_retryable=True)
BUSY = ModelError("HTTP 429", status=429, is_retryable=True)
MUCH_LATER = ModelError("HTTP 429", status=429, is_retryable=True, retry_after_s=3600)
REFUSED = ModelError("HTTP 400: no pictures, please", status=400)
SLIP = ModelError("python:mine.py raised KeyError")
GONE = ModelError("cannot connect", is_retryable=True, is_unreachable=True)
WRONG_KEY = ModelError("HTTP 401", status=401, is_fatal=True)


class Play:
    """Endpoints that are asked by hand."""

    def __init__(self, n: int = 1, *, give_up_after: int = 8, attempts: int = 1, is_proven: bool = False):
        self.members = [Endpoint(ScriptedModel(), AdaptiveLimit(8)) for _ in range(n)]
        self.pool = EndpointPool(self.members, is_proven=is_proven)
        self.breaker = CircuitBreaker(self.pool, give_up_after=give_up_after)
        self.backoff = RetryPolicy(attempts=attempts)
        self._n_samples = 0

    def tries(self, n_wanted: int = 1) -> Attempts:
        """Those of another sample."""
        self._n_samples += 1
        request = Request(messages=(Message("user", ("?",)),), sample=sample(self._n_samples))
        return Attempts(request, n_wanted=n_wanted)

    def fail(self, error: ModelError, tries: Attempts | None = None, at: int = 0) -> ModelError | None:
        """One more fails; the reason to end the run, if there is one."""
        tries = tries or self.tries()
        endpoint = self.members[at]
        endpoint.in_flight += 1
        tries.begin()
        tries.fail(error, endpoint, self.pool, self.backoff)
        return self.breaker.check(error, tries)

    def answer(self, at: int = 0) -> None:
        """One is answered."""
        self.members[at].in_flight += 1
        tries = self.tries()
        tries.begin()
        self.pool.record_answer(self.members[at], tries.sent_at)


# -- one request -----------------------------------------------------------------------------------


@pytest.mark.parametrize("attempts", [1, 2, 6])
def test_a_request_is_tried_as_often_as_allowed(attempts: int) -> None:
    play = Play(attempts=attempts)
    tries = play.tries()
    while tries.may_go_on:
        play.fail(BROKEN, tries)
    assert tries.n == attempts


@pytest.mark.parametrize("error", [REFUSED, WRONG_KEY, SLIP, MUCH_LATER])
def test_what_an_only_endpoint_refuses_is_not_tried_again(error: ModelError) -> None:
    play = Play(attempts=6)
    play.answer()
    tries = play.tries()
    play.fail(error, tries)
    assert not tries.may_go_on


@pytest.mark.parametrize("error", [REFUSED, WRONG_KEY, SLIP, MUCH_LATER])
@pytest.mark.parametrize("attempts", [1, 6])
def test_what_one_of_several_refuses_is_tried_at_each_other_one(error: ModelError, attempts: int) -> None:
    play = Play(3, attempts=attempts)
    for member in range(3):
        play.answer(member)
    tries = play.tries()
    for member in range(3):
        assert tries.may_go_on
        play.fail(error, tries, at=member)
    assert not tries.may_go_on
    assert [refusal.endpoint for refusal in tries.refusals] == play.members


def test_one_that_may_be_dead_is_no_second_opinion() -> None:
    play = Play(2, attempts=6, is_proven=True)
    for _ in range(3):
        play.fail(GONE, at=1)
    assert play.members[1].is_suspect
    tries = play.tries()
    play.fail(REFUSED, tries)
    assert not tries.may_go_on


def test_the_refusal_of_one_that_is_left_out_waits_for_another() -> None:
    play = Play(2, attempts=3, is_proven=True)
    for _ in range(3):
        play.fail(GONE, at=1)
        play.fail(WRONG_KEY, at=0)
    assert play.members[0].is_blocked
    tries = play.tries()
    play.fail(WRONG_KEY, tries)
    assert tries.may_go_on
    play.fail(BROKEN, tries, at=1)
    assert tries.may_go_on
    play.fail(BROKEN, tries, at=1)
    assert not tries.may_go_on, "as many tries as are allowed, and no more"


def test_an_endpoint_that_became_unreachable_is_not_the_samples_fault() -> None:
    play = Play(attempts=2, is_proven=True)
    tries = play.tries()
    for _ in range(20):
        play.fail(GONE, tries)
        assert tries.may_go_on
    play.fail(GONE, tries)
    play.fail(GONE, tries)
    assert not tries.may_go_on, "but not for ever"


def test_every_attempt_counts_at_an_endpoint_that_was_never_reached() -> None:
    play = Play(attempts=2)
    tries = play.tries()
    play.fail(GONE, tries)
    play.fail(GONE, tries)
    assert not tries.may_go_on


def test_being_told_to_wait_while_others_are_answered_is_not_counted() -> None:
    play = Play(attempts=2)
    tries = play.tries()
    while tries.may_go_on:
        play.answer()
        play.fail(BUSY, tries)
    assert tries.n == 2 + 10 * 2


# -- wrong from the start --------------------------------------------------------------------------


def test_the_first_answer_that_is_fatal_ends_it() -> None:
    assert Play().fail(WRONG_KEY) is WRONG_KEY


@pytest.mark.parametrize("is_proven", [False, True])
def test_after_an_answer_three_in_a_row_end_it(is_proven: bool) -> None:
    play = Play(is_proven=is_proven)
    if not is_proven:
        play.answer()
    assert [play.fail(WRONG_KEY) for _ in range(3)] == [None, None, WRONG_KEY]


def test_answers_between_them_begin_a_new_row() -> None:
    play = Play()
    for _ in range(10):
        play.answer()
        assert play.fail(WRONG_KEY) is None
        assert play.fail(WRONG_KEY) is None


def test_all_of_several_must_be_wrong() -> None:
    play = Play(3)
    assert play.fail(WRONG_KEY, at=0) is None
    assert play.fail(WRONG_KEY, at=0) is None
    assert play.fail(WRONG_KEY, at=2) is None
    assert play.fail(WRONG_KEY, at=1) is WRONG_KEY


@pytest.mark.parametrize("attempts", [1, 6])
def test_an_endpoint_that_was_never_reached_ends_the_run(attempts: int) -> None:
    play = Play(attempts=attempts)
    reasons = [play.fail(GONE) for _ in range(3)]
    assert reasons == ([None, None, GONE] if attempts > 1 else [GONE] * 3)


def test_an_endpoint_that_became_unreachable_is_given_time() -> None:
    play = Play(give_up_after=5, is_proven=True)
    *before, last = [play.fail(GONE) for _ in range(5)]
    assert before == [None] * 4
    assert isinstance(last, DeadEndpoint)
    assert last.exit_code == 1


def test_one_of_two_is_unreachable() -> None:
    play = Play(2, attempts=6)
    assert [play.fail(GONE) for _ in range(20)] == [None] * 20
    assert play.fail(GONE, at=1) is None


def test_one_is_unreachable_and_the_other_one_is_wrong() -> None:
    play = Play(2, attempts=6)
    assert play.fail(WRONG_KEY, at=0) is None
    assert [play.fail(GONE, at=1) for _ in range(3)] == [None, None, GONE]


@pytest.mark.parametrize("give_up_after", [1, 3, 8])
def test_all_is_refused_from_the_start(give_up_after: int) -> None:
    play = Play(give_up_after=give_up_after)
    *before, last = [play.fail(REFUSED) for _ in range(give_up_after)]
    assert before == [None] * (give_up_after - 1)
    assert isinstance(last, DeadEndpoint)
    assert last.message == (
        f"the first {give_up_after} requests were all refused, the last one: HTTP 400: no pictures, please"
    )
    assert last.status == 400


@pytest.mark.parametrize("is_proven", [False, True])
def test_refusals_after_an_answer_end_nothing(is_proven: bool) -> None:
    play = Play(is_proven=is_proven)
    if not is_proven:
        play.answer()
    assert [play.fail(REFUSED) for _ in range(50)] == [None] * 50


def test_refusals_of_one_count_when_the_others_have_refused_it_too() -> None:
    play = Play(2, give_up_after=2)
    assert [play.fail(REFUSED, at=0) for _ in range(20)] == [None] * 20, "the other one is still to be asked"
    for is_end in (False, True):
        tries = play.tries()
        assert play.fail(REFUSED, tries, at=0) is None
        assert isinstance(play.fail(REFUSED, tries, at=1), DeadEndpoint) == is_end


def test_a_number_of_answers_that_is_refused_says_nothing_about_one() -> None:
    play = Play(give_up_after=1)
    assert play.fail(REFUSED, play.tries(n_wanted=3)) is None
    assert play.fail(SLIP) is None, "nor does a model's own error"
    assert play.fail(REFUSED) is not None


# -- dead ------------------------------------------------------------------------------------------


def test_the_message_says_what_happened_and_what_to_do() -> None:
    said = Play(give_up_after=5).breaker.explain_dead(GONE)
    assert said.exit_code == 1
    assert said.message == "5 failures in a row without an answer, the last one: cannot connect"
    assert "same command again" in said.hint
    assert "--give-up-after" in said.hint
    assert "none of the 2 endpoints answers" in Play(2).breaker.explain_dead(GONE).message


def test_one_that_turns_all_away_counts_as_dead_beside_one_that_is() -> None:
    play = Play(2, give_up_after=4, is_proven=True)
    for _ in range(3):
        assert play.fail(WRONG_KEY, at=0) is None
    *before, last = [play.fail(BROKEN, at=1) for _ in range(4)]
    assert before == [None] * 3
    assert isinstance(last, DeadEndpoint)


# -- a server that answered with errors, and then no more -------------------------------------------


def test_one_that_said_anything_before_is_waited_for() -> None:
    """A server that crashes on the first batch may be restarted: it is not a wrong address."""
    play = Play(attempts=2, give_up_after=8)
    assert play.fail(BROKEN) is None
    tries = play.tries()
    assert [play.fail(GONE, tries) for _ in range(6)] == [None] * 6
    assert tries.may_go_on, "an endpoint that became unreachable is no attempt of this request's"


@pytest.mark.parametrize("said", [BROKEN, REFUSED, BUSY])
def test_the_last_refusal_is_quoted_when_it_becomes_unreachable(said: ModelError) -> None:
    play = Play(attempts=2, give_up_after=4)
    play.fail(said)
    ends = [end for end in (play.fail(GONE) for _ in range(8)) if end is not None]
    assert isinstance(ends[0], DeadEndpoint)
    assert ends[0].message.endswith(f"the last one: cannot connect; before that: {said.message}")


def test_an_answer_that_no_key_gets_is_not_a_sign_of_life() -> None:
    play = Play(2, attempts=6)
    play.fail(WRONG_KEY, at=0)
    assert [play.fail(GONE, at=1) for _ in range(3)][-1] is GONE
