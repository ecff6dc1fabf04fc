"""The result files of InSight-o3's pipeline, from any run of one of its benchmarks.

``args.json``, ``summary_metrics.json`` and, for each trial, ``eval_metrics.json``, ``eval_records.jsonl`` and
``done``, the mark of a trial in which every sample has come to an end. Keys are never written, and records
hold what is known of each picture instead of its pixels.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data.insight_o3 import annotation_row
from eyechart.model.redact import without_secrets
from eyechart.registry import exporter
from eyechart.replacing import make_folder
from eyechart.report.files import drop_files, text_file, write_json
from eyechart.report.insight_o3.metrics import (
    End,
    gather_row,
    gather_warnings,
    summary_metrics,
    trial_metrics,
)
from eyechart.report.insight_o3.records import end_of, eval_result, group_of, official_records
from eyechart.types import Export

__all__ = ["gather_row", "gather_warnings", "official_records", "summary_metrics", "trial_metrics"]

_OF_A_TRIAL = ("eval_metrics.json", "eval_records.jsonl", "done")


@exporter("insight-o3")
def write_insight_o3(export: Export) -> Sequence[Path]:
    """Write what the authors' command writes. The summary waits until every trial is whole."""
    folder, n_trials = export.folder, int(export.manifest.get("trials") or 1)
    arguments = _write(folder / "args.json", without_secrets(dict(export.manifest)))
    records = _records(export)
    trials = [_write_trial(export, trial, records) for trial in range(n_trials)]
    _drop_trials(folder, n_trials)
    written = [arguments, *(path for trial in trials for path in trial.paths)]
    summary = folder / "summary_metrics.json"
    if all(trial.is_whole for trial in trials):
        written.append(_write(summary, summary_metrics([trial.metrics for trial in trials])))
    else:
        summary.unlink(missing_ok=True)  # of an earlier time; it would no longer be true
    return written


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    """One trial that has been written."""

    paths: tuple[Path, ...]
    metrics: Mapping[str, Any]
    is_whole: bool  # every sample has come to an end


def _records(export: Export) -> dict[int, dict[str, Any]]:
    """The annotation row of every sample, by position. Types are guessed over all rows, so all are read."""
    rows = {result.position: annotation_row(result.sample) for result in export.results(0)}
    return dict(zip(rows, official_records(list(rows.values())), strict=True))


def _write_trial(export: Export, trial: int, records: Mapping[int, Mapping[str, Any]]) -> _Trial:
    folder = _trial_folder(export.folder, trial)
    make_folder(folder)
    metrics, found, done = (folder / name for name in _OF_A_TRIAL)
    ends: list[tuple[str, End]] = []
    n_open = 0
    with text_file(found) as file:
        for result in export.results(trial):
            if result.outcome is None:
                n_open += 1
                continue
            record, evaluated = records[result.position], eval_result(result)
            ends.append((group_of(record), end_of(evaluated)))
            plain = {name: _without_nan(value) for name, value in record.items()}
            file.write(json.dumps({**plain, "eval_result": evaluated}, default=str) + "\n")
    figures = trial_metrics(ends)
    _write(metrics, figures)
    is_whole = n_open == 0 and bool(ends)
    if is_whole:
        with text_file(done):
            pass  # an empty file is the mark
    else:
        done.unlink(missing_ok=True)
    paths = (metrics, found, done) if is_whole else (metrics, found)
    return _Trial(paths=paths, metrics=figures, is_whole=is_whole)


def _trial_folder(folder: Path, trial: int) -> Path:
    return folder / f"trial_{trial}"


def _drop_trials(folder: Path, trial: int) -> None:
    """Trials from an earlier time, when there were more of them. What others keep there is left alone."""
    while (of_trial := _trial_folder(folder, trial)).is_dir():
        drop_files(of_trial, _OF_A_TRIAL)
        trial += 1


def _without_nan(value: Any) -> Any:
    """NaN, which Python writes and JSON does not know, becomes null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(path: Path, content: Mapping[str, Any]) -> Path:
    return write_json(path, content, indent=4, is_ascii=True)
