"""Tables and receipts: words in rows and columns become labelled values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eyechart.model.baseline.ask import Question
from eyechart.model.baseline.base import Answer
from eyechart.model.baseline.box import Word
from eyechart.model.baseline.facts import Fact, measure_mention, answer_from_facts
from eyechart.model.baseline.options import read_number
from eyechart.model.baseline.sight import Sight

_SUMS = re.compile(
    r"total|sum|cash|change|card|vat|tax|visa|paid|due|balance|tip|subtotal|amount|tender", re.I
)
_PRICE = re.compile(r"^[^\w-]*\d+[.,]\d\d\W*\w{0,3}$")


def group_rows(words: Sequence[Word]) -> list[list[Word]]:
    """Words that stand side by side, from top to bottom and from left to right."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.cy):
        if rows and abs(word.cy - rows[-1][-1].cy) < 0.6 * min(word.height, rows[-1][-1].height):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [sorted(row, key=lambda word: word.x0) for row in rows]


def value_of(text: str) -> float | None:
    """A number to compare by: times count in minutes.

    >>> value_of("08:15"), value_of("148 m"), value_of("Norwood")
    (495.0, 148.0, None)
    """
    if match := re.fullmatch(r"(\d{1,2}):(\d\d)(?:\s*([ap])\.?m\.?)?", text.strip(), re.I):
        hours = int(match[1]) % 12 + 12 * (match[3].lower() == "p") if match[3] else int(match[1])
        return hours * 60.0 + int(match[2])
    return read_number(text)


def answer_from_table(question: Question, sight: Sight, choices: Mapping[str, str]) -> Answer | None:
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


def read_receipt(words: Sequence[Word]) -> list[Fact]:
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


def read_table(words: Sequence[Word], question: Question) -> list[list[Fact]]:
    """The cells of a table, once for each column that can name the rows; the likeliest first."""
    rows = group_rows(words)
    start = next((i for i, row in enumerate(rows) if len(row) >= 2 and _has_rows_below(rows, i)), None)
    if start is None:
        return []
    header = rows[start]
    body = [_into_columns(row, header) for row in rows[start + 1 :] if len(row) >= 2]
    naming = [c for c in range(len(header)) if c == 0 or all(read_number(r[c]) is None for r in body if c in r)]
    naming = [c for c in naming if not all(value_of(r[c]) is not None for r in body if c in r) or c == 0]

    def fitness(column: int) -> tuple[int, int]:
        is_asked = re.search(rf"(?:which|what) {re.escape(header[column].text.casefold())}", question.text)
        names_row = any(measure_mention(row[column], question) >= 0.5 for row in body if column in row)
        return -bool(is_asked) - bool(names_row), column

    return [_facts(body, header, column) for column in sorted(naming, key=fitness)]


def _has_rows_below(rows: list[list[Word]], start: int) -> bool:
    below = rows[start + 1 : start + 3]
    return len(below) == 2 and all(abs(len(row) - len(rows[start])) <= 1 and len(row) > 1 for row in below)


def _into_columns(row: list[Word], header: list[Word]) -> dict[int, str]:
    """Each word under the header that begins, ends or stands where it does."""
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


def _facts(body: list[dict[int, str]], header: list[Word], naming: int) -> list[Fact]:
    return [
        Fact(row[naming], text, value_of(text), series=header[column].text, source="table")
        for row in body
        if naming in row
        for column, text in row.items()
        if column != naming
    ]
