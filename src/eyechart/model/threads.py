"""Threads for calls that may never return: they do not keep the program from ending."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any


class Threads:
    """At most `n` calls at once, each off the event loop.

    The standard pool waits for its threads when the program ends; a model that hangs would hang it too.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What `function` returns or raises, from a thread."""
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(function(*arguments))
            except StopIteration as err:  # none that waits can be given it, and would wait for ever
                future.set_exception(_as_error(err))
            except BaseException as err:  # it belongs to whoever waits
                future.set_exception(err)

        self._calls.put(work)
        if len(self._threads) < self._n:
            name = f"model-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
            self._threads[-1].start()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let idle threads end now, and busy ones after their call."""
        for _ in self._threads:
            self._calls.put(None)

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            work()


def _as_error(stop: StopIteration) -> RuntimeError:
    """As Python tells it where a generator lets one escape."""
    error = RuntimeError("the call raised StopIteration")
    error.__cause__ = stop
    return error
