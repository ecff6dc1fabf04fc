"""What stands in place of images in a prompt, and neutral wordings."""

import pytest

from eyechart.errors import DataError, UsageError
from eyechart.prompt.default import build_custom_prompt, with_system
from eyechart.prompt.inputs import REWORDINGS, describe_images, drop_images, reword, with_images_only
from eyechart.prompt.published import ask
from eyechart.types import MODELS_TURN, ImageRef, Message, Sample
from support.cases import for_each

RED, BLUE = ImageRef(kind="file", location="red.png"), ImageRef(kind="file", location="blue.png")
ONE = Sample(id="1", question="Which?", images=(RED,))
TWO = Sample(id="2", question="Is <image 1> like <image 2>?", images=(RED, BLUE))


def rounds(sample: Sample) -> list[Message]:
    return [
        Message("user", (*sample.images,)),
        Message("assistant", ("I see.",)),
        Message("user", (*sample.images, sample.question)),
    ]


# -- without images


def test_a_blindfolded_model_gets_the_words_alone_and_no_empty_turn() -> None:
    assert drop_images(rounds)(ONE) == [
        Message("assistant", ("I see.",)),
        Message("user", ("Which?",)),
    ]


def test_variants_add_up() -> None:
    [system, *rest] = with_system(drop_images(rounds), "Be brief.")(ONE)
    assert system.role == "system"
    assert not any(turn.images for turn in rest)


def test_rounds_stay_rounds_without_their_pictures() -> None:
    def in_turn(sample: Sample) -> list[Message]:
        return [Message("user", (RED, "first")), MODELS_TURN, Message("user", (RED, "second"))]

    turns = drop_images(in_turn)(ONE)
    assert turns == [Message("user", ("first",)), MODELS_TURN, Message("user", ("second",))]


def test_placeholders_go_with_the_images_whether_filled_or_not() -> None:
    for prompt in (build_custom_prompt, ask()):
        assert drop_images(prompt)(TWO) == [Message("user", ("Is like?",))]


def test_a_question_that_speaks_of_no_image_stays_to_the_letter() -> None:
    sample = Sample(id="1", question="  a < b [2] <b>bold</b>  ", images=(RED,))
    assert drop_images(build_custom_prompt)(sample) == [Message("user", (sample.question,))]


def test_texts_on_both_sides_of_an_image_become_one() -> None:
    def around(sample: Sample) -> list[Message]:
        return [Message("user", ("Look at this:", RED, "Which?")), Message("user", ("one", "two"))]

    assert drop_images(around)(ONE) == [
        Message("user", ("Look at this: Which?",)),
        Message("user", ("one", "two")),
    ]


# -- a text in place of an image


def describe(sample: Sample, *texts: str, kind: str = "caption", prompt: object = build_custom_prompt) -> str:
    found = describe_images(prompt, lambda sample: texts, kind)(sample)  # type: ignore[arg-type]
    [turn] = found
    [text] = turn.parts
    return str(text)


def test_a_caption_stands_before_the_question_as_the_image_did() -> None:
    assert describe(ONE, "a bus") == "[Caption of the image: a bus]\nWhich?"
    assert describe(ONE, "EXIT\nHERE", kind="ocr") == "[Text in the image: EXIT\nHERE]\nWhich?"
    assert describe(ONE, " ", kind="ocr") == "[Text in the image: none]\nWhich?"


def test_captions_stand_where_the_placeholders_stood() -> None:
    expected = "Is [Caption of image 1: a bus] like [Caption of image 2: a car]?"
    assert describe(TWO, "a bus", "a car") == expected


def test_one_text_for_several_images_stands_once() -> None:
    assert describe(TWO, "a bus and a car") == "Is [Caption of the images: a bus and a car] like ?"
    both = Sample(id="3", question="Which?", images=(RED, BLUE))
    assert describe(both, "a bus and a car") == "[Caption of the images: a bus and a car]\nWhich?"


def test_captions_of_images_behind_the_text_have_lines_of_their_own() -> None:
    def behind(sample: Sample) -> list[Message]:
        return [Message("user", (sample.question, *sample.images))]

    both = Sample(id="3", question="Which?", images=(RED, BLUE))
    expected = "Which?\n[Caption of image 1: a bus]\n[Caption of image 2: a car]"
    assert describe(both, "a bus", "a car", prompt=behind) == expected


def test_the_same_image_twice_takes_the_first_text() -> None:
    same = Sample(id="3", question="<image 1> <image 2>", images=(RED, RED))
    assert describe(same, "a", "b").count("image 1: a") == 2


def test_an_image_that_is_not_the_samples_is_still_sent() -> None:
    def with_example(sample: Sample) -> list[Message]:
        return [Message("user", (BLUE, "like this:", *sample.images, sample.question))]

    [turn] = describe_images(with_example, lambda sample: ["a bus"], "caption")(ONE)
    assert turn.parts == (BLUE, "like this:\n[Caption of the image: a bus]\nWhich?")


def test_a_sample_without_images_is_asked_as_it_is() -> None:
    plain = Sample(id="4", question="Why?")
    assert describe_images(build_custom_prompt, lambda sample: [], "ocr")(plain) == build_custom_prompt(plain)


def test_a_prompt_that_sends_no_image_is_refused() -> None:
    def words_only(sample: Sample) -> list[Message]:
        return [Message("user", (sample.question,))]

    with pytest.raises(UsageError, match="the prompt sends none"):
        describe_images(words_only, lambda sample: ["a bus"], "caption")(ONE)


def test_a_sample_without_an_image_fails_where_images_are_required() -> None:
    with pytest.raises(DataError, match="sample 4 has no image"):
        with_images_only(build_custom_prompt)(Sample(id="4", question="Why?"))


# -- neutral wordings


@for_each(REWORDINGS)
def test_a_wording_changes_the_text_around_the_question_and_nothing_else(wording: object) -> None:
    for sample in (ONE, TWO):
        before, after = build_custom_prompt(sample), reword(build_custom_prompt, wording)(sample)  # type: ignore[arg-type]
        assert [turn.images for turn in before] == [turn.images for turn in after]
        plain, worded = before[0].text, after[0].text
        assert worded != plain
        assert plain.strip() in worded


def test_the_system_message_is_not_reworded() -> None:
    def with_role(sample: Sample) -> list[Message]:
        return [Message("system", ("You are a judge.",)), Message("user", (RED, sample.question))]

    [system, turn] = reword(with_role, "please")(ONE)
    assert system.text == "You are a judge."
    assert turn.parts == (RED, "Please answer the following question.\nWhich?")
