"""The default scorer, for users' own files: the kind of gold decides how a reply is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from eyechart.readers.default import score_choice
from eyechart.registry import scorer
from eyechart.types import Reply, Sample, Score

_OPTION_LINE = re.compile(r"(?:^|\n)[ \t]*[(（]?([A-Z])[).:、．）][ \t]*([^\n]{1,500})")


@scorer("default", version="8")
def score_default(reply: Reply, sample: Sample) -> Score:
    """With options: multiple choice. Otherwise by each gold: yes or no, a time, a date, a number, or text.

    A gold that is a JSON object is scored field by field.

    The route begins with the reader that was used, as in ``choice:boxed`` or ``number:stated``.
    """
    if sample.choices:
        return score_choice(reply, sample)
    if choices := find_written_choices(sample):
        return score_choice(reply, replace(sample, choices=choices))
    # Imported when the first such gold comes: a file of choices needs none of them.
    if any(gold.lstrip().startswith("{") for gold in sample.golds):
        from eyechart.score import fields

        if (score := fields.score_fields(reply, sample)).outcome != "unscored":
            return score
    from eyechart.score import open_answers

    return open_answers.score_open(reply, sample)


@scorer("default-strict", version="5")
def score_default_strict(reply: Reply, sample: Sample) -> Score:
    """Like `default`, without its tolerance for open answers.

    The words must be the gold's own (no plural, accents, spelling or order of a list), and so must the unit:
    none missing, none converted.
    """
    score = score_default(reply, sample)
    is_open = score.outcome == "correct" and not score.route.startswith("fields:")
    if not is_open or sample.choices or find_written_choices(sample):
        return score
    from eyechart.score import open_answers

    is_literal = open_answers.is_literal(reply, sample, score)
    return score if is_literal else replace(score, outcome="wrong", value=0.0)


def matches(reply: str, golds: str | Sequence[str]) -> bool:
    """Whether a reply gives one of the golds, by the rules of the scorer `default` for open answers.

    >>> matches("The car is 500 cm long.", "5 m"), matches("It's a dog.", ["dog", "puppy"])
    (True, True)
    >>> matches("at least 8", "8"), matches("hot dog", "dog")
    (False, False)
    """
    accepted = (golds,) if isinstance(golds, str) else tuple(golds)
    return score_default(Reply(text=reply), Sample(id="", question="", golds=accepted)).outcome == "correct"


def find_written_choices(sample: Sample) -> Mapping[str, str]:
    """The options that a question's own text lists, one per line, if the gold is one letter."""
    if not sample.golds or not all(
        len(gold) == 1 and gold.isascii() and gold.isupper() for gold in sample.golds
    ):
        return {}
    lines = _OPTION_LINE.findall(sample.choices_text or sample.question)
    choices = {letter: text.strip() for letter, text in lines}
    return choices if {"A", "B", *sample.golds} <= set(choices) else {}
