"""The rows of one question as one result."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.circular import find_open_circles, hit, merge_rotations
from eyechart.report.counting import count_results
from eyechart.types import ImageRef, Outcome, Result
from support.golden import vectors
from support.results import result

OUTCOMES: tuple[Outcome | None, ...] = (
    "correct", "partial", "wrong", "unparsed", "refused", "truncated", "failed", "unscored", None,
)  # fmt: skip


def circle(
    outcomes: Sequence[Outcome | None], name: str = "7", first: int = 0, **fields: Any
) -> list[Result]:
    """The rows of one question, in order; the first is the question itself."""
    return [
        result(first + turn, outcome, id=name if turn == 0 else f"{name}#r{turn}", circle=name, **fields)
        for turn, outcome in enumerate(outcomes)
    ]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["correct", "correct"], "correct"),
        (["correct"], "correct"),
        (["correct", "wrong", "unparsed"], "wrong"),
        (["correct", "unparsed", "wrong"], "wrong"),
        (["unparsed", "truncated", "correct"], "unparsed"),
        (["truncated", "refused", "wrong"], "refused"),
        (["refused", "failed"], "failed"),
        (["failed", "truncated"], "failed"),
        (["wrong", "failed"], "failed"),
        (["correct", "partial"], "partial"),
        ([None, "wrong"], None),
        (["correct", None], None),
        (["failed", None], None),
        (["unscored", None], None),
        (["correct", "failed", "correct"], "failed"),
        (["unscored", "failed"], "failed"),
        (["unscored", "unscored"], "unscored"),
        (["correct", "unscored"], "unscored"),
        (["unscored", "unparsed"], "unscored"),
        (["unparsed", "unscored", "wrong"], "unscored"),
    ],
)
def test_what_becomes_of_a_circle(outcomes: list[Outcome | None], expected: Outcome | None) -> None:
    [one] = merge_rotations(circle(outcomes))
    assert one.outcome == expected
    assert (one.sample.id, one.position) == ("7", 0)
    if one.score is not None:
        assert one.score.value == (expected == "correct")
        assert one.score.route == "circular"
        assert one.score.detail == {"rows": len(outcomes), "right": outcomes.count("correct")}
    if expected == "failed":
        assert one.failure is not None
        assert one.failure.status == 503


def test_the_question_stands_for_its_circle_wherever_it_is() -> None:
    rows = circle(["correct", "correct", "correct"], meta={"category": "map"})
    [one] = merge_rotations([rows[2], rows[1], rows[0]])
    assert (one.sample.id, one.position, one.sample.meta) == ("7", 0, {"category": "map"})
    [without] = merge_rotations([rows[2], rows[1]])
    assert (without.sample.id, without.position) == ("7#r1", 1)


def test_others_pass_and_circles_follow_in_order() -> None:
    alone = result(2, "wrong")
    rows = [*circle(["correct", "wrong"], "b", 3), alone, *circle(["correct"], "a", 0)]
    folded = list(merge_rotations(rows))
    assert folded[0] is alone
    assert [one.sample.id for one in folded] == ["q2", "a", "b"]
    assert list(merge_rotations([])) == []


def test_trials_are_circles_of_their_own() -> None:
    rows = [row for trial in (0, 1) for row in circle(["correct", ("correct", "wrong")[trial]], trial=trial)]
    assert [(one.trial, one.outcome) for one in merge_rotations(rows)] == [(0, "correct"), (1, "wrong")]


@pytest.mark.parametrize("lost", [None, "failed"])
def test_failures_at_random_do_not_move_the_score(lost: Outcome | None) -> None:
    """They removed right questions only: 65.8 became 57.8 if one request in ten failed."""
    draw = random.Random(8)
    rows: list[Result] = []
    for k in range(2000):
        outcomes: list[Outcome | None] = ["wrong" if draw.random() < 0.1 else "correct" for _ in range(4)]
        rows += circle(outcomes, str(k), 4 * k)
    whole = count_results(merge_rotations(rows))
    is_lost = [draw.random() < 0.1 for _ in rows]
    some = [
        result(row.position, lost, id=row.sample.id, circle=row.sample.circle) if gone else row
        for row, gone in zip(rows, is_lost, strict=True)
    ]
    left = count_results(merge_rotations(some))
    complete = {row.sample.circle for row in rows} - {
        row.sample.circle for row, gone in zip(rows, is_lost, strict=True) if gone
    }
    assert whole.score is not None
    assert left.score == pytest.approx(whole.score, abs=0.03)
    assert left.n_scored == len(complete)
    if lost:
        right = left.outcomes["correct"]
        assert left.bounds == pytest.approx((right / 2000, (right + 2000 - len(complete)) / 2000))
    else:
        assert left.pending == 2000 - len(complete)


@pytest.mark.parametrize(("other", "is_asked"), [("correct", True), ("failed", False), (None, False)])
def test_a_judge_is_asked_about_questions_that_it_can_decide(other: Outcome | None, is_asked: bool) -> None:
    unread, rest = circle(["unparsed", other])
    assert unread.score is not None
    unread = replace(unread, score=replace(unread.score, read=None))
    assert bool(find_open_circles([unread, rest])) == is_asked


def test_images_and_replies_are_let_go() -> None:
    picture = ImageRef(kind="data", location="A" * 1000)
    [one] = merge_rotations(circle(["correct", "correct"], images=(picture,), attempts=2))
    assert (one.sample.images, one.reply, one.attempts) == ((), None, 4)
    assert one.sample.choices == {"A": "cat", "B": "dog"}


@given(st.lists(st.sampled_from(OUTCOMES), min_size=1, max_size=5), st.randoms())
def test_the_order_in_which_rows_come_does_not_matter(outcomes: list[Outcome | None], draw: Any) -> None:
    rows = circle(outcomes)
    [before] = merge_rotations(rows)
    draw.shuffle(rows)
    assert list(merge_rotations(rows)) == [before]
    assert (before.outcome == "correct") == (set(outcomes) == {"correct"})


def test_row_by_row_and_folded_is_the_official_verdict() -> None:
    """Where no judge is asked: with one, rows that the official code does not look at are asked as well."""
    from eyechart import registry
    from eyechart.types import Reply, Sample

    scorer = registry.scorers.get("choice-vlmevalkit")
    for vector in vectors("circular"):
        results = []
        for position, row in enumerate(vector["rows"]):
            choices = {letter: row[letter] for letter in "ABCDE" if row.get(letter) is not None}
            sample = Sample(
                id=str(row["index"]), question="?", golds=(row["answer"],), choices=choices, circle="0"
            )
            score = scorer(Reply(text=row["prediction"]), sample)
            results.append(Result(sample=sample, position=position, score=score))
        [one] = merge_rotations(results)
        assert one.score is not None
        assert one.score.value == hit(vector["rows"]), vector["id"]
