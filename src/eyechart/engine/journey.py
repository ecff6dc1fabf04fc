"""One sample's way once it is prepared: find or ask, append to the journal, score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

from eyechart.engine.asking import Answer, Asker, Unanswered
from eyechart.engine.cached import Cache
from eyechart.engine.calls import Calls
from eyechart.engine.prepare import Prepared
from eyechart.engine.rounds import as_asked, converse, has_rounds
from eyechart.engine.scoring import Scoring
from eyechart.engine.tally import Tally
from eyechart.store.journal import Ask, Journal
from eyechart.store.tasks import Task
from eyechart.types import Failure, Reply, Usage


@dataclass(slots=True)
class Journey:
    """Takes one sample after the other, and any number at once, to its end; what it needs is the run's."""

    asker: Asker
    journal: Journal
    cache: Cache
    calls: Calls
    scoring: Scoring
    tally: Tally
    _takes_rounds: bool = field(init=False)

    def __post_init__(self) -> None:
        self._takes_rounds = bool(getattr(self.asker.model, "takes_rounds", False))

    async def go(self, trials: Sequence[Prepared]) -> None:
        """All trials of a sample that go together: those that are known are kept, the others asked."""
        to_ask, known = [], []
        for trial in trials:
            if trial.request is None or trial.is_answered:
                self._settle_unasked(trial)
                continue
            reply = self.cache.find(self.asker.model, trial.ask.key, trial.request) if trial.ask else None
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
        self.count_requests()
        self.journal.append_reply(task.sample.id, task.trial, ask, reply, attempts=0)
        return task, ask, reply

    def _settle_unasked(self, item: Prepared) -> None:
        task = item.task
        if item.is_answered:
            self.tally.resumed += 1
            if item.ask is not None:  # the files were touched, yet ask the same
                self.journal.renew_ask(task.sample.id, task.trial, item.ask)
            return
        assert item.failure is not None
        self.tally.failed += 1
        self.journal.append_failure(task.sample.id, task.trial, item.failure)

    async def _ask(self, trials: list[Prepared]) -> None:
        """One sample's way: ask, append, score; in this order, so that no answer is ever lost to a scorer.

        Several trials go in one request as long as the endpoint answers that with several replies.
        """
        while trials:
            first = trials[0]
            assert first.request is not None
            is_alone = has_rounds(first.request.messages) or self.asker.is_one_by_one
            asked = trials[:1] if is_alone else trials
            try:
                kept = await self._answer(asked)
                await self._score(kept)
                trials = trials[len(kept) :]
            except Unanswered as failed:
                self.count_requests()
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
            answer, asks[0] = await converse(self.asker, self.calls, first.request, first.ask)
        else:
            answer = await self.asker.ask(first.request, len(trials))
            asks[0] = as_asked(asks[0], answer.replies[0])
            if len(answer.replies) == 1 < len(trials):
                self.asker.is_one_by_one = True
        self.count_requests()  # so that they are on disk with what they brought
        kept = []
        for n, (item, ask, reply) in enumerate(zip(trials, asks, answer.replies, strict=False)):
            # The endpoint counts the tokens of all replies to a request together.
            own = reply if n == 0 else replace(reply, usage=None)
            task = item.task
            paid = answer.paid if n == 0 else None
            self.journal.append_reply(
                task.sample.id, task.trial, ask, own, attempts=answer.attempts, paid=paid
            )
            self.cache.put(self.asker.model, ask.key, first.request, _share(reply, n, answer))
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
        self.journal.append_failure(item.task.sample.id, item.task.trial, failure, ask=item.ask)

    def count_requests(self) -> None:
        """Keep how many were sent so far, with what is written next."""
        self.tally.sent, self.tally.retried = self.asker.sent, self.asker.retried
        self.journal.count_requests(
            sent=self.tally.sent, retried=self.tally.retried, cached=self.tally.cached
        )


def _share(reply: Reply, n_th: int, answer: Answer) -> Reply:
    """One of several replies to a request, with its share of the tokens that all took together."""
    n, usage = len(answer.replies), answer.replies[0].usage
    if n == 1 or usage is None:
        return reply
    shares = {}
    for kind in fields(Usage):
        each, rest = divmod(getattr(usage, kind.name), n)
        shares[kind.name] = each + (rest if n_th == 0 else 0)
    return replace(reply, usage=Usage(**shares))
