"""The choice scorers: golds, outcomes, and the official verdict beside ours."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.errors import UsageError
from eyechart.score import choice
from eyechart.score.judged import render_call
from eyechart.score.thinking import show_reply
from eyechart.types import JudgeCall, JudgedScorer, JudgeFailed, NoJudge, Reply, Sample, Score, answer_calls

CHOICES = {"A": "cat", "B": "dog", "C": "bird", "D": "fish"}


def score(
    name: str, text: str, gold: str = "B", *, finish: str = "stop", choices: dict[str, str] = CHOICES
) -> Score:
    sample = Sample(id="1", question="Which?", golds=(gold,) if gold else (), choices=choices)
    scorer = registry.scorers.get(name)
    return scorer(show_reply(Reply(text=text, finish_reason=finish), scorer), sample)


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
    ("text", "read"),
    [
        ("\n\nIt is a very big dog" + " " * 60, "D"),  # the length limit counts no outer blanks
        ("None", None),  # read back as nan
        ("=D", None),  # a formula
        ("D\r\nbecause", None),  # Excel's code of the carriage return is part of the token
        ("It is\r\nD", "D"),
    ],
)
def test_official_forms_see_what_the_file_of_predictions_gives_back(text: str, read: str | None) -> None:
    options = {"A": "teddy bear", "B": "no", "C": "cat", "D": "dog"}
    for name in ("choice-vlmevalkit", "choice-vlmevalkit-2026-06"):
        assert score(name, text, "D", choices=options).read == read


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


def judged(
    text: str,
    said: Sequence[str | Exception],
    *,
    question: str = "Which?",
    gold: str = "B",
    weight: float = 1.0,
) -> tuple[Score, list[JudgeCall]]:
    """The score with a judge that says these things in turn, and what it was asked."""
    scorer = registry.scorers.get("choice-vlmevalkit")
    assert isinstance(scorer, JudgedScorer)
    golds = (gold,) if gold else ()
    sample = Sample(id="1", question=question, golds=golds, choices=CHOICES, weight=weight)
    calls: list[JudgeCall] = []

    def judge(call: JudgeCall) -> str:
        calls.append(call)
        reply = said[len(calls) - 1]
        if isinstance(reply, Exception):
            raise reply
        return reply

    return answer_calls(scorer.steps(Reply(text=text), sample), judge), calls


def test_a_judge_is_asked_only_where_the_rules_are_undecided() -> None:
    score, calls = judged("b", ["B"])
    assert (score.outcome, score.value, score.read) == ("correct", 1.0, "B")
    assert (score.route, score.detail) == ("choice:vlmevalkit:judge", {"judge": "B"})
    [call] = calls
    assert call.stage == "choice"
    assert call.values == {"question": "Which?", "options": "A. cat\nB. dog\nC. bird\nD. fish", "answer": "b"}
    assert render_call(call, {}).count("D. fish") == 1
    assert judged("A", [])[0].outcome == "wrong"
    assert judged("b", [], gold="")[0].outcome == "unscored"


@pytest.mark.parametrize(
    ("said", "outcome", "read", "n_calls"),
    [
        (["A"], "wrong", "A", 1),
        (["Z"], "wrong", "Z", 1),
        (["the dog"], "correct", "B", 1),
        (["hm", "B"], "correct", "B", 2),
        (["hm", "", "B"], "correct", "B", 3),
        (["hm", "hm", "hm"], "unparsed", None, 3),
        ([JudgeFailed("HTTP 500")], "unscored", None, 1),
        (["hm", JudgeFailed("HTTP 500")], "unscored", None, 2),
        ([NoJudge("none")], "unparsed", None, 1),
    ],
)
def test_what_a_judge_says_is_read_by_the_same_rules(
    said: list[str | Exception], outcome: str, read: str | None, n_calls: int
) -> None:
    score, calls = judged("b", said)
    assert (score.outcome, score.read, len(calls)) == (outcome, read, n_calls)
    assert score.value == (outcome == "correct")


def test_a_failed_judge_leaves_its_reason() -> None:
    detail = judged("b", [JudgeFailed("HTTP 500")])[0].detail
    assert detail == {"fail_reason": "judge_failed", "judge": "HTTP 500"}
    assert judged("b", [NoJudge("none")])[0] == score("choice-vlmevalkit", "b")


@pytest.mark.parametrize(
    ("question", "stage"),
    [("图中是什么？", "choice-zh"), ("Was ist 一?", "choice-zh"), ("どれ", "choice"), ("Which？", "choice")],
)
def test_a_question_in_chinese_is_put_to_the_judge_in_chinese(question: str, stage: str) -> None:
    _, [call] = judged("b", ["B"], question=question)
    assert call.stage == stage


def test_a_sample_without_options_is_not_put_to_a_judge() -> None:
    assert score("choice-vlmevalkit", "b", choices={}).outcome == "unparsed"


def test_a_row_that_weighs_nothing_is_not_put_to_a_judge() -> None:
    score, calls = judged("b", [], weight=0.0)
    assert (score.outcome, calls) == ("unparsed", [])


@given(text=st.text(max_size=60), said=st.lists(st.text(max_size=20), min_size=3, max_size=3))
def test_a_judge_never_undoes_what_the_rules_decide(text: str, said: list[str]) -> None:
    plain = score("choice-vlmevalkit", text)
    with_judge, calls = judged(text, said)
    assert len(calls) <= 3
    if plain.read is not None:
        assert with_judge == plain
        assert not calls


def test_reading_alone_takes_options_by_letter_or_as_a_list() -> None:
    texts = list(CHOICES.values())
    for reply in ("The answer is B.", "dog", "a bear"):
        assert choice.read(reply, texts) == choice.read(reply, CHOICES)
        assert choice.infer(reply, texts) == choice.infer(reply, CHOICES)
    assert choice.read(None, CHOICES) is None
    with pytest.raises(UsageError, match="options must be"):
        choice.read("B", "A. cat")
