"""The local executor: one event loop, many requests at once.

Per sample: prepare (ahead, in threads), ask (with retries), append to the journal, score. Nothing here
knows which benchmark or which model it drives.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Iterable
from dataclasses import dataclass, field

from eyechart.engine.backoff import Backoff
from eyechart.engine.prefetch import Prefetch
from eyechart.engine.prepare import Prepared, Preparer
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
        slots = asyncio.Semaphore(self._at_once)
        asking: set[asyncio.Task[None]] = set()
        try:
            try:
                async for item in prefetch:
                    if self._stopping.is_set():
                        break
                    if item.request is None or item.is_answered:
                        self._settle_unasked(item)
                        prefetch.release(item)
                    elif await self._has_slot(slots):
                        task = asyncio.create_task(self._ask(item, slots, prefetch))
                        asking.add(task)
                        task.add_done_callback(asking.discard)
            except Exception as err:  # the source or the journal gave out: answers under way may still come
                self._give_up(err)
            await self._drain(asking)
        finally:
            prefetch.stop()
            for task in asking:
                task.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
            with contextlib.suppress(StoreError):  # raised below, unless something else comes first
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

    async def _drain(self, asking: set[asyncio.Task[None]]) -> None:
        """Wait for what is in flight; once stopped, only for the grace period."""
        stopped = asyncio.create_task(self._stopping.wait())
        while asking and not self._stopping.is_set():
            await asyncio.wait([*asking, stopped], return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()
        if asking and not isinstance(self._trouble, StoreError):  # which could keep no answer any more
            await asyncio.wait(set(asking), timeout=self._settings.grace_s)

    async def _has_slot(self, slots: asyncio.Semaphore) -> bool:
        """Wait until one more may be asked; False when the run is stopped first."""
        if not slots.locked():
            return await slots.acquire()
        acquiring = asyncio.create_task(slots.acquire())
        stopped = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait([acquiring, stopped], return_when=asyncio.FIRST_COMPLETED)
        finally:
            acquiring.cancel()
            stopped.cancel()
        return not self._stopping.is_set()

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

    async def _ask(self, item: Prepared, slots: asyncio.Semaphore, prefetch: Prefetch) -> None:
        """One sample's way: ask, append, score; in this order, so that no answer is ever lost to a scorer."""
        self.tally.in_flight += 1
        try:
            answered = await self._answer(item)
            if answered is not None:
                self._keep(item, *answered)
            self._count_requests()
        except Exception as err:  # the journal's, or our own mistake: going on helps nobody
            self._give_up(err)
        finally:
            self.tally.in_flight -= 1
            slots.release()
            prefetch.release(item)

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
            return self.tally.answered == 0 and attempts >= _UNREACHABLE_TRIES
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
        try:
            score = self._scorer(reply, sample)
            self._journal.append_score(sample.id, trial, ask.key, self._scorer, score)
        except StoreError:
            raise
        except Exception as err:  # a scorer may be the user's own; the reply is safe in the journal
            self.tally.answered -= 1
            self.tally.failed += 1
            failure = Failure(stage="score", reason=f"{self._scorer.name}: {type(err).__name__}: {err}")
            self._journal.append_failure(sample.id, trial, failure)
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
