"""Quantities: a number together with its unit, and when two of them are the same amount.

A unit is part of the value. Where both sides state one, the amounts must agree, converted where that is
exact or close to it (500 cm is 5 m, 68 °F is 20 °C; 5 m is not 5 km, $5 is not 5 %). A unit that only one
side states may be missing on the other; a multiplier may not (5M is neither 5 nor 5B). An abbreviation
with several meanings (``m``: metres or millions; ``pounds``: mass or money) has them all, and the other
side decides.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product, takewhile

from msgspec.structs import replace

from eyechart.readers import languages as r
from eyechart.readers.clauses import lower, to_plain
from eyechart.readers.languages import build_lexicon, find_languages, load_languages
from eyechart.readers.mentions.numbers import Quantity, find_numbers
from eyechart.readers.mentions.units import COUNTS, ORDINAL, UNITS, Unit
from eyechart.readers.wording import simplify_word
from eyechart.replies import unwrap_span

TOLERANCE = 1e-9  # relative: 0.1 + 0.2 is 0.3, and no more
CONVERTED = 5e-3  # between systems, where people round: 10 lb is 4.54 kg
MAX_CHARS = 500  # of a text that is one quantity


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
    if "decade" in (said.noun, gold.noun) and said.noun != gold.noun:  # the 1990s are not 1990
        return False
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
    faces = [(one, other) for one in _list_values(said) for other in _list_values(gold)]
    if (said.value != said.face) != (gold.value != gold.face):  # 50 % is 50 as well as 0.5
        faces.append((said.face, gold.face))
    return any(is_close(one, other, tolerance) for one, other in faces)


def is_close(one: float, other: float, tolerance: float = TOLERANCE) -> bool:
    """Whether two numbers are the same but for rounding. Whole numbers are exact, however large.

    >>> is_close(0.1 + 0.2, 0.3), is_close(999_999_999, 1_000_000_000), is_close(104, 100, 0.05)
    (True, False, True)
    """
    if tolerance <= TOLERANCE and float(one).is_integer() and float(other).is_integer():
        return one == other
    return abs(one - other) <= tolerance * abs(other)


def _list_values(quantity: Quantity) -> list[float]:
    counts = [quantity.value * unit.factor for unit in quantity.units if unit.dimension in COUNTS]
    is_plain = not counts or any(unit.dimension not in COUNTS for unit in quantity.units)
    return [*counts, quantity.value] if is_plain else counts


def _is_same_in(said: Quantity, one: Unit, gold: Quantity, other: Unit, tolerance: float) -> bool:
    if one.dimension != other.dimension:
        return False
    if one == other:
        return is_close(said.value, gold.value, tolerance)
    a, b = said.value * one.factor + one.offset, gold.value * other.factor + other.offset
    if is_close(a, b, max(tolerance, TOLERANCE)) or abs(a - b) <= TOLERANCE * abs(b):
        return True
    return one.system != other.system and abs(a - b) <= CONVERTED * abs(b - other.offset)


def _share_word(one: str, other: str) -> bool:
    return bool({*map(simplify_word, one.split())} & {*map(simplify_word, other.split())})


# -- Reading quantities

_MONEY = re.compile(
    r"(?:(?:\b(?:us|ca|au|hk|r|nz|s)\s?)?[$]|[€£¥₹₽₩]|\b(?:usd|eur|gbp|rmb|cny|jpy|inr|chf|sek|nok|dkk|kr|pln|zł|rs\.?))\s?$"
)
_MONEY_INSIDE = re.compile(r"^[-+]?((?:us)?[$]|[€£¥₹]|usd|eur|rmb)", re.IGNORECASE)
_UNIT_WORDS = re.compile(
    r"[A-Za-zµμΩÀ-ɏ\u0400-\u04ff\uac00-\ud7af]+\.?(?:[²³]|\^?\s?[23](?![\d.]))?"
    r"(?:/[A-Za-z\u0400-\u04ff]+(?:[²³]|\^?\s?[23](?![\d.]))?)?"
    r"(?:[ -][A-Za-z]+(?:[²³]|\^?\s?[23](?![\d.]))?){0,3}"
)
_SIGN = re.compile(r"°\s?[CFcf](?![a-z])|(?:US|us)\$|[°º℃℉%€£¥₹₽₩¢$]|''|[\"'](?![A-Za-z])")
_OF_ONE = re.compile(r"\s(?:of\s)?an?(?=\s[a-z])")  # "half an hour", "three quarters of an hour"
_COMPOUND_GAP = re.compile(r",?\s{0,2}(?:and\s|&\s?)?")
_NOUN = re.compile(r"\s?([a-z]+(?:[ -][a-z]+){0,2})")


def find_quantities(text: str, codes: tuple[str, ...] = ("en",), *, is_whole: bool = False) -> list[Quantity]:
    """Every quantity in a plain text; 5 ft 10 in is one.

    >>> text = "It is 5 ft 10 in, weighs 70 kg and costs $5 million."
    >>> [(found.value, found.units[0].dimension) for found in find_quantities(text)]
    [(5.833333333333333, 'length'), (70.0, 'mass'), (5000000.0, 'usd')]
    """
    found: list[Quantity] = []
    for number in find_numbers(text, codes, is_whole=is_whole):
        quantity = _add_unit(text, number)
        merged = _merge(text, found[-1], quantity) if found else None
        if merged:
            found.pop()
        found.append(merged or quantity)
    return found


def _merge(text: str, one: Quantity, other: Quantity) -> Quantity | None:
    """Two quantities as one, where the second continues the first in a smaller unit."""
    if not 0 <= other.span[0] - one.span[1] <= 6 or other.value < 0:
        return None
    if not _COMPOUND_GAP.fullmatch(text, one.span[1], other.span[0]):
        return None
    for large, small in product(one.units, other.units):
        is_smaller = large.dimension == small.dimension and small.factor < large.factor
        if is_smaller and not large.offset and large.dimension != "percent":
            value = one.value + other.value * small.factor / large.factor
            return Quantity(value, value, (one.span[0], other.span[1]), (large,))
    return None


def _add_unit(text: str, number: Quantity) -> Quantity:
    """The number with what is written before and after it: a currency, a unit, or the noun it counts."""
    first, last = number.span
    if number.value != number.face:
        return replace(number, units=UNITS["%"])
    inside = _MONEY_INSIDE.match(text[first:last])
    before = None if inside else _MONEY.search(lower(text[max(0, first - 6) : first]))
    if inside or before:
        name = (inside[1] if inside else before.group() if before else "").lower().strip().replace(" ", "")
        if units := UNITS.get({"us$": "$", "ca$": "c$", "au$": "a$"}.get(name, name)):
            start = first - len(before.group()) if before else first
            return replace(number, units=units, span=(start, last))
    if text[last - 1] == "0" and re.match(r"'?s\b", text[last : last + 3]) and number.value >= 10:
        return replace(number, noun="decade", span=(first, last + 1))
    if found := _read_unit(text, last):
        return replace(number, units=found[0], span=(first, found[1]))
    known = build_lexicon(("en",)).words
    noun = _NOUN.match(text, last)
    words = re.split("[ -]", noun[1]) if noun else []
    counted = takewhile(lambda word: not known.get(word, 0) & ~_NOUN_ROLES, words)  # not "5 in all"
    return replace(number, noun=" ".join(counted))


_NOUN_ROLES = r.PERSON | r.LABEL | r.ADJECTIVE | r.SOURCE | r.OPTION


def _read_unit(text: str, last: int) -> tuple[tuple[Unit, ...], int] | None:
    of_one = _OF_ONE.match(text, last)
    at = of_one.end() if of_one else last
    while at < len(text) and at < last + 12 and text[at] in " -~":  # LaTeX leaves several blanks
        at += 1
    if at > last + 1 and "-" in text[last:at] and " " in text[last:at]:
        return None
    if sign := _SIGN.match(text, at):
        name = sign.group().replace(" ", "").lower()
        units = UNITS.get("°" if name == "º" and at > last else name)
        return (units, sign.end()) if units else None
    words = _UNIT_WORDS.match(text, at)
    is_unspaced = "\u2e80" <= text[at : at + 1] <= "\u9fff"  # other words may follow at once
    phrase = words.group() if words else text[at : at + 6] if is_unspaced else ""
    while phrase:
        name = re.sub(r"[\^\s]+(?=[23])", "", phrase.replace("-", " "))
        units = UNITS.get(name) or (UNITS.get(name.lower(), ()) if len(name) > 1 else ())
        is_attached = at == last
        is_ordinal = is_attached and name.lower() in ("st", "nd", "rd", "th")
        is_word = name == "in" and text[at - 1] == " " and text[at + 3 : at + 4].isalpha()
        if units and is_ordinal == (ORDINAL in units) and not is_word and not (is_attached and name == "A"):
            return units, at + len(phrase)
        cut = max(phrase.rfind(" "), phrase.rfind("-"))
        phrase = phrase[:cut] if cut > 0 else phrase[:-1] if is_unspaced or phrase.endswith(".") else ""
    return None


# -- A text that is one quantity

_LEADING = re.compile(
    r"(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|exactly|only|just|some|a total of|total of"
    r"|total:?|in|maybe|perhaps|probably|possibly|number|=|:|~|≈|大约|约|大概|共|一共|共有|总共|有|是|为|約|etwa|ungefähr|environ|unos|unas"
    r"|aproximadamente|cerca de|около|примерно|약)\s?",
    re.IGNORECASE,
)
_GAPS = re.compile(r"(?<=\d)[ '](?=\d{3}(?!\d))")  # 1 234,5
_MARKS = " .,;:!?*\"'`)]}|。，、；：！？~\\$"
_NEGATIVE = re.compile(r"\s*\(\s?[$€£¥]?\s?\d[\d,.]*\s?%?\s?\)\s*")
_SENTENCE = re.compile(r"\b(?:is|are|was|were|there|it|because|i|see|costs?|picture|image)\b", re.IGNORECASE)


def parse_quantity(text: str) -> Quantity | None:
    """The quantity that a short text is, with its unit, noun and bound; None when it is anything else.

    >>> found = parse_quantity("at least 12 kg")
    >>> found.value, found.units[0].dimension, found.bound
    (12.0, 'mass', '>=')
    >>> parse_quantity("room 12"), parse_quantity("12:30"), parse_quantity("12A"), parse_quantity("3 or 4")
    (None, None, None, None)
    """
    return _parse(text) if len(text) <= MAX_CHARS else None


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity | None:
    plain = _GAPS.sub("", to_plain(text))
    if _NEGATIVE.fullmatch(plain):  # in accounts, (5) is -5
        found = _parse(plain.strip().strip("()"))
        return found and replace(found, value=-found.value, face=-found.face)
    start, end = unwrap_span(plain)
    while start and plain[start - 1] in "<>!=≠ ≥≤$":  # signs, where they do not wrap
        start -= 1
    if plain[end : end + 1] in ("'", '"') and not plain.lstrip().startswith(plain[end]):
        end += 2 if plain[end : end + 2] == "''" else 1  # 5'10"
    if plain[end : end + 1] == "$" and plain.count("$") == 1:
        end += 1  # US$
    if start >= end or _SENTENCE.search(plain, start, end):
        return None
    part = plain[start:end]
    if re.match(r"an?\s[a-z]", part) and (unit := _read_unit(part, part.index(" "))) and unit[0]:
        part = "1" + part[part.index(" ") :]  # "an hour"
    codes = find_languages([word.group() for word in r.split_words(lower(part))])
    found_all = find_quantities(part, codes, is_whole=True)
    if len(found_all) != 1:
        return None
    quantity = found_all[0]
    bound, span = read_bound(part, quantity.span)
    begin = 0
    while begin < span[0] and (lead := _LEADING.match(part, begin, span[0])):
        begin = lead.end()
    if part[begin : span[0]].strip(" *\"'"):
        return None
    if not _is_noun(part[span[1] :], quantity.noun):
        return None
    return replace(quantity, bound=bound, span=(span[0] + start, span[1] + start))


def _is_noun(rest: str, noun: str) -> bool:
    """Whether what follows a quantity is nothing, or the name of what is counted."""
    words = rest.strip(_MARKS)
    if not words:
        return True
    is_more = any(char.isdigit() or char in ":/" for char in words)
    if is_more or len(words) > 30 or len(words.split()) > 3:
        return False
    if r.is_unspaced(words[0]):
        return len(words) <= 4 and not words.endswith(("吗", "か"))
    return bool(noun) and rest[:1].isspace() and noun.split()[0] == words.split()[0].split("-")[0]


# -- Bounds: "at least 8", "8 or more"

_SIGNS = {"≥": ">=", ">=": ">=", "≤": "<=", "<=": "<=", ">": ">", "<": "<", "≠": "!=", "!=": "!="}
_MAX_BOUND_CHARS = 24  # of the words beside a number that bound it
_COUNTERS = " 个個人只台匹名本枚개명"  # may stand between a number and "or more"


@lru_cache(maxsize=1)
def _list_bounds() -> tuple[dict[str, str], re.Pattern[str], re.Pattern[str]]:
    """The words that bound a number with their signs, and where they stand: before it, after it."""
    before, after = dict(_SIGNS), {"+": ">="}
    for table in load_languages().values():
        for role, sign in (("at_least", ">="), ("at_most", "<="), ("more_than", ">"), ("less_than", "<")):
            before |= dict.fromkeys(table.get(role, ()), sign)
        for role, sign in (("or_more", ">="), ("or_less", "<="), ("and_more", ">"), ("and_less", "<")):
            after |= dict.fromkeys(table.get(role, ()), sign)
    words, others = (
        "|".join(map(re.escape, sorted(known, key=len, reverse=True))) for known in (before, after)
    )
    lead = re.compile(rf"(?:(?<![^\W\d_])|(?![a-z]))({words})[ *\"']*$")
    tail = re.compile(rf"[{_COUNTERS}]*?({others})(?:(?![^\W\d_])|(?<![ -~]))")
    return {**after, **before}, lead, tail


def read_bound(text: str, span: tuple[int, int]) -> tuple[str, tuple[int, int]]:
    """How the quantity at `span` is bounded, and the span with the words that say so.

    >>> read_bound("at least 8 dogs", (9, 10)), read_bound("8 dogs", (0, 1))
    (('>=', (0, 10)), ('', (0, 1)))
    """
    signs, lead, tail = _list_bounds()
    begin = max(0, span[0] - _MAX_BOUND_CHARS)
    if found := lead.search(lower(text[begin : span[0]])):
        return signs[found[1]], (begin + found.start(1), span[1])
    if found := tail.match(lower(text[span[1] : span[1] + _MAX_BOUND_CHARS])):
        return signs[found[1]], (span[0], span[1] + found.end(1))
    return "", span


# -- Ranges

_RANGE = re.compile(
    r"(?P<lead>between|from|von|zwischen|de|entre|da|от|между|从)?\s?(?P<low>[^\s,;()]+(?:\s[A-Za-z%°]{1,12})?)\s?"
    r"(?P<join>-|~|\bto\b|\bthrough\b|\buntil\b|\band\b|\bbis\b|\bund\b|\bà\b|\ba\b|\by\b|至|到|до)\s?"
    r"(?P<high>[^\s,;()]+(?:\s[A-Za-z%°]{1,12})?)",
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
    plain = to_plain(text)
    found = _RANGE.fullmatch(plain, *unwrap_span(plain))
    if found is None or (found["join"].lower() in ("and", "und", "y", "a") and not found["lead"]):
        return None
    low, high = parse_quantity(found["low"]), parse_quantity(found["high"])
    if low is None or high is None or low.bound or high.bound or not 0 <= low.value < high.value:
        return None
    is_even = len(found["low"]) == len(found["high"])
    is_number = found["join"] != "-" or is_even or high.value < 1000 or high.units
    if not is_number or re.match(r"0\d", found["low"]):
        return None  # a telephone number
    return (low if low.units else replace(low, units=high.units, noun=high.noun)), high
