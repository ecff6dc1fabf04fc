"""MULTI's predictions against its labels, both as plain values: the official metrics step without files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eyechart.data.multi.files import level_of
from eyechart.errors import DataError
from eyechart.report.multi.tables import Row, in_order
from eyechart.score.multi import KINDS, clean, is_refusal, score

_EXTRACTED = "the answer extractor writes pairs: keep the first of each, or score the file it was made from"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredPredictions:
    """The questions in the order of the result files, what detail.json says of each, ids left out."""

    rows: tuple[Row, ...]
    details: Mapping[str, Mapping[str, Any]]
    unlabelled: tuple[str, ...] = ()  # questions whose label is null: they are rows, of 0 points out of 0
    unknown: tuple[str, ...] = ()  # predictions whose problem is not among the labels


@dataclass(frozen=True, slots=True, kw_only=True)
class _Label:
    answer: str | None  # None: nobody has said what is right
    type: str  # as in the file, e.g. 单选
    education: str
    subject: str
    analysis: str


def summarise_predictions(
    problems: Mapping[str, Any], predictions: Mapping[str, Any], answer_position: str = "start"
) -> ScoredPredictions:
    """Score every prediction whose problem is known; the others are named, as the official step drops them.

    Questions that are not among the predictions do not count at all. Both arguments are objects as in the
    files: problem id to problem, question id to prediction.
    """
    rows, details, unlabelled, unknown = [], {}, [], []
    for name in in_order(predictions):
        problem_id, _, index = name.rpartition("_")
        if problem_id not in problems:
            unknown.append(name)
            continue
        entry = _entry(name, predictions[name])
        label = _label(name, problem_id, index, problems[problem_id])
        if label.answer is None:
            unlabelled.append(name)
        row, details[name] = _scored(name, entry, label, answer_position)
        rows.append(row)
    return ScoredPredictions(
        rows=tuple(rows), details=details, unlabelled=tuple(unlabelled), unknown=tuple(unknown)
    )


def _scored(
    name: str, entry: Mapping[str, Any], label: _Label, answer_position: str
) -> tuple[Row, dict[str, Any]]:
    """One prediction as a row of the tables and as an entry of detail.json."""
    said, n_images = entry.get("prediction") or "", _image_number(name, entry)
    earned, total = (0, 0) if label.answer is None else score(said, label.answer, label.type, answer_position)
    row = Row(
        question_id=name,
        score=earned,
        total=total,
        kind=KINDS[label.type],
        level=level_of(label.education, label.subject),
        subject=label.subject,
        n_images=n_images,
        is_rejected=label.answer is not None and is_refusal(clean(said)),
    )
    detail = detail_of(
        entry,
        analysis=label.analysis,
        answer=label.answer or "",
        score=earned,
        total=total,
        type=label.type,
        education=label.education,
        subject=label.subject,
    )
    return row, detail


def detail_of(
    entry: Mapping[str, Any],
    *,
    analysis: str,
    answer: str,
    score: float,
    total: float,
    type: str,
    education: str,
    subject: str,
) -> dict[str, Any]:
    """An entry of detail.json: the prediction's, and what became of it."""
    return {
        **entry,
        "analysis": analysis,
        "answer": answer,
        "score": score,
        "total_score": total,
        "type": type,
        "education": education,
        "subject": subject,
    }


def _entry(name: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise DataError(
            f"prediction {name!r}: an object was expected, found {_kind(entry)}",
            hint="an entry holds question_id, question_image_number and prediction",
        )
    if entry.get("question_id", name) != name:
        raise DataError(
            f"prediction {name!r}: its question_id is {entry['question_id']!r}",
            hint="each entry stands under its own question id",
        )
    said = entry.get("prediction")
    if said is not None and not isinstance(said, str):
        hint = _EXTRACTED if isinstance(said, list) else "a prediction is the text that the model gave"
        raise DataError(f"prediction {name!r}: prediction is {_kind(said)}, not a text", hint=hint)
    return {"question_id": name, **entry}


def _image_number(name: str, entry: Mapping[str, Any]) -> int:
    found = entry.get("question_image_number")
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        was = "is missing" if found is None else f"is {found!r}"
        raise DataError(
            f"prediction {name!r}: question_image_number {was}",
            hint="it is the number of images of the question: 0, 1, ... The totals are grouped by it",
        )
    return found


def _label(name: str, problem_id: str, index: str, problem: Any) -> _Label:
    if not isinstance(problem, dict):
        raise DataError(f"problem {problem_id!r}: an object was expected, found {_kind(problem)}")
    subject, education = problem.get("subject") or "", problem.get("education") or ""
    if isinstance(subject, list):
        subject = subject[0]
    if not isinstance(subject, str) or not isinstance(education, str):
        field = "education" if isinstance(subject, str) else "subject"
        raise DataError(f"problem {problem_id!r}: {field} is no text", hint="the totals are grouped by it")
    type = _at(name, problem_id, problem, "problem_type_list", index)
    if type is None or type not in KINDS:
        said = "null" if type is None else repr(type)
        raise DataError(
            f"problem {problem_id!r}: problem_type_list[{index}] is {said}",
            hint=f"use one of: {', '.join(KINDS)}",
        )
    answer = _at(name, problem_id, problem, "problem_answer_list", index)
    analyses = problem.get("problem_analysis_list")  # the official step stops without it; scoring needs none
    known = analyses[int(index) : int(index) + 1] if isinstance(analyses, list) else []
    return _Label(
        answer=None if answer is None else answer.strip(),
        type=type,
        education=education,
        subject=subject,
        analysis=str(known[0]) if known else "",
    )


def _at(name: str, problem_id: str, problem: Mapping[str, Any], field: str, index: str) -> str | None:
    """The entry of one of a problem's lists that belongs to a question; null where there is none."""
    values = problem.get(field)
    if not isinstance(values, list):
        hint = "the release file has no answers: score with the file that has" if "answer" in field else ""
        raise DataError(f"problem {problem_id!r}: {field} is missing or no list", hint=hint)
    is_place = index.isascii() and index.isdigit() and len(index) < 10
    if not is_place or int(index) >= len(values):
        raise DataError(
            f"prediction {name!r}: problem {problem_id!r} has {len(values)} entries in {field}, "
            f"so there is no question {index!r}",
            hint="a question id ends in its place among the problem's questions, counted from 0",
        )
    value = values[int(index)]
    if value is not None and not isinstance(value, str):
        raise DataError(f"problem {problem_id!r}: {field}[{index}] is {_kind(value)}, not a text")
    return value


def _kind(value: Any) -> str:
    names = {"dict": "an object", "list": "a list", "str": "a text", "NoneType": "null", "bool": "a boolean"}
    return names.get(type(value).__name__, "a number")
