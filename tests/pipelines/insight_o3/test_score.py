"""InSight-o3's verdict against the official code, and as a scorer."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.images.pixels import fit_size
from eyechart.pipelines.insight_o3.score import (
    CROPPED,
    MAX_ANSWER_LENGTH,
    InsightScorer,
    extract_by_rule,
    scaled_size,
    verdict,
)
from eyechart.registry import scorers
from eyechart.types import JudgeCall, JudgeFailed, Judging, Reply, Sample, Score, answer_calls
from support.cases import for_each
from support.insight_o3 import vectors

OPTIONS = "A. red\nB. blue"
CHOICE = Sample(id="1", question="Which?", golds=("B",), choices_text=OPTIONS)
OPEN = Sample(id="1", question="Which?", golds=("blue",))

text = st.text(max_size=40) | st.lists(
    st.sampled_from(["<answer>", "</answer>", "\\boxed{", "}", "{", "B", " ", "\n", "blue"]), max_size=12
).map("".join)


class Broken(Exception):
    pass


class Script:
    """A judge that says what the vector holds: a text, nothing, or an HTTP status, which is a failure."""

    def __init__(self, replies: list[Any]) -> None:
        self.replies = replies
        self.stages: list[str] = []
        self.answers: list[str] = []

    def __call__(self, stage: str, answer: str) -> str | None:
        said = self.replies[len(self.stages)]
        self.stages.append(stage)
        self.answers.append(answer)
        if isinstance(said, int):
            raise Broken(said)
        assert said is None or isinstance(said, str)
        return said


def says(*replies: str) -> Callable[[JudgeCall], str]:
    left = list(replies)
    return lambda call: left.pop(0)


def fails(call: JudgeCall) -> str:
    raise JudgeFailed("HTTP 500")


def scored(sample: Sample, said: str, judge: Callable[[JudgeCall], str] = fails, **fields: Any) -> Score:
    return answer_calls(InsightScorer().steps(Reply(text=said, **fields), sample), judge)


@for_each(vectors("score"))
def test_the_verdict_is_the_official_one(line: dict[str, Any]) -> None:
    if line.get("model_http_status"):
        return  # no reply: the exporter's to record, and no verdict
    judge = Script(line["judge_replies"])
    found = verdict(
        question=line["question"],
        options=line["options"],
        answer=line["answer"],
        response=line["response"],
        finish_reason=line["finish_reason"],
        judge=judge,
        max_answer_length=line["max_answer_length"],
    )
    want = line["expect"]
    if "raises" in want:
        assert found.aborts
        assert not found.success
        assert not found.is_correct
        return
    names = ("success", "fail_reason", "extracted_answer", "is_correct")
    assert {name: getattr(found, name) for name in names} == {name: want[name] for name in names}
    assert judge.stages == want["stages"]
    assert judge.answers[:1] == ([want["judge_input"]] if want["judge_input"] is not None else [])
    assert not found.aborts


@for_each(vectors("resize"))
def test_pictures_are_scaled_as_the_official_code_scales(line: dict[str, Any]) -> None:
    size = scaled_size(
        line["width"], line["height"], max_pixels=line["max_pixels"], min_pixels=line["min_pixels"]
    )
    assert size == (line["expect"]["width"], line["expect"]["height"])
    if not line["min_pixels"]:  # which no argument of theirs sets; the core makes no side of 0
        resized = fit_size(line["width"], line["height"], line["max_pixels"] or None)
        assert resized == (max(1, size[0]), max(1, size[1]))


def by_expression(reply: str) -> str:
    """The rule as the reference describes it."""
    tagged = re.findall(r"<answer>(.*?)</answer>", reply, re.DOTALL)
    answer = str(tagged[-1]).strip() if tagged else reply
    boxed = re.findall(r"\\boxed\{(.*?)\}", answer, re.DOTALL)
    return str(boxed[-1]).strip() if boxed else answer


@given(text)
def test_extraction_is_the_described_rule(reply: str) -> None:
    assert extract_by_rule(reply) == by_expression(reply)


def test_extraction_of_a_hostile_reply_takes_no_time() -> None:
    reply = "<answer>" * 200_000 + "\\boxed{" * 200_000
    assert extract_by_rule(reply) == reply


@given(text, text, text, st.sampled_from([None, "", OPTIONS]), st.sampled_from(["stop", "length"]))
def test_a_verdict_never_raises(reply: str, gold: str, said: str, options: str | None, finish: str) -> None:
    found = verdict(
        question="Which?",
        options=options,
        answer=gold,
        response=reply,
        finish_reason=finish,
        judge=lambda stage, answer: said,
    )
    assert found.success == (found.fail_reason is None)
    assert found.success or not found.is_correct
    if finish == "stop" and options:
        assert found.is_correct == (extract_by_rule(reply) == gold or said.strip() == gold)


def test_a_scorer_names_what_came_of_it() -> None:
    right = scored(CHOICE, "<answer>B</answer>")
    assert (right.outcome, right.value, right.read, right.route) == ("correct", 1.0, "B", "insight-o3:rule")
    assert right.detail == {
        "success": True, "fail_reason": None, "extracted_answer": "B", "is_correct": True,
    }  # fmt: skip
    assert scored(CHOICE, "the blue one", says("B")).outcome == "correct"
    assert scored(CHOICE, "the blue one", says("B.")).outcome == "wrong"  # Q3
    assert scored(OPEN, "It is blue", says("blue", "incorrect")).outcome == "correct"  # Q4
    assert scored(OPEN, "It is red", says("red", "<wrong>")).route == "insight-o3:judge"


@pytest.mark.parametrize(
    ("reason", "outcome", "fail_reason"),
    [
        ("length", "truncated", "finish_reason:length"),
        ("content_filter", "refused", "finish_reason:content_filter"),
        ("tool_calls", "unparsed", "finish_reason:tool_calls"),
        ("refusal", "refused", "null_content"),
    ],
)
def test_a_reply_that_did_not_end_by_itself_is_a_failure(reason: str, outcome: str, fail_reason: str) -> None:
    score = scored(CHOICE, "B", finish_reason=reason)
    assert (score.outcome, score.value) == (outcome, 0.0)
    assert score.detail["fail_reason"] == fail_reason
    assert not score.detail["success"]
    empty = scored(CHOICE, "", finish_reason=reason, evidence={"null_content": True})
    assert empty.detail["fail_reason"] == fail_reason  # which comes before a look at the content


@pytest.mark.parametrize(
    ("sample", "judge", "fail_reason"),
    [
        (CHOICE, fails, "answer_extraction_failed"),
        (OPEN, fails, "answer_extraction_failed"),
    ],
)
def test_a_judge_that_fails_leaves_the_sample_unscored(
    sample: Sample, judge: Callable[[JudgeCall], str], fail_reason: str
) -> None:
    score = scored(sample, "the blue one", judge)
    assert (score.outcome, score.value) == ("unscored", 0.0)
    assert score.detail["fail_reason"] == fail_reason


def test_a_judge_that_fails_at_the_verdict() -> None:
    def judge(call: JudgeCall) -> str:
        if call.stage == "judge":
            raise JudgeFailed("HTTP 500")
        return "blue"

    score = scored(OPEN, "the blue one", judge)
    assert (score.outcome, score.detail["fail_reason"]) == ("unscored", "judge_failed")


def test_without_a_judge_and_without_a_gold_nothing_is_scored() -> None:
    official = scorers.get("insight-o3")
    assert official.parity == "official"
    assert official(Reply(text="B"), CHOICE).outcome == "correct"
    score = official(Reply(text="the blue one"), CHOICE)
    assert (score.outcome, score.detail["fail_reason"]) == ("unscored", "no_judge")
    nothing = official(Reply(text="B"), Sample(id="1", question="Which?"))
    assert (nothing.outcome, nothing.detail["fail_reason"]) == ("unscored", "no_gold")


def test_what_the_judge_is_told() -> None:
    calls: list[JudgeCall] = []

    def judge(call: JudgeCall) -> str:
        calls.append(call)
        return "blue"

    long = "x" * 2000
    scored(CHOICE, long, judge)
    scored(OPEN, "it is blue", judge)
    assert [call.stage for call in calls] == ["mcqa", "openqa", "judge"]
    assert calls[0].values == {"question": "Which?", "options": OPTIONS, "answer": CROPPED + long[-1000:]}
    assert calls[1].values == {"question": "Which?", "answer": "it is blue"}
    assert calls[2].values == {"question": "Which?", "gold": "blue", "answer": "blue"}


def test_every_stage_has_its_wording() -> None:
    from eyechart.score.judged import render_call

    steps: Judging[Score] = InsightScorer().steps(Reply(text="it is {gold} blue"), OPEN)
    first = render_call(next(steps), {})
    second = render_call(steps.send("blue"), {})
    assert "it is {gold} blue" in first
    assert "True answer: blue" in second


def test_the_limit_of_an_answer_is_a_part_of_the_scorer() -> None:
    shown: list[str] = []

    def judge(call: JudgeCall) -> str:
        shown.append(call.values["answer"])
        return "B"

    reply = Reply(text="y" * MAX_ANSWER_LENGTH + " so it is B")
    for scorer in (InsightScorer(), InsightScorer(max_answer_length=4)):
        assert answer_calls(scorer.steps(reply, CHOICE), judge).outcome == "correct"
    assert shown == [CROPPED + reply.text[-MAX_ANSWER_LENGTH:], CROPPED + "is B"]
    usual = scorers.get("insight-o3")
    assert usual == InsightScorer(max_answer_length=MAX_ANSWER_LENGTH)
    assert usual.version != InsightScorer(max_answer_length=4).version
    assert usual(reply, CHOICE).outcome == "unscored"
