"""Replies that an earlier run got to the very same request."""

from __future__ import annotations

import msgspec

from eyechart.store.cache import ResponseCache
from eyechart.store.kept import EarlierRuns
from eyechart.types import ImageRef, Model, Reply, Request, Studious


class Cache(msgspec.Struct, frozen=True):
    """What is known without asking: from the folders of earlier runs, then from the response cache.

    An earlier run is looked into as the run's own folder is on resume: by sample, trial and key. The response
    cache is for endpoints only, since a user's own class may change overnight. What this run itself has put
    there is not found by it: two samples that ask the same are two questions.
    Not `is_read`: what is asked anew is kept, and takes the place of what was said before.
    """

    responses: ResponseCache | None = None
    is_read: bool = True
    earlier: EarlierRuns | None = None
    _own: set[int] = msgspec.field(default_factory=set)  # of each key the first half, as a number

    def find(self, model: Model, key: str, request: Request) -> Reply | None:
        """What `model` said to it."""
        if not self.is_read:
            return None
        if self.earlier is not None and not _depends_on_selection(model):
            reply = self.earlier.find(request.sample.id, request.trial, key)
            if reply is not None:
                return reply
        if self.responses is None or not _is_kept(model, request):
            return None
        return None if _short(key) in self._own else self.responses.find(key)

    def put(self, model: Model, key: str, request: Request, reply: Reply) -> None:
        """Keep it for later runs."""
        if self.responses is not None and _is_kept(model, request):
            self._own.add(_short(key))
            self.responses.put(key, model.name, reply)


def _depends_on_selection(model: Model) -> bool:
    """Whether the other samples of a run can change the answer; baselines cost nothing to ask besides."""
    return bool(getattr(model, "is_free", False)) or isinstance(model, Studious)


def _is_kept(model: Model, request: Request) -> bool:
    """Whether the same request means the same: a picture at an address that is handed on may be another."""
    if not getattr(model, "is_endpoint", False):
        return False
    for turn in request.messages:
        for part in turn.parts:
            if isinstance(part, ImageRef):
                return False
    return True


def _short(key: str) -> int:
    return int(key[:16], 16)
