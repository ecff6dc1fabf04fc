import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.report.statistics import (
    Moments,
    compute_mean_interval,
    compute_spread,
    compute_trials_interval,
    compute_wilson,
    compute_z,
)

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


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        compute_z(confidence)


def test_nothing_has_no_interval() -> None:
    assert compute_wilson(0, 0) is None
    assert compute_mean_interval([]) is None
    assert compute_trials_interval([[], []]) is None
    assert compute_spread([]) is None
    assert Moments().mean is None


@given(st.lists(shares, min_size=1, max_size=200))
def test_the_interval_of_a_mean_holds_it_and_stays_a_share(values: list[float]) -> None:
    found = compute_mean_interval(values)
    assert found is not None
    mean = math.fsum(values) / len(values)
    assert 0 <= found[0] <= mean + 1e-9
    assert mean - 1e-9 <= found[1] <= 1


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1))
def test_right_and_wrong_alone_get_wilsons_interval(values: list[float]) -> None:
    assert compute_mean_interval(values) == compute_wilson(sum(values), len(values))


@pytest.mark.slow
@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=1))
def test_the_interval_of_a_mean_is_symmetric(values: list[float]) -> None:
    found, mirrored = compute_mean_interval(values), compute_mean_interval([1 - value for value in values])
    assert found is not None
    assert mirrored is not None
    assert found == pytest.approx((1 - mirrored[1], 1 - mirrored[0]), abs=1e-9)


def test_partial_credit_by_hand() -> None:
    # Mean 0.5, variance (4 * 0.25 ** 2) / 3, standard error sqrt(variance / 4).
    half = 1.959964 * math.sqrt(4 * 0.0625 / 3 / 4)
    assert compute_mean_interval([0.25, 0.75, 0.25, 0.75]) == pytest.approx(
        (0.5 - half, 0.5 + half), abs=1e-6
    )


@pytest.mark.parametrize("values", [[0.5], [0.5] * 3, [0.1] * 1000])
def test_equal_values_do_not_pretend_to_be_certain(values: list[float]) -> None:
    found = compute_mean_interval(values)
    assert found is not None
    assert found[0] < values[0] < found[1]


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=4), min_size=1), st.integers(2, 5))
def test_repeating_the_trials_makes_nobody_surer(samples: list[list[float]], times: int) -> None:
    once, often = (
        compute_trials_interval(samples),
        compute_trials_interval([values * times for values in samples]),
    )
    assert once == pytest.approx(often)


def test_spread_is_that_of_a_population() -> None:
    assert compute_spread([0.4, 0.6]) == (0.5, 0.1)


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
    found = made.interval()
    assert found is not None
    assert made.mean is not None
    assert -1e-9 <= found[0] <= made.mean + 1e-9
    assert made.mean - 1e-9 <= found[1] <= 1 + 1e-9


@given(st.lists(shares, min_size=2, max_size=30), st.floats(0.5, 20))
def test_one_weight_for_all_is_no_weight(values: list[float], weight: float) -> None:
    plain, heavy = compute_mean_interval(values), moments([(value, weight) for value in values]).interval()
    assert plain is not None
    assert heavy is not None
    assert heavy == pytest.approx(plain, abs=1e-6)


@pytest.mark.parametrize("weight", [1.0, 0.1, 1 / 3])
@pytest.mark.parametrize("n", [1000, 10_000, 60_000])
def test_right_and_wrong_alone_get_wilsons_interval_however_many_there_are(n: int, weight: float) -> None:
    found = moments([(float(k % 10 != 0), weight) for k in range(n)]).interval()
    assert found == pytest.approx(compute_wilson(0.9 * n, n), rel=1e-12)


def test_almost_right_is_partial_credit_whatever_it_weighs() -> None:
    almost = [0.0, 1 - 2**-53]
    assert compute_mean_interval(almost) != compute_wilson(1, 2)
    assert moments([(value, 3.0) for value in almost]).interval() == pytest.approx(
        compute_mean_interval(almost)
    )


def test_what_weighs_nothing_is_no_part_of_the_interval() -> None:
    assert moments([(1.0, 1.0), (0.0, 1.0), (1.0, 1.0), (0.0, 0.0)]).interval() == compute_wilson(2, 3)


def test_a_sample_of_many_points_makes_the_interval_wider() -> None:
    even = moments([(float(k % 2), 1) for k in range(40)]).interval()
    uneven = moments([(float(k % 2), 20 if k == 0 else 1) for k in range(40)]).interval()
    assert even is not None
    assert uneven is not None
    assert uneven[1] - uneven[0] > even[1] - even[0]
