"""Looking after every question: a test of a mean that keeps its error rate whenever it is stopped.

By betting (Waudby-Smith and Ramdas, 2024, https://doi.org/10.1093/jrsssb/qkad009): if the mean is at most
`limit`, a player who bets a share c of the stake on every unit being above it multiplies the stake by
1 + c (x - limit) / (limit - lowest) and does not win on average, so the stake ever reaches 1 / alpha with a
probability of alpha at most (Ville, 1939). Several shares are played at once, with the stake divided among
them, because the best one depends on the spread. The units (images, not questions) arrive in random order;
one of n questions counts n times as much, relative to the heaviest.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

SHARES: tuple[float, ...] = tuple(0.9 * 0.65**k for k in range(16))  # of the stake that are bet
_STEPS = 30  # halvings of the range in which an end of the interval lies


class Sequential(msgspec.Struct, frozen=True, kw_only=True):
    """Where a sequential test stands."""

    result: Literal["above", "below", ""]  # the mean is; empty: not decided
    mean: float | None
    low: float  # an interval that holds the mean at all times at once, with 95 %
    high: float
    n: int  # questions
    n_clusters: int


class SequentialTest:
    """Whether a mean is above or below a limit, decided as soon as the data say so.

    >>> test = SequentialTest(0.5)
    >>> for _ in range(20): test.add(1.0, 1.0)
    >>> test.result, test.state().n
    ('above', 20)
    """

    def __init__(
        self,
        limit: float,
        *,
        lowest: float = 0.0,
        highest: float = 1.0,
        heaviest: float = 1.0,
        alpha: float = 0.05,
    ) -> None:
        """`lowest`, `highest`: the values that a question can have; `heaviest`: the weight of a unit."""
        self.limit = limit
        self.result: Literal["above", "below", ""] = ""
        self._range = (lowest, highest)
        self._heaviest = heaviest
        self._enough = math.log(2 / alpha)  # for each side
        self._above = _Stake(limit, lowest, heaviest)
        self._below = _Stake(-limit, -highest, heaviest)
        self._units: Counter[tuple[float, float, float]] = Counter()
        self._n = 0

    def add(self, weight: float, total: float, most: float | None = None, *, n: int = 1) -> None:
        """Add a unit of `n` questions: their weight, and the sum of weight times value.

        Where some have failed, `total` is the sum with these at their worst and `most` at their best.
        """
        best = total if most is None else most
        if not weight > 0:
            return
        self._units[weight, total, best] += 1
        self._n += n
        self._above.bet(weight, total)
        self._below.bet(weight, -best)
        if not self.result and max(self._above.log, self._below.log) >= self._enough:
            self.result = "above" if self._above.log > self._below.log else "below"

    def state(self) -> Sequential:
        """The result so far, with the interval."""
        weight = math.fsum(w * k for (w, _, _), k in self._units.items())
        middle = math.fsum((low + high) / 2 * k for (_, low, high), k in self._units.items())
        # The interval is that of all looks together: a decision that was made stays.
        lowest, highest = self._range
        least = self.limit if self.result == "above" else lowest
        most = math.nextafter(self.limit, lowest) if self.result == "below" else highest
        worst = [(w, total, k) for (w, total, _), k in self._units.items()]
        best = [(w, -total, k) for (w, _, total), k in self._units.items()]
        return Sequential(
            result=self.result,
            mean=middle / weight if weight else None,
            low=self._find_end(worst, lowest, least, most),
            high=-self._find_end(best, -highest, -most, -least),
            n=self._n,
            n_clusters=self._units.total(),
        )

    def _find_end(
        self, units: Sequence[tuple[float, float, int]], lowest: float, low: float, high: float
    ) -> float:
        """The largest limit from `low` to `high` that all units together show the mean to be above."""
        for _ in range(_STEPS):
            middle = (low + high) / 2
            stake = _Stake(middle, lowest, self._heaviest)
            for weight, total, times in units:
                stake.bet(weight, total, times)
            low, high = (middle, high) if stake.log >= self._enough else (low, middle)
        return low


class _Stake:
    """What bets on "above the limit" have made of a stake of 1, in logarithms."""

    def __init__(self, limit: float, lowest: float, heaviest: float) -> None:
        self._limit = limit
        self._room = max(limit - lowest, 1e-12) * heaviest
        self._logs = [0.0] * len(SHARES)

    def bet(self, weight: float, total: float, times: int = 1) -> None:
        gain = (total - self._limit * weight) / self._room
        for place, share in enumerate(SHARES):
            self._logs[place] += times * math.log1p(share * gain)

    @property
    def log(self) -> float:
        most = max(self._logs)
        return most + math.log(math.fsum(math.exp(log - most) for log in self._logs) / len(SHARES))
