"""InfoChartQA's official verdicts: every golden vector, and what must hold for any input."""

# ruff: noqa: E501  (a row of examples is one line, however long)

from difflib import SequenceMatcher
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.pipelines.infochartqa.score import (
    RULES,
    check,
    compute_verdict,
    get_question_type,
    is_similar,
    read_amount,
    to_reply_text,
)
from eyechart.types import Outcome, Reply, Sample, Score
from support.golden import vectors

COMMIT = "07b5bf6"  # of the authors' repository
TYPES = st.sampled_from([*RULES, 999, -1, 72.0, "72", None, True])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ANSWERISH = st.text(alphabet="ABCDabcd 0123456789,.+-%$KMBT()<>:\n\u00a0é－²", max_size=40)


def score(text: str, gold: str | tuple[str, ...], **meta: Any) -> Score:
    golds = gold if isinstance(gold, tuple) else (gold,)
    sample = Sample(id="1", question="?", golds=golds, meta=meta)
    return registry.scorers.get("infochartqa")(Reply(text=text), sample)


def test_every_vector_agrees() -> None:
    lines = vectors("infochartqa", COMMIT)
    assert len(lines) == 920
    wrong = [
        line for line in lines if check(line["answer"], line["response"], line["qtype"])[1] != line["correct"]
    ]
    assert not wrong


def test_where_the_official_code_gives_no_verdict_it_is_wrong_and_flagged() -> None:
    flags = {"raises:TypeError": "aborts", "random": "random", "skipped": ""}
    for line in vectors("infochartqa_special", COMMIT):
        found = compute_verdict(line["answer"], line["response"], line["qtype"])
        assert not found.is_correct
        assert found.oddity == flags[line["outcome"]], line


def test_no_vector_with_a_verdict_is_flagged() -> None:
    odd = [
        v
        for v in vectors("infochartqa", COMMIT)
        if compute_verdict(v["answer"], v["response"], v["qtype"]).oddity
    ]
    assert not odd


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.234", 1.234), ("1.234.567", 1234567), ("1.234,56", 1234.56), ("12,34", 12.34), ("1,2,3", 3), ("2018,36.8", 36.8),
        ("12345.678", 12345678), ("1234.567", 1234.567), ("123,", 123), ("1234,", None), ("1,234,", None), ("42-", None),
        ("2019-2020", None), ("10%-20%", -20), (".5", 5), ("1e6", 6), ("--42", 42), ("+-42", -42), ("−42", 42), ("", None),
    ],
)  # fmt: skip
def test_numbers_are_read_as_the_authors_read_them(text: str, value: float | None) -> None:
    assert read_amount(text).value == value


@pytest.mark.parametrize(
    ("text", "unit"),
    [("5%", 0.01), ("5 Cr", 1e8), ("M3", 1e6), ("5 Million", 1), ("5 million", 1e6), ("14.2 µg/m³", 1e6), ("5None K", 1e3)],
)  # fmt: skip
def test_units_are_those_of_a_short_table(text: str, unit: float) -> None:
    assert read_amount(text).unit == unit


@pytest.mark.parametrize(
    ("text", "gold", "meta", "outcome", "read"),
    [
        ("It was 2018", "2020", {"question_type_id": 72}, "correct", "2018"),
        ("none", "2020", {"question_type_id": 72}, "unparsed", None),
        ("", "A, B", {"question_type_id": 71}, "correct", None),
        ("I cannot tell.", "Japan", {"question_type_id": 60}, "refused", "I cannot tell."),
        ("b", "B", {"question_type_id": 202}, "unparsed", None),
        ("A,\nC", "A", {"qtype": 202}, "wrong", "A"),
        ("12 km", "12 km", {}, "correct", "12 km"),
        ("Error!", "5", {"question_type_id": 72}, "unscored", None),
        ("5", (), {"question_type_id": 72}, "unscored", "5"),
        ("$3K", "3,000", {"question_type_id": "72"}, "correct", "3 x 1000"),
    ],
)
def test_the_scorer(text: str, gold: Any, meta: dict[str, Any], outcome: Outcome, read: str | None) -> None:
    got = score(text, gold, **meta)
    assert (got.outcome, got.read) == (outcome, read)


def test_the_scorer_says_where_the_official_run_ends() -> None:
    assert score("12", "10-15", question_type_id=72).detail == {"official": "aborts"}
    assert score("F", "E", question_type_id=202).detail == {"official": "random"}
    assert score("Error!", "E", question_type_id=202).detail == {"official": "left out"}
    assert registry.scorers.get("infochartqa").parity == "official"


def test_any_of_several_golds_counts() -> None:
    assert score("Japan", ("China", "Japan"), question_type_id=60).outcome == "correct"


def test_a_text_is_a_type_in_data_and_none_in_a_response_file() -> None:
    assert get_question_type({"question_type_id": " 72"}) == 72
    assert get_question_type({"qtype": "72", "question_type_id": 72}) == "72"
    assert get_question_type({"qid": 300}) == 300
    assert get_question_type({"qtype": None}) is None
    assert get_question_type({}) == 1
    assert check("A, B", "B, A", "40") == ("Exact Numeric", False)
    assert check("A, B", "B, A", 40) == ("Vague Unordered Sequence", True)


@pytest.mark.slow
@given(JSON, JSON, TYPES | JSON)
def test_any_values_have_a_verdict(answer: Any, response: Any, qtype: Any) -> None:
    method, correct = check(answer, response, qtype)
    assert isinstance(correct, bool)
    assert method.split()[0] in ("Exact", "Vague")


@given(ANSWERISH, ANSWERISH, TYPES)
def test_no_break_spaces_are_spaces_in_the_reply(answer: str, response: str, qtype: Any) -> None:
    assert check(answer, response, qtype) == check(answer, response.replace("\u00a0", " "), qtype)


@given(ANSWERISH)
def test_a_reply_that_is_the_gold_is_right_where_nothing_is_parsed(gold: str) -> None:
    reply = to_reply_text(gold)
    assert check(reply, gold, 60)[1]
    assert check(reply, gold, 13)[1]
    assert check(reply.replace("\n", ""), gold.replace("\n", ""), 40)[1]


@given(st.integers(-(10**9), 10**9), st.sampled_from([10, 54, 72, 999]))
def test_an_integer_equals_itself(value: int, qtype: int) -> None:
    assert check(value, f"It is {value:,}.", qtype)[1]
    assert check(value, value, qtype)[1]


TEXTS = st.text(alphabet="abcdeé ", max_size=30)


@given(TEXTS, TEXTS, st.sampled_from([0.6, 0.8]))
def test_the_shortcut_gives_the_verdicts_of_difflib(gold: str, other: str, threshold: float) -> None:
    assert is_similar(gold, other, threshold) == (SequenceMatcher(None, gold, other).ratio() >= threshold)


@pytest.mark.slow
@given(st.text(alphabet="abc", min_size=190, max_size=230), st.integers(0, 200), st.sampled_from([0.6, 0.8]))
def test_nor_do_long_texts_differ(text: str, cut: int, threshold: float) -> None:
    # From 200 characters on difflib leaves out frequent ones of its second text ("autojunk").
    other = text[cut:] + text[:cut] + "x" * (cut % 7)
    assert is_similar(text, other, threshold) == (SequenceMatcher(None, text, other).ratio() >= threshold)


def test_a_type_without_a_rule_is_named_in_the_score() -> None:
    score = registry.scorers.get("infochartqa")
    for qtype, is_named in ((31, True), (72, False)):
        sample = Sample(id="1", question="?", golds=("5",), meta={"question_type_id": qtype})
        assert ("type" in score(Reply(text="5"), sample).detail) == is_named
