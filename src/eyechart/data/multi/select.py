"""Which of MULTI's questions are asked: by type, number of pictures, subject, or a list of ids.

As in the official arguments, a list of ids takes the place of types and subject, while the number of
pictures still counts. Unlike there, the order is always the file's, or that of a seeded shuffle.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from eyechart.data.multi.files import TYPES, Problem
from eyechart.data.multi.prepare import count_marks
from eyechart.errors import DataError, UsageError, listed

_SHOWN = 5  # ids named in a message
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


def select_questions(questions: Iterable[Question], selection: Selection) -> list[Question]:
    """The questions that are meant, in the order in which they are asked."""
    chosen = [question for question in questions if _is_meant(question, selection)]
    if selection.shuffle:
        random.Random(selection.seed).shuffle(chosen)  # noqa: S311 - an order, not a secret
    return chosen if selection.eval_num < 0 else chosen[: selection.eval_num]


def refuse_empty_choice(questions: Sequence[Question], selection: Selection, *, file: str) -> None:
    """Refuse a choice that leaves none of a file's questions, saying what was chosen and what there is."""
    subjects = dict.fromkeys(_subject(question.problem) for question in questions)
    chosen = [f"image_type={_listed(selection.image_types)}"]
    if selection.subset is not None:
        chosen.append(f"the subset's {len(selection.subset)} ids")
    else:
        chosen.append(f"questions_type={_listed(selection.types)}")
        chosen += [f"subject={selection.subject}"] if selection.subject else []
    named = ", ".join(list(subjects)[:_SHOWN_SUBJECTS])
    raise UsageError(
        f"{file}: none of its {len(questions)} questions is one of {', '.join(chosen)}",
        hint=f"its subjects are: {named}{', ...' * (len(subjects) > _SHOWN_SUBJECTS)}",
    )


def _listed(codes: Iterable[int]) -> str:
    return ",".join(map(str, sorted(codes)))


def _subject(problem: Problem) -> str:
    return problem.problem_id.partition("_")[0]


def _is_meant(question: Question, selection: Selection) -> bool:
    problem, index = question.problem, question.index
    if selection.subset is not None:
        if question.id not in selection.subset:
            return False
    else:
        if TYPES[problem.problem_type_list[index]][0] not in selection.types:
            return False
        if selection.subject and _subject(problem) != selection.subject:
            return False
    return min(count_marks(problem.question_text(index)), 2) in selection.image_types


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
