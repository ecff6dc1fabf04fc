"""The choice scorers: golds, outcomes, and the official verdict beside ours."""

import pytest

from eyechart import registry
from eyechart.types import Reply, Sample, Score

CHOICES = {"A": "cat", "B": "dog", "C": "bird", "D": "fish"}


def score(
    name: str, text: str, gold: str = "B", *, finish: str = "stop", choices: dict[str, str] = CHOICES
) -> Score:
    sample = Sample(id="1", question="Which?", golds=(gold,) if gold else (), choices=choices)
    return registry.scorers.get(name)(Reply(text=text, finish_reason=finish), sample)


@pytest.mark.parametrize(
    ("text", "gold", "outcome"),
    [
        ("B", "B", "correct"),
        ("b", "b", "correct"),
        ("**B**", "dog", "correct"),
        ("dog", "B", "correct"),
        ("A", "B", "wrong"),
        ("A or B", "B", "unparsed"),
        ("", "B", "unparsed"),
        ("I'm sorry, I can't help with that.", "B", "refused"),
        ("无法判断", "B", "refused"),
        ("I'm not sure, but I choose B", "B", "correct"),
        ("B", "", "unscored"),
        ("B", "horse", "unscored"),
    ],
)
def test_our_scorer(text: str, gold: str, outcome: str) -> None:
    found = score("choice", text, gold)
    assert found.outcome == outcome
    assert found.value == (outcome == "correct")


def test_a_score_keeps_its_evidence() -> None:
    found = score("choice", "Woof. The answer is (B).")
    assert (found.read, found.route, found.detail["evidence"]) == ("B", "choice:stated", "B")


def test_without_options_letters_are_still_read() -> None:
    assert score("choice", "The answer is (C).", "C", choices={}).outcome == "correct"
    assert score("choice", "A cat is on the mat", "A", choices={}).outcome == "unparsed"


def test_what_was_read_is_kept_without_a_gold() -> None:
    found = score("choice", "B", "")
    assert (found.outcome, found.read, found.value) == ("unscored", "B", 0.0)


@pytest.mark.parametrize(
    ("text", "gold", "outcome", "read"),
    [
        ("B", "B", "correct", "B"),
        ("A", "B", "wrong", "A"),
        ("b", "B", "unparsed", None),
        ("B", "dog", "wrong", "B"),
        ("Z", "B", "wrong", "Z"),
        ("Cannot determine the answer", "B", "refused", "Z"),
        ("I can't process this file.", "B", "refused", "Z"),
        ("I'm sorry, I can't help with that.", "B", "refused", None),
        ("", "B", "unparsed", None),
        ("B", "", "unscored", "B"),
    ],
)
def test_the_official_scorer(text: str, gold: str, outcome: str, read: str | None) -> None:
    found = score("choice-vlmevalkit", text, gold)
    assert (found.outcome, found.read, found.value) == (outcome, read, float(outcome == "correct"))


def test_the_three_official_forms_differ_where_history_does() -> None:
    text = "The answer is b"
    names = ("choice-vlmevalkit", "choice-vlmevalkit-2026-06", "choice-vlmevalkit-2025-08")
    assert [score(name, text).value for name in names] == [1.0, 0.0, 0.0]
    text = "B is what I see in this picture"
    assert [score(name, text).value for name in names] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("text", "finish", "ours", "official"),
    [
        ("B", "length", "correct", "correct"),
        ("**B**", "length", "correct", "correct"),
        ("A", "length", "wrong", "wrong"),
        ("The answer is B because", "length", "truncated", "correct"),
        ("Let me look at", "length", "truncated", "truncated"),
        ("The answer is B", "length", "truncated", "correct"),
        ("B", "content_filter", "refused", "correct"),
        ("", "content_filter", "refused", "refused"),
        ("", "refusal", "refused", "refused"),
        ("", "length", "truncated", "truncated"),
    ],
)
def test_cut_off_and_withheld_replies(text: str, finish: str, ours: str, official: str) -> None:
    assert score("choice", text, finish=finish).outcome == ours
    assert score("choice-vlmevalkit-2026-06", text, finish=finish).outcome == official
