"""Score stored replies again. Asks no model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eyechart.run.record import Run
from eyechart.types import Result, Score


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A sample whose verdict moved."""

    sample: str
    trial: int
    before: str
    after: str
    value_before: float
    value_after: float


def rescore(folder: str | Path, scorer: str | None = None) -> tuple[Run, list[Change]]:
    """Score the stored replies again, and tell which verdicts moved. Asks no model."""
    from eyechart.engine.scoring import score_reply
    from eyechart.registry import scorers
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    old = Run(folder)
    the_scorer = scorers.get(scorer or old.manifest.get("scorer", "default"))
    changes = []
    with folders.hold(old.folder):
        journal = Journal.create(old.folder / FILE_NAME)
        try:
            for result in old.samples():
                if result.reply is not None:
                    sample, reply = result.sample, result.reply
                    score = score_reply(journal, the_scorer, sample, result.trial, result.key, reply)
                    changes += _change(result, score)
            journal.set_meta(
                "manifest", {**old.manifest, "scorer": the_scorer.name, "parity": the_scorer.parity}
            )
        finally:
            journal.close()
        new = Run(old.folder)
        new.keep_summary()
    return new, changes


def _change(result: Result, after: Score | None) -> list[Change]:
    """What the new verdict changes: nothing, or one thing. A scorer that failed gave none."""
    before = result.score
    was = (before.outcome, before.value) if before else (result.outcome or "none", 0.0)
    now = (after.outcome, after.value) if after else ("failed", 0.0)
    if was == now:
        return []
    return [
        Change(
            sample=result.sample.id,
            trial=result.trial,
            before=was[0],
            after=now[0],
            value_before=was[1],
            value_after=now[1],
        )
    ]
