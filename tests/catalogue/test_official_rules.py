"""Rules of published benchmarks: judges, random picks, scales of coordinates, hostile text."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.catalogue.chartqapro import chartqapro
from eyechart.catalogue.dynamath import parse_dynamath
from eyechart.catalogue.mathvision import is_equal
from eyechart.catalogue.mmlongbench import compare_mmlongbench
from eyechart.catalogue.mmmu import DOMAINS, read_open, read_option
from eyechart.catalogue.refcoco import read_box, read_boxes, to_pixels
from eyechart.catalogue.screenspot import read_click, read_point
from eyechart.catalogue.tallyqa import read_count
from eyechart.catalogue.visulogic import read_visulogic
from eyechart.catalogue.wemath import read_wemath
from eyechart.catalogue.zerobench import find_last_braces
from eyechart.registry import aggregates, scorers
from eyechart.report.metrics import compute_metrics
from eyechart.score.boxes import compute_iou
from eyechart.score.expressions import evaluate_latex, evaluate_python
from eyechart.score.lmms import normalise_lmms, read_letter
from eyechart.score.markup import compute_edit_similarity, compute_teds, parse_table
from eyechart.types import (
    JudgeCall,
    JudgedScorer,
    JudgeFailed,
    Reply,
    Result,
    Sample,
    Score,
    ScoredRow,
    answer_calls,
)

OPTIONS = {"A": "a cat", "B": "a dog", "C": "two", "D": "none of these"}


def judge(
    name: str,
    said: Sequence[str | None],
    *,
    reply: str = "a reply",
    golds: tuple[str, ...] = ("gold",),
    **meta: Any,
) -> tuple[Score, list[JudgeCall]]:
    """The score with a judge that says these texts; None: the call fails."""
    calls: list[JudgeCall] = []

    def answer(call: JudgeCall) -> str:
        calls.append(call)
        text = said[min(len(calls), len(said)) - 1]
        if text is None:
            raise JudgeFailed("the endpoint is down")
        return text

    scorer = scorers.get(name)
    assert isinstance(scorer, JudgedScorer)
    sample = Sample(id="1", question="How many?", golds=golds, meta=meta)
    return answer_calls(scorer.steps(Reply(text=reply), sample), answer), calls


# -- Judges

JUDGED = [
    "charxiv",
    "mmvet",
    "llavabench",
    "simplevqa",
    "logicvista",
    "hallusion-lmms",
    "mathverse",
    "mmlongbench",
]


@pytest.mark.parametrize(
    "name", [*JUDGED, "mathvista", "mathvision", "mathvista-lmms", "yes-no-judged-vlmevalkit"]
)
def test_a_failed_judge_call_never_counts_against_the_model(name: str) -> None:
    score, calls = judge(name, [None], answer_type="float")
    assert calls
    assert score.outcome == "unscored"
    assert score.detail["fail_reason"] == "judge_failed"


@pytest.mark.parametrize("name", JUDGED)
def test_a_row_without_golds_asks_no_judge_for_a_verdict(name: str) -> None:
    score, calls = judge(name, ["1"], golds=())
    assert score.outcome == "unscored"
    assert not calls


@pytest.mark.parametrize(
    ("name", "said", "value", "n_calls"),
    [
        ("mmvet", ["0.5"], 0.5, 1),
        ("mmvet", ["half", "0.8 "], 0.8, 2),
        ("mmvet", ["2"], 0.0, 5),
        ("mmvet", ["nan"], 0.0, 1),
        ("logicvista", ["B, D", "BD"], 0.0, 2),
        ("logicvista", ["x"], 0.0, 5),
        ("charxiv", ["not JSON", '{"extract_answer": "5", "score": 1}'], 1.0, 2),
        ("charxiv", ["not JSON"], 0.0, 10),
        ("charxiv", ['{"score": 1}'], 0.0, 1),
        ("llavabench", ["8 9\nbecause"], 0.9, 1),
        ("llavabench", ["8, 9"], 0.0, 1),
        ("simplevqa", ['```json\n{"预测答案0": "正确"}\n```'], 1.0, 1),
        ("hallusion-lmms", ["It is Incorrect."], 0.0, 1),
        ("mathverse", ["7", "Judgement: 1", "1"], 1.0, 3),
        ("mathverse", ["7", "maybe"], 0.0, 6),
        ("mathverse", ["gold"], 1.0, 1),
        ("yes-no-judged-vlmevalkit", ["Unknown", "Yes"], 0.0, 2),
    ],
)
def test_what_judges_say(name: str, said: list[str], value: float, n_calls: int) -> None:
    score, calls = judge(name, said)
    assert (score.value, len(calls)) == (value, n_calls)


@pytest.mark.parametrize("name", ["llavabench", "llavabench-lmms"])
@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply(text=""), "unparsed"),
        (Reply(text="A cat", finish_reason="length"), "truncated"),
        (Reply(text="A cat", finish_reason="content_filter"), "refused"),
    ],
)
def test_every_reply_has_both_grades(name: str, reply: Reply, outcome: str) -> None:
    """The official code knows no such outcomes; a run with one such reply ended with an internal error."""
    scorer = scorers.get(name)
    assert isinstance(scorer, JudgedScorer)
    sample = Sample(id="1", question="What is it?", golds=("A cat.",), meta={"category": "conv"})
    score = answer_calls(scorer.steps(reply, sample), lambda call: "8 1")
    assert (score.outcome, score.value) == (outcome, 0.0)
    found = compute_metrics(name, [Result(sample=sample, position=0, reply=reply, score=score)])
    assert found.overall["relative"].value == 12.5
    ungraded = Score(outcome="unparsed", value=0.0)  # of version 1
    told = compute_metrics(name, [Result(sample=sample, position=0, reply=reply, score=ungraded)])
    assert "has no grade" in told.problem


def test_unclear_is_right_only_without_a_figure() -> None:
    assert judge("hallusion-lmms", ["unclear"], category="VS", figure_id="0")[0].value == 1
    assert judge("hallusion-lmms", ["unclear"], category="VD", figure_id="0")[0].value == 0


def test_charxiv_asks_with_the_query_of_the_row() -> None:
    _, [call] = judge("charxiv", ['{"extract_answer": "5", "score": 1}'], grading_query="Grade {PREDICTION}.")
    assert call.prompt == "Grade {PREDICTION}."
    assert call.values["PREDICTION"] == "a reply"


def test_without_a_judge_the_rules_decide() -> None:
    sample = Sample(
        id="1", question="?", golds=("14",), meta={"question_type": "free_form", "answer_type": "integer"}
    )
    assert scorers.get("mathvista")(Reply(text="14"), sample).value == 1
    assert scorers.get("mathvista")(Reply(text="It is 14"), sample).outcome == "unparsed"


# -- MMMU's random pick


def test_a_random_pick_is_named_and_not_taken() -> None:
    sample = Sample(id="validation_Art_1", question="?", golds=("B",), choices=OPTIONS)
    score = scorers.get("mmmu")(Reply(text="the third one"), sample)
    assert (score.outcome, score.value, score.read) == ("unparsed", 0.0, None)
    assert score.detail == {"random pick": 0.25}
    rows = [
        ScoredRow(value=score.value, detail=score.detail, id="validation_Art_1"),
        ScoredRow(value=1.0, id="validation_Math_2"),
    ]
    whole = aggregates.get("mmmu")(rows)[""]
    assert whole["accuracy"] == 0.5
    assert whole["with random picks"] == 0.625
    assert (whole["at least"], whole["at most"]) == (0.5, 1.0)


def test_mmmu_has_thirty_subjects() -> None:
    assert sum(map(len, DOMAINS.values())) == 30


# -- Points and boxes


@pytest.mark.parametrize(
    ("name", "reply", "value"),
    [
        ("screenspot", "x=0.05, y=0.05", 1.0),
        ("screenspot-1000", "x=50, y=50", 1.0),
        ("screenspot-pixels", "x=5, y=5", 1.0),
        ("screenspot-unit", "x=5, y=5", 0.0),
        ("screenspot", "no point", 0.0),
    ],
)
def test_a_declared_scale_is_not_guessed(name: str, reply: str, value: float) -> None:
    meta = {"bbox": [0, 0, 10, 10], "width": 100, "height": 100}
    score = scorers.get(name)(Reply(text=reply), Sample(id="1", question="?", golds=("box",), meta=meta))
    assert score.value == value
    assert (score.outcome == "unparsed") == (reply == "no point")


def test_a_row_without_the_size_of_its_picture_is_unscored() -> None:
    sample = Sample(id="1", question="?", golds=("box",), meta={"bbox": [0, 0, 10, 10]})
    score = scorers.get("screenspot")(Reply(text="x=1, y=1"), sample)
    assert score.outcome == "unscored"
    assert "size" in score.detail["fail_reason"]


sides = st.floats(-2000, 2000, allow_nan=False)


@given(st.tuples(sides, sides, sides, sides), st.floats(1, 4000), st.floats(1, 4000))
def test_a_box_in_pixels_lies_in_the_picture(
    box: tuple[float, float, float, float], width: float, height: float
) -> None:
    x1, y1, x2, y2 = to_pixels(box, (width, height))
    assert 0 <= x1 <= x2 <= width
    assert 0 <= y1 <= y2 <= height
    assert 0 <= compute_iou((x1, y1, x2, y2), (0, 0, width, height)) <= 1 + 1e-9


# -- Hostile text: every reader returns, and nothing is executed

pieces = st.sampled_from(
    [*"AB()[]{}.,:=+-*/^%$\\ \n'\"0123456789xye", "\\frac{", "\\boxed{", "<bbox>", "<td>", "<table>"]
)
texts = st.one_of(st.text(max_size=60), st.lists(pieces, max_size=40).map("".join))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(texts, texts)
def test_readers_take_any_text(text: str, other: str) -> None:
    for read in (
        read_open, read_letter, read_visulogic, read_wemath, normalise_lmms, read_count, find_last_braces,
        read_point, read_box, read_boxes, evaluate_latex, evaluate_python, parse_table,
    ):  # fmt: skip
        read(text)
    assert read_option(text, OPTIONS) in {*OPTIONS, None}
    assert 0 <= chartqapro(text, other, [False]) <= 1
    for kind in ("Int", "Float", "Str", "List"):
        assert 0 <= compare_mmlongbench(text, other, kind) <= 1
    for kind in ("float", "multiple choice", "text"):
        parse_dynamath(text, kind)
    assert 0 <= compute_teds(text, other) <= 1
    assert 0 <= compute_edit_similarity(text, other) <= 1
    assert is_equal(text, text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('false')",
        "9**9**9",
        "'a'*10**9",
        "(" * 300,
        "1" * 10_000,
        "[1]*10**9",
        "2^{99999}",
    ],
)
def test_expressions_are_never_executed(text: str) -> None:
    assert evaluate_python(text) is None
    assert evaluate_latex(text) is None


@given(st.integers(-999, 999), st.integers(1, 99))
def test_a_fraction_is_its_decimal(number: int, divisor: int) -> None:
    assert is_equal(rf"\frac{{{number}}}{{{divisor}}}", repr(number / divisor))
    assert is_equal(f"${number}/{divisor}$", rf"\dfrac{{{number}}}{{{divisor}}}")


def test_an_unread_click_is_not_a_click_at_the_corner() -> None:
    assert read_click("(0.3, 0.4)") is None


@given(st.integers(1, 5), st.integers(1, 5))
def test_teds_of_a_table_with_itself_is_one(rows: int, columns: int) -> None:
    table = (
        "<table>"
        + "".join("<tr>" + f"<td>{row}</td>" * columns + "</tr>" for row in range(rows))
        + "</table>"
    )
    assert compute_teds(table, table) == 1
    assert math.isclose(compute_teds("<table></table>", table), 0, abs_tol=1e-9)


def test_cells_nested_in_cells_gain_nothing() -> None:
    gold = "<table>" + "<tr><td>1</td><td>2</td><td>3</td></tr>" * 40 + "</table>"
    sample = Sample(id="1", question="?", golds=(gold,))
    values = [scorers.get("teds")(Reply(text="<table><tr><td>" * n), sample).value for n in (1, 300, 5_000)]
    assert max(values) < 0.02


def test_a_deep_table_is_parsed_in_linear_time() -> None:
    def count_calls(n: int) -> int:
        calls = 0

        def count(frame: object, event: str, arg: object) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            parse_table("<table>" * n)
        finally:
            sys.setprofile(None)
        return calls

    assert count_calls(4_000) < 4.5 * count_calls(1_000)


@given(
    st.lists(
        st.sampled_from(["<td>", "</td>", "<tr>", "</tr>", "<table>", "</table>", "a", "<b>", "<br>", "</b>"])
    )
)
def test_teds_is_between_zero_and_one_and_symmetric(pieces: list[str]) -> None:
    one, other = "<table>" + "".join(pieces), "<table>" + "".join(reversed(pieces))
    there, back = compute_teds(one, other), compute_teds(other, one)
    assert 0 <= there <= 1
    assert math.isclose(there, back, abs_tol=1e-9)


# -- OCRBench v2, CC-OCR, OmniDocBench, captions: values of the official code, or counted by hand


@pytest.mark.parametrize(
    ("task", "reply", "gold", "facts", "value"),
    [
        ("text recognition en", "It says STOP", "['stop']", {}, 1.0),
        ("text recognition en", "stop", "['Stop']", {"eval": "case sensitive"}, 0.0),
        ("science QA en", "(B).", "['B']", {"eval": "multiple choice"}, 1.0),
        ("text counting en", "about 8", "['10']", {"eval": "regression"}, 0.8),
        ("text counting en", "about 4", "['10']", {"eval": "regression"}, 0.0),
        ("formula recognition en", "so x ^ 2", "['x^2']", {}, 1.0),
        ("text grounding en", "[0, 0, 1, 1] or [0, 0, 10, 5]", "[0, 0, 10, 10]", {}, 0.5),
        ("key information mapping en", '{"total": "12", "date": "x"}', "[{'total': ['12', '13']}]", {}, 0.5),
        ("table parsing en", "| a |\n|---|\n| 1 |", "['| a |\\n|---|\\n| 2 |']", {}, 0.75),
        ("document parsing en", "# One\ntext", "['# Two\\nwords']", {}, 1.0),
        ("chart parsing en", "{'a': '12'}", "[{'a': '12'}]", {}, 1.0),
        (
            "text spotting en",
            "[(0, 0, 10, 10, stop), (50, 50, 60, 60, go)]",
            "['-']",
            {"bbox": "[[0, 0, 10, 0, 10, 10, 0, 10]]", "content": "['STOP!']"},
            2 / 3,
        ),
        (
            "VQA with position en",
            '{"answer": "a cat", "bbox": "[0, 0, 10, 5]"}',
            "['cat']",
            {"bbox": "[0, 0, 10, 10]"},
            0.75,
        ),
    ],
)  # fmt: skip
def test_ocrbench_v2(task: str, reply: str, gold: str, facts: dict[str, str], value: float) -> None:
    question = "Write it as markdown" if "table" in task else "?"
    sample = Sample(id="1", question=question, golds=(gold,), meta={"category": task, **facts})
    assert scorers.get("ocrbench-v2")(Reply(text=reply), sample).value == pytest.approx(value)


def test_ocrbench_v2_averages_rows_then_parts_then_languages() -> None:
    rows = [
        ScoredRow(value=value, meta={"category": task})
        for task, value in (
            ("text recognition en", 1.0), ("full-page OCR en", 0.0), ("full-page OCR en", 0.5),
            ("text spotting en", 1.0), ("full-page OCR cn", 0.25),
        )
    ]  # fmt: skip
    found = aggregates.get("ocrbench-v2")(rows)
    assert found["en_text_recognition"]["score"] == 0.5
    assert found[""] == {"English": 0.75, "Chinese": 0.25}


def test_omnidocbench_joins_what_is_divided_differently() -> None:
    from eyechart.catalogue.omnidocbench import compare_pages, split_page

    gold = split_page("One two three\n\nfour five six\n\nseven\n\n$$x^2$$")
    said = split_page("One two\n\nthree\n\nfour five sixseven\n\n\\[x^3\\]")
    assert compare_pages(said, gold) == {
        "text edit": 0.0,
        "order edit": 0.0,
        "formula edit": pytest.approx(1 / 3),
    }
    swapped = split_page("four five six\n\nOne two three\n\nseven")
    assert compare_pages(swapped, gold)["order edit"] > 0


def test_wemath_topics_are_means_over_concepts() -> None:
    rows = [
        ScoredRow(value=value, id=key, meta={"ID": "1", "key": key, "knowledge concept": concept})
        for key, concept, value in (
            ("2steps_1", "Rotation", 1.0), ("2steps_2", "Translation", 0.0), ("2steps_multi", "", 1.0),
        )
    ]  # fmt: skip
    found = aggregates.get("wemath")(rows)
    assert (found[""]["1 step"], found[""]["2 steps"], found[""]["3 steps"]) == (0.5, 1.0, None)
    assert found["topic: Basic Transformations of Figures"]["accuracy"] == 0.5
