"""What the next start says: edited data, another scorer than the last, the score that is shown."""

import re
from pathlib import Path
from typing import Any

import pytest

from support.command import eyechart
from support.files import jsonl

MODEL = """
def say_a(text, images):
    return "A"
"""


def rows(n: int = 10) -> list[dict[str, Any]]:
    options = {"A": "one", "B": "two"}
    return [{"id": f"q{k}", "question": f"Question {k}?", **options, "answer": "A"} for k in range(n)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    jsonl(tmp_path / "q.jsonl", rows())
    return tmp_path


RUN = ("run", "q.jsonl", "-m", "python:model.py:say_a")


def test_edits_are_counted_and_the_live_score_is_that_of_the_table(folder: Path) -> None:
    first = eyechart(*RUN, cwd=folder)
    assert "changed since" not in first.err
    edited = rows()
    for k in range(4):
        edited[k]["answer"] = "B"
    edited[9]["question"] = "Another question?"
    jsonl(folder / "q.jsonl", edited)
    second = eyechart(*RUN, cwd=folder)
    assert "4 answers and 1 question changed since the last start" in second.err
    assert "60.0" in second.out
    live = re.findall(r"score ([\d.]+)", second.err)
    assert set(live) <= {"60.0"}, live
    assert "changed since" not in eyechart(*RUN, cwd=folder).err


def test_moved_rows_are_no_edits(folder: Path) -> None:
    eyechart(*RUN, cwd=folder)
    jsonl(folder / "q.jsonl", list(reversed(rows())))
    assert "changed since" not in eyechart(*RUN, cwd=folder).err


def test_new_and_missing_questions_are_counted_too(folder: Path) -> None:
    assert "since" not in eyechart(*RUN, cwd=folder).err
    jsonl(folder / "q.jsonl", [*rows()[2:], {**rows()[0], "id": "other"}])
    again = eyechart(*RUN, cwd=folder)
    assert "1 question is new since the last start, 2 questions are gone: " in again.err
    edited = rows()[1:]
    edited[-1]["answer"] = "B"
    jsonl(folder / "q.jsonl", edited)
    third = eyechart(*RUN, cwd=folder)
    said = "1 answer changed since the last start, 1 question is new, 1 question is gone: "
    assert said in third.err
    assert "since the last start" not in eyechart(*RUN, cwd=folder).err


def test_shards_say_nothing_of_the_rest(folder: Path) -> None:
    for _ in range(2):
        assert "since the last start" not in eyechart(*RUN, "--shard", "1/2", cwd=folder).err


def test_another_scorer_than_the_last_is_said(folder: Path) -> None:
    eyechart(*RUN, "-q", cwd=folder)
    eyechart("score", "latest", "--scorer", "text", cwd=folder)
    again = eyechart(*RUN, "-q", cwd=folder)
    assert "scored again by default, was text (--scorer text keeps the earlier one)" in again.err
    assert "scored again" not in eyechart(*RUN, "-q", cwd=folder).err


def test_the_last_lines_name_the_page(folder: Path) -> None:
    done = eyechart(*RUN, "-q", cwd=folder)
    page = done.err.strip().splitlines()[-1]
    assert page.startswith("page: runs/q/")
    assert (folder / page.removeprefix("page: ")).is_file()
    assert "page: " not in eyechart(*RUN, "-q", "--json", cwd=folder).err
