"""Made-up benchmarks whose true scores are known: `simulate.py` and tests/stats draw samples from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rng: TypeAlias = np.random.Generator
Array: TypeAlias = NDArray[np.float64]

_NEVER = 1e-13  # outcomes rarer than this are left out
_GRID = 2000  # quantiles by which two models share the difficulty of an image


def draw_binary(rng: Rng, n: int, p: float) -> Array:
    """Right or wrong, independent."""
    return (rng.random(n) < p).astype(float)


def draw_anls(rng: Rng, n: int, mean: float) -> Array:
    """As ANLS: mostly 1, some 0 for what is too far from the gold, the rest between 0.5 and 1."""
    lost = 1 - mean
    zeros, parts = 0.6 * lost, 0.4 * lost / 0.25  # the parts lose a quarter on average
    kind = rng.random(n)
    return np.where(kind < zeros, 0.0, np.where(kind < zeros + parts, rng.uniform(0.5, 1, n), 1.0))


def draw_steps(rng: Rng, n: int) -> Array:
    """Partial credit in the steps of VQA accuracy; the mean is 0.735."""
    return rng.choice([0.0, 0.3, 0.6, 0.9, 1.0], p=[0.2, 0.05, 0.05, 0.1, 0.6], size=n)


def draw_rare(rng: Rng, n: int, usual: float, rare: float, share: float) -> Array:
    """One value, and rarely another: few samples may show only the first."""
    return np.where(rng.random(n) < share, rare, usual)


def draw_rare_zeros(rng: Rng, n: int, share: float, low: float, high: float) -> Array:
    """As an edit distance: all samples lose a little, and a share of them (empty replies) everything."""
    return np.where(rng.random(n) < share, 0.0, rng.uniform(low, high, n))


def draw_losses(rng: Rng, n: int, mean: float) -> Array:
    """Partial credit of which most samples lose next to nothing and a few nearly all."""
    return np.asarray(rng.beta(mean, 1 - mean, n))


def draw_rates(rng: Rng, n: int, p: float, icc: float) -> Array:
    """Rates of success with mean p, from a beta distribution: `icc` correlates outcomes of equal rate."""
    if not icc:
        return np.full(n, p)
    strength = (1 - icc) / icc
    return rng.beta(p * strength, (1 - p) * strength, n)


def draw_trials(rng: Rng, n: int, p: float, trials: int, icc: float = 0.5) -> Array:
    """Each sample's mean over trials."""
    return rng.binomial(trials, draw_rates(rng, n, p, icc)) / trials


def draw_images(rng: Rng, images: int, size: int, p: float, icc: float) -> tuple[Array, list[int]]:
    """Right or wrong for `size` questions on each image, and the image of each question."""
    values = rng.random((images, size)) < draw_rates(rng, images, p, icc)[:, None]
    return values.astype(float).ravel(), [image for image in range(images) for _ in range(size)]


def make_points(n: int, points: tuple[float, ...]) -> list[float]:
    """Weights that repeat `points`."""
    return [points[k % len(points)] for k in range(n)]


# -- Pairs


def draw_pairs(rng: Rng, n: int, a: float, b: float, correlation: float) -> tuple[Array, Array]:
    """Two models' right and wrong answers on the same samples."""
    both = a * b + correlation * (a * (1 - a) * b * (1 - b)) ** 0.5
    kind = rng.choice(4, p=[both, a - both, b - both, 1 - a - b + both], size=n)
    return np.isin(kind, (0, 1)).astype(float), np.isin(kind, (0, 2)).astype(float)


def draw_partial_pairs(rng: Rng, n: int, a: float, b: float) -> tuple[Array, Array]:
    """Partial credit in quarters; half of each sample's difficulty is common to both models."""
    luck = rng.random((4, n))
    other = np.where(rng.random((4, n)) < 0.5, luck, rng.random((4, n)))
    return (luck < a).mean(0), (other < b).mean(0)


@lru_cache(maxsize=64)
def _make_rates(p: float, icc: float) -> Array:
    rates = np.sort(draw_rates(np.random.default_rng(0), 200 * _GRID, p, icc)).reshape(_GRID, 200).mean(1)
    return np.asarray(rates + p - rates.mean())


def draw_image_pairs(
    rng: Rng, images: int, size: int, a: float, b: float, icc: float
) -> tuple[Array, Array, list[int]]:
    """Two models on `size` questions per image, each with its own weak images: differences cluster."""
    first = rng.integers(0, _GRID, images)
    second = np.where(rng.random(images) < 0.5, first, rng.integers(0, _GRID, images))
    luck = rng.random((images, size))
    other = np.where(rng.random((images, size)) < 0.5, luck, rng.random((images, size)))
    x, y = luck < _make_rates(a, icc)[first][:, None], other < _make_rates(b, icc)[second][:, None]
    clusters = [image for image in range(images) for _ in range(size)]
    return x.astype(float).ravel(), y.astype(float).ravel(), clusters


# -- All outcomes of right-or-wrong scores, with their probabilities: no draws are needed


def list_counts(n: int, p: float) -> Iterator[tuple[int, float]]:
    """How many of n independent samples are right, and how likely that is."""
    for right in range(n + 1):
        chance = math.exp(_log_ways(n, right) + right * math.log(p) + (n - right) * math.log1p(-p))
        if chance > _NEVER:
            yield right, chance


def list_discordant(n: int, a: float, b: float, correlation: float) -> Iterator[tuple[int, int, float]]:
    """How many of n samples only the first and only the second of two models got right: `draw_pairs`."""
    both = a * b + correlation * (a * (1 - a) * b * (1 - b)) ** 0.5
    for wins, chance in list_counts(n, a - both):
        for losses, share in list_counts(n - wins, (b - both) / (1 - a + both)):
            if chance * share > _NEVER:
                yield wins, losses, chance * share


def is_attainable(n: int, p: float, low: float = 0.93, high: float = 0.98) -> bool:
    """Whether any set of neighbouring counts has a probability from low to high.

    The counts whose interval holds p are such a set, by whatever rule the interval is computed.
    """
    chances = [chance for _, chance in list_counts(n, p)]
    for first in range(len(chances)):
        total = 0.0
        for chance in chances[first:]:
            total += chance
            if low <= total <= high:
                return True
    return False


def _log_ways(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


# -- Failures and judges


@dataclass(frozen=True)
class Incomplete:
    """Scores of which some are missing; `values` are all, `is_missing` says which were not obtained."""

    values: Array
    is_missing: NDArray[np.bool_]


def draw_failures(rng: Rng, n: int, p: float, share: float, *, on_hard: bool) -> Incomplete:
    """Right or wrong, of which a share has failed: at random, or three times likelier on wrong answers."""
    values = draw_binary(rng, n, p)
    wrong = 3 * share / (p + 3 * (1 - p))
    chance = np.where(values == 1, wrong / 3, wrong) if on_hard else np.full(n, share)
    return Incomplete(values, rng.random(n) < chance)


def draw_models(rng: Rng, n: int, rates: tuple[float, ...], common: float = 0.6) -> dict[str, list[float]]:
    """Right or wrong for several models on the same samples; a share of the luck is common to all."""
    luck = rng.random(n)
    return {
        f"model-{k}": (np.where(rng.random(n) < common, luck, rng.random(n)) < p).astype(float).tolist()
        for k, p in enumerate(rates)
    }


def draw_judged(rng: Rng, n: int, p: float, sensitivity: float, specificity: float) -> tuple[Array, Array]:
    """A judge's verdicts and the true ones."""
    truth = draw_binary(rng, n, p)
    judged = rng.random(n) < np.where(truth == 1, sensitivity, 1 - specificity)
    return judged.astype(float), truth
