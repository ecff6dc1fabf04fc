"""The grammar of questions, and the way from a finding to an option."""

import pytest

from eyechart.baselines.question import match_option, read_question
from eyechart.baselines.shapes import name_colour


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What colour is the small circle?", {"asks_colour": True, "asks_shape": False}),
        ("Which color does the square have?", {"asks_colour": True}),
        ("What shape is in the image?", {"asks_shape": True, "asks_colour": False}),
        ("What is the red shape?", {"asks_shape": True}),
        ("How many dots are there?", {"asks_count": True}),
        ("Where is the star?", {"asks_place": True}),
        ("Is there no red shape?", {"is_yes_no": True, "is_negated": True}),
        ("Does the image contain a circle? Answer yes or no.", {"is_yes_no": True, "is_negated": False}),
        ("Is it red or blue?", {"is_yes_no": False}),
        ("What is left of the star?", {"relation": "left"}),
        ("Which shape is between the star and the cross?", {"relation": "between"}),
    ],
)
def test_what_is_asked(text: str, expected: dict[str, object]) -> None:
    question = read_question(text)
    assert {key: getattr(question, key) for key in expected} == expected


@pytest.mark.parametrize(
    ("text", "extreme", "rank"),
    [
        ("Which bar is the tallest?", 1, 1),
        ("Which has the second lowest value?", -1, 2),
        ("Which came third?", 1, 3),
        ("Which is it?", 0, 1),
    ],
)
def test_extremes(text: str, extreme: int, rank: int) -> None:
    subject = read_question(text).subject
    assert (subject.extreme, subject.rank) == (extreme, rank)


CHOICES = {"A": "a grey cat", "B": "12", "C": "12.50", "D": "Old Town", "E": "the violet one"}


@pytest.mark.parametrize(
    ("found", "letter"),
    [
        ("12", "B"), ("12.0", "B"), ("$12.50", "C"), ("OldTown", "D"), ("Old Tovvn", None), ("purple", "E"),
        ("gray", "A"), ("13", None), ("dog", None), ("", None),
    ],
)  # fmt: skip
def test_match_option(found: str, letter: str | None) -> None:
    assert match_option(found, CHOICES) == letter


def test_a_tie_is_no_match() -> None:
    assert match_option("red", {"A": "red", "B": "Red"}) is None


@pytest.mark.parametrize(
    ("rgb", "name"),
    [
        ((255, 0, 0), "red"), ((255, 165, 0), "orange"), ((255, 255, 0), "yellow"), ((0, 128, 0), "green"),
        ((0, 255, 0), "green"), ((0, 0, 255), "blue"), ((0, 0, 90), "blue"), ((128, 0, 128), "purple"),
        ((255, 192, 203), "pink"), ((139, 69, 19), "brown"), ((128, 128, 128), "grey"), ((0, 0, 0), "black"),
        ((255, 255, 255), "white"), ((0, 128, 128), "teal"), ((245, 222, 179), "beige"),
        ((31, 119, 180), "blue"), ((44, 160, 44), "green"), ((214, 39, 40), "red"),
        ((148, 103, 189), "purple"), ((255, 127, 14), "orange"),
    ],
)  # fmt: skip
def test_colour_names(rgb: tuple[int, int, int], name: str) -> None:
    assert name_colour(rgb) == name
