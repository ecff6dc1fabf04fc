"""Our contract with a judge: asked only for what rules leave open, read strictly, never guessed."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.registry import scorers
from eyechart.score.default import score_default
from eyechart.score.judged import MAX_SHOWN_CHARS, read_option, read_verdict, score_judged
from eyechart.types import JudgeCall, JudgeFailed, Reply, Sample, Score, answer_calls

CHOICES = {"A": "a cat on a mat", "B": "a dog in the fog"}
CHOICE = Sample(id="1", question="Which?", golds=("B",), choices=CHOICES)
OPEN = Sample(id="1", question="What?", golds=("canine", "dog"))
VAGUE = "Either of the animals could be meant by that."
PARAPHRASE = "man's best friend"


def never(call: JudgeCall) -> str:
    raise AssertionError(f"asked {call.stage}")


def fails(call: JudgeCall) -> str:
    raise JudgeFailed("HTTP 500")


def scored(
    sample: Sample, said: str, judge: Callable[[JudgeCall], str] | str = never, **fields: Any
) -> Score:
    answer = judge if callable(judge) else lambda call: judge
    return answer_calls(score_judged(Reply(text=said, **fields), sample), answer)


@pytest.mark.parametrize(
    ("sample", "said", "fields"),
    [
        (CHOICE, "B", {}),
        (CHOICE, "The answer is A.", {}),
        (CHOICE, "", {}),
        (CHOICE, VAGUE, {"finish_reason": "length"}),
        (CHOICE, VAGUE, {"finish_reason": "content_filter"}),
        (OPEN, "dog", {}),
        (OPEN, "It is a dog.", {"finish_reason": "length"}),
        (Sample(id="1", question="How many?", golds=("3",)), "4", {}),
        (Sample(id="1", question="Is it?", golds=("yes",)), "No.", {}),
        (Sample(id="1", question="What?"), "a dog", {}),
        (Sample(id="1", question="Which?", golds=("E",), choices=CHOICES), VAGUE, {}),
    ],
)
def test_what_rules_decide_is_not_asked(sample: Sample, said: str, fields: dict[str, Any]) -> None:
    assert scored(sample, said, never, **fields) == score_default(Reply(text=said, **fields), sample)


@pytest.mark.parametrize(
    ("sample", "said", "judge", "outcome"),
    [
        (CHOICE, "It is hard to say, but it is no feline.", "B", "correct"),
        (CHOICE, "It is hard to say, but it is no canine.", "A", "wrong"),
        (CHOICE, "I'm sorry, I can't help with that.", "Z", "refused"),
        (OPEN, "I cannot see it well; man's best friend, I would guess.", "CORRECT", "correct"),
        (OPEN, "I cannot tell.", "NONE", "refused"),
        (OPEN, "I cannot tell.", "who knows", "unscored"),
    ],
)
def test_a_reply_that_seems_to_decline_may_still_answer(
    sample: Sample, said: str, judge: str, outcome: str
) -> None:
    assert score_default(Reply(text=said), sample).outcome == "refused"
    assert scored(sample, said, judge).outcome == outcome


@pytest.mark.parametrize(
    ("said", "outcome", "read"),
    [
        ("B", "correct", "B"),
        ("**B**", "correct", "B"),
        ("(b).", "correct", "B"),
        ("A", "wrong", "A"),
        ("Z", "unparsed", None),
        ("C", "unscored", None),
        ("B or A", "unscored", None),
        ("The letter is B", "unscored", None),
        ("", "unscored", None),
    ],
)
def test_an_option_is_one_letter(said: str, outcome: str, read: str | None) -> None:
    score = scored(CHOICE, VAGUE, said)
    assert (score.outcome, score.read, score.route) == (outcome, read, "judge:option")
    assert score.value == (outcome == "correct")
    assert score.detail["judge"] == said


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("CORRECT", "correct"),
        ("Correct.", "correct"),
        ("**correct!**", "correct"),
        ("INCORRECT", "wrong"),
        ("incorrect", "wrong"),
        ("<incorrect>", "wrong"),
        ("NONE", "unparsed"),
        ("not correct", "unscored"),
        ("!correct", "unscored"),
        ("correct?", "unscored"),
        ("~~correct~~", "unscored"),
        ("CORRECT INCORRECT", "unscored"),
        ("The reply is correct", "unscored"),
        ("", "unscored"),
    ],
)
def test_a_verdict_is_one_word(said: str, outcome: str) -> None:
    score = scored(OPEN, PARAPHRASE, said)
    assert (score.outcome, score.route) == (outcome, "judge:verdict")
    assert score.value == (outcome == "correct")
    assert (score.detail.get("fail_reason") == "judge_unreadable") == (outcome == "unscored")


@pytest.mark.parametrize(("sample", "said"), [(CHOICE, VAGUE), (OPEN, PARAPHRASE)])
def test_a_judge_that_fails_leaves_the_sample_unscored(sample: Sample, said: str) -> None:
    score = scored(sample, said, fails)
    assert (score.outcome, score.value) == ("unscored", 0.0)
    assert score.detail == {"fail_reason": "judge_failed", "judge": "HTTP 500"}


@pytest.mark.parametrize(("sample", "said"), [(CHOICE, VAGUE), (OPEN, PARAPHRASE)])
def test_without_a_judge_the_rules_stand(sample: Sample, said: str) -> None:
    assert scorers.get("judged")(Reply(text=said), sample) == score_default(Reply(text=said), sample)


def test_what_the_judge_is_told() -> None:
    calls: list[JudgeCall] = []

    def judge(call: JudgeCall) -> str:
        calls.append(call)
        return "NONE" if call.stage == "verdict" else "Z"

    scored(CHOICE, VAGUE, judge)
    printed = Sample(id="1", question="Which?", golds=("B",), choices=CHOICES, choices_text="(A) x\n(B) y")
    scored(printed, VAGUE, judge)
    scored(OPEN, "word " * MAX_SHOWN_CHARS, judge)
    assert calls[0].values["options"] == "A. a cat on a mat\nB. a dog in the fog"
    assert calls[1].values["options"] == "(A) x\n(B) y"
    assert calls[2].values["gold"] == "canine | dog"
    assert len(calls[2].values["answer"]) < MAX_SHOWN_CHARS + 10
    assert calls[2].values["answer"].endswith("word ")


def test_options_printed_in_the_question_are_options() -> None:
    sample = Sample(id="1", question="Which?\nA. cat\nB. dog", golds=("B",))
    assert scored(sample, VAGUE, "B").route == "judge:option"


@given(st.text(max_size=30), st.text(max_size=30), st.sampled_from([CHOICE, OPEN]))
def test_a_judge_is_right_only_in_the_form_it_was_asked_for(reply: str, said: str, sample: Sample) -> None:
    by_rule = score_default(Reply(text=reply), sample)
    score = scored(sample, reply, said)
    if score.outcome == "correct" and by_rule.outcome != "correct":
        is_option = sample is CHOICE
        assert (read_option(said, CHOICES) == "B") if is_option else (read_verdict(said) == "CORRECT")


@given(st.sampled_from(["not ", "in", "un", "never ", "hardly "]), st.sampled_from(["", "**", "`", "<"]))
def test_a_denial_is_never_correct(denial: str, mark: str) -> None:
    assert read_verdict(f"{mark}{denial}correct{mark}") != "CORRECT"
