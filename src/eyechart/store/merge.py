"""Merging the journals of shards into one, by SQLite itself: nothing passes through Python."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import StoreError
from eyechart.store import batches, sqlite
from eyechart.store.reader import open_to_read
from eyechart.store.sqlite import store_errors

# In the order of their rows in a journal of one run; `sessions` gets new numbers.
_TABLES = ("samples", "asks", "replies", "failures", "slips", "scores", "calls")
_SESSION = "started_at, seconds, sent, retried, cached"
_WRITING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC)

# What an earlier merged run has and its shards have not. A verdict is kept if it is on the reply that counts,
# and on the sample as it is now; a failure, if there is still no reply.
_CARRY = (
    """CREATE TEMP TABLE changed AS SELECT id FROM part.samples p JOIN main.samples s USING (id)
       WHERE json_remove(CAST(s.body AS TEXT), '$.images', '$.row')
          <> json_remove(CAST(p.body AS TEXT), '$.images', '$.row')""",
    "INSERT OR IGNORE INTO asks SELECT * FROM part.asks",
    "INSERT OR IGNORE INTO calls SELECT * FROM part.calls",
    """INSERT OR IGNORE INTO failures SELECT * FROM part.failures f
       WHERE NOT EXISTS (SELECT 1 FROM main.replies r WHERE r.sample = f.sample AND r.trial = f.trial)""",
    """INSERT OR {verdicts} INTO scores SELECT * FROM part.scores p
       WHERE sample NOT IN (SELECT id FROM changed) AND EXISTS (
         SELECT 1 FROM main.asks a WHERE a.sample = p.sample AND a.trial = p.trial AND a.key = p.key)""",
    """INSERT OR IGNORE INTO slips SELECT * FROM part.slips p
       WHERE sample NOT IN (SELECT id FROM changed) AND NOT EXISTS (
         SELECT 1 FROM main.scores s
         WHERE s.sample = p.sample AND s.trial = p.trial AND s.scorer = p.scorer)""",
)


class JournalMerge:
    """A new journal, made of others, which are only read. It is complete when the block of `merging` ends."""

    def __init__(self, db: sqlite3.Connection, target: Path) -> None:
        self._db = db
        self._target = target  # for messages

    def add(self, path: Path) -> None:
        """Add a journal with other samples."""
        _check_version(path)
        with self._attached(path):
            try:
                for table in _TABLES:
                    self._db.execute(f"INSERT INTO {table} SELECT * FROM part.{table}")  # noqa: S608 - only constants
            except sqlite3.IntegrityError as err:
                raise StoreError(
                    f"{path}: one of its samples is also in another shard", hint="run the shards again"
                ) from err
            self._add_sessions()

    def count_missing(self, old: Path) -> int:
        """How many replies of the journal `old` are not in this one."""
        sql = """
            SELECT count(*) FROM part.replies r WHERE NOT EXISTS (SELECT 1 FROM main.replies n
              WHERE n.sample = r.sample AND n.trial = r.trial AND n.key = r.key)"""
        with self._attached(old):
            return int(self._db.execute(sql).fetchone()[0])

    def carry_over(self, old: Path, *, is_newer: bool) -> None:
        """Add all that an earlier merged journal has beyond these shards.

        `is_newer`: its verdicts are later than those of the shards, and replace them.
        """
        with self._attached(old):
            for statement in _CARRY:
                self._db.execute(statement.format(verdicts="REPLACE" if is_newer else "IGNORE"))
            self._add_sessions()

    def set_meta(self, meta: Mapping[str, Any]) -> None:
        """Write what is known about the whole run."""
        rows = [(name, msgspec.json.encode(value).decode()) for name, value in meta.items()]
        self._db.executemany("INSERT INTO meta VALUES (?, ?)", rows)

    def _add_sessions(self) -> None:
        self._db.execute(f"""
            INSERT INTO sessions ({_SESSION}) SELECT {_SESSION} FROM part.sessions
            WHERE started_at NOT IN (SELECT started_at FROM main.sessions) ORDER BY id""")  # noqa: S608
        batches.copy_batches(self._db)

    @contextlib.contextmanager
    def _attached(self, path: Path) -> Iterator[None]:
        """A transaction with the journal at `path` as ``part``. After an error, this journal is useless."""
        try:
            _attach(self._db, path)
            self._db.execute("BEGIN")
            yield
            self._db.execute("COMMIT")
            self._db.execute("DETACH part")
        except sqlite3.Error as err:
            is_writing = getattr(err, "sqlite_errorcode", 0) in _WRITING
            with store_errors(self._target if is_writing else path):
                raise


@contextlib.contextmanager
def merging(draft: Path, target: Path) -> Iterator[JournalMerge]:
    """Write a new journal to the empty file `draft`, which will replace `target`."""
    with store_errors(target), contextlib.closing(sqlite.connect_as(draft, "mode=rw")) as db:
        # Nothing is rolled back: after an error, the draft is removed. So no file beside it outlives a kill.
        db.execute("PRAGMA journal_mode = OFF")
        sqlite.create_tables(db)
        yield JournalMerge(db, target)


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
