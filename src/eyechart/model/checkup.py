"""Does this model answer every kind of question? A handful of pictures with one right answer each.

Asked before a long run, it shows what a model can and cannot do: text only, one picture, several
pictures, a conversation, a picture far too large. It judges ability, not quality.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from eyechart.errors import ModelError
from eyechart.types import Image, Message, Model, Part, Reply, Request, Sample

Verdict = Literal["yes", "unsure", "no"]
LARGE = (12_000, 9_000)  # 108 megapixels: more than endpoints take, few bytes as a plain PNG


_QUESTION = "What colour is this picture?"
_CHOICE = f"""Question: {_QUESTION}
Options:
A. red
B. blue
Answer with the letter of the right option.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A question with one right answer."""

    ability: str
    turns: tuple[tuple[Literal["user", "assistant"], tuple[Part, ...]], ...]
    expected: str  # a pattern, looked for in the reply as a word: "rendered" is not "red"
    question: str = ""  # where the turn says more than that
    choices: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How one case went: `yes` it can, `no` it cannot, `unsure` it answered something else, or not now."""

    ability: str
    verdict: Verdict
    said: str
    reply: Reply | None = None


def cases() -> list[Case]:
    """The cases, cheapest first."""
    red, blue, green = (_plain_picture(colour) for colour in ("red", "blue", "green"))
    word = "Answer with one word."
    return [
        Case(
            ability="text only",
            turns=(("user", (f"What colour is a ripe banana? {word}",)),),
            expected="yellow",
        ),
        Case(
            ability="one picture",
            turns=(("user", (red, f"{_QUESTION} {word}")),),
            expected="red",
        ),
        Case(
            ability="multiple choice",
            turns=(("user", (blue, _CHOICE)),),
            expected="B|blue",
            question=_QUESTION,
            choices={"A": "red", "B": "blue"},
        ),
        Case(
            ability="several pictures",
            turns=(("user", (red, green, f"What colour is the second picture? {word}")),),
            expected="green",
        ),
        Case(
            ability="multi-round",
            turns=(
                ("user", (green, "Look at this picture and remember its colour.")),
                ("assistant", ("I will remember it.",)),
                ("user", (f"Which colour was it? {word}",)),
            ),
            expected="green",
        ),
        Case(
            ability="very large picture",
            turns=(("user", (_plain_picture("blue", LARGE), f"{_QUESTION} {word}")),),
            expected="blue",
        ),
    ]


async def check_model(model: Model, timeout_s: float = 600.0) -> AsyncIterator[Finding]:
    """Put every case to the model, one after the other, and wait so long for each answer."""
    for case in cases():
        yield await _put(model, case, timeout_s)


async def _put(model: Model, case: Case, timeout_s: float) -> Finding:
    messages = tuple(Message(role, parts) for role, parts in case.turns)
    question = case.question or messages[-1].text
    sample = Sample(id=f"check:{case.ability}", question=question, choices=case.choices)
    try:
        async with asyncio.timeout(timeout_s):
            reply = await model.reply(Request(messages=messages, sample=sample))
    except TimeoutError:
        return Finding(ability=case.ability, verdict="unsure", said=f"(no answer within {timeout_s:g} s)")
    except ModelError as err:
        if err.is_fatal or err.is_unreachable:
            raise
        # A busy server says nothing about what its model can do.
        verdict: Verdict = "unsure" if err.is_retryable else "no"
        return Finding(ability=case.ability, verdict=verdict, said=err.message)
    is_right = re.search(rf"\b(?:{case.expected})\b", reply.text, re.IGNORECASE) is not None
    said = " ".join(reply.text.split()) or f"(nothing; finish reason {reply.finish_reason})"
    return Finding(ability=case.ability, verdict="yes" if is_right else "unsure", said=said, reply=reply)


def _plain_picture(colour: str, size: tuple[int, int] = (224, 224)) -> Image:
    import pybase64
    from PIL import Image as Pictures

    # A palette of one colour keeps 108 megapixels within some kilobytes.
    picture = Pictures.new("P", size, 0)
    picture.putpalette(Pictures.new("RGB", (1, 1), colour).tobytes())
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True)
    data = buffer.getvalue()
    return Image(
        base64=pybase64.b64encode(data),
        mime="image/png",
        width=size[0],
        height=size[1],
        sha256=hashlib.sha256(data).hexdigest(),
        n_bytes=len(data),
        origin=f"a plain {colour} picture",
    )
