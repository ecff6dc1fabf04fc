"""Labelled values, from wherever they were read, and what can be asked about them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eyechart.model.baseline.ask import Question, stem, split_words
from eyechart.model.baseline.base import Answer
from eyechart.model.baseline.options import match_option, read_number, squeeze


@dataclass(frozen=True, slots=True)
class Fact:
    """One value with its label: a bar, a slice, a cell, a price."""

    label: str
    text: str  # as printed, or as measured; empty where only the order is known
    value: float | None = None  # as a number to compare by; a time in minutes
    series: str = ""  # the column, or the legend's key
    source: str = ""  # "bars", "table", ...
    colour: str = ""  # of the bar or slice
    error: float = 0.0  # how far a measured value may be off


_DIFFERS = re.compile(r"\bdifference\b|\b(?:more|less|fewer|higher|lower|longer|taller)\b.*\bthan\b")
_SUMS = re.compile(r"\btogether\b|\bsum\b|\bcombined\b|\bin total\b|\bin all\b|\btotal of\b")
_COMBINES = re.compile(f"{_DIFFERS.pattern}|{_SUMS.pattern}")
_BEYOND = re.compile(
    r"\b(?:(?P<up>more|higher|taller|above|over|larger|longer|greater)"
    r"|less|fewer|lower|shorter|below|under|smaller)\b(?: than)? (?P<limit>\d+(?:\.\d+)?)"
)
_SMALL_WORDS = frozenset(
    {"a", "an", "the", "to", "of", "in", "on", "at", "by", "is", "it", "for", "and", "or", "no"}
)


def measure_mention(label: str, question: Question) -> float:
    """How much of a label the question says, 0 to 1.

    >>> from eyechart.model.baseline.ask import read_question
    >>> measure_mention("Apples 1 kg", read_question("What do the apples cost?")) > 0.5
    True
    """
    words = tuple(word for word in split_words(label) if word not in _SMALL_WORDS)
    if not words:
        return 0.0
    said = {stem(token) for token in question.tokens}
    joined = squeeze(" ".join(question.tokens))
    if len(words) > 1 and len(squeeze(label)) > 3 and squeeze(label) in joined:
        return 1.0
    length = sum(len(word) for word in words if not word.isdigit()) or sum(map(len, words))
    hit = sum(len(w) for w in words if stem(w) in said and (len(w) > 2 or len(words) == 1))
    return min(1.0, hit / length)


def answer_from_facts(question: Question, facts: Sequence[Fact], choices: Mapping[str, str]) -> Answer | None:
    """Answer from labelled values: the largest, the value of one, a difference, a sum, a count."""
    facts = _of_series(question, facts)
    if len({fact.series for fact in facts}) > 1:
        return _cell(question, facts, choices)
    named = [fact for fact in facts if measure_mention(fact.label, question) >= 0.5]
    for rule in (_compare, _combine, _count_beyond, _extreme, _value):
        answer = rule(question, facts, named, choices)
        if answer is not None:
            return answer
    return None


def _of_series(question: Question, facts: Sequence[Fact]) -> list[Fact]:
    scores = {fact.series: measure_mention(fact.series, question) for fact in facts if fact.series}
    best = max(scores.values(), default=0.0)
    if best < 0.5:
        return list(facts)
    return [fact for fact in facts if scores.get(fact.series, 0.0) == best]


def _fact_evidence(rule: str, facts: Sequence[Fact]) -> dict[str, object]:
    source = facts[0].source if facts else ""
    return {"rule": rule, "read as": source, "values": [[f.label, f.series, f.text] for f in facts[:12]]}


def _cell(question: Question, facts: Sequence[Fact], choices: Mapping[str, str]) -> Answer | None:
    """Several columns and none named: the row's one cell that can be meant, or the column of a named cell."""
    if question.subject.extreme or (question.asks_count and not choices):
        return None
    rows = [fact for fact in facts if measure_mention(fact.label, question) >= 0.5]
    if "time" in question.tokens or "hour" in question.tokens or "when" in question.tokens:
        rows = [fact for fact in rows if re.fullmatch(r"\d{1,2}[:.]\d\d", fact.text)]
    if choices:
        rows = [fact for fact in rows if match_option(fact.text, choices)]
    if len(rows) == 1:
        return Answer(rows[0].text, _fact_evidence("the named row's fitting cell", rows))
    cells = [fact for fact in facts if measure_mention(fact.text, question) >= 1]
    columns = {fact.series for fact in cells if not choices or match_option(fact.series, choices)}
    if len(columns) == 1 and choices:
        return Answer(columns.pop(), _fact_evidence("column of the named cell", cells))
    return None


def _numbers(facts: Sequence[Fact]) -> list[tuple[float, Fact]]:
    return [(fact.value, fact) for fact in facts if fact.value is not None]


def _format(value: float, like: Sequence[Fact]) -> str:
    """A computed number with as many decimals as those it came from."""
    decimals = max((len(m[1]) for f in like if (m := re.search(r"\d\.(\d+)", f.text))), default=0)
    return f"{value:.{decimals}f}"


def _compare(
    question: Question, _: Sequence[Fact], named: Sequence[Fact], __: Mapping[str, str]
) -> Answer | None:
    if not question.is_yes_no or len(_numbers(named)) != 2 or not question.subject.extreme:
        return None
    ordered = sorted(_numbers(named), key=lambda item: _said_at(item[1], question))
    first, second = ordered[0][0], ordered[1][0]
    holds = (first - second) * question.subject.extreme > 0
    return Answer("yes" if holds else "no", _fact_evidence("compared", named))


def _said_at(fact: Fact, question: Question) -> int:
    stems = [stem(token) for token in question.tokens]
    return min((stems.index(stem(w)) for w in split_words(fact.label) if stem(w) in stems), default=len(stems))


def _combine(
    question: Question, _: Sequence[Fact], named: Sequence[Fact], __: Mapping[str, str]
) -> Answer | None:
    values = [value for value, fact in _numbers(named) if fact.text]
    if len(values) < 2 or question.is_yes_no:
        return None
    if _DIFFERS.search(question.text) and len(values) == 2:
        return Answer(_format(abs(values[0] - values[1]), named), _fact_evidence("difference", named))
    if _SUMS.search(question.text):
        return Answer(_format(sum(values), named), _fact_evidence("sum", named))
    return None


def _count_beyond(
    question: Question, facts: Sequence[Fact], _: Sequence[Fact], __: Mapping[str, str]
) -> Answer | None:
    match = _BEYOND.search(question.text)
    if not (question.asks_count and match) or not all(fact.text for fact in facts):
        return None
    limit, upward = float(match["limit"]), match["up"] is not None
    beyond = [fact for value, fact in _numbers(facts) if (value > limit if upward else value < limit)]
    return Answer(str(len(beyond)), _fact_evidence(f"counted those beyond {limit:g}", facts))


def _extreme(
    question: Question, facts: Sequence[Fact], _: Sequence[Fact], choices: Mapping[str, str]
) -> Answer | None:
    values = _numbers(facts)
    if not question.subject.extreme or len(values) < 2 or question.is_yes_no or question.asks_count:
        return None
    if re.search(r"\bthan\b", question.text):
        return None
    ordered = sorted(values, key=lambda item: -question.subject.extreme * item[0])
    rank = question.subject.rank
    if rank > len(ordered) or (rank < len(ordered) and ordered[rank - 1][0] == ordered[rank][0]):
        return None
    fact = ordered[rank - 1][1]
    if not fact.label:
        return None
    wants_value = re.match(
        r"what (?:is|was) the (?:\w+ )?(?:value|price|number|amount|height|maximum|minimum)", question.text
    )
    if wants_value and not fact.text:
        return None
    text = fact.text if wants_value and not (choices and match_option(fact.label, choices)) else fact.label
    which = "largest" if question.subject.extreme > 0 else "smallest"
    return Answer(text, _fact_evidence(f"{which}, rank {rank}", [fact, *(f for _, f in ordered if f is not fact)]))


def _value(
    question: Question, facts: Sequence[Fact], named: Sequence[Fact], choices: Mapping[str, str]
) -> Answer | None:
    if (
        question.is_yes_no
        or question.asks_colour
        or question.subject.extreme
        or _COMBINES.search(question.text)
    ):
        return None
    best = max((measure_mention(fact.label, question) for fact in named), default=0.0)
    meant = [fact for fact in named if measure_mention(fact.label, question) == best]
    if len(meant) == 1 and meant[0].text and (not choices or match_option(meant[0].text, choices)):
        return Answer(meant[0].text, _fact_evidence("the value of the named label", meant))
    if len(meant) == 1 and choices and (near := _within_error(meant[0], choices)):
        return Answer(near, _fact_evidence("the one option within the error of what was measured", meant))
    # The other way round: which label has the named value?
    valued = [
        f
        for f in facts
        if squeeze(f.text) in {squeeze(t) for t in question.tokens} and len(squeeze(f.text)) > 1
    ]
    if len(valued) == 1 and choices and match_option(valued[0].label, choices):
        return Answer(valued[0].label, _fact_evidence("the label of the named value", valued))
    return None


def _within_error(fact: Fact, choices: Mapping[str, str]) -> str:
    """The one option as near to a measured value as measuring allows, or nothing."""
    if fact.value is None or not fact.error:
        return ""
    value, error = fact.value, fact.error
    near = [
        text for text in choices.values() if (n := read_number(text)) is not None and abs(n - value) <= error
    ]
    return near[0] if len(near) == 1 else ""
