"""CircularEval in a report: the rows of one question become one result, right only if all are.

Rotations may stand anywhere in a file, so what has been seen of a circle is kept until the end: a few
numbers and the question, without its pictures and its replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import msgspec

from eyechart.types import Failure, Outcome, Result, Sample, Score

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
    >>> [one] = fold([row(1, "correct"), row(2, "wrong"), row(3, "unparsed")])
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
    """The questions that a judge still decides. One wrong rotation loses a question, whatever the rest say."""
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
