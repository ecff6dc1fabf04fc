"""Gains between checkpoints: what they are, and that the error spent stays below its limit."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.stats.curves import ALPHA, _find_confidence, compare_checkpoints
from eyechart.stats.paired import paired

values = st.lists(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=12, max_size=12), min_size=1, max_size=5
)


@given(values)
def test_gains_are_differences_of_means_within_their_ends(drawn: list[list[float]]) -> None:
    curve = compare_checkpoints(drawn)
    assert len(curve.gains) == len(drawn) * (len(drawn) - 1) // 2
    for (since, at), gain in curve.gains.items():
        assert gain.difference == pytest.approx(curve.means[at] - curve.means[since])
        assert gain.low <= gain.difference <= gain.high
        back = curve.get_gain(at, since)
        assert (back.low, back.high) == (-gain.high, -gain.low)
    assert curve.means[curve.best] == max(curve.means)


@given(values, st.floats(0.001, 1))
def test_a_plateau_is_claimed_only_below_the_margin(drawn: list[list[float]], margin: float) -> None:
    curve = compare_checkpoints(drawn)
    since = curve.find_plateau(margin)
    later = range(len(drawn))
    claims = [s for s in later[:-1] if all(curve.gains[s, at].high < margin for at in later[s + 1 :])]
    assert since == (claims[0] if claims else None)


def test_earlier_gains_do_not_change_when_checkpoints_follow() -> None:
    rng = random.Random(1)
    drawn = [[float(rng.random() < 0.3 + 0.1 * k) for _ in range(100)] for k in range(6)]
    whole = compare_checkpoints(drawn)
    for n in range(1, 6):
        assert compare_checkpoints(drawn[:n]).gains.items() <= whole.gains.items()


def test_the_error_is_spent_and_no_more() -> None:
    spent = [1 - _find_confidence(since, at, ALPHA) for at in range(1, 400) for since in range(at)]
    assert 0.99 * ALPHA < math.fsum(spent) < ALPHA
    against_first = math.fsum(1 - _find_confidence(0, at, ALPHA) for at in range(1, 400))
    assert against_first > ALPHA / 2


def test_the_intervals_are_those_of_pairs_at_their_level() -> None:
    rng = random.Random(2)
    drawn = [[rng.choice([0.0, 0.5, 1.0]) for _ in range(60)] for _ in range(3)]
    clusters, weights = [k // 3 for k in range(60)], [1.0 + k % 2 for k in range(60)]
    gain = compare_checkpoints(drawn, weights, clusters).gains[1, 2]
    found = paired(drawn[2], drawn[1], weights, clusters, confidence=_find_confidence(1, 2, ALPHA))
    assert found is not None
    assert (gain.difference, gain.low, gain.high) == (found.difference, found.low, found.high)


def test_whole_curves_are_held() -> None:
    """A short simulation; bench/curves.py is the long one."""
    rng, held = random.Random(3), 0
    for _ in range(300):
        luck = [rng.random() for _ in range(80)]
        drawn = [[float(0.6 * one + 0.4 * rng.random() < 0.5) for one in luck] for _ in range(6)]
        held += all(gain.low <= 0 <= gain.high for gain in compare_checkpoints(drawn).gains.values())
    assert held >= 280
