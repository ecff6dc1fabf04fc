"""Scoring replies that are safe in the journal, by rules and by one judge or several.

`Scoring` applies the scorers of a run and writes their scores. A judged scorer is a generator that yields
`JudgeCall`s (types.py); `Judge.score` drives it: every call is looked up in the journal, or else sent to the
judge and kept. Of several judges each is asked, and the majority decides (score/judged.py). A failed judge
call never counts against the model: its score is provisional, and the judge is asked again on the next start.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import msgspec

from eyechart.circular import OpenCircle, find_open_circles
from eyechart.engine.budget import BudgetGate, Role
from eyechart.engine.pool import Stopped, StopSignal
from eyechart.engine.retry import EngineSettings, NoReply, RetryingClient
from eyechart.engine.sample import Calls, make_key
from eyechart.errors import EyechartError, StoreError
from eyechart.registry import scorers
from eyechart.score.judged import CHECK, REPEAT, Aside, Opinion, decide_by_majority, render_call
from eyechart.score.thinking import find_thinking, show_reply
from eyechart.store.journal import Journal, ScorerName
from eyechart.store.reader import Answered
from eyechart.types import (
    Failure,
    JudgeCall,
    JudgedScorer,
    JudgeFailed,
    Judging,
    Message,
    Model,
    Reply,
    Request,
    Sample,
    Score,
    Scorer,
)

T = TypeVar("T")

# Characters of a reply that is scored in a thread, one at a time: rules take a second for a few millions, and
# the event loop has to go on meanwhile.
_LARGE = 256 * 1024
# No model's window holds so many. Of a longer reply the beginning and the end are scored, except by official
# scorers, whose verdict is the one on the whole reply.
MOST_SCORED = 2**20
_SPOKEN = ("correct", "partial", "wrong")  # the rules have a verdict
_YIELD_EVERY = 100  # replies, so that the event loop hears Ctrl-C: rules alone never wait for anything


class Scoring(msgspec.Struct, frozen=True):
    """The scorers of a run: its own, those shown beside it, and the judge that they may ask."""

    journal: Journal
    scorer: Scorer
    also_scorers: Sequence[Scorer] = ()
    judge: Judge | None = None
    is_circular: bool = False  # rotations go to the judge as a circle, when all of them are answered
    # What the judge has failed to answer in this start, after all attempts: it is not asked again.
    _unanswered: set[tuple[str, str, int]] = msgspec.field(default_factory=set)
    _disk_lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    _thread_lock: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    async def score(self, sample: Sample, trial: int, key: str, reply: Reply) -> Score | None:
        """Write the scores of all scorers; returns that of the run's own, None when it failed."""
        answered = Answered(sample=sample, trial=trial, key=key, reply=reply)
        use_judge = not (self.is_circular and sample.circle)
        for scorer in self.also_scorers:
            await self.score_by(scorer, answered, use_judge=use_judge)
        return await self.score_by(self.scorer, answered, use_judge=use_judge)

    async def score_by(self, scorer: Scorer, item: Answered, *, use_judge: bool = True) -> Score | None:
        """Write the score of one scorer, by the judge where it asks one."""
        reply = item.reply
        if (unanswered := _score_unanswered(reply, item.sample)) is not None:
            self._keep(scorer, item, unanswered)
            return unanswered
        is_large = len(reply.text) + len(reply.thinking) > _LARGE
        if is_large and not scorer.parity:
            reply = replace(reply, text=_cut_middle(reply.text), thinking=_cut_middle(reply.thinking))
            item = msgspec.structs.replace(item, reply=reply)
        if self.judge is None or not use_judge or not isinstance(scorer, JudgedScorer):
            if not is_large:
                return self._score_by_rules(scorer, item)
            async with self._thread_lock:
                return await asyncio.to_thread(self._score_by_rules, scorer, item)
        try:
            score, is_provisional = await self.judge.score(scorer, item, in_thread=is_large)
            if is_provisional:
                self._unanswered.add((scorer.name, item.sample.id, item.trial))
            self._keep(scorer, item, score, is_provisional=is_provisional)
        except (StoreError, Stopped):
            raise
        except Exception as err:  # as by rules
            self._keep_error(scorer, item, err)
            return None
        return score

    def _score_by_rules(self, scorer: Scorer, item: Answered) -> Score | None:
        try:
            score = scorer(show_reply(item.reply, scorer), item.sample)
            self._keep(scorer, item, score)
        except StoreError:
            raise
        except Exception as err:  # a scorer may be a plug-in, and so may be what it returns
            self._keep_error(scorer, item, err)
            return None
        return score

    def _keep(
        self, scorer: Scorer | ScorerName, item: Answered, score: Score, *, is_provisional: bool = False
    ) -> None:
        self.journal.append_score(
            item.sample.id, item.trial, item.key, scorer, score, is_provisional=is_provisional
        )

    def _keep_error(self, scorer: Scorer, item: Answered, err: Exception) -> None:
        """An error of a scorer costs its score, never the reply."""
        failure = Failure(stage="score", reason=f"{scorer.name}: {type(err).__name__}: {err}")
        self.journal.append_scorer_error(item.sample.id, item.trial, scorer, failure)

    async def score_all(self, scorer: Scorer, items: Iterable[Answered], *, n_at_once: int) -> None:
        """Score replies from the journal, `n_at_once` at a time where a judge has to be waited for."""
        judge = self.judge if isinstance(scorer, JudgedScorer) else None

        async def score(item: Answered) -> None:
            if (scorer.name, item.sample.id, item.trial) in self._unanswered:
                return
            await self.score_by(scorer, item, use_judge=not (self.is_circular and item.sample.circle))
            if self.journal.is_behind:
                await self.wait_for_disk()

        await work_on_all(items, score, n_workers=n_at_once if judge else 1, judge=judge)

    async def run_extra_judgements(self, scorer: JudgedScorer, aside: Aside, item: Answered) -> None:
        """Write what the judge says beside the score; an error of the scorer costs that alone."""
        assert self.judge is not None
        is_large = len(item.reply.text) > _LARGE
        try:
            score, is_provisional = await self.judge.score(scorer, item, in_thread=is_large, aside=aside)
        except (StoreError, Stopped):
            raise
        except Exception:
            return
        named = ScorerName(f"{self.scorer.name}:{aside}", self.scorer.version)
        self._keep(named, item, score, is_provisional=is_provisional)

    async def score_beside(self, item: Answered, name: str) -> None:
        """Write the score of another reply to a request, under another name than the scorer's."""
        scorer, is_provisional = self.scorer, False
        if self.judge is not None and isinstance(scorer, JudgedScorer):
            score, is_provisional = await self.judge.score(scorer, item)
        else:
            score = scorer(show_reply(item.reply, scorer), item.sample)
        self._keep(ScorerName(name, scorer.version), item, score, is_provisional=is_provisional)

    async def wait_for_disk(self) -> None:
        """Until the journal's writer has caught up: what waits for it is memory. One waits for all."""
        async with self._disk_lock:
            if self.journal.is_behind:
                await asyncio.to_thread(self.journal.wait_for_room)


def _score_unanswered(reply: Reply, sample: Sample) -> Score | None:
    """The score of a look dialogue that ended without an answer: there is nothing that a scorer could read.

    A reply that was cut off or withheld is left to the scorer, which says so.
    """
    look = reply.evidence.get("look")
    if not isinstance(look, Mapping) or look.get("answered") or not sample.golds:
        return None
    if reply.finish_reason in ("length", "content_filter", "refusal"):
        return None
    return Score(outcome="unparsed", value=0.0, route=f"look:{look.get('stop') or 'failed'}")


def _cut_middle(text: str) -> str:
    half = MOST_SCORED // 2
    return text if len(text) <= MOST_SCORED else f"{text[:half]}\n\n{text[-half:]}"


async def judge_circles(
    journal: Journal, scoring: Scoring, scorer: Scorer, *, trials: int, n_at_once: int
) -> None:
    """Put the unread rotations of every open circle to the judge, until one of them is wrong."""
    if scoring.judge is None or not isinstance(scorer, JudgedScorer):
        return
    journal.flush()
    results = journal.results(scorer.name, version=scorer.version, trials=trials)

    async def judge(circle: OpenCircle) -> None:
        for name in circle.unread:
            for item in _find_answered(journal, name, circle.trial):
                score = await scoring.score_by(scorer, item)
                if score is None or score.value < 1:
                    return

    await work_on_all(find_open_circles(results), judge, n_workers=n_at_once, judge=scoring.judge)


async def run_extra_judgements(
    journal: Journal, scoring: Scoring, *, trials: int, repeat: int, check: int, n_at_once: int
) -> None:
    """Ask the judge again on some replies that it judged, and for the first time on some that rules decided.

    The verdicts stand beside the score, as those of the scorers NAME:repeat and NAME:check, and change
    nothing. Which replies are drawn depends on their ids alone.
    """
    scorer, judge = scoring.scorer, scoring.judge
    if judge is None or not isinstance(scorer, JudgedScorer) or not (repeat or check):
        return
    journal.flush()
    judged = journal.find_judged(judge.names)
    drawn: dict[str, list[tuple[str, int]]] = {REPEAT: [], CHECK: []}
    scored = journal.scores(scorer.name, version=scorer.version, trials=trials)
    for name, trial, score, is_provisional in scored:
        if (name, trial) in judged:
            if not is_provisional:
                drawn[REPEAT].append((name, trial))
        elif score.outcome in _SPOKEN:
            drawn[CHECK].append((name, trial))
    alone = scorers.get("judge-only")
    assert isinstance(alone, JudgedScorer)
    for aside, n, asking in ((REPEAT, repeat, scorer), (CHECK, check, alone)):
        chosen = draw_sample(drawn[aside], n)
        items = (item for key in chosen for item in _find_answered(journal, *key))
        ask = partial(scoring.run_extra_judgements, asking, aside)
        await work_on_all(items, ask, n_workers=n_at_once, judge=judge)


def draw_sample(keys: Iterable[tuple[str, int]], n: int, seed: int = 0) -> list[tuple[str, int]]:
    """A random sample of replies by sample and trial, the same on every machine and in any order.

    >>> draw_sample([("a", 0), ("b", 0), ("c", 0)], 2) == draw_sample([("c", 0), ("b", 0), ("a", 0)], 2)
    True
    """
    return heapq.nsmallest(n, keys, key=lambda key: make_key("drawn", seed, *key))


def _find_answered(journal: Journal, sample: str, trial: int) -> Iterator[Answered]:
    for result in journal.results("", trial=trial, sample=sample):
        if result.reply is not None:
            yield Answered(sample=result.sample, trial=trial, key=result.key, reply=result.reply)


async def work_on_all(
    items: Iterable[T], work: Callable[[T], Awaitable[None]], *, n_workers: int, judge: Judge | None
) -> None:
    """Do the work on every item, several at a time, until all is done or the judge is stopped."""
    stream = enumerate(items)

    async def worker() -> None:
        for n, item in stream:
            if judge is not None and judge.is_stopped:
                return
            await work(item)
            if n % _YIELD_EVERY == 0:
                await asyncio.sleep(0)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(n_workers):
                group.create_task(worker())
    except* Stopped:
        pass  # what has no score yet gets it on the next start
    except* EyechartError as several:
        found = several.exceptions[0]
        while isinstance(found, ExceptionGroup):
            found = found.exceptions[0]
        raise found from None


# -- The judge.


class JudgeSetup(msgspec.Struct, frozen=True):
    """Which model judges, or which ones, and with which prompts."""

    model: Model
    prompts: Mapping[str, str] = msgspec.field(default_factory=dict)
    further: tuple[Model, ...] = ()  # of several judges: the others

    @property
    def roles(self) -> dict[Role, Model]:
        """Each judge by what prices and budgets call it."""
        if not self.further:
            return {"judge": self.model}
        return {f"judge:{model.name}": model for model in (self.model, *self.further)}

    @property
    def identity(self) -> Mapping[str, object]:
        """All that can change a verdict: the judges, their parameters, the prompts."""
        further = [self.identify(model) for model in self.further]
        return {**self.identify(self.model), **({"further": further} if further else {})}

    def identify(self, model: Model) -> Mapping[str, object]:
        """All that can change what one judge says: its calls are found again beside other judges."""
        return {"judge": model.name, **model.identity, "prompts": dict(self.prompts)}

    def bind(self, scorer: JudgedScorer) -> JudgedScorer:
        """The scorer with a version that names this judge, so that another judge scores again."""
        return _BoundScorer(scorer, f"{scorer.version}+{make_key(self.identity)[:8]}", scorer.name)


class _BoundScorer(msgspec.Struct, frozen=True):
    scorer: JudgedScorer
    version: str
    name: str

    @property
    def parity(self) -> str:
        return self.scorer.parity

    def __getattr__(self, name: str) -> Any:
        """All else is the scorer's: `thinking`, `rules`, `cut`."""
        return getattr(self.scorer, name)

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        return self.scorer(reply, sample)

    def steps(self, reply: Reply, sample: Sample) -> Judging[Score]:
        return self.scorer.steps(reply, sample)


class Judge:
    """Answers the calls of scorers: from the journal, or by asking the judge's model."""

    def __init__(
        self,
        setup: JudgeSetup,
        settings: EngineSettings,
        stop: StopSignal,
        *,
        journal: Journal,
        calls: Calls,
        gate: BudgetGate | None,
    ) -> None:
        """The judge of a run, until `stop` is set."""
        self._setup = setup
        self._calls = calls
        self._clients = []  # one per judge
        for role, model in setup.roles.items():
            is_proven = bool(journal.count_calls([model.name]))
            client = RetryingClient.open(model, settings, stop, gate=gate, role=role, is_proven=is_proven)
            self._clients.append(client)

    @property
    def names(self) -> list[str]:
        """The names of the judges."""
        return [client.model.name for client in self._clients]

    @property
    def is_stopped(self) -> bool:
        """The run is ending: the judge is asked nothing more."""
        return self._clients[0].stop.is_set

    async def score(
        self, scorer: JudgedScorer, item: Answered, *, in_thread: bool = False, aside: Aside = ""
    ) -> tuple[Score, bool]:
        """The score, and whether it is provisional for want of a reply. `in_thread`: the rules run in one.

        Calls made `aside` are kept apart from those that the score rests on.
        """
        first, *others = self._clients
        opinion, n_calls = await self._ask(first, scorer, item, in_thread=in_thread, aside=aside)
        if not n_calls or not others:  # the rules decided, or there is one judge
            return opinion.score, opinion.has_failed
        asking = (self._ask(client, scorer, item, in_thread=in_thread, aside=aside) for client in others)
        asked = await asyncio.gather(*asking, return_exceptions=True)  # what the others say is kept
        for one in asked:
            if isinstance(one, BaseException):
                raise one
        return decide_by_majority([opinion, *(one[0] for one in asked if not isinstance(one, BaseException))])

    async def _ask(
        self, client: RetryingClient, scorer: JudgedScorer, item: Answered, *, in_thread: bool, aside: Aside
    ) -> tuple[Opinion, int]:
        """What one judge makes of a reply, and how many calls that took."""
        made: Counter[str] = Counter()
        failures: list[NoReply] = []
        identity = self._setup.identify(client.model)

        async def answer(call: JudgeCall) -> str:
            text = render_call(call, self._setup.prompts)
            made[text] += 1  # the same question again is a new question
            request = Request(
                messages=(Message("user", (text,)),),
                sample=Sample(id=item.sample.id, question=""),  # nothing of it but its id
                trial=item.trial,
                more_temperature=call.more_temperature,
            )
            key = make_key(identity, item.key, text, made[text], *((aside,) if aside else ()))
            written = [{"role": "user", "parts": [{"text": text}]}]
            purpose = ":".join(filter(None, ("judge", aside, call.stage)))
            try:
                said, _ = await self._calls.ask(client, request, key, written, purpose)
            except NoReply as failed:
                failures.append(failed)
                raise JudgeFailed(f"the judge gave no reply: {failed.error}") from failed
            if said.evidence.get("null_content"):
                raise JudgeFailed("the judge gave no reply: its content is null")
            return said.content if find_thinking(scorer) == "keep" else said.text

        steps = scorer.steps(show_reply(item.reply, scorer), item.sample)
        score = await _drive(steps, answer, in_thread=in_thread)
        return Opinion(client.model.name, score, has_failed=bool(failures)), made.total()


async def _drive(
    steps: Judging[Score], answer: Callable[[JudgeCall], Awaitable[str]], *, in_thread: bool
) -> Score:
    """Answer every call of a scorer, one after the other; `JudgeFailed` is raised inside it."""
    go_on: Callable[[], JudgeCall] = partial(next, steps)
    while True:
        call, score = await asyncio.to_thread(_step, go_on) if in_thread else _step(go_on)
        if call is None:
            assert score is not None
            return score
        try:
            said = await answer(call)
        except JudgeFailed as failure:
            go_on = partial(steps.throw, failure)
        else:
            go_on = partial(steps.send, said)


def _step(go_on: Callable[[], JudgeCall]) -> tuple[JudgeCall | None, Score | None]:
    """The scorer's next call, or its score."""
    try:
        return go_on(), None
    except StopIteration as end:
        return None, end.value
