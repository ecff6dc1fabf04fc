"""Baselines: what a score is worth is seen beside a guess, a habit and a simple reader.

``baseline/random`` guesses, ``baseline/majority`` knows the questions but not the pictures,
``baseline/ocr`` reads the text in the picture, ``baseline/look`` also measures colours, shapes, counts
and places. None of them is a vision-language model.
"""

from __future__ import annotations

from eyechart.errors import UnknownName, UsageError
from eyechart.model.baseline import eyes
from eyechart.model.baseline.base import Baseline
from eyechart.model.baseline.majority import Majority
from eyechart.model.baseline.random_guess import RandomGuess
from eyechart.registry import did_you_mean, model
from eyechart.types import ModelSettings

NAMES = ("random", "majority", "ocr", "look")
# Said once for all models of a command: a baseline beside a real model takes note and goes on.
COMMON = frozenset({"temperature", "max_tokens"})


@model("baseline")
def make_baseline(name: str, settings: ModelSettings) -> Baseline:
    """Make the baseline of that name. Its one parameter is `seed`, a whole number."""
    if name not in NAMES:
        hint = did_you_mean(name, list(NAMES), otherwise=f"there are: {', '.join(NAMES)}")
        raise UnknownName(f"no baseline named {name!r}", hint=hint)
    refused = sorted(set(settings.parameters) - {"seed"} - COMMON)
    if refused:
        raise UsageError(
            f"baseline/{name} takes no {', '.join(refused)}",
            hint="a baseline has one parameter, seed; leave the others out",
        )
    seed = settings.parameters.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise UsageError(f"baseline/{name}: seed must be a whole number, not {seed!r}")
    if name == "random":
        return RandomGuess(seed or 0)
    if name == "majority":
        return Majority(seed or 0)
    eyes.require_numpy(name)
    from eyechart.model.baseline.look import Look, OcrOnly  # with numpy, which the others do without

    return Look(seed or 0) if name == "look" else OcrOnly(seed or 0)
