"""An option works, or it is refused with a hint that works: none is dropped without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import eyechart as ec
from eyechart.errors import UsageError
from support.command import eyechart
from support.files import choice_tsv, jsonl, picture


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    choice_tsv(tmp_path / "q.tsv", 4)
    (tmp_path / "a.png").write_bytes(picture())
    row = {"image": "a.png", "question": "Which?", "options": "A. x\nB. y", "answer": "A"}
    jsonl(tmp_path / "rows.jsonl", [row])
    jsonl(tmp_path / "replies.jsonl", [{"id": str(k), "reply": "A"} for k in range(4)])
    return tmp_path


RUN = ("run", "q.tsv", "-m", "baseline/random", "-q")
MMBENCH = ("run", "q.tsv", "--as", "mmbench", "-m", "baseline/random", "-q")
VSTAR = ("run", "rows.jsonl", "--as", "vstar", "-m", "baseline/random", "-q")
SCORE = ("score", "--benchmark", "q.tsv", "--replies", "replies.jsonl")


@pytest.mark.parametrize(
    ("arguments", "said", "without"),
    [
        ((*RUN, "--input", "none", "--max-pixels", "9"), "max_pixels has no effect", ("--max-pixels", "9")),
        (
            (*RUN, "--input", "none", "--jpeg-quality", "9"),
            "has no effect: input is none",
            ("--input", "none"),
        ),
        ((*RUN, "--no-urls", "--allow-private-urls"), "no image is downloaded", ("--no-urls",)),
        ((*RUN, "--also-scorer", "default"), "it is the scorer of the run", ("--also-scorer", "default")),
        (
            (*RUN, "--where", "category=even", "--where", "category=odd"),
            "--where category=... is given twice",
            ("--where", "category=odd"),
        ),
        ((*MMBENCH, "--set", "cells=text", "--set", "cells=pandas"), "twice", ("--set", "cells=pandas")),
        ((*MMBENCH, "--set", "cells=text", "--cells", "pandas"), "sets it too", ("--cells", "pandas")),
        ((*MMBENCH, "--set", "file=other.tsv"), "the source is already q.tsv", ("--set", "file=other.tsv")),
        (
            (*MMBENCH, "--set", "prompt=note", "--prompt-template", "{{ question }}"),
            "replaces the benchmark's prompt",
            ("--set", "prompt=note"),
        ),
        (
            (*VSTAR, "--set", "think=true", "--prompt-template", "{{ question }}"),
            "replaces the benchmark's prompt",
            ("--prompt-template", "{{ question }}"),
        ),
        (
            (*VSTAR, "--set", "root=.", "--set", "image_root=."),
            "--set root=. has no effect",
            ("--set", "root=."),
        ),
        ((*SCORE, "--concurrency", "3"), "no model is asked", ("--concurrency", "3")),
        ((*SCORE, "--max-cost", "3"), "no model is asked", ("--max-cost", "3")),
        ((*SCORE, "--allow-private-urls"), "no image is fetched", ("--allow-private-urls",)),
        (("data", "check", "q.tsv", "--parity"), "data check asks and scores nothing", ("--parity",)),
    ],
    ids=lambda value: " ".join(value[-2:]) if isinstance(value, tuple) else "",
)
def test_what_has_no_effect_is_refused_and_the_rest_runs(
    desk: Path, arguments: tuple[str, ...], said: str, without: tuple[str, ...]
) -> None:
    done = eyechart(*arguments, cwd=desk)
    assert done.code == 2, done.out
    assert said in done.err
    assert "hint:" in done.err
    assert not (desk / "runs").exists()
    place = next(k for k in range(len(arguments)) if arguments[k : k + len(without)] == without)
    left = eyechart(*arguments[:place], *arguments[place + len(without) :], cwd=desk)
    assert left.code == 0, left.err


def test_cells_as_text_are_said_to_mmbench_as_well(desk: Path) -> None:
    file = desk / "none.tsv"
    file.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tNone\tx\tA\n", encoding="utf-8")
    said = {"read_as": "mmbench"}
    assert [dict(one.choices) for one in ec.load(file, **said)] == [{"B": "x"}]
    assert [dict(one.choices) for one in ec.load(file, **said, cells="text")] == [{"A": "None", "B": "x"}]
    rows = jsonl(desk / "m.jsonl", [{"index": 1, "question": "Which?", "A": "x", "B": "y", "answer": "A"}])
    assert len(list(ec.load(rows, **said))) == 1
    with pytest.raises(UsageError, match="cells='pandas' applies to TSV and CSV"):
        list(ec.load(rows, **said, settings={"cells": "pandas"}))


def test_questions_that_come_with_the_replies_are_not_read_another_way(desk: Path) -> None:
    log = jsonl(desk / "log.jsonl", [{"id": "1", "question": "Which?", "answer": "A", "reply": "A"}])
    done = eyechart("score", "--replies", log, "--as", "mmbench", cwd=desk)
    assert done.code == 2
    assert "--benchmark FILE" in done.err


def test_a_prompt_that_is_shaped_is_shown(desk: Path) -> None:
    for flags in (("--system", "Be brief."), ("--prompt-template", "Be brief. {{ question }}")):
        assert "Be brief." in eyechart("data", "show", "q.tsv", *flags, cwd=desk).out
    shown = eyechart("data", "show", "rows.jsonl", "--as", "vstar", "--parity", cwd=desk).out
    assert "insight-o3" in shown


@pytest.mark.slow
def test_a_name_of_the_catalogue_and_its_file_are_one_run(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    choice_tsv(data / "MMBench_DEV_EN.tsv", 2)
    choice_tsv(tmp_path / "CCBench.tsv", 2)
    asked = ("-m", "baseline/random", "-q", "--json")

    def folders(*spellings: object) -> set[str]:
        done = [eyechart("run", one, *asked, cwd=tmp_path, LMUData=str(data)) for one in spellings]
        return {one.json["run"] for one in done}

    of_name = ("mmbench-dev-en", "MMBench_DEV_EN", data / "MMBench_DEV_EN.tsv", "data/MMBench_DEV_EN.tsv")
    assert len(folders(*of_name)) == 1
    here = folders("ccbench", "CCBench.tsv", "CCBench", tmp_path / "CCBench.tsv")
    assert len(here) == 1
    # Another file of that name is another run.
    (tmp_path / "other").mkdir()
    choice_tsv(tmp_path / "other" / "CCBench.tsv", 3)
    assert not here & folders("other/CCBench.tsv")


@pytest.mark.parametrize(
    "given", [{"decimal": "comma"}, {"sheet": "x"}, {"ask": "Why?"}, {"encoding": "gbk"}]
)
def test_options_on_reading_files_are_refused_for_rows_in_memory(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(given))}: the rows are in memory"):
        ec.load([{"question": "How many?", "answer": "3,5"}], **given)


def test_a_flag_may_add_what_an_option_of_a_configuration_needs(desk: Path) -> None:
    (desk / "c.yaml").write_text("source: q.tsv\nmodel: baseline/random\nshots_from: q.tsv\n")
    alone = eyechart("run", "c.yaml", "-q", "--dry-run", cwd=desk)
    assert (alone.code, "shots_from has no effect without shots" in alone.err) == (2, True)
    done = eyechart("run", "c.yaml", "-q", "--dry-run", "--shots", "1", cwd=desk)
    assert done.code == 0, done.err
