"""Replies that an earlier run got to the very same request."""

from __future__ import annotations

from dataclasses import dataclass

from eyechart.store.cache import ResponseCache
from eyechart.types import Model, Reply


@dataclass(frozen=True, slots=True)
class Cache:
    """The response cache as one run uses it: endpoints only, for a user's own class may change overnight.

    Not `is_read`: what is asked anew is kept, and takes the place of what was said before.
    """

    responses: ResponseCache | None = None
    is_read: bool = True

    def find(self, model: Model, key: str) -> Reply | None:
        """What `model` said to it."""
        if self.responses is None or not self.is_read or not _is_kept(model):
            return None
        return self.responses.find(key)

    def put(self, model: Model, key: str, reply: Reply) -> None:
        """Keep it for later runs."""
        if self.responses is not None and _is_kept(model):
            self.responses.put(key, model.name, reply)


def _is_kept(model: Model) -> bool:
    return bool(getattr(model, "is_endpoint", False))
