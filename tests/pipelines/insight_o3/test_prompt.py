"""InSight-o3's question: the picture first, the texts unchanged, nothing added."""

from eyechart.pipelines.insight_o3.benchmark import render_question, render_think_question
from eyechart.types import ImageRef, Message, Sample

PICTURE = ImageRef(kind="file", location="a.jpg")


def test_picture_then_question_and_options() -> None:
    sample = Sample(
        id="0", question="Which? ", images=(PICTURE,), choices={"A": "red"}, choices_text="A. red \n"
    )
    assert render_question(sample) == [Message("user", (PICTURE, "Which? \nA. red \n"))]


def test_an_open_question_stands_alone() -> None:
    sample = Sample(id="0", question="What?", images=(PICTURE,), golds=("red",))
    assert render_question(sample) == [Message("user", (PICTURE, "What?"))]


def test_thinking_is_asked_for_in_a_system_message() -> None:
    sample = Sample(id="0", question="What?", images=(PICTURE,))
    system, user = render_think_question(sample)
    assert system.role == "system"
    assert all(tag in system.text for tag in ("<think>", "</think>", "<answer>", "</answer>"))
    assert [user] == render_question(sample)
