"""The local executor: one event loop, many requests at once.

Per sample: prepare (ahead, in threads), ask (with retries), append to the journal, score. Nothing here
knows which benchmark or which model it drives.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from eyechart.engine.backoff import Backoff
from eyechart.engine.prefetch import Prefetch
from eyechart.engine.prepare import Prepared, Preparer
from eyechart.engine.scoring import score_reply
from eyechart.engine.tally import Tally
from eyechart.errors import ModelError, StoreError
from eyechart.store.journal import Journal, Task
from eyechart.types import Failure, Model, Reply, Scorer

_UNREACHABLE_TRIES = 3  # before the first answer, so many refused connections mean a wrong address
_FATAL_IN_A_ROW = 3  # after it, one refusal may concern one sample alone; so many concern them all


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How hard to push, and when to give up."""

    concurrency: int = 32
    timeout_s: float = 600.0  # for one try
    backoff: Backoff = field(default_factory=Backoff)
    prefetch_threads: int = 2
    prefetch_bytes: int = 128 * 2**20
    grace_s: float = 10.0  # after an interrupt, for answers that are already paid for
    seed: int = 0


class LocalExecutor:
    """Runs tasks against a model until all have an outcome, or until it is told to stop."""

    def __init__(
        self, model: Model, preparer: Preparer, journal: Journal, scorer: Scorer, settings: Settings
    ) -> None:
        self.tally = Tally()
        self.is_interrupted = False
        self._model = model
        self._preparer = preparer
        self._journal = journal
        self._scorer = scorer
        self._settings = settings
        # A model that takes fewer at once is sent fewer: time spent in its queue would count as its silence.
        most = getattr(model, "max_concurrency", None) or settings.concurrency
        self._at_once = min(settings.concurrency, most)
        self._rng = random.Random(settings.seed)  # noqa: S311  (jitter, not secrets)
        self._stopping = asyncio.Event()
        self._trouble: BaseException | None = None
        self._fatal_in_a_row = 0
        self._prefetch: Prefetch | None = None

    async def run(self, tasks: Iterable[Task]) -> None:
        """Ask everything that has no reply yet. Raises only what makes going on pointless."""
        settings = self._settings
        self._prefetch = prefetch = Prefetch(
            iter(tasks),
            self._preparer.prepare,
            n_threads=settings.prefetch_threads,
            max_items=2 * self._at_once,
            max_bytes=settings.prefetch_bytes,
        )
        if self._stopping.is_set():  # before it began
            prefetch.stop()
        workers = [asyncio.create_task(self._work(prefetch)) for _ in range(self._at_once)]
        try:
            await self._finish(workers)
        finally:
            prefetch.stop()
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            self._count_requests()
        if self._trouble is not None:
            raise self._trouble
        self._journal.raise_trouble()

    def interrupt(self) -> None:
        """Stop asking; answers under way may still come in for a moment."""
        self.is_interrupted = True
        self._stop()

    def _give_up(self, trouble: BaseException) -> None:
        self._trouble = self._trouble or trouble
        self._stop()

    def _stop(self) -> None:
        self._stopping.set()
        if self._prefetch is not None:
            self._prefetch.stop()

    async def _finish(self, workers: Sequence[asyncio.Task[None]]) -> None:
        """Wait until all is asked; once stopped, only for the grace period."""
        done = asyncio.create_task(asyncio.wait(workers))
        stopped = asyncio.create_task(self._stopping.wait())
        await asyncio.wait([done, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if not isinstance(self._trouble, StoreError):  # which could keep no answer any more
            await asyncio.wait([done], timeout=self._settings.grace_s)
        done.cancel()

    async def _work(self, prefetch: Prefetch) -> None:
        """One of many workers: take what is ready, ask, and take the next."""
        try:
            async for item in prefetch:
                try:
                    if item.request is None or item.is_answered:
                        self._settle_unasked(item)
                    else:
                        await self._ask(item)
                finally:
                    prefetch.release(item)
        except Exception as err:  # the source's, the journal's or our own mistake: going on helps nobody
            self._give_up(err)

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

    async def _ask(self, item: Prepared) -> None:
        """One sample's way: ask, append, score; in this order, so that no answer is ever lost to a scorer."""
        self.tally.in_flight += 1
        try:
            answered = await self._answer(item)
            if answered is not None:
                self._keep(item, *answered)
            self._count_requests()
        finally:
            self.tally.in_flight -= 1

    async def _answer(self, item: Prepared) -> tuple[Reply, int] | None:
        """The reply and the tries it took; None when there is none, and the journal says why."""
        attempts = 0
        while True:
            attempts += 1
            try:
                return await self._try(item), attempts
            except ModelError as err:
                if self._is_hopeless(err, attempts):
                    self._give_up(err)
                if self._stopping.is_set() or not self._settings.backoff.may_retry(attempts, err):
                    self._fail(item, err, attempts)
                    return None
                await self._wait(self._settings.backoff.delay_s(attempts, err.retry_after_s, self._rng))
            if self._stopping.is_set():
                return None  # neither answered nor failed: it is asked on the next start
            self.tally.retried += 1

    async def _try(self, item: Prepared) -> Reply:
        assert item.request is not None
        self.tally.sent += 1
        try:
            async with asyncio.timeout(self._settings.timeout_s):
                return await self._model.reply(item.request)
        except TimeoutError:
            message = f"no answer within {self._settings.timeout_s:g} s"
            raise ModelError(message, hint="--timeout allows more", is_retryable=True) from None
        except ModelError:
            raise
        except Exception as err:  # a model may be anybody's: its slip is this sample's failure
            raise ModelError(f"{self._model.name} raised {type(err).__name__}: {err}") from err

    def _is_hopeless(self, error: ModelError, attempts: int) -> bool:
        """Whether no request can succeed: a wrong key, model or address, as far as anyone can tell."""
        if error.is_unreachable:
            is_last = not self._settings.backoff.may_retry(attempts, error)
            return self.tally.answered == 0 and (attempts >= _UNREACHABLE_TRIES or is_last)
        self._fatal_in_a_row += error.is_fatal
        is_new = self.tally.answered + self.tally.resumed == 0
        return error.is_fatal and (is_new or self._fatal_in_a_row >= _FATAL_IN_A_ROW)

    def _fail(self, item: Prepared, error: ModelError, attempts: int) -> None:
        self.tally.failed += 1
        failure = Failure(
            stage="generate",
            reason=str(error),
            retryable=error.is_retryable,
            status=error.status,
            attempts=attempts,
        )
        self._journal.append_failure(item.task.sample.id, item.task.trial, failure, ask=item.ask)

    def _keep(self, item: Prepared, reply: Reply, attempts: int) -> None:
        assert item.ask is not None
        sample, trial, ask = item.task.sample, item.task.trial, item.ask
        self._journal.append_reply(sample.id, trial, ask, reply, attempts=attempts)
        self._fatal_in_a_row = 0
        self.tally.count_answer()
        score = score_reply(self._journal, self._scorer, sample, trial, ask.key, reply)
        if score is None:
            self.tally.answered -= 1
            self.tally.failed += 1
        else:
            self.tally.count_score(score)

    async def _wait(self, delay_s: float) -> None:
        """Sleep, unless the run is stopped first."""
        try:
            await asyncio.wait_for(self._stopping.wait(), timeout=delay_s)
        except TimeoutError:
            return

    def _count_requests(self) -> None:
        self._journal.count_requests(sent=self.tally.sent, retried=self.tally.retried, cached=0)
