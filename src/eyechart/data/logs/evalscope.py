"""EvalScope's own files: predictions, reviews, and the report that both belong to.

==================================================  =====================================================
``predictions/<model>/<dataset>_<subset>.jsonl``    what the model said; the questions as they were sent
``reviews/<model>/<dataset>_<subset>.jsonl``        the same with accepted answers and scores
``reports/<model>/<dataset>.json``                  the numbers; it leads to the other two
==================================================  =====================================================

A line has no name but its number in the subset, counted from 0 (`index`). Lines are added as replies come in,
in any order; a second start adds to the same file, so that of lines of one number the last counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.json_file import read_bytes
from eyechart.data.json_rows import JsonLinesReader
from eyechart.data.logs.entries import (
    MAX_TRIALS,
    Entry,
    Log,
    Number,
    asked_text,
    converted,
    decode,
    golds_of,
    images_of,
    output_reply,
    plain_meta,
    refuse_twice,
    text_of,
    thinking_of,
)
from eyechart.data.logs.own import own_reply, own_sample
from eyechart.data.rows import place
from eyechart.errors import DataError
from eyechart.types import Reply, Sample

PREDICTION_KEYS = frozenset({"index", "model_output"})
REVIEW_KEYS = frozenset({"index", "sample_score"})
REPORT_KEYS = frozenset({"name", "dataset_name", "model_name", "metrics"})
TRIAL = "eyechart_trial"  # which of several answers it is, in our own exports


class _Prediction(msgspec.Struct, frozen=True, kw_only=True):
    index: Number
    model: str = ""
    model_output: Any = None
    messages: Any = None
    metadata: Any = None


class _Score(msgspec.Struct, frozen=True, kw_only=True):
    prediction: str | None = None
    status: str = "success"
    explanation: str | None = None


class _SampleScore(msgspec.Struct, frozen=True, kw_only=True):
    score: _Score
    group_id: Number | str | None = None
    generation_index: int | None = None
    sample_metadata: Any = None


class _Review(msgspec.Struct, frozen=True, kw_only=True):
    index: Number
    target: Any = None
    messages: Any = None
    sample_score: _SampleScore


class _Report(msgspec.Struct, frozen=True, kw_only=True):
    dataset_name: str
    model_name: str
    metrics: list[Any]
    execution_summary: Any = None


def read_predictions(path: Path) -> Log:
    """A file of predictions. It brings no accepted answers along."""
    entries: dict[int, Entry] = {}
    models = set()
    for row in JsonLinesReader(path).rows(()):
        where = place(path, row.number, row.line)
        found = converted(row.values, _Prediction, where)
        models.add(found.model)
        entries[found.index] = _prediction(found, f"{where} (index {found.index})")
    return _log(path, models.pop() if len(models) == 1 else "", entries)


def read_reviews(path: Path) -> Log:
    """A file of reviews: questions, answers and replies. It does not name the model; its folder does."""
    entries: dict[int, Entry] = {}
    for row in JsonLinesReader(path).rows(()):
        where = place(path, row.number, row.line)
        found = converted(row.values, _Review, where)
        entries[found.index] = _review(found, f"{where} (index {found.index})")
    is_in_place = path.parent.parent.name == "reviews"
    beside = path.parents[2] / "predictions" / path.parent.name / path.name if is_in_place else None
    if beside is not None and beside.is_file():
        entries = _with_facts(entries, read_predictions(beside))
    return _log(path, path.parent.name if is_in_place else "", entries)


def _with_facts(entries: dict[int, Entry], predictions: Log) -> dict[int, Entry]:
    """The same replies as the predictions have them, which know tokens and why a reply ended."""
    known = {(entry.id, entry.trial): entry.reply for entry in predictions.entries}
    found = {}
    for index, entry in entries.items():
        reply = known.get((entry.id, entry.trial))
        is_same = reply is not None and entry.reply is not None and reply.text == entry.reply.text
        found[index] = replace(entry, reply=reply) if is_same else entry
    return found


def read_report(path: Path, *, with_questions: bool) -> Log:
    """The replies that a report was made of, beside it: its reviews where the questions are wanted too."""
    report = decode(read_bytes(path), _Report, path.name)
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
    refuse_twice(entries, path)
    return Log(tool="EvalScope", task=report.dataset_name, model=report.model_name, entries=entries)


def _in_subset(entry: Entry, subset: str) -> Entry:
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


def _log(path: Path, model: str, entries: dict[int, Entry]) -> Log:
    in_order = [entries[index] for index in sorted(entries)]
    refuse_twice(in_order, path)
    return Log(tool="EvalScope", task=path.stem, model=model, entries=in_order)


def _prediction(found: _Prediction, where: str) -> Entry:
    reply = output_reply(found.model_output)
    if reply is not None:
        reply = own_reply(found.model_output.get("metadata"), reply.text, where) or reply
    error = found.model_output.get("error") if isinstance(found.model_output, Mapping) else None
    own = own_sample(found.metadata, where)
    return Entry(
        id=own.id if own else str(found.index),
        where=where,
        trial=_trial(found.metadata) if own else 0,
        reply=None if error else reply,
        failure=str(error)[:2000] if error else "" if reply else "the file holds no output of the model",
        position=None if own else found.index,
        asked=asked_text(found.messages),
        sample=own,
    )


def _review(found: _Review, where: str) -> Entry:
    score = found.sample_score.score
    metadata = found.sample_score.sample_metadata
    own = own_sample(metadata, where)
    reply = _said(found, score)
    asked = asked_text(found.messages)
    number, trial = _repeat(found)
    name = own.id if own else str(number)
    sample = Sample(
        id=name,
        question=asked,
        images=images_of(found.messages),
        golds=golds_of(found.target),
        meta=plain_meta(metadata),
    )
    return Entry(
        id=name,
        where=where,
        trial=_trial(metadata) if own else trial,
        reply=reply,
        failure="" if reply else score.explanation or "the file holds no reply",
        position=None if own else number,
        asked=asked,
        sample=own or sample,
    )


def _said(found: _Review, score: _Score) -> Reply | None:
    """The model's last words; where they are not among the messages, what was scored."""
    messages = found.messages if isinstance(found.messages, list) else []
    last = messages[-1] if messages and isinstance(messages[-1], Mapping) else {}
    if last.get("role") == "assistant":
        content = last.get("content")
        return Reply(text=text_of(content), thinking=thinking_of(content))
    return Reply(text=score.prediction) if score.prediction else None


def _repeat(found: _Review) -> tuple[int, int]:
    """The number of the question and which answer to it this is."""
    group, repeat = found.sample_score.group_id, found.sample_score.generation_index
    if isinstance(group, int) and repeat is not None and 0 <= repeat < MAX_TRIALS:
        return group, repeat
    return found.index, 0


def _trial(metadata: Any) -> int:
    trial = metadata.get(TRIAL) if isinstance(metadata, Mapping) else None
    return trial if type(trial) is int and 0 <= trial < MAX_TRIALS else 0
