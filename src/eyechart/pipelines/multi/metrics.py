"""MULTI's metrics step on files: labels and predictions in, score files out.

Repaired where the official step breaks: a prediction file may have any name and is never overwritten, ids
without a label are listed, and errors name the file, the id and the field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import DataError, UsageError, join_names
from eyechart.files import make_folder
from eyechart.pipelines.multi import report
from eyechart.pipelines.multi.files import (
    Prediction,
    convert_row,
    describe_unknown_educations,
    find_level,
    read_entries,
    read_rows,
    take_first,
)
from eyechart.pipelines.multi.score import KINDS, TypeName, check_position, clean, is_refusal, score
from eyechart.stats.intervals import add_in_order

_STANDARD = "prediction.json"
_SHOWN_IDS = 5
_NO_LABELS = "the release file has no answers: give the file that has them"


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

    def to_json(self) -> dict[str, Any]:
        return {
            "score": self.score / self.total if self.total else None,
            "points": self.score,
            "total": self.total,
            "n": self.n,
            "summary": self.summary,
            "unscored": list(self.unlabelled),
            "left_out": list(self.unknown),
            "files": [str(path) for path in self.files],
        }


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
    if labels.resolve() in [(folder / f"{prefix}{name}").resolve() for name in report.FILES[2:6]]:
        raise UsageError(
            f"the results would overwrite the labels, {labels}", hint="choose another output folder"
        )
    files = report.write_scores(folder, scored.rows, scored.details, prefix)
    if detail:
        files += report.write_summary(folder, scored.rows, prefix, notes)
    lines = (report.format_absolute_score(scored.rows), report.format_rejections(scored.rows))
    return Metrics(
        score=add_in_order(row.score for row in scored.rows),
        total=add_in_order(row.total for row in scored.rows),
        n=len(scored.rows),
        summary=report.make_summary(scored.rows),
        tables=report.format_tables(scored.rows),
        lines=tuple(line for line in lines if line),
        notes=tuple(notes),
        unlabelled=scored.unlabelled,
        unknown=scored.unknown,
        files=tuple(files),
    )


class _Points(msgspec.Struct, frozen=True):
    score: int | float  # whole points stay whole
    total_score: int | float


def add_scores(score_file: str | Path) -> tuple[str, dict[str, Any]]:
    """The line with the total of an existing score.json, and the same as values."""
    path = Path(score_file)
    hint = "give a score.json as this command writes it"
    scores = [
        convert_row(entry, _Points, f"{path.name}: question {name!r}", hint)
        for name, entry in read_rows(path, "question", "question_id")
    ]
    earned, total = (add_in_order(getattr(one, key) for one in scores) for key in ("score", "total_score"))
    if not total:
        raise DataError(f"{path.name}: it has no points to earn", hint="is it the right file?")
    values = {"score": earned / total, "points": earned, "total": total, "n": len(scores)}
    return report.format_points(earned, total), values


def _score_files(labels: Path, predictions: Path, answer_position: str) -> ScoredPredictions:
    """The predictions with their points; `DataError`, naming the file, if there is nothing to score."""
    if predictions.is_dir():
        raise UsageError(f"{predictions} is a folder", hint=f"give the file in it: {predictions / _STANDARD}")
    problems = dict(read_rows(labels, "problem", "problem_id"))
    entries = read_entries(predictions)
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
            hint=_NO_LABELS,
        )
    return scored


def _notes(scored: ScoredPredictions, predictions: Path, labels: Path) -> list[str]:
    said = scored.details
    missing = [name for name, entry in said.items() if entry.get("prediction") is None]
    failed = [name for name, entry in said.items() if entry.get("prediction") == "" and entry.get("feedback")]
    notes = []
    educations = {row.question_id: row.education for row in scored.rows}
    if levels := describe_unknown_educations(educations, "questions"):
        notes.append(f"{labels.name}: {levels}")
    empty = "as published, that counts as an empty one; is the run complete?"
    remarks: list[tuple[Sequence[str], str]] = [
        (missing, f"without a prediction in {predictions.name} ({empty})"),
        (failed, f"without an answer (0 points, as published; feedback in {predictions.name} says why)"),
        (scored.unlabelled, f"without a label in {labels.name}, not scored"),
        (scored.unknown, f"in {predictions.name} but not in {labels.name}, left out"),
    ]
    for names, what in remarks:
        if names:
            many = f"{len(names)} question{'s' * (len(names) != 1)}"
            notes.append(f"{many} {what}: {join_names(names, _SHOWN_IDS)}")
    return notes


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


# -- Predictions against labels, both as plain values


class _Labels(msgspec.Struct, frozen=True):
    """What is needed of a problem."""

    problem_type_list: list[TypeName]
    problem_answer_list: list[str | None]
    problem_analysis_list: Any = None
    education: str | None = None
    subject: list[str] | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPredictions:
    """The questions in the order of the result files, their entries in detail.json, and ids left out."""

    rows: tuple[report.QuestionScore, ...]
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
    for name in report.sort_ids(predictions):
        problem_id = name.rpartition("_")[0]
        if problem_id not in problems:
            unknown.append(name)
            continue
        row = _score_one(name, predictions[name], problems[problem_id], answer_position)
        rows.append(row)
        details[name] = row.make_detail({"question_id": name, **predictions[name]})
        if row.answer is None:
            unlabelled.append(name)
    return ScoredPredictions(
        rows=tuple(rows), details=details, unlabelled=tuple(unlabelled), unknown=tuple(unknown)
    )


def _score_one(name: str, entry: Any, problem: Any, answer_position: str) -> report.QuestionScore:
    """One prediction with its points."""
    problem_id, _, index = name.rpartition("_")
    labels = convert_row(problem, _Labels, f"problem {problem_id!r}", _NO_LABELS)
    said = Prediction.of(name, entry)
    if said.question_image_number is None:
        raise DataError(
            f"question {name!r}: question_image_number is missing",
            hint="give the number of images of the question: 0, 1, ... The totals are grouped by it",
        )
    is_place = index.isascii() and index.isdigit() and len(index) < 10
    for field in ("problem_type_list", "problem_answer_list"):
        n = len(getattr(labels, field))
        if not is_place or int(index) >= n:
            raise DataError(
                f"question {name!r}: problem {problem_id!r} has {n} entries in {field}, "
                f"so there is no question {index!r}",
                hint="a question id ends in its position in the problem, counted from 0",
            )
    place, analyses = int(index), labels.problem_analysis_list
    type, answer = labels.problem_type_list[place], labels.problem_answer_list[place]
    known = analyses[place : place + 1] if isinstance(analyses, list) else []
    earned, total = score(said.text, answer, type, answer_position)
    education, subject = labels.education or "", take_first(labels.subject)
    return report.QuestionScore(
        question_id=name,
        score=earned,
        total=total,
        kind=KINDS[type if answer is not None else report.UNLABELLED_TYPE],
        level=find_level(education, subject),
        subject=subject,
        n_images=said.question_image_number,
        is_rejected=answer is not None and is_refusal(clean(said.text)),
        education=education,
        answer=answer and answer.strip(),
        analysis=str(known[0]) if known else "",
    )
