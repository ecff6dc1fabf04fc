"""Where a model is served: which endpoint is asked next, how much it bears, and whether it still lives."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from eyechart.engine.pace import Limit
from eyechart.errors import ModelError
from eyechart.types import Model

TOO_MANY = 429
OVERLOADED = frozenset({TOO_MANY, 503})

_SUSPECT = 3  # failures in a row, after which an endpoint is left alone for a while, then asked one at a time
FIRST_REST_S = 2.0
_LONGEST_REST_S = 30.0
_FIRST_PAUSE_S = 0.005  # of an endpoint that refuses even one request at a time; doubled until it answers
_LONGEST_PAUSE_S = 4.0
_RECENT = 256
_SILENCE_S = 60.0


class DeadEndpoint(ModelError):
    """Nothing has come back for long: asking on would only make failures."""

    exit_code = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A try that failed: whose it was, when it was sent, and when the first of its tries failed."""

    who: Hashable
    sent_at: float
    began_at: float


class Endpoint:
    """One address, and how it has been doing."""

    def __init__(self, model: Model, limit: Limit, *, first_rest_s: float = FIRST_REST_S) -> None:
        self.model = model
        self.limit = limit
        self._first_rest_s = first_rest_s
        self.in_flight = 0
        self.failures = 0  # in a row
        self.rests_until = 0.0
        self._n_pauses = self._n_rests = 0  # since its last answer
        self._answered_at = float("-inf")
        self._failed_at = float("-inf")
        self._failed: set[Hashable] = set()  # the samples that failed in this row
        self._is_gone = False  # nobody listens there: it is not the samples

    @property
    def is_suspect(self) -> bool:
        """It may be dead: left alone for a while, then tried with one request at a time."""
        return self.failures >= _SUSPECT and (self._is_gone or len(self._failed) >= _SUSPECT)

    def is_dead(self, give_up_after: int) -> bool:
        """So many failures in a row, and not of a few unlucky samples alone."""
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
        if self.failures:
            self.failures, self._is_gone = 0, False
            self._failed.clear()

    def has_failed(self, trouble: Trouble, error: ModelError, now: float) -> None:
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
            self.rests_until = now + _doubled(self._first_rest_s, self._n_rests, _LONGEST_REST_S)
            self._n_rests += 1


class Endpoints:
    """All endpoints of one model. Requests go to the one with the fewest under way."""

    def __init__(
        self,
        members: Sequence[Endpoint],
        *,
        give_up_after: int,
        at_most: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.members = tuple(members)
        self._only = self.members[0] if len(self.members) == 1 else None
        self._give_up_after = give_up_after
        self._at_most = at_most  # under way at all of them together; whoever asks sees to it
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._is_over = False
        self.n_answered = 0
        self.answered_at = float("-inf")
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

    def try_to_enter(self, rather_not: Endpoint | None = None) -> Endpoint | None:
        """The endpoint to ask, if one is free; the caller says how it went."""
        endpoint = self._free(rather_not)
        if endpoint is not None:
            endpoint.in_flight += 1
        return endpoint

    async def enter(self, rather_not: Endpoint | None = None) -> Endpoint:
        """The endpoint to ask, once one is free or the run is ending; the caller says how it went."""
        while (endpoint := self.try_to_enter(rather_not)) is None:
            if self._is_over:
                endpoint = self.members[0]
                endpoint.in_flight += 1
                break
            await self._wait()
        return endpoint

    def leave(self, endpoint: Endpoint) -> None:
        """It went in a way that says nothing: we were stopped, or the refusal concerns one request alone."""
        endpoint.in_flight -= 1
        self._wake()

    def answered(self, endpoint: Endpoint, sent_at: float) -> None:
        """It answered."""
        now = self._clock()
        latency_s = now - sent_at
        self.n_answered += 1
        self.answered_at = now
        self.latencies.append(latency_s)
        self.throttled.append(False)
        endpoint.has_answered(now)
        endpoint.limit.answered(latency_s, sent_at)
        self.leave(endpoint)

    def failed(self, endpoint: Endpoint, trouble: Trouble, error: ModelError, *, is_last: bool) -> None:
        """It did not, though it may later; `is_last`: this sample has no further try."""
        now = self._clock()
        self.throttled.append(error.status in OVERLOADED)
        if error.status in OVERLOADED:
            endpoint.has_refused(error, trouble.sent_at, now)
        if error.status != TOO_MANY or is_last:  # an endpoint that counts our requests is alive
            endpoint.has_failed(trouble, error, now)
        self.leave(endpoint)

    def is_dead(self) -> bool:
        """Whether none of them has answered for as long as the user is willing to try."""
        return all(member.is_dead(self._give_up_after) for member in self.members)

    def dead(self, error: ModelError) -> DeadEndpoint:
        """What to tell the user then."""
        many = f" (none of the {len(self.members)} endpoints answers)" if len(self.members) > 1 else ""
        return DeadEndpoint(
            f"{self._give_up_after} failures in a row without an answer{many}, the last one: {error.message}",
            hint="start the same command again when it answers: all replies are kept; "
            "--give-up-after N tries for longer",
        )

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

    def _free(self, rather_not: Endpoint | None) -> Endpoint | None:
        now = self._clock()
        if self._only is not None:
            return self._only if self._only.is_free(now) else None
        free = [member for member in self.members if member.is_free(now)]
        return min(free, key=lambda member: (member is rather_not, member.in_flight), default=None)

    async def _wait(self) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._set_alarm()
        await place

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
        while n_free > 0 and self._waiting:
            n_free -= _wake(self._waiting.popleft())


def _doubled(first_s: float, n_times: int, longest_s: float) -> float:
    return min(first_s * 2.0 ** min(n_times, 30), longest_s)  # more would leave the range of a float


def _wake(place: asyncio.Future[None]) -> bool:
    if place.done():  # cancelled while it waited
        return False
    place.set_result(None)
    return True
