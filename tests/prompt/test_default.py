"""The prompt for a user's own file: published frames, to the letter."""

from dataclasses import replace

import pytest

from eyechart.errors import DataError
from eyechart.prompt.default import build_custom_prompt, with_system
from eyechart.prompt.published import frame
from eyechart.prompt.template import make_template_prompt
from eyechart.types import ImageRef, Message, Sample

RED, BLUE = ImageRef(kind="file", location="red.png"), ImageRef(kind="file", location="blue.png")
FRAME = "Please select the correct answer from the options above. \n"


def text_of(**fields: object) -> str:
    [message] = build_custom_prompt(Sample(id="1", question="Which?", **fields))  # type: ignore[arg-type]
    return message.text


def test_an_open_question_is_asked_as_it_stands() -> None:
    assert text_of() == "Which?"
    assert text_of(hint="Look up.") == "Hint: Look up.\nWhich?"


def test_a_row_that_asks_nothing_fails() -> None:
    for note in (
        Sample(id="9", question=" ", row=4),
        Sample(id="9", question="", choices={"A": "cat"}, row=4),
    ):
        with pytest.raises(DataError, match="row 4 has no question"):
            build_custom_prompt(note)
        [turn] = build_custom_prompt(replace(note, images=(RED,)))  # the question may be in the image
        assert turn.images == (RED,)


def test_options_in_columns_are_framed() -> None:
    choices = {"A": "cat", "C": "dog"}
    assert text_of(choices=choices) == f"Question: Which?\nOptions:\nA. cat\nC. dog\n{FRAME}"
    assert text_of(choices=choices, hint="Look up.").startswith("Hint: Look up.\nQuestion: Which?\n")


def test_options_in_one_text_follow_the_question_unchanged() -> None:
    block = "(A) cat \n(B) dog"
    assert text_of(choices={"A": "cat", "B": "dog"}, choices_text=block) == f"Which?\n{block}"
    assert text_of(choices_text=block, hint="Look up.") == f"Hint: Look up.\nWhich?\n{block}"


def test_pictures_come_first_in_the_order_of_the_file() -> None:
    sample = Sample(id="1", question="Which?", images=(BLUE, RED))
    assert build_custom_prompt(sample) == [Message("user", (BLUE, RED, "Which?"))]


def test_the_golds_are_never_in_the_prompt() -> None:
    choices = {"A": "cat", "B": "dog"}
    with_gold = Sample(id="1", question="Which?", choices=choices, golds=("B",), meta={"answer": "B"})
    without = Sample(id="1", question="Which?", choices=choices)
    assert build_custom_prompt(with_gold) == build_custom_prompt(without)


def test_placeholders_are_filled_where_they_stand() -> None:
    choices = {"A": "<image 2>", "B": "neither"}
    sample = Sample(id="1", question="Is it <image 1>?", images=(BLUE, RED), choices=choices)
    [message] = build_custom_prompt(sample)
    assert message.parts == (
        "Question: Is it ",
        BLUE,
        "?\nOptions:\nA. ",
        RED,
        f"\nB. neither\n{FRAME}",
    )
    assert frame()(sample)[0].parts[:2] == (BLUE, RED)


def test_a_template_that_places_no_image_leaves_placeholders_to_be_filled() -> None:
    sample = Sample(id="1", question="<image> vs <image>", images=(BLUE, RED))
    assert make_template_prompt("{{ question }}!")(sample)[0].parts == (BLUE, " vs ", RED, "!")
    assert make_template_prompt("{{ image1 }}{{ question }}")(sample)[0].parts == (BLUE, "<image> vs <image>")


def test_a_system_message_goes_before_everything() -> None:
    sample = Sample(id="1", question="Which?", images=(RED,))
    system = Message("system", ("Be brief.",))
    assert with_system(build_custom_prompt, "Be brief.")(sample) == [system, *build_custom_prompt(sample)]
