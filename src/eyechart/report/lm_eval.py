"""A run in the files of lm-eval and lmms-eval: ``results_<date>.json`` and ``samples_<task>_<date>.jsonl``.

A line of samples is one question with all its trials: `resps` holds their replies, null where one failed
(`errors` says why then), `filtered_resps` what was read out of them, and `acc` the mean of their values,
null where nothing could be scored. `doc_hash`, `prompt_hash` and `target_hash` are SHA-256.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from eyechart.exchange import MARK, add_in_order
from eyechart.registry import exporter
from eyechart.report.credit import credit
from eyechart.report.files import text_file
from eyechart.report.headline import Numbers, numbers_of, trials_of
from eyechart.report.interchange import (
    format_failure,
    encode_json_line,
    join_prompt,
    format_reply,
    format_sample,
)
from eyechart.store.folder import file_safe
from eyechart.types import Export, Result

METRIC = "acc"

_TAKEN = frozenset({"id", "question", "choices", "answer", MARK})


@exporter("lm-eval")
def write_lm_eval(export: Export) -> Sequence[Path]:
    """Write the samples, then the numbers."""
    now = datetime.now(UTC)
    date = now.strftime("%Y-%m-%dT%H-%M-%S.%f")
    task = file_safe(str(export.manifest.get("benchmark") or "eyechart"))
    samples = export.folder / f"samples_{task}_{date}.jsonl"
    results = export.folder / f"results_{date}.json"
    parameters = _parameters(export.manifest)
    with text_file(samples) as file:
        for trials in trials_of(export.results()):
            if any(result.outcome is not None for result in trials):
                file.write(encode_json_line(_line(trials, parameters)) + "\n")
    with text_file(results) as file:
        file.write(encode_json_line(_results(export.manifest, numbers_of(export), task, now)) + "\n")
    return [results, samples]


def _line(trials: Sequence[Result], parameters: Mapping[str, Any]) -> dict[str, Any]:
    first = trials[0]
    sample = first.sample
    prompt = next((join_prompt(result) for result in trials if result.asked), join_prompt(first))
    golds = list(sample.golds)
    target = golds[0] if len(golds) == 1 else golds
    doc = {
        "id": sample.id,
        "question": sample.question,
        **({"choices": list(sample.choices.values())} if sample.choices else {}),
        "answer": target,
        **{str(key): value for key, value in sample.meta.items() if key not in _TAKEN},
        MARK: format_sample(sample),
    }
    values = [value for result in trials if (value := credit(result)) is not None]
    line: dict[str, Any] = {
        "doc_id": first.position,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": dict(parameters)}},
        "resps": [[result.reply.text if result.reply else None for result in trials]],
        "filtered_resps": [result.score.read if result.score else None for result in trials],
        "filter": "none",
        "metrics": [METRIC],
        "doc_hash": _hash(encode_json_line(doc)),
        "prompt_hash": _hash(prompt),
        "target_hash": _hash(encode_json_line(target)),
        METRIC: add_in_order(values) / len(values) if values else None,
        MARK: [format_reply(result.reply) if result.reply else None for result in trials],
    }
    if any(result.reply is None for result in trials):
        line["errors"] = [_why_missing(result) for result in trials]
    return line


def _why_missing(result: Result) -> str | None:
    return None if result.reply else format_failure(result) or "not asked yet"


def _results(manifest: Mapping[str, Any], numbers: Numbers, task: str, now: datetime) -> dict[str, Any]:
    model = str(manifest.get("model") or "model")
    config = _task_config(manifest, task)
    values = {
        "alias": task,
        f"{METRIC},none": numbers.score,
        f"{METRIC}_stderr,none": "N/A" if numbers.stderr is None else numbers.stderr,
    }
    return {
        "results": {task: values},
        "group_subtasks": {task: []},
        "configs": {task: config},
        "versions": {task: config["metadata"]["version"]},
        "n-shot": {task: 0},
        "higher_is_better": {task: {METRIC: True}},
        "n-samples": {task: {"original": numbers.summary.n, "effective": numbers.n_scored}},
        "config": {
            "model": model.partition("/")[0],
            "model_args": {"model": model},
            "gen_kwargs": dict(_parameters(manifest)),
            "limit": (manifest.get("options") or {}).get("limit"),
        },
        "git_hash": None,
        "date": now.timestamp(),
        "model_source": model.partition("/")[0],
        "model_name": model,
        "eyechart_version": str(manifest.get("eyechart", "")),
    }


def _task_config(manifest: Mapping[str, Any], task: str) -> dict[str, Any]:
    scorer = str(manifest.get("scorer") or "")
    versions: Mapping[str, Any] = manifest.get("versions") or {}
    return {
        "task": task,
        "dataset_path": str(manifest.get("origin", "")),
        "output_type": "generate_until",
        "repeats": int(manifest.get("trials") or 1),
        "num_fewshot": 0,
        "metric_list": [{"metric": METRIC, "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"scorer": scorer, "version": versions.get(scorer, "")},
    }


def _parameters(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    identity = manifest.get("identity")
    found = identity.get("parameters") if isinstance(identity, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
