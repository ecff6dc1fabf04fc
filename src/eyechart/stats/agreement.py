"""Judges: how far they agree with a person and with each other, and a score corrected for their errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import msgspec

from eyechart.stats.distributions import check_confidence, check_weight, quantile_t
from eyechart.stats.intervals import Interval, align, compute_wilson


class Agreement(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's verdicts beside a person's on the same replies; the person is taken to be right."""

    n: int
    both_right: int
    only_judge: int  # the judge said right, the person wrong
    only_person: int
    both_wrong: int
    agreement: float
    agreement_interval: tuple[float, float]
    kappa: float | None  # Cohen's; None if only one verdict occurs
    sensitivity: float | None  # of the replies that the person called right, those the judge did
    sensitivity_interval: tuple[float, float] | None
    specificity: float | None  # of the replies that the person called wrong, those the judge did
    specificity_interval: tuple[float, float] | None


def compute_agreement(
    judge: Sequence[bool], person: Sequence[bool], *, confidence: float = 0.95
) -> Agreement | None:
    """Compare a judge's verdicts with a person's; None without replies.

    >>> found = compute_agreement([True, True, False, False, True], [True, False, False, False, True])
    >>> found.agreement, round(found.kappa, 3), found.sensitivity, round(found.specificity, 3)
    (0.8, 0.615, 1.0, 0.667)
    """
    if len(judge) != len(person):
        raise ValueError(f"{len(judge)} verdicts of the judge, but {len(person)} of the person")
    counts = Counter((bool(j), bool(p)) for j, p in zip(judge, person, strict=True))
    n = counts.total()
    if not n:
        return None
    right, wrong = counts[True, True], counts[False, False]
    only_judge, only_person = counts[True, False], counts[False, True]
    agreement = (right + wrong) / n
    judged, true = (right + only_judge) / n, (right + only_person) / n
    expected = judged * true + (1 - judged) * (1 - true)
    ends = compute_wilson(right + wrong, n, confidence=confidence)
    assert ends is not None
    return Agreement(
        n=n,
        both_right=right,
        only_judge=only_judge,
        only_person=only_person,
        both_wrong=wrong,
        agreement=agreement,
        agreement_interval=ends,
        kappa=None if expected == 1 else (agreement - expected) / (1 - expected),
        sensitivity=_share(right, right + only_person),
        sensitivity_interval=compute_wilson(right, right + only_person, confidence=confidence),
        specificity=_share(wrong, wrong + only_judge),
        specificity_interval=compute_wilson(wrong, wrong + only_judge, confidence=confidence),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def compute_krippendorff_alpha(ratings: Iterable[Sequence[Any]]) -> float | None:
    """Krippendorff's alpha of several judges: 1 for full agreement, 0 for what chance gives.

    One row per reply, one verdict per judge, None where a judge gave none. Verdicts are compared as equal or
    not. None if no reply has two verdicts, or if only one verdict occurs.

    >>> compute_krippendorff_alpha([["a", "a"], ["b", "b"], ["a", None]])
    1.0
    """
    coincidences: Counter[tuple[Hashable, Hashable]] = Counter()
    for row in ratings:
        values = Counter(value for value in row if value is not None)
        m = values.total()
        if m < 2:
            continue
        for one, n_one in values.items():
            for other, n_other in values.items():
                pairs = n_one * (n_other - (one == other))
                coincidences[one, other] += pairs / (m - 1)
    totals: Counter[Hashable] = Counter()
    for (one, _), count in coincidences.items():
        totals[one] += count
    n = math.fsum(totals.values())
    observed = math.fsum(count for (one, other), count in coincidences.items() if one != other)
    expected = math.fsum(totals[one] * totals[other] for one in totals for other in totals if one != other)
    return 1 - (n - 1) * observed / expected if expected else None


def correct_by_person(
    judged_all: Sequence[float],
    judged_checked: Sequence[float],
    person_checked: Sequence[float],
    clusters: Sequence[Hashable] | None = None,
    *,
    confidence: float = 0.95,
) -> Interval:
    """The score that a person would have given to all replies, from a judge's verdicts and a check of some.

    PPI++ (Angelopoulos, Duchi and Zrnic, 2023): the judge's mean over all replies, plus the mean of the
    person's verdict less the judge's over the checked ones, the judge weighted so that the variance is
    smallest. The checked replies are a random part of all; `clusters` are those of the checked replies.

    >>> judged, person = [1, 1, 0, 1, 0, 1, 1, 0] * 25, [1, 0, 0, 1, 0, 1, 1, 1] * 25
    >>> found = correct_by_person(judged * 5, judged, person)
    >>> found.mean, round(found.low, 3), round(found.high, 3), found.n
    (0.625, 0.562, 0.684, 1000)
    """
    check_confidence(confidence)
    n, m = len(judged_all), len(person_checked)
    if len(judged_checked) != m:
        raise ValueError(f"{len(judged_checked)} verdicts of the judge, but {m} of the person")
    for value in (*judged_all, *judged_checked, *person_checked):
        check_weight(value)  # with points, a value counts by its weight and may be above 1
    if m < 2 or n < m:
        raise ValueError(f"{m} of {n} replies checked: at least two are needed, out of all")
    all_mean = math.fsum(judged_all) / n
    judge_mean, person_mean = math.fsum(judged_checked) / m, math.fsum(person_checked) / m
    pairs = list(zip(judged_checked, person_checked, strict=True))
    covariance = math.fsum((f - judge_mean) * (y - person_mean) for f, y in pairs) / (m - 1)
    judge_variance = math.fsum((f - judge_mean) ** 2 for f in judged_checked) / (m - 1)
    # With few checked replies, the weight that suits them best is too good for the others: a ridge of 1/m.
    power = min(1.0, max(0.0, covariance / (judge_variance + 1 / m)))
    mean = min(1.0, max(0.0, power * all_mean + person_mean - power * judge_mean))
    # Var = Var(y) / m - (1/m - 1/n) (2 power Cov - power² Var(f)): the checked replies are among all.
    person_variance = math.fsum((y - person_mean) ** 2 for y in person_checked) / (m - 1)
    gain = (1 / m - 1 / n) * (2 * power * covariance - power**2 * judge_variance)
    effect, n_clusters = _compute_design_effect(
        [y - person_mean - power * (f - judge_mean) for f, y in pairs], clusters
    )
    variance = max(0.0, person_variance / m - gain) * effect
    # As for partial credit: two pseudo-replies, one right and one wrong, so that no spread is not certainty.
    variance = variance * m / (m + 2) + (mean**2 + (1 - mean) ** 2) * effect / (m * (m + 2))
    centre = (mean + 1 / m) / (1 + 2 / m)
    effective = centre * (1 - centre) / variance
    quantile = quantile_t((1 + confidence) / 2, max(1, n_clusters - 2))
    ends = compute_wilson(mean * effective, effective, quantile=quantile)
    assert ends is not None
    return Interval(
        mean=mean,
        low=ends[0],
        high=ends[1],
        n=n,
        n_clusters=n_clusters,
        method="ppi++",
        stderr=math.sqrt(variance),
        n_effective=effective,
    )


def _compute_design_effect(
    residuals: Sequence[float], clusters: Sequence[Hashable] | None
) -> tuple[float, int]:
    """By how much the clusters inflate the variance of the residuals' mean, and how many there are."""
    units: dict[Hashable, list[float]] = {}
    for position, (residual, _, cluster) in enumerate(align(residuals, None, clusters)):
        units.setdefault((position,) if cluster is None else (None, cluster), []).append(residual)
    g, n = len(units), len(residuals)
    alone = math.fsum(residual**2 for residual in residuals) * n / (n - 1)
    if g == n or g < 2 or not alone:
        return 1.0, g
    return math.fsum(math.fsum(unit) ** 2 for unit in units.values()) * g / (g - 1) / alone, g
