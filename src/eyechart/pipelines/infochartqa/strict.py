"""Names on charts for the strict scorer: when two of them are the same, and when a sentence says one.

A slip of the pen is forgiven, another name is not. Names that differ by a letter or two are often two
(Niger and Nigeria, Ireland and Iceland, Male and Female), so similarity as a number says too little.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol, TypeVar

from eyechart.pipelines.infochartqa.score import DEFAULT_TYPE, EXACT, LEFT_OUT, VAGUE, get_question_type
from eyechart.registry import scorer
from eyechart.score.choice import read_choice
from eyechart.score.default import find_written_choices
from eyechart.score.number import (
    MAX_NUMBERS,
    Number,
    find_numbers,
    normalise_numerals,
    read_number,
    unwrap_number_span,
)
from eyechart.score.options import ARTICLE, ChoiceOptions, is_negated, is_part_of_more, prepare_options
from eyechart.score.reading import (
    Reading,
    find_answer_start,
    find_contained_answers,
    find_stated_answers,
    is_abstention,
    normalise_characters,
    read_json_answer,
    score_reading,
    unwrap,
)
from eyechart.score.text import list_accepted, read_polarity, read_text, read_yes_no
from eyechart.types import Reply, Sample, Score

_MIN_SLIP_CHARS = 5  # in a shorter word, another letter makes another word
_MAX_OTHER_WORDS = 3  # of a second name: "Japan and South Korea"
_FILLERS = frozenset({"a", "an", "the", "of", "in", "for", "and"})
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_SHORT_MONTHS = {month[:3]: month for month in _MONTHS} | {"sept": "september"}
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_SPACED_SIGN = re.compile(r"(?<=\d) (?=[+%])")
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*|[+%&$€£<>≥≤]")
_UNSPACED = re.compile(r"[\u2e80-\u9fff]")
_ASIDE = re.compile(
    r"\b(?:followed by|ahead of|compared (?:to|with)|unlike|versus|vs\.?)\s+(?:\w+\s+){0,2}$"
    r"|(?:, |\band |\bor )$"
)
_GOES_ON = re.compile(r",? (?:and|or) ")
_DEGREE = re.compile(r"\b(?:strongly|somewhat|slightly|very|extremely|fairly|partly|mostly)\s$")
_OR = re.compile(r"\bor (?:\w+ )?$")


def is_same_name(gold: str, said: str) -> bool:
    """Whether two short texts say the same: alike but for case, marks, a plural and a slip of the pen.

    >>> pairs = [("Korea", "korea."), ("Japan", "Japn"), ("Health care", "healthcare")]
    >>> [is_same_name(gold, said) for gold, said in pairs]
    [True, True, True]
    >>> pairs = [("Group 1", "Group 2"), ("Male", "Female"), ("Ireland", "Iceland")]
    >>> [is_same_name(gold, said) for gold, said in pairs]
    [False, False, False]
    """
    one, other = _words(gold), _words(said)
    if not all(any(word[0].isalnum() for word in words) for words in (one, other)):  # signs, or nothing
        return bool(_plain(gold)) and _plain(gold) == _plain(said)
    if "".join(one) == "".join(other):
        return True
    one, other = _content(one), _content(other)
    return len(one) == len(other) and all(map(_same_word, one, other))


def _words(text: str) -> list[str]:
    """Words, numbers and the signs that change a meaning, without accents."""
    plain = _plain(text)
    if not plain.isascii():
        plain = "".join(
            char for char in unicodedata.normalize("NFD", plain) if not unicodedata.combining(char)
        )
    return _WORD.findall(_APOSTROPHE.sub("", plain).replace("&", " and "))


def _plain(text: str) -> str:
    """No case, no wrapping, no article before it. The A of "Group A" is no article."""
    plain = " ".join(unicodedata.normalize("NFKC", normalise_characters(text)).casefold().split())
    plain = unwrap(plain) or plain
    return ARTICLE.sub("", plain, count=1) if ARTICLE.match(plain) else plain


def _content(words: list[str]) -> list[str]:
    """Without the words that carry no meaning; the last one does, as in "Vitamin A"."""
    kept = [word for word in words[:-1] if word not in _FILLERS]
    return [_SHORT_MONTHS.get(word, word) for word in (*kept, words[-1])]


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 3 or not (one.isalpha() and other.isalpha()) or one[0] != other[0]:
        return False
    if longer in (f"{shorter}s", f"{shorter}es") or (shorter[:-1] + "ies" == longer and shorter[-1] == "y"):
        return True
    return len(shorter) + 1 >= _MIN_SLIP_CHARS and _is_slip(shorter, longer)


def _is_slip(shorter: str, longer: str) -> bool:
    """One letter left out, two in the wrong order, or ``s`` for ``z``. Another letter is another word."""
    if len(shorter) == len(longer):
        places = [k for k, (a, b) in enumerate(zip(shorter, longer, strict=True)) if a != b]
        if len(places) == 1:
            return {shorter[places[0]], longer[places[0]]} == {"s", "z"}
        return [b - a for a, b in pairwise(places)] == [1] and (
            shorter[places[0]], shorter[places[1]]) == (longer[places[1]], longer[places[0]])  # fmt: skip
    first = next((k for k, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return len(longer) == len(shorter) + 1 and longer[first + 1 :] == shorter[first:]


def is_name_in(gold: str, said: str) -> bool:
    """Whether a text says the gold in whole words, and neither denies it nor names it beside another.

    >>> is_name_in("yes", "yesterday")
    False
    >>> is_name_in("Japan", "It is Japan, with 45%."), is_name_in("Japan", "It is not Japan.")
    (True, False)
    >>> is_name_in("Japan", "China, followed by Japan"), is_name_in("Japan", "China, Japan and Peru")
    (False, False)
    """
    wanted, text = _plain(gold), _SPACED_SIGN.sub("", _plain(said))
    if not wanted:
        return False
    found = list(re.finditer(rf"(?<![\w.,])(?<!\w-){re.escape(wanted)}(?!\w|[.,]\d|\s?%|-\w)", text))
    if not found and _UNSPACED.search(wanted):
        found = list(re.finditer(re.escape(wanted), text))
    return any(
        not is_negated(text, match.start())
        and not is_part_of_more(text, *match.span())
        and not _is_beside(text, *match.span())
        for match in found
    )


def _is_beside(text: str, start: int, end: int) -> bool:
    """Whether it stands there as one of several, or as what something else is compared with."""
    before, goes_on = text[max(0, start - 48) : start], _GOES_ON.match(text, end)
    if goes_on and not start and len(text[goes_on.end() :].split()) <= _MAX_OTHER_WORDS:
        return True
    if _OR.search(before) or _DEGREE.search(before) or (goes_on and goes_on.group().endswith("or ")):
        return True
    aside = _ASIDE.search(before)
    if aside is None:
        return False
    return goes_on is not None if aside.group() == ", " else True


# -- Which of several numbers in a reply is meant, by what the question asks. For the strict scorer.

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
_TOPIC = re.compile(r"[^\W_]{3,}")
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


def is_year_question(question: str) -> bool:
    """Whether years are what the question is after.

    >>> is_year_question("In which year was it highest?"), is_year_question("How much was it in 2020?")
    (True, False)
    >>> is_year_question("How many years did it take?"), is_year_question("What was last year's total?")
    (False, False)
    """
    return _YEAR_ASKED.search(question) is not None


def select_relevant(text: str, found: Sequence[A], question: str, named: Iterable[float]) -> Sequence[A]:
    """Those that can be the answer, in their order; at least one. `named` are the question's own numbers.

    Not the numbers of a list's lines, years that only say when, percentages where a count is asked, what
    stands in brackets, or what another thing's value is.
    """
    asks_year, asked = is_year_question(question), set(named)
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
    return set(_TOPIC.findall(text.lower())) - _COMMON


def _is_numbering(text: str, one: Placed) -> bool:
    begin, end = one.span
    before = _BEFORE_NUMBERING.search(text[max(0, begin - 12) : begin])
    return before is not None and _AFTER_NUMBERING.match(text, end) is not None


def _says_when(text: str, one: Placed) -> bool:
    begin, end = one.span
    return _OF_A_TIME.search(text[max(0, begin - 10) : begin]) is not None or text.startswith(":", end)


# -- Amounts of charts for the strict scorer: a number, its unit word, and which of several is meant.
#
# A unit is known in words, letters and Chinese (``5.2 million``, ``5.2M``, ``520万``, ``45%``, ``3 crore``).
# Where one side names a unit and the other none, either reading of it may be equal: instructions often ask to
# leave units out. Where both name one, the amounts themselves must be equal.

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
class ChartAmount:
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


def parse_amount(text: str) -> ChartAmount | None:
    """The amount that a short text is, whatever measure follows it; None for anything else.

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
    """The last range that a reply names, and where."""
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
    if scale is None and text.endswith("百分之", 0, first):
        scale = 0.01
    return ChartAmount(face, scale, (first, last))


def _factor(unit: str) -> float | None:
    word = unit.lower().removesuffix("s")
    return _TAKEN_SHORT.get(unit) or _WORDS.get(word) or _CHINESE.get(unit)


def read_amount(text: str, question: str) -> tuple[Reading, ChartAmount | None]:
    """The amount that a reply states; if it states none, the last one that can be the answer.

    Numbers that the question itself names, years that only say when, and the numbers of a list cannot.

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
    return replace(amount, falls=_FALLS.search(text[max(0, first - 32) : first]) is not None)


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
        tolerance = 1e-9
    if said.falls and gold.face < 0 < said.face:
        pairs = [(g, -r) for g, r in pairs]
    return any(abs(g - r) <= tolerance * abs(g) for g, r in pairs)


# -- Several option letters at once, for the strict scorer: "A and C", "A. Rain, C. Sun", ``["A", "C"]``.

LETTERS = "ABCDEFGH"
_MAX_CHARS = 600  # of a reply that is a list of options

_JOIN_LETTERS = r"(?:\s*(?:,|;|、|，|&|\+|/|\n|\band\b|和)\s*)+"
_ONE = r"[(\[]?[A-Ha-h][)\].]?(?![A-Za-z])"
_SEVERAL = rf"{_ONE}(?:(?:{_JOIN_LETTERS}|\s+){_ONE})+"
_SAID = re.compile(
    rf"(?:both\s)?(?:(?:the\s)?(?:correct\s)?(?:options?|answers?|choices?|letters?)(?:\s(?:is|are))?)?[\s:]*({_SEVERAL})"
    r"(?:\s(?:is|are)\s(?:the\s)?(?:correct|right)(?:\s\w+)?)?[.!]?",
    re.IGNORECASE,
)
_CUE = re.compile(rf"\b(?:answers|options|choices|letters)(?:\s(?:is|are))?[\s:]+({_SEVERAL})", re.IGNORECASE)
_LETTER = re.compile(r"(?<![A-Za-z])[A-Ha-h](?![A-Za-z])")
_SEPARATOR = re.compile(r"[,;\n、，；]|\band\b")
_REASON = re.compile(r",?\s(?:because|since|as)\b.*$", re.IGNORECASE | re.DOTALL)
_LABELLED = re.compile(r"[(\[]?([A-Ha-h])[)\].:]+\s*(.*)", re.DOTALL)
_MARKS = str.maketrans("", "", "*`\"'_")


def read_letters(text: str, choices: Mapping[str, str]) -> frozenset[str]:
    """The letters of a reply that names several options; empty where it names one, or none.

    >>> sorted(read_letters("A. Rain, C. Sun", {"A": "Rain", "B": "Snow", "C": "Sun"}))
    ['A', 'C']
    >>> [sorted(read_letters(said, {})) for said in ("The correct answers are A and C.", "AC", "B")]
    [['A', 'C'], ['A', 'C'], []]
    """
    value = read_json_answer(text, find_answer_start(text))
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    stated = normalise_characters(read_text(text).answer or "")[:_MAX_CHARS].translate(_MARKS)
    stated = _REASON.sub("", stated)
    plain = unwrap(stated)
    if 1 < len(plain) <= 4 and set(plain) <= set(LETTERS) and len(set(plain)) == len(plain):
        return frozenset(plain)
    if said := _SAID.fullmatch(plain) or _CUE.search(stated):
        return frozenset(letter.upper() for letter in _LETTER.findall(re.sub(r"\band\b", ",", said[1])))
    return _named(stated, prepare_options(choices))


def _named(text: str, options: ChoiceOptions) -> frozenset[str]:
    """Options by their letters and words, where every part of the reply is one."""
    parts = [part for part in map(str.strip, _SEPARATOR.split(text)) if part]
    letters = [_letter(part, options) for part in parts]
    is_list = len(parts) > 1 and None not in letters and len(set(letters)) == len(letters)
    return frozenset(letter for letter in letters if letter) if is_list else frozenset()


def _letter(part: str, options: ChoiceOptions) -> str | None:
    if found := _LABELLED.fullmatch(part):
        letter = found[1].upper()
        return letter if not unwrap(found[2]) or letter in options.all_named(found[2]) else None
    return part.upper() if part.upper() in tuple(LETTERS) else options.named(part)


# -- Lists for the strict scorer: taken apart as people write them, compared element by element.

MAX_ELEMENTS = 100  # a longer list is no answer to a chart

_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.)])\s+")
_ELEMENT_SEPARATOR = re.compile(
    r"\n|;|；|、|，|<|>|→|≥|≤|\||\s/\s|,(?!\d{3}(?!\d))|(?<!\d),|\s(?=\(?\d{1,2}[.)]\s)"
)
# A run of blanks is looked at from its first one only: from each of them it would take quadratic time.
_AND = re.compile(r"(?<!\s)\s*(?:\band\b|&|和)\s*", re.IGNORECASE)
_TAIL = re.compile(r"(?<!\s)\s*(?:[:(=]|-\s|–\s).*$", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<=\w[\w%)])\.\s+(?=[A-Z])")
_ELEMENT_REASON = re.compile(
    r"(?:,|(?<!\s))\s+(?:because|since|as (?:they|both|it|these|all)|which)\b", re.IGNORECASE
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|exceeds?|includes?|including|(?:all|both) \w+)\b:?\s*", re.IGNORECASE
)
_DENIES = re.compile(r"\b(?:no|not|never|neither|nor|but|except|while|whereas)\b|n't\b", re.IGNORECASE)
_LEAD = re.compile(
    r"^(?:(?:first|second|third|fourth|fifth|then|next|finally|lastly|last|followed by|only|just|in|i think"
    r"|the years?)\b[,:]?\s+)+",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"\b(?:so|therefore|thus|hence|order|ranking|sequence|list)\b[^:\n]{0,60}:", re.IGNORECASE
)


def split_gold(gold: str) -> list[str]:
    """The elements of a gold.

    >>> split_gold("Japan, 1,234 km; Bosnia and Herzegovina")
    ['Japan', '1,234 km', 'Bosnia and Herzegovina']
    """
    return _parts(gold)


def split_reply(text: str) -> list[list[str]]:
    r"""The ways in which a reply can be taken apart; the first is the plainest.

    An "and" may separate or belong to a name; a sentence around the list may begin or end it.

    >>> split_reply("The answer is: Japan, Italy and China.")
    [['Japan', 'Italy and China'], ['Japan', 'Italy', 'China']]
    >>> split_reply("Here you are:\n1. Japan\n2. China\n\nHope it helps")[0]
    ['Japan', 'China']
    >>> ["Japan", "China"] in split_reply("The countries above 50% are Japan, China.")
    True
    """
    value = read_json_answer(text, find_answer_start(text))
    if isinstance(value, list):
        return [[element for item in value if (element := unwrap(str(item)))]]
    block = _block(text)
    ways: list[list[str]] = []
    for one in dict.fromkeys([block, *_without_sentence(block)]):
        parts = _parts(one)
        named = [_LEAD.sub("", part) for part in parts]
        for way in (parts, named, *_before_verbs(named)):
            ways += [way, *_at_and(way)]
    return [list(way) for way in dict.fromkeys(map(tuple, ways))]


def _without_sentence(block: str) -> list[str]:
    """The block without what follows the list, and what a sentence says before or after its verb."""
    paragraph = block.strip().partition("\n\n")[0]
    line = paragraph.partition("\n")[0]
    if len(_parts(line)) > 1 and not _BULLET.match(line):
        paragraph = line
    sentence = _SENTENCE_END.split(paragraph, maxsplit=1)[0]
    plain = _ELEMENT_REASON.split(sentence, maxsplit=1)[0]
    found = [paragraph, sentence, plain]
    verbs = list(_VERB.finditer(plain))
    if verbs and "\n" not in plain and not _DENIES.search(plain):
        found += [plain[verbs[-1].end() :], plain[: verbs[0].start()]]
    return [one for one in found if one.strip()]


def _before_verbs(parts: list[str]) -> list[list[str]]:
    """What each element is about: the rent of "Rent is highest"."""
    cut = [unwrap(part[: verb.start()]) if (verb := _VERB.search(part)) else part for part in parts]
    return [cut] if cut != parts and all(cut) and not any(map(_DENIES.search, parts)) else []


def _at_and(parts: list[str]) -> list[list[str]]:
    """The last element taken apart at every "and", at the first, and at the last."""
    if not parts:
        return []
    places = list(_AND.finditer(parts[-1]))
    if not places:
        return []
    cuts = [_AND.split(parts[-1])]
    cuts += [[parts[-1][: place.start()], parts[-1][place.end() :]] for place in (places[0], places[-1])]
    return [[*parts[:-1], *filter(None, map(unwrap, cut))] for cut in cuts]


def _block(text: str) -> str:
    """The part of the reply that is the list."""
    plain = normalise_characters(text)
    begin = find_answer_start(plain)
    if held := find_contained_answers(plain, begin):
        return held[-1].text(plain)
    said = find_stated_answers(plain, begin)
    block = plain[said[-1].start :] if said else plain[begin:]
    lines = [line for line in block.splitlines() if line.strip()]
    bullets = [number for number, line in enumerate(lines) if _BULLET.match(line)]
    if len(bullets) > 1:
        listed = "\n".join(lines[number] for number in bullets)
        below = lines[max(bullets[-1] + 1, len(lines) - MAX_ELEMENTS) :]
        known = listed.lower()
        concluded = next((line for line in reversed(below) if _is_conclusion(line, known)), None)
        return _without_preface(concluded) if concluded is not None else listed
    if said or len(lines) == 1:
        return _without_preface(block) if len(lines) == 1 else block.replace("\r", "")
    lines = [line for line in lines if not line.rstrip(" *").endswith(":")]
    lists = [line for line in lines if len(_parts(line)) > 1]
    return _without_preface(lists[0] if len(lists) == 1 else "\n".join(lines))


def _is_conclusion(line: str, listed: str) -> bool:
    """Whether a line below a list of values, given in lower case, names the list that comes of them."""
    parts = _parts(line)
    if len(parts) < 2:
        return False
    return _CONCLUDES.search(line) is not None or all(part.lower() in listed for part in parts)


def _without_preface(line: str) -> str:
    before, colon, after = line.partition(":")
    is_preface = colon and ":" not in after and len(_parts(before)) == 1 and len(_parts(after)) > 1
    return after if is_preface else line


def _parts(text: str) -> list[str]:
    parts = _ELEMENT_SEPARATOR.split(text)[: MAX_ELEMENTS + 1]
    without_and = (re.sub(r"^\s*and\s+", "", _BULLET.sub("", part)) for part in parts)
    return [element for part in without_and if (element := unwrap(part))]


def is_same_element(gold: str, said: str) -> bool:
    """Whether two elements of lists agree; a value behind the name ("Japan: 45") is no part of it."""
    one, other = parse_amount(gold), parse_amount(said)
    if one and other:
        return is_equal_amount(one, other, EXACT)
    return is_same_name(gold, said) or (not _TAIL.search(gold) and is_same_name(gold, _TAIL.sub("", said)))


def is_same_in_order(gold: Sequence[str], said: Sequence[str]) -> bool:
    """Element by element, and as many."""
    return len(gold) == len(said) and all(map(is_same_element, gold, said))


def is_same_in_any_order(gold: Sequence[str], said: Sequence[str]) -> bool:
    """Whether the elements can be paired off, each with one that agrees.

    >>> is_same_in_any_order(["A", "B"], ["B", "A"]), is_same_in_any_order(["A", "A"], ["A", "B"])
    (True, False)
    """
    if not gold or len(gold) != len(said) or len(gold) > MAX_ELEMENTS:
        return False
    return _can_pair(len(gold), lambda i, j: is_same_element(gold[i], said[j]))


def _can_pair(n: int, fits: Callable[[int, int], bool]) -> bool:
    """A perfect matching, by augmenting paths."""
    edges = [[j for j in range(n) if fits(i, j)] for i in range(n)]
    partner: dict[int, int] = {}

    def finds_one(i: int, tried: set[int]) -> bool:
        for j in edges[i]:
            if j not in tried:
                tried.add(j)
                if j not in partner or finds_one(partner[j], tried):
                    partner[j] = i
                    return True
        return False

    return all(finds_one(i, set()) for i in range(n))


# -- InfoChartQA scored without the quirks of the authors' checker: `infochartqa-strict`.
#
# What differs from `infochartqa`, by the checklist of quirks:
#
# Q1  ``Error!`` is an unreadable reply and counts.  Q2  A null reply is none, not the word None.
# Q3  The stated number counts, else the last one that the question can mean.
# Q4  42 is not 42,000: units must agree where both sides name one.
# Q5  Whole numbers and years are exact: 2018 is not 2020.  Q6  Tolerance is relative to the gold alone.
# Q7, Q8  Numbers are read as people write them, with whatever marks stand behind.
# Q9  Ranges are equal when both ends are.  Q10  A crore is 1e7; unit words are known in any spelling, and in
#     Chinese.
# Q11, Q12  A text is found as whole words, not denied; no substring, no empty gold, and no other name that
#     merely looks alike.
# Q13 Unordered lists are paired off perfectly; empty elements do not exist.
# Q14 Ordered lists have equal lengths; nothing is cut off or glued, repeats may stand.
# Q15 Type 30 is an ordered list, or one of several.  Q16  Letters are read by our own reader of choices, in
#     either case, several at once; nothing is random.  Q17  A type may be written as text.

Judged = tuple[Reading, bool]
Rule = Callable[[str, str, Sample], Judged]

_GOLD_LETTERS = re.compile(
    r"[\s(\[]*[A-H](?:[\s,;.)\](&]|\band\b)*(?:[A-H](?:[\s,;.)\](&]|\band\b)*)*", re.IGNORECASE
)
_IS_TRUE = re.compile(
    r"\b(?:it|that|this|statement|claim)(?: is|'s)\s+(not\s+)?(true|false|correct|incorrect)\b", re.IGNORECASE
)
_NONE = ("none", "nil", "no one", "nobody", "没有", "无")
_LONG_TEXT_WORDS = 80  # a text this long mentions much; it states nothing


@scorer("infochartqa-strict", version="5")
def score_strict(reply: Reply, sample: Sample) -> Score:
    """InfoChartQA's rule for the question's type, as it was meant."""
    golds = tuple(gold for gold in sample.golds if gold.strip())
    sample = replace(sample, golds=golds)
    if reply.text.strip() == LEFT_OUT or reply.evidence.get("response", "") is None:
        return score_reading(reply, sample, Reading(None, "strict:no-reply"), 0.0)
    rule = RULES.get(_type_id(sample.meta), _amount_or_text)
    reading = Reading(None, "strict:no-gold")
    for gold in golds:
        reading, is_right = rule(gold, reply.text, sample)
        if is_right:
            return score_reading(reply, sample, reading, 1.0)
    return score_reading(reply, sample, reading, 0.0)


def _type_id(meta: Mapping[str, object]) -> object:
    value = get_question_type(meta)
    if isinstance(value, str):
        return int(value) if value.strip().lstrip("+-").isdecimal() else DEFAULT_TYPE
    return value if isinstance(value, int | float) else DEFAULT_TYPE


def _exact(gold: str, text: str, sample: Sample) -> Judged:
    return _amount_or_range(gold, text, sample, EXACT)


def _vague(gold: str, text: str, sample: Sample) -> Judged:
    return _amount_or_range(gold, text, sample, VAGUE)


def _amount_or_range(gold: str, text: str, sample: Sample, tolerance: float) -> Judged:
    wanted = parse_amount(gold)
    if wanted is not None:
        reading, said = read_amount(text, sample.question)
        if wanted.face == 0 and unwrap(normalise_characters(text)).lower() in _NONE:
            return Reading("0", "number:none"), True
        if wanted.is_year and is_year_question(sample.question):
            tolerance = EXACT
        return reading, said is not None and is_equal_amount(wanted, said, tolerance)
    if ends := parse_range(gold):
        found = find_last_range(text)
        if found is None:
            return read_amount(text, sample.question)[0], False
        (low, high), span = found
        is_right = is_equal_amount(ends[0], low, tolerance) and is_equal_amount(ends[1], high, tolerance)
        return Reading(f"{low.value:.15g} to {high.value:.15g}", "range", span), is_right
    return _text(gold, text, sample)


def _amount_or_text(gold: str, text: str, sample: Sample) -> Judged:
    return _exact(gold, text, sample)


def _text(gold: str, text: str, sample: Sample) -> Judged:
    if wanted := read_polarity(gold):
        reading = read_yes_no(text, with_truth_words=True)
        if reading.answer is None and len(found := list(_IS_TRUE.finditer(text))) == 1:
            is_true = (found[0][2].lower() in ("true", "correct")) != bool(found[0][1])
            reading = Reading("Yes" if is_true else "No", "yes-no:is-true", found[0].span())
        return reading, reading.answer == wanted
    reading = read_text(text)
    answer = reading.answer
    if answer is None or (reading.rule == "text:whole" and len(answer.split()) > _LONG_TEXT_WORDS):
        return Reading(None, "text:no-statement" if answer else reading.rule), False
    return reading, is_same_name(gold, answer) or is_name_in(gold, answer)


def _unordered(gold: str, text: str, sample: Sample) -> Judged:
    return _list(split_gold(gold), text, is_same_in_any_order)


def _ordered(gold: str, text: str, sample: Sample) -> Judged:
    return _list(split_gold(gold), text, is_same_in_order)


def _ordered_alternatives(gold: str, text: str, sample: Sample) -> Judged:
    judged: Judged = (Reading(None, "list:empty"), False)
    for one in list_accepted(gold):
        judged = _ordered(one, text, sample)
        if judged[1]:
            break
    return judged


def _list(gold: list[str], text: str, same: Callable[[list[str], list[str]], bool]) -> Judged:
    readings = split_reply(text)
    said = next((parts for parts in readings if same(gold, parts)), None)
    shown = ", ".join(said or readings[0])
    return Reading(shown or None, "list" if shown else "list:empty"), said is not None


def _choice(gold: str, text: str, sample: Sample) -> Judged:
    if not _GOLD_LETTERS.fullmatch(gold.strip()):
        return _text(gold, text, sample)
    wanted = frozenset(char for char in gold.upper().replace("AND", " ") if char in LETTERS)
    choices = _choices(sample, wanted)
    if letters := read_letters(text, choices):
        return Reading(",".join(sorted(letters)), "choice:letters"), letters == wanted
    reading = read_choice(text, choices)
    return reading, reading.letter is not None and wanted == {reading.letter}


def _choices(sample: Sample, wanted: frozenset[str]) -> Mapping[str, str]:
    written = sample.choices or find_written_choices(replace(sample, golds=tuple(wanted)))
    return written or dict.fromkeys(LETTERS[: max(4, *(LETTERS.index(letter) + 1 for letter in wanted))], "")


# The same groups as the official table; a number that is not in it is an amount or a text, by its gold.
RULES: Mapping[object, Rule] = {
    **dict.fromkeys((1, 2, 101, 102, 54, 72), _exact),
    **dict.fromkeys((10, 11, 12, 50, 51, 52, 110), _vague),
    **dict.fromkeys((13, 14, 15, 103, 113), _amount_or_text),
    **dict.fromkeys((40, 41, 42, 43, 44), _unordered),
    **dict.fromkeys((60, 61, 70, 80, 90), _amount_or_text),
    71: _ordered,
    30: _ordered_alternatives,
    **dict.fromkeys((202, 300, 1919810, 1919811, 1919812), _choice),
}
