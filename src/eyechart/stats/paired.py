"""Comparing two models on the same samples, many comparisons at once, and planning a comparison.

Both models meet the same questions, so most of the luck of the draw cancels in the difference of each
sample: pairing sees differences that two separate intervals cannot.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import msgspec

from eyechart.stats.distributions import (
    cdf_normal,
    cdf_t,
    check_confidence,
    compute_sign_test,
    compute_z,
    quantile_normal,
    quantile_t,
)
from eyechart.stats.intervals import align

_BINARY = (0.0, 1.0)
_FEW_DISCORDANT = 50  # below, the normal approximation is short: see docs/intervals.md


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
    shared = [
        (float(x), float(y), weight, cluster)
        for (x, y), weight, cluster in align(zip(a, b, strict=True), weights, clusters)
        if x is not None and y is not None and weight
    ]
    if not shared:
        return None
    differences = _Differences(shared)
    if differences.is_simple:
        low, high, p = _compare_binary(differences, confidence)
    else:
        low, high, p = _compare_by_t(differences, confidence)
    difference = differences.mean
    return Paired(
        difference=difference,
        low=max(-1.0, min(low, difference)),
        high=min(1.0, max(high, difference)),
        p=p,
        method="mcnemar" if differences.is_simple else "t-clustered" if differences.is_clustered else "t",
        n=len(shared),
        n_clusters=differences.n_clusters,
        discordant=differences.discordant,
        stderr=differences.stderr,
        mean_a=math.fsum(w * x for x, _, w, _ in shared) / differences.weight,
        mean_b=math.fsum(w * y for _, y, w, _ in shared) / differences.weight,
    )


class _Differences:
    """Weighted differences, summed per cluster."""

    def __init__(self, shared: Sequence[tuple[float, float, float, Hashable]]) -> None:
        self.n = len(shared)
        self.weight = math.fsum(w for *_, w, _ in shared)
        self.mean = math.fsum(w * (x - y) for x, y, w, _ in shared) / self.weight
        self.discordant = (sum(x > y for x, y, *_ in shared), sum(x < y for x, y, *_ in shared))
        units: dict[Hashable, list[tuple[float, float]]] = {}
        for position, (x, y, w, cluster) in enumerate(shared):
            key = (position,) if cluster is None else (None, cluster)
            units.setdefault(key, []).append((w, w * (x - y)))
        self.units = [
            (math.fsum(w for w, _ in unit), math.fsum(d for _, d in unit)) for unit in units.values()
        ]
        self.n_clusters = len(units)
        self.is_clustered = self.n_clusters < self.n
        is_even = len({w for *_, w, _ in shared}) == 1
        is_binary = all(x in _BINARY and y in _BINARY for x, y, *_ in shared)
        self.is_simple = is_binary and is_even and not self.is_clustered

    @property
    def stderr(self) -> float | None:
        """Of the mean difference, clustered (CR1); None for a single cluster."""
        g = self.n_clusters
        if g < 2:
            return None
        squares = math.fsum((d - w * self.mean) ** 2 for w, d in self.units)
        return math.sqrt(squares * g / (g - 1)) / self.weight


def _compare_binary(differences: _Differences, confidence: float) -> tuple[float, float, float]:
    wins, losses = differences.discordant
    p = compute_sign_test(wins, losses)
    if wins + losses >= _FEW_DISCORDANT and differences.stderr is not None:
        half = quantile_t((1 + confidence) / 2, differences.n - 1) * differences.stderr
        return differences.mean - half, differences.mean + half, p
    return (*compute_bonett_price(wins, losses, differences.n, confidence=confidence), p)


def _compare_by_t(differences: _Differences, confidence: float) -> tuple[float, float, float]:
    stderr, df = differences.stderr, differences.n_clusters - 1
    if stderr is None:
        return -1.0, 1.0, 1.0
    half = quantile_t((1 + confidence) / 2, df) * stderr
    p = 1.0 if not differences.mean else 2 * cdf_t(-abs(differences.mean) / stderr, df) if stderr else 0.0
    return differences.mean - half, differences.mean + half, p


def compute_bonett_price(wins: int, losses: int, n: int, *, confidence: float = 0.95) -> tuple[float, float]:
    """The interval of (wins - losses) / n for right-or-wrong pairs, by Bonett and Price (2012).

    Wald's interval after adding one win and one loss to n + 2 pairs.

    >>> low, high = compute_bonett_price(43, 12, 100)
    >>> round(low, 3), round(high, 3)
    (0.171, 0.436)
    """
    win, loss = (wins + 1) / (n + 2), (losses + 1) / (n + 2)
    half = compute_z(confidence) * math.sqrt((win + loss - (win - loss) ** 2) / (n + 2))
    return max(-1.0, win - loss - half), min(1.0, win - loss + half)


# -- Many comparisons


def adjust_holm(ps: Sequence[float]) -> list[float]:
    """Holm's (1979) adjusted p-values: below 0.05, the chance of any false alarm among all is below 5 %.

    >>> adjust_holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, position in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[position]))
        adjusted[position] = largest
    return adjusted


def adjust_benjamini_hochberg(ps: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's (1995): below 0.05, at most 5 % of the alarms are expected to be false.

    >>> adjust_benjamini_hochberg([0.01, 0.04, 0.03])
    [0.03, 0.04, 0.04]
    """
    adjusted = [0.0] * len(ps)
    smallest = 1.0
    for rank, position in reversed(list(enumerate(sorted(range(len(ps)), key=lambda i: ps[i]), start=1))):
        smallest = min(smallest, ps[position] * len(ps) / rank)
        adjusted[position] = smallest
    return adjusted


# -- Planning


def compute_smallest_difference(
    n: float,
    *,
    p: float | None = None,
    correlation: float | None = None,
    variance: float | None = None,
    design_effect: float = 1.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float:
    """The smallest true difference that a paired comparison of n samples finds with the given power.

    `variance` is that of the differences per sample. Before there are any, it follows from the score `p` of
    both models and the correlation of their scores: 2 p (1 - p) (1 - r).

    >>> [round(100 * compute_smallest_difference(n, p=0.7, correlation=0.6), 1) for n in (200, 1000)]
    [8.1, 3.6]
    """
    spread = _find_variance(p, correlation, variance) * design_effect
    return _compute_reach(power, alpha) * math.sqrt(spread / n)


def compute_sample_size(
    difference: float,
    *,
    p: float | None = None,
    correlation: float | None = None,
    variance: float | None = None,
    design_effect: float = 1.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """How many shared samples find a true difference with the given power.

    >>> compute_sample_size(0.02, p=0.7, correlation=0.6)
    3297
    """
    if not difference:
        raise ValueError("no number of samples finds a difference of 0")
    spread = _find_variance(p, correlation, variance) * design_effect
    return math.ceil(spread * (_compute_reach(power, alpha) / difference) ** 2)


def compute_power(
    n: float,
    difference: float,
    *,
    p: float | None = None,
    correlation: float | None = None,
    variance: float | None = None,
    design_effect: float = 1.0,
    alpha: float = 0.05,
) -> float:
    """The chance that a paired comparison of n samples finds a true difference.

    >>> round(compute_power(1000, 0.0363, p=0.7, correlation=0.6), 2)
    0.8
    """
    spread = _find_variance(p, correlation, variance) * design_effect
    z = quantile_normal(1 - alpha / 2)
    if not spread:
        return 1.0 if difference else alpha
    shift = abs(difference) / math.sqrt(spread / n)
    return cdf_normal(shift - z) + cdf_normal(-shift - z)


def _compute_reach(power: float, alpha: float) -> float:
    return quantile_normal(1 - alpha / 2) + quantile_normal(power)


def _find_variance(p: float | None, correlation: float | None, variance: float | None) -> float:
    if variance is not None:
        return variance
    if p is None or correlation is None:
        raise ValueError("give the variance of the differences, or the score p and the correlation")
    return 2 * p * (1 - p) * (1 - correlation)
