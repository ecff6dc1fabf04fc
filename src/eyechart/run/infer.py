"""Ask for what is missing and score what has no verdict yet, in one event loop, showing how it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from eyechart.engine.budget import BudgetGate
from eyechart.engine.circles import judge_circles
from eyechart.engine.executor import LocalExecutor
from eyechart.engine.sample import KnownReplies
from eyechart.errors import ModelError
from eyechart.report.live import LiveLine
from eyechart.run.bill import make_budget
from eyechart.run.loop import interruptible, run_async
from eyechart.run.options import Options
from eyechart.run.plan import Plan, make_preparer, share_requests
from eyechart.store.journal import Journal
from eyechart.types import Model, Studious, capabilities_of

if TYPE_CHECKING:
    from eyechart.engine.executor import EngineSettings
    from eyechart.store.cache import ResponseCache
    from eyechart.store.kept import EarlierRuns


class Session(msgspec.Struct):
    """How one start of a run went."""

    is_interrupted: bool = False
    trouble: ModelError | None = None  # what ended it early, if anything did
    cache_trouble: str = ""
    n_asked: int = 0  # requests that were sent, or answered from the cache


def infer(plan: Plan, journal: Journal, n_samples: int) -> Session:
    """Ask and score, as far as the journal does not already know; raises what leaves nothing to report."""
    if isinstance(plan.model, Studious):
        plan.model.study(journal.samples())
    session = Session()
    journal.start_session()
    responses = open_cache(plan.options, plan.model, plan.verdicts.judge)
    earlier = open_earlier(plan.folder, plan.options, plan.model.identity, plan.earlier)
    cache = KnownReplies(responses, is_read=not plan.options.fresh, earlier=earlier)
    try:
        run_async(_drive(plan, journal, n_samples, cache, session))
    finally:
        if earlier is not None:
            earlier.close()
        if responses is not None:
            responses.close()
            session.cache_trouble = responses.trouble
    return session


async def _drive(plan: Plan, journal: Journal, n_samples: int, cache: KnownReplies, session: Session) -> None:
    """The event loop's part: until all is done, or somebody ends it."""
    executor = _make_executor(plan, journal, cache)
    executor.tally.total = n_samples * plan.options.trials
    label = f"{plan.benchmark.name} · {plan.model.name}"
    line = LiveLine(executor.snapshot, label=label, quiet=not plan.options.progress)
    executor.tell(line.say)
    try:
        with line, interruptible(executor, line.say):
            await _ask_and_score(plan, journal, executor, session)
    except asyncio.CancelledError:
        if not executor.is_interrupted:
            raise  # not by Ctrl-C, so not ours to swallow
    finally:
        session.is_interrupted = executor.is_interrupted
        session.n_asked = executor.tally.sent + executor.tally.cached
        executor.close()
        await plan.model.close()
        if plan.verdicts.judge is not None:
            await plan.verdicts.judge.close()


async def _ask_and_score(plan: Plan, journal: Journal, executor: LocalExecutor, session: Session) -> None:
    """Of a model that has answered, now or in an earlier start, there is something to report in any case."""
    try:
        await executor.run(journal.tasks(plan.options.trials, together=share_requests(plan)))
    except ModelError as err:
        if not executor.has_answered and err.exit_code != 1:
            raise
        session.trouble = err
    await _score_the_rest(plan, journal, executor)
    if session.trouble is None and isinstance(executor.stop.trouble, ModelError):
        session.trouble = executor.stop.trouble  # the judge's, after the last question


def _make_executor(plan: Plan, journal: Journal, cache: KnownReplies) -> LocalExecutor:
    options, verdicts = plan.options, plan.verdicts
    executor = LocalExecutor(
        plan.model,
        make_preparer(plan),
        journal,
        verdicts.scorer,
        make_settings(options),
        beside=verdicts.beside,
        bench=verdicts.bench,
        is_circular=plan.benchmark.circular == "headline",
        cache=cache,
        purse=BudgetGate(make_budget(journal, options, plan.prices, verdicts.judge)),
    )
    executor.tally.score_sum, executor.tally.weight_sum = journal.score_so_far(plan.scorer)
    return executor


async def _score_the_rest(plan: Plan, journal: Journal, executor: LocalExecutor) -> None:
    """Score replies that have no verdict yet: of an earlier start, by another scorer, of a circle."""
    scoring, trials, n_at_once = executor.scoring, plan.options.trials, plan.options.concurrency
    journal.flush()
    for scorer in (*plan.verdicts.beside, plan.scorer):
        left = journal.unscored(scorer, trials=trials)
        await scoring.score_all(scorer, left, n_at_once=n_at_once)
        if scoring.is_circular:
            await judge_circles(journal, scoring, scorer, trials=trials, n_at_once=n_at_once)


# -- What the options of a run say to the engine, whether a model is asked or a judge alone.


def make_settings(options: Options) -> EngineSettings:
    """How hard to push, and when to give up."""
    from eyechart.engine.executor import EngineSettings
    from eyechart.engine.retry import RetryPolicy

    return EngineSettings(
        concurrency=options.concurrency,
        is_adaptive=options.adaptive,
        rpm=options.rpm,
        tpm=options.tpm,
        give_up_after=options.give_up_after,
        timeout_s=options.timeout_s,
        backoff=RetryPolicy(attempts=options.retries + 1),
    )


def open_cache(options: Options, *asked: Model | None) -> ResponseCache | None:
    """The replies of other runs, where an endpoint is asked at all; to be closed in the end."""
    if not options.cache or not any(capabilities_of(model).is_endpoint for model in asked):
        return None
    from eyechart.store.cache import ResponseCache

    return ResponseCache.open()


def open_earlier(
    folder: Path, options: Options, identity: Mapping[str, Any] | None, journals: Iterable[Path] = ()
) -> EarlierRuns | None:
    """Other runs of the same benchmark and model, and `journals` besides; to be closed in the end.

    With another selection or other settings a run has another folder, and what both ask is asked once.
    """
    from eyechart.store.kept import EarlierRuns, find_siblings

    if options.fresh:
        return None
    return EarlierRuns([*find_siblings(folder), *journals], identity) or None
