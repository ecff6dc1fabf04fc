"""MULTI's metrics step on files: labels and predictions in, score files out.

Repaired where the official step breaks: a prediction file may have any name and is never overwritten, ids
without a label are listed, and errors name the file, the id and the field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.data.files.json_files import read_bytes, translate_json_errors
from eyechart.errors import DataError, UsageError
from eyechart.files import make_folder
from eyechart.pipelines.multi.files import describe_unknown_educations, find_level
from eyechart.pipelines.multi.report import (
    UNLABELLED_TYPE,
    QuestionScore,
    format_absolute_score,
    format_points,
    format_rejections,
    format_tables,
    make_summary,
    sort_ids,
    write_scores,
    write_summary,
)
from eyechart.pipelines.multi.score import KINDS, check_position, clean, is_refusal, score
from eyechart.stats.intervals import add_in_order

_STANDARD = "prediction.json"
_SHOWN_IDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The points, the lines that the official step prints, notes, and the files written."""

    score: float
    total: float
    n: int  # questions in the score files
    summary: dict[str, Any]  # as in the JSON block of summary.md
    tables: dict[str, list[str]]  # those of summary.md, as lines
    lines: tuple[str, ...]
    notes: tuple[str, ...]
    unlabelled: tuple[str, ...]  # ids whose label is null: 0 points of 0 in the files
    unknown: tuple[str, ...]  # ids left out, because their problem is not among the labels
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

    The files go beside the predictions, or into `output_dir`, and have the official names; those of
    ``mine_prediction.json`` or ``mine.json`` begin with ``mine_``.
    """
    check_position(answer_position)
    labels, predictions = Path(label_file), Path(prediction_file)
    scored = _score_files(labels, predictions, answer_position)
    notes = _notes(scored, predictions, labels)
    folder, prefix = _folder(output_dir, predictions), _prefix(predictions.name)
    for name in ("score.json", "detail.json", "statistics.csv", "summary.md"):
        if (folder / f"{prefix}{name}").resolve() == labels.resolve():
            raise UsageError(
                f"the results would overwrite the labels, {labels}", hint="choose another output folder"
            )
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


def add_scores(score_file: str | Path) -> tuple[str, dict[str, Any]]:
    """The line with the total of an existing score.json, and the same as values."""
    path = Path(score_file)
    scores = _read(path, id_field="question_id")
    for name, entry in scores.items():
        points = [entry.get(key) for key in ("score", "total_score")] if isinstance(entry, dict) else [None]
        if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in points):
            raise DataError(
                f"{path.name}: question {name!r} has no score and total_score",
                hint="give a score.json as this command writes it",
            )
    earned, total = (add_in_order(one[key] for one in scores.values()) for key in ("score", "total_score"))
    if not total:
        raise DataError(f"{path.name}: it has no points to earn", hint="is it the right file?")
    values = {"score": earned / total, "points": earned, "total": total, "n": len(scores)}
    return format_points(earned, total), values


def _score_files(labels: Path, predictions: Path, answer_position: str) -> ScoredPredictions:
    """The predictions with their points; `DataError`, naming the file, if there is nothing to score."""
    if predictions.is_dir():
        raise UsageError(f"{predictions} is a folder", hint=f"give the file in it: {predictions / _STANDARD}")
    problems = _read(labels, id_field="problem_id")
    entries = _read(predictions, id_field="question_id")
    if not entries:
        raise DataError(f"{predictions.name}: it has no predictions", hint="is it the right file?")
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
            hint="the release file has no answers: give the file that has them",
        )
    return scored


def _notes(scored: ScoredPredictions, predictions: Path, labels: Path) -> list[str]:
    said = {name: entry.get("prediction") for name, entry in scored.details.items()}
    missing = [name for name in said if said[name] is None]
    failed = [name for name in said if said[name] == "" and scored.details[name].get("feedback")]
    notes = []
    educations = {row.question_id: row.education for row in scored.rows}
    if levels := describe_unknown_educations(educations, "questions"):
        notes.append(f"{labels.name}: {levels}")
    if missing:
        notes.append(
            f"{_questions(missing, 'has', 'have')} no prediction in {predictions.name}, e.g. {missing[0]}; "
            "as published, that counts as an empty one. Is the run complete?"
        )
    if failed:
        notes.append(
            f"{_questions(failed, 'got', 'got')} no answer, e.g. {failed[0]}: 0 points, as published; "
            f"feedback in {predictions.name} says why"
        )
    if scored.unlabelled:
        notes.append(
            f"{_questions(scored.unlabelled, 'has', 'have')} no label in {labels.name}, "
            f"not scored: {_ids(scored.unlabelled)}"
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
    """The prefix of the result files' names.

    >>> _prefix("prediction.json"), _prefix("mine_prediction.json"), _prefix("mine.json")
    ('', 'mine_', 'mine_')
    """
    if name.endswith(_STANDARD):
        return name.removesuffix(_STANDARD)
    return name.removesuffix(".json") + "_"


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
    """An object of id to entry, also from a list of entries that hold their ids."""
    with translate_json_errors(path.name, hint=f"expected an object of {id_field} to entry"):
        found = json.loads(read_bytes(path), object_pairs_hook=lambda pairs: _object(pairs, path))
    if isinstance(found, list):
        return _object(_named(found, path, id_field), path)
    if not isinstance(found, dict):
        raise DataError(f"{path.name}: not an object", hint=f"expected an object of {id_field} to entry")
    return found


def _named(entries: list[Any], path: Path, id_field: str) -> Iterable[tuple[str, Any]]:
    for number, entry in enumerate(entries, 1):
        name = entry.get(id_field) if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise DataError(
                f"{path.name}: entry {number} has no {id_field}", hint="each entry of a list needs it"
            )
        yield name, entry


def _object(pairs: Iterable[tuple[str, Any]], path: Path) -> dict[str, Any]:
    """The pairs as an object. Repeated names are refused: JSON would keep only the last."""
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise DataError(f"{path.name}: {name!r} appears twice", hint="keep one of the two")
        made[name] = value
    return made


# -- Predictions against labels, both as plain values

_EXTRACTED = "the answer extractor writes pairs: keep the first of each, or score the file before it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPredictions:
    """The questions in the order of the result files, their entries in detail.json, and ids left out."""

    rows: tuple[QuestionScore, ...]
    details: Mapping[str, Mapping[str, Any]]
    unlabelled: tuple[str, ...] = ()  # questions whose label is null: rows with 0 points of 0
    unknown: tuple[str, ...] = ()  # predictions whose problem is not among the labels


def summarise_predictions(
    problems: Mapping[str, Any], predictions: Mapping[str, Any], answer_position: str = "start"
) -> ScoredPredictions:
    """Score every prediction whose problem is known; the official step drops the others, which are listed.

    Questions without a prediction do not count. Both arguments are objects as in the files: problem id to
    problem, question id to prediction.
    """
    rows, details, unlabelled, unknown = [], {}, [], []
    for name in sort_ids(predictions):
        problem_id = name.rpartition("_")[0]
        if problem_id not in problems:
            unknown.append(name)
            continue
        entry = _entry(name, predictions[name])
        row, has_label = _score_one(name, entry, problems[problem_id], answer_position)
        rows.append(row)
        details[name] = row.make_detail(entry)
        if not has_label:
            unlabelled.append(name)
    return ScoredPredictions(
        rows=tuple(rows), details=details, unlabelled=tuple(unlabelled), unknown=tuple(unknown)
    )


def _score_one(
    name: str, entry: Mapping[str, Any], problem: Any, answer_position: str
) -> tuple[QuestionScore, bool]:
    """One prediction with its points, and whether its question has a label."""
    problem_id, _, index = name.rpartition("_")
    if not isinstance(problem, dict):
        raise DataError(f"problem {problem_id!r}: expected an object, found {_kind(problem)}")
    subject, education = problem.get("subject") or "", problem.get("education") or ""
    if isinstance(subject, list):
        subject = subject[0]
    if not isinstance(subject, str) or not isinstance(education, str):
        field = "education" if isinstance(subject, str) else "subject"
        raise DataError(f"problem {problem_id!r}: {field} is not text", hint="the totals are grouped by it")
    type = _at(name, problem_id, problem, "problem_type_list", index)
    if type is None or type not in KINDS:
        said = "null" if type is None else repr(type)
        raise DataError(
            f"problem {problem_id!r}: problem_type_list[{index}] is {said}",
            hint=f"use one of: {', '.join(KINDS)}",
        )
    answer = _at(name, problem_id, problem, "problem_answer_list", index)
    analyses = problem.get("problem_analysis_list")  # not needed for scoring
    known = analyses[int(index) : int(index) + 1] if isinstance(analyses, list) else []
    text, n_images = entry.get("prediction") or "", _image_number(name, entry)
    earned, total = score(text, answer, type, answer_position)
    row = QuestionScore(
        question_id=name,
        score=earned,
        total=total,
        kind=KINDS[type if answer is not None else UNLABELLED_TYPE],
        level=find_level(education, subject),
        subject=subject,
        n_images=n_images,
        is_rejected=answer is not None and is_refusal(clean(text)),
        education=education,
        answer=(answer or "").strip(),
        analysis=str(known[0]) if known else "",
    )
    return row, answer is not None


def _entry(name: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise DataError(
            f"prediction {name!r}: expected an object, found {_kind(entry)}",
            hint="an entry holds question_id, question_image_number and prediction",
        )
    if entry.get("question_id", name) != name:
        raise DataError(
            f"prediction {name!r}: its question_id is {entry['question_id']!r}",
            hint="the key of an entry is its question id",
        )
    said = entry.get("prediction")
    if said is not None and not isinstance(said, str):
        hint = _EXTRACTED if isinstance(said, list) else "a prediction is the model's reply as text"
        raise DataError(f"prediction {name!r}: prediction is {_kind(said)}, not text", hint=hint)
    return {"question_id": name, **entry}


def _image_number(name: str, entry: Mapping[str, Any]) -> int:
    found = entry.get("question_image_number")
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        was = "is missing" if found is None else f"is {found!r}"
        raise DataError(
            f"prediction {name!r}: question_image_number {was}",
            hint="give the number of images of the question: 0, 1, ... The totals are grouped by it",
        )
    return found


def _at(name: str, problem_id: str, problem: Mapping[str, Any], field: str, index: str) -> str | None:
    """The entry for a question in one of a problem's lists."""
    values = problem.get(field)
    if not isinstance(values, list):
        hint = "the release file has no answers: give the file that has them" if "answer" in field else ""
        raise DataError(f"problem {problem_id!r}: {field} is missing or not a list", hint=hint)
    is_place = index.isascii() and index.isdigit() and len(index) < 10
    if not is_place or int(index) >= len(values):
        raise DataError(
            f"prediction {name!r}: problem {problem_id!r} has {len(values)} entries in {field}, "
            f"so there is no question {index!r}",
            hint="a question id ends in its position in the problem, counted from 0",
        )
    value = values[int(index)]
    if value is not None and not isinstance(value, str):
        raise DataError(f"problem {problem_id!r}: {field}[{index}] is {_kind(value)}, not text")
    return value


def _kind(value: Any) -> str:
    names = {"dict": "an object", "list": "a list", "str": "a text", "NoneType": "null", "bool": "a boolean"}
    return names.get(type(value).__name__, "a number")
