"""The folder of a task, and the status file of each model in it.

A task has a folder named after the time, in which the same task resumes after an interruption. A marker file
holds the identity of the task and whether it is done; another concurrency or timeout is still the same task.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from eyechart.errors import DataError, EyechartError, StoreError, UsageError
from eyechart.files import atomic_write, lock_handle, read_json
from eyechart.option import list_option_names
from eyechart.pipelines.vlmevalkit.evalscope.config import Task
from eyechart.runs.options import Options
from eyechart.store.folder import discard_folder, lock_folder, prepare_folder, write_json

MARKER = "eyechart_task.json"
CONFIGS = "configs"  # holds the configuration as soon as a task runs
RUNS = "runs"  # eyechart's own run folders
FORMATS = ("xlsx", "tsv", "json")  # of predictions
_STAMP = re.compile(r"\d{8}_\d{6}(_\d{3})?")
_PASSWORD = re.compile(r"(://)[^\s/@'\"]+@")
_FORMAT = "%Y%m%d_%H%M%S"
# Options that change no reply: with other values of these, it is still the same task.
_PACE = frozenset({
    *list_option_names(Options, affects=["pace", "output"]), "allow_private_urls", "thinking",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFolder:
    """The folder of a task."""

    folder: Path
    identity: str = ""  # empty for a folder that the task names, which gets no marker
    is_new: bool = False

    def mark(self, *, is_done: bool) -> None:
        if self.identity:
            content = {"schema": 1, "task": self.identity, "state": "done" if is_done else "running"}
            write_json(self.folder / MARKER, content)

    def discard(self) -> None:
        """Remove a new folder if the task did not run."""
        if self.is_new and not (self.folder / CONFIGS).exists():
            discard_folder(self.folder)


@contextmanager
def take_folder(task: Task) -> Iterator[TaskFolder]:
    """Make or find the folder of a task, and lock it against other processes."""
    root = _root(task)
    if _is_named(task):
        if task.use_cache is not None and not root.is_dir():
            raise UsageError(f"use_cache: no such folder: {root}", hint="give the folder of an earlier task")
        prepare_folder(root)
        yield TaskFolder(folder=root)
        return
    identity = identify_task(task)
    with ExitStack() as stack:
        earlier = _earlier(root, identity, stack, with_done=task.reuse)
        place = TaskFolder(folder=earlier or _new(root, stack), identity=identity, is_new=earlier is None)
        place.mark(is_done=False)
        yield place


def identify_task(task: Task) -> str:
    """A hash of the models, the data and the options that change replies; without API keys."""
    content = {
        "models": [[one.spec, one.name, _select_lasting(one.options)] for one in task.models],
        "data": [[one.name, one.source] for one in task.data],
        "options": _select_lasting(task.options),
    }
    encoded = msgspec.json.encode(content, order="deterministic", enc_hook=repr)
    return hashlib.sha256(encoded).hexdigest()[:16]


def find_predictions(task: Task, model: str, stem: str) -> Path:
    """The newest file of predictions of a model and a dataset, for a task that only scores."""
    for place in find_folders(task):
        if path := next(find_prediction_files(place / model, stem), None):
            return path
    between = "" if _is_named(task) else "*/"
    looked = f"{Path(task.use_cache or task.work_dir)}/{between}{model}/{stem}.xlsx"
    hint = "mode: infer or mode: all writes them"
    if any((place / model / f"{stem}.pkl").is_file() for place in find_folders(task)):
        hint = f"{stem}.pkl is a pickle, which can run any code: if you trust it, save it as .xlsx"
    raise DataError(f"{stem}: no predictions to score (looked for {looked}, .tsv, .json)", hint=hint)


def find_folders(task: Task) -> list[Path]:
    """The folders that may hold the files of a task, the newest first."""
    root = _root(task)
    return [root] if _is_named(task) else _stamped(root)


def _is_named(task: Task) -> bool:
    """Whether the files go into the folder that the task names, not into one named after the time."""
    return task.use_cache is not None or not task.is_stamped


def find_prediction_files(folder: Path, stem: str) -> Iterator[Path]:
    """The files of predictions of a model and a dataset in a folder."""
    yield from (path for ending in FORMATS if (path := folder / f"{stem}.{ending}").is_file())


def _root(task: Task) -> Path:
    """The folder that the task names."""
    root = Path(task.use_cache or task.work_dir).expanduser()
    if root.is_file():
        raise UsageError(f"{root} is a file, not a folder", hint="choose a work_dir of another name")
    return root


def _select_lasting(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in sorted(options.items()) if name not in _PACE}


def _stamped(root: Path) -> list[Path]:
    """The folders of earlier tasks, the newest first."""
    return sorted(
        (one for one in root.glob("*") if _STAMP.fullmatch(one.name) and one.is_dir()), reverse=True
    )


def _earlier(root: Path, identity: str, stack: ExitStack, *, with_done: bool) -> Path | None:
    """The newest folder of the same task that is not done and not in use by another process."""
    for folder in _stamped(root):
        said = read_json(folder / MARKER, dict[str, Any]) or {}  # none: no task, or older than markers
        if said.get("task") != identity or (said.get("state") == "done" and not with_done):
            continue
        with suppress(StoreError):  # in use
            stack.enter_context(lock_folder(folder))
            return folder
    return None


def _new(root: Path, stack: ExitStack) -> Path:
    """A folder named after the current second; further ones of the same second are numbered."""
    prepare_folder(root)
    stamp = datetime.now().strftime(_FORMAT)  # local time
    for number in itertools.count(1):
        folder = root / (stamp if number == 1 else f"{stamp}_{number:03}")
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as err:
            raise StoreError(f"{folder}: {err.strerror or err}", hint="choose another work_dir") from err
        stack.enter_context(lock_folder(folder))
        return folder
    raise AssertionError("numbers do not end")


def write_config(place: TaskFolder, task: Task) -> None:
    """Save the configuration beside the results, without API keys; `eyechart run` runs it again."""
    prepare_folder(place.folder / CONFIGS)
    with atomic_write(place.folder / CONFIGS / "task_config.yaml") as path:
        path.write_text(format_config(task), encoding="utf-8")


def format_config(task: Task) -> str:
    """The configuration of a task as YAML, without API keys."""
    try:
        values = msgspec.json.decode(msgspec.json.encode(dict(task.described), enc_hook=str))
    except (TypeError, ValueError) as err:
        raise EyechartError(f"the configuration cannot be saved: {err}") from err
    return hide_keys(yaml.safe_dump(values, sort_keys=False, allow_unicode=True), task)


def hide_keys(text: str, task: Task) -> str:
    """A text without the API keys of a task and without passwords in URLs."""
    text = _PASSWORD.sub(r"\1[secret]@", text)
    for key in task.list_secrets():
        if len(key) > 3:  # shorter texts are not secret and occur in many words
            text = text.replace(key, "[secret]")
    return text


# -- ``status.json``: the progress of each dataset of a model, as VLMEvalKit writes it

FILE_NAME = "status.json"
_LOCK_NAME = ".status.lock"
State = Literal["pending", "infer", "eval", "done"]
_USUAL: Mapping[str, Any] = {
    "prediction_file": None, "judge_model": None, "source_run": None, "reuse_aux": "all",
    "skip_reason": None, "error_message": None, "primary_metric": None, "metrics": {},
}  # fmt: skip


class Status(msgspec.Struct):
    """What is kept of an existing file."""

    eval_id: str = ""
    created_at: str = ""
    datasets: dict[str, dict[str, Any]] = {}


def read_status(folder: Path) -> Status:
    """What the status file of a model in its folder says; nothing without one."""
    return read_json(folder / FILE_NAME, Status) or Status()


def write_status(folder: Path, model: str, task: Task, data: str, status: State, **fields: Any) -> None:
    """Write the progress of a model on a dataset.

    Several processes may evaluate one model on different datasets: each adds to what the others wrote.
    """
    if error := fields.get("error_message"):
        fields["error_message"] = hide_keys(str(error), task)
    prepare_folder(folder)
    with (folder / _LOCK_NAME).open("wb") as file:
        # Where locks are not supported, the file is valid, but may lack what another process wrote.
        lock_handle(file.fileno(), wait=True)
        earlier, now = read_status(folder), datetime.now(UTC)
        content = {
            "schema_version": "1.0",
            "eval_id": earlier.eval_id or f"T{now:%Y%m%d-%H%M%S}",
            "created_at": earlier.created_at or now.isoformat(timespec="seconds"),
            "updated_at": now.isoformat(timespec="seconds"),
            "commit": "",
            # Other arguments may hold keys.
            "argv": shlex.split(hide_keys(task.described.get("command", ""), task)) or sys.argv[:1],
            "model_name": model,
            "mode": task.mode,
            "reuse": task.reuse,
            "reuse_aux": "all",
            "api_mode": False,  # of VLMEvalKit's scheduler
            "world_size": 1,
            "pred_format": os.environ.get("PRED_FORMAT", "xlsx"),
            "eval_format": os.environ.get("EVAL_FORMAT", "csv"),
        }
        line = {"status": status, **_USUAL, **fields, "updated_at": content["updated_at"]}
        write_json(folder / FILE_NAME, {**content, "datasets": {**earlier.datasets, data: line}})


def read_metrics(lines: Iterable[Mapping[str, str]]) -> dict[str, float]:
    """The numbers of an accuracy table, by split and column.

    >>> read_metrics([{"split": "none", "Overall": "1.0", "map": "0.5"}])
    {'split=none|Overall': 1.0, 'split=none|map': 0.5}
    >>> read_metrics([{"Overall": "0.25"}])
    {'Overall': 0.25}
    """
    found: dict[str, float] = {}
    for line in lines:
        split = f"split={line['split']}|" if "split" in line else ""
        for name, text in line.items():
            if name != "split":
                try:
                    found.setdefault(f"{split}{name}", float(text))
                except (TypeError, ValueError):
                    continue
    return found
