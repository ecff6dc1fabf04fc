"""Which letters a model prefers: how often each is chosen beside how often it is right.

Paired, answer by answer, with the clusters of the questions. The p-value is of the letter that deviates most,
corrected for the number of letters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart import stats
from eyechart.readers.decide import find_gold_letter
from eyechart.types import Result

ALPHA = 0.05


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

    def to_json(self) -> dict[str, Any]:
        letters = {
            letter: {name: getattr(share, name) for name in share.__dataclass_fields__}
            for letter, share in self.letters.items()
        }
        return {"condition": self.condition, "n": self.n, "p": self.p, "letters": letters}


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
        if self._at_most is not None and len(self._pairs) > self._at_most:
            return self._count_shares(condition, letters)
        pairs = self._pairs
        clusters = [cluster for *_, cluster in pairs]
        found: dict[str, stats.Paired] = {}
        for letter in letters:
            chosen = [float(one[0] == letter) for one in pairs]
            gold = [float(one[1] == letter) for one in pairs]
            one = stats.paired(chosen, gold, clusters=clusters)
            assert one is not None
            found[letter] = one
        adjusted = stats.adjust_holm([one.p for one in found.values()])
        shares = {
            letter: LetterShare(
                chosen=one.mean_a,
                gold=one.mean_b,
                difference=one.difference,
                ci95=(one.low, one.high),
                p_adjusted=p,
            )
            for (letter, one), p in zip(found.items(), adjusted, strict=True)
        }
        return LetterBias(condition=condition, n=len(pairs), p=min(adjusted), letters=shares)

    def _count_shares(self, condition: str, letters: Sequence[str]) -> LetterBias:
        n = self._counts.total()
        chosen, gold = Counter[str](), Counter[str]()
        for pair, count in self._counts.items():
            chosen[pair[0]] += count
            gold[pair[1]] += count
        nan = math.nan
        shares = {
            letter: LetterShare(
                chosen=chosen[letter] / n,
                gold=gold[letter] / n,
                difference=(chosen[letter] - gold[letter]) / n,
                ci95=(nan, nan),
                p_adjusted=nan,
            )
            for letter in letters
        }
        return LetterBias(condition=condition, n=n, p=nan, letters=shares)


def compute_letter_bias(results: Iterable[Result], condition: str) -> LetterBias | None:
    """Compare the letters that were chosen with the golds; None without multiple-choice answers."""
    pairs = LetterPairs()
    for result in results:
        pairs.add(result)
    return pairs.compare(condition)
