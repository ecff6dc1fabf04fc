"""Score stored replies again. Asks no model but a judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.errors import ModelError
from eyechart.run.bill import find_judge_price, keep_judge_price, make_budget, priced
from eyechart.run.evaluate import make_settings, open_earlier, open_known_replies, score_rest
from eyechart.run.loop import run_async
from eyechart.run.options import Options
from eyechart.run.record import Run
from eyechart.run.verdicts import Verdicts, bind, find_judge, refuse_stray_judge
from eyechart.types import JudgedScorer, Reply, Request

if TYPE_CHECKING:
    from eyechart.engine.budget import BudgetGate
    from eyechart.engine.judge import JudgeSetup
    from eyechart.engine.retry import EngineSettings
    from eyechart.engine.sample import KnownReplies
    from eyechart.model.prices import Price
    from eyechart.store.journal import Journal
    from eyechart.store.reader import Answered, Verdict

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
    with folders.lock_folder(old.folder):
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
    judge = find_judge(options) or _remembered(old.manifest.get("judge"))
    name = options.scorer or old.manifest.get("scorer", "default")
    if options.judge and not options.scorer and not isinstance(scorers.get(name), JudgedScorer):
        name = old.manifest.get("judged_scorer") or name  # as the run itself would have, with a judge
    beside = options.also_scorers or tuple(old.manifest.get("also_scorers", ()))
    asks_judges = any(isinstance(scorers.get(one), JudgedScorer) for one in (name, *beside))
    if options.judge is None and not asks_judges:
        judge = None  # what a judge said before concerns none of these
    return bind(name, beside, judge)


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

    judge = verdicts.judge
    keep_judge_price(journal, judge, prices)
    gate = BudgetGate(make_budget(journal, options, prices, judge))
    earlier = open_earlier(old.folder, options, None) if judge is not None else None
    known = open_known_replies(options, earlier, judge)
    try:
        trouble = run_async(_score(old, journal, verdicts, make_settings(options), known, gate))
    finally:
        known.close()
    return Session(trouble=trouble, cache_trouble=known.trouble)


async def _score(
    old: Run,
    journal: Journal,
    verdicts: Verdicts,
    settings: EngineSettings,
    known: KnownReplies,
    gate: BudgetGate,
) -> ModelError | None:
    from eyechart.engine.judge import Judge, Scoring
    from eyechart.engine.pool import StopSignal
    from eyechart.engine.sample import Calls, JournalCalls

    stop, store, setup = StopSignal(), JournalCalls(journal), verdicts.judge_setup
    calls = Calls(store, known)
    judge = Judge.open(setup, settings, stop, journal=journal, calls=calls, gate=gate) if setup else None
    is_circular = old.manifest.get("circular") == "headline"
    scoring = Scoring(journal, verdicts.scorer, verdicts.beside, judge, is_circular)
    try:
        await score_rest(
            journal,
            scoring,
            lambda scorer: _answered(old),
            trials=old.trials,
            n_at_once=settings.concurrency,
        )
    finally:
        store.close()
        if setup is not None:
            await setup.model.close()
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
