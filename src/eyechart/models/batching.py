"""Single requests gathered into lists, for a user's ``generate_batch``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# How long an incomplete batch waits for more. Far less than any model takes, and longer than the engine needs
# to hand on what is ready.
_FILL_S = 0.05


class Batcher(Generic[T, R]):
    """Calls `run` with up to `size` items, and at most `n_at_once` times at a time.

    An error of a batch may be one item's fault, or too little memory for all: the batch is halved and run
    again, down to single items, of which the faulty one fails alone.
    """

    def __init__(self, run: Callable[[list[T]], Awaitable[list[R]]], *, size: int, n_at_once: int) -> None:
        self._run = run
        self._size = size
        self._n_free = n_at_once
        self._waiting: list[tuple[T, asyncio.Future[R]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, item: T) -> R:
        """The result of one item."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[R] = loop.create_future()
        self._waiting.append((item, future))
        self._start(self._size)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(_FILL_S, self._start_rest)
        return await future

    def _start_rest(self) -> None:
        """Nothing more has come: start what there is."""
        self._timer = None
        self._start(1)

    def _start(self, least: int) -> None:
        """Start batches of at least so many, as many as may run."""
        while self._n_free and len(self._waiting) >= least:
            chosen, self._waiting = self._waiting[: self._size], self._waiting[self._size :]
            alive = [(item, future) for item, future in chosen if not future.done()]  # others were given up
            if alive:
                self._n_free -= 1
                task = asyncio.get_running_loop().create_task(self._work(alive))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _work(self, batch: list[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            await self._settle(batch)
        finally:
            self._n_free += 1
            for _, future in batch:
                if not future.done():
                    future.cancel()
            self._start(self._size)
            if self._waiting and self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_FILL_S, self._start_rest)

    async def _settle(self, batch: list[tuple[T, asyncio.Future[R]]]) -> None:
        try:
            results = await self._run([item for item, _ in batch])
        except (asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as err:  # a panic in a compiled library is not an Exception
            if len(batch) > 1:
                half = len(batch) // 2
                await self._settle(batch[:half])
                await self._settle(batch[half:])
            elif not batch[0][1].done():
                batch[0][1].set_exception(err)
            return
        for (_, future), result in zip(batch, results, strict=True):
            if not future.done():
                future.set_result(result)
