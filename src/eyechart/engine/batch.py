"""An executor over a provider's batch API: submit everything, wait, collect; half the price, within a day.

Batches are recorded in the journal (store/batches.py): before a batch is submitted, and until its replies are
on disk. So a run that is killed at any moment can be resumed, and requests of a pending batch are never sent
again. Everything before a request and after a reply is done as by the local executor.
"""

from __future__ import annotations

import contextlib
import itertools
import secrets
import tempfile
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import IO, TypeVar

from eyechart.engine.budget import BudgetSpent
from eyechart.engine.executor import LocalExecutor
from eyechart.engine.pool import Stopped
from eyechart.engine.prepare import Prepared
from eyechart.engine.retry import RequestResult
from eyechart.engine.sample import (
    Rounds,
    Settled,
    TrialFailure,
    TrialReply,
    has_rounds,
    join_rounds,
    make_failure,
)
from eyechart.errors import ModelError
from eyechart.models.batch import BatchApi, BatchState
from eyechart.models.prices import guess_usage
from eyechart.store.batches import Batch, BatchedRequest, BatchLog
from eyechart.store.journal import Ask
from eyechart.store.reader import Task
from eyechart.types import Failure, Reply, Request, Sample, Snapshot, Usage

T = TypeVar("T")

_SPOOL = ".batch-"
_FIRST_LOOK_S = 1.0
MAX_POLL_S = 60.0
POLL_BACKOFF = 1.5
_LONG_REPLY = 1000  # tokens, where no limit is set: for the budget
_LIMITS = ("max_completion_tokens", "max_tokens")
# Wrong key, not allowed, no such API: a server that says so about a batch and about the list has made none.
_NEVER_ACCEPTED = frozenset({401, 403, 404, 405, 501})


class BatchExecutor(LocalExecutor):
    """Runs tasks through batches until all have an outcome, or until it is told to stop."""

    _api: BatchApi
    _log: BatchLog
    _folder: Path

    def use(self, api: BatchApi, log: BatchLog, folder: Path) -> None:
        """Set the API, the log in the journal, and the folder for files that are being submitted."""
        self._api, self._log, self._folder = api, log, folder
        for left in folder.glob(f"{_SPOOL}*"):  # by a start that was killed
            left.unlink(missing_ok=True)
        self._say: Callable[[str], None] = lambda text: None
        self._status = ""
        self._has_collected = False
        self._n_rounds = 0  # replies that a conversation goes on from
        self._n_trials = 1
        self._settled: set[tuple[str, int]] = set()  # sample and trial of what this start is done with

    @property
    def has_answered(self) -> bool:
        return self._has_collected or super().has_answered

    def announce_to(self, say: Callable[[str], None]) -> None:
        super().announce_to(say)
        self._say = say

    def snapshot(self) -> Snapshot:
        return self._take_snapshot(status=self._status or "preparing a batch")

    async def run(self, tasks: Iterable[Task]) -> None:
        """Submit what no pending batch asks, wait for all batches, write what they bring.

        Conversations take a batch per round.
        """
        try:
            await self._recover()
            while True:
                self._n_rounds = 0
                spent = await self._submit_all(tasks)
                await self._collect_all()
                if spent is not None:
                    self.stop.give_up(spent)
                if spent is not None or not self._n_rounds:
                    break
                tasks = self._journal.tasks(self._n_trials)
        except Stopped:
            pending = self._log.pending()
            if pending:
                n = sum(one.n for one in pending)
                self._say(f"{n:,} requests are in {_count(pending)}; the same command collects them")
            if unknown := [one.name for one in pending if not one.id]:
                names = ", ".join(unknown)
                self._say(f"whether {names} was accepted is not known; the same command looks it up first")
        finally:
            await self._api.close()
            self._count_requests()
        self._raise_trouble()

    # -- submitting

    async def _recover(self) -> None:
        """Find the batches that were being submitted when an earlier start was cut off."""
        for batch in self._log.pending():
            if batch.id:
                continue
            self._status = "looking for a batch of an earlier start"
            known = self._log.known_ids()
            found = await self._insist(lambda batch=batch, known=known: self._find(batch, known))  # type: ignore[misc]
            if found:
                self._log.set_id(batch, found)
            else:
                self._log.end(batch, "withdrawn")

    async def _submit_all(self, tasks: Iterable[Task]) -> BudgetSpent | None:
        """Submit all that has to be asked, or as much as the budget allows; returns why it was not all."""
        asked = self._log.pending_keys()
        prefetcher = self._open_prefetcher(tasks, self._preparer.prepare, 64)
        with contextlib.closing(Spool(self._api, self._folder)) as spool:
            try:
                async for item in prefetcher:
                    try:
                        await self._add(spool, item, asked)
                    finally:
                        prefetcher.release(item)
                        del item
                    if spool.spent is not None:
                        break
                    if self._journal.is_behind:
                        await self.scoring.wait_for_disk()
            finally:
                prefetcher.stop()
            self.stop.check()
            await self._submit(spool)
            return spool.spent

    async def _add(self, spool: Spool, item: Prepared, asked: set[tuple[str, int, str]]) -> None:
        """Settle a trial that needs no request; write the others to the next batch."""
        self._n_trials = max(self._n_trials, item.task.trial + 1)
        if (item.task.sample.id, item.task.trial) in self._settled:  # in the batch of an earlier round
            return
        settled = self._runner.look_up([item])
        self._write(settled)
        for trial in settled.left:
            request, ask, sample = trial.request, trial.ask, trial.task.sample
            assert request is not None, "it is to be asked"
            assert ask is not None, "it is to be asked"
            purpose = ""
            if has_rounds(request.messages):
                rounds = self._go_on(request, ask)
                request, purpose = rounds.request, rounds.purpose or ""
                ask = Ask(key=rounds.key, recipe=ask.recipe, messages=rounds.written)
            if (sample.id, trial.task.trial, ask.key) in asked:
                continue
            try:
                body = self._api.endpoint.encode_request(request)
                if sum(map(len, body)) > self._api.max_bytes // 2:
                    raise ModelError(
                        "the request is too large for a batch", hint="--max-pixels shrinks images"
                    )
            except ModelError as err:
                failure = Failure(stage="generate", reason=str(err), retryable=False)
                failed = TrialFailure(task=trial.task, failure=failure, ask=None if purpose else ask)
                self._write(Settled(failures=[failed]))
                continue
            if not spool.has_room(body):
                await self._submit(spool)
            if spool.spent is not None:
                return
            one = BatchedRequest(sample=sample.id, trial=trial.task.trial, ask=ask, purpose=purpose)
            spool.add(one, body, self._guess(request))

    def _go_on(self, request: Request, ask: Ask) -> Rounds:
        """A conversation up to the round that has not been asked."""
        rounds = Rounds(request, ask)
        while rounds.purpose is not None:
            reply = self._call_store.find(request.sample.id, request.trial, rounds.key)
            if reply is None:
                break
            rounds.add(reply)
        return rounds

    def _guess(self, request: Request) -> Usage:
        """About what a request takes at most."""
        identity = self._client.model.identity
        limit = next((identity[name] for name in _LIMITS if isinstance(identity.get(name), int)), _LONG_REPLY)
        return guess_usage(self._client.model, request, []) + Usage(completion_tokens=limit)

    async def _submit(self, spool: Spool) -> None:
        if not spool.requests or spool.spent is not None:
            return
        pending = sum((one.guess for one in self._log.pending()), Usage())
        if self._gate is not None and (why := self._gate.budget.why_beyond("model", pending + spool.guess)):
            hint = "all replies are kept; to resume, run the same command again with a higher limit"
            spool.spent = BudgetSpent(why, hint=hint)
            return
        self._status = f"submitting {len(spool.requests):,} requests"
        path = spool.finish()
        uploaded = await self._insist(lambda: self._api.upload(path, spool.name))
        batch = self._log.begin(spool.name, spool.requests, spool.guess)
        attempts = itertools.count()
        number = await self._insist(lambda: self._submit_once(batch, path, uploaded, next(attempts) > 0))
        self._log.set_id(batch, number)
        self._client.sent += batch.n
        self._count_requests()
        spool.restart()

    async def _submit_once(self, batch: Batch, path: Path, uploaded: str, is_again: bool) -> str:
        """Submit. After any answer but an acceptance, the list of batches says whether it was accepted.

        Before it is submitted again, that list has to say twice that it was not. A batch that was refused,
        and is not in the list, is withdrawn; one of which nothing is known stays pending.
        """
        known = self._log.known_ids()
        if is_again and (found := await self._find(batch, known)):
            return found
        try:
            return await self._api.submit(path, uploaded, batch.name)
        except ModelError as err:
            try:
                found = await self._find(batch, known)
            except ModelError as lookup:
                is_refused = err.status in _NEVER_ACCEPTED and lookup.status in _NEVER_ACCEPTED
            else:
                if found is not None:
                    return found
                is_refused = err.status is not None and 400 <= err.status < 500
            if is_refused and not err.is_retryable:
                self._log.end(batch, "withdrawn")
            raise

    async def _find(self, batch: Batch, known: set[str]) -> str | None:
        return await self._api.find(batch.name, batch.n, batch.at, known)

    # -- collecting

    async def _collect_all(self) -> None:
        delay_s = _FIRST_LOOK_S
        while pending := self._log.pending():
            n_done, n_all = 0, sum(one.n for one in pending)
            for batch in pending:
                state = await self._insist(lambda batch=batch: self._api.look(batch.id))  # type: ignore[misc]
                n_done += min(state.n_done, batch.n)
                self._status = f"{_count(pending)}: {n_done:,} of {n_all:,} processed"
                if state.is_ended:
                    await self._collect(batch, state)
                    delay_s = _FIRST_LOOK_S
            if not self._log.pending():
                return
            await self.stop.sleep(delay_s)
            delay_s = min(POLL_BACKOFF * delay_s, MAX_POLL_S)

    async def _collect(self, batch: Batch, state: BatchState) -> None:
        """Write the results of a batch, then cross it out."""
        with self._log.requests(batch) as requests:

            async def read() -> None:
                async for result in self._api.results(batch.id, batch.n):
                    if (one := requests.take(result.custom_id)) is not None:
                        self._settle_one(one, result.reply, result.error)
                        if self._journal.is_behind:
                            await self.scoring.wait_for_disk()

            await self._insist(read)
            why = state.trouble or "the batch has no result for this request"
            for one in requests.take_rest():
                self._settle_one(one, None, ModelError(why, is_retryable=True))
        self._count_requests()
        self._journal.flush()
        self._log.end(batch)

    def _settle_one(self, one: BatchedRequest, reply: Reply | None, error: ModelError | None) -> None:
        task = Task(position=0, sample=Sample(id=one.sample, question=""), trial=one.trial)
        if reply is None:
            assert error is not None, "one of the two"
            failure = make_failure(error, attempts=1)
            failed = TrialFailure(task=task, failure=failure, ask=None if one.purpose else one.ask)
            self._write(Settled(failures=[failed]))
            return
        self._has_collected = True
        paid = reply.usage
        if self._gate is not None and paid is not None:
            self._gate.budget.count("model", paid)
        if one.purpose:
            request = Request(messages=(), sample=task.sample, trial=one.trial)
            result, name = RequestResult([reply], 1, paid), self._client.model.name
            self._call_store.append(request, one.ask, one.purpose, result, model=name)
            self._n_rounds += 1
            return
        earlier = self._find_rounds(one)
        if not earlier and not _has_urls(one.ask):
            request = Request(messages=(), sample=task.sample, trial=one.trial)
            self._runner.known.put(self._client.model, one.ask.key, request, reply)
        reply = join_rounds(reply, earlier) if earlier else reply
        kept = TrialReply(task=task, ask=one.ask, reply=reply, attempts=1, paid=paid)
        self._write(Settled(replies=[kept]))

    def _find_rounds(self, one: BatchedRequest) -> list[Reply]:
        """The earlier replies of the conversation that this request ends."""
        asked = one.ask.messages
        if not any(turn["role"] == "assistant" for turn in asked):
            return []
        calls = [
            call
            for call in self._journal.calls(one.sample, one.trial)
            if call.purpose.startswith("round:") and call.messages == asked[: len(call.messages)]
        ]
        return [call.reply for call in sorted(calls, key=lambda call: len(call.messages))]

    def _write(self, settled: Settled) -> None:
        super()._write(settled)
        for done in (settled.replies, settled.failures, settled.resumed):
            tasks = [one.task for one in done]
            self._settled.update((task.sample.id, task.trial) for task in tasks)

    # -- requests about batches

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        """Call until it succeeds, with the delays and as often as any request; stops with the run."""
        policy, attempt = self._settings.retry, 0
        while True:
            attempt += 1
            try:
                return await self.stop.attend(call())
            except ModelError as err:
                if not policy.may_retry(attempt, err):
                    self.stop.give_up(err)
                    raise Stopped from err
                self._client.retried += 1
                await self.stop.sleep(policy.delay_s(attempt, err.retry_after_s, self._client.rng))


class Spool:
    """The file of the batch that is being filled, with what the journal will hold of it."""

    def __init__(self, api: BatchApi, folder: Path) -> None:
        self._api = api
        self._folder = folder
        self._file: IO[bytes] | None = None
        self.spent: BudgetSpent | None = None  # why this batch, and all further ones, are not submitted
        self.restart()

    def restart(self) -> None:
        """Begin an empty file."""
        self.close()
        self.name = f"ec{secrets.token_hex(12)}"
        self.requests: list[BatchedRequest] = []
        self.guess = Usage()
        # Beside the journal, where there is room for the run: a batch may have 200 MB.
        self._file = tempfile.NamedTemporaryFile(dir=self._folder, prefix=_SPOOL)  # noqa: SIM115
        self._file.write(self._api.opening)

    def has_room(self, body: Iterable[bytes]) -> bool:
        """Whether one more request fits into the batch."""
        assert self._file is not None, "restart comes first"
        n_bytes = self._file.tell() + sum(map(len, body)) + 1024  # around the request, and at the end
        return len(self.requests) < self._api.max_requests and n_bytes <= self._api.max_bytes

    def add(self, one: BatchedRequest, body: Iterable[bytes], guess: Usage) -> None:
        assert self._file is not None, "restart comes first"
        self._file.write(self._api.separator if self.requests else b"")
        self._file.writelines(self._api.wrap(f"{self.name}-{len(self.requests)}", list(body)))
        self.requests.append(one)
        self.guess += guess

    def finish(self) -> Path:
        """The whole file."""
        assert self._file is not None, "restart comes first"
        self._file.write(self._api.closing)
        self._file.flush()
        return Path(self._file.name)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()  # which deletes it
            self._file = None


def _has_urls(ask: Ask) -> bool:
    """Whether an image was sent as a URL, whose content may change: such a reply is not for the cache."""
    return any("url" in part.get("image", ()) for turn in ask.messages for part in turn["parts"])


def _count(pending: list[Batch]) -> str:
    return f"{len(pending)} batch{'es' * (len(pending) != 1)}"
