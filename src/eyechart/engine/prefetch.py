"""Work made ready ahead of the event loop, in threads, within a budget of bytes.

Memory is bounded by what is in flight, never by the size of the data set: a thread that would exceed
the budget waits until requests have let go of their pictures.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Generator, Iterator

from eyechart.engine.prepare import Prepare, Prepared
from eyechart.store.reader import Task


class Prefetch:
    """Prepares tasks in `n_threads` threads; workers in the event loop take them as an async iterator."""

    def __init__(
        self, tasks: Iterator[Task], prepare: Prepare, *, n_threads: int, max_items: int, max_bytes: int
    ) -> None:
        self._tasks = tasks
        self._prepare = prepare
        self._n_threads = n_threads
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._source = threading.Lock()  # guards the iterator, which only one thread may advance
        self._room = threading.Condition()
        self._n_items = 0
        self._n_bytes = 0
        self._n_working = n_threads
        self._is_started = False
        self._is_stopped = False
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Queue[Prepared | BaseException | None] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[Prepared]:
        """Prepared tasks, in about the order they came; each must be released when it is done with.

        Several may iterate at once: each task goes to one of them, the end to all.
        """
        self._start()
        while not self._is_stopped:
            item = await self._ready.get()
            if item is None:
                self._ready.put_nowait(None)  # the others wait for it too
                return
            if isinstance(item, BaseException):
                self.stop()
                raise item
            yield item

    def release(self, item: Prepared) -> None:
        """Give back the room that an item took."""
        with self._room:
            self._n_items -= 1
            self._n_bytes -= item.n_bytes
            self._room.notify_all()

    def stop(self) -> None:
        """Prepare nothing more, and let the loop go at once: a slow disk must not hold it up."""
        self._close_room()
        self._hand_over(None)

    def _start(self) -> None:
        if self._is_started or self._is_stopped:
            return
        self._is_started = True
        for n in range(self._n_threads):
            threading.Thread(target=self._work, name=f"eyechart-prefetch-{n}", daemon=True).start()

    def _work(self) -> None:
        try:
            while (task := self._next()) is not None:
                item = self._prepare(task)
                with self._room:
                    self._n_bytes += item.n_bytes
                self._hand_over(item)
        except BaseException as err:  # whatever it is, it belongs to the loop that waits for us
            self._hand_over(err)
        finally:
            self._leave()

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
        """The last thread out lets go of the source, which may hold a file open, and says so."""
        with self._room:
            self._n_working -= 1
            is_last = self._n_working == 0
        if is_last:
            if isinstance(self._tasks, Generator):
                self._tasks.close()
            self._hand_over(None)

    def _close_room(self) -> None:
        with self._room:
            self._is_stopped = True
            self._room.notify_all()

    def _has_room(self) -> bool:
        return self._n_items < self._max_items and self._n_bytes < self._max_bytes

    def _hand_over(self, item: Prepared | BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._ready.put_nowait, item)
        except RuntimeError:  # the loop is gone: nobody waits any more
            self._close_room()
