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
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from eyechart.engine.executor import Executor


T = TypeVar("T")

_HANGUP = getattr(signal, "SIGHUP", None)  # the terminal was closed; Windows has no such signal
_ENOUGH = 3  # interrupts: one ends the run cleanly, two at once, and three if even that takes too long
_LOOK_S = 0.25
_OBJECTS = 20_000
_FILES = 65_536


@contextlib.contextmanager
def handle_interrupts(executor: Executor, say: Callable[[str], None]) -> Iterator[None]:
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
