"""InfoChartQA scored without the quirks of the authors' checker: `infochartqa-strict`.

What differs from `infochartqa`, by the checklist of quirks:

Q1  ``Error!`` is an unreadable reply and counts.  Q2  A null reply is none, not the word None.
Q3  The stated number counts, else the last one that the question can mean (relevant.py).
Q4  42 is not 42,000: units must agree where both sides name one.
Q5  Whole numbers and years are exact: 2018 is not 2020.  Q6  Tolerance is relative to the gold alone.
Q7, Q8  Numbers are read as people write them, with whatever marks stand behind.
Q9  Ranges are equal when both ends are.  Q10  A crore is 1e7; unit words are known in any spelling, and in
    Chinese.  Q11, Q12  A text is found as whole words, not denied; no substring, no empty gold, and no other
    name that merely looks alike (words.py).
Q13 Unordered lists are paired off perfectly; empty elements do not exist.
Q14 Ordered lists have equal lengths; nothing is cut off or glued, repeats may stand.
Q15 Type 30 is an ordered list, or one of several.  Q16  Letters are read by our own reader of choices, in
    either case, several at once; nothing is random.  Q17  A type may be written as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace

from eyechart.registry import scorer
from eyechart.score.cells import accepted
from eyechart.score.choice_reader import read_choice
from eyechart.score.default import written_choices
from eyechart.score.fold import fold
from eyechart.score.infochartqa import DEFAULT_TYPE, LEFT_OUT, type_of
from eyechart.score.infochartqa.value import EXACT, VAGUE
from eyechart.score.infochartqa_strict.amounts import (
    is_same,
    last_range,
    parse_amount,
    parse_range,
    read_amount,
)
from eyechart.score.infochartqa_strict.choices import LETTERS, read_letters
from eyechart.score.infochartqa_strict.lists import same_in_any_order, same_in_order, split_gold, split_reply
from eyechart.score.infochartqa_strict.relevant import asks_for_a_year
from eyechart.score.infochartqa_strict.words import holds_words, same_words
from eyechart.score.statement import bare
from eyechart.score.text import read_text
from eyechart.score.verdict import Reading, verdict
from eyechart.score.yesno import polarity, read_yes_no
from eyechart.types import Reply, Sample, Score

Judged = tuple[Reading, bool]
Rule = Callable[[str, str, Sample], Judged]

_GOLD_LETTERS = re.compile(
    r"[\s(\[]*[A-H](?:[\s,;.)\](&]|\band\b)*(?:[A-H](?:[\s,;.)\](&]|\band\b)*)*", re.IGNORECASE
)
_IS_TRUE = re.compile(
    r"\b(?:it|that|this|statement|claim)(?: is|'s)\s+(not\s+)?(true|false|correct|incorrect)\b", re.IGNORECASE
)
_NONE = ("none", "nil", "no one", "nobody", "没有", "无")
_LONG_TEXT_WORDS = 80  # a text this long mentions much; it states nothing


@scorer("infochartqa-strict", version="5")
def infochartqa_strict(reply: Reply, sample: Sample) -> Score:
    """InfoChartQA's rule for the question's type, as it was meant."""
    golds = tuple(gold for gold in sample.golds if gold.strip())
    sample = replace(sample, golds=golds)
    if reply.text.strip() == LEFT_OUT or reply.evidence.get("response", "") is None:
        return verdict(reply, sample, Reading(None, "strict:no-reply"), 0.0)
    rule = RULES.get(_type_id(sample.meta), _amount_or_text)
    reading = Reading(None, "strict:no-gold")
    for gold in golds:
        reading, is_right = rule(gold, reply.text, sample)
        if is_right:
            return verdict(reply, sample, reading, 1.0)
    return verdict(reply, sample, reading, 0.0)


def _type_id(meta: Mapping[str, object]) -> object:
    value = type_of(meta)
    if isinstance(value, str):
        return int(value) if value.strip().lstrip("+-").isdecimal() else DEFAULT_TYPE
    return value if isinstance(value, int | float) else DEFAULT_TYPE


def _exact(gold: str, text: str, sample: Sample) -> Judged:
    return _amount(gold, text, sample, EXACT)


def _vague(gold: str, text: str, sample: Sample) -> Judged:
    return _amount(gold, text, sample, VAGUE)


def _amount(gold: str, text: str, sample: Sample, tolerance: float) -> Judged:
    wanted = parse_amount(gold)
    if wanted is not None:
        reading, said = read_amount(text, sample.question)
        if wanted.face == 0 and bare(fold(text)).lower() in _NONE:
            return Reading("0", "number:none"), True
        if wanted.is_year and asks_for_a_year(sample.question):
            tolerance = EXACT
        return reading, said is not None and is_same(wanted, said, tolerance)
    if ends := parse_range(gold):
        found = last_range(text)
        if found is None:
            return read_amount(text, sample.question)[0], False
        (low, high), span = found
        is_right = is_same(ends[0], low, tolerance) and is_same(ends[1], high, tolerance)
        return Reading(f"{low.value:.15g} to {high.value:.15g}", "range", span), is_right
    return _text(gold, text, sample)


def _amount_or_text(gold: str, text: str, sample: Sample) -> Judged:
    return _exact(gold, text, sample)


def _text(gold: str, text: str, sample: Sample) -> Judged:
    if wanted := polarity(gold):
        reading = read_yes_no(text, with_truth_words=True)
        if reading.answer is None and len(found := list(_IS_TRUE.finditer(text))) == 1:
            is_true = (found[0][2].lower() in ("true", "correct")) != bool(found[0][1])
            reading = Reading("Yes" if is_true else "No", "yes-no:is-true", found[0].span())
        return reading, reading.answer == wanted
    reading = read_text(text)
    answer = reading.answer
    if answer is None or (reading.rule == "text:whole" and len(answer.split()) > _LONG_TEXT_WORDS):
        return Reading(None, "text:no-statement" if answer else reading.rule), False
    return reading, same_words(gold, answer) or holds_words(gold, answer)


def _unordered(gold: str, text: str, sample: Sample) -> Judged:
    return _list(split_gold(gold), text, same_in_any_order)


def _ordered(gold: str, text: str, sample: Sample) -> Judged:
    return _list(split_gold(gold), text, same_in_order)


def _ordered_alternatives(gold: str, text: str, sample: Sample) -> Judged:
    judged: Judged = (Reading(None, "list:empty"), False)
    for one in accepted(gold):
        judged = _ordered(one, text, sample)
        if judged[1]:
            break
    return judged


def _list(gold: list[str], text: str, same: Callable[[list[str], list[str]], bool]) -> Judged:
    readings = split_reply(text)
    said = next((parts for parts in readings if same(gold, parts)), None)
    shown = ", ".join(said or readings[0])
    return Reading(shown or None, "list" if shown else "list:empty"), said is not None


def _choice(gold: str, text: str, sample: Sample) -> Judged:
    if not _GOLD_LETTERS.fullmatch(gold.strip()):
        return _text(gold, text, sample)
    wanted = frozenset(char for char in gold.upper().replace("AND", " ") if char in LETTERS)
    choices = _choices(sample, wanted)
    if letters := read_letters(text, choices):
        return Reading(",".join(sorted(letters)), "choice:letters"), letters == wanted
    reading = read_choice(text, choices)
    return reading, reading.letter is not None and wanted == {reading.letter}


def _choices(sample: Sample, wanted: frozenset[str]) -> Mapping[str, str]:
    written = sample.choices or written_choices(replace(sample, golds=tuple(wanted)))
    return written or dict.fromkeys(LETTERS[: max(4, *(LETTERS.index(letter) + 1 for letter in wanted))], "")


# The same groups as the official table; a number that is not in it is an amount or a text, by its gold.
RULES: Mapping[object, Rule] = {
    **dict.fromkeys((1, 2, 101, 102, 54, 72), _exact),
    **dict.fromkeys((10, 11, 12, 50, 51, 52, 110), _vague),
    **dict.fromkeys((13, 14, 15, 103, 113), _amount_or_text),
    **dict.fromkeys((40, 41, 42, 43, 44), _unordered),
    **dict.fromkeys((60, 61, 70, 80, 90), _amount_or_text),
    71: _ordered,
    30: _ordered_alternatives,
    **dict.fromkeys((202, 300, 1919810, 1919811, 1919812), _choice),
}
