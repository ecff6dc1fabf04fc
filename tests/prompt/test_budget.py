from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.prompt.budget import MAX_ELEMENTS, MAX_STEPS, Budget, TooMuch, measure

VALUES = st.recursive(
    st.none() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.slow
@given(VALUES)
def test_what_is_measured_bounds_what_is_printed(value: Any) -> None:
    elements, characters = measure(value)
    # A number has some digits, an element two marks and a comma, a character ten at worst.
    assert len(repr(value)) <= 30 + 40 * elements + 10 * characters


def test_what_appears_twice_counts_twice() -> None:
    inner = ["ab"] * 10
    assert measure([inner] * 10) == (110, 200)
    assert measure(range(7)) == (7, 0)
    assert measure({"k": inner}.items()) == (13, 21)


@pytest.mark.parametrize(
    "value", [[0] * (MAX_ELEMENTS + 1), [[0] * 999] * 999, ["x" * 999_999] * 2, 1 << 5000]
)
def test_there_is_an_end(value: Any) -> None:
    with pytest.raises(TooMuch):
        measure(value)


def test_turns_are_paid_when_they_come() -> None:
    budget = Budget()
    turns = budget.turns(range(MAX_STEPS + 1))
    for _ in range(MAX_STEPS):
        next(turns)
    assert budget.steps == 0
    with pytest.raises(TooMuch, match="turns of loops"):
        next(turns)


def test_a_filter_pays_for_lists_at_once_and_for_iterators_one_by_one() -> None:
    budget = Budget()
    assert budget.gone_through([1, 2, 3], 2) == [1, 2, 3]
    assert budget.steps == MAX_STEPS - 6
    found = budget.gone_through(iter(["ab", "cd"]), 1)
    assert isinstance(found, Iterator)
    assert (budget.steps, list(found), budget.steps) == (MAX_STEPS - 6, ["ab", "cd"], MAX_STEPS - 8)
