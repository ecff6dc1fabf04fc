"""How fast an endpoint is asked: as fast as it can bear, and never faster than we were told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from eyechart.engine.stopping import Stop

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


class Limit:
    """How many requests may be in flight: additive increase, multiplicative decrease.

    It starts at the ceiling that the user named, is halved when the endpoint says that it is overloaded or
    clearly is, and grows back by a sixteenth of the ceiling with every round of answers.

    >>> limit = Limit(64)
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
        self._watch = Watch(clock)

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


class Watch:
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


class Rate:
    """So much a minute, evenly.

    >>> rate = Rate(120, clock=lambda: 0.0)
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


class Share(NamedTuple):
    """The tokens that are set aside for a request."""

    guessed: int = 0  # for its words and pictures
    reserved: float = 0.0  # for its reply as well


class Rates:
    """The rates that the user allows, for requests and for tokens. Whoever waits gets through in turn.

    How long a reply will be, nobody can guess; it is taken to be as long as the latest were.
    """

    def __init__(self, *, requests: Rate | None = None, tokens: Rate | None = None) -> None:
        self._requests = requests
        self._tokens = tokens
        self._more = float(_FIRST_REPLY)  # than guessed
        self._n_learnt = 0
        self._door = asyncio.Lock()

    async def enter(self, n_guessed: int, stop: Stop) -> Share:
        """Wait until a request of about so many tokens may be sent, or the run stops."""
        async with self._door:
            while not stop.is_set and (wait_s := self.wait_s()) > 0:
                await stop.wait(min(wait_s, _LOOK_AGAIN_S))
            return self.take(n_guessed)

    def wait_s(self) -> float:
        """The seconds until the next one may be sent, as things stand."""
        return max(rate.wait_s() if rate else 0.0 for rate in (self._requests, self._tokens))

    def take(self, n_guessed: int) -> Share:
        """Set aside what one takes."""
        share = Share(n_guessed, max(0.0, n_guessed + self._more))
        if self._requests:
            self._requests.reserve()
        if self._tokens:
            self._tokens.reserve(share.reserved)
        return share

    def settle(self, share: Share, used: int | None) -> None:
        """It took so many tokens; None: nothing came back, so there was no reply to be paid for."""
        if self._tokens is None:
            return
        self._tokens.correct((share.guessed if used is None else used) - share.reserved)
        if used is not None:
            self._n_learnt += 1
            self._more += (used - share.guessed - self._more) / min(self._n_learnt, _LATELY)
