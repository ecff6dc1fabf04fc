"""The workers of a cluster in the driver: the link to each, its samples, its share of the limits."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from eyechart.engine.pool import TokenReservation
from eyechart.engine.prepare import Prepared, Rendered
from eyechart.engine.remote import Answer, Job, Report, Stop, WorkerInfo
from eyechart.engine.retry import EngineSettings
from eyechart.engine.sample import Settled, has_rounds
from eyechart.store.reader import Task

_WINDOW_S = 10.0  # of the rate per node


class LinkLost(Exception):
    """The worker behind a link died, or its node did."""

    def __init__(self, reason: str, *, is_node: bool = False) -> None:
        super().__init__(reason)
        self.is_node = is_node


class Link(Protocol):
    """A way to one worker. Every method raises `LinkLost` when the worker is gone; `open` starts it again."""

    async def open(self, data: bytes) -> bytes: ...

    async def exchange(self, data: bytes) -> bytes: ...

    def post(self, data: bytes) -> None:
        """Send without waiting. A loss shows in the exchange that is under way."""

    async def close(self) -> None: ...


@dataclass(eq=False, slots=True)
class PendingJob:
    """The trials of one sample, until all have an outcome."""

    ticket: int
    item: Rendered | Prepared
    n_deaths: int = 0  # of workers that had it
    n_alone: int = 0  # of these, with no other sample
    origin: Rendered | Prepared = field(init=False)  # as the prefetcher knows it
    tasks: dict[int, Task] = field(init=False)  # by trial
    _done: set[int] = field(init=False, default_factory=set)

    def __post_init__(self) -> None:
        self.origin = self.item
        first = self.item.task
        self.tasks = {task.trial: task for task in (first, *first.siblings)}

    @property
    def needs_rounds(self) -> bool:
        request = self.item.request if isinstance(self.item, Prepared) else self.item
        return request is not None and has_rounds(request.messages)

    def open_tasks(self) -> list[Task]:
        return [task for trial, task in self.tasks.items() if trial not in self._done]

    def slim_item(self) -> Rendered | Prepared:
        """What travels: without golds, and without the trials that have their outcome."""
        item, change = self.item, msgspec.structs.replace
        sample = item.sample if isinstance(item, Rendered) else item.task.sample.without_golds()
        tasks = {task.trial: change(task, sample=sample, siblings=()) for task in self.open_tasks()}
        if isinstance(item, Rendered):
            first, *others = tasks.values()
            return change(item, task=change(first, siblings=tuple(others)))
        trials = (one for one in (item, *item.siblings) if one.task.trial in tasks)
        left, *more = (change(one, task=tasks[one.task.trial], siblings=()) for one in trials)
        return change(left, siblings=tuple(more))

    def take(self, settled: Settled) -> Settled:
        """What a worker has settled, with our own tasks."""

        def find(task: Task) -> Task:
            self._done.add(task.trial)
            return self.tasks[task.trial]

        return settled.change_tasks(find)


@dataclass(eq=False, slots=True)
class Peer:
    """One worker, as the driver knows it. Between two lives, its link starts it again."""

    link: Link
    share: int
    info: WorkerInfo | None = None
    is_ready: bool = False
    is_reserved: bool = False  # it gets nothing but a suspect, or nothing at all
    is_exchanging: bool = False
    is_posting: bool = False
    is_listed: bool = False  # among those that may have room
    life: int = 0
    n_settled: int = 0
    n_recent: int = 0  # of these, in the last exchange
    n_early_deaths: int = 0  # in a row
    n_admitted: int = 0  # requests in flight that the budget has admitted
    trouble: BaseException | None = None  # why it is left out
    jobs: dict[int, PendingJob] = field(default_factory=dict)
    outbox: list[Job | Answer | Stop] = field(default_factory=list)
    reservations: list[TokenReservation] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    _settled_at: deque[float] = field(default_factory=deque)

    @property
    def depth(self) -> int:
        """How many samples it holds: as many as are in flight, and as many ahead of them.

        One that settles many between two exchanges gets as many more.
        """
        limit = max(self.report.limit, self.info.limit if self.info is not None else self.share)
        return 2 * limit + 2 + 2 * self.n_recent

    @property
    def rate(self) -> float:
        now = time.monotonic()
        return sum(1 for at in tuple(self._settled_at) if at > now - _WINDOW_S) / _WINDOW_S

    def take_outbox(self) -> list[Job | Answer | Stop]:
        taken, self.outbox = self.outbox, []
        return taken

    def settled(self, job: PendingJob) -> None:
        self.n_settled += 1
        self.n_early_deaths = 0
        now = time.monotonic()
        self._settled_at.append(now)
        while self._settled_at[0] < now - _WINDOW_S:
            self._settled_at.popleft()
        if not self.jobs and self.trouble is None:
            self.is_reserved = False

    def begin(self, info: WorkerInfo) -> None:
        self.info, self.is_ready, self.is_reserved = info, True, False
        self.report = Report(limit=info.limit)

    def end(self, *, is_early: bool) -> None:
        self.n_early_deaths += is_early
        self.life += 1
        self.is_ready = False
        self.n_recent = 0
        self.jobs, self.outbox, self.reservations, self.n_admitted = {}, [], [], 0
        self.report = Report()


def divide(settings: EngineSettings, n_workers: int) -> list[int]:
    """The requests in flight of each worker: `concurrency` holds for all together.

    With fewer requests than workers, only as many workers are used. A number that the user did not set is
    at least one per worker.

    >>> divide(EngineSettings(concurrency=10), 4), divide(EngineSettings(concurrency=2), 4)
    ([3, 3, 2, 2], [1, 1])
    """
    total = settings.concurrency
    if settings.is_usual_concurrency:
        total = max(total, n_workers)
    each, rest = divmod(total, n_workers)
    return [share for k in range(n_workers) if (share := each + (k < rest))]


def choose_gather_s(n_workers: int) -> float:
    """How long a worker gathers results for one exchange: with many workers longer, to spare the driver.

    An exchange takes the driver about a millisecond of CPU, half of it Ray's (bench/scale.py), so all of them
    together take at most a third of a core.

    >>> choose_gather_s(1), choose_gather_s(1000)
    (0.01, 3.0)
    """
    return max(0.01, 0.003 * n_workers)
