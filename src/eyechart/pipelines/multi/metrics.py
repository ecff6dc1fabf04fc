"""MULTI's metrics step on files: labels and predictions in, score files out.

Repaired where the official step breaks: a prediction file may have any name and is never overwritten, ids
without a label are listed, and errors name the file, the id and the field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import DataError, UsageError, join_names
from eyechart.files import make_folder
from eyechart.pipelines.multi import report
from eyechart.pipelines.multi.data import ProblemQuestion, list_questions
from eyechart.pipelines.multi.files import (
    Prediction,
    Problem,
    convert_row,
    describe_unknown_educations,
    read_entries,
    read_problems,
    read_rows,
)
from eyechart.pipelines.multi.score import check_position, clean, is_refusal, score
from eyechart.stats.intervals import add_in_order

_STANDARD = "prediction.json"
_SHOWN_IDS = 5
_NO_LABELS = "the release file has no answers: give the file that has them"


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Predictions with their points: the questions in the order of the result files, notes, files written."""

    rows: tuple[report.QuestionScore, ...]
    details: Mapping[str, Mapping[str, Any]]  # the entries of detail.json
    unlabelled: tuple[str, ...] = ()  # ids whose label is null: 0 points of 0 in the files
    unknown: tuple[str, ...] = ()  # ids left out, because their problem is not among the labels
    notes: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def score(self) -> float:
        return add_in_order(row.score for row in self.rows)

    @property
    def total(self) -> float:
        return add_in_order(row.total for row in self.rows)

    @property
    def n(self) -> int:
        """How many questions the score files have."""
        return len(self.rows)

    @property
    def summary(self) -> dict[str, Any]:
        """The JSON block of summary.md."""
        return report.make_summary(self.rows)

    @property
    def tables(self) -> dict[str, list[str]]:
        """Those of summary.md, as lines."""
        return report.format_tables(self.rows)

    @property
    def lines(self) -> tuple[str, ...]:
        """What the official step prints."""
        lines = (report.format_absolute_score(self.rows), report.format_rejections(self.rows))
        return tuple(filter(None, lines))

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
    found = _score_files(labels, predictions, answer_position)
    notes = _list_notes(found, predictions, labels)
    folder = predictions.parent if output_dir is None else Path(output_dir)
    try:
        make_folder(folder)
    except OSError as error:
        raise UsageError(
            f"cannot write to {folder}: {error.strerror}", hint="choose another folder"
        ) from error
    name = predictions.name
    prefix = name.removesuffix(_STANDARD) if name.endswith(_STANDARD) else f"{name.removesuffix('.json')}_"
    if labels.resolve() in [(folder / f"{prefix}{name}").resolve() for name in report.FILES[2:6]]:
        raise UsageError(
            f"the results would overwrite the labels, {labels}", hint="choose another output folder"
        )
    files = report.write_scores(folder, found.rows, found.details, prefix)
    if detail:
        files += report.write_summary(folder, found.rows, prefix, notes)
    return replace(found, notes=tuple(notes), files=tuple(files))


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


def _score_files(labels: Path, predictions: Path, answer_position: str) -> Metrics:
    """The predictions with their points; `DataError`, naming the file, if there is nothing to score."""
    if predictions.is_dir():
        raise UsageError(f"{predictions} is a folder", hint=f"give the file in it: {predictions / _STANDARD}")
    problems = read_problems(labels, only_labels=True)
    entries = read_entries(predictions)
    found = summarise_predictions(problems, entries, answer_position, where=f"{predictions.name}: ")
    if not found.rows:
        raise DataError(
            f"{predictions.name}: none of its {len(entries)} questions is in {labels.name}",
            hint="give the label file that belongs to the predictions",
        )
    if len(found.unlabelled) == found.n:
        raise DataError(
            f"{labels.name}: no label for any of the {found.n} questions in {predictions.name}",
            hint=_NO_LABELS,
        )
    return found


def _list_notes(found: Metrics, predictions: Path, labels: Path) -> list[str]:
    said = found.details
    missing = [name for name, entry in said.items() if entry.get("prediction") is None]
    failed = [name for name, entry in said.items() if entry.get("prediction") == "" and entry.get("feedback")]
    educations = {row.question_id: row.education for row in found.rows}
    levels = describe_unknown_educations(educations, "questions")
    notes = [f"{labels.name}: {levels}"] if levels else []
    empty = "as published, that counts as an empty one; is the run complete?"
    remarks: list[tuple[Sequence[str], str]] = [
        (missing, f"without a prediction in {predictions.name} ({empty})"),
        (failed, f"without an answer (0 points, as published; feedback in {predictions.name} says why)"),
        (found.unlabelled, f"without a label in {labels.name}, not scored"),
        (found.unknown, f"in {predictions.name} but not in {labels.name}, left out"),
    ]
    for names, what in remarks:
        if names:
            many = f"{len(names)} question{'s' * (len(names) != 1)}"
            notes.append(f"{many} {what}: {join_names(names, _SHOWN_IDS)}")
    return notes


# -- Predictions against labels


def summarise_predictions(
    problems: Mapping[str, Problem],
    predictions: Mapping[str, Any],
    answer_position: str = "start",
    *,
    where: str = "",
) -> Metrics:
    """Score every prediction whose problem is known; the official step drops the others, which are listed.

    Questions without a prediction do not count. `predictions` are entries as in the file, by question id.
    """
    questions = {question.id: question for question in list_questions(problems)}
    known, unknown = list[str](), list[str]()
    for name in report.sort_ids(predictions):
        problem_id, _, index = name.rpartition("_")
        (known if problem_id in problems else unknown).append(name)
        if problem_id in problems and name not in questions:
            n = len(problems[problem_id].problem_type_list)
            raise DataError(
                f"{where}question {name!r}: problem {problem_id!r} has {n} entries in problem_type_list, "
                f"so there is no question {index!r}",
                hint="a question id ends in its position in the problem, counted from 0",
            )
    rows = [
        _score_one(questions[name], Prediction.of(name, predictions[name], where), answer_position, where)
        for name in known
    ]
    return Metrics(
        rows=tuple(rows),
        details={
            name: row.make_detail({"question_id": name, **predictions[name]})
            for name, row in zip(known, rows, strict=True)
        },
        unlabelled=tuple(name for name in known if not questions[name].find_own("problem_answer_list")),
        unknown=tuple(unknown),
    )


def _score_one(
    question: ProblemQuestion, said: Prediction, answer_position: str, where: str
) -> report.QuestionScore:
    """One prediction with its points."""
    if said.question_image_number is None:
        raise DataError(
            f"{where}question {question.id!r}: question_image_number is missing",
            hint="give the number of images of the question: 0, 1, ... The totals are grouped by it",
        )
    sample = question.to_sample("", said.question_image_number, {})
    answer = sample.golds[0] if sample.golds else None
    earned, total = score(said.text, answer, question.type, answer_position)
    is_rejected = answer is not None and is_refusal(clean(said.text))
    return report.make_row(sample, earned, total, is_rejected=is_rejected)
