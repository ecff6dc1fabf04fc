"""Open answers: which reader a gold asks for, and the score of the gold that is met.

Each gold is read by what it is: a time, a date, a number with its unit, or text. Golds of several kinds are
all tried; the first one met decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeVar

from eyechart.score.context import prepare_context, read_bound
from eyechart.score.dates import Clock, Date, find_clocks, find_dates, is_same_clock, is_same_date
from eyechart.score.number import find_stated_quantity, score_number
from eyechart.score.polarity import read_polarity
from eyechart.score.quantity import is_same_quantity, parse_quantity, parse_range
from eyechart.score.reading import Reading, normalise_characters, score_reading, unwrap
from eyechart.score.text import read_text, score_text, score_yes_no
from eyechart.score.units import ORDINAL
from eyechart.score.wording import normalise
from eyechart.types import Reply, Sample, Score

M = TypeVar("M", Clock, Date)
_LEADING_ZERO = re.compile(r"0\d")
_MAX_PLAIN_DIGITS = 10  # more digits are an identifier: a phone, a card, an order
_DECADE = re.compile(r"(?:the\s)?'?(?:\d\d)?\d0'?s", re.IGNORECASE)  # not 1980 seconds
_PLAIN_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?%?")
_MAY_BE_MOMENT = re.compile(r"\d|[点點時시]|\b(?:noon|midday|midnight|past|to|clock|[ap]m)\b", re.IGNORECASE)
MAX_GOLD_CHARS = 500  # of a gold that can be anything but text
_MAX_MOMENT_CHARS = 60  # of a gold that is a time or a date


def score_open(reply: Reply, sample: Sample) -> Score:
    """The score by the kind of gold."""
    if (text := reply.text.strip()) != reply.text:
        reply = replace(reply, text=text)  # blank lines around a reply say nothing
    groups: dict[str, list[str]] = {}
    for gold in sample.golds:
        kind = find_kind(gold) if len(gold) <= MAX_GOLD_CHARS else "text"
        groups.setdefault(kind, []).append(gold)
    if len(groups) > 1 and "yes-no" in groups:  # "no" beside "none" is a word
        groups.setdefault("text", []).extend(groups.pop("yes-no"))
    scores = []
    for kind, golds in groups.items():
        score = _SCORERS[kind](reply, sample if len(groups) == 1 else replace(sample, golds=tuple(golds)))
        if score.outcome == "correct":
            return score
        if kind == "number" and score.read is None:  # "5A" for "5 A"
            as_text = score_text(reply, replace(sample, golds=tuple(golds)))
            if as_text.outcome == "correct" and not as_text.route.endswith("-within"):
                return as_text
        scores.append(score)
    return scores[0] if scores else score_text(reply, sample)


def is_literal(reply: Reply, sample: Sample, score: Score) -> bool:
    """Whether a reply that is right says the gold in its own words and its own unit."""
    reader = score.route.partition(":")[0]
    if reader == "number":
        said = find_stated_quantity(reply.text, may_skip_years=True)[1]
        wanted = [gold for text in sample.golds if (gold := parse_quantity(text))]
        return said is not None and any(
            said.units == gold.units and is_same_quantity(said, gold) for gold in wanted
        )
    if reader == "text":
        answer = normalise(read_text(reply.text).answer or "")
        own = [re.escape(normalise(gold)) for gold in sample.golds if gold.strip()]
        return any(re.search(rf"(?<!\w){gold}(?!\w)", answer) for gold in own)
    return True


@lru_cache(maxsize=4096)
def find_kind(gold: str) -> str:
    """What a gold is: yes-no, time, date, range, number or text.

    >>> [find_kind(gold) for gold in ("3 pm", "5 March 2021", "3-5", "12 kg", "12A", "007", "3rd", "no")]
    ['time', 'date', 'range', 'number', 'text', 'text', 'text', 'yes-no']
    """
    if read_polarity(gold):
        return "yes-no"
    if _DECADE.fullmatch(gold.strip()):
        return "text"
    if _PLAIN_NUMBER.fullmatch(gold):
        return "text" if is_code(gold) else "number"
    if len(gold) <= _MAX_MOMENT_CHARS and _MAY_BE_MOMENT.search(gold):
        plain = unwrap(normalise_characters(gold))
        if any(_is_all(plain, clock.span) for clock in find_clocks(plain)):
            return "time"
        if any(_is_all(plain, date.span) for date in find_dates(plain)):
            return "date"
        if parse_range(gold):
            return "range"
    quantity = parse_quantity(gold)
    return "text" if quantity is None or ORDINAL in quantity.units or is_code(gold) else "number"


def _is_all(text: str, span: tuple[int, int]) -> bool:
    return not text[: span[0]].strip(" (") and not text[span[1] :].strip(" .)")


def is_code(gold: str) -> bool:
    """Whether digits are an identifier rather than an amount, so that they are compared as text.

    >>> is_code("007"), is_code("13800138000"), is_code("0.5"), is_code("1998"), is_code("1,000,000,000")
    (True, True, False, False, False)
    """
    digits = gold.strip().lstrip("+")
    return _LEADING_ZERO.match(digits) is not None or (digits.isdigit() and len(digits) > _MAX_PLAIN_DIGITS)


def score_time(reply: Reply, sample: Sample) -> Score:
    """The one time of day that a reply states, against golds that are times."""
    wanted = [clock for gold in sample.golds for clock in find_clocks(normalise_characters(gold))]
    reading = read_text(reply.text)
    found = find_clocks(normalise_characters(reading.answer or ""))
    kept = _keep_stated(reading, found)
    if not found and (hour := parse_quantity(reading.answer or "")) and not hour.units and not hour.bound:
        # 10 for 10 am: as with units, what only the gold states may be missing.
        kept = [Clock(int(hour.value) * 60, "", hour.span)] if hour.value in range(1, 13) else []
    is_right = bool(kept) and all(any(is_same_clock(one, gold) for gold in wanted) for one in kept)
    if not is_right and any(map(parse_range, sample.golds)):  # "5 to 10" may be a range
        return score_range(reply, sample)
    return _score_moment(reply, sample, reading, kept, is_right=is_right, rule="time")


def score_date(reply: Reply, sample: Sample) -> Score:
    """The one date that a reply states, against golds that are dates."""
    wanted = [date for gold in sample.golds for date in find_dates(normalise_characters(gold))]
    reading = read_text(reply.text)
    found = find_dates(normalise_characters(reading.answer or ""))
    kept = _keep_stated(reading, found)
    spans = {one.span for one in kept}
    is_right = bool(kept) and all(
        any(is_same_date(one, gold) for one in kept if one.span == span for gold in wanted) for span in spans
    )
    return _score_moment(reply, sample, reading, kept, is_right=is_right, rule="date")


def score_range(reply: Reply, sample: Sample) -> Score:
    """A range with both ends: "3 to 5" for 3-5."""
    reading = read_text(reply.text)
    answer = _LEAD.sub("", unwrap(reading.answer or ""), count=1)
    said = parse_range(answer)
    wanted = [ends for gold in sample.golds if (ends := parse_range(gold))]
    if said and any(all(map(is_same_quantity, said, ends)) for ends in wanted):
        stated = Reading(answer, f"range:{reading.rule.partition(':')[2]}", reading.span)
        return score_reading(reply, sample, stated, 1.0)
    return score_text(reply, sample)


_LEAD = re.compile(
    r"(?:(?:it|the \w+|they|there)\s(?:is|was|are|were)\s|about\s|approximately\s|around\s|roughly\s){1,2}",
    re.IGNORECASE,
)


def _keep_stated(reading: Reading, found: Sequence[M]) -> list[M]:
    """The times or dates that are neither denied nor bounded."""
    text = normalise_characters(reading.answer or "")
    lower = text.lower() if len(text.lower()) == len(text) else text
    context = prepare_context(lower)
    return [
        one
        for one in found
        if not context.is_denied(
            lower[max(0, one.span[0] - 130) :],
            min(one.span[0], 130),
            min(one.span[0], 130) + one.span[1] - one.span[0],
        )
        and not read_bound(text, one.span, 0, len(text))[0]
        and not context.is_taken_back(lower, one.span[1])
    ]


def _score_moment(
    reply: Reply,
    sample: Sample,
    reading: Reading,
    kept: Sequence[Clock] | Sequence[Date],
    *,
    is_right: bool,
    rule: str,
) -> Score:
    if is_right:
        span = kept[-1].span
        stated = Reading(
            (reading.answer or "")[slice(*span)], f"{rule}:{reading.rule.partition(':')[2]}", reading.span
        )
        return score_reading(reply, sample, stated, 1.0)
    return score_text(reply, sample)  # "noon" for a gold of "noon", or a reply without a time


_SCORERS = {
    "yes-no": score_yes_no,
    "time": score_time,
    "date": score_date,
    "range": score_range,
    "number": score_number,
    "text": score_text,
}
