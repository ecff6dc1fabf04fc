"""Numbers: reading the one a reply states, and comparing it with the gold."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eyechart.registry import scorer
from eyechart.score.abstain import abstains
from eyechart.score.fold import lower
from eyechart.score.numerals import Number, chinese_number, fold_numbers, numbers_in, parse_number, unwrapped
from eyechart.score.statement import answer_start, sentence_end, statements, whole_json
from eyechart.score.verdict import Reading, verdict
from eyechart.types import Reply, Sample, Score

TOLERANCE = 1e-9  # relative: 0.1 + 0.2 is 0.3, and nothing else is forgiven
MAX_NUMBERS = 2_000  # a reply with more numbers than this states none of them
MAX_PLAIN_CHARS = 20_000  # nor is the only number of so long a reply its answer

_CLAUSE_END = re.compile(
    r"[,;(（，；。、]|\b(?:because|since|as|which|with|from|based|after|where|if|so)\b", re.IGNORECASE
)
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence|in total|total(?: of| is|:)?|altogether|in all|overall|sum is|gives|"
    r"equals|makes)\b"
    r"|因此|所以|总共|一共|共有|共计|合计"
)


def number(prediction: str, golds: Sequence[str], *, tolerance: float = TOLERANCE) -> float:
    """1 when the number the reply states equals a gold, within the relative `tolerance`; else 0.

    A percent sign on one side only may be read either way: ``50%`` meets both ``50`` and ``0.5``.

    >>> number("The answer is 1,234.50.", ["1234.5"]), number("three dogs", ["3"]), number("2 or 3", ["3"])
    (1.0, 1.0, 0.0)
    >>> number("104", ["100"], tolerance=0.05)
    1.0
    """
    found = _find(fold_numbers(prediction))[1]
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
    return _find(fold_numbers(text))[0]


@scorer("number", version="1")
def score_number(reply: Reply, sample: Sample) -> Score:
    """The number the reply states, against golds that are numbers."""
    reading, found = _find(fold_numbers(reply.text))
    golds = [gold for text in sample.golds if (gold := parse_number(text))]
    if sample.golds and not golds:
        return Score(outcome="unscored", value=0.0, read=reading.answer, route="number:gold-not-a-number")
    hit = found is not None and any(_equal(found, gold, TOLERANCE) for gold in golds)
    return verdict(reply, sample, reading, float(hit))


def _equal(read: Number, gold: Number, tolerance: float) -> bool:
    pairs = [(read.value, gold.value)]
    if (read.value != read.face) != (gold.value != gold.face):
        pairs.append((read.face, gold.face))
    return any(abs(a - b) <= tolerance * abs(b) for a, b in pairs)


def _find(text: str) -> tuple[Reading, Number | None]:
    begin = answer_start(text)
    start, end = unwrapped(text, begin)
    if start >= end:
        return Reading(None, "number:empty"), None
    value = whole_json(text, begin)
    if (
        isinstance(value, int | float | str)
        and not isinstance(value, bool)
        and (inner := parse_number(str(value)))
    ):
        return _reading(inner, "json", (begin, len(text))), inner
    if whole := parse_number(text[start:end]):
        return _reading(whole, "whole", (start, end)), whole
    for rule, places in (("", _statements(text, begin)), ("concluded", _conclusions(text, begin))):
        for kind, first, last in places:
            found = _stated_in(text, first, last)
            if found == "several":
                return Reading(None, "number:ambiguous", (first, last)), None
            if isinstance(found, Number):
                return _reading(found, rule or kind, found.span), found
    return _only_one(text, start, end)


def _statements(text: str, begin: int) -> Iterator[tuple[str, int, int]]:
    return ((place.kind, place.start, place.end) for place in statements(text, begin))


def _conclusions(text: str, begin: int) -> Iterator[tuple[str, int, int]]:
    """The last "so ...", "in total ...", "= ..."."""
    cues = [cue.end() for cue in _CONCLUSION.finditer(lower(text), begin)]
    equals = text.rfind("=", begin)
    if equals >= 0:
        cues.append(equals + 1)
    if cues:
        last = max(cues)
        yield "concluded", last, sentence_end(text, last)


def _stated_in(text: str, start: int, end: int) -> Number | str | None:
    """The one number of a statement: that of its first clause, or what an equation comes to."""
    equals = text.rfind("=", start, end)
    if equals >= 0 and len(result := _distinct(text, equals + 1, end)) == 1:
        return result[0]
    end = equals if equals >= 0 else end
    start, end = unwrapped(text, start, end)
    found = list(numbers_in(text, start, end))
    if not found:
        return chinese_number(text, start, end)
    clause = _CLAUSE_END.search(text, found[0].span[1], end)
    values = _distinct(text, start, clause.start() if clause else end)
    return values[0] if len(values) == 1 else "several"


def _only_one(text: str, start: int, end: int) -> tuple[Reading, Number | None]:
    values = _distinct(text, start, min(end, start + MAX_PLAIN_CHARS))
    if len(values) > 1:
        return Reading(None, "number:ambiguous"), None
    if not values or end - start > MAX_PLAIN_CHARS or abstains(text[start:end]):
        return Reading(None, "number:unread"), None
    return _reading(values[0], "only-number", values[0].span), values[0]


def _distinct(text: str, start: int, end: int) -> list[Number]:
    by_value: dict[float, Number] = {}
    for count, found in enumerate(numbers_in(text, start, end)):
        by_value.setdefault(found.value, found)
        if len(by_value) > 8 or count > MAX_NUMBERS:
            break
    return list(by_value.values())


def _reading(found: Number, rule: str, span: tuple[int, int]) -> Reading:
    return Reading(f"{found.value:.15g}", f"number:{rule}", span)
