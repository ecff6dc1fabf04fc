"""One alarm for all requests under way: each may take equally long, so whoever was sent first is due first.

`asyncio.timeout` sets an alarm for every request and takes it back again, which costs as much as a tenth of
what else is done for one; hardly any ever rings.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from eyechart.memory import current_claim

_LATE_S = 0.1


class Wait:
    """One request under way."""

    __slots__ = ("_cancelling", "claim", "due", "is_over", "spared_s", "task")

    def __init__(self, task: asyncio.Task[object], due: float) -> None:
        self.task = task
        self.due = due
        self.claim = current_claim.get()
        self.spared_s = self.claim.waited_s if self.claim is not None else 0.0
        self.is_over = False  # it took too long, and was ended for that
        self._cancelling = task.cancelling()

    def spare(self) -> bool:
        """Move it on by as long as its answer was held up on our side; whether that was so."""
        held_up_s = self.claim.total_wait_s() if self.claim is not None else 0.0
        more_s, self.spared_s = held_up_s - self.spared_s, held_up_s
        self.due += more_s
        return more_s > 0

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
            self._set_alarm(loop, wait.due)
        return wait

    def _set_alarm(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        self._alarm = loop.call_at(at, self._ring, loop, at)

    def end(self, wait: Wait) -> None:
        """It waits no longer."""
        self._waiting.pop(wait, None)
        wait.was_ended()  # a model that did not mind being ended must not end the worker later
        if not self._waiting and self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _ring(self, loop: asyncio.AbstractEventLoop, at: float) -> None:
        self._alarm = None
        now = loop.time()
        if now - at > _LATE_S:  # the loop was busy: what came in meanwhile is not read yet
            self._set_alarm(loop, now + min(now - at, self._limit_s))
            return
        while self._waiting:
            first = next(iter(self._waiting))
            if first.due > now:
                self._set_alarm(loop, first.due)
                return
            del self._waiting[first]
            if first.spare():
                self._waiting[first] = None
                continue
            first.is_over = True
            first.task.cancel()
