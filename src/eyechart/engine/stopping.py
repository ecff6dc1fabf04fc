"""How a run ends before its end: somebody's wish, or no point in going on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Stopped(Exception):
    """The run was stopped between two tries: neither answered nor failed."""


class Stop:
    """Whether the run goes on, and if not, why."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.trouble: BaseException | None = None
        self._event = asyncio.Event()
        self._then: list[Callable[[], None]] = []

    def interrupt(self) -> None:
        """Somebody wants it to end."""
        self.is_interrupted = True
        self.set()

    def give_up(self, trouble: BaseException) -> None:
        """Going on is pointless; the first reason stands."""
        self.trouble = self.trouble or trouble
        self.set()

    def then(self, action: Callable[[], None]) -> None:
        """Have something done when the run stops; at once, if it has."""
        self._then.append(action)
        if self.is_set:
            action()

    def set(self) -> None:
        """Ask nothing more."""
        self._event.set()
        for action in self._then:
            action()

    @property
    def is_set(self) -> bool:
        """The run is ending."""
        return self._event.is_set()

    async def wait(self, at_most_s: float | None = None) -> None:
        """Until the run is stopped, or for so many seconds."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout=at_most_s)
        except TimeoutError:
            return
