"""Inspect's logs: one JSON object with a list of samples (.json), or an archive of JSON files (.eval).

Samples are read one at a time. A long text or an image may be elsewhere in its sample, under a name that
begins with ``attachment://``; texts are put back in their place. An epoch, which Inspect counts from 1, is a
trial. A sample with an error has no reply, whatever else it contains.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.columns.answers import LETTERS
from eyechart.data.files.json_files import JsonWindow
from eyechart.data.files.tables import BOM
from eyechart.errors import DataError
from eyechart.pipelines.logs import reading, writing
from eyechart.registry import exporter, log_format
from eyechart.report.counting import compute_credit, group_trials
from eyechart.report.rows import open_text_file
from eyechart.store.folder import make_file_name
from eyechart.types import Export, FileSigns, LogEntry, LogReader, ReplyLog, Result, Sample, Usage

# What attached texts may become in their places, in characters: a text may stand in several of them.
_MAX_PLACED = 64 * 1024**2
_ALWAYS_PLACED = 64 * 1024
_TIMES_PLACED = 16

_ATTACHED = re.compile(r"attachment://([0-9a-zA-Z]+)")
_FIRST_KEYS = frozenset({"version", "status", "eval"})
_HEADERS = ("header.json", "_journal/start.json")


class _Spec(msgspec.Struct, frozen=True):
    task: str
    model: str


class _Sample(msgspec.Struct, frozen=True, kw_only=True):
    id: str | reading.Number
    epoch: reading.Number = 1
    input: Any = None
    choices: list[str] | None = None
    target: Any = None
    output: Any = None
    metadata: Any = None
    error: Any = None
    attachments: dict[str, Any] | None = None


class _Header(msgspec.Struct, frozen=True):
    eval: _Spec


@log_format("inspect")
def find_reader(signs: FileSigns) -> LogReader | None:
    """Tell an archive by its header file, and JSON by its first keys, which stand before the samples."""
    if signs.shape == "archive":
        return read_archive if not signs.names.isdisjoint(_HEADERS) else None
    return read_json_log if signs.shape == "object" and signs.names >= _FIRST_KEYS else None


def read_json_log(path: Path, _with_questions: bool = True) -> ReplyLog:
    """A log in one JSON file."""
    spec: _Spec | None = None
    entries: list[LogEntry] = []
    with path.open("rb") as file:
        file.seek(len(BOM) if file.read(len(BOM)) == BOM else 0)
        window = JsonWindow(file, path)
        for key, _, opening in window.openings(skip=False):
            if key == "samples" and opening == b"[":
                texts = (text for _, _, text in window.items())
                entries = [_entry(text, f"{path.name}: sample {n}") for n, text in enumerate(texts, start=1)]
                continue
            _, text = window.value()
            if key == "eval":
                spec = reading.decode_entry(text, _Spec, f"{path.name}: eval")
    return _log(path, spec, entries)


def read_archive(path: Path, _with_questions: bool = True) -> ReplyLog:
    """A log in an archive."""
    with reading.Archive(path) as archive:
        header = next(name for name in _HEADERS if name in archive.names)
        spec = reading.decode_entry(archive.unpack(header), _Header, f"{path.name}: {header}").eval
        samples = [name for name in archive.names if name.startswith("samples/") and name.endswith(".json")]
        entries = [_entry(archive.unpack(name), f"{path.name}: {name}") for name in samples]
    return _log(path, spec, entries)


def _log(path: Path, spec: _Spec | None, entries: list[LogEntry]) -> ReplyLog:
    if spec is None:
        raise DataError(f"{path.name}: the log does not name the task and the model", hint="it has no 'eval'")
    reading.refuse_duplicates(entries, path)
    return ReplyLog(tool="Inspect", task=spec.task, model=spec.model, entries=entries)


def _entry(text: bytes, where: str) -> LogEntry:
    found = reading.decode_entry(text, _Sample, where)
    name = f"{where} (id {found.id!r}, epoch {found.epoch})"
    if not 1 <= found.epoch <= reading.MAX_TRIALS:
        raise DataError(f"{name}: field epoch: it is counted from 1, to {reading.MAX_TRIALS} at most")
    asked, output = _place_texts(found, name)
    own = reading.read_own_sample(found.metadata, name)
    reply = reading.read_reply(output, name)
    failure = ""
    # In our own logs an error beside a reply is that of the scorer, and the reply can be scored again.
    if found.error and not (own and reply):
        message = found.error.get("message") if isinstance(found.error, Mapping) else found.error
        failure = str(message)[:2000] or "an error without words"
    return LogEntry(
        id=str(found.id),
        where=name,
        trial=found.epoch - 1,
        reply=None if failure else reply,
        failure=failure or ("" if reply else "the log holds no output of the model"),
        asked=reading.read_question(asked),
        sample=own or _sample(found, asked, name),
    )


def _sample(found: _Sample, asked: Any, where: str) -> Sample:
    texts = found.choices or []
    return Sample(
        id=str(found.id),
        question=reading.read_question(asked),
        images=reading.read_image_refs(asked),
        golds=_golds(found.target, len(texts)),
        choices=reading.letter_choices(texts, where),
        meta=reading.read_meta(found.metadata),
    )


def _golds(target: Any, n_choices: int) -> tuple[str, ...]:
    """Accepted answers. Letters of a question with choices are no alternatives: all of them must be chosen.

    >>> _golds(["A", "C"], 3), _golds(["4", "four"], 0), _golds("B", 3)
    (('AC',), ('4', 'four'), ('B',))
    """
    golds = reading.read_golds(target)
    letters = LETTERS[:n_choices]
    is_all = len(golds) > 1 and all(len(gold) == 1 and gold in letters for gold in golds)
    return ("".join(golds),) if is_all else golds


def _place_texts(found: _Sample, where: str) -> tuple[Any, Any]:
    """Input and output with the texts that are attached to a sample in their places; images stay outside.

    One text can be named a million times, so what they become is counted.
    """
    attached = (found.attachments or {}).items()
    texts = {key: one for key, one in attached if isinstance(one, str) and not one.startswith("data:")}
    left = min(_MAX_PLACED, _ALWAYS_PLACED + _TIMES_PLACED * sum(map(len, texts.values())))

    def insert(name: re.Match[str]) -> str:
        nonlocal left
        if (text := texts.get(name[1])) is None:
            return name[0]
        left -= len(text)
        if left < 0:
            raise DataError(
                f"{where}: field attachments: the same texts are named too often to put them in place",
                hint=f"{_TIMES_PLACED} times their length is read, and {_MAX_PLACED // 1024**2} million "
                "characters at most",
            )
        return text

    def place(value: Any) -> Any:
        if isinstance(value, str):
            return _ATTACHED.sub(insert, value)
        if isinstance(value, list):
            return [place(item) for item in value]
        return {key: place(item) for key, item in value.items()} if isinstance(value, dict) else value

    with reading.report_field_errors(where):
        return place(found.input), place(found.output)


# -- A run as a log of Inspect: one JSON file that its reader accepts and its viewer opens.
#
# ==================  =======================================================================================
# epoch               the trial, counted from 1
# score               ``C``, ``I`` or ``P`` where the value is 1, 0 or 0.5; ``N`` for a reply that could not
#                     be read, was refused or cut off, which counts 0; any other value as a number
# error               the sample failed; it has no score, and neither has one without a public answer
# accuracy            the run's headline. The mean over samples and epochs gives it again, unless samples are
#                     worth points or rotations of one question count as one
# ==================  =======================================================================================
#
# Samples that were not asked yet are left out, and the log is marked as cancelled then. The file is written
# sample by sample, each on its line.

_MARKS = {("correct", 1.0): "C", ("wrong", 0.0): "I", ("partial", 0.5): "P"}
_NO_ANSWER = frozenset({"unparsed", "refused", "truncated"})


@exporter("inspect")
def write_inspect(export: Export) -> Sequence[Path]:
    """Write the log; one of the same run from an earlier time goes."""
    now = datetime.now(UTC).replace(microsecond=0)
    identity = writing.compute_run_id(export.manifest)
    task = make_file_name(export.manifest["benchmark"])
    ending = f"_{task.replace('_', '-')}_{identity}.json"
    path = export.folder / (now.isoformat().replace(":", "-") + ending)
    head = _make_head(export, now, identity)
    with open_text_file(path) as file:
        file.write(writing.encode_json_line(head).removesuffix("}") + ', "samples": [')
        asked = (result for result in export.results() if result.outcome is not None)
        for number, result in enumerate(asked):
            line = writing.encode_json_line(_format_sample(result, export.manifest))
            file.write((",\n" if number else "\n") + line)
        file.write("\n]}\n")
    for old in export.folder.glob(f"*{ending}"):
        if old != path:
            old.unlink()
    return [path]


def _make_head(export: Export, now: datetime, identity: str) -> dict[str, Any]:
    """All but the samples."""
    manifest, numbers = export.manifest, export.numbers
    plain = numbers["also"].get(writing.name_rows(numbers), numbers)
    known = ("eyechart", "about", "scorer", "parity", "rules", "circular", "settings", "replies")
    spec = {
        **dict.fromkeys(("eval_id", "run_id", "task_id"), identity),
        "created": now.isoformat(),
        "task": manifest["benchmark"],
        "model": manifest["model"],
        "config": {
            "epochs": manifest.get("trials", 1),
            "epochs_reducer": ["mean"],
            "fail_on_error": False,
        },
        "packages": {"eyechart": manifest["eyechart"]},
        "metadata": {name: manifest[name] for name in known if manifest.get(name)},
        "scorers": [{"name": manifest["scorer"], "metrics": [{"name": "accuracy"}, {"name": "stderr"}]}],
        "dataset": {
            "name": manifest["benchmark"],
            "location": manifest["origin"],
            "samples": plain["n"],
            "shuffled": False,
            "sample_ids": [trials[0].sample.id for trials in group_trials(export.results())],
        },
    }
    kinds = ("prompt", "completion", "reasoning", "cached")
    usage = Usage(**{f"{kind}_tokens": numbers["tokens"].get(kind, 0) for kind in kinds})
    used = {manifest["model"]: writing.format_usage(usage)} if usage.total_tokens else {}
    return {
        "version": 2,
        "status": "cancelled" if numbers["pending"] else "success",
        "eval": spec,
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}]},
        "results": _results(manifest["scorer"], numbers, plain),
        "stats": {"started_at": "", "completed_at": now.isoformat(), "model_usage": used},
    }


def _results(scorer: str, numbers: Mapping[str, Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    values = {"accuracy": numbers["score"], "stderr": numbers["stderr"]}
    if plain is not numbers:
        values[writing.name_rows(numbers)] = plain["score"]
    known = {name: value for name, value in values.items() if value is not None}
    score = {
        "name": scorer,
        "scorer": scorer,
        "reducer": "mean",
        "scored_samples": numbers["n_scored"],
        "unscored_samples": numbers["n"] - numbers["n_scored"],
        "params": {},
        "metrics": {name: {"name": name, "value": value, "params": {}} for name, value in known.items()},
    }
    n_done = sum(plain["outcomes"].values())
    n_completed = n_done - plain["outcomes"]["failed"]
    return {"total_samples": n_done + plain["pending"], "completed_samples": n_completed, "scores": [score]}


def _format_sample(result: Result, manifest: Mapping[str, Any]) -> dict[str, Any]:
    sample, reply = result.sample, result.reply
    asked = writing.format_messages(result)
    golds = list(sample.golds)
    record: dict[str, Any] = {
        "id": sample.id,
        "epoch": result.trial + 1,
        "input": asked,
        "target": golds[0] if len(golds) == 1 else golds or "",
        "messages": [*asked, writing.format_reply_message(reply)] if reply else asked,
        "output": writing.format_output(reply, manifest["model"]),
        "metadata": {**sample.meta, reading.MARK: writing.format_sample(result)},
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
            record["model_usage"] = {manifest["model"]: writing.format_usage(reply.usage)}
    if result.failure is not None:
        reason = writing.format_failure(result)
        record["error"] = {"message": reason, "traceback": reason, "traceback_ansi": reason}
    elif (value := compute_credit(result)) is not None:
        record["scores"] = {manifest["scorer"]: _score(result, value)}
    return record


def _score(result: Result, value: float) -> dict[str, Any]:
    score = result.score
    assert score is not None, "what has a credit has a score"
    weight, wanted = result.sample.weight, ", ".join(result.sample.golds)
    return {
        "value": "N" if score.outcome in _NO_ANSWER else _MARKS.get((score.outcome, value), value),
        "answer": score.read,
        "explanation": f"{score.outcome}: read {score.read or 'nothing'}, accepted {wanted} ({score.route})",
        "metadata": {
            "outcome": score.outcome,
            "route": score.route,
            **({"weight": weight} if weight != 1 else {}),
            **({"detail": dict(score.detail)} if score.detail else {}),
        },
    }
