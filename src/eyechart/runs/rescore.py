"""Score stored replies again, with the run's scorer or another one. No model is asked, except a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from eyechart.engine.budget import BudgetGate
from eyechart.engine.judge import Judge, JudgeSetup, Scoring
from eyechart.engine.pool import StopSignal
from eyechart.engine.sample import Calls, JournalCalls, KnownReplies
from eyechart.errors import ModelError
from eyechart.runs.cost import find_judge_prices, make_budget, record_judge_prices, replace_prices
from eyechart.runs.evaluate import (
    Session,
    finish_run,
    make_settings,
    open_earlier,
    open_known_replies,
    score_rest,
)
from eyechart.runs.loop import run_async
from eyechart.runs.options import Options
from eyechart.runs.plan import (
    RunScorers,
    bind_scorers,
    carry_kept,
    find_corrections,
    find_judge,
    list_judge_identities,
)
from eyechart.runs.plugins import find_scorer
from eyechart.runs.results import Run
from eyechart.store import folder as folders
from eyechart.store.journal import FILE_NAME, Journal
from eyechart.store.reader import Answered, Verdict
from eyechart.types import JudgedScorer, Reply, Request

if TYPE_CHECKING:
    from eyechart.models.prices import Price

_Outcome = tuple[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A sample whose verdict changed."""

    sample: str
    trial: int
    before: str
    after: str
    value_before: float
    value_after: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def rescore(
    folder: str | Path, options: Options | None = None, progress: Callable[[int], None] | None = None
) -> tuple[Run, list[Change]]:
    """Score the stored replies of a run again, and list the verdicts that changed.

    Of `options`, those on scoring, request rates and cost apply; a scorer or judge that is not given stays as
    it was. The judge's earlier verdicts are read from the journal; with a judge given, what is missing is
    asked now. Limits on cost and tokens apply to the judge alone, and count what it took in this run before.
    Where the judge changes, or one is added or left out, the earlier scoring stays beside the new one.
    `progress` is told how many replies have been taken up.
    """
    options = options or Options()
    old = Run(folder, cluster=options.cluster)
    if options.cluster is not None:
        _ = old.clusters  # a column that does not exist is an error before anything is scored
    scorers = _choose_scorers(old, options)
    prices = find_judge_prices(scorers.judges, options)
    with folders.lock_folder(old.folder):
        journal = Journal.create(old.folder / FILE_NAME)
        try:
            # Equal ones share one object: a run has few different ones.
            seen: dict[_Outcome, _Outcome] = {}
            before = [seen.setdefault(outcome, outcome) for _, outcome in old.verdicts()]
            kept = _keep_scoring(old, journal, scorers)
            session = score_run(old, journal, scorers, options, prices, progress)
            given = find_corrections(options, scorers.judge_setup is not None)
            more = {"corrections": msgspec.to_builtins(given)} if given else {}
            manifest = carry_kept({**old.manifest, **more, **scorers.describe()}, old.manifest, kept)
            journal.set_meta("manifest", replace_prices(manifest, prices))
        finally:
            journal.close()
        new = finish_run(old.folder, session, with_files=old.has_files)
    return new, _list_changes(before, new.verdicts())


def _keep_scoring(old: Run, journal: Journal, scorers: RunScorers) -> dict[str, str]:
    """Keep the scores that another judge, or none, gave before: the name of that scoring, and its version.

    Verdicts of one judged scorer share a place in the journal, so those of the earlier judge are copied.
    """
    name, judge = str(old.manifest.get("scorer", "")), old.manifest.get("judge")
    version = str(old.manifest.get("versions", {}).get(name, ""))
    new = scorers.scorer
    _, _, judge_before = version.partition("+")
    _, _, judge_now = new.version.partition("+")
    if judge_before == judge_now or not version:
        return {}
    if not isinstance(judge, Mapping) or not judge_before:
        return {name: version}
    judges = " + ".join(str(one["model"]) for one in (judge, *judge.get("further", ())))
    label = f"{name}, {judges}"
    if old.manifest["versions"].get(label, version) != version:  # with other parameters or prompts
        label = f"{label} ({judge_before})"
    journal.copy_scores(name, version, label)
    return {label: version}


def compare_scorers(run: Run, scorer: str) -> list[Change]:
    """The samples on which a further scorer of a run disagrees with its own."""
    return _list_changes((outcome for _, outcome in run.verdicts()), run.verdicts(scorer))


def _list_changes(before: Iterable[_Outcome], after: Iterable[Verdict]) -> list[Change]:
    """What changed. Both have the same replies in the same order: none is added while the run is locked."""
    return [
        Change(
            sample=sample, trial=trial, before=was[0], after=now[0], value_before=was[1], value_after=now[1]
        )
        for was, ((sample, trial), now) in zip(before, after, strict=True)
        if was != now
    ]


def _choose_scorers(old: Run, options: Options) -> RunScorers:
    """The scorers and the judge that the options name; for what they leave out, those of the run."""
    known = list_judge_identities(old.manifest.get("judge"))
    judge = find_judge(options, known) or _recall_judge(old.manifest.get("judge"))
    name = options.scorer or old.manifest.get("scorer", "default")
    if options.judge and not options.scorer and not isinstance(find_scorer(name), JudgedScorer):
        name = old.manifest.get("judged_scorer") or name  # as the run itself would have, with a judge
    also_scorers = options.also_scorers or tuple(old.manifest.get("also_scorers", ()))
    asks_judges = any(isinstance(find_scorer(one), JudgedScorer) for one in (name, *also_scorers))
    if options.judge is None and not asks_judges:
        judge = None  # none of these scorers uses the earlier verdicts
    return bind_scorers(name, also_scorers, judge, options.thinking or old.manifest.get("thinking"))


def _recall_judge(judge: Mapping[str, Any] | None) -> JudgeSetup | None:
    """The judge in the run's manifest: its stored verdicts count, and it cannot be asked again."""
    if not judge:
        return None
    first, *further = (
        _RecordedModel(one["model"], one["identity"]) for one in (judge, *judge.get("further", ()))
    )
    return JudgeSetup(first, judge["prompts"], tuple(further))


@dataclass(frozen=True, slots=True)
class _RecordedModel:
    """A model of which only the stored replies are available."""

    name: str
    identity: Mapping[str, Any]

    async def reply(self, request: Request) -> Reply:
        raise ModelError(f"{self.name} has no stored verdict on this", hint="ask it now with --judge")

    async def close(self) -> None:
        """Nothing is open."""


def score_run(
    run: Run,
    journal: Journal,
    scorers: RunScorers,
    options: Options,
    prices: Mapping[str, Price | None],
    progress: Callable[[int], None] | None = None,
) -> Session:
    """Score every reply of a run with each of its scorers."""
    judges = scorers.judges
    record_judge_prices(journal, judges, prices)
    gate = BudgetGate(make_budget(journal, options, prices, judges))
    earlier = open_earlier(run.folder, options, None) if judges else None
    known = open_known_replies(options, earlier, *judges.values())
    try:
        trouble = run_async(_score(run, journal, scorers, options, known, gate, progress))
    finally:
        known.close()
    return Session(trouble=trouble, cache_trouble=known.trouble)


async def _score(
    run: Run,
    journal: Journal,
    scorers: RunScorers,
    options: Options,
    known: KnownReplies,
    gate: BudgetGate,
    progress: Callable[[int], None] | None,
) -> ModelError | None:
    stop, store, setup = StopSignal(), JournalCalls(journal), scorers.judge_setup
    calls = Calls(store, known)
    settings = make_settings(options)
    judge = Judge(setup, settings, stop, journal=journal, calls=calls, gate=gate) if setup else None
    scoring = Scoring(journal, scorers.scorer, scorers.also_scorers, judge, run.is_circular)
    try:
        await score_rest(
            journal,
            scoring,
            lambda scorer: _list_answered(run, progress),
            trials=run.trials,
            options=options,
        )
    finally:
        store.close()
        for one in scorers.judges.values():
            await one.close()
    return stop.trouble if isinstance(stop.trouble, ModelError) else None


def _list_answered(run: Run, progress: Callable[[int], None] | None) -> Iterator[Answered]:
    # Without verdicts, messages and clusters, which scoring does not need.
    for n, result in enumerate(run.journal.results("", trials=run.trials, is_brief=True), start=1):
        if progress is not None:
            progress(n)
        if result.reply is not None:
            yield Answered(sample=result.sample, trial=result.trial, key=result.key, reply=result.reply)
