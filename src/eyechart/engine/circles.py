"""The judge's part in CircularEval: rotations that no rule could read, as far as the circle is not lost.

A circle is right only if all its rotations are. One rotation that was read and is wrong loses it, whatever
the others say, so nobody is asked about them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from eyechart.engine.scoring import Scoring
from eyechart.store.journal import Journal
from eyechart.store.reader import Answered
from eyechart.types import Result


@dataclass(slots=True)
class _Circle:
    is_lost: bool = False
    open: list[str] = field(default_factory=list)  # rotations that no rule could read, in order


async def judge_circles(journal: Journal, scoring: Scoring, *, trials: int) -> None:
    """Put the open rotations of every circle that is not lost to the judge, until one of them is wrong."""
    journal.flush()
    name = scoring.scorer.name
    for (_, trial), circle in _circles(journal.results(name, trials=trials)).items():
        for sample in [] if circle.is_lost else circle.open:
            [result] = [
                one for one in journal.results(name, trials=trials, sample=sample) if one.trial == trial
            ]
            assert result.reply is not None
            item = Answered(sample=result.sample, trial=trial, key=result.key, reply=result.reply)
            if scoring.judge is None or scoring.judge.is_stopped:
                return
            score = await scoring.score_by(scoring.scorer, item)
            if score is None or score.value < 1:
                break


def _circles(results: Iterable[Result]) -> dict[tuple[str, int], _Circle]:
    found: dict[tuple[str, int], _Circle] = {}
    for result in results:
        if not result.sample.circle:
            continue
        circle = found.setdefault((result.sample.circle, result.trial), _Circle())
        score = result.score
        if score is not None and score.outcome != "unscored" and score.value < 1:
            if score.read is None:
                circle.open.append(result.sample.id)
            else:
                circle.is_lost = True
    return found
