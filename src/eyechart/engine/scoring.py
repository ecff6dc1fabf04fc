"""Score a reply that is safe in the journal, and keep the verdicts beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import msgspec

from eyechart.engine.judge import Judge
from eyechart.engine.stopping import Stopped
from eyechart.errors import EyechartError, StoreError
from eyechart.store.journal import Journal
from eyechart.store.reader import Answered
from eyechart.types import Failure, JudgedScorer, Reply, Sample, Score, Scorer

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
