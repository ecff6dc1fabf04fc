"""MULTI's files on disk: problems, knowledge, predictions, the hard list, captions; where its images are.

Everything is checked here and trusted afterwards. Problems, knowledge and predictions are an object keyed by
id or name, or a list whose rows hold them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec

from eyechart.data.files.json_files import read_row_texts, translate_json_errors
from eyechart.data.files.rows import PathRules
from eyechart.errors import DataError
from eyechart.pipelines.multi.score import KINDS, TypeName
from eyechart.types import ImageRef

# Results are grouped by education, except for two subjects.
LEVELS = {"初中": "JuH", "高中": "SeH", "大学": "Uni", "社会": "Soc", "其他": "Other"}
SUBJECT_LEVELS = {"驾考": "Driving", "行测": "AAT"}
OTHER_LEVEL = "Other"  # also for an unknown or missing education
SYSTEM_TEXT = "prompted_system_content"  # in a sample's meta: the empty text before the question
MARK = re.compile(r"\[IMAGE_([0-9]+)]")
OLD_MARK = re.compile(r"<img_([0-9]+)>", re.IGNORECASE)  # of earlier releases
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem as in the file: a stem and its questions."""

    problem_type_list: list[TypeName]
    problem_content_list: list[str] | None = None  # scoring needs no texts
    problem_id: str = ""
    problem_content: str | None = None
    problem_answer_list: list[str | None] | None = None
    problem_analysis_list: list[Any] | None = None
    img_paths: list[str] | None = None
    knowledge: list[str] | str | None = None
    education: str | None = None
    subject: list[str] | str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """A piece of knowledge of MULTI-Extend."""

    knowledge_content: str
    knowledge_images: list[str] = field(default_factory=list)
    knowledge: str = ""


def read_problems(path: Path, *, only_labels: bool = False) -> dict[str, Problem]:
    """Problems by id, in the file's order; with `only_labels`, also those without their questions."""
    problems: dict[str, Problem] = {}
    for problem_id, row in read_rows(path, "problem", "problem_id", hint="in a list, every row needs it"):
        where = f"{path.name}: problem {problem_id!r}"
        problem = convert_row(row, Problem, where, hint=f"question types: {', '.join(KINDS)}")
        if problem.problem_content_list is None and not only_labels:
            raise DataError(f"{where}: problem_content_list is missing", hint="it holds the questions")
        first = "problem_type_list" if problem.problem_content_list is None else "problem_content_list"
        n = len(getattr(problem, first))
        for name in ("problem_type_list", "problem_answer_list"):
            given = getattr(problem, name)
            if given is not None and len(given) != n:
                raise DataError(
                    f"{where}: {name} has {len(given)} entr{'y' if len(given) == 1 else 'ies'}, but "
                    f"{first} has {n}",
                    hint="one entry per question; leave out problem_answer_list if there are no answers",
                )
        problems[problem_id] = replace(problem, problem_id=problem_id)
    return problems


def read_rows(
    path: Path, what: str, id_field: str, *, missing: str = "", hint: str = "", keep: str = ""
) -> Iterator[tuple[str, Any]]:
    """Name and content of each row: its key, or in a list its `id_field`. Repeated names are refused.

    `missing` and `hint` tell of a row without a name, `keep` what to do about a repeated one.
    """
    form = f"expected JSON: an object of id to {what}, or a list of entries that hold their ids"
    seen: set[str] = set()
    for number, (key, text) in enumerate(read_row_texts(path, hint=form), start=1):
        where = f"{path.name}: " + (f"row {number}" if key is None else f"{what} {key!r}")
        with translate_json_errors(where, hint=""):
            row = json.loads(text)  # like the official code, with Python's NaN and with half characters
        name = row.get(id_field) if key is None and isinstance(row, dict) else key
        if not isinstance(name, str) or not name:
            raise DataError(f"{path.name}: row {number} has no {missing or id_field}", hint=hint)
        if name in seen:
            raise DataError(f"{path.name}: {what} {name!r} appears twice", hint=keep)
        seen.add(name)
        yield name, row


def convert_row(row: Any, kind: type[T], where: str, hint: str = "") -> T:
    """The fields of a row that are used; `DataError`, naming the first wrong one."""
    with translate_json_errors(where, hint=hint):
        return msgspec.convert(row, kind)


def take_first(value: Any) -> str:
    """The first entry of a list, or the text in its place.

    >>> take_first(["数学", "物理"]), take_first("数学"), take_first([]), take_first(None)
    ('数学', '数学', '', '')
    """
    if isinstance(value, str):
        return value
    return value[0] if value else ""


# -- Education levels


def find_level(education: str, subject: str) -> str:
    """The level that a subject of an education counts under.

    >>> find_level("初中", "数学"), find_level("社会", "驾考"), find_level("小学", "数学")
    ('JuH', 'Driving', 'Other')
    """
    return SUBJECT_LEVELS.get(subject) or LEVELS.get(education, OTHER_LEVEL)


def describe_unknown_educations(of: Mapping[str, str], what: str) -> str:
    """One line on unknown educations; empty if there are none. `of`: education by id."""
    unknown = {name: education for name, education in of.items() if education not in LEVELS}
    if not unknown:
        return ""
    name, education = next(iter(unknown.items()))
    said = repr(education) if education else "missing"
    return (
        f"education of {len(unknown)} of {len(of)} {what} is not one of {', '.join(LEVELS)}, e.g. {said} of "
        f"{name!r}; counted as {OTHER_LEVEL}"
    )


# -- prediction.json: an object of question id to the answered question


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One entry, as far as it is scored. As published, a missing prediction counts as an empty one."""

    question_id: str | None = None
    question_image_number: Annotated[int, msgspec.Meta(ge=0)] | None = None
    prediction: str | None = None
    answer_history: Any = None

    @classmethod
    def of(cls, name: str, entry: Any, where: str = "") -> Prediction:
        """The entry of that name; `DataError` if it is not one."""
        where = f"{where}question {name!r}"
        hint = "a prediction is one text; in a file of the answer extractor, keep the first of each pair"
        found = convert_row(entry, cls, where, hint)
        if found.question_id not in (None, name):
            hint = "the key of an entry is its question id"
            raise DataError(f"{where}: field question_id is {found.question_id!r}", hint=hint)
        return found

    @property
    def text(self) -> str:
        return self.prediction or ""

    @property
    def earlier(self) -> tuple[str, ...]:
        """The replies of earlier rounds, if the file has them; the history may include the last one."""
        history = self.answer_history
        is_read = isinstance(history, list) and all(isinstance(said, str) for said in history)
        return tuple(history[:-1] if history[-1:] == [self.text] else history) if is_read else ()


def read_entries(path: Path) -> dict[str, Any]:
    """The entries as they are, by question id. Repeated ids are refused."""
    rows = read_rows(path, "question", "question_id", keep="keep one prediction per question")
    if not (found := dict(rows)):
        raise DataError(f"{path.name}: it has no predictions", hint="is it the right file?")
    return found


def read_predictions(path: Path) -> dict[str, Prediction]:
    """Predictions by question id. Entries under another id are refused."""
    return {name: Prediction.of(name, entry, f"{path.name}: ") for name, entry in read_entries(path).items()}


# -- Images and their marks in texts

IMAGES = ("NI", "SI", "MI")


def classify_images(n_images: int) -> str:
    """No, a single, or multiple images.

    >>> [classify_images(n) for n in (0, 1, 3)]
    ['NI', 'SI', 'MI']
    """
    return IMAGES[min(n_images, 2)]


def rewrite_marks(text: str) -> str:
    """A text with image marks ``[IMAGE_n]``, also if the release has ``<img_n>``.

    >>> rewrite_marks("图<img_1>与[IMAGE_2]")
    '图[IMAGE_1]与[IMAGE_2]'
    """
    return OLD_MARK.sub(r"[IMAGE_\1]", text) if "<" in text else text


def find_unshown_images(texts: Iterable[str], images: Sequence[str]) -> list[str]:
    """The images that no text refers to.

    >>> find_unshown_images(["[IMAGE_1]", "<img_3>"], ["a.png", "b.png", "c.png"])
    ['b.png']
    """
    shown = {mark.lstrip("0") for text in texts for mark in MARK.findall(rewrite_marks(text))}
    return [path for number, path in enumerate(images, start=1) if str(number) not in shown]


# -- Image files, whose paths were written for the authors' folders


class ImagePaths:
    """Finds images by the paths in the files, such as ``../data/images/czsx/0_1.png``.

    Looks below the problem file's folder, then `root`, for the path, the path without its leading ``..``, and
    the part from its folder ``images`` on, with and without that name. Never leaves these folders.
    """

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        roots = [folder, *([root] if root else []), Path()]
        self._rules = PathRules(list(dict.fromkeys(str(one.absolute()) for one in roots)))

    def to_ref(self, path: str) -> ImageRef:
        """The image at `path`; the first candidate if there is none."""
        if path.startswith(("http://", "https://")):
            return ImageRef(kind="url", location=path)
        first, *others = _spellings(path)
        likely = self._rules.to_ref(first)
        places = chain((likely,), map(self._rules.to_ref, others))  # tried in order
        found = (ref for ref in places if not ref.refused and os.path.exists(ref.location))  # noqa: PTH110
        return next(found, likely)


def _spellings(path: str) -> list[str]:
    """The candidates for a path; one without a folder ``images`` may be below it.

    >>> _spellings("../data/images/czsx/0_1.png")
    ['images/czsx/0_1.png', 'data/images/czsx/0_1.png', 'czsx/0_1.png']
    >>> _spellings("../secret.png"), _spellings("czsx/0_1.png")
    (['../secret.png'], ['czsx/0_1.png', 'images/czsx/0_1.png'])
    """
    parts = list(Path(os.path.normpath(path)).parts)
    inside = [part for part in parts if part != ".."]
    if os.path.isabs(path) or path.startswith("~"):  # noqa: PTH117
        return [path]
    if "images" not in inside[:-1]:
        return [path] if len(inside) < len(parts) else [path, "/".join(("images", *inside))]
    tail = inside[inside.index("images") :]
    own = [] if parts[0] == ".." else [parts]
    return list(dict.fromkeys("/".join(found) for found in (*own, tail, inside, tail[1:])))
