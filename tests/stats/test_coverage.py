"""The short form of `make simulate`: do the intervals hold a truth that is known, and the tests their level?

Some hundred draws per setting, with fixed seeds; for right-or-wrong scores all outcomes, without draws. The
limits leave room for the luck of the draw (three standard errors), and the rules that were tried and found
short fall outside them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from populations import (
    Array,
    Rng,
    draw_anls,
    draw_binary,
    draw_failures,
    draw_image_pairs,
    draw_images,
    draw_judged,
    draw_losses,
    draw_models,
    draw_pairs,
    draw_partial_pairs,
    draw_rare,
    draw_rare_zeros,
    draw_trials,
    is_attainable,
    list_counts,
    list_discordant,
    make_points,
)

from eyechart import stats

pytestmark = pytest.mark.slow

DRAWS = 500
LOWEST, HIGHEST = 0.92, 0.995  # of coverage: 3 standard errors below 0.95, and what is still of use


def cover(truth: float, compute: Callable[[Rng], stats.Interval | None], draws: int = DRAWS) -> float:
    rng = np.random.default_rng(15)
    hits = 0
    for _ in range(draws):
        found = compute(rng)
        assert found is not None
        hits += found.low - 1e-12 <= truth <= found.high + 1e-12
    return hits / draws


def compute_normal(values: list[float]) -> stats.Interval:
    """Mean plus and minus 1.96 standard errors: the rule that these settings are too hard for."""
    found = stats.interval(values)
    assert found is not None
    assert found.stderr is not None
    half = 1.96 * found.stderr
    return stats.Interval(
        mean=found.mean, low=found.mean - half, high=found.mean + half, n=found.n, n_clusters=0, method=""
    )


@pytest.mark.parametrize("n", [20, 50, 200])
@pytest.mark.parametrize("p", [0.05, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 0.975, 0.98, 0.99])
def test_right_or_wrong(p: float, n: int) -> None:
    """No draws: every count with its probability. Where 93 to 98 % can be reached, it is."""
    share = 0.0
    for right, chance in list_counts(n, p):
        found = stats.interval([1.0] * right + [0.0] * (n - right))
        assert found is not None
        share += chance * (found.low - 1e-12 <= p <= found.high + 1e-12)
    assert 0.93 <= share <= 0.98 or (not is_attainable(n, p) and share > 0.91)


def test_what_no_interval_can_reach() -> None:
    """18 to 20 right of 20 at p .95: too few; 17 to 20: too many."""
    assert not is_attainable(20, 0.95)
    assert is_attainable(50, 0.95)
    chances = dict(list_counts(20, 0.95))
    assert sum(chances[right] for right in (18, 19, 20)) == pytest.approx(0.9245, abs=1e-4)
    assert sum(chances[right] for right in (17, 18, 19, 20)) == pytest.approx(0.9841, abs=1e-4)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.7, 0.9, 0.95])
def test_a_few_heavy_samples(p: float) -> None:
    """15 samples of 1 point and 5 of 10: exact as well. With the normal quantile, .919 at p .9."""
    share = 0.0
    for light, chance in list_counts(15, p):
        for heavy, likely in list_counts(5, p):
            values = [1.0] * light + [0.0] * (15 - light) + [1.0] * heavy + [0.0] * (5 - heavy)
            found = stats.interval(values, [1.0] * 15 + [10.0] * 5)
            assert found is not None
            share += chance * likely * (found.low - 1e-12 <= p <= found.high + 1e-12)
    assert 0.93 <= share <= 0.98


HARD: list[tuple[str, float, int, Callable[[Rng, int], Array]]] = [
    ("ANLS", 0.975, 50, lambda rng, n: draw_anls(rng, n, 0.975)),
    ("ANLS", 0.9, 20, lambda rng, n: draw_anls(rng, n, 0.9)),
    ("8 trials", 0.9, 20, lambda rng, n: draw_trials(rng, n, 0.9, 8)),
    ("half credit, rarely none", 0.475, 20, lambda rng, n: draw_rare(rng, n, 0.5, 0.0, 0.05)),
    ("mostly tiny losses", 0.99, 20, lambda rng, n: draw_losses(rng, n, 0.99)),
    ("mostly tiny losses", 0.99, 50, lambda rng, n: draw_losses(rng, n, 0.99)),
    ("32 trials", 0.98, 50, lambda rng, n: draw_trials(rng, n, 0.98, 32)),
]


@pytest.mark.parametrize(("name", "mean", "n", "draw"), HARD)
def test_partial_credit_and_trials(name: str, mean: float, n: int, draw: Callable[[Rng, int], Array]) -> None:
    assert cover(mean, lambda rng: stats.interval(draw(rng, n).tolist())) >= LOWEST
    assert cover(mean, lambda rng: compute_normal(draw(rng, n).tolist()), 200) < 0.9


@pytest.mark.parametrize("n", [15, 40, 80])
@pytest.mark.parametrize(("low", "high"), [(0.9, 1.0), (0.949, 0.951)])
def test_small_losses_and_rare_zeros(low: float, high: float, n: int) -> None:
    """The spread of the small losses alone says nothing about the zeros: it covers .4 to .9."""

    def compute(rng: Rng) -> stats.Interval | None:
        return stats.interval(draw_rare_zeros(rng, n, 0.03, low, high).tolist())

    assert cover(0.97 * (low + high) / 2, compute) >= LOWEST


@pytest.mark.parametrize("points", [(1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (1.0, 1.0, 1.0, 10.0)])
def test_points(points: tuple[float, ...]) -> None:
    weights = make_points(50, points)
    assert cover(0.9, lambda rng: stats.interval(draw_binary(rng, 50, 0.9).tolist(), weights)) >= LOWEST
    assert cover(0.9, lambda rng: stats.interval(draw_anls(rng, 50, 0.9).tolist(), weights)) >= LOWEST


@pytest.mark.parametrize(
    ("images", "size", "p", "icc"),
    [
        (50, 4, 0.5, 0.0),
        (10, 20, 0.5, 0.0),
        (50, 4, 0.5, 0.3),
        (20, 10, 0.5, 0.6),
        (20, 10, 0.95, 0.6),
        (10, 20, 0.9, 0.6),
    ],
)
def test_questions_on_one_image(images: int, size: int, p: float, icc: float) -> None:
    def compute(rng: Rng, *, is_clustered: bool) -> stats.Interval | None:
        values, clusters = draw_images(rng, images, size, p, icc)
        return stats.interval(values.tolist(), clusters=clusters if is_clustered else None)

    assert LOWEST <= cover(p, lambda rng: compute(rng, is_clustered=True)) <= HIGHEST
    ignored = cover(p, lambda rng: compute(rng, is_clustered=False), 200)
    assert ignored < 0.9 if icc else ignored > 0.9


def test_clusters_cost_little_where_there_are_none() -> None:
    rng = np.random.default_rng(1)
    widths = np.zeros(2)
    for _ in range(100):
        values, clusters = draw_images(rng, 250, 4, 0.5, 0.0)
        for k, units in enumerate((clusters, None)):
            found = stats.interval(values.tolist(), clusters=units)
            assert found is not None
            widths[k] += found.high - found.low
    assert 0.97 < widths[0] / widths[1] < 1.04


def test_failures_on_hard_samples() -> None:
    """The interval of the scored samples misses the truth; that with failures holds it."""
    rng = np.random.default_rng(3)
    hits = np.zeros(2)
    for _ in range(200):
        drawn = draw_failures(rng, 500, 0.8, 0.1, on_hard=True)
        scored = stats.interval(drawn.values[~drawn.is_missing].tolist())
        worst = stats.interval(np.where(drawn.is_missing, 0.0, drawn.values).tolist())
        best = stats.interval(np.where(drawn.is_missing, 1.0, drawn.values).tolist())
        assert scored is not None
        assert worst is not None
        assert best is not None
        low, high = stats.compute_union_interval(worst, best)
        hits += [scored.low <= 0.8 <= scored.high, low <= 0.8 <= high]
    assert hits[0] / 200 < 0.9
    assert hits[1] / 200 >= 0.99


@pytest.mark.parametrize(
    ("rates", "sizes"), [((0.9, 0.95, 0.8, 0.7, 0.6), (20,) * 5), ((0.98, 0.9, 0.95, 0.99), (5, 10, 30, 100))]
)
def test_macro_means(rates: tuple[float, ...], sizes: tuple[int, ...]) -> None:
    def compute(rng: Rng) -> stats.Interval:
        found = [stats.interval(draw_binary(rng, n, p).tolist()) for p, n in zip(rates, sizes, strict=True)]
        return stats.combine_means([group for group in found if group is not None])

    assert LOWEST <= cover(sum(rates) / len(rates), compute) <= HIGHEST


# -- Pairs


def compare(
    draw: Callable[[Rng], tuple[Array, ...]], truth: float, draws: int = DRAWS
) -> tuple[float, float]:
    """Coverage, and how often p < 0.05."""
    rng = np.random.default_rng(16)
    hits = found = 0
    for _ in range(draws):
        a, b, *clusters = draw(rng)
        result = stats.paired(a.tolist(), b.tolist(), clusters=clusters[0] if clusters else None)  # type: ignore[arg-type]
        assert result is not None
        hits += result.low - 1e-12 <= truth <= result.high + 1e-12
        found += result.p < 0.05
    return hits / draws, found / draws


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: draw_pairs(rng, 200, 0.7, 0.7, 0.5),
        lambda rng: draw_pairs(rng, 50, 0.5, 0.5, 0.3),
        lambda rng: draw_partial_pairs(rng, 30, 0.8, 0.8),
        lambda rng: draw_partial_pairs(rng, 150, 0.8, 0.8),
        lambda rng: draw_image_pairs(rng, 20, 10, 0.5, 0.5, 0.3),
        lambda rng: draw_image_pairs(rng, 80, 4, 0.9, 0.9, 0.3),
    ],
    ids=["0/1", "0/1, few", "partial, few", "partial", "images, few", "images"],
)
def test_equal_models_are_told_apart_in_one_of_twenty(draw: Callable[[Rng], tuple[Array, ...]]) -> None:
    coverage, rejected = compare(draw, 0.0)
    assert LOWEST <= coverage <= HIGHEST
    assert 0.02 <= rejected <= 0.08  # 3 to 7 %, and the luck of 500 draws


@pytest.mark.parametrize(
    ("n", "p", "correlation", "lowest"),
    [
        (30, 0.5, 0.5, 0.03),
        (50, 0.7, 0.3, 0.03),
        (200, 0.9, 0.6, 0.03),
        (
            50,
            0.9,
            0.6,
            0.01,
        ),  # 3.6 samples differ on average, and 5 that agree are the least that is significant
        (30, 0.9, 0.6, 0.0),
    ],
)
def test_the_level_of_mcnemar(n: int, p: float, correlation: float, lowest: float) -> None:
    """Exact: how often equal models are told apart, and the coverage of the interval."""
    rejected = share = 0.0
    for wins, losses, chance in list_discordant(n, p, p, correlation):
        low, high = stats.compute_bonett_price(wins, losses, n)
        share += chance * (low <= 0 <= high)
        rejected += chance * (stats.compute_sign_test(wins, losses) < 0.05)
    assert lowest <= rejected <= 0.055
    assert share >= 0.95


def test_ignored_clusters_raise_false_alarms() -> None:
    def draw(rng: Rng) -> tuple[Array, Array]:
        a, b, _ = draw_image_pairs(rng, 20, 10, 0.5, 0.5, 0.3)
        return a, b

    assert compare(draw, 0.0, 200)[1] > 0.15


def test_a_difference_is_found_with_the_planned_power() -> None:
    difference = stats.compute_smallest_difference(500, p=0.7, correlation=0.6)
    a, b = 0.7 + difference / 2, 0.7 - difference / 2
    coverage, power = compare(lambda rng: draw_pairs(rng, 500, a, b, 0.6), difference, 300)
    assert LOWEST <= coverage <= HIGHEST
    assert 0.74 <= power <= 0.87


def test_few_discordant_pairs() -> None:
    """n = 30, 0.90 against 0.85: a t interval covers 0.92 at best here."""
    assert compare(lambda rng: draw_pairs(rng, 30, 0.9, 0.85, 0.5), 0.05)[0] >= 0.95


def test_holm_holds_the_chance_of_any_alarm() -> None:
    rng = np.random.default_rng(4)
    alarms = np.zeros(2)
    for _ in range(150):
        ps = []
        for _ in range(20):
            a, b = draw_pairs(rng, 50, 0.7, 0.7, 0.3)
            result = stats.paired(a.tolist(), b.tolist())
            assert result is not None
            ps.append(result.p)
        alarms += [min(ps) < 0.05, min(stats.adjust_holm(ps)) < 0.05]
    assert alarms[0] / 150 > 0.3
    assert alarms[1] / 150 < 0.09


# -- Judges, ranks, groups


@pytest.mark.parametrize("p", [0.3, 0.9])
def test_a_judges_errors_are_corrected(p: float) -> None:
    def correct(rng: Rng) -> stats.Interval:
        judged, truth = draw_judged(rng, 1000, p, 0.92, 0.85)
        return stats.correct_by_person(judged.tolist(), judged[:100].tolist(), truth[:100].tolist())

    assert LOWEST <= cover(p, correct, 300) <= HIGHEST
    raw = cover(p, lambda rng: stats.interval(draw_judged(rng, 1000, p, 0.92, 0.85)[0].tolist()), 50)
    assert raw < 0.2


@pytest.mark.parametrize(("p", "accuracy", "checked"), [(0.97, 0.95, 30), (0.9, 0.95, 50)])
def test_a_small_audit(p: float, accuracy: float, checked: int) -> None:
    """With the judge's weight as the few checked replies have it, 0.89 and 0.91."""

    def correct(rng: Rng) -> stats.Interval:
        judged, truth = draw_judged(rng, 1000, p, accuracy, accuracy)
        return stats.correct_by_person(judged.tolist(), judged[:checked].tolist(), truth[:checked].tolist())

    assert LOWEST <= cover(p, correct) <= HIGHEST


def test_rank_intervals_hold_the_true_ranks() -> None:
    rng = np.random.default_rng(5)
    rates = tuple(0.7 - 0.03 * k for k in range(5))
    hits = right = 0
    for seed in range(40):
        scores = draw_models(rng, 300, rates)
        ranks = stats.rank_intervals(scores, draws=200, seed=seed)
        hits += sum(ranks[name][0] <= k <= ranks[name][1] for k, name in enumerate(scores, start=1))
        right += sorted(scores, key=lambda name: -sum(scores[name])) == list(scores)
    assert hits / 200 >= 0.95
    assert right / 40 < 0.6


def test_shrinkage_lowers_the_error_of_small_groups() -> None:
    rng = np.random.default_rng(6)
    errors = np.zeros(2)
    for _ in range(200):
        rates = rng.beta(14, 6, 20)
        right = rng.binomial(30, rates).astype(float)
        shrunk = np.array(stats.shrink_groups(right.tolist(), [30] * 20))
        errors += [((right / 30 - rates) ** 2).mean(), ((shrunk - rates) ** 2).mean()]
    assert errors[1] < 0.8 * errors[0]


@pytest.mark.parametrize(("images", "size", "p"), [(200, 1, 0.7), (25, 5, 0.7), (40, 4, 0.92), (60, 5, 0.92)])
def test_the_smallest_difference_is_found_in_four_of_five_comparisons(
    images: int, size: int, p: float
) -> None:
    """With normal quantiles and the variance of equal models: .76, .66, .65 and .68."""
    rng = np.random.default_rng(33)
    printed = []
    for _ in range(100):
        a, b, clusters = draw_image_pairs(rng, images, size, p, p, 0.3)
        found = stats.paired(a.tolist(), b.tolist(), clusters=clusters)
        assert found is not None
        printed.append(stats.find_smallest_difference(found) or 0.0)
    difference = sum(printed) / len(printed)
    hits = 0
    for _ in range(300):
        a, b, clusters = draw_image_pairs(rng, images, size, p + difference / 2, p - difference / 2, 0.3)
        found = stats.paired(a.tolist(), b.tolist(), clusters=clusters)
        assert found is not None
        hits += found.p < 0.05 and not found.low <= 0 <= found.high
    assert 0.72 <= hits / 300 <= 0.93
