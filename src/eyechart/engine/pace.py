"""How fast an endpoint is asked: as fast as it can bear, and never faster than we were told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

Clock = Callable[[], float]

_SHORTEST_WINDOW = 16  # answers; the median of fewer says little
_COLLAPSED = 4.0  # times the usual latency ...
_STARVED = 0.5  # ... while less than this part of the best rate comes through
_RELIEVED = 0.7  # a cut that brings latency below this part of what it was has helped
_DRIFT = 0.05  # a window: what is usual follows slow changes, such as longer answers later in a file
_BURST_S = 1.0  # of a rate that was left unused, so much may be made up for


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

    def reserve(self, amount: float = 1.0) -> float:
        """Take the next free place; the seconds until its time has come."""
        now = self._clock()
        start = max(self._next, now - _BURST_S)
        self._next = start + amount * self._s_each
        return max(0.0, start - now)

    def correct(self, by: float) -> None:
        """The amount that was reserved turned out to be more, or less."""
        self._next += by * self._s_each


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """The rates that the user allows, for requests and for tokens."""

    requests: Rate | None = None
    tokens: Rate | None = None

    def reserve(self, n_tokens: int) -> float:
        """The seconds until a request of so many tokens may be sent."""
        wait_s = self.requests.reserve() if self.requests else 0.0
        return max(wait_s, self.tokens.reserve(n_tokens) if self.tokens else 0.0)
