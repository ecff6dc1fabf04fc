"""What `build_prompt` may return."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.data.files.rows import OUTSIDE, PathRules
from eyechart.errors import DataError
from eyechart.pipelines.vlmevalkit.vlmeval.bridge import to_messages
from eyechart.types import ImageRef, Message

RULES = PathRules(["/data"])
CAT = ImageRef(kind="file", location="/data/cat.png")


def parts(said: Any) -> tuple[Any, ...]:
    [message] = to_messages(said, RULES, "mine: build_prompt")
    assert message.role == "user"
    return message.parts


def test_pictures_and_text_in_order() -> None:
    said = [{"type": "image", "value": "cat.png"}, {"type": "text", "value": "Which?"}]
    assert parts(said) == (CAT, "Which?")
    assert parts(list(reversed(said))) == ("Which?", CAT)
    assert parts([{"type": "image", "value": Path("cat.png")}]) == (CAT,)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/abs/a b.jpg", ImageRef(kind="file", location="/abs/a b.jpg")),
        ("https://example.org/a", ImageRef(kind="url", location="https://example.org/a")),
        ("data:image/png;base64,QUJD", ImageRef(kind="data", location="QUJD")),
        ("../a.png", ImageRef(kind="file", location="../a.png", refused=OUTSIDE)),
    ],
)
def test_where_a_picture_lies(place: str, expected: ImageRef) -> None:
    assert parts([{"type": "image", "value": place}]) == (expected,)


@given(
    st.text(min_size=1).filter(
        lambda text: not text[-5:].lower().endswith(("g", "f", "p", "2", "m", "c", "o"))
    )
)
def test_a_text_alone_is_the_question(text: str) -> None:
    if not text.startswith(("http://", "https://", "data:")):
        assert parts(text) == (text,)
    assert parts({"type": "text", "value": text}) == (text,)


def test_a_list_of_texts_and_paths() -> None:
    assert parts(["cat.png", "Is it cat.png?", "Look:\ncat.png"]) == (CAT, "Is it cat.png?", "Look:\ncat.png")


def test_what_the_system_says_comes_first() -> None:
    said = [{"type": "text", "value": "Which?"}, {"type": "text", "value": "Be brief.", "role": "system"}]
    assert to_messages(said, RULES, "") == [Message("system", ("Be brief.",)), Message("user", ("Which?",))]


def test_a_conversation() -> None:
    said = [
        {
            "role": "user",
            "content": [{"type": "image", "value": "cat.png"}, {"type": "text", "value": "Who?"}],
        },
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": {"type": "text", "value": "Which one?"}},
    ]
    assert to_messages(said, RULES, "") == [
        Message("user", (CAT, "Who?")),
        Message("assistant", ("A cat.",)),
        Message("user", ("Which one?",)),
    ]


@pytest.mark.parametrize(
    ("said", "says"),
    [
        (None, "returned nothing"),
        ([], "returned nothing"),
        (7, "returned int"),
        ([{"type": "text"}], "without type and value"),
        ([3], "without type and value"),
        ([{"type": "video", "value": "a.mp4"}], "'video'"),
        ([{"type": "image", "value": None}], "is not a path"),
        ([{"type": "text", "value": "x", "role": "system"}], "nothing for the user's turn"),
        ([{"role": "judge", "content": "x"}], "unknown role 'judge'"),
    ],
)
def test_what_is_no_prompt_is_named(said: Any, says: str) -> None:
    with pytest.raises(DataError, match=says) as caught:
        to_messages(said, RULES, "mine: build_prompt (index 3)")
    assert caught.value.message.startswith("mine: build_prompt (index 3)")
