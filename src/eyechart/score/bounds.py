"""Bounds around a number: "at least 8" is not 8.

The words are those of `languages` (at_least, or_more and so on), of all languages at once: next to a number
they mean nothing else.
"""

from __future__ import annotations

import re
from typing import Literal

from eyechart.score.languages import LANGUAGES

Bound = Literal["", "<", ">", "<=", ">=", "?"]
MAX_BOUND_CHARS = 32  # before a number
# Not that number, whichever it is.
_NOT_THAT = ("≠", "!=", "\\neq", "\\ne", "<>", "±", "between", "from", "twice", "double", "triple", "half of")


def _collect(*fields: tuple[str, Bound]) -> dict[str, Bound]:
    """The phrases of these fields in all languages, the longest first: "no more than" is not "more than"."""
    found = {
        phrase: bound
        for language in LANGUAGES.values()
        for field, bound in fields
        for phrase in getattr(language, field)
    }
    return {phrase: found[phrase] for phrase in sorted(found, key=len, reverse=True)}


_BEFORE: dict[str, Bound] = {
    **dict.fromkeys(_NOT_THAT, "?"),
    **_collect(("more_than", ">"), ("less_than", "<"), ("at_least", ">="), ("at_most", "<=")),
}
_BEFORE_PHRASES = tuple(_BEFORE)
_AFTER = _collect(("and_more", ">"), ("and_less", "<"), ("or_more", ">="), ("or_less", "<="))
_AFTER_PHRASES = tuple(_AFTER)
_MARKS = " \t\n$€£¥(\"'*"
_BETWEEN = re.compile(r"\s(?:the|a|about|around|exactly|roughly|en|de)$")
_SKIPPED = re.compile(r"[*\"')]{0,3}\s?(?:[个個只人名条位本台枚匹개명마리대년岁]{1,2}\s?)?")
_PLUS = re.compile(r"\+(?!\s?\d)|plus\b(?!\s\w)")


def read_bound(text: str, span: tuple[int, int], start: int, end: int) -> tuple[Bound, tuple[int, int]]:
    """How the quantity at `span` is bounded, and the span with the words that say so.

    >>> read_bound("at least 8 dogs", (9, 10), 0, 15), read_bound("8 dogs", (0, 1), 0, 6)
    (('>=', (0, 10)), ('', (0, 1)))
    """
    first, last = span
    head = text[max(start, first - MAX_BOUND_CHARS) : first].lower()
    head = head.rstrip(_MARKS)
    for known in (head, _BETWEEN.sub("", head)):
        if known.endswith(_BEFORE_PHRASES):
            phrase = next(phrase for phrase in _BEFORE_PHRASES if known.endswith(phrase))
            if _begins_word(known, phrase):
                return _BEFORE[phrase], (max(start, first - MAX_BOUND_CHARS) + len(known) - len(phrase), last)
    if last >= end:
        return "", span
    skipped = _SKIPPED.match(text, last, end)
    for at in {last, skipped.end() if skipped else last}:
        if plus := _PLUS.match(text, at, end):
            return ">=", (first, plus.end())
        tail = text[at : min(end, at + MAX_BOUND_CHARS)].lower()
        if tail.startswith(_AFTER_PHRASES):
            phrase = next(phrase for phrase in _AFTER_PHRASES if tail.startswith(phrase))
            if not tail[len(phrase) : len(phrase) + 1].isalpha() or not phrase.isascii():
                return _AFTER[phrase], (first, at + len(phrase))
    return "", span


def _begins_word(head: str, phrase: str) -> bool:
    before = head[-len(phrase) - 1 : -len(phrase)]
    is_unspaced = "\u2e80" <= phrase[0] <= "\ud7af"
    return is_unspaced or not phrase[0].isalpha() or not before.isalnum()
