"""The arithmetic of an audit: gains, letters, versions, and the verdict in words."""

from collections.abc import Sequence

import pytest

from eyechart import stats
from eyechart.report.audit import (
    AuditedQuestions,
    build_verdict,
    compare_conditions,
    find_blind_solvable,
    group_rotations,
    merge_versions,
)
from eyechart.report.choices import compute_letter_bias
from eyechart.types import Result, Sample, Score

CHOICES = {"A": "cat", "B": "dog", "C": "cow", "D": "hen"}


def make_questions(n: int = 40, **values: Sequence[float | None]) -> AuditedQuestions:
    return AuditedQuestions(
        ids=[f"q{k}" for k in range(n)],
        weights=[1.0] * n,
        clusters=[f"c{k // 2}" for k in range(n)],
        chances=[0.25] * n,
        values={name.replace("_", "-"): several for name, several in values.items()},
    )


def make_result(
    gold: str, read: str | None, position: int = 0, *, circle: str = "", name: str = "", trial: int = 0
) -> Result:
    sample = Sample(
        id=name or str(position), question="Which?", golds=(gold,), choices=CHOICES, circle=circle
    )
    is_right = read == gold
    score = Score(outcome="correct" if is_right else "wrong", value=float(is_right), read=read)
    return Result(sample=sample, position=position, trial=trial, score=score)


# -- conditions


def test_gains_are_paired_and_clustered_and_corrected_for_their_number() -> None:
    image, none = [1.0] * 30 + [0.0] * 10, [1.0, 0.0] * 20
    blank = [None, *image[1:]]
    questions = make_questions(image=image, none=none, blank=blank)
    found = compare_conditions(questions, {"image": ["i"], "none": ["n"], "blank": ["b"]})
    expected = stats.paired(image, none, clusters=questions.clusters)
    assert expected is not None
    assert found["none"].gain == expected.difference
    assert found["none"].gain_ci95 == (expected.low, expected.high)
    assert (found["none"].n_clusters, found["none"].runs) == (20, ("n",))
    assert found["blank"].gain == 0.0
    assert (found["blank"].n, found["blank"].n_paired) == (39, 39)
    assert found["image"].gain is None
    ps = [found[name].p or 0.0 for name in ("none", "blank")]
    assert [found[name].p_adjusted for name in ("none", "blank")] == stats.adjust_holm(ps)


def test_a_condition_without_scores_has_no_numbers() -> None:
    questions = make_questions(2, image=[1.0, 0.0], none=[None, None])
    found = compare_conditions(questions, {"image": ["i"], "none": ["n"]})
    assert (found["none"].n, found["none"].score, found["none"].gain) == (0, None, None)
    assert build_verdict(found, 0.25).startswith("Nothing can be said")


def test_the_text_model_is_no_condition() -> None:
    questions = make_questions(2, image=[1.0, 0.0], text_model=[1.0, 0.0])
    assert list(compare_conditions(questions, {"image": ["i"], "text-model": ["t"]})) == ["image"]
    assert find_blind_solvable(questions, "text-model") == ("q0",)
    assert find_blind_solvable(questions) == ()


# -- the verdict


@pytest.mark.parametrize(
    ("image", "other", "begin"),
    [
        ([1.0] * 36 + [0.0] * 4, [0.0] * 36 + [1.0] * 4, "The image matters: with it 90.0 % of 40 questions"),
        ([0.0] * 36 + [1.0] * 4, [1.0] * 36 + [0.0] * 4, "The image misleads the model: with it 10.0 %"),
        ([1.0, 0.0] * 20, [0.0, 1.0] * 20, "No effect of the image shows: with it 50.0 %"),
    ],
)
def test_the_verdict_says_what_the_interval_allows(
    image: list[float], other: list[float], begin: str
) -> None:
    questions = make_questions(image=image, none=other)
    said = build_verdict(compare_conditions(questions, {"image": ["i"], "none": ["n"]}), None)
    assert said.startswith(begin)
    assert said.count(". ") == 0, "one sentence"
    assert "guessing" not in said


def test_the_verdict_says_what_would_not_have_shown() -> None:
    image = [1.0, 1.0, 0.0, 0.0] * 10
    other = [1.0, 1.0, 1.0, 0.0] * 5 + [1.0, 0.0, 0.0, 0.0] * 5
    found = compare_conditions(make_questions(image=image, none=other), {"image": ["i"], "none": ["n"]})
    smallest = found["none"].smallest_difference
    assert smallest is not None
    found_with = f"a true one of {100 * smallest:.1f} would be found with a power of 80 %"
    assert found_with in build_verdict(found, None)


def test_without_a_blind_run_the_verdict_is_about_the_next_condition() -> None:
    questions = make_questions(image=[1.0] * 40, shuffled=[0.0] * 40)
    found = compare_conditions(questions, {"image": ["i"], "shuffled": ["s"]})
    assert "with another question's image 0.0 %" in build_verdict(found, 0.25)


@pytest.mark.parametrize(
    ("none", "blank", "shuffled", "begin"),
    [
        (0.0, 1.0, 1.0, "An image is needed, but not this one: with it 80.0 %"),
        (0.0, 0.0, 0.0, "The image matters: with it"),
        (0.0, 1.0, 0.0, "An image is needed, but no difference from a blank one shows: with it"),
        (0.0, 0.0, 1.0, "An image is needed, but no difference from another question's shows: with it"),
        (1.0, 1.0, 0.0, "No image is needed, but another question's changes the score: with it"),
        (1.0, 1.0, 1.0, "No effect of the image shows: with it"),
    ],
)
def test_the_verdict_uses_all_conditions(none: float, blank: float, shuffled: float, begin: str) -> None:
    image = [1.0] * 32 + [0.0] * 8
    questions = make_questions(
        image=image,
        none=[none * one for one in image],
        blank=[blank * one for one in image],
        shuffled=[shuffled * one for one in image],
    )
    runs = {name: ["r"] for name in ("image", "none", "blank", "shuffled")}
    said = build_verdict(compare_conditions(questions, runs), 0.25)
    assert said.startswith(begin)
    assert (
        f"with a blank image {80 * blank:.1f} %, with another question's image {80 * shuffled:.1f} %" in said
    )


# -- versions and letters


def test_rotations_are_grouped_by_question_and_averaged_over_trials() -> None:
    results = [
        make_result("A", "A", 0, circle="q", name="q"),
        make_result("A", "B", 0, circle="q", name="q", trial=1),
        make_result("D", "B", 1, circle="q", name="q#r1"),
        make_result("A", "A", 2, name="alone"),
    ]
    found = group_rotations(results)
    assert found == {"q": [0.5, 0.0], "alone": [1.0]}
    assert merge_versions(found.values()) == ([0.25, 1.0], [True, None]), "one version cannot differ"


def test_letters_are_counted_where_a_letter_was_read() -> None:
    results = [make_result("ABCD"[k % 4], "B", k) for k in range(40)]
    results += [make_result("A", None, 40), make_result("A", "a dog", 41)]
    bias = compute_letter_bias(results, "image")
    assert bias is not None
    assert (bias.n, bias.is_biased) == (40, True)
    assert bias.letters["B"].difference == pytest.approx(0.75)
    assert sum(one.chosen for one in bias.letters.values()) == pytest.approx(1)
    assert bias.p == min(one.p_adjusted for one in bias.letters.values())


def test_an_unbiased_model_that_errs_evenly_is_not_accused() -> None:
    results = [make_result("ABCD"[k % 4], "ABCD"[(k + k // 4) % 4], k) for k in range(64)]
    bias = compute_letter_bias(results, "image")
    assert bias is not None
    assert not bias.is_biased


def test_open_questions_have_no_letters() -> None:
    sample = Sample(id="1", question="What?", golds=("red",))
    score = Score(outcome="correct", value=1.0, read="red")
    assert compute_letter_bias([Result(sample=sample, position=0, score=score)], "image") is None
