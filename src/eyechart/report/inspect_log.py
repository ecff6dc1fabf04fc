"""A run as a log of Inspect: one JSON file that its reader accepts and its viewer opens.

==================  =======================================================================================
epoch               the trial, counted from 1
score               ``C``, ``I`` or ``P`` where the value is 1, 0 or 0.5; ``N`` for a reply that could not be
                    read, was refused or cut off, which counts 0; any other value as a number
error               the sample failed; it has no score, and neither has one without a public answer
accuracy            the run's headline. The mean over samples and epochs gives it again, unless samples are
                    worth points or rotations of one question count as one
==================  =======================================================================================

Samples that were not asked yet are left out, and the log is marked as cancelled then. The file is written
sample by sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from eyechart.exchange import MARK
from eyechart.registry import exporter
from eyechart.report.credit import credit
from eyechart.report.files import text_file
from eyechart.report.headline import Numbers, numbers_of, trials_of
from eyechart.report.interchange import (
    format_failure,
    compute_run_id,
    encode_json_line,
    format_messages,
    format_output,
    copy_meta,
    format_reply_message,
    format_sample,
    format_usage,
)
from eyechart.store.folder import file_safe
from eyechart.types import Export, Result, Usage

_MARKS = {("correct", 1.0): "C", ("wrong", 0.0): "I", ("partial", 0.5): "P"}
_NO_ANSWER = frozenset({"unparsed", "refused", "truncated"})


@exporter("inspect")
def write_inspect(export: Export) -> Sequence[Path]:
    """Write the log; one of the same run from an earlier time goes."""
    now = datetime.now(UTC).replace(microsecond=0)
    identity = compute_run_id(export.manifest)
    task = file_safe(str(export.manifest.get("benchmark") or "eyechart"))
    ending = f"_{task.replace('_', '-')}_{identity}.json"
    path = export.folder / (now.isoformat().replace(":", "-") + ending)
    numbers = numbers_of(export)
    with text_file(path) as file:
        _write_head(file, export, numbers, now, identity)
        for number, result in enumerate(_asked(export)):
            file.write((",\n" if number else "\n") + encode_json_line(_sample(result, export.manifest)))
        file.write("\n]}\n")
    for old in export.folder.glob(f"*{ending}"):
        if old != path:
            old.unlink()
    return [path]


def _asked(export: Export) -> Iterator[Result]:
    return (result for result in export.results() if result.outcome is not None)


def _write_head(file: IO[str], export: Export, numbers: Numbers, now: datetime, identity: str) -> None:
    """All but the samples. The ids of the samples, of which there may be many, are written one by one."""
    manifest, is_whole = export.manifest, numbers.plain.overall.pending == 0
    spec = _spec(manifest, now, identity)
    dataset = encode_json_line(_dataset(manifest, numbers)).removesuffix("}")
    file.write(f'{{"version": 2, "status": "{"success" if is_whole else "cancelled"}",\n')
    file.write(f'"eval": {encode_json_line(spec).removesuffix("}")}, "dataset": {dataset}, "sample_ids": [')
    for number, trials in enumerate(trials_of(export.results())):
        file.write((", " if number else "") + encode_json_line(trials[0].sample.id))
    file.write("]}},\n")
    file.write(
        f'"plan": {encode_json_line({"name": "plan", "steps": [{"solver": "generate", "params": {}}]})},\n'
    )
    file.write(f'"results": {encode_json_line(_results(manifest, numbers))},\n')
    usage = _total_usage(numbers)
    stats = {"started_at": "", "completed_at": now.isoformat(), "model_usage": {}}
    if usage.total_tokens:
        stats["model_usage"] = {_model(manifest): format_usage(usage)}
    file.write(f'"stats": {encode_json_line(stats)},\n"samples": [')


def _spec(manifest: Mapping[str, Any], now: datetime, identity: str) -> dict[str, Any]:
    known = ("eyechart", "about", "scorer", "parity", "circular", "settings", "replies")
    trials = int(manifest.get("trials") or 1)
    return {
        "eval_id": identity,
        "run_id": identity,
        "task_id": identity,
        "created": now.isoformat(),
        "task": str(manifest.get("benchmark") or "eyechart"),
        "model": _model(manifest),
        "config": {"epochs": trials, "epochs_reducer": ["mean"], "fail_on_error": False},
        "packages": {"eyechart": str(manifest.get("eyechart", ""))},
        "metadata": {name: manifest[name] for name in known if manifest.get(name)},
        "scorers": [{"name": _scorer(manifest), "metrics": [{"name": "accuracy"}, {"name": "stderr"}]}],
    }


def _dataset(manifest: Mapping[str, Any], numbers: Numbers) -> dict[str, Any]:
    return {
        "name": str(manifest.get("benchmark", "")),
        "location": str(manifest.get("origin", "")),
        "samples": numbers.plain.n,
        "shuffled": False,
    }


def _results(manifest: Mapping[str, Any], numbers: Numbers) -> dict[str, Any]:
    counts = numbers.plain.overall
    values = {"accuracy": numbers.score, "stderr": numbers.stderr}
    if numbers.plain is not numbers.summary:
        values["plain"] = numbers.plain.score
    metrics = {
        name: {"name": name, "value": value, "params": {}}
        for name, value in values.items()
        if value is not None
    }
    n_done = sum(counts.outcomes.values())
    score = {
        "name": _scorer(manifest),
        "scorer": _scorer(manifest),
        "reducer": "mean",
        "scored_samples": numbers.n_scored,
        "unscored_samples": numbers.summary.n - numbers.n_scored,
        "params": {},
        "metrics": metrics,
    }
    return {
        "total_samples": n_done + counts.pending,
        "completed_samples": n_done - counts.outcomes["failed"],
        "scores": [score],
    }


def _sample(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    sample, reply = result.sample, result.reply
    asked = format_messages(result)
    golds = list(sample.golds)
    record: dict[str, Any] = {
        "id": sample.id,
        "epoch": result.trial + 1,
        "input": asked,
        "target": golds[0] if len(golds) == 1 else golds or "",
        "messages": [*asked, format_reply_message(reply)] if reply else asked,
        "output": format_output(reply, _model(manifest)),
        "metadata": {**copy_meta(sample), MARK: format_sample(sample)},
        "model_usage": {},
        "store": {},
        "events": [],
        "attachments": {},
    }
    if sample.choices:
        record["choices"] = list(sample.choices.values())
    if reply is not None:
        record["output"]["completion"] = reply.text
        record |= {"total_time": reply.latency_s, "working_time": reply.latency_s}
        if reply.usage:
            record["model_usage"] = {_model(manifest): format_usage(reply.usage)}
    if result.failure is not None:
        said = format_failure(result)
        record["error"] = {"message": said, "traceback": said, "traceback_ansi": said}
    elif (value := credit(result)) is not None:
        record["scores"] = {_scorer(manifest): _score(result, value)}
    return record


def _score(result: Result, value: float) -> dict[str, Any]:
    score = result.score
    assert score is not None, "what has a credit has a score"
    mark = "N" if score.outcome in _NO_ANSWER else _MARKS.get((score.outcome, value), value)
    facts: dict[str, Any] = {"outcome": score.outcome, "route": score.route}
    if result.sample.weight != 1:
        facts["weight"] = result.sample.weight
    if score.detail:
        facts["detail"] = dict(score.detail)
    wanted = ", ".join(result.sample.golds)
    return {
        "value": mark,
        "answer": score.read,
        "explanation": f"{score.outcome}: read {score.read or 'nothing'}, accepted {wanted} ({score.route})",
        "metadata": facts,
    }


def _total_usage(numbers: Numbers) -> Usage:
    tokens = numbers.plain.tokens
    return Usage(
        prompt_tokens=tokens.get("prompt", 0),
        completion_tokens=tokens.get("completion", 0),
        reasoning_tokens=tokens.get("reasoning", 0),
        cached_tokens=tokens.get("cached", 0),
    )


def _model(manifest: Mapping[str, Any]) -> str:
    return str(manifest.get("model") or "model")


def _scorer(manifest: Mapping[str, Any]) -> str:
    return str(manifest.get("scorer") or "score")
