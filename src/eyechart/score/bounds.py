"""Bounds around a number: "at least 8" is not 8.

The words are those of `languages` (at_least, or_more and so on), of all languages at once: next to a number
they mean nothing else.
"""

from __future__ import annotations

import re
from typing import Literal

from eyechart.score.languages import LANGUAGES, Phrases

Bound = Literal["", "<", ">", "<=", ">=", "?"]
_BOUND_NAMES: tuple[Bound, ...] = (">=", "<=", ">", "<", "?")
_SIGNS_BEFORE = ("≠", "!=", "\\neq", "\\ne", "<>", "±", "between", "from")  # not that number, whichever it is


def _compile_bounds() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What bounds a number before it and after it, in all languages at once."""
    languages = LANGUAGES.values()
    before = [
        tuple(phrase for language in languages for phrase in language.at_least),
        tuple(phrase for language in languages for phrase in language.at_most),
        tuple(phrase for language in languages for phrase in language.more_than),
        tuple(phrase for language in languages for phrase in language.less_than),
        _SIGNS_BEFORE,
    ]
    after = [
        tuple(phrase for language in languages for phrase in language.or_more),
        tuple(phrase for language in languages for phrase in language.or_less),
        tuple(phrase for language in languages for phrase in language.and_more),
        tuple(phrase for language in languages for phrase in language.and_less),
    ]
    heads = "|".join(f"(?P<b{place}>{_alternatives(phrases)})" for place, phrases in enumerate(before))
    tails = "|".join(f"(?P<b{place}>{_alternatives(phrases)})" for place, phrases in enumerate(after))
    end = r"\s{0,3}(?:the\s|a\s|about\s|around\s|exactly\s|roughly\s|en\s|de\s)?[$€£¥(\"'*]{0,3}$"
    measure = r"(?:[个個只人名条位本台枚匹개명마리대년岁]{1,2}\s?)?"
    return (
        re.compile(rf"(?:{heads}){end}", re.IGNORECASE),
        re.compile(
            rf"[*\"')]{{0,3}}\s?{measure}(?:{tails}|(?P<plus>\+(?!\s?\d)|plus\b(?!\s\w)))", re.IGNORECASE
        ),
    )


def _alternatives(phrases: Phrases) -> str:
    """The phrases as one pattern, the longest first; a word begins where it begins in the text."""
    return "|".join(
        (r"(?<![^\W_])" if phrase[0].isalpha() and not "\u2e80" <= phrase[0] <= "\ud7af" else "")
        + re.escape(phrase)
        for phrase in sorted(set(phrases), key=len, reverse=True)
    )


_BEFORE, _AFTER = _compile_bounds()
MAX_BOUND_CHARS = 32
_ENDS = frozenset(
    phrase.split()[-1][-2:].lower()
    for language in LANGUAGES.values()
    for field in (language.at_least, language.at_most, language.more_than, language.less_than, _SIGNS_BEFORE)
    for phrase in field
) | {"the"[-2:], "a", "about"[-2:], "around"[-2:], "exactly"[-2:], "roughly"[-2:], "en", "de"}


def _can_bound(head: str) -> bool:
    """Whether a text may end in a bound, by its last two characters: most numbers have none."""
    word = head.rstrip(" \t\n$€£¥(\"'*")
    return bool(word) and (word[-2:].lower() in _ENDS or word[-1:] in _ENDS or word[-1:] in "<>=≥≤≠±aA")


def read_bound(text: str, span: tuple[int, int], start: int, end: int) -> tuple[Bound, tuple[int, int]]:
    """How the quantity at `span` is bounded, and the span with the words that say so.

    >>> read_bound("at least 8 dogs", (9, 10), 0, 15), read_bound("8 dogs", (0, 1), 0, 6)
    (('>=', (0, 10)), ('', (0, 1)))
    """
    first, last = span
    head = text[max(start, first - MAX_BOUND_CHARS) : first]
    if _can_bound(head) and (found := _BEFORE.search(head)):
        return _BOUND_NAMES[int((found.lastgroup or "b4")[1:])], (first - len(head) + found.start(), last)
    if found := _AFTER.match(text, last, end):
        place = 0 if found["plus"] else int((found.lastgroup or "b4")[1:])
        return _BOUND_NAMES[place], (first, found.end())
    return "", span
