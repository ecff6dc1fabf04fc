"""How many flips between two runs are noise: what asking the same model twice changes.

A **flip** is a question with a value below one half in one run and not in the other. Rechecked questions
were asked twice under the load of the run; the share of these that flipped, times the shared questions, is
how many flips are expected of a model against itself. Its interval is that of the share (docs/intervals.md).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eyechart import stats
from eyechart.files import list_values

_EXCESS = 0.005  # how rarely two runs of one model may be said to flip more than noise explains
_CAUSE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class FlipRate:
    """How often two replies of one model to one question are on different sides of one half."""

    n: int
    n_flipped: int
    rate: float
    ci95: tuple[float, float]

    @classmethod
    def of(cls, flips: Sequence[bool], clusters: Sequence[Hashable] | None = None) -> FlipRate:
        """The rate of some rechecked questions; at least one.

        >>> FlipRate.of([True, False, False, False]).rate
        0.25
        """
        found = stats.interval(map(float, flips), clusters=clusters)
        assert found is not None, "something was rechecked"
        ends = (found.low, found.high)
        return cls(n=len(flips), n_flipped=sum(flips), rate=found.mean, ci95=ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The flips between two runs, beside those that asking twice explains."""

    n: int  # shared questions
    flips: int
    rate: FlipRate  # at the load of the runs
    by_concurrency: Mapping[int, FlipRate] = field(default_factory=dict)  # of rechecks at other loads
    load: int = 0  # the concurrency of the runs

    @property
    def expected(self) -> float:
        """Flips that noise alone would give."""
        return self.n * self.rate.rate

    @property
    def expected_ci95(self) -> tuple[float, float]:
        low, high = self.rate.ci95
        return self.n * low, self.n * high

    @property
    def is_excess(self) -> bool:
        """Whether there are more flips than noise explains."""
        rate = self.rate
        return compute_excess(self.flips, self.n, rate.n_flipped, rate.n) < _EXCESS

    @property
    def floor(self) -> float:
        """The difference of two scores that noise alone exceeds in one of twenty repetitions."""
        return 1.96 * math.sqrt(self.expected) / self.n

    @property
    def cause(self) -> str:
        """Whether the load is the cause, as far as rechecks with less load say; empty without any."""
        less = min((one for one in self.by_concurrency if one < self.load), default=None)
        if less is None:
            return ""
        other = self.by_concurrency[less]
        p = compute_excess(self.rate.n_flipped, self.rate.n, other.n_flipped, other.n)
        shares = (
            f"{self.rate.n_flipped} of {self.rate.n} flip with {self.load} requests in flight, "
            f"{other.n_flipped} of {other.n} with {less}"
        )
        if p < _CAUSE:
            return f"{shares}: the load is a cause"
        return f"{shares}: no effect of the load shows"

    @property
    def verdict(self) -> str:
        """What the numbers say, in one sentence."""
        low, high = self.expected_ci95
        flips = f"{self.flips:,} flip{'s' * (self.flips != 1)}"
        are = "is" if round(self.expected) == 1 else "are"
        rechecked = f"{self.rate.n_flipped:,} of {self.rate.n:,} rechecked questions flipped"
        said = (
            f"of {flips}, {self.expected:,.0f} {are} expected from asking the same model twice "
            f"({low:,.0f} to {high:,.0f}; {rechecked})"
        )
        if self.is_excess:
            said += ": more than noise explains"
        return "; ".join(filter(None, (said, self.cause)))

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = (
            "n", "flips", "expected", "expected_ci95", "is_excess", "floor", "rate", "load", "by_concurrency",
            "cause", "verdict",
        )  # fmt: skip
        return list_values(self, names)


def compute_excess(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """The mid-p value of as large a share as hits of n, if it is that of the others (Fisher, one-sided).

    >>> round(compute_excess(30, 100, 3, 100), 6), round(compute_excess(3, 100, 3, 100), 2)
    (0.0, 0.5)
    """
    total, most = hits + other_hits, min(n, hits + other_hits)
    whole = _log_ways(n + other_n, total)

    def chance(k: int) -> float:
        return math.exp(_log_ways(n, k) + _log_ways(other_n, total - k) - whole)

    return min(1.0, math.fsum(chance(k) for k in range(hits + 1, most + 1)) + chance(hits) / 2)


def _log_ways(n: int, k: int) -> float:
    if not 0 <= k <= n:
        return -math.inf
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
