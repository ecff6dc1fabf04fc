"""A leaderboard's uncertainty: which ranks each model could have, and small groups shrunk to the whole."""

from __future__ import annotations

import math
import random
from collections.abc import Hashable, Mapping, Sequence
from operator import itemgetter

from eyechart.stats.distributions import check_confidence, check_value
from eyechart.stats.intervals import align

_MAX_UNITS = 1000  # more clusters are drawn in this many random bundles, which have the same spread


def rank_intervals(
    scores: Mapping[str, Sequence[float | None]],
    clusters: Sequence[Hashable] | None = None,
    weights: Sequence[float] | None = None,
    *,
    draws: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> dict[str, tuple[int, int]]:
    """The best and worst rank that each model could have, by a bootstrap over clusters.

    Position i of every sequence is the same sample; None is a sample without a score. 1 is the best rank.

    >>> rank_intervals({"a": [1, 1, 1, 1, 0] * 40, "b": [1, 0] * 100, "c": [0, 1] * 100})
    {'a': (1, 1), 'b': (2, 3), 'c': (2, 3)}
    """
    check_confidence(confidence)
    if draws < 1:
        raise ValueError(f"at least one draw is needed, not {draws}")
    rng = random.Random(seed)  # noqa: S311 (statistics)
    units = _sum_units(scores, clusters, weights, rng)
    g = len(next(iter(units.values()), ([], []))[0])
    if g < 2:  # nothing to learn the spread from
        return dict.fromkeys(scores, (1, len(scores)))
    is_complete = all(held == next(iter(units.values()))[1] for _, held in units.values())
    ranks: dict[str, list[int]] = {name: [] for name in scores}
    for _ in range(draws):
        pick = itemgetter(*rng.choices(range(g), k=g))
        sums = {name: sum(pick(totals)) for name, (totals, _) in units.items()}
        if not is_complete:  # means; otherwise all sums are over the same samples
            weighed = {name: sum(pick(held)) for name, (_, held) in units.items()}
            sums = {
                name: total / weighed[name] if weighed[name] else -math.inf for name, total in sums.items()
            }
        order = sorted(sums.values(), reverse=True)
        for name, mean in sums.items():
            first = order.index(mean)
            ranks[name].append(1 + rng.randrange(first, first + order.count(mean)))  # ties by lot
    outside = int((1 - confidence) / 2 * draws)
    return {name: (sorted(found)[outside], sorted(found)[-1 - outside]) for name, found in ranks.items()}


def _sum_units(
    scores: Mapping[str, Sequence[float | None]],
    clusters: Sequence[Hashable] | None,
    weights: Sequence[float] | None,
    rng: random.Random,
) -> dict[str, tuple[list[float], list[float]]]:
    """Per model, total and weight of every cluster, or of a random bundle of clusters."""
    n = len(next(iter(scores.values()), ()))
    if any(len(values) != n for values in scores.values()):
        raise ValueError("every model needs one score, or None, per sample")
    places: dict[Hashable, int] = {}
    where, weighed = [], []
    for i, weight, cluster in align(range(n), weights, clusters):
        where.append(places.setdefault((i,) if cluster is None else (None, cluster), len(places)))
        weighed.append(weight)
    if len(places) > _MAX_UNITS:
        order = list(range(len(places)))
        rng.shuffle(order)
        where = [order[place] % _MAX_UNITS for place in where]
    g = min(len(places), _MAX_UNITS)
    units = {}
    for name, values in scores.items():
        totals, held = [0.0] * g, [0.0] * g
        for i, value in enumerate(values):
            if value is not None:
                check_value(value)
                totals[where[i]] += weighed[i] * value
                held[where[i]] += weighed[i]
        units[name] = (totals, held)
    return units


def shrink_groups(successes: Sequence[float], totals: Sequence[float]) -> list[float]:
    """The shares of small groups, each drawn towards the share of all by how little it was measured.

    Empirical Bayes with a beta distribution of the groups' true shares, fitted by moments. A second column
    beside the plain shares, never in their place: it borrows from the other groups.

    >>> [round(share, 3) for share in shrink_groups([9, 60, 2], [10, 100, 10])]
    [0.829, 0.6, 0.29]
    """
    weight = math.fsum(totals)
    if not weight:
        raise ValueError("groups without samples")
    for s, n in zip(successes, totals, strict=True):
        if not 0 <= s <= n:
            raise ValueError(f"a group has {s} successes of {n}")
    overall = math.fsum(successes) / weight
    strength = _fit_beta_strength(successes, totals, overall)
    if math.isinf(strength):
        return [overall] * len(totals)
    return [
        (s + strength * overall) / (n + strength) if n + strength else overall
        for s, n in zip(successes, totals, strict=True)
    ]


def _fit_beta_strength(successes: Sequence[float], totals: Sequence[float], overall: float) -> float:
    """How many samples the prior is worth: from the spread of the shares beyond what chance explains."""
    held = [(s / n, n) for s, n in zip(successes, totals, strict=True) if n]
    weight = math.fsum(n for _, n in held)
    within = overall * (1 - overall)
    scatter = math.fsum(n * (share - overall) ** 2 for share, n in held)
    room = weight - math.fsum(n * n for _, n in held) / weight
    room -= len(held) - 1
    if len(held) < 2 or not within or room <= 0:  # nothing to tell groups from chance by
        return math.inf
    between = (scatter - (len(held) - 1) * within) / room
    return math.inf if between <= 0 else max(0.0, within / between - 1)
