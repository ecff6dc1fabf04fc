"""Callbacks: what other programs are told of a run or a comparison while it happens, such as a tracker.

A callback is a class that is declared with ``@ec.callback("name")`` and has any of these methods; ``--track
name`` makes one object of it per run. All are called in the process of the run, `on_progress` every ten
seconds from a thread of its own, one call at a time. What a callback raises becomes a note, never the end of
a run.

==============================  ============================================================================
on_run_start(folder, manifest)  before the first request: the run's folder, and what is known of the run
on_progress(snapshot)           where the run stands (`eyechart.types.Snapshot`), also at its end
on_run_end(run)                 the finished or interrupted run, with its files
on_compare(comparison)          a comparison (`eyechart compare`, `ec.compare`)
close()                         always the last call, also after an error
==============================  ============================================================================
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence

from eyechart.registry import callbacks
from eyechart.terminal import print_note
from eyechart.types import Snapshot

EVERY_S = 10.0


class Callbacks:
    """The callbacks of one run or comparison."""

    def __init__(self, names: Sequence[str]) -> None:
        """Make them; raises what a name or a missing package is refused with."""
        self._made = [(name, callbacks.get(name)()) for name in dict.fromkeys(names)]
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
                    self._note(f"--track {name}: {method} failed: {type(err).__name__}: {err}")

    def _note(self, text: str) -> None:
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
