"""From what was found to one of the options, or to no option at all."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eyechart.model.baseline import colours, shapes
from eyechart.model.baseline.ask import split_words

FUZZY = 88  # of 100: two slips of the reader in a long name, none in a short one


def squeeze(text: str) -> str:
    """Letters and digits only: the reader drops spaces and doubles points.

    >>> squeeze("E 7"), squeeze("£4.50")
    ('e7', '4.50')
    """
    return re.sub(r"(?<!\d)[.]|[.](?!\d)|[^\w.]|_", "", text.casefold())


def read_number(text: str) -> float | None:
    """The one number in a text; None where there is none or more than one.

    >>> read_number("148 m"), read_number("1,250"), read_number("08:15"), read_number("2 of 3")
    (148.0, 1250.0, None, None)
    """
    if re.search(r"\d\s*[:/]\s*\d", text):
        return None
    found = re.findall(r"[-−]?\d[\d,]*(?:\.\d+)?", text)
    if len(found) != 1:
        return None
    number = found[0].replace("−", "-")
    if re.fullmatch(r"-?\d+,\d{1,2}", number):
        number = number.replace(",", ".")  # a decimal comma
    return float(number.replace(",", ""))


def match_option(found: str, choices: Mapping[str, str]) -> str | None:
    """The letter of the one option that says what was found."""
    for test in (_same, _same_number, _same_name, _one_in_the_other, _alike):
        letters = [letter for letter, text in choices.items() if test(found, text)]
        if len(letters) == 1:
            return letters[0]
    return _nearest_colour(found, choices)


def _same(found: str, option: str) -> bool:
    return bool(squeeze(found)) and squeeze(found) == squeeze(option)


def _same_number(found: str, option: str) -> bool:
    a, b = read_number(found), read_number(option)
    return a is not None and b is not None and abs(a - b) < 1e-6


def _same_name(found: str, option: str) -> bool:
    """The same colour or shape under another word: grey and gray, disc and circle."""
    for as_named in (colours.read_colour, shapes.read_shape):
        named = {name for word in split_words(option) if (name := as_named(word))}
        if as_named(found) is not None and named == {as_named(found)}:
            return True
    return False


def _one_in_the_other(found: str, option: str) -> bool:
    a, b = set(split_words(found)), set(split_words(option))
    return bool(a and b) and (a <= b or b <= a)


def _alike(found: str, option: str) -> bool:
    from rapidfuzz import fuzz

    a, b = squeeze(found), squeeze(option)
    has_digits = any(c.isdigit() for c in a + b)  # 2.45 and 2.46 are not alike
    return len(a) > 3 and not has_digits and fuzz.ratio(a, b) >= FUZZY


def _nearest_colour(found: str, choices: Mapping[str, str]) -> str | None:
    name = colours.read_colour(found)
    if name is None:
        return None
    ranked = []
    for letter, text in choices.items():
        named = [n for word in split_words(text) if (n := colours.read_colour(word))]
        if len(named) == 1 and (distance := colours.compare_colours(name, named[0])) >= 0:
            ranked.append((distance, letter))
    ranked.sort()
    is_tied = len(ranked) > 1 and ranked[0][0] == ranked[1][0]
    return ranked[0][1] if ranked and not is_tied else None
