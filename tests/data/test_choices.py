import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.columns.answers import LETTERS, label_choices, parse_choices

WORDS = st.text(alphabet="abcdefgh ijkl0123456789", min_size=1, max_size=15).map(str.strip).filter(bool)
STYLES = ["({}) ", "{}. ", "{}.", "{}) ", "{}: ", "{}、", "（{}）", "[{}] "]


@pytest.mark.slow
@settings(deadline=None)
@given(
    texts=st.lists(WORDS, min_size=2, max_size=10),
    style=st.sampled_from(STYLES),
    indent=st.sampled_from(["", " ", "\t"]),
)
def test_blocks_come_back(texts: list[str], style: str, indent: str) -> None:
    block = "\n".join(
        indent + style.format(letter) + text for letter, text in zip(LETTERS, texts, strict=False)
    )
    assert parse_choices(block) == dict(zip(LETTERS, texts, strict=False))


@settings(deadline=None)
@given(texts=st.lists(WORDS, min_size=2, max_size=6))
def test_one_line_comes_back(texts: list[str]) -> None:
    block = " ".join(f"{letter}. {text}" for letter, text in zip(LETTERS, texts, strict=False))
    assert parse_choices(block) == dict(zip(LETTERS, texts, strict=False))


@settings(deadline=None)
@given(st.text(alphabet="ABC. ()\n:ab", max_size=60))
def test_any_block_gives_letters_in_order(block: str) -> None:
    letters = list(parse_choices(block))
    assert letters == list(LETTERS[: len(letters)])


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (
            "A Old tin\nB New tin\n C Wood \nD Clay",
            {"A": "Old tin", "B": "New tin", "C": "Wood", "D": "Clay"},
        ),
        (" A. x \n B. y ", {"A": "x", "B": "y"}),
        ("A. x\nB. y\n", {"A": "x", "B": "y"}),
        ("A. one B. two C. three", {"A": "one", "B": "two", "C": "three"}),
        ("A. one.\nB. two. C. three.\nD. four.", {"A": "one.", "B": "two.", "C": "three.", "D": "four."}),
        ("(A) x\n(B) first\r\n second line\n(C) z", {"A": "x", "B": "first\r\n second line", "C": "z"}),
        ("(A) x\n(B) y\n(B) again\n(C) z", {"A": "x", "B": "y", "C": "z"}),
        ("A. Vitamin B. is good\nB. other", {"A": "Vitamin B. is good", "B": "other"}),
        ("A. x\nB. Vitamin C. pure", {"A": "x", "B": "Vitamin C. pure"}),
        ("A. \nB. y", {"A": "", "B": "y"}),
        ("a cat\na dog", {}),
        ("A cat\nA dog", {}),
        ("rubber\ncotton", {}),
        ("", {}),
    ],
)
def test_odd_blocks(block: str, expected: dict[str, str]) -> None:
    assert parse_choices(block) == expected


def test_lists() -> None:
    assert label_choices(["x", "", "z"]) == {"A": "x", "C": "z"}
    assert label_choices(["A. x", "B. y"]) == {"A": "x", "B": "y"}
    assert label_choices(["A. x", "y"]) == {"A": "A. x", "B": "y"}
    assert label_choices(["A. x"]) == {"A": "A. x"}
    assert label_choices([]) == {}
