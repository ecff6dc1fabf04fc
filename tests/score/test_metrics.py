"""The public text metrics against what the official code said, and as registered scorers."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart import registry
from eyechart.score.text import (
    anls,
    list_accepted,
    normalise_vqa,
    ocrbench,
    relaxed,
    strip_vqa_punctuation,
    vqa_accuracy,
    yes_no,
)
from eyechart.types import Reply, Sample
from support.cases import for_each
from support.golden import vectors


@for_each(vectors("anls"))
def test_anls(line: dict[str, Any]) -> None:
    assert anls(line["prediction"], line["answers"]) == pytest.approx(line["score"], abs=1e-12)


@for_each(vectors("relaxed"))
def test_relaxed(line: dict[str, Any]) -> None:
    assert relaxed(line["prediction"], line["answers"]) == line["score"]


@for_each(vectors("vqa_acc"))
def test_vqa_accuracy(line: dict[str, Any]) -> None:
    assert vqa_accuracy(line["prediction"], line["answers"]) == pytest.approx(line["score"], abs=1e-12)
    assert normalise_vqa(line["prediction"]) == line["norm_prediction"]
    assert [normalise_vqa(answer) for answer in list_accepted(line["answers"])] == line["norm_answers"]


def test_annotations_of_vqa_are_their_answers() -> None:
    annotations = [{"answer": "net", "answer_id": k, "answer_confidence": "yes"} for k in range(10)]
    assert vqa_accuracy("net", annotations) == vqa_accuracy("net", ["net"] * 10) == 1.0


@for_each(vectors("yorn"))
def test_yes_no(line: dict[str, Any]) -> None:
    assert (yes_no(line["prediction"]) or "Unknown") == line["extracted"]
    assert strip_vqa_punctuation(line["prediction"].lower()).split() == line["words"]


@for_each(vectors("ocrbench"))
def test_ocrbench(line: dict[str, Any]) -> None:
    assert ocrbench(line["prediction"], line["answers"], line["category"]) == bool(line["hit"])


@pytest.mark.parametrize(
    ("cell", "answers"),
    [
        ("['a', 'b']", ["a", "b"]),
        ("[14, 15]", ["14", "15"]),
        ("dog", ["dog"]),
        ("[12", ["[12"]),
        ("[null]", ["[null]"]),
        ("[__import__('os').getcwd()]", ["[__import__('os').getcwd()]"]),
        ("[" * 5000 + "]" * 5000, ["[" * 5000 + "]" * 5000]),
        (r"['\d']", [r"\d"]),
        ("[1or 2]", ["[1or 2]"]),
        (("x", 1), ["x", "1"]),
        (12, ["12"]),
    ],
)
def test_a_cell_is_read_and_never_run(cell: Any, answers: list[str]) -> None:
    assert list_accepted(cell) == answers


@pytest.mark.slow
@given(st.text(max_size=60), st.lists(st.text(max_size=20), max_size=4))
def test_every_metric_stays_between_nothing_and_all(prediction: str, answers: list[str]) -> None:
    for metric in (anls, relaxed, vqa_accuracy, ocrbench):
        assert 0 <= metric(prediction, answers) <= 1


@pytest.mark.parametrize(
    ("name", "text", "golds", "value", "outcome"),
    [
        ("anls", "invoise", ("invoice",), 6 / 7, "partial"),
        ("anls", "b", ("['a', 'b']",), 1.0, "correct"),
        ("relaxed", "104", ("100",), 1.0, "correct"),
        ("relaxed", "I'm sorry, I can't read the chart.", ("100",), 0.0, "refused"),
        ("vqa-accuracy", "dog", ("dog", "dog", "cat", "cat"), 0.5, "partial"),
        ("vqa-accuracy", "", ("dog", "dog"), 0.0, "unparsed"),
        ("ocrbench", "it says CENTRE", ("centre",), 1.0, "correct"),
        ("yes-no-vlmevalkit", "yes.", ("Yes",), 1.0, "correct"),
        ("yes-no-vlmevalkit", "**Yes**", ("Yes",), 0.0, "unparsed"),
        ("yes-no-vlmevalkit", "yes", ("yes",), 0.0, "wrong"),
        ("anls", "invoice", (), 0.0, "unscored"),
    ],
)
def test_metrics_are_scorers(
    name: str, text: str, golds: tuple[str, ...], value: float, outcome: str
) -> None:
    score = registry.scorers.get(name)(Reply(text=text), Sample(id="1", question="?", golds=golds))
    assert score.value == pytest.approx(value)
    assert score.outcome == outcome


def test_ocrbench_takes_the_category_from_the_sample() -> None:
    sample = Sample(
        id="1",
        question="?",
        golds=("x^2",),
        meta={"category": "Handwritten Mathematical Expression Recognition"},
    )
    score_ocrbench = registry.scorers.get("ocrbench")
    assert score_ocrbench(Reply(text="x ^ 2"), sample).outcome == "correct"
    assert score_ocrbench(Reply(text="X ^ 2"), sample).outcome == "wrong"
