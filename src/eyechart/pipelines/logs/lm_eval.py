"""The samples of lm-eval and lmms-eval (``samples_<task>_<date>.jsonl``): one answered document per line.

`resps` has the answers to every request for a document; more than one means repeats, which become trials.
Filtered answers (`filtered_resps`) are ignored, because the scorers read the replies. lmms-eval leaves out
`doc`, writes the prompt as `input`, and leaves out `resps` if no filter changed them; since 0.7 it writes a
list of one element as that element, so an answer may be a bare text. A document is identified by its own id,
or else by its number (`doc_id`, counted from 0). If several filters were applied, the same replies occur once
for each of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.columns.meaning import ALIASES
from eyechart.data.files.json_files import JsonReader, read_bytes
from eyechart.data.files.tables import BOM
from eyechart.errors import DataError
from eyechart.pipelines.logs import reading, writing
from eyechart.registry import exporter, log_format
from eyechart.report.counting import compute_credit, group_trials
from eyechart.report.rows import open_text_file
from eyechart.stats.intervals import add_in_order
from eyechart.store.folder import make_file_name
from eyechart.types import Export, FileSigns, LogEntry, LogReader, Reply, ReplyLog, Result, Sample

_MAX_RESULTS_BYTES = 64 * 1024 * 1024
_NAME = re.compile(r"(?:.*_)?samples_(?P<task>.+?)(?:_\d{4}-?\d{2}-?\d{2}\w?\d{2}.*)?")


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    doc_id: reading.Number | str
    doc: dict[str, Any] = {}
    resps: Any = None  # a text, a list of texts, or a list of such lists
    filtered_resps: Any = None
    target: Any = None
    arguments: Any = None
    input: Any = None
    filter: str = ""
    errors: list[str | None] = []  # ours: why an answer is missing, by trial
    eyechart: list[dict[str, Any] | None] = []  # ours: what else is known of the replies


class _Results(msgspec.Struct, frozen=True):
    model_name: str = ""


@log_format("lm-eval")
def find_reader(signs: FileSigns) -> LogReader | None:
    """Tell a file of samples by the keys of its first record."""
    if signs.shape == "archive" or not signs.is_complete:
        return None
    if signs.names >= {"results", "configs", "versions"}:
        raise DataError(
            "these are lm-eval's results, which contain no replies",
            hint="give the samples_*.jsonl beside it (--log_samples writes it)",
        )
    of_lmms = {"doc_id", "target", "input", "filtered_resps"}
    is_known = signs.names >= {"doc_id", "doc", "resps"} or signs.names >= of_lmms
    return read_samples if is_known else None


def read_samples(path: Path, _with_questions: bool = True) -> ReplyLog:
    """A file of samples; earlier versions wrote them as one list."""
    with path.open("rb") as file:
        is_list = file.read(64).removeprefix(BOM).lstrip().startswith(b"[")
    entries: list[LogEntry] = []
    filters: dict[str, str] = {}  # document to the first filter it was met with
    for line, where in reading.read_lines(path, _Line, JsonReader(path) if is_list else None):
        if filters.setdefault(str(line.doc_id), line.filter) == line.filter:
            entries.extend(_entries(line, f"{where} (doc_id {line.doc_id!r})"))
    reading.refuse_duplicates(entries, path)
    return ReplyLog(tool="lm-eval", task=read_task_name(path), model=_model_beside(path), entries=entries)


def read_task_name(path: Path) -> str:
    """The task's name, as the file is called after it.

    >>> read_task_name(Path("samples_chartqa_2026-11-15T19-30-00.123456.jsonl"))
    'chartqa'
    >>> read_task_name(Path("20261115_193000_samples_mmmu_val.jsonl")), read_task_name(Path("mine.jsonl"))
    ('mmmu_val', 'mine')
    """
    found = _NAME.fullmatch(path.stem)
    return found["task"] if found else path.stem


def _model_beside(path: Path) -> str:
    """The model, as the results of the same date say it; the samples do not."""
    name = path.name.replace(f"samples_{read_task_name(path)}", "results", 1)
    results = path.with_name(name).with_suffix(".json")
    with contextlib.suppress(DataError):
        if results != path and results.is_file() and results.stat().st_size <= _MAX_RESULTS_BYTES:
            return reading.decode_entry(read_bytes(results), _Results, results.name).model_name
    return ""


def _entries(line: _Line, where: str) -> Iterator[LogEntry]:
    answers = _answers(line, where)
    own = reading.read_own_sample(line.doc, where)
    named = next((one for one in map(line.doc.get, ALIASES["id"]) if isinstance(one, str | int)), None)
    name = own.id if own else str(line.doc_id if named is None else named)
    asked = _asked(line.arguments) or _asked(line.input)
    sample = own or _sample(name, line, asked, where)
    for trial, text in enumerate(answers):
        why = line.errors[trial] if trial < len(line.errors) else None
        reply = None
        if text is not None and why is None:
            known = {reading.MARK: line.eyechart[trial]} if trial < len(line.eyechart) else {}
            reply = reading.read_own_reply(known, text, where) or Reply.read(text)
        yield LogEntry(
            id=name,
            where=where,
            trial=trial,
            reply=reply,
            failure="" if reply else why or "the file holds no answer",
            position=line.doc_id if isinstance(line.doc_id, int) and named is None and not own else None,
            asked=asked,
            sample=sample,
        )


def _answers(line: _Line, where: str) -> list[str | None]:
    """The answers to the one request that was made; several mean log-likelihoods, which are no text."""
    answers = line.filtered_resps if line.resps is None else line.resps
    while isinstance(answers, list) and len(answers) == 1 and isinstance(answers[0], list):
        answers = answers[0]
    if isinstance(answers, str):
        answers = [answers]
    is_text = isinstance(answers, list) and all(text is None or isinstance(text, str) for text in answers)
    if not answers or not is_text:
        name = "filtered_resps" if line.resps is None else "resps"
        raise DataError(
            f"{where}: field {name}: it holds no text that a model wrote",
            hint="samples of generate_until tasks can be scored; log-likelihoods cannot",
        )
    if len(answers) > reading.MAX_TRIALS:
        raise DataError(
            f"{where}: {len(answers)} answers", hint=f"at most {reading.MAX_TRIALS} repeats are read"
        )
    return list(answers)


def _asked(arguments: Any) -> str:
    """The prompt: the first text in the arguments of the request."""
    if isinstance(arguments, str):
        return arguments
    values = arguments.values() if isinstance(arguments, Mapping) else arguments
    for value in values if isinstance(values, list) or isinstance(arguments, Mapping) else ():
        if found := _asked(value):
            return found
    return ""


def _sample(name: str, line: _Line, asked: str, where: str) -> Sample:
    doc = line.doc
    question = doc.get("question")
    options: list[Any] = next((one for one in map(doc.get, ALIASES["options"]) if isinstance(one, list)), [])
    choices = reading.letter_choices([str(text) for text in options], where, "options")
    return Sample(
        id=name,
        question=question if isinstance(question, str) and question else asked,
        golds=_letters(reading.read_golds(line.target), line.target, choices),
        choices=choices,
        meta=reading.read_meta({key: doc[key] for key in doc if key not in ("question", "answer")}),
    )


def _letters(golds: tuple[str, ...], target: Any, choices: Mapping[str, str]) -> tuple[str, ...]:
    """The gold by its letter: a task may name an option by its number, counted from 0, or by its text."""
    if not choices or len(golds) != 1 or golds[0] in choices:
        return golds
    letters = list(choices)
    if isinstance(target, int) and 0 <= target < len(letters):
        return (letters[target],)
    same = [letter for letter, text in choices.items() if text == golds[0]]
    return (same[0],) if len(same) == 1 else golds


# -- A run in the files of lm-eval and lmms-eval: ``results_<date>.json`` and ``samples_<task>_<date>.jsonl``.
#
# A line of samples is one question with all its trials: `resps` holds their replies, null where one failed
# (`errors` says why then), `filtered_resps` what was read out of them, and `acc` the mean of their values,
# null where nothing could be scored. `doc_hash`, `prompt_hash` and `target_hash` are SHA-256.

METRIC = "acc"

_TAKEN = frozenset({"id", "question", "choices", "answer", reading.MARK})


@exporter("lm-eval")
def write_lm_eval(export: Export) -> Sequence[Path]:
    """Write the samples, then the numbers."""
    now = datetime.now(UTC)
    date = now.strftime("%Y-%m-%dT%H-%M-%S.%f")
    task = make_file_name(export.manifest["benchmark"])
    samples = export.folder / f"samples_{task}_{date}.jsonl"
    results = export.folder / f"results_{date}.json"
    parameters = writing.read_parameters(export.manifest)
    with open_text_file(samples) as file:
        for trials in group_trials(export.results()):
            if any(result.outcome is not None for result in trials):
                file.write(writing.encode_json_line(_line(trials, parameters)) + "\n")
    with open_text_file(results) as file:
        file.write(writing.encode_json_line(_results(export, task, now)) + "\n")
    return [results, samples]


def _line(trials: Sequence[Result], parameters: Mapping[str, Any]) -> dict[str, Any]:
    first = trials[0]
    sample = first.sample
    prompt = writing.join_prompt(next((result for result in trials if result.asked), first))
    golds = list(sample.golds)
    target = golds[0] if len(golds) == 1 else golds
    doc = {
        "id": sample.id,
        "question": sample.question,
        **({"choices": list(sample.choices.values())} if sample.choices else {}),
        "answer": target,
        **{str(key): value for key, value in sample.meta.items() if key not in _TAKEN},
        reading.MARK: writing.format_sample(first),
    }
    values = [value for result in trials if (value := compute_credit(result)) is not None]
    line: dict[str, Any] = {
        "doc_id": first.position,
        "doc": doc,
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": prompt, "arg_1": parameters}},
        "resps": [[result.reply.text if result.reply else None for result in trials]],
        "filtered_resps": [result.score.read if result.score else None for result in trials],
        "filter": "none",
        "metrics": [METRIC],
        "doc_hash": _hash(writing.encode_json_line(doc)),
        "prompt_hash": _hash(prompt),
        "target_hash": _hash(writing.encode_json_line(target)),
        METRIC: add_in_order(values) / len(values) if values else None,
        reading.MARK: [writing.format_reply(result.reply) if result.reply else None for result in trials],
    }
    if any(result.reply is None for result in trials):
        line["errors"] = [
            None if result.reply else writing.format_failure(result) or "not asked yet" for result in trials
        ]
    return line


def _results(export: Export, task: str, now: datetime) -> dict[str, Any]:
    manifest, numbers = export.manifest, export.numbers
    model, scorer = manifest["model"], manifest["scorer"]
    version = manifest["versions"].get(scorer, "")
    provider = model.partition("/")[0]
    config = {
        "task": task,
        "dataset_path": manifest["origin"],
        "output_type": "generate_until",
        "repeats": manifest.get("trials", 1),
        "num_fewshot": 0,
        "metric_list": [{"metric": METRIC, "aggregation": "mean", "higher_is_better": True}],
        "metadata": {"scorer": scorer, "version": version},
    }
    values = {
        "alias": task,
        f"{METRIC},none": numbers["score"],
        f"{METRIC}_stderr,none": "N/A" if numbers["stderr"] is None else numbers["stderr"],
    }
    return {
        "results": {task: values},
        "group_subtasks": {task: []},
        "configs": {task: config},
        "versions": {task: version},
        "n-shot": {task: 0},
        "higher_is_better": {task: {METRIC: True}},
        "n-samples": {task: {"original": numbers["n"], "effective": numbers["n_scored"]}},
        "config": {
            "model": provider,
            "model_args": {"model": model},
            "gen_kwargs": writing.read_parameters(manifest),
            "limit": (manifest.get("options") or {}).get("limit"),
        },
        "git_hash": None,
        "date": now.timestamp(),
        "model_source": provider,
        "model_name": model,
        "eyechart_version": manifest["eyechart"],
    }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
