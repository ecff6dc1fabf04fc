"""report.html in the run folder, and as the command writes it."""

import json
from pathlib import Path
from typing import NoReturn

import pytest

from eyechart.report import run_page
from eyechart.runs.results import Run
from eyechart.store.folder import make_file_name
from support.command import eyechart
from support.pages import list_images, read_blocks
from support.runs import StubModel, questions_fixture, run_here, write_model

questions = questions_fixture(4)


def test_every_run_leaves_a_page_and_resuming_renews_it(questions: Path) -> None:
    first = run_here(questions, StubModel())
    page = first.folder / "report.html"
    found = read_blocks(page)
    assert found["data"]["overall"]["score"] == first.score
    assert len(list_images(found)) == 4
    assert [row["id"] for row in found["b0"]] == ["0", "1", "2", "3"]
    page.write_text("old")
    run_here(questions, StubModel())
    assert read_blocks(page)["data"]["benchmark"] == "q"


def test_a_page_that_cannot_be_written_does_not_fail_the_run(questions: Path) -> None:
    folder = run_here(questions, StubModel()).folder
    for name in ("report.html", "summary.json"):
        (folder / name).unlink()
    (folder / "report.html").mkdir()
    (folder / "report.html" / "mine").touch()
    again = run_here(questions, StubModel())
    assert again.exit_code == 0
    assert "report.html is a folder" in again.report_trouble
    assert json.loads((folder / "summary.json").read_bytes())["n"] == 4


def test_the_summary_is_written_before_the_images_of_the_page(
    questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*args: object, **data: object) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(run_page, "make_page_images", stop)
    with pytest.raises(KeyboardInterrupt):
        run_here(questions, StubModel())
    (summary,) = questions.parent.rglob("summary.json")
    assert json.loads(summary.read_bytes())["n"] == 4


def test_the_score_without_the_images_is_a_level(questions: Path) -> None:
    model = write_model(questions.parent)
    options = ("-q", "--out", "runs")
    for kind in ("none", "image"):
        assert (
            eyechart("run", questions, "-m", model, "--input", kind, *options, cwd=questions.parent).code == 0
        )
    pages = {
        Run(path.parent).replaced_input: read_blocks(path)["data"]
        for path in questions.parent.glob("runs/*/*/report.html")
    }
    assert [level["name"] for level in pages[""]["levels"]] == ["chance", "without image"]
    assert pages[""]["levels"][1]["score"] == 0.25
    assert [level["name"] for level in pages["none"]["levels"]] == ["chance"]
    assert "not the score with the images" in pages["none"]["notes"][0]


def test_the_command_writes_a_page(questions: Path) -> None:
    folder = run_here(questions, StubModel()).folder
    here = questions.parent
    done = eyechart("report", folder, "--html", "r.html", "--full-images", cwd=here)
    assert done.code == 0
    assert "wrote r.html" in done.err
    assert read_blocks(here / "r.html")["i0"].startswith("data:image/png;base64,iVBO")
    assert eyechart("report", folder, "--full-images", cwd=here).code == 2
    refused = eyechart("report", folder, "--html", "no/r.html", cwd=here)
    assert (refused.code, "no such folder" in refused.err) == (2, True)


def test_no_page_names_a_folder_of_this_machine(questions: Path) -> None:
    """The model, the scorer, the data and the name of the run's folder are all given by absolute paths."""
    here, model = questions.parent, write_model(questions.parent)
    path, _, name = model.removeprefix("python:").rpartition(":")
    model = f"python:{here / path}:{name}"
    (here / "own.py").write_text("def mine(text, gold):\n    return gold in text\n")
    options = ("--scorer", f"python:{here / 'own.py'}:mine", "--out", here / "runs", "-q")
    other = ("-m", "baseline/random")
    for command in (
        ("run", questions, "-m", model, *options),
        ("run", questions, *other, *options),
        ("report", here / "runs", "--html", here / "runs.html"),
        ("compare", here / "runs", "--html", here / "compare.html"),
        ("audit", questions, "-m", model, *options, "--html", here / "audit.html"),
        ("sweep", questions, "-m", model, "-m", "baseline/random", "--vary", "system=a,b", *options),
    ):
        done = eyechart(*command, cwd=here)
        assert done.code == 0, done.err
    pages = [*here.rglob("*.html")]
    assert len(pages) > 6
    for page in pages:
        shown = page.read_text("utf-8") + json.dumps(read_blocks(page), ensure_ascii=False)
        assert str(here) not in shown, page
        assert make_file_name(str(here)) not in shown, page
