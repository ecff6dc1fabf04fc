"""The numbers that files for other tools begin with: the headline as the run counts it, and its error."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.exchange import add_in_order
from eyechart.report.circles import fold
from eyechart.report.credit import credit
from eyechart.report.statistics import Moments
from eyechart.report.summarise import summarise
from eyechart.report.summary import Summary
from eyechart.types import Export, Result


def trials_of(results: Iterable[Result]) -> Iterator[list[Result]]:
    """The trials of each sample together, as runs keep them."""
    for _, trials in itertools.groupby(results, key=lambda result: (result.position, result.sample.id)):
        yield list(trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The headline, as the run counts it, and the tokens of all replies."""

    summary: Summary
    plain: Summary  # every row for itself, where rotations of one question count as one
    stderr: float | None  # of the headline; None where samples are worth points, or there are too few
    n_scored: int  # samples that the headline rests on

    @property
    def score(self) -> float | None:
        return self.summary.score


def numbers_of(export: Export) -> Numbers:
    """Count, in one pass over the results or two."""
    group_by: Sequence[str] = export.manifest.get("group_by") or ()
    spread = _Spread()
    folds = export.manifest.get("circular") == "headline"
    counted = fold(export.results()) if folds else export.results()
    names: dict[str, Any] = {"benchmark": "", "model": "", "group_by": group_by}
    summary = summarise(spread.seen(counted), in_order=True, **names)
    plain = summarise(export.results(), in_order=True, **names) if folds else summary
    return Numbers(summary=summary, plain=plain, stderr=spread.stderr, n_scored=spread.values.n)


class _Spread:
    """The standard error of the mean over samples, taken on the way."""

    def __init__(self) -> None:
        self.values = Moments()
        self.squares = 0.0
        self.is_even = True  # every sample counts the same

    def seen(self, results: Iterable[Result]) -> Iterator[Result]:
        for trials in trials_of(results):
            scored = [value for result in trials if (value := credit(result)) is not None]
            self.is_even &= trials[0].sample.weight == 1
            if scored:
                value = add_in_order(scored) / len(scored)
                self.values.add(value)
                self.squares += value * value
            yield from trials

    @property
    def stderr(self) -> float | None:
        n, mean = self.values.n, self.values.mean
        if n < 2 or mean is None or not self.is_even:
            return None
        variance = max(0.0, (self.squares - n * mean * mean) / (n - 1))
        return float((variance / n) ** 0.5)
