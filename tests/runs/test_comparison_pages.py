"""Comparisons and audits as pages: what is in the files."""

import json
from pathlib import Path

import pytest

from eyechart.runs.comparison import compare
from eyechart.runs.pages import write_comparison_html
from support.command import eyechart
from support.files import choice_tsv
from support.pages import list_images, read_blocks
from support.runs import StubModel, run_here, write_model


def test_flips_come_first_with_the_replies_of_both(tmp_path: Path) -> None:
    questions = choice_tsv(tmp_path / "q.tsv", 8)
    runs = [run_here(questions, StubModel(letter), out=tmp_path / letter) for letter in ("D", "A")]
    found = compare(*runs)
    write_comparison_html(found, tmp_path / "c.html")
    page = read_blocks(tmp_path / "c.html")
    kinds = [page["data"]["kinds"][code] for code in page["x0"]["outcomes"]]
    assert kinds == ["only A right", "only B right"] * 2 + ["both wrong"] * 4
    first = page["b0"][0]
    assert (first["id"], first["reply"], first["beside"]["reply"]) == ("0", "A", "D")
    assert (first["outcome"], first["beside"]["outcome"]) == ("correct", "wrong")
    assert page["data"]["comparison"]["verdict"] == found.verdict
    assert len(list_images(page)) == 8


@pytest.mark.slow
def test_the_commands_write_pages_and_leave_json_alone(tmp_path: Path) -> None:
    questions = choice_tsv(tmp_path / "q.tsv", 4)
    model = write_model(tmp_path)
    audited = eyechart(
        "audit",
        questions,
        "-m",
        model,
        "--conditions",
        "none",
        "--html",
        "a.html",
        "--json",
        "-q",
        cwd=tmp_path,
    )
    assert audited.code == 0
    page = read_blocks(tmp_path / "a.html")["data"]
    assert page["verdict"] == audited.json["verdict"]
    assert page["index"]["n"] == 1  # answered right without the image
    eyechart("run", questions, "-m", "baseline/random", "-q", cwd=tmp_path)
    folders = sorted(str(path.parent) for path in tmp_path.glob("runs/q/*/run.sqlite"))
    done = eyechart("compare", *folders, "--html", "c.html", "--json", cwd=tmp_path)
    assert done.code == 0, done.err
    assert (
        json.loads(done.out)["verdict"] == read_blocks(tmp_path / "c.html")["data"]["comparison"]["verdict"]
    )
    for command in (["compare", *folders], ["audit", questions, "-m", model]):
        refused = eyechart(*command, "--html", "no/c.html", cwd=tmp_path)
        assert (refused.code, "no such folder" in refused.err) == (2, True)
        assert eyechart(*command, "--full-images", cwd=tmp_path).code == 2
