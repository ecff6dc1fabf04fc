"""Labelled values, from wherever they were read, and what they answer; receipts and tables of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from eyechart.baselines import Answer
from eyechart.baselines.question import (
    Choices,
    ParsedQuestion,
    match_option,
    measure_mention,
    read_number,
    split_words,
    stem,
)
from eyechart.baselines.sight import Box, Sight


@dataclass(frozen=True, slots=True)
class Fact:
    """One value with its label: a bar, a slice, a cell, a price."""

    label: str
    text: str  # as printed, or as measured; empty where only the order is known
    value: float | None = None  # as a number to compare by; a time in minutes
    series: str = ""  # the column, or the legend's key
    source: str = ""  # "bars", "table", ...
    colour: str = ""  # of the bar or slice


Facts = Sequence[Fact]

_DIFFERS = re.compile(r"\bdifference\b|\b(?:more|less|fewer|higher|lower|longer|taller)\b.*\bthan\b")
_ADDS = re.compile(r"\btogether\b|\bsum\b|\bcombined\b|\bin total\b|\bin all\b|\btotal of\b")
COMBINES = re.compile(f"{_DIFFERS.pattern}|{_ADDS.pattern}")
_BEYOND = re.compile(
    r"\b(?:(?P<up>more|higher|taller|above|over|larger|longer|greater)"
    r"|less|fewer|lower|shorter|below|under|smaller)\b(?: than)? (?P<limit>\d+(?:\.\d+)?)"
)


def answer_from_facts(question: ParsedQuestion, facts: Facts, choices: Choices) -> Answer | None:
    """Answer from labelled values: the largest, the value of one, a difference, a sum, a count."""
    said = {fact.series: measure_mention(fact.series, question) for fact in facts if fact.series}
    if (best := max(said.values(), default=0.0)) >= 0.5:
        facts = [fact for fact in facts if said.get(fact.series) == best]
    mentions = [(measure_mention(fact.label, question), fact) for fact in facts]
    named = [fact for mention, fact in mentions if mention >= 0.5]
    if len({fact.series for fact in facts}) > 1:
        return None if question.subject.extreme else _cell(question, facts, named, choices)
    if (answer := _combine(question, named) or _count_beyond(question, facts)) is not None:
        return answer
    if question.subject.extreme and not question.is_yes_no:
        return _extreme(question, facts)
    if not named or question.is_yes_no or question.asks_colour or COMBINES.search(question.text):
        return None
    highest = max(mention for mention, _ in mentions)
    meant = [fact for mention, fact in mentions if mention == highest]
    if len(meant) > 1 or not meant[0].text or (choices and not match_option(meant[0].text, choices)):
        return None
    return Answer(meant[0].text, _evidence("the value of the named label", meant))


def _evidence(rule: str, facts: Facts) -> dict[str, object]:
    source = facts[0].source if facts else ""
    return {"rule": rule, "read as": source, "values": [[f.label, f.series, f.text] for f in facts[:12]]}


def _cell(question: ParsedQuestion, facts: Facts, named: Facts, choices: Choices) -> Answer | None:
    """Several columns and none named: the row's one cell that can be meant, or the column of a named cell."""
    if question.has("time", "hour", "when"):
        named = [fact for fact in named if re.fullmatch(r"\d{1,2}[:.]\d\d", fact.text)]
    if choices:
        named = [fact for fact in named if match_option(fact.text, choices)]
    if len(named) == 1:
        return Answer(named[0].text, _evidence("the named row's fitting cell", named))
    cells = [fact for fact in facts if measure_mention(fact.text, question) >= 1]
    columns = {fact.series for fact in cells if match_option(fact.series, choices)}
    return Answer(columns.pop(), _evidence("column of the named cell", cells)) if len(columns) == 1 else None


def _combine(question: ParsedQuestion, named: Facts) -> Answer | None:
    """Two values compared, their difference, or the sum of several."""
    values = [fact.value for fact in named if fact.value is not None]
    if question.is_yes_no:
        if not question.subject.extreme or not len(values) == len(named) == 2:
            return None
        stems = " ".join(map(stem, split_words(question.text)))
        first, second = (stems.find(stem(split_words(fact.label)[0])) for fact in named)
        holds = (values[0] - values[1]) * question.subject.extreme * (second - first) > 0
        return Answer("yes" if holds else "no", _evidence("compared", named))
    if len(values) < 2 or not all(fact.text for fact in named):
        return None
    # With as many decimals as the values have.
    decimals = max((len(m[1]) for fact in named if (m := re.search(r"\d\.(\d+)", fact.text))), default=0)
    if _DIFFERS.search(question.text) and len(values) == 2:
        return Answer(f"{abs(values[0] - values[1]):.{decimals}f}", _evidence("difference", named))
    if _ADDS.search(question.text):
        return Answer(f"{sum(values):.{decimals}f}", _evidence("sum", named))
    return None


def _count_beyond(question: ParsedQuestion, facts: Facts) -> Answer | None:
    match = _BEYOND.search(question.text)
    if not (question.asks_count and match) or not all(fact.text for fact in facts):
        return None
    limit, sign = float(match["limit"]), 1 if match["up"] else -1
    beyond = [fact for fact in facts if fact.value is not None and sign * (fact.value - limit) > 0]
    return Answer(str(len(beyond)), _evidence(f"counted those beyond {limit:g}", facts))


def _extreme(question: ParsedQuestion, facts: Facts) -> Answer | None:
    extreme, rank = question.subject.extreme, question.subject.rank
    values = sorted((fact.value for fact in facts if fact.value is not None), key=lambda v: -extreme * v)
    if question.asks_count or question.has("than") or rank > len(values):
        return None
    found = [fact for fact in facts if fact.value == values[rank - 1]]
    if len(found) > 1 or not found[0].label:
        return None
    rule = f"{'largest' if extreme > 0 else 'smallest'}, rank {rank}"
    return Answer(found[0].label, _evidence(rule, facts))


# -- Receipts and tables

_TOTALS = re.compile(r"total|sum|cash|change|card|vat|tax|visa|paid|due|balance|tip|amount|tender", re.I)
_PRICE = re.compile(r"^[^\w-]*\d+[.,]\d\d\W*\w{0,3}$")


def answer_from_table(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """Answer from a table or a receipt, if there is one."""
    lines = _read_receipt(sight.words)
    if question.subject.extreme or "how many" in question.text:
        lines = [fact for fact in lines if not _TOTALS.search(fact.label)]
    for facts in (lines, *_read_table(sight.words)):
        if facts and (answer := answer_from_facts(question, facts, choices)) is not None:
            return answer
    return None


def group_rows(words: Sequence[Box]) -> list[list[Box]]:
    """Rows of words, from top to bottom and from left to right."""
    rows: list[list[Box]] = []
    for word in sorted(words, key=lambda word: word.cy):
        if rows and abs(word.cy - rows[-1][-1].cy) < 0.6 * min(word.height, rows[-1][-1].height):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word.x0) for row in rows]


def _read_receipt(words: Sequence[Box]) -> list[Fact]:
    """Lines of a name and, at the right, a price; at least two of them, the prices in one column."""
    facts, ends = [], []
    for row in group_rows(words):
        *words_before, price = row
        if words_before and _PRICE.match(price.text):
            label = " ".join(word.text for word in words_before)
            facts.append(Fact(label, price.text, read_number(price.text), source="receipt"))
            ends.append(price.x1)
    is_column = len(facts) > 1 and max(ends) - min(ends) <= 0.15 * max(word.x1 for word in words)
    return facts if is_column else []


def _read_table(words: Sequence[Box]) -> list[list[Fact]]:
    """The cells of a table, once for each column that can name the rows."""
    rows = group_rows(words)
    n_cells = [len(row) for row in rows]
    are_alike = (
        min(three) >= 2 and max(three) - 1 <= three[0] <= min(three) + 1
        for three in zip(n_cells, n_cells[1:], n_cells[2:], strict=False)
    )
    start = next((number for number, is_table in enumerate(are_alike) if is_table), None)
    if start is None:
        return []
    header = rows[start]
    body = [_into_columns(row, header) for row in rows[start + 1 :] if len(row) >= 2]
    # The first column names rows, and so does one without numbers.
    worded = (c for c in range(1, len(header)) if all(read_number(r[c]) is None for r in body if c in r))
    return [
        [
            Fact(row[naming], text, read_number(text), series=header[column].text, source="table")
            for row in body
            if naming in row
            for column, text in row.items()
            if column != naming
        ]
        for naming in (0, *worded)
    ]


_SIDES: Sequence[Callable[[Box], float]] = (lambda b: b.x0, lambda b: b.x1, lambda b: b.cx)


def _into_columns(row: list[Box], header: list[Box]) -> dict[int, str]:
    """Each word under the header whose left edge, right edge or centre is nearest to its own."""
    cells: dict[int, str] = {}
    for word in row:
        off = [min(abs(side(word) - side(head)) for side in _SIDES) for head in header]
        column = off.index(min(off))
        cells[column] = f"{cells[column]} {word.text}" if column in cells else word.text
    return cells
