"""Quantities: a number together with its unit, and when two of them are the same amount.

A unit is part of the value. Where both sides state one, the amounts must agree, converted where that is
exact or close to it (500 cm is 5 m, 68 °F is 20 °C; 5 m is not 5 km, $5 is not 5 %). A unit that only one
side states may be missing on the other; a multiplier may not (5M is neither 5 nor 5B). An abbreviation with
several meanings (``m``: metres or millions; ``pounds``: mass or money; ``degrees``) has them all, and the
other side decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from eyechart.score.context import Bound, read_bound
from eyechart.score.numerals import Number, find_numbers, normalise_numerals, unwrap_number_span
from eyechart.score.units import COUNTS, ORDINAL, UNITS, Unit
from eyechart.score.vocabulary import NOT_NOUNS
from eyechart.score.wording import simplify

TOLERANCE = 1e-9  # relative: 0.1 + 0.2 is 0.3, and no more
CONVERTED = 5e-3  # between systems, where people round: 10 lb is 4.54 kg
_REMEMBERED = 60  # characters of texts whose quantities are remembered: golds, and short replies
MAX_CHARS = 500  # of a text that is one quantity


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with the meanings of its unit (none: a bare number), its noun, and how it is bounded."""

    number: Number
    units: tuple[Unit, ...] = ()
    noun: str = ""  # what is counted, where that is not a unit: "apples"
    bound: Bound = ""
    span: tuple[int, int] = (0, 0)

    @property
    def value(self) -> float:
        return self.number.value


def is_same_quantity(said: Quantity, gold: Quantity, tolerance: float = TOLERANCE) -> bool:
    """Whether a reply's quantity is the gold.

    >>> same = lambda said, gold: is_same_quantity(parse_quantity(said), parse_quantity(gold))
    >>> same("500 cm", "5 m"), same("5 km", "5 m"), same("5", "5 m"), same("5 m", "5"), same("$5", "5%")
    (True, False, True, True, False)
    >>> same("5M", "5 million"), same("5M", "5B"), same("5m", "5 million"), same("5m", "5 metres")
    (True, False, True, True)
    """
    if said.bound != gold.bound:
        return False
    if not (said.units or gold.units or said.noun or gold.noun):  # what most numbers are
        return is_close(said.value, gold.value, tolerance)
    if said.units and gold.units:
        return any(
            _is_same_in(said, one, gold, other, tolerance) for one in said.units for other in gold.units
        )
    if ORDINAL in said.units or ORDINAL in gold.units:  # 3rd is not 3
        return False
    if (gold.units and said.noun) or (gold.noun and said.noun and not _share_word(gold.noun, said.noun)):
        return False  # 25 people are not 25 %, 3 cats are not 3 dogs
    if gold.noun and said.units and not any(unit.dimension in COUNTS for unit in said.units):
        return False
    faces = _list_faces(said, gold)
    return any(is_close(a, b, tolerance) for a, b in faces)


def is_close(a: float, b: float, tolerance: float = TOLERANCE) -> bool:
    """Whether `a` is `b` but for rounding. Whole numbers are exact, however large.

    >>> is_close(0.1 + 0.2, 0.3), is_close(999_999_999, 1_000_000_000), is_close(104, 100, 0.05)
    (True, False, True)
    """
    if tolerance <= TOLERANCE and float(a).is_integer() and float(b).is_integer():
        return a == b
    return abs(a - b) <= tolerance * abs(b)


def _list_faces(said: Quantity, gold: Quantity) -> Iterator[tuple[float, float]]:
    """The pairs of numbers to compare where at most one side has a unit."""
    one = [said.value * unit.factor for unit in said.units if unit.dimension in COUNTS] or [said.value]
    other = [gold.value * unit.factor for unit in gold.units if unit.dimension in COUNTS] or [gold.value]
    if any(unit.dimension not in COUNTS for unit in said.units):
        one.append(said.value)
    if any(unit.dimension not in COUNTS for unit in gold.units):
        other.append(gold.value)
    yield from ((a, b) for a in one for b in other)
    # A percent sign on one side only may be read either way: 50 % is 50 as well as 0.5.
    if (said.number.value != said.number.face) != (gold.number.value != gold.number.face):
        yield said.number.face, gold.number.face


def _is_same_in(said: Quantity, one: Unit, gold: Quantity, other: Unit, tolerance: float) -> bool:
    if one.dimension != other.dimension:
        return False
    a = said.value * one.factor + one.offset
    b = gold.value * other.factor + other.offset
    if one == other:
        return is_close(said.value, gold.value, tolerance)
    if is_close(a, b, max(tolerance, TOLERANCE)) or abs(a - b) <= TOLERANCE * abs(b):
        return True
    is_rounded = one.system != other.system and abs(a - b) <= max(CONVERTED * abs(b - other.offset), 0.0)
    return is_rounded and one.dimension != "money"


def _share_word(one: str, other: str) -> bool:
    return not set(simplify(one)).isdisjoint(simplify(other))


# -- Reading quantities

_MONEY_BEFORE = re.compile(
    r"(?:(?:\b(?:US|USD|CA?|CAD|AU?|AUD|HK|R|NZ|S) ?)?\$|[€£¥₹₽₩]|\b(?:USD|EUR|GBP|RMB|CNY|JPY|INR|CHF"
    r"|Rs\.?))\s?$",
    re.IGNORECASE,
)
_MONEY_INSIDE = re.compile(r"[$€£¥₹]|US\$|USD|EUR|RMB", re.IGNORECASE)
_MONEY_NAMES = {
    "us$": "$",
    "usd$": "$",
    "ca$": "c$",
    "cad$": "c$",
    "au$": "a$",
    "aud$": "a$",
    "nz$": "",
    "s$": "",
}
_UNIT_GAP = re.compile(r"(?:\s{1,2}|-|\\[,; ]|~)?(?:\\(?:text|mathrm|rm)\s?\{\s?)?")
_SIGN = re.compile(
    r"(?:°|\^\s?\{?\\circ\}?)(?:\s?\\?(?:text|mathrm)?\{?[CFcf](?![a-z])\}?)?|℃|℉|[°º]|ª|\\?%|[€£¥₹₽₩¢$]"
    r"|''|[\"'](?![A-Za-z])"
)
_UNIT_WORDS = re.compile(
    r"[A-Za-zµμΩÀ-ɏ\u0400-\u04ff\uac00-\ud7af]+\.?(?:[²³]"
    r"|\^?\{?[23](?![\d.])\}?)?(?:/[A-Za-z\u0400-\u04ff]+(?:[²³]|\^?\{?[23](?![\d.])\}?)?)?"
    r"(?:[ -][A-Za-z]+(?:[²³]|\^?\{?[23](?![\d.])\}?)?){0,3}"
)
_WORD_BREAK = re.compile(r"[ -]")
_INCH_AFTER = re.compile(r"\s*(?:$|[.,;:)x×*]|tall\b|long\b|wide\b|high\b|deep\b|thick\b|by\b|and\b)")
_NOUN = re.compile(r"\s?[a-z]+(?:[ -][a-z]+){0,2}")
_COMPOUND_GAP = re.compile(r",?\s{0,2}(?:and\s|&\s?)?")


def find_quantities(text: str, start: int, end: int, *, is_whole: bool = False) -> Iterator[Quantity]:
    """Every quantity in a part of a text that went through `normalise_numerals`; 5 ft 10 in is one.

    >>> text = "It is 5 ft 10 in, weighs 70 kg and costs $5 million."
    >>> [(found.value, found.units[0].dimension) for found in find_quantities(text, 0, len(text))]
    [(5.833333333333333, 'length'), (70.0, 'mass'), (5000000.0, 'usd')]
    """
    held: Quantity | None = None
    for number in find_numbers(text, start, end, is_whole=is_whole):
        found = _add_unit(text, number, start, end)
        if held is not None and (merged := _merge(text, held, found)):
            held = merged
            continue
        if held is not None:
            yield held
        held = found
    if held is not None:
        yield held


_AND_A_HALF = re.compile(r"\sand\sa\s(half|quarter)\b")


_LETTER_AFTER = re.compile(r"\s?([A-Z])(?![\w'])")  # an unknown unit, or a part of a code


def _merge(text: str, one: Quantity, other: Quantity) -> Quantity | None:
    """Two quantities as one, where the second continues the first in a smaller unit."""
    if not one.units or not other.units or not one.span[1] <= other.span[0] <= one.span[1] + 6:
        return None
    if _COMPOUND_GAP.fullmatch(text, one.span[1], other.span[0]) is None or other.value < 0:
        return None
    pairs = [
        (large, small)
        for large in one.units
        for small in other.units
        if large.dimension == small.dimension and small.factor < large.factor and not large.offset
        and large.dimension != "percent"
    ]  # fmt: skip
    if not pairs:
        return None
    value = one.value + other.value * pairs[0][1].factor / pairs[0][0].factor
    units = tuple(large for large, _ in pairs)
    span = (one.span[0], other.span[1])
    return Quantity(Number(value, value, span), units, span=span)


def _add_unit(text: str, number: Number, start: int, end: int) -> Quantity:
    """The number with what is written before and after it: a currency, a unit, or the noun it counts."""
    first, last = number.span
    if number.value != number.face:
        return Quantity(number, UNITS["%"], span=number.span)
    if money := _read_money(text, number, start):
        begin, units = money
        return Quantity(number, units, span=(begin, last))
    if found := _read_unit(text, last, end):
        units, stop = found
        if more := _AND_A_HALF.match(text, stop, end):  # two hours and a half
            value = number.value + (0.5 if more[1] == "half" else 0.25)
            number, stop = Number(value, value, number.span), more.end()
        # A multiplier letter that was a unit after all cannot be told here: 5M is read as millions.
        return Quantity(number, units, span=(first, stop))
    if letter := _LETTER_AFTER.match(text, last, end):
        return Quantity(number, noun=letter[1].lower(), span=number.span)
    noun = _NOUN.match(text, last, end)
    words = [] if noun is None else re.split("[ -]", noun.group().strip())
    kept: list[str] = []
    for word in words:
        if word in NOT_NOUNS:
            break
        kept.append(word)
    return Quantity(number, noun=" ".join(kept), span=number.span)


def _read_money(text: str, number: Number, start: int) -> tuple[int, tuple[Unit, ...]] | None:
    first, last = number.span
    head = text[first:last].lstrip("-+ ")
    at = last - len(head)
    inside = None if head[:1].isdigit() else _MONEY_INSIDE.match(head)
    until = at + inside.end() if inside else first
    word = text[max(start, until - 6) : until]
    if (
        not word
        or (word[-1] == " " and word[-2:-1].islower())
        or (before := _MONEY_BEFORE.search(word)) is None
    ):
        return None
    closing = text.find("$", last, last + 40) if before.group().endswith(("$", "$ ")) else -1
    if closing >= 0 and not text[closing + 1 : closing + 2].isdigit():
        return None  # a formula: $45^\\circ$
    name = before.group().lower().replace(" ", "")
    units = UNITS.get(_MONEY_NAMES.get(name, name))
    return (min(first, until - len(before.group())), units) if units else None


def _read_unit(text: str, last: int, end: int) -> tuple[tuple[Unit, ...], int] | None:
    gap = _UNIT_GAP.match(text, last, end)
    at = gap.end() if gap else last
    if sign := _SIGN.match(text, at, end):
        name = sign.group().replace(" ", "").lstrip("\\").lower()
        if name.startswith(("°", "^")):
            name = "°" + re.sub(r"[^cf]", "", name.replace("circ", "").replace("mathrm", ""))
        if name == "$" and "$" in text[max(0, last - 100) : last]:
            return None  # the end of a formula
        if name == '"' and text.count('"', max(0, last - 100), last) % 2:
            return None  # the end of a quotation
        units = UNITS.get("°" if name == "º" and at > last else name)
        return (units, sign.end()) if units else None
    words = _UNIT_WORDS.match(text, at, end)
    if words is None:
        return _read_unspaced_unit(text, at, end)
    phrase = words.group()
    while phrase:
        if units := _find_unit(phrase, is_attached=at == last):
            stop = at + len(phrase)
            if (
                phrase.lower() == "in"
                and (at == last or not _INCH_AFTER.match(text, stop, end))
                and at != last
            ):
                return None
            return units, stop
        breaks = list(_WORD_BREAK.finditer(phrase))
        phrase = phrase[: breaks[-1].start()] if breaks else phrase[:-1] if phrase.endswith(".") else ""
    return None


def _find_unit(phrase: str, *, is_attached: bool) -> tuple[Unit, ...] | None:
    name = phrase.replace("-", " ") if "^" not in phrase else re.sub(r"[\^{}]", "", phrase.replace("-", " "))
    units = UNITS.get(name)
    if units is None and len(name) > 1:
        units = UNITS.get(name.lower())
    if is_attached and name == "A":
        return None  # 12A is a seat
    if units and (ORDINAL in units) != (is_attached and name.lower() in ("st", "nd", "rd", "th")):
        return None
    return units


def _read_unspaced_unit(text: str, at: int, end: int) -> tuple[tuple[Unit, ...], int] | None:
    """A unit in Chinese or Japanese, where other words may follow at once."""
    if not "\u2e80" <= text[at : at + 1] <= "\u9fff":
        return None
    for length in (6, 5, 4, 3, 2, 1):
        if at + length <= end and (units := UNITS.get(text[at : at + length])):
            return units, at + length
    return None


# -- Ranges

_RANGE = re.compile(
    r"(?P<lead>between|from|von|zwischen|de|entre|da|от|между"
    r"|从)?\s?(?P<low>[^\s,;()]+(?:\s[A-Za-z%°]{1,12})?)\s?"
    r"(?P<join>-|~|\bto\b|\bthrough\b|\buntil\b|\band\b|\bbis\b|\bund\b|\bà\b|\ba\b|\by\b|至|到"
    r"|до)\s?(?P<high>[^\s,;()]+(?:\s[A-Za-z%°]{1,12})?)",
    re.IGNORECASE,
)


def parse_range(text: str) -> tuple[Quantity, Quantity] | None:
    """The two ends of a range and nothing else.

    >>> [(low.value, high.value) for low, high in map(parse_range, ("3-5", "between 3 and 5 km"))]
    [(3.0, 5.0), (3.0, 5.0)]
    >>> parse_range("3 and 5"), parse_range("555-1234"), parse_range("5-3")
    (None, None, None)
    """
    if len(text) > 60:
        return None
    plain = normalise_numerals(text)
    found = _RANGE.fullmatch(plain, *unwrap_number_span(plain))
    if found is None or (found["join"].lower() in ("and", "und", "y", "a") and not found["lead"]):
        return None
    low, high = parse_quantity(found["low"]), parse_quantity(found["high"])
    if low is None or high is None or low.bound or high.bound or not 0 <= low.value < high.value:
        return None
    is_number = (
        found["join"] != "-"
        or len(found["low"]) == len(found["high"])
        or high.value < 1000
        or bool(high.units)
    )
    if not is_number or (
        found["low"].startswith("0") and len(found["low"]) > 1 and found["low"][1].isdigit()
    ):
        return None  # a telephone number
    return (replace(low, units=high.units, noun=high.noun) if not low.units else low), high


# -- A text that is one quantity

_APPROXIMATELY = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|exactly|only|just|some|a total of"
    r"|total of|total:?|in|=|:|"
    r"大约|约|大概|共|一共|共有|总共|有|是|为|約|etwa|ungefähr|environ|unos|unas|aproximadamente"
    r"|cerca de|около|примерно|약)\s?",
    re.IGNORECASE,
)
_SPACED = re.compile(r"\d{1,3}(?: \d{3})+(?!\d| \d)")
_MARKS = " .,;:!?*\"'`)]}|。，、；：！？~\\$"
_NEGATIVE = re.compile(r"\s*\(\s?[$€£¥]?\s?\d[\d,.]*\s?%?\s?\)\s*")


def parse_quantity(text: str) -> Quantity | None:
    """The quantity that a short text is, with its unit, noun and bound; None when it is anything else.

    >>> found = parse_quantity("at least 12 kg")
    >>> found.value, found.units[0].dimension, found.bound
    (12.0, 'mass', '>=')
    >>> parse_quantity("room 12"), parse_quantity("12:30"), parse_quantity("12A"), parse_quantity("3 or 4")
    (None, None, None, None)
    """
    if len(text) <= _REMEMBERED:
        return _parse_short(text)
    return _parse(text) if len(text) <= MAX_CHARS else None


@lru_cache(maxsize=4096)
def _parse_short(text: str) -> Quantity | None:
    return _parse(text)


def _parse(text: str) -> Quantity | None:
    plain = normalise_numerals(text)
    start, end = unwrap_number_span(plain)
    while start and plain[start - 1] in "<>!=≠ ":  # signs, where they do not wrap
        start -= 1
    if plain[end : end + 1] in ("'", '"') and not plain.lstrip().startswith(plain[end]):
        end += 2 if plain[end : end + 2] == "''" else 1  # 5'10"
    if _NEGATIVE.fullmatch(plain):  # in accounts, (5) is -5
        found = parse_quantity(plain.strip().strip("()"))
        return None if found is None else _negate(found)
    return parse_quantity_span(plain, start, end)


_SENTENCE = re.compile(
    r"\b(?:is|are|was|were|there|it|because|i|see|costs?|picture|image)\b", re.IGNORECASE
)  # no one number


def parse_quantity_span(plain: str, start: int, end: int) -> Quantity | None:
    """Like `parse_quantity`, for a slice of a text that went through `normalise_numerals`."""
    if end - start > MAX_CHARS or start >= end or _SENTENCE.search(plain, start, end):
        return None
    if spaced := _SPACED.match(plain, start, end):
        digits = plain[start : spaced.end()].replace(" ", "").rjust(spaced.end() - start)
        plain = plain[:start] + digits + plain[spaced.end() :]
    found = list(find_quantities(plain, start, end, is_whole=True))
    if _ONE_UNIT.match(plain, start, end) and all(one.value in (0.5, 0.25) for one in found):
        found = _read_one_unit(plain, start, end) or found
    if len({one.value for one in found}) != 1 or len(found) > 2:
        return None
    quantity = found[0]
    bound, span = read_bound(plain, quantity.span, start, end)
    begin = start
    while begin < span[0] and (about := _APPROXIMATELY.match(plain, begin, span[0])):
        begin = about.end()
    if plain[begin : span[0]].strip(" *\"'"):
        return None
    rest = plain[span[1] : end]
    if len(found) == 2:  # "8 (eight)"
        rest = (
            plain[found[1].span[1] : end]
            if re.fullmatch(r"\s?[(=]\s?", plain[span[1] : found[1].span[0]])
            else "?0"
        )
    if not _is_noun(rest, quantity.noun, is_attached=span[1] < end and plain[span[1]].isalnum()):
        return None
    return replace(quantity, bound=bound, span=span) if bound else quantity


_ONE_UNIT = re.compile(r"an?\s(?=[A-Za-z])", re.IGNORECASE)


def _read_one_unit(text: str, start: int, end: int) -> list[Quantity]:
    """A unit with an article for its number: "an hour", "an hour and a half"."""
    article = _ONE_UNIT.match(text, start, end)
    found = _read_unit(text, article.end() - 1, end) if article else None
    if found is None:
        return []
    units, stop = found
    more = _AND_A_HALF.match(text, stop, end)
    value = 1.0 + (0.0 if more is None else 0.5 if more[1] == "half" else 0.25)
    span = (start, more.end() if more else stop)
    return [Quantity(Number(value, value, span), units, span=span)]


def _is_noun(rest: str, noun: str, *, is_attached: bool) -> bool:
    """Whether what follows a quantity is nothing, or the name of what is counted."""
    words = rest.strip(_MARKS)
    if not words:
        return True
    if (
        any(map(str.isdigit, words))
        or ":" in words
        or "/" in words
        or len(words) > 30
        or len(words.split()) > 3
    ):
        return False
    if "\u2e80" <= words[0] <= "\ud7af":
        return len(words) <= 4 and not words.endswith(("吗", "か"))
    if is_attached:
        return False
    return bool(noun) and noun.split()[0] == words.split()[0].split("-")[0]


def _negate(found: Quantity) -> Quantity:
    number = found.number
    return replace(found, number=Number(-number.value, -number.face, number.span))
