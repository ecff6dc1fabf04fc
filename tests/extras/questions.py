"""Requests for local weights: drawn images, questions of different lengths, and how to ask them."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Sequence
from typing import Any

import pybase64
from PIL import Image as Pictures
from PIL import ImageDraw

from eyechart.models.hf.model import HfModel
from eyechart.models.specs import make_model
from eyechart.types import Image, Message, ModelSettings, Part, Reply, Request, Sample

COLOURS = ("red", "green", "blue", "yellow", "black", "teal", "purple", "orange")


def draw(colour: str, *, ground: str = "white", size: tuple[int, int] = (120, 90)) -> Image:
    """A rectangle of one colour."""
    picture = Pictures.new("RGB", size, ground)
    width, height = size
    ImageDraw.Draw(picture).rectangle((width // 4, height // 4, width // 2, height // 2), fill=colour)
    return encode(picture)


def encode(picture: Pictures.Image) -> Image:
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    data = buffer.getvalue()
    return Image(
        base64=pybase64.b64encode(data),
        mime="image/png",
        width=picture.width,
        height=picture.height,
        sha256=hashlib.sha256(data).hexdigest(),
        n_bytes=len(data),
    )


def ask(*parts: Part, sample: str = "q", system: str = "") -> Request:
    turns = [Message("user", parts)]
    if system:
        turns.insert(0, Message("system", (system,)))
    return Request(messages=tuple(turns), sample=Sample(id=sample, question="?"))


def mixed_questions(n: int) -> list[Request]:
    """One image, two images or none; short and long."""
    asked: list[Request] = []
    for k in range(n):
        colour, other = COLOURS[k % 8], COLOURS[(3 * k + 1) % 8]
        text = "Which colour? " + "What is shown? " * (k % 5)
        size = (60 + 40 * (k % 3), 90)
        parts: list[Part] = [draw(colour, size=size), text]
        if k % 4 == 1:
            parts = [draw(colour), draw(other, size=size), text]
        if k % 4 == 3:
            parts = [text, COLOURS[k % 8]]
        asked.append(ask(*parts, sample=f"q{k}"))
    return asked


def open_hf(spec: str, *, score_options: Any = None, **parameters: Any) -> HfModel:
    made = make_model(spec, ModelSettings(parameters=parameters, score_options=score_options))
    assert isinstance(made, HfModel)
    return made


def answer_all(model: HfModel, requests: Sequence[Request], *, at_once: bool = True) -> list[Reply]:
    async def answer() -> list[Reply]:
        try:
            if at_once:
                return list(await asyncio.gather(*map(model.reply, requests)))
            return [await model.reply(one) for one in requests]
        finally:
            await model.close()

    return asyncio.run(answer())
