"""Our own reading of a choice on labelled replies, and what must hold for replies of every class."""

# ruff: noqa: E501  (a row of replies is one line, however long)

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.readers.decide import read_choice
from eyechart.readers.languages import load_languages

REPLIES = Path(__file__).parent / "replies"
ANIMALS = {"A": "cat", "B": "dog", "C": "rabbit", "D": "horse"}
WRAPS = (
    "{}",
    "**{}**",
    "*{}*",
    "`{}`",
    "({})",
    "[{}]",
    '"{}"',
    "<b>{}</b>",
    "$\\text{{{}}}$",
    "{}.",
    "> {}",
    "\n{}\n",
    "# {}",
)


def load(name: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (REPLIES / name).read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    "reply",
    [
        "Suppose it barks; then the answer would be B.",
        "Suppose it barks. The answer is then a dog.",
        "Let us suppose the ears are short. Then it is a cat.",
        "Assume the picture is mirrored. The answer would then be D.",
        "Under the assumption that it is alive, the answer is B.",
        "Angenommen, es bellt. Dann ist es B.",
        "Supposons qu'il aboie. Alors c'est B.",
        "假设它会叫。那么答案是B。",
        "Some commenters say it is a dog.",
        "Critics claim that B is right.",
        "I have to look at the shape of the ears. Option A,",
        "Let me check each of them. Option B:",
        "It looks like a dog and the",
    ],
)
def test_what_is_supposed_told_or_cut_off_is_no_answer(reply: str) -> None:
    assert read_choice(reply, ANIMALS).letter is None


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("A is a cat, which does not bark. B is a dog.\n\nB", "B"),
        ("Looking at C, it has long ears. A is smaller.\n\n**D**", "D"),
        ("I count the legs; then the answer is B.", "B"),
        ("We say it is a dog.", "B"),
        ("Answer: B,", "B"),
    ],
)
def test_conclusions_and_ones_own_words_are_answers(reply: str, letter: str) -> None:
    assert read_choice(reply, ANIMALS).letter == letter


@pytest.mark.parametrize(
    "reply",
    [
        "At least there are 6 people.",
        "Au moins, il y en a 6.",
        "图中至少有六个人。",
        "I see at minimum 6.",
        "5, then 6, and x =",
    ],
)
def test_numbers_with_a_bound_before_them_are_no_answer(reply: str) -> None:
    counts = {"A": "五个", "B": "六个"} if "六" in reply else {"A": "5", "B": "6", "C": "7"}
    assert read_choice(reply, counts).letter is None


def test_true_begins_an_answer_where_true_or_false_is_asked() -> None:
    assert read_choice("True. The graph shows a rise.", {"A": "True", "B": "False"}).letter == "A"
    assert read_choice("Right, let's see.", {"A": "left", "B": "right"}).letter is None


def test_every_language_of_the_table_is_read() -> None:
    """Of each language at least one reply is read and one denial is not."""
    seen = Counter((row["language"], row["expected"] == "none") for row in load("choice_more.jsonl"))
    assert all(seen[code, is_denied] for code in load_languages() for is_denied in (True, False))


@given(st.sampled_from("ABCD"), st.lists(st.sampled_from(WRAPS), max_size=2))
def test_wrapping_does_not_change_a_bare_letter(letter: str, wraps: list[str]) -> None:
    reply = letter
    for wrap in wraps:
        reply = wrap.format(reply)
    assert read_choice(reply, ANIMALS).letter == letter


DENIALS = (
    "The answer is not {}.", "It isn't {}.", "{} is wrong.", "{} is incorrect.", "I don't think it is {}.", "I doubt it's {}.",
    "Not {}", "It can't be {}.", "{} can be ruled out.", "Anything but {}.", "{} does not fit.", "Ce n'est pas {}.",
    "Das ist nicht {}.", "No es {}.", "Não é {}.", "Non è {}.", "Это не {}.", "答案不是{}。", "{}ではありません。",
    "{}가 아닙니다.", "ليس {}", "{} नहीं है।", "Không phải {}.", "Bukan {}.", "{} değil.",
)  # fmt: skip


@given(st.sampled_from(DENIALS), st.sampled_from("ABCD"), st.booleans())
def test_a_denied_option_is_never_read(denial: str, letter: str, in_words: bool) -> None:
    assert read_choice(denial.format(ANIMALS[letter] if in_words else letter), ANIMALS).letter is None


UNSURE = (
    "If it is small, the answer is {}.", "The answer would be {} if it were small.", "Some people say the answer is {}.",
    "I initially thought it was {}.", "Is it {}?", "Let me check option {}.", "It might be {}.", "The student chose {}.",
    "The answer is {}. Wait, that's wrong.", "Si c'était petit, la réponse serait {}.", "如果它很小，答案就是{}。",
    "Someone told me the answer is {}.", "Unless it barks, {} is correct.",
)  # fmt: skip


@given(st.sampled_from(UNSURE), st.sampled_from("ABCD"))
def test_what_is_supposed_reported_or_taken_back_is_not_read(frame: str, letter: str) -> None:
    assert read_choice(frame.format(letter), ANIMALS).letter is None


@given(st.sampled_from(UNSURE), st.sampled_from("ABCD"), st.sampled_from("ABCD"))
def test_a_conclusion_after_that_is_read(frame: str, first: str, letter: str) -> None:
    assert (
        read_choice(
            f"{frame.format(first)} But it is clear now: the correct answer is {letter}.", ANIMALS
        ).letter
        == letter
    )


@given(
    st.sampled_from("ABCD"),
    st.sampled_from("ABCD"),
    st.sampled_from(
        [
            "The answer is {}. {}",
            "{}) {}",
            "\\boxed{{{}: {}}}",
            "<answer>{}. {}</answer>",
            '{{"answer": "{}", "text": "{}"}}',
        ]
    ),
)
def test_letter_and_words_must_agree(letter: str, other: str, frame: str) -> None:
    expected = letter if letter == other else None
    assert read_choice(frame.format(letter, ANIMALS[other]), ANIMALS).letter == expected


@given(
    st.sampled_from("EFGHXYZ"),
    st.sampled_from(["{}", "The answer is {}.", "\\boxed{{{}}}", "I choose {}", "{} is correct.", "So {}."]),
)
def test_a_letter_that_is_no_option_is_never_read(letter: str, frame: str) -> None:
    assert read_choice(frame.format(letter), ANIMALS).letter is None


WORDS = sorted(
    {
        word
        for table in load_languages().values()
        for field in ("not", "answer", "be", "if", "right", "wrong")
        for word in table.get(field, ())
    }
)


@pytest.mark.slow
@settings(max_examples=150)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(WORDS),
            st.sampled_from(["A", "B", "dog", "cat", ".", ",", "?", "\n", ":", "(", ")", "3"]),
        ),
        max_size=25,
    ).map(" ".join)
)
def test_any_words_of_the_table_give_an_option_or_nothing(reply: str) -> None:
    reading = read_choice(reply, ANIMALS)
    assert reading.letter is None or reading.letter in ANIMALS
    assert 0 <= reading.span[0] <= reading.span[1] <= len(reply)


PADS = ("\n\n{}", "{}\n\n", "\n \n{}\r\n\r\n", "  {}\t", "<think>\nLet me look.\n</think>\n\n{}\n")


@pytest.mark.slow
@pytest.mark.parametrize("pad", PADS)
def test_blank_lines_around_a_reply_change_nothing(pad: str) -> None:
    """Of every third reply of the sets, without a thought of its own."""
    rows = [row for path in sorted(REPLIES.glob("choice*.jsonl")) for row in load(path.name)[::3]]
    changed = [
        reply
        for row in rows
        if "think" not in (reply := str(row["reply"])).lower()
        and read_choice(pad.format(reply), row["options"]).letter != read_choice(reply, row["options"]).letter  # type: ignore[arg-type]
    ]
    assert changed == []


@pytest.mark.parametrize(
    "reply",
    [
        "Were the ears longer, I would pick B.",
        "Had it barked, B would be the answer.",
        "Peter picked B.",
        'Peter: "The answer is B."',
        "You want me to answer B.",
        "B was chosen by most students.",
        "It's B for the edge or C for the area.",
        "1. A\n2. C\n3. B",
        "It looks like a dog but it is a wolf.",
        "The man wants to buy a dog.",
        "Dogs are small animals.",
        "I was wrong about B.",
        "~~B~~",
        "点B在圆上。",
        '黑板上写着"答案：B"。',
        "Compare option A with option B before you answer.",
    ],
)
def test_forms_that_assert_nothing(reply: str) -> None:
    assert read_choice(reply, ANIMALS).letter is None


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("- A: incorrect\n- B: correct\n- C: incorrect\n- D: incorrect", "B"),
        ("**Answer: B**\n\nA. The cat is absent. C is a rabbit.", "B"),
        ("(A) cat (B) dog (C) rabbit (D) horse\n\nIt barks.\n\nAnswer: **(B) dog**", "B"),
        ("If we look at the ears, the answer is B.", "B"),
    ],
)
def test_a_headed_answer_stands(reply: str, letter: str) -> None:
    assert read_choice(reply, ANIMALS).letter == letter


def test_yes_and_no_may_be_stated_without_the_words() -> None:
    polar = {"A": "Yes", "B": "No"}
    replies = {
        "Based on the image, there are more cats than dogs.": "A",
        "Based on the chart, red is not the maximum. The maximum is blue.": "B",
        "There are no people.": None,
    }
    assert {reply: read_choice(reply, polar).letter for reply in replies} == replies


def test_sides_are_places() -> None:
    sides = {"A": "left", "B": "right"}
    assert read_choice("The cup is to the left of the plate.", sides).letter == "A"
    assert read_choice("One dog is on the right.", {"A": "1", "B": "2"}).letter != "B"
