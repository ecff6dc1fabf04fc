"""The event loop of a run: started wherever we are called from, ended cleanly by Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from eyechart.engine.local import LocalExecutor

T = TypeVar("T")

_OBJECTS = 20_000
_FILES = 65_536


@contextlib.contextmanager
def interruptible(executor: LocalExecutor, say: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C (or SIGTERM) ends the run cleanly; a second one at once."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    me = asyncio.current_task()

    def stop() -> None:
        if executor.is_interrupted and me is not None:
            me.cancel()
            return
        waiting = executor.in_flight
        answers = f"{waiting} answer{'s' * (waiting != 1)}"
        say(f"stopping: waiting for {answers} under way (again to leave at once)" if waiting else "stopping")
        executor.interrupt()

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in signals}
    for number in signals:
        with contextlib.suppress(NotImplementedError):  # event loops of Windows know no signals
            loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number in signals:
            with contextlib.suppress(NotImplementedError):
                loop.remove_signal_handler(number)
            if before[number] is not None:  # None: set by something else than Python
                signal.signal(number, before[number])


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, in a thread of its own where a loop is running already (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(work)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(_run, work).result()


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
