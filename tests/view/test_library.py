"""The runs below a folder as the web page sees them: only those that are there, and never written to."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import eyechart as ec
from eyechart.view.library import Library, NotFound
from eyechart.view.pages import Choice, Pages
from support.runs import StubModel, questions_fixture, run_here

questions = questions_fixture(4)


@pytest.fixture
def run(questions: Path) -> ec.Run:
    return run_here(questions, StubModel())


@pytest.fixture
def library(run: ec.Run, tmp_path: Path) -> Library:
    return Library(tmp_path / "runs")


def snapshot(root: Path) -> dict[str, tuple[int, int]]:
    files = (path for path in root.rglob("*"))
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in files}


def test_reading_changes_no_file(library: Library, run: ec.Run) -> None:
    before = snapshot(library.root)
    pages, [line] = Pages(library), library.list_runs()
    pages.render_index()
    pages.render_run(line.name, Choice(text="question"))
    pages.render_sample(line.name, "1", 0, Choice())
    list(library.open(line.name).samples())
    assert snapshot(library.root) == before


@pytest.mark.parametrize("name", ["..", "../q", "/etc", "q/../q", "", ".", "q", "q/nothing", "q\0"])
def test_only_names_of_the_list_are_found(library: Library, name: str) -> None:
    with pytest.raises(NotFound):
        library.find(name)


def test_links_lead_nowhere(library: Library, run: ec.Run, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"n": 1}', encoding="utf-8")
    name = library.list_runs()[0].name
    (run.folder / "summary.json").unlink()
    (run.folder / "summary.json").symlink_to(secret)
    (run.folder / "report.html").unlink(missing_ok=True)
    (run.folder / "report.html").symlink_to(secret)
    assert library.find_file(name, "summary.json") is None
    assert library.find_file(name, "report.html") is None
    assert library.read_summary(name) == {}
    other = tmp_path / "shown" / "link"
    other.mkdir(parents=True)
    (other / "run.sqlite").symlink_to(run.folder / "run.sqlite")
    assert Library(tmp_path / "shown").list_runs() == []


def test_damaged_and_odd_files_take_down_no_page(library: Library, run: ec.Run) -> None:
    name = library.list_runs()[0].name
    summary = run.folder / "summary.json"
    summary.write_bytes(summary.read_bytes().replace(b'"q"', b'"q\xff"', 1))
    assert b"\xff" in summary.read_bytes()
    assert library.read_summary(name) == {}
    assert "question" in Pages(library).render_run(name, Choice())
    summary.unlink()
    os.mkfifo(summary)  # a reader would wait for a writer for ever
    os.mkfifo(run.folder / "audit.json")
    assert library.read_summary(name) == {}
    assert library.list_audits() == {}
    assert run.folder.name in Pages(library).render_index()


@pytest.mark.parametrize("odd", [b"bad\xff-12121212", b"two\nlines-12121212"])
def test_a_folder_with_an_odd_name_is_one_of_the_list(odd: bytes, library: Library, run: ec.Run) -> None:
    folder = run.folder.with_name(os.fsdecode(odd))
    shutil.copytree(run.folder, folder)
    pages = Pages(library)
    pages.render_index()
    [name] = [line.name for line in library.list_runs() if line.folder == folder]
    assert name.isprintable()
    assert "question" in pages.render_run(name, Choice())
    assert "question" in pages.render_sample(name, "1", 0, Choice())


def test_only_files_of_a_run_can_be_downloaded(library: Library) -> None:
    name = library.list_runs()[0].name
    assert library.find_file(name, "summary.json") is not None
    for file in ("run.sqlite", "../summary.json", "/etc/passwd", "run.lock"):
        assert library.find_file(name, file) is None


def test_a_change_is_seen(
    library: Library, run: ec.Run, questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eyechart.view.library._LOOK_EVERY_S", 0.0)
    name = library.list_runs()[0].name
    assert library.list_samples(name).count() == {"correct": 1, "wrong": 3}
    run_here(questions, StubModel(), trials=2)
    assert library.list_samples(name).count() == {"correct": 2, "wrong": 6}
    run_here(questions, "baseline/random")
    assert len(library.list_runs()) == 2


def test_audits_are_found(library: Library, run: ec.Run) -> None:
    folder = run.folder.with_name(f"{run.folder.name}-audit")
    folder.mkdir()
    (folder / "audit.json").write_text(
        json.dumps({"benchmark": "q", "verdict": "it matters"}), encoding="utf-8"
    )
    (folder / "blind-solvable.jsonl").write_text('{"id": "1", "question": "?"}\nnot json\n', encoding="utf-8")
    [name] = library.list_audits()
    assert [one["id"] for one in library.read_blind_solvable(name, 10)] == ["1"]
    assert "it matters" in Pages(library).render_audit(name)
