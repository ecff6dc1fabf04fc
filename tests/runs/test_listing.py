"""Finding runs on disk: the list of them, and the run that a name stands for."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.runs import listing
from eyechart.runs.listing import find_named, find_run, find_runs, list_runs
from eyechart.store.folder import lock_folder
from support.runs import StubModel, questions_fixture, run_here

questions = questions_fixture(6)


@pytest.fixture
def runs(questions: Path) -> list[ec.Run]:
    return [run_here(questions, "baseline/random", limit=n) for n in (2, 3)]


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path.relative_to(root)): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in root.rglob("*")
    }


def test_a_line_says_what_was_asked_and_how_it_went(runs: list[ec.Run], tmp_path: Path) -> None:
    root = tmp_path / "runs"
    before = snapshot(root)
    newest, oldest = list_runs(root)
    assert (newest.folder, newest.benchmark, newest.model) == (runs[1].folder, "q", "baseline/random")
    assert (newest.n, newest.score, newest.ci95) == (3, runs[1].score, runs[1].ci95)
    assert (newest.selection, oldest.selection, newest.state) == ("limit 3", "limit 2", "complete")
    assert newest.name == runs[1].folder.relative_to(root).as_posix()
    assert snapshot(root) == before, "a list only reads"


def test_without_a_summary_samples_are_counted(runs: list[ec.Run], tmp_path: Path) -> None:
    (runs[0].folder / "summary.json").unlink()
    (runs[1].folder / "summary.json").write_text('{"n": "three", "outcomes": []}', encoding="utf-8")
    found = {run.folder: run for run in list_runs(tmp_path / "runs")}
    for run in runs:
        listed = found[run.folder]
        assert (listed.n, listed.n_done, listed.score, listed.ci95) == (
            run.summary.n,
            run.summary.n,
            run.score,
            None,
        )


def test_an_outdated_summary_does_not_count(runs: list[ec.Run], tmp_path: Path) -> None:
    run = runs[0]
    with closing(sqlite3.connect(run.folder / "run.sqlite")) as db, db:
        db.execute("DELETE FROM scores")
        db.execute("DELETE FROM replies")
        db.execute("DELETE FROM asks")
    os.utime(run.folder / "summary.json", (1_000_000, 1_000_000))
    [listed] = [one for one in list_runs(tmp_path / "runs") if one.folder == run.folder]
    assert (listed.state, listed.n_done, listed.n_total, listed.score) == ("incomplete", 0, 2, None)


def test_a_locked_folder_is_a_running_run(runs: list[ec.Run], tmp_path: Path) -> None:
    with lock_folder(runs[0].folder):
        states = {run.folder: run.state for run in list_runs(tmp_path / "runs")}
    assert states == {runs[0].folder: "running", runs[1].folder: "complete"}
    assert {run.state for run in list_runs(tmp_path / "runs")} == {"complete"}


def test_a_damaged_run_is_listed_with_the_reason(runs: list[ec.Run], tmp_path: Path) -> None:
    (runs[0].folder / "run.sqlite").write_bytes(b"no database at all, but some text" * 100)
    with closing(sqlite3.connect(runs[1].folder / "run.sqlite")) as db, db:
        db.execute("UPDATE meta SET value = '{\"trials\": 1e12, \"scorer\": []}' WHERE name = 'manifest'")
    (runs[1].folder / "summary.json").unlink()
    found = list_runs(tmp_path / "runs")
    assert [run.state for run in found] == ["unreadable", "unreadable"]
    assert all(run.trouble for run in found)


def test_a_name_stands_for_one_run(
    runs: list[ec.Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = run_here(tmp_path / "q.tsv", StubModel(), limit=1).folder
    monkeypatch.chdir(tmp_path)
    for age, run in enumerate(runs):
        os.utime(run.folder / "run.sqlite", (1_000_000 + age, 1_000_000 + age))
    os.utime(other / "run.sqlite", (999_999, 999_999))
    newest = runs[1].folder.relative_to(tmp_path)
    tail = newest.name.rpartition("-")[2]
    for name in (
        "latest",
        "runs/latest",
        "runs/q/latest",
        tail[:4],
        newest.name,
        f"q/{newest.name}",
        str(newest),
    ):
        assert find_run(name).resolve() == runs[1].folder, name
    assert find_run(f"runs/q/{other.name[:6]}").resolve() == other
    assert {folder.resolve() for folder in find_runs("runs")} == {other, *(run.folder for run in runs)}
    with pytest.raises(ec.UsageError) as ambiguous:
        find_run("baseline-ran")
    assert "names 2 runs" in ambiguous.value.message
    assert ambiguous.value.hint.index(newest.name) < ambiguous.value.hint.index(runs[0].folder.name)
    with pytest.raises(
        ec.UsageError,
        match="no run named 'nothing': there is no such folder, and no run of that name in runs",
    ):
        find_run("nothing")
    with pytest.raises(ec.UsageError, match="holds 3 runs"):
        find_run("runs", is_changed=True)


def test_the_page_of_an_audit_stands_for_its_run(runs: list[ec.Run]) -> None:
    run = runs[0].folder
    page = run.with_name(f"{run.name}-audit")
    page.mkdir()
    (page / "report.html").write_text("", encoding="utf-8")
    assert find_runs(page) == [run]
    other = page.with_name("other-audit")
    other.mkdir()
    with pytest.raises(ec.UsageError, match="no run in"):
        find_runs(other)


def test_two_characters_of_a_hash_name_nothing(runs: list[ec.Run], tmp_path: Path) -> None:
    tail = runs[0].folder.name.rpartition("-")[2]
    with pytest.raises(ec.UsageError, match="no run of that name"):
        find_named(tail[:2] if not "baseline".startswith(tail[:2]) else "zz", tmp_path / "runs")


def test_links_to_folders_are_not_followed(runs: list[ec.Run], tmp_path: Path) -> None:
    (tmp_path / "shown").mkdir()
    (tmp_path / "shown" / "elsewhere").symlink_to(tmp_path / "runs", target_is_directory=True)
    assert listing.find_folders(tmp_path / "shown") == []
