"""Separates thinking from the answer, so that only the answer is scored."""

from __future__ import annotations

import re

_OPEN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def split_thinking(text: str) -> tuple[str, str]:
    """Split a raw reply into (answer, thinking).

    Chat templates often open the tag themselves, so a closing tag alone is enough. A reply cut off
    while thinking has no answer at all.

    >>> split_thinking("<think>red, so A?</think>B")
    ('B', 'red, so A?')
    >>> split_thinking("red, so A?</think> B"), split_thinking("<think>red, so A")
    (('B', 'red, so A?'), ('', 'red, so A'))
    >>> split_thinking("B")
    ('B', '')
    """
    opening = _OPEN.match(text)
    start = opening.end() if opening else 0
    closings = list(_CLOSE.finditer(text))
    if closings:
        last = closings[-1]
        return text[last.end() :].strip(), text[start : last.start()].strip()
    return ("", text[start:].strip()) if opening else (text, "")
