"""Any prompt, changed in one way."""

from eyechart.prompt.variants import with_system, without_images
from eyechart.types import MODELS_TURN, ImageRef, Message, Sample

RED = ImageRef(kind="file", location="red.png")
SAMPLE = Sample(id="1", question="Which?", images=(RED,))


def rounds(sample: Sample) -> list[Message]:
    return [
        Message("user", (*sample.images,)),
        Message("assistant", ("I see.",)),
        Message("user", (*sample.images, sample.question)),
    ]


def test_a_system_message_goes_before_everything() -> None:
    assert with_system(rounds, "Be brief.")(SAMPLE) == [Message("system", ("Be brief.",)), *rounds(SAMPLE)]


def test_a_blindfolded_model_gets_the_words_alone_and_no_empty_turn() -> None:
    assert without_images(rounds)(SAMPLE) == [
        Message("assistant", ("I see.",)),
        Message("user", ("Which?",)),
    ]


def test_variants_add_up() -> None:
    [system, *rest] = with_system(without_images(rounds), "Be brief.")(SAMPLE)
    assert system.role == "system"
    assert not any(turn.images for turn in rest)


def test_rounds_stay_rounds_without_their_pictures() -> None:
    def in_turn(sample: Sample) -> list[Message]:
        picture = ImageRef(kind="file", location="a.png")
        return [Message("user", (picture, "first")), MODELS_TURN, Message("user", (picture, "second"))]

    turns = without_images(in_turn)(SAMPLE)
    assert turns == [Message("user", ("first",)), MODELS_TURN, Message("user", ("second",))]
