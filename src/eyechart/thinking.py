"""Separates the thoughts in a reply from its answer."""

from __future__ import annotations

import re
from typing import NamedTuple

_OPEN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


class SplitText(NamedTuple):
    """A text in two parts. `tags` is the rest: before the thoughts, between them and the answer, after it."""

    answer: str
    thoughts: str
    tags: tuple[str, str, str] | tuple[()]  # empty where the text holds no thoughts


def split_thinking(text: str) -> SplitText:
    """Split a text as it came into its answer and its thoughts.

    Chat templates often open the tag themselves, so a closing tag alone is enough. A text that was cut off
    within its thoughts has no answer.

    >>> split_thinking("<think>red, so A?</think> B")
    SplitText(answer='B', thoughts='red, so A?', tags=('<think>', '</think> ', ''))
    >>> split_thinking("red, so A?</think>B")[:2], split_thinking("<think>red, so A")[:2]
    (('B', 'red, so A?'), ('', 'red, so A'))
    >>> split_thinking("B")
    SplitText(answer='B', thoughts='', tags=())
    """
    opening = _OPEN.match(text)
    closings = list(_CLOSE.finditer(text))
    if not opening and not closings:
        return SplitText(text, "", ())
    start = opening.end() if opening else 0
    end, resume = (closings[-1].start(), closings[-1].end()) if closings else (len(text), len(text))
    before, thoughts, between = _split_blanks(text[start:end])
    gap, answer, after = _split_blanks(text[resume:])
    return SplitText(answer, thoughts, (text[:start] + before, f"{between}{text[end:resume]}{gap}", after))


def _split_blanks(text: str) -> tuple[str, str, str]:
    """The blanks before a text, the text, and the blanks after it."""
    inner = text.strip()
    at = len(text) - len(text.lstrip()) if inner else len(text)
    return text[:at], inner, text[at + len(inner) :]
