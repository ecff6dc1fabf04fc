"""Normal, t and binomial distributions: the few functions that intervals and tests need.

Written out so that the core needs no scipy; tests compare every one of them with scipy.
"""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any

_STEPS = 300  # of the continued fraction; 20 to 60 are needed
_TINY = 1e-300


def compute_z(confidence: float = 0.95) -> float:
    """How many standard errors to each side hold the given share of a normal distribution.

    >>> round(compute_z(0.95), 4)
    1.96
    """
    check_confidence(confidence)
    return quantile_normal((1 + confidence) / 2)


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a share, such as 95."""
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, not {confidence}")


def check_value(value: Any) -> None:
    """Refuse a sample's value that is not a number from 0 to 1."""
    if not _is_within(value, 0, 1):
        raise ValueError(f"a sample's value must be a number from 0 to 1, not {value!r}")


def check_weight(weight: Any) -> None:
    """Refuse a weight that is not a finite number of at least 0."""
    if not _is_within(weight, 0, sys.float_info.max):
        raise ValueError(f"a weight must be a number of at least 0, not {weight!r}")


def _is_within(value: Any, low: float, high: float) -> bool:
    return value is not None and not isinstance(value, str) and bool(low <= value <= high)


def cdf_normal(x: float) -> float:
    """The share of a standard normal distribution below x.

    >>> round(cdf_normal(1.96), 4)
    0.975
    """
    return 0.5 * math.erfc(-x / math.sqrt(2))


@lru_cache(maxsize=256)
def quantile_normal(p: float) -> float:
    """The value below which the share p of a standard normal distribution lies.

    >>> round(quantile_normal(0.8), 4)
    0.8416
    """
    from statistics import NormalDist  # imports decimal and fractions

    return NormalDist().inv_cdf(p)


def cdf_t(t: float, df: float) -> float:
    """The share of Student's t distribution below t; `df` need not be a whole number.

    >>> round(cdf_t(2.776, 4), 4)
    0.975
    """
    if not df > 0:
        raise ValueError(f"degrees of freedom must be positive, not {df}")
    if math.isinf(df):
        return cdf_normal(t)
    square = t * t
    # Of x = df / (df + t²) and its complement, the smaller one is passed on: no digits are lost.
    if square < df:
        inside = compute_incomplete_beta(0.5, df / 2, square / (df + square))
        tail = 0.5 * (1 - inside)
    else:
        tail = 0.5 * compute_incomplete_beta(df / 2, 0.5, df / (df + square))
    return tail if t < 0 else 1 - tail


@lru_cache(maxsize=4096)
def quantile_t(p: float, df: float) -> float:
    """The value below which the share p of Student's t distribution with `df` degrees of freedom lies.

    >>> round(quantile_t(0.975, 4), 3), round(quantile_t(0.975, 1e9), 3)
    (2.776, 1.96)
    """
    if not 0 < p < 1:
        raise ValueError(f"p lies between 0 and 1, not {p}")
    if p < 0.5:
        return -quantile_t(1 - p, df)
    if p == 0.5:
        return 0.0
    z = quantile_normal(p)
    if df > 1e8:
        return z
    # Between the normal quantile and a bound that is doubled until it is one; then Newton, kept inside.
    low, high = 0.0, max(1.0, 2 * z)
    while cdf_t(high, df) < p:
        low, high = high, 2 * high
    start = z + (z**3 + z) / (4 * df) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * df**2)  # Cornish and Fisher
    t = min(max(start, low), high)
    for _ in range(200):
        error = cdf_t(t, df) - p
        low, high = (low, t) if error > 0 else (t, high)
        step = error / _compute_t_density(t, df)
        following = t - step if low < t - step < high else (low + high) / 2
        if abs(following - t) <= 1e-11 * abs(t):
            return following
        t = following
    return t


def _compute_t_density(t: float, df: float) -> float:
    log_scale = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - 0.5 * math.log(df * math.pi)
    return math.exp(log_scale - (df + 1) / 2 * math.log1p(t * t / df))


def compute_incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by Lentz's continued fraction.

    >>> round(compute_incomplete_beta(2, 3, 0.5), 6)
    0.6875
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast below this
        return 1 - math.exp(log_front) * _compute_beta_fraction(b, a, 1 - x) / b
    return math.exp(log_front) * _compute_beta_fraction(a, b, x) / a


def _compute_beta_fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(x: float) -> float:
    return x if abs(x) > _TINY else _TINY


def compute_sign_test(wins: int, losses: int) -> float:
    """The two-sided mid-p value of `wins` against `losses`, ties left out: McNemar's test, exact, mid-p.

    Mid-p counts half the probability of what was seen. The plain exact test is too cautious: with few
    discordant pairs it rejects far less often than the stated 5 % (Fagerland, Lydersen and Laake, 2013).

    >>> round(compute_sign_test(2, 10), 4), compute_sign_test(3, 3), compute_sign_test(0, 0)
    (0.0225, 1.0, 1.0)
    """
    n, fewer = wins + losses, min(wins, losses)
    if fewer < 0:
        raise ValueError(f"counts cannot be negative: {wins} and {losses}")
    if wins == losses:
        return 1.0
    tail, ways = 0, 1  # whole numbers: of the 2^n outcomes, those with fewer losses than were seen
    for k in range(fewer):
        tail += ways
        ways = ways * (n - k) // (k + 1)
    return (2 * tail + ways) / (1 << n)
