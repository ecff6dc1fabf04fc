"""What is scored is what the model says, not what it mulls over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.model.thinking import split_thinking


@pytest.mark.parametrize(
    ("text", "answer", "thinking"),
    [
        ("B", "B", ""),
        ("  B\n", "  B\n", ""),
        ("", "", ""),
        ("<think>x</think>B", "B", "x"),
        ("\n <think>\nx\n</think>\n\nB\n", "B", "x"),
        ("<thinking>x</thinking>B", "B", "x"),
        ("<THINK>x</THINK>B", "B", "x"),
        ("x</think>B", "B", "x"),
        ("<think>x", "", "x"),
        ("<think></think>B", "B", ""),
        ("<think>a</think>b</think>B", "B", "a</think>b"),
        ("The tag <think> opens a thought.", "The tag <think> opens a thought.", ""),
        ("<thinker>x", "<thinker>x", ""),
    ],
)
def test_thinking_is_split_from_the_answer(text: str, answer: str, thinking: str) -> None:
    assert split_thinking(text) == (answer, thinking)


@given(st.text())
def test_a_text_without_tags_is_left_as_it_is(text: str) -> None:
    if "think" not in text.lower():
        assert split_thinking(text) == (text, "")


@given(st.text(alphabet="ab <>/"), st.text(alphabet="ab <>/"))
def test_nothing_of_the_thinking_is_left_in_the_answer(thought: str, said: str) -> None:
    assert split_thinking(f"<think>{thought}</think>{said}") == (said.strip(), thought.strip())
