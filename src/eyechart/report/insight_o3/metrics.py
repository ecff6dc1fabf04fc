"""InSight-o3's figures: counts by group, three rates, and their mean and spread over trials.

Quirk kept (Q5): a sample without a verdict stays in the denominator of the accuracy, as if it were wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from eyechart.exchange import add_in_order

# How a sample ends: with a verdict, with a reply that did not end by itself, or without either.
End: TypeAlias = Literal["correct", "wrong", "incomplete", "invalid"]

_RATES = ("success_rate", "completion_rate", "accuracy")
NO_SUMMARY = "N/A"


def trial_metrics(ends: Iterable[tuple[str, End]]) -> dict[str, Any]:
    """What eval_metrics.json holds, from the group and the end of every sample of one trial.

    >>> metrics = trial_metrics([("map", "correct"), ("map", "incomplete"), ("chart", "invalid")])
    >>> metrics["overall_accuracy"], metrics["category_completion_rate"]
    (0.3333333333333333, {'map': 0.5, 'chart': 0.0})
    """
    groups: dict[str, dict[str, int]] = {}
    for group, end in ends:
        groups.setdefault(group, _no_counts())[end] += 1
    for counts in groups.values():
        counts["total"] = sum(counts.values())
    overall = {name: sum(counts[name] for counts in groups.values()) for name in (*_no_counts(), "total")}
    by_group = {group: _rates(counts) for group, counts in groups.items()}
    return {
        **{f"overall_{name}": rate for name, rate in _rates(overall).items()},
        "overall_stats": overall,
        **{f"category_{name}": {group: rates[name] for group, rates in by_group.items()} for name in _RATES},
        "category_stats": groups,
    }


def summary_metrics(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What summary_metrics.json holds: mean and population deviation of every rate over the trials."""
    overall = {f"overall_{name}": _spread([trial[f"overall_{name}"] for trial in trials]) for name in _RATES}
    by_group = {}
    for name in _RATES:
        tables = [trial[f"category_{name}"] for trial in trials]
        by_group[f"category_{name}"] = {
            group: _spread([table[group] for table in tables if group in table])
            for group in dict.fromkeys(group for table in tables for group in table)
        }
    return {"num_trials": len(trials), **overall, **by_group}


def gather_row(dataset: str, summary: Mapping[str, Any] | None) -> dict[str, str]:
    """The cells of the authors' results table: the benchmark's, and those of its groups.

    >>> gather_row("vstar", summary_metrics([trial_metrics([("direct", "correct")])]))
    {'vstar': '100.0±0.0 @1', 'vstar-direct': '100.0±0.0 @1'}
    >>> gather_row("vstar", None)
    {'vstar': 'N/A'}
    """
    if summary is None:
        return {dataset: NO_SUMMARY}
    cells = {dataset: summary["overall_accuracy"]}
    cells |= {f"{dataset}-{group}": value for group, value in summary["category_accuracy"].items()}
    return {name: _cell(value, summary["num_trials"]) for name, value in cells.items()}


def gather_warnings(summary: Mapping[str, Any]) -> list[str]:
    """The rates below 1, which the authors' results table warns of: its accuracy is too low by as much."""
    rates = {"success_rate": "Overall success rate", "completion_rate": "Overall completion rate"}
    return [label for name, label in rates.items() if summary[f"overall_{name}"]["mean"] < 1]


def _no_counts() -> dict[str, int]:
    return {"correct": 0, "wrong": 0, "incomplete": 0, "invalid": 0}


def _rates(counts: Mapping[str, int]) -> dict[str, float]:
    judged = counts["correct"] + counts["wrong"]
    ended = judged + counts["incomplete"]
    total = counts["total"]
    return {
        "success_rate": judged / total if total else 0.0,
        "completion_rate": judged / ended if ended else 0.0,
        "accuracy": counts["correct"] / total if total else 0.0,
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    mean = add_in_order(values) / len(values)
    squares = add_in_order((value - mean) ** 2 for value in values)
    return {"mean": mean, "std": math.sqrt(squares / len(values))}


def _cell(value: Mapping[str, float], trials: int) -> str:
    return f"{round(value['mean'] * 100, 1)}±{round(value['std'] * 100, 1)} @{trials}"
