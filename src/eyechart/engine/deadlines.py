"""One alarm for all requests under way: each may take equally long, so whoever was sent first is due first.

`asyncio.timeout` sets an alarm for every request and takes it back again, which costs as much as a tenth of
what else is done for one; hardly any ever rings.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict


class Wait:
    """One request under way."""

    __slots__ = ("_cancelling", "due", "is_over", "task")

    def __init__(self, task: asyncio.Task[object], due: float) -> None:
        self.task = task
        self.due = due
        self.is_over = False  # it took too long, and was ended for that
        self._cancelling = task.cancelling()

    def was_ended(self) -> bool:
        """Whether we ended it, and nobody else did at the same time. Asked once: the task may go on then."""
        is_over, self.is_over = self.is_over, False
        return is_over and self.task.uncancel() <= self._cancelling


class Deadlines:
    """Ends what takes longer than `limit_s`. For one event loop at a time."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._waiting: OrderedDict[Wait, None] = OrderedDict()  # in the order in which they are due
        self._alarm: asyncio.TimerHandle | None = None

    def begin(self) -> Wait:
        """The current task waits for an answer from now on; `end` must follow, however it goes."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None, "only a task can be ended"
        wait = Wait(task, loop.time() + self._limit_s)
        self._waiting[wait] = None
        if self._alarm is None:
            self._alarm = loop.call_at(wait.due, self._ring, loop)
        return wait

    def end(self, wait: Wait) -> None:
        """It waits no longer."""
        self._waiting.pop(wait, None)
        wait.was_ended()  # a model that did not mind being ended must not end the worker later
        if not self._waiting and self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self, loop: asyncio.AbstractEventLoop) -> None:
        self._alarm = None
        now = loop.time()
        while self._waiting:
            first = next(iter(self._waiting))
            if first.due > now:
                self._alarm = loop.call_at(first.due, self._ring, loop)
                return
            del self._waiting[first]
            first.is_over = True
            first.task.cancel()
