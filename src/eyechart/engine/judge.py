"""A model as a judge: asked with words alone, its replies kept, its failures named."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import msgspec

from eyechart.engine.pool import Stopped
from eyechart.engine.retry import NoReply, RetryingClient
from eyechart.engine.sample import Calls, make_key
from eyechart.errors import EyechartError, StoreError
from eyechart.score.judge_prompts import wording
from eyechart.store.journal import Journal
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


class JudgeSetup(msgspec.Struct, frozen=True):
    """Who judges, and in which words."""

    model: Model
    prompts: Mapping[str, str] = msgspec.field(default_factory=dict)

    @property
    def identity(self) -> Mapping[str, object]:
        """All that can change a verdict: the judge, its parameters, the wording."""
        return {"judge": self.model.name, **self.model.identity, "prompts": dict(self.prompts)}


class BenchScorer(msgspec.Struct, frozen=True):
    """A scorer before a bench: its version names the bench, so that another judge scores again."""

    scorer: JudgedScorer
    bench: JudgeSetup

    @property
    def name(self) -> str:
        """The scorer's own."""
        return self.scorer.name

    @property
    def version(self) -> str:
        """The scorer's, and which bench it stands before."""
        return f"{self.scorer.version}+{make_key(self.bench.identity)[:8]}"

    @property
    def parity(self) -> str:
        """The scorer's own."""
        return self.scorer.parity

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        """By the rules alone."""
        return self.scorer(reply, sample)

    def steps(self, reply: Reply, sample: Sample) -> Judging[Score]:
        """With calls to the judge."""
        return self.scorer.steps(reply, sample)


class Verdict(msgspec.Struct, frozen=True):
    """A score; a provisional one lacks a reply of the judge, which is asked again on the next start."""

    score: Score
    is_provisional: bool


class Judge:
    """Answers the calls of scorers."""

    def __init__(self, bench: JudgeSetup, asker: RetryingClient, calls: Calls) -> None:
        self._bench = bench
        self._asker = asker
        self._calls = calls

    @property
    def is_stopped(self) -> bool:
        """The run is ending: the judge is asked nothing more."""
        return self._asker.stop.is_set

    async def score(
        self,
        scorer: JudgedScorer,
        reply: Reply,
        sample: Sample,
        trial: int,
        key: str,
        *,
        in_thread: bool = False,
    ) -> Verdict:
        """The verdict on one reply, with as many calls as the scorer makes; `in_thread`: its rules."""
        made: Counter[str] = Counter()
        failures: list[NoReply] = []

        async def answer(call: JudgeCall) -> str:
            text = wording(call, self._bench.prompts)
            made[text] += 1  # the same question again is a new question
            request = Request(messages=(Message("user", (text,)),), sample=_nothing_of(sample), trial=trial)
            call_key = make_key(self._bench.identity, key, text, made[text])
            written = [{"role": "user", "parts": [{"text": text}]}]
            try:
                said = await self._calls.reply(self._asker, request, call_key, written, f"judge:{call.stage}")
            except NoReply as failed:
                failures.append(failed)
                raise JudgeFailed(f"the judge gave no reply: {failed.error}") from failed
            if said.evidence.get("null_content"):
                raise JudgeFailed("the judge gave no reply: its content is null")
            return said.text

        score = await drive(scorer.steps(reply, sample), answer, in_thread=in_thread)
        return Verdict(score, is_provisional=bool(failures))


async def drive(
    steps: Judging[Score], answer: Callable[[JudgeCall], Awaitable[str]], *, in_thread: bool = False
) -> Score:
    """Answer every call of a scorer, one after the other; what cannot be answered is raised inside it."""
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


def _nothing_of(sample: Sample) -> Sample:
    """The sample as a judge's request carries it: its name alone."""
    return Sample(id=sample.id, question="")


# -- Score a reply that is safe in the journal, and keep the verdicts beside it.

T = TypeVar("T")

# Characters of a reply that is scored in a thread, one at a time: rules take a second for a few millions, and
# the loop has to hear from others meanwhile.
_LARGE = 256 * 1024
# No model's window holds so many. Of a longer reply the beginning and the end are scored, except by official
# scorers, whose verdict is the one on the whole reply.
MOST_SCORED = 2**20
_A_BREATH = 100  # after so many, let the loop hear Ctrl-C: rules alone never wait for anything


def score_reply(
    journal: Journal, scorer: Scorer, sample: Sample, trial: int, key: str, reply: Reply
) -> Score | None:
    """The verdict, kept; None when the scorer failed, which costs its verdict and never the reply."""
    try:
        score = scorer(reply, sample)
        journal.append_score(sample.id, trial, key, scorer, score)
    except StoreError:
        raise
    except Exception as err:  # a scorer may be the user's own, and so may be what it returns
        _keep_slip(journal, scorer, sample, trial, err)
        return None
    return score


class Scoring(msgspec.Struct, frozen=True):
    """All verdicts on a reply: that of the run's scorer, then those shown beside it."""

    journal: Journal
    scorer: Scorer
    beside: Sequence[Scorer] = ()
    judge: Judge | None = None
    is_circular: bool = False  # rotations go to the judge as a circle, when all of them are answered
    # What the judge has failed to answer in this start: it was asked with patience, and is left alone now.
    in_vain: set[tuple[str, str, int]] = msgspec.field(default_factory=set)
    _at_the_disk: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)
    _at_the_rules: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    async def score(self, sample: Sample, trial: int, key: str, reply: Reply) -> Score | None:
        """The run's verdict, kept with the others; None when the scorer failed."""
        answered = Answered(sample=sample, trial=trial, key=key, reply=reply)
        use_judge = not (self.is_circular and sample.circle)
        for scorer in self.beside:
            await self.score_by(scorer, answered, use_judge=use_judge)
        return await self.score_by(self.scorer, answered, use_judge=use_judge)

    async def score_by(self, scorer: Scorer, item: Answered, *, use_judge: bool = True) -> Score | None:
        """One scorer's verdict, by the judge where it asks one."""
        sample, trial, key, reply = item.sample, item.trial, item.key, item.reply
        is_large = len(reply.text) + len(reply.thinking) > _LARGE
        if is_large and not scorer.parity:
            reply = replace(reply, text=_ends(reply.text), thinking=_ends(reply.thinking))
        if self.judge is None or not use_judge or not isinstance(scorer, JudgedScorer):
            if not is_large:
                return score_reply(self.journal, scorer, sample, trial, key, reply)
            async with self._at_the_rules:
                return await asyncio.to_thread(score_reply, self.journal, scorer, sample, trial, key, reply)
        try:
            verdict = await self.judge.score(scorer, reply, sample, trial, key, in_thread=is_large)
            if verdict.is_provisional:
                self.in_vain.add((scorer.name, sample.id, trial))
            self.journal.append_score(
                sample.id, trial, key, scorer, verdict.score, is_provisional=verdict.is_provisional
            )
        except (StoreError, Stopped):
            raise
        except Exception as err:  # as in score_reply
            _keep_slip(self.journal, scorer, sample, trial, err)
            return None
        return verdict.score

    async def wait_for_disk(self) -> None:
        """Until the journal's writer has caught up: what waits for it is memory. One asks for all."""
        async with self._at_the_disk:
            if self.journal.is_behind:
                await asyncio.to_thread(self.journal.wait_for_room)

    async def score_all(self, scorer: Scorer, items: Iterable[Answered], *, n_at_once: int) -> None:
        """Score replies from the journal, many at once where a judge has to be waited for."""
        judge = self.judge if isinstance(scorer, JudgedScorer) else None

        async def score(item: Answered) -> None:
            if (scorer.name, item.sample.id, item.trial) in self.in_vain:
                return
            await self.score_by(scorer, item, use_judge=not (self.is_circular and item.sample.circle))
            if self.journal.is_behind:
                await self.wait_for_disk()

        await at_once(n_at_once if judge else 1, items, score, judge)


async def at_once(
    n_workers: int, items: Iterable[T], work: Callable[[T], Awaitable[None]], judge: Judge | None
) -> None:
    """Do the work on every item, several at a time, until all is done or the judge is to be asked no more."""
    stream = enumerate(items)

    async def worker() -> None:
        for n, item in stream:
            if judge is not None and judge.is_stopped:
                return
            await work(item)
            if n % _A_BREATH == 0:
                await asyncio.sleep(0)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(n_workers):
                group.create_task(worker())
    except* Stopped:
        pass  # what has no verdict yet gets it on the next start
    except* EyechartError as several:
        found = several.exceptions[0]
        while isinstance(found, ExceptionGroup):
            found = found.exceptions[0]
        raise found from None


def _ends(text: str) -> str:
    half = MOST_SCORED // 2
    return text if len(text) <= MOST_SCORED else f"{text[:half]}\n\n{text[-half:]}"


def _keep_slip(journal: Journal, scorer: Scorer, sample: Sample, trial: int, err: Exception) -> None:
    reason = f"{scorer.name}: {type(err).__name__}: {err}"
    journal.append_slip(sample.id, trial, scorer, Failure(stage="score", reason=reason))
