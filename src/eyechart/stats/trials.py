"""Several trials per sample: how often one of k is right, all of k are, and how much trials differ."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import repeat

import msgspec

from eyechart.stats.distributions import check_value


def compute_pass_at_k(n: int, correct: int, k: int) -> float:
    """The chance that at least one of k trials is right, from `correct` of n (Chen et al., 2021).

    Unbiased, unlike 1 - (1 - correct / n)^k.

    >>> compute_pass_at_k(10, 3, 1), round(compute_pass_at_k(10, 3, 5), 4)
    (0.3, 0.9167)
    """
    _check_counts(n, correct, k)
    return (math.comb(n, k) - math.comb(n - correct, k)) / math.comb(n, k)


def compute_pass_hat_k(n: int, correct: int, k: int) -> float:
    """The chance that all of k trials are right, from `correct` of n (pass^k).

    >>> round(compute_pass_hat_k(10, 9, 5), 4)
    0.5
    """
    _check_counts(n, correct, k)
    return math.comb(correct, k) / math.comb(n, k)


def _check_counts(n: int, correct: int, k: int) -> None:
    if not (0 <= correct <= n and 1 <= k <= n):
        raise ValueError(f"{correct} right of {n} trials, k = {k}: 0 <= right <= n and 1 <= k <= n")


class TrialStatistics(msgspec.Struct, frozen=True, kw_only=True):
    """What several trials of each sample say, averaged over samples."""

    k: int  # trials that every sample has at least
    n: int  # samples
    pass_at: Mapping[int, float]  # at least one of 1, 2, 4, 8, ... k trials right
    pass_hat: Mapping[int, float]  # all of them right
    majority: float  # the score of the answer that most trials gave; a tie counts its share
    flip_rate: float | None  # how often two trials of a sample differ: one right, one not
    within_variance: float | None  # of a sample's trials around its mean
    between_variance: float | None  # of the samples' true means


def summarise_trials(
    rows: Iterable[Sequence[float]], answers: Iterable[Sequence[Hashable]] | None = None
) -> TrialStatistics | None:
    """Summarise one row of values per sample, one value per trial; None without samples.

    A trial is right if its value is 1. With `answers`, what was read from each trial, the majority is voted
    on answers; without, on right or not right.

    >>> found = summarise_trials([[1, 1, 0], [0, 0, 0], [1, 1, 1], [1, 0, 0]])
    >>> found.k, round(found.pass_at[2], 3), round(found.pass_hat[2], 3), found.majority
    (3, 0.667, 0.333, 0.5)
    """
    counted: Counter[tuple[int, int]] = Counter()
    votes, means, withins = [], [], []
    spoken_of: Iterable[Sequence[Hashable] | None] = repeat(None) if answers is None else answers
    for row, spoken in zip(rows, spoken_of, strict=answers is not None):
        if not row:
            continue
        for value in row:
            check_value(value)
        counted[len(row), sum(value >= 1 for value in row)] += 1
        votes.append(_vote(row, spoken))
        mean = math.fsum(row) / len(row)
        means.append(mean)
        if len(row) > 1:
            withins.append(math.fsum((value - mean) ** 2 for value in row) / (len(row) - 1))
    if not counted:
        return None
    k, n = min(trials for trials, _ in counted), len(means)
    numbers = [*(2**i for i in range(k.bit_length()) if 2**i < k), k]
    within = math.fsum(withins) / len(withins) if withins else None
    return TrialStatistics(
        k=k,
        n=n,
        pass_at={i: _average_counts(counted, compute_pass_at_k, i) for i in numbers},
        pass_hat={i: _average_counts(counted, compute_pass_hat_k, i) for i in numbers},
        majority=math.fsum(votes) / n,
        flip_rate=_compute_flip_rate(counted),
        within_variance=within,
        between_variance=_compute_between(means, within, counted),
    )


def _vote(row: Sequence[float], answers: Sequence[Hashable] | None) -> float:
    """The mean value of the trials that gave the most frequent answer; of several, the mean over them."""
    spoken = [value >= 1 for value in row] if answers is None else answers
    by_answer: dict[Hashable, list[float]] = {}
    for answer, value in zip(spoken, row, strict=True):
        by_answer.setdefault(answer, []).append(value)
    most = max(map(len, by_answer.values()))
    winners = [values for values in by_answer.values() if len(values) == most]
    return math.fsum(math.fsum(values) / most for values in winners) / len(winners)


def _average_counts(
    counted: Counter[tuple[int, int]], compute: Callable[[int, int, int], float], k: int
) -> float:
    total = math.fsum(times * compute(trials, right, k) for (trials, right), times in counted.items())
    return total / counted.total()


def _compute_flip_rate(counted: Counter[tuple[int, int]]) -> float | None:
    held = [(t, right, times) for (t, right), times in counted.items() if t > 1]
    if not held:
        return None
    flips = math.fsum(times * 2 * right * (t - right) / (t * (t - 1)) for t, right, times in held)
    return flips / sum(times for *_, times in held)


def _compute_between(
    means: Sequence[float], within: float | None, counted: Counter[tuple[int, int]]
) -> float | None:
    """The variance of the means, less what the trials' own variance adds to it."""
    if within is None or len(means) < 2:
        return None
    mean = math.fsum(means) / len(means)
    variance = math.fsum((value - mean) ** 2 for value in means) / (len(means) - 1)
    noise = math.fsum(times / trials for (trials, _), times in counted.items()) / len(means)
    return max(0.0, variance - within * noise)


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
