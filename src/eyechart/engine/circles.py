"""The judge's part in CircularEval: rotations that no rule could read, as far as the circle is not lost.

A circle is right only if all its rotations are. One rotation that was read and is wrong loses it, whatever
the others say, so the judge is not asked about them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from eyechart.engine.judge import Scoring, do_all
from eyechart.store.journal import Journal
from eyechart.store.reader import Answered
from eyechart.types import JudgedScorer, Result, Scorer


class _Circle(msgspec.Struct):
    trial: int
    is_lost: bool = False
    open: list[str] = msgspec.field(default_factory=list)  # rotations that no rule could read, in order


async def judge_circles(
    journal: Journal, scoring: Scoring, scorer: Scorer, *, trials: int, n_at_once: int
) -> None:
    """Put the open rotations of every circle that is not lost to the judge, until one of them is wrong."""
    if scoring.judge is None or not isinstance(scorer, JudgedScorer):
        return
    journal.flush()
    results = journal.results(scorer.name, version=scorer.version, trials=trials)
    circles = [circle for circle in _circles(results) if circle.open and not circle.is_lost]

    async def judge(circle: _Circle) -> None:
        for name in circle.open:
            for item in _answered(journal, scorer, name, circle.trial):
                score = await scoring.score_by(scorer, item)
                if score is None or score.value < 1:
                    return

    await do_all(circles, judge, n_workers=n_at_once, judge=scoring.judge)


def _answered(journal: Journal, scorer: Scorer, sample: str, trial: int) -> Iterator[Answered]:
    for result in journal.results(scorer.name, trial=trial, sample=sample):
        if result.reply is not None:
            yield Answered(sample=result.sample, trial=trial, key=result.key, reply=result.reply)


def _circles(results: Iterable[Result]) -> Iterable[_Circle]:
    found: dict[tuple[str, int], _Circle] = {}
    for result in results:
        if not result.sample.circle:
            continue
        circle = found.setdefault((result.sample.circle, result.trial), _Circle(result.trial))
        score = result.score
        if score is not None and score.outcome != "unscored" and score.value < 1:
            if score.read is None:
                circle.open.append(result.sample.id)
            else:
                circle.is_lost = True
    return found.values()
