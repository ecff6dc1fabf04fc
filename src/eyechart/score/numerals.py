"""Numerals in running text: digits in every grouping, fractions, scales, and numbers written as words.

`find_numbers` yields each number once, with its value and its place. English words are read to trillions,
with fractions ("two and a half", "three quarters") and spoken decimals; Chinese numerals in full (五万,
百分之二十五, 两个半, 3万5千); the number words of other languages as far as `languages` has them. What
follows a number (a unit, a noun) is the subject of `quantity`.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from eyechart.score.context import find_language
from eyechart.score.languages import LANGUAGES, Language
from eyechart.score.reading import normalise_characters, unwrap_span

MAX_DIGITS = 400
MAX_WORDS = 40  # of one spelled number; a longer one is cut there


@dataclass(frozen=True, slots=True)
class Number:
    """A number found in a text. `face` is what is written before a percent sign."""

    value: float
    face: float
    span: tuple[int, int]


def find_numbers(text: str, start: int, end: int, *, is_whole: bool = False) -> Iterator[Number]:
    """Every number in a part of a text that went through `normalise_numerals`, in order.

    With `is_whole`, the part is one answer, so that words count that mean something else in a sentence:
    "half", 三, "due" (Italian for two).

    >>> text = "2.5M, three quarters, one hundred and five, 五万, minus three"
    >>> [number.value for number in find_numbers(text, 0, len(text))]
    [2500000.0, 0.75, 105.0, 50000.0, -3.0]
    """
    chinese = [] if text.isascii() else list(_find_chinese(text, start, end, is_whole=is_whole))
    words = _find_words(text, start, end, is_whole=is_whole)
    waiting, done = next(words, None), start
    for match in _NUMBER.finditer(text, start, end):
        while chinese and chinese[0].span[0] <= match.start():
            if chinese[0].span[0] >= done:
                yield chinese[0]
                done = chinese[0].span[1]
            chinese.pop(0)
        if match.start() < done:
            continue
        face = _face(match)
        if face is None or not math.isfinite(face):
            continue
        while waiting and waiting.span[0] < match.start():
            if waiting.span[0] >= done:
                yield waiting
            waiting = next(words, None)
        done = match.end()
        yield Number(face / 100 if match["percent"] else face, face, match.span())
    rest = sorted([*chinese, *([waiting] if waiting else []), *words], key=lambda number: number.span)
    if not rest and done == start:
        rest = list(_find_foreign(text, start, end, is_whole=is_whole))
    for number in rest:
        if number.span[0] >= done:
            done = number.span[1]
            yield number


def normalise_numerals(text: str) -> str:
    """The text in plain characters, with the narrow spaces that group digits as apostrophes."""
    return normalise_characters(_NARROW_SPACES.sub("'", text))


def unwrap_number_span(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """Like `unwrap_span`, and without signs for "about"; a dollar before digits is money and stays."""
    first, last = unwrap_span(text, start, end)
    is_formula = text[last : last + 1] == "$"
    if first > start and text[first - 1] == "$" and text[first : first + 1].isdigit() and not is_formula:
        return first - 1, last
    while first < last and text[first] in "~≈ ":
        first += 1
    return first, last


# -- Digits: grouped, signed, scaled, as fractions

_SCALES = {
    "hundred": 1e2, "thousand": 1e3, "thousands": 1e3, "lakh": 1e5, "million": 1e6, "millions": 1e6,
    "mio": 1e6, "crore": 1e7, "billion": 1e9, "billions": 1e9, "mrd": 1e9, "trillion": 1e12,
    "trillions": 1e12, "k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9, "t": 1e12, "tn": 1e12,
    "千": 1e3, "万": 1e4, "萬": 1e4, "亿": 1e8, "億": 1e8,
}  # fmt: skip
_SHORT_SCALES = "(?-i:K|M|B|T)|k|bn|mn|tn"  # attached; "5 m" and "20 K" are metres and kelvins
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
_SCALE = "|".join(sorted((word for word in _SCALES if len(word) > 2 or not word.isascii()), key=len)[::-1])
_PLUS = {"a half": 0.5, "one half": 0.5, "a quarter": 0.25, "one quarter": 0.25, "three quarters": 0.75,
         "a third": 1 / 3, "one third": 1 / 3, "two thirds": 2 / 3}  # fmt: skip
_NUMBER = re.compile(
    r"(?<!(?-i:[^\W\u2e80-\u9fff]))(?<![.,:/^])(?<!\^\{)(?<![A-Za-z]-)(?P<sign>[-+]\s?|(?<!\d\s)(?:minus"
    r"|negative)\s|负)?(?P<money>[$€£¥₹￥]\s?|(?:USD|EUR|RMB|US\$)\s?)?(?P<late_sign>-)?"
    rf"(?:\\[dt]?frac\{{(?P<over>\d{{1,15}})\}}\{{(?P<under>\d{{1,15}})\}}"
    rf"|(?:(?P<whole>\d{{1,9}})[ -])?(?P<top>\d{{1,15}})\s?/\s?(?P<bottom>\d{{1,15}})(?![\d/])"
    rf"|(?P<mixed>\d{{1,9}})?\s?(?P<vulgar>[{_VULGAR}])"
    rf"|(?P<digits>{_DIGITS})"
    r"(?:[eE](?P<exponent>[-+]?\d{1,3})(?!\w)|\s?(?:[x×*·]|\\times"
    r"|\\cdot)\s?10\s?(?:\^\s?\{?(?P<power>[-+]?\d{1,3})\}?"
    r"|(?P<raised>[⁻⁺]?[⁰¹²³⁴-⁹]{1,3}))|\s?\^\s?\{?(?P<to_the>-?\d{1,3})\}?|(?P<super>[⁰¹²³⁴-⁹]{1,2}))?"
    rf"(?:\s{{1,2}}and\s(?P<plus>{'|'.join(_PLUS)})\b)?)"
    rf"(?P<scale>\s?(?:{_SCALE})(?![a-z])|(?:{_SHORT_SCALES}|(?(money)(?:b|m)|(?!)))(?![\w])|\s(?:bn|mn|tn"
    rf"|(?-i:M))(?![\w]))?"
    r"(?P<percent>\s?(?:\\?%|percent\b|per cent\b|pct\b))?",
    re.IGNORECASE,
)
_PERCENT = re.compile(r"\s?(?:\\?%|percent\b|per cent\b|pct\b)", re.IGNORECASE)


def _face(match: re.Match[str]) -> float | None:
    value = _magnitude(match)
    if value is None:
        return None
    if match["plus"]:
        value += _PLUS[match["plus"].lower()]
    scale = _SCALES[match["scale"].strip().lower()] if match["scale"] else 1
    is_negative = (match["sign"] or "").strip().lower() in _MINUS or match["late_sign"]
    return (-value if is_negative else value) * scale


def _magnitude(match: re.Match[str]) -> float | None:
    if match["vulgar"]:
        return float(match["mixed"] or 0) + unicodedata.numeric(match["vulgar"])
    top, bottom = match["over"] or match["top"], match["under"] or match["bottom"]
    if top and bottom:
        return float(match["whole"] or 0) + int(top) / int(bottom) if int(bottom) else None
    raised = (match["raised"] or "").translate(_SUPERSCRIPTS)
    exponent = int(match["exponent"] or match["power"] or raised or 0)
    value = float(f"{_plain_digits(match['digits'])}e{exponent}")
    if power := match["to_the"] or (match["super"] or "").translate(_SUPERSCRIPTS):
        return _raise(value, int(power))
    return value


def _raise(value: float, exponent: int) -> float | None:
    try:
        return float(value**exponent)
    except (OverflowError, ZeroDivisionError):
        return None


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


# -- Words

_UNITS = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_WORDS: dict[str, int] = {word: value for value, word in enumerate(_UNITS)}
_WORDS |= {word: 10 * value for value, word in enumerate(_TENS, start=2)} | {"fourty": 40}
_BIG = {
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
}
_PARTS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
          "eighth": 8, "ninth": 9, "tenth": 10, "hundredth": 100, "thousandth": 1000}  # fmt: skip
_PARTS |= {f"{word}s": value for word, value in _PARTS.items() if word not in ("half", "halves")}
_LINKS = frozenset({"a", "an", "and", "point", "of"})
_ENGLISH = frozenset({*_WORDS, *_BIG, *_PARTS, "hundred", "dozen", "single", "minus", "negative", *_LINKS})
_WORD = re.compile(r"[^\W\d_]+")
_GAP = frozenset({" ", "-", "  "})
_NOT_A_COUNT = re.compile(
    r"\b(?:this|that|the|which|no|each|every|any|some|another|other|the only)\s+$", re.IGNORECASE
)


def _find_words(text: str, start: int, end: int, *, is_whole: bool) -> Iterator[Number]:
    """Numbers written in words: maximal runs of number words, each of which may hold several numbers."""
    run: list[re.Match[str]] = []
    for word in _WORD.finditer(text, start, end):
        if word.group().lower() in _ENGLISH:
            if run and (text[run[-1].end() : word.start()] not in _GAP or len(run) >= MAX_WORDS):
                yield from _read_run(text, run, end, is_whole=is_whole)
                run = []
            run.append(word)
            continue
        if run:
            yield from _read_run(text, run, end, is_whole=is_whole)
            run = []
    if run:
        yield from _read_run(text, run, end, is_whole=is_whole)


def _read_run(text: str, run: list[re.Match[str]], end: int, *, is_whole: bool) -> Iterator[Number]:
    words = [word.group().lower() for word in run]
    place = 0
    while place < len(words):
        if words[place] == "point" and is_whole and place == 0 and (digits := _read_decimals(words, 1)):
            value = float(f"0.{digits[0]}")
            yield Number(value, value, (run[0].start(), run[digits[1] - 1].end()))
            place = digits[1]
            continue
        if words[place] in _LINKS and words[place] not in ("a", "an"):
            place += 1
            continue
        spelled = _read_spelled(words, place)
        if spelled is None:
            place += 1
            continue
        value, stop, is_sure = spelled
        first, last = run[place].start(), run[stop - 1].end()
        place = stop
        if text[last : last + 1] in ("-", "'") and text[last + 1 : last + 2].isalpha():
            continue  # "one-way", "one's"
        if not math.isfinite(value) or not (is_sure or is_whole):
            continue
        if words[stop - 1] == "one" and value == 1 and _is_pronoun(text, first, last):
            continue
        if percent := _PERCENT.match(text, last, end):
            yield Number(value / 100, value, (first, percent.end()))
        else:
            yield Number(value, value, (first, last))


def _is_pronoun(text: str, first: int, last: int) -> bool:
    before, after = text[max(0, first - 12) : first], text[last : last + 7].lower()
    return _NOT_A_COUNT.search(before) is not None or after.startswith(
        (" of ", " is ", " was ", " has ", " that ", " which")
    )


def _read_spelled(words: list[str], place: int) -> tuple[float, int, bool] | None:
    """The number that begins at `place`: its value, where it ends, and whether it surely is one."""
    sign = -1 if words[place] in ("minus", "negative") else 1
    place += sign < 0
    whole = _read_whole(words, place)
    if whole is None:
        part = _read_part(words, place, 1)
        return None if part is None else (sign * part[0], part[1], part[2])
    value, place = whole
    if words[place : place + 1] == ["point"] and (digits := _read_decimals(words, place + 1)):
        text, place = digits
        value = float(f"{value:.0f}.{text}")
        if place < len(words) and words[place] in _BIG:
            value, place = value * _BIG[words[place]], place + 1
    elif words[place : place + 1] == ["and"] and (part := _read_part(words, place + 1, 1, with_scale=False)):
        value, place = value + part[0], part[1]
        if place < len(words) and words[place] in _BIG:
            value, place = value * _BIG[words[place]], place + 1
    elif words[place : place + 1] == ["and"] and (top := _read_whole(words, place + 1)):
        part = _read_part(words, top[1], top[0])
        if part and part[0] < 1:
            value, place = value + part[0], part[1]
    elif part := _read_part(words, place, value):
        value, place = part[0], part[1]
    elif place < len(words) and words[place] in _PARTS:
        return math.nan, place + 1, False  # an ordinal: twenty-fifth
    return sign * value, place, True


def _read_whole(words: list[str], place: int) -> tuple[float, int] | None:
    """A whole number: "one hundred and five", "two million", "nineteen ninety-eight", "a dozen"."""
    total, current = 0, None
    if words[place : place + 1] in (["a"], ["an"]):
        following = words[place + 1 : place + 2]
        if following == ["single"]:
            return 1.0, place + 2
        if following and (following[0] in _BIG or following[0] in ("hundred", "dozen")):
            current, place = 1, place + 1
        else:
            return None
    while place < len(words):
        word = words[place]
        if word in _WORDS:
            value = _WORDS[word]
            if current is None or (current == 0 and total):
                current = value
            elif (current % 100 == 0 and current > 0) or (
                current % 10 == 0 and current % 100 >= 20 and 0 < value < 10
            ):
                current += value
            elif 10 <= current < 100 and value >= 10 and not total:
                current = current * 100 + value  # nineteen ninety-eight
            else:
                break
        elif word == "hundred" and current and current < 100:
            current *= 100
        elif word in _BIG and not current and total and words[place - 1] in _BIG:
            total *= _BIG[word]  # a thousand million
        elif word in _BIG and current:
            total, current = total + current * _BIG[word], 0
        elif word == "dozen" and current:
            total, current = total + current * 12, 0
            place += 1
            break
        elif (
            word == "and"
            and words[place - 1] in ("hundred", *_BIG)
            and _WORDS.keys() & words[place + 1 : place + 2]
        ):
            pass  # one hundred and five
        else:
            break
        place += 1
    if current is None:
        return None
    return float(total + current), place


def _read_part(
    words: list[str], place: int, top: float, *, with_scale: bool = True
) -> tuple[float, int, bool] | None:
    """A fraction: "half", "a third", and the "quarters" of "three quarters"."""
    has_article = words[place : place + 1] in (["a"], ["an"])
    place += has_article
    if place >= len(words) or words[place] not in _PARTS:
        return None
    word, value = words[place], top / _PARTS[words[place]]
    is_plural = word.endswith("s")
    if top != 1 and not is_plural:
        return None  # "twenty fifth" is an ordinal
    place += 1
    rest = words[place:] if with_scale else []
    if word == "half" and rest[:1] == ["a"] and rest[1:2] and (rest[1] in _BIG or rest[1] == "dozen"):
        return value * (_BIG.get(rest[1]) or 12), place + 2, True  # half a million
    if rest[:1] and rest[0] in _BIG:
        return value * _BIG[rest[0]], place + 1, True
    if word == "half" and rest[:1] in (["a"], ["an"]):
        return value, place + 1, True  # half an hour
    return value, place, top != 1


def _read_decimals(words: list[str], place: int) -> tuple[str, int] | None:
    digits = ""
    while place < len(words) and words[place] in _WORDS and (_WORDS[words[place]] < 10 or not digits):
        digits += str(_WORDS[words[place]])
        place += 1
    return (digits, place) if digits else None


# -- Words of other languages

_ARTICLES = frozenset(
    {"un", "une", "ein", "eine", "einen", "una", "um", "uma", "uno", "bir", "एक", "một", "satu"}
)
_OTHER_WORDS = frozenset(
    {"năm", "không", "on", "null"}
)  # year, not, on, null: numbers only where they stand alone
_ALSO_ENGLISH = frozenset(
    [
        "once",
        "on",
        "six",
        "due",
        "elf",
        "null",
        "sei",
        "ba",
        "hai",
        "un",
        "um",
        "uma",
        "una",
        "bir",
        "on",
        "dos",
        "dua",
        "lima",
    ]
)
_ENGLISH_WORDS = frozenset({"once", "on", "six"})
_MAX_FOREIGN_CHARS = 400  # a longer text states its number in digits, or not at all


def _find_foreign(text: str, start: int, end: int, *, is_whole: bool) -> Iterator[Number]:
    """Number words below 100 in the reply's language; one that is also an article only on its own.

    A word beside another number word that it does not form a number with is a part of a larger one
    ("cent vingt", "doscientos veinte"), which is not read.
    """
    lower = text[start:end].lower()
    if end - start > _MAX_FOREIGN_CHARS or len(lower) != end - start:
        return
    name = find_language(lower).name
    words = [found.span() for found in _FOREIGN_WORD.finditer(lower)]
    if name == "English" and len(words) > _MAX_NUMBER_WORDS:
        return
    place = 0
    while place < len(words):
        n_words = 1
        for stop in range(min(len(words), place + _MAX_NUMBER_WORDS), place, -1):
            first, last = words[place][0], words[stop - 1][1]
            said = " ".join(lower[first:last].replace("-", " ").split())
            is_only = (is_whole and (len(words) <= 2 or stop - place == len(words))) or (
                name == "English"
                and (len(words) <= 3 or stop - place == len(words))
                and said not in _ALSO_ENGLISH
            )
            value = _get_foreign(said, name, is_only=is_only)
            if value is not None:
                n_words = stop - place
                if not _is_in_larger(lower, words, place, stop, "" if is_only else name):
                    yield Number(float(value), float(value), (start + first, start + last))
                break
        place += n_words


def _is_in_larger(lower: str, words: list[tuple[int, int]], place: int, stop: int, language: str) -> bool:
    """Whether a number word stands right beside another one, or beside "and" and another one."""
    parts = _number_parts()
    for step, near in ((-1, place), (1, stop - 1)):
        for _ in range(2):
            other = near + step
            if not 0 <= other < len(words):
                break
            low, high = sorted((words[near], words[other]))
            said = lower[slice(*words[other])]
            if lower[low[1] : high[0]] not in _GAP:
                break
            if (language, said) in parts and said not in _ARTICLES and said not in _OTHER_WORDS:
                return True
            if said not in _AND:
                break
            near = other
    return False


_FOREIGN_WORD = re.compile(r"(?:[^\W\d_]|[\u0900-\u0963\u064b-\u0652])+")
_MAX_NUMBER_WORDS = 4  # quatre-vingt-dix-sept
_AND = frozenset({"et", "y", "e", "und"})
_KOREAN_ENDING = re.compile(r"(?:입니다|이에요|예요|개|마리|명|대|이다|이요|요)$")


def _get_foreign(word: str, language: str, *, is_only: bool) -> int | None:
    by_language, anywhere = _foreign_words()
    found = by_language.get((language, word))
    if is_only:
        return found if found is not None else anywhere.get(word)
    if found is None and language == "Korean":
        found = by_language.get((language, _KOREAN_ENDING.sub("", word)))
    return None if word in _ARTICLES or word in _OTHER_WORDS else found


@lru_cache(maxsize=1)
def _foreign_words() -> tuple[dict[tuple[str, str], int], dict[str, int]]:
    """The number words by language, and those that mean one number in all languages that have them."""
    by_language = {
        (language.name, word): value
        for language in LANGUAGES.values()
        for word, value in spell_numbers(language).items()
    }
    values: dict[str, set[int]] = {}
    for (_, word), value in by_language.items():
        values.setdefault(word, set()).add(value)
    anywhere = {word: found.pop() for word, found in values.items() if len(found) == 1}
    return by_language, {word: value for word, value in anywhere.items() if word not in _ENGLISH_WORDS}


def spell_numbers(language: Language) -> dict[str, int]:
    """The words for 0 to 99 of a language, hyphens as spaces, as far as the table has them.

    >>> words = spell_numbers(LANGUAGES["fr"])
    >>> words["vingt et un"], words["soixante quinze"], words["quatre vingt dix sept"]
    (21, 75, 97)
    """
    spelled = {
        word.replace("-", " "): value
        for value, words in enumerate(language.numbers)
        for word in words.split("/")
    }
    special = {word: int(value) for word, _, value in (entry.partition("=") for entry in language.last_units)}
    units = {word: value for word, value in (spelled | special).items() if 0 < value < 20}
    for place, words in enumerate(language.tens):
        for ten in words.replace("-", " ").split("/"):
            value = 20 + 10 * place
            spelled.setdefault(ten, value)
            counts_on = str(value) in language.counts_on
            for unit, n in units.items():
                if n < 10 or counts_on:
                    for pattern in language.tens_and:
                        spelled.setdefault(pattern.format(ten=ten, unit=unit), value + n)
    return spelled | {word: value for word, value in special.items() if value >= 20}


@lru_cache(maxsize=1)
def _number_parts() -> frozenset[tuple[str, str]]:
    """Every word that may be a part of a number, with its language and with "" for any."""
    return frozenset(
        (name, word)
        for language in LANGUAGES.values()
        for said in (*spell_numbers(language), *language.scales)
        for word in said.split()
        for name in ("", language.name)
        if word not in _AND
    )


# -- Chinese and Japanese numerals

_CHINESE = {char: value for value, char in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "两": 2,
    "兩": 2,
    "壹": 1,
}
_STEPS = {"十": 10, "百": 100, "千": 1000}
_GROUPS = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_NUMERAL = "零〇一二两兩三四五六七八九十百千万萬亿億"
_CHINESE_NUMBER = re.compile(
    rf"(?P<sign>负)?(?:(?P<cent>百分之|千分之)(?P<rate>[{_NUMERAL}\d点.]{{1,16}})"
    rf"|(?:(?P<whole>[{_NUMERAL}]{{1,8}})又)?(?P<under>[{_NUMERAL}\d]{{1,8}})分之(?P<over>[{_NUMERAL}\d]{{1,8}})"
    rf"|(?P<only_half>一?半)(?![{_NUMERAL}个])"
    rf"|(?P<number>(?:\d{{1,12}}(?:\.\d{{1,9}})?)?[{_NUMERAL}]+(?:\d{{1,8}}[{_NUMERAL}]+)*\d{{0,8}}(?:点[{_NUMERAL}]+)?)"
    r"(?P<half>(?:[个斤米里年]|小时)半(?![个数分]))?)"
)
# After these, a numeral counts something; 一 is left out, because 一个 is the article.
_MEASURES = frozenset(
    "个個只隻条條匹辆輛张張座名位种種本把棵朵头頭台架艘颗顆杯瓶块塊片双雙对對件家所间間部支根人次岁歲年米公千克斤吨元度点點分秒小天周月倍"
    "％%层層页頁枚頂顶盏株粒串袋箱盒碗盘份套门節节级級羽冊つ円匹枚軒足"
)
_BEFORE_COUNT = frozenset('是有共为為约約到了于於等得計计:,.，。、 ：(（"“=')
_SENTENCE_MARKS = frozenset(' .,;:!?。，、；：！？)）"”\n*')


def _find_chinese(text: str, start: int, end: int, *, is_whole: bool) -> Iterator[Number]:
    for match in _CHINESE_NUMBER.finditer(text, start, end):
        value = _read_chinese(match)
        if value is None:
            continue
        first, last = match.span()
        if is_whole or _is_count(text, match, start, end):
            if match["cent"] == "百分之":
                yield Number(value, value * 100, (first, last))
            else:
                percent = _PERCENT.match(text, last, end)
                scale = 100 if percent else 1
                yield Number(value / scale, value, (first, percent.end() if percent else last))


def _is_count(text: str, match: re.Match[str], start: int, end: int) -> bool:
    """Whether numerals in a sentence count something: not those of 第一, 一些, 统一 or 四川."""
    first, last = match.span()
    before = text[first - 1] if first > start else ""
    after = text[last] if last < end else ""
    if before == "第":
        return False
    if match["cent"] or match["under"] or any(char.isdecimal() for char in match.group()):
        return True
    if match["only_half"]:
        return not after or after in _SENTENCE_MARKS
    is_article = match.group() in ("一", "十", "千", "万", "百", "亿")
    is_before = not before or before in _BEFORE_COUNT
    if after in _MEASURES and after:
        return is_before or not is_article
    return is_before and (not after or after in _SENTENCE_MARKS)


def _read_chinese(match: re.Match[str]) -> float | None:
    sign = -1 if match["sign"] else 1
    if match["only_half"]:
        return 0.5
    if match["cent"]:
        rate = parse_chinese(match["rate"])
        return None if rate is None else sign * rate / (100 if match["cent"] == "百分之" else 1000)
    if match["under"]:
        whole = parse_chinese(match["whole"]) if match["whole"] else 0.0
        under, over = parse_chinese(match["under"]), parse_chinese(match["over"])
        return sign * (whole + over / under) if under and over is not None and whole is not None else None
    value = parse_chinese(match["number"])
    if value is None:
        return None
    half = 0.5 if match["half"] else 0.0
    return sign * (value + half)


def parse_chinese(numeral: str) -> float | None:
    """The value of a Chinese numeral, which may hold digits; None for anything else.

    >>> [parse_chinese(text) for text in ("五万", "一百零五", "3万5千", "二〇二三", "三点一四", "一万二")]
    [50000.0, 105.0, 35000.0, 2023.0, 3.14, 12000.0]
    """
    whole, point, decimals = numeral.replace(".", "点").partition("点")
    if point:
        digits = "".join(str(_CHINESE[char]) if char in _CHINESE else char for char in decimals)
        before = parse_chinese(whole)
        return float(f"{before:.0f}.{digits}") if before is not None and digits.isdecimal() else None
    if len(whole) > 1 and all(char in _CHINESE for char in whole):
        return float("".join(str(_CHINESE[char]) for char in whole))  # 二〇二三: digit by digit
    return _read_steps(whole)


def _read_steps(numeral: str) -> float | None:
    total, section, digits, last_step = 0.0, 0.0, "", 0
    for char in numeral:
        if char in _GROUPS:
            section += float(digits or 0)
            if section == 0 and total == 0:
                return None
            group = _GROUPS[char]
            total = (total + section) * group if group > total > 0 else total + section * group
            section, digits, last_step = 0.0, "", group
        elif char in _STEPS:
            section += float(digits or 1) * _STEPS[char]
            digits, last_step = "", _STEPS[char]
        elif char in _CHINESE or char.isdecimal():
            value = _CHINESE.get(char)
            if value == 0:
                last_step = 0
                continue
            if digits and value is not None:
                return None
            digits += str(value) if value is not None else char
        else:
            return None
    if digits:
        # 一万二 is 12,000: a lone last digit counts the next lower step.
        is_short = len(digits) == 1 and last_step >= 100 and not numeral[-1].isdecimal()
        section += float(digits) * (last_step // 10 if is_short else 1)
    return total + section
