"""A run that ends before its questions do has no accuracy, and says why it ended."""

from __future__ import annotations

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.pipelines.vlmevalkit.evalscope.config import read_task
from eyechart.pipelines.vlmevalkit.evalscope.job import TaskFailed, run
from support.files import choice_tsv
from support.runs import number_of, right
from support.server import Answer, Asked
from support.tasks import KEY, M, User, status


def closing(asked: Asked) -> Answer | str:
    """A server at which the key ceases to be good after three questions."""
    if number_of(asked) < 3:
        return right(asked)
    return Answer(status=401, body=b'{"error": {"message": "the key has expired"}}')


@pytest.mark.slow
@pytest.mark.parametrize("keep_failed", [False, True])
def test_the_reason_is_told_and_nothing_is_scored(user: User, keep_failed: bool) -> None:
    choice_tsv(user.data / "more.tsv", 40)
    user.server.answer = closing
    config = user.config("more", nproc=1, keep_failed=keep_failed)
    with pytest.raises(TaskFailed) as failed:
        run_task(config)
    assert "stopped early, 37 of 40 questions got no reply: " in failed.value.message
    assert "the key has expired" in failed.value.message
    assert "the same call again" in failed.value.hint
    assert failed.value.hint != "the same call again asks only for what is missing"
    assert KEY not in str(failed.value)
    (folder,) = user.folders()
    assert status(folder / M)["datasets"]["more"]["status"] == "infer"
    assert not list(folder.rglob("*_acc.csv"))

    user.server.answer = right
    n_before = user.n_asked()
    assert run(read_task(config))[f"{M}_more_acc"]["Overall"] == "1.0"
    assert user.n_asked() - n_before == 37
    assert user.folders() == [folder]
