"""Replies without a readable answer: one line about them in every place that shows a score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.report.conditions import hide_folders
from eyechart.report.summary import find_unread
from support.command import eyechart
from support.files import choice_tsv, jsonl
from support.pages import read_blocks
from support.runs import number_of, run_command, run_here
from support.server import Answer, Asked, Server

N = 20
CHATTY = "Let me see what the picture shows. There is a lot in it: people, streets and many cars."


def answer(asked: Asked) -> Answer | str:
    """`chatty` says nothing on half of the questions, `terse` on the others and on a few fewer."""
    k = number_of(asked)
    is_chatty = k % 2 == 0 if asked.body["model"] == "chatty" else k % 3 == 0
    return CHATTY if is_chatty else "A"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("unread")
    with Server(answer) as server:
        for model in ("openai/chatty", "openai/terse"):
            done = run_command(
                choice_tsv(place / "q.tsv", N), server, "--scorer", "choice-vlmevalkit", model=model
            )
            assert done.code == 0, done.err
    return place


def folder_of(place: Path, model: str) -> Path:
    [found] = (place / "runs" / "q").glob(f"openai-{model}-*")
    return found


def line_of(place: Path, model: str = "chatty") -> str:
    unread = ec.Run(folder_of(place, model)).summary.unread
    assert unread is not None
    return unread.line


def test_the_line_says_how_many_by_which_rule_and_what_helps(folder: Path) -> None:
    line = line_of(folder).replace(str(folder_of(folder, "chatty")), "RUN")
    assert line == (
        "10 of 20 replies (50.0 %) have no answer that choice-vlmevalkit reads and count 0 (10 unparsed): "
        "eyechart score RUN --judge MODEL asks a judge about them; "
        "eyechart score RUN --scorer choice reads them by eyechart's own rules, at no cost"
    )


def test_tables_and_reports_have_it(folder: Path) -> None:
    run = folder_of(folder, "chatty")
    said = " ".join(eyechart("report", run, cwd=folder).out.split())
    assert line_of(folder) in said
    both = " ".join(eyechart("report", folder / "runs", cwd=folder).out.split())
    assert f"openai/chatty: {line_of(folder)}" in both
    assert f"openai/terse: {line_of(folder, 'terse')}" in both


def test_the_json_and_the_page_have_it(folder: Path) -> None:
    run = folder_of(folder, "chatty")
    unread: dict[str, Any] = {}
    for found in (
        eyechart("report", run, "--json", cwd=folder).json,
        json.loads((run / "summary.json").read_text()),
    ):
        unread = found["unread"]
        assert (unread["n"], unread["of"], unread["rule"]) == (10, 20, "choice-vlmevalkit")
        assert unread["outcomes"] == {"unparsed": 10}
        assert unread["line"].partition(": ")[0] == line_of(folder).partition(": ")[0]
        assert "--scorer choice" in unread["help"][-1]
    assert unread["line"] in read_blocks(run / "report.html")["data"]["notes"]


def test_a_verdict_comes_with_it_if_the_difference_is_smaller(folder: Path, tmp_path: Path) -> None:
    runs = [folder_of(folder, model) for model in ("chatty", "terse")]
    done = eyechart("compare", *runs, "--html", tmp_path / "c.html", cwd=folder)
    for model in ("chatty", "terse"):
        line = f"openai/{model}: {line_of(folder, model)}"
        assert line in done.out.splitlines()
        verdict = read_blocks(tmp_path / "c.html")["data"]["comparison"]["verdict"]
        assert hide_folders(line) in verdict
    found = eyechart("compare", *runs, "--json", cwd=folder).json
    assert {one["n"] for one in found["unread"].values()} == {10, 7}
    assert line_of(folder) in found["verdict"]


def test_a_clear_difference_has_a_warning_in_place_of_it(tmp_path: Path) -> None:
    file = jsonl(
        tmp_path / "q.jsonl", [{"id": str(k), "question": f"Is it {k}?", "answer": "yes"} for k in range(50)]
    )

    class Model:
        def __init__(self, said: str, n_chatty: int) -> None:
            self.said, self.n_chatty = said, n_chatty

        async def generate(self, messages: list[ec.Message]) -> str:
            k = int(str(messages[-1].parts[0]).split()[2].rstrip("?"))
            return CHATTY if k < self.n_chatty else self.said

    good, poor = run_here(file, Model("yes", 4), name="good"), run_here(file, Model("no", 0), name="poor")
    found = ec.compare(good, poor)
    assert "\n" not in found.verdict
    assert any("4 of 50 replies (8.0 %)" in warning for warning in found.warnings)


@pytest.mark.parametrize(("n", "is_told"), [(1, False), (2, True)])
def test_there_is_no_line_up_to_five_percent(n: int, is_told: bool) -> None:
    found = find_unread({"correct": 20 - n, "refused": n, "failed": 50}, "default", {}, "runs/mine")
    assert found is not None
    assert found.is_many is is_told
    assert find_unread({"correct": 20, "failed": 3}, "default", {}, "runs/mine") is None
    assert find_unread({"refused": 9}, "default", {"model": "baseline/random"}, "runs/mine") is None


@pytest.mark.parametrize(
    ("outcomes", "scorer", "manifest", "has_fields", "helps"),
    [
        ({"truncated": 3}, "default", {}, False, ["--max-tokens"]),
        ({"unparsed": 3}, "default", {"judged_scorer": "judged"}, False, ["--judge"]),
        ({"unparsed": 3}, "judged", {"judge": {"model": "j"}}, False, ["eyechart show"]),
        ({"unparsed": 3}, "relaxed", {}, False, ["--scorer default"]),
        ({"unparsed": 3}, "default", {"judged_scorer": "judged"}, True, ["eyechart show"]),
        ({"unparsed": 3}, "python:mine.py:rule", {}, False, ["eyechart show"]),
        (
            {"unparsed": 3, "truncated": 1}, "choice-vlmevalkit", {}, False,
            ["--max-tokens", "--judge", "--scorer choice"],
        ),
    ],
)  # fmt: skip
def test_the_command_is_one_that_helps(
    outcomes: dict[str, int], scorer: str, manifest: dict[str, object], has_fields: bool, helps: list[str]
) -> None:
    found = find_unread(outcomes, scorer, manifest, "runs/mine", has_fields=has_fields)
    assert found is not None
    assert len(found.help) == len(helps)
    assert all(part in said for part, said in zip(helps, found.help, strict=True))


def test_several_models_have_each_line_once(folder: Path, tmp_path: Path) -> None:
    with Server(answer) as server:
        file = choice_tsv(tmp_path / "q.tsv", N)
        done = run_command(
            file, server, "--scorer", "choice-vlmevalkit", "-m", "openai/terse", model="openai/chatty"
        )
    said = " ".join(done.out.split())
    assert said.count("openai/chatty: 10 of 20 replies") == 1
    assert said.count("openai/terse: 7 of 20 replies") == 1


def test_contradictions_are_counted_and_shown(tmp_path: Path) -> None:
    rows = [{"question": f"Question {k}?", "A": "cat", "B": "dog", "answer": "B"} for k in range(20)]
    with Server(lambda asked: "The answer is B. cat" if number_of(asked) == 3 else "B") as server:
        done = run_command(jsonl(tmp_path / "q.jsonl", rows), server)
    assert done.code == 0, done.err
    line = "1 contradiction: a letter beside the words of another option, not read"
    [folder] = tmp_path.glob("runs/q/*")
    assert line in " ".join(eyechart("report", folder, cwd=tmp_path).out.split())
    assert ec.Run(folder).summary.to_json()["contradictions"] == 1
    assert line in str(read_blocks(folder / "report.html"))
