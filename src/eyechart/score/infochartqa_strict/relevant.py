"""Which of several numbers in a reply is meant, by what the question asks. For the strict scorer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeVar

_MAX_BOUND_CHARS = 480  # in a longer reply, what comes last is what it comes to
_CUE_WEIGHT = 3  # of a year that the question names, or of "giving", against one of its words

_YEAR_ASKED = re.compile(
    r"\bwhen\b|年"
    r"|\b(?:which|what|name|identify|find|give|state|list|tell)\s+(?!number\b|share\b|amount\b)"
    r"(?:[\w-]+\s+){0,3}?(?<!last )(?<!this )(?<!next )(?<!per )(?<!each )(?<!every )(?<!a )years?\b(?!')",
    re.IGNORECASE,
)
_PERCENT_ASKED = re.compile(
    r"\b(?:what|which)\s+(?:is the |was the )?(?:percent|per cent|proportion|share)", re.IGNORECASE
)
_COUNT_ASKED = re.compile(r"\bhow many\b(?!\s+(?:percent|per cent))", re.IGNORECASE)
_OF_A_TIME = re.compile(
    r"\b(?:in|since|by|during|until|of|for|from|to|year|fy|early|late|mid)[\s(-]{1,2}$|\($"
    r"|\b(?:1[89]|20)\d\d(?: and |, | or |-)$",
    re.IGNORECASE,
)
_BEFORE_NUMBERING = re.compile(r"(?:^|\n)[\s*#(]{0,4}$|\bstep\s$", re.IGNORECASE)
_AFTER_NUMBERING = re.compile(r"[.):]\**\s")
_OUT_OF = re.compile(r"\b(?:out of|of (?:the|all|these|those)) (?:the )?$", re.IGNORECASE)
_CLAUSE = re.compile(r"[,;.](?=\s)|\n|\b(?:while|whereas|but|compared|versus|vs)\b", re.IGNORECASE)
_IS = re.compile(r"\b(?:is|are|was|were|equals|totals|reached)\s(?:\w+\s)?$", re.IGNORECASE)
_COMES_TO = re.compile(
    r"\b(?:giv(?:es?|ing)|difference|total|sum|average|result\w*|leav(?:es?|ing)|mak(?:es?|ing)|comes? to)\b"
    r"[^.,;\d]{0,16}$",
    re.IGNORECASE,
)
_BEHIND = re.compile(r"\s(?:[^\W\d_]+\s)?(?:of|in|for|per|among)\s(?:the\s)?([^\W_]+)", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset(
    {"the", "and", "for", "was", "were", "are", "what", "which", "who", "how", "many", "much", "that", "this",
     "with", "from", "has", "have", "had", "did", "does", "total", "value", "number", "amount", "chart",
     "percentage", "percent", "share", "according", "shown"}
)  # fmt: skip


class Placed(Protocol):
    """A number with its place in a text."""

    @property
    def value(self) -> float:
        """With its unit."""
        ...

    @property
    def scale(self) -> float | None:
        """The factor of its unit."""
        ...

    @property
    def span(self) -> tuple[int, int]:
        """Where it stands."""
        ...

    @property
    def is_year(self) -> bool:
        """Whether it could be one."""
        ...


A = TypeVar("A", bound=Placed)


def asks_for_a_year(question: str) -> bool:
    """Whether years are what the question is after.

    >>> asks_for_a_year("In which year was it highest?"), asks_for_a_year("How much was it in 2020?")
    (True, False)
    >>> asks_for_a_year("How many years did it take?"), asks_for_a_year("What was last year's total?")
    (False, False)
    """
    return _YEAR_ASKED.search(question) is not None


def relevant(text: str, found: Sequence[A], question: str, named: Iterable[float]) -> Sequence[A]:
    """Those that can be the answer, in their order; at least one. `named` are the question's own numbers.

    Not the numbers of a list's lines, years that only say when, percentages where a count is asked, what
    stands in brackets, or what another thing's value is.
    """
    asks_year, asked = asks_for_a_year(question), set(named)
    tests: list[Callable[[A], bool]] = [lambda one: not _is_numbering(text, one)]
    if asks_year:
        tests += [lambda one: one.is_year]
    else:
        tests += [
            lambda one: one.value not in asked,
            lambda one: not (one.is_year and _says_when(text, one)),
        ]
    if _PERCENT_ASKED.search(question):
        tests.append(lambda one: one.scale == 0.01)
    elif _COUNT_ASKED.search(question):
        tests.append(lambda one: one.scale != 0.01)
    tests.append(lambda one: not _OUT_OF.search(text[max(0, one.span[0] - 16) : one.span[0]]))
    tests.append(lambda one: text.count("(", 0, one.span[0]) <= text.count(")", 0, one.span[0]))
    kept = found
    for test in tests:
        kept = [one for one in kept if test(one)] or kept
    return _bound(text, kept, question)


def _bound(text: str, found: Sequence[A], question: str) -> Sequence[A]:
    """In a short reply, those in whose clause most of the question's own words stand."""
    if len(found) < 2 or len(text) > _MAX_BOUND_CHARS:
        return found
    wanted = _topics(question)
    shared: list[int] = []
    begin = 0
    for one in found:
        before = text[begin : one.span[0]]
        mark = _CLAUSE.search(before) if begin else None  # up to it, the number before is still spoken of
        behind = _BEHIND.match(text, one.span[1])  # "63% of women", "7 in 2015"
        said = (before[mark.end() :] if mark else before) + (f" {behind[1]}" if behind else "")
        words = sum(_CUE_WEIGHT if topic.isdecimal() else 1 for topic in wanted & _topics(said))
        comes_to = _CUE_WEIGHT if shared and _COMES_TO.search(before) else 0
        shared.append(words + comes_to + (_IS.search(before) is not None))
        begin = behind.end() if behind else one.span[1]
    most = max(shared)
    return [one for one, n in zip(found, shared, strict=True) if n == most]


def _topics(text: str) -> set[str]:
    return set(_WORD.findall(text.lower())) - _COMMON


def _is_numbering(text: str, one: Placed) -> bool:
    begin, end = one.span
    before = _BEFORE_NUMBERING.search(text[max(0, begin - 12) : begin])
    return before is not None and _AFTER_NUMBERING.match(text, end) is not None


def _says_when(text: str, one: Placed) -> bool:
    begin, end = one.span
    return _OF_A_TIME.search(text[max(0, begin - 10) : begin]) is not None or text.startswith(":", end)
