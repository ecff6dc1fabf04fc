"""Whether a model is the one that a run was begun with, though its class was edited or its server moved.

A run of ours is known by the source of its class or its endpoint, and asks everything again when that
changes. The original keeps what was answered: people mend a class that failed, or move a server, and go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyechart.errors import EyechartError
from eyechart.types import Model, Reply, Request

_MAY_CHANGE = {"source_sha256": "the class was edited since", "endpoint": "the endpoint is another one now"}


class KnownAs:
    """A model under the identity that its run was begun with."""

    def __init__(self, model: Model, identity: Mapping[str, Any], why: str) -> None:
        self.name = model.name
        self.identity = identity
        self.why = why
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
    """The model, known as in the run in that folder, where only its source or its address is another."""
    before, now = _identity(run_folder), dict(model.identity)
    for name, why in _MAY_CHANGE.items():
        if name in before and before != now and {**now, name: before[name]} == before:
            return KnownAs(model, before, why)
    return model


def _identity(run_folder: Path) -> dict[str, Any]:
    from eyechart.run.record import Run
    from eyechart.store.journal import FILE_NAME

    if not (run_folder / FILE_NAME).exists():
        return {}
    try:
        return dict((Run(run_folder).manifest or {}).get("identity") or {})
    except EyechartError:  # told when the run begins
        return {}
