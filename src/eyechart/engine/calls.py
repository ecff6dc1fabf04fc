"""What is asked besides the reply itself: found in the journal if it was asked before, else kept there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyechart.engine.asking import Asker
from eyechart.engine.cached import Cache
from eyechart.memory import rest_claim
from eyechart.store.journal import Ask, Journal
from eyechart.types import Reply, Request

_LATEST = 1000  # as a rule more than wait for the disk
_SMALL = 64 * 1024  # characters of a reply that is worth remembering: a larger one is read from the disk


class Calls:
    """The calls of one run, by key. Those of earlier starts are read over one connection."""

    def __init__(self, journal: Journal, cache: Cache | None = None) -> None:
        self._journal = journal
        self._cache = cache or Cache()
        self._kept = journal.kept_calls()
        # The latest of this start, which the disk may not have yet.
        self._latest: dict[tuple[str, int, str], Reply] = {}

    async def reply(
        self, asker: Asker, request: Request, key: str, written: Sequence[Mapping[str, Any]], purpose: str
    ) -> Reply:
        """The reply to `request`; raises what the asker raises."""
        sample, trial = request.sample.id, request.trial
        known = self._latest.get((sample, trial, key)) or self._on_disk(sample, trial, key)
        if known is not None:
            return known
        ask = Ask(key=key, recipe="", messages=[dict(turn) for turn in written])
        reply, attempts, paid = self._cache.find(asker.model, key, request), 0, None
        if reply is None:
            rest_claim()  # what the sample holds of an earlier reply must not keep others from their answers
            answer = await asker.ask(request)
            reply, attempts, paid = answer.replies[0], answer.attempts, answer.paid
            self._cache.put(asker.model, key, request, reply)
        self._journal.append_call(
            sample, trial, ask, purpose, reply, attempts=attempts, paid=paid, model=asker.model.name
        )
        self._remember(sample, trial, key, reply)
        return reply

    def _remember(self, sample: str, trial: int, key: str, reply: Reply) -> None:
        self._kept.expect(key)
        if len(reply.text) + len(reply.thinking) > _SMALL:
            return
        self._latest[sample, trial, key] = reply
        if len(self._latest) > _LATEST:
            del self._latest[next(iter(self._latest))]

    def _on_disk(self, sample: str, trial: int, key: str) -> Reply | None:
        if not self._kept.has(key):
            return None
        known = self._kept.reply(sample, trial, key)
        if known is None:  # of this start, and not written yet; or of another sample
            self._journal.flush()
            known = self._kept.reply(sample, trial, key)
        return known

    def close(self) -> None:
        """Let go of the journal."""
        self._kept.close()


def key_of(*parts: Any) -> str:
    """The name of what is asked."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()
