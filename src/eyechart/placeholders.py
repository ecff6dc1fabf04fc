"""Image placeholders in a text: which image each refers to, and what is left over.

``<image>`` is the next image, ``<image 1>`` the first; ``<image_1>``, ``<img1>``, ``<|image_1|>`` and
``[IMAGE_1]`` mean the same. A text with ``<image 0>`` counts from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_NOUN = r"(?:image|img|picture)"
_PLACEHOLDER = re.compile(
    rf"<\|?{_NOUN}(?:[ _:#-]?([0-9]{{1,3}}))?\s?/?\|?>|\[{_NOUN}[ _:#-]?([0-9]{{1,3}})\]", re.IGNORECASE
)
_WITH_SPACE = re.compile(rf"[ \t]?(?:{_PLACEHOLDER.pattern})", re.IGNORECASE)


class PlacedImages(NamedTuple):
    """A text split at its images: texts, and the numbers of images, counted from 0."""

    parts: list[str | int]
    unfilled: list[str]  # placeholders without an image; they stay in the text
    n_unplaced: int  # images that no placeholder refers to


def place_images(text: str, n_images: int) -> PlacedImages | None:
    """Put images in place of the placeholders of a text; None if it has none.

    Images without a placeholder come first; if placeholders have no numbers, they join the last one.

    >>> place_images("Is <image 1> or <image 2> older?", 2).parts
    ['Is ', 0, ' or ', 1, ' older?']
    >>> place_images("<image> Which is older?", 2).parts, place_images("Which?", 2)
    ([0, 1, ' Which is older?'], None)
    """
    marks = list(_PLACEHOLDER.finditer(text)) if "<" in text or "[" in text else []
    if not marks:
        return None
    numbers = [_number(mark) for mark in marks]
    first = 0 if 0 in numbers else 1
    named = {number - first for number in numbers if number is not None}
    free = [index for index in range(n_images) if index not in named]
    n_bare = numbers.count(None)
    n_unplaced = max(0, len(free) - n_bare)
    parts: list[str | int] = []
    unfilled: list[str] = []
    if not n_bare:
        parts, free = [*free], []
    begin = 0
    for mark, number in zip(marks, numbers, strict=True):
        if number is None:
            n_bare -= 1
            meant, free = (free[:1], free[1:]) if n_bare else (free, [])
        else:
            meant = [number - first] if number - first < n_images else []
        if not meant:
            unfilled.append(mark[0])
            continue
        parts += [text[begin : mark.start()], *meant]
        begin = mark.end()
    parts.append(text[begin:])
    return PlacedImages(
        [part for part in parts if not isinstance(part, str) or part.strip()], unfilled, n_unplaced
    )


def number_placeholders(texts: Sequence[str]) -> list[str]:
    """The same texts with a number in every placeholder, so that they can be moved.

    >>> number_placeholders(["Which? <image>", "<image>", "<img>"])
    ['Which? <image 1>', '<image 2>', '<image 3>']
    """
    if any(_number(mark) is not None for text in texts for mark in _PLACEHOLDER.finditer(text)):
        return list(texts)
    count = 0

    def numbered(mark: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"<image {count}>"

    return [_PLACEHOLDER.sub(numbered, text) for text in texts]


def drop_placeholders(text: str) -> str:
    """The text without its placeholders and the space before each; a text without any stays as it is.

    >>> drop_placeholders("Is <image 1> or <image 2> older?"), drop_placeholders("<image> Which?")
    ('Is or older?', 'Which?')
    """
    shorter = _WITH_SPACE.sub("", text)
    return text if shorter == text else shorter.lstrip() if _PLACEHOLDER.match(text.lstrip()) else shorter


def _number(mark: re.Match[str]) -> int | None:
    found = mark[1] or mark[2]
    return int(found) if found else None
