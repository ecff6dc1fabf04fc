"""The executor: many samples in progress at once, and one writer.

An executor takes tasks, prepares them, lets a `SampleRunner` settle them, writes the result to the journal,
and scores it, in this order, so that an error in a scorer never loses a reply. It does not depend on the
benchmark or the model.
`LocalExecutor` does all of this in one event loop.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from eyechart.engine.budget import Budget, BudgetGate
from eyechart.engine.judge import Judge, JudgeSetup, Scoring
from eyechart.engine.pool import RateLimits, Stopped, StopSignal
from eyechart.engine.prepare import Item, OriginalImages, Prefetcher, Prepared, Preparer
from eyechart.engine.retry import EngineSettings, RequestResult, RetryingClient
from eyechart.engine.sample import Calls, JournalCalls, KnownReplies, SampleRunner, Settled
from eyechart.errors import StoreError
from eyechart.memory import Claim, current_claim
from eyechart.store.journal import Ask, Journal
from eyechart.store.reader import Task
from eyechart.types import Model, Request, Score, Scorer, Snapshot, read_capabilities

if TYPE_CHECKING:
    from eyechart.engine.look import Looker, LookSetup


class Executor(ABC):
    """Runs tasks until all have an outcome: `LocalExecutor`, or `ClusterExecutor` in cluster.py.

    One that runs samples in other processes sends them `Rendered` or `Prepared` trials and gets what
    `Settled` holds. These are values that pickle. Models, scorers and the journal do not: every process makes
    its own model, and the driver alone writes and scores. The budget, the rate limits and the calls
    (`CallStore`) are the whole run's: workers reach them through the driver.
    """

    def __init__(
        self,
        preparer: Preparer,
        journal: Journal,
        scorer: Scorer,
        settings: EngineSettings,
        *,
        also_scorers: Sequence[Scorer] = (),
        judge: JudgeSetup | None = None,
        is_circular: bool = False,
        known: KnownReplies | None = None,
        gate: BudgetGate | None = None,
    ) -> None:
        self.progress = Progress()
        self.stop = StopSignal()
        self._preparer = preparer
        self._journal = journal
        self._settings = settings
        self._gate = gate
        self._known = known or KnownReplies()
        self._call_store = JournalCalls(journal, self._count_requests)
        self._calls = Calls(self._call_store, self._known)
        asked = None
        if judge is not None:
            asked = Judge(judge, settings, self.stop, journal=journal, calls=self._calls, gate=gate)
        self.scoring = Scoring(journal, scorer, also_scorers, asked, is_circular)

    @property
    @abstractmethod
    def in_flight(self) -> int: ...

    @property
    @abstractmethod
    def has_answered(self) -> bool:
        """The model is known to answer, by this start of the run or an earlier one."""

    @abstractmethod
    async def run(self, tasks: Iterable[Task]) -> None:
        """Settle all tasks, or stop. Raises only what makes going on pointless."""

    @abstractmethod
    def snapshot(self) -> Snapshot: ...

    @abstractmethod
    def announce_to(self, say: Callable[[str], None]) -> None:
        """Set where notes about endpoints and workers are printed during the run."""

    @abstractmethod
    def _count_sent(self) -> tuple[int, int]:
        """Requests of this start so far, and how many of them were sent again."""

    @property
    def is_interrupted(self) -> bool:
        return self.stop.is_interrupted

    def interrupt(self) -> None:
        """Send nothing more; replies that are under way may still arrive for a moment."""
        self.stop.interrupt()

    def close(self) -> None:
        self._call_store.close()

    def _open_prefetcher(
        self, tasks: Iterable[Task], prepare: Callable[[Task], Item], max_items: int
    ) -> Prefetcher[Item]:
        """Has the tasks prepared until the run stops."""
        prefetcher = Prefetcher(
            iter(tasks),
            prepare,
            n_threads=self._settings.prefetch_threads,
            max_items=max_items,
            max_bytes=self._settings.prefetch_bytes,
            is_quick=self._preparer.is_quick,
            on_end=self._preparer.close,
        )
        self.stop.on_stop(prefetcher.stop)
        return prefetcher

    def _take_snapshot(self, latencies: Iterable[float] = (), **facts: Any) -> Snapshot:
        budget = self._gate.budget if self._gate else None
        name = "plain" if self.scoring.is_circular else "score"
        return self.progress.snapshot(budget, latencies, score_name=name, **facts)

    def _raise_trouble(self) -> None:
        """Raise what ended the run early, or the writing of its journal."""
        if self.stop.trouble is not None:
            raise self.stop.trouble
        self._journal.raise_trouble()

    # -- What every executor does with a result: count it, write it, then score it.

    def _write(self, settled: Settled) -> None:
        """Write what became of some trials."""
        journal, progress = self._journal, self.progress
        for item in settled.resumed:
            progress.resumed += 1
            if item.ask is not None:  # the files were touched, yet ask the same
                journal.renew_ask(item.task.sample.id, item.task.trial, item.ask)
        for kept in settled.replies:
            if kept.attempts:
                progress.count_answer()
            else:
                progress.cached += 1
        if settled.replies or settled.failures:
            self._count_requests()  # so that they are on disk with what they brought
        for kept in settled.replies:
            sample, trial = kept.task.sample.id, kept.task.trial
            journal.append_reply(sample, trial, kept.ask, kept.reply, attempts=kept.attempts, paid=kept.paid)
        for failed in settled.failures:
            progress.failed += 1
            journal.append_failure(failed.task.sample.id, failed.task.trial, failed.failure, ask=failed.ask)
            if progress.on_outcome is not None:
                progress.on_outcome(failed.task, None)

    async def _score(self, settled: Settled) -> None:
        """Score the replies, which are written."""
        for kept in settled.replies:
            task = kept.task
            score = await self.scoring.score(task.sample, task.trial, kept.ask.key, kept.reply)
            self.progress.count_score(score, task.sample.weight)
            if self.progress.on_outcome is not None:
                self.progress.on_outcome(task, score)

    def _count_requests(self) -> None:
        """Keep how many were sent so far, with what is written next."""
        progress = self.progress
        progress.sent, progress.retried = sent, retried = self._count_sent()
        self._journal.count_requests(sent=sent, retried=retried, cached=progress.cached)


class LocalExecutor(Executor):
    """Runs tasks in one event loop until all have an outcome, or until it is told to stop."""

    def __init__(
        self,
        model: Model,
        preparer: Preparer,
        journal: Journal,
        scorer: Scorer,
        settings: EngineSettings,
        *,
        look: LookSetup | None = None,
        originals: OriginalImages | None = None,  # of a look run
        **parts: Any,  # as of every executor
    ) -> None:
        super().__init__(preparer, journal, scorer, settings, **parts)
        self._client = self._open_client(model, is_proven=journal.has_replies())
        self._n_workers = self._client.pool.limit
        self._looker: Looker | None = None
        self._searcher: RetryingClient | None = None
        if look is not None and originals is not None:
            from eyechart.engine.look import Looker

            if look.searcher is not None:
                self._searcher = self._open_client(look.searcher, role="searcher")
            self._looker = Looker(look, originals, self._calls, self._searcher)
        self._runner = SampleRunner(self._client, self._known, self._calls, self._looker)

    def _open_client(self, model: Model, **more: Any) -> RetryingClient:
        gate = None if read_capabilities(model).is_free else self._gate
        return RetryingClient.open(model, self._settings, self.stop, gate=gate, **more)

    @property
    def in_flight(self) -> int:
        return self._client.pool.in_flight

    @property
    def has_answered(self) -> bool:
        return not self._client.pool.is_unproven

    def snapshot(self) -> Snapshot:
        rates, pool = self._client.rates, self._client.pool
        return self._take_snapshot(
            pool.latencies,
            in_flight=pool.in_flight,
            limit=pool.limit,
            throttled=pool.share_throttled(),
            waiting=len(self._client.waiting),
            slowed_by=rates.find_slowest() if isinstance(rates, RateLimits) else "",
            status=str(getattr(self._client.model, "status", "")),
        )

    def announce_to(self, say: Callable[[str], None]) -> None:
        self._client.pool.announce = say

    def close(self) -> None:
        super().close()
        if self._looker is not None:
            self._looker.close()

    async def ask_again(self, task: Task, preparer: Preparer) -> Settled:
        """Ask a task whatever is known of it; nothing is kept."""
        item = await asyncio.to_thread(preparer.prepare, task)
        return await SampleRunner(self._client, KnownReplies(), Calls(_NoCalls())).run([item])

    async def run(self, tasks: Iterable[Task]) -> None:
        prefetcher = self._open_prefetcher(tasks, self._preparer.prepare, 2 * self._n_workers)
        workers = [asyncio.create_task(self._work(prefetcher)) for _ in range(self._n_workers)]
        try:
            await self._wait_for(workers)
        finally:
            prefetcher.stop()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            self._count_requests()
        self._raise_trouble()

    async def _wait_for(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """Until all is done; once stopped, only for the grace period."""
        done = asyncio.create_task(asyncio.wait(workers))
        stopped = asyncio.create_task(self.stop.wait())
        await asyncio.wait([done, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not isinstance(self.stop.trouble, StoreError):  # after which no reply could be kept
            await asyncio.wait([done], timeout=self._settings.grace_s)
        done.cancel()

    async def _work(self, prefetcher: Prefetcher[Prepared]) -> None:
        """One of many workers: take what is ready, settle it, and take the next."""
        claim = Claim("answer")
        current_claim.set(claim)
        try:
            async for item in prefetcher:
                try:
                    await self._settle((item, *item.siblings))
                finally:
                    prefetcher.release(item)
                    del item  # and its images, which must not stay until the next one arrives
                if self._journal.is_behind:  # a model that is faster than the disk
                    await self.scoring.wait_for_disk()
                claim.release()
        except Stopped:
            return
        except Exception as err:  # of the source, the journal or our own code: going on is pointless
            self.stop.give_up(err)
        finally:
            claim.release()

    async def _settle(self, trials: Sequence[Prepared]) -> None:
        """Until every trial of a sample has an outcome: run, write, score."""
        while trials:
            settled = await self._runner.run(trials)
            self._write(settled)
            await self._score(settled)
            trials = settled.left

    def _count_sent(self) -> tuple[int, int]:
        clients = [one for one in (self._client, self._searcher) if one is not None]
        return sum(one.sent for one in clients), sum(one.retried for one in clients)


class _NoCalls:
    """Calls that are not found again."""

    def find(self, sample: str, trial: int, key: str) -> None:
        """Nothing is known."""

    def append(self, request: Request, ask: Ask, purpose: str, result: RequestResult, *, model: str) -> None:
        """Nothing is kept."""

    async def written(self) -> None:
        """Nothing to wait for."""


# -- Progress: plain counters that the live line reads from another thread.

_WINDOW_S = 10.0  # the rate shown is that of the last replies, so that it follows the endpoint


class Progress(msgspec.Struct):
    """What a run has done so far. Counted in the event loop only; read anywhere."""

    total: int = 0
    resumed: int = 0
    answered: int = 0
    cached: int = 0
    failed: int = 0
    scorer_errors: int = 0  # of `failed`: there is a reply, but the scorer failed on it
    sent: int = 0
    retried: int = 0
    score_sum: float = 0.0
    weight_sum: float = 0.0
    shows_score: bool = True  # False: until all is scored
    on_outcome: Callable[[Task, Score | None], None] | None = None  # told of each score, and each failure
    started_at: float = msgspec.field(default_factory=time.monotonic)
    _recent: deque[float] = msgspec.field(default_factory=deque)  # when the replies of the last seconds came
    _earlier: float = 0.0  # when the last one before them came, if any

    @property
    def done(self) -> int:
        """Samples with an outcome, found or made."""
        return self.resumed + self.answered + self.cached + self.failed - self.scorer_errors

    def count_answer(self) -> None:
        self.answered += 1
        now = time.monotonic()
        self._recent.append(now)
        while self._recent[0] < now - _WINDOW_S:
            self._earlier = self._recent.popleft()

    def count_score(self, score: Score | None, weight: float = 1.0) -> None:
        """One reply is scored; None: the scorer failed. What has no public answer does not move the mean."""
        if score is None:
            self.failed += 1
            self.scorer_errors += 1
        elif score.outcome != "unscored":
            self.score_sum += weight * score.value
            self.weight_sum += weight

    def snapshot(
        self, budget: Budget | None = None, latencies: Iterable[float] = (), **facts: Any
    ) -> Snapshot:
        """Where the run stands now, with its budget and further facts, such as those of its endpoints."""
        now = time.monotonic()
        elapsed = now - self.started_at
        # Since the reply before them: many replies at once are no higher rate than they took to come.
        taken_s = now - (self._earlier or self.started_at)
        rate = len(self._recent) / taken_s if taken_s > 0 else 0.0
        left = max(0, self.total - self.done)
        ordered = sorted(latencies)
        return Snapshot(
            done=self.done,
            total=self.total,
            resumed=self.resumed,
            score=self.score_sum / self.weight_sum if self.weight_sum and self.shows_score else None,
            sent=self.sent,
            retried=self.retried,
            cached=self.cached,
            failed=self.failed,
            p50_s=find_quantile(ordered, 0.5),
            p95_s=find_quantile(ordered, 0.95),
            tokens=budget.tokens if budget else 0,
            cost=budget.cost if budget else None,
            requests_per_s=rate,
            elapsed_s=elapsed,
            eta_s=left / rate if rate > 0 else None,
            **facts,
        )


def find_quantile(ordered: Sequence[float], share: float) -> float | None:
    """The value that this share of ordered values stays below."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
