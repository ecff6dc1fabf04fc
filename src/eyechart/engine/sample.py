"""One sample's way once it is prepared: find or ask, append to the journal, score."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import msgspec

from eyechart.engine.prepare import Prepared
from eyechart.engine.retry import NoReply, Response, RetryingClient
from eyechart.memory import rest_claim
from eyechart.store.cache import ResponseCache
from eyechart.store.journal import Ask, Journal
from eyechart.store.kept import EarlierRuns
from eyechart.store.tasks import Task
from eyechart.types import (
    MODELS_TURN,
    Failure,
    ImageRef,
    Message,
    Model,
    Reply,
    Request,
    Studious,
    Usage,
    capabilities_of,
)

if TYPE_CHECKING:
    from eyechart.engine.executor import Progress
    from eyechart.engine.judge import Scoring


@dataclass(slots=True)
class SampleRunner:
    """Takes one sample after the other, and any number at once, to its end; what it needs is the run's."""

    asker: RetryingClient
    journal: Journal
    cache: KnownReplies
    calls: Calls
    scoring: Scoring
    tally: Progress
    _takes_rounds: bool = field(init=False)

    def __post_init__(self) -> None:
        self._takes_rounds = capabilities_of(self.asker.model).takes_rounds

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
            except NoReply as failed:
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

    def _fail(self, item: Prepared, failed: NoReply) -> None:
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


def _share(reply: Reply, n_th: int, answer: Response) -> Reply:
    """One of several replies to a request, with its share of the tokens that all took together."""
    n, usage = len(answer.replies), answer.replies[0].usage
    if n == 1 or usage is None:
        return reply
    shares = {}
    for kind in fields(Usage):
        each, rest = divmod(getattr(usage, kind.name), n)
        shares[kind.name] = each + (rest if n_th == 0 else 0)
    return replace(reply, usage=Usage(**shares))


# -- Conversations in rounds: each turn is asked when the model has answered the one before.

# The model's turn, as it is written before it has spoken.
_UNSAID: Mapping[str, Any] = {"role": MODELS_TURN.role, "parts": []}


def has_rounds(messages: Sequence[Message]) -> bool:
    """Whether the model speaks before the last turn."""
    return MODELS_TURN in messages


async def converse(asker: RetryingClient, calls: Calls, request: Request, ask: Ask) -> tuple[Response, Ask]:
    """Ask round by round; the last reply is the answer, and what was asked now holds the earlier ones.

    Every round is kept as soon as it is answered, so that a run which is cut off goes on from there.
    """
    turns = list(request.messages)
    written = [dict(turn) for turn in ask.messages]
    earlier: list[Reply] = []
    while MODELS_TURN in turns:
        here = turns.index(MODELS_TURN)
        so_far = replace(request, messages=tuple(turns[:here]))
        key = make_key("round", ask.key, written[:here])
        reply = await calls.reply(asker, so_far, key, written[:here], f"round:{len(earlier)}")
        earlier.append(reply)
        turns[here] = Message("assistant", (reply.text,))
        written[here] = {"role": "assistant", "parts": [{"text": reply.text}]}
    rest_claim()
    answer = await asker.ask(replace(request, messages=tuple(turns)))
    last = replace(
        answer.replies[0],
        earlier=tuple(reply.text for reply in earlier),
        usage=_together([*(reply.usage for reply in earlier), answer.replies[0].usage]),
    )
    return msgspec.structs.replace(answer, replies=[last]), msgspec.structs.replace(ask, messages=written)


def as_asked(ask: Ask, reply: Reply) -> Ask:
    """What was asked in all rounds of a conversation whose end is known."""
    if not reply.earlier:
        return ask
    said = iter(reply.earlier)
    turns = [
        {"role": "assistant", "parts": [{"text": next(said, "")}]} if turn == _UNSAID else turn
        for turn in ask.messages
    ]
    return msgspec.structs.replace(ask, messages=turns)


def _together(usages: Sequence[Usage | None]) -> Usage | None:
    known = [usage for usage in usages if usage is not None]
    return sum(known, Usage()) if known else None


# -- What is asked besides the reply itself: found in the journal if it was asked before, else kept there.

_LATEST = 1000  # as a rule more than wait for the disk
_SMALL = 64 * 1024  # characters of a reply that is worth remembering: a larger one is read from the disk


class Calls:
    """The calls of one run, by key. Those of earlier starts are read over one connection."""

    def __init__(self, journal: Journal, cache: KnownReplies | None = None) -> None:
        self._journal = journal
        self._cache = cache or KnownReplies()
        self._kept = journal.kept_calls()
        # The latest of this start, which the disk may not have yet.
        self._latest: dict[tuple[str, int, str], Reply] = {}

    async def reply(
        self,
        asker: RetryingClient,
        request: Request,
        key: str,
        written: Sequence[Mapping[str, Any]],
        purpose: str,
    ) -> Reply:
        """The reply to `request`; raises what the asker raises."""
        sample, trial = request.sample.id, request.trial
        known = self._latest.get((sample, trial, key)) or self._on_disk(sample, trial, key)
        if known is not None:
            return known
        ask = Ask(key=key, recipe="", messages=[dict(turn) for turn in written])
        reply, attempts, paid = self._cache.find(asker.model, key, request), 0, None
        if reply is None:
            rest_claim()  # what the sample holds of an earlier reply must not keep others from their answers
            answer = await asker.ask(request)
            reply, attempts, paid = answer.replies[0], answer.attempts, answer.paid
            self._cache.put(asker.model, key, request, reply)
        self._journal.append_call(
            sample, trial, ask, purpose, reply, attempts=attempts, paid=paid, model=asker.model.name
        )
        self._remember(sample, trial, key, reply)
        return reply

    def _remember(self, sample: str, trial: int, key: str, reply: Reply) -> None:
        self._kept.expect(key)
        if len(reply.text) + len(reply.thinking) > _SMALL:
            return
        self._latest[sample, trial, key] = reply
        if len(self._latest) > _LATEST:
            del self._latest[next(iter(self._latest))]

    def _on_disk(self, sample: str, trial: int, key: str) -> Reply | None:
        if not self._kept.has(key):
            return None
        known = self._kept.reply(sample, trial, key)
        if known is None:  # of this start, and not written yet; or of another sample
            self._journal.flush()
            known = self._kept.reply(sample, trial, key)
        return known

    def close(self) -> None:
        """Let go of the journal."""
        self._kept.close()


def make_key(*parts: Any) -> str:
    """The name of what is asked."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


# -- Replies that an earlier run got to the very same request.


class KnownReplies(msgspec.Struct, frozen=True):
    """What is known without asking: from the folders of earlier runs, then from the response cache.

    An earlier run is looked into as the run's own folder is on resume: by sample, trial and key. The response
    cache is for endpoints only, since a user's own class may change overnight. What this run itself has put
    there is not found by it: two samples that ask the same are two questions.
    Not `is_read`: what is asked anew is kept, and takes the place of what was said before.
    """

    responses: ResponseCache | None = None
    is_read: bool = True
    earlier: EarlierRuns | None = None
    _own: set[int] = msgspec.field(default_factory=set)  # of each key the first half, as a number

    def find(self, model: Model, key: str, request: Request) -> Reply | None:
        """What `model` said to it."""
        if not self.is_read:
            return None
        if self.earlier is not None and not _depends_on_selection(model):
            reply = self.earlier.find(request.sample.id, request.trial, key)
            if reply is not None:
                return reply
        if self.responses is None or not _is_kept(model, request):
            return None
        return None if _short(key) in self._own else self.responses.find(key)

    def put(self, model: Model, key: str, request: Request, reply: Reply) -> None:
        """Keep it for later runs."""
        if self.responses is not None and _is_kept(model, request):
            self._own.add(_short(key))
            self.responses.put(key, model.name, reply)


def _depends_on_selection(model: Model) -> bool:
    """Whether the other samples of a run can change the answer; baselines cost nothing to ask besides."""
    return capabilities_of(model).is_free or isinstance(model, Studious)


def _is_kept(model: Model, request: Request) -> bool:
    """Whether the same request means the same: a picture at an address that is handed on may be another."""
    if not capabilities_of(model).is_endpoint:
        return False
    for turn in request.messages:
        for part in turn.parts:
            if isinstance(part, ImageRef):
                return False
    return True


def _short(key: str) -> int:
    return int(key[:16], 16)
