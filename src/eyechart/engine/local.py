"""The local executor: one event loop, many requests at once.

Per sample: prepare (ahead where it takes time), ask (with retries), append to the journal, score. Nothing
here knows which benchmark or which model it drives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace

from eyechart.engine.asking import Answer, Patience, Unanswered
from eyechart.engine.cached import Cache
from eyechart.engine.calls import Calls
from eyechart.engine.judge import Bench, Judge
from eyechart.engine.prefetch import Prefetch
from eyechart.engine.prepare import Prepared, Preparer
from eyechart.engine.rounds import as_asked, converse, has_rounds
from eyechart.engine.scoring import Scoring
from eyechart.engine.spending import Purse
from eyechart.engine.stopping import Stop, Stopped
from eyechart.engine.tally import Tally
from eyechart.errors import StoreError
from eyechart.store.journal import Ask, Journal
from eyechart.store.reader import Task
from eyechart.types import Failure, Model, Reply, Scorer, Snapshot, Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(Patience):
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
        settings: Settings,
        *,
        beside: Sequence[Scorer] = (),
        bench: Bench | None = None,
        is_circular: bool = False,
        cache: Cache | None = None,
        purse: Purse | None = None,
    ) -> None:
        self.tally = Tally()
        self.stop = Stop()
        self._preparer = preparer
        self._journal = journal
        self._settings = settings
        self._model = model
        self._cache = cache or Cache()
        self._purse = purse
        is_free = bool(getattr(model, "is_free", False))
        self._asker = settings.asker(
            model, self.stop, purse=None if is_free else purse, is_proven=journal.has_replies()
        )
        self._at_once = min(settings.concurrency, self._asker.endpoints.limit)
        self._takes_rounds = bool(getattr(model, "takes_rounds", False))
        self._calls = Calls(journal, self._cache)
        self.scoring = Scoring(
            journal,
            scorer,
            beside,
            self._judge(bench, settings) if bench else None,
            is_circular,
        )

    def _judge(self, bench: Bench, settings: Settings) -> Judge:
        is_proven = self._journal.has_judged(bench.model.name)
        asker = settings.asker(bench.model, self.stop, purse=self._purse, role="judge", is_proven=is_proven)
        return Judge(bench, asker, self._calls)

    @property
    def in_flight(self) -> int:
        """Questions under way now."""
        return self._asker.endpoints.in_flight

    def snapshot(self) -> Snapshot:
        """Where the run stands now."""
        return self.tally.snapshot(self._asker.endpoints, self._purse.budget if self._purse else None)

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
        prefetch = Prefetch(
            iter(tasks),
            self._preparer.prepare,
            n_threads=settings.prefetch_threads,
            max_items=2 * self._at_once,
            max_bytes=settings.prefetch_bytes,
            is_quick=self._preparer.is_quick,
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
            self._count_requests()
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

    async def _work(self, prefetch: Prefetch) -> None:
        """One of many workers: take what is ready, ask, and take the next."""
        try:
            async for item in prefetch:
                try:
                    await self._work_on((item, *item.siblings))
                finally:
                    prefetch.release(item)
                    del item  # and its pictures, which must not stay until the next one comes
        except Stopped:
            return
        except Exception as err:  # the source's, the journal's or our own mistake: going on helps nobody
            self.stop.give_up(err)

    async def _work_on(self, trials: Sequence[Prepared]) -> None:
        to_ask, known = [], []
        for trial in trials:
            if trial.request is None or trial.is_answered:
                self._settle_unasked(trial)
                continue
            reply = self._cache.find(self._model, trial.ask.key, trial.request) if trial.ask else None
            if reply is None:
                to_ask.append(trial)
            else:
                known.append(self._keep_known(trial, reply))
        if known:
            await self._score(known)
        if to_ask:
            await self._ask(to_ask)

    def _keep_known(self, item: Prepared, reply: Reply) -> tuple[Task, Ask, Reply]:
        """A reply that an earlier run paid for is this run's, too."""
        assert item.ask is not None
        task, ask = item.task, as_asked(item.ask, reply)
        self.tally.cached += 1
        self._count_requests()
        self._journal.append_reply(task.sample.id, task.trial, ask, reply, attempts=0)
        return task, ask, reply

    def _settle_unasked(self, item: Prepared) -> None:
        task = item.task
        if item.is_answered:
            self.tally.resumed += 1
            if item.ask is not None:  # the files were touched, yet ask the same
                self._journal.renew_ask(task.sample.id, task.trial, item.ask)
            return
        assert item.failure is not None
        self.tally.failed += 1
        self._journal.append_failure(task.sample.id, task.trial, item.failure)

    async def _ask(self, trials: list[Prepared]) -> None:
        """One sample's way: ask, append, score; in this order, so that no answer is ever lost to a scorer.

        Several trials go in one request as long as the endpoint answers that with several replies.
        """
        while trials:
            first = trials[0]
            assert first.request is not None
            is_alone = has_rounds(first.request.messages) or self._asker.is_one_by_one
            asked = trials[:1] if is_alone else trials
            try:
                kept = await self._answer(asked)
                await self._score(kept)
                trials = trials[len(kept) :]
            except Unanswered as failed:
                self._count_requests()
                for item in asked:
                    self._fail(item, failed)
                trials = trials[len(asked) :]

    async def _answer(self, trials: Sequence[Prepared]) -> list[tuple[Task, Ask, Reply]]:
        """The replies to the first of the trials, all of them handed to the journal before any is scored."""
        first = trials[0]
        assert first.request is not None
        assert first.ask is not None
        asks = [item.ask for item in trials if item.ask is not None]
        if has_rounds(first.request.messages) and not self._takes_rounds:
            answer, asks[0] = await converse(self._asker, self._calls, first.request, first.ask)
        else:
            answer = await self._asker.ask(first.request, len(trials))
            if len(answer.replies) == 1 < len(trials):
                self._asker.is_one_by_one = True
        self._count_requests()  # so that they are on disk with what they brought
        kept = []
        for n, (item, ask, reply) in enumerate(zip(trials, asks, answer.replies, strict=False)):
            # The endpoint counts the tokens of all replies to a request together.
            own = reply if n == 0 else replace(reply, usage=None)
            task = item.task
            paid = answer.paid if n == 0 else None
            self._journal.append_reply(
                task.sample.id, task.trial, ask, own, attempts=answer.attempts, paid=paid
            )
            self._cache.put(self._model, ask.key, first.request, _share(reply, n, answer))
            self.tally.count_answer()
            kept.append((task, ask, own))
        return kept

    async def _score(self, kept: Sequence[tuple[Task, Ask, Reply]]) -> None:
        for task, ask, reply in kept:
            score = await self.scoring.score(task.sample, task.trial, ask.key, reply)
            if score is None:
                self.tally.count_slip()
            else:
                self.tally.count_score(score, task.sample.weight)

    def _fail(self, item: Prepared, failed: Unanswered) -> None:
        self.tally.failed += 1
        error = failed.error
        failure = Failure(
            stage="generate",
            reason=str(error),
            retryable=error.is_retryable,
            status=error.status,
            attempts=failed.attempts,
        )
        self._journal.append_failure(item.task.sample.id, item.task.trial, failure, ask=item.ask)

    def _count_requests(self) -> None:
        self.tally.sent, self.tally.retried = self._asker.sent, self._asker.retried
        self._journal.count_requests(
            sent=self.tally.sent, retried=self.tally.retried, cached=self.tally.cached
        )


def _share(reply: Reply, n_th: int, answer: Answer) -> Reply:
    """One of several replies to a request, with its share of the tokens that all took together."""
    n, usage = len(answer.replies), answer.replies[0].usage
    if n == 1 or usage is None:
        return reply
    shares = {}
    for field in fields(Usage):
        each, rest = divmod(getattr(usage, field.name), n)
        shares[field.name] = each + (rest if n_th == 0 else 0)
    return replace(reply, usage=Usage(**shares))
