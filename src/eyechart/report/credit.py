"""Which outcomes are part of a score, and what each adds to it."""

from __future__ import annotations

from eyechart.types import Result

SCORED = frozenset({"correct", "partial", "wrong", "unparsed", "refused", "truncated"})
_CREDITED = frozenset({"correct", "partial", "wrong"})
UNKNOWN = frozenset({"failed", "unparsed", "truncated"})  # they could have been right: the bounds say so


def credit(result: Result) -> float | None:
    """What one result adds to the score; None where it is no part of it.

    >>> from eyechart.types import Sample
    >>> credit(Result(sample=Sample(id="1", question="?"), position=0)) is None
    True
    """
    if result.score is None or result.score.outcome not in SCORED:
        return None
    return float(result.score.value) if result.score.outcome in _CREDITED else 0.0
