"""``status.json``: how far each set of questions of a model is, as VLMEvalKit keeps it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from eyechart.compat.evalscope.places import hidden
from eyechart.compat.evalscope.task import Task
from eyechart.model.redact import HIDDEN, without_secrets
from eyechart.store.folder import make, write_json

FILE_NAME = "status.json"
_LOCK_NAME = ".status.lock"
_HOLDING_KEYS = ("extra_body", "judge_args")  # flags whose value may hold a key inside
State = Literal["pending", "infer", "eval", "done"]


class Status:
    """The status file of one model; what it says of sets that are not asked now is kept.

    Several processes may ask one model about different sets: each adds to what the others have written.
    """

    def __init__(self, folder: Path, model: str, task: Task) -> None:
        self._path = folder / FILE_NAME
        self._task = task
        self._head = {
            "schema_version": "1.0",
            "eval_id": f"T{datetime.now(UTC):%Y%m%d-%H%M%S}",
            "created_at": _now(),
            "updated_at": _now(),
            "commit": "",
            "argv": without_keys(sys.argv, task),
            "model_name": model,
            "mode": task.mode,
            "reuse": task.reuse,
            "reuse_aux": "all",
            "api_mode": True,
            "world_size": 1,
            "pred_format": os.environ.get("PRED_FORMAT", "xlsx"),
            "eval_format": os.environ.get("EVAL_FORMAT", "csv"),
        }

    def is_done(self, data: str) -> bool:
        """Whether a set was done at an earlier time."""
        said = _datasets(_earlier(self._path)).get(data)
        return isinstance(said, Mapping) and said.get("status") == "done"

    def say(self, data: str, status: State, **fields: Any) -> None:
        """Note how far a set is, on disk."""
        usual: dict[str, Any] = {
            "prediction_file": None,
            "judge_model": None,
            "source_run": None,
            "reuse_aux": "all",
            "skip_reason": None,
            "error_message": None,
            "primary_metric": None,
            "metrics": {},
        }
        error = fields.get("error_message")
        if error:
            fields["error_message"] = hidden(str(error), self._task)
        make(self._path.parent)
        with _alone(self._path.parent):
            earlier = _earlier(self._path)
            kept = {name: earlier[name] for name in ("eval_id", "created_at") if earlier.get(name)}
            line = {"status": status, **usual, **fields, "updated_at": _now()}
            datasets = {**_datasets(earlier), data: line}
            write_json(self._path, {**self._head, **kept, "updated_at": _now(), "datasets": datasets})


def without_keys(arguments: Sequence[str], task: Task) -> list[str]:
    """A command line that may be written down: no key of the task, and none that it does not even use.

    >>> nobody = Task(models=(), data=())
    >>> without_keys(["run", "--judge-key", "sk-1234", "--key=sk-5678", "--limit", "3"], nobody)
    ['run', '--judge-key', '[secret]', '--key=[secret]', '--limit', '3']
    """
    shown, is_key = [], False
    for argument in arguments:
        name, is_joined, _ = argument.partition("=")
        takes_key = argument.startswith("-") and _takes_key(name)
        if takes_key and is_joined:
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(HIDDEN if is_key else hidden(argument, task))
        is_key = takes_key and not is_joined
    return shown


def _takes_key(flag: str) -> bool:
    name = flag.lstrip("-").replace("-", "_").lower()
    return name in _HOLDING_KEYS or without_secrets({name: "x"})[name] == HIDDEN


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Whoever else has something to note there waits, which is a moment."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system: the file is whole all the same, if not always complete
        yield
        return
    with (folder / _LOCK_NAME).open("wb") as file:
        with suppress(OSError):  # a file system without locks: as above
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def metrics_of(lines: Iterable[Mapping[str, str]]) -> dict[str, float]:
    """The numbers of an accuracy table, by split and column.

    >>> metrics_of([{"split": "none", "Overall": "1.0", "map": "0.5"}])
    {'split=none|Overall': 1.0, 'split=none|map': 0.5}
    >>> metrics_of([{"Overall": "0.25"}])
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


def _earlier(path: Path) -> Mapping[str, Any]:
    try:
        said = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError):
        return {}
    return said if isinstance(said, Mapping) else {}


def _datasets(said: Mapping[str, Any]) -> Mapping[str, Any]:
    found = said.get("datasets")
    return found if isinstance(found, Mapping) else {}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
