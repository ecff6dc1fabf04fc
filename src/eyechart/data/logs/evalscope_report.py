"""EvalScope's report on one data set. It holds no replies, and leads to those it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.json_file import read_bytes
from eyechart.data.logs.entries import decode_entry, refuse_duplicates
from eyechart.data.logs.evalscope import PREDICTION_KEYS, REVIEW_KEYS, read_predictions, read_reviews
from eyechart.errors import DataError
from eyechart.registry import log_format
from eyechart.types import FileSigns, LogEntry, LogReader, ReplyLog

REPORT_KEYS = frozenset({"name", "dataset_name", "model_name", "metrics"})


class _Report(msgspec.Struct, frozen=True, kw_only=True):
    dataset_name: str
    model_name: str
    metrics: list[Any]
    execution_summary: Any = None


@log_format("evalscope")
def find_reader(signs: FileSigns) -> LogReader | None:
    """Tell a report and a line of reviews or predictions by their keys."""
    if signs.shape != "object" or not signs.is_complete:
        return None
    if signs.names >= REVIEW_KEYS:
        return read_reviews
    if signs.names >= PREDICTION_KEYS:
        return read_predictions
    return read_report if signs.names >= REPORT_KEYS else None


def read_report(path: Path, with_questions: bool = True) -> ReplyLog:
    """The replies that a report was made of, beside it: its reviews where the questions are wanted too."""
    report = decode_entry(read_bytes(path), _Report, path.name)
    kind, read = ("reviews", read_reviews) if with_questions else ("predictions", read_predictions)
    root, model = path.parent.parent.parent, path.parent.name
    subsets = _subsets(report)
    files = {name: root / kind / model / f"{path.stem}_{name}.jsonl" for name in subsets}
    there = {name: file for name, file in files.items() if file.is_file()}
    if not there:
        raise DataError(
            f"{path.name}: a report holds no replies, and none lie where it was written "
            f"({kind}/{model}/{path.stem}_*.jsonl)",
            hint=f"give a file of {kind} itself",
        )
    if lost := [name for name, is_certain in subsets.items() if is_certain and name not in there]:
        raise DataError(
            f"{path.name}: the replies of {', '.join(lost[:3])} do not lie beside it "
            f"({files[lost[0]].relative_to(root).as_posix()} is missing)",
            hint=f"put them back, or give a file of {kind} itself",
        )
    entries = [
        entry if len(there) == 1 else _in_subset(entry, name)
        for name, file in there.items()
        for entry in read(file).entries
    ]
    refuse_duplicates(entries, path)
    return ReplyLog(tool="EvalScope", task=report.dataset_name, model=report.model_name, entries=entries)


def _in_subset(entry: LogEntry, subset: str) -> LogEntry:
    """Numbers begin anew in every subset; a question that has a name of its own keeps it."""
    if entry.position is None:
        return entry
    name = f"{subset}/{entry.id}"
    sample = replace(entry.sample, id=name) if entry.sample else None
    return replace(entry, id=name, position=None, sample=sample)


def _subsets(report: _Report) -> dict[str, bool]:
    """The names of a report's subsets, in order, and whether each must have replies of its own.

    One that could lead to another folder is left out. A mean over several subsets has no replies; old
    reports do not tell it apart. A subset of which nothing could be scored stands in the summary of the
    execution alone.
    """
    found: dict[str, bool] = {}
    for metric in report.metrics:
        for category in _list(metric, "categories"):
            for subset in _list(category, "subsets"):
                name = subset.get("name") if isinstance(subset, Mapping) else None
                if isinstance(name, str) and not subset.get("is_aggregate"):
                    found[name] = "is_aggregate" in subset
    summary = report.execution_summary
    asked = summary.get("subsets") if isinstance(summary, Mapping) else None
    if isinstance(asked, Mapping):
        found.update(dict.fromkeys((name for name in asked if isinstance(name, str)), True))
    return {name: certain for name, certain in found.items() if not any(mark in name for mark in "/\\\0")}


def _list(value: Any, key: str) -> list[Any]:
    items = value.get(key) if isinstance(value, Mapping) else None
    return items if isinstance(items, list) else []
