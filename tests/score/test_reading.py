"""Outcomes: refusals, cut-offs, missing golds."""

# ruff: noqa: E501  (a row of examples is one line, however long)

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.replies import Reading, is_abstention, normalise_characters, score_reading
from eyechart.score.reading import score_official
from eyechart.types import Reply, Sample

GOLD = Sample(id="1", question="?", golds=("x",))
READ = Reading("x", "rule", (0, 1))
NOTHING = Reading(None, "rule")

DECLINING = [
    "I'm sorry, I can't help with that.", "I cannot determine the answer from the image.", "Cannot tell.", "I don't know.",
    "I am unable to view images.", "It is impossible to tell.", "There is not enough information.", "I'm not sure.", "No idea",
    "It cannot be determined.", "As an AI, I do not look at people.", "Sorry, but I won't answer that.", "I’m sorry, I can’t do it.",
    "无法判断", "抱歉，我不能回答这个问题。", "图片中看不清", "不知道", "Unfortunately I can't really see the sign.",
]  # fmt: skip
ANSWERING = [
    "B",
    "The dog.",
    "It can be seen on the left.",
    "canned tomatoes",
    "",
    "A red bus",
    "The sorry state of a car",
]


@pytest.mark.parametrize("text", DECLINING)
def test_declining(text: str) -> None:
    assert is_abstention(text)


@pytest.mark.parametrize("text", [*ANSWERING, "I cannot tell. " * 100])
def test_answering(text: str) -> None:
    assert not is_abstention(text)


@pytest.mark.parametrize(
    ("reply", "reading", "value", "outcome"),
    [
        (Reply(text="x"), READ, 1.0, "correct"),
        (Reply(text="x"), READ, 0.4, "partial"),
        (Reply(text="x"), READ, 0.0, "wrong"),
        (Reply(text="x"), NOTHING, 0.0, "unparsed"),
        (Reply(text=""), NOTHING, 0.0, "unparsed"),
        (Reply(text="I can't tell"), NOTHING, 0.0, "refused"),
        (Reply(text="x", finish_reason="length"), READ, 1.0, "truncated"),
        (
            Reply(text="x", finish_reason="length"),
            Reading("x", "rule", (0, 1), is_whole=True),
            1.0,
            "correct",
        ),
        (Reply(text="x", finish_reason="content_filter"), READ, 1.0, "refused"),
        (Reply(text="x", finish_reason="refusal"), READ, 1.0, "refused"),
    ],
)
def test_each_reply_has_one_outcome(reply: Reply, reading: Reading, value: float, outcome: str) -> None:
    score = score_reading(reply, GOLD, reading, value)
    assert score.outcome == outcome
    assert score.value == (value if outcome in ("correct", "partial") else 0.0)


def test_without_golds_nothing_is_scored() -> None:
    for reply in (
        Reply(text="x"),
        Reply(text="", finish_reason="length"),
        Reply(text="", finish_reason="refusal"),
    ):
        sample = Sample(id="1", question="?")
        assert score_reading(reply, sample, READ, 1.0).outcome == "unscored"
        assert score_official(reply, sample, value=1.0, read="x", route="r").value == 0.0


def test_the_official_value_stands_even_when_cut_off() -> None:
    cut = Reply(text="x", finish_reason="length")
    assert score_official(cut, GOLD, value=1.0, read="x", route="r").outcome == "correct"
    assert score_official(cut, GOLD, value=0.0, read="x", route="r").outcome == "truncated"


@given(st.text(max_size=200))
def test_folding_moves_nothing(text: str) -> None:
    assert len(normalise_characters(text)) == len(text)
    assert normalise_characters(normalise_characters(text)) == normalise_characters(text)
