"""Small helpers that scripts take from `vlmeval.smp`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from eyechart.compat.vlmeval.frames import Frame, pandas
from eyechart.data.literals import MAX_LITERAL_CHARS, read_list_items, read_literal


def listinstr(lst: Iterable[str], s: str) -> bool:
    """Whether one of the texts stands in `s`.

    >>> listinstr(["mmbench", "ccbench"], "my_ccbench"), listinstr(["mmbench"], "pope")
    (True, False)
    """
    return any(item in s for item in lst)


def toliststr(s: Any) -> list[str]:
    """One text, a list, or a list written as text: always a list of texts. Nothing is evaluated.

    >>> toliststr("a.png"), toliststr("['a.png', 'b.png']"), toliststr(["a.png", 2]), toliststr("[draft].png")
    (['a.png'], ['a.png', 'b.png'], ['a.png', '2'], ['[draft].png'])
    """
    if isinstance(s, list | tuple):
        return [str(item) for item in s]
    text = str(s)
    bare = text.strip()
    if bare[:1] + bare[-1:] == "[]":
        items = read_list_items(bare.encode("utf-8", "surrogatepass"))
        if items is not None:
            return [item.decode("utf-8", "surrogatepass") for item in items]
        literal = read_literal(bare)
        if isinstance(literal, list):
            return [str(item) for item in literal]
    return [text]


def istype(s: Any, type: type) -> bool:
    """Whether a value is of a type, or a text that spells one of it.

    >>> istype("12", int), istype("12.5", int), istype("cat", int), istype("[1]", list)
    (True, False, False, True)
    """
    if isinstance(s, type):
        return True
    if not isinstance(s, str) or len(s) > MAX_LITERAL_CHARS:
        return False
    try:
        return isinstance(ast.literal_eval(s.strip()), type)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def d2df(D: Mapping[str, Any]) -> Frame:  # noqa: N803 - called by that name
    """A table of one row, with a column for every key, in order."""
    return pandas().DataFrame({name: [value] for name, value in D.items()})
