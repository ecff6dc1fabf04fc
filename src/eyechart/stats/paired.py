"""Comparing two models on the same samples, many comparisons at once, and planning a comparison.

Both models meet the same questions, so most of the luck of the draw cancels in the difference of each
sample: pairing sees differences that two separate intervals cannot.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import TypedDict, Unpack

import msgspec

from eyechart.stats.distributions import (
    cdf_normal,
    cdf_t,
    check_confidence,
    check_value,
    compute_sign_test,
    compute_z,
    quantile_normal,
    quantile_t,
)
from eyechart.stats.intervals import align

_BINARY = (0.0, 1.0)
_FEW_DIFFERENCES = 50  # at most 63: the number of combinations of signs has to fit into 64 bits
_CELLS = 20_000  # differences of any size are rounded to this many parts of their sum


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """The difference a - b of two models' means on the samples that both have scored."""

    difference: float
    low: float
    high: float
    p: float  # two-sided, of no difference
    method: str
    n: int  # shared samples
    n_clusters: int
    discordant: tuple[int, int]  # samples on which a scored higher, and b
    stderr: float | None
    mean_a: float
    mean_b: float


def paired(
    a: Sequence[float | None],
    b: Sequence[float | None],
    weights: Sequence[float] | None = None,
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> Paired | None:
    """Compare two models sample by sample; None if they share no scored sample.

    Position i of every sequence is the same sample; None is a sample without a score, and is left out. For
    right-or-wrong scores without weights and clusters the p-value is McNemar's, exact with mid-p; otherwise
    that of a t test on the differences, summed within clusters.

    >>> found = paired([1, 1, 1, 0, 1, 1], [0, 1, 0, 0, 0, 1])
    >>> found.difference, found.discordant, found.p, found.method
    (0.5, (3, 0), 0.125, 'mcnemar')
    >>> paired([None], [1]) is None
    True
    """
    check_confidence(confidence)
    if len(a) != len(b):
        raise ValueError(f"both models need a value for every sample: {len(a)} and {len(b)} values given")
    shared = [
        (float(x), float(y), weight, cluster)
        for (x, y), weight, cluster in align(zip(a, b, strict=True), weights, clusters)
        if x is not None and y is not None and weight
    ]
    if not shared:
        return None
    for x, y, *_ in shared:
        check_value(x)
        check_value(y)
    differences = _Differences(shared)
    low, high = differences.compute_interval(confidence)
    p, method = differences.compute_p()
    difference = differences.mean
    return Paired(
        difference=difference,
        low=max(-1.0, min(low, difference)),
        high=min(1.0, max(high, difference)),
        p=p,
        method=f"{method}-clustered" if differences.n_units < differences.n else method,
        n=differences.n,
        n_clusters=differences.n_units,
        discordant=differences.discordant,
        stderr=differences.stderr,
        mean_a=math.fsum(w * x for x, _, w, _ in shared) / differences.weight,
        mean_b=math.fsum(w * y for _, y, w, _ in shared) / differences.weight,
    )


class _Differences:
    """Weighted differences, summed within clusters: the independent units of a comparison."""

    def __init__(self, shared: Sequence[tuple[float, float, float, Hashable]]) -> None:
        self.n = len(shared)
        self.weight = math.fsum(w for *_, w, _ in shared)
        self.discordant = (sum(x > y for x, y, *_ in shared), sum(x < y for x, y, *_ in shared))
        units: dict[Hashable, list[tuple[float, float]]] = {}
        for position, (x, y, w, cluster) in enumerate(shared):
            key = (position,) if cluster is None else (None, cluster)
            units.setdefault(key, []).append((w, w * (x - y)))
        self.units = [
            (math.fsum(w for w, _ in unit), math.fsum(d for _, d in unit)) for unit in units.values()
        ]
        self.n_units = len(self.units)
        self.total = math.fsum(d for _, d in self.units)
        self.mean = self.total / self.weight
        self.sizes = [abs(d) for _, d in self.units if d]  # of the differences that are not 0
        is_even = len({w for *_, w, _ in shared}) == 1
        is_binary = all(x in _BINARY and y in _BINARY for x, y, *_ in shared)
        self.is_simple = is_binary and is_even and self.n_units == self.n
        self.df = max(1.0, self.weight**2 / math.fsum(w * w for w, _ in self.units) - 1)

    @property
    def stderr(self) -> float | None:
        """Of the mean difference, clustered (CR1); None for a single unit."""
        g = self.n_units
        if g < 2:
            return None
        squares = math.fsum((d - w * self.mean) ** 2 for w, d in self.units)
        return math.sqrt(squares * g / (g - 1)) / self.weight

    def compute_p(self) -> tuple[float, str]:
        """The p-value of no difference, and by which test.

        If the models do not differ, the sign of each unit's difference is a matter of chance. With few
        differences all combinations of signs are counted; with many, the t test gives the same.
        """
        if self.is_simple:
            return compute_sign_test(*self.discordant), "mcnemar"
        stderr = self.stderr
        if len(self.sizes) < _FEW_DIFFERENCES or not stderr:
            return _count_signs(self.sizes, abs(self.total)), "sign-flip"
        return 2 * cdf_t(-abs(self.mean) / stderr, self.df), "t"

    def compute_interval(self, confidence: float) -> tuple[float, float]:
        """Bonett and Price's interval; for weights, partial credit and clusters with two units added.

        The added units have the average weight and differ by plus and minus the root mean square of the
        differences that are not 0: for right-or-wrong scores without clusters that is Bonett and Price's.
        """
        if self.is_simple:
            return compute_bonett_price(*self.discordant, self.n, confidence=confidence)
        weight = self.weight / self.n_units
        size = math.sqrt(math.fsum(d * d for d in self.sizes) / len(self.sizes)) if self.sizes else weight
        units = [*self.units, (weight, size), (weight, -size)]
        total = self.weight + 2 * weight
        mean = self.total / total
        stderr = math.sqrt(math.fsum((d - w * mean) ** 2 for w, d in units)) / total
        half = quantile_t((1 + confidence) / 2, self.df) * stderr
        return mean - half, mean + half


def _count_signs(sizes: Sequence[float], total: float) -> float:
    """The mid-p value of a sum's size among all combinations of signs of its parts.

    >>> _count_signs([1, 1, 1], 3), _count_signs([0.5, 0.25, 0.25], 0.5)
    (0.125, 0.5)
    """
    if not sizes:
        return 1.0
    step, rounding = _find_step(sizes), 0
    if step is None:
        step, rounding = sum(sizes) / _CELLS, len(sizes)  # sums as close as this count as equal
    parts = [round(size / step) for size in sizes]
    # The coefficients of the product of (1 + x^part), 64 bits each in one long number: how many of the 2^k
    # choices of parts have each sum.
    ways = 1
    for part in parts:
        ways += ways << (64 * part)
    whole = sum(parts)
    counts = memoryview(ways.to_bytes(8 * (whole + 1), sys.byteorder)).cast("Q")
    edge = (whole - total / step) / 2  # with both signs, a chosen sum of `edge` has the size of the total
    first = max(0, math.ceil(edge - rounding / 2 - 1e-6))
    last = math.floor(edge + rounding / 2 + 1e-6)
    return min(1.0, (2 * sum(counts[:first]) + sum(counts[first : last + 1])) / (1 << len(parts)))


def _find_step(sizes: Sequence[float]) -> float | None:
    """A number of which all sizes are multiples, if there is one that is not too small.

    >>> _find_step([3, 3, 2, 4]), round(_find_step([0.3, 0.7]), 9), _find_step([0.3, 0.7, 2**0.5])
    (1.0, 0.1, None)
    """
    for parts in range(1, 13):
        step = min(sizes) / parts
        if sum(sizes) <= _CELLS * step and all(abs(s / step - round(s / step)) < 1e-9 for s in sizes):
            return step
    return None


def compute_bonett_price(wins: int, losses: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of (wins - losses) / n for right-or-wrong pairs, by Bonett and Price (2012).

    Wald's interval after adding one win and one loss to n + 2 pairs.

    >>> low, high = compute_bonett_price(43, 12, 100)
    >>> round(low, 3), round(high, 3)
    (0.171, 0.436)
    """
    if min(wins, losses) < 0 or wins + losses > n:
        raise ValueError(f"{wins} wins and {losses} losses of {n} pairs")
    win, loss = (wins + 1) / (n + 2), (losses + 1) / (n + 2)
    half = compute_z(confidence) * math.sqrt((win + loss - (win - loss) ** 2) / (n + 2))
    return max(-1.0, win - loss - half), min(1.0, win - loss + half)


# -- Many comparisons


def adjust_holm(ps: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values: below 0.05, the chance of any false alarm among all is below 5 %.

    >>> adjust_holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    _check_ps(ps)
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    raised = (min(1.0, (len(ps) - rank) * ps[position]) for rank, position in enumerate(order))
    return [p for _, p in sorted(zip(order, accumulate(raised, max), strict=True))]


def adjust_benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's (1995): below 0.05, at most 5 % of the alarms are expected to be false.

    >>> adjust_benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    _check_ps(ps)
    order = sorted(range(len(ps)), key=lambda i: ps[i], reverse=True)
    raised = (min(1.0, ps[position] * (len(ps) / (len(ps) - rank))) for rank, position in enumerate(order))
    return [p for _, p in sorted(zip(order, accumulate(raised, min), strict=True))]


def _check_ps(ps: Sequence[float]) -> None:
    for p in ps:
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value lies from 0 to 1, not {p}")


# -- Planning


class Assumed(TypedDict, total=False):
    """The variance of the differences per sample, and how much more it is because samples come in clusters.

    Before there are any, the variance follows from the score `p` of both models and the correlation of their
    scores: 2 p (1 - p) (1 - r).
    """

    variance: float | None
    p: float | None
    correlation: float | None
    design_effect: float


def compute_smallest_difference(
    n: float, *, power: float = 0.8, alpha: float = 0.05, **assumed: Unpack[Assumed]
) -> float:
    """The smallest true difference that a paired comparison of n samples finds with the given power.

    >>> [round(100 * compute_smallest_difference(n, p=0.7, correlation=0.6), 1) for n in (200, 1000)]
    [8.1, 3.6]
    """
    return _compute_reach(power, alpha) * math.sqrt(_find_spread(n, alpha, **assumed) / n)


def find_smallest_difference(
    found: Paired, *, power: float = 0.8, alpha: float = 0.05, confidence: float = 0.95
) -> float | None:
    """The true difference that a comparison like this one finds with the given power.

    Found means that p is below `alpha` and that the interval, which has that confidence, excludes zero. 1
    where no difference could be found; None where all samples differ alike. A difference adds differing
    samples to those there are, and few independent units lose power, so this is more than the plan of
    `compute_smallest_difference`: the constants were chosen by simulation, see docs/intervals.md.

    >>> found = paired([1, 0] * 100 + [1, 1], [1, 0] * 90 + [0, 1] * 11)
    >>> round(find_smallest_difference(found), 3)
    0.071
    """
    if compute_sign_test(found.n_clusters, 0) >= alpha:  # not even if all of them differ in one direction
        return 1.0
    if not found.stderr:
        return None
    df = max(1, found.n_clusters - 1)
    half, usual = (found.high - found.low) / 2, quantile_t((1 + confidence) / 2, df)
    reach = half / usual * (max(usual, quantile_t(1 - alpha / 2, df)) + quantile_t(power, df))
    variance = max(sum(found.discordant) / found.n - found.difference**2, 1e-9)
    # The differing samples of a true difference D have at least the variance D (1 - D), and add a quarter of
    # it to that of the others: D² = k · max(variance + D (1 - D) / 4, D (1 - D)).
    k = reach**2 / variance
    added = (k / 4 + math.sqrt(k * k / 16 + 4 * (1 + k / 4) * k * variance)) / (2 + k / 2)
    return min(1.0, max(added, k / (1 + k)) * (1 + 2 / found.n_clusters))


def compute_sample_size(
    difference: float, *, power: float = 0.8, alpha: float = 0.05, **assumed: Unpack[Assumed]
) -> int:
    """How many shared samples find a true difference with the given power.

    >>> compute_sample_size(0.02, p=0.7, correlation=0.6)
    3297
    """
    if not 0 < abs(difference) <= 1:
        raise ValueError(f"a difference to be found lies between 0 and 1, not {difference}")
    return math.ceil(_find_spread(1, alpha, **assumed) * (_compute_reach(power, alpha) / difference) ** 2)


def compute_power(n: float, difference: float, *, alpha: float = 0.05, **assumed: Unpack[Assumed]) -> float:
    """The chance that a paired comparison of n samples finds a true difference.

    >>> round(compute_power(1000, 0.0363, p=0.7, correlation=0.6), 2)
    0.8
    """
    spread = _find_spread(n, alpha, **assumed)
    z = quantile_normal(1 - alpha / 2)
    if not spread:
        return 1.0 if difference else alpha
    shift = abs(difference) / math.sqrt(spread / n)
    return cdf_normal(shift - z) + cdf_normal(-shift - z)


def _compute_reach(power: float, alpha: float) -> float:
    if not alpha <= power < 1:  # equal models are told apart with the power alpha
        raise ValueError(f"the power lies between alpha ({alpha}) and 1, not {power}")
    return quantile_normal(1 - alpha / 2) + quantile_normal(power)


def _find_spread(n: float, alpha: float, **assumed: Unpack[Assumed]) -> float:
    """The variance of a difference times the design effect; refuses what no plan can have."""
    variance, p, correlation = assumed.get("variance"), assumed.get("p"), assumed.get("correlation")
    design_effect = assumed.get("design_effect", 1.0)
    if not 0 < n < math.inf or not 0 < design_effect < math.inf:
        raise ValueError(f"n and the design effect are above 0, not {n} and {design_effect}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha lies between 0 and 1, not {alpha}")
    if variance is None:
        if p is None or correlation is None:
            raise ValueError("give the variance of the differences, or the score p and the correlation")
        if not 0 <= p <= 1 or not -1 <= correlation <= 1:
            raise ValueError(
                f"p lies from 0 to 1 and the correlation from -1 to 1, not {p} and {correlation}"
            )
        variance = 2 * p * (1 - p) * (1 - correlation)
    if not 0 <= variance < math.inf:
        raise ValueError(f"a variance is at least 0, not {variance}")
    return variance * design_effect
