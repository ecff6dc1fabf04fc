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
the metric is the run's headline and the subsets show plain means. Runs of `general_vqa` and `general_vmcq`
have all metrics of EvalScope and its subsets, and the numbers are EvalScope's.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec
import yaml

from eyechart.pipelines.logs.writing import encode_json_line
from eyechart.pipelines.vlmevalkit.evalscope.general import PRETTY_NAMES
from eyechart.pipelines.vlmevalkit.evalscope.general_score import RULES, VQA_MAIN
from eyechart.pipelines.vlmevalkit.evalscope.lines import (
    METRIC,
    get_values,
    make_judge_summary,
    make_prediction_line,
    make_review_line,
)
from eyechart.pipelines.vlmevalkit.evalscope.output import align_rows
from eyechart.pipelines.vlmevalkit.report import format_model_name
from eyechart.registry import exporter
from eyechart.report.counting import OTHER_VALUES, group_trials
from eyechart.report.rows import open_text_file, write_json_file
from eyechart.report.summary import Headline, compute_headline
from eyechart.stats.intervals import add_in_order
from eyechart.store.folder import make_file_name, prepare_folder
from eyechart.types import Export, Result

DEFAULT = "default"

_SUBSET_KEYS = ("category", "l2-category", "split")  # the first that the run is grouped by
_MAX_SUBSETS = 100  # each has two open files; further ones share a subset
_STATISTICS = {"R": "recall", "P": "precision", "F": "f1"}
_PRETTY = {"accuracy": "Accuracy", "bleu": "BLEU", "rouge": "ROUGE"}


@exporter("evalscope-report")
def write_evalscope_report(export: Export) -> Sequence[Path]:
    """Write predictions and reviews line by line, then the report on them."""
    dataset = make_file_name(str(export.manifest.get("benchmark") or "eyechart"))
    model = format_model_name(str(export.manifest.get("model") or ""))
    report, *files = write_report(export, dataset, model)
    config = export.folder / "configs" / "task_config.yaml"
    prepare_folder(config.parent)
    _write_config(config, export.manifest, dataset, model)
    return [report, config, *files]


def write_report(export: Export, dataset: str, model: str) -> Sequence[Path]:
    """Write the files of a run under the names of a data set and a model; the report is the first."""
    numbers = compute_headline(export)
    key = next((key for key in _SUBSET_KEYS if key in numbers.plain.by), "")
    folders = [export.folder / kind / model for kind in ("predictions", "reviews", "reports")]
    for folder in folders:
        prepare_folder(folder)
    report = folders[2] / f"{dataset}.json"
    before = _subsets_before(report)
    subsets = _write_lines(export, folders[0], folders[1], dataset, "subset" if _is_general(export) else key)
    kept = {name.casefold() for name in subsets}
    gone = [name for name in before if name.casefold() not in kept]
    for folder, name in itertools.product(folders[:2], gone):
        (folder / f"{dataset}_{name}.jsonl").unlink(missing_ok=True)
    write_json_file(report, _report(export, numbers, dataset, model, subsets), indent=4)
    return [report, *(folder / f"{dataset}_{name}.jsonl" for folder in folders[:2] for name in subsets)]


class ReportPart(dict[str, Any]):
    """Part of a report, whose keys can also be read as attributes, as in EvalScope."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError as err:
            raise AttributeError(name) from err


class Report(ReportPart):
    """The content of a report.

    >>> Report(name="m@general_vqa", metrics=[], primary_metric_identity=None)
    Report(name='m@general_vqa', score=None)
    """

    @property
    def score(self) -> float | None:
        """The value of the main metric, or of the only one; None if there is none."""
        main = self["primary_metric_identity"]
        found = [one["score"] for one in self["metrics"] if main is None or one["identity"] == main]
        return float(found[0]) if len(found) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        return dict(self)

    def __repr__(self) -> str:
        return f"Report(name={self['name']!r}, score={self.score})"


def read_report(path: Path) -> Report:
    """The report in a file."""
    with path.open(encoding="utf-8") as file:
        return Report(json.load(file, object_hook=ReportPart))


def format_report(report: Report) -> str:
    """The numbers of a report as a table."""
    rows = [("Model", "Dataset", "Metric", "Subset", "Num", "Score")]
    for metric in report.metrics:
        axes = metric.identity.dimensions
        form = axes.get("ngram") or axes.get("variant", "").upper()
        name = (
            f"{metric.semantics.metric_name}{f'-{form}' if form else ''} {axes.get('statistic', '')}".strip()
        )
        listed = [part for category in metric.categories for part in category.subsets]
        listed += [{"name": "OVERALL", "num": metric.num, "score": metric.score}] * (len(listed) > 1)
        rows += (
            (
                report.model_name,
                report.dataset_name,
                name,
                part["name"],
                str(part["num"]),
                f"{part['score']:.4f}",
            )
            for part in listed
        )
    return "\n".join(align_rows(rows))


def _is_general(export: Export) -> bool:
    """Whether it is a run of `general_vqa` or `general_vmcq`."""
    return RULES in (export.manifest.get("settings") or {})


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
    means: dict[str, list[float]] = field(default_factory=dict)  # by metric, one number per counted unit
    judged: list[str] = field(default_factory=list)  # the states of its verdicts
    counts: dict[str, int] = field(default_factory=lambda: {"requested": 0, "succeeded": 0, "errored": 0})

    def add(
        self, trials: Sequence[Result], model: str, position: int, judge: str, *, is_general: bool
    ) -> None:
        """Write the lines of a sample. A repeat counts for itself in EvalScope, a sample once otherwise."""
        values = [get_values(result) for result in trials]
        for name in dict.fromkeys(name for each in values for name in each):
            found = [each[name] for each in values if name in each]
            self.means.setdefault(name, []).extend(
                found if is_general else [add_in_order(found) / len(found)]
            )
        for result in trials:
            if result.outcome is None:
                continue
            self.counts["requested"] += 1
            self.counts["errored" if result.failure else "succeeded"] += 1
            index = position * len(trials) + result.trial
            self.predictions.write(encode_json_line(make_prediction_line(result, index, model)) + "\n")
            line = make_review_line(result, index, judge, position if is_general else result.position)
            self.reviews.write(encode_json_line(line) + "\n")
            if (score := line["sample_score"]["score"])["judge_summary"]:
                self.judged.append(score["status"])


def _write_lines(
    export: Export, predictions: Path, reviews: Path, dataset: str, key: str
) -> dict[str, _Subset]:
    """Write both files of every subset; they appear when all are complete."""
    by_value: dict[str, _Subset] = {}
    names: dict[str, str] = {}  # casefolded name to the name: file systems may ignore case
    is_general = _is_general(export)
    model, judge = str(export.manifest.get("model") or "model"), _name_judge(export.manifest)
    with ExitStack() as stack:
        for trials in group_trials(export.results()):
            if all(result.outcome is None for result in trials):
                continue
            found = trials[0].sample.meta.get(key) if key else None
            value = "" if found is None else str(found).strip()
            if value not in by_value and len(by_value) >= _MAX_SUBSETS:
                value = OTHER_VALUES
            if value not in by_value:
                name = _new_name(_file_part(value) or DEFAULT, names)
                said, scored = (
                    stack.enter_context(open_text_file(folder / f"{dataset}_{name}.jsonl"))
                    for folder in (predictions, reviews)
                )
                by_value[value] = _Subset(said, scored)
            position = int(trials[0].sample.id.rpartition("/")[2]) if is_general else trials[0].position
            by_value[value].add(
                trials,
                model.removeprefix("openai/") if is_general else model,
                position,
                judge,
                is_general=is_general,
            )
    return dict(zip(names.values(), by_value.values(), strict=True))


def _name_judge(manifest: Mapping[str, Any]) -> str:
    judge = manifest.get("judge")
    return str(judge["model"] if isinstance(judge, Mapping) else "").removeprefix("openai/")


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
    export: Export, numbers: Headline, dataset: str, model: str, subsets: Mapping[str, _Subset]
) -> dict[str, Any]:
    manifest, is_general = export.manifest, _is_general(export)
    identities: list[dict[str, Any]] = []
    for name in itertools.chain(*(subset.means for subset in subsets.values())):
        identities += [identify(name)] if identify(name) not in identities else []
    main = identify(VQA_MAIN if is_general and dataset == "general_vqa" else METRIC)
    primary = main if main in identities else None
    headline = None if is_general else numbers.score or 0.0
    metrics = [_metric(identity, subsets, headline) for identity in identities]
    counted = next(
        (one for one in metrics if one["identity"] == primary), metrics[0] if metrics else {"num": 0}
    )
    unavailable = f"Primary metric selector {main} did not match any emitted metric identity."
    judged = [status for subset in subsets.values() for status in subset.judged]
    judging = make_judge_summary(judged, _name_judge(manifest)) if judged else None
    return {
        "schema_version": 2,
        "name": f"{model}@{dataset}",
        "dataset_name": dataset,
        "dataset_pretty_name": PRETTY_NAMES.get(dataset, str(manifest.get("benchmark", ""))),
        "dataset_description": str(manifest.get("about", "")),
        "model_name": model,
        "metrics": metrics,
        "analysis": "N/A",
        "perf_metrics": None,
        "primary_metric_identity": primary,
        "primary_metric_unavailable_reason": None
        if primary
        else unavailable
        if metrics
        else "nothing could be scored",
        "judge_summary": judging,
        "execution_summary": _execution(subsets, numbers),
        "num": counted["num"],
    }


def identify(name: str) -> dict[str, Any]:
    """A metric as reports name it.

    >>> identify("bleu-2")["dimensions"], identify("Rouge-L-R")["dimensions"], identify("acc")["name"]
    ({'ngram': 2}, {'statistic': 'recall', 'variant': 'l'}, 'accuracy')
    """
    kind, _, rest = name.partition("-")
    dimensions: dict[str, Any] = {}
    if kind == "bleu":
        dimensions = {"ngram": int(rest)}
    elif kind == "Rouge":
        form, _, statistic = rest.partition("-")
        dimensions = {"ngram": int(form)} if form != "L" else {}
        dimensions |= {"statistic": _STATISTICS[statistic]} | ({"variant": "l"} if form == "L" else {})
    concept = {"bleu": "bleu", "Rouge": "rouge"}.get(kind, METRIC)
    return {"name": concept, "aggregation": "mean", "dimensions": dimensions}


def _metric(
    identity: dict[str, Any], subsets: Mapping[str, _Subset], headline: float | None
) -> dict[str, Any]:
    """A metric, and below it the subsets in one category. `headline` takes the place of the mean.

    Verdicts of judge and rules have one identity, and a subset with both is listed twice.

    As in EvalScope, means are computed from rounded numbers, so that reading and writing changes nothing.
    """
    parts: list[dict[str, Any]] = [
        {
            "name": subset_name,
            "score": _round(add_in_order(values) / len(values)),
            "num": len(values),
            "metadata": None,
            "is_aggregate": False,
        }
        for subset_name, subset in subsets.items()
        for name, values in subset.means.items()
        if identify(name) == identity
    ]
    n = sum(part["num"] for part in parts)
    mean = _round(add_in_order(part["score"] * part["num"] for part in parts) / n)
    macro = _round(add_in_order(part["score"] for part in parts) / len(parts))
    category = {"name": [DEFAULT], "num": n, "score": mean, "macro_score": macro, "subsets": parts}
    return {
        "identity": identity,
        "legacy_name": None,
        "num": n,
        "score": mean if headline is None else _round(headline),
        "macro_score": mean,
        "categories": [category],
        "semantics": {
            "semantic_id": f"quality.{identity['name']}.ratio",
            "metric_name": _PRETTY[identity["name"]],
            "display_name": None,
            "kind": "quality",
            "direction": "higher_is_better",
            "raw_unit": None,
            "value_range": {"min": 0.0, "max": 1.0},
            "display_kind": "percent",
            "display_multiplier": 100.0,
            "display_unit": "%",
            "display_precision": 1,
        },
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
