"""MULTI's prompt is put together as the official code puts it together."""

import io
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eyechart.data.images.loading import ImageLoader
from eyechart.errors import DataError
from eyechart.pipelines.multi.arguments import MultiOptions
from eyechart.pipelines.multi.files import MARK
from eyechart.pipelines.multi.prompt import BLACK, NAMES, WORDS, MultiPrompt
from eyechart.types import MODELS_TURN, ImageRef, Message, Sample

TAGS = {name: f"<{name}>" for name in NAMES} | {"role": "<role {subject} {type}>"}  # pieces by their names
PICTURES = tuple(ImageRef(kind="file", location=f"{k}.png") for k in (1, 2, 3))


def sample(type_name: str = "单选", images: int = 0, question: str = "", **meta: Any) -> Sample:
    known = {
        "type_name": type_name,
        "knowledge": "圆",
        "question_image_number": images,
    }
    text = "题" + "".join(f"[IMAGE_{k}]乙" for k in range(1, images + 1))
    return Sample(id="czsx_0_0", question=question or text, images=PICTURES[:images], meta=known | meta)


def prompt(**options: Any) -> MultiPrompt:
    return MultiPrompt(own_words=options.pop("words", TAGS), options=MultiOptions(**options))


def text(one: Sample, **options: Any) -> str:
    [message] = prompt(**options)(one)
    assert message.role == "user"
    return message.text


# -- pieces and their order ------------------------------------------------------------------------


def test_the_pieces_stand_in_the_official_order() -> None:
    one = sample(knowledge_content="知", knowledge_image_number=0)
    assert text(one, few_shot=1) == (
        "<role 圆 单选>\n<instruction_sa>\n<guide_text>\n\n<example_sa>\n<example_end>\n"
        "题\n<knowledge>\n知\n<ending>"
    )


def test_the_plain_prompt() -> None:
    assert text(sample()) == "<role 圆 单选>\n<instruction_sa>\n<guide_text>\n题\n<ending>"


@pytest.mark.parametrize(
    ("type_name", "kind"), [("单选", "sa"), ("多选", "ma"), ("填空", "fb"), ("解答", "op"), ("其他", "op")]
)
def test_every_type_has_its_instruction_and_others_are_open_ones(type_name: str, kind: str) -> None:
    said = text(sample(type_name), few_shot=3, cot=True)
    named = "解答" if type_name == "其他" else type_name
    assert said.startswith(f"<role 圆 {named}>\n<instruction_{kind}>\n")
    if kind == "op":  # neither an example nor a chain of thought
        assert "<example" not in said
        assert said.endswith("<ending>")
    else:
        assert said.count(f"<example_{kind}>\n<example_end>\n") == 1
        assert said.endswith("\n<ending_cot>")


def test_no_background_keeps_the_instruction() -> None:
    assert text(sample(), no_background=True) == "<instruction_sa>\n<guide_text>\n题\n<ending>"


@pytest.mark.parametrize("split_sys", [False, True])
def test_no_sys_leaves_the_question(split_sys: bool) -> None:
    [message] = prompt(no_sys=True, few_shot=1, split_sys=split_sys)(sample())
    assert message == Message("user", ("题\n<ending>",))


def test_names_in_braces_are_filled_in_the_role_alone() -> None:
    words = TAGS | {"ending_cot": "{…}{subject}", "role": "{type}{subject}{x}"}
    said = text(sample(knowledge="{type}"), words=words, cot=True)
    assert said.startswith("单选{type}{x}\n")
    assert said.endswith("\n{…}{subject}")


# -- images --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("images", "options", "guide"),
    [
        (0, {}, "guide_text"),
        (0, {"input_type": 2}, "guide_text"),
        (0, {"input_type": 2, "blank_image": True}, "guide_black_image"),
        (0, {"input_type": 1, "blank_image": True}, "guide_text"),
        (1, {"input_type": 0}, "guide_no_image"),
        (1, {"input_type": 1}, "guide_caption"),
        (1, {"input_type": 2}, "guide_image"),
        (1, {"input_type": 2, "in_turn": True}, "guide_image"),
        (1, {"input_type": 2, "blank_image": True, "cot": True}, "guide_image"),
        (2, {"input_type": 2, "in_turn": True}, "guide_image_in_turn"),
        (2, {"input_type": 0, "in_turn": True}, "guide_no_image"),
    ],
)
def test_the_image_guide(images: int, options: dict[str, Any], guide: str) -> None:
    assert prompt(**options).guide(sample(images=images)) == guide


def test_images_of_the_knowledge_count_for_the_guide() -> None:
    one = sample(images=0, knowledge_content="知[IMAGE_1]", knowledge_image_number=1)
    assert prompt(input_type=0).guide(one) == "guide_no_image"


def test_images_follow_the_text() -> None:
    [message] = prompt(input_type=2)(sample(images=2))
    assert message.parts[1:] == PICTURES[:2]
    assert isinstance(message.parts[0], str)


@pytest.mark.parametrize("input_type", [0, 1])
def test_images_are_sent_at_input_type_2_only(input_type: int) -> None:
    [message] = prompt(input_type=input_type)(sample(images=2))
    assert message.images == ()


def test_the_black_image_is_one() -> None:
    [message] = prompt(input_type=2, blank_image=True)(sample())
    assert message.images == (BLACK,)
    loaded = ImageLoader().load(BLACK)
    assert (loaded.width, loaded.height, loaded.mime) == (224, 224, "image/png")
    with Image.open(io.BytesIO(loaded.data())) as opened:
        assert opened.convert("L").getextrema() == (0, 0)


# -- system message and rounds ---------------------------------------------------------------------


@given(
    st.sampled_from(["单选", "多选", "填空", "解答", "其他"]),
    st.integers(0, 3),
    st.fixed_dictionaries(
        {
            "input_type": st.sampled_from([0, 1, 2]),
            "cot": st.booleans(),
            "few_shot": st.integers(0, 2),
            "no_background": st.booleans(),
            "no_sys": st.booleans(),
            "blank_image": st.booleans(),
        }
    ),
)
def test_a_system_message_holds_what_would_come_first(
    type_name: str, images: int, options: dict[str, Any]
) -> None:
    one = sample(type_name, images)
    *system, user = prompt(split_sys=True, **options)(one)
    assert "".join(turn.text for turn in system) + user.text == text(one, **options)
    assert [turn.role for turn in system] == ([] if options["no_sys"] else ["system"])


def test_rounds_bring_an_image_each() -> None:
    turns = prompt(input_type=2, in_turn=True, no_sys=True)(sample(images=2))
    assert turns == [
        Message("user", (PICTURES[0], "题[IMAGE_1]")),
        MODELS_TURN,
        Message("user", (PICTURES[1], "乙[IMAGE_2]\n乙\n<ending>")),
    ]


def test_the_whole_prompt_is_cut_unless_part_of_it_is_a_system_message() -> None:
    first = prompt(input_type=2, in_turn=True)(sample(images=2))[0]
    assert first.text == "<role 圆 单选>\n<instruction_sa>\n<guide_image_in_turn>\n题[IMAGE_1]"
    system, asked, *_ = prompt(input_type=2, in_turn=True, split_sys=True)(sample(images=2))
    assert (system.role, system.text.endswith("<guide_image_in_turn>\n")) == ("system", True)
    assert asked.text == "题[IMAGE_1]"


def test_a_chain_of_thought_ends_with_a_round_without_a_picture() -> None:
    turns = prompt(input_type=2, in_turn=True, cot=True)(sample(images=2))
    assert len(turns) == 5
    assert turns[-1] == Message("user", ("<final_round>",))
    assert turns[2].text.endswith("<ending_cot>")
    turns = prompt(input_type=2, in_turn=True, cot=True)(sample("解答", images=2))
    assert (turns[2].text.endswith("<ending>"), turns[-1].text) == (True, "<final_round>")
    assert len(prompt(input_type=2, cot=True)(sample(images=2))) == 1


def test_images_of_the_knowledge_have_rounds_too() -> None:
    one = sample(images=1, knowledge_content="知[IMAGE_1]", knowledge_image_number=1)
    turns = prompt(input_type=2, in_turn=True, no_sys=True)(replace(one, images=PICTURES[:2]))
    assert [turn.text for turn in turns] == ["题[IMAGE_1]", "", "乙\n<knowledge>\n知[IMAGE_1]\n<ending>"]
    assert [turn.images for turn in turns if turn.role == "user"] == [PICTURES[:1], PICTURES[1:2]]


@pytest.mark.parametrize("images", [0, 1])
def test_one_image_makes_one_round(images: int) -> None:
    [message] = prompt(input_type=2, in_turn=True)(sample(images=images))
    assert len(message.images) == images


def test_rounds_and_images_that_do_not_match_are_refused() -> None:
    one = sample(images=2, knowledge="[IMAGE_1]")
    with pytest.raises(DataError, match="marks 3 images, but there are 2"):
        prompt(input_type=2, in_turn=True)(one)


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("n", [2, 3])
def test_our_own_words_never_add_a_round(lang: Any, n: int) -> None:
    turns = prompt(words=WORDS[lang], input_type=2, in_turn=True, few_shot=1)(sample(images=n))
    asked = [turn for turn in turns if turn.role == "user"]
    assert len(asked) == n
    assert all(len(MARK.findall(turn.text)) == 1 for turn in asked)
