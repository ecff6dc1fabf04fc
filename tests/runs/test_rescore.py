"""Scoring again: other rules, other versions, scorers that fail."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.registry import scorer, scorers
from eyechart.runs.options import Options
from eyechart.runs.replies import rescore
from eyechart.types import Reply, Sample, Score
from support.files import choice_tsv
from support.runs import StubModel, run_here


@pytest.fixture
def run(tmp_path: Path) -> ec.Run:
    return run_here(choice_tsv(tmp_path / "q.tsv", 8), StubModel("B"))


@pytest.fixture(autouse=True)
def forget_what_tests_declare() -> Iterator[None]:
    yield
    scorers._parts.pop("fussy", None)


def test_the_same_rules_move_nothing(run: ec.Run) -> None:
    again, changes = rescore(run.folder)
    assert (again.score, changes) == (0.25, [])


def test_other_rules_tell_what_moved(run: ec.Run) -> None:
    @scorer("fussy", version="1")
    def fussy(reply: Reply, sample: Sample) -> Score:
        if sample.meta["category"] == "odd":
            raise KeyError("odd")
        return Score(outcome="correct", value=1.0)

    again, changes = rescore(run.folder, Options(scorer="fussy"))
    assert {(change.before, change.after) for change in changes} == {
        ("wrong", "correct"), ("wrong", "failed"), ("correct", "failed"),
    }  # fmt: skip
    assert again.outcomes["failed"] == 4
    assert again.score == 1.0, "what has no verdict is no part of the score"
    failed = [result for result in again.samples() if result.outcome == "failed"]
    assert all(result.reply is not None for result in failed), "the replies are kept"
    assert failed[0].failure is not None
    assert failed[0].failure.reason == "fussy: KeyError: 'odd'"


def test_a_newer_version_that_fails_does_not_leave_the_older_ones_verdict(run: ec.Run) -> None:
    @scorer("fussy", version="0")
    def tolerant(reply: Reply, sample: Sample) -> Score:
        return Score(outcome="wrong", value=0.0)

    rescore(run.folder, Options(scorer="fussy"))

    @scorer("fussy", version="1")
    def strict(reply: Reply, sample: Sample) -> Score:
        raise ValueError

    again, _ = rescore(run.folder, Options(scorer="fussy"))
    assert again.outcomes["failed"] == 8
    assert again.score is None
    back, _ = rescore(run.folder, Options(scorer="default"))
    assert (back.score, back.outcomes["failed"]) == (0.25, 0)
