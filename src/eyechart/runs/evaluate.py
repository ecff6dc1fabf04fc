"""From a plan to a run on disk: load, ask, score and summarise what the journal does not have yet."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from eyechart.engine.budget import BudgetGate
from eyechart.engine.executor import Executor, LocalExecutor
from eyechart.engine.judge import Scoring, judge_circles, run_extra_judgements
from eyechart.engine.retry import EngineSettings, RetryPolicy
from eyechart.engine.sample import KnownReplies
from eyechart.errors import EyechartError, ModelError, UsageError
from eyechart.models.redact import HIDDEN
from eyechart.option import list_option_names, list_options
from eyechart.registry import callbacks as registered
from eyechart.report.conditions import read_options
from eyechart.report.live import LiveLine
from eyechart.runs.cost import make_budget, record_judge_prices
from eyechart.runs.inputs import make_loader
from eyechart.runs.loop import handle_interrupts, run_async
from eyechart.runs.noise import note_load, recheck
from eyechart.runs.options import GATE, Options
from eyechart.runs.plan import Plan, carry_kept, has_shared_requests, keep_log, make_plan, make_preparer
from eyechart.runs.results import Run
from eyechart.runs.sources import watch_samples
from eyechart.store import folder as folders
from eyechart.store.batches import BatchLog, has_pending
from eyechart.store.cache import ResponseCache
from eyechart.store.folder import LOG_NAME, EarlierRuns, find_siblings, find_whole, make_file_name
from eyechart.store.journal import FILE_NAME, Journal
from eyechart.terminal import print_note
from eyechart.types import Model, Scorer, SeesAllSamples, Snapshot, read_capabilities

if TYPE_CHECKING:
    from eyechart.engine.ray_cluster import RayCluster
    from eyechart.store.reader import Answered


def evaluate(plan: Plan, *, notes_shown: set[str] | None = None) -> Run:
    """Load, infer, score and summarise what is not in the journal yet.

    Findings in the data are printed to stderr before the first request, except those in `notes_shown`. A run
    that ends in an error before anything was answered leaves no folder behind.
    """
    if plan.options.executor == "ray":
        from eyechart.engine.ray_cluster import import_ray

        import_ray()  # a missing extra is an error before anything is read
    with contextlib.closing(Callbacks(plan.options.track)) as callbacks:
        done = _evaluate(plan, notes_shown, callbacks)
        callbacks.call("on_run_end", done)
        return done


def _evaluate(plan: Plan, notes_shown: set[str] | None, callbacks: Callbacks) -> Run:
    if plan.shard is not None and find_whole(plan.folder) is None:  # a pipeline chose a folder for all shards
        raise UsageError(
            "--shard is not available for this command", hint="use it with: eyechart run SOURCE -m MODEL"
        )
    file = plan.folder / FILE_NAME
    folders.prepare_folder(plan.folder)
    with folders.lock_folder(plan.folder):
        if plan.options.fresh and file.is_file() and has_pending(file):
            print_note(
                f"note: --fresh abandons the pending batches of {plan.folder}; they are paid for all the same"
            )
        folders.prepare_folder(plan.folder, fresh=plan.options.fresh)
        journal = Journal.create(file)
        try:
            n_samples = _load(plan, journal, notes_shown)
            callbacks.call("on_run_start", plan.folder, journal.read_mapping("manifest"))
            session = _infer(plan, journal, n_samples, callbacks)
        except BaseException:
            with contextlib.suppress(EyechartError):
                journal.close()
            with contextlib.suppress(EyechartError):
                if not journal.has_answers():
                    folders.discard_folder(plan.folder)
            raise
        journal.close()
        with_files = bool(plan.benchmark.files) and not session.is_interrupted
        done = finish_run(plan.folder, session, with_files=with_files)
        for exporter in plan.options.exporters if not session.is_interrupted else ():
            done.try_to_write_files(exporter)
        return done


def _load(plan: Plan, journal: Journal, notes_shown: set[str] | None) -> int:
    """Read the whole source into the journal before the first request."""
    n_samples = journal.replace_samples(watch_samples(plan, notes_shown))
    edits = journal.edits if plan.shard is None else msgspec.structs.replace(journal.edits, new=0, gone=0)
    if changed := str(edits):
        print_note(f"{changed}: what is affected is scored or asked again")
    before = journal.read_mapping("manifest").get("scorer")
    if before and before != plan.scorer.name:
        keep = f"--scorer {before} keeps the earlier one"
        print_note(f"scored again by {plan.scorer.name}, was {before} ({keep})")
    if isinstance(plan.model, SeesAllSamples):
        plan.model.prepare(journal.samples())
    if plan.shard is not None:
        from eyechart.runs.shards import keep_shard

        n_samples = keep_shard(plan, plan.shard, journal)
    note_load(plan, journal)
    journal.set_meta("manifest", carry_kept(plan.manifest(), journal.read_mapping("manifest")))
    record_judge_prices(journal, plan.helpers, plan.prices)
    journal.flush()  # its writer is another thread, and what follows reads the file
    return n_samples


def _infer(plan: Plan, journal: Journal, n_samples: int, callbacks: Callbacks) -> Session:
    """Ask and score what the journal does not have yet; raises an error that leaves nothing to report."""
    session = Session()
    journal.start_session()
    keep_log(plan.model, plan.folder / LOG_NAME)  # of servers that the run starts
    for role, helper in plan.helpers.items():
        keep_log(helper, plan.folder / f"{make_file_name(role)}-{LOG_NAME}")
    journals = plan.fresh_from if plan.options.fresh else plan.earlier
    earlier = open_earlier(plan.folder, plan.options, plan.model.identity, journals)
    known = open_known_replies(plan.options, earlier, plan.model, *plan.helpers.values())

    async def drive(cluster: RayCluster | None) -> None:
        """Run the executor in the event loop until everything is done, or the run is interrupted."""
        executor = _make_executor(plan, journal, known, cluster)
        executor.progress.total = n_samples * plan.options.trials
        shard = f" · shard {plan.shard}" if plan.shard else ""
        label = f"{plan.benchmark.name} · {plan.model.name}{shard}"
        line = LiveLine(executor.snapshot, label=label, quiet=not plan.options.progress)
        executor.announce_to(line.say)
        try:
            with line, callbacks.watch(executor.snapshot), handle_interrupts(executor, line.say):
                await _ask_and_score(plan, journal, executor, session)
        except asyncio.CancelledError:
            if not executor.is_interrupted:
                raise  # not cancelled by an interrupt
        finally:
            session.is_interrupted = executor.is_interrupted
            session.n_asked = executor.progress.sent + executor.progress.cached + session.n_rechecked
            executor.close()
            for model in (plan.model, *plan.helpers.values()):
                await model.close()

    try:
        with contextlib.ExitStack() as stack:
            cluster: RayCluster | None = None
            if plan.options.executor == "ray":
                from eyechart.runs.cluster import open_cluster

                cluster = stack.enter_context(open_cluster(plan))
            run_async(drive(cluster))
    finally:
        known.close()
        session.cache_trouble = known.trouble
    return session


async def _ask_and_score(plan: Plan, journal: Journal, executor: Executor, session: Session) -> None:
    """Ask, then score. An error of a model that has answered before ends the asking, not the run."""
    options, trials, together = plan.options, plan.options.trials, has_shared_requests(plan)
    tasks = journal.tasks(trials, together=together)
    if options.stop_when or options.baseline:
        from eyechart.runs.gate import Goal, watch_stored

        run, at_least = Run(plan.folder), options.at_least
        # Refuses a baseline that cannot be compared.
        goal = Goal.of(run, at_least=at_least, baseline=options.baseline, max_drop=options.max_drop)
        watch = watch_stored(run, goal, is_going_on=True)
        if options.stop_when:
            executor.progress.on_outcome = watch.note
            tasks = journal.tasks(trials, together=together, order=watch.order)
            tasks = itertools.takewhile(lambda task: not watch.test.result, tasks)
    try:
        await executor.run(tasks)
    except ModelError as err:
        if not executor.has_answered and err.exit_code != 1:
            raise
        session.trouble = err
    journal.flush()
    find_replies = partial(journal.unscored, trials=trials)
    await score_rest(journal, executor.scoring, find_replies, trials=trials, options=options)
    if options.recheck and session.trouble is None and isinstance(executor, LocalExecutor):
        session.n_rechecked = await recheck(plan, journal, executor)
    journal.flush()
    progress = executor.progress
    progress.score_sum, progress.weight_sum = journal.score_so_far(plan.scorer)
    progress.shows_score = True
    if session.trouble is None and isinstance(executor.stop.trouble, ModelError):
        session.trouble = executor.stop.trouble  # of the judge, after the last question


async def score_rest(
    journal: Journal,
    scoring: Scoring,
    find_replies: Callable[[Scorer], Iterable[Answered]],
    *,
    trials: int,
    options: Options,
) -> None:
    """Score replies without a verdict: of an earlier start, of a further scorer, and of rotations."""
    n_at_once = options.concurrency
    for scorer in (*scoring.also_scorers, scoring.scorer):
        await scoring.score_all(scorer, find_replies(scorer), n_at_once=n_at_once)
        if scoring.is_circular:
            await judge_circles(journal, scoring, scorer, trials=trials, n_at_once=n_at_once)
    counts = {"repeat": options.judge_repeat, "check": options.judge_check, "n_at_once": n_at_once}
    await run_extra_judgements(journal, scoring, trials=trials, **counts)


def _make_executor(plan: Plan, journal: Journal, known: KnownReplies, cluster: RayCluster | None) -> Executor:
    options, scorers = plan.options, plan.scorers
    budget = make_budget(journal, options, plan.prices, plan.helpers, plan.shares_budget)
    parts: dict[str, Any] = {
        "also_scorers": scorers.also_scorers,
        "judge": scorers.judge_setup,
        "is_circular": plan.benchmark.circular == "headline",
        "known": known,
        "gate": BudgetGate(budget),
    }
    settings = make_settings(options)
    executor: Executor
    if cluster is not None:
        from eyechart.runs.cluster import make_executor

        executor = make_executor(plan, cluster, journal, settings, **parts)
    elif options.batch:
        from eyechart.engine.batch import BatchExecutor
        from eyechart.models import batch

        executor = BatchExecutor(plan.model, make_preparer(plan), journal, scorers.scorer, settings, **parts)
        api = getattr(batch, getattr(plan.model, "batch_api"))(plan.model, plan.folder)  # noqa: B009
        executor.use(api, BatchLog(journal.path), plan.folder)
    else:
        if plan.look is not None:
            parts |= {"look": plan.look, "originals": make_loader(options)}
        executor = LocalExecutor(plan.model, make_preparer(plan), journal, scorers.scorer, settings, **parts)
    if next(iter(journal.unscored(plan.scorer, trials=options.trials)), None) is None:
        executor.progress.score_sum, executor.progress.weight_sum = journal.score_so_far(plan.scorer)
    else:  # some replies are scored again at the end: until then a score would be that of a part
        executor.progress.shows_score = False
    return executor


# -- Shared with scoring stored replies


@dataclass(slots=True)
class Session:
    """How one start of a run, or the scoring of its replies, went."""

    is_interrupted: bool = False
    trouble: ModelError | None = None  # what ended it early, if anything did
    cache_trouble: str = ""
    n_asked: int | None = None  # requests sent or answered from the cache; None: no model was asked
    n_rechecked: int = 0


def finish_run(folder: Path, session: Session, *, with_files: bool) -> Run:
    """Summarise a run from its journal, and write the summary, the page and the benchmark's own files."""
    done = Run(folder)
    for name in ("is_interrupted", "trouble", "cache_trouble", "n_asked"):
        setattr(done, name, getattr(session, name))
    with done.journal.hold_open():
        done.try_to_write_report()
        if with_files:
            done.try_to_write_files()
    return done


def make_settings(options: Options) -> EngineSettings:
    """Concurrency, rate limits, retries and when to give up."""
    return EngineSettings(
        concurrency=options.concurrency,
        is_usual_concurrency=options.concurrency == Options().concurrency,
        is_adaptive=options.adaptive,
        rpm=options.rpm,
        tpm=options.tpm,
        give_up_after=options.give_up_after,
        timeout_s=options.timeout_s,
        retry=RetryPolicy(attempts=options.retries + 1),
    )


def open_known_replies(options: Options, earlier: EarlierRuns | None, *asked: Model) -> KnownReplies:
    """The replies of earlier runs and, if an endpoint is asked, the response cache; close it at the end."""
    responses = None
    if options.cache and any(read_capabilities(model).is_endpoint for model in asked):
        responses = ResponseCache.open()
    return KnownReplies(responses, is_read=not options.fresh, earlier=earlier)


def open_earlier(
    folder: Path, options: Options, identity: Mapping[str, Any] | None, journals: Iterable[Path] = ()
) -> EarlierRuns | None:
    """Other runs of the same benchmark and model, and `journals`; close it at the end.

    A run with another selection or other settings has another folder; a request that both make is sent once.
    With ``--fresh``, only `journals`.
    """
    # Other shards are not searched: other machines may be writing them, and they hold other samples.
    siblings = [] if options.fresh else find_siblings(find_whole(folder) or folder)
    return EarlierRuns([*siblings, *journals], identity) or None


# -- Going on with a stored run


def continue_run(run: Run, **changes: Any) -> Run:
    """Ask what a run has not asked yet; `changes` are options that make no other run."""
    return evaluate(plan_again(run, **changes))


def plan_again(run: Run, **changes: Any) -> Plan:
    """The plan of a stored run, with other options where `changes` says so."""
    given = run.manifest.get("given") or {}
    source, model = given.get("source"), given.get("model")
    hint = "repeat the command that made it, with the same options"
    if not source or not model:
        raise UsageError(f"{run.folder}: how it was started is not stored", hint=hint)
    declared, known = list_options(Options), read_options(run.manifest)
    stored = {name: value for name, value in known.items() if name in declared and value != HIDDEN}
    gates = {name: declared[name].default for name in list_option_names(Options, GATE)}
    usual = {**gates, "fresh": False, "out": str(run.folder.parent.parent)}
    try:
        plan = make_plan(source, model, Options.of({**stored, **usual, **changes}))
    except EyechartError as err:
        raise UsageError(f"{run.folder} cannot be continued: {err.message}", hint=err.hint or hint) from err
    if plan.folder.resolve() != Path(run.folder).resolve():
        raise UsageError(f"{run.folder} cannot be continued from here: it would be {plan.folder}", hint=hint)
    return plan


# -- Callbacks

EVERY_S = 10.0


class Callbacks:
    """What other programs are told of a run or a comparison while it happens, such as a tracker.

    A callback is a class that is declared with ``@ec.callback("name")`` and has any of these methods;
    ``--track name`` makes one object of it per run. All are called in the process of the run, `on_progress`
    every ten seconds from a thread of its own, one call at a time. What a callback raises becomes a note,
    never the end of a run.

    ==============================  ========================================================================
    on_run_start(folder, manifest)  before the first request: the run's folder, and what is known of the run
    on_progress(snapshot)           where the run stands (`eyechart.types.Snapshot`), also at its end
    on_run_end(run)                 the finished or interrupted run, with its files
    on_compare(comparison)          a comparison (`eyechart compare`, `ec.compare`)
    close()                         always the last call, also after an error
    ==============================  ========================================================================
    """

    def __init__(self, names: Sequence[str]) -> None:
        """Make them; raises what a name or a missing package is refused with."""
        self._made = [(name, registered.get(name)()) for name in dict.fromkeys(names)]
        self._lock = threading.Lock()
        self._noted: set[str] = set()

    def call(self, method: str, *arguments: object) -> None:
        """Call a method of each callback that has it."""
        with self._lock:
            for name, made in self._made:
                try:
                    if (function := getattr(made, method, None)) is not None:
                        function(*arguments)
                except Exception as err:  # a plug-in may raise anything
                    text = f"--track {name}: {method} failed: {type(err).__name__}: {err}"
                    if text not in self._noted:  # once, not every ten seconds
                        self._noted.add(text)
                        print_note(text)

    @contextlib.contextmanager
    def watch(self, snapshot: Callable[[], Snapshot], every_s: float = EVERY_S) -> Iterator[None]:
        """Tell of progress during the block, and of the last state at its end."""
        if not any(hasattr(type(made), "on_progress") for _, made in self._made):
            yield
            return
        is_over = threading.Event()

        def tell() -> None:
            while not is_over.wait(every_s):
                with contextlib.suppress(Exception):  # the counters of a running engine
                    self.call("on_progress", snapshot())

        thread = threading.Thread(target=tell, name="eyechart-callbacks", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join(timeout=every_s)
            self.call("on_progress", snapshot())

    def close(self) -> None:
        self.call("close")
