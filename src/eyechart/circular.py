"""Rotations for CircularEval: every question again with its options moved round by one, two, ...

Options p q r s under A B C D become q r s p, then r s p q, then s p q r; the gold letter moves with its
text. A question is left as it is where moving would change what it asks, as VLMEvalKit's own tool does:
an option speaks of two or more letters ("both A and B"), an option is itself a capital letter, there are
no options, or the gold is none of its letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from string import ascii_uppercase
from typing import Any

import msgspec

from eyechart.data.choices import LETTERS, ROTATION_OFFSET, parse_choices
from eyechart.data.source import ChangedSource
from eyechart.errors import DataError, UsageError
from eyechart.placeholders import number_placeholders
from eyechart.score.choice import JUDGE_TRIES, infer
from eyechart.types import Failure, JudgeFailed, Outcome, Result, Sample, Score, Source

_CAPITALS = frozenset(LETTERS)
_WORDS = re.compile(r"[^\W_]+")
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)


def rotate_sample(sample: Sample) -> list[Sample]:
    """The sample and its rotations, in order; the sample alone where it cannot be rotated.

    >>> sample = Sample(id="7", question="Which?", choices={"A": "cat", "B": "dog"}, golds=("B",))
    >>> [(turned.id, dict(turned.choices), turned.golds) for turned in rotate_sample(sample)]
    [('7', {'A': 'cat', 'B': 'dog'}, ('B',)), ('1000007', {'A': 'dog', 'B': 'cat'}, ('A',))]
    """
    sample = _numbered(_lettered(sample))
    turned = [sample]
    if _can_rotate(sample):
        turned = [one for turn in range(len(sample.choices)) if (one := _turned(sample, turn))]
    return turned if len(turned) == len(sample.choices) else [sample]


def rotate_samples(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Every sample followed by its rotations. Samples that belong to a circle already stay as they are."""
    return _rotate(samples, lambda sample: not sample.circle)


def rotate_source(source: Source) -> Source:
    """The same source, with all rotations."""
    return ChangedSource(source, rotate_samples)


def rotate_source_unless_rotated(source: Source, whole: Source) -> Source:
    """The same for a benchmark that marks circles: as it is where two samples of `whole` share one.

    `source` is `whole` or a selection of it.
    """

    @cache  # the file is looked through once, however often it is read
    def is_rotated() -> bool:
        return has_rotations(whole)

    def turned(samples: Iterable[Sample]) -> Iterator[Sample]:
        if is_rotated():
            return iter(samples)
        # A row without weight is a rotation whose question is missing.
        return _rotate(samples, lambda sample: sample.weight > 0)

    return ChangedSource(source, turned)


def has_rotations(samples: Iterable[Sample]) -> bool:
    """Whether two samples are of one circle. Reads no further than the first such pair.

    >>> one = Sample(id="7", question="Which?", circle="7")
    >>> has_rotations([one]), has_rotations([one, replace(one, id="1000007")])
    (False, True)
    """
    seen: set[str] = set()
    for circle in (sample.circle for sample in samples if sample.circle):
        if circle in seen:
            return True
        seen.add(circle)
    return False


def _rotate(samples: Iterable[Sample], is_question: Callable[[Sample], bool]) -> Iterator[Sample]:
    questions: dict[str, str] = {}  # every id so far to that of its question
    has_options = has_rotations = False
    for sample in samples:
        has_options |= bool(sample.choices)
        turns = rotate_sample(sample) if is_question(sample) else [sample]
        has_rotations |= len(turns) > 1 or bool(sample.circle and not is_question(sample))
        for turned in turns:
            if questions.setdefault(turned.id, sample.id) != sample.id:
                raise DataError(
                    f"{turned.id!r} names a rotation of one question and another question",
                    hint="the file seems to hold rotations already: run it with --as mmbench",
                )
            yield turned
    if not has_options:
        raise UsageError("--circular moves options, and no question has any", hint="leave it out")
    if not has_rotations:
        raise UsageError(
            "--circular: no question can be rotated",
            hint="each needs two options or more and an answer among them (docs/mmbench.md, CircularEval); "
            "leave it out to ask every question once",
        )


def _lettered(sample: Sample) -> Sample:
    """The sample with its golds as its choices spell them: ``b`` and ``(B)`` mean B, and could not move.

    >>> _lettered(Sample(id="1", question="?", choices={"A": "cat", "B": "dog"}, golds=("(b)",))).golds
    ('B',)
    """
    texts = set(sample.choices.values())
    letters = {gold: gold.strip(" .()").upper() for gold in sample.golds if gold not in texts}
    golds = tuple(gold if letters.get(gold) not in sample.choices else letters[gold] for gold in sample.golds)
    return sample if golds == sample.golds else replace(sample, golds=golds)


def _numbered(sample: Sample) -> Sample:
    """The sample with numbers in placeholders such as ``<image>``, which mean images by their order."""
    if len(sample.images) < 2 or not any("<" in text for text in sample.choices.values()):
        return sample
    hint, question, *texts = number_placeholders([sample.hint, sample.question, *sample.choices.values()])
    choices = dict(zip(sample.choices, texts, strict=True))
    if choices == sample.choices:
        return sample
    *_, block = number_placeholders([sample.hint, sample.question, sample.choices_text])
    return replace(sample, hint=hint, question=question, choices=choices, choices_text=block)


def _can_rotate(sample: Sample) -> bool:
    choices = sample.choices
    if len(choices) < 2 or not sample.golds or not all(gold in choices for gold in sample.golds):
        return False
    return not any(
        text.strip() in _CAPITALS or len({*_WORDS.findall(text)} & set(choices)) > 1
        for text in choices.values()
    )


def _turned(sample: Sample, turn: int) -> Sample | None:
    """One rotation; None where the options stand in a text that cannot be written anew."""
    letters, texts = list(sample.choices), list(sample.choices.values())
    choices = dict(zip(letters, texts[turn:] + texts[:turn], strict=True))
    block = _rewritten(sample.choices_text, letters, texts, turn)
    if block is None:
        return None
    return replace(
        sample,
        id=_rotation_id(sample.id, turn),
        choices=choices,
        choices_text=block,
        golds=tuple(letters[(letters.index(gold) - turn) % len(letters)] for gold in sample.golds),
        meta={**sample.meta, "rotation": turn},
        circle=sample.circle or sample.id,
    )


def _rewritten(block: str, letters: list[str], texts: list[str], turn: int) -> str | None:
    """The block with its texts moved and its letters in their places; None unless each has its own line."""
    if not block or not turn:
        return block
    lines = block.splitlines(keepends=True)
    held = [number for number, line in enumerate(lines) if line.strip()]
    if len(held) != len(letters):
        return None
    for k, number in enumerate(held):
        line = lines[number].rstrip()
        if not line.endswith(texts[k]):
            return None
        before, after = line[: len(line) - len(texts[k])], lines[number][len(line) :]
        lines[number] = before + texts[(k + turn) % len(texts)] + after
    moved = "".join(lines)
    wanted = dict(zip(letters, texts[turn:] + texts[:turn], strict=True))
    return moved if parse_choices(moved) == wanted else None


def _rotation_id(sample_id: str, turn: int) -> str:
    """The published numbering where ids are numbers small enough for it; else a suffix.

    >>> _rotation_id("7", 2), _rotation_id("q7", 2), _rotation_id("q7", 0)
    ('2000007', 'q7#r2', 'q7')
    """
    if not turn:
        return sample_id
    if len(sample_id) < 7 and _INDEX.fullmatch(sample_id):
        return str(int(sample_id) + turn * ROTATION_OFFSET)
    return f"{sample_id}#r{turn}"


# -- CircularEval: a question counts as right only if every rotation of its options was answered right.
#
# Source of the rule: open-compass/VLMEvalKit, commit e8e78f05. Golden vectors: tests/golden/circular.jsonl.
# `hit` scores one group of rows on its own, as the official code does, with as many calls to the judge. A
# run scores row by row instead (choice.py) and folds the rows later (report/circles.py): the same verdict.
#
# Not reproduced: where the judge stays unclear three times, the official code picks an option at random,
# without a seed. Here the row is not right.

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
        letter = infer(row["prediction"], read_choices(row), rules)
        if letter is None:
            undecided.append(row)
        elif letter != row["answer"]:
            return 0
    if not undecided:
        return 1
    return int(judge is not None and all(_judged(row, judge, rules) == row["answer"] for row in undecided))


def read_choices(row: Row) -> dict[str, str]:
    """The options of a row; an empty or missing cell is no option.

    >>> read_choices({"A": "cat", "B": None, "C": float("nan"), "D": "", "answer": "A"})
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
        if (letter := infer(said, read_choices(row), rules)) is not None:
            return letter
    return None


# -- CircularEval in a report: the rows of one question become one result, right only if all are.
#
# Rotations may stand anywhere in a file, so what has been seen of a circle is kept until the end: a few
# numbers and the question, without its pictures and its replies.

ROUTE = "circular"
_LOST = frozenset({"wrong", "partial", "refused"})
_UNREAD = frozenset({"unparsed", "truncated"})


def merge_rotations(results: Iterable[Result]) -> Iterator[Result]:
    """One result for each circle and trial; samples that are in no circle pass as they are, at once.

    A circle goes by its question, the row that the others are rotations of (or the first, where that row
    is not there). It is lost if one row is not correct, whatever the others are, and has the outcome of the
    first such row. A row that could not be read tells less than one that is wrong, so it comes second: a
    better reading of it would not save the circle. Where rows could not be read and one is unscored, for want
    of a judge's reply, the circle is unscored: the judge was to read them all. While none is lost, the circle
    is pending if a row is, else failed or unscored if a row is, else correct. Circles come last, in the order
    of their questions.

    >>> def row(position, outcome):
    ...     sample = Sample(id=f"{position}000007", question="Which?", circle="7")
    ...     score = Score(outcome=outcome, value=float(outcome == "correct"))
    ...     return Result(sample=sample, position=position, score=score)
    >>> [one] = merge_rotations([row(1, "correct"), row(2, "wrong"), row(3, "unparsed")])
    >>> one.sample.id, one.outcome, dict(one.score.detail)
    ('1000007', 'wrong', {'rows': 3, 'right': 1})
    """
    circles: dict[tuple[str, int], _Circle] = {}
    for result in results:
        if not result.sample.circle:
            yield result
            continue
        key = (result.sample.circle, result.trial)
        if key in circles:
            circles[key].add(result)
        else:
            circles[key] = _Circle.of(result)
    for circle in sorted(circles.values(), key=lambda circle: (circle.position, circle.trial)):
        yield circle.result()


class _Circle(msgspec.Struct):
    """What is known of one circle so far."""

    sample: Sample
    position: int
    trial: int
    n_rows: int = 0
    n_right: int = 0
    attempts: int = 0
    lost: tuple[bool, int, Outcome] | None = None  # the first row that is not correct; unread ones last
    failed: tuple[int, Failure] | None = None
    is_unscored: bool = False
    is_pending: bool = False

    @classmethod
    def of(cls, result: Result) -> _Circle:
        circle = cls(sample=_small(result.sample), position=result.position, trial=result.trial)
        circle.add(result)
        return circle

    def add(self, result: Result) -> None:
        self.n_rows += 1
        self.attempts += result.attempts
        if _rank(result.sample, result.position) < _rank(self.sample, self.position):
            self.sample, self.position = _small(result.sample), result.position
        outcome = result.outcome
        self.n_right += outcome == "correct"
        self.is_pending |= outcome is None
        self.is_unscored |= outcome == "unscored"
        if outcome in _LOST or outcome in _UNREAD:
            lost = (outcome in _UNREAD, result.position, outcome)
            self.lost = min(lost, self.lost or lost)
        if outcome == "failed" and (self.failed is None or result.position < self.failed[0]):
            said = Failure(stage="score", reason="a row of the circle failed")
            self.failed = (result.position, result.failure or said)

    def result(self) -> Result:
        plain = Result(
            sample=self.sample,
            position=self.position,
            trial=self.trial,
            attempts=self.attempts,
            n_rows=self.n_rows,
        )
        if self.lost is not None and not (self.is_unscored and self.lost[2] in _UNREAD):
            return replace(plain, score=self._score(self.lost[2]))
        if self.is_pending:
            return plain
        if self.failed is not None:
            return replace(plain, failure=self.failed[1])
        return replace(plain, score=self._score("unscored" if self.is_unscored else "correct"))

    def _score(self, outcome: Outcome) -> Score:
        detail = {"rows": self.n_rows, "right": self.n_right}
        return Score(outcome=outcome, value=float(outcome == "correct"), route=ROUTE, detail=detail)


def _rank(sample: Sample, position: int) -> tuple[bool, int]:
    """The question itself comes first, then the order of the file."""
    return sample.id != sample.circle, position


def _small(sample: Sample) -> Sample:
    """What a report counts by. A picture may be in the sample as text, so none is kept."""
    return replace(sample, images=(), hint="", choices_text="")


class OpenCircle(msgspec.Struct):
    """A question of which rotations could not be read by rules and none was read and wrong."""

    trial: int
    is_lost: bool = False
    unread: list[str] = msgspec.field(default_factory=list)  # ids of rotations, in order


def find_open_circles(results: Iterable[Result]) -> list[OpenCircle]:
    """The questions that a judge can still decide: one rotation that was read as wrong loses a question."""
    found: dict[tuple[str, int], OpenCircle] = {}
    for result in results:
        if not result.sample.circle:
            continue
        circle = found.setdefault((result.sample.circle, result.trial), OpenCircle(result.trial))
        score = result.score
        if score is not None and score.outcome != "unscored" and score.value < 1:
            if score.read is None:
                circle.unread.append(result.sample.id)
            else:
                circle.is_lost = True
    return [circle for circle in found.values() if circle.unread and not circle.is_lost]
