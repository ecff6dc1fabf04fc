"""Predictions of somebody else's are scored or left alone, and never replaced."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.errors import UsageError
from eyechart.pipelines.vlmevalkit.evalscope.config import read_task
from eyechart.pipelines.vlmevalkit.evalscope.job import TaskFailed, run
from support.tasks import M, User


def theirs(user: User, folder: str, name: str = f"{M}_mine.tsv") -> Path:
    rows = [f"{k}\tQuestion {k}?\t{'ABCD'[k % 4]}" for k in range(8)]
    path = user.desk / folder / M / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["index\tquestion\tprediction", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "said",
    [{"use_cache": "kit"}, {"no_timestamp": True, "work_dir": "kit"}],
    ids=["use_cache", "no_timestamp"],
)
@pytest.mark.parametrize("inner", [{}, {"reuse": True}, {"mode": "infer"}], ids=str)
def test_a_folder_of_somebody_else_s(user: User, said: dict[str, Any], inner: dict[str, Any]) -> None:
    path = theirs(user, "kit")
    before = path.read_bytes()
    with pytest.raises(UsageError, match=rf"{M}_mine.tsv was not made by eyechart") as refused:
        run_task({**user.config(**inner), **said})
    assert "mode: eval" in refused.value.hint
    assert user.n_asked() == 0
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    done = run_task({**user.config(mode="eval"), **said})
    assert done[f"{M}_mine_acc"]["Overall"] == "1.0"
    with pytest.raises(UsageError, match="was not made by eyechart"):  # our verdicts on it change nothing
        run_task({**user.config(**inner), **said})
    assert path.read_bytes() == before


def test_advice_on_missing_answers_can_be_followed(user: User) -> None:
    """To ask in their folder would be refused, so nobody is sent there."""
    path = theirs(user, "kit")
    path.write_text("\n".join(path.read_text(encoding="utf-8").splitlines()[:5]) + "\n", encoding="utf-8")
    there = {"no_timestamp": True, "work_dir": "kit"}
    with pytest.raises(TaskFailed, match="4 of 8 questions got no reply") as failed:
        run_task({**user.config(mode="eval"), **there})
    assert "in a work_dir of another name if eyechart did not write the file" in failed.value.hint


def test_the_other_door_without_reuse(user: User) -> None:
    path = theirs(user, "kit")
    task = replace(read_task(user.config(work_dir="kit")), is_stamped=False, asks_anew=True)
    for reuse in (False, True):
        with pytest.raises(UsageError, match="was not made by eyechart"):
            run(replace(task, reuse=reuse))
    assert user.n_asked() == 0
    assert path.is_file()


@pytest.mark.slow
def test_replies_in_a_pickle_of_an_interrupted_run_are_not_read(
    user: User, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = user.desk / "kit" / M
    folder.mkdir(parents=True)
    (folder / f"{M}_mine_checkpoint.pkl").write_bytes(b"\x80\x04.")
    run_task({**user.config(), "no_timestamp": True, "work_dir": "kit"})
    assert f"{M}_mine_checkpoint.pkl has VLMEvalKit's replies so far in a pickle" in capsys.readouterr().err
    assert user.n_asked() == 8


def test_every_pair_is_looked_at_for_itself(user: User) -> None:
    """One set was asked here before, the predictions of the other are somebody else's."""
    from support.files import choice_tsv

    choice_tsv(user.data / "other.tsv", 8)
    there = {"no_timestamp": True, "work_dir": "kit"}
    run_task({**user.config(), **there})
    theirs(user, "kit", f"{M}_other.tsv")
    with pytest.raises(UsageError, match=rf"{M}_other.tsv was not made by eyechart"):
        run_task({**user.config("mine", "other"), **there})
    assert user.n_asked() == 8


def test_predictions_of_ours_are_replaced(user: User) -> None:
    there = {"no_timestamp": True, "work_dir": "ours"}
    run_task({**user.config(), **there})
    hotter = [user.entry(temperature=1.0)]  # another question to the same model: the journals keep both
    assert run_task({**user.config(model=hotter), **there})[f"{M}_mine_acc"]["Overall"] == "1.0"
    assert user.n_asked() == 16
