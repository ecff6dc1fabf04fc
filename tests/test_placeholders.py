"""Placeholders in texts: each is filled by the image it means, and nothing else of the text moves."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.placeholders import number_placeholders, place_images

FORMS = (
    "<image {}>", "<image_{}>", "<image{}>", "<image-{}>", "<img_{}>", "<IMG {}>", "<Image {}>",
    "<|image_{}|>", "<picture {}>", "[IMAGE_{}]", "[image {}]",
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_numbers_name_images(form: str) -> None:
    placed = place_images(f"Is {form.format(2)} older than {form.format(1)}?", 2)
    assert placed is not None
    assert placed == (["Is ", 1, " older than ", 0, "?"], [], 0)


@pytest.mark.parametrize("mark", ["<image>", "<img>", "<Image>", "<|image|>", "<image/>"])
def test_without_numbers_images_come_in_order(mark: str) -> None:
    placed = place_images(f"{mark} vs {mark}: which?", 2)
    assert placed is not None
    assert placed.parts == [0, " vs ", 1, ": which?"]


@pytest.mark.parametrize(
    "text", ["Which?", "a <b> c", "<imagine 1>", "<img src='x.png'>", "[1]", "<image 1000>", ""]
)
def test_other_texts_have_none(text: str) -> None:
    assert place_images(text, 3) is None


def test_what_is_left_over() -> None:
    assert place_images("See <image 2>.", 3) == ([0, 2, "See ", 1, "."], [], 2)
    assert place_images("<image> and so on", 3) == ([0, 1, 2, " and so on"], [], 2)
    assert place_images("<image 1> <image 2>", 1) == ([0, " <image 2>"], ["<image 2>"], 0)
    assert place_images("<image> <image>", 1) == ([0, " <image>"], ["<image>"], 0)
    assert place_images("<image 1>?", 0) == (["<image 1>?"], ["<image 1>"], 0)
    assert place_images("<image 1>, again <image 1>", 1) == ([0, ", again ", 0], [], 0)


def test_some_count_from_zero() -> None:
    placed = place_images("<image 0> or <image 1>?", 2)
    assert placed is not None
    assert placed.parts == [0, " or ", 1, "?"]


def test_moving_needs_numbers() -> None:
    assert number_placeholders(["<image>?", "no", "<img>"]) == ["<image 1>?", "no", "<image 2>"]
    assert number_placeholders(["<image 2>", "<image>"]) == ["<image 2>", "<image>"]


@given(
    st.lists(
        st.sampled_from(["x", " y ", "<image>", "<image 1>", "[IMG 2]", "<image 9>", "\n"]), max_size=12
    ),
    st.integers(0, 4),
)
def test_texts_keep_their_order_and_no_image_is_lost(pieces: list[str], n_images: int) -> None:
    text = "".join(pieces)
    placed = place_images(text, n_images)
    marks = re.findall(r"<image[^>]*>|\[IMG 2\]", text)
    assert (placed is None) == (not marks)
    if placed is None:
        return
    assert {part for part in placed.parts if isinstance(part, int)} == set(range(n_images))
    said = "".join(part for part in placed.parts if isinstance(part, str))
    rest = re.findall(r"<image[^>]*>|\[IMG 2\]", said)
    assert rest == placed.unfilled
    assert [c for c in said if c in "xy"] == [c for c in text if c in "xy"]
