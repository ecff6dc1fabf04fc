"""Whether an evaluator is the one that a run was begun with, though its file was edited since.

A run of ours is known by the source of its class, and asks everything again when that changes. The original
keeps what was answered, whoever answered it: people mend a class that failed, and go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyechart.errors import EyechartError
from eyechart.types import Model, Reply, Request

_SOURCE = "source_sha256"


class KnownAs:
    """A model under the identity that its run was begun with."""

    def __init__(self, model: Model, identity: Mapping[str, Any]) -> None:
        self.name = model.name
        self.identity = identity
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)  # what it can do besides: take rounds, answer several at once

    async def reply(self, request: Request) -> Reply:
        """As the model replies."""
        return await self._model.reply(request)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()


def as_before(model: Model, run_folder: Path) -> Model:
    """The model, known as in the run that lies in the folder, where nothing but its source is another."""
    before = _identity(run_folder)
    now = dict(model.identity)
    if before.get(_SOURCE) == now.get(_SOURCE) or {**before, _SOURCE: ""} != {**now, _SOURCE: ""}:
        return model
    return KnownAs(model, before)


def _identity(run_folder: Path) -> dict[str, Any]:
    from eyechart.run.record import Run
    from eyechart.store.journal import FILE_NAME

    if not (run_folder / FILE_NAME).exists():
        return {}
    try:
        return dict((Run(run_folder).manifest or {}).get("identity") or {})
    except EyechartError:  # told when the run begins
        return {}
