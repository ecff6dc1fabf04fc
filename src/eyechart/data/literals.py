"""Lists written as text: ``['a', 'b']`` as Python writes them, ``["a", "b"]`` as JSON does."""

from __future__ import annotations

import ast
import re
from typing import Any

import msgspec

from eyechart.quiet import quiet

# Far above any published option list or gold list; the parser's memory grows with a multiple of it.
MAX_LITERAL_CHARS = 1_000_000
_MAX_DEPTH = 8

# An unclosed one is taken to the end of its line: no parser reads it, and looking for its end takes one pass.
_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?""")
_ITEM = re.compile(rb"""\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*""")


def read_literal(text: str) -> Any:
    """The list or dict that a text spells, or None when it spells neither. Nothing is evaluated.

    >>> read_literal("['red', 'blue']"), read_literal('{"A": "x"}'), read_literal("[1, 2")
    (['red', 'blue'], {'A': 'x'}, None)
    """
    text = text.strip()
    is_bracketed = text[:1] + text[-1:] in {"[]", "{}"}
    if not is_bracketed or len(text) > MAX_LITERAL_CHARS or _depth(text) > _MAX_DEPTH:
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        value = _python_literal(text)
    return value if isinstance(value, list | dict) else None


def _python_literal(text: str) -> Any:
    try:
        with quiet():  # an odd escape such as '\d' is kept as it stands
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _depth(text: str) -> int:
    """How deep brackets are nested; those inside strings nest nothing."""
    depth = deepest = 0
    for mark in re.findall(r"[\[\](){}]", _STRING.sub("", text)):
        depth += 1 if mark in "[({" else -1
        deepest = max(deepest, depth)
    return deepest


def read_list_items(data: bytes) -> list[bytes] | None:
    r"""The strings of a list literal as bytes, however long; None when it is no plain list of strings.

    >>> read_list_items(b"['/9j/4AA', \"iVBO\"]")
    [b'/9j/4AA', b'iVBO']
    """
    data = data.strip()
    if not (data.startswith(b"[") and data.endswith(b"]")):
        return None
    items: list[bytes] = []
    at, end = 1, len(data) - 1
    while match := _ITEM.match(data, at, end):
        items.append(match[1] if match[1] is not None else match[2])
        at = match.end()
        if data[at : at + 1] != b",":
            break
        at += 1
    if data[at:end].strip():
        value = read_literal(data.decode("utf-8", "replace"))  # escapes inside: the slow, exact way
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return None
        return [item.encode() for item in value]
    return items
