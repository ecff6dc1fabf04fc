"""Files of predictions: replies that do not fit are told of, and are not scored as if they were whole."""

from __future__ import annotations

import pytest

from eyechart.compat.evalscope import run_task
from eyechart.pipelines.vlmevalkit.evalscope.job import TaskFailed
from support.runs import number_of, right
from support.server import Asked
from support.tasks import M, User, sheet


def at_length(asked: Asked) -> str:
    """One answer stands at the end of a long thought."""
    return ("Hm. " * 10_000 if number_of(asked) == 3 else "") + f"The answer is {right(asked)}"


@pytest.mark.slow
def test_a_reply_that_a_cell_cannot_hold(
    user: User, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    user.server.answer = at_length
    done = run_task(user.config())
    assert done[f"{M}_mine_acc"]["Overall"] == "1.0"
    err = capsys.readouterr().err
    assert f"{M}_mine.xlsx: 1 cell was cut at 32,767 characters" in err
    assert "PRED_FORMAT=tsv" in err
    (folder,) = user.folders()
    assert sheet(folder / M / f"{M}_mine.xlsx")[3]["prediction"].endswith("characters]")
    with pytest.raises(TaskFailed, match=rf"{M}_mine.xlsx: the prediction of 3 was cut") as failed:
        run_task(user.config(mode="eval"))
    assert "PRED_FORMAT=tsv" in failed.value.hint

    monkeypatch.setenv("PRED_FORMAT", "tsv")  # the advice holds
    n_asked = user.n_asked()
    assert run_task(user.config(reuse=True)) == done
    assert run_task(user.config(mode="eval")) == done
    assert user.n_asked() == n_asked
    assert "cut" not in capsys.readouterr().err


def test_formulas_are_texts_in_a_table_and_come_back_as_they_were(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRED_FORMAT", "tsv")
    user.server.answer = lambda asked: f"=HYPERLINK({right(asked)})"
    run_task(user.config(mode="infer"))
    (folder,) = user.folders()
    lines = (folder / M / f"{M}_mine.tsv").read_text(encoding="utf-8").splitlines()
    assert lines[1].split("\t")[-1] == "=HYPERLINK(A)"


def test_replies_cannot_move_the_cursor(user: User, capsys: pytest.CaptureFixture[str]) -> None:
    user.server.answer = lambda asked: f"\x1b[2J{right(asked)}"
    run_task(user.config(verbose=True))
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "mine 3: ␛[2JD" in err
