"""Merging the journals of shards into one, by SQLite itself: nothing passes through Python."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import StoreError
from eyechart.store import sqlite
from eyechart.store.reader import open_to_read
from eyechart.store.sqlite import store_errors

# In the order of their rows in a journal of one run; `sessions` gets new numbers.
_TABLES = ("samples", "asks", "replies", "failures", "slips", "scores", "calls")
_SESSION = "started_at, seconds, sent, retried, cached"


def merge_journals(target: Path, journals: Sequence[Path], meta: Mapping[str, Any]) -> None:
    """Write a new journal at `target` with the rows of all others, and `meta` about the whole run.

    The journals must hold different samples. They are only read.
    """
    where = target.absolute().as_uri()
    with (
        store_errors(target),
        contextlib.closing(sqlite3.connect(f"{where}?mode=rw", uri=True, isolation_level=None)) as db,
    ):
        sqlite.create_tables(db)
        for path in journals:
            _copy(db, path)
        rows = [(name, msgspec.json.encode(value).decode()) for name, value in meta.items()]
        db.executemany("INSERT INTO meta VALUES (?, ?)", rows)


def _copy(db: sqlite3.Connection, path: Path) -> None:
    _check_version(path)
    with store_errors(path):
        _attach(db, path)
        try:
            db.execute("BEGIN")
            for table in _TABLES:
                db.execute(f"INSERT INTO {table} SELECT * FROM part.{table}")  # noqa: S608 - only constants
            db.execute(f"INSERT INTO sessions ({_SESSION}) SELECT {_SESSION} FROM part.sessions ORDER BY id")  # noqa: S608
            db.execute("COMMIT")
        except sqlite3.IntegrityError as err:
            db.execute("ROLLBACK")
            raise StoreError(
                f"{path}: one of its samples is also in another shard", hint="run the shards again"
            ) from err
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
            db.execute("DETACH part")


def _attach(db: sqlite3.Connection, path: Path) -> None:
    """Attach a journal, also of a folder that is not writable."""
    where = path.absolute().as_uri()
    try:
        db.execute("ATTACH ? AS part", (f"{where}?mode=rw",))
        db.execute("SELECT 1 FROM part.sqlite_master")
    except sqlite3.OperationalError:
        if path.with_name(f"{path.name}-wal").exists():
            raise
        with contextlib.suppress(sqlite3.Error):
            db.execute("DETACH part")
        db.execute("ATTACH ? AS part", (f"{where}?immutable=1",))


def _check_version(path: Path) -> None:
    """Only journals of the current format have the same columns."""
    with store_errors(path), contextlib.closing(open_to_read(path)) as db:
        found = int(db.execute("PRAGMA user_version").fetchone()[0])
    if found != sqlite.VERSION:
        raise StoreError(
            f"{path} was written by an earlier eyechart (format {found}, this one writes {sqlite.VERSION})",
            hint="run the shard again; replies that are stored are not asked again",
        )


def count_unmerged(old: Path, new: Path) -> int:
    """How many replies of the journal `old` are not in `new`."""
    sql = """
        SELECT count(*) FROM replies r WHERE NOT EXISTS (
          SELECT 1 FROM new.replies n WHERE n.sample = r.sample AND n.trial = r.trial AND n.key = r.key)"""
    with store_errors(old), contextlib.closing(open_to_read(old)) as db:
        db.execute("ATTACH ? AS new", (f"{new.absolute().as_uri()}?mode=ro",))
        return int(db.execute(sql).fetchone()[0])
