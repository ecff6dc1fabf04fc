"""Our own scorers, for users' own files: the kind of gold decides how a reply is read."""

from __future__ import annotations

from string import ascii_uppercase

from eyechart.readers.decide import find_gold_letter, read_choice
from eyechart.registry import scorer
from eyechart.replies import score_reading
from eyechart.types import Reply, Sample, Score


@scorer("choice", version="8")
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
