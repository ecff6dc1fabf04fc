"""What happens to one sample once it is prepared: its trials are looked up or asked for.

`SampleRunner.run` returns a value, `Settled`; the executor writes it to the journal and scores it. Whatever
is asked on the way to a reply (rounds of a conversation, calls to a judge) is kept through a `CallStore` as
soon as it is answered, so that a run which is cut off goes on from there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from eyechart.engine.prepare import Prepared
from eyechart.engine.retry import NoReply, RequestResult, RetryingClient
from eyechart.errors import ImageError, ModelError
from eyechart.memory import mark_claim_idle
from eyechart.store.cache import ResponseCache
from eyechart.store.folder import EarlierRuns
from eyechart.store.journal import Ask, Journal
from eyechart.store.reader import StoredCalls, Task
from eyechart.types import (
    MODELS_TURN,
    Failure,
    ImageRef,
    Message,
    Model,
    Reply,
    Request,
    SeesAllSamples,
    Usage,
    read_capabilities,
)

if TYPE_CHECKING:
    from eyechart.engine.look import Looker


class TrialReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, as the journal keeps it."""

    task: Task
    ask: Ask
    reply: Reply
    attempts: int = 0  # 0: it was known already
    paid: Usage | None = None


class TrialFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A trial without a reply."""

    task: Task
    failure: Failure
    ask: Ask | None = None


class Settled(msgspec.Struct, frozen=True, kw_only=True):
    """What became of some trials of a sample. Picklable, as `Prepared` is: both may cross processes."""

    replies: Sequence[TrialReply] = ()
    failures: Sequence[TrialFailure] = ()
    resumed: Sequence[Prepared] = ()  # the journal has their replies
    left: Sequence[Prepared] = ()  # to be run next

    def change_tasks(self, change: Callable[[Task], Task]) -> Settled:
        """The same with other tasks: what has its outcome, without requests."""
        replace = msgspec.structs.replace
        return Settled(
            replies=[replace(one, task=change(one.task)) for one in self.replies],
            failures=[replace(one, task=change(one.task)) for one in self.failures],
            resumed=[Prepared(task=change(one.task), ask=one.ask, is_answered=True) for one in self.resumed],
        )


@dataclass(slots=True)
class SampleRunner:
    """Runs the trials of samples, any number of samples at once."""

    client: RetryingClient
    known: ReplyStore
    calls: Calls
    looker: Looker | None = None  # of a look run: plays a dialogue instead of one request
    _takes_rounds: bool = field(init=False)

    def __post_init__(self) -> None:
        self._takes_rounds = read_capabilities(self.client.model).takes_rounds

    async def run(self, trials: Sequence[Prepared]) -> Settled:
        """Settle the trials that need no request, if there are any; otherwise those that one request answers.

        A reply is thus returned, and written, before the next request of the sample is sent.
        """
        settled = self.look_up(trials)
        return settled if len(settled.left) < len(trials) else await self._ask(settled.left)

    def look_up(self, trials: Sequence[Prepared]) -> Settled:
        """Settle the trials that need no request; the others are `left`."""
        replies, failures, resumed, to_ask = [], [], [], []
        for trial in trials:
            if trial.is_answered:
                resumed.append(trial)
            elif trial.failure is not None:
                failures.append(TrialFailure(task=trial.task, failure=trial.failure))
            else:
                ask, request, reply = trial.ask, trial.request, None
                if self.looker is None and ask is not None and request is not None:
                    reply = self.known.find(self.client.model, ask.key, request)
                if ask is None or reply is None:
                    to_ask.append(trial)
                    continue
                self.client.pool.is_proven = True
                replies.append(TrialReply(task=trial.task, ask=fill_rounds(ask, reply), reply=reply))
        return Settled(replies=replies, failures=failures, resumed=resumed, left=to_ask)

    async def _ask(self, trials: Sequence[Prepared]) -> Settled:
        """Send one request. Several trials share it, as long as the endpoint gives several replies."""
        request, asks = trials[0].request, [item.ask for item in trials if item.ask is not None]
        assert request is not None
        is_conversation = has_rounds(request.messages)
        n = 1 if is_conversation or self.looker or self.client.gives_one_reply else len(trials)
        try:
            if self.looker is not None:
                result, asks[0] = await self.looker.converse(self.client, request, asks[0])
            else:
                if is_conversation and not self._takes_rounds:
                    result = await converse(self.client, self.calls, request, asks[0])
                else:
                    result = await self.client.ask(request, n)
                asks[0] = fill_rounds(asks[0], result.replies[0])
                if len(result.replies) == 1 < n:
                    self.client.gives_one_reply = True
        except NoReply as failed:
            failure = make_failure(failed.error, failed.attempts)
            lost = [TrialFailure(task=one.task, failure=failure, ask=one.ask) for one in trials[:n]]
            return Settled(failures=lost, left=trials[n:])
        except ImageError as err:  # of an image that is first decoded here
            failure = Failure(stage="load", reason=str(err))
            return Settled(failures=[TrialFailure(task=trials[0].task, failure=failure)], left=trials[1:])
        replies = []
        for nth, (item, ask, reply) in enumerate(zip(trials[:n], asks, result.replies, strict=False)):
            if self.looker is None:
                self.known.put(self.client.model, ask.key, request, _with_share(reply, nth, result))
            # The endpoint counts the tokens of all replies to a request together.
            own, paid = (reply, result.paid) if nth == 0 else (replace(reply, usage=None), None)
            replies.append(
                TrialReply(task=item.task, ask=ask, reply=own, attempts=result.attempts, paid=paid)
            )
        return Settled(replies=replies, left=trials[len(replies) :])


def make_failure(error: ModelError, attempts: int) -> Failure:
    """The failure of a request that got no reply."""
    return Failure(
        stage="generate",
        reason=str(error),
        retryable=error.is_retryable,
        status=error.status,
        attempts=attempts,
        partial=error.partial,
    )


def _with_share(reply: Reply, nth: int, result: RequestResult) -> Reply:
    """One of several replies to a request, with its share of the tokens that all took together."""
    n, usage = len(result.replies), result.replies[0].usage
    if n == 1 or usage is None:
        return reply
    shares = {}
    for kind in fields(Usage):
        each, rest = divmod(getattr(usage, kind.name), n)
        shares[kind.name] = each + (rest if nth == 0 else 0)
    return replace(reply, usage=Usage(**shares))


# -- Conversations in rounds: each turn is asked when the model has answered the one before.

_UNANSWERED: Mapping[str, Any] = {"role": MODELS_TURN.role, "parts": []}  # the model's turn, still empty


def has_rounds(messages: Sequence[Message]) -> bool:
    """Whether the model speaks before the last turn."""
    return MODELS_TURN in messages


async def converse(client: RetryingClient, calls: Calls, request: Request, ask: Ask) -> RequestResult:
    """Ask round by round; the last reply is the result."""
    rounds = Rounds(request, ask)
    while (purpose := rounds.purpose) is not None:
        reply, _ = await calls.ask(client, rounds.request, rounds.key, rounds.written, purpose)
        rounds.add(reply)
    mark_claim_idle()
    result = await client.ask(rounds.request)
    return msgspec.structs.replace(result, replies=[join_rounds(result.replies[0], rounds.earlier)])


class Rounds:
    """A conversation on its way: what is to be asked next, given the replies so far."""

    def __init__(self, request: Request, ask: Ask) -> None:
        self._whole = request
        self._ask_key = ask.key
        self._turns = list(request.messages)
        self._written = [dict(turn) for turn in ask.messages]
        self.earlier: list[Reply] = []

    @property
    def purpose(self) -> str | None:
        """The name of the next round; None before the last question, whose reply is the sample's."""
        return f"round:{len(self.earlier)}" if MODELS_TURN in self._turns else None

    @property
    def request(self) -> Request:
        return replace(self._whole, messages=tuple(self._turns[: self._here]))

    @property
    def key(self) -> str:
        return self._ask_key if self.purpose is None else make_key("round", self._ask_key, self.written)

    @property
    def written(self) -> list[dict[str, Any]]:
        """The messages of the next request as the journal keeps them."""
        return self._written[: self._here]

    @property
    def _here(self) -> int:
        return self._turns.index(MODELS_TURN) if MODELS_TURN in self._turns else len(self._turns)

    def add(self, reply: Reply) -> None:
        """The reply to the round that was next."""
        here = self._here
        self.earlier.append(reply)
        self._turns[here] = Message("assistant", (reply.text,))
        self._written[here] = {"role": "assistant", "parts": [{"text": reply.text}]}


def join_rounds(last: Reply, earlier: Sequence[Reply]) -> Reply:
    """The last reply of a conversation, with the texts and the tokens of those before it."""
    usages = [one.usage for one in (*earlier, last) if one.usage is not None]
    return replace(
        last,
        earlier=tuple(reply.text for reply in earlier),
        usage=sum(usages, Usage()) if usages else None,
    )


def fill_rounds(ask: Ask, reply: Reply) -> Ask:
    """What was asked in all rounds of a conversation whose last reply is known."""
    if not reply.earlier:
        return ask
    said = iter(reply.earlier)
    turns = [
        {"role": "assistant", "parts": [{"text": next(said, "")}]} if turn == _UNANSWERED else turn
        for turn in ask.messages
    ]
    return msgspec.structs.replace(ask, messages=turns)


# -- Calls: what is asked besides the reply itself, in rounds and by judged scorers.

_LATEST = 1000  # as a rule more than wait for the disk
_SMALL = 64 * 1024  # characters of a reply that is worth remembering: a larger one is read from the disk


class CallStore(Protocol):
    """Where calls are stored. An executor of other processes provides one that the driver writes."""

    def find(self, sample: str, trial: int, key: str) -> Reply | None:
        """The reply, if the call was made before."""

    def append(self, request: Request, ask: Ask, purpose: str, result: RequestResult, *, model: str) -> None:
        """Keep a call with its reply, which has just arrived."""

    async def written(self) -> None:
        """Return when everything kept so far is on disk, or on its way to the process that writes."""


class Calls:
    """Makes calls: the reply is found if the call was made before, or else asked for and kept."""

    def __init__(self, store: CallStore, known: ReplyStore | None = None) -> None:
        self._store = store
        self._known: ReplyStore = known or KnownReplies()

    async def ask(
        self,
        client: RetryingClient,
        request: Request,
        key: str,
        written: Sequence[Mapping[str, Any]],
        purpose: str,
    ) -> tuple[Reply, int]:
        """The reply to `request`, and its attempts (0: it was known); raises what the client raises."""
        if (found := self._store.find(request.sample.id, request.trial, key)) is not None:
            return found, 0
        reply = self._known.find(client.model, key, request)
        if reply is not None:
            client.pool.is_proven = True
            result = RequestResult([reply], 0)
        else:
            mark_claim_idle()  # the memory held for an earlier reply must not keep others from their replies
            result = await client.ask(request)
            self._known.put(client.model, key, request, result.replies[0])
        ask = Ask(key=key, recipe="", messages=[dict(turn) for turn in written])
        self._store.append(request, ask, purpose, result, model=client.model.name)
        return result.replies[0], result.attempts

    async def written(self) -> None:
        """Return when the calls so far are kept for good: a kill after that repeats none of them."""
        await self._store.written()


class JournalCalls:
    """The calls of a run in its journal. Those of earlier starts are read over one connection."""

    def __init__(self, journal: Journal, on_append: Callable[[], None] = lambda: None) -> None:
        self._journal = journal
        self._on_append = on_append
        self._kept = StoredCalls(journal.path)
        self._latest: dict[tuple[str, int, str], Reply] = {}  # which the disk may not have yet

    def find(self, sample: str, trial: int, key: str) -> Reply | None:
        latest = self._latest.get((sample, trial, key))
        if latest is not None or not self._kept.has(key):
            return latest
        found = self._kept.reply(sample, trial, key)
        if found is None:  # of this start, and not written yet; or of another sample
            self._journal.flush()
            found = self._kept.reply(sample, trial, key)
        return found

    def append(self, request: Request, ask: Ask, purpose: str, result: RequestResult, *, model: str) -> None:
        sample, trial, reply = request.sample.id, request.trial, result.replies[0]
        self._journal.append_call(
            sample, trial, ask, purpose, reply, attempts=result.attempts, paid=result.paid, model=model
        )
        self._on_append()
        self._kept.expect(ask.key)
        if len(reply.text) + len(reply.thinking) <= _SMALL:
            self._latest[sample, trial, ask.key] = reply
            if len(self._latest) > _LATEST:
                del self._latest[next(iter(self._latest))]

    async def written(self) -> None:
        await self._journal.written()

    def close(self) -> None:
        self._kept.close()


def make_key(*parts: Any) -> str:
    """The key of a call: it changes with anything that could change the reply."""
    return hashlib.sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()


# -- Replies that need not be asked for.


class ReplyStore(Protocol):
    """Where replies are found that need not be asked for, and kept for others."""

    def find(self, model: Model, key: str, request: Request) -> Reply | None: ...

    def put(self, model: Model, key: str, request: Request, reply: Reply) -> None: ...


class KnownReplies(msgspec.Struct, frozen=True):
    """Replies that other runs got to the very same request: from their journals, then the response cache.

    A journal is searched as the run's own is on resume: by sample, trial and key. The response cache is for
    endpoints only, since a user's own class may change overnight. What this run itself has put there is not
    found by it: two samples that ask the same are two questions.
    Not `is_read`: what the response cache has is asked anew, and replaced.
    """

    responses: ResponseCache | None = None
    is_read: bool = True
    earlier: EarlierRuns | None = None
    _own: set[int] = msgspec.field(default_factory=set)  # of each key the first half, as a number

    def find(self, model: Model, key: str, request: Request) -> Reply | None:
        is_so = self.is_read and self.responses is not None and is_cacheable(model, request)
        return self.find_by_key(model, key, request.sample.id, request.trial, is_cacheable=is_so)

    def find_by_key(
        self, model: Model, key: str, sample: str, trial: int, *, is_cacheable: bool
    ) -> Reply | None:
        """The same for a request that is in another process."""
        if self.earlier is not None and not _depends_on_selection(model):
            reply = self.earlier.find(sample, trial, key)
            if reply is not None:
                return reply
        if not self.is_read or self.responses is None or not is_cacheable:
            return None
        return None if _short(key) in self._own else self.responses.find(key)

    def put(self, model: Model, key: str, request: Request, reply: Reply) -> None:
        if self.responses is not None and is_cacheable(model, request):
            self.put_cacheable(model, key, reply)

    def put_cacheable(self, model: Model, key: str, reply: Reply) -> None:
        """Keep a reply to a request that is known to be cacheable."""
        if self.responses is not None:
            self._own.add(_short(key))
            self.responses.put(key, model.name, reply)

    def close(self) -> None:
        if self.earlier is not None:
            self.earlier.close()
        if self.responses is not None:
            self.responses.close()

    @property
    def trouble(self) -> str:
        """Why the response cache is out of use, if it is."""
        return self.responses.trouble if self.responses is not None else ""


def _depends_on_selection(model: Model) -> bool:
    """Whether the other samples of a run can change the answer; baselines are quick to ask."""
    stated = read_capabilities(model)
    is_baseline = stated.is_free and stated.usual_concurrency is None and not stated.is_endpoint
    return is_baseline or isinstance(model, SeesAllSamples)


def is_cacheable(model: Model, request: Request) -> bool:
    """Whether the same request means the same: an image that is sent as a URL may have changed."""
    if not read_capabilities(model).is_endpoint:
        return False
    return not any(isinstance(part, ImageRef) for turn in request.messages for part in turn.parts)


def _short(key: str) -> int:
    return int(key[:16], 16)
