"""Shards and their merging: together they are the run of one process."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import UsageError
from eyechart.runs.api import run
from eyechart.runs.results import Run
from eyechart.runs.shards import Shard, merge_runs
from eyechart.store.folder import find_whole
from support.command import eyechart
from support.files import choice_tsv, jsonl
from support.runs import questions_fixture, run_command, server_fixture, some_letter

questions = questions_fixture(12)
server = server_fixture(some_letter)

_UNTIMED = {  # every column but times
    "samples": "position, id, body",
    "asks": "sample, trial, key, recipe, body",
    "replies": "sample, trial, key, json_remove(CAST(body AS TEXT), '$.latency_s'), attempts, paid",
    "failures": "sample, trial, body",
    "scores": "*",
    "calls": "sample, trial, key, purpose, asked, json_remove(CAST(body AS TEXT), '$.latency_s'), model",
    "slips": "sample, trial, scorer, body",
}


def rows(folder: Path) -> dict[str, list[Any]]:
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as db:
        return {
            table: sorted(db.execute(f"SELECT {columns} FROM {table}").fetchall())
            for table, columns in _UNTIMED.items()
        }


def summary(done: Run) -> dict[str, Any]:
    return {name: value for name, value in done.summary.to_json().items() if name not in ("run", "seconds")}


def same_manifest(one: Run, other: Run) -> bool:
    def plain(done: Run) -> dict[str, Any]:
        options = {name: value for name, value in done.manifest["options"].items() if name != "out"}
        return {**done.manifest, "options": options}

    return plain(one) == plain(other)


def run_shards(source: Any, model: Any, n: int, out: Path, **options: Any) -> list[Run]:
    return [
        run(source, model, shard=f"{k}/{n}", out=str(out), progress=False, **options) for k in range(1, n + 1)
    ]


@pytest.mark.slow
def test_merged_shards_equal_one_run(tmp_path: Path) -> None:
    class Letters:
        async def generate(self, messages: Any) -> str:
            return "ABCD"[len(messages[-1].text) % 4]

    source = choice_tsv(tmp_path / "q.tsv", 40)
    one = run(source, Letters(), trials=2, out=str(tmp_path / "one"), progress=False)
    shards = run_shards(source, Letters(), 3, tmp_path / "many", trials=2)
    assert sum(done.summary.n for done in shards) == one.summary.n
    assert all(done.summary.n for done in shards)
    merged = merge_runs([done.folder for done in reversed(shards)])
    assert merged.folder.name == one.folder.name
    assert rows(merged.folder) == rows(one.folder)
    assert summary(merged) == summary(one)
    assert same_manifest(merged, one)
    # The whole command resumes the merged run and asks nothing.
    again = run(source, Letters(), trials=2, out=str(tmp_path / "many"), progress=False)
    assert again.folder == merged.folder
    assert again.n_asked == 0


@pytest.mark.slow
def test_models_that_study_see_the_whole_benchmark(tmp_path: Path) -> None:
    one = run("demo", "baseline/majority", out=str(tmp_path / "one"), progress=False)
    shards = run_shards("demo", "baseline/majority", 3, tmp_path / "many")
    merged = merge_runs([shards[0].folder.parent])
    assert rows(merged.folder) == rows(one.folder)


@pytest.mark.slow
def test_rotations_and_problems_stay_together(tmp_path: Path) -> None:
    source = choice_tsv(tmp_path / "q.tsv", 12)
    shards = run_shards(source, "baseline/random", 4, tmp_path / "runs", circular=True)
    circles = Counter(
        (circle, done.folder)
        for done in shards
        for circle in {result.sample.circle for result in done.samples()}
    )
    assert len(circles) == 12  # each in one shard
    # Samples of one value of --cluster, too.
    listed = [{"id": f"q{k}", "question": "?", "answer": "1", "page": f"p{k // 3}"} for k in range(30)]
    source = jsonl(tmp_path / "pages.jsonl", listed)
    shards = run_shards(source, "baseline/random", 4, tmp_path / "runs", cluster="page", input="any")
    pages = Counter(
        (page, done.folder)
        for done in shards
        for page in {result.sample.meta["page"] for result in done.samples()}
    )
    assert len(pages) == 10


@pytest.mark.slow
def test_a_shard_may_be_empty(tmp_path: Path) -> None:
    source = choice_tsv(tmp_path / "q.tsv", 2)
    shards = run_shards(source, "baseline/random", 5, tmp_path / "runs")
    assert sorted(done.summary.n for done in shards) in ([0, 0, 0, 1, 1], [0, 0, 0, 0, 2])
    assert all(done.exit_code == 0 for done in shards)
    assert merge_runs([shards[0].folder.parent]).summary.n == 2


@pytest.mark.slow
def test_the_command(questions: Path, server: Any) -> None:
    whole = run_command(questions, server, "--no-cache")
    for k in (1, 2):
        assert run_command(questions, server, "--no-cache", "--shard", f"{k}/2", "--out", "parts").code == 0
    merged = eyechart("merge", "parts", "--json", cwd=questions.parent)
    assert merged.code == 0, merged.err
    apart = {"run", "seconds"}
    said, once = ({k: v for k, v in one.json.items() if k not in apart} for one in (merged, whole))
    assert said == once
    assert merged.json["run"].startswith("parts/q/openai-m-")
    # Commands that take a folder with runs see the merged one, not its parts.
    assert eyechart("report", "parts", "--json", cwd=questions.parent).json["n"] == 12
    # Merging again replaces the merged run; a reply that no shard has is never lost.
    assert eyechart("merge", merged.json["run"], cwd=questions.parent).code == 0
    more = run_command(questions, server, "--no-cache", "--out", "parts", "--trials", "2")
    assert more.json["run"] == merged.json["run"]
    refused = eyechart("merge", "parts", cwd=questions.parent)
    assert refused.code == 2
    assert "12 replies that no shard has" in refused.err
    assert eyechart("merge", "parts", "--out", "elsewhere", cwd=questions.parent).code == 0


@pytest.mark.slow
def test_what_cannot_be_merged(tmp_path: Path) -> None:
    source = choice_tsv(tmp_path / "q.tsv", 9)
    shards = run_shards(source, "baseline/random", 3, tmp_path / "runs")
    folders = [done.folder for done in shards]
    with pytest.raises(UsageError, match="1 of 3 shards is missing: 2/3"):
        merge_runs([folders[0], folders[2]])
    assert find_whole(folders[0]) is not None
    assert not find_whole(folders[0]).exists()  # type: ignore[union-attr]  # nothing half-made is left
    copied = tmp_path / "copy" / "1-of-3"
    shutil.copytree(folders[0], copied)
    with pytest.raises(UsageError, match="shard 1/3 is given twice"):
        merge_runs([*folders, copied])
    seeded = run(source, "baseline/random", shard="2/3", seed=5, out=str(tmp_path / "runs"), progress=False)
    with pytest.raises(UsageError, match="differ in identity, --seed"):
        merge_runs([folders[0], seeded.folder, folders[2]])
    other = run(source, "baseline/random", shard="2/4", out=str(tmp_path / "runs"), progress=False)
    with pytest.raises(UsageError, match="1/3 and 2/4 divide a run differently"):
        merge_runs([folders[0], other.folder])
    choice_tsv(source, 10)
    changed = run(source, "baseline/random", shard="2/3", out=str(tmp_path / "runs"), progress=False)
    with pytest.raises(UsageError, match="the data changed in between"):
        merge_runs([folders[0], changed.folder, folders[2]])
    plain = run(source, "baseline/random", out=str(tmp_path / "plain"), progress=False)
    with pytest.raises(UsageError, match="is not a shard"):
        merge_runs([plain.folder])
    with pytest.raises(UsageError, match="no shard in"):
        merge_runs([tmp_path / "nowhere"])


@pytest.mark.parametrize("text", ["", "0/3", "4/3", "1", "a/b", "1/0", "-1/3", "1/3/5", "1/9999999"])
def test_what_is_not_a_shard(text: str) -> None:
    with pytest.raises(UsageError, match="is not K/N"):
        Shard.parse(text)


def test_every_sample_is_in_one_shard() -> None:
    shards = [Shard(k, 7) for k in range(1, 8)]
    owners = [[shard.number for shard in shards if shard.owns(f"q{n}")] for n in range(2000)]
    assert all(len(one) == 1 for one in owners)
    counts = Counter(one[0] for one in owners)
    assert min(counts.values()) > 200  # 286 each, on average


def test_options_that_need_the_whole_run(questions: Path) -> None:
    with pytest.raises(UsageError, match="judge_repeat cannot be combined with shard"):
        run(questions, "baseline/random", shard="1/2", judge="openai/m", judge_repeat=3)
