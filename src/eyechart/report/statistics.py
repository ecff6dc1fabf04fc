"""How sure a score is: intervals for shares and means, with the sample as the unit.

Questions of one benchmark are taken as drawn from many of their kind; the interval says which scores the
same model could have got on another draw. It says nothing about errors in the gold answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import TypeAlias

import msgspec

Interval: TypeAlias = tuple[float, float]

_BINARY = (0.0, 1.0)
_NO_SPREAD = 1e-12  # a variance below this is rounding, not spread


def compute_z(confidence: float = 0.95) -> float:
    """How many standard errors to each side hold the given share of a normal distribution.

    >>> round(compute_z(0.95), 4)
    1.96
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, not {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def compute_wilson(successes: float, n: float, *, confidence: float = 0.95) -> Interval | None:
    """Wilson's score interval (1927) for a share; None when there is nothing to share.

    Unlike the plus-or-minus rule it stays within 0 and 1 and has a width at 0 % and 100 %.

    >>> low, high = compute_wilson(81, 263)
    >>> round(low, 4), round(high, 4)
    (0.2553, 0.3662)
    >>> compute_wilson(0, 0) is None
    True
    """
    if n <= 0:
        return None
    z = compute_z(confidence)
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # The formula meets 0 and 1 exactly at the ends; min and max take away the rounding.
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


class Moments(msgspec.Struct):
    """What an interval needs to know of values from 0 to 1, each with its weight: a few sums.

    >>> m = Moments()
    >>> for value in (1.0, 0.5, 0.0): m.add(value)
    >>> m.n, m.mean
    (3, 0.5)
    """

    n: int = 0
    weight: float = 0.0
    total: float = 0.0  # of weight times value
    # Sums of squared weights: alone, times the value, times its square.
    weight_2: float = 0.0
    total_2: float = 0.0
    squares_2: float = 0.0
    first_weight: float = 0.0
    is_even: bool = True  # every value has had the weight of the first
    is_binary: bool = True  # every value has been 0 or 1

    def add(self, value: float, weight: float = 1.0) -> None:
        """Add a value. A value of weight 0 does not count, neither for the mean nor for n."""
        if not weight:
            return
        if not self.n:
            self.first_weight = weight
        elif weight != self.first_weight:
            self.is_even = False
        if value not in _BINARY:
            self.is_binary = False
        self.n += 1
        self.weight += weight
        self.total += weight * value
        self.weight_2 += weight * weight
        self.total_2 += weight * weight * value
        self.squares_2 += (weight * value) ** 2

    @property
    def mean(self) -> float | None:
        """The weighted mean; None of nothing."""
        return self.total / self.weight if self.weight else None

    def interval(self, *, confidence: float = 0.95) -> Interval | None:
        """The interval of the mean, by the rule that fits the values.

        All values 0 or 1 and of one weight: Wilson. With partial credit, or with weights: mean ± z standard
        errors (normal approximation; with weights that of a ratio, n over n - 1), clipped to 0 and 1. When
        all values are equal, or there is only one, their spread says nothing, and Wilson with that mean is
        used: no values between 0 and 1 vary more.

        >>> m = Moments()
        >>> for value in (1.0, 0.5, 0.0, 0.5): m.add(value)
        >>> [round(end, 3) for end in m.interval()]
        [0.1, 0.9]
        """
        mean = self.mean
        if mean is None:
            return None
        is_plain = self.is_even and self.is_binary
        effective_n = self.n if self.is_even else self.weight**2 / self.weight_2
        deviations = self.squares_2 - 2 * mean * self.total_2 + mean * mean * self.weight_2
        if self.n == 1 or is_plain or deviations / self.weight_2 < _NO_SPREAD:
            return compute_wilson(mean * effective_n, effective_n, confidence=confidence)
        half = compute_z(confidence) * math.sqrt(deviations * self.n / (self.n - 1)) / self.weight
        return max(0.0, mean - half), min(1.0, mean + half)


def compute_mean_interval(values: Iterable[float], *, confidence: float = 0.95) -> Interval | None:
    """The interval of the mean of one value per sample; see `Moments.interval`.

    >>> compute_mean_interval([1, 1, 0, 1]) == compute_wilson(3, 4)
    True
    """
    moments = Moments()
    for value in values:
        moments.add(value)
    return moments.interval(confidence=confidence)


def compute_trials_interval(
    samples: Iterable[Iterable[float]], *, confidence: float = 0.95
) -> Interval | None:
    """The interval when each sample was asked several times: one iterable of values a sample.

    Trials of one sample are not independent questions, so they are averaged first and the sample stays
    the unit: asking the same ten questions a thousand times does not make ten questions more.

    >>> compute_trials_interval([[1, 1], [0, 0], [1, 1]]) == compute_wilson(2, 3)
    True
    """
    trials = (list(values) for values in samples)
    return compute_mean_interval((math.fsum(t) / len(t) for t in trials if t), confidence=confidence)


def compute_spread(values: Iterable[float]) -> tuple[float, float] | None:
    """Mean and population standard deviation; None of nothing.

    Population, because the trials that were run are all the trials there are.

    >>> compute_spread([0.5, 0.7])
    (0.6, 0.1)
    """
    held = list(values)
    if not held:
        return None
    mean = math.fsum(held) / len(held)
    variance = math.fsum((value - mean) ** 2 for value in held) / len(held)
    return round(mean, 12), round(math.sqrt(variance), 12)
