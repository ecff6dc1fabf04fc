"""MULTI's metrics step on files: labels and predictions in, score files out.

Mended where the official step breaks: a prediction file may have any name and is never written over, ids
that are not among the labels are named, and bad input is answered with the file, the id and the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data.json_files import read_bytes, translate_json_errors
from eyechart.errors import DataError, UsageError
from eyechart.files import make_folder
from eyechart.pipelines.multi.files import describe_unknown_educations
from eyechart.pipelines.multi.report import (
    ScoredPredictions,
    format_absolute_score,
    format_rejections,
    format_tables,
    make_summary,
    summarise_predictions,
    write_scores,
    write_summary,
)
from eyechart.pipelines.multi.score import check_position
from eyechart.score.number import add_in_order

_STANDARD = "prediction.json"
_SHOWN_IDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """What came of it: the points, the lines that the official step prints, notes, and the files written."""

    score: float
    total: float
    n: int  # questions in the score files
    summary: dict[str, Any]  # as in the JSON block of summary.md
    tables: dict[str, list[str]]  # those of summary.md, line by line
    lines: tuple[str, ...]
    notes: tuple[str, ...]
    unlabelled: tuple[str, ...]  # ids whose label is null: not scored, 0 points out of 0 in the files
    unknown: tuple[str, ...]  # ids that were left out, because their problem is not among the labels
    files: tuple[Path, ...]


def compute_metrics(
    label_file: str | Path,
    prediction_file: str | Path,
    *,
    detail: bool = False,
    answer_position: str = "start",
    output_dir: str | Path | None = None,
) -> Metrics:
    """Score a prediction file. `detail` adds statistics.csv, summary.md and its charts.

    The files go beside the predictions, or into `output_dir`. Those of ``prediction.json`` have the official
    names; those of ``mine_prediction.json`` or ``mine.json`` begin with ``mine_``.
    """
    check_position(answer_position)
    labels, predictions = Path(label_file), Path(prediction_file)
    scored = _scored(labels, predictions, answer_position)
    notes = _notes(scored, predictions, labels)
    folder, prefix = _folder(output_dir, predictions), _prefix(predictions.name)
    _spare(labels, folder, prefix)
    files = write_scores(folder, scored.rows, scored.details, prefix)
    if detail:
        files += write_summary(folder, scored.rows, prefix, notes)
    lines = (format_absolute_score(scored.rows), format_rejections(scored.rows))
    return Metrics(
        score=add_in_order(row.score for row in scored.rows),
        total=add_in_order(row.total for row in scored.rows),
        n=len(scored.rows),
        summary=make_summary(scored.rows),
        tables=format_tables(scored.rows),
        lines=tuple(line for line in lines if line),
        notes=tuple(notes),
        unlabelled=scored.unlabelled,
        unknown=scored.unknown,
        files=tuple(files),
    )


def _scored(labels: Path, predictions: Path, answer_position: str) -> ScoredPredictions:
    """The predictions with their points; `DataError`, naming the file, where there is nothing to score."""
    if predictions.is_dir():
        raise UsageError(f"{predictions} is a folder", hint=f"name the file in it: {predictions / _STANDARD}")
    problems = _read(labels, id_field="problem_id")
    entries = _read(predictions, id_field="question_id")
    if not entries:
        raise DataError(f"{predictions.name}: there is no prediction in it", hint="is it the right file?")
    try:
        scored = summarise_predictions(problems, entries, answer_position)
    except DataError as error:
        blamed = labels if error.message.startswith("problem ") else predictions
        raise DataError(f"{blamed.name}: {error.message}", hint=error.hint) from error
    if not scored.rows:
        raise DataError(
            f"{predictions.name}: none of its {len(entries)} questions is in {labels.name}",
            hint="give the label file that belongs to the predictions",
        )
    if len(scored.unlabelled) == len(scored.rows):
        raise DataError(
            f"{labels.name}: no label for any of the {len(scored.rows)} questions in {predictions.name}",
            hint="the release file has no answers: score with the file that has",
        )
    return scored


def _notes(scored: ScoredPredictions, predictions: Path, labels: Path) -> list[str]:
    said = {name: entry.get("prediction") for name, entry in scored.details.items()}
    missing = [name for name in said if said[name] is None]
    failed = [name for name in said if said[name] == "" and scored.details[name].get("feedback")]
    notes = []
    educations = {name: str(entry["education"]) for name, entry in scored.details.items()}
    if levels := describe_unknown_educations(educations, "questions"):
        notes.append(f"{labels.name}: {levels}")
    if missing:
        notes.append(
            f"{_questions(missing, 'has', 'have')} no prediction in {predictions.name}, e.g. {missing[0]}; "
            "as published, that counts as an empty one. Is the run over?"
        )
    if failed:
        notes.append(
            f"{_questions(failed, 'got', 'got')} no answer, e.g. {failed[0]}: 0 points, as published; "
            f"feedback in {predictions.name} says why"
        )
    if scored.unlabelled:
        notes.append(
            f"{_questions(scored.unlabelled, 'has', 'have')} no label in {labels.name}, "
            f"so there is no score for: {_ids(scored.unlabelled)}"
        )
    if scored.unknown:
        notes.append(
            f"{_questions(scored.unknown, 'is', 'are')} in {predictions.name} but not in {labels.name}, "
            f"and left out: {_ids(scored.unknown)}"
        )
    return notes


def _questions(names: Sequence[str], verb: str, plural: str) -> str:
    return f"{len(names)} questions {plural}" if len(names) > 1 else f"1 question {verb}"


def _ids(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN_IDS]) + (", ..." if len(names) > _SHOWN_IDS else "")


def _prefix(name: str) -> str:
    """What the names of the result files begin with.

    >>> _prefix("prediction.json"), _prefix("mine_prediction.json"), _prefix("mine.json")
    ('', 'mine_', 'mine_')
    """
    if name.endswith(_STANDARD):
        return name.removesuffix(_STANDARD)
    return name.removesuffix(".json") + "_"


def _spare(labels: Path, folder: Path, prefix: str) -> None:
    for name in ("score.json", "detail.json", "statistics.csv", "summary.md"):
        if (folder / f"{prefix}{name}").resolve() == labels.resolve():
            raise UsageError(
                f"the results would be written over the labels, {labels}", hint="choose another output folder"
            )


def _folder(output_dir: str | Path | None, predictions: Path) -> Path:
    folder = predictions.parent if output_dir is None else Path(output_dir)
    try:
        make_folder(folder)
    except OSError as error:
        raise UsageError(
            f"cannot write to {folder}: {error.strerror}", hint="choose another folder"
        ) from error
    return folder


def _read(path: Path, *, id_field: str) -> dict[str, Any]:
    """An object of id to entry. A list of entries that name themselves is turned into one."""
    with translate_json_errors(path.name, hint=f"it is an object of {id_field} to entry"):
        found = json.loads(read_bytes(path), object_pairs_hook=lambda pairs: _object(pairs, path))
    if isinstance(found, list):
        return _object(_named(found, path, id_field), path)
    if not isinstance(found, dict):
        raise DataError(f"{path.name}: no object", hint=f"it is an object of {id_field} to entry")
    return found


def _named(entries: list[Any], path: Path, id_field: str) -> Iterable[tuple[str, Any]]:
    for number, entry in enumerate(entries, 1):
        name = entry.get(id_field) if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise DataError(
                f"{path.name}: entry {number} has no {id_field}",
                hint="each entry of a list names itself by it",
            )
        yield name, entry


def _object(pairs: Iterable[tuple[str, Any]], path: Path) -> dict[str, Any]:
    """The pairs as an object; a name that stands twice would silently lose the first."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise DataError(f"{path.name}: {name!r} stands there twice", hint="keep one of the two")
        made[name] = value
    return made
