"""Rank intervals and shrinkage."""

import pytest

from eyechart.stats import rank_intervals, shrink_groups


def test_models_far_apart_have_one_rank() -> None:
    scores = {"worst": [0, 0, 0, 1] * 50, "best": [1, 1, 1, 1, 0] * 40, "middle": [1, 0] * 100}
    assert rank_intervals(scores) == {"worst": (3, 3), "best": (1, 1), "middle": (2, 2)}


def test_equal_models_share_the_ranks() -> None:
    assert rank_intervals({"a": [1, 0] * 50, "b": [1, 0] * 50}) == {"a": (1, 2), "b": (1, 2)}


def test_clusters_widen_the_ranks() -> None:
    a, b = [1.0] * 300 + [0.0] * 200, [1.0] * 250 + [0.0] * 250
    assert rank_intervals({"a": a, "b": b})["a"] == (1, 1)
    assert rank_intervals({"a": a, "b": b}, clusters=[k // 50 for k in range(500)])["a"] == (1, 2)


def test_missing_scores_count_for_nobody() -> None:
    a = [1.0] * 90 + [None] * 10
    assert rank_intervals({"a": a, "b": [0.0, 1.0] * 50}) == {"a": (1, 1), "b": (2, 2)}


def test_the_seed_decides() -> None:
    scores = {"a": [1.0, 0.0, 1.0] * 20, "b": [0.0, 1.0, 1.0] * 20, "c": [1.0, 1.0, 0.0] * 20}
    assert rank_intervals(scores, seed=3) == rank_intervals(scores, seed=3)


def test_more_clusters_than_are_drawn() -> None:
    scores = {"a": [1.0, 1.0, 0.0] * 1000, "b": [1.0, 0.0, 0.0] * 1000}
    assert rank_intervals(scores, draws=50) == {"a": (1, 1), "b": (2, 2)}


def test_weights_decide_between_samples() -> None:
    scores = {"a": [1.0, 0.0] * 50, "b": [0.0, 1.0] * 50}
    assert rank_intervals(scores, weights=[5.0, 1.0] * 50)["a"] == (1, 1)


def test_one_unit_says_nothing_of_ranks() -> None:
    assert rank_intervals({"a": [1], "b": [0]}) == {"a": (1, 2), "b": (1, 2)}
    assert rank_intervals({}) == {}
    with pytest.raises(ValueError, match="one score"):
        rank_intervals({"a": [1, 0], "b": [0]})


def test_small_groups_move_towards_the_whole() -> None:
    plain, shrunk = [0.9, 0.5, 0.2, 0.6], shrink_groups([9, 50, 2, 60], [10, 100, 10, 100])
    whole = 121 / 220
    for before, after in zip(plain, shrunk, strict=True):
        assert abs(after - whole) <= abs(before - whole)
    assert abs(shrunk[1] - 0.5) < 0.01 < abs(shrunk[0] - 0.9)


def test_groups_that_differ_by_chance_alone_become_one() -> None:
    assert shrink_groups([5, 5, 6], [10, 10, 10]) == [16 / 30] * 3
    assert shrink_groups([3], [10]) == [0.3]
    assert shrink_groups([1, 0.5], [1, 1]) == [0.75, 0.75]
    assert shrink_groups([0, 0], [10, 0]) == [0, 0]
    with pytest.raises(ValueError, match="without samples"):
        shrink_groups([], [])
