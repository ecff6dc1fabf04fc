"""The driver of a run in several processes: distributes samples, writes results, enforces the limits.

`ClusterExecutor` is an `Executor` whose samples are answered by workers (remote.py), each reached through a
`Link`. It renders prompts, hands out as many samples as the workers can hold, writes and scores what comes
back, and answers what workers ask of the whole run: the budget, the rate limits, replies of other runs.

If a worker dies, its samples in flight go to others. A sample that was in flight when workers died twice is
then asked alone on a worker; if that dies twice too, the sample has failed. A node that disappears is not
counted against its samples.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

import msgspec

from eyechart import __version__
from eyechart.engine.budget import BudgetSpent, Role
from eyechart.engine.executor import Executor
from eyechart.engine.peers import Link, LinkLost, Peer, PendingJob, choose_gather_s, divide
from eyechart.engine.pool import Stopped
from eyechart.engine.prepare import Prefetcher, Prepared, Preparer, Rendered
from eyechart.engine.remote import (
    Answer,
    Dropped,
    Job,
    Notice,
    Question,
    Report,
    Result,
    Stop,
    WorkerInfo,
    WorkerSetup,
    decode,
    encode,
)
from eyechart.engine.retry import DeadEndpoint, EngineSettings, make_rates
from eyechart.engine.sample import Settled, TrialFailure
from eyechart.errors import EyechartError, ModelError, StoreError, UsageError
from eyechart.store.journal import Journal
from eyechart.store.reader import Task
from eyechart.types import (
    Failure,
    Model,
    NodeStatus,
    Reply,
    Scorer,
    Snapshot,
    Usage,
    read_capabilities,
)

# So many workers may die with a sample in flight, among others; then it is asked alone. And so many may die
# while it is alone; then it has failed. One more than once, in case that another process was the cause.
MAX_SHARED_CRASHES = 2
MAX_SOLO_CRASHES = 2
_EARLY_DEATHS = 3  # of a worker in a row, before it has settled anything: it cannot run
_NOTE_AFTER_S = 20.0  # workers that are not ready by then are mentioned
RESTART_DELAY_S = 0.2  # before a worker that died is opened again
_RECENT = 256  # latencies, as the local executor shows


class ClusterSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a cluster is used."""

    ship_images: bool = False  # the driver loads images and sends the bytes
    wait_s: float = 600.0  # for the first worker, and when all were lost
    describe: Callable[[], str] = lambda: ""  # what the cluster has, for messages


class ClusterExecutor(Executor):
    """Runs tasks on several workers until all have an outcome, or until it is told to stop."""

    def __init__(
        self,
        links: Sequence[Link],
        setup: WorkerSetup,
        model: Model,
        preparer: Preparer,
        journal: Journal,
        scorer: Scorer,
        settings: EngineSettings,
        *,
        cluster: ClusterSettings | None = None,
        **parts: Any,  # as of every executor
    ) -> None:
        super().__init__(preparer, journal, scorer, settings, **parts)
        self._model = model
        self._cluster = cluster or ClusterSettings()
        self._has_calls = journal.has_answers()
        self._has_answered = journal.has_replies()
        self._rates = make_rates(settings)
        gate, known = self._gate, self._known
        self._is_budget_limited = gate is not None and gate.budget.is_limited
        self._setup = msgspec.structs.replace(
            setup,
            has_budget=gate is not None,
            is_proven=self._has_answered,
            is_budget_limited=self._is_budget_limited,
            is_rate_limited=self._rates is not None,
            looks_up=known.earlier is not None or (known.is_read and known.responses is not None),
            keeps=known.responses is not None,
            gather_s=choose_gather_s(len(links)),
        )
        shares = divide(settings, len(links))
        self._peers = [Peer(link, share) for link, share in zip(links, shares, strict=False)]
        self._ships = self._cluster.ship_images
        self._tickets = itertools.count()
        self._jobs: dict[int, PendingJob] = {}  # all that have no outcome yet
        self._again: deque[PendingJob] = deque()  # to be given out before new ones
        self._suspects: deque[PendingJob] = deque()  # to be given out alone
        self._changed = asyncio.Event()
        self._free: deque[Peer] = deque()  # workers that may have room, each once
        self._aside: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[None]] = set()  # for the budget or the rate limits
        self._n_killed = 0  # samples in a row that failed because their workers died
        self._most_jobs = 32
        self.sent = self.retried = 0
        self._latencies: deque[float] = deque(maxlen=_RECENT)
        self._say: Callable[[str], None] = lambda text: None
        self._prefetcher: Prefetcher[Rendered | Prepared] | None = None
        self._is_read = False  # all tasks are given out
        if gate is not None:
            self.stop.on_stop(gate.wake_all)

    @property
    def in_flight(self) -> int:
        return sum(peer.report.in_flight for peer in self._peers if peer.is_ready)

    @property
    def has_answered(self) -> bool:
        return self._has_answered

    def announce_to(self, say: Callable[[str], None]) -> None:
        self._say = say

    def _count_sent(self) -> tuple[int, int]:
        return self.sent, self.retried

    def snapshot(self) -> Snapshot:
        ready = [peer for peer in self._peers if peer.is_ready]
        throttled = [peer.report.throttled for peer in ready]
        return self._take_snapshot(
            self._latencies,
            waiting=sum(peer.report.waiting for peer in ready),
            slowed_by=self._rates.find_slowest() if self._rates is not None else "",
            in_flight=self.in_flight,
            limit=sum(peer.report.limit for peer in ready),
            throttled=sum(throttled) / len(throttled) if throttled else 0.0,
            nodes=self._describe_nodes(),
        )

    def _describe_nodes(self) -> tuple[NodeStatus, ...]:
        by_node: dict[str, list[Peer]] = {}
        for peer in self._peers:
            if peer.info is not None:
                by_node.setdefault(peer.info.node, []).append(peer)
        return tuple(
            NodeStatus(
                name=name,
                workers=sum(peer.is_ready for peer in peers),
                lost=sum(not peer.is_ready for peer in peers),
                done=sum(peer.n_settled for peer in peers),
                in_flight=sum(peer.report.in_flight for peer in peers if peer.is_ready),
                per_s=sum(peer.rate for peer in peers),
            )
            for name, peers in by_node.items()
        )

    # -- The run

    async def run(self, tasks: Iterable[Task]) -> None:
        # As far as one can tell before the workers say how many requests their models take.
        stated = self._settings.choose_concurrency(read_capabilities(self._model))
        n_slots = 4 * max(stated, *(peer.share for peer in self._peers)) * len(self._peers)
        self._prefetcher = self._open_prefetcher(tasks, self._prepare, n_slots + 64)
        self.stop.on_stop(self._end)
        serving = [asyncio.create_task(self._guard(self._serve(peer))) for peer in self._peers]
        feeding = asyncio.create_task(self._guard(self._feed(self._prefetcher)))
        watching = asyncio.create_task(self._guard(self._watch()))
        try:
            await self._wait_for_end()
        finally:
            self._prefetcher.stop()
            running = [feeding, watching, *serving, *self._aside, *self._waiting]
            for one in running:
                one.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            self._count_requests()
            await asyncio.gather(*(peer.link.close() for peer in self._peers), return_exceptions=True)
        self._raise_trouble()

    def _prepare(self, task: Task) -> Rendered | Prepared:
        """For any thread: with the images only if workers cannot read them."""
        return self._preparer.prepare(task) if self._ships else self._preparer.render(task)

    async def _guard(self, work: Coroutine[Any, Any, None]) -> None:
        """An error of the source, the journal or our own code: going on is pointless."""
        try:
            await work
        except Stopped:
            return
        except Exception as err:
            self.stop.give_up(err)

    @property
    def _is_done(self) -> bool:
        return self._is_read and not self._jobs and not self._aside

    async def _wait_for_end(self) -> None:
        """Until all is done; once stopped, only for the grace period."""
        until: float | None = None
        while not self._is_done:
            if self.stop.is_set and until is None:
                if isinstance(self.stop.trouble, StoreError):  # after which no reply could be kept
                    return
                until = time.monotonic() + self._settings.grace_s
                self._is_read = True
            if until is not None and time.monotonic() > until:
                return
            await self._wait_for_change(0.5 if until is not None else 5.0)

    async def _wait_for_change(self, at_most_s: float) -> None:
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), at_most_s)

    def _end(self) -> None:
        """The run stops: workers send nothing more, and what waits here is dropped."""
        for job in (*self._again, *self._suspects):
            self._forget(job)
        self._again.clear()
        self._suspects.clear()
        for peer in self._peers:
            if peer.is_ready:
                self._post(peer, Stop())
        self._changed.set()

    # -- Giving out samples

    async def _feed(self, prefetcher: Prefetcher[Rendered | Prepared]) -> None:
        """Take what is rendered, and give it to the worker with the most room."""
        async for item in prefetcher:
            job = PendingJob(next(self._tickets), item)
            self._jobs[job.ticket] = job
            if isinstance(item, Prepared) and all(
                one.is_answered or one.failure is not None for one in (item, *item.siblings)
            ):
                await self._settle_here(job, item)
                continue
            while True:
                self._give_again()
                # Replies that wait for a judge hold no place at a worker, but memory here.
                peer = self._find_free() if len(self._jobs) <= self._most_jobs else None
                if peer is not None:
                    break
                self._changed.clear()
                await self._changed.wait()
                if self.stop.is_set:
                    self._forget(job)
                    return
            self._give(peer, job)
        self._is_read = True
        self._changed.set()

    async def _settle_here(self, job: PendingJob, item: Prepared) -> None:
        """What needs no worker: the journal has the reply, or the prompt failed."""
        trials = (item, *item.siblings)
        lost = [(one.task, one.failure) for one in trials if one.failure is not None]
        self._write(
            Settled(
                resumed=[one for one in trials if one.failure is None],
                failures=[TrialFailure(task=task, failure=failure) for task, failure in lost],
            )
        )
        self._forget(job)
        if self._journal.is_behind:
            await self.scoring.wait_for_disk()

    def _find_free(self) -> Peer | None:
        """A worker with room, each in turn."""
        while self._free:
            peer = self._free.popleft()
            if peer.is_ready and not peer.is_reserved and len(peer.jobs) < peer.depth:
                self._free.append(peer)
                return peer
            peer.is_listed = False
        return None

    def _list_free(self, peer: Peer) -> None:
        """The worker may have room again."""
        if not peer.is_listed:
            peer.is_listed = True
            self._free.append(peer)

    def _give_again(self) -> None:
        """Give out what lost its worker: suspects alone, others as usual."""
        while self._again and (peer := self._find_free()) is not None:
            self._give(peer, self._again.popleft())
        ready = [peer for peer in self._peers if peer.is_ready]
        while self._suspects and ready:
            idle = next((peer for peer in ready if not peer.jobs), None)
            if idle is None:
                if not any(peer.is_reserved for peer in ready):
                    min(ready, key=lambda peer: len(peer.jobs)).is_reserved = True  # and wait until it is
                return
            idle.is_reserved = True
            self._give(idle, self._suspects.popleft())

    def _give(self, peer: Peer, job: PendingJob) -> None:
        peer.jobs[job.ticket] = job
        if (job.needs_rounds or self._setup.look is not None) and self._has_calls:
            self._aside_task(self._give_with_rounds(peer, job))
        else:
            self._post(peer, Job(job.ticket, job.slim_item()))

    async def _give_with_rounds(self, peer: Peer, job: PendingJob) -> None:
        """With the rounds that were answered before; those of a lost worker may not be on disk yet."""
        if job.n_deaths:
            await asyncio.to_thread(self._journal.flush)
        rounds: dict[tuple[int, str], Reply] = {}
        for task in job.tasks.values():
            calls = await asyncio.to_thread(self._journal.calls, task.sample.id, task.trial)
            rounds |= {
                (call.trial, call.key): call.reply for call in calls if not call.purpose.startswith("judge:")
            }
        if job.ticket in peer.jobs:
            self._post(peer, Job(job.ticket, job.slim_item(), rounds))

    def _post(self, peer: Peer, message: Job | Answer | Stop) -> None:
        """Send with the next exchange; soon, if one is under way."""
        peer.outbox.append(message)
        if peer.is_exchanging and not peer.is_posting:
            peer.is_posting = True
            asyncio.get_running_loop().call_later(0.002, self._flush, peer)

    def _flush(self, peer: Peer) -> None:
        peer.is_posting = False
        if peer.outbox and peer.is_ready:
            peer.link.post(encode(peer.take_outbox()))

    # -- One worker

    async def _serve(self, peer: Peer) -> None:
        """Open a worker and exchange messages with it, again and again if it dies."""
        while not self.stop.is_set or peer.jobs:
            try:
                await self._open(peer)
                while True:
                    data = encode(peer.take_outbox())
                    peer.is_exchanging = True
                    try:
                        report = decode(await peer.link.exchange(data))
                    finally:
                        peer.is_exchanging = False
                    await self._receive(peer, report)
            except LinkLost as lost:
                self._lose(peer, str(lost), is_node=lost.is_node)
                await asyncio.sleep(RESTART_DELAY_S)
            if peer.trouble is not None:
                return

    async def _open(self, peer: Peer) -> None:
        share = msgspec.structs.replace(self._setup.settings, concurrency=peer.share)
        setup = msgspec.structs.replace(self._setup, settings=share)
        info: WorkerInfo = decode(await peer.link.open(encode(setup)))
        if info.error is not None:
            raise _on_node(info.error, info.node)
        if info.version != __version__:
            raise UsageError(
                f"{info.node} has eyechart {info.version}, this machine {__version__}",
                hint="install the same version on all nodes",
            )
        if not info.reads_files and self._setup.look is not None:
            raise UsageError(
                f"{info.node} cannot read the images, which a look run cuts crops from",
                hint="put them where all nodes read them, under the same path",
            )
        if not info.reads_files and not self._ships:
            self._ships = True
            self._say(f"{info.node} cannot read the image files: images are sent through the object store")
        peer.begin(info)
        self._list_free(peer)
        self._most_jobs = 32 + 2 * sum(one.depth for one in self._peers)
        if self.stop.is_set:
            self._post(peer, Stop())
        self._give_again()
        self._changed.set()

    def _lose(self, peer: Peer, reason: str, *, is_node: bool) -> None:
        """The worker is gone: free what it held, and give its samples to others."""
        where = peer.info.node if peer.info is not None else "a node"
        if peer.is_ready:
            self._say(f"a worker on {where} was lost, {len(peer.jobs)} samples are asked again: {reason}")
        for reservation in peer.reservations:
            if self._rates is not None:
                self._rates.release(reservation, None)
        for _ in range(peer.n_admitted):
            assert self._gate is not None
            self._gate.release("model", None)
        jobs = list(peer.jobs.values())
        peer.end(is_early=not is_node and not jobs)
        for job in jobs:
            if not is_node:
                job.n_alone += job.n_deaths >= MAX_SHARED_CRASHES
                job.n_deaths += 1
            self._retry(job, reason)
        if peer.n_early_deaths >= _EARLY_DEATHS and not is_node:
            self._break(peer, ModelError(f"workers on {where} end before they answer: {reason}"))
        self._changed.set()

    def _retry(self, job: PendingJob, reason: str) -> None:
        """Another worker gets it, alone if it may be the cause; or it has failed."""
        if self.stop.is_set:
            self._forget(job)
        elif job.n_alone >= MAX_SOLO_CRASHES:
            failure = Failure(
                stage="generate",
                reason=f"its worker died {job.n_deaths} times while it was asked, {job.n_alone} times "
                f"without any other sample: {reason}",
                attempts=job.n_deaths,
            )
            failures = [TrialFailure(task=task, failure=failure) for task in job.open_tasks()]
            self._write(Settled(failures=failures))
            self._forget(job)
            self._n_killed += 1
            if self._n_killed >= self._settings.give_up_after:
                self.stop.give_up(
                    DeadEndpoint(
                        f"workers died with {self._n_killed} samples in a row, the last time: {reason}",
                        hint="all replies are kept; --give-up-after N allows more failures",
                    )
                )
        elif job.n_deaths >= MAX_SHARED_CRASHES:
            self._suspects.append(job)
        else:
            self._again.append(job)
        self._give_again()

    def _break(self, peer: Peer, error: BaseException) -> None:
        """A worker that can only fail. If all others can, too, the run ends."""
        peer.trouble = error
        peer.is_reserved = True
        if isinstance(error, BudgetSpent) or not isinstance(error, ModelError):
            self.stop.give_up(error)
        elif all(other.trouble is not None for other in self._peers):
            self.stop.give_up(self._peers[0].trouble or error)
        else:
            name = peer.info.node if peer.info is not None else "a node"
            self._say(f"a worker on {name} is left out: {error}")

    async def _watch(self) -> None:
        """Say when workers are not ready, and give up when none comes."""
        since = time.monotonic()
        has_said = False
        while True:
            await asyncio.sleep(1.0)
            n_ready = sum(peer.is_ready for peer in self._peers)
            now = time.monotonic()
            if n_ready == len(self._peers):
                has_said = False
            elif not has_said and now - since > _NOTE_AFTER_S:
                has_said = True
                has = self._cluster.describe()
                self._say(f"{n_ready} of {len(self._peers)} workers are ready{f'; {has}' * bool(has)}")
            if n_ready:
                since = now if n_ready == len(self._peers) else since
                continue
            if now - since > self._cluster.wait_s:
                what = f"no worker became ready within {self._cluster.wait_s:g} s"
                hint = "all replies are kept: run the same command again when the cluster has room"
                self.stop.give_up(DeadEndpoint(f"{what}; {self._cluster.describe()}", hint=hint))
                return

    # -- What a worker says

    async def _receive(self, peer: Peer, report: Report) -> None:
        self.sent += report.sent - peer.report.sent
        self.retried += report.retried - peer.report.retried
        before = peer.depth
        peer.report = report
        peer.n_recent = sum(isinstance(item, Result) for item in report.items)
        self._most_jobs += 2 * (peer.depth - before)
        for item in report.items:
            if isinstance(item, Result):
                await self._settle(peer, item)
            elif isinstance(item, Question):
                self._answer(peer, item)
            elif isinstance(item, Notice):
                self._note(peer, item)
            elif isinstance(item, Dropped):
                job = peer.jobs.pop(item.ticket, None)
                if job is not None:
                    self._retry(job, "")
            else:
                self._break(peer, item.error)
        if self._journal.is_behind:
            await self.scoring.wait_for_disk()
        self._list_free(peer)
        self._give_again()
        self._changed.set()
        await asyncio.sleep(0)  # the feeder fills the outbox ...
        await asyncio.sleep(0)  # ... before the next exchange takes it

    async def _settle(self, peer: Peer, result: Result) -> None:
        job = peer.jobs.get(result.ticket)
        if job is None:  # of a worker that was given up
            return
        if peer.trouble is not None and result.settled.failures and not self.stop.is_set:
            peer.jobs.pop(job.ticket)  # others may answer what this worker cannot
            self._retry(job, "")
            return
        # Images that could not be loaded there can perhaps be here.
        lost_images = any(one.failure.stage == "load" for one in result.settled.failures)
        if lost_images and isinstance(job.item, Rendered):
            peer.jobs.pop(job.ticket)
            self._aside_task(self._ship(job))
            return
        settled = job.take(result.settled)
        self._write(settled)
        for kept in settled.replies:
            if kept.attempts:
                self._has_answered, self._n_killed = True, 0
                self._latencies.append(kept.reply.latency_s)
                self._count(kept.paid)
        if result.is_last:
            peer.jobs.pop(job.ticket)
            peer.settled(job)
        if self.scoring.judge is None:
            await self._score(settled)
            if result.is_last:
                self._forget(job)
        else:  # others are written meanwhile; the job holds its place until it is scored
            self._aside_task(self._score_aside(settled, job if result.is_last else None))

    async def _score_aside(self, settled: Settled, job: PendingJob | None) -> None:
        await self._score(settled)
        if job is not None:
            self._forget(job)

    async def _ship(self, job: PendingJob) -> None:
        assert isinstance(job.item, Rendered)
        job.item = await asyncio.to_thread(self._preparer.load, job.item)
        if job.item.failure is not None:
            await self._settle_here(job, job.item)
            return
        self._again.append(job)
        self._give_again()
        self._changed.set()

    def _answer(self, peer: Peer, question: Question) -> None:
        if question.kind == "known":
            [wanted] = question.arguments
            found = [
                self._known.find_by_key(self._model, key, sample, trial, is_cacheable=is_so)
                for sample, trial, key, is_so in wanted
            ]
            self._post(peer, Answer(question.number, found))
        elif question.kind == "budget":
            self._aside_task(self._admit(peer, question), is_waiting=True)
        else:
            self._aside_task(self._reserve(peer, question), is_waiting=True)

    async def _admit(self, peer: Peer, question: Question) -> None:
        """A place in the budget, once there is room."""
        assert self._gate is not None
        life = peer.life
        spent = await self._gate.acquire()
        if spent is None and peer.life != life:  # it died while it waited
            self._gate.release("model", None)
            return
        peer.n_admitted += spent is None
        self._post(peer, Answer(question.number, spent))

    async def _reserve(self, peer: Peer, question: Question) -> None:
        """A place in the rate limits, when its time has come."""
        assert self._rates is not None
        life = peer.life
        reservation = await self._rates.acquire(question.arguments[0], self.stop)
        if peer.life != life:
            self._rates.release(reservation, None)
            return
        peer.reservations.append(reservation)
        self._post(peer, Answer(question.number, reservation))

    def _note(self, peer: Peer, notice: Notice) -> None:
        if notice.kind == "paid":
            role, usage = notice.arguments
            peer.n_admitted -= 1
            assert self._gate is not None
            self._gate.release(role, usage)
        elif notice.kind == "used":
            reservation, used = notice.arguments
            with contextlib.suppress(ValueError):
                peer.reservations.remove(reservation)
            if self._rates is not None:
                self._rates.release(reservation, used)
        elif notice.kind == "call":
            sample, trial, ask, purpose, reply, attempts, paid, model = notice.arguments
            self._has_calls = True
            self._count(paid, "searcher" if purpose.startswith("search:") else "model")
            self._journal.append_call(
                sample, trial, ask, purpose, reply, attempts=attempts, paid=paid, model=model
            )
            self._count_requests()
        elif notice.kind == "reply":
            key, reply = notice.arguments
            self._known.put_cacheable(self._model, key, reply)
        else:
            name = peer.info.node if peer.info is not None else ""
            self._say(f"{name}: {notice.arguments[0]}")

    def _count(self, paid: Usage | None, role: Role = "model") -> None:
        """Count what a request took, where workers do not ask for it."""
        if paid is not None and self._gate is not None and not self._is_budget_limited:
            self._gate.budget.count(role, paid)

    def _forget(self, job: PendingJob) -> None:
        """The job has its outcome, or none: free its place."""
        if self._jobs.pop(job.ticket, None) is not None and self._prefetcher is not None:
            self._prefetcher.release(job.origin)
            self._changed.set()

    def _aside_task(self, work: Coroutine[Any, Any, None], *, is_waiting: bool = False) -> None:
        """Do something that waits, beside the exchanges. `is_waiting`: the run's end need not wait for it."""
        task = asyncio.create_task(self._guard(work))
        if is_waiting:
            self._waiting.add(task)
            task.add_done_callback(self._waiting.discard)
            return
        self._aside.add(task)
        task.add_done_callback(self._aside.discard)
        task.add_done_callback(lambda _: self._changed.set())


def _on_node(error: EyechartError, node: str) -> EyechartError:
    error.message = f"{node}: {error.message}"
    error.args = (error.message,)
    return error
