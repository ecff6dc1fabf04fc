"""What other people's code hands over is looked at where it comes in."""

from __future__ import annotations

from typing import Any

import pytest

from eyechart.errors import DataError
from eyechart.types import Sample
from eyechart.validate import check_sample, check_samples

SLIPS: list[dict[str, Any]] = [
    {"id": 7},
    {"question": None},
    {"images": ["a.png"]},
    {"golds": "A"},
    {"golds": ("A", 3)},
    {"choices": ["cat", "dog"]},
    {"meta": None},
    {"weight": -1.0},
    {"weight": float("nan")},
    {"weight": float("inf")},
    {"weight": "2"},
    {"weight": True},
    {"weight": 1e300},
    {"weight": 1e-30},
]


@pytest.mark.parametrize("slip", SLIPS, ids=str)
def test_a_slip_in_a_sample_is_named(slip: dict[str, Any]) -> None:
    [name] = slip
    with pytest.raises(DataError, match=f": {name} must be ") as caught:
        check_sample(Sample(**{"id": "1", "question": "?", **slip}), 1)
    assert caught.value.hint == "correct it where the Sample is created"


def test_what_is_no_sample_is_named_by_its_place() -> None:
    samples = check_samples([Sample(id="1", question="?"), {"id": "2"}])
    assert next(samples).id == "1"
    with pytest.raises(DataError, match="item 2 of the source is not a Sample but dict"):
        next(samples)


def test_a_long_slip_is_shown_in_part() -> None:
    with pytest.raises(DataError) as caught:
        check_sample(Sample(id="1", question=["a"] * 500), 1)  # type: ignore[arg-type]
    assert len(caught.value.message) < 150
    assert caught.value.message.endswith("…")


@pytest.mark.parametrize("weight", [0, 1, 2.5])
def test_a_sound_sample_comes_as_it_is(weight: float) -> None:
    sample = Sample(id="1", question="?", golds=("A",), choices={"A": "cat"}, weight=weight)
    assert check_sample(sample, 1) is sample
