"""What the files of other tools need in several rooms: their fixed words, and their arithmetic."""

from __future__ import annotations

from collections.abc import Iterable

API_FAILURE = "Failed to obtain answer via API"  # by which VLMEvalKit knows what it must ask again
NO_ANSWER = f"{API_FAILURE}."  # as it stands in the place of an answer

MARK = "eyechart"  # the key under which our own exports keep what a format has no place for
TRIAL = "eyechart_trial"  # which of several answers it is, where EvalScope's files do not tell


def add_in_order(values: Iterable[float]) -> float:
    """The sum from left to right, rounded after every step.

    The official programs add this way (numpy does too, below eight numbers). Since Python 3.12 the built-in
    `sum` compensates for rounding, so the last digit of a published figure would depend on the version.

    >>> add_in_order([0.1] * 10)
    0.9999999999999999
    """
    total: float = 0  # whole numbers stay whole
    for value in values:
        total += value
    return total
