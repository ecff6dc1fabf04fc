"""All addresses of a model: which one is asked next, and who waits for a place."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from statistics import median
from typing import NamedTuple

import msgspec

from eyechart.errors import ModelError
from eyechart.types import Model

_RECENT = 256
_TOLD_AGAIN_S = 60.0  # of an endpoint that comes and goes, people hear no more often


class EndpointPool:
    """All endpoints of one model. Requests go to the one with the fewest under way."""

    def __init__(
        self,
        members: Sequence[Endpoint],
        *,
        at_most: int | None = None,
        is_proven: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.members = tuple(members)
        self._only = self.members[0] if len(self.members) == 1 else None
        self._at_most = at_most  # under way at all of them together; whoever asks sees to it
        self._is_proven = is_proven  # they have answered in an earlier start of the run
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._n_choosy = 0  # of those that wait: they cannot go everywhere
        self._alarm: asyncio.TimerHandle | None = None
        self._is_over = False
        self.say: Callable[[str], None] = _to_nobody
        self.answered_at = NEVER
        self.last_refusal: ModelError | None = None  # a server's own words: somebody listens there
        self.latencies: deque[float] = deque(maxlen=_RECENT)  # s
        self.throttled: deque[bool] = deque(maxlen=_RECENT)  # of the latest requests, which were refused

    @property
    def in_flight(self) -> int:
        """Requests under way now."""
        return sum(member.in_flight for member in self.members)

    @property
    def limit(self) -> int:
        """How many may be, as things stand."""
        borne = sum(member.limit.value for member in self.members)
        return borne if self._at_most is None else min(self._at_most, borne)

    @property
    def is_new(self) -> bool:
        """Whether nobody knows yet that any of them answers at all."""
        return self.answered_at == NEVER and not self._is_proven

    @property
    def is_unheard(self) -> bool:
        """Whether nothing has ever come back from any of them, not even an error."""
        return self.is_new and self.last_refusal is None

    def said_before(self, error: ModelError) -> str:
        """What an endpoint said before nobody listened there any more, to be put behind the error."""
        if error.status is not None or self.last_refusal is None:
            return ""
        return f"; before that: {self.last_refusal.message}"

    def try_to_enter(
        self, rather_not: Endpoint | None = None, refusals: Sequence[Refusal] = ()
    ) -> Endpoint | None:
        """The endpoint to ask, if one is free; the caller says how it went."""
        endpoint = self._free(rather_not, refusals)
        if endpoint is not None:
            endpoint.in_flight += 1
        return endpoint

    async def enter(self, rather_not: Endpoint | None = None, refusals: Sequence[Refusal] = ()) -> Endpoint:
        """The endpoint to ask, once one is free or the run is ending; the caller says how it went."""
        while (endpoint := self.try_to_enter(rather_not, refusals)) is None:
            if self._is_over:
                endpoint = self.members[0]
                endpoint.in_flight += 1
                break
            await self._wait(is_choosy=bool(refusals))
        return endpoint

    def leave(self, endpoint: Endpoint) -> None:
        """It went in a way that says nothing: we were stopped, or the refusal concerns one request alone."""
        endpoint.in_flight -= 1
        self._wake()

    def answered(self, endpoint: Endpoint, sent_at: float) -> None:
        """It answered."""
        now = self._clock()
        latency_s = now - sent_at
        self.answered_at = now
        self.latencies.append(latency_s)
        self.throttled.append(False)
        endpoint.has_answered(now)
        endpoint.limit.answered(latency_s, sent_at)
        self.leave(endpoint)

    def failed(self, endpoint: Endpoint, trouble: FailedAttempt, error: ModelError, *, is_last: bool) -> None:
        """It did not, though it may later; `is_last`: this sample has no further try."""
        now = self._clock()
        if error.status is not None:
            self.last_refusal = error
        self.throttled.append(error.status in OVERLOADED)
        if error.status in OVERLOADED:
            endpoint.has_refused(error, trouble.sent_at, now)
        if error.status != TOO_MANY or is_last:  # an endpoint that counts our requests is alive
            endpoint.has_failed(trouble, error, now)
            self._tell_of(endpoint, error, now)
        self.leave(endpoint)

    def refused(self, endpoint: Endpoint, error: ModelError, sent_at: float) -> None:
        """It will not answer this request, nor any other if the error is fatal."""
        if error.status is not None and not error.is_fatal:
            self.last_refusal = error
        if error.is_fatal:
            endpoint.has_denied(is_proven=self._is_proven)
        if self._only is None and endpoint.is_suspect:
            endpoint.rest(sent_at, self._clock())
        self.leave(endpoint)

    def outdone(self, refusals: Sequence[Refusal], who: Hashable) -> None:
        """One of them answered what others had refused: these may be wrong in all they refuse."""
        now = self._clock()
        for refusal in refusals:
            endpoint = refusal.endpoint
            endpoint.was_outdone(refusal, who, now)
            if endpoint.is_suspect and not endpoint.is_told_of:
                endpoint.is_told_of = True
                self.say(f"{refusal.error.message} (left out for now: others answer what it refuses)")

    def _tell_of(self, endpoint: Endpoint, error: ModelError, now: float) -> None:
        """Whoever watches a run stand still should know why."""
        if endpoint.is_suspect and now - endpoint.told_at > _TOLD_AGAIN_S:
            endpoint.told_at = now
            self.say(f"{error.message}{self.said_before(error)} (retrying with increasing delays)")

    def others(self, refusals: Sequence[Refusal]) -> list[Endpoint]:
        """Those that have not refused it."""
        tried = [refusal.endpoint for refusal in refusals]
        return [member for member in self.members if member not in tried]

    def let_go(self) -> None:
        """Wake all that wait: the run is ending."""
        self._is_over = True
        if self._alarm is not None:
            self._alarm.cancel()
        while self._waiting:
            _wake(self._waiting.popleft())

    def has_free_besides(self, endpoint: Endpoint) -> bool:
        """Whether another one can take a request now."""
        now = self._clock()
        return any(member is not endpoint and member.is_free(now) for member in self.members)

    def _free(self, rather_not: Endpoint | None, refusals: Sequence[Refusal]) -> Endpoint | None:
        now = self._clock()
        if self._only is not None:
            return self._only if self._only.is_free(now) else None
        free = [member for member in self.members if member.is_free(now)]
        if refusals:  # now the word of one that is in good standing is wanted
            free = [member for member in self.others(refusals) if member in free]
            return min(free, key=lambda member: (member.is_suspect, member.in_flight), default=None)
        return min(free, key=lambda member: (member is rather_not, member.in_flight), default=None)

    async def _wait(self, *, is_choosy: bool) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._set_alarm()
        self._n_choosy += is_choosy
        try:
            await place
        finally:
            self._n_choosy -= is_choosy

    def _set_alarm(self) -> None:
        """Look again when the first of those that rest has rested."""
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
        if not self._waiting:
            return
        n_free = max(at_least, sum(max(0, one.limit.value - one.in_flight) for one in self.members))
        if n_free:
            n_free += self._n_choosy  # for whom the free place may not be; it must not be lost on them
        while n_free > 0 and self._waiting:
            n_free -= _wake(self._waiting.popleft())


def _wake(place: asyncio.Future[None]) -> bool:
    if place.done():  # cancelled while it waited
        return False
    place.set_result(None)
    return True


def _to_nobody(text: str) -> None:
    return


# -- One address of a model: how much it bears, how it has been doing, and whether it still lives.

TOO_MANY = 429
OVERLOADED = frozenset({TOO_MANY, 503})

_SUSPECT = 3  # failures in a row, after which an endpoint is left alone for a while, then asked one at a time
FIRST_REST_S = 2.0
_LONGEST_REST_S = 30.0
_FIRST_PAUSE_S = 0.005  # of an endpoint that refuses even one request at a time; doubled until it answers
_LONGEST_PAUSE_S = 4.0
_SILENCE_S = 60.0
_FATAL_IN_A_ROW = 3  # after an answer, one may concern one sample alone; so many concern them all
NEVER = float("-inf")


class FailedAttempt(msgspec.Struct, frozen=True, kw_only=True):
    """A try that failed: whose it was, when it was sent, and when the first of its tries failed."""

    who: Hashable
    sent_at: float
    began_at: float


class Refusal(msgspec.Struct, frozen=True):
    """What an endpoint did not want, though another one might."""

    endpoint: Endpoint
    error: ModelError
    sent_at: float


class Endpoint:
    """One address, and how it has been doing."""

    def __init__(self, model: Model, limit: AdaptiveLimit, *, first_rest_s: float = FIRST_REST_S) -> None:
        self.model = model
        self.limit = limit
        self._first_rest_s = first_rest_s
        self.in_flight = 0
        self.failures = 0  # in a row
        self.rests_until = 0.0
        self.is_barred = False  # it has turned away whatever it was sent: a wrong key, an unknown model
        self.is_told_of = False  # people know that it is left out
        self.told_at = NEVER  # when they heard that it may be dead
        self._n_pauses = self._n_rests = self._n_fatal = 0  # since its last answer
        self._answered_at = self._failed_at = self._rested_at = NEVER
        self._failed: set[Hashable] = set()  # the samples that failed in this row
        self._is_gone = False  # nobody listens there: it is not the samples

    @property
    def is_suspect(self) -> bool:
        """It may be dead: left alone for a while, then tried with one request at a time."""
        if self.failures < _SUSPECT:
            return self.is_barred
        return self.is_barred or self._is_gone or len(self._failed) >= _SUSPECT

    def is_dead(self, give_up_after: int) -> bool:
        """So many failures in a row, and not of a few unlucky samples alone."""
        if self.is_barred:
            return True
        n_samples = min(give_up_after, _SUSPECT + 1)
        return self.failures >= give_up_after and (self._is_gone or len(self._failed) >= n_samples)

    def is_free(self, now: float) -> bool:
        """Whether it can take one more."""
        if now < self.rests_until:
            return False
        return self.in_flight < (1 if self.is_suspect else self.limit.value)

    def has_refused(self, error: ModelError, sent_at: float, now: float) -> None:
        """It has too much to do. If it says so to one request at a time, it is left alone for a moment."""
        if self.limit.value == 1:
            self._n_pauses += 1
            pause_s = _doubled(_FIRST_PAUSE_S, self._n_pauses, _LONGEST_PAUSE_S)
            if error.retry_after_s is not None:
                pause_s = min(pause_s, error.retry_after_s)
            self.rests_until = max(self.rests_until, now + pause_s)
        self.limit.overloaded(sent_at)

    def has_answered(self, now: float) -> None:
        """It lives."""
        self._answered_at = now
        self.rests_until, self._n_pauses, self._n_rests = 0.0, 0, 0
        if self.failures or self._n_fatal:
            self.failures, self._n_fatal = 0, 0
            self._is_gone = self.is_barred = False
            self._failed.clear()

    def has_failed(self, trouble: FailedAttempt, error: ModelError, now: float) -> None:
        """It may be dead, unless the sample itself is to blame: others were answered since it first failed.

        Failures that were under way together count once. Silence counts once more for every minute of it:
        whoever waits for ten minutes need not do so eight times.
        """
        if trouble.began_at < self._answered_at:
            return
        self._failed.add(trouble.who)
        self._is_gone = self._is_gone or error.is_unreachable
        if trouble.sent_at < self._failed_at:
            return
        self.failures += 1
        if error.was_silent:
            self.failures += int((now - trouble.sent_at) / _SILENCE_S)
        self._failed_at = now
        if self.is_suspect:
            self.rest(trouble.sent_at, now)

    def has_denied(self, *, is_proven: bool) -> None:
        """It said that no request can succeed. One that has answered may mean a single sample."""
        self._n_fatal += 1
        has_answered = is_proven or self._answered_at > NEVER
        self.is_barred = self.is_barred or not has_answered or self._n_fatal >= _FATAL_IN_A_ROW

    def was_outdone(self, refusal: Refusal, who: Hashable, now: float) -> None:
        """Another one answered what it refused. If it has answered others since, that was for one sample."""
        if refusal.sent_at < self._answered_at:
            return
        if refusal.error.is_fatal:
            self.is_barred = True
        elif not self.is_suspect or refusal.sent_at >= self._rested_at:
            self._failed.add(who)
            self.failures += 1
        if self.is_suspect:
            self.rest(refusal.sent_at, now)

    def rest(self, sent_at: float, now: float) -> None:
        """It is left alone, longer every time; those that were under way together count once."""
        if sent_at >= self._rested_at:
            self.rests_until = now + _doubled(self._first_rest_s, self._n_rests, _LONGEST_REST_S)
            self._n_rests += 1
            self._rested_at = now


def _doubled(first_s: float, n_times: int, longest_s: float) -> float:
    return min(first_s * 2.0 ** min(n_times, 30), longest_s)  # more would leave the range of a float


# -- How fast an endpoint is asked: as fast as it can bear, and never faster than we were told.

Clock = Callable[[], float]

_SHORTEST_WINDOW = 16  # answers; the median of fewer says little
_COLLAPSED = 4.0  # times the usual latency ...
_STARVED = 0.5  # ... while less than this part of the best rate comes through
_RELIEVED = 0.7  # a cut that brings latency below this part of what it was has helped
_DRIFT = 0.05  # a window: what is usual follows slow changes, such as longer answers later in a file
_BURST_S = 1.0  # of a rate that was left unused, so much may be made up for
_FIRST_REPLY = 1000  # tokens, as long as nobody knows how long replies are
_LATELY = 100  # requests from which that is learnt
_LOOK_AGAIN_S = 0.2  # whoever waits for tokens may have to wait less, once others turn out to take few


class AdaptiveLimit:
    """How many requests may be in flight: additive increase, multiplicative decrease.

    It starts at the ceiling that the user named, is halved when the endpoint says that it is overloaded or
    clearly is, and grows back by a sixteenth of the ceiling with every round of answers.

    >>> limit = AdaptiveLimit(64)
    >>> limit.overloaded(sent_at=0.0)
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
        self._cut_at = float("-inf")
        self._watch = LatencyMonitor(clock)

    def answered(self, latency_s: float, sent_at: float) -> None:
        """One more came back well."""
        if not self._is_adaptive or sent_at < self._cut_at:  # of the time since the cut it says nothing
            return
        if self._exact < self.ceiling:
            self._set(self._exact + min(1.0, self._step / self._exact))  # at most twice as many a round
        found = self._watch.add(latency_s, self.value)
        if found == "collapsed":
            self._cut()
        elif found == "in vain":
            self._set(self._exact * 2)

    def overloaded(self, sent_at: float) -> None:
        """The endpoint asks for mercy. Those that were sent together count once."""
        if self._is_adaptive and sent_at >= self._cut_at:
            self._watch.forget()
            self._cut()

    def _cut(self) -> None:
        self._cut_at = self._clock()
        self._set(self._exact / 2)

    def _set(self, exact: float) -> None:
        self._exact = min(float(self.ceiling), max(1.0, exact))
        self.value = int(self._exact)


class LatencyMonitor:
    """Notices that latency has multiplied while less comes through: the endpoint chokes on what it was sent.

    Long answers look the same from here. So a cut is judged by what it brings: if latency stays what it was,
    the number of requests was not the cause, and the cut is taken back.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._latencies: list[float] = []
        self._since = clock()
        self._usual_s: float | None = None
        self._best_rate = 0.0
        self._cut_at_s: float | None = None  # the latency that led to a cut which is not judged yet

    def add(self, latency_s: float, n_at_once: int) -> str:
        """Take in an answer; "collapsed" asks for a cut, "in vain" to take the last one back."""
        self._latencies.append(latency_s)
        if len(self._latencies) < max(_SHORTEST_WINDOW, n_at_once):
            return ""
        now = self._clock()
        middle = median(self._latencies)
        rate = len(self._latencies) / max(now - self._since, 1e-9)
        self._latencies.clear()
        self._since = now
        return self._judge(middle, rate)

    def forget(self) -> None:
        """What is being watched has changed for another reason."""
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


class RateLimit:
    """So much a minute, evenly.

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
    """The tokens that are set aside for a request."""

    guessed: int = 0  # for its words and pictures
    reserved: float = 0.0  # for its reply as well


class RateLimits:
    """The rates that the user allows, for requests and for tokens. Whoever waits gets through in turn.

    How long a reply will be, nobody can guess; it is taken to be as long as the latest were.
    """

    def __init__(self, *, requests: RateLimit | None = None, tokens: RateLimit | None = None) -> None:
        self._requests = requests
        self._tokens = tokens
        self._more = float(_FIRST_REPLY)  # than guessed
        self._n_learnt = 0
        self._door = asyncio.Lock()

    async def enter(self, n_guessed: int, stop: StopSignal) -> TokenReservation:
        """Wait until a request of about so many tokens may be sent, or the run stops."""
        async with self._door:
            while not stop.is_set and (wait_s := self.wait_s()) > 0:
                await stop.wait(min(wait_s, _LOOK_AGAIN_S))
            return self.take(n_guessed)

    def wait_s(self) -> float:
        """The seconds until the next one may be sent, as things stand."""
        return max(rate.wait_s() if rate else 0.0 for rate in (self._requests, self._tokens))

    def take(self, n_guessed: int) -> TokenReservation:
        """Set aside what one takes."""
        share = TokenReservation(n_guessed, max(0.0, n_guessed + self._more))
        if self._requests:
            self._requests.reserve()
        if self._tokens:
            self._tokens.reserve(share.reserved)
        return share

    def settle(self, share: TokenReservation, used: int | None) -> None:
        """It took so many tokens; None: nothing came back, so there was no reply to be paid for."""
        if self._tokens is None:
            return
        self._tokens.correct((share.guessed if used is None else used) - share.reserved)
        if used is not None:
            self._n_learnt += 1
            self._more += (used - share.guessed - self._more) / min(self._n_learnt, _LATELY)


# -- How a run ends before its end: somebody's wish, or no point in going on.


class Stopped(Exception):
    """The run was stopped between two tries: neither answered nor failed."""


class StopSignal:
    """Whether the run goes on, and if not, why."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.trouble: BaseException | None = None
        self._event = asyncio.Event()
        self._then: list[Callable[[], None]] = []

    def interrupt(self) -> None:
        """Somebody wants it to end."""
        self.is_interrupted = True
        self.set()

    def give_up(self, trouble: BaseException) -> None:
        """Going on is pointless; the first reason stands."""
        self.trouble = self.trouble or trouble
        self.set()

    def then(self, action: Callable[[], None]) -> None:
        """Have something done when the run stops; at once, if it has."""
        self._then.append(action)
        if self.is_set:
            action()

    def set(self) -> None:
        """Ask nothing more."""
        self._event.set()
        for action in self._then:
            action()

    @property
    def is_set(self) -> bool:
        """The run is ending."""
        return self._event.is_set()

    async def wait(self, at_most_s: float | None = None) -> None:
        """Until the run is stopped, or for so many seconds."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout=at_most_s)
        except TimeoutError:
            return
