"""`eyechart compare`: tables, files, exit codes."""

from __future__ import annotations

import contextlib
import csv
import sqlite3
from pathlib import Path

import pytest

from eyechart.terminal import UNSAFE
from support.command import eyechart
from support.files import jsonl


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Thirty questions in q.jsonl, and replies of three models to them, one of them much better."""
    rows = [
        {"id": f"=q{k}", "question": f"Question {k}?", "A": "one", "B": "two", "answer": "AB"[k % 2],
         "category": ("50 % _x_", "a|b")[k % 3 > 0]}
        for k in range(30)
    ]  # fmt: skip
    jsonl(tmp_path / "q.jsonl", rows)
    for name, wrong in {"good": 2, "bad": 20, "poor_one": 19}.items():
        replies = [{"id": f"=q{k}", "reply": "AB"[(k + (k < wrong)) % 2]} for k in range(30)]
        jsonl(tmp_path / f"{name}.jsonl", replies)
    return tmp_path


FILES = ("bad.jsonl", "good.jsonl", "--benchmark", "q.jsonl")


def test_two_files_of_replies(folder: Path) -> None:
    done = eyechart("compare", *FILES, "--flips", 3, cwd=folder)
    assert done.code == 0, done.err
    verdict = done.out.splitlines()[-1]
    assert verdict.startswith("replies/good is better by 60.0 points (")
    assert verdict.endswith(") on 30 shared questions")
    assert "18 flipped between replies/good and replies/bad, the first 3" in done.out
    assert "30 shared questions; scorer default\n" in done.out
    told = "differences: replies/good minus replies/bad, the first run; --baseline RUN chooses another"
    assert told in done.out
    assert "flips: +18 right in replies/good alone, -0 in replies/bad alone" in done.out
    assert "difference by McNemar's exact test" in done.out


def test_json_is_one_object(folder: Path) -> None:
    done = eyechart("compare", *FILES, "--json", cwd=folder)
    assert done.code == 0
    found = done.json
    assert (found["n"], found["discordant"], found["n_clusters"]) == (30, [18, 0], 30)
    assert found["difference"] == pytest.approx(0.6)
    assert len(found["flipped"]) == 18
    assert found["p"] < 0.001
    assert sorted(found["scores"].values()) == pytest.approx([10 / 30, 28 / 30])


def test_several_runs_are_a_leaderboard(folder: Path) -> None:
    done = eyechart("compare", "poor_one.jsonl", *FILES, cwd=folder)
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    ranked = [line for line in lines if line and line[0].startswith("replies/")][:3]
    assert [line[0] for line in ranked] == ["replies/good", "replies/poor_one", "replies/bad"]
    assert ranked[0][3:6] == ["1", "1", "reference"]
    assert "p corrected over all pairs and the groups of a key by Holm" in done.out
    assert "* differs from the reference" in done.out
    assert "replies/good is best on 30 shared questions: " in done.out
    by_baseline = eyechart("compare", "runs", "--baseline", "replies/bad", "--by", "none", cwd=folder)
    assert "by category" not in by_baseline.out
    assert "p corrected over all others by Holm" in by_baseline.out
    assert "replies/good is better than replies/bad; replies/poor_one is not dist" in by_baseline.out


def test_tables_for_papers_are_escaped(folder: Path) -> None:
    latex = eyechart(
        "compare", "poor_one.jsonl", "good.jsonl", "--benchmark", "q.jsonl", "--latex", cwd=folder
    )
    assert latex.out.count(r"\toprule") == 2
    assert r"replies/poor\_one &" in latex.out
    assert r"50 \% \_x\_ &" in latex.out
    assert r"a\textbar{}b &" in latex.out
    markdown = eyechart("compare", "runs", "--markdown", cwd=folder)
    assert "replies/poor\\_one" in markdown.out
    assert "| a\\|b | 20 |" in markdown.out
    widths = {
        line.count("|") - line.count("\\|") for line in markdown.out.split("\n\n")[1].strip().splitlines()
    }
    assert len(widths) == 1


def test_every_shared_question_as_csv(folder: Path) -> None:
    done = eyechart("compare", *FILES, "--csv", "shared.csv", cwd=folder)
    assert "wrote shared.csv" in done.err
    with (folder / "shared.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["id", "category", "replies/bad", "replies/good"]
    assert rows[1] == ["'=q0", "50 % _x_", "0", "0"]  # not a formula
    assert rows[6] == ["'=q5", "a|b", "0", "1"]
    assert len(rows) == 31


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["good.jsonl"], "nothing to compare"),
        (["good.jsonl", "nothing"], "no run named 'nothing'"),
        (["good.jsonl", "bad.jsonl", "--scorer", "anls"], "anls has not scored replies/good"),
        (["good.jsonl", "bad.jsonl", "--by", "sort"], "no sample has 'sort'"),
        (["good.jsonl", "bad.jsonl", "--csv", "no/where.csv"], "no such folder: no"),
        (["good.jsonl", "bad.jsonl", "--flips", "some"], "'some' is not a whole number"),
        (["good.jsonl", "bad.jsonl", "--json", "--latex"], "not allowed with"),
    ],
)
def test_wrong_usage_ends_with_code_2(words: list[str], said: str, folder: Path) -> None:
    done = eyechart("compare", *words, "--benchmark", "q.jsonl", cwd=folder)
    assert done.code == 2
    assert said in done.err


def test_differences_are_warned_about_on_stderr(folder: Path) -> None:
    eyechart("score", "--benchmark", "q.jsonl", "--replies", "good.jsonl", cwd=folder)
    eyechart("run", "q.jsonl", "-m", "baseline/majority", "-q", "--limit", 20, cwd=folder)
    done = eyechart("compare", "runs", "--json", cwd=folder)
    assert done.code == 0
    assert (
        "warning: how replies/good was asked is not known: it was scored from a file of replies" in done.err
    )
    assert "warning: baseline/majority has no score on 10 of 30 questions (10 not asked)" in done.err
    assert [line.removeprefix("warning: ") for line in done.err.splitlines()] == done.json["warnings"]
    assert done.json["n"] == 20


@pytest.mark.slow
def test_two_benchmarks_in_one_folder(folder: Path) -> None:
    jsonl(folder / "p.jsonl", [{"id": f"=q{k}", "question": f"{k}?", "answer": "A"} for k in range(30)])
    for name in ("p.jsonl", "q.jsonl"):
        assert eyechart("compare", *FILES[:3], name, cwd=folder).code == 0
    both = eyechart("compare", "runs", "--json", cwd=folder)
    assert [one["benchmark"] for one in both.json["comparisons"]] == ["p", "q"]
    refused = eyechart("compare", "runs", "--csv", "x.csv", cwd=folder)
    assert refused.code == 2
    assert "--csv takes one benchmark, but these runs have p, q" in refused.err


# -- Several models in one run


def test_several_models_of_one_run_end_with_the_comparison(folder: Path) -> None:
    words = ("run", "q.jsonl", "-m", "baseline/random", "-m", "baseline/majority", "-q")
    done = eyechart(*words, cwd=folder)
    assert done.code == 0
    [verdict] = [line for line in done.out.splitlines() if "on 30 shared questions" in line]
    assert verdict == eyechart("compare", "runs", cwd=folder).out.splitlines()[-1]
    told = eyechart(*words, "--json", cwd=folder).json
    assert [one["model"] for one in told["runs"]] == ["baseline/random", "baseline/majority"]
    [compared] = told["comparisons"]
    assert compared["verdict"] == verdict
    assert "flipped" not in compared
    assert compared["scores"] == {one["run"]: one["score"] for one in told["runs"]}


@pytest.mark.slow
def test_three_models_of_one_run_are_ranked(folder: Path) -> None:
    (folder / "mine.py").write_text(
        "class Mine:\n    def generate(self, text, images):\n        return 'A'\n"
    )
    models = ("-m", "baseline/random", "baseline/majority", "python:mine.py:Mine")
    done = eyechart("run", "q.jsonl", *models, "-q", cwd=folder)
    assert done.code == 0
    assert "q: comparison on 30 shared questions" in done.out
    assert "p corrected" in done.out


@pytest.mark.slow
def test_each_source_is_compared_by_itself(folder: Path) -> None:
    jsonl(folder / "p.jsonl", [{"id": f"{k}", "question": f"{k}?", "answer": "A"} for k in range(5)])
    models = ("-m", "baseline/random", "baseline/majority")
    done = eyechart("run", "q.jsonl", "p.jsonl", *models, "-q", cwd=folder)
    told = [line.partition(":")[0] for line in done.out.splitlines() if "shared questions" in line]
    assert told == ["q", "p"]


def test_one_model_on_two_sources_is_not_compared(folder: Path) -> None:
    jsonl(folder / "p.jsonl", [{"id": "1", "question": "?", "answer": "A"}])
    done = eyechart("run", "q.jsonl", "p.jsonl", "-m", "baseline/majority", "-q", "--json", cwd=folder)
    assert done.json["comparisons"] == []


def test_models_without_any_answer_are_not_compared(folder: Path) -> None:
    broken = "class Broken:\n    def generate(self, text, images):\n        raise ValueError('no')\n"
    (folder / "broken.py").write_text(broken)
    models = ("-m", "python:broken.py:Broken", "-m", "baseline/majority")
    done = eyechart("run", "q.jsonl", *models, "-q", "--json", "--retries", 0, cwd=folder)
    assert done.code == 1
    assert "the runs were not compared: no question was scored in all runs" in done.err
    assert done.json["comparisons"] == []


# -- What is damaged or hostile


@pytest.fixture
def two_runs(folder: Path) -> list[Path]:
    assert eyechart("compare", *FILES, cwd=folder).code == 0
    return sorted((folder / "runs" / "q").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["{", "[]", "7", "null", '{"a":1}', '"x"'])
@pytest.mark.parametrize("place", ["samples.body", "asks.body", "replies.body", "scores.body", "meta.value"])
def test_a_damaged_run_is_no_internal_error(
    place: str, damage: str, two_runs: list[Path], folder: Path
) -> None:
    table, column = place.split(".")
    with contextlib.closing(sqlite3.connect(two_runs[0] / "run.sqlite")) as db, db:
        db.execute(f"UPDATE {table} SET {column} = ?", (damage,))
    for words in (("compare", *two_runs), ("compare", *reversed(two_runs)), ("power", "--like", *two_runs)):
        done = eyechart(*words, cwd=folder)
        assert done.code in (0, 2)
        assert "internal error" not in done.err


def test_escape_sequences_do_not_reach_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp"
    rows = [
        {"id": f"{evil}{k}", "question": "?", "answer": "A", "category": f"{evil}{k % 2}"} for k in range(8)
    ]
    jsonl(tmp_path / "q.jsonl", rows)
    for name, letter in (("a", "A"), ("b", "B")):
        jsonl(tmp_path / f"{name}.jsonl", [{"id": row["id"], "reply": letter} for row in rows])
    for shape in ((), ("--json",), ("--markdown",), ("--latex",)):
        files = ("a.jsonl", "b.jsonl", "--benchmark", "q.jsonl", "--flips", 9)
        done = eyechart("compare", *files, *shape, cwd=tmp_path)
        assert done.code == 0
        assert "owned" in done.out
        assert not UNSAFE.search(done.out + done.err)
