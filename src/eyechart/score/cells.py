"""The answers of one question, given as a list or as the text of a TSV cell."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeAlias

from eyechart.quiet import quiet
from eyechart.types import Sample

Answers: TypeAlias = str | float | Sequence[object]

MAX_CELL_CHARS = 1_000_000  # a longer cell is text, not a list somebody wrote by hand


def accepted(answers: Answers) -> list[str]:
    """Every accepted answer, as text. A cell that spells a list is that list; any other is one answer.

    VLMEvalKit evaluates the cell as Python; here only literals are read, and nothing is run. As there,
    a list written in JSON's words (``[null]``) is no list but one answer.

    >>> accepted("['12', 'twelve']"), accepted("[see note]"), accepted(["12", 12.5])
    (['12', 'twelve'], ['[see note]'], ['12', '12.5'])
    """
    if not isinstance(answers, str | Sequence):
        return [str(answers)]  # a bare number, as a JSON file holds it
    if not isinstance(answers, str):
        return [str(answer) for answer in answers]
    listed = _list_literal(answers)
    return [answers] if listed is None else [str(answer) for answer in listed]


def answers_of(sample: Sample) -> Answers:
    """The golds as the official code gets them: a single one as the cell it was, which may spell a list."""
    return sample.golds[0] if len(sample.golds) == 1 else sample.golds


def _list_literal(cell: str) -> list[object] | None:
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]") and len(text) <= MAX_CELL_CHARS):
        return None
    with quiet():  # a stray backslash in somebody's file is not our news
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            return None
    return value if isinstance(value, list) else None
