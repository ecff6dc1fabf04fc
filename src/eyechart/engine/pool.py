"""The endpoints of one model: which one gets the next request, how many requests each can take, and how fast.

`EndpointPool` hands out places at endpoints. Every `Endpoint` has an `AdaptiveLimit` (additive increase,
multiplicative decrease, with a `LatencyMonitor` for endpoints that slow down without saying so) and rests
after failures. `RateLimits` keeps to the requests and tokens per minute that the user allows. `StopSignal`
wakes everything that waits when the run ends early.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Sequence
from statistics import median
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from eyechart.errors import ModelError
from eyechart.types import Model

TOO_MANY = 429
OVERLOADED = frozenset({TOO_MANY, 503})
NEVER = float("-inf")

Clock = Callable[[], float]
T = TypeVar("T")

_RECENT = 256  # requests behind the latencies and the share of refusals that are shown
_ANNOUNCE_AGAIN_S = 60.0  # a message about the same endpoint is repeated no more often


class EndpointPool:
    """All endpoints of one model. A request goes to the one with the fewest requests in flight."""

    def __init__(
        self,
        members: Sequence[Endpoint],
        *,
        at_most: int | None = None,
        is_proven: bool = False,
        clock: Clock = time.monotonic,
    ) -> None:
        self.members = tuple(members)
        self._only = self.members[0] if len(self.members) == 1 else None
        self._at_most = at_most  # in flight at all of them together; the caller sees to it
        self.is_proven = (
            is_proven  # they have answered before: an earlier start, or a run whose replies are used
        )
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._n_choosy = 0  # of those that wait: they cannot go everywhere
        self._alarm: asyncio.TimerHandle | None = None
        self._is_over = False
        self._is_paused = False
        self.announce: Callable[[str], None] = lambda text: None  # what people should know, as it happens
        self.answered_at = NEVER
        self.last_refusal: ModelError | None = None  # in a server's own words: something listens there
        self.latencies: deque[float] = deque(maxlen=_RECENT)  # s
        self.throttled: deque[bool] = deque(maxlen=_RECENT)  # of the latest requests, which were refused

    @property
    def in_flight(self) -> int:
        return sum(member.in_flight for member in self.members)

    @property
    def limit(self) -> int:
        """How many requests may be in flight, as things stand."""
        limits = sum(member.limit.value for member in self.members)
        return limits if self._at_most is None else min(self._at_most, limits)

    @property
    def is_unproven(self) -> bool:
        """No endpoint has answered yet, in this start or before."""
        return self.answered_at == NEVER and not self.is_proven

    @property
    def is_unheard(self) -> bool:
        """Nothing has ever come back from any endpoint, not even an error."""
        return self.is_unproven and self.last_refusal is None

    def try_acquire(self, avoid: Endpoint | None = None, refusals: Sequence[Refusal] = ()) -> Endpoint | None:
        """A place at an endpoint, if one is free; the caller reports how it went, or releases it."""
        endpoint = self._find_free(avoid, refusals)
        if endpoint is not None:
            endpoint.in_flight += 1
        return endpoint

    async def acquire(self, avoid: Endpoint | None = None, refusals: Sequence[Refusal] = ()) -> Endpoint:
        """A place at an endpoint, once one is free or the run is ending."""
        while (endpoint := self.try_acquire(avoid, refusals)) is None:
            if self._is_over:
                endpoint = self.members[0]
                endpoint.in_flight += 1
                break
            await self._wait(has_exclusions=bool(refusals))
        return endpoint

    def release(self, endpoint: Endpoint) -> None:
        """Give back a place without a statement about the endpoint: the request was not sent, or stopped."""
        endpoint.in_flight -= 1
        self._wake()

    def record_answer(self, endpoint: Endpoint, sent_at: float) -> None:
        """Record an answer and free the place."""
        now = self._clock()
        latency_s = now - sent_at
        self.answered_at = now
        self.latencies.append(latency_s)
        self.throttled.append(False)
        endpoint.record_answer(now)
        endpoint.limit.record_answer(latency_s, sent_at)
        self.release(endpoint)

    def record_failure(
        self, endpoint: Endpoint, failed: FailedAttempt, error: ModelError, *, is_last: bool
    ) -> None:
        """It did not answer, but may answer later; `is_last`: this sample has no further attempt."""
        now = self._clock()
        if error.status is not None:
            self.last_refusal = error
        self.throttled.append(error.status in OVERLOADED)
        if error.status in OVERLOADED:
            endpoint.record_overload(error, failed.sent_at, now)
        if error.status != TOO_MANY or is_last:  # an endpoint that counts our requests is alive
            endpoint.record_failure(failed, error, now)
            if endpoint.is_suspect and now - endpoint.announced_at > _ANNOUNCE_AGAIN_S:
                endpoint.announced_at = now
                self.announce(
                    f"{error.message}{self.quote_last_refusal(error)} (retrying with increasing delays)"
                )
        self.release(endpoint)

    def record_refusal(self, endpoint: Endpoint, error: ModelError, sent_at: float) -> None:
        """It will not answer this request, nor any other if the error is fatal."""
        if error.is_fatal:
            endpoint.record_fatal(is_proven=self.is_proven)
        elif error.status is not None:
            self.last_refusal = error
        if self._only is None and endpoint.is_suspect:
            endpoint.rest(sent_at, self._clock())
        self.release(endpoint)

    def record_contradiction(self, refusals: Sequence[Refusal], owner: Hashable) -> None:
        """One endpoint answered what others had refused: these may be wrong in all that they refuse."""
        now = self._clock()
        for refusal in refusals:
            endpoint = refusal.endpoint
            endpoint.record_contradiction(refusal, owner, now)
            if endpoint.is_suspect and not endpoint.is_announced:
                endpoint.is_announced = True
                self.announce(f"{refusal.error.message} (left out for now: others answer what it refuses)")

    def quote_last_refusal(self, error: ModelError) -> str:
        """What an endpoint said before it became unreachable, to be appended to the error's message."""
        if error.status is not None or self.last_refusal is None:
            return ""
        return f"; before that: {self.last_refusal.message}"

    def find_others(self, refusals: Sequence[Refusal]) -> list[Endpoint]:
        """The endpoints that have not refused the request."""
        tried = [refusal.endpoint for refusal in refusals]
        return [member for member in self.members if member not in tried]

    def has_free_besides(self, endpoint: Endpoint) -> bool:
        now = self._clock()
        return any(member is not endpoint and member.is_free(now) for member in self.members)

    def share_throttled(self) -> float:
        """The share of the latest requests that were refused for being too many."""
        return sum(self.throttled) / len(self.throttled) if self.throttled else 0.0

    def pause(self) -> None:
        """Send nothing more until `resume`; what was sent goes on."""
        self._is_paused = True

    def resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._wake()

    def close(self) -> None:
        """Wake everything that waits, because the run ends."""
        self._is_over = True
        if self._alarm is not None:
            self._alarm.cancel()
        while self._waiting:
            _wake(self._waiting.popleft())

    def _find_free(self, avoid: Endpoint | None, refusals: Sequence[Refusal]) -> Endpoint | None:
        now = self._clock()
        if self._is_paused:
            return None
        if self._only is not None:
            return self._only if self._only.is_free(now) else None
        free = [member for member in self.members if member.is_free(now)]
        if refusals:  # the next opinion should come from an endpoint in good standing
            free = [member for member in self.find_others(refusals) if member in free]
            return min(free, key=lambda member: (member.is_suspect, member.in_flight), default=None)
        return min(free, key=lambda member: (member is avoid, member.in_flight), default=None)

    async def _wait(self, *, has_exclusions: bool) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._set_alarm()
        self._n_choosy += has_exclusions
        try:
            await place
        finally:
            self._n_choosy -= has_exclusions

    def _set_alarm(self) -> None:
        """Look again when the first of the resting endpoints has rested."""
        now = self._clock()
        resting = [
            member.rests_until for member in self.members if member.rests_until and not member.in_flight
        ]
        if not resting:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + max(0.0, min(resting) - now) + 0.01
        if self._alarm is not None:
            if self._alarm.when() <= at:
                return
            self._alarm.cancel()  # another one will have rested sooner
        self._alarm = loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._wake(at_least=1)
        if self._waiting:
            self._set_alarm()

    def _wake(self, at_least: int = 0) -> None:
        if not self._waiting or self._is_paused:
            return
        n_free = max(at_least, sum(max(0, one.limit.value - one.in_flight) for one in self.members))
        if n_free:
            n_free += self._n_choosy  # they may not be able to use the free place, which must not be lost
        while n_free > 0 and self._waiting:
            n_free -= _wake(self._waiting.popleft())


def _wake(place: asyncio.Future[None]) -> bool:
    if place.done():  # cancelled while it waited
        return False
    place.set_result(None)
    return True


# -- One endpoint: in flight, resting, suspect or blocked.

FIRST_REST_S = 2.0

_SUSPECT = 3  # failures in a row, after which an endpoint rests, then gets one request at a time
_LONGEST_REST_S = 30.0
_FIRST_PAUSE_S = 0.005  # of an endpoint that refuses even one request at a time; doubled until it answers
_LONGEST_PAUSE_S = 4.0
_SILENCE_S = 60.0
_FATAL_IN_A_ROW = 3  # after an answer, one may concern one sample alone; so many concern them all


class FailedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """Whose attempt failed, when it was sent, and when the first attempt of its request failed."""

    owner: Hashable
    sent_at: float
    began_at: float


class Refusal(msgspec.Struct, frozen=True):
    """A request that an endpoint refused for good, though another one might answer it."""

    endpoint: Endpoint
    error: ModelError
    sent_at: float


class Endpoint:
    """One address of a model, and how it has been doing."""

    def __init__(self, model: Model, limit: AdaptiveLimit, *, first_rest_s: float = FIRST_REST_S) -> None:
        self.model = model
        self.limit = limit
        self._first_rest_s = first_rest_s
        self.in_flight = 0
        self.failures = 0  # in a row
        self.rests_until = 0.0
        self.is_blocked = False  # it has refused whatever it was sent: a wrong key, an unknown model
        self.is_announced = False  # the user was told that it is left out
        self.announced_at = NEVER  # when the user was told that it may be dead
        self._n_pauses = self._n_rests = self._n_fatal = 0  # since its last answer
        self._answered_at = self._failed_at = self._rested_at = NEVER
        self._failed: set[Hashable] = set()  # the samples that failed in this row
        self._is_unreachable = False  # nothing listens there: the samples are not to blame

    @property
    def is_suspect(self) -> bool:
        """It may be dead: it rests, then gets one request at a time."""
        if self.failures < _SUSPECT:
            return self.is_blocked
        return self.is_blocked or self._is_unreachable or len(self._failed) >= _SUSPECT

    def is_dead(self, give_up_after: int) -> bool:
        """Whether there were that many failures in a row, and not of a few unlucky samples alone."""
        if self.is_blocked:
            return True
        n_samples = min(give_up_after, _SUSPECT + 1)
        return self.failures >= give_up_after and (self._is_unreachable or len(self._failed) >= n_samples)

    def is_free(self, now: float) -> bool:
        if now < self.rests_until:
            return False
        return self.in_flight < (1 if self.is_suspect else self.limit.value)

    def record_overload(self, error: ModelError, sent_at: float, now: float) -> None:
        """429 or 503: lower the limit; pause if even one request at a time was too much."""
        if self.limit.value == 1:
            self._n_pauses += 1
            pause_s = _double(_FIRST_PAUSE_S, self._n_pauses, _LONGEST_PAUSE_S)
            if error.retry_after_s is not None:
                pause_s = min(pause_s, error.retry_after_s)
            self.rests_until = max(self.rests_until, now + pause_s)
        self.limit.record_overload(sent_at)

    def record_answer(self, now: float) -> None:
        self._answered_at = now
        self.rests_until, self._n_pauses, self._n_rests = 0.0, 0, 0
        if self.failures or self._n_fatal:
            self.failures, self._n_fatal = 0, 0
            self._is_unreachable = self.is_blocked = False
            self._failed.clear()

    def record_failure(self, failed: FailedAttempt, error: ModelError, now: float) -> None:
        """It may be dead, unless others were answered since this sample first failed: then it is the sample.

        Failures that were in flight together count once. Silence counts once more per minute: after ten
        minutes of it, eight further waits of that length would be too many.
        """
        if failed.began_at < self._answered_at:
            return
        self._failed.add(failed.owner)
        self._is_unreachable = self._is_unreachable or error.is_unreachable
        if failed.sent_at < self._failed_at:
            return
        self.failures += 1
        if error.was_silent:
            self.failures += int((now - failed.sent_at) / _SILENCE_S)
        self._failed_at = now
        if self.is_suspect:
            self.rest(failed.sent_at, now)

    def record_fatal(self, *, is_proven: bool) -> None:
        """It said that no request can succeed. One that has answered before may mean a single sample."""
        self._n_fatal += 1
        has_answered = is_proven or self._answered_at > NEVER
        self.is_blocked = self.is_blocked or not has_answered or self._n_fatal >= _FATAL_IN_A_ROW

    def record_contradiction(self, refusal: Refusal, owner: Hashable, now: float) -> None:
        """Another one answered what it refused. If it has answered others since, that was for one sample."""
        if refusal.sent_at < self._answered_at:
            return
        if refusal.error.is_fatal:
            self.is_blocked = True
        elif not self.is_suspect or refusal.sent_at >= self._rested_at:
            self._failed.add(owner)
            self.failures += 1
        if self.is_suspect:
            self.rest(refusal.sent_at, now)

    def rest(self, sent_at: float, now: float) -> None:
        """Send it nothing for a while, longer every time; failures in flight together count once."""
        if sent_at >= self._rested_at:
            self.rests_until = now + _double(self._first_rest_s, self._n_rests, _LONGEST_REST_S)
            self._n_rests += 1
            self._rested_at = now


def _double(first_s: float, n_times: int, longest_s: float) -> float:
    return min(first_s * 2.0 ** min(n_times, 30), longest_s)  # more would leave the range of a float


# -- How many requests an endpoint can take at once.

_SHORTEST_WINDOW = 16  # answers; the median of fewer says little
_COLLAPSED = 4.0  # times the usual latency ...
_STARVED = 0.5  # ... while less than this part of the best throughput remains
_RELIEVED = 0.7  # a cut that brings latency below this part of what it was has helped
_DRIFT = 0.05  # per window: the usual follows slow changes, such as longer answers later in a file


class AdaptiveLimit:
    """How many requests may be in flight: additive increase, multiplicative decrease.

    It starts at the user's concurrency, is halved when the endpoint says that it is overloaded or clearly is,
    and grows back by a sixteenth of the ceiling with every round of answers.

    >>> limit = AdaptiveLimit(64)
    >>> limit.record_overload(sent_at=0.0)
    >>> limit.value
    32
    """

    def __init__(self, ceiling: int, *, is_adaptive: bool = True, clock: Clock = time.monotonic) -> None:
        self.value = ceiling
        self.ceiling = ceiling
        self._exact = float(ceiling)
        self._step = max(1.0, ceiling / 16)
        self._is_adaptive = is_adaptive
        self._clock = clock
        self._cut_at = NEVER
        self._monitor = LatencyMonitor(clock)

    def record_answer(self, latency_s: float, sent_at: float) -> None:
        if not self._is_adaptive or sent_at < self._cut_at:  # it says nothing about the time since the cut
            return
        if self._exact < self.ceiling:
            self._set(self._exact + min(1.0, self._step / self._exact))  # at most doubled per round
        found = self._monitor.add(latency_s, self.value)
        if found == "collapsed":
            self._cut()
        elif found == "in vain":
            self._set(self._exact * 2)

    def record_overload(self, sent_at: float) -> None:
        """429 or 503: halve the limit. Requests that were in flight together count once."""
        if self._is_adaptive and sent_at >= self._cut_at:
            self._monitor.reset()
            self._cut()

    def _cut(self) -> None:
        self._cut_at = self._clock()
        self._set(self._exact / 2)

    def _set(self, exact: float) -> None:
        self._exact = min(float(self.ceiling), max(1.0, exact))
        self.value = int(self._exact)


class LatencyMonitor:
    """Notices that latency has multiplied while throughput fell: the endpoint is overloaded, and silent.

    Long answers look the same from here. So a cut of the limit is judged by its effect: if latency stays what
    it was, the number of requests was not the cause, and the cut is undone.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._latencies: list[float] = []
        self._since = clock()
        self._usual_s: float | None = None
        self._best_rate = 0.0
        self._cut_at_s: float | None = None  # the latency that led to a cut which is not judged yet

    def add(self, latency_s: float, in_flight: int) -> str:
        """Take in an answer; "collapsed" asks for a cut of the limit, "in vain" to undo the last one."""
        self._latencies.append(latency_s)
        if len(self._latencies) < max(_SHORTEST_WINDOW, in_flight):
            return ""
        now = self._clock()
        middle_s = median(self._latencies)
        rate = len(self._latencies) / max(now - self._since, 1e-9)
        self._latencies.clear()
        self._since = now
        return self._judge(middle_s, rate)

    def reset(self) -> None:
        """Begin a new window: the limit was changed for another reason."""
        self._latencies.clear()
        self._since = self._clock()
        self._cut_at_s = None

    def _judge(self, middle_s: float, rate: float) -> str:
        if self._cut_at_s is not None:
            has_helped = middle_s < _RELIEVED * self._cut_at_s
            self._cut_at_s = None
            if has_helped:
                return ""
            self._usual_s, self._best_rate = middle_s, rate
            return "in vain"
        usual_s = self._usual_s
        if usual_s is not None and middle_s > _COLLAPSED * usual_s and rate < _STARVED * self._best_rate:
            self._cut_at_s = middle_s
            return "collapsed"
        self._usual_s = middle_s if usual_s is None else min(middle_s, usual_s * (1 + _DRIFT))
        self._best_rate = max(rate, self._best_rate * (1 - _DRIFT))
        return ""


# -- How many requests and tokens per minute the user allows.

_BURST_S = 1.0  # so much of an unused rate may be made up for
_FIRST_REPLY_TOKENS = 1000  # assumed until the length of replies is known
_RECENT_REPLIES = 100  # from which it is learnt
_LOOK_AGAIN_S = 0.2  # a wait for tokens may become shorter, once other requests turn out to take few


class RateLimit:
    """N per minute, evenly spaced.

    >>> rate = RateLimit(120, clock=lambda: 0.0)
    >>> rate.reserve(), rate.reserve(), rate.reserve()
    (0.0, 0.5, 1.0)
    """

    def __init__(self, per_minute: float, *, clock: Clock = time.monotonic) -> None:
        self._s_each = 60.0 / per_minute
        self._clock = clock
        self._next = clock()

    def wait_s(self) -> float:
        """The seconds until the next free place."""
        return max(0.0, self._next - self._clock())

    def reserve(self, amount: float = 1.0) -> float:
        """Take the next free place; the seconds until its time has come."""
        now = self._clock()
        start = max(self._next, now - _BURST_S)
        self._next = start + amount * self._s_each
        return max(0.0, start - now)

    def correct(self, by: float) -> None:
        """The amount that was reserved turned out to be more, or less."""
        self._next += by * self._s_each


class TokenReservation(NamedTuple):
    """The tokens that are reserved for a request."""

    guessed: int = 0  # for its text and images
    reserved: float = 0.0  # for its reply as well


class Rates(Protocol):
    """What a client needs of rate limits: `RateLimits`, or a worker's way to those of the driver."""

    async def acquire(self, n_guessed: int, stop: StopSignal) -> TokenReservation: ...

    def release(self, reservation: TokenReservation, used: int | None) -> None: ...


class RateLimits:
    """The requests and tokens per minute that the user allows, first come, first served.

    The length of a reply cannot be known beforehand; it is taken to be that of the latest replies.
    """

    def __init__(self, *, requests: RateLimit | None = None, tokens: RateLimit | None = None) -> None:
        self._requests = requests
        self._tokens = tokens
        self._more = float(_FIRST_REPLY_TOKENS)  # than guessed
        self._n_learnt = 0
        self._n_held = 0  # requests that wait in `acquire`
        self._queue = asyncio.Lock()

    async def acquire(self, n_guessed: int, stop: StopSignal) -> TokenReservation:
        """Wait until a request of about so many tokens may be sent, or the run stops."""
        self._n_held += 1
        try:
            async with self._queue:
                while not stop.is_set and (wait_s := self.wait_s()) > 0:
                    await stop.wait(min(wait_s, _LOOK_AGAIN_S))
                return self.reserve(n_guessed)
        finally:
            self._n_held -= 1

    def find_slowest(self) -> str:
        """The option that requests wait for now: ``--rpm`` or ``--tpm``; empty if none waits."""
        if not self._n_held:
            return ""
        waits = [
            (rate.wait_s(), name)
            for name, rate in (("--rpm", self._requests), ("--tpm", self._tokens))
            if rate is not None
        ]
        return max(waits)[1] if waits else ""

    def wait_s(self) -> float:
        """The seconds until the next request may be sent, as things stand."""
        return max(rate.wait_s() if rate else 0.0 for rate in (self._requests, self._tokens))

    def reserve(self, n_guessed: int) -> TokenReservation:
        """Set aside what one request takes."""
        reservation = TokenReservation(n_guessed, max(0.0, n_guessed + self._more))
        if self._requests:
            self._requests.reserve()
        if self._tokens:
            self._tokens.reserve(reservation.reserved)
        return reservation

    def release(self, reservation: TokenReservation, used: int | None) -> None:
        """The request took so many tokens; None: nothing came back, so no reply was generated."""
        if self._tokens is None:
            return
        self._tokens.correct((reservation.guessed if used is None else used) - reservation.reserved)
        if used is not None:
            self._n_learnt += 1
            self._more += (used - reservation.guessed - self._more) / min(self._n_learnt, _RECENT_REPLIES)


# -- The end of a run before its time.


class Stopped(Exception):
    """The run was stopped between two attempts: the request is neither answered nor failed."""


class StopSignal:
    """Whether the run has been stopped, and why."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.trouble: BaseException | None = None
        self._event = asyncio.Event()
        self._actions: list[Callable[[], None]] = []

    def interrupt(self) -> None:
        """The user wants the run to end."""
        self.is_interrupted = True
        self.set()

    def give_up(self, trouble: BaseException) -> None:
        """Going on is pointless; the first reason stands."""
        self.trouble = self.trouble or trouble
        self.set()

    def on_stop(self, action: Callable[[], None]) -> None:
        """Have something done when the run stops; at once, if it has."""
        self._actions.append(action)
        if self.is_set:
            action()

    def set(self) -> None:
        """Stop sending requests."""
        self._event.set()
        for action in self._actions:
            action()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self) -> None:
        """Raise `Stopped` if the run is stopped."""
        if self.is_set:
            raise Stopped

    async def wait(self, at_most_s: float | None = None) -> None:
        """Until the run is stopped, or for so many seconds."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout=at_most_s)
        except TimeoutError:
            return

    async def sleep(self, s: float) -> None:
        """Wait so many seconds; raises `Stopped` as soon as the run is stopped."""
        await self.wait(s)
        self.check()

    async def attend(self, call: Awaitable[T]) -> T:
        """What the call gives; if the run is stopped before, the call is cancelled and `Stopped` raised."""
        self.check()
        working, stopped = asyncio.ensure_future(call), asyncio.ensure_future(self.wait())
        waited: list[asyncio.Future[Any]] = [working, stopped]
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait([working])
            raise Stopped
        if working.cancelled():  # by another that waits for the same
            raise Stopped
        return working.result()
