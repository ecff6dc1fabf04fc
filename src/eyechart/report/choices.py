"""Questions with options: what guessing scores, and which letters a model prefers.

Guessing scores 1 / options, also where the options are written in the question, times the accepted ones; for
a gold of several letters one of all the sets of options; for an open question whose golds are all yes or no,
true or false, 1/2, or 1 if both are accepted; otherwise 0.

Letters: how often each is chosen beside how often it is right, paired answer by answer, with the clusters of
the questions. The p-value is of the letter that deviates most, corrected for the number of letters.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from eyechart import stats
from eyechart.data.columns.answers import parse_choices
from eyechart.readers.answers import read_polarity  # a file of choices does not need it
from eyechart.readers.decide import find_gold_letter
from eyechart.readers.default import find_written_choices
from eyechart.readers.mentions.options import prepare_options
from eyechart.types import Result, Sample

ALPHA = 0.05
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


# -- Letters


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterShare:
    """One letter: its share among the answers and among the golds, and the paired difference."""

    chosen: float
    gold: float
    difference: float
    ci95: tuple[float, float]
    p_adjusted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterBias:
    """Which letters a model prefers, over the answers that were read as a letter."""

    condition: str
    n: int
    p: float
    letters: Mapping[str, LetterShare]

    @property
    def is_biased(self) -> bool:
        return self.p < ALPHA


class LetterPairs:
    """The letters that were chosen beside the golds, collected result by result.

    With `at_most`, no p-value and no intervals are computed for more answers than that.
    """

    def __init__(self, at_most: int | None = None) -> None:
        self._at_most = at_most
        self._pairs: list[tuple[str, str, str]] = []  # chosen, gold, cluster
        self._counts = Counter[tuple[str, str]]()  # chosen, gold

    def add(self, result: Result) -> None:
        """Count a result whose answer was read as one of its options, and that has one gold."""
        sample, score = result.sample, result.score
        if score is None or score.read not in sample.choices or len(sample.golds) != 1:
            return
        gold = sample.golds[0]
        letter = gold if gold in sample.choices else find_gold_letter(gold, sample.choices)
        if letter:
            self._counts[score.read or "", letter] += 1
            if self._at_most is None or len(self._pairs) <= self._at_most:
                self._pairs.append((score.read or "", letter, result.cluster or sample.id))

    def compare(self, condition: str) -> LetterBias | None:
        """How often each letter was chosen and is right; None without multiple-choice answers."""
        letters = sorted({letter for pair in self._counts for letter in pair})
        if len(letters) < 2:
            return None
        tested: dict[str, stats.Paired] = {}
        if self._at_most is None or len(self._pairs) <= self._at_most:
            clusters = [cluster for *_, cluster in self._pairs]
            for letter in letters:
                a, b = ([float(pair[side] == letter) for pair in self._pairs] for side in (0, 1))
                one = stats.paired(a, b, clusters=clusters)
                assert one is not None
                tested[letter] = one
        adjusted = stats.adjust_holm([one.p for one in tested.values()]) or [math.nan] * len(letters)
        n, shares = self._counts.total(), {}
        for letter, p in zip(letters, adjusted, strict=True):
            chosen, gold = (
                sum(times for pair, times in self._counts.items() if pair[side] == letter) for side in (0, 1)
            )
            ends = (tested[letter].low, tested[letter].high) if tested else (math.nan, math.nan)
            shares[letter] = LetterShare(
                chosen=chosen / n, gold=gold / n, difference=(chosen - gold) / n, ci95=ends, p_adjusted=p
            )
        return LetterBias(condition=condition, n=n, p=min(adjusted), letters=shares)


def compute_letter_bias(results: Iterable[Result], condition: str) -> LetterBias | None:
    """Compare the letters that were chosen with the golds; None without multiple-choice answers."""
    pairs = LetterPairs()
    for result in results:
        pairs.add(result)
    return pairs.compare(condition)
