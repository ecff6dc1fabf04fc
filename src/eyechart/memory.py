"""How much memory large things in flight may take together: images being prepared or sent, answers coming in.

Only what is larger than `LARGE_BYTES` is counted here; what is smaller is bounded by how many requests there
are at once. Whoever wants more than is left waits. One image and one answer are always let through, so that
something larger than the whole budget still gets its turn, alone.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal

ClaimKind = Literal["image", "answer"]

MAX_BYTES = 256 * 2**20
LARGE_BYTES = 2**20


class MemoryBudget:
    """One budget of bytes. For any thread."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self.n_bytes = 0
        self._lock = threading.Lock()
        self._n_busy: dict[ClaimKind, int] = {"image": 0, "answer": 0}
        self._waiting: deque[tuple[Claim, int, Callable[[], None]]] = deque()

    @property
    def has_room(self) -> bool:
        return self.n_bytes < self.max_bytes

    def acquire(self, claim: Claim, n_bytes: int, granted: Callable[[], None]) -> bool:
        """Count so many more for `claim`; False: not yet, and `granted` is called when it is."""
        with self._lock:
            # Who has some already gets more at once: two who wait for each other's would wait for ever.
            is_next = not any(waiting.kind == claim.kind for waiting, _, _ in self._waiting)
            if claim.is_busy or (is_next and self._fits(claim, n_bytes)):
                self._grant(claim, n_bytes)
                return True
            claim.waits_since = time.monotonic()
            self._waiting.append((claim, n_bytes, granted))
            return False

    def release(self, claim: Claim, n_bytes: int) -> None:
        """Count so many less; with all that it has, the claim is over, and waits for nothing more."""
        with self._lock:
            if n_bytes >= claim.n_bytes:
                n_bytes = claim.n_bytes
                self._waiting = deque(entry for entry in self._waiting if entry[0] is not claim)
                claim.stop_waiting()
                if claim.is_busy:
                    claim.is_busy = False
                    self._n_busy[claim.kind] -= 1
            claim.n_bytes -= n_bytes
            self.n_bytes -= n_bytes
            granted = self._grant_waiting()
        for call in granted:
            call()

    def mark_idle(self, claim: Claim) -> None:
        """It holds what it holds, and waits for somebody else: it must not keep others from their turn."""
        with self._lock:
            if claim.is_busy:
                claim.is_busy = False
                self._n_busy[claim.kind] -= 1
            granted = self._grant_waiting()
        for call in granted:
            call()

    def _fits(self, claim: Claim, n_bytes: int) -> bool:
        is_first = not self._n_busy[claim.kind]
        return is_first or self.n_bytes + n_bytes <= self.max_bytes

    def _grant(self, claim: Claim, n_bytes: int) -> None:
        claim.stop_waiting()
        claim.n_bytes += n_bytes
        self.n_bytes += n_bytes
        if not claim.is_busy:
            claim.is_busy = True
            self._n_busy[claim.kind] += 1

    def _grant_waiting(self) -> list[Callable[[], None]]:
        """Whose turn it is now: of each kind in the order in which they came."""
        granted: list[Callable[[], None]] = []
        left: deque[tuple[Claim, int, Callable[[], None]]] = deque()
        held_up: set[ClaimKind] = set()
        for claim, n_bytes, call in self._waiting:
            if claim.kind not in held_up and self._fits(claim, n_bytes):
                self._grant(claim, n_bytes)
                granted.append(call)
            else:
                held_up.add(claim.kind)
                left.append((claim, n_bytes, call))
        self._waiting = left
        return granted


class Claim:
    """What one sample on its way holds of the budget."""

    __slots__ = ("_budget", "is_busy", "kind", "n_bytes", "waited_s", "waits_since")

    def __init__(self, kind: ClaimKind, budget: MemoryBudget | None = None) -> None:
        self.kind = kind
        self.n_bytes = 0
        self.is_busy = False  # it holds something, and gives it back without the help of others
        self.waits_since: float | None = None
        self.waited_s = 0.0
        self._budget = budget or IN_FLIGHT

    def acquire(self, n_bytes: int, granted: Callable[[], None]) -> bool:
        """Count so many more; False: not yet, and `granted` is called, from any thread, when it is."""
        return self._budget.acquire(self, n_bytes, granted)

    def acquire_blocking(self, n_bytes: int) -> None:
        """Count so many more, as soon as there is room. Not for an event loop."""
        granted = threading.Event()
        if not self.acquire(n_bytes, granted.set):
            granted.wait()

    async def acquire_async(self, n_bytes: int) -> None:
        """The same in an event loop."""
        import asyncio  # which those who only read images need not pay for

        loop, event = asyncio.get_running_loop(), asyncio.Event()

        def granted() -> None:
            loop.call_soon_threadsafe(event.set)

        if not self.acquire(n_bytes, granted):
            await event.wait()

    def shrink(self, n_bytes: int) -> None:
        """Hold no more than so many."""
        if n_bytes < self.n_bytes:
            self._budget.release(self, self.n_bytes - n_bytes)

    def mark_idle(self) -> None:
        """Hold it while somebody else is asked: those who wait may go on meanwhile."""
        if self.is_busy:
            self._budget.mark_idle(self)

    def release(self) -> None:
        """Give all back, and wait for nothing more."""
        if self.n_bytes or self.waits_since is not None:
            self._budget.release(self, self.n_bytes)

    def stop_waiting(self) -> None:
        """It has waited long enough."""
        self.waited_s = self.total_wait_s()
        self.waits_since = None

    def total_wait_s(self) -> float:
        """How long it was held up so far: time that is no endpoint's silence."""
        since = self.waits_since
        return self.waited_s + (0.0 if since is None else time.monotonic() - since)


IN_FLIGHT = MemoryBudget()

# The sample that the current task or thread works on, as far as it holds anything.
current_claim: ContextVar[Claim | None] = ContextVar("claim", default=None)


def reserve(n_bytes: int) -> None:
    """Wait until the image at hand may take so many bytes in all; where nobody counts, at once."""
    if n_bytes <= LARGE_BYTES:
        return
    claim = current_claim.get()
    if claim is None or claim.kind != "image":  # an event loop's, which cannot wait here
        return
    if n_bytes > claim.n_bytes:
        claim.acquire_blocking(n_bytes - claim.n_bytes)


def mark_claim_idle() -> None:
    """Before somebody else is asked: see `Claim.mark_idle`."""
    claim = current_claim.get()
    if claim is not None:
        claim.mark_idle()


@contextmanager
def claim_image() -> Iterator[None]:
    """Count what is reserved within; for a thread that looks at one image after the other."""
    claim = Claim("image")
    before = current_claim.set(claim)
    try:
        yield
    finally:
        current_claim.reset(before)
        claim.release()
