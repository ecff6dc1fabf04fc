"""InfoChartQA's scoring: one rule per question type, with the verdicts of the authors' checker.

Paper: https://arxiv.org/abs/2505.19028. Parity: CoolDawnAnt/InfoChartQA at 07b5bf6; golden vectors:
tests/golden/infochartqa.jsonl. All its quirks are kept; our own `default` has none of them.
Parity ends in two places: where the authors' evaluation stops with an exception, and where it draws a random
number. There the reply is wrong, and the score's detail says so (``official: aborts``, ``official: random``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby
from typing import Any, Literal, TypeAlias

from rapidfuzz.distance import LCSseq

from eyechart.registry import scorer
from eyechart.score.reading import score_official
from eyechart.types import Reply, Sample, Score

Method = Literal[
    "Exact Numeric", "Vague Numeric", "Exact String", "Vague String", "Vague Unordered Sequence",
    "Vague Ordered Sequence",
]  # fmt: skip
Oddity = Literal["", "aborts", "random"]
NO_RESPONSE = "Error!"  # what the authors' client writes for a call that failed; it is in no total
DEFAULT_TYPE = 1  # of an entry that names none


@dataclass(frozen=True, slots=True)
class OfficialVerdict:
    """The verdict of the authors' checker; `oddity` where it would abort or draw a random number."""

    method: Method
    is_correct: bool
    oddity: Oddity = ""


def check(answer: object, response: object, qtype: object) -> tuple[Method, bool]:
    """The name of the rule and its verdict on any two JSON values. Never raises.

    >>> check("2020", "It was 2018", 72), check("A,C", "C,A", 202), check("5%", "15%", 1)
    (('Exact Numeric', True), ('Exact String', True), ('Vague String', True))
    """
    found = compute_verdict(answer, response, qtype)
    return found.method, found.is_correct


def compute_verdict(answer: object, response: object, qtype: object) -> OfficialVerdict:
    """Like `check`, and whether the authors' code would abort or draw a random number.

    >>> compute_verdict("10-15", "12", 72)
    OfficialVerdict(method='Exact Numeric', is_correct=False, oddity='aborts')
    """
    gold, reply = to_official_text(answer), to_reply_text(response)
    method, is_same = RULES[qtype] if is_known_type(qtype) else _EXACT_VALUE
    if is_same is is_same_value_or_text and not is_mostly_digits(gold):
        method = "Vague String"
    try:
        return OfficialVerdict(method, is_same(gold, reply))
    except OfficialOddity as err:
        return OfficialVerdict(method, is_correct=False, oddity=err.oddity)


def is_known_type(qtype: object) -> bool:
    """Whether the official table has a rule for this type.

    >>> is_known_type(72.0), is_known_type("72"), is_known_type(31)
    (True, False, False)
    """
    return isinstance(qtype, int | float) and qtype in RULES


def to_official_text(value: object) -> str:
    """A gold as the checker sees it: null is the text None, a list its Python form."""
    try:
        return value if isinstance(value, str) else str(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, deeply nested lists
        return ""


def to_reply_text(value: object) -> str:
    """A reply as the checker sees it: as text, no-break spaces as spaces."""
    return to_official_text(value).replace("\u00a0", " ")


def get_question_type(meta: Mapping[str, Any]) -> object:
    """The type of a question, as a response file or as the data hold it, where it may be a text."""
    for name in ("qtype", "qid"):
        if name in meta:
            return meta[name]
    value = meta.get("question_type_id", DEFAULT_TYPE)
    return int(value) if isinstance(value, str) and value.strip().lstrip("+-").isdecimal() else value


@scorer("infochartqa", version="1", parity="official")
def score_infochartqa(reply: Reply, sample: Sample) -> Score:
    """The verdict of InfoChartQA's own checker for the question's type."""
    if reply.text == NO_RESPONSE:
        detail = {"official": "left out"}
        return Score(outcome="unscored", value=0.0, route="infochartqa:left-out", detail=detail)
    qtype = get_question_type(sample.meta)
    found = OfficialVerdict("Exact Numeric", is_correct=False)
    for gold in sample.golds:
        found = compute_verdict(gold, reply.text, qtype)
        if found.is_correct:
            break
    read = _show_read(to_reply_text(reply.text), sample.golds, found.method, qtype)
    route = "infochartqa:" + found.method.lower().replace(" ", "-")
    score = score_official(reply, sample, value=float(found.is_correct), read=read, route=route)
    detail = {"official": found.oddity} if found.oddity else {}
    if not is_known_type(qtype):
        detail["type"] = f"{str(qtype)[:40]} is unknown: scored as an exact value"
    return replace(score, detail=detail) if detail else score


def _show_read(reply: str, golds: tuple[str, ...], method: Method, qtype: object) -> str | None:
    """What the rule compares: the last number, the letters, or the whole reply."""
    if method.endswith("Numeric") and any(map(has_digit, golds)):
        amount = read_amount(reply.replace("\n", " "))
        if amount.value is None:
            return None
        return f"{amount.value:.15g}" + (f" x {amount.unit:g}" if amount.unit != 1 else "")
    if is_known_type(qtype) and RULES[qtype][1] is is_same_choice:
        return ",".join(sorted(filter(None, read_reply(reply)))) or None
    return reply.strip() or None


# -- Amounts
#
# The last token of a text that holds a digit is its number, with a unit from a short table found in that
# token or the next one. Units are optional on both sides, and amounts a hundred, a thousand, a million or a
# billion times apart are equal.

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


class OfficialOddity(Exception):
    """Raised where the authors' checker stops the whole evaluation with a TypeError, or draws a number."""

    def __init__(self, oddity: Oddity) -> None:
        super().__init__(oddity)
        self.oddity = oddity


@dataclass(frozen=True, slots=True)
class OfficialAmount:
    """The number read out of a text (None when its digits are not one), and the factor of its unit."""

    value: float | None
    unit: float = 1.0


def is_same_value(gold: str, reply: str, tolerance: float = EXACT) -> bool:
    """Amounts where the gold has a digit, texts elsewhere."""
    return is_same_amount(gold, reply, tolerance) if has_digit(gold) else is_same_text(gold, reply)


def is_same_value_or_text(gold: str, reply: str) -> bool:
    """Values where most of the gold is digits."""
    return is_same_value(gold, reply) if is_mostly_digits(gold) else is_same_text(gold, reply)


def is_contained(gold: str, reply: str) -> bool:
    """Whether the reply contains the gold, ignoring case, or has its value."""
    return gold.lower() in reply.lower() or is_same_value(gold, reply)


def is_same_amount(gold: str, reply: str, tolerance: float) -> bool:
    """Whether the last number of the reply is that of the gold, ignoring units and large factors.

    >>> [is_same_amount("42", reply, EXACT) for reply in ("42,000", "0.42", "420")]
    [True, True, False]
    """
    found = read_amount(reply.replace("\n", " "))
    if found.value is None:
        return False
    wanted = read_amount(gold)
    if wanted.value is None:
        raise OfficialOddity("aborts")
    g, r = wanted.value, found.value
    pairs = [(g * unit, r * other) for unit in {wanted.unit, 1.0} for other in {found.unit, 1.0}]
    pairs += [pair for k in _FORGIVEN for pair in ((k * g, r), (g, k * r))]
    return any(abs(one - other) / (0.01 + abs(one)) < tolerance for one, other in pairs)


def read_amount(text: str) -> OfficialAmount:
    r"""The last number of a text.

    >>> read_amount("45% in 2020").value, read_amount("12345.678").value, read_amount("about $1.2 million")
    (2020.0, 12345678.0, OfficialAmount(value=1.2, unit=1000000.0))
    """
    tokens = text.split(" ")
    for position in range(len(tokens) - 1, -1, -1):
        if not has_digit(tokens[position]):
            continue
        token = tokens[position].replace("$", "").replace("\n", "")
        runs = _RUN.findall(token)
        unit = _unit_text(token)
        if unit in ("", "None") and position + 1 < len(tokens):  # they write None for no unit
            unit = _unit_text(tokens[position + 1])
        return OfficialAmount(_to_number(runs[-1]), UNITS.get(unit, 1.0))
    return OfficialAmount(None)


def _unit_text(token: str) -> str:
    """The last run of letters and percent signs."""
    runs = ["".join(run) for is_unit, run in groupby(token, _is_unit) if is_unit]
    return runs[-1] if runs else ""


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


def is_mostly_digits(gold: str) -> bool:
    """Whether more than half of the characters are digits, points, commas or one of ``$BTK``.

    >>> is_mostly_digits("45%"), is_mostly_digits("5%"), is_mostly_digits("12 km"), is_mostly_digits("$5")
    (True, False, False, True)
    """
    digits = sum(map(str.isdigit, gold.translate(_COUNTED_AS_DIGITS)))
    return digits > len(gold) - digits


def has_digit(text: str) -> bool:
    """Whether the text holds any of 0 to 9."""
    return _DIGIT.search(text) is not None


# -- Fuzzy comparisons of texts and lists
#
# Similarity is `difflib.SequenceMatcher.ratio()`, default settings and argument order included. It is slow,
# so it is computed only for pairs that pass two exact upper bounds: the shorter text, and the longest common
# subsequence (difflib's matching blocks are a common subsequence).

STRING_THRESHOLD = 0.8
UNORDERED_THRESHOLD = 0.8
ORDERED_THRESHOLD = 0.6


def is_same_text(gold: str, reply: str) -> bool:
    """Whether the reply contains the gold, ignoring case, or is similar. An empty gold always matches.

    >>> pairs = [("yes", "yesterday"), ("", "anything"), ("bar chart", "bar charts")]
    >>> [is_same_text(gold, reply) for gold, reply in pairs]
    [True, True, True]
    """
    gold, reply = gold.lower(), reply.lower()
    return gold in reply or is_similar(gold, reply, STRING_THRESHOLD)


def is_same_set(gold: str, reply: str) -> bool:
    r"""Unordered lists: each gold element takes the first remaining reply element that fits.

    >>> pairs = [("A, B", "B\nA"), ("A, AB", "A, AC"), ("A, AB", "AC, A"), ("A", "")]
    >>> [is_same_set(gold, reply) for gold, reply in pairs]
    [True, False, True, True]
    """
    wanted = gold.replace(" ", "").split(",")
    left = reply.replace("\n", ",").replace(" ", "").split(",")
    if len(wanted) != len(left):
        return False
    for element in wanted:
        fitting = (other for other in left if _fits(element, other, UNORDERED_THRESHOLD))
        if (first := next(fitting, None)) is None:
            return False
        left.remove(first)
    return True


def is_same_order(gold: str, reply: str) -> bool:
    """Ordered lists, compared as far as the shorter one goes; neither may repeat an element.

    >>> [is_same_order("A, B, C", reply) for reply in ("A", "B > A", "")], is_same_order("A, A", "A, A")
    ([True, False, True], False)
    """
    wanted = gold.replace(" ", "").split(",")
    for old, new in (("\n\n", ""), ("\n", ","), (" ", ""), ("<", ","), (">", ",")):
        reply = reply.replace(old, new)
    if reply.count(":") == 1:
        reply = reply.partition(":")[2]
    return _in_step(wanted, reply.split(","))


def is_same_order_by_character(gold: str, reply: str) -> bool:
    """Type 30: the gold was meant to be a list of lists, so each of its characters is taken for one.

    >>> is_same_order_by_character("Japan, China", "jx"), is_same_order_by_character("Japan", "x,x")
    (True, False)
    """
    listed = reply.split(",")
    return any(_in_step(char.split(","), listed) for char in dict.fromkeys(gold))


def _in_step(wanted: list[str], listed: list[str]) -> bool:
    if _repeats(wanted) or _repeats(listed):
        return False
    return all(_fits(one, other, ORDERED_THRESHOLD) for one, other in zip(wanted, listed, strict=False))


def _repeats(elements: list[str]) -> bool:
    return len({element.strip() for element in elements}) < len(elements)


def _fits(element: str, other: str, threshold: float) -> bool:
    if element in other or other in element:
        return True
    return is_similar(element.lower().strip(), other.lower().strip(), threshold)


def is_similar(gold: str, other: str, threshold: float) -> bool:
    """Whether difflib's ratio of two texts reaches the threshold.

    >>> is_similar("japan", "japn", 0.8), is_similar("japan", "jordan", 0.8)
    (True, False)
    """
    total = len(gold) + len(other)
    if not total:
        return True
    if 2.0 * min(len(gold), len(other)) / total < threshold:
        return False
    if 2.0 * LCSseq.similarity(gold, other) / total < threshold:
        return False
    return SequenceMatcher(None, gold, other).ratio() >= threshold


# -- Option letters: A to D, capitals only

_LETTERS = "ABCD"
_STRIPPED = ",.!?;:'"  # one after the other, from both ends, once
_LONG = 50
_TAIL = 10  # the last characters, all that is read of a longer reply


def is_same_choice(gold: str, reply: str) -> bool:
    """Whether the reply names the gold's letters."""
    wanted, read = _read(gold.upper()), read_reply(reply)
    # Unread on both sides: two random tokens out of 256, which are the same one time in 256.
    if None in wanted and None in read:
        if wanted == read:
            raise OfficialOddity("random")
        return False
    return wanted == read


def read_reply(reply: str) -> frozenset[str | None]:
    """The letters of a reply, one per part between commas; for an unread part, None.

    There the authors' code draws a random token.

    >>> sorted(read_reply("(A),C")), read_reply("b")
    (['A', 'C'], frozenset({None}))
    """
    return _read(reply[-_TAIL:] if len(reply) > _LONG else reply)


def _read(text: str) -> frozenset[str | None]:
    return frozenset(map(_letter, text.split(",")))


def _letter(part: str) -> str | None:
    for char in _STRIPPED:
        part = part.strip(char)
    part = f" {part} "
    for form in ("({})", " {} "):
        places = {letter: part.rfind(form.format(letter)) for letter in _LETTERS}
        last = max(places, key=places.__getitem__)
        if places[last] >= 0:
            return last
    return None


# -- The rules
#
# Ids are compared as numbers: 72.0 is 72, but the text "72" is unknown. An unknown type is an exact value.

Rule: TypeAlias = tuple[Method, Callable[[str, str], bool]]
_EXACT_VALUE: Rule = ("Exact Numeric", is_same_value)
RULES: Mapping[object, Rule] = {
    **dict.fromkeys((1, 2, 101, 102), ("Exact Numeric", is_same_value_or_text)),
    **dict.fromkeys((54, 72), _EXACT_VALUE),
    **dict.fromkeys(
        (10, 11, 12, 50, 51, 52, 110), ("Vague Numeric", partial(is_same_value, tolerance=VAGUE))
    ),
    **dict.fromkeys((13, 14, 15, 103, 113), ("Exact String", is_contained)),
    **dict.fromkeys((40, 41, 42, 43, 44), ("Vague Unordered Sequence", is_same_set)),
    **dict.fromkeys((60, 61, 70, 80, 90), ("Vague String", is_same_text)),
    71: ("Vague Ordered Sequence", is_same_order),
    30: ("Vague Ordered Sequence", is_same_order_by_character),
    **dict.fromkeys((202, 300, 1919810, 1919811, 1919812), ("Exact String", is_same_choice)),
}
