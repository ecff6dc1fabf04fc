"""When to try again, and how long to wait first."""

from __future__ import annotations

import asyncio
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import msgspec

from eyechart.engine.budget import BudgetGate, Role
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
    Refusal,
    Stopped,
    StopSignal,
    TokenReservation,
)
from eyechart.errors import ModelError
from eyechart.memory import current_claim
from eyechart.model.prices import guess_usage
from eyechart.types import Model, Reply, Request, Several, Usage, capabilities_of


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Exponential waits with full jitter, so that many clients do not come back at the same moment.

    >>> RetryPolicy(first_s=1, longest_s=30).delay_s(4, None, random.Random(0)) <= 8
    True
    """

    attempts: int = 6  # tries in all
    first_s: float = 0.5
    longest_s: float = 60.0
    longest_asked_s: float = 600.0  # a server that asks for more than this is answered with a failure

    def delay_s(self, attempt: int, asked_s: float | None, rng: random.Random) -> float:
        """Seconds to wait after the `attempt`-th try failed; what the server asked for is obeyed."""
        doublings = min(attempt - 1, 30)  # more would leave the range of a float, and none waits that long
        wait = rng.uniform(0, min(self.longest_s, self.first_s * 2**doublings))
        if asked_s is not None:
            return min(asked_s, self.longest_asked_s) + wait / 10  # a little apart, never early
        return wait

    def may_retry(self, attempt: int, error: ModelError) -> bool:
        """Whether another try makes sense after the `attempt`-th one."""
        asks_too_much = (error.retry_after_s or 0) > self.longest_asked_s
        return error.is_retryable and attempt < self.attempts and not asks_too_much


# -- Asking one model, again and again where that may help, until it answers or all hope is gone.

_STALE_S = 1.0  # a turn that is taken up later than this is another request's by now

Call = Callable[[Model], Awaitable["Reply | list[Reply]"]]


class NoReply(Exception):
    """No reply, after as many tries as were allowed."""

    def __init__(self, error: ModelError, attempts: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.attempts = attempts


class Response(msgspec.Struct, frozen=True):
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
    backoff: RetryPolicy = RetryPolicy()
    rpm: float | None = None
    tpm: float | None = None

    def asker(
        self,
        model: Model,
        stop: StopSignal,
        *,
        purse: BudgetGate | None = None,
        role: Role = "model",
        is_proven: bool = False,
    ) -> RetryingClient:
        """One that asks `model` so; `is_proven`: it is known to have answered. Rates are not the judge's."""
        members = getattr(model, "members", (model,))  # of a Fleet
        endpoints = EndpointPool(
            [self._endpoint(one) for one in members], at_most=self.concurrency, is_proven=is_proven
        )
        giving_up = CircuitBreaker(endpoints, give_up_after=self.give_up_after)
        rates = None
        if role == "model" and (self.rpm or self.tpm):
            rates = RateLimits(
                requests=RateLimit(self.rpm) if self.rpm else None,
                tokens=RateLimit(self.tpm) if self.tpm else None,
            )
        asker = RetryingClient(model, self, stop, endpoints, giving_up, rates=rates, purse=purse, role=role)
        stop.then(endpoints.let_go)
        if purse is not None:
            stop.then(purse.let_go)
        return asker

    def _endpoint(self, model: Model) -> Endpoint:
        # A model that takes fewer at once is sent fewer: time spent in its queue would count as its silence.
        stated = capabilities_of(model)
        most = stated.max_concurrency or self.concurrency
        is_adaptive = self.is_adaptive and stated.is_endpoint
        limit = AdaptiveLimit(min(self.concurrency, most), is_adaptive=is_adaptive)
        return Endpoint(model, limit, first_rest_s=self.first_rest_s)


class _Turn(msgspec.Struct, frozen=True):
    """One request's right to be sent, and its share of the tokens a minute."""

    request: Request
    share: TokenReservation = TokenReservation()
    until: float = float("inf")  # turns that nobody took must not be taken all at once later


@dataclass(slots=True)
class RetryingClient:
    """One model, asked with patience. Counts what it sends."""

    model: Model
    patience: Patience
    stop: StopSignal
    endpoints: EndpointPool
    giving_up: CircuitBreaker
    rates: RateLimits | None = None
    purse: BudgetGate | None = None
    role: Role = "model"
    deadlines: Deadlines = field(init=False)
    rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311  (jitter, not secrets)
    sent: int = 0
    retried: int = 0
    n_waiting: int = 0  # requests that failed, until they are sent again
    is_one_by_one: bool = False  # several answers to one request are not to be had from it

    def __post_init__(self) -> None:
        self.deadlines = Deadlines(self.patience.timeout_s)

    async def ask(self, request: Request, n: int = 1) -> Response:
        """One reply or, with `n`, up to as many; raises `NoReply` or `Stopped`."""
        if n == 1 or self.is_one_by_one or not isinstance(self.model, Several):
            return await self._persist(request, lambda model: model.reply(request))

        async def several(model: Model) -> list[Reply]:
            if isinstance(model, Several):
                return await model.replies(request, n)
            return [await model.reply(request)]

        try:
            return await self._persist(request, several, n)
        except NoReply as failed:
            if failed.error.status not in ODD_REQUEST:
                raise
        # If this one succeeds, it was the number that was refused.
        answer = await self._persist(request, lambda model: model.reply(request))
        self.is_one_by_one = True
        return answer

    async def _persist(self, request: Request, call: Call, n: int = 1) -> Response:
        tries = Attempts(request, n_wanted=n)
        try:
            while True:
                error = await self._try(tries, call)
                if error is None:
                    return Response(tries.replies, tries.n, tries.paid)
                if not tries.may_go_on:
                    raise NoReply(error, tries.n) from error
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

    def _wait_no_more(self, tries: Attempts) -> None:
        tries.is_waiting = False
        self.n_waiting -= 1

    def _may_go_at_once(self, error: ModelError, tries: Attempts) -> bool:
        """To an endpoint that has not refused it, once that is free; or to any that is free now."""
        is_refused = bool(tries.refusals) and tries.refusals[-1].error is error
        return is_refused or (error.status in OVERLOADED and tries.may_go_elsewhere(self.endpoints))

    async def _try(self, tries: Attempts, call: Call) -> ModelError | None:
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

    async def _enter(self, tries: Attempts) -> tuple[_Turn, Endpoint]:
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


# -- When to give up: one request, after its last try; the whole run, when no request can succeed.

ODD_REQUEST = frozenset({400, 422, 501})  # what endpoints say to a number of answers they cannot give

_UNREACHABLE_TRIES = 3  # before the first answer, so many refused connections mean a wrong address
_PATIENT_TIMES = 10  # told to wait, while others are answered, a request tries so many times as often
_LATELY_S = 10.0  # others are answered as long as one of them was within this time


class DeadEndpoint(ModelError):
    """Nothing has come back for long: asking on would only make failures."""

    exit_code = 1


class Attempts(msgspec.Struct):
    """How often one request has been tried, and with what success."""

    request: Request
    n_wanted: int = 1  # replies
    n: int = 0
    n_patient: int = 0  # of these: refused for now, while others were answered; or nobody was there
    sent_at: float = 0.0
    began_at: float = 0.0  # when the first one failed
    may_go_on: bool = True
    is_waiting: bool = False  # it failed, and has not been sent again yet
    endpoint: Endpoint | None = None  # where the last one failed
    refusals: tuple[Refusal, ...] = ()  # by endpoints that need not be asked again
    replies: list[Reply] = msgspec.field(default_factory=list)
    paid: Usage | None = None  # for the last one
    _n_elsewhere: int = 0

    @property
    def n_counted(self) -> int:
        """The tries that count against the number that is allowed."""
        return self.n - self.n_patient

    @property
    def who(self) -> tuple[str, int]:
        """Whose they are."""
        return self.request.sample.id, self.request.trial

    def begin(self) -> None:
        """Another one is sent."""
        self.n += 1
        self.sent_at = time.monotonic()

    def fail(
        self, error: ModelError, endpoint: Endpoint, endpoints: EndpointPool, backoff: RetryPolicy
    ) -> None:
        """It failed: tell the endpoints, and see whether there may be another one."""
        now = time.monotonic()
        self.began_at = self.began_at or now
        self.endpoint = endpoint
        # To be told to wait, while others get their answers, is no reason to lose hope. Neither is it that
        # nobody listens where somebody did: that is not the sample's fault, and the endpoint's own count.
        is_told = error.status == TOO_MANY and endpoints.answered_at > min(self.sent_at, now - _LATELY_S)
        is_patient = is_told or (error.is_unreachable and not endpoints.is_unheard)
        if is_patient and self.n_patient < _PATIENT_TIMES * backoff.attempts:
            self.n_patient += 1
        self.may_go_on = backoff.may_retry(self.n_counted, error)
        if error.is_retryable:
            trouble = FailedAttempt(who=self.who, sent_at=self.sent_at, began_at=self.began_at)
            endpoints.failed(endpoint, trouble, error, is_last=not self.may_go_on)
        else:
            endpoints.refused(endpoint, error, self.sent_at)
        if not backoff.may_retry(0, error):  # however often it is asked
            self.refusals += (Refusal(endpoint, error, self.sent_at),)
            self.may_go_on = self._may_ask_others(endpoints, backoff)

    def may_go_elsewhere(self, endpoints: EndpointPool) -> bool:
        """Whether another endpoint can be asked at once; each is, before there is a wait."""
        self._n_elsewhere += 1
        may_go = self._n_elsewhere % len(endpoints.members) > 0
        return may_go and self.endpoint is not None and endpoints.has_free_besides(self.endpoint)

    def _may_ask_others(self, endpoints: EndpointPool, backoff: RetryPolicy) -> bool:
        """Each one in good standing is asked once; the others only if the last refusal says little."""
        others = endpoints.others(self.refusals)
        if not all(other.is_suspect for other in others):
            return True
        says_little = self.endpoint is not None and self.endpoint.is_suspect
        return bool(others) and says_little and self.n_counted < backoff.attempts


class CircuitBreaker:
    """Watches the failures of all requests to one model, and says when asking on is pointless."""

    def __init__(self, endpoints: EndpointPool, *, give_up_after: int) -> None:
        self._endpoints = endpoints
        self._give_up_after = give_up_after
        self._n_refused = 0  # requests that nobody wanted, before one was ever answered

    def reason(self, error: ModelError, tries: Attempts) -> ModelError | None:
        """What to end the run with after this failure; None to go on."""
        if self._is_hopeless(error, tries):
            return error
        if self.is_dead():
            return self.dead(error)
        if self._is_unwanted(error, tries):
            return DeadEndpoint(
                f"the first {self._n_refused} requests were all refused, the last one: {error.message}",
                hint="change what is sent: the model, its parameters or the images; "
                "--give-up-after N sends more before giving up",
                status=error.status,
            )
        return None

    def is_dead(self) -> bool:
        """Whether no endpoint has answered for as long as the user is willing to try."""
        return all(member.is_dead(self._give_up_after) for member in self._endpoints.members)

    def dead(self, error: ModelError) -> DeadEndpoint:
        """What to tell the user then."""
        n = len(self._endpoints.members)
        many = f" (none of the {n} endpoints answers)" if n > 1 else ""
        return DeadEndpoint(
            f"{self._give_up_after} failures in a row without an answer{many}, the last one: {error.message}"
            f"{self._endpoints.said_before(error)}",
            hint="start the same command again when it answers: all replies are kept; "
            "--give-up-after N tries for longer",
        )

    def _is_hopeless(self, error: ModelError, tries: Attempts) -> bool:
        """Whether no request can succeed: a wrong key, model or address, as far as anyone can tell."""
        members = self._endpoints.members
        if error.is_fatal:
            return all(member.is_barred for member in members)
        if not error.is_unreachable or not self._endpoints.is_unheard:
            return False
        n_failures = min((member.failures for member in members if not member.is_barred), default=0)
        return n_failures >= _UNREACHABLE_TRIES or (n_failures > 0 and not tries.may_go_on)

    def _is_unwanted(self, error: ModelError, tries: Attempts) -> bool:
        """Whether whatever is sent is refused: a parameter that is not known there, pictures at all."""
        if error.status is None or error.is_retryable or tries.may_go_on or not self._endpoints.is_new:
            return False
        if tries.n_wanted > 1 and error.status in ODD_REQUEST:  # asked for one at a time, it may answer
            return False
        self._n_refused += 1
        return self._n_refused >= self._give_up_after


# -- One alarm for all requests under way: each may take equally long, so whoever was sent first is due first.
#
# `asyncio.timeout` sets an alarm for every request and takes it back again, which costs as much as a tenth of
# what else is done for one; hardly any ever rings.

_LATE_S = 0.1


class Pending:
    """One request under way."""

    __slots__ = ("_cancelling", "claim", "due", "is_over", "spared_s", "task")

    def __init__(self, task: asyncio.Task[object], due: float) -> None:
        self.task = task
        self.due = due
        self.claim = current_claim.get()
        self.spared_s = self.claim.waited_s if self.claim is not None else 0.0
        self.is_over = False  # it took too long, and was ended for that
        self._cancelling = task.cancelling()

    def spare(self) -> bool:
        """Move it on by as long as its answer was held up on our side; whether that was so."""
        held_up_s = self.claim.total_wait_s() if self.claim is not None else 0.0
        more_s, self.spared_s = held_up_s - self.spared_s, held_up_s
        self.due += more_s
        return more_s > 0

    def was_ended(self) -> bool:
        """Whether we ended it, and nobody else did at the same time. Asked once: the task may go on then."""
        is_over, self.is_over = self.is_over, False
        return is_over and self.task.uncancel() <= self._cancelling


class Deadlines:
    """Ends what takes longer than `limit_s`. For one event loop at a time."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._waiting: OrderedDict[Pending, None] = OrderedDict()  # in the order in which they are due
        self._alarm: asyncio.TimerHandle | None = None

    def begin(self) -> Pending:
        """The current task waits for an answer from now on; `end` must follow, however it goes."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None, "only a task can be ended"
        wait = Pending(task, loop.time() + self._limit_s)
        self._waiting[wait] = None
        if self._alarm is None:
            self._set_alarm(loop, wait.due)
        return wait

    def _set_alarm(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        self._alarm = loop.call_at(at, self._ring, loop, at)

    def end(self, wait: Pending) -> None:
        """It waits no longer."""
        self._waiting.pop(wait, None)
        wait.was_ended()  # a model that did not mind being ended must not end the worker later
        if not self._waiting and self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        self._alarm = None
        now = loop.time()
        if now - at > _LATE_S:  # the loop was busy: what came in meanwhile is not read yet
            self._set_alarm(loop, now + min(now - at, self._limit_s))
            return
        while self._waiting:
            first = next(iter(self._waiting))
            if first.due > now:
                self._set_alarm(loop, first.due)
                return
            del self._waiting[first]
            if first.spare():
                self._waiting[first] = None
                continue
            first.is_over = True
            first.task.cancel()
