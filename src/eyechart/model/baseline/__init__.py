"""Baselines: what a score is worth is seen beside a guess, a habit and a simple reader.

``baseline/random`` guesses, ``baseline/majority`` knows the questions but not the pictures,
``baseline/ocr`` reads the text in the picture, ``baseline/look`` also measures colours, shapes, counts
and places. None of them is a vision-language model.
"""

from __future__ import annotations

from collections.abc import Callable

from eyechart.errors import UnknownName, UsageError
from eyechart.model.baseline.base import Baseline
from eyechart.model.baseline.look import Look, OcrOnly
from eyechart.model.baseline.majority import Majority
from eyechart.model.baseline.random_guess import RandomGuess
from eyechart.registry import model, near_names
from eyechart.types import ModelSettings

BASELINES: dict[str, Callable[[int], Baseline]] = {
    "random": RandomGuess,
    "majority": Majority,
    "ocr": OcrOnly,
    "look": Look,
}


@model("baseline")
def make_baseline(name: str, settings: ModelSettings) -> Baseline:
    """Make the baseline of that name. The only parameter is `seed`, a whole number."""
    if name not in BASELINES:
        near = near_names(name, list(BASELINES)) or list(BASELINES)
        raise UnknownName(f"no baseline named {name!r}", hint=f"did you mean {' or '.join(near)}?")
    refused = sorted(set(settings.parameters) - {"seed"})
    if refused:
        raise UsageError(
            f"baseline/{name} takes no {', '.join(refused)}",
            hint="a baseline has one parameter, seed; leave the others out",
        )
    seed = settings.parameters.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise UsageError(f"baseline/{name}: seed must be a whole number, not {seed!r}")
    return BASELINES[name](seed or 0)
