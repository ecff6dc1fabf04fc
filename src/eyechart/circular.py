"""CircularEval: a question is right only if it is answered right with its options in every rotation.

So a model gains nothing by preferring a letter. Options p q r s under A B C D become q r s p, then
r s p q, then s p q r; the gold letter moves with its text. The samples of one question form a circle: they
share `Sample.circle`, the id of the question.

Rule: Liu et al., 2023 (https://arxiv.org/abs/2307.06281), as VLMEvalKit e8e78f05 computes it. Golden vectors:
tests/golden/circular.jsonl. A run scores every rotation as a sample of its own and merges the results
(`merge_rotations`); `hit` decides one group of rows as the official code does. The verdicts are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from string import ascii_uppercase
from typing import Any

import msgspec

from eyechart.data.columns.answers import LETTERS, ROTATION_OFFSET, parse_choices
from eyechart.data.samples import ChangedSource
from eyechart.errors import DataError, UsageError
from eyechart.placeholders import number_placeholders
from eyechart.score.choice_rules import JUDGE_TRIES, infer
from eyechart.types import Failure, JudgeFailed, Outcome, Result, Sample, Score, Source

_WORDS = re.compile(r"[A-Za-z]+|\d+|\w")  # a character of another script is a word, also between two letters
_INDEX = re.compile(r"0|[1-9][0-9]*", re.ASCII)
ROUTE = "circular"  # of a merged score
_WRONG = frozenset({"wrong", "partial", "refused"})
_UNREAD = frozenset({"unparsed", "truncated"})


# -- Rotating the options


def rotate_source(source: Source) -> Source:
    """The source with all rotations of its questions."""
    return ChangedSource(source, rotate_samples)


def rotate_source_unless_rotated(source: Source, whole: Source) -> Source:
    """The source with all rotations, or as it is where `whole` already holds rotations.

    `source` is `whole` or a selection of it; both mark circles. Their golds are taken as they are written, as
    in VLMEvalKit: a question with the gold ``b`` is not rotated.
    """
    is_rotated = cache(lambda: has_rotations(whole))  # `whole` is read once, however often the source is

    def rotate(samples: Iterable[Sample]) -> Iterator[Sample]:
        if is_rotated():
            return iter(samples)
        # A row without weight is a rotation whose question is missing.
        return _rotate_questions(samples, lambda sample: sample.weight > 0, is_exact=True)

    return ChangedSource(source, rotate)


def has_rotations(samples: Iterable[Sample]) -> bool:
    """Whether two samples belong to one circle. Stops at the first such pair.

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


def rotate_samples(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Every sample followed by its rotations; samples that already belong to a circle are not rotated."""
    return _rotate_questions(samples, lambda sample: not sample.circle)


def _rotate_questions(
    samples: Iterable[Sample], is_question: Callable[[Sample], bool], *, is_exact: bool = False
) -> Iterator[Sample]:
    questions: dict[str, str] = {}  # every id so far -> the id of its question
    has_options = is_any_rotated = False
    for sample in samples:
        has_options |= bool(sample.choices)
        rotations = rotate_sample(sample, is_exact=is_exact) if is_question(sample) else [sample]
        is_any_rotated |= len(rotations) > 1 or bool(sample.circle and not is_question(sample))
        for rotation in rotations:
            if questions.setdefault(rotation.id, sample.id) != sample.id:
                raise DataError(
                    f"the id {rotation.id!r} belongs to a rotation of one question and to another question",
                    hint="the file seems to hold rotations already: run it with --as mmbench",
                )
            yield rotation
    if not has_options:
        raise UsageError("--circular rotates options, and no question has options", hint="leave it out")
    if not is_any_rotated:
        raise UsageError(
            "--circular: no question can be rotated",
            hint="a question needs two options or more and a gold among them (eyechart docs mmbench);"
            " leave it out to ask every question once",
        )


def rotate_sample(sample: Sample, *, is_exact: bool = False) -> list[Sample]:
    """The sample and its rotations, in order; the sample alone where it cannot be rotated.

    As in VLMEvalKit, a question is not rotated where that would change what it asks: an option names two or
    more letters, an option is itself a capital letter or several in the order of the alphabet, or the gold is
    not the letter of an option. A letter is named where no other Latin letter stands beside it: "A and B",
    "A和B" and "A1, B2" name two, "CAB" names none. Unless `is_exact`, a gold may be written ``b`` or ``(B)``.

    >>> sample = Sample(id="7", question="Which?", choices={"A": "cat", "B": "dog"}, golds=("B",))
    >>> [(one.id, dict(one.choices), one.golds) for one in rotate_sample(sample)]
    [('7', {'A': 'cat', 'B': 'dog'}, ('B',)), ('1000007', {'A': 'dog', 'B': 'cat'}, ('A',))]
    """
    sample = _number_images(sample if is_exact else _normalise_golds(sample))
    if not _can_rotate(sample):
        return [sample]
    rotations = [one for turn in range(len(sample.choices)) if (one := _rotate_by(sample, turn))]
    return rotations if len(rotations) == len(sample.choices) else [sample]


def _normalise_golds(sample: Sample) -> Sample:
    """The sample with its gold letters as its choices spell them: ``b`` and ``(B)`` become B.

    >>> _normalise_golds(Sample(id="1", question="?", choices={"A": "cat", "B": "dog"}, golds=("(b)",))).golds
    ('B',)
    """
    texts = set(sample.choices.values())
    letters = {gold: gold.strip(" .()").upper() for gold in sample.golds if gold not in texts}
    golds = tuple(gold if letters.get(gold) not in sample.choices else letters[gold] for gold in sample.golds)
    return sample if golds == sample.golds else replace(sample, golds=golds)


def _number_images(sample: Sample) -> Sample:
    """The sample with numbered placeholders: ``<image>`` in an option means an image by its position."""
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
        text in LETTERS or len({*_WORDS.findall(text)} & choices.keys()) > 1 for text in choices.values()
    )


def _rotate_by(sample: Sample, turn: int) -> Sample | None:
    """One rotation; None where `choices_text` cannot be rewritten."""
    letters, texts = list(sample.choices), list(sample.choices.values())
    choices = dict(zip(letters, texts[turn:] + texts[:turn], strict=True))
    block = _rotate_block(sample.choices_text, choices, texts, turn)
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


def _rotate_block(block: str, choices: Mapping[str, str], texts: list[str], turn: int) -> str | None:
    """The printed options with letters in place and texts moved; None unless each has its own line."""
    if not block or not turn:
        return block
    lines = block.splitlines(keepends=True)
    filled = [number for number, line in enumerate(lines) if line.strip()]
    if len(filled) != len(texts):
        return None
    for number, old, new in zip(filled, texts, choices.values(), strict=True):
        line = lines[number].rstrip()
        if not line.endswith(old):
            return None
        lines[number] = line.removesuffix(old) + new + lines[number][len(line) :]
    rotated = "".join(lines)
    return rotated if parse_choices(rotated) == choices else None


def _rotation_id(sample_id: str, turn: int) -> str:
    """The published numbering (plus 1,000,000 per turn) for numeric ids below it; otherwise a suffix.

    >>> _rotation_id("7", 2), _rotation_id("q7", 2), _rotation_id("q7", 0)
    ('2000007', 'q7#r2', 'q7')
    """
    if not turn:
        return sample_id
    if len(sample_id) < 7 and _INDEX.fullmatch(sample_id):
        return str(int(sample_id) + turn * ROTATION_OFFSET)
    return f"{sample_id}#r{turn}"


# -- Merging the results of one question


def merge_rotations(results: Iterable[Result]) -> Iterator[Result]:
    """One result per circle and trial; results without a circle pass unchanged, at once.

    A circle is reported under its question, the sample that the others are rotations of (or the first one,
    if that is missing). The rules, in order:

    1. The circle is pending, failed or unscored if a rotation is, in this order, even if another is wrong.
       Otherwise failures would remove right questions only, and the score would be too low.
    2. It has the outcome of its first rotation that is wrong, partial or refused; if there are none, of the
       first that is unparsed or truncated.
    3. Otherwise it is correct.

    Rotations may stand anywhere in a file, so circles come last, in the order of their questions.

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
        if key not in circles:
            circles[key] = _Circle(
                _strip(result.sample), result.position, result.trial, cluster=result.cluster
            )
        circles[key].add(result)
    for circle in sorted(circles.values(), key=lambda circle: (circle.position, circle.trial)):
        yield circle.result()


class _Circle(msgspec.Struct):
    """What is known of one circle so far: a few numbers and the question, without images and replies."""

    sample: Sample
    position: int
    trial: int
    n_rows: int = 0
    n_right: int = 0
    attempts: int = 0
    wrong: tuple[bool, int, Outcome] | None = None  # the first rotation not correct; unread ones last
    failed: tuple[int, Failure] | None = None
    is_unscored: bool = False
    reason: str = ""  # why a rotation has no verdict
    is_pending: bool = False
    cluster: str = ""

    def add(self, result: Result) -> None:
        self.n_rows += 1
        self.attempts += result.attempts
        if _rank(result.sample, result.position) < _rank(self.sample, self.position):
            self.sample, self.position = _strip(result.sample), result.position
        outcome = result.outcome
        self.n_right += outcome == "correct"
        self.is_pending |= outcome is None
        if outcome == "unscored" and result.score is not None:
            self.is_unscored = True
            self.reason = self.reason or str(result.score.detail.get("fail_reason", ""))
        if outcome in _WRONG or outcome in _UNREAD:
            wrong = (outcome in _UNREAD, result.position, outcome)
            self.wrong = min(wrong, self.wrong or wrong)
        if outcome == "failed" and (self.failed is None or result.position < self.failed[0]):
            default = Failure(stage="score", reason="a rotation of the question failed")
            self.failed = (result.position, result.failure or default)

    def result(self) -> Result:
        plain = Result(
            sample=self.sample,
            position=self.position,
            trial=self.trial,
            attempts=self.attempts,
            n_rows=self.n_rows,
            cluster=self.cluster,
        )
        if self.is_pending:
            return plain
        if self.failed is not None:
            return replace(plain, failure=self.failed[1])
        decided: Outcome = self.wrong[2] if self.wrong is not None else "correct"
        return replace(plain, score=self._score("unscored" if self.is_unscored else decided))

    def _score(self, outcome: Outcome) -> Score:
        detail: dict[str, Any] = {"rows": self.n_rows, "right": self.n_right}
        if outcome == "unscored" and self.reason:
            detail["fail_reason"] = self.reason
        return Score(outcome=outcome, value=float(outcome == "correct"), route=ROUTE, detail=detail)


def _rank(sample: Sample, position: int) -> tuple[bool, int]:
    """The question itself first, then the order of the file."""
    return sample.id != sample.circle, position


def _strip(sample: Sample) -> Sample:
    """What a report counts by, without images, which may be long base64 texts."""
    return replace(sample, images=(), hint="", choices_text="")


# -- The official verdict on one group of rows

Row = Mapping[str, Any]
AskJudge = Callable[[Row], str]


def hit(rows: Iterable[Row], judge: AskJudge | None = None, rules: str = "vlmevalkit") -> int:
    """1 if every row of one question was answered right, else 0.

    A row has the columns of the file (`index`, options by letter, `answer`) and `prediction`. `judge` takes
    a row and returns its reply; it is asked about undecided rows only, and not at all if a row is wrong.

    Not reproduced: where the judge stays unclear three times, the official code picks an option at random,
    without a seed. Here the row is not right.

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
    return int(judge is not None and all(_ask(row, judge, rules) == row["answer"] for row in undecided))


def read_choices(row: Row) -> dict[str, str]:
    """The options of a row; empty and missing cells are left out.

    >>> read_choices({"A": "cat", "B": None, "C": float("nan"), "D": "", "answer": "A"})
    {'A': 'cat'}
    """
    cells = {letter: row.get(letter) for letter in ascii_uppercase}
    # An empty cell may arrive as NaN, the one value that differs from itself.
    return {letter: str(cell) for letter, cell in cells.items() if cell not in (None, "") and cell == cell}


def _ask(row: Row, judge: AskJudge, rules: str) -> str | None:
    """The letter that the judge's reply names; a failed or unclear call is repeated."""
    for _ in range(JUDGE_TRIES):
        try:
            said = judge(row)
        except JudgeFailed:
            continue
        if (letter := infer(said, read_choices(row), rules)) is not None:
            return letter
    return None


# -- Questions that a judge can still decide


class OpenCircle(msgspec.Struct):
    """A question with rotations that the rules could not read, and none that was read as wrong or failed."""

    trial: int
    is_closed: bool = False
    unread: list[str] = msgspec.field(default_factory=list)  # ids of rotations, in order


def find_open_circles(results: Iterable[Result]) -> list[OpenCircle]:
    """The questions that a judge can still decide.

    A rotation read as wrong has decided its question already; one without a reply leaves it undecided.
    """
    found: dict[tuple[str, int], OpenCircle] = {}
    for result in results:
        if not result.sample.circle:
            continue
        circle = found.setdefault((result.sample.circle, result.trial), OpenCircle(result.trial))
        score = result.score
        if score is None:
            circle.is_closed = True
        elif score.outcome != "unscored" and score.value < 1:
            if score.read is None:
                circle.unread.append(result.sample.id)
            else:
                circle.is_closed = True
    return [circle for circle in found.values() if circle.unread and not circle.is_closed]
