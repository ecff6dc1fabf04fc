"""Thoughts and answer are told apart, and nothing of the text is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.thinking import split_thinking
from eyechart.types import Reply

PIECES = st.lists(
    st.sampled_from(
        ["<think>", "</think>", "<thinking>", "</THINKING>", "\n\n", " ", "A", "B?", "<", "\u2028"]
    )
)


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
    assert split_thinking(text)[:2] == (answer, thinking)


@given(st.text())
def test_a_text_without_tags_is_left_as_it_is(text: str) -> None:
    if "think" not in text.lower():
        assert split_thinking(text) == (text, "", ())


@given(st.text(alphabet="ab <>/"), st.text(alphabet="ab <>/"))
def test_nothing_of_the_thinking_is_left_in_the_answer(thought: str, said: str) -> None:
    assert split_thinking(f"<think>{thought}</think>{said}")[:2] == (said.strip(), thought.strip())


@given(PIECES.map("".join), st.sampled_from(["", "a field of its own"]))
def test_a_reply_has_its_text_as_it_came(text: str, apart: str) -> None:
    reply = Reply.read(text, thinking=apart)
    assert reply.content == text
    assert reply.text == split_thinking(text).answer
    assert not apart or reply.thinking == apart
    assert bool(reply.tags) == (reply.content != reply.text)


def test_thoughts_of_a_reply_made_by_hand_are_no_part_of_its_text() -> None:
    assert Reply(text="B", thinking="A?").content == "B"
