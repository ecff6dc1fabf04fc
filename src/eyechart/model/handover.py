"""What passes between us and people's own classes: pictures as files, text that can be kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from eyechart.types import Image, ImageRef, Message


def files_of(messages: Sequence[Message], folder: Path) -> list[str]:
    """Paths to the pictures as they would be sent, those that lie in no file of their own written down.

    A picture that is passed on by its address is given as that.
    """
    pictures = [image for turn in messages for image in turn.images]
    return [_place(image, folder, number) for number, image in enumerate(pictures, start=1)]


def _place(image: Image | ImageRef, folder: Path, number: int) -> str:
    if isinstance(image, ImageRef):  # not loaded: the model was to be handed its address
        return image.location
    if image.path is not None:
        return image.path
    path = folder / f"{number}.{image.mime.rpartition('/')[2]}"
    path.write_bytes(image.data())
    return str(path)


def as_unicode(text: str) -> str:
    """The text with the halves of surrogate pairs, which no file can hold, marked as unreadable."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
