"""Prediction files of a run under way, as the original leaves them: after so many answers, at an early end.

They are for people and scripts that look into the folder. Nothing depends on them: every answer is safe in
the run's journal as soon as it is there, and going on reads that.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyechart.errors import EyechartError
from eyechart.replacing import make_folder
from eyechart.report.files import write_json
from eyechart.report.multi import answered
from eyechart.report.multi.files import INDENT
from eyechart.run.record import Run
from eyechart.store.journal import FILE_NAME

FOLDER = "checkpoints"
_LOOK_EVERY_S = 0.5
_SHARE = 0.05  # of the time, at most, that looking takes


def write_predictions(done: Run, path: Path, *, is_over: bool) -> Path:
    """Write every question by its id. Before the run is over, those without an answer have no prediction."""
    entries: dict[str, dict[str, Any]] = {}
    for result in done.samples(0):
        entry = answered(result)
        if result.reply is None and not is_over:
            del entry["prediction"]  # what has one, even an empty one, is done: so the original reads it
            if result.failure is None:
                del entry["feedback"]
        entries[result.sample.id] = entry
    make_folder(path.parent)
    return write_json(path, entries, indent=INDENT)


@contextlib.contextmanager
def kept(run_folder: Path, folder: Path, save_every: int) -> Iterator[None]:
    """Write a checkpoint whenever so many more questions are answered; -1: none."""
    if save_every < 0:
        yield
        return
    is_over = threading.Event()
    watch = (run_folder, folder / FOLDER, save_every, is_over, count_answers(run_folder))
    writer = threading.Thread(target=_watch, args=watch, name="eyechart-checkpoints")
    writer.start()
    try:
        yield
    finally:
        is_over.set()
        writer.join()


def count_answers(run_folder: Path) -> int:
    """How many questions are answered by now; 0 where nothing can be read yet."""
    with contextlib.suppress(EyechartError):
        if (run_folder / FILE_NAME).exists() and (done := Run(run_folder)).manifest:
            return sum(1 for _ in done.verdicts())
    return 0


def _watch(run_folder: Path, folder: Path, save_every: int, is_over: threading.Event, n_before: int) -> None:
    pause_s = _LOOK_EVERY_S
    while not is_over.wait(pause_s):
        start = time.monotonic()
        n_answered = count_answers(run_folder)
        if n_answered // save_every > n_before // save_every:
            with contextlib.suppress(EyechartError, OSError):  # a copy could not be made; the run goes on
                write_predictions(Run(run_folder), folder / f"prediction_{n_answered}.json", is_over=False)
        n_before = max(n_before, n_answered)
        pause_s = max(_LOOK_EVERY_S, (time.monotonic() - start) / _SHARE)
