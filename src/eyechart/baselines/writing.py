"""Answers from the text in an image: receipts and tables; signs, names, numbers beside a word, options."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from eyechart.baselines import Answer
from eyechart.baselines.question import (
    COMBINES,
    Choices,
    Fact,
    ParsedQuestion,
    answer_from_facts,
    match_option,
    read_number,
    split_words,
    squeeze,
    stem,
)
from eyechart.baselines.sight import Box, Sight
from eyechart.baselines.things import find_meant

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


# -- Whatever is written

_TEXT = re.compile(r"\b(?:say|says|read|reads|written|text|inscription|spelled|word)\b")
_WRITTEN_THING = re.compile(r"\b(?:letter|number|digit|word|character|name|symbol)\b")
_ON_PAPER = re.compile(
    r"\bon the (?:receipt|bill|sign|menu|list|table|label|ticket|poster|page|chart|board)\b|\bword\b"
)
_NAME = re.compile(r"\bname\b|\btitle\b|\bheadline\b|\bcalled\b|\blargest (?:text|word)")
_NUMBER = r"\d+(?:[.,:]\d+)*"
_WANTS_NUMBER = re.compile(
    r"\bhow (?:many|much|far|tall|long|old|high|fast|wide|big|deep|heavy)\b"
    r"|\bwh(?:at|ich) (?:time|number|year|hour)\b"
    r"|\bnumber\b|\bprice\b|\bcost\b|\blimit\b|\btime\b|\bwhen\b|\byear\b|\bvalue\b|\bamount\b|\bdistance\b"
)


def answer_from_writing(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """Answer from the text in the image."""
    if not sight.words or question.asks_colour:
        return None
    if question.is_yes_no:
        return _presence(question, sight)
    rules = (_all_text, _placed_word, _name, _number_beside, _option_read)
    for rule in rules:
        if answer := rule(question, sight, choices):
            return answer
    return None


def _evidence(rule: str, words: Sequence[Box]) -> dict[str, object]:
    return {"rule": rule, "read": [word.text for word in words[:20]]}


def _presence(question: ParsedQuestion, sight: Sight) -> Answer | None:
    """Answer whether a word is there: "is there a saw on the receipt?"."""
    match = re.search(
        r"(?:is there|are there|does .* (?:say|list|show)|is)(?: an?| any| the)? (.*)", question.text
    )
    if question.relation or not _ON_PAPER.search(question.text) or not match:
        return None
    wanted = set(map(stem, split_words(_ON_PAPER.sub("", match[1]))))
    read = {stem(token) for word in sight.words for token in split_words(word.text)}
    answer = "yes" if (wanted <= read) != question.is_negated else "no"
    return Answer(answer, _evidence("looked for the words", sight.words)) if wanted else None


def _all_text(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    if not _TEXT.search(question.text) or question.relation or question.asks_count:
        return None
    text = " ".join(word.text for row in group_rows(sight.words) for word in row)
    if match_option(text, choices) is None if choices else question.subject.places:
        return None
    return Answer(text, _evidence("all text, top to bottom", sight.words))


def _placed_word(question: ParsedQuestion, sight: Sight, _: Choices) -> Answer | None:
    """Find the letter in the middle, the word below another."""
    if not _WRITTEN_THING.search(question.text) or question.asks_count or len(sight.words) < 2:
        return None
    where, anchors = " ".join(question.subject.places), list[Box]()
    if question.anchor is not None:
        wanted = squeeze(question.anchor.text.removeprefix(" the").strip(" ?"))
        anchors = [word for word in sight.words if squeeze(word.text) == wanted]
        where = f"{question.relation} {wanted}"
    found = find_meant(question, sight, sight.words, anchors) if where else ()
    return Answer(found[0].text, _evidence(f"word at {where}", found)) if len(found) == 1 else None


def _name(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """A name, a title, a headline: what is written largest."""
    largest = max(sight.words, key=lambda word: word.height)
    if not _NAME.search(question.text) or question.asks_count:
        return None
    return Answer(largest.text, _evidence("largest writing", [largest]))


def _number_beside(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """The number after the words the question names: in their line, else just right of or below them."""
    is_combined = question.subject.extreme or COMBINES.search(question.text)
    if not _WANTS_NUMBER.search(question.text) or question.relation or is_combined:
        return None
    said = {stem(token) for token in split_words(question.text) if len(token) > 2} - {"number", "tim"}
    found = []
    for word in sight.words:
        hits = [m for m in re.finditer(r"[^\W\d_]{3,}", word.text) if stem(m[0]) in said]
        number = hits and (re.search(_NUMBER, word.text[hits[0].end() :]) or re.search(_NUMBER, word.text))
        if hits and (text := number[0] if number else _next_number(word, sight.words)):
            found.append((len(hits), text, word))
    if not found:
        return None
    _, text, word = max(found, key=lambda one: one[0])
    return Answer(text, _evidence("number beside the named words", [word]))


def _next_number(word: Box, words: Sequence[Box]) -> str:
    near = []
    for other in words:
        across, down = abs(other.cx - word.cx), abs(other.cy - word.cy)
        is_right = down < 0.6 * word.height and other.x0 > word.x0
        is_below = 0 < other.y0 - word.y0 < 2.5 * max(word.height, other.height)
        is_near = is_right or (is_below and across < max(word.width, other.width) / 2)
        if is_near and re.fullmatch(rf"\W*{_NUMBER}\W*\w{{0,3}}", other.text):
            near.append((across + down, other.text))
    return min(near, default=(0, ""))[1]


def _option_read(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """The only option that is written in the image."""
    if question.subject.extreme or question.asks_count or question.relation:
        return None
    read = {
        option: word
        for option in choices.values()
        for word in sight.words
        if f" {' '.join(split_words(option))} " in f" {' '.join(split_words(word.text))} "
        or squeeze(word.text) == squeeze(option)
    }
    [(option, word)] = read.items() if len(read) == 1 else [("", None)]
    return Answer(option, _evidence("the only option that is read", [word])) if word else None
