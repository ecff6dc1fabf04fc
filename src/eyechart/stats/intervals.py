"""How sure a mean is: intervals with the sample, or the cluster of samples, as the unit.

The samples of a benchmark are taken as drawn from many of their kind; the interval says which scores the
same model could have got on another draw. It says nothing about errors in the gold answers.
docs/intervals.md has the formulas, the references and the simulated coverage.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from eyechart.stats.distributions import check_confidence, check_value, check_weight, compute_z, quantile_t

T = TypeVar("T")

_BINARY = (0.0, 1.0)
# For the mean, values and weights are summed as whole multiples of 2^-80.
_UNIT = 2.0**80
_WHOLE = 2**80  # the same, as a whole number
# With this many errors the measured design effect counts half. Chosen by simulation: see docs/intervals.md.
_FEW_ERRORS = 2.25
# Of partial credit, so many samples are added at 0 and at 1, as Agresti and Coull (1998) do for a share.
_ADDED = 2.0


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A mean and the interval around it."""

    mean: float
    low: float
    high: float
    n: int  # samples
    n_clusters: int  # independent units: images, problems; n without clusters
    method: str
    stderr: float | None = None  # clustered, where there are clusters; None for a single unit
    n_effective: float = 0.0  # independent right-or-wrong samples that would say as much
    n_even: float | None = None  # of a mean of samples: Kish's number of samples of equal weight


def interval(
    values: Iterable[float],
    weights: Iterable[float] | None = None,
    clusters: Iterable[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> Interval | None:
    """The interval of the mean of values from 0 to 1, one per sample; None of nothing.

    With several trials per sample, a sample's value is its mean over them. `weights` are points. Samples of
    one cluster (questions on one image) are not independent; a cluster of None is a cluster of its own.

    >>> found = interval([1, 1, 0, 1])
    >>> found.mean, round(found.low, 3), round(found.high, 3), found.method
    (0.75, 0.301, 0.954, 'wilson')
    >>> found = interval([1, 1, 0, 0, 1, 1], clusters=["a", "a", "b", "b", "c", "c"])
    >>> found.n, found.n_clusters, found.method
    (6, 3, 'wilson-clustered')
    """
    moments = Moments()
    for value, weight, cluster in align(values, weights, clusters):
        check_value(value)
        moments.add(float(value), weight, cluster)
    return moments.interval(confidence=confidence)


def align(
    values: Iterable[T], weights: Iterable[float] | None, clusters: Iterable[Hashable] | None
) -> Iterator[tuple[T, float, Hashable]]:
    """Every value with its weight and cluster; weight 1 and no cluster where none are given.

    A cluster of NaN is a missing value, like None.
    """
    held = list(values)
    n = len(held)
    given = [1.0] * n if weights is None else _scale_weights(list(weights))
    units: list[Hashable] = [None] * n if clusters is None else [c if c == c else None for c in clusters]
    for name, several in (("weights", given), ("clusters", units)):
        if len(several) != n:
            raise ValueError(f"{n} values, but {len(several)} {name}")
    return zip(held, given, units, strict=True)


def _scale_weights(weights: list[float]) -> list[float]:
    """The same weights in a unit in which their sums and squares can be computed: only ratios count.

    >>> _scale_weights([1.0, 3.0]), _scale_weights([0.0, 2.0**1000, 2.0**999])
    ([1.0, 3.0], [0.0, 0.5, 0.25])
    """
    for weight in weights:
        check_weight(weight)
    _, exponent = math.frexp(max(weights, default=1.0))
    if -40 <= exponent <= 60:
        return [float(weight) for weight in weights]
    return [math.ldexp(weight, -exponent) for weight in weights]


class Moments:
    """The interval of a mean while values arrive: a count per value and weight, two numbers per cluster.

    The mean is exact and the rest is summed without rounding, so nothing depends on the order of the values.

    >>> m = Moments()
    >>> for value in (1.0, 0.5, 0.0): m.add(value)
    >>> m.n, m.mean
    (3, 0.5)
    """

    __slots__ = ("_clusters", "_counts")

    def __init__(self) -> None:
        self._counts = Counter[tuple[float, float, bool]]()  # by value, weight, and whether it is alone
        self._clusters: dict[Hashable, tuple[int, int]] = {}  # weight and weighted total

    def add(self, value: float, weight: float = 1.0, cluster: Hashable = None) -> None:
        """Add a value from 0 to 1. A value of weight 0 does not count, neither for the mean nor for n."""
        if not weight > 0:
            if weight == 0:
                return
            raise ValueError(f"a weight cannot be {weight}")
        self._counts[value, weight, cluster is None] += 1
        if cluster is not None:
            held, total = self._clusters.get(cluster, (0, 0))
            w = int(weight * _UNIT)
            self._clusters[cluster] = (held + w, total + w * int(value * _UNIT))

    def copy(self) -> Moments:
        """The same values; what is added to the copy is not in this one."""
        made = Moments()
        made._counts, made._clusters = self._counts.copy(), self._clusters.copy()
        return made

    @property
    def n(self) -> int:
        """How many values have been added."""
        return self._counts.total()

    @property
    def mean(self) -> float | None:
        """The weighted mean; None of nothing."""
        weight, total = self._add_up()
        return total / (weight * _WHOLE) if weight else None

    def _add_up(self) -> tuple[int, int]:
        weight = total = 0
        for (value, one, _), times in self._counts.items():
            w = int(one * _UNIT) * times
            weight += w
            total += w * int(value * _UNIT)
        return weight, total

    def list_influences(self) -> Iterator[tuple[Hashable, float]]:
        """By how much each cluster moves the mean; samples without one are clusters of their own."""
        weight, total = self._add_up()
        for cluster, (w, wx) in self._clusters.items():
            yield cluster, (wx * weight - w * total) / (weight**2 * _WHOLE)
        mean, whole = self.mean or 0.0, weight / _WHOLE
        alone = (
            times * (w * (x - mean) / whole) ** 2
            for (x, w, is_alone), times in self._counts.items()
            if is_alone
        )
        yield object(), math.sqrt(math.fsum(alone))

    def interval(self, *, confidence: float = 0.95) -> Interval | None:
        """The interval of the mean, by the rule that fits the values; None of nothing.

        Wilson's score interval on the effective sample size: how many independent right-or-wrong samples
        would have the standard error of these. For values of 0 and 1 without clusters that is Kish's n. For
        partial credit, trials and clusters it is Kish's n divided by the design effect.

        >>> m = Moments()
        >>> for value in (1.0, 0.5, 0.0, 0.5): m.add(value)
        >>> found = m.interval()
        >>> round(found.low, 3), round(found.high, 3), found.method
        (0.077, 0.923, 'wilson-partial')
        """
        check_confidence(confidence)
        mean, n = self.mean, self.n
        if mean is None:
            return None
        units = self._find_units()
        is_binary = all(value in _BINARY for value, _, _ in self._counts)
        effect, df = 1.0, math.inf
        if units.n < n or not is_binary:
            # The share of the variance that is estimated: of right-or-wrong samples only what clusters add.
            share = max(1 - units.kish / units.kish_of_samples, 1e-6) if is_binary else 1.0
            effect = _estimate_design_effect(mean, units, is_binary=is_binary)
            df = max(1.0, units.kish - 1) / share**2
            method = "wilson-clustered" if units.n < n else "wilson-partial"
        elif len({weight for _, weight, _ in self._counts}) == 1:
            method = "wilson"
        else:
            # A mean that rests on a few heavy samples has longer tails than that of Kish's n equal ones.
            df = max(1.0, units.kish - 1) / max(1 - units.kish / n, 1e-6)
            method = "wilson-weighted"
        effective = units.kish_of_samples / effect
        low, high = _solve_wilson(mean, effective, quantile_t((1 + confidence) / 2, df))
        return Interval(
            mean=mean,
            low=low,
            high=high,
            n=n,
            n_clusters=units.n,
            method=method,
            stderr=None if units.variance is None else math.sqrt(units.variance),
            n_effective=effective,
            n_even=units.kish_of_samples,
        )

    def _find_units(self) -> _Units:
        """What is known of the independent units: the clusters, and the samples that have none."""
        weight, total = self._add_up()
        n_samples = self.n
        counted, counted_units = Counter[tuple[int, int]](), Counter(self._clusters.values())
        for (x, one, is_alone), times in self._counts.items():
            w = int(one * _UNIT)
            counted[w, w * int(x * _UNIT)] += times
            if is_alone:
                counted_units[w, w * int(x * _UNIT)] += times

        def scale(counts: Counter[tuple[int, int]]) -> list[tuple[float, float, int]]:
            """The weight, 1 on average; how far the value is from the mean times the weight; how often."""
            return [
                (w * n_samples / weight, (wx * weight - w * total) * n_samples / (weight**2 * _WHOLE), times)
                for (w, wx), times in counts.items()
            ]

        samples, units = scale(counted), scale(counted_units)
        n = sum(times for _, _, times in units)
        weights_2 = math.fsum(w * w * times for w, _, times in units)
        weights_3 = math.fsum(w**3 * times for w, _, times in units)
        samples_2 = math.fsum(w * w * times for w, _, times in samples)
        squares = math.fsum(d * d * times for _, d, times in units)
        fourths = math.fsum(d**4 * times for _, d, times in units)
        return _Units(
            n_samples=n_samples,
            spread=math.fsum(d * d * times for _, d, times in samples) / samples_2,
            n=n,
            kish=n_samples**2 / weights_2,
            kish_of_samples=n_samples**2 / samples_2,
            leverage=weights_2**4 / (weights_3 * n_samples) ** 2,
            n_varying=squares**2 / fourths if fourths else 0.0,
            variance=squares / n_samples**2 * n / (n - 1) if n > 1 else None,
        )


class _Units(msgspec.Struct):
    """What is known of the independent units, clusters or samples."""

    n: int
    n_samples: int
    spread: float  # the variance of the samples' values, by squared weight
    kish: float  # their effective number, of units of unequal weight
    kish_of_samples: float
    leverage: float  # 1 for units of equal weight, less where a few heavy ones decide
    n_varying: float  # how many units the variance rests on: as many, were all deviations alike
    variance: float | None  # of the mean, cluster-robust (CR1); None for a single unit


def _estimate_design_effect(mean: float, units: _Units, *, is_binary: bool) -> float:
    """By which factor the mean varies more than that of independent right-or-wrong samples.

    Few errors say little about how they cluster, and few unequal values little about how values vary. So
    the measured factor is mixed, as a geometric mean, with the one at which each unit counts as one
    right-or-wrong sample: more of it, the fewer errors and successes the mean and the fewer units the
    variance rests on. Of partial credit, losses that are all small say nothing about large ones that did not
    occur: the factor is at least that of the samples as they would vary with some more at 0 and at 1. The
    constants were chosen by simulation: see docs/intervals.md.
    """
    kish, room = units.kish_of_samples, mean * (1 - mean)
    prior = kish / units.kish
    lowest = 0.0 if is_binary else _add_ends(mean, units)
    if units.variance is None or not units.n_varying or not room:
        return max(prior, lowest)
    measured = max(units.variance * (kish - is_binary) / room, 1e-12)
    evidence = min(math.pow(units.leverage, 1.5) * room * kish / measured, 2 * units.n_varying)
    trust = 1 / (1 + math.pow(_FEW_ERRORS / evidence, 1.5))
    mixed = math.pow(measured, trust) * math.pow(prior, 1 - trust)
    return max(mixed, lowest)


def _add_ends(mean: float, units: _Units) -> float:
    """The design effect of independent samples, with some of average squared weight added at 0 and at 1."""
    n, added = units.n_samples, _ADDED
    kish = units.kish_of_samples
    ends = added / n * (mean**2 + (1 - mean) ** 2)
    spread = (units.spread + ends) * n / (n + 2 * added) * (n / (n - 1) if n > 1 else 1.0)
    share = added / math.sqrt(n * kish)  # of the added weight at one end, in that of the samples
    centre = (mean + share) / (1 + 2 * share)
    return spread / (centre * (1 - centre))


def compute_wilson(
    successes: float, n: float, *, confidence: float = 0.95, quantile: float | None = None
) -> tuple[float, float] | None:
    """Wilson's score interval (1927) for a share; None when there is nothing to share.

    Unlike the plus-or-minus rule it stays within 0 and 1 and has a width at 0 % and 100 %. `quantile`
    replaces the normal quantile of the confidence.

    >>> low, high = compute_wilson(81, 263)
    >>> round(low, 4), round(high, 4)
    (0.2553, 0.3662)
    >>> compute_wilson(0, 0) is None
    True
    """
    if n <= 0:
        return None
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} of {n} is not a share")
    return _solve_wilson(successes / n, n, compute_z(confidence) if quantile is None else quantile)


def _solve_wilson(share: float, n: float, z: float) -> tuple[float, float]:
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # The formula meets 0 and 1 exactly at the ends; min and max take away the rounding.
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def compute_union_interval(worst: Interval, best: Interval) -> tuple[float, float]:
    """The interval when some samples have no score: from all of them wrong to all of them right.

    It holds the score on all samples whatever made the others fail, for example that failures are likelier
    on hard samples.

    >>> worst, best = interval([1, 1, 1, 0]), interval([1, 1, 1, 1])
    >>> low, high = compute_union_interval(worst, best)
    >>> low == worst.low, high == best.high
    (True, True)
    """
    return min(worst.low, best.low), max(worst.high, best.high)


def combine_means(groups: Sequence[Interval], *, overlap: float = 1.0, confidence: float = 0.95) -> Interval:
    """The interval of the mean of group means, each group counting the same (a macro mean).

    The groups' variances are added; each is taken at the group's mean after half a right and half a wrong
    sample, since a small group without errors is not a group without variance. `overlap`: the factor by which
    clusters that several groups share raise the sum (`measure_overlap`).

    >>> found = combine_means([interval([1, 1, 1, 0]), interval([0, 1])])
    >>> found.mean, round(found.low, 2), round(found.high, 2)
    (0.625, 0.26, 0.89)
    """
    check_confidence(confidence)
    if not groups:
        raise ValueError("no groups are given")
    n = len(groups)
    mean = math.fsum(group.mean for group in groups) / n
    centres = [(group.mean * group.n_effective + 0.5) / (group.n_effective + 1) for group in groups]
    variances = [c * (1 - c) / group.n_effective for c, group in zip(centres, groups, strict=True)]
    variance = math.fsum(variances) / n**2 * overlap
    centre = math.fsum(centres) / n
    effective = centre * (1 - centre) / variance
    if all(group.method == "wilson" for group in groups):
        quantile = compute_z(confidence)
    else:  # Welch and Satterthwaite's degrees of freedom
        parts = (v**2 / max(1, group.n_clusters - 1) for v, group in zip(variances, groups, strict=True))
        df = math.fsum(variances) ** 2 / math.fsum(parts)
        quantile = quantile_t((1 + confidence) / 2, max(1.0, df / overlap))
    low, high = _solve_wilson(mean, effective, quantile)
    errors = [group.stderr for group in groups if group.stderr is not None]
    return Interval(
        mean=mean,
        low=low,
        high=high,
        n=sum(group.n for group in groups),
        n_clusters=sum(group.n_clusters for group in groups),
        method="macro",
        stderr=math.sqrt(math.fsum(error**2 for error in errors) * overlap) / n if len(errors) == n else None,
        n_effective=effective,
    )


def measure_overlap(groups: Iterable[Moments]) -> float:
    """By which factor clusters that several groups share raise the variance of the groups' mean; at least 1.

    >>> groups = [Moments(), Moments()]
    >>> for value, image in ((1.0, "a"), (0.0, "b"), (1.0, "c")):
    ...     for group in groups: group.add(value, cluster=image)
    >>> round(measure_overlap(groups), 9)
    2.0
    """
    shared: dict[Hashable, float] = {}
    squares = []
    for group in groups:
        for cluster, influence in group.list_influences():
            squares.append(influence**2)
            shared[cluster] = shared.get(cluster, 0.0) + influence
    apart = math.fsum(squares)
    return max(1.0, math.fsum(one**2 for one in shared.values()) / apart) if apart else 1.0


def add_in_order(values: Iterable[float]) -> float:
    """The sum from left to right, rounded after every step.

    The official programs add this way (numpy does too, below eight numbers). Since Python 3.12 the built-in
    `sum` compensates for rounding, so the last digit of a published figure would depend on the version.

    >>> add_in_order([0.1] * 10)
    0.9999999999999999
    """
    total: float = 0  # whole numbers stay whole
    for value in values:
        total += value
    return total
