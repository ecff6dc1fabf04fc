"""Which of MULTI's questions are asked: by a list of ids, type, subject and number of images.

All of them combine, as the authors' guide says of their arguments; in their program a list of ids makes types
and subject void. The order is the problem file's, or that of a seeded shuffle.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eyechart.data.multi.files import TYPES, Problem
from eyechart.data.multi.prepare import count_marks
from eyechart.errors import DataError, UsageError, listed

_SHOWN_SUBJECTS = 30  # the whole benchmark has fewer


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Everything that can be said about which questions are meant."""

    types: frozenset[int] = frozenset({0, 1, 2})
    image_types: frozenset[int] = frozenset({0, 1, 2})  # no picture, one, more
    subset: frozenset[str] | None = None
    subject: str = ""  # the beginning of the ids, e.g. czsx
    eval_num: int = -1
    shuffle: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a problem."""

    problem: Problem
    index: int
    row: int  # where the problem stands in the file, from 1

    @property
    def id(self) -> str:
        """The question's own name."""
        return self.problem.question_id(self.index)


def read_codes(given: str | int | Iterable[int], known: range, *, name: str) -> frozenset[int]:
    """Numbers from a list such as ``0,1,2``; each must be a known one.

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
            hint=f"numbers from {known[0]} to {known[-1]}, separated by commas",
        )
    return frozenset(codes[text] for text in texts)


def all_questions(problems: Mapping[str, Problem]) -> list[Question]:
    """Every question, in the file's order."""
    return [
        Question(problem, index, row)
        for row, problem in enumerate(problems.values(), start=1)
        for index in range(len(problem.problem_content_list))
    ]


@dataclass(frozen=True, slots=True)
class Choice:
    """The questions that are asked, in their order, and why the others are not."""

    asked: tuple[Question, ...]
    left_out: Mapping[str, Sequence[Question]]  # by the name of the option that left them out

    def remark(self, selection: Selection) -> str:
        """One line on what is not asked, with counts; empty where everything is."""
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
        return f"{len(self.asked)} of {n_all} questions chosen; left out: {', '.join(reasons)}"


def select_questions(questions: Iterable[Question], selection: Selection) -> Choice:
    """The questions that are asked, and those that each option leaves out."""
    asked: list[Question] = []
    left_out: dict[str, list[Question]] = {}
    for question in questions:
        reason = _left_out_by(question, selection)
        (left_out.setdefault(reason, []) if reason else asked).append(question)
    if selection.shuffle:
        random.Random(selection.seed).shuffle(asked)  # noqa: S311 - an order, not a secret
    if 0 <= selection.eval_num < len(asked):
        left_out["eval_num"] = asked[selection.eval_num :]
        del asked[selection.eval_num :]
    order = ("subset", "questions_type", "subject", "image_type", "eval_num")
    return Choice(tuple(asked), {name: left_out[name] for name in order if name in left_out})


def _left_out_by(question: Question, selection: Selection) -> str:
    """The name of the option that leaves a question out; empty if it is asked."""
    problem, index = question.problem, question.index
    if selection.subset is not None and question.id not in selection.subset:
        return "subset"
    if TYPES[problem.problem_type_list[index]][0] not in selection.types:
        return "questions_type"
    if selection.subject and _subject(problem) != selection.subject:
        return "subject"
    n_images = count_marks(problem.question_text(index))
    return "" if min(n_images, 2) in selection.image_types else "image_type"


def refuse_empty_choice(choice: Choice, selection: Selection, *, file: str) -> None:
    """Refuse a choice that leaves none of a file's questions, with what there is to choose from."""
    option, last = list(choice.left_out.items())[-1]  # what the other options left
    if selection.subset is not None and not selection.subset:
        hint = "the subset's list is empty: it is a JSON list of question ids"
    elif option == "subject":
        subjects = list(dict.fromkeys(_subject(question.problem) for question in last))
        hint = f"its subjects are: {listed(subjects, _SHOWN_SUBJECTS)}"
    else:
        marks = Counter(min(count_marks(one.problem.question_text(one.index)), 2) for one in last)
        names = ("without images", "with one image", "with more")
        images = ", ".join(f"{marks[n]} {names[n]}" for n in sorted(marks))
        hint = f"without {option} there would be {_types(last)}: {images}"
    raise UsageError(f"{file}: {choice.remark(selection)}", hint=hint)


def _types(questions: Iterable[Question]) -> str:
    """How many there are of each type, e.g. ``3 OP, 1 other``."""
    counts = Counter(TYPES[one.problem.problem_type_list[one.index]] for one in questions)
    return ", ".join(f"{counts[kind]} {kind[1]}" for kind in sorted(counts))


def _listed(codes: Iterable[int]) -> str:
    return ",".join(map(str, sorted(codes)))


def _subject(problem: Problem) -> str:
    return problem.problem_id.partition("_")[0]


def refuse_unknown_ids(ids: Iterable[str], known: Iterable[str], *, file: str, of: str) -> None:
    """Refuse ids that no question has, naming the first of them."""
    has = set(known)
    unknown = [name for name in dict.fromkeys(ids) if name not in has]
    if unknown:
        raise DataError(
            f"{file}: {len(unknown)} id{'s' * (len(unknown) != 1)} of no question in {of}: {listed(unknown)}",
            hint="a question's id is its problem's id, '_' and its place, e.g. czsx_0_0; "
            "is it a list for this version of the problem file?",
        )
