"""Lists of tasks: all could start before the first is paid for, and one that fails ends no other."""

from __future__ import annotations

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.errors import DataError
from eyechart.pipelines.vlmevalkit.evalscope.job import TaskFailed
from support.files import choice_tsv
from support.runs import number_of, right
from support.server import Answer
from support.tasks import M, User


@pytest.mark.slow
def test_a_task_that_fails_ends_no_other(user: User) -> None:
    choice_tsv(user.data / "other.tsv", 4)
    user.server.answer = lambda asked: (
        Answer(status=400, body=b'{"error": {"message": "too dark"}}')
        if number_of(asked) == 5
        else right(asked)
    )
    with pytest.raises(TaskFailed) as failed:
        run_task([user.config(), user.config("other"), user.config(limit=6), user.config(limit=2)])
    assert [[*one] for one in failed.value.of_tasks] == [[], [f"{M}_other_acc"], [], [f"{M}_mine_acc"]]
    assert [*failed.value.results] == [f"{M}_other_acc", f"{M}_mine_acc"]
    assert "1 of 8" in failed.value.message
    assert "1 of 6" in failed.value.message
    assert (len(failed.value.failures), failed.value.exit_code) == (2, 1)
    user.server.answer, n_before = right, user.n_asked()
    run_task([user.config(), user.config(limit=6)])
    assert [number_of(one) for one in user.server.asked[n_before:]] == [5, 5]


def test_all_could_start_before_the_first_is_paid_for(user: User) -> None:
    with pytest.raises(DataError, match="dataset nowhere"):
        run_task([user.config(), user.config("nowhere")])
    assert user.n_asked() == 0
    assert user.folders() == []


@pytest.mark.slow
def test_scores_of_what_an_earlier_task_asked(user: User) -> None:
    infer, scored = run_task([user.config(mode="infer"), user.config(mode="eval")])
    assert infer == {}
    assert scored[f"{M}_mine_acc"]["Overall"] == "1.0"
    choice_tsv(user.data / "other.tsv", 4)
    with pytest.raises(TaskFailed, match="no predictions to score") as failed:
        run_task([user.config("other", mode="eval"), user.config()])
    assert [[*one] for one in failed.value.of_tasks] == [[], [f"{M}_mine_acc"]]
