"""Several trials per sample."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.stats import compute_pass_at_k, compute_pass_hat_k, compute_spread, summarise_trials

counts = st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))


@given(counts)
def test_pass_at_k_counts_the_choices_of_k_trials(count: tuple[int, int, int]) -> None:
    n, correct, k = count
    chosen = list(itertools.combinations([True] * correct + [False] * (n - correct), k))
    assert compute_pass_at_k(n, correct, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert compute_pass_hat_k(n, correct, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


@pytest.mark.parametrize(("n", "correct", "k"), [(5, 6, 1), (5, -1, 1), (5, 3, 6), (5, 3, 0)])
def test_impossible_counts_are_refused(n: int, correct: int, k: int) -> None:
    with pytest.raises(ValueError, match="1 <= k <= n"):
        compute_pass_at_k(n, correct, k)


def test_pass_at_k_is_unbiased_where_the_plug_in_is_not() -> None:
    """All outcomes of 10 trials at p = 0.3, weighted by their probability, against the truth for k = 5."""
    weights = [math.comb(10, c) * 0.3**c * 0.7 ** (10 - c) for c in range(11)]
    unbiased = sum(w * compute_pass_at_k(10, c, 5) for c, w in enumerate(weights))
    plug_in = sum(w * (1 - (1 - c / 10) ** 5) for c, w in enumerate(weights))
    assert unbiased == pytest.approx(1 - 0.7**5)
    assert plug_in < unbiased - 0.03


def test_the_summary_of_trials() -> None:
    found = summarise_trials([[1, 1, 0, 0], [1, 1, 1, 1], [0, 0, 0, 1]])
    assert found is not None
    assert (found.k, found.n, list(found.pass_at)) == (4, 3, [1, 2, 4])
    assert found.pass_at[1] == found.pass_hat[1] == pytest.approx(7 / 12)
    assert found.pass_at[4] == 1
    assert found.pass_hat[4] == pytest.approx(1 / 3)
    assert found.majority == pytest.approx((0.5 + 1 + 0) / 3)
    assert found.flip_rate == pytest.approx((4 / 6 + 0 + 3 / 6) / 3)
    assert found.within_variance == pytest.approx((1 / 3 + 0 + 0.25) / 3)


def test_the_variances_are_those_of_one_way_analysis() -> None:
    """The variance of the sample means is the variance between samples plus a kth of that within."""
    rows = [[1, 0, 1], [1, 1, 1], [0, 0, 0], [0, 1, 0], [1, 1, 0]]
    found = summarise_trials(rows)
    assert found is not None
    assert found.within_variance is not None
    means = [sum(row) / 3 for row in rows]
    centre = sum(means) / 5
    variance = sum((mean - centre) ** 2 for mean in means) / 4
    assert found.between_variance == pytest.approx(variance - found.within_variance / 3)


def test_the_majority_is_voted_on_answers() -> None:
    """Two of five agree on the right answer, the others disagree with each other: the vote is right."""
    by_score = summarise_trials([[1, 1, 0, 0, 0]])
    by_answer = summarise_trials([[1, 1, 0, 0, 0]], [["B", "B", "A", "C", None]])
    assert by_score is not None
    assert by_answer is not None
    assert (by_score.majority, by_answer.majority) == (0, 1)


def test_trials_of_different_number() -> None:
    found = summarise_trials([[1], [], [1, 0]])
    assert found is not None
    assert (found.k, found.n, found.pass_at) == (1, 2, {1: 0.75})
    assert found.flip_rate == 1


def test_many_trials_are_summarised_at_powers_of_two() -> None:
    found = summarise_trials([[1.0] * 500 + [0.0] * 500])
    assert found is not None
    assert list(found.pass_at) == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]


def test_a_single_trial_has_no_spread() -> None:
    found = summarise_trials([[1], [0]])
    assert found is not None
    assert (found.flip_rate, found.within_variance, found.between_variance) == (None, None, None)
    assert summarise_trials([]) is None
    assert summarise_trials([[]]) is None


def test_spread_is_that_of_a_population() -> None:
    assert compute_spread([0.4, 0.6]) == (0.5, 0.1)
    assert compute_spread([]) is None
