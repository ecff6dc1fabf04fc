"""Easy questions of our own, by which a model shows that it takes every kind of MULTI's: words and labels.

Each type of question, in words and with images (plain colours); several images at once and in rounds;
captions; a black image beside words; all in Chinese and in English, through the real prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from eyechart.data.images.loading import ImageLoader
from eyechart.models.checkup import CheckCase, Skill, make_plain_image
from eyechart.pipelines.multi.arguments import MultiOptions
from eyechart.pipelines.multi.data import ProblemQuestion, place_images
from eyechart.pipelines.multi.files import Problem
from eyechart.pipelines.multi.prompt import WORDS, Language, MultiPrompt
from eyechart.pipelines.multi.score import score
from eyechart.types import ImageRef, Message


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """One question: what it tries, its type, its words in each language, and what is right."""

    ability: str
    type: Literal["单选", "多选", "填空", "解答"]
    zh: str
    en: str
    label: str | Mapping[Language, str]
    colours: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)  # of the prompt
    skill: Skill = ""
    captions: Mapping[Language, str] = field(default_factory=dict)


_COLOURS_ZH, _COLOURS_EN = "\nA. 红色\nB. 蓝色\nC. 绿色\nD. 黄色", "\nA. red\nB. blue\nC. green\nD. yellow"
_FIRST_OF_TWO = (
    f"这是第一张图[IMAGE_1]，这是第二张图[IMAGE_2]。第一张图是什么颜色？{_COLOURS_ZH}",
    "Here is the first picture [IMAGE_1] and here the second [IMAGE_2]. What colour is the first one?"
    + _COLOURS_EN,
)
_IMAGES: dict[str, Any] = {"input_type": 2}

QUESTIONS = (
    CheckQuestion(
        "single choice in words", "单选",
        "三角形有几条边？\nA. 2\nB. 3\nC. 4\nD. 5",
        "How many sides has a triangle?\nA. 2\nB. 3\nC. 4\nD. 5", "B",
    ),
    CheckQuestion(
        "multiple choice in words", "多选",
        "下列东西中可以吃的有\nA. 苹果\nB. 石头\nC. 面包\nD. 玻璃",
        "Which of these can be eaten?\nA. an apple\nB. a stone\nC. bread\nD. glass", "AC",
    ),
    CheckQuestion(
        "blanks in words", "填空",
        "用阿拉伯数字填写：狗有[MASK]条腿，人有[MASK]只眼睛。",
        "Fill in digits: a dog has [MASK] legs, a human being has [MASK] eyes.", "4\n2",
    ),
    CheckQuestion(
        "words beside a black image", "单选",
        "一加一等于几？\nA. 1\nB. 3\nC. 2\nD. 4", "What is one and one?\nA. 1\nB. 3\nC. 2\nD. 4", "C",
        options=_IMAGES | {"blank_image": True},
    ),
    CheckQuestion(
        "caption for an image", "单选",
        f"图[IMAGE_1]中的气球是什么颜色？{_COLOURS_ZH}",
        f"What colour is the balloon in [IMAGE_1]?{_COLOURS_EN}", "D",
        ("yellow",), {"input_type": 1}, captions={"zh": "一只黄色的气球", "en": "a yellow balloon"},
    ),
    CheckQuestion(
        "single choice on an image", "单选",
        f"[IMAGE_1]\n这张图是什么颜色？{_COLOURS_ZH}",
        f"[IMAGE_1]\nWhat colour is this picture?{_COLOURS_EN}", "C",
        ("green",), _IMAGES, "sees pictures",
    ),
    CheckQuestion(
        "blank on an image", "填空",
        "用一个汉字填写：图[IMAGE_1]是[MASK]色的。",
        "Fill in one word in lower case: the picture [IMAGE_1] is [MASK].", {"zh": "红或红色", "en": "red"},
        ("red",), _IMAGES, "sees pictures",
    ),
    CheckQuestion(
        "open question on an image", "解答",
        "说说这张图的颜色。[IMAGE_1]",
        "Describe the colour of this picture. [IMAGE_1]", {"zh": "蓝", "en": "blue"},
        ("blue",), _IMAGES, "sees pictures",
    ),
    CheckQuestion(
        "two images at once", "单选", *_FIRST_OF_TWO, "B",
        ("blue", "red"), _IMAGES, "tells several pictures apart",
    ),
    CheckQuestion(
        "two images in rounds", "单选", *_FIRST_OF_TWO, "C",
        ("green", "blue"), _IMAGES | {"in_turn": True}, "remembers earlier rounds",
    ),
    CheckQuestion(
        "rounds with reasoning", "单选", *_FIRST_OF_TWO, "D",
        ("yellow", "green"), _IMAGES | {"in_turn": True, "cot": True}, "remembers earlier rounds",
    ),
)  # fmt: skip


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
    placed = place_images(
        asked.zh if lang == "zh" else asked.en, [str(k) for k, _ in enumerate(refs)], captions
    )
    about = {"zh": "常识", "en": "common knowledge"}[lang]
    problem = Problem(problem_type_list=[asked.type], knowledge=[about], problem_id=asked.ability)
    sample = ProblemQuestion(problem, 0, 1).to_sample(placed.text, len(placed.images), {})
    if asked.options.get("input_type") == 2:
        sample = replace(sample, images=refs)
    prompt = MultiPrompt(MultiOptions(split_sys=split_sys, **asked.options), WORDS[lang])
    label = asked.label if isinstance(asked.label, str) else asked.label[lang]
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
