"""All addresses of a model: which one is asked next, and who waits for a place."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence

from eyechart.engine.endpoint import NEVER, OVERLOADED, TOO_MANY, Endpoint, Refusal, Trouble
from eyechart.errors import ModelError

_RECENT = 256
_TOLD_AGAIN_S = 60.0  # of an endpoint that comes and goes, people hear no more often


class Endpoints:
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

    def failed(self, endpoint: Endpoint, trouble: Trouble, error: ModelError, *, is_last: bool) -> None:
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
