"""Checking a model before a long run: six easy questions with one right answer each.

They show which inputs work (text, one image, several, rounds, a very large image), not how good it is.
"""

from __future__ import annotations

import asyncio
import functools
import io
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from eyechart.errors import ModelError
from eyechart.types import MODELS_TURN, Image, Message, Model, Part, Reply, Request, Sample, read_capabilities

CheckVerdict = Literal["yes", "unsure", "no"]
Skill = Literal["", "sees pictures", "tells several pictures apart", "remembers earlier rounds"]
Conclusion = Literal["yes", "partly", "no", "not known"]
LARGE = (12_000, 9_000)  # 108 megapixels: more than most endpoints accept, but a small file as a plain PNG


async def check_model(
    model: Model, timeout_s: float = 600.0, asked: Iterable[CheckCase] | None = None
) -> AsyncIterator[CheckResult]:
    """Ask the model every case, one after the other, and wait at most `timeout_s` for each answer."""
    for case in list_cases() if asked is None else asked:
        yield await _put(model, case, timeout_s)


async def _put(model: Model, case: CheckCase, timeout_s: float) -> CheckResult:
    found = partial(CheckResult, ability=case.ability, expected=case.expected, skill=case.skill)
    try:
        async with asyncio.timeout(timeout_s):
            reply = await _converse(model, case)
    except TimeoutError:
        return found(verdict="unsure", said=f"(no answer within {timeout_s:g} s)")
    except ModelError as err:
        if err.is_fatal or err.is_unreachable:
            raise
        # An overloaded server says nothing about its model.
        verdict: CheckVerdict = "unsure" if err.is_retryable else "no"
        return found(verdict=verdict, said=" ".join(err.message.split()))
    said = " ".join(reply.text.split()) or f"(nothing; finish reason {reply.finish_reason})"
    return found(verdict="yes" if case.is_right(reply.text) else "unsure", said=said, reply=reply)


async def _converse(model: Model, case: CheckCase) -> Reply:
    """The last reply. Earlier replies are added to the conversation, unless the model takes it as a whole."""
    question = case.question or case.turns[-1].text
    sample = Sample(id=f"check:{case.ability}", question=question, choices=case.choices, meta=case.meta)
    turns = list(case.turns)
    while MODELS_TURN in turns and not read_capabilities(model).takes_rounds:
        here = turns.index(MODELS_TURN)
        said = await model.reply(Request(messages=tuple(turns[:here]), sample=sample))
        turns[here] = Message("assistant", (said.text,))
    return await model.reply(Request(messages=tuple(turns), sample=sample))


def find_usual_answer(findings: Sequence[CheckResult]) -> tuple[str, int]:
    """The answer to over two thirds of the questions, although the right ones differ, and to how many.

    Empty if there is none. Where it is right, it is so by luck.
    """
    answered = [one for one in findings if one.is_answered]
    [(usual, n_usual)] = Counter(one.answer for one in answered).most_common(1) or [("", 0)]
    asked_for = {one.expected for one in answered if one.answer == usual}
    return (usual, n_usual) if 3 * n_usual > 2 * len(answered) and len(asked_for) > 1 else ("", 0)


def draw_conclusions(findings: Sequence[CheckResult]) -> dict[Skill, Conclusion]:
    """What the answers show about each skill; "not known" if there were none, or always the same one.

    The question about earlier rounds needs images, so for a model that sees none it stays unknown.
    """
    found: dict[Skill, Conclusion] = {}
    usual, n_usual = find_usual_answer(findings)
    is_constant = 0 < n_usual == sum(one.is_answered for one in findings)
    for skill in dict.fromkeys(one.skill for one in findings if one.skill):
        of_it = [one for one in findings if one.skill == skill]
        right = [one.verdict == "yes" and one.answer != usual for one in of_it]
        is_told = any(one.verdict == "no" or (one.is_answered and not is_constant) for one in of_it)
        wrong: Conclusion = "no" if is_told else "not known"
        found[skill] = "yes" if all(right) else "partly" if any(right) else wrong
    if found.get("sees pictures") in ("no", "not known") and found.get("remembers earlier rounds") == "no":
        found["remembers earlier rounds"] = "not known"
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCase:
    """A question with one right answer. `skill` is what a right answer demonstrates."""

    ability: str
    turns: tuple[Message, ...]  # with MODELS_TURN for the model's replies before the last
    expected: str  # shown beside the answer
    is_right: Callable[[str], bool]
    skill: Skill = ""
    question: str = ""  # if the last turn holds more than the question
    choices: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The result of one case: `yes`: right; `no`: refused; `unsure`: a wrong answer, or none this time."""

    ability: str
    verdict: CheckVerdict
    said: str
    expected: str = ""
    skill: Skill = ""
    reply: Reply | None = None

    @property
    def answer(self) -> str:
        """What was said, to compare it with other answers."""
        return self.said.casefold()

    @property
    def is_answered(self) -> bool:
        return self.reply is not None and bool(self.reply.text.strip())


def list_cases() -> list[CheckCase]:
    """The six cases, cheapest first."""
    red, blue, green = (make_plain_image(colour) for colour in ("red", "blue", "green"))
    colour = "What colour is this picture?"
    word = "Answer with one word."
    choice = f"Question: {colour}\nOptions:\nA. red\nB. blue\nAnswer with the letter of the right option.\n"
    conversation = (
        Message("user", (green, "Look at this picture and remember its colour.")),
        MODELS_TURN,
        Message("user", (f"Which colour was it? {word}",)),
    )

    def case(ability: str, *parts: Part, expected: str, also: str = "", **others: Any) -> CheckCase:
        turns = others.pop("turns", (Message("user", parts),))
        is_right = match_words(f"{expected}|{also}" if also else expected)
        return CheckCase(ability=ability, turns=turns, expected=expected, is_right=is_right, **others)

    return [
        case("text only", f"What colour is a ripe banana? {word}", expected="yellow"),
        case("one picture", red, f"{colour} {word}", expected="red", skill="sees pictures"),
        case(
            "multiple choice", blue, choice, expected="B", also="blue", skill="sees pictures",
            question=colour, choices={"A": "red", "B": "blue"},
        ),
        case(
            "several pictures", red, green, f"What colour is the second picture? {word}", expected="green",
            skill="tells several pictures apart",
        ),
        case("multi-round", turns=conversation, expected="green", skill="remembers earlier rounds"),
        case("very large picture", make_plain_image("blue", LARGE), f"{colour} {word}", expected="blue"),
    ]  # fmt: skip


def match_words(pattern: str) -> Callable[[str], bool]:
    """A function that tells whether a reply contains one of some words.

    >>> match_words("red|A")("It is red."), match_words("red|A")("It was rendered.")
    (True, False)
    """
    return lambda text: re.search(rf"\b(?:{pattern})\b", text, re.IGNORECASE) is not None


@functools.cache  # the largest one takes a third of a second
def make_plain_image(colour: str, size: tuple[int, int] = (224, 224)) -> Image:
    """An image of one colour."""
    from PIL import Image as Pictures

    # A palette of one colour keeps 108 megapixels within some kilobytes.
    picture = Pictures.new("P", size, 0)
    picture.putpalette(Pictures.new("RGB", (1, 1), colour).tobytes())
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    return Image.encode(buffer.getvalue(), "image/png", size, origin=f"a plain {colour} picture")
