"""A test that may be looked at after every question: its decisions, its interval, and its error rate."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sequential import decide, draw

from eyechart.stats.sequential import SequentialTest

UNITS = st.lists(
    st.integers(1, 4).flatmap(lambda w: st.tuples(st.just(float(w)), st.floats(0, float(w)))), max_size=60
)


def run(units: list[tuple[float, float]], limit: float = 0.5) -> SequentialTest:
    test = SequentialTest(limit, heaviest=4)
    for weight, total in units:
        test.add(weight, total, n=int(weight))
    return test


@given(units=UNITS, limit=st.floats(0, 1))
def test_the_interval_holds_the_mean_and_agrees_with_the_decision(
    units: list[tuple[float, float]], limit: float
) -> None:
    state = run(units, limit).state()
    assert 0 <= state.low <= state.high <= 1
    assert state.n_clusters == len(units)
    if state.result == "above":
        assert state.low >= limit
    elif state.result == "below":
        assert state.high < limit
    elif state.mean is not None:
        assert state.low - 1e-9 <= state.mean <= state.high + 1e-9


@given(units=UNITS, seed=st.integers(0, 99))
def test_the_interval_does_not_depend_on_the_order(units: list[tuple[float, float]], seed: int) -> None:
    shuffled = random.Random(seed).sample(units, len(units))
    one, other = run(units), run(shuffled)
    if one.result == other.result:
        assert one.state().low == pytest.approx(other.state().low, abs=1e-6)
        assert one.state().high == pytest.approx(other.state().high, abs=1e-6)


def test_nothing_and_little_decide_nothing() -> None:
    assert (run([]).result, run([]).state().mean) == ("", None)
    assert run([(1.0, 1.0)] * 3).result == ""
    test = run([(0.0, 0.0)] * 9)
    assert test.state().n_clusters == 0, "units without weight do not count"


def test_a_decision_stays() -> None:
    test = run([(1.0, 1.0)] * 60)
    assert test.result == "above"
    for _ in range(400):
        test.add(1.0, 0.4)
    assert test.result == "above"
    assert test.state().low >= 0.5
    lost = run([(1.0, 0.0)] * 60 + [(1.0, 1.0)] * 400).state()
    assert lost.result == "below"
    assert lost.low <= lost.high < 0.5 < (lost.mean or 0)


def test_failures_count_against_both_decisions() -> None:
    """Eight of ten right; with two in ten failed, neither side is sure."""
    sure, unsure = SequentialTest(0.7), SequentialTest(0.7)
    for k in range(600):
        sure.add(1.0, float(k % 10 > 1))
        unsure.add(1.0, float(k % 10 > 3), 1.0 if k % 10 > 1 else 0.0)
    assert sure.result == "above"
    assert unsure.result == ""
    state = unsure.state()
    assert state.low < 0.6 < 0.8 < state.high


def test_the_simulation_is_of_this_test() -> None:
    """bench/sequential.py computes many gates at once."""
    rng = np.random.default_rng(1)
    for kind, size, drop in (
        ("right or wrong", 4, 0.2),
        ("partial credit", 0, 0.0),
        ("right or wrong", 1, -0.1),
    ):
        weights, totals = draw(rng, 6, 300, size, drop, kind)
        for row, found in enumerate(decide(weights, totals, 0.05)):
            test = SequentialTest(-0.05, lowest=-1.0, heaviest=weights[row].max())
            first = 0.0
            for k, (weight, total) in enumerate(zip(weights[row], totals[row], strict=True), start=1):
                test.add(float(weight), float(total))
                if test.result and not first:
                    first = float(k if test.result == "above" else -k)
            assert first == found


@pytest.mark.slow
@pytest.mark.parametrize(("images", "size", "kind"), [(400, 1, "right or wrong"), (200, 0, "partial credit")])
def test_looking_all_the_time_keeps_the_error_rate(images: int, size: int, kind: str) -> None:
    results = decide(*draw(np.random.default_rng(33), 400, images, size, 0.05, kind), 0.05)
    assert (results != 0).mean() <= 0.05


@pytest.mark.slow
def test_a_clear_drop_is_decided_early() -> None:
    results = decide(*draw(np.random.default_rng(33), 100, 3000, 1, 0.1, "right or wrong"), 0.05)
    assert (results < 0).mean() > 0.98
    assert np.median(np.abs(results)) <= 0.4 * 3000
