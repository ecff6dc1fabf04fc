"""What guessing gets."""

import pytest

from eyechart.report.chance import chance_of
from eyechart.types import Sample

FOUR = {"A": "cat", "B": "dog", "C": "cow", "D": "hen"}


@pytest.mark.parametrize(
    ("choices", "golds", "chance"),
    [
        (FOUR, ("A",), 0.25),
        (FOUR, (), 0.25),
        (FOUR, ("A", "C"), 0.5),  # either is right
        (FOUR, ("B", "dog", "b"), 0.25),  # one option, said in three ways
        (FOUR, ("E", "F"), 0.25),
        ({}, ("Yes", "no "), 0.5),
        ({}, ("true",), 0.5),
        ({}, ("是",), 0.5),
        ({}, ("yes", "maybe"), 0.0),
        ({}, (), 0.0),
        ({}, ("42",), 0.0),
    ],
)
def test_chance(choices: dict[str, str], golds: tuple[str, ...], chance: float) -> None:
    assert chance_of(Sample(id="1", question="?", choices=choices, golds=golds)) == chance


def test_options_that_the_question_prints_count_as_well() -> None:
    written = "Which?\nA. cat\nB. dog\nC. cow\nD. hen"
    assert chance_of(Sample(id="1", question=written, golds=("B",))) == 0.25
    assert chance_of(Sample(id="1", question="Which?", choices_text="A. cat\nB. dog", golds=("B",))) == 0.5
