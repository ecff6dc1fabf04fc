"""Score stored replies again. Asks no model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eyechart.run.record import Run


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
                if result.reply is None:
                    continue
                score = the_scorer(result.reply, result.sample)
                journal.append_score(result.sample.id, result.trial, result.key, the_scorer, score)
                before = result.score
                if before is None or (before.outcome, before.value) != (score.outcome, score.value):
                    changes.append(
                        Change(
                            sample=result.sample.id,
                            trial=result.trial,
                            before=before.outcome if before else "none",
                            after=score.outcome,
                            value_before=before.value if before else 0.0,
                            value_after=score.value,
                        )
                    )
            journal.set_meta("manifest", {**old.manifest, "scorer": the_scorer.name})
        finally:
            journal.close()
        new = Run(old.folder)
        new.keep_summary()
    return new, changes
