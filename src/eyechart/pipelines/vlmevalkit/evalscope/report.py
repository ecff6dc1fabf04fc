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

import hashlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import yaml

from eyechart.files import read_json
from eyechart.pipelines.logs import writing
from eyechart.pipelines.logs.reading import MARK, TRIAL
from eyechart.pipelines.vlmevalkit.evalscope.general_score import (
    METRICS,
    RULES,
    TURNS,
    VQA_MAIN,
    build_judge_call,
    split_thought,
)
from eyechart.pipelines.vlmevalkit.evalscope.native import PLACES, PRETTY_NAMES
from eyechart.pipelines.vlmevalkit.evalscope.output import align_rows
from eyechart.pipelines.vlmevalkit.report import format_model_name
from eyechart.registry import exporter
from eyechart.report.counting import OTHER_VALUES, compute_credit, group_trials
from eyechart.report.rows import open_text_file, write_json_file
from eyechart.score.judged import render_call
from eyechart.stats.intervals import add_in_order
from eyechart.store.folder import make_file_name, prepare_folder
from eyechart.types import Export, Reply, Result

DEFAULT = "default"
METRIC = "accuracy"

_SUBSET_KEYS = ("category", "l2-category", "split")  # the first that the run is grouped by
_MAX_SUBSETS = 100  # each has two open files; further ones share a subset
_COUNTS = ("requested", "succeeded", "errored")
_STATISTICS = {"R": "recall", "P": "precision", "F": "f1"}
_PRETTY = {"accuracy": "Accuracy", "bleu": "BLEU", "rouge": "ROUGE"}
_SEMANTICS = {
    "display_name": None, "kind": "quality", "direction": "higher_is_better", "raw_unit": None,
    "value_range": {"min": 0.0, "max": 1.0}, "display_kind": "percent", "display_multiplier": 100.0,
    "display_unit": "%", "display_precision": 1,
}  # fmt: skip


@exporter("evalscope-report")
def write_evalscope_report(export: Export) -> Sequence[Path]:
    """Write predictions and reviews line by line, then the report on them."""
    dataset = make_file_name(str(export.manifest.get("benchmark") or "eyechart"))
    manifest = export.manifest
    model = format_model_name(str(manifest.get("model") or ""))
    report, *files = write_report(export, dataset, model)
    path = export.folder / "configs" / "task_config.yaml"
    prepare_folder(path.parent)
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
    return [report, path, *files]


def write_report(export: Export, dataset: str, model: str) -> Sequence[Path]:
    """Write the files of a run under the names of a data set and a model; the report is the first."""
    key = next((key for key in _SUBSET_KEYS if key in export.numbers["by"]), "")
    folders = [export.folder / kind / model for kind in ("predictions", "reviews", "reports")]
    for folder in folders:
        prepare_folder(folder)
    report = folders[2] / f"{dataset}.json"
    before = _subsets_before(report)
    subsets = _write_lines(export, folders[:2], dataset, "subset" if _is_general(export) else key)
    kept = {name.casefold() for name in subsets}
    gone = [name for name in before if name.casefold() not in kept]
    for folder, name in itertools.product(folders[:2], gone):
        (folder / f"{dataset}_{name}.jsonl").unlink(missing_ok=True)
    write_json_file(report, _report(export, dataset, model, subsets), indent=4)
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
    head = (report.model_name, report.dataset_name)
    for metric in report.metrics:
        axes = metric.identity.dimensions
        form = axes.get("ngram") or axes.get("variant", "").upper()
        name = f"{metric.semantics.metric_name}{form and f'-{form}'} {axes.get('statistic', '')}".strip()
        parts = [part for category in metric.categories for part in category.subsets]
        parts += [{"name": "OVERALL", "num": metric.num, "score": metric.score}] * (len(parts) > 1)
        rows += ((*head, name, one["name"], str(one["num"]), f"{one['score']:.4f}") for one in parts)
    return "\n".join(align_rows(rows))


def _is_general(export: Export) -> bool:
    """Whether it is a run of `general_vqa` or `general_vmcq`."""
    return RULES in (export.manifest.get("settings") or {})


def _subsets_before(report: Path) -> set[str]:
    """The subsets of an earlier report; files of those that are gone are removed."""
    known = read_json(report, dict[str, Any]) or {}
    with suppress(KeyError, TypeError, ValueError):
        return {name for name in dict(known["execution_summary"]["subsets"]) if name == _file_part(name)}
    return set()


@dataclass(slots=True)
class _Subset:
    """A subset, while its lines are written."""

    files: tuple[IO[str], ...]  # of predictions, of reviews
    means: dict[str, list[float]] = field(default_factory=dict)  # by metric, one number per counted unit
    judged: list[str] = field(default_factory=list)  # the states of its verdicts
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))

    def add(self, trials: Sequence[Result], model: str, judge: str) -> None:
        """Write the lines of a sample. A repeat counts for itself in EvalScope, a sample once otherwise."""
        first, values = trials[0], [get_values(result) for result in trials]
        for name in dict.fromkeys(name for each in values for name in each):
            found = [each[name] for each in values if name in each]
            counted = found if is_general(first) else [add_in_order(found) / len(found)]
            self.means.setdefault(name, []).extend(counted)
        group = int(first.sample.id.rpartition("/")[2]) if is_general(first) else first.position
        for result in (result for result in trials if result.outcome is not None):
            self.counts["requested"] += 1
            self.counts["errored" if result.failure else "succeeded"] += 1
            index = group * len(trials) + result.trial
            review = make_review_line(result, index, judge, group)
            lines = (make_prediction_line(result, index, model), review)
            for file, line in zip(self.files, lines, strict=True):
                file.write(writing.encode_json_line(line) + "\n")
            if (score := review["sample_score"]["score"])["judge_summary"]:
                self.judged.append(score["status"])


def _write_lines(export: Export, folders: Sequence[Path], dataset: str, key: str) -> dict[str, _Subset]:
    """Write both files of every subset into the two folders; they appear when all are complete."""
    by_value: dict[str, _Subset] = {}
    subsets: dict[str, _Subset] = {}  # by name: `maps/charts` and `maps_charts` are two subsets
    model, judge = str(export.manifest.get("model") or "model"), _name_judge(export.manifest)
    model = model.removeprefix("openai/") if _is_general(export) else model
    with ExitStack() as stack:
        for trials in group_trials(export.results()):
            if all(result.outcome is None for result in trials):
                continue
            found = trials[0].sample.meta.get(key) if key else None
            value = "" if found is None else str(found).strip()
            if value not in by_value and len(by_value) >= _MAX_SUBSETS:
                value = OTHER_VALUES
            if value not in by_value:
                wanted = _file_part(value) or DEFAULT
                possible = itertools.chain([wanted], (f"{wanted}_{n}" for n in itertools.count(2)))
                taken = {name.casefold() for name in subsets}  # file systems may ignore case
                name = next(name for name in possible if name.casefold() not in taken)
                paths = (folder / f"{dataset}_{name}.jsonl" for folder in folders)
                files = tuple(stack.enter_context(open_text_file(path)) for path in paths)
                by_value[value] = subsets[name] = _Subset(files)
            by_value[value].add(trials, model, judge)
    return subsets


def _name_judge(manifest: Mapping[str, Any]) -> str:
    judge = manifest.get("judge")
    return str(judge["model"] if isinstance(judge, Mapping) else "").removeprefix("openai/")


def _file_part(name: str) -> str:
    """A subset as part of a file name, by which the dashboard finds the file.

    >>> _file_part("maps / charts"), _file_part("../up"), _file_part("图表")
    ('maps _ charts', '_up', '图表')
    """
    return re.sub(r"[^\w .-]+", "_", name).strip(" .")[:80]


def _report(export: Export, dataset: str, model: str, subsets: Mapping[str, _Subset]) -> dict[str, Any]:
    manifest, is_general = export.manifest, _is_general(export)
    identities: list[dict[str, Any]] = []
    for name in itertools.chain(*(subset.means for subset in subsets.values())):
        identities += [identify(name)] if identify(name) not in identities else []
    main = identify(VQA_MAIN if is_general and dataset == "general_vqa" else METRIC)
    primary = main if main in identities else None
    headline = None if is_general else export.numbers["score"] or 0.0
    metrics = [_metric(identity, subsets, headline) for identity in identities]
    of_main = [one["num"] for one in metrics if one["identity"] == primary]
    why = f"Primary metric selector {main} did not match any emitted metric identity."
    why = why if metrics else "nothing could be scored"
    judged = [status for subset in subsets.values() for status in subset.judged]
    counts = {name: subset.counts for name, subset in subsets.items()}
    total = {name: sum(one[name] for one in counts.values()) for name in _COUNTS}
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
        "primary_metric_unavailable_reason": None if primary else why,
        "judge_summary": make_judge_summary(judged, _name_judge(manifest)) if judged else None,
        "execution_summary": {
            **total,
            "incomplete": bool(total["errored"] or export.numbers["pending"]),
            "subsets": counts,
        },
        "num": next(iter([*of_main, *(one["num"] for one in metrics)]), 0),
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
            **_SEMANTICS,
        },
    }


def _round(value: float) -> float:
    return round(float(value), 4)


# -- Lines of predictions and reviews, with all keys that EvalScope's own files have

_NO_FACTS = {"source": None, "metadata": None, "internal": None, "perf_metrics": None}
_KINDS: Mapping[str, Mapping[str, Any]] = {
    "text": {"internal": None, "type": "text", "text": "", "refusal": None},
    "image": {"internal": None, "type": "image", "image": "", "detail": "auto"},
    "reasoning": {
        "internal": None, "type": "reasoning", "reasoning": "", "signature": None, "redacted": False,
        "reasoning_tokens": None,
    },
}  # fmt: skip
_NO_OUTPUT = {"usage": None, "time": None, "metadata": None, "error": None}


def is_general(result: Result) -> bool:
    """Whether it is a question of `general_vqa` or `general_vmcq`."""
    return TURNS in result.sample.meta


def get_values(result: Result) -> dict[str, float]:
    """The values of a result by metric; none if it does not count."""
    if is_general(result):
        return dict(result.score.detail.get(METRICS, {})) if result.score else {}
    credit = compute_credit(result)
    return {} if credit is None else {METRIC: credit}


def make_prediction_line(result: Result, index: int, model: str) -> dict[str, Any]:
    """A line of predictions: the request, and the reply or the error."""
    output = {"id": _identify(result, "output"), **_NO_OUTPUT, **writing.format_output(result.reply, model)}
    output["choices"] = [
        {**choice, "message": _complete(_format_reply(result), result, "reply"), "logprobs": None}
        for choice in output["choices"]
    ]
    if result.reply is None:
        output["error"] = writing.format_failure(result)
    if is_general(result):
        output["metadata"] = None
    if usage := output["usage"]:
        counted = (name for name in usage if name.endswith(("read", "reasoning_tokens")))
        counts = {name: usage[name] or None for name in counted}
        output["usage"] = {**usage, "input_tokens_cache_write": None, **counts}
    return {
        "index": index,
        "model": model,
        "model_output": {**output, "perf_metrics": _measure(result.reply)},
        "messages": [*_list_messages(result)],
        "agent_trace": None,
        "metadata": _metadata(result),
    }


def make_review_line(result: Result, index: int, judge: str, group: int) -> dict[str, Any]:
    """A line of reviews: the verdict and its reason. A failed sample has no value.

    `group` is the number of the question, which all its trials share.
    """
    score, failed = result.score, writing.format_failure(result) or None
    verdict: dict[str, Any] = {
        "value": get_values(result),
        "status": "transport_error" if failed else "success",
        "judge_summary": None,
        "extracted_prediction": score and score.read,
        "prediction": result.reply and result.reply.text,
        "explanation": failed or (score and f"{score.outcome} ({score.route})"),
        "metadata": {"outcome": result.outcome},
        "main_score_name": (score.route if score else "").partition("evalscope:")[2] or METRIC,
    }
    if is_general(result):
        verdict |= {"explanation": failed, "metadata": {}}
        verdict["extracted_prediction"] = score and (score.read or "")
        verdict["prediction"] = result.reply and _read_said(result.reply)[0]
        if score is not None and "judge" in score.detail:
            verdict |= _describe_judging(result, judge)
    return {
        "index": index,
        "target": [gold for gold in result.sample.golds if gold.strip()] or None,
        "messages": [*_list_messages(result)],
        "agent_trace": None,
        "sample_score": {
            "score": verdict,
            "sample_id": index,
            "group_id": group,
            "generation_index": result.trial,
            "sample_metadata": _metadata(result),
        },
    }


def _metadata(result: Result) -> dict[str, Any]:
    if is_general(result):
        return {}
    return {**result.sample.meta, TRIAL: result.trial, MARK: writing.format_sample(result)}


def _list_messages(result: Result) -> Iterator[dict[str, Any]]:
    """What was sent and what came back."""
    messages = _list_turns(result) if is_general(result) else writing.format_messages(result)
    for number, message in enumerate(messages):
        yield _complete(message, result, str(number))
    if result.reply is not None:
        yield _complete(_format_reply(result), result, "reply")


def _format_reply(result: Result) -> dict[str, Any]:
    """What the model said, thoughts apart as EvalScope separates them."""
    assert result.reply is not None
    if not is_general(result):
        return writing.format_reply_message(result.reply)
    text, thought = _read_said(result.reply)
    parts = [{"type": "reasoning", "reasoning": thought}, {"type": "text", "text": text}]
    return {"role": "assistant", "content": text if thought is None else parts}


def _read_said(reply: Reply) -> tuple[str, str | None]:
    """Text and thoughts of a reply; thoughts may have come in a field of their own."""
    has_own_field = reply.thinking and len(reply.tags or ()) != 3
    return (reply.content, reply.thinking) if has_own_field else split_thought(reply.content)


def _list_turns(result: Result) -> list[dict[str, Any]]:
    """The messages of a sample. Images are named as in its file; those inside the file are not copied."""
    sample = result.sample
    images = [place or str(ref) for place, ref in zip(sample.meta[PLACES], sample.images, strict=True)]

    def part(one: str | int) -> dict[str, str]:
        if isinstance(one, str):
            return {"type": "text", "text": one}
        return {"type": "image", "image": images[one]}

    return [
        {"role": role, "content": content if isinstance(content, str) else [*map(part, content)]}
        for role, content in sample.meta[TURNS]
    ]


def _complete(message: Mapping[str, Any], result: Result, name: str) -> dict[str, Any]:
    """A message with the keys that it has in EvalScope's files."""
    content, role = message["content"], message["role"]
    if not isinstance(content, str):
        content = [{**_KINDS[part["type"]], **part} for part in content]
    full = {"id": _identify(result, name), "content": content, **_NO_FACTS, "role": role}
    if role == "user":
        return {**full, "tool_call_id": None}
    if role != "assistant":
        return full
    full |= {"source": "generate", "tool_calls": None, "model": ""}
    if name == "reply" and result.reply is not None:
        full |= {"perf_metrics": _measure(result.reply), "model": result.reply.model}
    return full


def _identify(result: Result, name: str) -> str:
    """A name of eight characters, the same at every export."""
    return hashlib.sha256(f"{result.sample.id}/{result.trial}/{name}".encode()).hexdigest()[:8]


def _measure(reply: Reply | None) -> dict[str, Any] | None:
    if reply is None:
        return None
    usage = reply.usage
    return {
        "latency": reply.latency_s,
        "ttft": None,
        "input_tokens": usage.prompt_tokens if usage else 0,
        "output_tokens": usage.completion_tokens if usage else 0,
        "tpot": None,
    }


def _describe_judging(result: Result, judge: str) -> dict[str, Any]:
    """What a review says about its judge."""
    assert result.score is not None
    assert result.reply is not None
    is_read = "fail_reason" not in result.score.detail
    strategy = str(result.sample.meta[RULES].get("strategy"))
    status = "success" if is_read else "degraded" if strategy == "llm" else "fallback"
    asked = render_call(build_judge_call(_read_said(result.reply)[0], result.sample), {})
    attempt = {
        "status": "success" if is_read else "parse_error",
        "case_id": "judge",
        "judge_id": judge,
        "repeat_id": 0,
        "placement": "original",
        "messages": [{"id": _identify(result, "judge"), "content": asked, "role": "user"}],
        "raw_response": result.score.detail["judge"],
    }
    seen = [{"judge_id": judge, "repeat_id": 0, "status": "success", "metadata": {}}] if is_read else []
    summary = make_judge_summary([status], judge)
    metadata: dict[str, Any] = {"judge_unavailable": "excluded"}
    if not is_read:
        summary |= {"scored": 0, "coverage": 0.0, "error": "no judge produced a usable verdict"}
    if status != "fallback":
        metadata = {
            "source": "llm_judge",
            "judge_strategy": strategy,
            "model": judge,
            "non_official_position_swap": False,
            "judge_attempts": [attempt],
            "judge_observation_metadata": seen,
            **({} if is_read else metadata),
        }
    return {"status": status, "judge_summary": summary, "metadata": metadata}


def make_judge_summary(statuses: list[str], judge: str) -> dict[str, Any]:
    """How far the judge's verdicts could be used."""
    n, n_unread = len(statuses), sum(status != "success" for status in statuses)
    whole = "success" if set(statuses) == {"success"} else statuses[0] if n == 1 else "degraded"
    return {
        "status": whole,
        "scored": n,
        "total": n,
        "coverage": 1.0,
        "judge_models": [judge],
        "valid_observations": n - n_unread,
        "total_observations": n,
        "failures": {"parse_error": n_unread} if n_unread else {},
        "disagreement": {},
        "error": None,
    }
