"""A run as files of EvalScope, for its dashboard.

==================================================  =====================================================
``reports/<model>/<dataset>.json``                  the numbers, rounded to four digits (schema 2)
``predictions/<model>/<dataset>_<subset>.jsonl``    requests and replies
``reviews/<model>/<dataset>_<subset>.jsonl``        scores
``configs/task_config.yaml``                        what was evaluated; the dashboard reads it
==================================================  =====================================================

A subset is a category of the run (or a split), else ``default``. The folder is one run of EvalScope:
``evalscope service --outputs`` takes the folder above it. A failed sample has an error and no score; it
counts in `execution_summary` only. If samples are worth points, or rotations of one question count as one,
the metric is the run's headline and the subsets show plain means.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from eyechart.pipelines.logs.reading import MARK, TRIAL
from eyechart.pipelines.logs.writing import (
    copy_meta,
    encode_json_line,
    format_failure,
    format_messages,
    format_output,
    format_reply_message,
    format_sample,
)
from eyechart.pipelines.vlmevalkit.report import format_model_name
from eyechart.registry import exporter
from eyechart.report.counting import OTHER_VALUES, compute_credit, group_trials
from eyechart.report.rows import open_text_file, write_json_file
from eyechart.report.summary import Headline, compute_headline
from eyechart.score.number import add_in_order
from eyechart.store.folder import make_file_name, prepare_folder
from eyechart.types import Export, Result

DEFAULT = "default"
METRIC = "accuracy"

_SUBSET_KEYS = ("category", "l2-category", "split")  # the first that the run is grouped by
_MAX_SUBSETS = 100  # each has two open files; further ones share a subset
_IDENTITY = {"name": METRIC, "aggregation": "mean", "dimensions": {}}
_SEMANTICS = {
    "semantic_id": "quality.accuracy.ratio",
    "metric_name": "Accuracy",
    "display_name": None,
    "kind": "quality",
    "direction": "higher_is_better",
    "raw_unit": None,
    "value_range": {"min": 0.0, "max": 1.0},
    "display_kind": "percent",
    "display_multiplier": 100.0,
    "display_unit": "%",
    "display_precision": 1,
}


@exporter("evalscope-report")
def write_evalscope_report(export: Export) -> Sequence[Path]:
    """Write predictions and reviews line by line, then the report on them."""
    dataset = make_file_name(str(export.manifest.get("benchmark") or "eyechart"))
    model = format_model_name(str(export.manifest.get("model") or ""))
    numbers = compute_headline(export)
    key = next((key for key in _SUBSET_KEYS if key in numbers.plain.by), "")
    folders = [export.folder / kind / model for kind in ("predictions", "reviews", "reports")]
    for folder in (*folders, export.folder / "configs"):
        prepare_folder(folder)
    report = export.folder / "reports" / model / f"{dataset}.json"
    before = _subsets_before(report)
    subsets = _write_lines(export, folders[0], folders[1], dataset, key)
    kept = {name.casefold() for name in subsets}
    gone = [name for name in before if name.casefold() not in kept]
    for folder, name in itertools.product(folders[:2], gone):
        (folder / f"{dataset}_{name}.jsonl").unlink(missing_ok=True)
    write_json_file(report, _report(export.manifest, numbers, dataset, model, subsets), indent=4)
    config = export.folder / "configs" / "task_config.yaml"
    _write_config(config, export.manifest, dataset, model)
    files = [folder / f"{dataset}_{name}.jsonl" for folder in folders[:2] for name in subsets]
    return [report, config, *files]


def _subsets_before(report: Path) -> set[str]:
    """The subsets of an earlier report; files of those that are gone are removed."""
    try:
        known = msgspec.json.decode(report.read_bytes())["execution_summary"]["subsets"]
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
        return set()
    return {name for name in known if name == _file_part(name)} if isinstance(known, dict) else set()


@dataclass(slots=True)
class _Subset:
    """A subset, while its lines are written."""

    predictions: IO[str]
    reviews: IO[str]
    n_scored: int = 0  # samples
    total: float = 0.0
    counts: dict[str, int] = field(default_factory=lambda: {"requested": 0, "succeeded": 0, "errored": 0})

    def add(self, trials: Sequence[Result], model: str) -> None:
        values = [value for result in trials if (value := compute_credit(result)) is not None]
        if values:
            self.n_scored += 1
            self.total += add_in_order(values) / len(values)
        for result in trials:
            if result.outcome is None:
                continue
            self.counts["requested"] += 1
            self.counts["errored" if result.failure else "succeeded"] += 1
            index = result.position * len(trials) + result.trial
            self.predictions.write(encode_json_line(make_prediction_line(result, index, model)) + "\n")
            self.reviews.write(encode_json_line(make_review_line(result, index)) + "\n")


def _write_lines(
    export: Export, predictions: Path, reviews: Path, dataset: str, key: str
) -> dict[str, _Subset]:
    """Write both files of every subset; they appear when all are complete."""
    by_value: dict[str, _Subset] = {}
    names: dict[str, str] = {}  # casefolded name to the name: file systems may ignore case
    with ExitStack() as stack:
        for trials in group_trials(export.results()):
            if all(result.outcome is None for result in trials):
                continue
            value = _value_of(trials[0], key)
            if value not in by_value and len(by_value) >= _MAX_SUBSETS:
                value = OTHER_VALUES
            if value not in by_value:
                name = _new_name(_file_part(value) or DEFAULT, names)
                said, scored = (
                    stack.enter_context(open_text_file(folder / f"{dataset}_{name}.jsonl"))
                    for folder in (predictions, reviews)
                )
                by_value[value] = _Subset(said, scored)
            by_value[value].add(trials, str(export.manifest.get("model") or "model"))
    return dict(zip(names.values(), by_value.values(), strict=True))


def _value_of(result: Result, key: str) -> str:
    value = result.sample.meta.get(key) if key else None
    return "" if value is None else str(value).strip()


def _new_name(wanted: str, names: dict[str, str]) -> str:
    """A name that no other value has: `maps/charts` and `maps_charts` are two subsets."""
    name = next(
        name
        for name in itertools.chain([wanted], (f"{wanted}_{n}" for n in itertools.count(2)))
        if name.casefold() not in names
    )
    names[name.casefold()] = name
    return name


def _file_part(name: str) -> str:
    """A subset as part of a file name, by which the dashboard finds the file.

    >>> _file_part("maps / charts"), _file_part("../up"), _file_part("图表")
    ('maps _ charts', '_up', '图表')
    """
    return re.sub(r"[^\w .-]+", "_", name).strip(" .")[:80]


def _report(
    manifest: Mapping[str, Any], numbers: Headline, dataset: str, model: str, subsets: Mapping[str, _Subset]
) -> dict[str, Any]:
    scored = {name: subset for name, subset in subsets.items() if subset.n_scored}
    return {
        "schema_version": 2,
        "name": f"{model}@{dataset}",
        "dataset_name": dataset,
        "dataset_pretty_name": str(manifest.get("benchmark", "")),
        "dataset_description": str(manifest.get("about", "")),
        "model_name": model,
        "metrics": [_metric(numbers, scored)] if scored else [],
        "analysis": "N/A",
        "perf_metrics": None,
        "primary_metric_identity": _IDENTITY if scored else None,
        "primary_metric_unavailable_reason": None if scored else "nothing could be scored",
        "judge_summary": None,
        "execution_summary": _execution(subsets, numbers),
        "num": sum(subset.n_scored for subset in scored.values()),
    }


def _metric(numbers: Headline, scored: Mapping[str, _Subset]) -> dict[str, Any]:
    """The headline, and below it the subsets in one category.

    As in EvalScope, means are computed from rounded numbers, so that reading and writing changes nothing.
    """
    parts: list[dict[str, Any]] = [
        {
            "name": name,
            "score": _round(subset.total / subset.n_scored),
            "num": subset.n_scored,
            "metadata": None,
            "is_aggregate": False,
        }
        for name, subset in scored.items()
    ]
    n = sum(part["num"] for part in parts)
    mean = _round(add_in_order(part["score"] * part["num"] for part in parts) / n)
    macro = _round(add_in_order(part["score"] for part in parts) / len(parts))
    category = {"name": [DEFAULT], "num": n, "score": mean, "macro_score": macro, "subsets": parts}
    return {
        "identity": _IDENTITY,
        "legacy_name": None,
        "num": n,
        "score": _round(numbers.score or 0.0),
        "macro_score": mean,
        "categories": [category],
        "semantics": _SEMANTICS,
    }


def _execution(subsets: Mapping[str, _Subset], numbers: Headline) -> dict[str, Any]:
    total = {
        name: sum(subset.counts[name] for subset in subsets.values())
        for name in ("requested", "succeeded", "errored")
    }
    is_incomplete = bool(total["errored"] or numbers.plain.overall.pending)
    each = {name: subset.counts for name, subset in subsets.items()}
    return {**total, "incomplete": is_incomplete, "subsets": each}


def _write_config(path: Path, manifest: Mapping[str, Any], dataset: str, model: str) -> None:
    import yaml

    known = {name: manifest[name] for name in ("scorer", "parity", "rules", "trials") if manifest.get(name)}
    config = {
        "model": str(manifest.get("model", "")),
        "model_id": model,
        "datasets": [dataset],
        "eval_backend": "eyechart",
        "repeats": int(manifest.get("trials") or 1),
        "eyechart": {"version": str(manifest.get("eyechart", "")), **known},
    }
    with open_text_file(path) as file:
        yaml.safe_dump(config, file, allow_unicode=True, sort_keys=False)


def _round(value: float) -> float:
    return round(float(value), 4)


# -- The lines of one sample and trial


def make_prediction_line(result: Result, index: int, model: str) -> dict[str, Any]:
    """A line of predictions: the request, and the reply or the error."""
    output = format_output(result.reply, model)
    if result.reply is None:
        output["error"] = format_failure(result)
    return {
        "index": index,
        "model": model,
        "model_output": output,
        "messages": _conversation(result),
        "metadata": _metadata(result),
    }


def make_review_line(result: Result, index: int) -> dict[str, Any]:
    """A line of reviews: the verdict and its reason. A failed sample has no value."""
    value, score = compute_credit(result), result.score
    failed = format_failure(result)
    return {
        "index": index,
        "target": [gold for gold in result.sample.golds if gold.strip()] or None,
        "messages": _conversation(result),
        "sample_score": {
            "score": {
                "value": {} if value is None else {METRIC: value},
                "status": "transport_error" if failed else "success",
                "extracted_prediction": score.read if score else None,
                "prediction": result.reply.text if result.reply else None,
                "explanation": failed or (f"{score.outcome} ({score.route})" if score else None),
                "metadata": {"outcome": result.outcome},
                "main_score_name": METRIC,
            },
            "sample_id": index,
            "group_id": result.position,
            "generation_index": result.trial,
            "sample_metadata": _metadata(result),
        },
    }


def _conversation(result: Result) -> list[dict[str, Any]]:
    said = [format_reply_message(result.reply)] if result.reply else []
    return [*format_messages(result), *said]


def _metadata(result: Result) -> dict[str, Any]:
    sample = result.sample
    return {**copy_meta(sample), TRIAL: result.trial, MARK: format_sample(sample)}
