"""CircularEval of one question: the official verdicts, with as many calls to the judge."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eyechart.circular import hit, read_choices
from eyechart.score.choice import infer
from eyechart.types import JudgeFailed
from support.cases import for_each
from support.golden import vectors


@for_each(vectors("circular"))
def test_official_vectors(vector: dict[str, Any]) -> None:
    replies, calls = vector["judge_replies"], []

    def judge(row: Any) -> str:
        calls.append(row)
        return str(replies[min(len(calls), len(replies)) - 1])

    assert hit(vector["rows"], judge=None if replies is None else judge) == vector["hit"]
    assert len(calls) == vector["judge_calls"]


def rows(*predictions: str) -> list[dict[str, Any]]:
    """The rotations of a question whose answer is "dog"."""
    texts = ["cat", "dog", "bird"]
    return [
        {
            "index": 7 + turn * 1_000_000,
            **{"ABC"[k]: texts[(k + turn) % 3] for k in range(3)},
            "answer": "ABC"[(1 - turn) % 3],
            "prediction": prediction,
        }
        for turn, prediction in enumerate(predictions)
    ]


def test_rows_are_taken_by_index() -> None:
    asked: list[int] = []

    def judge(row: Any) -> str:
        asked.append(row["index"])
        return str(row["answer"])

    assert hit(reversed(rows("b", "A", "c")), judge) == 1
    assert asked == [7, 2_000_007]


def test_a_wrong_row_ends_it_before_a_judge_is_asked() -> None:
    def judge(row: Any) -> str:
        raise AssertionError("asked for nothing")

    assert hit(rows("b", "a", "A"), judge) == 0


def test_a_failed_call_counts_as_one_of_three() -> None:
    said: list[str | Exception] = [JudgeFailed("busy"), "hm", "B"]
    assert hit(rows("b"), lambda row: _say(said)) == 1
    said = [JudgeFailed("busy"), "hm", JudgeFailed("busy"), "B"]
    assert hit(rows("b"), lambda row: _say(said)) == 0
    assert said == ["B"]


def _say(said: list[str | Exception]) -> str:
    reply = said.pop(0)
    if isinstance(reply, Exception):
        raise reply
    return reply


def test_a_question_with_rotations_missing_is_judged_on_those_there() -> None:
    assert hit(rows("B")) == hit(rows("B", "A", "C")) == 1
    assert hit(rows("B", "A", "A")) == 0


@given(st.lists(st.sampled_from(["A", "B", "C", "b", "", "the dog", "A and B", "Z"]), min_size=1, max_size=3))
def test_without_a_judge_it_is_all_rows_right(predictions: list[str]) -> None:
    group = rows(*predictions)
    right = [infer(row["prediction"], read_choices(row)) == row["answer"] for row in group]
    assert hit(group) == all(right)


@given(st.lists(st.sampled_from(["A", "B", "C", "b", "", "the dog"]), min_size=1, max_size=3))
def test_a_perfect_judge_only_helps_undecided_rows(predictions: list[str]) -> None:
    group = rows(*predictions)
    read = [infer(row["prediction"], read_choices(row)) for row in group]
    is_wrong = any(letter not in (None, row["answer"]) for letter, row in zip(read, group, strict=True))
    assert hit(group, lambda row: str(row["answer"])) == (not is_wrong)
