"""Answers from the text in an image: tables and receipts, then signs, names, numbers beside a word."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from eyechart.baselines import Answer
from eyechart.baselines.question import (
    COMBINES,
    Choices,
    Fact,
    ParsedQuestion,
    Phrase,
    answer_from_facts,
    match_option,
    measure_mention,
    read_number,
    split_words,
    squeeze,
    stem,
)
from eyechart.baselines.sight import Box, Sight

_SUMS = re.compile(
    r"total|sum|cash|change|card|vat|tax|visa|paid|due|balance|tip|subtotal|amount|tender", re.I
)
_PRICE = re.compile(r"^[^\w-]*\d+[.,]\d\d\W*\w{0,3}$")


def group_rows(words: Sequence[Box]) -> list[list[Box]]:
    """Rows of words, from top to bottom and from left to right."""
    rows: list[list[Box]] = []
    for word in sorted(words, key=lambda word: word.cy):
        if rows and abs(word.cy - rows[-1][-1].cy) < 0.6 * min(word.height, rows[-1][-1].height):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word.x0) for row in rows]


def parse_value(text: str) -> float | None:
    """A number to compare by: times count in minutes.

    >>> parse_value("08:15"), parse_value("148 m"), parse_value("Norwood")
    (495.0, 148.0, None)
    """
    if match := re.fullmatch(r"(\d{1,2}):(\d\d)(?:\s*([ap])\.?m\.?)?", text.strip(), re.I):
        hours = int(match[1]) % 12 + 12 * (match[3].lower() == "p") if match[3] else int(match[1])
        return hours * 60.0 + int(match[2])
    return read_number(text)


def answer_from_table(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """Answer from a table or a receipt, if there is one."""
    if facts := read_receipt(sight.words):
        if question.subject.extreme or "how many" in question.text:
            facts = [fact for fact in facts if not _SUMS.search(fact.label)]
        if (answer := answer_from_facts(question, facts, choices)) is not None:
            return answer
    for facts in read_table(sight.words, question):
        if (answer := answer_from_facts(question, facts, choices)) is not None:
            return answer
    return None


def read_receipt(words: Sequence[Box]) -> list[Fact]:
    """Lines of a name and, at the right, a price; at least two of them, the prices in one column."""
    facts, ends = [], []
    for row in group_rows(words):
        text = row[-1].text
        if len(row) == 1 and (match := re.match(r"^(.*\D)\s+(\d+[.,]\d\d)$", text)):
            label, price = match[1], match[2]
        elif len(row) >= 2 and _PRICE.match(text):
            label, price = " ".join(word.text for word in row[:-1]), text
        else:
            continue
        facts.append(Fact(label.strip(), price, read_number(price), source="receipt"))
        ends.append(row[-1].x1)
    if len(facts) < 2 or max(ends) - min(ends) > 0.15 * max(word.x1 for word in words):
        return []
    return facts


def read_table(words: Sequence[Box], question: ParsedQuestion) -> list[list[Fact]]:
    """The cells of a table, once for each column that can name the rows; the likeliest first."""
    rows = group_rows(words)
    start = next((i for i, row in enumerate(rows) if len(row) >= 2 and _has_rows_below(rows, i)), None)
    if start is None:
        return []
    header = rows[start]
    body = [_into_columns(row, header) for row in rows[start + 1 :] if len(row) >= 2]
    # The first column names rows, and so does one without numbers.
    worded = (c for c in range(1, len(header)) if all(parse_value(r[c]) is None for r in body if c in r))

    def fitness(column: int) -> tuple[int, int]:
        is_asked = re.search(rf"(?:which|what) {re.escape(header[column].text.casefold())}", question.text)
        names_row = any(measure_mention(row[column], question) >= 0.5 for row in body if column in row)
        return -bool(is_asked) - bool(names_row), column

    return [_facts(body, header, column) for column in sorted((0, *worded), key=fitness)]


def _has_rows_below(rows: list[list[Box]], start: int) -> bool:
    below = rows[start + 1 : start + 3]
    return len(below) == 2 and all(abs(len(row) - len(rows[start])) <= 1 and len(row) > 1 for row in below)


def _into_columns(row: list[Box], header: list[Box]) -> dict[int, str]:
    """Each word under the header whose left edge, right edge or centre is nearest to its own."""
    cells: dict[int, str] = {}
    for word in row:
        column = min(
            range(len(header)),
            key=lambda c: min(
                abs(word.x0 - header[c].x0), abs(word.x1 - header[c].x1), abs(word.cx - header[c].cx)
            ),
        )
        cells[column] = f"{cells[column]} {word.text}" if column in cells else word.text
    return cells


def _facts(body: list[dict[int, str]], header: list[Box], naming: int) -> list[Fact]:
    return [
        Fact(row[naming], text, parse_value(text), series=header[column].text, source="table")
        for row in body
        if naming in row
        for column, text in row.items()
        if column != naming
    ]


# -- Whatever is written: signs, names, numbers beside a word, options that can be read

_TEXT = re.compile(r"\b(?:say|says|read|reads|written|text|inscription|spelled|word)\b")
_WRITTEN_THING = re.compile(r"\b(?:letter|number|digit|word|character|name|symbol)\b")
_ON_PAPER = re.compile(
    r"\bon the (?:receipt|bill|sign|menu|list|table|label|ticket|poster|page|chart|board)\b|\bword\b"
)
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
    rules = (_presence, _all_text, _placed_word, _name, _number_beside, _option_read)
    return next(filter(None, (rule(question, sight, choices) for rule in rules)), None)


def _evidence(rule: str, words: Sequence[Box]) -> dict[str, object]:
    return {"rule": rule, "read": [word.text for word in words[:20]]}


def _presence(question: ParsedQuestion, sight: Sight, _: Choices) -> Answer | None:
    """Answer whether a word is there: "is there a saw on the receipt?"."""
    if not question.is_yes_no or question.relation or not _ON_PAPER.search(question.text):
        return None
    match = re.search(
        r"(?:is there|are there|does .* (?:say|list|show)|is)(?: an?| any| the)? (.*)", question.text
    )
    wanted = {stem(word) for word in split_words(_ON_PAPER.sub("", match[1]))} if match else set()
    read = {stem(token) for word in sight.words for token in split_words(word.text)}
    answer = "yes" if (wanted <= read) != question.is_negated else "no"
    return Answer(answer, _evidence("looked for the words", sight.words)) if wanted else None


def _all_text(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    if not _TEXT.search(question.text) or question.is_yes_no or question.relation or question.asks_count:
        return None
    text = " ".join(word.text for row in group_rows(sight.words) for word in row)
    if match_option(text, choices) is None if choices else question.subject.places:
        return None
    return Answer(text, _evidence("all text, top to bottom", sight.words))


def _placed_word(question: ParsedQuestion, sight: Sight, _: Choices) -> Answer | None:
    """Find the letter in the middle, the word below another."""
    if not _WRITTEN_THING.search(question.text) or question.is_yes_no or question.asks_count:
        return None
    words, places = list(sight.words), question.subject.places
    if question.relation in _AXES and question.anchor is not None:
        return _beside(question.relation, question.anchor, words)
    if not places or len(words) < 2:
        return None

    def aim(values: list[float], first: str, last: str) -> float:
        low, high = min(values), max(values)
        return low if first in places else high if last in places else (low + high) / 2

    target = aim([w.cx for w in words], "left", "right"), aim([w.cy for w in words], "top", "bottom")
    found = min(words, key=lambda w: math.dist((w.cx, w.cy), target))
    return Answer(found.text, _evidence(f"word at {' '.join(places)}", [found]))


_AXES = {"left": (-1, 0), "right": (1, 0), "above": (0, -1), "below": (0, 1)}


def _beside(relation: str, anchor: Phrase, words: Sequence[Box]) -> Answer | None:
    wanted = squeeze(anchor.text.removeprefix(" the").strip(" ?"))
    anchors = [word for word in words if squeeze(word.text) == wanted]
    if len(anchors) != 1:
        return None
    a, (across, down) = anchors[0], _AXES[relation]
    fits = []
    for word in words:
        dx, dy = word.cx - a.cx, word.cy - a.cy
        along, off = dx * across + dy * down, abs(dx * down + dy * across)
        if along > 1.5 * off:
            fits.append((along + 2 * off, word))
    if not fits:
        return None
    found = min(fits, key=lambda item: item[0])[1]
    return Answer(found.text, _evidence(f"nearest word {relation} of {a.text!r}", [found]))


def _name(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """A name, a title, a headline: what is written largest."""
    if not re.search(r"\bname\b|\btitle\b|\bheadline\b|\bcalled\b|\blargest (?:text|word)", question.text):
        return None
    largest = max(sight.words, key=lambda word: word.height)
    has_rivals = sum(word.height > 0.9 * largest.height for word in sight.words) > 1
    if question.is_yes_no or question.asks_count or has_rivals:
        return None
    if choices and match_option(largest.text, choices) is None:
        return None
    return Answer(largest.text, _evidence("largest writing", [largest]))


def _number_beside(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """The number after the words the question names: in their line, else just right of or below them."""
    if not _WANTS_NUMBER.search(question.text) or question.is_yes_no or question.relation:
        return None
    if question.subject.extreme or COMBINES.search(question.text):
        return None
    said = {stem(token) for token in question.tokens if len(token) > 2} - {stem("number"), stem("time")}
    found = []
    for word in sight.words:
        hits = [m for m in re.finditer(r"[^\W\d_]{3,}", word.text) if stem(m[0]) in said]
        number = hits and (re.search(_NUMBER, word.text[hits[0].end() :]) or re.search(_NUMBER, word.text))
        if hits and (text := number[0] if number else _next_number(word, sight.words)):
            found.append((len(hits), text, word))
    if not found:
        return None
    _, text, word = max(found, key=lambda one: one[0])
    if choices and match_option(text, choices) is None:
        return None
    return Answer(text, _evidence("number beside the named words", [word]))


def _next_number(word: Box, words: Sequence[Box]) -> str:
    near = []
    for other in words:
        if not re.fullmatch(rf"\W*{_NUMBER}\W*\w{{0,3}}", other.text):
            continue
        across, down = abs(other.cx - word.cx), abs(other.cy - word.cy)
        is_right = down < 0.6 * word.height and other.x0 > word.x0
        is_within = 0 < other.y0 - word.y0 < 2.5 * max(word.height, other.height)
        if is_right or (is_within and across < max(word.width, other.width) / 2):
            near.append((across + down, other.text))
    return min(near, default=(0, ""))[1]


def _option_read(question: ParsedQuestion, sight: Sight, choices: Choices) -> Answer | None:
    """The only option that is written in the image, or in the line the question refers to."""
    if not choices or question.subject.extreme or question.asks_count or question.relation:
        return None
    mentions = [(measure_mention(word.text, question), word) for word in sight.words]
    best = max(mention for mention, _ in mentions)
    line = [word for mention, word in mentions if mention == best >= 0.3]
    for rule, words in (("the only option that is read", sight.words), ("read in the named line", line)):
        read = [(text, held) for text in choices.values() if (held := _holding(text, words))]
        if len(read) == 1:
            return Answer(read[0][0], _evidence(rule, read[0][1]))
    return None


def _holding(option: str, words: Sequence[Box]) -> list[Box]:
    """Words that hold the option, whole."""
    wanted = " ".join(split_words(option))
    return [
        word
        for word in words
        if f" {wanted} " in f" {' '.join(split_words(word.text))} " or squeeze(word.text) == squeeze(option)
    ]
