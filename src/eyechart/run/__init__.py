"""evaluate(): the one place where all rooms meet.

A sample's journey is six calls: load, render, reply, append, score, summarise. The rooms are entered
inside the functions, so that importing eyechart costs nothing.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import DataError, EyechartError, ModelError
from eyechart.run.options import Options
from eyechart.run.plan import Plan, make_plan, make_preparer, share_requests
from eyechart.run.record import Run
from eyechart.run.sources import find_benchmark
from eyechart.types import Benchmark, Source

if TYPE_CHECKING:
    from eyechart.engine.local import LocalExecutor
    from eyechart.store.cache import ResponseCache
    from eyechart.store.journal import Journal


def run(source: str | Path | Benchmark | Source, model: str | object, **options: Any) -> Run:
    """Ask `model` every question of `source`, score the replies, and return the run.

    `source` is a file, a folder, a name from the catalogue, or a `Benchmark`; `model` is ``provider/name``,
    ``python:file.py:Class``, or an object with one of the three interfaces. `options` are those of `Options`.
    The same call again resumes: it asks only for what is missing.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     done = run("demo", model="baseline/random", limit=5, out=out, progress=False)
    ...     done.summary.n
    5
    """
    return evaluate(make_plan(source, model, Options.of(options)))


def load(source: str | Path, **options: Any) -> Source:
    """The samples of a file, a folder or a benchmark, read lazily.

    >>> next(iter(load("demo"))).question
    'Which drink was sold most?'
    """
    return find_benchmark(source, Options.of(options)).source


def evaluate(plan: Plan) -> Run:
    """Load, infer, score, summarise: as far as the journal does not already know."""
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    is_new = plan.options.fresh or not (plan.folder / FILE_NAME).exists()
    folders.make(plan.folder)
    with folders.hold(plan.folder):
        folders.make(plan.folder, fresh=plan.options.fresh)
        journal = Journal.create(plan.folder / FILE_NAME)
        try:
            n_samples = _load(plan, journal)
            session = _infer(plan, journal, n_samples)
        except BaseException:
            with contextlib.suppress(EyechartError):
                journal.close()
            with contextlib.suppress(EyechartError):
                if is_new and journal.count_samples() == 0:
                    folders.discard(plan.folder)  # nothing was read, so nothing is worth keeping
            raise
        journal.close()
        done = Run(plan.folder, is_interrupted=session.is_interrupted, trouble=session.trouble)
        done.cache_trouble = session.cache_trouble
        done.keep_summary()
        if plan.benchmark.files and not session.is_interrupted:
            done.try_to_write_files()
    return done


def _load(plan: Plan, journal: Journal) -> int:
    """Read the whole source into the journal before anything is spent on it."""
    from eyechart.run.bill import keep_judge_price

    n_samples = journal.replace_samples(plan.benchmark.source)
    if n_samples == 0:
        raise DataError(
            f"{plan.benchmark.source.origin}: there is no question in it", hint="is it the right file?"
        )
    journal.set_meta("manifest", plan.manifest())
    keep_judge_price(journal, plan.verdicts.judge, plan.prices)
    return n_samples


@dataclass(slots=True)
class _Session:
    is_interrupted: bool = False
    trouble: ModelError | None = None
    cache_trouble: str = ""


def _infer(plan: Plan, journal: Journal, n_samples: int) -> _Session:
    """Ask for what is missing, showing how it goes."""
    import asyncio  # 30 ms, which `--help` need not pay

    from eyechart.report.live import LiveLine
    from eyechart.run.engine import open_cache
    from eyechart.run.loop import interruptible, run_async
    from eyechart.types import Studious

    options, model = plan.options, plan.model
    if isinstance(model, Studious):
        model.study(journal.samples())
    session = _Session()

    async def drive() -> None:
        executor = _make_executor(plan, journal, responses)
        executor.tally.total = n_samples * options.trials
        label = f"{plan.benchmark.name} · {model.name}"
        line = LiveLine(executor.snapshot, label=label, quiet=not options.progress)
        executor.tell(line.say)
        try:
            with line, interruptible(executor, line.say):
                try:
                    await executor.run(journal.tasks(options.trials, together=share_requests(plan)))
                except ModelError as err:
                    if executor.tally.answered == 0 and err.exit_code != 1:
                        raise
                    session.trouble = err
                await _score_the_rest(plan, journal, executor)
                if session.trouble is None and isinstance(executor.stop.trouble, ModelError):
                    session.trouble = executor.stop.trouble  # the judge's, after the last question
        except asyncio.CancelledError:
            if not executor.is_interrupted:
                raise  # not by Ctrl-C, so not ours to swallow
        finally:
            session.is_interrupted = executor.is_interrupted
            executor.close()
            await model.close()
            if plan.verdicts.judge is not None:
                await plan.verdicts.judge.close()

    journal.start_session()
    responses = open_cache(options, model, plan.verdicts.judge)
    try:
        run_async(drive())
    finally:
        if responses is not None:
            responses.close()
            session.cache_trouble = responses.trouble
    return session


def _make_executor(plan: Plan, journal: Journal, responses: ResponseCache | None) -> LocalExecutor:
    from eyechart.engine.cached import Cache
    from eyechart.engine.local import LocalExecutor
    from eyechart.engine.spending import Purse
    from eyechart.run.bill import make_budget
    from eyechart.run.engine import make_settings

    options, model, verdicts = plan.options, plan.model, plan.verdicts
    executor = LocalExecutor(
        model,
        make_preparer(plan),
        journal,
        verdicts.scorer,
        make_settings(options),
        beside=verdicts.beside,
        bench=verdicts.bench,
        is_circular=plan.benchmark.circular == "headline",
        cache=Cache(responses, is_read=not options.fresh),
        purse=Purse(make_budget(journal, options, plan.prices, verdicts.judge)),
    )
    executor.tally.score_sum, executor.tally.weight_sum = journal.score_so_far(plan.scorer)
    return executor


async def _score_the_rest(plan: Plan, journal: Journal, executor: LocalExecutor) -> None:
    """Score replies that have no verdict yet: of an earlier start, by another scorer, of a circle."""
    from eyechart.engine.circles import judge_circles

    scoring, trials, n_at_once = executor.scoring, plan.options.trials, plan.options.concurrency
    journal.flush()
    for scorer in (*plan.verdicts.beside, plan.scorer):
        left = journal.unscored(scorer, trials=trials)
        await scoring.score_all(scorer, left, n_at_once=n_at_once)
        if scoring.is_circular:
            await judge_circles(journal, scoring, scorer, trials=trials, n_at_once=n_at_once)
