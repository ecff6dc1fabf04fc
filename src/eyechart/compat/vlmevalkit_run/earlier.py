"""Predictions that lie there from an earlier time, be it VLMEvalKit's own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from eyechart.compat.evalscope.places import FORMATS
from eyechart.compat.evalscope.task import ModelEntry, Task
from eyechart.errors import UsageError
from eyechart.replacing import replacing
from eyechart.store.folder import file_safe

RUNS = "runs"  # where our own journals lie, beside the folders of the models


def bring_predictions(task: Task, say: Callable[[str], None]) -> None:
    """For a task that only scores: fetch predictions out of VLMEvalKit's folder of the newest time.

    Those that VLMEvalKit wrote hold replies, but not what was asked for them: they can be scored, and none of
    them stands in for a request. A task that is told to go on with them is refused before it replaces them.
    """
    root = Path(task.work_dir).expanduser()
    for model in task.models:
        for data in task.data:
            folder, stem = root / model.name, f"{model.name}_{data.name}"
            here = next(_named(folder, stem), None)
            if task.mode == "eval" and here is None:
                _fetch(folder, stem, say)
            elif task.mode != "eval" and task.reuse and here is not None and not _is_asked(root, model):
                raise UsageError(
                    f"{here} was not made by eyechart, and --reuse cannot go on with it",
                    hint="--mode eval scores it as it is; without --reuse it is replaced",
                )


def _is_asked(root: Path, model: ModelEntry) -> bool:
    """Whether one of our journals is of questions to that model, and not only of verdicts on a file."""
    begin = f"{file_safe(model.spec)}-" if model.spec.startswith("openai/") else ""
    return any(path.name.startswith(begin) for path in root.glob(f"{RUNS}/*/*"))


def count_failed(task: Task) -> dict[str, int]:
    """How many predictions say that there was no answer, by the stem of their file; where there are some."""
    from eyechart.data.replies import read_replies

    found = {}
    for model in task.models:
        for data in task.data:
            stem = f"{model.name}_{data.name}"
            for path in _named(Path(task.work_dir).expanduser() / model.name, stem):
                if n := len(read_replies(path).skipped):
                    found[stem] = n
    return found


def _fetch(folder: Path, stem: str, say: Callable[[str], None]) -> None:
    """The newest of the folders T<date>…, which VLMEvalKit makes for every start."""
    starts = sorted(
        (one for one in folder.glob("T*") if one.is_dir()), key=lambda one: one.name, reverse=True
    )
    found = next((path for start in starts for path in _named(start, stem)), None)
    if found is not None:
        with replacing(folder / found.name) as place:
            shutil.copyfile(found, place)
        say(f"scoring the predictions of {found.parent}")


def _named(folder: Path, stem: str) -> Iterator[Path]:
    yield from (path for ending in FORMATS if (path := folder / f"{stem}.{ending}").is_file())
