"""What passes between us and people's own classes: pictures as files, text that can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eyechart.types import Image, ImageRef, Message


def files_of(messages: Sequence[Message], folder: Path) -> list[str]:
    """Paths to the pictures as they would be sent, those that lie in no file of their own written down.

    Where one of them is passed on by its address, all are URLs: no class takes a mixture of the two.
    """
    pictures = [image for turn in messages for image in turn.images]
    if any(isinstance(image, ImageRef) for image in pictures):
        return urls_of(messages)
    return [_place(image, folder, number) for number, image in enumerate(pictures, start=1)]


def urls_of(messages: Sequence[Message]) -> list[str]:
    """The addresses of images that are passed on by them; for all others, data URLs of what would be sent."""
    images = [image for turn in messages for image in turn.images]
    return [
        image.location if isinstance(image, ImageRef) else f"data:{image.mime};base64,{image.base64.decode()}"
        for image in images
    ]


def _place(image: Image | ImageRef, folder: Path, number: int) -> str:
    assert isinstance(image, Image), "the engine loads what is not passed on by its address"
    if image.path is not None:
        return image.path
    path = folder / f"{number}.{image.mime.rpartition('/')[2]}"
    path.write_bytes(image.data())
    return str(path)


def as_unicode(text: str) -> str:
    """The text with the halves of surrogate pairs, which no file can hold, marked as unreadable."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
