"""Judges beside people and beside each other, and scores corrected by a person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import stats
from eyechart.stats import (
    compute_agreement,
    compute_krippendorff_alpha,
    compute_wilson,
    correct_by_person,
    interval,
)

# Krippendorff (2011), Computing Krippendorff's alpha-reliability, section C: four observers, twelve units.
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")
UNITS = [[None if mark == "." else int(mark) for mark in unit] for unit in zip(*OBSERVERS, strict=True)]


def test_alpha_as_published() -> None:
    assert compute_krippendorff_alpha(UNITS) == pytest.approx(0.743, abs=5e-4)


def test_alpha_of_two_observers_as_published() -> None:
    """Section A of the same paper: two observers, ten binary units."""
    units = list(zip([0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0], strict=True))
    assert compute_krippendorff_alpha(units) == pytest.approx(0.095, abs=5e-4)


def test_alpha_without_anything_to_compare() -> None:
    assert compute_krippendorff_alpha([]) is None
    assert compute_krippendorff_alpha([["a", None], [None, None]]) is None
    assert compute_krippendorff_alpha([["a", "a"], ["a", "a"]]) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2))
def test_alpha_and_kappa_tell_the_same_story(rows: list[tuple[bool, bool]]) -> None:
    alpha = compute_krippendorff_alpha(rows)
    found = compute_agreement(*zip(*rows, strict=True))
    assert found is not None
    assert (alpha == 1) == (found.agreement == 1 and alpha is not None)
    assert alpha is None or -1 <= alpha <= 1
    assert found.kappa is None or -1 <= found.kappa <= 1


def test_agreement_by_hand() -> None:
    """The usual example of Cohen's kappa: 20 and 15 agreements, 5 and 10 disagreements, kappa 0.4."""
    judge = [True] * 25 + [False] * 25
    person = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    found = compute_agreement(judge, person)
    assert found is not None
    assert (found.both_right, found.only_judge, found.only_person, found.both_wrong) == (20, 5, 10, 15)
    assert (found.n, found.agreement) == (50, 0.7)
    assert found.kappa == pytest.approx(0.4)
    assert (found.sensitivity, found.specificity) == (20 / 30, 15 / 20)
    assert found.sensitivity_interval == compute_wilson(20, 30)
    assert found.specificity_interval == compute_wilson(15, 20)
    assert found.agreement_interval == compute_wilson(35, 50)


def test_agreement_on_one_verdict_alone() -> None:
    found = compute_agreement([True, True], [True, True])
    assert found is not None
    assert (found.agreement, found.kappa, found.sensitivity, found.specificity) == (1, None, 1, None)
    assert found.specificity_interval is None
    assert compute_agreement([], []) is None


# -- Correcting a judge


def test_a_perfect_judge_is_taken_at_its_word() -> None:
    """The audit confirms every verdict: the interval is about that of all replies."""
    judged = [float(k % 4 > 0) for k in range(1000)]
    found = correct_by_person(judged, judged[:200], judged[:200])
    alone = interval(judged)
    assert alone is not None
    assert found.mean == pytest.approx(0.75)
    assert (found.n, found.method) == (1000, "ppi++")
    assert found.high - found.low < 1.5 * (alone.high - alone.low)


def test_a_judge_that_guesses_is_not_listened_to() -> None:
    """The corrected score is then that of the checked replies alone."""
    person = [float(k % 2) for k in range(200)]
    judged = [float(k // 2 % 2) for k in range(1000)]
    found, alone = correct_by_person(judged, judged[:200], person), interval(person)
    assert alone is not None
    assert found.mean == pytest.approx(0.5)
    assert found.high - found.low == pytest.approx(alone.high - alone.low, rel=0.05)


def test_a_lenient_judge_is_corrected() -> None:
    """It calls right what is right, and a quarter of what is wrong."""
    person = [1.0] * 100 + [0.0] * 100
    judged = [1.0] * 100 + [1.0] * 25 + [0.0] * 75
    found = correct_by_person(judged * 5, judged, person)
    assert found.mean == pytest.approx(0.5)
    assert found.high < 0.625


def test_clusters_widen_a_corrected_score() -> None:
    person = [float(k // 10 % 2) for k in range(200)]
    judged = [1.0] * 200
    plain = correct_by_person(judged * 5, judged, person)
    together = correct_by_person(judged * 5, judged, person, clusters=[k // 10 for k in range(200)])
    assert together.n_clusters == 20
    assert together.high - together.low > 2.5 * (plain.high - plain.low)


@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 1.0])), min_size=2, max_size=40))
def test_a_corrected_score_stays_a_share(rows: list[tuple[float, float]]) -> None:
    judged, person = zip(*rows, strict=True)
    found = correct_by_person([*judged, 1.0, 1.0, 0.0], judged, person)
    assert 0 <= found.low <= found.mean <= found.high <= 1


def test_an_audit_needs_replies() -> None:
    with pytest.raises(ValueError, match="at least two"):
        correct_by_person([1, 0, 1], [1], [1])
    with pytest.raises(ValueError, match="out of all"):
        correct_by_person([1], [1, 0], [1, 0])


def test_the_former_name_of_the_correction_still_works() -> None:
    assert stats.correct_by_audit is correct_by_person
