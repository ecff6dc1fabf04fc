"""Checks of what plug-ins return: samples and scores; how a plug-in's scorer is called.

They are checked once, where they come in, because an error would otherwise show up far from its cause.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import count
from typing import Any

from eyechart.errors import DataError
from eyechart.types import OUTCOMES, Outcome, Reply, Sample, Score

_LIGHTEST, _HEAVIEST = 1e-9, 1e15  # points: what sums of squares can hold beside each other
_MAPPING = (dict, Mapping)  # a dict is seen at once; abstract classes take three times as long
_NUMBER = (int, float)
# A second parameter of one of these names, or one annotated as a text, is a gold and not a sample. So is one
# behind a text, unless it is called a sample: to compare a text with a sample is no error, and always false.
_GOLDS = frozenset({
    "gold", "label", "target", "answer", "reference", "truth", "ground_truth", "gt", "expected",
    "y", "y_true",
})  # fmt: skip
_TEXTS = frozenset(
    {"pred", "prediction", "predicted", "text", "reply_text", "output", "hypothesis", "y_pred"}
)
_SAMPLES = frozenset({"sample", "row", "item", "example", "question"})


def check_sample(sample: Any, number: int) -> Sample:
    """Return a valid sample, else raise `DataError`; `number` is its position in the source, from 1.

    >>> check_sample(Sample(id="7", question="?", golds="A"), 1)
    Traceback (most recent call last):
    eyechart.errors.DataError: sample '7': golds must be a tuple of strings, not 'A'
      hint: correct it where the Sample is created
    """
    if not isinstance(sample, Sample):
        raise DataError(f"item {number} of the source is not a Sample but {type(sample).__name__}")
    if (error := _find_error(sample)) is not None:
        name, wanted = error
        found = repr(getattr(sample, name))
        found = found if len(found) < 80 else found[:79] + "…"
        hint = "correct it where the Sample is created"
        raise DataError(f"sample {sample.id!r}: {name} must be {wanted}, not {found}", hint=hint)
    return sample


def check_samples(samples: Iterable[Any]) -> Iterator[Sample]:
    """Check samples as they come."""
    return map(check_sample, samples, count(1))


def _find_error(sample: Any) -> tuple[str, str] | None:
    """The first invalid field, and what it must be."""
    for name in ("id", "question"):
        if not isinstance(getattr(sample, name), str):
            return name, "a string"
    if not isinstance(sample.images, tuple):
        return "images", "a tuple of ImageRef"
    if not isinstance(sample.golds, tuple) or not all(isinstance(gold, str) for gold in sample.golds):
        return "golds", "a tuple of strings"
    if not isinstance(sample.choices, _MAPPING):
        return "choices", "a mapping of letters to strings"
    if not isinstance(sample.meta, _MAPPING):
        return "meta", "a mapping of names to values"
    weight = sample.weight
    is_number = isinstance(weight, _NUMBER) and weight is not True and weight is not False
    if not is_number or not (weight == 0 or _LIGHTEST <= weight <= _HEAVIEST):
        return "weight", f"0, or a number from {_LIGHTEST:g} to {_HEAVIEST:g}"
    return None


def apply_scorer(function: Callable[..., Any], reply: Reply, sample: Sample, *, route: str) -> Score:
    """The score by a function of a reply and a sample, or of a reply's text and a gold: the best over all.

    It may return a `Score`, a truth value or a number from 0 to 1.

    >>> def contains(text, gold):
    ...     return gold in text
    >>> asked = Sample(id="1", question="Which animal?", golds=("dog", "cat"))
    >>> apply_scorer(contains, Reply(text="A cat."), asked, route="contains").outcome
    'correct'
    """
    if not _takes_gold(function):
        return _read_score(function(reply, sample), reply, route)
    if not sample.golds:
        return Score(outcome="unscored", value=0.0, route=route)
    scores = (_read_score(function(reply.text, gold), reply, route) for gold in sample.golds)
    return max(scores, key=lambda score: score.value)


def _read_score(value: Any, reply: Reply, route: str) -> Score:
    value = value.item() if hasattr(value, "item") else value  # a number of numpy
    if isinstance(value, bool | int | float) and 0 <= value <= 1:
        outcome: Outcome = "correct" if value == 1 else "wrong" if value == 0 else "partial"
        return Score(outcome=outcome, value=float(value), read=reply.text, route=route)
    return check_score(value)


@lru_cache(maxsize=256)
def _takes_gold(function: Callable[..., Any]) -> bool:
    try:
        first, second, *_ = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not to be known: a reply and a sample
        return False
    is_after_text = first.name in _TEXTS and second.name not in _SAMPLES
    return second.name in _GOLDS or second.annotation in (str, "str") or is_after_text


def check_score(score: Score) -> Score:
    """Return a valid score, else raise: scorers may be plug-ins, and scores are stored and read again.

    >>> check_score(Score(outcome="partial", value=2))
    Traceback (most recent call last):
    ValueError: a score's value must be a number from 0 to 1, not 2
    """
    if not isinstance(score, Score):
        raise TypeError(f"a scorer must return a Score, a bool or a number from 0 to 1, not {score!r}")
    if score.outcome not in OUTCOMES:
        raise ValueError(f"a score's outcome must be one of {', '.join(OUTCOMES)}, not {score.outcome!r}")
    value: object = score.value
    if isinstance(value, bool) or not isinstance(value, _NUMBER) or not 0 <= value <= 1:
        raise ValueError(f"a score's value must be a number from 0 to 1, not {value!r}")
    if not isinstance(score.read, str | None):
        raise TypeError(f"a score's read must be a string or None, not {score.read!r}")
    if not isinstance(score.route, str):
        raise TypeError(f"a score's route must be a string, not {score.route!r}")
    return score
