"""Merging again: what the merged run has beyond its shards is kept; what cannot go together is refused."""

from __future__ import annotations

import contextlib
import csv
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.errors import StoreError, UsageError
from eyechart.runs.api import run
from eyechart.runs.judge_check import read_check_sheet, write_check_sheet
from eyechart.runs.options import Options
from eyechart.runs.replies import rescore
from eyechart.runs.results import Run
from eyechart.runs.shards import merge_runs
from eyechart.store import merge
from eyechart.store.journal import Journal
from support.command import eyechart
from support.files import choice_tsv, picture
from support.runs import StubModel
from support.server import Answer, Asked, Server

N = 12


def read_all(folder: Path) -> dict[str, list[Any]]:
    """Every row of every table."""
    with contextlib.closing(sqlite3.connect(folder / "run.sqlite")) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {table: sorted(db.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in tables}


def run_shards(source: Path, model: Any = "baseline/random", n: int = 2, **options: Any) -> list[Run]:
    out = str(source.parent / "runs")
    return [run(source, model, shard=f"{k}/{n}", out=out, progress=False, **options) for k in range(1, n + 1)]


def open_questions(folder: Path) -> Path:
    rows = "".join(f"{k}\tWhat is number {k}?\ta cat\n" for k in range(N))
    source = folder / "q.tsv"
    source.write_text(f"index\tquestion\tanswer\n{rows}", encoding="utf-8")
    return source


def judge_all(folder: Path, judge: Server) -> Run:
    asked = Options(judge="openai/j", judge_base_url=judge.base_url, cache=False, progress=False)
    return rescore(folder, asked)[0]


def fill(sheet: Path) -> Path:
    """The sheet as a person gives it back."""
    with sheet.open(encoding="utf-8", newline="") as file:
        rows = [{**row, "verdict": "right"} for row in csv.DictReader(file)]
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return sheet


@pytest.mark.slow
def test_merging_again_keeps_judge_calls_verdicts_and_audit(tmp_path: Path) -> None:
    source = open_questions(tmp_path)
    shards = run_shards(source, StubModel("a feline"), scorer="text", input="any")
    merged = merge_runs([shards[0].folder.parent])
    with Server(lambda asked: "CORRECT") as judge:
        judged = judge_all(merged.folder, judge)
        write_check_sheet(merged.folder, tmp_path / "sheet.csv", n=4)
        read_check_sheet(merged.folder, fill(tmp_path / "sheet.csv"))
        before, n_asked = read_all(merged.folder), len(judge.asked)
        assert n_asked
        assert any(name == "audit" for name, _ in before["meta"])
        again = merge_runs([shards[0].folder.parent])
        assert read_all(again.folder) == before
        assert again.summary.to_json() == Run(merged.folder).summary.to_json()
        assert again.score == judged.score
        judge_all(merged.folder, judge)
    assert len(judge.asked) == n_asked, "no judge is asked twice"


@pytest.mark.slow
def test_replies_that_come_later_are_added_to_a_judged_run(tmp_path: Path) -> None:
    source = open_questions(tmp_path)
    unlucky = {f"What is number {k}?" for k in (3, 5)}

    def reply(asked: Asked) -> Answer:
        return Answer(status=400, body=b"no") if unlucky & {asked.text.strip()} else Answer("a feline")

    with Server(reply) as model, Server(lambda asked: "CORRECT") as judge:
        options: dict[str, Any] = {
            "base_url": model.base_url,
            "scorer": "text",
            "input": "any",
            "cache": False,
        }
        shards = run_shards(source, "openai/m", **options)
        merged = merge_runs([shards[0].folder.parent])
        assert merged.n_failed == len(unlucky)
        judge_all(merged.folder, judge)
        before = read_all(merged.folder)
        unlucky.clear()
        shards = run_shards(source, "openai/m", **options)
        again = merge_runs([shards[0].folder.parent])
        after = read_all(again.folder)
        for table in ("calls", "scores", "replies", "asks"):
            assert set(before[table]) <= set(after[table]), table
        assert (again.n_failed, len(after["replies"])) == (0, N)
        assert Run(again.folder).manifest["judge"]["model"] == "openai/j"
        n_asked = len(judge.asked)
        done = judge_all(again.folder, judge)
    assert len(judge.asked) == n_asked + 2
    assert done.n_unjudged == 0


@pytest.mark.slow
def test_shards_that_were_scored_again_replace_the_verdicts(tmp_path: Path) -> None:
    source = choice_tsv(tmp_path / "q.tsv", N)
    shards = run_shards(source, StubModel("A"))
    merged = merge_runs([shards[0].folder.parent])
    for one in shards:
        rescore(one.folder, Options(scorer="text"))
    again = merge_runs([shards[0].folder.parent])
    assert again.manifest["scorer"] == "text"
    rescore(merged.folder, Options(scorer="exact"))
    assert merge_runs([shards[0].folder.parent]).manifest["scorer"] == "exact"
    for one in shards:
        rescore(one.folder, Options(scorer="default"))
    before = read_all(merged.folder)
    with pytest.raises(UsageError, match="was scored in another way than the shards"):
        merge_runs([shards[0].folder.parent])
    assert read_all(merged.folder) == before
    assert not [path for path in merged.folder.iterdir() if ".part" in path.name]


@pytest.mark.slow
def test_verdicts_on_an_earlier_gold_are_not_kept(tmp_path: Path) -> None:
    source = choice_tsv(tmp_path / "q.tsv", N)
    shards = run_shards(source, StubModel("A"))
    merged = merge_runs([shards[0].folder.parent])
    rescore(merged.folder, Options(scorer="text"))
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("\tA\teven", "\tB\teven", 1), encoding="utf-8")
    shards = run_shards(source, StubModel("A"))
    again = merge_runs([shards[0].folder.parent])
    scored = {name for name, _, _, scorer, *_ in read_all(again.folder)["scores"] if scorer == "text"}
    assert len(scored) == N - 1


def write_files(folder: Path, colour: str) -> Path:
    rows = []
    for k in range(6):
        (folder / f"{k}.png").write_bytes(picture(colour, (40 + k, 30)))
        rows.append(f"{k}\tWhat colour?\tred\t{k}.png\n")
    (folder / "q.tsv").write_text("index\tquestion\tanswer\timage_path\n" + "".join(rows), encoding="utf-8")
    return folder / "q.tsv"


def write_cells(folder: Path, colour: str) -> Path:
    import base64

    cell = base64.b64encode(picture(colour)).decode()
    rows = "".join(f"{k}\tWhat colour?\tred\t{cell}\n" for k in range(6))
    (folder / "q.tsv").write_text(f"index\tquestion\tanswer\timage\n{rows}", encoding="utf-8")
    return folder / "q.tsv"


def write_parquet(folder: Path, colour: str) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "id": [str(k) for k in range(6)], "question": ["What colour?"] * 6, "answer": ["red"] * 6,
        "image": [{"bytes": picture(colour, (40 + k, 30)), "path": f"{k}.png"} for k in range(6)],
    }  # fmt: skip
    parquet.write_table(pyarrow.table(columns), folder / "q.parquet")
    return folder / "q.parquet"


def write_inline(folder: Path, colour: str) -> Path:
    import base64
    import json

    url = "data:image/png;base64," + base64.b64encode(picture(colour)).decode()
    rows = [{"id": str(k), "question": "What colour?", "answer": "red", "image": url} for k in range(6)]
    (folder / "q.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder / "q.json"


@pytest.mark.slow
@pytest.mark.parametrize("write", [write_files, write_cells, write_parquet, write_inline])
def test_shards_that_saw_other_images_are_refused(
    tmp_path: Path, write: Callable[[Path, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, "red")
    shards = run_shards(source, n=3)
    write(tmp_path, "red")  # with other times
    same = run(source, "baseline/random", shard="2/3", out=str(tmp_path / "other"), progress=False)
    assert merge_runs([shards[0].folder, same.folder, shards[2].folder]).summary.n == 6
    write(tmp_path, "blue")
    other = run(source, "baseline/random", shard="2/3", out=str(tmp_path / "other"), progress=False)
    with pytest.raises(UsageError, match="their images are not the same"):
        merge_runs([shards[0].folder, other.folder, shards[2].folder])
    capsys.readouterr()
    for one in (other, shards[2]):  # as an earlier eyechart wrote them
        journal = Journal.create(one.folder / "run.sqlite")
        said = journal.read_mapping("shard")
        del said["pictures"]
        journal.set_meta("shard", said)
        journal.close()
    assert merge_runs([shards[0].folder, other.folder, shards[2].folder]).summary.n == 6
    assert "the images of shards 2/3, 3/3 are not compared" in capsys.readouterr().err


@pytest.mark.slow
def test_a_machine_that_has_only_some_of_the_images(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write_files(tmp_path, "red")
    shards = run_shards(source)
    (tmp_path / "3.png").unlink()
    for one in shards:
        shutil.rmtree(one.folder)
    first = run(source, "baseline/random", shard="1/2", out=str(tmp_path / "runs"), progress=False)
    write_files(tmp_path, "red")
    run(source, "baseline/random", shard="2/2", out=str(tmp_path / "runs"), progress=False)
    merge_runs([first.folder.parent])
    assert "the images of shards 1/2 are not compared" in capsys.readouterr().err


@pytest.mark.slow
def test_unfinished_shards_end_with_1(tmp_path: Path) -> None:
    source = choice_tsv(tmp_path / "q.tsv", N)
    shards = run_shards(source, StubModel("A"))
    with contextlib.closing(sqlite3.connect(shards[0].folder / "run.sqlite")) as db, db:
        db.execute("DELETE FROM replies WHERE sample IN (SELECT sample FROM replies LIMIT 2)")
    done = eyechart("merge", shards[0].folder.parent, cwd=tmp_path)
    assert done.code == 1
    assert "2 samples have no outcome yet" in done.err


@pytest.mark.slow
def test_what_a_killed_merge_left_is_removed(tmp_path: Path) -> None:
    shards = run_shards(choice_tsv(tmp_path / "q.tsv", N))
    merged = merge_runs([shards[0].folder.parent])
    for name in (".run.sqlite.0a1b2c3d.part", ".run.sqlite.0a1b2c3d.part-journal"):
        (merged.folder / name).write_bytes(b"half")
    merge_runs([shards[0].folder.parent])
    assert not [path.name for path in merged.folder.iterdir() if ".part" in path.name]


@pytest.mark.slow
def test_the_disk_that_is_full_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards = run_shards(choice_tsv(tmp_path / "q.tsv", 200))
    create = merge.sqlite.create_tables  # type: ignore[attr-defined]

    def create_small(db: sqlite3.Connection) -> None:
        create(db)
        db.execute("PRAGMA max_page_count = 30")

    monkeypatch.setattr(merge.sqlite, "create_tables", create_small)  # type: ignore[attr-defined]
    with pytest.raises(StoreError) as caught:
        merge_runs([shards[0].folder.parent], out=tmp_path / "small")
    assert str(caught.value).startswith(f"{tmp_path / 'small'}")
    assert "/run.sqlite: database or disk is full" in str(caught.value)
    assert not list((tmp_path / "small").rglob("*.part*"))


@pytest.mark.slow
def test_pending_batches_are_collected_first_and_never_dropped(tmp_path: Path) -> None:
    from eyechart.store.batches import BatchedRequest, BatchLog, has_pending
    from eyechart.store.journal import Ask
    from eyechart.types import Usage

    shards = run_shards(choice_tsv(tmp_path / "q.tsv", N))
    merged = merge_runs([shards[0].folder.parent])
    one = BatchedRequest(sample="1", trial=0, ask=Ask(key="k", recipe="r", messages=[]))
    BatchLog(merged.folder / "run.sqlite").begin("ec1", [one], Usage())
    before = read_all(merged.folder)
    assert read_all(merge_runs([shards[0].folder.parent]).folder) == before
    assert has_pending(merged.folder / "run.sqlite")
    BatchLog(shards[1].folder / "run.sqlite").begin("ec2", [one], Usage())
    with pytest.raises(UsageError, match="shard 2/2 has a pending batch"):
        merge_runs([shards[0].folder.parent])
