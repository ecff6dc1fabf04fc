"""The memory budget for large images and answers in flight.

Only items larger than `LARGE_BYTES` are counted; smaller ones are bounded by the number of concurrent
requests. A claim that does not fit waits. One image and one answer are always granted, so that an item larger
than the whole budget still gets its turn, alone.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Literal

ClaimKind = Literal["image", "answer"]

MAX_BYTES = 256 * 2**20
LARGE_BYTES = 2**20
_M_MMAP_THRESHOLD = -3  # of glibc's malloc.h


class MemoryBudget:
    """A budget of bytes, and the claims that wait for a part of it. Thread-safe."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.n_bytes = 0
        self.lock = threading.Lock()
        self.n_busy: dict[ClaimKind, int] = {"image": 0, "answer": 0}
        self.waiting: deque[tuple[Claim, int, Callable[[], None]]] = deque()

    def fits(self, claim: Claim, n_bytes: int) -> bool:
        is_first = not self.n_busy[claim.kind]
        return is_first or self.n_bytes + n_bytes <= self.max_bytes

    def grant(self, claim: Claim, n_bytes: int) -> None:
        claim.stop_waiting()
        claim.n_bytes += n_bytes
        self.n_bytes += n_bytes
        self.n_busy[claim.kind] += not claim.is_busy
        claim.is_busy = True

    def grant_waiting(self) -> None:
        """Grant waiting claims, of each kind in order of arrival."""
        granted: list[Callable[[], None]] = []
        left: deque[tuple[Claim, int, Callable[[], None]]] = deque()
        held_up: set[ClaimKind] = set()
        with self.lock:
            for claim, n_bytes, call in self.waiting:
                if claim.kind not in held_up and self.fits(claim, n_bytes):
                    self.grant(claim, n_bytes)
                    granted.append(call)
                else:
                    held_up.add(claim.kind)
                    left.append((claim, n_bytes, call))
            self.waiting = left
        for call in granted:  # outside of the lock
            call()


@dataclass(slots=True, eq=False)
class Claim:
    """The part of the budget that one sample holds."""

    kind: ClaimKind
    _budget: MemoryBudget = field(default_factory=lambda: MEMORY_BUDGET)
    n_bytes: int = 0
    is_busy: bool = False  # holds bytes, and will release them without waiting for others
    waits_since: float | None = None
    waited_s: float = 0.0

    def acquire(self, n_bytes: int, granted: Callable[[], None]) -> bool:
        """Add bytes; False: wait until `granted` is called, from any thread."""
        budget = self._budget
        with budget.lock:
            # A busy claim gets more at once: two that wait for each other would deadlock.
            is_next = not any(waiting.kind == self.kind for waiting, _, _ in budget.waiting)
            if self.is_busy or (is_next and budget.fits(self, n_bytes)):
                budget.grant(self, n_bytes)
                return True
            self.waits_since = time.monotonic()
            budget.waiting.append((self, n_bytes, granted))
            return False

    def acquire_blocking(self, n_bytes: int) -> None:
        """Add bytes, blocking until there is room. Not for an event loop."""
        granted = threading.Event()
        if not self.acquire(n_bytes, granted.set):
            granted.wait()

    async def acquire_async(self, n_bytes: int) -> None:
        """Add bytes, waiting in the event loop until there is room."""
        import asyncio  # not needed by those who only read images

        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def granted() -> None:
            loop.call_soon_threadsafe(event.set)

        if not self.acquire(n_bytes, granted):
            await event.wait()

    def shrink(self, n_bytes: int) -> None:
        """Hold at most so many bytes; without any left, the claim is over and stops waiting."""
        budget = self._budget
        if n_bytes >= self.n_bytes and (n_bytes or self.waits_since is None):
            return
        with budget.lock:
            if not n_bytes:
                budget.waiting = deque(entry for entry in budget.waiting if entry[0] is not self)
                self.stop_waiting()
                self._set_idle()
            budget.n_bytes -= self.n_bytes - n_bytes
            self.n_bytes = n_bytes
        budget.grant_waiting()

    def release(self) -> None:
        """Release everything, and stop waiting."""
        self.shrink(0)

    def mark_idle(self) -> None:
        """Keep the bytes while waiting for a model, and let waiting claims proceed."""
        if self.is_busy:
            with self._budget.lock:
                self._set_idle()
            self._budget.grant_waiting()

    def _set_idle(self) -> None:
        self._budget.n_busy[self.kind] -= self.is_busy
        self.is_busy = False

    def stop_waiting(self) -> None:
        self.waited_s = self.total_wait_s()
        self.waits_since = None

    def total_wait_s(self) -> float:
        """Time spent waiting for memory, which does not count as silence of the endpoint."""
        since = self.waits_since
        return self.waited_s + (0.0 if since is None else time.monotonic() - since)


MEMORY_BUDGET: MemoryBudget = MemoryBudget()

# The claim of the sample that the current task or thread works on.
current_claim: ContextVar[Claim | None] = ContextVar("claim", default=None)


def reserve(n_bytes: int) -> None:
    """Wait until the current image may use so many bytes in total; without a claim, return at once."""
    if n_bytes <= LARGE_BYTES:
        return
    claim = current_claim.get()
    if claim is None or claim.kind != "image":  # of an event loop, which must not block
        return
    if n_bytes > claim.n_bytes:
        claim.acquire_blocking(n_bytes - claim.n_bytes)


def mark_claim_idle() -> None:
    """Call `Claim.mark_idle` on the current claim, before a model is called."""
    claim = current_claim.get()
    if claim is not None:
        claim.mark_idle()


@contextmanager
def claim_image(budget: MemoryBudget | None = None) -> Iterator[None]:
    """A claim for the block; for a thread that reads one image after the other."""
    claim = Claim("image", budget or MEMORY_BUDGET)
    before = current_claim.set(claim)
    try:
        yield
    finally:
        current_claim.reset(before)
        claim.release()


def return_large_blocks() -> None:
    """Make glibc give large blocks back when they are freed: threads that decode leave gaps in its heap."""
    import ctypes

    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES)
