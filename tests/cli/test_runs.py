"""`eyechart runs`, and many runs in one report."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from eyechart.cli.runs import draw_runs
from eyechart.runs.listing import list_runs
from support.command import eyechart
from support.runs import questions_fixture, run_here
from support.terminals import to_text

questions = questions_fixture(4)


@pytest.fixture
def folder(questions: Path) -> Path:
    for model in ("baseline/random", "baseline/majority"):
        run_here(questions, model)
    return questions.parent


def test_runs_are_listed_and_chosen(folder: Path) -> None:
    done = eyechart("runs", cwd=folder)
    assert done.code == 0
    assert [name in done.out for name in ("baseline/random", "baseline/majority", "complete")] == [True] * 3
    one = eyechart("runs", "--grep", "MAJOR", "--json", cwd=folder).json
    assert (one["n"], one["runs"][0]["model"], one["runs"][0]["n"]) == (1, "baseline/majority", 4)
    by_score = eyechart("runs", "runs", "--sort", "score", "-n", 1, "--json", cwd=folder).json
    scores = [run["score"] for run in eyechart("runs", "--json", cwd=folder).json["runs"]]
    assert by_score["runs"][0]["score"] == max(scores)
    assert eyechart("runs", "--state", "running", "--json", cwd=folder).json["runs"] == []
    nowhere = eyechart("runs", "nowhere", cwd=folder)
    assert (nowhere.code, "no folder nowhere" in nowhere.err) == (2, True)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_each_run_has_a_line_at_every_width(folder: Path, width: int) -> None:
    runs = [replace(run, address="127.0.0.1:8000") for run in list_runs(folder / "runs")]
    lines = to_text(draw_runs(runs), width).splitlines()
    assert max(map(len, lines)) <= width
    assert [name in line for name, line in zip(("majority", "random"), lines[2:4], strict=True)] == [True] * 2
    assert (width == 80) == ("not shown here: address" in lines[-1])
    two = [runs[0], replace(runs[1], address="127.0.0.1:9000")]
    assert "127.0.0.1:9000" in to_text(draw_runs(two), 100), "it tells them apart"


def test_many_runs_are_one_table(folder: Path) -> None:
    table = eyechart("report", "runs/q", cwd=folder)
    assert table.code == 0
    assert "baseline/random" in table.out
    assert "baseline/majority" in table.out
    named = eyechart("report", "baseline-r", "baseline-m", "--json", cwd=folder).json
    assert [run["model"] for run in named["runs"]] == ["baseline/random", "baseline/majority"]
    assert eyechart("report", "baseline-r", "--json", cwd=folder).json["model"] == "baseline/random"
    one = eyechart("report", "runs", "--csv", "all.csv", cwd=folder)
    assert (one.code, "--csv takes one run, but 2 are given" in one.err) == (2, True)


def test_every_command_takes_a_name(folder: Path) -> None:
    assert eyechart("show", "latest", "1", cwd=folder).code == 0
    assert eyechart("score", "baseline-r", cwd=folder).code == 0
    assert eyechart("compare", "baseline-r", "baseline-m", "--baseline", "baseline-m", cwd=folder).code == 0
    assert eyechart("judge", "check", "latest", "--out", "sheet.csv", cwd=folder).code == 0
    assert eyechart("score", "runs", cwd=folder).code == 2
    power = eyechart("power", "--like", "baseline-r", "baseline-m", "--n", 100, cwd=folder)
    assert "does not vary between questions" in power.err, "both runs were found and read"


def test_runs_are_deleted_after_a_confirmation(folder: Path) -> None:
    kept = eyechart("runs", "rm", "baseline-r", cwd=folder)
    assert (kept.code, "nothing was deleted" in kept.err, "--yes" in kept.err) == (2, True, True)
    assert eyechart("runs", "--json", cwd=folder).json["n"] == 2
    done = eyechart("runs", "rm", "baseline-r", "--yes", cwd=folder)
    assert (done.code, "deleted runs/q/baseline-random" in done.err) == (0, True)
    assert [run["model"] for run in eyechart("runs", "--json", cwd=folder).json["runs"]] == [
        "baseline/majority"
    ]
    assert eyechart("runs", "rm", cwd=folder).code == 2
    assert eyechart("runs", "rm", "runs", "--yes", cwd=folder).code == 0, "a folder with one run"
    assert not list((folder / "runs").rglob("run.sqlite"))
    assert eyechart("runs", "--yes", cwd=folder).code == 2


def test_what_distinguishes_runs_is_in_their_lines(questions: Path) -> None:
    folder = questions.parent
    run_here(questions, "baseline/random")
    run_here(questions, "baseline/random", seed=7)
    run_here(questions, "baseline/random", fields={"category": "answer"})
    eyechart("score", eyechart("runs", "--json", cwd=folder).json["runs"][0]["folder"], "--scorer", "text",
             cwd=folder)  # fmt: skip
    lines = eyechart("runs", "--json", cwd=folder).json["runs"]
    told = [run["selection"] for run in lines]
    assert len(set(told)) == len(told) == 3
    assert any("seed 7" in one for one in told)
    assert any("category=answer" in one for one in told)


def test_runs_that_differ_in_their_scorer_say_so(questions: Path) -> None:
    folder = questions.parent
    first = run_here(questions, "baseline/random", out=folder / "runs" / "one")
    run_here(questions, "baseline/random", out=folder / "runs" / "two")
    run_here(questions, "baseline/random", out=folder / "runs" / "three", limit=2)
    run_here(questions, "baseline/majority")
    eyechart("score", first.folder, "--scorer", "text", cwd=folder)
    told = [run["selection"] for run in eyechart("runs", "--json", cwd=folder).json["runs"]]
    assert sorted(told) == ["limit 2, scorer default", "scorer default", "scorer default", "scorer text"]


def test_arguments_may_stand_behind_flags(folder: Path) -> None:
    """argparse alone gives up on them where an earlier one was optional or repeatable."""
    sample = eyechart("show", "baseline-r", "--json", "#1", cwd=folder).json
    assert sample["id"] == eyechart("show", "baseline-r", "#1", "--json", cwd=folder).json["id"]
    compared = eyechart("compare", "baseline-r", "--json", "baseline-m", cwd=folder)
    assert (compared.code, compared.json["n"]) == (0, 4)
    for words in (
        ("show", "baseline-r", "#1", "--json", "#2"),
        ("gate", "baseline-r", "--at-least", "9", "x"),
    ):
        refused = eyechart(*words, cwd=folder)
        assert (refused.code, f"unrecognized arguments: {words[-1]}" in refused.err) == (2, True)
    deleted = eyechart("runs", "rm", "--yes", "baseline-r", "baseline-m", cwd=folder)
    assert (deleted.code, deleted.err.count("deleted ")) == (0, 2)
