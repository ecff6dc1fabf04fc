"""Easy questions of our own, by which a model shows that it takes every kind of MULTI's: words and labels.

Each in Chinese and in English; the images are plain colours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from eyechart.data.images.loading import ImageLoader
from eyechart.models.checkup import CheckCase, Skill, make_plain_image
from eyechart.pipelines.multi.data import classify_images
from eyechart.pipelines.multi.prompt import WORDS, Language, MultiPrompt
from eyechart.pipelines.multi.score import KINDS, score
from eyechart.pipelines.multi.select import Placement, place_images
from eyechart.types import ImageRef, Message, Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckQuestion:
    """One question: what it tries, its type, its words in each language, and what is right."""

    ability: str
    type: Literal["单选", "多选", "填空", "解答"]
    words: Mapping[Language, str]
    label: Mapping[Language, str] | str
    colours: tuple[str, ...] = ()
    captions: Mapping[Language, str] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # of the prompt
    skill: Skill = ""

    def answer(self, lang: Language) -> str:
        """What is right in that language."""
        return self.label if isinstance(self.label, str) else self.label[lang]


_COLOURS: Mapping[Language, str] = {
    "zh": "\nA. 红色\nB. 蓝色\nC. 绿色\nD. 黄色",
    "en": "\nA. red\nB. blue\nC. green\nD. yellow",
}
_FIRST_OF_TWO: Mapping[Language, str] = {
    "zh": "这是第一张图[IMAGE_1]，这是第二张图[IMAGE_2]。第一张图是什么颜色？" + _COLOURS["zh"],
    "en": "Here is the first picture [IMAGE_1] and here the second [IMAGE_2]. "
    "What colour is the first one?" + _COLOURS["en"],
}

QUESTIONS = (
    CheckQuestion(
        ability="single choice in words",
        type="单选",
        words={
            "zh": "三角形有几条边？\nA. 2\nB. 3\nC. 4\nD. 5",
            "en": "How many sides has a triangle?\nA. 2\nB. 3\nC. 4\nD. 5",
        },
        label="B",
    ),
    CheckQuestion(
        ability="multiple choice in words",
        type="多选",
        words={
            "zh": "下列东西中可以吃的有\nA. 苹果\nB. 石头\nC. 面包\nD. 玻璃",
            "en": "Which of these can be eaten?\nA. an apple\nB. a stone\nC. bread\nD. glass",
        },
        label="AC",
    ),
    CheckQuestion(
        ability="blanks in words",
        type="填空",
        words={
            "zh": "用阿拉伯数字填写：狗有[MASK]条腿，人有[MASK]只眼睛。",
            "en": "Fill in digits: a dog has [MASK] legs, a human being has [MASK] eyes.",
        },
        label="4\n2",
    ),
    CheckQuestion(
        ability="words beside a black image",
        type="单选",
        words={
            "zh": "一加一等于几？\nA. 1\nB. 3\nC. 2\nD. 4",
            "en": "What is one and one?\nA. 1\nB. 3\nC. 2\nD. 4",
        },
        label="C",
        options={"input_type": 2, "blank_image": True},
    ),
    CheckQuestion(
        ability="caption for an image",
        type="单选",
        words={
            "zh": "图[IMAGE_1]中的气球是什么颜色？" + _COLOURS["zh"],
            "en": "What colour is the balloon in [IMAGE_1]?" + _COLOURS["en"],
        },
        label="D",
        colours=("yellow",),
        captions={"zh": "一只黄色的气球", "en": "a yellow balloon"},
        options={"input_type": 1},
    ),
    CheckQuestion(
        ability="single choice on an image",
        type="单选",
        words={
            "zh": "[IMAGE_1]\n这张图是什么颜色？" + _COLOURS["zh"],
            "en": "[IMAGE_1]\nWhat colour is this picture?" + _COLOURS["en"],
        },
        label="C",
        colours=("green",),
        options={"input_type": 2},
        skill="sees pictures",
    ),
    CheckQuestion(
        ability="blank on an image",
        type="填空",
        words={
            "zh": "用一个汉字填写：图[IMAGE_1]是[MASK]色的。",
            "en": "Fill in one word in lower case: the picture [IMAGE_1] is [MASK].",
        },
        label={"zh": "红或红色", "en": "red"},
        colours=("red",),
        options={"input_type": 2},
        skill="sees pictures",
    ),
    CheckQuestion(
        ability="open question on an image",
        type="解答",
        words={"zh": "说说这张图的颜色。[IMAGE_1]", "en": "Describe the colour of this picture. [IMAGE_1]"},
        label={"zh": "蓝", "en": "blue"},
        colours=("blue",),
        options={"input_type": 2},
        skill="sees pictures",
    ),
    CheckQuestion(
        ability="two images at once",
        type="单选",
        words=_FIRST_OF_TWO,
        label="B",
        colours=("blue", "red"),
        options={"input_type": 2},
        skill="tells several pictures apart",
    ),
    CheckQuestion(
        ability="two images in rounds",
        type="单选",
        words=_FIRST_OF_TWO,
        label="C",
        colours=("green", "blue"),
        options={"input_type": 2, "in_turn": True},
        skill="remembers earlier rounds",
    ),
    CheckQuestion(
        ability="rounds with reasoning",
        type="单选",
        words=_FIRST_OF_TWO,
        label="D",
        colours=("yellow", "green"),
        options={"input_type": 2, "in_turn": True, "cot": True},
        skill="remembers earlier rounds",
    ),
)


# -- Does a model take every kind of MULTI's questions? Easy ones of our own, through the real prompts.
#
# Each type of question, in words and with images; several images at once and in rounds; captions; a black
# image beside words; in Chinese and in English.

LANGUAGES: tuple[Language, ...] = ("zh", "en")


def make_cases(
    lang: Language,
    *,
    split_sys: bool = False,
    input_type: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[CheckCase]:
    """The cases in one language; with `split_sys`, what comes before a question is a system message.

    `input_type`: only those that are asked so. `options`: of the prompt, beside those that a case has.
    """
    return [
        _case(replace(asked, options={**asked.options, **(options or {})}), lang, split_sys=split_sys)
        for asked in QUESTIONS
        if input_type in (None, asked.options.get("input_type", 0))
    ]


def _case(asked: CheckQuestion, lang: Language, *, split_sys: bool) -> CheckCase:
    images = [make_plain_image(colour) for colour in asked.colours]
    refs = tuple(ImageRef(kind="data", location=one.base64.decode()) for one in images)
    captions = {str(k): asked.captions[lang] for k, _ in enumerate(refs)} if asked.captions else None
    placed = place_images(asked.words[lang], [str(k) for k, _ in enumerate(refs)], Placement(captions))
    n_images = len(placed.images)
    sample = Sample(
        id=asked.ability,
        question=placed.text,
        images=refs if asked.options.get("input_type") == 2 else (),
        meta={
            "type_name": asked.type,
            "question_type": KINDS[asked.type],
            "question_image_number": n_images,
            "image_class": classify_images(n_images),
            "knowledge": {"zh": "常识", "en": "common knowledge"}[lang],
        },
    )
    prompt = MultiPrompt(words=WORDS[lang], split_sys=split_sys, **asked.options)
    label = asked.answer(lang)
    return CheckCase(
        ability=f"{asked.ability} ({lang})",
        turns=tuple(_loaded(turn) for turn in prompt(sample)),
        expected=label.replace("\n", "; "),
        is_right=_reader(label, asked.type),
        skill=asked.skill,
        question=sample.question,
        meta=sample.meta,
    )


def _reader(label: str, kind: str) -> Callable[[str], bool]:
    """Whether a reply is right as the benchmark reads it, from the start or from the end."""
    if kind == "解答":
        return lambda text: label in text.lower()

    def is_right(text: str) -> bool:
        found = (score(text, label, kind, position) for position in ("start", "end"))
        return any(earned == total for earned, total in found)

    return is_right


def _loaded(turn: Message) -> Message:
    load = ImageLoader().load
    return Message(
        turn.role, tuple(load(part) if isinstance(part, ImageRef) else part for part in turn.parts)
    )
