"""The score of an official rule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eyechart.replies import check_finish_reason, is_abstention, to_outcome
from eyechart.types import Outcome, Reply, Sample, Score


def find_text(names: Iterable[str], *several: Mapping[str, Any]) -> str:
    """The first of these facts that is known, as text; NaN is not."""
    known = (facts.get(name) for name in names for facts in several)
    return next((str(value) for value in known if value is not None and value == value), "")


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
