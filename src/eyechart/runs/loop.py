"""The event loop of a run: started from a script, a notebook or a thread, ended cleanly by an interrupt."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar, cast

from eyechart.engine.executor import Executor

T = TypeVar("T")

_HANGUP = getattr(signal, "SIGHUP", None)  # the terminal was closed; Windows has no such signal
_ENOUGH = 3  # interrupts: one ends the run cleanly, two at once, and three if even that takes too long
_LOOK_S = 0.25  # between looks at the main thread
_OBJECTS = 20_000  # allocations between garbage collections
_FILES = 65_536  # open files, at most
# The GIL changes hands after so much work in Python. The thread that writes the journal needs it several
# times for a commit, and by default waits up to 5 ms each time: a kill would lose more replies.
_TURN_S = 0.0005


@contextlib.contextmanager
def handle_interrupts(executor: Executor, say: Callable[[str], None]) -> Iterator[None]:
    """Stop cleanly on the first interrupt (Ctrl-C, SIGTERM, a notebook's Stop), at once on the second.

    SIGHUP, when a terminal is closed, stops cleanly too. Both the system and the shell may send it, so it
    never counts as the second interrupt.
    """
    loop = asyncio.get_running_loop()
    me = asyncio.current_task()

    def stop() -> None:
        if executor.is_interrupted and me is not None:
            me.cancel()
            return
        waiting = executor.in_flight
        answers = f"{waiting} answer{'s' * (waiting != 1)}"
        held = f": waiting for {answers} in flight (interrupt again to stop at once)" if waiting else ""
        say(f"stopping{held}")
        executor.interrupt()

    relay = _relay.get()
    assert relay is not None  # of `run_async`
    watching = contextlib.nullcontext() if relay.has_signals else _watching_main_thread(loop, stop)
    with relay.redirect_to(stop), watching:
        yield


def _leave_closed_terminal() -> None:
    """Discard output to a terminal that is gone: failing to print must not change the exit code."""
    for number in (1, 2):  # the descriptors, whatever `sys.stdout` is
        with contextlib.suppress(OSError):
            if stat.S_ISCHR(os.fstat(number).st_mode) and not os.isatty(number):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, number)
                os.close(nowhere)


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; in a separate thread if an event loop is already running (a notebook).

    Signals reach the main thread only. Its handlers would raise in the middle of the run, or while we wait
    for the thread, so they are replaced by one that tells the run.
    """
    relay = _relay.get()
    if relay is None or relay.is_taken:  # else it is that of `run_aside`
        relay = _Relay(has_signals=threading.current_thread() is threading.main_thread())
    result: Future[T] = Future()
    is_over = threading.Event()

    def job() -> None:
        _relay.set(relay)
        try:
            result.set_result(_run(relay.carry(work)))
        except BaseException as err:  # raised again below
            result.set_exception(err)
        is_over.set()

    numbers = [signal.SIGINT, signal.SIGTERM] if relay.has_signals else []
    if relay.has_signals and _HANGUP is not None and signal.getsignal(_HANGUP) != signal.SIG_IGN:
        numbers.append(_HANGUP)  # unless it is ignored (``nohup``)
    before = {number: signal.signal(number, relay.interrupt) for number in numbers}
    try:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            copy_context().run(job)
        else:
            threading.Thread(target=job, name="eyechart-run", daemon=True).start()
        while not is_over.is_set():
            try:
                is_over.wait()
            except KeyboardInterrupt:  # raised here by other means than a signal
                relay.interrupt()
    finally:
        for number, handler in before.items():
            if handler is not None:  # None: set by something else than Python
                signal.signal(number, handler)
    if relay.n_interrupts > relay.n_passed_on:  # the last one came too late for the run
        raise KeyboardInterrupt
    try:
        return result.result()
    except asyncio.CancelledError:
        if relay.n_interrupts:
            raise KeyboardInterrupt from None
        raise


async def run_aside(work: Callable[[], T]) -> T:
    """Run in another thread without blocking the event loop; cancelling the task interrupts the run.

    An interrupt of the program reaches the run as it reaches one in a user's own thread.
    """
    relay = _Relay(has_signals=False)

    def job() -> tuple[T | None, BaseException | None]:
        _relay.set(relay)
        try:
            return work(), None
        except BaseException as err:  # a KeyboardInterrupt would end the event loop from inside a task
            return None, err

    running = asyncio.ensure_future(asyncio.to_thread(job))
    try:
        found, error = await asyncio.shield(running)
    except asyncio.CancelledError:
        relay.interrupt()
        await running
        raise
    if error is not None:
        raise error
    return cast("T", found)


class _Relay:
    """Passes interrupts from the waiting thread to the event loop of the run."""

    def __init__(self, *, has_signals: bool) -> None:
        self.has_signals = has_signals
        self.n_interrupts = 0
        self.n_passed_on = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], Any] = lambda: None

    @property
    def is_taken(self) -> bool:
        return self._loop is not None

    async def carry(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work`; an interrupt cancels it, unless `redirect_to` has set a gentler way to stop."""
        me = asyncio.current_task()
        assert me is not None
        self._end = me.cancel
        self._loop = asyncio.get_running_loop()
        if self.n_interrupts:
            self._pass_on()
        return await work

    @contextlib.contextmanager
    def redirect_to(self, stop: Callable[[], None]) -> Iterator[None]:
        """Let interrupts call `stop` in the run's event loop during the block."""
        before, self._end = self._end, stop
        try:
            yield
        finally:
            self._end = before

    def interrupt(self, *signal_and_frame: object) -> None:
        """Ask for the end of the run. May be called from any thread, and as a signal handler."""
        if signal_and_frame[:1] == (_HANGUP,):
            _leave_closed_terminal()
            if self.n_interrupts:
                return
        self.n_interrupts += 1
        if self.n_interrupts >= _ENOUGH:
            raise KeyboardInterrupt
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the run has ended
                self._loop.call_soon_threadsafe(self._pass_on)

    def _pass_on(self) -> None:
        self.n_passed_on += 1
        self._end()


_relay: ContextVar[_Relay | None] = ContextVar("relay", default=None)


@contextlib.contextmanager
def _watching_main_thread(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """Poll for an interrupt of the program: a run in a user's own thread receives no signals."""
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
    """Whether a KeyboardInterrupt has ended the main thread, or is being handled in it.

    The latter lasts while the main thread waits for us, in `asyncio.run` or in a thread pool's `with`.
    """
    main = threading.main_thread()
    if not main.is_alive():
        return getattr(sys, "last_type", None) is KeyboardInterrupt
    handled: Any = sys._current_exceptions().get(main.ident or 0)
    return isinstance(handled[1] if isinstance(handled, tuple) else handled, KeyboardInterrupt)  # 3.11, later


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end with less frequent garbage collection, and shorter turns of threads.

    A run makes thousands of short-lived objects per second, few of them in cycles; collecting them less often
    saves 5 % of the time.
    """
    _allow_connections()
    new_loop = None  # asyncio's own
    with contextlib.suppress(ImportError):  # Windows, PyPy
        import uvloop  # saves a sixth of the time per request

        new_loop = uvloop.new_event_loop
    before, turn_s = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(max(before[0], _OBJECTS), *before[1:])
    sys.setswitchinterval(min(turn_s, _TURN_S))
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            return runner.run(work)
    finally:
        gc.set_threshold(*before)
        sys.setswitchinterval(turn_s)


def _allow_connections() -> None:
    """Raise the limit of open files: each connection is one, and some systems start with 256."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # refused: opening a file then fails with a message
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
