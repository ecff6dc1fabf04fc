"""Amounts on charts for the strict scorer: a number with its unit, and which of several a reply means.

A unit is known in words, letters and Chinese (``5.2 million``, ``5.2M``, ``520万``, ``45%``, ``3 crore``).
Where only one side names a unit, either reading of it may be equal, because instructions often ask to leave
units out. Where both name one, the amounts themselves must be equal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from eyechart.score.number import (
    MAX_NUMBERS,
    Number,
    find_numbers,
    normalise_numerals,
    read_number,
    unwrap_number_span,
)
from eyechart.score.quantity import TOLERANCE, is_close
from eyechart.score.reading import Reading, find_answer_start, is_abstention

_WORDS = {
    "hundred": 1e2, "thousand": 1e3, "lakh": 1e5, "lac": 1e5, "million": 1e6, "mio": 1e6, "crore": 1e7,
    "billion": 1e9, "trillion": 1e12, "percent": 0.01, "per cent": 0.01, "pct": 0.01,
    "percentage point": 0.01,
}  # fmt: skip
_SHORT = {
    "K": 1e3, "k": 1e3, "M": 1e6, "mn": 1e6, "Mn": 1e6, "MN": 1e6, "Cr": 1e7, "cr": 1e7, "B": 1e9, "bn": 1e9,
    "Bn": 1e9, "BN": 1e9, "T": 1e12, "tn": 1e12, "Tn": 1e12, "pp": 0.01, "%": 0.01, "‰": 0.001,
}  # fmt: skip
_CHINESE = {
    "个百分点": 0.01, "百分点": 0.01,
    "十": 1e1, "百": 1e2, "千": 1e3, "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8, "兆": 1e12,
}  # fmt: skip
_UNIT = re.compile(
    rf"\s?(?:((?i:{'|'.join(sorted(_WORDS, key=len, reverse=True))}))s?(?![A-Za-z])"
    rf"|({'|'.join(sorted(filter(str.isalpha, _SHORT), key=len, reverse=True))})(?![A-Za-z])|\\?([%‰])"
    rf"|({'|'.join(_CHINESE)}))"
)
# The unit inside a numeral that `find_numbers` read: after a currency sign it also takes "m" and "b".
_TAKEN = re.compile(r"([A-Za-z]+(?: [A-Za-z]+)?|%|[\u4e00-\u9fff]+)$")
_TAKEN_SHORT = {**_SHORT, "m": 1e6, "b": 1e9}
_JOIN = r"(?:-|~|\bto\b|\buntil\b|\bthrough\b|\band\b|至|到)"
_END = r"[-+]?[$€£¥]?\d[\d.,]*\s?(?:%|[A-Za-z\u4e00-\u9fff]{1,8}\b)??"
_RANGE = re.compile(
    rf"(?<![\w.,])({_END})\s?{_JOIN}\s?([$€£¥]?\d[\d.,]*\s?(?:%|[KMBT]\b|(?i:million|billion)\b)?)"
)
_POWER = re.compile(r"(?<![x×*·]\s)(?<![x×*·\d.])10\s?\^\s?\{?(\d{1,2})\}?")
_FISCAL = re.compile(r"\b[FC]Y(?=\s?\d{4}\b)")
_JOINED_BEFORE = re.compile(r"\d%?(?:[-~]| or )$")
_JOINED_AFTER = re.compile(r"(?:[-~]| or )\d")
_FALLS = re.compile(
    r"\b(?:decreas(?:e|ed|ing)|declin(?:e|ed)|drop(?:ped)?|f[ae]ll|reduc(?:tion|ed)|down|loss|lower)\b[^.,;\d]{0,20}$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ChartAmount:
    """A number found in a text: `face` before its unit, `scale` the unit's factor if it has one."""

    face: float
    scale: float | None
    span: tuple[int, int]
    is_decrease: bool = False  # "a decrease of 10": it is 10, and may be meant as -10

    @property
    def value(self) -> float:
        return self.face * (self.scale or 1.0)

    @property
    def is_year(self) -> bool:
        return self.scale is None and self.face.is_integer() and 1000 <= self.face <= 2100


def read_amount(text: str, question: str) -> tuple[Reading, ChartAmount | None]:
    """The amount that a reply states; otherwise the last one that can be the answer.

    >>> read_amount("45% in 2020", "What was the share?")[1].value
    0.45
    >>> read_amount("In 2020 it was 30, in 2021 it was 45.", "How many were there in 2021?")[1].value
    45.0
    """
    plain = _POWER.sub(lambda power: f"1e{power[1]}".ljust(len(power[0])), normalise_numerals(text))
    plain = _FISCAL.sub("  ", plain)
    reading = read_number(plain)
    begin, end = find_answer_start(plain), len(plain)
    is_within = reading.span != (0, 0)
    if is_within and reading.rule != "number:json":
        begin, end = reading.span
        while end < len(plain) and (unit := _UNIT.match(plain, end)):
            end = unit.end()
    found = list(find_amounts(plain, begin, end))
    if not found or (reading.answer is None and not is_within and is_abstention(text)):
        return Reading(None, reading.rule if reading.answer is None else "number:unread"), None
    if reading.answer is not None:
        return reading, _signed(plain, found[0])
    asked = normalise_numerals(question)
    named = [amount.value for amount in find_amounts(asked, 0, len(asked))]
    kept = select_relevant(plain, found, question, named)
    amount = kept[0] if is_within else kept[-1]
    first, last = amount.span
    if _JOINED_BEFORE.search(plain[max(0, first - 5) : first]) or _JOINED_AFTER.match(plain, last):
        return Reading(None, "number:one-of-two", amount.span), None
    rule = "number:stated" if is_within else "number:last-relevant"
    return Reading(f"{amount.value:.15g}", rule, amount.span), _signed(plain, amount)


def _signed(text: str, amount: ChartAmount) -> ChartAmount:
    first = amount.span[0]
    return replace(amount, is_decrease=_FALLS.search(text[max(0, first - 32) : first]) is not None)


def is_equal_amount(gold: ChartAmount, said: ChartAmount, tolerance: float) -> bool:
    """Whether two amounts agree: relative to the gold, and whole numbers exactly where `tolerance` is small.

    >>> is_equal_amount(parse_amount("2020"), parse_amount("2018"), 0.001)
    False
    >>> is_equal_amount(parse_amount("5.2 million"), parse_amount("5,200,000"), 0.001)
    True
    >>> is_equal_amount(parse_amount("42"), parse_amount("42000"), 0.001)
    False
    >>> is_equal_amount(parse_amount("-10"), read_amount("a decrease of 10", "What is the change?")[1], 0.001)
    True
    """
    pairs = [(gold.value, said.value)]
    if (gold.scale is None) != (said.scale is None):
        pairs.append((gold.face, said.face))
    if gold.face.is_integer() and gold.scale in (None, 0.01) and tolerance < 0.01:
        tolerance = TOLERANCE
    if said.is_decrease and gold.face < 0 < said.face:
        pairs = [(g, -r) for g, r in pairs]
    return any(is_close(r, g, tolerance) for g, r in pairs)


def parse_amount(text: str) -> ChartAmount | None:
    """The amount that a short text is, with any unit of measure after it; None for anything else.

    >>> [parse_amount(text).value for text in ("$5.2B", "1.5 crore", "520万", "45%", "1,234 km", "3千万")]
    [5200000000.0, 15000000.0, 5200000.0, 0.45, 1234.0, 30000000.0]
    >>> parse_amount("2015-2020"), parse_amount("in 2020, 45%")
    (None, None)
    """
    plain = normalise_numerals(text)
    start, end = unwrap_number_span(plain)
    found = list(find_amounts(plain, start, end))
    if len(found) != 1 or end - start > 60:
        return None
    [amount] = found
    rest = plain[amount.span[1] : end]
    is_measure = (
        not any(map(str.isdigit, rest)) and len(rest.split()) <= 3 and not rest.startswith(("-", "+"))
    )
    is_first = plain[start : amount.span[0]] in ("", "百分之")
    return amount if is_first and is_measure else None


def parse_range(text: str) -> tuple[ChartAmount, ChartAmount] | None:
    """The two ends of a range and nothing else.

    >>> [end.value for end in parse_range("from 2015 to 2020")], parse_range("2015")
    ([2015.0, 2020.0], None)
    """
    plain = normalise_numerals(text)
    start, end = unwrap_number_span(plain)
    found = _RANGE.search(plain, start, end)
    around = plain[start : found.start()] + plain[found.end() : end] if found else ""
    if found is None or len(around.strip(" .")) > 12 or any(map(str.isdigit, around)):
        return None
    return _ends(found)


def find_last_range(text: str) -> tuple[tuple[ChartAmount, ChartAmount], tuple[int, int]] | None:
    """The last range in a reply, and where."""
    plain = normalise_numerals(text)
    for found in reversed(list(_RANGE.finditer(plain, find_answer_start(plain)))[-MAX_NUMBERS:]):
        if ends := _ends(found):
            return ends, found.span()
    return None


def _ends(found: re.Match[str]) -> tuple[ChartAmount, ChartAmount] | None:
    low, high = parse_amount(found[1]), parse_amount(found[2])
    return (low, high) if low and high else None


def find_amounts(text: str, start: int, end: int) -> Iterator[ChartAmount]:
    """Every amount of a text that went through `normalise_numerals`."""
    for count, number in enumerate(find_numbers(text, start, end)):
        if count >= MAX_NUMBERS:
            return
        yield _amount(text, number, end)


def _amount(text: str, number: Number, end: int) -> ChartAmount:
    first, last = number.span
    face, scale = number.face, None
    if taken := _TAKEN.search(text, first, last):
        factor = _factor(taken[1])
        if factor is not None:
            face, scale = (face if factor < 1 else face / factor), factor
    while unit := _UNIT.match(text, last, end):
        factor = _factor(next(filter(None, unit.groups())))
        if factor is None or (scale is not None and not unit[4]):
            break
        scale, last = (scale or 1.0) * factor, unit.end()
    if scale is None and (number.value != number.face or text.endswith("百分之", 0, first)):
        scale = 0.01
    return ChartAmount(face, scale, (first, last))


def _factor(unit: str) -> float | None:
    word = unit.lower().removesuffix("s")
    return _TAKEN_SHORT.get(unit) or _WORDS.get(word) or _CHINESE.get(unit)


# -- Which of several amounts is meant, by what the question asks

_MAX_BOUND_CHARS = 480  # in a longer reply, the last amount counts
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
_TOPIC = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset(
    {"the", "and", "for", "was", "were", "are", "what", "which", "who", "how", "many", "much", "that", "this",
     "with", "from", "has", "have", "had", "did", "does", "total", "value", "number", "amount", "chart",
     "percentage", "percent", "share", "according", "shown"}
)  # fmt: skip


def select_relevant(
    text: str, found: Sequence[ChartAmount], question: str, named: Iterable[float]
) -> Sequence[ChartAmount]:
    """The amounts that can be the answer, in order; at least one. `named` are the question's own numbers.

    Left out while others remain: the numbering of lists, years that only say when, percentages where a count
    is asked for, amounts in brackets, and values of something else.
    """
    asks_year, asked = is_year_question(question), set(named)
    tests: list[Callable[[ChartAmount], bool]] = [lambda one: not _is_numbering(text, one)]
    if asks_year:
        tests += [lambda one: one.is_year]
    else:
        tests += [lambda one: one.value not in asked, lambda one: not (one.is_year and _says_when(text, one))]
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


def _bound(text: str, found: Sequence[ChartAmount], question: str) -> Sequence[ChartAmount]:
    """In a short reply, the amounts whose clause shares most words with the question."""
    if len(found) < 2 or len(text) > _MAX_BOUND_CHARS:
        return found
    wanted = _topics(question)
    shared: list[int] = []
    begin = 0
    for one in found:
        before = text[begin : one.span[0]]
        mark = _CLAUSE.search(before) if begin else None  # up to it, the text belongs to the number before
        behind = _BEHIND.match(text, one.span[1])  # "63% of women", "7 in 2015"
        said = (before[mark.end() :] if mark else before) + (f" {behind[1]}" if behind else "")
        words = sum(_CUE_WEIGHT if topic.isdecimal() else 1 for topic in wanted & _topics(said))
        comes_to = _CUE_WEIGHT if shared and _COMES_TO.search(before) else 0
        shared.append(words + comes_to + (_IS.search(before) is not None))
        begin = behind.end() if behind else one.span[1]
    most = max(shared)
    return [one for one, n in zip(found, shared, strict=True) if n == most]


def _topics(text: str) -> set[str]:
    return set(_TOPIC.findall(text.lower())) - _COMMON


def is_year_question(question: str) -> bool:
    """Whether the question asks for a year.

    >>> is_year_question("In which year was it highest?"), is_year_question("How much was it in 2020?")
    (True, False)
    >>> is_year_question("How many years did it take?"), is_year_question("What was last year's total?")
    (False, False)
    """
    return _YEAR_ASKED.search(question) is not None


def _is_numbering(text: str, one: ChartAmount) -> bool:
    begin, end = one.span
    before = _BEFORE_NUMBERING.search(text[max(0, begin - 12) : begin])
    return before is not None and _AFTER_NUMBERING.match(text, end) is not None


def _says_when(text: str, one: ChartAmount) -> bool:
    begin, end = one.span
    return _OF_A_TIME.search(text[max(0, begin - 10) : begin]) is not None or text.startswith(":", end)
