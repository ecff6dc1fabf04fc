"""CircularEval: a question counts as right only if every rotation of its options was answered right.

Source of the rule: open-compass/VLMEvalKit, commit e8e78f05. Golden vectors: tests/golden/circular.jsonl.
`hit` scores one group of rows on its own, as the official code does, with as many calls to the judge. A
run scores row by row instead (choice.py) and folds the rows later (report/circles.py): the same verdict.

Not reproduced: where the judge stays unclear three times, the official code picks an option at random,
without a seed. Here the row is not right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from string import ascii_uppercase
from typing import Any

from eyechart.score.choice import JUDGE_TRIES, infer
from eyechart.types import JudgeFailed

Row = Mapping[str, Any]
AskJudge = Callable[[Row], str]


def hit(rows: Iterable[Row], judge: AskJudge | None = None, rules: str = "vlmevalkit") -> int:
    """1 if every row of one question was answered right, else 0.

    A row has the columns of the file (`index`, options by letter, `answer`) and `prediction`. `judge` takes
    a row and returns its reply; it is asked about undecided rows only, and not at all once a row is wrong.

    >>> first = {"index": 7, "A": "cat", "B": "dog", "answer": "B", "prediction": "B"}
    >>> second = {"index": 1000007, "A": "dog", "B": "cat", "answer": "A", "prediction": "a"}
    >>> hit([first, second]), hit([first, second], judge=lambda row: "A")
    (0, 1)
    """
    undecided = []
    for row in sorted(rows, key=lambda row: int(row["index"])):
        letter = infer(row["prediction"], choices_of(row), rules)
        if letter is None:
            undecided.append(row)
        elif letter != row["answer"]:
            return 0
    if not undecided:
        return 1
    return int(judge is not None and all(_judged(row, judge, rules) == row["answer"] for row in undecided))


def choices_of(row: Row) -> dict[str, str]:
    """The options of a row; an empty or missing cell is no option.

    >>> choices_of({"A": "cat", "B": None, "C": float("nan"), "D": "", "answer": "A"})
    {'A': 'cat'}
    """
    cells = {letter: row.get(letter) for letter in ascii_uppercase}
    # NaN is the one value that differs from itself: how a table's empty cell arrives.
    return {letter: str(cell) for letter, cell in cells.items() if cell not in (None, "") and cell == cell}


def _judged(row: Row, judge: AskJudge, rules: str) -> str | None:
    """The letter that the judge's reply names; a failed or unclear reply is asked for again."""
    for _ in range(JUDGE_TRIES):
        try:
            said = judge(row)
        except JudgeFailed:
            continue
        if (letter := infer(said, choices_of(row), rules)) is not None:
            return letter
    return None
