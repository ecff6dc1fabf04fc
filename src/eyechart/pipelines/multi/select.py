"""Which of MULTI's questions are asked, and how their images are numbered and captioned. Pure.

Selection: by a list of ids, type, subject and number of images. All combine, as the authors' guide says; in
their program a list of ids overrides types and subject. The order is the problem file's, or a seeded shuffle.

Numbering: a text marks its images as ``[IMAGE_n]``, n counting the problem's images from 1. A question shows
some of them, so they are renumbered. The official code replaces one mark after the other in the whole text,
and may replace a mark again that it just wrote: ``[IMAGE_2]…[IMAGE_1]`` becomes ``[IMAGE_2]…[IMAGE_2]``.
Models were asked that, so it is the default; ``correct`` numbering gives each mark the number of its image.
Parity: tests/golden/multi_prepare.jsonl.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eyechart.errors import DataError, UsageError, join_names
from eyechart.pipelines.multi.files import MARK, MOST_DIGITS, TYPES, Problem

InputType = Literal[0, 1, 2]  # text only; captions or OCR texts; images
Numbering = Literal["official", "correct"]
WHOLE_NAME = "shjk"  # ids of the driving test, whose `knowledge` may be a text instead of a list
_SHOWN_SUBJECTS = 30  # more than the benchmark has


# -- Which questions are asked


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which questions are asked."""

    types: frozenset[int] = frozenset({0, 1, 2})
    image_types: frozenset[int] = frozenset({0, 1, 2})  # no image, one, more
    subset: frozenset[str] | None = None
    subject: str = ""  # the prefix of the ids, e.g. czsx
    eval_num: int = -1
    shuffle: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ProblemQuestion:
    """One question of a problem."""

    problem: Problem
    index: int
    row: int  # of the problem in the file, from 1

    @property
    def id(self) -> str:
        return self.problem.question_id(self.index)

    def find_own(self, field: str) -> list[str]:
        """Its entry in a list of the problem; nothing if there is none, or null."""
        entries = (getattr(self.problem, field) or [])[self.index : self.index + 1]
        return [entry for entry in entries if entry is not None]


def list_questions(problems: Mapping[str, Problem]) -> list[ProblemQuestion]:
    """Every question, in the file's order."""
    return [
        ProblemQuestion(problem, index, row)
        for row, problem in enumerate(problems.values(), start=1)
        for index in range(len(problem.problem_content_list))
    ]


@dataclass(frozen=True, slots=True)
class SelectedQuestions:
    """The questions that are asked, in order, and why the others are not."""

    asked: tuple[ProblemQuestion, ...]
    left_out: Mapping[str, Sequence[ProblemQuestion]]  # by the option that leaves them out

    def remark(self, selection: Selection) -> str:
        """One line on what is left out, with counts; empty if nothing is."""
        n_left_out = sum(map(len, self.left_out.values()))
        if not n_left_out:
            return ""
        said = {
            "subset": "subset",
            "questions_type": f"questions_type {_listed(selection.types)}",
            "subject": f"subject {selection.subject}",
            "image_type": f"image_type {_listed(selection.image_types)}",
            "eval_num": f"eval_num {selection.eval_num}",
        }
        reasons = [
            f"{len(questions)} by {said[name]}"
            + (f" ({_types(questions)})" if name == "questions_type" else "")
            for name, questions in self.left_out.items()
        ]
        n_all = len(self.asked) + n_left_out
        return f"{len(self.asked)} of {n_all} questions selected; left out: {', '.join(reasons)}"


def select_questions(questions: Iterable[ProblemQuestion], selection: Selection) -> SelectedQuestions:
    """The questions that are asked, and those that each option leaves out."""
    asked: list[ProblemQuestion] = []
    left_out: dict[str, list[ProblemQuestion]] = {}
    for question in questions:
        reason = _left_out_by(question, selection)
        (left_out.setdefault(reason, []) if reason else asked).append(question)
    if selection.shuffle:
        random.Random(selection.seed).shuffle(asked)  # noqa: S311 - an order, not a secret
    if 0 <= selection.eval_num < len(asked):
        left_out["eval_num"] = asked[selection.eval_num :]
        del asked[selection.eval_num :]
    order = ("subset", "questions_type", "subject", "image_type", "eval_num")
    return SelectedQuestions(tuple(asked), {name: left_out[name] for name in order if name in left_out})


def _left_out_by(question: ProblemQuestion, selection: Selection) -> str:
    """The option that leaves a question out; empty if it is asked."""
    problem, index = question.problem, question.index
    if selection.subset is not None and question.id not in selection.subset:
        return "subset"
    if TYPES[problem.problem_type_list[index]][0] not in selection.types:
        return "questions_type"
    if selection.subject and _subject(problem) != selection.subject:
        return "subject"
    n_images = count_marks(problem.question_text(index))
    return "" if min(n_images, 2) in selection.image_types else "image_type"


def refuse_empty_choice(choice: SelectedQuestions, selection: Selection, *, file: str) -> None:
    """Refuse a selection without questions, with what there is to select from."""
    option, last = list(choice.left_out.items())[-1]  # what the other options left
    if selection.subset is not None and not selection.subset:
        hint = "the subset is empty: expected a JSON list of question ids"
    elif option == "subject":
        subjects = list(dict.fromkeys(_subject(question.problem) for question in last))
        hint = f"its subjects are: {join_names(subjects, _SHOWN_SUBJECTS)}"
    else:
        marks = Counter(min(count_marks(one.problem.question_text(one.index)), 2) for one in last)
        names = ("without images", "with one image", "with more")
        images = ", ".join(f"{marks[n]} {names[n]}" for n in sorted(marks))
        hint = f"without {option} there would be {_types(last)}: {images}"
    raise UsageError(f"{file}: {choice.remark(selection)}", hint=hint)


def _types(questions: Iterable[ProblemQuestion]) -> str:
    """Counts by type, e.g. ``3 OP, 1 other``."""
    counts = Counter(TYPES[one.problem.problem_type_list[one.index]] for one in questions)
    return ", ".join(f"{counts[kind]} {kind[1]}" for kind in sorted(counts))


def _listed(codes: Iterable[int]) -> str:
    return ",".join(map(str, sorted(codes)))


def _subject(problem: Problem) -> str:
    return problem.problem_id.partition("_")[0]


def refuse_unknown_ids(ids: Iterable[str], known: Iterable[str], *, file: str, of: str) -> None:
    """Refuse ids without a question, naming the first of them."""
    has = set(known)
    unknown = [name for name in dict.fromkeys(ids) if name not in has]
    if unknown:
        raise DataError(
            f"{file}: {len(unknown)} unknown id{'s' * (len(unknown) != 1)}, not in {of}: "
            f"{join_names(unknown)}",
            hint="a question's id is its problem's id, '_' and its position, e.g. czsx_0_0; "
            "is the list for this version of the problem file?",
        )


def read_codes(given: str | int | Iterable[int], known: range, *, name: str) -> frozenset[int]:
    """Numbers from a list such as ``0,1,2``; unknown ones are refused.

    >>> sorted(read_codes("0,2", range(5), name="questions_type"))
    [0, 2]
    """
    parts = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int) else given
    texts = [str(part).strip() for part in parts]
    codes = {str(code): code for code in known}
    wrong = next((text for text in texts if text not in codes), None)
    if wrong is not None or not texts:
        raise UsageError(
            f"{name} cannot be {wrong or 'empty'!r}" if texts else f"{name} is empty",
            hint=f"give numbers from {known[0]} to {known[-1]}, separated by commas",
        )
    return frozenset(codes[text] for text in texts)


# -- Image numbers and captions in a text


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text with its images numbered from 1, and their paths, repeats included."""

    text: str
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """How images appear in a text."""

    captions: Mapping[str, str] | None = None  # by path; None: no captions
    in_content: bool = False  # in the mark instead of after the text
    numbering: Numbering = "official"


def place_images(text: str, paths: Sequence[str], wanted: Placement | None = None) -> PlacedText:
    """Renumber the images of a text and add captions.

    >>> place_images("A.[IMAGE_3] B.[IMAGE_4]", ["a", "b", "c", "d"])
    PlacedText(text='A.[IMAGE_1] B.[IMAGE_2]', images=('c', 'd'))
    >>> place_images("[IMAGE_1]?", ["a"], Placement({"a": "a cat"}, in_content=True)).text
    '[IMAGE_1:a cat]?'
    >>> place_images("[IMAGE_2], [IMAGE_1]", ["a", "b"], Placement(numbering="correct")).text
    '[IMAGE_1], [IMAGE_2]'
    """
    wanted = wanted or Placement()
    marks = list(MARK.finditer(text))
    images = tuple(paths[int(mark[1]) - 1] for mark in marks)  # as published: 0 is the last one
    written = [_mark(number, path, wanted) for number, path in enumerate(images, start=1)]
    if wanted.numbering == "official":
        for mark, new in zip(marks, written, strict=True):
            text = text.replace(mark[0], new)
    else:
        names = iter(written)
        text = MARK.sub(lambda _: next(names), text)
    if wanted.captions is not None and not wanted.in_content:
        # As published: right after the text, without a line break before the first.
        lines = (f"[IMAGE_{k}]: {wanted.captions.get(path, '')}\n" for k, path in enumerate(images, start=1))
        text += "".join(lines)
    return PlacedText(text, images)


def _mark(number: int, path: str, wanted: Placement) -> str:
    if wanted.captions is None or not wanted.in_content:
        return f"[IMAGE_{number}]"
    return f"[IMAGE_{number}:{wanted.captions.get(path, '')}]"


def count_marks(text: str) -> int:
    """How many marks a text has; several may show the same image."""
    return len(MARK.findall(text))


def check_marks(text: str, paths: Sequence[str], *, where: str, field: str) -> None:
    """Refuse a mark without an image in the list, naming the place."""
    for mark in MARK.finditer(text):
        if len(mark[1]) > MOST_DIGITS or not 1 <= int(mark[1]) <= len(paths):
            raise DataError(
                f"{where}: the text has {mark[0][:40]}, but {field} holds {len(paths)} "
                f"image{'s' * (len(paths) != 1)}",
                hint=f"images are counted from 1; add the missing path to {field} or correct the mark",
            )


def pick_knowledge_name(knowledge: Sequence[str] | str, problem_id: str) -> str:
    """The knowledge point in the prompt: the first entry.

    As published, if the file holds a text instead of a list: its first character. In the driving test a first
    entry of one character stands for such a text, and everything is written: the text, or the list.

    >>> pick_knowledge_name(["圆", "切线"], "czsx_0"), pick_knowledge_name([], "czsx_0")
    ('圆', '')
    >>> pick_knowledge_name("交通标志", "shjk_3"), pick_knowledge_name("交通标志", "czsx_3")
    ('交通标志', '交')
    >>> pick_knowledge_name(["圆"], "shjk_3")
    "['圆']"
    """
    first = knowledge[0] if knowledge else ""
    return str(knowledge) if len(first) == 1 and problem_id.startswith(WHOLE_NAME) else first
