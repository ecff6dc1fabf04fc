"""One folder, several processes and several versions: who may go on with it, and who is refused."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from torture.endpoint import Endpoint
from torture.harness import Case, Disturbed, after_answers
from torture.workloads import CHOICE, JUDGED, Workload

SMALL = replace(CHOICE, n=32)


def edit(file: Path, sql: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.executescript(sql)


@pytest.mark.slow
def test_a_second_process_is_refused_and_a_dead_one_holds_nothing(run: Disturbed) -> None:
    endpoint = run.case.endpoint
    endpoint.control(latency_s=2.0)  # the first one must outlive the start of the second
    since = endpoint.position()
    first = run.start()
    after_answers(4)(first, run)
    second = run.start()  # the same folder: what it asks would be seen as asked twice
    out, err = second.communicate(timeout=30)
    assert second.returncode == 2
    assert json.loads(out).keys() == {"error", "hint", "exit_code"}
    assert f"in use by another run (process {first.pid})" in err
    assert "hint: " in err
    assert first.poll() is None, "it is not disturbed by the second"
    first.kill()
    first.communicate()
    run.since = since
    run.check()
    assert (run.file.parent / "run.lock").read_text() == str(first.pid), "the lock file is left behind"
    endpoint.control(latency_s=0.03)
    run.finish()


@pytest.mark.torture
def test_many_processes_at_once_let_one_through(tmp_path: Path) -> None:
    with Endpoint(tmp_path) as endpoint:
        case = Case(tmp_path, CHOICE, endpoint)
        _ = case.undisturbed
        run = Disturbed(case, "runs")
        since = endpoint.position()
        processes = [run.start() for _ in range(6)]
        run.since = since
        codes = []
        for process in processes:
            _, err = process.communicate(timeout=60)
            assert "Traceback" not in err
            codes.append(process.returncode)
            assert process.returncode == 0 or "in use by another run" in err, err
        assert set(codes) <= {0, 2}
        assert 0 in codes
        run.check()
        run.finish()


@pytest.mark.slow
def test_a_newer_format_is_refused_and_left_alone(run: Disturbed) -> None:
    run.kill(after_answers(8))
    edit(run.file, "PRAGMA user_version = 99")
    before = run.file.read_bytes()
    done = run.go_on()
    assert done.code == 2
    assert "newer eyechart" in done.err
    assert "hint: upgrade eyechart" in done.err
    assert run.file.read_bytes() == before


# The columns of each table as the format's first release had them; later ones may have more.
FIRST = {
    "meta": "name TEXT PRIMARY KEY, value TEXT NOT NULL",
    "samples": "position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL",
    "asks": "sample TEXT, trial INTEGER, key TEXT, recipe TEXT, body BLOB, PRIMARY KEY (sample, trial)",
    "replies": "sample TEXT, trial INTEGER, key TEXT, body BLOB, attempts INTEGER, at REAL,"
    " PRIMARY KEY (sample, trial, key)",
    "failures": "sample TEXT, trial INTEGER, body BLOB, at REAL, PRIMARY KEY (sample, trial)",
    "scores": "sample TEXT, trial INTEGER, key TEXT, scorer TEXT, version TEXT, outcome TEXT, value REAL,"
    " body BLOB, PRIMARY KEY (sample, trial, scorer)",
    "sessions": "id INTEGER PRIMARY KEY, started_at REAL, seconds REAL, sent INTEGER, retried INTEGER,"
    " cached INTEGER",
}
SECOND = FIRST | {
    "calls": "sample TEXT, trial INTEGER, key TEXT, purpose TEXT, asked BLOB, body BLOB, attempts INTEGER,"
    " at REAL, PRIMARY KEY (sample, trial, key)",
    "slips": "sample TEXT, trial INTEGER, scorer TEXT, body BLOB, at REAL,"
    " PRIMARY KEY (sample, trial, scorer)",
}


def write_as(version: int, tables: Mapping[str, str], file: Path) -> None:
    """Turn a journal of today into one of an earlier format, with the same content."""
    old = file.with_name("old.sqlite")
    with contextlib.closing(sqlite3.connect(old, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("ATTACH ? AS new", (str(file),))
        for table, columns in tables.items():
            db.execute(f"CREATE TABLE main.{table} ({columns})")
            names = ", ".join(row[1] for row in db.execute(f"PRAGMA main.table_info({table})"))
            db.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM new.{table}")
        db.execute(f"PRAGMA main.user_version = {version}")
    for suffix in ("-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    old.replace(file)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "tables", "workload"),
    [
        pytest.param(1, FIRST, SMALL, id="1", marks=pytest.mark.torture),
        pytest.param(2, SECOND, replace(JUDGED, n=32), id="2"),
    ],
)
def test_an_earlier_format_goes_on_with_all_its_replies(
    tmp_path: Path, version: int, tables: Mapping[str, str], workload: Workload
) -> None:
    with Endpoint(tmp_path, latency_s=0.1) as endpoint:
        run = Disturbed(Case(tmp_path, workload, endpoint), "runs")
        run.kill(after_answers(20))
        assert run.on_disk.replies
        write_as(version, tables, run.file)
        run.finish()
