"""EvalScope's own files: predictions, reviews, and the report that both belong to.

==================================================  =====================================================
``predictions/<model>/<dataset>_<subset>.jsonl``    what the model said; the questions as they were sent
``reviews/<model>/<dataset>_<subset>.jsonl``        the same with accepted answers and scores
``reports/<model>/<dataset>.json``                  the numbers; see `evalscope_report`
==================================================  =====================================================

A line has no name but its number in the subset, counted from 0 (`index`). Lines are added as replies come in,
in any order; a second start adds to the same file, so that of lines of one number the last counts. Repeats of
a question are lines of their own, numbered on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.files.json_files import read_bytes
from eyechart.errors import DataError
from eyechart.pipelines.logs import reading
from eyechart.registry import log_format
from eyechart.types import FileSigns, LogEntry, LogReader, Reply, ReplyLog, Sample


class _Prediction(msgspec.Struct, frozen=True, kw_only=True):
    index: reading.Number
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
    group_id: reading.Number | str | None = None
    generation_index: int | None = None
    sample_metadata: Any = None


class _Review(msgspec.Struct, frozen=True, kw_only=True):
    index: reading.Number
    target: Any = None
    messages: Any = None
    sample_score: _SampleScore


def read_predictions(path: Path, _with_questions: bool = True) -> ReplyLog:
    """A file of predictions. It brings no accepted answers along.

    Which lines are repeats of one question only the reviews know, which usually lie beside it.
    """
    entries, model = _predictions(path)
    repeats: dict[int, tuple[int, int]] = {}
    if reviews := _find_beside(path, "predictions", "reviews"):
        with contextlib.suppress(DataError):  # they are not what was asked for
            repeats = {review.index: _repeat(review) for review, _ in reading.read_lines(reviews, _Review)}
    if any(trial for _, trial in repeats.values()):
        for index, (number, trial) in repeats.items():
            if index in entries and entries[index].position is not None:
                entries[index] = replace(entries[index], id=str(number), position=number, trial=trial)
    return _log(path, model, entries)


def _predictions(path: Path) -> tuple[dict[int, LogEntry], str]:
    """Entries by their number, and the model."""
    entries: dict[int, LogEntry] = {}
    models = set()
    for found, where in reading.read_lines(path, _Prediction):
        models.add(found.model)
        entries[found.index] = _prediction(found, f"{where} (index {found.index})")
    return entries, models.pop() if len(models) == 1 else ""


def read_reviews(path: Path, _with_questions: bool = True) -> ReplyLog:
    """A file of reviews: questions, answers and replies. It does not name the model; its folder does."""
    entries: dict[int, LogEntry] = {}
    for found, where in reading.read_lines(path, _Review):
        entries[found.index] = _review(found, f"{where} (index {found.index})")
    if beside := _find_beside(path, "reviews", "predictions"):  # they know tokens and why a reply ended
        for index, prediction in _predictions(beside)[0].items():
            reply, same = prediction.reply, entries.get(index)
            if same and same.reply and reply and reply.text == same.reply.text:
                entries[index] = replace(same, reply=reply)
    return _log(path, path.parent.name if path.parent.parent.name == "reviews" else "", entries)


def _find_beside(path: Path, here: str, there: str) -> Path | None:
    """The other file on the same replies, if this one lies in its folder."""
    if path.parent.parent.name != here:
        return None
    other = path.parent.parent.with_name(there) / path.parent.name / path.name
    return other if other.is_file() else None


def _log(path: Path, model: str, entries: dict[int, LogEntry]) -> ReplyLog:
    in_order = [entries[index] for index in sorted(entries)]
    reading.refuse_duplicates(in_order, path)
    return ReplyLog(tool="EvalScope", task=path.stem, model=model, entries=in_order)


def _prediction(found: _Prediction, where: str) -> LogEntry:
    reply = reading.read_reply(found.model_output, where)
    error = found.model_output.get("error") if isinstance(found.model_output, Mapping) else None
    own = reading.read_own_sample(found.metadata, where)
    return LogEntry(
        id=own.id if own else str(found.index),
        where=where,
        trial=_trial(found.metadata) if own else 0,
        reply=None if error else reply,
        failure=str(error)[:2000] if error else "" if reply else "the file holds no output of the model",
        position=None if own else found.index,
        asked=reading.read_question(found.messages),
        sample=own,
    )


def _review(found: _Review, where: str) -> LogEntry:
    score = found.sample_score.score
    metadata = found.sample_score.sample_metadata
    own = reading.read_own_sample(metadata, where)
    reply = _said(found, score)
    asked = reading.read_question(found.messages)
    number, trial = _repeat(found)
    name = own.id if own else str(number)
    sample = Sample(
        id=name,
        question=asked,
        images=reading.read_image_refs(found.messages),
        golds=reading.read_golds(found.target),
        meta=reading.read_meta(metadata),
    )
    return LogEntry(
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
    match messages[-1:]:
        case [{"role": "assistant", **last}]:
            content = last.get("content")
            return Reply.read(reading.read_text(content), thinking=reading.read_thinking(content))
    return Reply.read(score.prediction) if score.prediction else None


def _repeat(found: _Review) -> tuple[int, int]:
    """The number of the question and which answer to it this is."""
    group, repeat = found.sample_score.group_id, found.sample_score.generation_index
    if isinstance(group, int) and repeat is not None and 0 <= repeat < reading.MAX_TRIALS:
        return group, repeat
    return found.index, 0


def _trial(metadata: Any) -> int:
    trial = metadata.get(reading.TRIAL) if isinstance(metadata, Mapping) else None
    return trial if type(trial) is int and 0 <= trial < reading.MAX_TRIALS else 0


# -- EvalScope's report on one data set. It holds no replies, and leads to those it was made of.


class _Report(msgspec.Struct, frozen=True, kw_only=True):
    dataset_name: str
    model_name: str
    metrics: list[Any]
    execution_summary: Any = None


@log_format("evalscope")
def find_reader(signs: FileSigns) -> LogReader | None:
    """Tell a report and a line of reviews or predictions by their keys."""
    if signs.shape != "object" or not signs.is_complete:
        return None
    if signs.names >= {"index", "sample_score"}:
        return read_reviews
    if signs.names >= {"index", "model_output"}:
        return read_predictions
    is_report = signs.names >= {"name", "dataset_name", "model_name", "metrics"}
    return read_report if is_report else None


def read_report(path: Path, with_questions: bool = True) -> ReplyLog:
    """The replies that a report was made of, beside it: its reviews where the questions are wanted too."""
    report = reading.decode_entry(read_bytes(path), _Report, path.name)
    kind, read = ("reviews", read_reviews) if with_questions else ("predictions", read_predictions)
    root, model = path.parent.parent.parent, path.parent.name
    subsets = _subsets(report)
    files = {name: root / kind / model / f"{path.stem}_{name}.jsonl" for name in subsets}
    there = {name: file for name, file in files.items() if file.is_file()}
    if not there:
        raise DataError(
            f"{path.name}: a report contains no replies, and they are not in its folder "
            f"({kind}/{model}/{path.stem}_*.jsonl)",
            hint=f"give a file of {kind} itself",
        )
    if lost := [name for name, is_certain in subsets.items() if is_certain and name not in there]:
        raise DataError(
            f"{path.name}: the replies of {', '.join(lost[:3])} are not in its folder "
            f"({files[lost[0]].relative_to(root).as_posix()} is missing)",
            hint=f"put them back, or give a file of {kind} itself",
        )
    entries = [
        entry if len(there) == 1 or entry.position is None else _in_subset(entry, name)
        for name, file in there.items()
        for entry in read(file).entries
    ]
    reading.refuse_duplicates(entries, path)
    return ReplyLog(tool="EvalScope", task=report.dataset_name, model=report.model_name, entries=entries)


def _in_subset(entry: LogEntry, subset: str) -> LogEntry:
    """Numbers begin anew in every subset; a question that has a name of its own keeps it."""
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
    categories = (one for metric in report.metrics for one in _list(metric, "categories"))
    for subset in (one for category in categories for one in _list(category, "subsets")):
        match subset:
            case {"name": str(name)} if not subset.get("is_aggregate"):
                found[name] = "is_aggregate" in subset
    match report.execution_summary:
        case {"subsets": Mapping() as asked}:
            found.update(dict.fromkeys(asked, True))
    return {name: certain for name, certain in found.items() if not any(mark in name for mark in "/\\\0")}


def _list(value: Any, key: str) -> list[Any]:
    items = value.get(key) if isinstance(value, Mapping) else None
    return items if isinstance(items, list) else []
