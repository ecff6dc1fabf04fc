"""Asking one model, again and again where that may help, until it answers or all hope is gone."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from eyechart.engine.backoff import Backoff
from eyechart.engine.budget import Role
from eyechart.engine.endpoints import (
    FIRST_REST_S,
    OVERLOADED,
    TOO_MANY,
    DeadEndpoint,
    Endpoint,
    Endpoints,
    Trouble,
)
from eyechart.engine.pace import Limit, Rate, Rates
from eyechart.engine.spending import Purse, guess_usage, total
from eyechart.engine.stopping import Stop, Stopped
from eyechart.errors import ModelError
from eyechart.types import Fleet, Model, Reply, Request, Several

_UNREACHABLE_TRIES = 3  # before the first answer, so many refused connections mean a wrong address
_FATAL_IN_A_ROW = 3  # after it, one refusal may concern one sample alone; so many concern them all
_ODD_REQUEST = frozenset({400, 422, 501})  # what endpoints say to a number of answers they cannot give
_STALE_S = 1.0  # a turn that is taken up later than this is another request's by now
_PATIENT_TIMES = 10  # told to wait, while others are answered, a request tries so many times as often
_LATELY_S = 10.0  # others are answered as long as one of them was within this time

Call = Callable[[Model], Awaitable["Reply | list[Reply]"]]


class Unanswered(Exception):
    """No reply, after as many tries as were allowed."""

    def __init__(self, error: ModelError, attempts: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.attempts = attempts


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and how many tries it took."""

    replies: list[Reply]
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for one try, how many there may be, how many at once, and when to give up."""

    concurrency: int = 64
    is_adaptive: bool = True
    timeout_s: float = 600.0
    give_up_after: int = 8
    first_rest_s: float = FIRST_REST_S  # of an endpoint that may be dead; doubled with every further failure
    backoff: Backoff = field(default_factory=Backoff)
    rpm: float | None = None
    tpm: float | None = None

    def asker(self, model: Model, stop: Stop, *, purse: Purse | None = None, role: Role = "model") -> Asker:
        """One that asks `model` so. The rates a minute are not the judge's."""
        members = model.members if isinstance(model, Fleet) else (model,)
        endpoints = Endpoints(
            [self._endpoint(one) for one in members],
            give_up_after=self.give_up_after,
            at_most=self.concurrency,
        )
        rates = None
        if role == "model" and (self.rpm or self.tpm):
            rates = Rates(
                requests=Rate(self.rpm) if self.rpm else None, tokens=Rate(self.tpm) if self.tpm else None
            )
        asker = Asker(model, self, stop, endpoints, rates=rates, purse=purse, role=role)
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


@dataclass(frozen=True, slots=True)
class _Turn:
    """One request's right to be sent, and the tokens that are reserved for it."""

    request: Request
    n_tokens: int = 0
    until: float = float("inf")  # turns that nobody took must not be taken all at once later


@dataclass(slots=True)
class _Tries:
    """How often one request has been tried, and with what success."""

    request: Request
    n_wanted: int = 1  # replies
    n: int = 0
    n_patient: int = 0  # of these: refused for now, while others were answered
    sent_at: float = 0.0
    began_at: float = 0.0  # when the first one failed
    may_go_on: bool = True
    endpoint: Endpoint | None = None  # where the last one failed
    replies: list[Reply] = field(default_factory=list)
    _n_elsewhere: int = 0

    @property
    def n_counted(self) -> int:
        """The tries that count against the number that is allowed."""
        return self.n - self.n_patient

    @property
    def trouble(self) -> Trouble:
        """The last one, which failed."""
        who = (self.request.sample.id, self.request.trial)
        return Trouble(who=who, sent_at=self.sent_at, began_at=self.began_at)

    def begin(self) -> None:
        """Another one is sent."""
        self.n += 1
        self.sent_at = time.monotonic()

    def fail(self, error: ModelError, backoff: Backoff, endpoint: Endpoint, answered_at: float) -> None:
        """It failed. To be told to wait, while others get their answers, is no reason to lose hope."""
        now = time.monotonic()
        self.began_at = self.began_at or now
        self.endpoint = endpoint
        is_patient = error.status == TOO_MANY and answered_at > min(self.sent_at, now - _LATELY_S)
        if is_patient and self.n_patient < _PATIENT_TIMES * backoff.attempts:
            self.n_patient += 1
        self.may_go_on = backoff.may_retry(self.n_counted, error)

    def may_go_elsewhere(self, endpoints: Endpoints) -> bool:
        """Whether another endpoint can be asked at once; each is, before there is a wait."""
        self._n_elsewhere += 1
        may_go = self._n_elsewhere % len(endpoints.members) > 0
        return may_go and self.endpoint is not None and endpoints.has_free_besides(self.endpoint)


@dataclass(slots=True)
class Asker:
    """One model, asked with patience. Counts what it sends."""

    model: Model
    patience: Patience
    stop: Stop
    endpoints: Endpoints
    rates: Rates | None = None
    purse: Purse | None = None
    role: Role = "model"
    rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311  (jitter, not secrets)
    sent: int = 0
    retried: int = 0
    answered: int = 0
    is_proven: bool = False  # it has answered in an earlier start of the run
    is_one_by_one: bool = False  # several answers to one request are not to be had from it
    _fatal_in_a_row: int = 0
    _n_refused: int = 0  # requests that the endpoint did not want, before it ever answered one

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
            if failed.error.status not in _ODD_REQUEST:
                raise
        # If this one succeeds, it was the number that was refused.
        answer = await self._persist(request, lambda model: model.reply(request))
        self.is_one_by_one = True
        return answer

    async def _persist(self, request: Request, call: Call, n: int = 1) -> Answer:
        tries = _Tries(request, n_wanted=n)
        while True:
            error = await self._try(tries, call)
            if error is None:
                return Answer(tries.replies, tries.n)
            if not tries.may_go_on:
                raise Unanswered(error, tries.n) from error
            if self.stop.is_set:
                raise Stopped  # it might have been answered later: neither answered nor failed
            if error.status not in OVERLOADED or not tries.may_go_elsewhere(self.endpoints):
                delay_s = self.patience.backoff.delay_s(tries.n_counted, error.retry_after_s, self.rng)
                await self.stop.wait(delay_s)
            if self.stop.is_set:
                raise Stopped
            self.retried += 1

    async def _try(self, tries: _Tries, call: Call) -> ModelError | None:
        """Send the request once, when its turn has come; the error if it was not answered."""
        turn, endpoint = await self._enter(tries)
        tries.begin()
        replies: list[Reply] | None = None
        try:
            replies = await self._send(endpoint, call)
        except ModelError as error:
            tries.fail(error, self.patience.backoff, endpoint, self.endpoints.answered_at)
            self._note_failure(endpoint, tries, error)
            return error
        except BaseException:
            self.endpoints.leave(endpoint)
            raise
        finally:
            self._settle(turn, replies)
        self.answered += 1
        self._fatal_in_a_row = 0
        self.endpoints.answered(endpoint, tries.sent_at)
        tries.replies = replies
        return None

    async def _enter(self, tries: _Tries) -> tuple[_Turn, Endpoint]:
        """Wait for a turn, then for an endpoint that is free; and again, if that took too long."""
        if self.rates is None and (self.purse is None or self.purse.try_to_open()):
            if not self.stop.is_set and (free := self.endpoints.try_to_enter(tries.endpoint)) is not None:
                return _Turn(tries.request), free  # as nearly always
            self._settle(_Turn(tries.request), None)
        while True:
            turn = await self._turn(tries.request)
            try:
                endpoint = await self.endpoints.enter(rather_not=tries.endpoint)
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
        turn = _Turn(request, n_tokens=total(guess_usage(self.model.name, request, [])))
        wait_s = self.rates.reserve(turn.n_tokens)
        if wait_s > 0:
            await self.stop.wait(wait_s)
            if self.stop.is_set:
                self._settle(turn, None)
                raise Stopped
        return replace(turn, until=time.monotonic() + _STALE_S)

    def _settle(self, turn: _Turn, replies: list[Reply] | None) -> None:
        """Count what a try has used: nothing, where nothing came back."""
        usage = replies[0].usage if replies else None
        if replies is not None and usage is None and (self.purse or self.rates):
            usage = guess_usage(self.model.name, turn.request, replies)
        if self.purse is not None:
            self.purse.close(self.role, usage)
        if self.rates is not None and self.rates.tokens is not None and usage is not None:
            self.rates.tokens.correct(total(usage) - turn.n_tokens)

    async def _send(self, endpoint: Endpoint, call: Call) -> list[Reply]:
        self.sent += 1
        timeout_s = self.patience.timeout_s
        limit = asyncio.timeout(timeout_s)
        try:
            async with limit:
                said = await call(endpoint.model)
        except TimeoutError as err:
            if not limit.expired():  # the model's own
                raise ModelError(f"{self.model.name} raised TimeoutError: {err}") from err
            message = f"no answer within {timeout_s:g} s"
            hint = "--timeout allows more"
            raise ModelError(message, hint=hint, is_retryable=True, was_silent=True) from None
        except ModelError:
            raise
        except Exception as err:  # a model may be anybody's: its slip is this sample's failure
            raise ModelError(f"{self.model.name} raised {type(err).__name__}: {err}") from err
        return [said] if isinstance(said, Reply) else said

    def _note_failure(self, endpoint: Endpoint, tries: _Tries, error: ModelError) -> None:
        if error.is_retryable:
            self.endpoints.failed(endpoint, tries.trouble, error, is_last=not tries.may_go_on)
        else:
            self.endpoints.leave(endpoint)
        if self._is_hopeless(error, tries):
            self.stop.give_up(error)
        elif self.endpoints.is_dead():
            self.stop.give_up(self.endpoints.dead(error))
        elif self._is_unwanted(error, tries):
            self.stop.give_up(
                DeadEndpoint(
                    f"the first {self._n_refused} requests were all refused, the last one: {error.message}",
                    hint="--give-up-after N goes on for longer",
                    status=error.status,
                )
            )

    def _is_hopeless(self, error: ModelError, tries: _Tries) -> bool:
        """Whether no request can succeed: a wrong key, model or address, as far as anyone can tell."""
        if error.is_unreachable:
            n_failures = min(member.failures for member in self.endpoints.members)
            is_last = n_failures > 0 and not tries.may_go_on
            is_wrong = n_failures >= _UNREACHABLE_TRIES or is_last
            return self.answered == 0 and not self.is_proven and is_wrong
        self._fatal_in_a_row += error.is_fatal
        is_new = self.answered == 0 and not self.is_proven
        return error.is_fatal and (is_new or self._fatal_in_a_row >= _FATAL_IN_A_ROW)

    def _is_unwanted(self, error: ModelError, tries: _Tries) -> bool:
        """Whether the endpoint refuses whatever it is sent: a parameter it does not know, pictures at all."""
        if self.answered or self.is_proven or error.status is None or error.is_retryable:
            return False
        if tries.n_wanted > 1 and error.status in _ODD_REQUEST:  # asked for one at a time, it may answer
            return False
        self._n_refused += 1
        return self._n_refused >= self.patience.give_up_after
