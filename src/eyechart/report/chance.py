"""What guessing scores on one sample, for the kinds of questions that the default reader knows.

For multiple choice 1 / options, also where the options are written in the question, times the accepted ones;
for a gold of several letters one of all the sets of options; for an open question whose golds are all yes or
no, true or false, 1/2, or 1 if both are accepted; otherwise 0.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from eyechart.data.columns.choices import parse_choices
from eyechart.readers.answers import read_polarity  # a file of choices does not need it
from eyechart.readers.decide import find_gold_letter
from eyechart.readers.default import find_written_choices
from eyechart.readers.mentions.options import prepare_options
from eyechart.types import Sample

_FIRST_OPTION = re.compile(r"(?<![A-Za-z0-9])[(（\[]?A[).:、．）：\]]")
_LETTERS = re.compile(r"[A-Z](?:(?:\s|[,，、;；/&+])*(?:\band\b|和)?\s*[A-Z])+")


def compute_chance(sample: Sample) -> float:
    """What guessing scores on one sample.

    A gold of several letters is one of all the sets of options that a reply can name.

    >>> compute_chance(Sample(id="1", question="Which?", golds=("B",), choices={"A": "cat", "B": "dog"}))
    0.5
    >>> compute_chance(Sample(id="2", question="True or false?", golds=("true",)))
    0.5
    >>> compute_chance(Sample(id="3", question="Which two? A. cat B. dog C. cow", golds=("A, C",))) == 1 / 7
    True
    """
    choices = sample.choices or _find_written_options(sample)
    if not choices:
        polarities = set(map(read_polarity, sample.golds))  # None: neither yes nor no
        return len(polarities) / 2 if polarities and None not in polarities else 0.0
    accepted = {letters for gold in sample.golds for letters in _match_gold(gold, choices)}
    if any(len(letters) > 1 for letters in accepted):
        return len(accepted) / ((1 << len(choices)) - 1)
    return max(1, len(accepted)) / len(choices)


def _find_written_options(sample: Sample) -> Mapping[str, str]:
    """Options written in the question itself, on one line or several, if every gold is one of them."""
    text = sample.choices_text or sample.question
    first = _FIRST_OPTION.search(text)
    if not sample.golds or first is None:
        return {}
    tail = text[first.start() :]
    blocks = (text, tail, tail.partition("\n")[0])
    found = find_written_choices(sample) or max(map(parse_choices, blocks), key=len)
    return found if len(found) > 1 and all(_match_gold(gold, found) for gold in sample.golds) else {}


def _match_gold(gold: str, choices: Mapping[str, str]) -> set[frozenset[str]]:
    """The sets of options that match a gold: one option by its letter or text, or several letters."""
    letter = gold if gold in choices else find_gold_letter(gold, choices)
    if letter:
        return {frozenset((letter,))}
    if same := prepare_options(choices).find_all(gold):  # a text that several options share
        return {frozenset((letter,)) for letter in same}
    letters = re.findall("[A-Z]", gold) if _LETTERS.fullmatch(gold.strip()) else []
    is_valid = len(letters) == len(set(letters)) > 1 and set(letters) <= set(choices)
    return {frozenset(letters)} if is_valid else set()
