"""The score of an official rule, and what its scorers share with our own readers."""

from __future__ import annotations

from eyechart.replies import (
    SIGNS,
    Reading,
    check_finish_reason,
    find_answer_start,
    is_abstention,
    normalise_characters,
    score_reading,
    to_outcome,
    unwrap,
    unwrap_span,
)
from eyechart.types import Outcome, Reply, Sample, Score

__all__ = [
    "SIGNS",
    "Reading",
    "check_finish_reason",
    "find_answer_start",
    "is_abstention",
    "normalise_characters",
    "score_official",
    "score_reading",
    "to_outcome",
    "unwrap",
    "unwrap_span",
]


def score_official(
    reply: Reply, sample: Sample, *, value: float, read: str | None, route: str, is_whole: bool = False
) -> Score:
    """The score of a parity scorer: the value is the official one; the outcome only names why it is 0.

    `is_whole`: the reply is the answer and nothing else, so that it is wrong rather than cut off.
    """
    outcome: Outcome
    if not sample.golds:
        outcome, value = "unscored", 0.0
    elif value > 0:
        outcome = to_outcome(value)
    else:
        without_answer: Outcome = "wrong" if read else "unparsed"
        stopped = check_finish_reason(reply, is_whole=is_whole)
        outcome = stopped or ("refused" if is_abstention(reply.text) else without_answer)
    return Score(outcome=outcome, value=value, read=read, route=route)
