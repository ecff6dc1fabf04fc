"""A model as a judge: asked with words alone, its replies kept, its failures named."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial

import msgspec

from eyechart.engine.asking import Asker, Unanswered
from eyechart.engine.calls import Calls, key_of
from eyechart.judging import JudgeCall, JudgeFailed, Judging
from eyechart.score.judge_prompts import wording
from eyechart.types import JudgedScorer, Message, Model, Reply, Request, Sample, Score


class Bench(msgspec.Struct, frozen=True):
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
    bench: Bench

    @property
    def name(self) -> str:
        """The scorer's own."""
        return self.scorer.name

    @property
    def version(self) -> str:
        """The scorer's, and which bench it stands before."""
        return f"{self.scorer.version}+{key_of(self.bench.identity)[:8]}"

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

    def __init__(self, bench: Bench, asker: Asker, calls: Calls) -> None:
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
        failures: list[Unanswered] = []

        async def answer(call: JudgeCall) -> str:
            text = wording(call, self._bench.prompts)
            made[text] += 1  # the same question again is a new question
            request = Request(messages=(Message("user", (text,)),), sample=_nothing_of(sample), trial=trial)
            call_key = key_of(self._bench.identity, key, text, made[text])
            written = [{"role": "user", "parts": [{"text": text}]}]
            try:
                said = await self._calls.reply(self._asker, request, call_key, written, f"judge:{call.stage}")
            except Unanswered as failed:
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
