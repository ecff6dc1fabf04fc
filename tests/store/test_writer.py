"""The writer: groups end as one by one would, in any mix; nobody waits for ever; a crash costs a moment."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import StoreError
from eyechart.store import sqlite as module
from eyechart.store.sqlite import Writer, WriteStatement
from support.parts import do_not_wait_for_the_disk, no_thread_left

TABLES = """
    CREATE TABLE a (k INTEGER, l INTEGER, v TEXT, PRIMARY KEY (k, l)) WITHOUT ROWID;
    CREATE TABLE b (k INTEGER PRIMARY KEY, v TEXT);
    CREATE TABLE totals (k INTEGER PRIMARY KEY, n INTEGER);
    INSERT INTO totals VALUES (1, 0);
"""
PUT_A, PUT_B = "INSERT OR REPLACE INTO a VALUES", "INSERT OR REPLACE INTO b VALUES"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return laid_out(tmp_path / "x.sqlite")


def laid_out(path: Path) -> Path:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(TABLES)
    return path


@pytest.fixture
def writer(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Writer]:
    do_not_wait_for_the_disk(monkeypatch)
    made = Writer(path)
    yield made
    with contextlib.suppress(StoreError):
        made.close()
    assert no_thread_left(within_s=0)


def rows(path: Path, sql: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def put_a(k: int, value: str = "x") -> WriteStatement:
    return WriteStatement("a", PUT_A, (k, 0, value))


def total(n: int) -> WriteStatement:
    return WriteStatement("totals", "UPDATE totals SET n = ? WHERE k = 1", (n,))


# -- groups ----------------------------------------------------------------------------------------

numbers = st.integers(0, 5)
replace_a = st.builds(
    lambda k, i, v: WriteStatement("a", PUT_A, (k, i, v)), numbers, numbers, st.text(max_size=3)
)
replace_b = st.builds(lambda k, v: WriteStatement("b", PUT_B, (k, v)), numbers, st.text(max_size=3))
forget_a = st.builds(lambda k: WriteStatement("a", "DELETE FROM a WHERE k = ?", (k,)), numbers)
forget_b = st.builds(lambda k: WriteStatement("b", "DELETE FROM b WHERE k = ?", (k,)), numbers)
add_b = st.builds(lambda k: WriteStatement("b", "UPDATE b SET v = v || '+' WHERE k = ?", (k,)), numbers)
statements = st.one_of(replace_a, replace_a, replace_b, forget_a, forget_b, add_b)
groups = st.lists(st.lists(statements, max_size=150), max_size=4)


def contents(db: sqlite3.Connection) -> list[Any]:
    return [db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in ("a", "b", "totals")]


@pytest.mark.slow
@given(groups)
def test_a_group_ends_as_its_statements_one_by_one(groups: Sequence[Sequence[WriteStatement]]) -> None:
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as in_bulk,
        contextlib.closing(sqlite3.connect(":memory:")) as plain,
    ):
        for db in (in_bulk, plain):
            db.executescript(TABLES)
        for group in groups:
            for sql, values in module._in_bulk(group):
                in_bulk.execute(sql, values)
            for _, sql, row in group:
                one = f"({', '.join('?' * len(row))})" if sql.endswith("VALUES") else ""
                plain.execute(f"{sql} {one}", row)
            assert contents(in_bulk) == contents(plain)


@pytest.mark.parametrize("n", [1, 3, 4, 15, 16, 63, 64, 65, 84, 85, 1000])
def test_every_row_is_written_once_in_few_calls(n: int) -> None:
    calls = list(module._in_bulk([put_a(k) for k in range(n)]))
    values = [value for _, row in calls for value in row]
    assert values == [value for k in range(n) for value in (k, 0, "x")]
    assert len(calls) <= n // 64 + 9
    assert all(len(row) <= 999 for _, row in calls), "older SQLite takes no more"
    assert len({sql for sql, _ in calls}) <= 4, "each is prepared once and kept"


def test_the_last_word_on_a_row_stands_within_one_group(writer: Writer, path: Path) -> None:
    for k in range(100):
        writer.put([put_a(1, str(k)), WriteStatement("b", PUT_B, (1, str(k)))])
    forget = WriteStatement("b", "DELETE FROM b WHERE k = ?", (1,))
    writer.put([forget])
    writer.flush()
    assert rows(path, "SELECT v FROM a") == [("99",)]
    assert rows(path, "SELECT v FROM b") == []
    writer.put([forget, WriteStatement("b", PUT_B, (1, "back"))])
    writer.flush()
    assert rows(path, "SELECT v FROM b") == [("back",)]


def test_what_is_put_together_is_there_together_or_not_at_all(path: Path, writer: Writer) -> None:
    n = 2000

    def put() -> None:
        for k in range(n):
            writer.put([put_a(k), WriteStatement("b", PUT_B, (k, "x"))])

    putting = threading.Thread(target=put)
    putting.start()
    seen = 0
    with contextlib.closing(sqlite3.connect(path)) as db:
        while seen < n:
            of_a, seen = db.execute("SELECT (SELECT count(*) FROM a), (SELECT count(*) FROM b)").fetchone()
            assert of_a == seen
    putting.join()


def test_several_threads_put_and_wait_at_once(path: Path, writer: Writer) -> None:
    n_threads, n_rows = 8, 300
    is_told: list[bool] = []

    def work(number: int) -> None:
        for k in range(n_rows):
            writer.put([put_a(number * n_rows + k)])
            if k % 50 == 49:
                writer.flush()
                there = rows(path, f"SELECT count(*) FROM a WHERE k / {n_rows} = {number}")
                is_told.append(there == [(k + 1,)])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert is_told == [True] * (n_threads * n_rows // 50)
    assert rows(path, "SELECT count(*) FROM a") == [(n_threads * n_rows,)]


def test_those_who_go_on_putting_do_not_keep_it_from_the_disk(path: Path, writer: Writer) -> None:
    is_over = threading.Event()
    numbers = itertools.count()

    def put() -> None:
        while not is_over.is_set():
            for _ in range(50):
                writer.put([put_a(next(numbers) % 1000)])
            time.sleep(0.0005)

    threads = [threading.Thread(target=put) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(5):
            writer.flush()
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


# -- totals ----------------------------------------------------------------------------------------


def test_of_totals_only_the_latest_is_written_with_the_next_group(path: Path, writer: Writer) -> None:
    for n in range(1, 4):
        writer.put_latest(total(n))
    writer.put([put_a(1)])
    writer.flush()
    assert rows(path, "SELECT n FROM totals") == [(3,)]
    writer.put_latest(total(9))
    writer.flush()
    assert rows(path, "SELECT n FROM totals") == [(9,)]
    writer.put_latest(total(10))
    writer.close()
    assert rows(path, "SELECT n FROM totals") == [(10,)]


def test_no_total_is_lost_however_the_threads_take_turns(path: Path, writer: Writer) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for n in range(1, 300):
            writer.put([put_a(n)])
            writer.put_latest(total(n))
            writer.flush()
            assert rows(path, "SELECT n FROM totals") == [(n,)]
    finally:
        sys.setswitchinterval(interval)


# -- the end ---------------------------------------------------------------------------------------


def test_closing_writes_a_full_queue(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    do_not_wait_for_the_disk(monkeypatch)
    writer = Writer(path)
    for k in range(20_000):
        writer.put([put_a(k)])
    writer.close()
    writer.close()
    assert rows(path, "SELECT count(*) FROM a") == [(20_000,)]
    with pytest.raises(AssertionError, match="closed"):
        writer.put([put_a(1)])
    assert no_thread_left(within_s=0)


@pytest.mark.slow
@pytest.mark.timeout(30)
def test_whoever_comes_while_it_closes_is_served_or_turned_away(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do_not_wait_for_the_disk(monkeypatch)
    for _ in range(20):
        writer = Writer(path)
        kept: list[int] = []

        def work(writer: Writer = writer, kept: list[int] = kept) -> None:
            with contextlib.suppress(AssertionError):
                for k in itertools.count():
                    writer.put([put_a(k)])
                    kept.append(k)
                    if k % 20 == 0:
                        writer.flush()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.002)
        writer.close()
        for thread in threads:
            thread.join(timeout=10)
            assert not thread.is_alive(), "somebody waits for ever"
        there = {k for (k,) in rows(path, "SELECT k FROM a")}
        assert set(kept) <= there, "what was taken is on disk"


def test_trouble_reaches_everybody_and_nobody_waits_for_ever(path: Path, writer: Writer) -> None:
    told: list[StoreError] = []
    may_start = threading.Event()

    def work(number: int) -> None:
        may_start.wait()
        try:
            for k in itertools.count():
                writer.put([put_a(k)])
                if k % 5 == number % 5:
                    writer.flush()
        except StoreError as err:
            told.append(err)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    may_start.set()
    time.sleep(0.01)
    writer.put([WriteStatement("none", "INSERT INTO none VALUES (?)", (1,))])
    for thread in threads:
        thread.join(timeout=10)
    assert len(told) == 8
    assert all("no such table" in str(err) for err in told)
    with pytest.raises(StoreError, match="no such table"):
        writer.close()


def test_a_group_that_cannot_be_written_leaves_what_was_there(path: Path, writer: Writer) -> None:
    writer.put([put_a(1)])
    writer.flush()
    writer.put([put_a(2), WriteStatement("a", PUT_A, (3, "too few"))])
    with pytest.raises(StoreError):
        writer.flush()
    assert rows(path, "SELECT k FROM a") == [(1,)]


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "nowhere" / "x.sqlite")
    with pytest.raises(StoreError, match="unable to open") as caught:
        writer.flush()
    assert "--out" in caught.value.hint
    with pytest.raises(StoreError):
        writer.close()
    assert no_thread_left(within_s=0)


# -- time ------------------------------------------------------------------------------------------


def test_a_row_alone_is_soon_on_disk(path: Path, writer: Writer) -> None:
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        writer.put([put_a(0)])
        while not db.execute("SELECT count(*) FROM a").fetchone()[0]:
            time.sleep(0.001)


def test_many_rows_share_a_commit(path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_GATHER_S", 3600)  # or until a caller waits for the disk
    commits: list[int] = []
    commit = Writer._commit

    def counted(self: Writer, db: sqlite3.Connection, statements: Any) -> None:
        of_group = list(statements)
        commits.append(len(of_group))
        commit(self, db, of_group)

    monkeypatch.setattr(Writer, "_commit", counted)
    for k in range(1000):
        writer.put([put_a(k)])
    writer.flush()
    assert sum(commits) == 1000
    assert len(commits) <= 3, "one at once, then one for all, and one if they came while it was written"


CHILD = """
    import os, sys, time
    from pathlib import Path
    from eyechart.store.sqlite import Writer, WriteStatement

    class Telling(Writer):
        def _commit(self, db, statements):
            of_group = list(statements)
            os.write(1, b"commit %d\\n" % len(of_group))
            super()._commit(db, of_group)

    writer = Telling(Path(sys.argv[1]))
    for k in range(1_000_000):
        writer.put([WriteStatement("a", "INSERT OR REPLACE INTO a VALUES", (k, 0, "x" * 300))])
        os.write(1, b"put %d\\n" % k)
        time.sleep(0.0003)
"""


@pytest.mark.slow
@pytest.mark.parametrize("n_commits", [5, 21])
def test_a_kill_costs_what_was_put_since_the_last_commit_but_one(path: Path, n_commits: int) -> None:
    """Whatever was put when a commit began is in this one or the next: nothing waits longer."""
    said = []
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(CHILD), str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            if sum(one.startswith(b"commit") for one in said) == n_commits:
                process.kill()
                break
        said += process.stdout.readlines()
    n_put, n_begun, due, begun = 0, 0, [0], [0]
    for word, _, number in (line.partition(b" ") for line in said if line.endswith(b"\n")):
        if word == b"put":
            n_put = int(number) + 1
        else:
            n_begun += int(number)
            assert n_begun >= due[-1], "what was put before the last commit began is in this one"
            due.append(n_put)
            begun.append(n_begun)
    there = {k for (k,) in rows(path, "SELECT k FROM a")}
    assert there == set(range(len(there))), "no hole"
    assert begun[-2] <= len(there) <= n_put + 1, "a commit begins when the one before is on disk"


def test_what_waits_for_a_slow_disk_is_bounded_if_one_asks(
    path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BACKLOG_BYTES", 100_000)
    done = threading.Event()

    def wait() -> None:
        writer.wait_for_room()
        done.set()

    waiting = threading.Thread(target=wait)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")  # the disk is busy
        n_put = 0
        while not writer.is_behind:
            writer.put([put_a(n_put)], 1000)
            n_put += 1
        assert n_put == 100_000 // (1000 + module._PUT_BYTES) + 1, "texts count, and the rest of a put too"
        waiting.start()
        assert not done.wait(0.05)
        db.execute("COMMIT")
    waiting.join()
    assert done.is_set()
    writer.flush()
    assert len(rows(path, "SELECT k FROM a")) == n_put


def test_whoever_waits_for_room_hears_that_nothing_can_be_written(
    writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BACKLOG_BYTES", 0)
    writer.put([WriteStatement("c", "INSERT INTO nowhere VALUES", (1,))])
    with pytest.raises(StoreError):
        writer.wait_for_room()


def test_a_long_backlog_is_written_in_order_and_whole(
    path: Path, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_GROUP_PUTS", 3)
    for k in range(50):
        writer.put([WriteStatement("b", PUT_B, (k % 7, str(k)))])
    writer.flush()
    assert rows(path, "SELECT k, v FROM b") == [(k % 7, str(k)) for k in range(49, 50)] + [
        (k % 7, str(k)) for k in range(43, 49)
    ]
