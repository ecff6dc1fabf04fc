"""What guessing gets: the floor to read a score by."""

from __future__ import annotations

from eyechart.score.choice import gold_letter
from eyechart.score.default import written_choices
from eyechart.score.yesno import polarity
from eyechart.types import Sample


def chance_of(sample: Sample) -> float:
    """What guessing gets on one sample, by the kinds of questions that the default reader knows.

    >>> chance_of(Sample(id="1", question="Which?", golds=("B",), choices={"A": "cat", "B": "dog"}))
    0.5
    >>> chance_of(Sample(id="2", question="True or false?", golds=("true",)))
    0.5
    """
    choices = sample.choices or written_choices(sample)
    if not choices:
        return 0.5 if sample.golds and all(map(polarity, sample.golds)) else 0.0
    if len(sample.golds) < 2:
        return 1 / len(choices)
    accepted = {gold_letter(gold, choices) for gold in sample.golds} - {None}
    return max(1, len(accepted)) / len(choices)
