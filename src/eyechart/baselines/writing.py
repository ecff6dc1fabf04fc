"""Answers from what is written in an image: signs, names, numbers beside a word, options that can be read."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eyechart.baselines import Answer
from eyechart.baselines.facts import COMBINES, group_rows
from eyechart.baselines.question import (
    Choices,
    ParsedQuestion,
    match_option,
    split_words,
    squeeze,
    stem,
)
from eyechart.baselines.sight import Box, Sight
from eyechart.baselines.things import find_meant

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
