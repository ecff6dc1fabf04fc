"""The event loop of a run: started wherever we are called from, ended cleanly by an interrupt."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eyechart.errors import DataError, EyechartError, ModelError
from eyechart.run.options import Options
from eyechart.run.plan import Plan, make_preparer, share_requests
from eyechart.run.run import Run
from eyechart.types import Model, Scorer, Studious, capabilities_of

if TYPE_CHECKING:
    from eyechart.engine.executor import Executor, LocalExecutor
    from eyechart.engine.judge import Scoring
    from eyechart.engine.retry import EngineSettings
    from eyechart.engine.sample import KnownReplies
    from eyechart.store.folder import EarlierRuns
    from eyechart.store.journal import Journal
    from eyechart.store.reader import Answered


T = TypeVar("T")

_HANGUP = getattr(signal, "SIGHUP", None)  # the terminal was closed; Windows has no such signal
_ENOUGH = 3  # interrupts: one ends the run cleanly, two at once, and three if even that takes too long
_LOOK_S = 0.25
_OBJECTS = 20_000
_FILES = 65_536


@contextlib.contextmanager
def interruptible(executor: Executor, say: Callable[[str], None]) -> Iterator[None]:
    """The first interrupt (Ctrl-C, SIGTERM, a notebook's Stop) ends the run cleanly, a second one at once.

    So does SIGHUP, when a terminal is closed. Both the system and the shell may send it: it never counts as
    the second one.
    """
    loop = asyncio.get_running_loop()
    me = asyncio.current_task()

    def stop() -> None:
        if executor.is_interrupted and me is not None:
            me.cancel()
            return
        waiting = executor.in_flight
        answers = f"{waiting} answer{'s' * (waiting != 1)}"
        say(f"stopping: waiting for {answers} in flight (again to leave at once)" if waiting else "stopping")
        executor.interrupt()

    if threading.current_thread() is threading.main_thread():
        with _handling_signals(loop, stop):
            yield
        return
    relay = _relay.get()
    with contextlib.ExitStack() as leading:
        if relay is not None:
            leading.enter_context(relay.leading_to(stop))
        if relay is None or not relay.hears_signals:
            leading.enter_context(_watching_main_thread(loop, stop))
        yield


@contextlib.contextmanager
def _handling_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    is_hung_up = False

    def hang_up() -> None:
        nonlocal is_hung_up
        _leave_closed_terminal()
        if not is_hung_up:
            is_hung_up = True
            stop()

    before = {number: signal.getsignal(number) for number in _signals()}
    for number in before:
        with contextlib.suppress(NotImplementedError):  # event loops of Windows know no signals
            loop.add_signal_handler(number, hang_up if number == _HANGUP else stop)
    try:
        yield
    finally:
        for number in before:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(number)
        _restore_handlers(before)


def _signals() -> list[signal.Signals]:
    """Those that end a run. One that is ignored, as ``nohup`` has it, stays ignored."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if _HANGUP is not None and signal.getsignal(_HANGUP) != signal.SIG_IGN:
        numbers.append(_HANGUP)
    return numbers


def _leave_closed_terminal() -> None:
    """Print to nowhere from now on what would go to a terminal that is gone: the exit code must stay true."""
    for number in (1, 2):  # whatever `sys.stdout` is for the moment
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, number)
                os.close(nowhere)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; in a thread of its own where a loop is running already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(work)
    return _run_beside(work)


def _run_beside(work: Coroutine[Any, Any, T]) -> T:
    """Run in another thread and wait for it here, passing interrupts on.

    Signals reach the main thread only. The handlers found there either raise in our wait (a notebook's) or
    cancel a task that cannot run before we return (asyncio's own), so for as long as we wait they are ours.
    """
    relay = _Relay(hears_signals=threading.current_thread() is threading.main_thread())
    result: Future[T] = Future()
    is_over = threading.Event()

    def job() -> None:
        _relay.set(relay)
        try:
            result.set_result(_run(relay.carry(work)))
        except BaseException as err:  # it is raised in the thread that waits
            result.set_exception(err)
        is_over.set()

    before = {number: signal.signal(number, relay.ring) for number in _signals() if relay.hears_signals}
    try:
        threading.Thread(target=job, name="eyechart-run", daemon=True).start()
        while not is_over.is_set():
            try:
                is_over.wait()
            except KeyboardInterrupt:  # raised here by other means than a signal
                relay.ring()
    finally:
        _restore_handlers(before)
    if relay.n_rings > relay.n_heard:  # the last one came too late for the run
        raise KeyboardInterrupt
    try:
        return result.result()
    except asyncio.CancelledError:
        if relay.n_rings:
            raise KeyboardInterrupt from None
        raise


class _Relay:
    """Takes interrupts from the thread that waits for a run to the event loop of the run."""

    def __init__(self, *, hears_signals: bool) -> None:
        self.hears_signals = hears_signals
        self.n_rings = 0
        self.n_heard = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], Any] = _do_nothing

    async def carry(self, work: Coroutine[Any, Any, T]) -> T:
        """The same work; an interrupt cancels it wherever nothing gentler is arranged by `leading_to`."""
        me = asyncio.current_task()
        assert me is not None
        self._end = me.cancel
        self._loop = asyncio.get_running_loop()
        if self.n_rings:
            self._hear()
        return await work

    @contextlib.contextmanager
    def leading_to(self, stop: Callable[[], None]) -> Iterator[None]:
        """Have interrupts call `stop` meanwhile, in the run's event loop."""
        before, self._end = self._end, stop
        try:
            yield
        finally:
            self._end = before

    def ring(self, *signal_and_frame: object) -> None:
        """Ask for the end of the run. May be called from any thread, and as a signal handler."""
        if signal_and_frame[:1] == (_HANGUP,):
            _leave_closed_terminal()
            if self.n_rings:
                return
        self.n_rings += 1
        if self.n_rings >= _ENOUGH:
            raise KeyboardInterrupt
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the run has ended
                self._loop.call_soon_threadsafe(self._hear)

    def _hear(self) -> None:
        self.n_heard += 1
        self._end()


_relay: ContextVar[_Relay | None] = ContextVar("relay", default=None)


def _do_nothing() -> None:
    return


def _restore_handlers(before: Mapping[signal.Signals, Any]) -> None:
    for number, handler in before.items():
        if handler is not None:  # None: set by something else than Python
            signal.signal(number, handler)


@contextlib.contextmanager
def _watching_main_thread(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """For a run in a thread of the user's, where no signal arrives: look whether one has hit the program."""
    timer: asyncio.TimerHandle | None = None

    def look() -> None:
        nonlocal timer
        if _is_program_interrupted():
            stop()
        else:
            timer = loop.call_later(_LOOK_S, look)

    look()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()


def _is_program_interrupted() -> bool:
    """Whether a KeyboardInterrupt has ended the main thread, or is leaving it.

    It leaves slowly where it waits for us: at the end of `asyncio.run` or of a thread pool's `with`.
    """
    main = threading.main_thread()
    if not main.is_alive():
        return getattr(sys, "last_type", None) is KeyboardInterrupt
    handled: Any = sys._current_exceptions().get(main.ident or 0)
    return isinstance(handled[1] if isinstance(handled, tuple) else handled, KeyboardInterrupt)  # 3.11, later


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, looking for cycles less often.

    Thousands of small things a second come and go, few of them in cycles; this saves a twentieth of the time.
    """
    _allow_connections()
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _OBJECTS), *before[1:])
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(work)
    finally:
        gc.set_threshold(*before)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster event loop, which takes a sixth off the time of a request; Python's own where it is not."""
    try:
        import uvloop
    except ImportError:  # Windows, PyPy
        return None
    return uvloop.new_event_loop


def _allow_connections() -> None:
    """Let the process open as many files as it may: a connection is one, and some systems begin with 256."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(
            OSError, ValueError
        ):  # what the system refuses, it says again when it matters
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


# -- evaluate(): from a plan to a run on disk. Load, ask, score, summarise, as far as the journal does not
# know.
#
# Imported with the package, so whatever takes time to import is imported inside the functions.


def evaluate(plan: Plan, *, told: set[str] | None = None) -> Run:
    """Load, infer, score, summarise: as far as the journal does not already know.

    What was found in the data is told on stderr before the first request, unless it is in `told` already.
    A start that ends in an error before anything was answered leaves no folder behind.
    """
    from eyechart.store import folder as folders
    from eyechart.store.journal import FILE_NAME, Journal

    folders.prepare_folder(plan.folder)
    with folders.lock_folder(plan.folder):
        folders.prepare_folder(plan.folder, fresh=plan.options.fresh)
        journal = Journal.create(plan.folder / FILE_NAME)
        try:
            n_samples = _load(plan, journal, told)
            session = _infer(plan, journal, n_samples)
        except BaseException:
            with contextlib.suppress(EyechartError):
                journal.close()
            with contextlib.suppress(EyechartError):
                if not journal.has_answers():
                    folders.discard_folder(plan.folder)
            raise
        journal.close()
        done = Run(plan.folder, is_interrupted=session.is_interrupted, trouble=session.trouble)
        done.cache_trouble = session.cache_trouble
        done.n_asked = session.n_asked
        done.keep_summary()
        if plan.benchmark.files and not session.is_interrupted:
            done.try_to_write_files()
    return done


def _load(plan: Plan, journal: Journal, told: set[str] | None) -> int:
    """Read the whole source into the journal before anything is spent on it."""
    from eyechart.run.estimate import keep_judge_price
    from eyechart.run.sources import watch_samples

    n_samples = journal.replace_samples(watch_samples(plan, told))
    if n_samples == 0:
        raise DataError(
            f"{plan.benchmark.source.origin}: there is no question in it", hint="is it the right file?"
        )
    journal.set_meta("manifest", plan.manifest())
    keep_judge_price(journal, plan.verdicts.judge, plan.prices)
    return n_samples


@dataclass(slots=True)
class _Session:
    """How one start of a run went."""

    is_interrupted: bool = False
    trouble: ModelError | None = None  # what ended it early, if anything did
    cache_trouble: str = ""
    n_asked: int = 0  # requests that were sent, or answered from the cache


def _infer(plan: Plan, journal: Journal, n_samples: int) -> _Session:
    """Ask and score what the journal does not have yet; raises what leaves nothing to report."""
    if isinstance(plan.model, Studious):
        plan.model.study(journal.samples())
    session = _Session()
    journal.start_session()
    earlier = open_earlier(plan.folder, plan.options, plan.model.identity, plan.earlier)
    known = open_known_replies(plan.options, earlier, plan.model, plan.verdicts.judge)
    try:
        run_async(_drive(plan, journal, n_samples, known, session))
    finally:
        known.close()
        session.cache_trouble = known.trouble
    return session


async def _drive(
    plan: Plan, journal: Journal, n_samples: int, known: KnownReplies, session: _Session
) -> None:
    """The event loop's part: until all is done, or the run is interrupted."""
    import asyncio

    from eyechart.report.live import LiveLine

    executor = _make_executor(plan, journal, known)
    executor.progress.total = n_samples * plan.options.trials
    label = f"{plan.benchmark.name} · {plan.model.name}"
    line = LiveLine(executor.snapshot, label=label, quiet=not plan.options.progress)
    executor.announce_to(line.say)
    try:
        with line, interruptible(executor, line.say):
            await _ask_and_score(plan, journal, executor, session)
    except asyncio.CancelledError:
        if not executor.is_interrupted:
            raise  # cancelled by something else than an interrupt
    finally:
        session.is_interrupted = executor.is_interrupted
        session.n_asked = executor.progress.sent + executor.progress.cached
        executor.close()
        await plan.model.close()
        if plan.verdicts.judge is not None:
            await plan.verdicts.judge.close()


async def _ask_and_score(plan: Plan, journal: Journal, executor: LocalExecutor, session: _Session) -> None:
    """Ask, then score. A model that has answered, now or in an earlier start, leaves something to report."""
    try:
        await executor.run(journal.tasks(plan.options.trials, together=share_requests(plan)))
    except ModelError as err:
        if not executor.has_answered and err.exit_code != 1:
            raise
        session.trouble = err
    journal.flush()
    await score_rest(
        journal,
        executor.scoring,
        lambda scorer: journal.unscored(scorer, trials=plan.options.trials),
        trials=plan.options.trials,
        n_at_once=plan.options.concurrency,
    )
    if session.trouble is None and isinstance(executor.stop.trouble, ModelError):
        session.trouble = executor.stop.trouble  # the judge's, after the last question


async def score_rest(
    journal: Journal,
    scoring: Scoring,
    find_replies: Callable[[Scorer], Iterable[Answered]],
    *,
    trials: int,
    n_at_once: int,
) -> None:
    """Score replies that have no verdict yet: of an earlier start, by another scorer, of a circle."""
    from eyechart.engine.judge import judge_circles

    for scorer in (*scoring.beside, scoring.scorer):
        await scoring.score_all(scorer, find_replies(scorer), n_at_once=n_at_once)
        if scoring.is_circular:
            await judge_circles(journal, scoring, scorer, trials=trials, n_at_once=n_at_once)


def _make_executor(plan: Plan, journal: Journal, known: KnownReplies) -> LocalExecutor:
    from eyechart.engine.budget import BudgetGate
    from eyechart.engine.executor import LocalExecutor
    from eyechart.run.estimate import make_budget

    options, verdicts = plan.options, plan.verdicts
    executor = LocalExecutor(
        plan.model,
        make_preparer(plan),
        journal,
        verdicts.scorer,
        make_settings(options),
        beside=verdicts.beside,
        judge=verdicts.judge_setup,
        is_circular=plan.benchmark.circular == "headline",
        known=known,
        gate=BudgetGate(make_budget(journal, options, plan.prices, verdicts.judge)),
    )
    executor.progress.score_sum, executor.progress.weight_sum = journal.score_so_far(plan.scorer)
    return executor


# -- What the options of a run say to the engine, whether a model is asked or a judge alone.


def make_settings(options: Options) -> EngineSettings:
    """How hard to push, and when to give up."""
    from eyechart.engine.retry import EngineSettings, RetryPolicy

    return EngineSettings(
        concurrency=options.concurrency,
        is_adaptive=options.adaptive,
        rpm=options.rpm,
        tpm=options.tpm,
        give_up_after=options.give_up_after,
        timeout_s=options.timeout_s,
        retry=RetryPolicy(attempts=options.retries + 1),
    )


def open_known_replies(options: Options, earlier: EarlierRuns | None, *asked: Model | None) -> KnownReplies:
    """Replies that need not be asked for: of earlier runs, and of the response cache if an endpoint is asked.

    To be closed in the end.
    """
    from eyechart.engine.sample import KnownReplies

    responses = None
    if options.cache and any(capabilities_of(model).is_endpoint for model in asked):
        from eyechart.store.cache import ResponseCache

        responses = ResponseCache.open()
    return KnownReplies(responses, is_read=not options.fresh, earlier=earlier)


def open_earlier(
    folder: Path, options: Options, identity: Mapping[str, Any] | None, journals: Iterable[Path] = ()
) -> EarlierRuns | None:
    """Other runs of the same benchmark and model, and `journals` besides; to be closed in the end.

    With another selection or other settings a run has another folder, and what both ask is asked once.
    """
    from eyechart.store.folder import EarlierRuns, find_siblings

    if options.fresh:
        return None
    return EarlierRuns([*find_siblings(folder), *journals], identity) or None
