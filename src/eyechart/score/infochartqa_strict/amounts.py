"""Amounts of charts for the strict scorer: a number, its unit word, and which of several is meant.

A unit is known in words, letters and Chinese (``5.2 million``, ``5.2M``, ``520万``, ``45%``, ``3 crore``).
Where one side names a unit and the other none, either reading of it may be equal: instructions often ask to
leave units out. Where both name one, the amounts themselves must be equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from eyechart.score.abstain import abstains
from eyechart.score.infochartqa_strict.relevant import relevant
from eyechart.score.number import MAX_NUMBERS, read_number
from eyechart.score.numerals import Number, fold_numbers, numbers_in, unwrapped
from eyechart.score.statement import answer_start
from eyechart.score.verdict import Reading

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
# Of what the reader of numerals has taken in already: with money before it, it knows "m" and "b" as well.
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
class Amount:
    """A number as it stands in a text: `face` before its unit, `scale` the unit's factor if it has one."""

    face: float
    scale: float | None
    span: tuple[int, int]
    falls: bool = False  # "a decrease of 10": it is 10, and may be meant as -10

    @property
    def value(self) -> float:
        """With the unit."""
        return self.face * (self.scale or 1.0)

    @property
    def is_year(self) -> bool:
        """Whether it could be one."""
        return self.scale is None and self.face.is_integer() and 1000 <= self.face <= 2100


def parse_amount(text: str) -> Amount | None:
    """The amount that a short text is, whatever measure follows it; None for anything else.

    >>> [parse_amount(text).value for text in ("$5.2B", "1.5 crore", "520万", "45%", "1,234 km", "3千万")]
    [5200000000.0, 15000000.0, 5200000.0, 0.45, 1234.0, 30000000.0]
    >>> parse_amount("2015-2020"), parse_amount("in 2020, 45%")
    (None, None)
    """
    plain = fold_numbers(text)
    start, end = unwrapped(plain)
    found = list(amounts_in(plain, start, end))
    if len(found) != 1 or end - start > 60:
        return None
    [amount] = found
    rest = plain[amount.span[1] : end]
    is_measure = (
        not any(map(str.isdigit, rest)) and len(rest.split()) <= 3 and not rest.startswith(("-", "+"))
    )
    is_first = plain[start : amount.span[0]] in ("", "百分之")
    return amount if is_first and is_measure else None


def parse_range(text: str) -> tuple[Amount, Amount] | None:
    """The two ends of a range and nothing else.

    >>> [end.value for end in parse_range("from 2015 to 2020")], parse_range("2015")
    ([2015.0, 2020.0], None)
    """
    plain = fold_numbers(text)
    start, end = unwrapped(plain)
    found = _RANGE.search(plain, start, end)
    around = plain[start : found.start()] + plain[found.end() : end] if found else ""
    if found is None or len(around.strip(" .")) > 12 or any(map(str.isdigit, around)):
        return None
    return _ends(found)


def last_range(text: str) -> tuple[tuple[Amount, Amount], tuple[int, int]] | None:
    """The last range that a reply names, and where."""
    plain = fold_numbers(text)
    for found in reversed(list(_RANGE.finditer(plain, answer_start(plain)))[-MAX_NUMBERS:]):
        if ends := _ends(found):
            return ends, found.span()
    return None


def _ends(found: re.Match[str]) -> tuple[Amount, Amount] | None:
    low, high = parse_amount(found[1]), parse_amount(found[2])
    return (low, high) if low and high else None


def amounts_in(text: str, start: int, end: int) -> Iterator[Amount]:
    """Every amount of a text that went through `fold_numbers`."""
    for count, number in enumerate(numbers_in(text, start, end)):
        if count >= MAX_NUMBERS:
            return
        yield _amount(text, number, end)


def _amount(text: str, number: Number, end: int) -> Amount:
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
    if scale is None and text.endswith("百分之", 0, first):
        scale = 0.01
    return Amount(face, scale, (first, last))


def _factor(unit: str) -> float | None:
    word = unit.lower().removesuffix("s")
    return _TAKEN_SHORT.get(unit) or _WORDS.get(word) or _CHINESE.get(unit)


def read_amount(text: str, question: str) -> tuple[Reading, Amount | None]:
    """The amount that a reply states; if it states none, the last one that can be the answer.

    Numbers that the question itself names, years that only say when, and the numbers of a list cannot.

    >>> read_amount("45% in 2020", "What was the share?")[1].value
    0.45
    >>> read_amount("In 2020 it was 30, in 2021 it was 45.", "How many were there in 2021?")[1].value
    45.0
    """
    plain = _POWER.sub(lambda power: f"1e{power[1]}".ljust(len(power[0])), fold_numbers(text))
    plain = _FISCAL.sub("  ", plain)
    reading = read_number(plain)
    begin, end = answer_start(plain), len(plain)
    is_within = reading.span != (0, 0)
    if is_within and reading.rule != "number:json":
        begin, end = reading.span
        while end < len(plain) and (unit := _UNIT.match(plain, end)):
            end = unit.end()
    found = list(amounts_in(plain, begin, end))
    if not found or (reading.answer is None and not is_within and abstains(text)):
        return Reading(None, reading.rule if reading.answer is None else "number:unread"), None
    if reading.answer is not None:
        return reading, _signed(plain, found[0])
    asked = fold_numbers(question)
    named = [amount.value for amount in amounts_in(asked, 0, len(asked))]
    kept = relevant(plain, found, question, named)
    amount = kept[0] if is_within else kept[-1]
    first, last = amount.span
    if _JOINED_BEFORE.search(plain[max(0, first - 5) : first]) or _JOINED_AFTER.match(plain, last):
        return Reading(None, "number:one-of-two", amount.span), None
    rule = "number:stated" if is_within else "number:last-relevant"
    return Reading(f"{amount.value:.15g}", rule, amount.span), _signed(plain, amount)


def _signed(text: str, amount: Amount) -> Amount:
    first = amount.span[0]
    return replace(amount, falls=_FALLS.search(text[max(0, first - 32) : first]) is not None)


def is_same(gold: Amount, said: Amount, tolerance: float) -> bool:
    """Whether two amounts agree: relative to the gold, and whole numbers exactly where `tolerance` is small.

    >>> is_same(parse_amount("2020"), parse_amount("2018"), 0.001)
    False
    >>> is_same(parse_amount("5.2 million"), parse_amount("5,200,000"), 0.001)
    True
    >>> is_same(parse_amount("42"), parse_amount("42000"), 0.001)
    False
    >>> is_same(parse_amount("-10"), read_amount("a decrease of 10", "What is the change?")[1], 0.001)
    True
    """
    pairs = [(gold.value, said.value)]
    if (gold.scale is None) != (said.scale is None):
        pairs.append((gold.face, said.face))
    if gold.face.is_integer() and gold.scale in (None, 0.01) and tolerance < 0.01:
        tolerance = 1e-9
    if said.falls and gold.face < 0 < said.face:
        pairs = [(g, -r) for g, r in pairs]
    return any(abs(g - r) <= tolerance * abs(g) for g, r in pairs)
