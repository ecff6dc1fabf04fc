"""BLEU, ROUGE, labels and verdicts are those of evalscope 1.14.1."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.pipelines.vlmevalkit.evalscope import general_score
from eyechart.pipelines.vlmevalkit.evalscope.general_score import (
    METRICS,
    RULES,
    TURNS,
    apply_filters,
    build_judge_call,
    check_filters,
    read_label,
    read_verdict,
    split_thought,
)
from eyechart.registry import scorers
from eyechart.score.chinese_words import cut_words
from eyechart.score.judged import render_call
from eyechart.score.thinking import show_reply
from eyechart.types import JudgeCall, JudgedScorer, JudgeFailed, Reply, Sample, Score, answer_calls
from support.golden import vectors

EVALSCOPE = "evalscope 1.14.1"


def test_bleu_and_rouge_are_the_same_numbers() -> None:
    for line in vectors("evalscope_overlap", EVALSCOPE):
        texts = (line["said"], line["wanted"])
        words = [
            split or list(cut_words(text)) if general_score.is_chinese(text) else split
            for text, split in zip(texts, line["words"], strict=True)
        ]
        found = {**general_score.count_bleu(*words), **general_score.compute_rouge(*texts)}
        assert json.dumps(found) == json.dumps(line["values"]), texts  # 0 is not 0.0 there


def test_words_are_split_as_nltk_does() -> None:
    pytest.importorskip("nltk")
    try:
        general_score.require_bleu()
    except Exception as err:
        pytest.skip(f"{err}")
    for line in vectors("evalscope_overlap", EVALSCOPE):
        found = general_score.compute_bleu(line["said"], line["wanted"])
        assert found == {name: line["values"][name] for name in found}


_TEXTS = st.text(alphabet=" ab.?!。？”…\n狗天", max_size=30)


@given(_TEXTS, _TEXTS)
def test_values_are_shares(said: str, wanted: str) -> None:
    for value in general_score.compute_rouge(said, wanted).values():
        assert 0 <= value <= 1
    same = general_score.compute_rouge(said, said)
    assert same["Rouge-L-R"] == (1.0 if said.strip() else 0.0)
    for value in general_score.count_bleu(said.split(), wanted.split()).values():
        assert 0 <= value <= 1


def test_labels_are_read_as_in_evalscope() -> None:
    for line in vectors("evalscope_labels", EVALSCOPE):
        assert read_label(line["text"], line["labels"]) == line["english"], line
        assert read_label(line["text"], line["labels"], is_chinese=True) == line["chinese"], line


def test_verdicts_are_read_as_in_evalscope() -> None:
    for line in vectors("evalscope_verdicts", EVALSCOPE):
        assert read_verdict(line["text"], "AB") == line["verdict"], line


def test_thoughts_are_cut_as_in_evalscope() -> None:
    for line in vectors("evalscope_thoughts", EVALSCOPE):
        assert split_thought(line["text"]) == (line["visible"], line["thought"]), line


@given(st.text(alphabet='{}"\\ABverdict:, ', max_size=60))
def test_no_reply_of_a_judge_breaks_the_reader(said: str) -> None:
    assert read_verdict(said, "AB") in ("", "A", "B")


# -- The scorers


def sample(golds: tuple[str, ...] = ("a red bus",), **rules: object) -> Sample:
    choices = {"A": "bus", "B": "car"} if golds and len(golds[0]) == 1 else {}
    meta = {TURNS: [["user", ["What is it?", 0]]], RULES: {"metrics": ["Rouge"], **rules}}
    return Sample(id="1", question="What is it?", golds=golds, choices=choices, meta=meta)


def judged(name: str, reply: str, one: Sample, *said: str) -> tuple[Score, list[str]]:
    """The score with a judge that says these things in turn, and what it was asked."""
    scorer = scorers.get(name)
    assert isinstance(scorer, JudgedScorer)
    asked: list[str] = []
    answers = iter(said)

    def answer(call: JudgeCall) -> str:
        asked.append(render_call(call, {}))
        try:
            return next(answers)
        except StopIteration:
            raise JudgeFailed("no reply") from None

    seen = show_reply(Reply.read(reply), scorer)
    return answer_calls(scorer.steps(seen, one), answer), asked


RIGHT, WRONG = '{"verdict": "A"}', '{"verdict": "B"}'


def test_an_open_answer_is_worth_its_recall() -> None:
    score, asked = judged("general-vqa", "<think>bus?</think>a red car", sample())
    assert not asked
    assert (score.outcome, round(score.value, 3), score.read) == ("partial", 0.667, "a red car")
    assert score.detail[METRICS]["Rouge-2-P"] == 0.5


def test_a_question_without_an_answer_does_not_count() -> None:
    score, _ = judged("general-vqa", "a bus", sample(golds=()))
    assert (score.outcome, score.detail[METRICS]) == ("unscored", {})
    score, _ = judged("general-vmcq", "ANSWER: A", sample(golds=("A", "B")))
    assert (score.outcome, score.detail[METRICS]) == ("unscored", {})


def test_a_label_in_lower_case_is_accepted_as_gold() -> None:
    assert judged("general-vmcq", "ANSWER: A", sample(golds=("a",)))[0].outcome == "correct"


def test_a_judge_decides_alone() -> None:
    score, [asked] = judged("general-vqa", "<think>x</think>a van", sample(strategy="llm"), RIGHT)
    assert (score.outcome, score.value, score.detail[METRICS]) == ("correct", 1.0, {"acc": 1.0})
    assert "**User**: What is it?" in asked
    assert "[Predicted Answer]\na van\n" in asked
    assert asked.endswith('- "verdict": exactly one of "A" or "B"')


def test_a_judge_is_not_asked_where_the_rules_match() -> None:
    score, asked = judged("general-vqa", "a red bus", sample(strategy="llm_recall"), WRONG)
    assert (score.value, asked) == (1.0, [])
    score, asked = judged("general-vqa", "a van", sample(strategy="llm_recall"), RIGHT)
    assert (score.value, len(asked), score.detail[METRICS]["Rouge-L-R"]) == (1.0, 1, 1.0)
    score, _ = judged("general-vmcq", "bus", sample(golds=("A",), strategy="llm_recall"), RIGHT)
    assert score.detail[METRICS] == {"accuracy": 1.0}


def test_an_unreadable_verdict_is_no_verdict() -> None:
    score, _ = judged("general-vqa", "a red car", sample(strategy="llm"), "correct")
    assert (score.outcome, score.detail["fail_reason"]) == ("unscored", "judge_unreadable")
    assert round(score.detail[METRICS]["Rouge-L-R"], 3) == 0.667  # as evalscope writes it
    score, _ = judged("general-vqa", "a red car", sample(strategy="llm_recall"), "correct")
    assert round(score.value, 3) == 0.667


def test_a_judge_that_fails_leaves_the_reply_unscored() -> None:
    score, _ = judged("general-vqa", "a red car", sample(strategy="llm"))
    assert (score.outcome, score.detail["fail_reason"]) == ("unscored", "judge_failed")


def test_labels_of_a_contract() -> None:
    rules: dict[str, Any] = {
        "strategy": "llm",
        "labels": {"GOOD": 1.0, "FAIR": 0.5, "BAD": 0.0},
        "prompt": "Grade {pred}",
    }
    score, [asked] = judged("general-vqa", "a van", sample(**rules), '{"verdict": "FAIR"}')
    assert (score.outcome, score.value) == ("partial", 0.5)
    assert asked.startswith("Grade a van\n\n")
    assert asked.endswith('exactly one of "BAD" or "FAIR" or "GOOD"')
    assert build_judge_call("{gold}", sample()).values["pred"] == "{gold}"


@pytest.mark.parametrize(
    ("filters", "text", "expected"),
    [
        ({"remove_until": "</think>"}, "a</think>b</think>c", "b</think>c"),
        ({"remove_until": ["x"]}, "abc", "abc"),
        ({"remove_whitespace": None}, "  a ", "a "),
        ({"extract": r"(\d)(x)?"}, "a 1 2", "1"),
        ({"regex": {"regex_pattern": r"\d", "group_select": -1}}, "a 1 2", "2"),
        ({"extract": [r"\d", 0, "none"]}, "a", "none"),
    ],
)
def test_filters(filters: dict[str, object], text: str, expected: str) -> None:
    check_filters(filters)
    assert apply_filters(text, {"filters": filters}) == expected
