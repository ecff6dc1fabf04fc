r"""InfoChartQA's comparison of amounts, as its authors' checker makes it. Quirks are kept and named.

The last token of a text that holds a digit is its number, with a unit from a short table found in that
token or the next one. Units are optional on both sides, and amounts a hundred, a thousand, a million or
a billion times apart pass as equal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

EXACT = 0.001  # of the gold, which accepts 2018 to 2022 for 2020
VAGUE = 0.05

# Case matters, and nothing else is known; a crore is 1e7, but not here.
UNITS = {
    "K": 1e3, "k": 1e3, "M": 1e6, "m": 1e6, "million": 1e6, "b": 1e9, "B": 1e9, "bn": 1e9, "Bn": 1e9,
    "Billion": 1e9, "T": 1e12, "%": 0.01, "Cr": 1e8,
}  # fmt: skip
_FORGIVEN = (100.0, 1e3, 1e6, 1e9)

_DIGIT = re.compile("[0-9]")
_RUN = re.compile(r"[0-9+-][0-9,.+-]*")
_US = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]*)?")
# The authors' pattern has an unescaped dot: any character separates groups, a digit too.
_EU = re.compile(r"[+-]?[0-9]{1,3}(?:.[0-9]{3})*(?:,[0-9]*)?")
_COUNTED_AS_DIGITS = str.maketrans(dict.fromkeys(".,$BTK", "1"))


class OfficialCrash(Exception):
    """Here the authors' checker stops with a TypeError, and with it the whole evaluation."""


@dataclass(frozen=True, slots=True)
class Amount:
    """The number read out of a text (None when its digits are none), and the factor of its unit."""

    value: float | None
    unit: float = 1.0


def looks_numeric(gold: str) -> bool:
    """Whether more than half of the characters are digits, points, commas or one of ``$BTK``.

    >>> looks_numeric("45%"), looks_numeric("5%"), looks_numeric("12 km"), looks_numeric("$5")
    (True, False, False, True)
    """
    digits = sum(map(str.isdigit, gold.translate(_COUNTED_AS_DIGITS)))
    return digits > len(gold) - digits


def has_digit(text: str) -> bool:
    """Whether any of 0 to 9 stands in the text."""
    return _DIGIT.search(text) is not None


def read_amount(text: str) -> Amount:
    r"""The last number of a text.

    >>> read_amount("45% in 2020").value, read_amount("12345.678").value, read_amount("about $1.2 million")
    (2020.0, 12345678.0, Amount(value=1.2, unit=1000000.0))
    """
    tokens = text.split(" ")
    for position in range(len(tokens) - 1, -1, -1):
        if not has_digit(tokens[position]):
            continue
        token = tokens[position].replace("$", "").replace("\n", "")
        runs = _RUN.findall(token)
        unit = _unit_text(token)
        if unit in ("", "None") and position + 1 < len(tokens):  # their word for no unit is None
            unit = _unit_text(tokens[position + 1])
        return Amount(_to_number(runs[-1]), UNITS.get(unit, 1.0))
    return Amount(None)


def same_amount(gold: str, reply: str, tolerance: float) -> bool:
    """Whether the last number of the reply is that of the gold, units and large factors aside.

    >>> [same_amount("42", reply, EXACT) for reply in ("42,000", "0.42", "420")]
    [True, True, False]
    """
    said = read_amount(reply.replace("\n", " "))
    if said.value is None:
        return False
    wanted = read_amount(gold)
    if wanted.value is None:
        raise OfficialCrash(f"{gold!r} is no number")
    g, r = wanted.value, said.value
    for factor in {wanted.unit, 1.0}:
        for other in {said.unit, 1.0}:
            if _near(g * factor, r * other, abs(g * factor), tolerance):
                return True
    return any(
        _near(k * g, r, abs(k * g), tolerance) or _near(g, k * r, abs(g), tolerance) for k in _FORGIVEN
    )


def _near(g: float, r: float, size: float, tolerance: float) -> bool:
    return abs(g - r) / (0.01 + size) < tolerance


def _unit_text(token: str) -> str:
    """The last row of letters and percent signs, wherever it stands."""
    end = len(token)
    while end and not _is_unit(token[end - 1]):
        end -= 1
    start = end
    while start and _is_unit(token[start - 1]):
        start -= 1
    return token[start:end]


def _is_unit(char: str) -> bool:
    return char == "%" or char.isalpha()


def _to_number(run: str) -> float | None:
    run = run.removesuffix(".")
    sign = -1.0 if run[0] == "-" else 1.0
    digits = run[1:] if run[0] in "+-" else run
    if _US.fullmatch(digits):
        digits = digits.replace(",", "")
    elif _EU.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    else:
        digits = digits[digits.rfind(",") + 1 :]
    try:
        return sign * float(digits)
    except ValueError:
        return None
