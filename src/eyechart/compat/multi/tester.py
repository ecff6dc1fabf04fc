"""Does a model take every kind of MULTI's questions? Easy ones of our own, through the real prompts.

Each type of question, in words and with pictures; several pictures at once and in rounds; captions; a black
picture beside words; in Chinese and in English.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from eyechart.compat.multi.tester_questions import QUESTIONS, Asked
from eyechart.data.images import ImageLoader
from eyechart.data.multi import image_class
from eyechart.data.multi.prepare import Wanted, place_images
from eyechart.model.checkup import Case, plain_picture
from eyechart.prompt.multi import MultiPrompt
from eyechart.prompt.multi.words import WORDS, Language
from eyechart.score.multi import KINDS, score
from eyechart.types import ImageRef, Message, Sample

LANGUAGES: tuple[Language, ...] = ("zh", "en")


def multi_cases(
    lang: Language,
    *,
    split_sys: bool = False,
    input_type: int | None = None,
    options: Mapping[str, Any] | None = None,
) -> list[Case]:
    """The cases in one language; with `split_sys`, what comes before a question is a system message.

    `input_type`: only those that are asked so. `options`: of the prompt, beside those that a case has.
    """
    return [
        _case(replace(asked, options={**asked.options, **(options or {})}), lang, split_sys=split_sys)
        for asked in QUESTIONS
        if input_type in (None, asked.options.get("input_type", 0))
    ]


def _case(asked: Asked, lang: Language, *, split_sys: bool) -> Case:
    pictures = [plain_picture(colour) for colour in asked.colours]
    refs = tuple(ImageRef(kind="data", location=one.base64.decode()) for one in pictures)
    captions = {str(k): asked.captions[lang] for k, _ in enumerate(refs)} if asked.captions else None
    placed = place_images(asked.words[lang], [str(k) for k, _ in enumerate(refs)], Wanted(captions))
    n_images = len(placed.images)
    sample = Sample(
        id=asked.ability,
        question=placed.text,
        images=refs if asked.options.get("input_type") == 2 else (),
        meta={
            "type_name": asked.type,
            "question_type": KINDS[asked.type],
            "question_image_number": n_images,
            "image_class": image_class(n_images),
            "knowledge": {"zh": "常识", "en": "common knowledge"}[lang],
        },
    )
    prompt = MultiPrompt(words=WORDS[lang], split_sys=split_sys, **asked.options)
    label = asked.answer(lang)
    return Case(
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
