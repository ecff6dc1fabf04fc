"""What guessing gets: the floor to read a score by."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eyechart.data.choices import parse_choices
from eyechart.score.choice import gold_letter
from eyechart.score.default import written_choices
from eyechart.score.options import options_of
from eyechart.score.yesno import polarity
from eyechart.types import Sample

_FIRST_OPTION = re.compile(r"(?<![A-Za-z0-9])[(（\[]?A[).:、．）：\]]")
_LETTERS = re.compile(r"[A-Z](?:(?:\s|[,，、;；/&+])*(?:\band\b|和)?\s*[A-Z])+")


def chance_of(sample: Sample) -> float:
    """What guessing gets on one sample, by the kinds of questions that the default reader knows.

    A gold of several letters is met by one of all the sets of options that a reply can name.

    >>> chance_of(Sample(id="1", question="Which?", golds=("B",), choices={"A": "cat", "B": "dog"}))
    0.5
    >>> chance_of(Sample(id="2", question="True or false?", golds=("true",)))
    0.5
    >>> chance_of(Sample(id="3", question="Which two? A. cat B. dog C. cow", golds=("A, C",))) == 1 / 7
    True
    """
    choices = sample.choices or _written(sample)
    if not choices:
        return 0.5 if sample.golds and all(map(polarity, sample.golds)) else 0.0
    accepted = {letters for gold in sample.golds for letters in _named(gold, choices)}
    if any(len(letters) > 1 for letters in accepted):
        return len(accepted) / ((1 << len(choices)) - 1)
    return max(1, len(accepted)) / len(choices)


def _written(sample: Sample) -> Mapping[str, str]:
    """The options that stand in the text itself, one per line or all in one, where every gold is of them."""
    text = sample.choices_text or sample.question
    first = _FIRST_OPTION.search(text)
    if not sample.golds or first is None:
        return {}
    tail = text[first.start() :]
    blocks = (text, tail, tail.partition("\n")[0])
    found = written_choices(sample) or max(map(parse_choices, blocks), key=len)
    return found if len(found) > 1 and all(_named(gold, found) for gold in sample.golds) else {}


def _named(gold: str, choices: Mapping[str, str]) -> set[frozenset[str]]:
    """The sets of options that meet a gold: an option by its letter or its text, or several letters."""
    if letter := gold_letter(gold, choices):
        return {frozenset((letter,))}
    if same := options_of(choices).all_named(gold):  # a text that several options share
        return {frozenset((letter,)) for letter in same}
    letters = re.findall("[A-Z]", gold) if _LETTERS.fullmatch(gold.strip()) else []
    is_sound = len(letters) == len(set(letters)) > 1 and set(letters) <= set(choices)
    return {frozenset(letters)} if is_sound else set()
