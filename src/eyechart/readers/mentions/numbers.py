"""Numbers in running text: digits in every grouping, fractions, scales, and numbers written as words.

`find_numbers` yields each number once, with its value and its place. Words are read in the languages of
the text by their tables ("twenty-one", "vingt et un", "two million"), English ones also with fractions
("three quarters"), Chinese numerals in full (五万). What follows a number is the subject of `quantities`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from eyechart.readers import languages as r
from eyechart.readers.languages import load_languages, spell_numbers
from eyechart.readers.mentions.units import Unit

MAX_DIGITS = 400
MAX_RUN = 40  # words of one number


class Quantity(msgspec.Struct, frozen=True, gc=False):
    """A number with the meanings of its unit (none: a bare number), what it counts, and how it is bounded."""

    value: float
    face: float  # what stands before a percent sign
    span: tuple[int, int] = (0, 0)
    units: tuple[Unit, ...] = ()
    noun: str = ""  # what is counted, where that is not a unit: "apples"
    bound: str = ""  # >=, <=, > or <


def find_numbers(text: str, codes: tuple[str, ...] = ("en",), *, is_whole: bool = False) -> list[Quantity]:
    """The numbers of a text in plain characters, in order.

    With `is_whole` the text is one answer, so that words count that mean something else in a sentence: "one".

    >>> text = "2.5M, three quarters, one hundred and five, 五万, minus 3, 1.234,5"
    >>> [number.value for number in find_numbers(text)]
    [2500000.0, 0.75, 105.0, 50000.0, -3.0, 1234.5]
    """
    found = [number for match in _NUMBER.finditer(text) if (number := _read_digits(match))]
    if not text.isascii():
        found += _find_chinese(text, is_whole=is_whole)
    found += _find_words(text, codes, is_whole=is_whole)
    kept: list[Quantity] = []
    for number in sorted(found, key=lambda number: (number.span[0], -number.span[1])):
        if not kept or number.span[0] >= kept[-1].span[1]:
            kept.append(number)
    return kept


# -- Digits

_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "thousands": 1e3, "lakh": 1e5, "million": 1e6, "millions": 1e6,
    "mio": 1e6, "crore": 1e7, "billion": 1e9, "billions": 1e9, "mrd": 1e9, "trillion": 1e12,
    "trillions": 1e12, "k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "t": 1e12, "tn": 1e12, "千": 1e3,
    "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8,
}  # fmt: skip
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_VULGAR = "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_DIGITS = (
    r"(?:\d{1,3}(?:\.\d{3}){2,}(?:,\d{1,9})?(?!\d)"  # 1.234.567 and 1.234.567,8
    r"|\d{1,3}(?:\.\d{3}){1,9},\d{1,9}(?![\d,])"  # 1.234,56
    r"|[1-9]\d{0,2}(?:[,'\u00a0\u2009\u202f]\d{3}){1,12}(?:\.\d{1,60})?(?![\d,']\d)(?!\d)"  # 1,234.5
    r"|[1-9]\d?(?:,\d{2}){1,6},\d{3}(?:\.\d{1,60})?(?!\d)"  # 12,34,567
    rf"|\d{{1,{MAX_DIGITS}}}[.,]\d{{1,{MAX_DIGITS}}}(?![\d.,]*\d)"  # 3.14 and 3,14
    rf"|\d{{1,{MAX_DIGITS}}}(?!\d)(?![.,:]\d)|(?<![\d.])\.\d{{1,60}}(?![\d.]*\d))"
)
_SCALE = "|".join(sorted((word for word in _SCALES if len(word) > 2 or not word.isascii()), key=len)[::-1])
_NUMBER = re.compile(
    r"(?<!(?-i:[^\W\u2e80-\u9fff\uac00-\ud7af]))(?<![.,:/^])(?<![A-Za-z]-)"
    r"(?P<sign>(?<!\d\s)[-+](?=\S)|(?<!\d\s)(?:minus|negative)\s|负)?(?P<money>[$€£¥₹￥]\s?|(?:USD|EUR|RMB|US\$)\s?)?(?P<late>-)?"
    rf"(?:(?:(?P<whole>\d{{1,9}})[ -])?(?P<top>\d{{1,15}})\s?/\s{{0,2}}(?P<bottom>\d{{1,15}})(?![\d/])"
    rf"|(?P<mixed>\d{{1,9}})?\s?(?P<vulgar>[{_VULGAR}])|(?P<digits>{_DIGITS})"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\w)|\s?[x×*·]\s{0,6}10\s?(?:\^\s{0,2}(?P<power>[-+]?\d{1,3})"
    r"|(?P<raised>[⁻⁺]?[⁰¹²³⁴-⁹]{1,3})))?(?:\s{1,2}and\sa\s(?P<plus>half|quarter|third)\b)?)"
    rf"(?P<scale>\s?(?:{_SCALE})(?![a-z])|(?:(?-i:K|M|B|T)|k|bn|mn|tn|(?(money)(?:b|m)|(?!)))(?![\w])|\s(?:bn|mn|tn|(?-i:M))(?![\w]))?"
    r"(?P<percent>\s?(?:%|percent\b|per cent\b|pct\b))?",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"\s?(?:%|percent\b|per cent\b|pct\b)", re.IGNORECASE)


def _read_digits(match: re.Match[str]) -> Quantity | None:
    if match["vulgar"]:
        value = float(match["mixed"] or 0) + unicodedata.numeric(match["vulgar"])
    elif match["top"]:
        if not int(match["bottom"]):
            return None
        value = float(match["whole"] or 0) + int(match["top"]) / int(match["bottom"])
    else:
        exponent = match["exponent"] or match["power"] or (match["raised"] or "").translate(_SUPERSCRIPTS)
        value = float(f"{plain_digits(match['digits'])}e{exponent or 0}")
    value += 1 / _PARTS[match["plus"].lower()] if match["plus"] else 0
    value *= _SCALES[match["scale"].strip().lower()] if match["scale"] else 1
    if (match["sign"] or "").strip().lower() in ("-", "minus", "negative", "负") or match["late"]:
        value = -value
    if not math.isfinite(value):
        return None
    return Quantity(value / 100 if match["percent"] else value, value, match.span())


def plain_digits(digits: str) -> str:
    """Digits with a decimal point and no grouping: "1,234" is grouped, "3,14" and "0,125" are decimals.

    >>> [plain_digits(digits) for digits in ("1,234", "3,14", "1.234.567,8")]
    ['1234', '3.14', '1234567.8']
    """
    digits = re.sub("['\u00a0\u2009\u202f]", "", digits)
    if digits.count(".") > 1 or ("." in digits and digits.find(".") < digits.find(",")):
        return digits.replace(".", "").replace(",", ".")
    head, _, tail = digits.partition(",")
    if digits.count(",") == 1 and (len(tail.partition(".")[0]) != 3 or head.startswith("0")):
        return digits.replace(",", ".")
    return digits.replace(",", "")


# -- Words

_WORD = re.compile(r"(?:[^\W\d_]|[\u0900-\u0963\u064b-\u0652])+")
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_PARTS |= {f"{word}s": value for word, value in _PARTS.items()} | {"halves": 2}
# Words that are numbers only where nothing else is said: articles, "year", "not", "only".
_ONLY_ALONE = r.words(
    "one un une ein eine einen una um uma uno bir một satu एक năm không on null due elf sei ba"
    " hai dos dua lima half quarter third são 한 두 세 네 영 공"
)
_JOINTS = frozenset(("and", "et", "y", "e", "und", "and a"))
_NOT_A_COUNT = r.words("this that the which no each every any some another other")
_NOT_COUNTED = r.words("of is was has that which")


_FIRSTS = frozenset(("a", "an", "minus", "negative", *_PARTS))


@lru_cache(maxsize=64)
def _list_words(codes: tuple[str, ...]) -> tuple[Mapping[str, int], Mapping[str, float], frozenset[str]]:
    """The words for 0 to 99, those for scales, and all first words, of these languages."""
    small: dict[str, int] = {}
    scales: dict[str, float] = {}
    for code, table in load_languages().items():
        for word, value in spell_numbers(code).items():
            if code in codes or ord(word[0]) > 0x250:
                small.setdefault(word, value)
        for entry in table.get("scales", ()):
            word, _, size = entry.partition("=")
            if code in codes or ord(word[0]) > 0x250:
                scales.setdefault(word, float(size))
    return small, scales, _FIRSTS.union(word.split()[0] for word in (*small, *scales))


def _find_words(text: str, codes: tuple[str, ...], *, is_whole: bool) -> Iterator[Quantity]:
    small, scales, firsts = _list_words(codes)
    found = list(_WORD.finditer(text))
    words = [*(word.group().lower() for word in found), *[""] * 4]  # as if there were more
    run = _Words(text, found, words, small, scales)
    place = 0
    while place < len(found):
        read = _read_words(run, place) if words[place] in firsts else None
        if read is None:
            place += 1
            continue
        value, stop = read
        span = (found[place].start(), found[stop - 1].end())
        before, after = words[place - 1], words[stop]
        is_alone = is_whole and (len(found) <= 2 or stop - place == len(found))
        is_alone = is_alone or (words[place] in _PARTS and after in ("a", "an", "of"))
        is_other = stop == place + 1 and words[place] in _ONLY_ALONE and not is_alone
        if words[place:stop] == ["zero"]:
            is_other = after == "of" and before not in ("is", "are", "were", "was")  # "the biggest zero of f"
        if is_other and words[place] == "one":
            goes_on = bool(after) and not text[span[1] : span[1] + 1].strip()
            is_other = before in _NOT_A_COUNT or after in _NOT_COUNTED or not goes_on
        is_other = is_other or words[place:stop] == ["once"]
        if not is_other and text[span[1] : span[1] + 1] not in ("'", "-"):
            percent = _PERCENT.match(text, span[1])
            if percent:
                span = (span[0], percent.end())
            yield Quantity(value / 100 if percent else value, value, span)
        place = stop


class _Words(msgspec.Struct):
    """The words of a text, and those that are numbers in its languages."""

    text: str
    found: list[re.Match[str]]
    words: list[str]
    small: Mapping[str, int]
    scales: Mapping[str, float]

    def find_small(self, place: int) -> tuple[int, int]:
        """The longest number below 1000 that begins at a word, and how many words it has."""
        for length in (4, 3, 2, 1):
            value = self.small.get(" ".join(self.words[place : place + length]))
            if value is not None:
                return value, length
        return 0, 0


def _read_words(run: _Words, first: int) -> tuple[float, int] | None:
    """The number that begins at a word, and where it ends."""
    words = run.words
    sign = -1.0 if words[first] in ("minus", "negative") else 1.0
    place = first + (sign < 0)
    has_article = words[place] in ("a", "an")
    place += has_article
    total = current = 0.0
    has_value, room = False, 1000.0  # what may still be added: 99 after "one hundred", nothing after "five"
    while place < min(len(run.found), first + MAX_RUN):
        between = run.text[run.found[place - 1].end() : run.found[place].start()] if place > first else ""
        if between.strip("-") not in ("", " "):
            break
        value, length = run.find_small(place)
        scale = run.scales.get(words[place], 0.0)
        if length and value < room and not (has_article and not has_value):
            current, has_value = current + value, True
            room = 100.0 if value >= 100 and value % 100 == 0 else 0.0
            place += length
            century = run.find_small(place)
            is_year = 10 < value <= 20 and not total and 10 <= century[0] < 100 and current == value
            if is_year:  # nineteen eighty-four
                current, place = value * 100.0 + century[0], place + century[1]
        elif scale and (has_value or has_article or run.find_small(place + 1)[1]):
            grown = (current or 1) * scale
            current, total = (grown, total) if scale == 100 else (0.0, total + grown)
            has_value, room, place = True, 100.0 if scale == 100 else 1000.0, place + 1
        elif words[place] in _JOINTS and has_value and room and run.find_small(place + 1)[1]:
            place += 1
        else:
            break
    if has_value and words[place] == "and" and words[place + 1] == "a" and words[place + 2] in _PARTS:
        return sign * (total + current + 1 / _PARTS[words[place + 2]]), place + 3
    if has_value and words[place] == "point":
        digits = ""
        while (small := run.find_small(place + 1 + len(digits)))[1] == 1 and small[0] < 10:
            digits += str(small[0])
        if digits:
            return sign * float(f"{total + current:.0f}.{digits}"), place + 1 + len(digits)
    part = words[place]
    top = total + current if has_value else 1.0
    if part in _PARTS and top < 100 and (top == 1.0) != part.endswith("s"):
        is_of_scale = part == "half" and words[place + 1] == "a"  # half a million
        scale = run.scales.get(words[place + 2], 0.0) if is_of_scale else 0.0
        return sign * top / _PARTS[part] * (scale or 1.0), place + (3 if scale else 1)
    return (sign * (total + current), place) if has_value else None


# -- Chinese and Japanese numerals

_NUMERALS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2}
_STEPS = {"亿": 10**8, "億": 10**8, "万": 10**4, "萬": 10**4, "千": 1000, "百": 100, "十": 10}
_NUMERAL = "零〇一二两兩三四五六七八九十百千万萬亿億"
_CHINESE = re.compile(
    rf"(?P<sign>负)?(?:(?P<cent>百分之|千分之)(?P<rate>[{_NUMERAL}\d点.]{{1,16}})"
    rf"|(?P<under>[{_NUMERAL}\d]{{1,8}})分之(?P<over>[{_NUMERAL}\d]{{1,8}})"
    rf"|(?P<only_half>一半)|(?P<number>(?:\d{{1,12}}(?:\.\d{{1,9}})?)?[{_NUMERAL}]+(?:点[{_NUMERAL}]+)?)(?P<half>[个斤米里年]半)?)(?![共些样])"
)
_MEASURES = frozenset(
    "个個只隻条條匹辆輛张張座名位种種本把棵朵头頭台架艘颗顆杯瓶块塊片双雙对對件家间間部支根人次岁歲年米公千克斤吨元度点點分秒小天周月倍层層页頁枚つ円軒足羽冊です"
)


def _find_chinese(text: str, *, is_whole: bool) -> Iterator[Quantity]:
    for match in _CHINESE.finditer(text):
        if match["cent"]:
            rate = parse_chinese(match["rate"])
            if rate is not None:
                face = rate if match["cent"] == "百分之" else rate / 10
                yield Quantity(face / 100, face, match.span())
        elif match["under"]:
            over, under = parse_chinese(match["over"]), parse_chinese(match["under"])
            if over is not None and under:
                yield Quantity(over / under, over / under, match.span())
        elif match["only_half"]:
            yield Quantity(0.5, 0.5, match.span())
        elif (value := parse_chinese(match["number"])) is not None:
            after = text[match.end() : match.end() + 1]
            before = text[match.start() - 1 : match.start()]
            is_article = match["number"] == "一" and not match["half"] and before not in tuple("有共是为")
            is_counted = after in _MEASURES and after and not is_article
            if is_whole or match["half"] or is_counted or len(match["number"]) > 1:
                value += 0.5 if match["half"] else 0
                value = -value if match["sign"] else value
                yield Quantity(value, value, match.span())


def parse_chinese(numeral: str) -> float | None:
    """The value of a numeral, in steps or as digits.

    >>> [parse_chinese(numeral) for numeral in ("二十一", "五万", "3万", "两千零五", "二〇二四")]
    [21.0, 50000.0, 30000.0, 2005.0, 2024.0]
    """
    if numeral.replace(".", "", 1).isdecimal():
        return float(numeral)
    if len(numeral) > MAX_RUN:
        return None
    whole, _, decimals = numeral.partition("点")
    if decimals:
        value, digits = parse_chinese(whole), "".join(str(_NUMERALS.get(char, "")) for char in decimals)
        return None if value is None or not digits else value + float(f"0.{digits}")
    for step, size in _STEPS.items():
        if step in numeral:
            head, _, tail = numeral.partition(step)
            times, rest = parse_chinese(head or "一"), parse_chinese(tail or "零")
            return None if times is None or rest is None else times * size + rest
    if numeral and all(char in _NUMERALS for char in numeral):
        return float("".join(str(_NUMERALS[char]) for char in numeral))
    return None
