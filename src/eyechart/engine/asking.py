"""Asking one model, again and again where that may help, until it answers or all hope is gone."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from eyechart.engine.backoff import Backoff
from eyechart.engine.budget import Role
from eyechart.engine.deadlines import Deadlines
from eyechart.engine.endpoint import FIRST_REST_S, OVERLOADED, Endpoint
from eyechart.engine.endpoints import Endpoints
from eyechart.engine.giving_up import ODD_REQUEST, GivingUp, Tries
from eyechart.engine.pace import Limit, Rate, Rates, Share
from eyechart.engine.spending import Purse
from eyechart.engine.stopping import Stop, Stopped
from eyechart.errors import ModelError
from eyechart.model.tokens import guess_usage
from eyechart.types import Fleet, Model, Reply, Request, Several, Usage

_STALE_S = 1.0  # a turn that is taken up later than this is another request's by now

Call = Callable[[Model], Awaitable["Reply | list[Reply]"]]


class Unanswered(Exception):
    """No reply, after as many tries as were allowed."""

    def __init__(self, error: ModelError, attempts: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.attempts = attempts


class Answer(msgspec.Struct, frozen=True):
    """What came back, how many tries it took, and the tokens that were taken from the purse, if there is one.

    Those are the last try's alone, guessed where the endpoint does not count.
    """

    replies: list[Reply]
    attempts: int
    paid: Usage | None = None


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait for one try, how many there may be, how many at once, and when to give up."""

    concurrency: int = 64
    is_adaptive: bool = True
    timeout_s: float = 600.0
    give_up_after: int = 8
    first_rest_s: float = FIRST_REST_S  # of an endpoint that may be dead; doubled with every further failure
    backoff: Backoff = Backoff()
    rpm: float | None = None
    tpm: float | None = None

    def asker(
        self,
        model: Model,
        stop: Stop,
        *,
        purse: Purse | None = None,
        role: Role = "model",
        is_proven: bool = False,
    ) -> Asker:
        """One that asks `model` so; `is_proven`: it is known to have answered. Rates are not the judge's."""
        members = model.members if isinstance(model, Fleet) else (model,)
        endpoints = Endpoints(
            [self._endpoint(one) for one in members], at_most=self.concurrency, is_proven=is_proven
        )
        giving_up = GivingUp(endpoints, give_up_after=self.give_up_after)
        rates = None
        if role == "model" and (self.rpm or self.tpm):
            rates = Rates(
                requests=Rate(self.rpm) if self.rpm else None, tokens=Rate(self.tpm) if self.tpm else None
            )
        asker = Asker(model, self, stop, endpoints, giving_up, rates=rates, purse=purse, role=role)
        stop.then(endpoints.let_go)
        if purse is not None:
            stop.then(purse.let_go)
        return asker

    def _endpoint(self, model: Model) -> Endpoint:
        # A model that takes fewer at once is sent fewer: time spent in its queue would count as its silence.
        most = getattr(model, "max_concurrency", None) or self.concurrency
        is_adaptive = self.is_adaptive and bool(getattr(model, "is_endpoint", False))
        limit = Limit(min(self.concurrency, most), is_adaptive=is_adaptive)
        return Endpoint(model, limit, first_rest_s=self.first_rest_s)


class _Turn(msgspec.Struct, frozen=True):
    """One request's right to be sent, and its share of the tokens a minute."""

    request: Request
    share: Share = Share()
    until: float = float("inf")  # turns that nobody took must not be taken all at once later


@dataclass(slots=True)
class Asker:
    """One model, asked with patience. Counts what it sends."""

    model: Model
    patience: Patience
    stop: Stop
    endpoints: Endpoints
    giving_up: GivingUp
    rates: Rates | None = None
    purse: Purse | None = None
    role: Role = "model"
    deadlines: Deadlines = field(init=False)
    rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311  (jitter, not secrets)
    sent: int = 0
    retried: int = 0
    n_waiting: int = 0  # requests that failed, until they are sent again
    is_one_by_one: bool = False  # several answers to one request are not to be had from it

    def __post_init__(self) -> None:
        self.deadlines = Deadlines(self.patience.timeout_s)

    async def ask(self, request: Request, n: int = 1) -> Answer:
        """One reply or, with `n`, up to as many; raises `Unanswered` or `Stopped`."""
        if n == 1 or self.is_one_by_one or not isinstance(self.model, Several):
            return await self._persist(request, lambda model: model.reply(request))

        async def several(model: Model) -> list[Reply]:
            if isinstance(model, Several):
                return await model.replies(request, n)
            return [await model.reply(request)]

        try:
            return await self._persist(request, several, n)
        except Unanswered as failed:
            if failed.error.status not in ODD_REQUEST:
                raise
        # If this one succeeds, it was the number that was refused.
        answer = await self._persist(request, lambda model: model.reply(request))
        self.is_one_by_one = True
        return answer

    async def _persist(self, request: Request, call: Call, n: int = 1) -> Answer:
        tries = Tries(request, n_wanted=n)
        try:
            while True:
                error = await self._try(tries, call)
                if error is None:
                    return Answer(tries.replies, tries.n, tries.paid)
                if not tries.may_go_on:
                    raise Unanswered(error, tries.n) from error
                if self.stop.is_set:
                    raise Stopped  # it might have been answered later: neither answered nor failed
                tries.is_waiting = True
                self.n_waiting += 1
                if not self._may_go_at_once(error, tries):
                    delay_s = self.patience.backoff.delay_s(tries.n_counted, error.retry_after_s, self.rng)
                    await self.stop.wait(delay_s)
                if self.stop.is_set:
                    raise Stopped
                self.retried += 1
        finally:
            if tries.is_waiting:
                self._wait_no_more(tries)

    def _wait_no_more(self, tries: Tries) -> None:
        tries.is_waiting = False
        self.n_waiting -= 1

    def _may_go_at_once(self, error: ModelError, tries: Tries) -> bool:
        """To an endpoint that has not refused it, once that is free; or to any that is free now."""
        is_refused = bool(tries.refusals) and tries.refusals[-1].error is error
        return is_refused or (error.status in OVERLOADED and tries.may_go_elsewhere(self.endpoints))

    async def _try(self, tries: Tries, call: Call) -> ModelError | None:
        """Send the request once, when its turn has come; the error if it was not answered."""
        turn, endpoint = await self._enter(tries)
        if tries.is_waiting:
            self._wait_no_more(tries)
        tries.begin()
        replies: list[Reply] | None = None
        try:
            replies = await self._send(endpoint, call)
        except ModelError as error:
            tries.fail(error, endpoint, self.endpoints, self.patience.backoff)
            if (reason := self.giving_up.reason(error, tries)) is not None:
                self.stop.give_up(reason)
            return error
        except BaseException:
            self.endpoints.leave(endpoint)
            raise
        finally:
            tries.paid = self._settle(turn, replies)
        self.endpoints.answered(endpoint, tries.sent_at)
        if tries.refusals:
            self.endpoints.outdone(tries.refusals, tries.who)
        tries.replies = replies
        return None

    async def _enter(self, tries: Tries) -> tuple[_Turn, Endpoint]:
        """Wait for a turn, then for an endpoint that is free; and again, if that took too long."""
        if self.rates is None and (self.purse is None or self.purse.try_to_open()):
            free = None if self.stop.is_set else self.endpoints.try_to_enter(tries.endpoint, tries.refusals)
            if free is not None:
                return _Turn(tries.request), free  # as nearly always
            self._settle(_Turn(tries.request), None)
        while True:
            turn = await self._turn(tries.request)
            try:
                endpoint = await self.endpoints.enter(tries.endpoint, tries.refusals)
            except BaseException:
                self._settle(turn, None)
                raise
            if not self.stop.is_set and (self.rates is None or time.monotonic() < turn.until):
                return turn, endpoint
            self._settle(turn, None)
            self.endpoints.leave(endpoint)
            if self.stop.is_set:
                raise Stopped

    async def _turn(self, request: Request) -> _Turn:
        """When the purse and the rates allow one more."""
        if self.purse is not None and (spent := await self.purse.open()) is not None:
            self.stop.give_up(spent)
            raise Stopped
        if self.rates is None:
            return _Turn(request)
        n_guessed = guess_usage(self.model, request, []).total_tokens
        try:
            share = await self.rates.enter(n_guessed, self.stop)
        except BaseException:
            self._settle(_Turn(request), None)
            raise
        return _Turn(request, share, until=time.monotonic() + _STALE_S)

    def _settle(self, turn: _Turn, replies: list[Reply] | None) -> Usage | None:
        """Count what a try has used: nothing, where nothing came back. Returns what was paid."""
        usage = replies[0].usage if replies else None
        if replies is not None and usage is None and (self.purse or self.rates):
            usage = guess_usage(self.model, turn.request, replies)
        if self.purse is not None:
            self.purse.close(self.role, usage)
        if self.rates is not None:
            self.rates.settle(turn.share, None if usage is None else usage.total_tokens)
        return usage if self.purse is not None else None

    async def _send(self, endpoint: Endpoint, call: Call) -> list[Reply]:
        self.sent += 1
        wait = self.deadlines.begin()
        try:
            said = await call(endpoint.model)
        except asyncio.CancelledError as err:
            if wait.was_ended():
                message = f"no answer within {self.patience.timeout_s:g} s"
                hint = "--timeout allows more"
                raise ModelError(message, hint=hint, is_retryable=True, was_silent=True) from None
            if wait.task.cancelling():
                raise
            raise self._slip(err) from err  # nobody ended it but the model itself
        except (ModelError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as err:  # a panic in a compiled library is no Exception
            raise self._slip(err) from err
        finally:
            self.deadlines.end(wait)
        if isinstance(said, Reply):
            return [said]
        if not said or not all(isinstance(one, Reply) for one in said):  # a model may be anybody's
            raise ModelError(f"{self.model.name} returned something else than replies")
        return said

    def _slip(self, err: BaseException) -> ModelError:
        """What went wrong in a model, which may be anybody's: it is this sample's failure."""
        return ModelError(f"{self.model.name} raised {type(err).__name__}: {err}")
