"""Asking one model, with retries, until it answers or the attempts are used up.

`RetryingClient.ask` is what the rest of the engine calls. `RetryPolicy` says how often to try again, after
which delay. `Attempts` counts for one request, `CircuitBreaker` ends the run when no request can succeed, and
`Deadline` ends a request that takes too long.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

import msgspec

from eyechart.data.images.substitutes import make_blank_image
from eyechart.engine.budget import Gate, Role
from eyechart.engine.pool import (
    FIRST_REST_S,
    OVERLOADED,
    TOO_MANY,
    AdaptiveLimit,
    Endpoint,
    EndpointPool,
    FailedAttempt,
    RateLimit,
    RateLimits,
    Rates,
    Refusal,
    Stopped,
    StopSignal,
    TokenReservation,
)
from eyechart.errors import ModelError, name_role
from eyechart.memory import current_claim
from eyechart.models.prices import guess_usage
from eyechart.models.streams import Heard, current_stream
from eyechart.types import (
    Capabilities,
    Message,
    Model,
    MultiReply,
    Reply,
    Request,
    Startable,
    Usage,
    read_capabilities,
)

_STALE_S = 1.0  # a reservation that is used later than this belongs to another request by now
_UNLIMITED = TokenReservation()  # where there are no rate limits
_FORBIDDEN = 403  # for the key, or for this picture by some policy: unlike 401 and 404
_BAD_REQUEST = frozenset({400, 422, 501})  # what endpoints say to a number of replies they cannot give

_Call = Callable[[Model], Awaitable["Reply | list[Reply]"]]


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Exponential delays with full jitter, so that many clients do not come back at the same moment.

    >>> RetryPolicy(first_s=1, longest_s=30).delay_s(4, None, random.Random(0)) <= 8
    True
    """

    attempts: int = 6
    first_s: float = 0.5
    longest_s: float = 60.0
    longest_asked_s: float = 600.0  # a server that asks for a longer delay gets no further attempt

    def delay_s(self, attempt: int, asked_s: float | None, rng: random.Random) -> float:
        """Seconds to wait after the `attempt`-th attempt failed; never less than the server asked for."""
        doublings = min(attempt - 1, 30)  # more would leave the range of a float
        wait = rng.uniform(0, min(self.longest_s, self.first_s * 2**doublings))
        if asked_s is not None:
            return min(asked_s, self.longest_asked_s) + wait / 10  # a little apart, never early
        return wait

    def may_retry(self, attempt: int, error: ModelError) -> bool:
        """Whether another attempt makes sense after the `attempt`-th one."""
        asks_too_much = (error.retry_after_s or 0) > self.longest_asked_s
        return error.is_retryable and attempt < self.attempts and not asks_too_much


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests at once, how fast, how long to wait, and when to give up."""

    concurrency: int = 64
    is_usual_concurrency: bool = False  # not set by the user: a model may state another number
    is_adaptive: bool = True
    rpm: float | None = None  # requests per minute
    tpm: float | None = None  # tokens per minute
    timeout_s: float = 600.0  # per attempt
    retry: RetryPolicy = RetryPolicy()
    give_up_after: int = 8  # failures in a row
    first_rest_s: float = FIRST_REST_S  # of an endpoint that may be dead; doubled with every further failure
    prefetch_threads: int = 2
    prefetch_bytes: int = 256 * 2**20
    grace_s: float = 10.0  # after an interrupt, for replies that are already paid for

    def choose_concurrency(self, stated: Capabilities) -> int:
        """Requests in flight for a model of these capabilities."""
        usual = stated.usual_concurrency
        return usual if usual is not None and self.is_usual_concurrency else self.concurrency


def make_rates(settings: EngineSettings) -> RateLimits | None:
    """The rate limits of the settings; None if there are none."""
    if not (settings.rpm or settings.tpm):
        return None
    return RateLimits(
        requests=RateLimit(settings.rpm) if settings.rpm else None,
        tokens=RateLimit(settings.tpm) if settings.tpm else None,
    )


class NoReply(Exception):
    """No reply after all allowed attempts."""

    def __init__(self, error: ModelError, attempts: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.attempts = attempts


class RequestResult(msgspec.Struct, frozen=True):
    """What came back, how many attempts it took, and what was counted against the budget, if there is one.

    `paid` are the tokens of the last attempt alone, guessed where the endpoint does not count them.
    """

    replies: list[Reply]
    attempts: int
    paid: Usage | None = None


@dataclass(slots=True)
class RetryingClient:
    """One model, asked with retries. Counts what it sends."""

    model: Model
    settings: EngineSettings
    stop: StopSignal
    pool: EndpointPool
    breaker: CircuitBreaker
    rates: Rates | None = None
    gate: Gate | None = None
    role: Role = "model"
    rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311  (jitter, not secrets)
    sent: int = 0
    retried: int = 0
    waiting: set[int] = field(default_factory=set)  # requests that failed, until they are sent again
    gives_one_reply: bool = False  # it does not give several replies to one request
    _limit_s: float = field(init=False)  # of a request
    _needs_start: bool = field(init=False)
    _starting: asyncio.Future[list[None]] | None = None
    _plain: asyncio.Future[bool] | None = None  # whether a plain question is answered, the last time
    _is_announced: bool = False

    def __post_init__(self) -> None:
        queues = read_capabilities(self.model).usual_concurrency is not None
        self._limit_s = _QUEUE_S if queues else self.settings.timeout_s
        self._needs_start = any(isinstance(one.model, Startable) for one in self.pool.members)

    @classmethod
    def open(
        cls,
        model: Model,
        settings: EngineSettings,
        stop: StopSignal,
        *,
        gate: Gate | None = None,
        rates: Rates | None = None,
        role: Role = "model",
        is_proven: bool = False,  # the model has answered in an earlier start
    ) -> RetryingClient:
        """A client of `model` until `stop` is set. Rate limits are the model's, not the judge's.

        `rates`: limits that others share; by default those of the settings, for this client alone.
        """

        def endpoint(member: Model) -> Endpoint:
            # A model that takes fewer at once is sent fewer: time in its queue would count as its silence.
            stated = read_capabilities(member)
            allowed = settings.choose_concurrency(stated)
            is_adaptive = settings.is_adaptive and stated.is_endpoint
            limit = AdaptiveLimit(min(allowed, stated.max_concurrency or allowed), is_adaptive=is_adaptive)
            return Endpoint(member, limit, first_rest_s=settings.first_rest_s)

        members = getattr(model, "members", (model,))  # of a Fleet
        at_most = settings.choose_concurrency(read_capabilities(model))
        pool = EndpointPool([endpoint(one) for one in members], at_most=at_most, is_proven=is_proven)
        stop.on_stop(pool.close)
        if gate is not None:
            stop.on_stop(gate.wake_all)
        if role == "model" and rates is None:
            rates = make_rates(settings)
        breaker = CircuitBreaker(pool, give_up_after=settings.give_up_after)
        return cls(model, settings, stop, pool, breaker, rates=rates, gate=gate, role=role)

    async def ask(self, request: Request, n: int = 1) -> RequestResult:
        """One reply or, with `n`, up to as many; raises `NoReply` or `Stopped`."""
        if self._needs_start:
            await self._start()
        if n == 1 or self.gives_one_reply or not isinstance(self.model, MultiReply):
            return await self._retry(request, lambda model: model.reply(request))

        async def ask_for_several(model: Model) -> list[Reply]:
            if isinstance(model, MultiReply):
                return await model.replies(request, n)
            return [await model.reply(request)]

        try:
            return await self._retry(request, ask_for_several, n)
        except NoReply as failed:
            if failed.error.status not in _BAD_REQUEST:
                raise
        # If this one succeeds, it was the number that was refused.
        result = await self._retry(request, lambda model: model.reply(request))
        self.gives_one_reply = True
        return result

    async def _start(self) -> None:
        """Wait until the model can be asked. The run ends if it cannot be started."""
        if self._starting is None:
            starting = (one.model.start() for one in self.pool.members if isinstance(one.model, Startable))
            self._starting = asyncio.gather(*starting)
        try:
            await self.stop.attend(self._starting)
        except ModelError as err:
            self.stop.check()
            self._name_role(err)
            self.stop.give_up(err)
            raise Stopped from err
        self._needs_start = False

    def _name_role(self, err: ModelError) -> None:
        if self.role != "model":
            name_role(err, self.role.partition(":")[0])

    async def _retry(self, request: Request, call: _Call, n: int = 1) -> RequestResult:
        attempts = Attempts(request, n_wanted=n)
        try:
            while True:
                error = await self._attempt(attempts, call)
                if error is None:
                    return RequestResult(attempts.replies, attempts.n, attempts.paid)
                if not attempts.may_go_on:
                    raise NoReply(error, attempts.n) from error
                self.stop.check()  # it might have been answered later: neither answered nor failed
                self.waiting.add(id(attempts))
                if not self._may_retry_at_once(error, attempts):
                    delay_s = self.settings.retry.delay_s(attempts.n_counted, error.retry_after_s, self.rng)
                    await self.stop.wait(delay_s)
                self.stop.check()
                self.retried += 1
        finally:
            self.waiting.discard(id(attempts))

    def _may_retry_at_once(self, error: ModelError, attempts: Attempts) -> bool:
        """At an endpoint that has not refused it, once that is free; or at any that is free now."""
        is_refused = bool(attempts.refusals) and attempts.refusals[-1].error is error
        return is_refused or (error.status in OVERLOADED and attempts.may_go_elsewhere(self.pool))

    async def _attempt(self, attempts: Attempts, call: _Call) -> ModelError | None:
        """Send the request once, when it is admitted; returns the error if it was not answered."""
        reservation, endpoint = await self._acquire(attempts)
        self.waiting.discard(id(attempts))
        attempts.begin()
        replies: list[Reply] | None = None
        error: ModelError | None = None
        try:
            replies = await self._send(endpoint, call)
        except ModelError as err:
            self._name_role(err)
            attempts.fail(err, endpoint, self.pool, self.settings.retry)
            error = err
        except BaseException:
            self.pool.release(endpoint)
            raise
        finally:
            attempts.paid = self._release(attempts.request, reservation, replies)
        if error is not None:
            if (reason := self.breaker.check(error, attempts)) is not None:
                await self._give_up(reason, attempts.request)
            return error
        self.pool.record_answer(endpoint, attempts.sent_at)
        if attempts.refusals:
            self.pool.record_contradiction(attempts.refusals, attempts.owner)
        attempts.replies = replies or []
        return None

    async def _give_up(self, reason: ModelError, request: Request) -> None:
        """End the run; but not if only questions such as these are refused, and others can be answered."""
        if isinstance(reason, RefusesAll) or reason.status == _FORBIDDEN:
            # What was answered is asked again at the next refusal; what was refused ends the run.
            if self._plain is None or _said_yes(self._plain):
                self._plain = asyncio.ensure_future(self._answers_plain_question(request))
            if await asyncio.shield(self._plain):
                self.pool.is_proven = True
                return
        self.stop.give_up(reason)

    async def _answers_plain_question(self, request: Request) -> bool:
        """Whether a question without anything particular is answered, or at least not refused everywhere."""
        plain = make_plain_question(request)
        for member in self.pool.members:
            reservation, replies = await self._admit(plain), None
            try:
                replies = await self._send(member, lambda model: model.reply(plain))
            except ModelError as error:
                if error.is_retryable:
                    return True  # unknown: other limits handle a failing endpoint
            else:
                member.record_answer(time.monotonic())
                if not self._is_announced:
                    self._is_announced = True
                    self.pool.announce("a plain question is answered: the run goes on without those refused")
                return True
            finally:
                self._release(plain, reservation, replies)
        return False

    async def _acquire(self, attempts: Attempts) -> tuple[TokenReservation, Endpoint]:
        """Wait for budget and rate limits, then for a free endpoint; and again, if that took too long."""
        request = attempts.request
        if self.rates is None and (self.gate is None or self.gate.try_acquire()):
            free = None if self.stop.is_set else self.pool.try_acquire(attempts.endpoint, attempts.refusals)
            if free is not None:
                return _UNLIMITED, free  # as nearly always
            self._release(request, _UNLIMITED, None)
        while True:
            reservation = await self._admit(request)
            admitted_at = time.monotonic()
            try:
                endpoint = await self.pool.acquire(attempts.endpoint, attempts.refusals)
            except BaseException:
                self._release(request, reservation, None)
                raise
            # Places that were not used in time must not be used all at once later.
            is_stale = self.rates is not None and time.monotonic() - admitted_at > _STALE_S
            if not self.stop.is_set and not is_stale:
                return reservation, endpoint
            self._release(request, reservation, None)
            self.pool.release(endpoint)
            self.stop.check()

    async def _admit(self, request: Request) -> TokenReservation:
        """Wait until the budget and the rate limits allow one more request."""
        if self.gate is not None and (spent := await self.gate.acquire()) is not None:
            self.stop.give_up(spent)
            raise Stopped
        if self.rates is None:
            return _UNLIMITED
        n_guessed = guess_usage(self.model, request, []).total_tokens
        try:
            return await self.rates.acquire(n_guessed, self.stop)
        except BaseException:
            self._release(request, _UNLIMITED, None)
            raise

    def _release(
        self, request: Request, reservation: TokenReservation, replies: list[Reply] | None
    ) -> Usage | None:
        """Count what an attempt has used: nothing, where nothing came back. Returns what was paid."""
        usage = replies[0].usage if replies else None
        if replies is not None and usage is None and (self.gate or self.rates):
            usage = guess_usage(self.model, request, replies)
        if self.gate is not None:
            self.gate.release(self.role, usage)
        if self.rates is not None:
            self.rates.release(reservation, None if usage is None else usage.total_tokens)
        return usage if self.gate is not None else None

    async def _send(self, endpoint: Endpoint, call: _Call) -> list[Reply]:
        self.sent += 1
        heard = Heard()
        current_stream.set(heard)
        deadline = Deadline(self._limit_s, heard)
        try:
            said = await call(endpoint.model)
        except asyncio.CancelledError as err:
            if deadline.was_ended():
                message = f"no answer within {self.settings.timeout_s:g} s"
                if heard.text:
                    message = f"the reply was cut: it was not complete after {deadline.waited_s():.0f} s"
                hint = "--timeout allows more"
                raise ModelError(
                    message, hint=hint, is_retryable=True, was_silent=not heard.text, partial=heard.text
                ) from None
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            raise self._wrap_error(err) from err  # it was the model itself that cancelled
        except (ModelError, KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as err:  # a panic in a compiled library is not an Exception
            raise self._wrap_error(err) from err
        finally:
            deadline.end()
        replies = [said] if isinstance(said, Reply) else said
        if not replies or not all(isinstance(one, Reply) for one in replies):  # the model may be a plug-in
            raise ModelError(f"{self.model.name} returned something other than replies")
        return [one if one.tags is not None else replace(one, tags=()) for one in replies]

    def _wrap_error(self, err: BaseException) -> ModelError:
        """An error inside a model, which may be a plug-in, is this sample's failure."""
        return ModelError(f"{self.model.name} raised {type(err).__name__}: {err}")


def _said_yes(asked: asyncio.Future[bool]) -> bool:
    return asked.done() and not asked.cancelled() and not asked.exception() and asked.result()


# -- Attempts and the circuit breaker.

_UNREACHABLE_ATTEMPTS = 3  # before the first answer, so many refused connections mean a wrong address
_EXCUSED_TIMES = 10  # so many times the allowed attempts may be excused
_RECENTLY_S = 10.0  # others are being answered as long as one of them was within this time


class DeadEndpoint(ModelError):
    """Nothing has come back for long: going on would only make failures."""

    exit_code = 1


class RefusesAll(DeadEndpoint):
    """All requests were refused so far, each by itself."""


class Attempts(msgspec.Struct):
    """The attempts at one request so far."""

    request: Request
    n_wanted: int = 1  # replies
    n: int = 0
    n_excused: int = 0  # of these: refused for now, while others were answered; or the endpoint had gone
    sent_at: float = 0.0
    began_at: float = 0.0  # when the first one failed
    may_go_on: bool = True
    endpoint: Endpoint | None = None  # where the last one failed
    refusals: tuple[Refusal, ...] = ()  # by endpoints that need not be asked again
    replies: list[Reply] = msgspec.field(default_factory=list)
    paid: Usage | None = None  # for the last one
    _n_elsewhere: int = 0

    @property
    def n_counted(self) -> int:
        """Those that count against the number that is allowed."""
        return self.n - self.n_excused

    @property
    def owner(self) -> tuple[str, int]:
        return self.request.sample.id, self.request.trial

    def begin(self) -> None:
        """Another one is sent."""
        self.n += 1
        self.sent_at = time.monotonic()

    def fail(self, error: ModelError, endpoint: Endpoint, pool: EndpointPool, policy: RetryPolicy) -> None:
        """The latest one failed: record it with the pool, and see whether there may be another one."""
        now = time.monotonic()
        self.began_at = self.began_at or now
        self.endpoint = endpoint
        # A 429 while others are answered is excused. So is a connection that fails where one worked before:
        # that is not the sample's fault, and the endpoint counts it.
        is_throttled = error.status == TOO_MANY and pool.answered_at > min(self.sent_at, now - _RECENTLY_S)
        is_excused = is_throttled or (error.is_unreachable and not pool.is_unheard)
        if is_excused and self.n_excused < _EXCUSED_TIMES * policy.attempts:
            self.n_excused += 1
        self.may_go_on = policy.may_retry(self.n_counted, error)
        if error.is_retryable:
            failed = FailedAttempt(owner=self.owner, sent_at=self.sent_at, began_at=self.began_at)
            pool.record_failure(endpoint, failed, error, is_last=not self.may_go_on)
        else:
            pool.record_refusal(endpoint, error, self.sent_at)
        if not policy.may_retry(0, error):  # however often it is asked
            self.refusals += (Refusal(endpoint, error, self.sent_at),)
            self.may_go_on = self._may_ask_others(pool, policy)

    def may_go_elsewhere(self, pool: EndpointPool) -> bool:
        """Whether another endpoint can be asked at once; each one is, before there is a delay."""
        self._n_elsewhere += 1
        may_go = self._n_elsewhere % len(pool.members) > 0
        return may_go and self.endpoint is not None and pool.has_free_besides(self.endpoint)

    def _may_ask_others(self, pool: EndpointPool, policy: RetryPolicy) -> bool:
        """Each one in good standing is asked once; suspect ones only if the last refusal came from one."""
        others = pool.find_others(self.refusals)
        if not all(other.is_suspect for other in others):
            return True
        is_doubtful = self.endpoint is not None and self.endpoint.is_suspect
        return bool(others) and is_doubtful and self.n_counted < policy.attempts


class CircuitBreaker:
    """Sees the failures of all requests to one model, and says when going on is pointless."""

    def __init__(self, pool: EndpointPool, *, give_up_after: int) -> None:
        self._pool = pool
        self._give_up_after = give_up_after
        self._n_refused = 0  # requests that every endpoint refused, before one was ever answered

    def check(self, error: ModelError, attempts: Attempts) -> ModelError | None:
        """What to end the run with after this failure; None to go on."""
        if self._is_hopeless(error, attempts):
            return error
        if self.is_dead():
            return self.explain_dead(error)
        if self._is_refused(error, attempts):
            return RefusesAll(
                f"the first {self._n_refused} requests were all refused, the last one: {error.message}",
                hint="change what is sent: the model, its parameters or the images; "
                "--give-up-after N sends more before giving up",
                status=error.status,
            )
        return None

    def is_dead(self) -> bool:
        """Whether every endpoint has failed as often in a row as the user allows."""
        return all(member.is_dead(self._give_up_after) for member in self._pool.members)

    def explain_dead(self, error: ModelError) -> DeadEndpoint:
        """The error for a model none of whose endpoints answers any more."""
        n = len(self._pool.members)
        many = f" (none of the {n} endpoints answers)" if n > 1 else ""
        return DeadEndpoint(
            f"{self._give_up_after} failures in a row without an answer{many}, the last one: {error.message}"
            f"{self._pool.quote_last_refusal(error)}",
            hint="all replies are kept: run the same command again when it answers; "
            "--give-up-after N allows more failures",
        )

    def _is_hopeless(self, error: ModelError, attempts: Attempts) -> bool:
        """Whether no request can succeed: a wrong key, model or address, as far as one can tell."""
        members = self._pool.members
        if error.is_fatal:
            return all(member.is_blocked for member in members)
        if not error.is_unreachable or not self._pool.is_unheard:
            return False
        n_failures = min((member.failures for member in members if not member.is_blocked), default=0)
        return n_failures >= _UNREACHABLE_ATTEMPTS or (n_failures > 0 and not attempts.may_go_on)

    def _is_refused(self, error: ModelError, attempts: Attempts) -> bool:
        """Whether whatever is sent is refused: an unknown parameter, images to a model that takes none."""
        if error.status is None or error.is_retryable or attempts.may_go_on or not self._pool.is_unproven:
            return False
        if attempts.n_wanted > 1 and error.status in _BAD_REQUEST:  # asked for one reply, it may answer
            return False
        self._n_refused += 1
        return self._n_refused >= self._give_up_after


def make_plain_question(request: Request) -> Request:
    """A question as those of this request, without what is particular to it: its words and its images."""
    system = tuple(turn for turn in request.messages if turn.role == "system")
    has_images = any(turn.images for turn in request.messages)
    images = (make_blank_image(64, 64, "blank, to see whether images are taken"),) if has_images else ()
    return replace(request, messages=(*system, Message("user", (*images, "Reply with one word: yes"))))


# -- Deadlines.

_QUEUE_S = 30 * 24 * 3600.0  # for models that queue requests themselves
_LATE_S = 0.1
_MAX_EXTENSIONS = 5  # of a reply that arrives in parts: an hour in all, as a request may take ten minutes


class Deadline:
    """Cancels the current task, which waits for a reply, when that takes too long; `end` must follow.

    It allows the time in which the reply waited for memory on our side, and the limit again if parts came.
    """

    def __init__(self, limit_s: float, heard: Heard | None = None) -> None:
        task = asyncio.current_task()
        assert task is not None, "only a task can be ended"
        self._task = task
        self._limit_s = limit_s
        self._heard = heard or Heard()
        self._n_heard = 0
        self._is_over = False  # it took too long, and was cancelled for that
        self._claim = current_claim.get()
        self._extended_s = self._claim.waited_s if self._claim is not None else 0.0
        self._cancelling = task.cancelling()
        self._loop = asyncio.get_running_loop()
        self._timer = self._loop.call_later(limit_s, self._ring)

    def end(self) -> None:
        self._timer.cancel()
        self.was_ended()  # a model that ignored its cancellation must not end the worker later

    def waited_s(self) -> float:
        """How long it was allowed to take."""
        return self._limit_s * (1 + self._n_heard) + self._extended_s

    def was_ended(self) -> bool:
        """Whether the deadline ended it, and nothing else did at the same time. To be asked once."""
        is_over, self._is_over = self._is_over, False
        return is_over and self._task.uncancel() <= self._cancelling

    def _ring(self) -> None:
        late_s = self._loop.time() - self._timer.when()
        # If the loop was busy, what came in meanwhile is not read yet.
        more_s = min(late_s, self._limit_s) if late_s > _LATE_S else self._extend()
        if more_s > 0:
            self._timer = self._loop.call_later(more_s, self._ring)
        else:
            self._is_over = True
            self._task.cancel()

    def _extend(self) -> float:
        """The seconds that there is a reason to allow."""
        waited_s = self._claim.total_wait_s() if self._claim is not None else 0.0
        more_s, self._extended_s = waited_s - self._extended_s, waited_s
        if self._heard.is_new and self._n_heard < _MAX_EXTENSIONS:
            self._heard.is_new = False
            self._n_heard += 1
            more_s += self._limit_s
        return more_s
