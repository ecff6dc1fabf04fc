"""Score stored replies again. Asks no model but a judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import ModelError
from eyechart.run.bill import find_judge_price, keep_judge_price, make_budget, priced
from eyechart.run.infer import make_settings, open_cache, open_earlier
from eyechart.run.loop import run_async
from eyechart.run.options import Options
from eyechart.run.record import Run
from eyechart.run.verdicts import Verdicts, bind, find_judge, refuse_stray_judge
from eyechart.types import JudgedScorer, Reply, Request

if TYPE_CHECKING:
    from eyechart.engine.budget import BudgetGate
    from eyechart.engine.executor import EngineSettings
    from eyechart.engine.judge import JudgeSetup
    from eyechart.engine.sample import KnownReplies
    from eyechart.model.prices import Price
    from eyechart.store.counts import Verdict
    from eyechart.store.journal import Journal
    from eyechart.store.reader import Answered

_Outcome = tuple[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A sample whose verdict moved."""

    sample: str
    trial: int
    before: str
    after: str
    value_before: float
    value_after: float

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def rescore(folder: str | Path, options: Options | None = None) -> tuple[Run, list[Change]]:
    """Score the stored replies again, and tell which verdicts moved. Asks no model but a judge.

    Of `options`, those of the verdict, the pace and the bill count; what is not said of the verdict stays as
    it was. What a judge said before is found in the journal, and only what it was never asked is asked now,
    if a judge is given. Limits are the judge's alone: what it has taken in this run before counts.
    """
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    old = Run(folder)
    chosen = options or Options()
    verdicts = _verdicts(old, chosen)
    prices = find_judge_price(verdicts.judge, chosen)
    with folders.hold(old.folder):
        journal = Journal.create(old.folder / FILE_NAME)
        try:
            before = _outcomes(old.verdicts())
            session = score_all(old, journal, verdicts, chosen, prices)
            journal.set_meta("manifest", priced({**old.manifest, **verdicts.describe()}, prices))
        finally:
            journal.close()
        new = session.of(old.folder)
        new.keep_summary()
        if old.has_files:
            new.try_to_write_files()
    return new, _changes(before, new.verdicts())


def _verdicts(old: Run, options: Options) -> Verdicts:
    """Who scores now: as the options say, and where they say nothing, as before."""
    from eyechart.registry import scorers

    refuse_stray_judge(options)
    bench = find_judge(options) or _remembered(old.manifest.get("judge"))
    name = options.scorer or old.manifest.get("scorer", "default")
    if options.judge and not options.scorer and not isinstance(scorers.get(name), JudgedScorer):
        name = old.manifest.get("judged_scorer") or name  # as the run itself would have, with a judge
    beside = options.also_scorers or tuple(old.manifest.get("also_scorers", ()))
    asks_judges = any(isinstance(scorers.get(one), JudgedScorer) for one in (name, *beside))
    if options.judge is None and not asks_judges:
        bench = None  # what a judge said before concerns none of these
    return bind(name, beside, bench)


def _remembered(judge: Mapping[str, Any] | None) -> JudgeSetup | None:
    """The judge of the run as the journal knows it: what it said stands, and nothing more can be asked."""
    if not judge:
        return None
    from eyechart.engine.judge import JudgeSetup

    return JudgeSetup(_Remembered(judge["model"], judge["identity"]), judge["prompts"])


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A model that is known by what it said."""

    name: str
    identity: Mapping[str, Any]

    async def reply(self, request: Request) -> Reply:
        """There is nothing to answer with."""
        raise ModelError(f"{self.name} was not asked this before", hint="--judge asks it now")

    async def close(self) -> None:
        """There is nothing to close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """How the scoring went."""

    trouble: ModelError | None = None  # the judge's, if that ended it early
    cache_trouble: str = ""

    def of(self, folder: Path) -> Run:
        """The run as it stands now."""
        run = Run(folder, trouble=self.trouble)
        run.cache_trouble = self.cache_trouble
        return run


def score_all(
    old: Run, journal: Journal, verdicts: Verdicts, options: Options, prices: Mapping[str, Price | None]
) -> Session:
    """Score every reply of a run by every one of its scorers."""
    from eyechart.engine.budget import BudgetGate
    from eyechart.engine.sample import KnownReplies

    judge = verdicts.judge
    keep_judge_price(journal, judge, prices)
    purse = BudgetGate(make_budget(journal, options, prices, judge))
    responses = open_cache(options, judge)
    earlier = open_earlier(old.folder, options, None) if judge is not None else None
    cache = KnownReplies(responses, is_read=not options.fresh, earlier=earlier)
    try:
        trouble = run_async(_score(old, journal, verdicts, make_settings(options), cache, purse))
    finally:
        if earlier is not None:
            earlier.close()
        if responses is not None:
            responses.close()
    return Session(trouble=trouble, cache_trouble=responses.trouble if responses else "")


async def _score(
    old: Run,
    journal: Journal,
    verdicts: Verdicts,
    settings: EngineSettings,
    cache: KnownReplies,
    purse: BudgetGate,
) -> ModelError | None:
    from eyechart.engine.circles import judge_circles
    from eyechart.engine.judge import Judge, Scoring
    from eyechart.engine.pool import StopSignal
    from eyechart.engine.sample import Calls

    n_at_once = settings.concurrency
    stop, calls, bench = StopSignal(), Calls(journal, cache), verdicts.bench
    judge = None
    if bench is not None:
        is_proven = journal.has_judged(bench.model.name)
        asker = settings.asker(bench.model, stop, purse=purse, role="judge", is_proven=is_proven)
        judge = Judge(bench, asker, calls)
    is_circular = old.manifest.get("circular") == "headline"
    scoring = Scoring(journal, verdicts.scorer, verdicts.beside, judge, is_circular)
    try:
        for scorer in (*verdicts.beside, verdicts.scorer):
            await scoring.score_all(scorer, _answered(old), n_at_once=n_at_once)
            if is_circular:
                await judge_circles(journal, scoring, scorer, trials=old.trials, n_at_once=n_at_once)
    finally:
        calls.close()
        if bench is not None:
            await bench.model.close()
    return stop.trouble if isinstance(stop.trouble, ModelError) else None


def _answered(run: Run) -> Iterator[Answered]:
    from eyechart.store.reader import Answered

    for result in run.samples():
        if result.reply is not None:
            yield Answered(sample=result.sample, trial=result.trial, key=result.key, reply=result.reply)


def differences(run: Run, scorer: str) -> list[Change]:
    """The samples on which a further scorer of a run disagrees with its own."""
    return _changes((outcome for _, outcome in run.verdicts()), run.verdicts(scorer))


def _outcomes(verdicts: Iterable[Verdict]) -> list[_Outcome]:
    """Outcomes and values in the run's order; equal ones are one object, of the few that a run has."""
    seen: dict[_Outcome, _Outcome] = {}
    return [seen.setdefault(outcome, outcome) for _, outcome in verdicts]


def _changes(before: Iterable[_Outcome], after: Iterable[Verdict]) -> list[Change]:
    """What moved. The replies are the same and so is their order: no new one comes while the run is held."""
    return [
        Change(
            sample=sample,
            trial=trial,
            before=was[0],
            after=now[0],
            value_before=was[1],
            value_after=now[1],
        )
        for was, ((sample, trial), now) in zip(before, after, strict=True)
        if was != now
    ]
