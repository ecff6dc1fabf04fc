"""What guessing gets."""

import pytest

from eyechart.report.choices import compute_chance
from eyechart.report.summary import summarise
from eyechart.types import Result, Sample
from support.results import result

FOUR = {"A": "cat", "B": "dog", "C": "cow", "D": "hen"}


@pytest.mark.parametrize(
    ("choices", "golds", "chance"),
    [
        (FOUR, ("A",), 0.25),
        (FOUR, (), 0.25),
        (FOUR, ("A", "C"), 0.5),  # either is right
        (FOUR, ("B", "dog", "b"), 0.25),  # one option, said in three ways
        (FOUR, ("E", "F"), 0.25),
        (FOUR, ("AB",), 1 / 15),  # both must be named: one of the sets that are not empty
        (FOUR, ("A, C",), 1 / 15),
        (FOUR, ("A、B、D",), 1 / 15),
        (FOUR, ("A and B",), 1 / 15),
        (FOUR, ("AB", "ABC"), 2 / 15),
        (FOUR, ("AA",), 0.25),  # no set of options
        (FOUR, ("AX",), 0.25),
        (FOUR, ("dog",), 0.25),
        (FOUR, ("Dog", "cow"), 0.5),
        ({"A": "red", "B": "blue", "C": "Red", "D": "green"}, ("RED",), 0.5),  # either letter is right
        ({"A": "AB", "B": "O", "AB": "x"}, ("AB",), 1 / 3),  # an option is called so
        ({}, ("Yes", "no "), 1.0),  # either is right
        ({}, ("Yes", "true"), 0.5),
        ({}, ("true",), 0.5),
        ({}, ("是",), 0.5),
        ({}, ("yes", "maybe"), 0.0),
        ({}, (), 0.0),
        ({}, ("42",), 0.0),
    ],
)
def test_chance(choices: dict[str, str], golds: tuple[str, ...], chance: float) -> None:
    assert compute_chance(Sample(id="1", question="?", choices=choices, golds=golds)) == chance


def test_options_that_the_question_prints_count_as_well() -> None:
    written = "Which?\nA. cat\nB. dog\nC. cow\nD. hen"
    assert compute_chance(Sample(id="1", question=written, golds=("B",))) == 0.25
    assert (
        compute_chance(Sample(id="1", question="Which?", choices_text="A. cat\nB. dog", golds=("B",))) == 0.5
    )


@pytest.mark.parametrize(
    ("question", "gold", "chance"),
    [
        ("Which? A. cat B. dog C. cow D. hen", "B", 0.25),
        ("Which? (A) cat (B) dog", "B", 0.5),
        ("Look closely.\nWhich? A. cat B. dog C. cow D. hen", "B", 0.25),
        ("Which?\nA. cat\nB. dog", "dog", 0.5),
        ("Which? A. cat B. dog C. cow D. hen", "cow", 0.25),
        ("Which two?\nA. cat\nB. dog\nC. cow", "AC", 1 / 7),
        ("哪个？A. 猫 B. 狗 C. 牛 D. 鸡", "B", 0.25),
        ("Which? A. cat B. dog", "C", 0.0),
        ("Which? A. cat B. dog", "a horse", 0.0),
        ("Who is A. Smith?", "A", 0.0),
        ("Is A. Smith here?", "yes", 0.5),
        ("Which grade has the most? Grades are A, B and C.", "B", 0.0),
    ],
)
def test_options_in_the_question_count_if_the_gold_is_of_them(
    question: str, gold: str, chance: float
) -> None:
    assert compute_chance(Sample(id="1", question=question, golds=(gold,))) == chance


def chance_over(results: list[Result]) -> float | None:
    return summarise(results, benchmark="b", model="m").overall.chance


def test_chance_is_taken_over_the_samples_that_the_score_is_over() -> None:
    two, four = {"A": "cat", "B": "dog"}, FOUR
    results = [
        result(0, "correct", choices=two, golds=("A",)),
        result(1, "wrong", choices=two, golds=("B",)),
        result(2, "failed", choices=four, golds=("A",)),
        result(3, "unscored", choices=four, golds=()),
        result(4, None, choices=four, golds=("A",)),
    ]
    assert chance_over(results) == 0.5
    assert chance_over(results[2:]) == 0.25  # no score yet: over all that are asked
