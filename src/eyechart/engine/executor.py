"""The local executor: one event loop, many samples on their way at once.

Nothing here knows which benchmark or which model it drives.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence

import msgspec

from eyechart.engine.budget import Budget, BudgetGate
from eyechart.engine.judge import Judge, JudgeSetup, Scoring
from eyechart.engine.pool import EndpointPool, Stopped, StopSignal
from eyechart.engine.prepare import Prefetcher, Preparer
from eyechart.engine.retry import Patience
from eyechart.engine.sample import Calls, KnownReplies, SampleRunner
from eyechart.errors import StoreError
from eyechart.memory import Claim, current_claim
from eyechart.store.journal import Journal
from eyechart.store.tasks import Task
from eyechart.types import Model, Score, Scorer, Snapshot, capabilities_of


class EngineSettings(Patience, frozen=True, kw_only=True):
    """How hard to push, and when to give up."""

    prefetch_threads: int = 2
    prefetch_bytes: int = 256 * 2**20
    grace_s: float = 10.0  # after an interrupt, for answers that are already paid for


class LocalExecutor:
    """Runs tasks against a model until all have an outcome, or until it is told to stop."""

    def __init__(
        self,
        model: Model,
        preparer: Preparer,
        journal: Journal,
        scorer: Scorer,
        settings: EngineSettings,
        *,
        beside: Sequence[Scorer] = (),
        bench: JudgeSetup | None = None,
        is_circular: bool = False,
        cache: KnownReplies | None = None,
        purse: BudgetGate | None = None,
    ) -> None:
        self.tally = Progress()
        self.stop = StopSignal()
        self._preparer = preparer
        self._journal = journal
        self._settings = settings
        self._purse = purse
        cache = cache or KnownReplies()
        self._calls = Calls(journal, cache)
        is_free = capabilities_of(model).is_free
        self._asker = settings.asker(
            model, self.stop, purse=None if is_free else purse, is_proven=journal.has_replies()
        )
        self._at_once = min(settings.concurrency, self._asker.endpoints.limit)
        judge = self._judge(bench) if bench else None
        self.scoring = Scoring(journal, scorer, beside, judge, is_circular)
        self._journey = SampleRunner(self._asker, journal, cache, self._calls, self.scoring, self.tally)

    def _judge(self, bench: JudgeSetup) -> Judge:
        is_proven = self._journal.has_judged(bench.model.name)
        asker = self._settings.asker(
            bench.model, self.stop, purse=self._purse, role="judge", is_proven=is_proven
        )
        return Judge(bench, asker, self._calls)

    @property
    def in_flight(self) -> int:
        """Questions under way now."""
        return self._asker.endpoints.in_flight

    def snapshot(self) -> Snapshot:
        """Where the run stands now."""
        return self.tally.snapshot(
            self._asker.endpoints,
            self._purse.budget if self._purse else None,
            waiting=self._asker.n_waiting,
            score_name="plain" if self.scoring.is_circular else "score",
        )

    @property
    def has_answered(self) -> bool:
        """The model is known to answer, by this start of the run or an earlier one."""
        return not self._asker.endpoints.is_new

    @property
    def is_interrupted(self) -> bool:
        """Somebody ended the run."""
        return self.stop.is_interrupted

    async def run(self, tasks: Iterable[Task]) -> None:
        """Ask everything that has no reply yet. Raises only what makes going on pointless."""
        settings = self._settings
        prefetch = Prefetcher(
            iter(tasks),
            self._preparer.prepare,
            n_threads=settings.prefetch_threads,
            max_items=2 * self._at_once,
            max_bytes=settings.prefetch_bytes,
            is_quick=self._preparer.is_quick,
            on_end=self._preparer.close,
        )
        self.stop.then(prefetch.stop)
        workers = [asyncio.create_task(self._work(prefetch)) for _ in range(self._at_once)]
        try:
            await self._finish(workers)
        finally:
            prefetch.stop()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            self._journey.count_requests()
        if self.stop.trouble is not None:
            raise self.stop.trouble
        self._journal.raise_trouble()

    def interrupt(self) -> None:
        """Stop asking; answers under way may still come in for a moment."""
        self.stop.interrupt()

    def tell(self, say: Callable[[str], None]) -> None:
        """Have said, as the run goes on, what people should know about its endpoints."""
        self._asker.endpoints.say = say

    def close(self) -> None:
        """Let go of the journal."""
        self._calls.close()

    async def _finish(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """Wait until all is asked; once stopped, only for the grace period."""
        done = asyncio.create_task(asyncio.wait(workers))
        stopped = asyncio.create_task(self.stop.wait())
        await asyncio.wait([done, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not isinstance(self.stop.trouble, StoreError):  # which could keep no answer any more
            await asyncio.wait([done], timeout=self._settings.grace_s)
        done.cancel()

    async def _work(self, prefetch: Prefetcher) -> None:
        """One of many workers: take what is ready, ask, and take the next."""
        answers = Claim("answer")
        current_claim.set(answers)
        try:
            async for item in prefetch:
                try:
                    await self._journey.go((item, *item.siblings))
                finally:
                    prefetch.release(item)
                    del item  # and its pictures, which must not stay until the next one comes
                if self._journal.is_behind:  # a model that is faster than the disk
                    await self.scoring.wait_for_disk()
                answers.release()
        except Stopped:
            return
        except Exception as err:  # the source's, the journal's or our own mistake: going on helps nobody
            self.stop.give_up(err)
        finally:
            answers.release()


# -- What a run has done so far: plain counters that the live line reads from another thread.

_WINDOW_S = 10.0  # the rate shown is that of the last seconds, so that it follows the endpoint


class Progress(msgspec.Struct):
    """Counted by the engine, in the event loop only; read anywhere."""

    total: int = 0
    resumed: int = 0
    answered: int = 0
    cached: int = 0
    failed: int = 0
    slipped: int = 0  # of these: there is a reply, but the scorer failed on it
    sent: int = 0
    retried: int = 0
    score_sum: float = 0.0
    weight_sum: float = 0.0
    started_at: float = msgspec.field(default_factory=time.monotonic)
    _recent: deque[float] = msgspec.field(default_factory=deque)

    @property
    def done(self) -> int:
        """Samples with an outcome, found or made."""
        return self.resumed + self.answered + self.cached + self.failed - self.slipped

    def count_answer(self) -> None:
        """One reply is in."""
        self.answered += 1
        now = time.monotonic()
        self._recent.append(now)
        while self._recent[0] < now - _WINDOW_S:
            self._recent.popleft()

    def count_slip(self) -> None:
        """A reply is in, and the scorer failed on it."""
        self.failed += 1
        self.slipped += 1

    def count_score(self, score: Score, weight: float = 1.0) -> None:
        """One verdict is in. What has no public answer does not move the mean."""
        if score.outcome != "unscored":
            self.score_sum += weight * score.value
            self.weight_sum += weight

    def snapshot(
        self,
        endpoints: EndpointPool | None = None,
        budget: Budget | None = None,
        *,
        waiting: int = 0,
        score_name: str = "score",
    ) -> Snapshot:
        """Where the run stands now, its endpoints and its purse included."""
        now = time.monotonic()
        elapsed = now - self.started_at
        recent = sum(1 for at in tuple(self._recent) if at >= now - _WINDOW_S)
        rate = recent / min(elapsed, _WINDOW_S) if elapsed > 0 else 0.0
        left = max(0, self.total - self.done)
        latencies = sorted(endpoints.latencies) if endpoints else []
        return Snapshot(
            done=self.done,
            total=self.total,
            resumed=self.resumed,
            score=self.score_sum / self.weight_sum if self.weight_sum else None,
            score_name=score_name,
            waiting=waiting,
            in_flight=endpoints.in_flight if endpoints else 0,
            limit=endpoints.limit if endpoints else 0,
            sent=self.sent,
            retried=self.retried,
            cached=self.cached,
            failed=self.failed,
            throttled=_share(endpoints.throttled) if endpoints else 0.0,
            p50_s=_quantile(latencies, 0.5),
            p95_s=_quantile(latencies, 0.95),
            tokens=budget.tokens if budget else 0,
            cost=budget.cost if budget else None,
            requests_per_s=rate,
            elapsed_s=elapsed,
            eta_s=left / rate if rate > 0 else None,
        )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def _share(flags: Collection[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0
