"""Pictures of MULTI's questions are numbered as the official code numbers them, its slip included."""

from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import DataError
from eyechart.pipelines.multi.data import check_marks, pick_knowledge_name, place_images
from eyechart.pipelines.multi.files import MARK
from support.cases import for_each
from support.golden import vectors


@for_each(vectors("multi_prepare", "aa40c5b"))
def test_the_official_preparation(vector: dict[str, Any]) -> None:
    prepare = partial(
        place_images,
        vector["content"],
        vector["img_paths"],
        vector["captions"],
        in_content=vector["caption_in_content"],
    )
    if vector.get("error"):
        with pytest.raises(IndexError):
            prepare()
        return
    placed = prepare()
    assert placed.text == vector["content_out"]
    assert list(placed.images) == vector["image_list_out"]
    assert len(placed.images) == vector["image_number"]


PATHS = [f"{k}.png" for k in range(1, 13)]
TEXTS = st.lists(
    st.one_of(
        st.integers(1, len(PATHS)).map(lambda n: f"[IMAGE_{n}]"), st.text("甲乙 []IMAGE_1", max_size=6)
    ),
    max_size=8,
).map("".join)


def is_sound(text: str) -> bool:
    return all(1 <= int(number) <= len(PATHS) for number in MARK.findall(text))


@given(TEXTS.filter(is_sound))
def test_correct_numbering_gives_every_mark_its_own_picture(text: str) -> None:
    placed = place_images(text, PATHS, numbering="correct")
    assert MARK.findall(placed.text) == [str(k) for k in range(1, len(placed.images) + 1)]
    assert list(placed.images) == [PATHS[int(number) - 1] for number in MARK.findall(text)]
    assert MARK.sub("", placed.text) == MARK.sub("", text)


@given(TEXTS.filter(is_sound))
def test_both_numberings_keep_the_number_of_images_and_agree_in_increasing_order(text: str) -> None:
    official, correct = (place_images(text, PATHS, numbering=way) for way in ("official", "correct"))
    assert official.images == correct.images
    assert len(MARK.findall(official.text)) == len(MARK.findall(text)) == len(official.images)
    numbers = [int(number) for number in MARK.findall(text)]
    if all(one < two for one, two in pairwise(numbers)):
        assert official.text == correct.text


@pytest.mark.parametrize("mark", ["[IMAGE_0]", "[IMAGE_00]", "[IMAGE_3]", f"[IMAGE_{'9' * 5000}]"])
def test_a_mark_of_no_image_is_refused_by_name(mark: str) -> None:
    with pytest.raises(DataError) as caught:
        check_marks(f"见{mark}", ["a", "b"], where="p.json: question 'x_0'", field="img_paths")
    assert caught.value.message.startswith(f"p.json: question 'x_0': the text has {mark[:40]}")
    assert "img_paths holds 2 images" in caught.value.message


@pytest.mark.parametrize(("n_images", "is_refused"), [(2, False), (1, True), (0, True)])
def test_marks_pass_as_far_as_the_list_goes(n_images: int, is_refused: bool) -> None:
    refused = False
    try:
        check_marks("[IMAGE_1][IMAGE_02]", ["a", "b"][:n_images], where="", field="img_paths")
    except DataError:
        refused = True
    assert refused == is_refused


def test_one_text_of_knowledge_is_named_by_its_first_character_but_not_in_the_driving_test() -> None:
    assert pick_knowledge_name("交通标志", "gzdl_7") == "交"
    assert pick_knowledge_name("交通标志", "shjk_7") == "交通标志"
    assert pick_knowledge_name("", "czsx_0") == pick_knowledge_name("", "shjk_0") == ""
