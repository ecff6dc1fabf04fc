"""A worker of a run in several processes: one model, many samples in progress, results in groups.

The driver (cluster.py) sends `Job`s and receives a `Report` per exchange: results, and what the worker asks
of the whole run (a place in the budget, a reply that another run has). The code per sample is that of the
local executor: `Preparer.load`, `SampleRunner.run`, `RetryingClient`. It does not depend on how messages are
transported.

A worker holds samples ahead, so that it need not wait for the driver between two of them. It sends requests
only while the driver waits for its report, or did a moment ago: without a driver, no reply is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import hashlib
import itertools
import os
import pickle
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from eyechart import __version__
from eyechart.engine.budget import BudgetSpent, Role
from eyechart.engine.look import Looker, LookSetup
from eyechart.engine.pool import Stopped, StopSignal, TokenReservation
from eyechart.engine.prepare import (
    LookPreparer,
    Prepared,
    Preparer,
    Rendered,
    has_small_images,
)
from eyechart.engine.retry import EngineSettings, RequestResult, RetryingClient
from eyechart.engine.sample import Calls, SampleRunner, Settled, is_cacheable
from eyechart.errors import EyechartError
from eyechart.memory import LARGE_BYTES, Claim, current_claim
from eyechart.store.journal import Ask
from eyechart.store.reader import Task
from eyechart.types import ImageRef, Message, Model, Reply, Request, Sample, Usage, read_capabilities

_HEARTBEAT_S = 20.0  # an exchange without news ends after this time
_PATIENCE_S = 0.03  # from a report to the driver's next exchange: several times what an idle driver takes
_QUICK_S = 0.002  # to load an image in the event loop; what takes longer is loaded in threads
_SLOW_ONES = 8  # of the last 32, as in prepare.py


# -- What travels. Plain pickles: Ray's own pickler looks at every object in Python, which takes ten times as
# long.


class WorkerSetup(msgspec.Struct, frozen=True, kw_only=True):
    """All that a worker needs to begin. The makers are functions that pickle."""

    make_model: Callable[[], Model]
    make_images: Callable[[], Any]  # an `ImageSource`, of a look run `OriginalImages`
    identity: Mapping[str, Any]  # of the model, as the driver sees it: part of every key
    settings: EngineSettings  # for this worker: its share of the requests in flight
    pass_urls: bool = False
    has_budget: bool = False  # what requests take is counted
    is_proven: bool = False
    is_budget_limited: bool = False
    is_rate_limited: bool = False
    looks_up: bool = False  # the driver may know replies of other runs
    keeps: bool = False  # the driver keeps replies for other runs
    gather_s: float = 0.01
    probes: Sequence[Probe] = ()
    folder: str = ""  # the driver's current folder, to which paths may be relative
    look: LookSetup | None = None  # of a look run, without its searcher
    make_searcher: Callable[[], Model] | None = None


class Probe(msgspec.Struct, frozen=True):
    """A part of a file as the driver reads it, to see whether a worker reads the same."""

    path: str
    offset: int
    length: int
    digest: str


class WorkerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says when it is ready; `error` if it cannot be."""

    node: str = ""
    pid: int = 0
    version: str = __version__
    python: str = platform.python_version()
    limit: int = 1  # requests in flight
    reads_files: bool = True
    error: EyechartError | None = None


class Job(msgspec.Struct, frozen=True):
    """The trials of one sample, with the rounds of it that were answered before."""

    ticket: int
    item: Rendered | Prepared
    rounds: Mapping[tuple[int, str], Reply] = msgspec.field(default_factory=dict)  # by trial and key


class Answer(msgspec.Struct, frozen=True):
    """The driver's answer to a `Question`."""

    number: int
    value: Any


class Stop(msgspec.Struct, frozen=True):
    """Send nothing more."""


class Result(msgspec.Struct, frozen=True):
    """What became of some trials of a job, whose tasks have no sample: the driver has it."""

    ticket: int
    settled: Settled
    is_last: bool = True


class Dropped(msgspec.Struct, frozen=True):
    """A job that ended without an outcome, because the worker was stopped."""

    ticket: int


class Question(msgspec.Struct, frozen=True):
    """Something to be decided for the whole run: "budget", "rates" or "known"."""

    number: int
    kind: str
    arguments: tuple[Any, ...]


class Notice(msgspec.Struct, frozen=True):
    """Something that the driver has to know, without an answer: "paid", "used", "call", "reply", "say"."""

    kind: str
    arguments: tuple[Any, ...]


class Trouble(msgspec.Struct, frozen=True):
    """The worker has given up: what it sends can only fail."""

    error: BaseException


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What has happened at a worker since the last exchange, and where it stands."""

    items: Sequence[Result | Dropped | Question | Notice | Trouble] = ()
    sent: int = 0
    retried: int = 0
    waiting: int = 0
    in_flight: int = 0
    limit: int = 1
    throttled: float = 0.0


_NO_SAMPLE = Sample(id="", question="")


def encode(value: object) -> bytes:
    """A message as bytes."""
    return pickle.dumps(value, protocol=5)


def decode(data: bytes) -> Any:
    """A message from bytes: only between the processes of one run."""
    return pickle.loads(data)  # noqa: S301


# -- The worker


class RemoteWorker:
    """One model and its samples in flight. All methods are called in one event loop."""

    def __init__(self) -> None:
        self._state: _Open | None = None

    async def open(self, data: bytes) -> bytes:
        """Make the model. A worker that is opened again has lost its driver's trust, and starts anew."""
        if self._state is not None:
            await self._state.close()
            self._state = None
        setup: WorkerSetup = decode(data)
        if setup.folder:
            with contextlib.suppress(OSError):  # a node that has no such folder is sent what it needs
                os.chdir(setup.folder)
        try:
            self._state = _Open(setup)
        except EyechartError as err:
            return encode(WorkerInfo(node=platform.node(), pid=os.getpid(), error=err))
        return encode(
            WorkerInfo(
                node=platform.node(),
                pid=os.getpid(),
                limit=self._state.client.pool.limit,
                reads_files=all(can_read(probe) for probe in setup.probes),
            )
        )

    async def exchange(self, data: bytes) -> bytes:
        """Take jobs and answers; return results and questions, once there are any."""
        state = self._opened
        state.meet_driver()
        state.accept(decode(data))
        report = encode(await state.report())
        state.expect_driver()
        return report

    def post(self, data: bytes) -> None:
        """Take jobs and answers."""
        self._opened.accept(decode(data))

    async def close(self) -> None:
        if self._state is not None:
            await self._state.close()
            self._state = None

    @property
    def _opened(self) -> _Open:
        assert self._state is not None, "open comes first"
        return self._state


class _Open:
    """A worker with its model."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup = setup
        self._outbox: list[Any] = []
        self._news = asyncio.Event()
        self._numbers = itertools.count()
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._jobs: set[asyncio.Task[None]] = set()
        self._known = _DriversReplies(self, keeps=setup.keeps)
        self._rounds = _DriversCalls(self)
        self._loading = asyncio.Semaphore(setup.settings.prefetch_threads)
        self._n_bytes = 0
        self._freed = asyncio.Event()
        self._slow = 0  # of the last 32 images, a bit each
        self._patience: asyncio.TimerHandle | None = None  # with a driver that has its report
        self.stop = StopSignal()
        self.model = setup.make_model()
        images: Any = setup.make_images()
        rates = _DriversRates(self) if setup.is_rate_limited else None
        self.client = self._open_client(self.model, rates=rates, is_proven=setup.is_proven)
        self.client.pool.announce = lambda text: self.tell("say", text)
        self.stop.on_stop(self._end)
        calls = Calls(self._rounds, self._known)
        self._looker: Looker | None = None
        if setup.look is None:
            self._preparer = Preparer(_refuse_to_render, images, setup.identity, pass_urls=setup.pass_urls)
        else:
            self._preparer = LookPreparer(_refuse_to_render, images, setup.identity)
            make = setup.make_searcher
            searcher = None if make is None else self._open_client(make(), role="searcher")
            self._looker = Looker(setup.look, setup.make_images(), calls, searcher)
        self._runner = SampleRunner(self.client, self._known, calls, self._looker)

    def _open_client(self, model: Model, **more: Any) -> RetryingClient:
        setup, gate = self._setup, None
        if setup.has_budget and not read_capabilities(model).is_free:
            gate = _DriversBudget(self, is_limited=setup.is_budget_limited)
        return RetryingClient.open(model, setup.settings, self.stop, gate=gate, **more)

    def accept(self, messages: Sequence[Job | Answer | Stop]) -> None:
        for message in messages:
            if isinstance(message, Job):
                task = asyncio.create_task(self._run(message))
                self._jobs.add(task)
                task.add_done_callback(self._jobs.discard)
            elif isinstance(message, Answer):
                answer = self._answers.pop(message.number, None)
                if answer is not None and not answer.done():
                    answer.set_result(message.value)
            else:
                self.stop.interrupt()

    def meet_driver(self) -> None:
        """The driver waits for a report: requests may be sent."""
        if self._patience is not None:
            self._patience.cancel()
        self._patience = None
        self.client.pool.resume()

    def expect_driver(self) -> None:
        """A report is on its way. If the driver does not ask for the next one soon, it is gone or busy."""
        wait_s = max(_PATIENCE_S, self._setup.gather_s)
        self._patience = asyncio.get_running_loop().call_later(wait_s, self.client.pool.pause)

    async def report(self) -> Report:
        """Wait for news, and a moment longer for more of them."""
        if not self._outbox:
            try:
                await asyncio.wait_for(self._news.wait(), timeout=_HEARTBEAT_S)
            except TimeoutError:
                pass
            else:
                await asyncio.sleep(self._setup.gather_s)
        items, self._outbox = self._outbox, []
        self._news.clear()
        client = self.client
        searcher = self._looker.searcher if self._looker else None
        return Report(
            items=items,
            sent=client.sent + (searcher.sent if searcher else 0),
            retried=client.retried + (searcher.retried if searcher else 0),
            waiting=len(client.waiting),
            in_flight=client.pool.in_flight,
            limit=client.pool.limit,
            throttled=client.pool.share_throttled(),
        )

    def put(self, item: Any) -> None:
        self._outbox.append(item)
        self._news.set()

    def tell(self, kind: str, *arguments: Any) -> None:
        self.put(Notice(kind, arguments))

    async def ask(self, kind: str, *arguments: Any) -> Any:
        """What the driver decides; `Stopped` if the run ends before."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        if self.stop.is_set:
            raise Stopped
        self.put(Question(number, kind, arguments))
        return await answer

    async def _run(self, job: Job) -> None:
        """One sample, from its messages to its outcome."""
        claim = Claim("answer")
        current_claim.set(claim)
        held = 0
        try:
            prepared, image_claim = await self._prepare(job.item)
            held = prepared.n_bytes
            self._n_bytes += held
            trials: Sequence[Prepared] = (prepared, *prepared.siblings)
            try:
                self._rounds.expect(prepared.task.sample, job.rounds)
                await self._look_up(trials)
                while trials:
                    settled = await self._runner.run(trials)
                    trials = settled.left
                    self.put(Result(job.ticket, settled.change_tasks(_strip), is_last=not trials))
            finally:
                image_claim.release()
                self._rounds.forget(prepared.task.sample)
        except Stopped:
            self.put(Dropped(job.ticket))
        except asyncio.CancelledError:
            raise
        except Exception as err:  # of our own code: going on is pointless
            self.put(Trouble(EyechartError(f"a worker failed: {type(err).__name__}: {err}")))
            self.put(Dropped(job.ticket))
        finally:
            self._n_bytes -= held
            self._freed.set()
            claim.release()

    async def _prepare(self, item: Rendered | Prepared) -> tuple[Prepared, Claim]:
        """Load the images, in a thread where that takes time, within the limit of bytes."""
        claim = Claim("image")
        if isinstance(item, Prepared):
            return item, claim
        if has_small_images(item.task) and self._slow.bit_count() < _SLOW_ONES:
            start = time.perf_counter()
            prepared = self._preparer.load(item)
            self._slow = (self._slow << 1 | (time.perf_counter() - start > _QUICK_S)) & 0xFFFFFFFF
            return prepared, claim
        async with self._loading:
            while self._n_bytes >= self._setup.settings.prefetch_bytes:
                self._freed.clear()
                await self._freed.wait()
            context = contextvars.copy_context()
            context.run(current_claim.set, claim)
            loop = asyncio.get_running_loop()
            prepared = await loop.run_in_executor(None, context.run, self._preparer.load, item)
        claim.shrink(prepared.n_bytes if prepared.n_bytes > LARGE_BYTES else 0)
        return prepared, claim

    async def _look_up(self, trials: Sequence[Prepared]) -> None:
        """Ask the driver for replies of other runs to the same requests."""
        if not self._setup.looks_up:
            return
        wanted = [
            (one.task.sample.id, one.task.trial, one.ask.key, is_cacheable(self.model, one.request))
            for one in trials
            if one.ask is not None and one.request is not None and not one.is_answered
        ]
        if wanted:
            for (_, _, key, _), reply in zip(wanted, await self.ask("known", wanted), strict=True):
                self._known.expect(key, reply)

    def _end(self) -> None:
        """The run stops: here, or for all."""
        if self.stop.trouble is not None:
            self.put(Trouble(self.stop.trouble))
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Stopped())
                answer.exception()  # an answer that is not awaited any more must not be reported
        self._answers.clear()

    async def close(self) -> None:
        self.stop.interrupt()
        if self._patience is not None:
            self._patience.cancel()
        for task in self._jobs:
            task.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        self._preparer.close()
        if self._looker is not None:
            self._looker.close()
            if self._looker.searcher is not None:
                await self._looker.searcher.model.close()
        await self.model.close()


def _refuse_to_render(sample: Sample) -> Sequence[Message]:
    raise AssertionError("the driver renders")


def _strip(task: Task) -> Task:
    return Task(position=task.position, sample=_NO_SAMPLE, trial=task.trial)


# -- What belongs to the whole run, as a worker sees it


class _DriversBudget:
    """The budget of the whole run. Without a limit, the driver counts what replies say they took."""

    def __init__(self, worker: _Open, *, is_limited: bool) -> None:
        self._worker = worker
        self._is_limited = is_limited

    def try_acquire(self) -> bool:
        return not self._is_limited

    async def acquire(self) -> BudgetSpent | None:
        if not self._is_limited:
            return None
        spent: BudgetSpent | None = await self._worker.ask("budget")
        return spent

    def release(self, role: Role, usage: Usage | None) -> None:
        if self._is_limited:
            self._worker.tell("paid", role, usage)

    def wake_all(self) -> None:
        return


class _DriversRates:
    """The rate limits of the whole run."""

    def __init__(self, worker: _Open) -> None:
        self._worker = worker

    async def acquire(self, n_guessed: int, stop: StopSignal) -> TokenReservation:
        reservation: TokenReservation = await self._worker.ask("rates", n_guessed)
        return reservation

    def release(self, reservation: TokenReservation, used: int | None) -> None:
        self._worker.tell("used", reservation, used)


class _DriversReplies:
    """Replies that the driver has found, and those that it is to keep."""

    def __init__(self, worker: _Open, *, keeps: bool) -> None:
        self._worker = worker
        self._keeps = keeps
        self._found: dict[str, Reply] = {}

    def expect(self, key: str, reply: Reply | None) -> None:
        if reply is not None:
            self._found[key] = reply

    def find(self, model: Model, key: str, request: Request) -> Reply | None:
        return self._found.pop(key, None)

    def put(self, model: Model, key: str, request: Request, reply: Reply) -> None:
        if self._keeps and is_cacheable(model, request):
            self._worker.tell("reply", key, reply)


class _DriversCalls:
    """Rounds of conversations: those that the driver sent along, and new ones, which it writes."""

    def __init__(self, worker: _Open) -> None:
        self._worker = worker
        self._found: dict[str, Mapping[tuple[int, str], Reply]] = {}

    def expect(self, sample: Sample, rounds: Mapping[tuple[int, str], Reply]) -> None:
        if rounds:
            self._found[sample.id] = rounds

    def forget(self, sample: Sample) -> None:
        self._found.pop(sample.id, None)

    def find(self, sample: str, trial: int, key: str) -> Reply | None:
        return self._found.get(sample, {}).get((trial, key))

    def append(self, request: Request, ask: Ask, purpose: str, result: RequestResult, *, model: str) -> None:
        reply = result.replies[0]
        self._worker.tell(
            "call", request.sample.id, request.trial, ask, purpose, reply, result.attempts, result.paid, model
        )

    async def written(self) -> None:
        """Nothing to wait for: the driver writes in the order of arrival."""


# -- Whether a worker reads the files of the driver


def make_probe(ref: ImageRef) -> Probe | None:
    """What a worker should read at the place of an image; None if it is not in a file here."""
    offset, length = (ref.offset, min(ref.length, 65_536)) if ref.kind == "cell" else (0, 65_536)
    if ref.kind not in ("file", "cell", "parquet") or ref.refused:
        return None
    digest = _digest(ref.location, offset, length)
    return Probe(ref.location, offset, length, digest) if digest else None


def can_read(probe: Probe) -> bool:
    """Whether the file is the same here."""
    return _digest(probe.path, probe.offset, probe.length) == probe.digest


def _digest(path: str, offset: int, length: int) -> str:
    """Of the file's size and some of its bytes; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a path as the data wrote it
            size = os.fstat(file.fileno()).st_size
            file.seek(offset)
            return hashlib.sha256(b"%d:" % size + file.read(length)).hexdigest()
    except (OSError, ValueError):
        return ""
