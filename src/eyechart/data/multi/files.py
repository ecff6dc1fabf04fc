"""MULTI's files as they lie on disk: problems, knowledge, the hard list. Checked here, trusted from here on.

Problems and knowledge come as an object keyed by id or name, or as a list whose rows name themselves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from eyechart.data.json_file import json_errors, read_bytes, row_texts
from eyechart.errors import DataError

# As the files name them: the number that `questions_type` means, and the short name.
TYPES: Mapping[str, tuple[int, str]] = {
    "单选": (0, "SA"),
    "多选": (1, "MA"),
    "填空": (2, "FB"),
    "解答": (3, "OP"),
    "其他": (4, "other"),
}

# How results are grouped: by the education a file names, two subjects apart from the rest.
LEVELS = {"初中": "JuH", "高中": "SeH", "大学": "Uni", "社会": "Soc", "其他": "Other"}
SUBJECT_LEVELS = {"驾考": "Driving", "行测": "AAT"}

OTHER_LEVEL = "Other"  # also for an education that is none of these, or missing

_NOT_A_NUMBER = re.compile(rb"[\[:,]\s*(?:NaN|-?Infinity)\s*[\],}]")

MARK = re.compile(r"\[IMAGE_([0-9]+)]")
OLD_MARK = re.compile(r"<img_([0-9]+)>", re.IGNORECASE)  # of earlier releases
MOST_DIGITS = 6  # a longer number is beyond any list

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem: a stem and its questions, as the file holds them."""

    problem_content_list: list[str]
    problem_type_list: list[str]
    problem_id: str = ""
    problem_content: str | None = None
    problem_answer_list: list[str | None] | None = None
    problem_analysis_list: list[str | None] | None = None
    img_paths: list[str] | None = None
    knowledge: list[str] | str | None = None
    education: str | None = None
    subject: list[str] | str | None = None

    def question_id(self, index: int) -> str:
        """The name of one of its questions."""
        return f"{self.problem_id}_{index}"

    def question_text(self, index: int) -> str:
        """Stem and question; the line break is there even when one of them is empty, as published."""
        return with_marks(f"{self.problem_content or ''}\n{self.problem_content_list[index]}")

    def texts(self) -> list[str]:
        """The texts that may show its images, as the file holds them."""
        return [self.problem_content or "", *self.problem_content_list]


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """A piece of knowledge of MULTI-Extend."""

    knowledge_content: str
    knowledge_images: list[str] = field(default_factory=list)
    knowledge: str = ""


def level_of(education: str, subject: str) -> str:
    """The level under which a subject of an education is counted.

    >>> level_of("初中", "数学"), level_of("社会", "驾考"), level_of("社会", "法律"), level_of("小学", "数学")
    ('JuH', 'Driving', 'Soc', 'Other')
    """
    return SUBJECT_LEVELS.get(subject) or LEVELS.get(education, OTHER_LEVEL)


def education_remark(of: Mapping[str, str], what: str) -> str:
    """One line on educations that are none of the known ones; empty where all are. `of`: by id."""
    unknown = {name: education for name, education in of.items() if education not in LEVELS}
    if not unknown:
        return ""
    name, education = next(iter(unknown.items()))
    said = repr(education) if education else "missing"
    return (
        f"education of {len(unknown)} of {len(of)} {what} is none of {', '.join(LEVELS)}, e.g. {said} of "
        f"{name!r}; counted as {OTHER_LEVEL}"
    )


def with_marks(text: str) -> str:
    """A text in which images are marked ``[IMAGE_n]``, also where a release marks them ``<img_n>``.

    >>> with_marks("图<img_1>与[IMAGE_2]")
    '图[IMAGE_1]与[IMAGE_2]'
    """
    return OLD_MARK.sub(r"[IMAGE_\1]", text) if "<" in text else text


def unshown(texts: Iterable[str], images: Sequence[str]) -> list[str]:
    """The images to which no text refers.

    >>> unshown(["[IMAGE_1]", "<img_3>"], ["a.png", "b.png", "c.png"])
    ['b.png']
    """
    if not images:
        return []
    shown = {mark.lstrip("0") for text in texts for mark in MARK.findall(with_marks(text))}
    return [path for number, path in enumerate(images, start=1) if str(number) not in shown]


def read_problems(path: Path) -> dict[str, Problem]:
    """Problems by id, in the file's order."""
    problems: dict[str, Problem] = {}
    for key, number, problem in decode_rows(path, Problem, "problem"):
        problem_id = problem.problem_id if key is None else key
        if not problem_id:
            raise DataError(
                f"{path.name}: row {number} has no problem_id",
                hint="in a file that is a list every row names its problem",
            )
        if problem_id in problems:
            raise DataError(f"{path.name}: problem {problem_id!r} stands there twice")
        _check(problem, problem_id, path)
        problems[problem_id] = replace(problem, problem_id=problem_id)
    return problems


def _check(problem: Problem, problem_id: str, path: Path) -> None:
    n = len(problem.problem_content_list)
    for name in ("problem_type_list", "problem_answer_list"):
        given = getattr(problem, name)
        if given is not None and len(given) != n:
            raise DataError(
                f"{path.name}: problem {problem_id!r}: {name} has {len(given)} "
                f"entr{'y' if len(given) == 1 else 'ies'}, but problem_content_list has {n}",
                hint="every question needs its own entry; leave problem_answer_list out if there are none",
            )
    for index, kind in enumerate(problem.problem_type_list):
        if kind not in TYPES:
            raise DataError(
                f"{path.name}: question '{problem_id}_{index}': problem_type_list has {kind!r}, "
                "which is no type of question",
                hint=f"known: {', '.join(TYPES)}",
            )


def read_knowledge(path: Path) -> dict[str, Knowledge]:
    """Pieces of knowledge by name."""
    pieces: dict[str, Knowledge] = {}
    for key, number, piece in decode_rows(path, Knowledge, "knowledge"):
        name = piece.knowledge if key is None else key
        if not name:
            raise DataError(f"{path.name}: row {number} has no name in 'knowledge'")
        if name in pieces:
            raise DataError(f"{path.name}: knowledge {name!r} stands there twice")
        pieces[name] = piece
    return pieces


def read_hard_list(path: Path) -> list[str]:
    """The ids of questions that a list such as MULTI-Elite names."""
    hint = 'a JSON list such as ["czsx_0_0", "czsx_0_1"]'
    with json_errors(f"{path.name}: not a list of question ids", hint=hint):
        return msgspec.json.decode(read_bytes(path), type=list[str])


def decode_rows(path: Path, kind: type[T], what: str) -> Iterator[tuple[str | None, int, T]]:
    """Key, row number and content of each row of a file whose rows are all of one kind."""
    hint = f"the file is JSON: an object of id to {what}, or a list of entries that name theirs"
    for number, (key, text) in enumerate(row_texts(path, hint=hint), start=1):
        name = f"row {number}" if key is None else f"{what} {key!r}"
        yield key, number, _decoded(text, kind, f"{path.name}: {name}")


def _decoded(text: bytes, kind: type[T], where: str) -> T:
    with json_errors(where, hint=""):
        if _NOT_A_NUMBER.search(text):
            # What Python writes for a missing number is no JSON, but the official code reads it.
            return msgspec.convert(json.loads(text), type=kind)
        return msgspec.json.decode(text, type=kind)


def first_of(value: Any) -> str:
    """The first entry of a list, or the text that stands in its place.

    >>> first_of(["数学", "物理"]), first_of("数学"), first_of([]), first_of(None)
    ('数学', '数学', '', '')
    """
    if isinstance(value, str):
        return value
    return value[0] if value else ""
