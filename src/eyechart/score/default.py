"""The default scorer, for users' own files: the kind of gold decides how a reply is read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from eyechart.registry import scorer
from eyechart.score.choice import score_choice
from eyechart.types import Reply, Sample, Score

_LEADING_ZERO = re.compile(r"0\d")
_MAX_PLAIN_DIGITS = 10  # more digits are an identifier: a phone, a card, an order
_OPTION_LINE = re.compile(r"(?:^|\n)[ \t]*[(（]?([A-Z])[).:、．）][ \t]*([^\n]{1,500})")


@scorer("default", version="3")
def score_default(reply: Reply, sample: Sample) -> Score:
    """With options: multiple choice. Otherwise by the gold: yes or no, a number, or text.

    The route begins with the reader that was used, as in ``choice:boxed`` or ``number:stated``.
    """
    if sample.choices:
        return score_choice(reply, sample)
    if choices := find_written_choices(sample):
        return score_choice(reply, replace(sample, choices=choices))
    # Imported when the first such gold comes: a file of choices needs neither.
    from eyechart.score.number import parse_number, score_number
    from eyechart.score.text import read_polarity, score_text, score_yes_no

    if sample.golds and all(read_polarity(gold) for gold in sample.golds):
        return score_yes_no(reply, sample)
    if sample.golds and all(parse_number(gold) and not is_code(gold) for gold in sample.golds):
        return score_number(reply, sample)
    return score_text(reply, sample)


def is_code(gold: str) -> bool:
    """Whether digits are an identifier rather than an amount, so that they are compared as text.

    >>> is_code("007"), is_code("13800138000"), is_code("0.5"), is_code("1998"), is_code("1,000,000,000")
    (True, True, False, False, False)
    """
    digits = gold.strip().lstrip("+")
    return _LEADING_ZERO.match(digits) is not None or (digits.isdigit() and len(digits) > _MAX_PLAIN_DIGITS)


def find_written_choices(sample: Sample) -> Mapping[str, str]:
    """The options that a question's own text lists, one per line, if the gold is one letter."""
    if not sample.golds or not all(
        len(gold) == 1 and gold.isascii() and gold.isupper() for gold in sample.golds
    ):
        return {}
    lines = _OPTION_LINE.findall(sample.choices_text or sample.question)
    choices = {letter: text.strip() for letter, text in lines}
    return choices if {"A", "B", *sample.golds} <= set(choices) else {}
