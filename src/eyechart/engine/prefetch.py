"""Work made ready ahead of the requests, within a budget of bytes.

Quick work (a cell of a local file, to be checked and sent as it is) is done in the event loop, a handful of
tasks whenever a worker finds none ready: to hand it from thread to thread would cost more than the work. What
takes time (large pictures, crops, addresses, a slow disk) is done ahead, in threads; from the first such task
on, all of it.

Memory is bounded by what is in flight, never by the size of the data set: a thread that would exceed the
budget waits until requests have let go of their pictures.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator

from eyechart.engine.prepare import Prepare, Prepared
from eyechart.memory import LARGE_BYTES, Claim, current_claim
from eyechart.store.tasks import Task

_QUICK_S = 0.002  # ten times what a quick task takes; more means a slow disk, or decoding
_SLOW_ONES = 8  # of the last 32 are no accident, such as the first one, which imports decoders
_QUICK_BYTES = 512 * 1024
# Made one right after the other, tasks take half as long as one by one between requests: the processor's
# caches then hold what one kind of work needs. Those who wait for the loop must not feel it.
_HANDFUL = 32
_HANDFUL_S = 0.003
_TURN_S = 0.01  # after so much work without a pause, let the others go on: thousands may be answered already


class Prefetch:
    """Prepares tasks, in `n_threads` threads where they take time; workers take them as an async iterator."""

    def __init__(
        self,
        tasks: Iterator[Task],
        prepare: Prepare,
        *,
        n_threads: int,
        max_items: int,
        max_bytes: int,
        is_quick: Callable[[Task], bool] = lambda task: False,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._tasks: Iterator[Task] = tasks
        self._origin = tasks
        self._prepare = prepare
        self._is_quick = is_quick
        self._on_end = on_end
        self._n_threads = n_threads
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._source = threading.Lock()  # guards the iterator, which only one thread may advance
        self._room = threading.Condition()
        self._n_items = 0
        self._n_bytes = 0
        self._n_working = n_threads
        self._claims: dict[int, Claim] = {}  # of large images, by the item that holds them
        self._is_threaded = False
        self._is_stopped = False
        self._is_over = False
        self._trouble: Exception | None = None
        self._slow = 0  # of the last 32 tasks, a bit each
        self._turn_ends_at = 0.0
        self._here: deque[Prepared] = deque()  # made in the event loop, and not taken yet
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Queue[Prepared | BaseException | None] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[Prepared]:
        """Prepared tasks, in about the order they came; each must be released when it is done with.

        Several may iterate at once: each task goes to one of them, the end to all.
        """
        while not self._is_stopped and (self._here or not self._is_over):
            if self._is_turn_over():
                await asyncio.sleep(0)
                continue
            if not (self._here or self._is_threaded or self._trouble):
                self._prepare_handful()
            item = self._here.popleft() if self._here else await self._take()
            if item is not None:
                yield item
                item = None  # while we wait for the next one, this one's pictures must not wait with us

    def release(self, item: Prepared) -> None:
        """Give back the room that an item took."""
        if not self._is_threaded:
            self._n_items -= 1
            self._n_bytes -= item.n_bytes
            return
        with self._room:
            self._n_items -= 1
            self._n_bytes -= item.n_bytes
            claim = self._claims.pop(id(item), None) if self._claims else None
            self._room.notify_all()
        if claim is not None:
            claim.release()

    def stop(self) -> None:
        """Prepare nothing more, and let the loop go at once: a slow disk must not hold it up."""
        self._close_room()
        if self._is_threaded:
            self._hand_over(None)
        else:
            self._let_go()

    def _is_turn_over(self) -> bool:
        """Whether those who iterate have worked long enough, all together, since the loop last came round."""
        now = time.perf_counter()
        if not self._turn_ends_at:
            self._turn_ends_at = now + _TURN_S
            self._loop.call_soon(self._end_turn)
        return now > self._turn_ends_at

    def _end_turn(self) -> None:
        self._turn_ends_at = 0.0

    def _prepare_handful(self) -> None:
        """Make the next ones, up to the end, an error, or where threads have to take over."""
        until = time.perf_counter() + _HANDFUL_S
        for _ in range(_HANDFUL):
            if not self._prepare_here() or time.perf_counter() > until:
                return

    def _prepare_here(self) -> bool:
        """Make the next one; whether one more can be made like it."""
        start = time.perf_counter()
        try:
            task = next(self._tasks, None)
            if task is None:
                self._is_over = True
                self._let_go()
                return False
            if not self._is_quick(task) or self._n_bytes >= self._max_bytes:
                self._tasks = itertools.chain([task], self._tasks)
                self._start_threads()
                return False
            item = self._prepare(task)
        except Exception as err:  # those before it can still be asked
            self._trouble = err
            return False
        self._here.append(item)
        self._n_items += 1
        self._n_bytes += item.n_bytes
        self._slow = (self._slow << 1 | (time.perf_counter() - start > _QUICK_S)) & 0xFFFFFFFF
        if self._slow.bit_count() >= _SLOW_ONES or item.n_bytes > _QUICK_BYTES:
            self._start_threads()
        return not self._is_threaded

    async def _take(self) -> Prepared | None:
        if self._trouble is not None:  # to the one who asked; for the others this is the end
            self.stop()
            raise self._trouble
        if self._is_over:
            return None
        item = await self._ready.get()
        if item is None:
            self._is_over = True
            self._ready.put_nowait(None)  # the others wait for it too
        if isinstance(item, BaseException):
            self.stop()
            raise item
        return item

    def _start_threads(self) -> None:
        self._is_threaded = True
        for n in range(self._n_threads):
            threading.Thread(target=self._work, name=f"eyechart-prefetch-{n}", daemon=True).start()

    def _work(self) -> None:
        claim = Claim("image")
        try:
            while (task := self._next()) is not None:
                current_claim.set(claim := Claim("image"))
                item = self._prepare(task)
                self._keep_claim(item, claim)
                with self._room:
                    self._n_bytes += item.n_bytes
                self._hand_over(item)
                del item  # it is the loop's now: while we wait for room, its pictures must not wait with us
        except BaseException as err:  # whatever it is, it belongs to the loop that waits for us
            claim.release()
            self._hand_over(err)
        finally:
            self._leave()

    def _keep_claim(self, item: Prepared, claim: Claim) -> None:
        """Of what a large image took while it was prepared, hold what will be sent."""
        claim.shrink(item.n_bytes if item.n_bytes > LARGE_BYTES else 0)
        if claim.n_bytes:
            with self._room:
                if not self._is_stopped:
                    self._claims[id(item)] = claim
                    return
            claim.release()

    def _next(self) -> Task | None:
        with self._room:
            # One item is always let through: a picture larger than the budget must still be sent.
            self._room.wait_for(lambda: self._is_stopped or self._n_items == 0 or self._has_room())
            if self._is_stopped:
                return None
            self._n_items += 1
        with self._source:
            task = next(self._tasks, None)
        if task is None:
            with self._room:
                self._n_items -= 1
        return task

    def _leave(self) -> None:
        """The last thread out lets go of the source, and says so."""
        with self._room:
            self._n_working -= 1
            is_last = self._n_working == 0
        if is_last:
            self._let_go()
            self._hand_over(None)

    def _let_go(self) -> None:
        """Of the source, which may hold a file open, and of what preparing opened: no thread prepares now."""
        if isinstance(self._origin, Generator):
            self._origin.close()
        self._on_end()

    def _close_room(self) -> None:
        with self._room:
            self._is_stopped = True
            claims, self._claims = [*self._claims.values()], {}
            self._room.notify_all()
        for claim in claims:
            claim.release()

    def _has_room(self) -> bool:
        return self._n_items < self._max_items and self._n_bytes < self._max_bytes

    def _hand_over(self, item: Prepared | BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._ready.put_nowait, item)
        except RuntimeError:  # the loop is gone: nobody waits any more
            self._close_room()
