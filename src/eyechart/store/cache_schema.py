"""The tables of responses.sqlite, and their version.

`entries` has one short row for each reply, so that counting, choosing what goes and noting that one was used
never touch the replies themselves; those are in `bodies`, in the order in which they came.
"""

from __future__ import annotations

import sqlite3
import time

from eyechart.errors import StoreError

VERSION = 1
APPLICATION = 0x65796563  # "eyec": says in the file itself whose it is

_TABLES = (
    """CREATE TABLE entries (
      id    INTEGER PRIMARY KEY,           -- that of its body
      short INTEGER NOT NULL,              -- the first 64 bits of the key: an index that stays small
      key   BLOB NOT NULL,                 -- sha256 of what was asked
      model TEXT NOT NULL,                 -- as the user wrote it
      bytes INTEGER NOT NULL,              -- of the body
      crc   INTEGER NOT NULL,              -- of key and body: a page gone bad gives no answer
      made  REAL NOT NULL,
      used  INTEGER NOT NULL               -- the day, counted from 1970: at most one write a day
    )""",
    "CREATE INDEX by_key ON entries (short)",
    "CREATE INDEX by_use ON entries (used)",
    "CREATE TABLE bodies (id INTEGER PRIMARY KEY, body BLOB NOT NULL)",  # types.Reply as JSON
)

# The statements that lead from each version to the next one.
UPGRADES: dict[int, tuple[str, ...]] = {}

_WAL_LOG_BYTES = 16 * 2**20  # what the log may keep of the disk once it was folded back in


class Damaged(Exception):
    """The file is ours, and cannot be trusted."""


def prepare(db: sqlite3.Connection, where: str, *, patience_s: float) -> None:
    """Lay out a new file, bring an older one up to date, refuse any other before anything is changed."""
    check(db, where)
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # counts for a file without tables only
    _use_log(db, patience_s)
    db.execute("BEGIN IMMEDIATE")  # two runs may make the file at the same moment
    try:
        if _is_empty(db):
            _execute_all(db, _TABLES)
            db.execute(f"PRAGMA application_id = {APPLICATION}")
        else:
            for version in range(version_of(db), VERSION):
                _execute_all(db, UPGRADES[version])
        db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def check(db: sqlite3.Connection, where: str) -> None:
    """Refuse a file that is not ours or that a newer eyechart wrote; an empty one is welcome."""
    if _is_empty(db):
        return
    if int(db.execute("PRAGMA application_id").fetchone()[0]) != APPLICATION:
        raise StoreError(f"{where} is not a cache of eyechart", hint="move it away: its name is taken")
    if (found := version_of(db)) > VERSION:
        raise StoreError(
            f"{where} was written by a newer eyechart (format {found}, this one reads {VERSION})",
            hint="upgrade eyechart, or name another folder in EYECHART_CACHE",
        )
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if found == VERSION and not {"entries", "bodies"} <= tables:
        raise Damaged(f"{where} lacks its tables")


def short(key: bytes) -> int:
    r"""The part of a key that is indexed, as SQLite holds it.

    >>> short(bytes(32)), short(b"\xff" * 32)
    (0, -1)
    """
    return int.from_bytes(key[:8], "big", signed=True)


def version_of(db: sqlite3.Connection) -> int:
    """The format of the file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def _is_empty(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _execute_all(db: sqlite3.Connection, statements: tuple[str, ...]) -> None:
    for statement in statements:
        db.execute(statement)


def _use_log(db: sqlite3.Connection, patience_s: float) -> None:
    """Let readers and a writer work at once. SQLite does not wait by itself while another does the same."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as err:
            if "locked" not in str(err) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    db.execute(f"PRAGMA journal_size_limit = {_WAL_LOG_BYTES}")
