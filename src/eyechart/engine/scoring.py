"""Score a reply that is safe in the journal, and keep the verdict beside it."""

from __future__ import annotations

from eyechart.errors import StoreError
from eyechart.store.journal import Journal
from eyechart.types import Failure, Reply, Sample, Score, Scorer


def score_reply(
    journal: Journal, scorer: Scorer, sample: Sample, trial: int, key: str, reply: Reply
) -> Score | None:
    """The verdict, kept; None when the scorer failed, which costs its verdict and never the reply."""
    try:
        score = scorer(reply, sample)
        journal.append_score(sample.id, trial, key, scorer, score)
    except StoreError:
        raise
    except Exception as err:  # a scorer may be the user's own, and so may be what it returns
        reason = f"{scorer.name}: {type(err).__name__}: {err}"
        journal.append_failure(sample.id, trial, Failure(stage="score", reason=reason), scorer=scorer)
        return None
    return score
