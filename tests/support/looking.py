"""Asking baseline/look about an image drawn in the test."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
from collections.abc import Mapping

from PIL import Image as Pillow

from eyechart.types import Image, Message, Model, Reply, Request, Sample


def wrap(data: bytes, size: tuple[int, int] = (1, 1), kind: str = "PNG") -> Image:
    """Any bytes as a loaded image."""
    return Image(
        base64=base64.b64encode(data), mime=f"image/{kind.lower()}", width=size[0], height=size[1],
        sha256=hashlib.sha256(data).hexdigest(), n_bytes=len(data),
    )  # fmt: skip


def encode(drawing: Pillow.Image, kind: str = "PNG") -> Image:
    """A drawing as a loaded image of that format."""
    buffer = io.BytesIO()
    drawing.save(buffer, kind)
    return wrap(buffer.getvalue(), drawing.size, kind)


def ask(model: Model, image: Image | None, question: str, choices: Mapping[str, str] | None = None) -> Reply:
    """The reply to one question, with or without an image."""
    parts = (image, question) if image is not None else (question,)
    sample = Sample(id="1", question=question, choices=choices or {})
    return asyncio.run(model.reply(Request(messages=(Message("user", parts),), sample=sample)))
