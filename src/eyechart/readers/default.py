"""Our own scorers, for users' own files: the kind of gold decides how a reply is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase

from eyechart.readers.answers import Verdict, judge_answer, judge_kind, judge_yes_no
from eyechart.readers.decide import find_gold_letter, read_choice
from eyechart.readers.mentions.quantities import TOLERANCE, parse_quantity
from eyechart.readers.wording import list_signs, normalise
from eyechart.registry import scorer
from eyechart.replies import score_reading
from eyechart.types import Reply, Sample, Score

_OPTION_LINE = re.compile(r"(?:^|\n)[ \t]*[(（]?([A-Z])[).:、．）][ \t]*([^\n]{1,500})")


@scorer("default", version="12")
def score_default(reply: Reply, sample: Sample) -> Score:
    """With options: multiple choice. Otherwise by each gold: yes or no, a time, a date, a number, or text.

    A gold that is a JSON object is scored field by field.

    The route begins with the reader that was used, as in ``choice:boxed`` or ``number:stated``.
    """
    if sample.choices:
        return score_choice(reply, sample)
    if choices := find_written_choices(sample):
        return score_choice(reply, replace(sample, choices=choices))
    if any(gold.lstrip().startswith("{") for gold in sample.golds):
        from eyechart.readers import fields  # most files have none

        if (score := fields.score_fields(reply, sample)).outcome != "unscored":
            return score
    return _score(reply, sample, judge_answer(reply.text, sample.golds, sample.question))


@scorer("default-strict", version="9")
def score_default_strict(reply: Reply, sample: Sample) -> Score:
    """Like `default`, without its tolerance for open answers.

    The words must be the gold's own (no plural, accents, spelling or order of a list), and so must the unit:
    none missing, none converted.
    """
    score = score_default(reply, sample)
    is_open = score.outcome == "correct" and not score.route.startswith("fields:")
    if not is_open or sample.choices or find_written_choices(sample):
        return score
    is_literal = any(_is_literal(score, gold) for gold in sample.golds)
    return score if is_literal else replace(score, outcome="wrong", value=0.0)


def _is_literal(score: Score, gold: str) -> bool:
    read = score.read or ""
    if score.route.startswith("number"):
        said, wanted = parse_quantity(read), parse_quantity(gold)
        return said is not None and wanted is not None and said.units == wanted.units
    if not score.route.startswith("text"):
        return True
    has_words = re.search(rf"(?<!\w){re.escape(normalise(gold))}(?!\w)", normalise(read))
    return has_words is not None and list_signs(read) == list_signs(gold)


@scorer("choice", version="11")
def score_choice(reply: Reply, sample: Sample) -> Score:
    """Our own reader against the gold, which may be given as the letter or as the option's text.

    A sample without options is read by letters alone. A sample whose gold is not an option is unscored.
    """
    choices = sample.choices or dict.fromkeys(ascii_uppercase, "")
    reading = read_choice(reply.text, choices)
    wanted = {letter for gold in sample.golds if (letter := find_gold_letter(gold, choices))}
    if sample.golds and not wanted:
        return Score(outcome="unscored", value=0.0, read=reading.letter, route="choice:gold-not-an-option")
    return score_reading(reply, sample, reading, float(reading.letter in wanted))


@scorer("text", version="10")
def score_text(reply: Reply, sample: Sample) -> Score:
    """The answer the reply states, compared with each gold in words."""
    return _score(reply, sample, judge_kind("text", reply.text, sample.golds))


@scorer("number", version="9")
def score_number(reply: Reply, sample: Sample) -> Score:
    """The number the reply states, with its unit, against golds that are numbers."""
    verdict = judge_kind("number", reply.text, sample.golds)
    if sample.golds and not any(map(parse_quantity, sample.golds)):
        read = verdict.reading.answer
        return Score(outcome="unscored", value=0.0, read=read, route="number:gold-not-a-number")
    return _score(reply, sample, verdict)


@scorer("yes-no", version="9")
def score_yes_no(reply: Reply, sample: Sample) -> Score:
    """Reads yes or no from the reply and compares it with the gold; true counts as yes, false as no."""
    return _score(reply, sample, judge_yes_no(reply.text, sample.golds, sample.question))


def _score(reply: Reply, sample: Sample, verdict: Verdict) -> Score:
    return score_reading(reply, sample, verdict.reading, float(verdict.is_right))


def matches(reply: str, golds: str | Sequence[str]) -> bool:
    """Whether a reply gives one of the golds, by the rules of the scorer `default` for open answers.

    >>> matches("The car is 500 cm long.", "5 m"), matches("It's a dog.", ["dog", "puppy"])
    (True, True)
    >>> matches("at least 8", "8"), matches("hot dog", "dog")
    (False, False)
    """
    return judge_answer(reply, (golds,) if isinstance(golds, str) else tuple(golds)).is_right


def number(prediction: str, golds: Sequence[str], *, tolerance: float = TOLERANCE) -> float:
    """1 when the number the reply states equals a gold, within the relative `tolerance`; else 0.

    Units that both sides state must agree; a percent sign on one side only may be read either way: ``50%``
    meets both ``50`` and ``0.5``.

    >>> number("The answer is 1,234.50.", ["1234.5"]), number("three dogs", ["3"]), number("2 or 3", ["3"])
    (1.0, 1.0, 0.0)
    >>> number("104", ["100"], tolerance=0.05), number("500 cm", ["5 m"]), number("at least 8", ["8"])
    (1.0, 1.0, 0.0)
    """
    return float(judge_kind("number", prediction, golds, tolerance).is_right)


def find_written_choices(sample: Sample) -> Mapping[str, str]:
    """The options that a question's own text lists, one per line, if the gold is one letter."""
    is_letter = [len(gold) == 1 and gold.isascii() and gold.isupper() for gold in sample.golds]
    if not is_letter or not all(is_letter):
        return {}
    lines = _OPTION_LINE.findall(sample.choices_text or sample.question)
    choices = {letter: text.strip() for letter, text in lines}
    return choices if {"A", "B", *sample.golds} <= set(choices) else {}
