"""A run on disk: its samples, trial by trial."""

from pathlib import Path

import pytest

import eyechart as ec
from eyechart.errors import UsageError
from support.files import choice_tsv
from support.runs import StubModel, run_here


@pytest.fixture
def run(tmp_path: Path) -> ec.Run:
    return run_here(choice_tsv(tmp_path / "q.tsv", 3), StubModel("B"), trials=2)


def test_samples_of_all_trials_or_of_one(run: ec.Run) -> None:
    found = list(run.samples())
    assert [(one.position, one.trial) for one in found] == [(k, trial) for k in range(3) for trial in (0, 1)]
    for trial in (0, 1):
        assert list(run.samples(trial)) == [one for one in found if one.trial == trial]


def test_one_sample_by_its_id_or_its_place(run: ec.Run) -> None:
    third = list(run.samples(1))[2]
    assert run.sample(third.sample.id, trial=1) == run.sample("#3", trial=1) == third
    with pytest.raises(UsageError, match="no sample '#4'"):
        run.sample("#4")


@pytest.mark.parametrize("trial", [-1, 2])
def test_a_trial_that_is_not_there(run: ec.Run, trial: int) -> None:
    with pytest.raises(UsageError, match=f"no trial {trial}"):
        run.samples(trial)
    with pytest.raises(UsageError, match="counted from 0"):
        run.sample("#1", trial=trial)
