"""``status.json``: how far each set of questions of a model is, as VLMEvalKit keeps it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from eyechart.compat.evalscope.places import hidden
from eyechart.compat.evalscope.task import Task
from eyechart.store.folder import make, write_json

FILE_NAME = "status.json"
State = Literal["pending", "infer", "eval", "done"]


class Status:
    """The status file of one model; what it says of sets that are not asked now is kept."""

    def __init__(self, folder: Path, model: str, task: Task) -> None:
        self._path = folder / FILE_NAME
        self._task = task
        earlier = _earlier(self._path)
        self._datasets: dict[str, Any] = dict(earlier.get("datasets") or {})
        now = _now()
        self._head = {
            "schema_version": "1.0",
            "eval_id": earlier.get("eval_id") or f"T{datetime.now(UTC):%Y%m%d-%H%M%S}",
            "created_at": earlier.get("created_at") or now,
            "updated_at": now,
            "commit": "",
            "argv": [hidden(argument, task) for argument in sys.argv],
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
        said = self._datasets.get(data)
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
        self._datasets[data] = {"status": status, **usual, **fields, "updated_at": _now()}
        self._head["updated_at"] = _now()
        make(self._path.parent)
        write_json(self._path, {**self._head, "datasets": self._datasets})


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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
