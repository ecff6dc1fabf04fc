"""The result files of InSight-o3's pipeline, from any run of one of its benchmarks.

``args.json``, ``summary_metrics.json`` and, for each trial, ``eval_metrics.json``, ``eval_records.jsonl`` and
``done``, the mark of a trial in which every sample has come to an end. Keys are never written, and records
hold what is known of each picture instead of its pixels.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from eyechart.data.insight_o3 import annotation_row
from eyechart.model.secrets import without_secrets
from eyechart.registry import exporter
from eyechart.report.insight_o3_metrics import (
    End,
    gather_row,
    gather_warnings,
    summary_metrics,
    trial_metrics,
)
from eyechart.report.insight_o3_records import end_of, eval_result, group_of, official_records
from eyechart.store.replacing import replacing
from eyechart.types import Export, Result

__all__ = ["gather_row", "gather_warnings", "official_records", "summary_metrics", "trial_metrics"]


@exporter("insight-o3")
def write_insight_o3(export: Export) -> Sequence[Path]:
    """Write what the authors' command writes. The summary waits until every trial is whole."""
    folder, n_trials = export.folder, int(export.manifest.get("trials") or 1)
    written = [_write_json(folder / "args.json", without_secrets(dict(export.manifest)))]
    trials = [_Trial(folder / f"trial_{number}") for number in range(n_trials)]
    with ExitStack() as stack:
        for trial in trials:
            trial.open(stack)
        for record, result in _with_records(export):
            if result.trial < n_trials:
                trials[result.trial].add(record, result)
    for trial in trials:
        written += trial.close()
    _drop_trials(folder, n_trials)
    summary = folder / "summary_metrics.json"
    if all(trial.is_whole for trial in trials):
        written.append(_write_json(summary, summary_metrics([trial.metrics() for trial in trials])))
    else:
        summary.unlink(missing_ok=True)  # of an earlier time; it would no longer be true
    return written


class _Trial:
    """The folder of one trial while its records come in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records = folder / "eval_records.jsonl"
        self.ends: list[tuple[str, End]] = []
        self.n_open = 0
        self.file: IO[str] | None = None

    @property
    def is_whole(self) -> bool:
        return self.n_open == 0 and bool(self.ends)

    def open(self, stack: ExitStack) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        place = stack.enter_context(replacing(self.records))
        self.file = stack.enter_context(place.open("w", encoding="ascii", newline="\n"))

    def add(self, record: Mapping[str, Any], result: Result) -> None:
        assert self.file is not None, "opened before the first record"
        if result.outcome is None:
            self.n_open += 1
            return
        evaluated = eval_result(result)
        self.ends.append((group_of(record), end_of(evaluated)))
        plain = {name: _without_nan(value) for name, value in record.items()}
        self.file.write(json.dumps({**plain, "eval_result": evaluated}, default=str) + "\n")

    def metrics(self) -> dict[str, Any]:
        return trial_metrics(self.ends)

    def close(self) -> list[Path]:
        done = self.folder / "done"
        written = [_write_json(self.folder / "eval_metrics.json", self.metrics()), self.records]
        if not self.is_whole:
            done.unlink(missing_ok=True)
            return written
        with replacing(done) as place:
            place.write_bytes(b"")
        return [*written, done]


def _drop_trials(folder: Path, number: int) -> None:
    """Trials from an earlier time, when there were more of them. What others keep there is left alone."""
    while (trial := folder / f"trial_{number}").is_dir():
        for name in ("eval_metrics.json", "eval_records.jsonl", "done"):
            (trial / name).unlink(missing_ok=True)
        if not any(trial.iterdir()):
            trial.rmdir()
        number += 1


def _with_records(export: Export) -> Iterator[tuple[Mapping[str, Any], Result]]:
    """Every result with its annotation row. Types are guessed over all rows, so these are read first."""
    rows: dict[int, dict[str, Any]] = {}
    for result in export.results():
        if result.position not in rows:
            rows[result.position] = annotation_row(result.sample)
    records = dict(zip(rows, official_records(list(rows.values())), strict=True))
    for result in export.results():
        yield records[result.position], result


def _without_nan(value: Any) -> Any:
    """NaN, which Python writes and JSON does not know, becomes null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_json(path: Path, content: Mapping[str, Any]) -> Path:
    with replacing(path) as place:
        place.write_text(json.dumps(content, indent=4, default=str), encoding="ascii")
    return path
