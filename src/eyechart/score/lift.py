"""A metric over text, recorded as a scorer: the plain function stays callable as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from eyechart.registry import scorer
from eyechart.score.cells import Answers, answers_of
from eyechart.score.verdict import official_verdict
from eyechart.types import Reply, Sample, Score


class Metric(Protocol):
    """An answer and every accepted one in, 0 to 1 out."""

    def __call__(self, prediction: str, answers: Answers, /) -> float:
        """Compare."""
        ...


M = TypeVar("M", bound=Metric)


def metric(name: str, *, version: str, parity: str = "") -> Callable[[M], M]:
    """Record `function` as the scorer `name`, applied to the reply's text as it came.

    >>> @metric("same-length", version="1")
    ... def same_length(prediction: str, answers: Answers) -> float:
    ...     return float(any(len(prediction) == len(str(answer)) for answer in answers))
    >>> same_length("abc", ["xyz"])
    1.0
    """

    def record(function: M) -> M:
        @scorer(name, version=version, parity=parity)
        def score(reply: Reply, sample: Sample) -> Score:
            value = function(reply.text, answers_of(sample)) if sample.golds else 0.0
            read = reply.text.strip() or None
            return official_verdict(reply, sample, value=value, read=read, route=name)

        return function

    return record
