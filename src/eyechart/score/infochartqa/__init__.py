"""InfoChartQA's scoring: one rule for each question type, with the verdicts of the authors' checker.

Paper: https://arxiv.org/abs/2505.19028. Parity: CoolDawnAnt/InfoChartQA at 07b5bf6; the vectors are
tests/golden/infochartqa.jsonl.
All its quirks are kept; `infochartqa-strict` is the scorer without them. In two places parity ends: where
the authors' evaluation stops with an exception, and where it draws a random number, the reply is wrong here
and the score's detail says so (``official: aborts``, ``official: random``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from eyechart.registry import scorer
from eyechart.score.infochartqa.letters import read_gold, read_reply
from eyechart.score.infochartqa.text import same_order, same_order_by_character, same_set, same_text
from eyechart.score.infochartqa.value import (
    EXACT,
    VAGUE,
    OfficialCrash,
    has_digit,
    looks_numeric,
    read_amount,
    same_amount,
)
from eyechart.score.verdict import official_verdict
from eyechart.types import Reply, Sample, Score

Method = Literal[
    "Exact Numeric", "Vague Numeric", "Exact String", "Vague String", "Vague Unordered Sequence",
    "Vague Ordered Sequence",
]  # fmt: skip
Oddity = Literal["", "aborts", "random"]

LEFT_OUT = "Error!"  # what the authors' client writes for a call that failed; it is in no total
DEFAULT_TYPE = 1  # of an entry that names none


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the authors' checker says; `oddity` where it would say nothing, or either."""

    method: Method
    correct: bool
    oddity: Oddity = ""


def check(answer: object, response: object, qtype: object) -> tuple[Method, bool]:
    """The name of the rule and its verdict on any two JSON values. Never raises.

    >>> check("2020", "It was 2018", 72), check("A,C", "C,A", 202), check("5%", "15%", 1)
    (('Exact Numeric', True), ('Exact String', True), ('Vague String', True))
    """
    found = verdict_on(answer, response, qtype)
    return found.method, found.correct


def verdict_on(answer: object, response: object, qtype: object) -> Verdict:
    """Like `check`, and whether the authors' code aborts or throws dice.

    >>> verdict_on("10-15", "12", 72)
    Verdict(method='Exact Numeric', correct=False, oddity='aborts')
    """
    gold, reply = as_official_text(answer), reply_text(response)
    rule = RULES[qtype] if is_known(qtype) else _exact_value
    return rule(gold, reply)


def is_known(qtype: object) -> bool:
    """Whether a rule of its own goes with a type.

    >>> is_known(72.0), is_known("72"), is_known(31)
    (True, False, False)
    """
    return isinstance(qtype, int | float) and qtype in RULES


def as_official_text(value: object) -> str:
    """A gold as the checker sees it: null is the text None, a list its Python form."""
    try:
        return value if isinstance(value, str) else str(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists without end
        return ""


def reply_text(value: object) -> str:
    """A reply as the checker sees it: as text, no-break spaces as spaces."""
    return as_official_text(value).replace("\u00a0", " ")


def type_of(meta: Mapping[str, Any]) -> object:
    """The type of a question: as a response file holds it, or as data do, where it may be a text."""
    for name in ("qtype", "qid"):
        if name in meta:
            return meta[name]
    value = meta.get("question_type_id", DEFAULT_TYPE)
    return int(value) if isinstance(value, str) and value.strip().lstrip("+-").isdecimal() else value


@scorer("infochartqa", version="1", parity="official")
def infochartqa(reply: Reply, sample: Sample) -> Score:
    """The verdict of InfoChartQA's own checker for the question's type."""
    if reply.text == LEFT_OUT:
        detail = {"official": "left out"}
        return Score(outcome="unscored", value=0.0, route="infochartqa:left-out", detail=detail)
    qtype = type_of(sample.meta)
    found = Verdict("Exact Numeric", correct=False)
    for gold in sample.golds:
        found = verdict_on(gold, reply.text, qtype)
        if found.correct:
            break
    read = _read(reply_text(reply.text), sample.golds, found.method, qtype)
    route = "infochartqa:" + found.method.lower().replace(" ", "-")
    score = official_verdict(reply, sample, value=float(found.correct), read=read, route=route)
    detail = {"official": found.oddity} if found.oddity else {}
    if not is_known(qtype):
        detail["type"] = f"{str(qtype)[:40]} is unknown: scored as an exact value"
    return replace(score, detail=detail) if detail else score


def _read(reply: str, golds: tuple[str, ...], method: Method, qtype: object) -> str | None:
    """What the rule looks at: the last number, the letters, or all of the reply."""
    if method.endswith("Numeric") and any(map(has_digit, golds)):
        amount = read_amount(reply.replace("\n", " "))
        if amount.value is None:
            return None
        return f"{amount.value:.15g}" + (f" x {amount.unit:g}" if amount.unit != 1 else "")
    if RULES.get(qtype if isinstance(qtype, int | float) else None) is _choice:
        return ",".join(sorted(read_reply(reply).letters)) or None
    return reply.strip() or None


def _exact_value(gold: str, reply: str) -> Verdict:
    return _value("Exact Numeric", gold, reply, EXACT)


def _vague_value(gold: str, reply: str) -> Verdict:
    return _value("Vague Numeric", gold, reply, VAGUE)


def _value(method: Method, gold: str, reply: str, tolerance: float) -> Verdict:
    if not has_digit(gold):
        return Verdict(method, same_text(gold, reply))
    try:
        return Verdict(method, same_amount(gold, reply, tolerance))
    except OfficialCrash:
        return Verdict(method, correct=False, oddity="aborts")


def _value_or_string(gold: str, reply: str) -> Verdict:
    return _exact_value(gold, reply) if looks_numeric(gold) else _fuzzy_string(gold, reply)


def _contained(gold: str, reply: str) -> Verdict:
    if gold.lower() in reply.lower():
        return Verdict("Exact String", correct=True)
    return _value("Exact String", gold, reply, EXACT)


def _fuzzy_string(gold: str, reply: str) -> Verdict:
    return Verdict("Vague String", same_text(gold, reply))


def _unordered(gold: str, reply: str) -> Verdict:
    return Verdict("Vague Unordered Sequence", same_set(gold, reply))


def _ordered(gold: str, reply: str) -> Verdict:
    return Verdict("Vague Ordered Sequence", same_order(gold, reply))


def _ordered_by_character(gold: str, reply: str) -> Verdict:
    return Verdict("Vague Ordered Sequence", same_order_by_character(gold, reply))


def _choice(gold: str, reply: str) -> Verdict:
    wanted, said = read_gold(gold), read_reply(reply)
    is_same = wanted.letters == said.letters
    # Unread on both sides: two random tokens out of 256, the same one time in so many.
    if is_same and wanted.is_partly_unread and said.is_partly_unread:
        return Verdict("Exact String", correct=False, oddity="random")
    return Verdict("Exact String", is_same and not wanted.is_partly_unread and not said.is_partly_unread)


Rule = Callable[[str, str], Verdict]

# Ids are compared as numbers: 72.0 is 72, but the text "72" is no known type. Any other id: an exact value.
RULES: Mapping[object, Rule] = {
    **dict.fromkeys((1, 2, 101, 102), _value_or_string),
    **dict.fromkeys((54, 72), _exact_value),
    **dict.fromkeys((10, 11, 12, 50, 51, 52, 110), _vague_value),
    **dict.fromkeys((13, 14, 15, 103, 113), _contained),
    **dict.fromkeys((40, 41, 42, 43, 44), _unordered),
    **dict.fromkeys((60, 61, 70, 80, 90), _fuzzy_string),
    71: _ordered,
    30: _ordered_by_character,
    **dict.fromkeys((202, 300, 1919810, 1919811, 1919812), _choice),
}
