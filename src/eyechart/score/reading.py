"""The score of an official rule."""

from __future__ import annotations

from eyechart.replies import check_finish_reason, is_abstention, to_outcome
from eyechart.types import Outcome, Reply, Sample, Score


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
