r"""Answers in containers made for them: a tag, a box, a JSON key. Everything here runs in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from eyechart.replies import MAX_BOX_CHARS

MAX_CONTAINERS = 64  # the last ones; no real reply states an answer this often
_NAMES = r"(?:answer|final_answer|final|response|conclusion|output|ans|choice|option)"
_TAG = re.compile(rf"<\s{{0,3}}{_NAMES}\s{{0,3}}>", re.IGNORECASE)
_TAG_END = re.compile(rf"<\s{{0,3}}/\s{{0,3}}{_NAMES}\s{{0,3}}>", re.IGNORECASE)
_BOX = re.compile(r"\\(?:boxed|fbox)\s{0,3}\{")
_KEY = r"(?:final[_ ]?|correct[_ ]?|selected[_ ]?|predicted[_ ]?)?(?:answer|choice|option|letter|答案|选项)"
_JSON_PAIR = re.compile(
    rf"""["']{_KEY}["']\s{{0,8}}:\s{{0,8}}(?:"([^"\n]{{0,400}})"|'([^'\n]{{0,400}})'|(-?[\w.]{{1,40}}))""",
    re.IGNORECASE,
)


class Contained(msgspec.Struct, frozen=True):
    """An answer in a container: which kind, and the slice of the reply that holds it."""

    kind: str
    start: int
    end: int

    def text(self, reply: str) -> str:
        return reply[self.start : self.end]


def find_contained(text: str, start: int = 0) -> list[Contained]:
    r"""Answers in containers, in order: `<answer>`, `\boxed{}`, a JSON key.

    >>> text = r"So \boxed{\text{B}}"
    >>> [(found.kind, found.text(text)) for found in find_contained(text)]
    [('boxed', '\\text{B}')]
    """
    found: list[Contained] = []
    if "<" in text:
        found += _find_tags(text, start)
    if "\\" in text:
        found += _find_boxes(text, start)
    if ":" in text:
        found += [
            Contained("json", *pair.span(pair.lastindex or 0))
            for pair in list(_JSON_PAIR.finditer(text, start))[-MAX_CONTAINERS:]
        ]
    return sorted(found, key=lambda contained: contained.start)[-MAX_CONTAINERS:]


def _find_tags(text: str, start: int) -> Iterator[Contained]:
    for tag in list(_TAG.finditer(text, start))[-MAX_CONTAINERS:]:
        stop = min(len(text), tag.end() + MAX_BOX_CHARS)
        close = _TAG_END.search(text, tag.end(), stop)
        yield Contained("tag", tag.end(), close.start() if close else stop)


def _find_boxes(text: str, start: int) -> Iterator[Contained]:
    for box in list(_BOX.finditer(text, start))[-MAX_CONTAINERS:]:
        depth = 1
        for place in range(box.end(), min(len(text), box.end() + MAX_BOX_CHARS)):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0:
                yield Contained("boxed", box.end(), place)
                break
