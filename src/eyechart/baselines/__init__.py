"""Baselines: simple models to compare a score with.

``baseline/random`` guesses, ``baseline/majority`` knows the questions but not the images, ``baseline/ocr``
reads the text in the image, ``baseline/look`` also measures colours, shapes, counts and positions. None of
them is a vision-language model. ``baseline/tiny-vlm`` is one, with 3.4 million weights.
"""

from __future__ import annotations

import importlib.util
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyechart.errors import MissingExtra, UnknownName, UsageError
from eyechart.models.hf import open_model
from eyechart.registry import model, suggest_name
from eyechart.types import Capabilities, Model, ModelSettings, Reply, Request

NAMES = ("random", "majority", "ocr", "look", "tiny-vlm")
# Ignored rather than refused: they are given once for all models of a command.
COMMON = frozenset({"temperature", "max_tokens"})
CANNOT_TELL = "cannot tell"  # the reply where no rule gives an answer; scored like any other text


@model("baseline")
def make_baseline(name: str, settings: ModelSettings) -> Model:
    """Make the baseline of that name. Its one parameter is `seed`; `tiny-vlm` has those of local weights."""
    if name not in NAMES:
        hint = suggest_name(name, list(NAMES), otherwise=f"known: {', '.join(NAMES)}")
        raise UnknownName(f"no baseline named {name!r}", hint=hint)
    if name == "tiny-vlm":
        return open_model(str(Path(__file__).parent / "tiny_vlm"), "baseline/tiny-vlm", settings)
    refused = sorted(set(settings.parameters) - {"seed"} - COMMON)
    if refused:
        raise UsageError(
            f"baseline/{name} takes no {', '.join(refused)}",
            hint="a baseline has one parameter, seed; leave the others out",
        )
    seed = settings.parameters.get("seed")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise UsageError(f"baseline/{name}: seed must be a whole number, not {seed!r}")
    if name in ("random", "majority"):
        from eyechart.baselines.guess import Majority, RandomGuess

        return RandomGuess(seed or 0) if name == "random" else Majority(seed or 0)
    if not can_look():
        raise MissingExtra.named("ocr", needed_for=f"baselines that look at images (baseline/{name})")
    from eyechart.baselines.look import Look, OcrOnly

    return Look(seed or 0) if name == "look" else OcrOnly(seed or 0)


def can_look() -> bool:
    """Whether numpy and OpenCV are installed, which the `ocr` extra brings."""
    return all(importlib.util.find_spec(name) is not None for name in ("numpy", "cv2"))


@dataclass(frozen=True, slots=True)
class Answer:
    """A text to reply with, and how it was found."""

    text: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Baseline(ABC):
    """A model that is a plain function of the request. Subclasses define `kind` and `answer`."""

    kind: str
    version = "1"  # changes whenever an answer could change
    capabilities = Capabilities(is_free=True, takes_messages=False)

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    @property
    def name(self) -> str:
        return f"baseline/{self.kind}"

    @property
    def identity(self) -> Mapping[str, Any]:
        """Everything that can change an answer."""
        return {"baseline": self.kind, "version": self.version, "seed": self.seed}

    @abstractmethod
    def answer(self, request: Request) -> Answer:
        """Answer one request: same request, same answer."""

    async def reply(self, request: Request) -> Reply:
        """Answer one request. Slow baselines use a thread, see `Look`."""
        return self._reply(request)

    async def close(self) -> None:
        return

    def _reply(self, request: Request) -> Reply:
        started = time.perf_counter()  # without the wait for a free thread
        answer = self.answer(request)
        latency_s = time.perf_counter() - started
        return Reply(text=answer.text, model=self.name, latency_s=latency_s, evidence=answer.evidence)
