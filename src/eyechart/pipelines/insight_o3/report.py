"""The result files of InSight-o3's pipeline, from any run of one of its benchmarks.

``args.json``, ``summary_metrics.json`` and, per trial, ``eval_metrics.json``, ``eval_records.jsonl`` and
``done``, which marks a trial in which every sample has an outcome. Keys are never written; records describe
images instead of holding their pixels. Quirk kept (Q5): a sample without a verdict stays in the denominator
of the accuracy, as if it were wrong.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from eyechart.files import make_folder
from eyechart.model.redact import redact_parameters
from eyechart.pipelines.insight_o3.benchmark import rebuild_row
from eyechart.registry import exporter
from eyechart.report.rows import open_text_file, remove_files, write_json_file
from eyechart.score.number import add_in_order
from eyechart.types import Export, Result

# How a sample ends: with a verdict, with a reply that was cut off, or without either.
End: TypeAlias = Literal["correct", "wrong", "incomplete", "invalid"]
_RATES = ("success_rate", "completion_rate", "accuracy")
NO_SUMMARY = "N/A"
NAN_GROUP = "NaN"  # as Python's JSON spells it

_OF_A_TRIAL = ("eval_metrics.json", "eval_records.jsonl", "done")


@exporter("insight-o3")
def write_insight_o3(export: Export) -> Sequence[Path]:
    """Write what the authors' command writes; the summary only if every trial is complete."""
    folder, n_trials = export.folder, int(export.manifest.get("trials") or 1)
    arguments = _write(folder / "args.json", redact_parameters(dict(export.manifest)))
    records = _records(export)
    trials = [_write_trial(export, trial, records) for trial in range(n_trials)]
    _drop_trials(folder, n_trials)
    written = [arguments, *(path for trial in trials for path in trial.paths)]
    summary = folder / "summary_metrics.json"
    if all(trial.is_whole for trial in trials):
        written.append(_write(summary, summarise_trials([trial.metrics for trial in trials])))
    else:
        summary.unlink(missing_ok=True)  # an earlier one is no longer true
    return written


@dataclass(frozen=True, slots=True, kw_only=True)
class _Trial:
    paths: tuple[Path, ...]
    metrics: Mapping[str, Any]
    is_whole: bool  # every sample has an outcome


def _write_trial(export: Export, trial: int, records: Mapping[int, Mapping[str, Any]]) -> _Trial:
    folder = _trial_folder(export.folder, trial)
    make_folder(folder)
    metrics, found, done = (folder / name for name in _OF_A_TRIAL)
    ends: list[tuple[str, End]] = []
    n_open = 0
    with open_text_file(found) as file:
        for result in export.results(trial):
            if result.outcome is None:
                n_open += 1
                continue
            record, evaluated = records[result.position], make_eval_result(result)
            ends.append((find_group(record), find_end(evaluated)))
            plain = {name: _without_nan(value) for name, value in record.items()}
            file.write(json.dumps({**plain, "eval_result": evaluated}, default=str) + "\n")
    figures = compute_trial_metrics(ends)
    _write(metrics, figures)
    is_whole = n_open == 0 and bool(ends)
    if is_whole:
        with open_text_file(done):
            pass  # an empty file
    else:
        done.unlink(missing_ok=True)
    paths = (metrics, found, done) if is_whole else (metrics, found)
    return _Trial(paths=paths, metrics=figures, is_whole=is_whole)


def _trial_folder(folder: Path, trial: int) -> Path:
    return folder / f"trial_{trial}"


def _drop_trials(folder: Path, trial: int) -> None:
    """Remove the files of trials from an earlier run that had more; other files stay."""
    while (of_trial := _trial_folder(folder, trial)).is_dir():
        remove_files(of_trial, _OF_A_TRIAL)
        trial += 1


def _records(export: Export) -> dict[int, dict[str, Any]]:
    """The annotation row of every sample, by position. Types are guessed over all rows."""
    rows = {result.position: rebuild_row(result.sample) for result in export.results(0)}
    return dict(zip(rows, make_official_records(list(rows.values())), strict=True))


def _without_nan(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(path: Path, content: Mapping[str, Any]) -> Path:
    return write_json_file(path, content, indent=4, is_ascii=True)


# -- Figures: rates by group, and their mean and deviation over trials


def compute_trial_metrics(ends: Iterable[tuple[str, End]]) -> dict[str, Any]:
    """The content of eval_metrics.json, from the group and the end of every sample of one trial.

    >>> metrics = compute_trial_metrics([("map", "correct"), ("map", "incomplete"), ("chart", "invalid")])
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


def summarise_trials(trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The content of summary_metrics.json: mean and population deviation of every rate over the trials."""
    overall = {f"overall_{name}": _spread([trial[f"overall_{name}"] for trial in trials]) for name in _RATES}
    by_group = {}
    for name in _RATES:
        tables = [trial[f"category_{name}"] for trial in trials]
        by_group[f"category_{name}"] = {
            group: _spread([table[group] for table in tables if group in table])
            for group in dict.fromkeys(group for table in tables for group in table)
        }
    return {"num_trials": len(trials), **overall, **by_group}


def _spread(values: Sequence[float]) -> dict[str, float]:
    mean = add_in_order(values) / len(values)
    squares = add_in_order((value - mean) ** 2 for value in values)
    return {"mean": mean, "std": math.sqrt(squares / len(values))}


def format_results_row(dataset: str, summary: Mapping[str, Any] | None) -> dict[str, str]:
    """The cells of the authors' results table: one for the benchmark, one per group.

    >>> format_results_row("vstar", summarise_trials([compute_trial_metrics([("direct", "correct")])]))
    {'vstar': '100.0±0.0 @1', 'vstar-direct': '100.0±0.0 @1'}
    >>> format_results_row("vstar", None)
    {'vstar': 'N/A'}
    """
    if summary is None:
        return {dataset: NO_SUMMARY}
    cells = {dataset: summary["overall_accuracy"]}
    cells |= {f"{dataset}-{group}": value for group, value in summary["category_accuracy"].items()}
    return {name: _cell(value, summary["num_trials"]) for name, value in cells.items()}


def _cell(value: Mapping[str, float], trials: int) -> str:
    return f"{round(value['mean'] * 100, 1)}±{round(value['std'] * 100, 1)} @{trials}"


def find_low_rates(summary: Mapping[str, Any]) -> list[str]:
    """The rates below 1, of which the authors' results table warns: they lower the accuracy."""
    rates = {"success_rate": "Overall success rate", "completion_rate": "Overall completion rate"}
    return [label for name, label in rates.items() if summary[f"overall_{name}"]["mean"] < 1]


# -- Records: what one result says


def make_eval_result(result: Result) -> dict[str, Any]:
    """The `eval_result` of a record, whichever scorer gave the verdict."""
    reply = result.reply
    verdict = _verdict(result)
    inference = {
        "success": reply is not None,
        "fail_reason": "" if reply else "api_error",
        "finish_reason": reply.finish_reason if reply else "",
        "conversations": _conversations(result),
        "last_message_content": reply.text if reply else "",
    }
    return {
        "sample_index": result.position,
        "success": verdict["success"],
        "fail_reason": verdict["fail_reason"],
        "inference_result": inference,
        "extracted_answer": verdict["extracted_answer"],
        "is_correct": verdict["is_correct"],
    }


def find_end(evaluated: Mapping[str, Any]) -> End:
    """How a sample counts, from its `eval_result`."""
    if evaluated["success"]:
        return "correct" if evaluated["is_correct"] else "wrong"
    return "incomplete" if evaluated["fail_reason"].startswith("finish_reason:") else "invalid"


def _verdict(result: Result) -> Mapping[str, Any]:
    reply, score = result.reply, result.score
    if reply is None:
        return _failed("inference_failed")
    if score is not None and "success" in score.detail:  # of the official scorer
        return score.detail
    if reply.finish_reason != "stop":
        return _failed(f"finish_reason:{reply.finish_reason}")
    if score is None:
        return _failed("scoring_failed")
    if score.outcome == "unscored":
        return _failed(str(score.detail.get("fail_reason") or "unscored"))
    is_correct = score.outcome == "correct"
    return {"success": True, "fail_reason": None, "extracted_answer": score.read, "is_correct": is_correct}


def _failed(reason: str) -> dict[str, Any]:
    return {"success": False, "fail_reason": reason, "extracted_answer": None, "is_correct": False}


def _conversations(result: Result) -> list[dict[str, Any]]:
    """The messages as sent, with the record of each image in place of its pixels."""
    turns: list[dict[str, Any]] = [
        {
            "role": turn["role"],
            "content": [
                {"type": "text", "text": part["text"]}
                if "text" in part
                else {"type": "image", **part["image"]}
                for part in turn["parts"]
            ],
        }
        for turn in result.asked
    ]
    if result.reply is not None:
        turns.append({"role": "assistant", "content": result.reply.text})
    return turns


# -- Rows as the official loader reads them
#
# The authors read annotation files with pandas, which guesses types over whole columns (quirk Q7): texts that
# all look like numbers become numbers, and a key that a row lacks is NaN. Records and groups follow. Not
# reproduced: columns whose name looks like a date, at which the official code fails.


def make_official_records(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows as `pandas.read_json` gives them back, without pandas.

    >>> make_official_records([{"answer": "5", "options": "A. 1"}, {"answer": " 7"}])
    [{'answer': 5, 'options': 'A. 1'}, {'answer': 7, 'options': nan}]
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [_column([row.get(name, math.nan) for row in rows]) for name in names]
    return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def find_group(record: Mapping[str, Any]) -> str:
    """The group that a record counts in: its category, else its subset, else unknown.

    >>> find_group({"category": math.nan, "subset": "map"}), find_group({"subset": "map"}), find_group({})
    ('NaN', 'map', 'unknown')
    """
    group = next((record[name] for name in ("category", "subset") if name in record), "unknown")
    if isinstance(group, str):
        return group
    if group is None or isinstance(group, bool):
        return {None: "null", True: "true", False: "false"}[group]
    return NAN_GROUP if group != group else str(group)


def _column(values: list[Any]) -> list[Any]:
    if all(isinstance(value, bool) for value in values) or all(type(value) is int for value in values):
        return values
    numbers = [_number(value) for value in values]
    floats = [number for number in numbers if number is not None]
    if len(floats) < len(values):
        return values
    if all(number.is_integer() and abs(number) < 2**63 for number in floats):
        return [int(number) for number in floats]
    return list(floats)


def _number(value: Any) -> float | None:
    """A cell as a float, null as NaN; None if it is not a number."""
    if value is None:
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None
