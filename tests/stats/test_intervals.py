import math
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart import stats
from eyechart.stats import (
    Interval,
    Moments,
    combine_means,
    compute_union_interval,
    compute_wilson,
    interval,
)
from eyechart.stats.intervals import measure_overlap

counts = st.integers(1, 100_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
shares = st.floats(0, 1)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [  # Newcombe (1998), Statistics in Medicine 17, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_textbook_values(successes: int, n: int, low: float, high: float) -> None:
    found = compute_wilson(successes, n)
    assert found is not None
    assert (round(found[0], 4), round(found[1], 4)) == (low, high)


@given(counts)
def test_wilson_holds_the_share_and_stays_a_share(count: tuple[int, int]) -> None:
    successes, n = count
    found = compute_wilson(successes, n)
    assert found is not None
    low, high = found
    assert 0 <= low <= successes / n <= high <= 1
    assert low < high


@pytest.mark.slow
@given(counts)
def test_wilson_is_symmetric(count: tuple[int, int]) -> None:
    successes, n = count
    right, wrong = compute_wilson(successes, n), compute_wilson(n - successes, n)
    assert right is not None
    assert wrong is not None
    assert right[0] == pytest.approx(1 - wrong[1], abs=1e-12)
    assert right[1] == pytest.approx(1 - wrong[0], abs=1e-12)


@given(counts, st.integers(2, 50))
def test_wilson_narrows_with_more_samples(count: tuple[int, int], times: int) -> None:
    successes, n = count
    few, many = compute_wilson(successes, n), compute_wilson(successes * times, n * times)
    assert few is not None
    assert many is not None
    assert many[1] - many[0] < few[1] - few[0]


def test_more_confidence_is_a_wider_interval() -> None:
    narrow, wide = compute_wilson(5, 10, confidence=0.9), compute_wilson(5, 10, confidence=0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def ends(found: Interval | None) -> tuple[float, float]:
    assert found is not None
    return found.low, found.high


def test_nothing_has_no_interval() -> None:
    assert compute_wilson(0, 0) is None
    assert interval([]) is None
    assert interval([1.0, 0.5], weights=[0, 0]) is None
    assert Moments().mean is None


def test_sequences_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="2 values, but 1 clusters"):
        interval([1.0, 0.0], clusters=["a"])


@given(st.lists(shares, min_size=1, max_size=200))
def test_the_interval_of_a_mean_holds_it_and_stays_a_share(values: list[float]) -> None:
    low, high = ends(interval(values))
    mean = math.fsum(values) / len(values)
    assert 0 <= low <= mean + 1e-9
    assert mean - 1e-9 <= high <= 1


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1))
def test_right_and_wrong_alone_get_wilsons_interval(values: list[float]) -> None:
    assert ends(interval(values)) == compute_wilson(sum(values), len(values))


@pytest.mark.slow
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1))
def test_the_interval_of_a_mean_is_symmetric(values: list[float]) -> None:
    low, high = ends(interval([1 - value for value in values]))
    assert ends(interval(values)) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize("values", [[0.5], [0.5] * 3, [0.1] * 1000])
def test_equal_values_do_not_pretend_to_be_certain(values: list[float]) -> None:
    """Their spread says nothing: at least as wide as for right-or-wrong values, which vary most."""
    low, high = ends(interval(values))
    widest = compute_wilson(values[0] * len(values), len(values))
    assert widest is not None
    assert low <= widest[0]
    assert high >= widest[1]


def test_images_of_equal_score_do_not_pretend_to_be_certain() -> None:
    """Four images, of whose questions one each was answered: chance, not a law."""
    values = [float(k % 3 == 0) for k in range(12)]
    low, high = ends(interval(values, clusters=[k // 3 for k in range(12)]))
    alone = ends(interval(values))
    assert high - low > alone[1] - alone[0]


def test_many_images_with_opposite_answers_are_surer_than_independent_ones() -> None:
    """Each image has a question with the answer yes and one with no; the model mostly says yes."""
    values = ([1.0, 0.0] * 8 + [1.0, 1.0, 0.0, 0.0]) * 50
    low, high = ends(interval(values, clusters=[k // 2 for k in range(1000)]))
    alone = ends(interval(values))
    assert high - low < 0.7 * (alone[1] - alone[0])


# -- weights ---------------------------------------------------------------------------------------

weighted = st.lists(st.tuples(shares, st.floats(0.5, 20)), min_size=2, max_size=30)


def moments(values: list[tuple[float, float]]) -> Moments:
    made = Moments()
    for value, weight in values:
        made.add(value, weight)
    return made


def test_a_weighted_mean_counts_points() -> None:
    """Two of three points, then all of one: three quarters of what there was to earn."""
    assert moments([(2 / 3, 3), (1.0, 1)]).mean == pytest.approx(0.75)


@pytest.mark.slow
@given(weighted)
def test_a_weighted_interval_holds_its_mean_and_stays_a_share(values: list[tuple[float, float]]) -> None:
    made = moments(values)
    low, high = ends(made.interval())
    assert made.mean is not None
    assert 0 <= low <= made.mean <= high <= 1


@given(st.lists(shares, min_size=2, max_size=30), st.floats(0.5, 20))
def test_one_weight_for_all_is_no_weight(values: list[float], weight: float) -> None:
    heavy = moments([(value, weight) for value in values]).interval()
    assert ends(heavy) == pytest.approx(ends(interval(values)), abs=1e-9)


@pytest.mark.parametrize("weight", [1.0, 0.1, 1 / 3])
@pytest.mark.parametrize("n", [1000, 10_000, 60_000])
def test_right_and_wrong_alone_get_wilsons_interval_however_many_there_are(n: int, weight: float) -> None:
    found = moments([(float(k % 10 != 0), weight) for k in range(n)]).interval()
    assert ends(found) == pytest.approx(compute_wilson(0.9 * n, n), rel=1e-12)


def test_what_weighs_nothing_is_no_part_of_the_interval() -> None:
    made = moments([(1.0, 1.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)])
    assert ends(made.interval()) == compute_wilson(2, 3)


def test_a_sample_of_many_points_makes_the_interval_wider() -> None:
    even = ends(moments([(float(k % 2), 1) for k in range(40)]).interval())
    uneven = ends(moments([(float(k % 2), 20 if k == 0 else 1) for k in range(40)]).interval())
    assert uneven[1] - uneven[0] > even[1] - even[0]


# -- clusters --------------------------------------------------------------------------------------

clustered = st.lists(st.tuples(shares, st.floats(0.5, 20), st.integers(0, 5)), min_size=1, max_size=30)


@given(clustered, st.randoms(use_true_random=False))
def test_the_order_of_the_values_changes_nothing(rows: list[tuple[float, float, int]], rng: Random) -> None:
    mixed = rng.sample(rows, len(rows))
    assert interval(*zip(*rows, strict=True)) == interval(*zip(*mixed, strict=True))


@given(clustered, st.sampled_from([0.001, 1 / 3, 7.0, 1e6]))
def test_weights_count_in_proportion(rows: list[tuple[float, float, int]], factor: float) -> None:
    values, weights, clusters = zip(*rows, strict=True)
    scaled = interval(values, [weight * factor for weight in weights], clusters)
    assert ends(scaled) == pytest.approx(ends(interval(values, weights, clusters)), abs=1e-9)


@given(clustered)
def test_a_clustered_interval_holds_its_mean_and_stays_a_share(rows: list[tuple[float, float, int]]) -> None:
    found = interval(*zip(*rows, strict=True))
    assert found is not None
    assert 0 <= found.low <= found.mean <= found.high <= 1
    assert found.n_effective > 0


@example([(0.0, 1.5), *[(0.0, 4.875)] * 3, (0.0, 13.75), (0.0, 0.5)])
@given(weighted)
def test_clusters_of_one_sample_are_no_clusters(rows: list[tuple[float, float]]) -> None:
    values, weights = zip(*rows, strict=True)
    assert interval(values, weights, range(len(values))) == interval(values, weights)
    assert interval(values, weights, [None] * len(values)) == interval(values, weights)


def test_samples_without_a_cluster_stand_alone() -> None:
    values = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    named = interval(values, clusters=["a", "a", "b", "c", "d", "e"])
    assert interval(values, clusters=["a", "a", None, None, None, None]) == named


def test_one_cluster_says_nothing() -> None:
    found = interval([1.0, 1.0, 0.0], clusters=["a", "a", "a"])
    assert found is not None
    assert found.stderr is None
    assert found.low < 0.05
    assert found.high > 0.95


@pytest.mark.parametrize("weight", [1e-20, 1e20])
def test_weights_of_very_different_size(weight: float) -> None:
    low, high = ends(interval([1.0, 0.0, 0.5], [1.0, weight, 1.0], ["a", "b", "a"]))
    assert 0 <= low < high <= 1


def test_a_weight_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="weight"):
        interval([1.0], weights=[-1.0])


def test_one_image_twice_changes_little() -> None:
    values = [1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0]
    alone, twice = ends(interval(values)), ends(interval(values, clusters=[0, 0, 2, 3, 4, 5, 6, 7]))
    assert twice[1] - twice[0] == pytest.approx(alone[1] - alone[0], rel=0.15)


def test_questions_on_one_image_count_less() -> None:
    values = [1.0] * 40 + [0.0] * 10 + [1.0] * 40
    alone, together = interval(values), interval(values, clusters=[k // 10 for k in range(90)])
    assert alone is not None
    assert together is not None
    assert (together.n, together.n_clusters, together.mean) == (90, 9, alone.mean)
    assert together.high - together.low > 2 * (alone.high - alone.low)
    assert together.n_effective < 15


# -- macro means and failures ----------------------------------------------------------------------


def test_every_group_counts_the_same_in_a_macro_mean() -> None:
    small, large = interval([1.0, 0.0]), interval([1.0] * 90 + [0.0] * 10)
    assert small is not None
    assert large is not None
    found = combine_means([small, large])
    assert (found.mean, found.n, found.n_clusters, found.method) == (0.7, 102, 102, "macro")
    assert small.stderr is not None
    assert large.stderr is not None
    assert found.stderr == pytest.approx(math.hypot(small.stderr, large.stderr) / 2)


@given(st.lists(st.lists(shares, min_size=1, max_size=9), min_size=1, max_size=5))
def test_a_macro_interval_holds_its_mean_and_stays_a_share(groups: list[list[float]]) -> None:
    found = combine_means([group for group in map(interval, groups) if group is not None])
    assert 0 <= found.low <= found.mean <= found.high <= 1


def test_the_macro_mean_of_one_group_is_close_to_its_own_interval() -> None:
    alone = interval([1.0] * 30 + [0.0] * 10)
    assert alone is not None
    assert ends(combine_means([alone])) == pytest.approx(ends(alone), abs=0.01)
    with pytest.raises(ValueError, match="no groups"):
        combine_means([])


def test_the_interval_with_failures_reaches_from_worst_to_best() -> None:
    worst, best = interval([1.0] * 6 + [0.0] * 4), interval([1.0] * 8 + [0.0] * 2)
    assert worst is not None
    assert best is not None
    assert compute_union_interval(worst, best) == (worst.low, best.high)


@pytest.mark.parametrize("value", [2.0, -0.1, float("nan"), "1"])
def test_a_value_outside_of_0_to_1_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="a sample's value must be a number from 0 to 1"):
        interval([1, value])
    with pytest.raises(ValueError, match="a weight must be"):
        interval([1, 0], weights=[1, -1])


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1.0, 1e200, 1e307])
def test_only_the_ratios_of_weights_count(unit: float) -> None:
    values, weights = [1, 0, 1, 0.5, 1], [1, 2, 3, 4, 5]
    found, plain = (
        stats.interval(values, [unit * weight for weight in weights]),
        stats.interval(values, weights),
    )
    assert found is not None
    assert plain is not None
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high))
    other = [0, 0, 1, 1, 0.5]
    one, two = (stats.paired(values, other, [u * weight for weight in weights]) for u in (unit, 1))
    assert one is not None
    assert two is not None
    assert (one.low, one.high, one.p) == pytest.approx((two.low, two.high, two.p))


def test_a_cluster_of_nan_is_a_missing_value() -> None:
    """As a column of pandas has it: one NaN object in many rows."""
    values, nan = [1, 0, 1, 0], math.nan
    for missing in ([nan, nan, "a", "a"], [None, None, "a", "a"]):
        found = stats.interval(values, clusters=missing)
        assert found is not None
        assert found.n_clusters == 3
        pair = stats.paired(values, [0, 0, 1, 1], clusters=missing)
        assert pair is not None
        assert pair.n_clusters == 3


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: stats.interval([1, None]), "not None"),  # type: ignore[list-item]
        (lambda: stats.interval([1, "1"]), "not '1'"),  # type: ignore[list-item]
        (lambda: stats.interval([1, 0], [1, math.inf]), "weight"),
        (lambda: stats.summarise_trials([[1, math.nan]]), "not nan"),
        (lambda: stats.summarise_trials([[1, 0], [1, 1]], [["a", "b"]]), "shorter"),
        (lambda: stats.correct_by_person([math.nan] * 9, [1, 0], [1, 0]), "not nan"),
        (lambda: stats.correct_by_person([1] * 9, [1, 0], [1, 0, 1]), "2 verdicts of the judge, but 3"),
        (lambda: stats.compute_agreement([True], [True, False]), "1 verdicts of the judge, but 2"),
        (lambda: stats.rank_intervals({"a": [1, math.nan], "b": [1, 1]}), "not nan"),
        (lambda: stats.rank_intervals({"a": [1, 0], "b": [1, 1]}, weights=[1]), "2 values, but 1 weights"),
        (lambda: stats.rank_intervals({"a": [1, 0], "b": [1, 1]}, draws=0), "one draw"),
        (lambda: stats.shrink_groups([5], [3]), "5 successes of 3"),
        (lambda: stats.compute_wilson(5, 3), "5 of 3"),
        (lambda: stats.compute_sign_test(-1, 3), "negative"),
        (lambda: stats.compute_bonett_price(3, 3, 5), "3 wins and 3 losses of 5"),
        (lambda: stats.adjust_holm([math.nan, 0.1]), "not nan"),
        (lambda: stats.adjust_benjamini_hochberg([1.5]), "not 1.5"),
        (lambda: stats.compute_smallest_difference(0, variance=1), "above 0"),
        (lambda: stats.compute_smallest_difference(9, variance=-1), "at least 0"),
        (lambda: stats.compute_smallest_difference(9, variance=1, power=80), "power"),
        (lambda: stats.compute_sample_size(0.1, p=1.7, correlation=0.5), "from 0 to 1"),
        (lambda: stats.compute_sample_size(math.nan, variance=1), "not nan"),
        (lambda: stats.compute_power(9, 0.1, variance=1, alpha=5), "alpha"),
    ],
)
def test_what_is_no_number_is_refused_in_words(call: Callable[[], object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        call()


def test_a_spread_of_two_thousandths_does_not_end_the_safeguard() -> None:
    """15 values of 0.95 and 15 from 0.949 to 0.951 say the same about zeros that did not occur."""
    alike = stats.interval([0.95] * 15)
    near = stats.interval([0.949, 0.95, 0.951] * 5)
    assert alike is not None
    assert near is not None
    assert near.high - near.low > 0.85 * (alike.high - alike.low)


def test_groups_that_share_images_widen_the_mean_over_them() -> None:
    """Four groups, each with one question on every image: with equal verdicts they say no more than one."""
    groups = [Moments() for _ in range(4)]
    apart = [Moments() for _ in range(4)]
    for image in range(60):
        for number, (shared, own) in enumerate(zip(groups, apart, strict=True)):
            shared.add(float(image % 3 > 0), cluster=f"image {image}")
            own.add(float(image % 3 > 0), cluster=f"image {image} of {number}")
    assert measure_overlap(groups) == pytest.approx(4)
    assert measure_overlap(apart) == 1.0
    assert measure_overlap([Moments()]) == 1.0
    means = [found for group in groups if (found := group.interval())]
    alone, together = combine_means(means), combine_means(means, overlap=4)
    one = means[0]
    assert together.mean == alone.mean == pytest.approx(one.mean)
    assert together.high - together.low == pytest.approx(one.high - one.low, rel=0.1)
    assert alone.high - alone.low < 0.6 * (together.high - together.low)
