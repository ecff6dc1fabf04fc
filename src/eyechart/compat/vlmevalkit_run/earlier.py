"""Predictions that lie there from an earlier time, be it VLMEvalKit's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from eyechart.compat.evalscope.places import predictions_in
from eyechart.compat.evalscope.task import Task
from eyechart.replacing import replacing


def bring_predictions(task: Task, say: Callable[[str], None]) -> None:
    """For a task that only scores: fetch predictions out of VLMEvalKit's folder of the newest time.

    Those that VLMEvalKit wrote hold replies, but not what was asked for them: they can be scored, and none of
    them stands in for a request.
    """
    if task.mode != "eval":
        return
    root = Path(task.work_dir).expanduser()
    for model in task.models:
        for data in task.data:
            folder, stem = root / model.name, f"{model.name}_{data.name}"
            if next(predictions_in(folder, stem), None) is None:
                _fetch(folder, stem, say)


def _fetch(folder: Path, stem: str, say: Callable[[str], None]) -> None:
    """The newest of the folders T<date>…, which VLMEvalKit makes for every start."""
    starts = sorted(
        (one for one in folder.glob("T*") if one.is_dir()), key=lambda one: one.name, reverse=True
    )
    found = next((path for start in starts for path in predictions_in(start, stem)), None)
    if found is not None:
        with replacing(folder / found.name) as place:
            shutil.copyfile(found, place)
        say(f"scoring the predictions of {found.parent}")
