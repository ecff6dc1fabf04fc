"""What other people's code hands over, looked at once, where it comes in.

A source or a scorer may be anybody's, and a slip in one would come to light far from where it was made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from typing import Any

from eyechart.errors import DataError
from eyechart.types import OUTCOMES, Sample, Score


def check_sample(sample: Any, number: int) -> Sample:
    """A sample as it came, if it is one; `number` is its place in the source, counted from 1.

    >>> check_sample(Sample(id="7", question="?", golds="A"), 1)
    Traceback (most recent call last):
    eyechart.errors.DataError: sample '7': golds is a tuple of texts, not 'A'
      hint: mend it where the Sample is made
    """
    if not isinstance(sample, Sample):
        raise DataError(f"the source yields {type(sample).__name__} as number {number}, not a Sample")
    if (slip := _slip_in(sample)) is not None:
        name, wanted = slip
        found = repr(getattr(sample, name))
        found = found if len(found) < 80 else found[:79] + "…"
        hint = "mend it where the Sample is made"
        raise DataError(f"sample {sample.id!r}: {name} is {wanted}, not {found}", hint=hint)
    return sample


def check_samples(samples: Iterable[Any]) -> Iterator[Sample]:
    """Samples as they come, each looked at."""
    return map(check_sample, samples, count(1))


def _slip_in(sample: Any) -> tuple[str, str] | None:
    """The first field that is not what it should be, and what it should be."""
    for name in ("id", "question"):
        if not isinstance(getattr(sample, name), str):
            return name, "a text"
    if not isinstance(sample.images, tuple):
        return "images", "a tuple of ImageRef"
    if not isinstance(sample.golds, tuple) or not all(isinstance(gold, str) for gold in sample.golds):
        return "golds", "a tuple of texts"
    if not isinstance(sample.choices, Mapping):
        return "choices", "a mapping of letters to texts"
    if not isinstance(sample.meta, Mapping):
        return "meta", "a mapping of names to values"
    if not isinstance(sample.weight, int | float) or not 0 <= sample.weight < math.inf:
        return "weight", "a number, 0 or more"
    return None


def check_score(score: Score) -> Score:
    """A verdict as it came, if it is one: scorers may be anybody's, and what is kept is read again later.

    >>> check_score(Score(outcome="partial", value=2))
    Traceback (most recent call last):
    ValueError: a score's value is a number from 0 to 1, not 2
    """
    if not isinstance(score, Score):
        raise TypeError(f"a scorer returns a Score, not {score!r}")
    if score.outcome not in OUTCOMES:
        raise ValueError(f"a score's outcome is one of {', '.join(OUTCOMES)}, not {score.outcome!r}")
    value: object = score.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"a score's value is a number from 0 to 1, not {value!r}")
    if not isinstance(score.read, str | None):
        raise TypeError(f"what a score has read is a text or None, not {score.read!r}")
    if not isinstance(score.route, str):
        raise TypeError(f"a score's route is a text, not {score.route!r}")
    return score
