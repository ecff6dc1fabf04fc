"""Asking with retries: what is tried again, how fast, where, and when it is given up."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from eyechart.engine import pool, retry
from eyechart.engine.budget import Budget, BudgetGate, BudgetSpent
from eyechart.engine.pool import LatencyMonitor, Stopped, StopSignal
from eyechart.engine.retry import (
    DeadEndpoint,
    EngineSettings,
    NoReply,
    RequestResult,
    RetryingClient,
    RetryPolicy,
)
from eyechart.errors import ModelError
from eyechart.models.specs import Fleet
from eyechart.types import Capabilities, Message, Model, Reply, Request, Usage
from support.parts import FAST, ScriptedModel, sample

BROKEN = ModelError("HTTP 500", status=500, is_retryable=True)
BUSY = ModelError("HTTP 429", status=429, is_retryable=True)
REFUSED = ModelError("HTTP 400: no pictures, please", status=400)
GONE = ModelError("cannot connect", is_retryable=True, is_unreachable=True)
WRONG_KEY = ModelError("HTTP 401", status=401, is_fatal=True)

Outcome = RequestResult | NoReply | Stopped


class Server(ScriptedModel):
    """Takes a moment for every answer; the script says what comes of it."""

    capabilities = Capabilities(is_endpoint=True)

    def __init__(
        self, fate: Callable[[Request], ModelError | None], *, latency_s: float = 0.002, name: str = ""
    ) -> None:
        super().__init__(None, endpoint=name)
        self._fate, self._latency_s = fate, latency_s
        self.at: list[float] = []
        self.in_flight = self.most_in_flight = 0
        self.usage: Usage | None = Usage(prompt_tokens=8, completion_tokens=2)

    async def reply(self, request: Request) -> Reply:
        self.at.append(time.monotonic())
        self.asked.append(request.sample.id)
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        try:
            if (error := self._fate(request)) is not None:
                raise error
            await asyncio.sleep(self._latency_s)
        finally:
            self.in_flight -= 1
        return Reply(text="A", usage=self.usage)


def fine(request: Request) -> None:
    return None


def always(error: ModelError) -> Callable[[Request], ModelError]:
    return lambda request: error


def question(k: int) -> Request:
    return Request(messages=(Message("user", (f"Question {k}?",)),), sample=sample(k))


def settings_for(**fields: Any) -> EngineSettings:
    usual: dict[str, Any] = {"concurrency": 8, "retry": FAST, "first_rest_s": 0.005}
    return EngineSettings(**(usual | fields))


def ask_all(
    model: Model,
    n: int,
    settings: EngineSettings,
    *,
    gate: BudgetGate | None = None,
    trials: int = 1,
    within_s: float = 60,
) -> tuple[list[Outcome], RetryingClient]:
    """As the executor does it: as many workers as may be in flight; what became of every question."""
    outcomes: dict[int, Outcome] = {}

    async def drive() -> RetryingClient:
        client = RetryingClient.open(model, settings, StopSignal(), gate=gate)
        left = iter(range(n))

        async def work() -> None:
            for k in left:
                if client.stop.is_set:
                    return
                try:
                    outcomes[k] = await client.ask(question(k), trials)
                except (NoReply, Stopped) as end:
                    outcomes[k] = end

        async with asyncio.timeout(within_s):
            await asyncio.gather(*(work() for _ in range(settings.concurrency)))
        return client

    client = asyncio.run(drive())
    return [outcomes[k] for k in sorted(outcomes)], client


def kinds(outcomes: list[Outcome]) -> Counter[type[Any]]:
    return Counter(type(one) for one in outcomes)


# -- how many at once ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3, 17, 48])
def test_n_at_once_are_n(n: int) -> None:
    model = Server(fine)
    # Not adaptive: a pause of the machine looks like an endpoint that has slowed down.
    outcomes, client = ask_all(model, 4 * n, settings_for(concurrency=n, is_adaptive=False))
    assert kinds(outcomes) == {RequestResult: 4 * n}
    assert model.most_in_flight == n
    assert client.pool.limit == n


def test_n_at_once_are_n_over_all_endpoints() -> None:
    members = [Server(fine, name=name) for name in "ab"]
    ask_all(Fleet(members), 96, settings_for(concurrency=24))
    assert [member.most_in_flight for member in members] == [12, 12]
    assert [len(member.asked) for member in members] == pytest.approx([48, 48], abs=8)


def test_a_model_that_takes_few_at_once_is_sent_few() -> None:
    model = Server(fine)
    model.capabilities = Capabilities(is_endpoint=True, max_concurrency=2)
    ask_all(model, 10, settings_for())
    assert model.most_in_flight == 2


# -- refusals for now ------------------------------------------------------------------------------


class Bucket:
    """So many a second, and not one more."""

    def __init__(self, per_s: float) -> None:
        self._s_each, self._next = 1 / per_s, 0.0

    def __call__(self, request: Request) -> ModelError | None:
        now = time.monotonic()
        if now < self._next:
            return BUSY
        self._next = now + self._s_each
        return None


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_no_sample_fails_for_429_while_others_are_answered(concurrency: int) -> None:
    model = Server(Bucket(200))
    tries = RetryPolicy(attempts=2, first_s=0.01)
    outcomes, client = ask_all(model, 30, settings_for(concurrency=concurrency, retry=tries))
    assert kinds(outcomes) == {RequestResult: 30}
    assert client.sent == len(model.asked) == 30 + client.retried
    assert len(model.asked) < 30 * 10, "nor is the endpoint asked over and over"


@pytest.mark.slow
def test_being_told_to_wait_for_ever_fails_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def fate(request: Request) -> ModelError | None:
        return BUSY if request.sample.id == "q0" else None

    model = Server(fate)
    monkeypatch.setattr(retry, "_RECENTLY_S", 0.1)
    outcomes, _ = ask_all(model, 200, settings_for(retry=RetryPolicy(attempts=2, first_s=0.0001)))
    assert kinds(outcomes) == {RequestResult: 199, NoReply: 1}
    assert isinstance(outcomes[0], NoReply)
    assert 2 < outcomes[0].attempts <= 2 + 20


@pytest.mark.slow
def test_a_delayed_request_holds_up_no_other() -> None:
    later = ModelError("HTTP 429", status=429, is_retryable=True, retry_after_s=1)
    times: list[float] = []

    def fate(request: Request) -> ModelError | None:
        if request.sample.id != "q0":
            return None
        times.append(time.monotonic())
        return later if len(times) == 1 else None

    model = Server(fate)
    outcomes, _ = ask_all(model, 100, settings_for())
    assert kinds(outcomes) == {RequestResult: 100}
    assert times[1] - times[0] >= 1
    meanwhile = [at for at in model.at if times[0] < at < times[1]]
    assert len(meanwhile) > 90


def test_an_endpoint_that_refuses_all_does_not_swallow_what_another_would_answer() -> None:
    """It is always the one with the fewest under way, for it refuses at once."""
    full = ModelError("HTTP 429", status=429, is_retryable=True, retry_after_s=0.5)
    busy, idle = Server(always(full), name="busy"), Server(fine, name="idle")
    start = time.monotonic()
    outcomes, client = ask_all(Fleet([busy, idle]), 300, settings_for(concurrency=16))
    assert kinds(outcomes) == {RequestResult: 300}
    assert len(busy.asked) < 40
    assert time.monotonic() - start < 20
    assert client.stop.trouble is None


# -- rates -----------------------------------------------------------------------------------------


def most_within(times: list[float], window_s: float) -> int:
    return max(sum(start <= at < start + window_s for at in times) for start in times)


def most_ahead(times: list[float], per_s: float) -> float:
    """By how many requests it was ahead of so many a second; a moment that was missed may be made up for."""
    return max(n - per_s * (at - times[0]) for n, at in enumerate(times))


@pytest.mark.slow
def test_no_more_requests_are_sent_than_allowed() -> None:
    model = Server(fine)
    ask_all(model, 30, settings_for(rpm=60 * 100))
    assert most_ahead(model.at, 100) <= 3
    assert 0.27 < model.at[-1] - model.at[0] < 3


@pytest.mark.slow
def test_retries_count_as_requests() -> None:
    seen: Counter[str] = Counter()

    def fate(request: Request) -> ModelError | None:
        seen[request.sample.id] += 1
        return BROKEN if seen[request.sample.id] == 1 else None

    model = Server(fate)
    ask_all(model, 15, settings_for(rpm=60 * 100, give_up_after=100))
    assert len(model.at) == 30
    assert model.at[-1] - model.at[0] > 0.27


@pytest.mark.slow
def test_tokens_are_counted_as_the_endpoint_reports_them() -> None:
    model = Server(fine, latency_s=0.0)
    model.usage = Usage(prompt_tokens=500, completion_tokens=500)
    ask_all(model, 5, settings_for(concurrency=1, tpm=60 * 10_000))
    assert 0.3 < model.at[-1] - model.at[0] < 3, "the guess was some five tokens each"


@pytest.mark.slow
def test_many_at_once_do_not_send_more_tokens_than_allowed_before_the_first_long_reply_is_in() -> None:
    model = Server(fine, latency_s=0.2)
    model.usage = Usage(prompt_tokens=10, completion_tokens=990)
    ask_all(model, 30, settings_for(concurrency=30, tpm=60 * 20_000))
    assert most_ahead(model.at, 20) <= 2, "twenty a second"
    assert model.at[-1] - model.at[0] < 5


@pytest.mark.slow
def test_reservations_that_were_not_used_are_not_used_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that hangs for a while must not be met by all that were to be sent meanwhile."""
    comes_back = asyncio.Event()

    class Hanging(Server):
        async def reply(self, request: Request) -> Reply:
            reply = await super().reply(request)
            await comes_back.wait()
            return reply

    model = Hanging(fine)
    settings = settings_for(concurrency=40, rpm=60 * 100, is_adaptive=False)
    monkeypatch.setattr(retry, "_STALE_S", 0.1)
    monkeypatch.setattr(pool, "_BURST_S", 0.05)

    async def drive() -> None:
        client = RetryingClient.open(model, settings, StopSignal())
        [endpoint] = client.pool.members
        endpoint.limit.value = 1  # as after many refusals
        asks = [asyncio.create_task(client.ask(question(k))) for k in range(40)]
        await asyncio.sleep(1.2)  # the last of forty turns was to be taken 0.8 s ago
        assert len(model.at) == 1
        endpoint.limit.value = 40
        comes_back.set()
        async with asyncio.timeout(10):
            await asyncio.gather(*asks)

    asyncio.run(drive())
    assert len(model.at) == 40
    assert most_within(model.at, 0.1) <= 30, "forty were to be sent while it hung"


# -- what never works ------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_wrong_key_ends_it_at_the_first_answer(concurrency: int) -> None:
    model = Server(always(WRONG_KEY))
    _, client = ask_all(model, 500, settings_for(concurrency=concurrency))
    assert client.stop.trouble is WRONG_KEY
    assert len(model.asked) <= concurrency


def test_a_refusal_of_one_sample_is_not_taken_for_a_wrong_key() -> None:
    def fate(request: Request) -> ModelError | None:
        return WRONG_KEY if request.sample.id in {"q5", "q9"} else None

    outcomes, client = ask_all(Server(fate), 40, settings_for(concurrency=1))
    assert kinds(outcomes) == {RequestResult: 38, NoReply: 2}
    assert client.stop.trouble is None


def test_a_key_that_is_withdrawn_ends_it_soon() -> None:
    model = Server(lambda request: WRONG_KEY if len(model.asked) > 20 else None)
    _, client = ask_all(model, 500, settings_for(concurrency=4))
    assert client.stop.trouble is WRONG_KEY
    assert len(model.asked) <= 20 + 3 + 4


@pytest.mark.parametrize("give_up_after", [3, 8])
def test_an_endpoint_that_refuses_whatever_it_is_sent(give_up_after: int) -> None:
    model = Server(always(REFUSED))
    _, client = ask_all(model, 500, settings_for(concurrency=1, give_up_after=give_up_after))
    assert len(model.asked) == give_up_after + 1  # a plain question is refused as well
    trouble = client.stop.trouble
    assert isinstance(trouble, DeadEndpoint)
    assert f"the first {give_up_after} requests were all refused" in trouble.message
    assert "no pictures, please" in trouble.message


@pytest.mark.parametrize("concurrency", [1, 4, 64])
def test_refusals_that_are_particular_to_the_first_questions_end_nothing(concurrency: int) -> None:
    """Their pictures are refused by a policy, say."""

    def fate(request: Request) -> ModelError | None:
        number = int(request.sample.id[1:])
        return REFUSED if number < 20 and request.messages == question(number).messages else None

    model = Server(fate)
    outcomes, client = ask_all(model, 60, settings_for(concurrency=concurrency))
    assert kinds(outcomes) == {RequestResult: 40, NoReply: 20}
    assert client.stop.trouble is None
    assert len(model.asked) <= 61


def test_an_overloaded_endpoint_shows_nothing_about_refusals() -> None:
    def fate(request: Request) -> ModelError | None:
        number = int(request.sample.id[1:])
        if request.messages != question(number).messages:
            return BUSY
        return REFUSED if number < 20 else None

    outcomes, client = ask_all(Server(fate), 60, settings_for(concurrency=1))
    assert kinds(outcomes) == {RequestResult: 40, NoReply: 20}
    assert client.stop.trouble is None


def test_refusals_between_answers_end_nothing() -> None:
    def fate(request: Request) -> ModelError | None:
        return REFUSED if int(request.sample.id[1:]) % 2 else None

    outcomes, client = ask_all(Server(fate), 60, settings_for())
    assert kinds(outcomes) == {RequestResult: 30, NoReply: 30}
    assert client.stop.trouble is None


def test_an_endpoint_that_gives_one_answer_at_a_time_is_not_taken_for_one_that_gives_none() -> None:
    """All that are under way together are refused before it is known."""

    class OneByOne(Server):
        async def replies(self, request: Request, n: int) -> list[Reply]:
            await asyncio.sleep(0.001)
            raise ModelError("HTTP 400: n must be 1", status=400)

    outcomes, client = ask_all(OneByOne(fine), 64, settings_for(concurrency=32), trials=3)
    assert kinds(outcomes) == {RequestResult: 64}
    assert client.gives_one_reply
    assert client.stop.trouble is None


def test_an_unreachable_address() -> None:
    model = Server(always(GONE))
    start = time.monotonic()
    _, client = ask_all(model, 500, settings_for())
    assert client.stop.trouble is GONE
    assert time.monotonic() - start < 20


def test_one_dead_address_does_not_end_a_run_without_retries() -> None:
    dead, alive = Server(always(GONE), name="dead"), Server(fine, name="alive")
    outcomes, client = ask_all(Fleet([dead, alive]), 60, settings_for(retry=RetryPolicy(attempts=1)))
    assert client.stop.trouble is None
    assert kinds(outcomes)[RequestResult] > 40


# -- dead, or only unlucky -------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 4, 64])
@pytest.mark.parametrize("error", [BROKEN, ModelError("no answer: reset", is_retryable=True)])
def test_samples_that_always_fail_do_not_look_like_a_dead_endpoint(
    concurrency: int, error: ModelError
) -> None:
    def fate(request: Request) -> ModelError | None:
        return error if int(request.sample.id[1:]) % 20 == 7 else None

    outcomes, client = ask_all(Server(fate), 200, settings_for(concurrency=concurrency))
    assert client.stop.trouble is None
    assert kinds(outcomes) == {RequestResult: 190, NoReply: 10}


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 4, 64])
@pytest.mark.parametrize("error", [BROKEN, GONE])
def test_an_endpoint_that_dies_is_noticed_early(concurrency: int, error: ModelError) -> None:
    model = Server(lambda request: error if len(model.asked) > 100 else None)
    start = time.monotonic()
    outcomes, client = ask_all(model, 60_000, settings_for(concurrency=concurrency))
    assert isinstance(client.stop.trouble, DeadEndpoint)
    assert kinds(outcomes)[RequestResult] >= 100 - concurrency
    assert len(outcomes) <= 100 + 2 * concurrency + 8, "the others were never asked"
    assert time.monotonic() - start < 20, "and nothing waits once it is clear"


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 2, 16])
def test_the_first_request_that_is_answered_again_brings_all_back(
    concurrency: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a server is restarted: nothing fails, though nothing is answered for a while."""
    monkeypatch.setattr(LatencyMonitor, "add", lambda *rest: "")  # on a busy machine latency rises as well
    returns_at = 0.0

    def fate(request: Request) -> ModelError | None:
        nonlocal returns_at
        if len(model.asked) == 200:
            returns_at = time.monotonic() + 0.5
        return GONE if time.monotonic() < returns_at else None

    model = Server(fate)
    settings = settings_for(
        concurrency=concurrency, first_rest_s=0.05, retry=RetryPolicy(attempts=3, first_s=0.05)
    )
    outcomes, client = ask_all(model, 300, settings)
    assert kinds(outcomes) == {RequestResult: 300}
    assert client.pool.limit == concurrency
    assert client.retried < 100, "it is tried with one request at a time"


def test_an_endpoint_that_is_silent_is_noticed_as_well() -> None:
    model = Server(fine, latency_s=5)
    _, client = ask_all(model, 1000, settings_for(timeout_s=0.02, give_up_after=4))
    assert isinstance(client.stop.trouble, DeadEndpoint)
    assert "no answer within 0.02 s" in client.stop.trouble.message
    assert len(model.asked) < 30


@pytest.mark.slow
def test_one_of_two_that_dies_and_returns_is_used_again() -> None:
    start = time.monotonic()

    def fate(request: Request) -> ModelError | None:
        return GONE if 0.1 < time.monotonic() - start < 0.25 else None

    mortal, other = Server(fate, name="mortal"), Server(fine, name="other")
    outcomes, _ = ask_all(Fleet([mortal, other]), 4000, settings_for(concurrency=16, first_rest_s=0.05))
    assert kinds(outcomes) == {RequestResult: 4000}
    while_dead = [at for at in mortal.at if 0.12 < at - start < 0.25]
    later = [at for at in mortal.at if at - start > 0.25]
    assert len(while_dead) < 16
    assert len(later) > 100, "and is spread over again"


# -- one of several that refuses -------------------------------------------------------------------

NO_MODEL = ModelError("HTTP 404 from bad", status=404, is_fatal=True)
TOO_LARGE = ModelError("HTTP 413", status=413)
MUCH_LATER = ModelError("HTTP 429", status=429, is_retryable=True, retry_after_s=3600)
LASTING = {"400": REFUSED, "401": WRONG_KEY, "404": NO_MODEL, "413": TOO_LARGE, "429": MUCH_LATER}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("concurrency", "retries", "turns_at"), [(1, 0, 0), (4, 5, 20), (32, 5, 0), (32, 0, 20)]
)
@pytest.mark.parametrize("error", LASTING.values(), ids=LASTING)
def test_no_sample_is_lost_to_one_that_refuses(
    error: ModelError, turns_at: int, retries: int, concurrency: int
) -> None:
    bad = Server(lambda request: error if len(bad.asked) > turns_at else None, name="bad")
    good = Server(fine, name="good")
    tries = RetryPolicy(attempts=1 + retries, first_s=0.001)
    settings = settings_for(concurrency=concurrency, retry=tries, first_rest_s=0.5)
    outcomes, client = ask_all(Fleet([bad, good]), 200, settings)
    assert kinds(outcomes) == {RequestResult: 200}
    assert client.stop.trouble is None
    assert len(bad.asked) <= turns_at + 2 * concurrency + 3, "nor does it take most of the traffic"
    assert client.sent == len(bad.asked) + len(good.asked) == 200 + client.retried


def test_there_is_no_delay_before_another_endpoint_is_asked() -> None:
    bad, good = Server(always(REFUSED), name="bad"), Server(fine, name="good")
    start = time.monotonic()
    outcomes, _ = ask_all(
        Fleet([bad, good]), 40, settings_for(retry=RetryPolicy(first_s=60), first_rest_s=0.5)
    )
    assert kinds(outcomes) == {RequestResult: 40}
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("error", [REFUSED, NO_MODEL])
def test_one_good_one_among_many_that_refuse_is_found(error: ModelError) -> None:
    bad = [Server(always(error), name=f"bad {n}") for n in range(4)]
    good = Server(fine, latency_s=0.01, name="good")
    outcomes, client = ask_all(Fleet([*bad, good]), 60, settings_for(first_rest_s=0.5))
    assert kinds(outcomes) == {RequestResult: 60}
    assert client.stop.trouble is None
    assert sum(len(one.asked) for one in bad) < 100


@pytest.mark.slow
def test_one_that_is_put_right_is_used_again() -> None:
    start = time.monotonic()
    bad = Server(lambda request: NO_MODEL if time.monotonic() - start < 0.1 else None, name="bad")
    outcomes, _ = ask_all(Fleet([bad, Server(fine, name="good")]), 1000, settings_for(first_rest_s=0.02))
    assert kinds(outcomes) == {RequestResult: 1000}
    assert len([at for at in bad.at if at - start < 0.1]) < 20
    assert len(bad.asked) > 100


def test_what_all_refuse_is_asked_of_each_once_and_fails() -> None:
    def fate(request: Request) -> ModelError | None:
        return REFUSED if int(request.sample.id[1:]) % 10 == 7 else None

    members = [Server(fate, name=name) for name in "abc"]
    outcomes, client = ask_all(Fleet(members), 100, settings_for())
    assert kinds(outcomes) == {RequestResult: 90, NoReply: 10}
    assert client.stop.trouble is None
    asked = Counter(name for member in members for name in member.asked)
    assert [asked[f"q{k}"] for k in range(100)] == [3 if k % 10 == 7 else 1 for k in range(100)]
    assert max(Counter(member.asked).most_common(1)[0][1] for member in members) == 1


def test_what_one_refuses_fails_if_the_other_is_dead() -> None:
    """To wait for one that may never come back would hold up all others."""

    def fate(request: Request) -> ModelError | None:
        return REFUSED if int(request.sample.id[1:]) % 10 == 7 else None

    dead, alive = Server(always(GONE), name="dead"), Server(fate, name="alive")
    start = time.monotonic()
    outcomes, client = ask_all(Fleet([dead, alive]), 300, settings_for(first_rest_s=2.0))
    assert kinds(outcomes)[RequestResult] == 270
    assert client.stop.trouble is None
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_wrong_key_at_all_of_them_ends_it_at_their_first_answers(concurrency: int) -> None:
    members = [Server(always(WRONG_KEY), name=name) for name in "ab"]
    outcomes, client = ask_all(Fleet(members), 500, settings_for(concurrency=concurrency))
    assert client.stop.trouble is WRONG_KEY
    assert RequestResult not in kinds(outcomes)
    assert client.sent <= 2 * concurrency


def test_a_wrong_key_at_one_and_an_unreachable_one_end_it_soon() -> None:
    wrong, gone = Server(always(WRONG_KEY), name="wrong"), Server(always(GONE), name="gone")
    _, client = ask_all(Fleet([wrong, gone]), 500, settings_for())
    assert client.stop.trouble is GONE
    assert client.sent < 60


def test_all_that_refuse_whatever_they_are_sent_end_it() -> None:
    members = [Server(always(REFUSED), name=name) for name in "ab"]
    _, client = ask_all(Fleet(members), 500, settings_for(concurrency=1, give_up_after=5))
    assert isinstance(client.stop.trouble, DeadEndpoint)
    assert "the first 5 requests were all refused" in client.stop.trouble.message
    assert [len(member.asked) for member in members] == [6, 6]


@pytest.mark.slow
def test_a_slow_one_is_waited_for_though_the_quick_one_refuses_all() -> None:
    """So many refusals come before the first answer that they would end the run of a single endpoint."""
    quick, slow = Server(always(REFUSED), name="quick"), Server(fine, latency_s=0.2, name="slow")
    outcomes, client = ask_all(Fleet([quick, slow]), 64, settings_for(concurrency=32))
    assert kinds(outcomes) == {RequestResult: 64}
    assert client.stop.trouble is None


def test_what_waits_for_its_next_try_is_counted_until_it_is_sent() -> None:
    """Counted at each request that is sent: none waits while all are in flight."""
    seen: list[int] = []
    failed: set[str] = set()

    def once(request: Request) -> ModelError | None:
        seen.append(len(client.waiting))
        if request.sample.id in failed:
            return None
        failed.add(request.sample.id)
        return BROKEN

    client = RetryingClient.open(Server(once), settings_for(concurrency=4), StopSignal())

    async def work() -> None:
        await asyncio.gather(*(client.ask(question(k)) for k in range(4)))

    asyncio.run(work())
    assert len(seen) == 8
    assert 1 <= max(seen) <= 3, "one after the other goes out again, while the others wait"
    assert len(client.waiting) == 0


# -- the gate -------------------------------------------------------------------------------------


def gate(max_tokens: int) -> BudgetGate:
    return BudgetGate(Budget(max_cost=None, max_tokens=max_tokens, prices={}))


@pytest.mark.slow
@pytest.mark.parametrize("concurrency", [1, 32])
def test_the_budget_ends_it_without_a_failure_and_without_overshoot(concurrency: int) -> None:
    model = Server(fine)
    mine = gate(1000)
    outcomes, client = ask_all(model, 500, settings_for(concurrency=concurrency), gate=mine)
    assert isinstance(client.stop.trouble, BudgetSpent)
    assert len(model.asked) == 100
    assert mine.budget.tokens == 1000
    assert kinds(outcomes)[RequestResult] == 100
    assert kinds(outcomes)[NoReply] == 0


def test_an_endpoint_that_does_not_count_is_counted_by_a_guess() -> None:
    model = Server(fine)
    model.usage = None
    mine = gate(200)
    _, client = ask_all(model, 500, settings_for(), gate=mine)
    assert isinstance(client.stop.trouble, BudgetSpent)
    assert 10 < len(model.asked) < 200
    assert 150 < mine.budget.tokens <= 200


def test_what_failed_is_not_paid_for() -> None:
    model = Server(lambda request: BROKEN if len(model.asked) % 3 == 0 else None)
    mine = gate(10_000)
    outcomes, _ = ask_all(model, 60, settings_for(), gate=mine)
    assert mine.budget.tokens == 10 * kinds(outcomes)[RequestResult]


class Panic(BaseException):
    """As a library in another language raises it."""


@pytest.mark.parametrize("error", [Panic("at the disco"), asyncio.CancelledError("of its own accord")])
def test_a_model_that_panics_or_ends_itself_fails_its_sample_alone(error: BaseException) -> None:
    def script(request: Request) -> str:
        if request.sample.id == "q3":
            raise error
        return "fine"

    outcomes, _ = ask_all(ScriptedModel(script), 8, settings_for(concurrency=2))
    assert kinds(outcomes) == {RequestResult: 7, NoReply: 1}
    assert f"raised {type(error).__name__}" in str(outcomes[3])


def test_a_worker_that_is_ended_from_outside_is_no_failure_of_the_model() -> None:
    async def wait(request: Request) -> str:
        await asyncio.sleep(60)
        return "late"

    async def drive() -> None:
        client = RetryingClient.open(ScriptedModel(wait), settings_for(), StopSignal())
        task = asyncio.create_task(client.ask(question(0)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(drive())
