"""Paired comparisons, many of them, and planning."""

import itertools
import random
from random import Random

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from eyechart.stats import (
    Paired,
    adjust_benjamini_hochberg,
    adjust_holm,
    compute_bonett_price,
    compute_power,
    compute_sample_size,
    compute_sign_test,
    compute_smallest_difference,
    paired,
)
from eyechart.stats.paired import _count_signs

# A difference of less than the smallest number is none, whatever its weight.
shares = st.floats(0, 1).map(lambda share: round(share, 12))
binary = st.sampled_from([0.0, 1.0])
pairs = st.lists(st.tuples(shares, shares, st.floats(0.5, 20), st.integers(0, 6)), min_size=1, max_size=30)


def compare(*args: object, **options: object) -> Paired:
    found = paired(*args, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def test_right_or_wrong_pairs_are_mcnemars() -> None:
    a, b = [1] * 40 + [1] * 12 + [0] * 5 + [0] * 43, [1] * 40 + [0] * 12 + [1] * 5 + [0] * 43
    found = compare(a, b)
    assert (found.method, found.discordant, found.n, found.n_clusters) == ("mcnemar", (12, 5), 100, 100)
    assert found.p == compute_sign_test(12, 5)
    assert (found.low, found.high) == compute_bonett_price(12, 5, 100)
    assert (found.difference, found.mean_a, found.mean_b) == (0.07, 0.52, 0.45)


def test_bonett_and_price_as_published() -> None:
    """Fagerland, Lydersen and Laake (2014), Statistics in Medicine 33, table V: 1 and 7 of 21 pairs."""
    assert compute_bonett_price(1, 7, 21) == pytest.approx((-0.508, -0.013), abs=5e-4)


def test_many_partial_differences_are_a_t_test() -> None:
    rng = random.Random(1)
    a = [rng.choice([0, 0.25, 0.5, 1]) for _ in range(400)]
    b = [rng.choice([0, 0.25, 0.75, 1]) for _ in range(400)]
    found, expected = compare(a, b), scipy.stats.ttest_rel(a, b)
    assert found.method == "t"
    assert found.p == pytest.approx(expected.pvalue, rel=1e-6)
    ends = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=2e-3)


@given(st.lists(st.sampled_from([-1.0, -0.5, -0.3, 0.2, 0.5, 0.7]), min_size=1, max_size=9))
def test_few_differences_count_every_combination_of_signs(differences: list[float]) -> None:
    total = abs(sum(differences))
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    beyond = sum(found > total + 1e-9 for found in sums)
    equal = sum(abs(found - total) <= 1e-9 for found in sums)
    expected = 1.0 if total < 1e-9 else (beyond + equal / 2) / len(sums)
    assert _count_signs([abs(d) for d in differences], total) == pytest.approx(expected, abs=1e-9)


@given(st.lists(st.tuples(binary, binary), min_size=1, max_size=40))
def test_the_sign_flip_test_of_right_or_wrong_pairs_is_mcnemars(rows: list[tuple[float, float]]) -> None:
    wins, losses = sum(x > y for x, y in rows), sum(x < y for x, y in rows)
    assert _count_signs([1.0] * (wins + losses), abs(wins - losses)) == compute_sign_test(wins, losses)


def test_clustered_differences_count_once() -> None:
    """Ten images on which all ten questions differ the same way are ten differences, not a hundred."""
    a, b = [1.0] * 80 + [0.0] * 20 + [1.0] * 100, [0.0] * 80 + [1.0] * 20 + [1.0] * 100
    alone, together = compare(a, b), compare(a, b, clusters=[k // 10 for k in range(200)])
    assert alone.p < 1e-6
    assert together.p == compute_sign_test(8, 2)
    assert (together.n_clusters, together.method) == (20, "sign-flip-clustered")
    assert together.high - together.low > 2 * (alone.high - alone.low)


@given(pairs)
def test_the_interval_holds_the_difference(rows: list[tuple[float, float, float, int]]) -> None:
    found = compare(*zip(*rows, strict=True))
    assert -1 <= found.low <= found.difference <= found.high <= 1
    assert 0 <= found.p <= 1


@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_the_pairs_changes_nothing(
    rows: list[tuple[float, float, float, int]], rng: Random
) -> None:
    mixed = rng.sample(rows, len(rows))
    first, second = compare(*zip(*rows, strict=True)), compare(*zip(*mixed, strict=True))
    for name in ("difference", "low", "high", "p", "mean_a"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), abs=1e-9)


@given(pairs)
def test_the_models_can_be_exchanged(rows: list[tuple[float, float, float, int]]) -> None:
    a, b, weights, clusters = zip(*rows, strict=True)
    one, other = compare(a, b, weights, clusters), compare(b, a, weights, clusters)
    assert one.p == pytest.approx(other.p, abs=1e-9)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-9)


@given(pairs)
def test_clusters_of_one_pair_are_no_clusters(rows: list[tuple[float, float, float, int]]) -> None:
    a, b, weights, _ = zip(*rows, strict=True)
    assert compare(a, b, weights) == compare(a, b, weights, range(len(a)))


@given(pairs, st.sampled_from([0.5, 2.0, 1024.0]))
def test_weights_count_in_proportion(rows: list[tuple[float, float, float, int]], factor: float) -> None:
    a, b, weights, clusters = zip(*rows, strict=True)
    one, other = compare(a, b, weights, clusters), compare(a, b, [w * factor for w in weights], clusters)
    assert (one.low, one.high, one.p) == pytest.approx((other.low, other.high, other.p), abs=1e-9)


def test_samples_that_one_model_lacks_are_left_out() -> None:
    assert compare([1, None, 0, 1], [0, 1, None, 1]) == compare([1, 1], [0, 1])
    assert paired([None, 1], [1, None]) is None
    with pytest.raises(ValueError, match="2 and 1 values"):
        paired([1, 0], [1])


def test_equal_models_do_not_differ() -> None:
    found = compare([1, 0, 0.5] * 10, [1, 0, 0.5] * 10)
    assert (found.difference, found.p, found.discordant) == (0, 1, (0, 0))
    assert found.low < 0 < found.high


def test_few_clusters_are_never_certain() -> None:
    """Two images, all of whose questions a alone got right: one of four combinations of signs each way."""
    found = compare([1, 1, 1, 1], [0, 0, 0, 0], clusters=["x", "x", "y", "y"])
    assert found.p == 0.25
    assert found.low < 0 < found.high == 1


def test_clusters_of_different_size() -> None:
    """All seven images with a difference speak for a, by 3, 3, 2, 3, 3, 4 and 1 questions."""
    clusters = list("aaabbbcccdddeeeffffgghh")
    a, b = [1.0] * 19 + [0.0] * 4, [0.0] * 23
    b[8] = 1.0
    assert compare(a, b, clusters=clusters).p == 2**-6


def test_one_cluster_says_nothing() -> None:
    found = compare([1, 1, 1], [0, 0, 1], clusters=["a"] * 3)
    assert found.p == 0.5
    assert (found.low, found.high) == (-1, 1)


# -- Many comparisons


@given(st.lists(shares, min_size=1, max_size=20))
def test_benjamini_and_hochberg_as_scipy(ps: list[float]) -> None:
    assert adjust_benjamini_hochberg(ps) == pytest.approx(list(scipy.stats.false_discovery_control(ps)))


def test_holm_by_hand() -> None:
    """Step by step: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 1 x 0.04, but not below the one before."""
    assert adjust_holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(shares, max_size=20))
def test_adjusting_keeps_the_order_and_raises(ps: list[float]) -> None:
    for adjust in (adjust_holm, adjust_benjamini_hochberg):
        adjusted = adjust(ps)
        assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
        ranked = [q for _, q in sorted(zip(ps, adjusted, strict=True))]
        assert ranked == sorted(ranked)


# -- Planning


@pytest.mark.parametrize(("n", "points"), [(200, 8.1), (500, 5.1), (1000, 3.6), (3000, 2.1)])
def test_the_smallest_difference_that_can_be_seen(n: int, points: float) -> None:
    found = compute_smallest_difference(n, p=0.7, correlation=0.6)
    assert round(100 * found, 1) == points
    assert compute_power(n, found, p=0.7, correlation=0.6) == pytest.approx(0.8, abs=1e-4)
    assert compute_sample_size(found * (1 - 1e-9), p=0.7, correlation=0.6) == n + 1


def test_planning_with_a_measured_variance_and_clusters() -> None:
    plain = compute_smallest_difference(1000, variance=0.168)
    assert plain == pytest.approx(compute_smallest_difference(1000, p=0.7, correlation=0.6))
    assert compute_smallest_difference(1000, variance=0.168, design_effect=4) == pytest.approx(2 * plain)
    assert compute_power(1000, 0, variance=0.168) == pytest.approx(0.05)
    assert compute_power(1000, 0.1, variance=0) == 1


def test_planning_needs_to_know_the_variance() -> None:
    with pytest.raises(ValueError, match="variance"):
        compute_smallest_difference(100, p=0.5)
    with pytest.raises(ValueError, match="not 0"):
        compute_sample_size(0, p=0.5, correlation=0.5)
