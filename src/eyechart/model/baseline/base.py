"""What all baselines share: a name, an identity, and an answer that brings its evidence."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eyechart.types import Capabilities, Reply, Request

CANNOT_TELL = "cannot tell"  # said instead of a guess; scored like any other text
VERSION = "1"  # moves whenever an answer could move


@dataclass(frozen=True, slots=True)
class Answer:
    """A text to reply with, and how it was found."""

    text: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


class Baseline(ABC):
    """A model that is a plain function of the request. Subclasses say `kind` and `answer`."""

    kind: str
    capabilities = Capabilities(is_free=True)

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    @property
    def name(self) -> str:
        """As the user wrote it."""
        return f"baseline/{self.kind}"

    @property
    def identity(self) -> Mapping[str, Any]:
        """All that can change an answer."""
        return {"baseline": self.kind, "version": VERSION, "seed": self.seed}

    @abstractmethod
    def answer(self, request: Request) -> Answer:
        """Answer one request: same request, same answer."""

    async def reply(self, request: Request) -> Reply:
        """Answer one request. Baselines that take their time do it elsewhere, see `Look`."""
        started = time.perf_counter()
        return self._reply(self.answer(request), started)

    async def close(self) -> None:
        """Let go of what was opened: nothing, for most."""
        return

    def _reply(self, answer: Answer, started: float) -> Reply:
        return Reply(
            text=answer.text,
            model=self.name,
            latency_s=time.perf_counter() - started,
            evidence=answer.evidence,
        )
