"""Numbers: reading the one that a reply states, comparing it with the gold, and parsing numerals."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from eyechart.registry import scorer
from eyechart.score.reading import (
    Reading,
    StatedAnswer,
    find_all_answers,
    find_answer_start,
    find_sentence_end,
    is_abstention,
    lower_ascii,
    normalise_characters,
    read_json_answer,
    score_reading,
    unwrap_span,
)
from eyechart.types import Reply, Sample, Score

TOLERANCE = 1e-9  # relative: 0.1 + 0.2 is 0.3, and no more
MAX_NUMBERS = 2_000  # a reply with more numbers than this states none of them
MAX_PLAIN_CHARS = 20_000  # nor is the only number of so long a reply its answer
MAX_DIGITS = 400
MAX_CHARS = 500  # of a text that is one number
_CLAUSE_END = re.compile(
    r"[,;(（，；。、]|\b(?:because|since|as|which|with|from|based|after|where|if|so)\b", re.IGNORECASE
)
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence|in total|total(?: of| is|:)?|altogether|in all|overall|sum is|gives|"
    r"equals|makes)\b"
    r"|因此|所以|总共|一共|共有|共计|合计"
)


@dataclass(frozen=True, slots=True)
class Number:
    """A number found in a text. `face` is what is written before a percent sign."""

    value: float
    face: float
    span: tuple[int, int]


@scorer("number", version="1")
def score_number(reply: Reply, sample: Sample) -> Score:
    """The number the reply states, against golds that are numbers."""
    reading, found = _find(normalise_numerals(reply.text))
    golds = [gold for text in sample.golds if (gold := parse_number(text))]
    if sample.golds and not golds:
        return Score(outcome="unscored", value=0.0, read=reading.answer, route="number:gold-not-a-number")
    hit = found is not None and any(_equal(found, gold, TOLERANCE) for gold in golds)
    return score_reading(reply, sample, reading, float(hit))


def number(prediction: str, golds: Sequence[str], *, tolerance: float = TOLERANCE) -> float:
    """1 when the number the reply states equals a gold, within the relative `tolerance`; else 0.

    A percent sign on one side only may be read either way: ``50%`` meets both ``50`` and ``0.5``.

    >>> number("The answer is 1,234.50.", ["1234.5"]), number("three dogs", ["3"]), number("2 or 3", ["3"])
    (1.0, 1.0, 0.0)
    >>> number("104", ["100"], tolerance=0.05)
    1.0
    """
    found = _find(normalise_numerals(prediction))[1]
    if found is None:
        return 0.0
    return float(any(_equal(found, gold, tolerance) for text in golds if (gold := parse_number(text))))


def read_number(text: str) -> Reading:
    r"""The number a reply states: its last decisive statement, else the only number in it. Never guesses.

    >>> read_number("2 + 3 = 5").answer, read_number(r"\boxed{\frac{1}{2}}").answer
    ('5', '0.5')
    >>> read_number("I see 3 cats and 4 dogs").rule
    'number:ambiguous'
    """
    return _find(normalise_numerals(text))[0]


def _equal(read: Number, gold: Number, tolerance: float) -> bool:
    pairs = [(read.value, gold.value)]
    if (read.value != read.face) != (gold.value != gold.face):
        pairs.append((read.face, gold.face))
    return any(abs(a - b) <= tolerance * abs(b) for a, b in pairs)


def _find(text: str) -> tuple[Reading, Number | None]:
    begin = find_answer_start(text)
    start, end = unwrap_number_span(text, begin)
    if start >= end:
        return Reading(None, "number:empty"), None
    value = read_json_answer(text, begin)
    if (
        isinstance(value, int | float | str)
        and not isinstance(value, bool)
        and (inner := parse_number(str(value)))
    ):
        return _reading(inner, "json", (begin, len(text))), inner
    if whole := parse_number(text[start:end]):
        return _reading(whole, "whole", (start, end)), whole
    for place in chain(find_all_answers(text, begin), _conclusions(text, begin)):
        found = _stated_in(text, place.start, place.end)
        if found == "several":
            return Reading(None, "number:ambiguous", (place.start, place.end)), None
        if isinstance(found, Number):
            return _reading(found, place.kind, found.span), found
    return _only_one(text, start, end)


def _stated_in(text: str, start: int, end: int) -> Number | str | None:
    """The one number of a statement: that of its first clause, or what an equation comes to."""
    equals = text.rfind("=", start, end)
    if equals >= 0 and len(result := _distinct(text, equals + 1, end)) == 1:
        return result[0]
    end = equals if equals >= 0 else end
    start, end = unwrap_number_span(text, start, end)
    found = list(find_numbers(text, start, end))
    if not found:
        return parse_chinese_number(text, start, end)
    clause = _CLAUSE_END.search(text, found[0].span[1], end)
    values = _distinct(text, start, clause.start() if clause else end)
    return values[0] if len(values) == 1 else "several"


def _conclusions(text: str, begin: int) -> Iterator[StatedAnswer]:
    """The last "so ...", "in total ...", "= ..."."""
    cues = [cue.end() for cue in _CONCLUSION.finditer(lower_ascii(text), begin)]
    equals = text.rfind("=", begin)
    if equals >= 0:
        cues.append(equals + 1)
    if cues:
        last = max(cues)
        yield StatedAnswer("concluded", last, find_sentence_end(text, last))


def _only_one(text: str, start: int, end: int) -> tuple[Reading, Number | None]:
    values = _distinct(text, start, min(end, start + MAX_PLAIN_CHARS))
    if len(values) > 1:
        return Reading(None, "number:ambiguous"), None
    if not values or end - start > MAX_PLAIN_CHARS or is_abstention(text[start:end]):
        return Reading(None, "number:unread"), None
    return _reading(values[0], "only-number", values[0].span), values[0]


def _distinct(text: str, start: int, end: int) -> list[Number]:
    by_value: dict[float, Number] = {}
    for count, found in enumerate(find_numbers(text, start, end)):
        by_value.setdefault(found.value, found)
        if len(by_value) > 8 or count > MAX_NUMBERS:
            break
    return list(by_value.values())


def _reading(found: Number, rule: str, span: tuple[int, int]) -> Reading:
    return Reading(f"{found.value:.15g}", f"number:{rule}", span)


# -- Numerals: grouped, signed, scaled, spelled, as fractions, in Chinese

_UNITS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS: dict[str, int] = {word: value for value, word in enumerate(_UNITS)}
_WORDS |= {word: 10 * value for value, word in enumerate(_TENS, start=2)}
_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12,
    "k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "千": 1e3, "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8,
}  # fmt: skip
_CHINESE = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_MINUS = ("-", "minus", "negative", "负")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_NARROW_SPACES = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3})")
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_DIGITS = (
    r"(?:\d{1,3}(?:\.\d{3}){2,}(?:,\d{1,9})?(?!\d)"  # 1.234.567 and 1.234.567,8
    r"|\d{1,3}(?:\.\d{3}){1,9},\d{1,9}(?![\d,])"  # 1.234,56
    r"|[1-9]\d{0,2}(?:[,']\d{3}){1,12}(?:\.\d{1,60})?(?![\d,']\d)(?!\d)"  # 1,234.5 and 1'234
    r"|[1-9]\d?(?:,\d{2}){1,6},\d{3}(?:\.\d{1,60})?(?!\d)"  # 12,34,567
    rf"|\d{{1,{MAX_DIGITS}}}[.,]\d{{1,{MAX_DIGITS}}}(?![\d.,]*\d)"  # 3.14 and 3,14
    rf"|\d{{1,{MAX_DIGITS}}}(?!\d)(?![.,:]\d)|(?<![\d.])\.\d{{1,60}}(?![\d.]*\d))"
)
_SCALE = "|".join(word for word in _SCALES if len(word) > 2 or not word.isascii())
_SPELLED = rf"(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_UNITS[1:10])}))?|{'|'.join(reversed(_UNITS))}"

_NUMBER = re.compile(
    r"(?<!(?-i:[^\W\u2e80-\u9fff]))(?<![.,:/])(?<![A-Za-z]-)(?P<sign>[-+]\s?|(?<!\d\s)(?:minus|negative)\s|负)?(?P<money>[$€£¥₹￥]\s?|(?:USD|EUR|RMB|US\$)\s?)?(?P<late_sign>-)?"
    rf"(?:\\frac\{{(?P<over>\d{{1,15}})\}}\{{(?P<under>\d{{1,15}})\}}"
    rf"|(?:(?P<whole>\d{{1,9}})[ -])?(?P<top>\d{{1,15}})\s?/\s?(?P<bottom>\d{{1,15}})(?![\d/])"
    rf"|(?P<mixed>\d{{1,9}})?\s?(?P<vulgar>[{_VULGAR}])"
    rf"|(?P<digits>{_DIGITS})"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\w)|\s?(?:[x×*·]|\\times|\\cdot)\s?10\s?(?:\^\s?\{?(?P<power>[-+]?\d{1,3})\}?"
    r"|(?P<raised>[⁻⁺]?[⁰¹²³⁴-⁹]{1,3})))?"
    rf"|\b(?P<spelled>{_SPELLED})\b)"
    rf"(?P<scale>\s?(?:{_SCALE})(?![a-z])|(?:k|(?(money)(?:bn|b|mn|m)))(?!\w))?"
    r"(?P<percent>\s?(?:\\?%|percent\b|per cent\b))?",
    re.IGNORECASE,
)
_NOT_A_COUNT = re.compile(
    r"\b(?:this|that|the|which|no|each|every|any|some|another|other|only)\s+$", re.IGNORECASE
)
_CHINESE_COUNT = re.compile(
    r"(?:是|有|共|一共|共有|总共)*([零〇一二两兩三四五六七八九十百]{1,5})[\u4e00-\u9fff]{0,2}"
)


def parse_number(text: str) -> Number | None:
    """The number a short text is, with its sign, currency, unit or percent; None when it is anything else.

    >>> [parse_number(text).value for text in ("-3", "1,234", "3,14", "$5 million", "2.5e3", "50%", "１２")]
    [-3.0, 1234.0, 3.14, 5000000.0, 2500.0, 0.5, 12.0]
    >>> parse_number("room 12"), parse_number("12:30"), parse_number("2019-05-06")
    (None, None, None)
    """
    plain = normalise_numerals(text)
    start, end = unwrap_number_span(plain)
    if end - start > MAX_CHARS:
        return None
    if re.fullmatch(r"\d{1,3}(?: \d{3})+", plain[start:end]):
        value = float(plain[start:end].replace(" ", ""))
        return Number(value, value, (start, end))
    found = list(find_numbers(plain, start, end))
    if len(found) != 1:
        return parse_chinese_number(plain, start, end) if not found else None
    first, last = found[0].span
    unit = plain[last:end].strip()
    is_unit = (
        len(unit) <= 12 and len(unit.split()) <= 2 and not any(map(str.isdigit, unit)) and ":" not in unit
    )
    return found[0] if first == start and is_unit else None


def normalise_numerals(text: str) -> str:
    """The text in plain characters, with the narrow spaces that group digits as apostrophes."""
    return normalise_characters(_NARROW_SPACES.sub("'", text))


def unwrap_number_span(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """Like `unwrap_span`, and without signs for "about"; a dollar before digits is money and stays."""
    first, last = unwrap_span(text, start, end)
    if first > start and text[first - 1] == "$" and text[first : first + 1].isdigit():
        return first - 1, last
    while first < last and text[first] in "~≈ ":
        first += 1
    return first, last


def find_numbers(text: str, start: int, end: int) -> Iterator[Number]:
    """Every number in a part of a text that went through `normalise_numerals`, in order."""
    for match in _NUMBER.finditer(text, start, end):
        if match["spelled"] and match["spelled"].lower() == "one" and _is_pronoun(text, match):
            continue
        face = _face(match)
        if face is None or not math.isfinite(face):
            continue
        yield Number(face / 100 if match["percent"] else face, face, match.span())


def _is_pronoun(text: str, match: re.Match[str]) -> bool:
    before, after = text[max(0, match.start() - 12) : match.start()], text[match.end() : match.end() + 4]
    return _NOT_A_COUNT.search(before) is not None or after.lower().startswith(" of ")


def _face(match: re.Match[str]) -> float | None:
    value = _magnitude(match)
    if value is None:
        return None
    scale = _SCALES[match["scale"].strip().lower()] if match["scale"] else 1
    is_negative = (match["sign"] or "").strip().lower() in _MINUS or match["late_sign"]
    return (-value if is_negative else value) * scale


def _magnitude(match: re.Match[str]) -> float | None:
    if match["spelled"]:
        return float(sum(_WORDS[word] for word in re.split("[ -]", match["spelled"].lower())))
    if match["vulgar"]:
        return float(match["mixed"] or 0) + unicodedata.numeric(match["vulgar"])
    top, bottom = match["over"] or match["top"], match["under"] or match["bottom"]
    if top and bottom:
        return float(match["whole"] or 0) + int(top) / int(bottom) if int(bottom) else None
    raised = (match["raised"] or "").translate(_SUPERSCRIPTS)
    exponent = int(match["exponent"] or match["power"] or raised or 0)
    return float(f"{_plain_digits(match['digits'])}e{exponent}")


def _plain_digits(digits: str) -> str:
    """Digits with a decimal point and no grouping.

    A lone comma groups when exactly three digits follow and the number does not begin with 0
    (``1,234``); otherwise it is a decimal comma (``3,14``, ``0,125``).
    """
    digits = digits.replace("'", "")
    if digits.count(".") > 1 or (digits.find(".") < digits.find(",") and "." in digits):
        return digits.replace(".", "").replace(",", ".")  # 1.234.567,8
    head, _, tail = digits.partition(",")
    if digits.count(",") == 1 and (len(tail.partition(".")[0]) != 3 or head.startswith("0")):
        return digits.replace(",", ".")
    return digits.replace(",", "")


def parse_chinese_number(text: str, start: int, end: int) -> Number | None:
    """A count in Chinese numerals and nothing else: "三", "十二个", "一共有三只"."""
    found = _CHINESE_COUNT.fullmatch(text, start, end)
    value = _chinese_value(found.group(1)) if found else None
    return None if found is None or value is None else Number(value, value, found.span(1))


def _chinese_value(numeral: str) -> float | None:
    """Up to 999: 十二, 二十, 一百零五."""
    hundreds, has_hundreds, rest = numeral.rpartition("百")
    tens, has_tens, units = rest.lstrip("零").rpartition("十")
    parts = ((hundreds, has_hundreds, 100), (tens, has_tens, 10), (units, True, 1))
    total = 0.0
    for digits, is_given, weight in parts:
        if len(digits) > 1 or (digits and not is_given):
            return None
        if digits:
            total += _CHINESE.get(digits, 0) * weight
        elif is_given and weight > 1:
            total += weight
    return total


def add_in_order(values: Iterable[float]) -> float:
    """The sum from left to right, rounded after every step.

    The official programs add this way (numpy does too, below eight numbers). Since Python 3.12 the built-in
    `sum` compensates for rounding, so the last digit of a published figure would depend on the version.

    >>> add_in_order([0.1] * 10)
    0.9999999999999999
    """
    total: float = 0  # whole numbers stay whole
    for value in values:
        total += value
    return total
