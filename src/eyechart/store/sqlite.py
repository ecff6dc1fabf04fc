"""SQLite for the journal: connections and errors, the writer thread, and the tables with their versions."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyechart.errors import StoreError, shorten

# Errors of reading a value whose bytes are damaged: no JSON, other JSON, a cell of another type.
DECODING_ERRORS = (
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
    KeyError,
    TypeError,
    AttributeError,
)


def connect(path: Path) -> sqlite3.Connection:
    """A connection for writing."""
    # Iterators move between threads, but are never used by two at once.
    db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        db.execute("PRAGMA synchronous = FULL")  # a reply counts as done when it is on disk
    except BaseException:
        db.close()
        raise
    return db


def connect_as(path: Path, how: str, *, timeout: float = 30) -> sqlite3.Connection:
    """A connection to an existing file: ``mode=rw``, ``mode=ro`` or ``immutable=1``."""
    where = f"{path.absolute().as_uri()}?{how}"
    return sqlite3.connect(where, uri=True, isolation_level=None, timeout=timeout, check_same_thread=False)


def connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection for reading, also in a folder that is not writable, such as a colleague's."""
    db = connect_as(path, "mode=rw")
    try:
        db.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError as err:
        db.close()
        is_kept_out = any(words in str(err) for words in ("readonly", "unable to open"))
        if not is_kept_out or path.with_name(f"{path.name}-wal").exists():
            raise
        return connect_as(path, "immutable=1")  # without a write-ahead log the file is complete
    except sqlite3.Error:
        db.close()
        raise
    return db


def connect_untouched(path: Path) -> sqlite3.Connection:
    """A connection for a short read that changes no file beside the journal, and creates none.

    With a write-ahead log, a process is writing or was killed: the log is read, never moved into the file.
    Without one the file is complete.
    """
    log = path.with_name(f"{path.name}-wal")
    try:
        has_log = log.stat().st_size > 0
    except OSError:
        has_log = False
    return connect_as(path, "mode=ro" if has_log else "immutable=1")


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors, and those of damage that SQLite does not notice, into `StoreError`."""
    try:
        yield
    except DECODING_ERRORS as err:
        raise StoreError(
            f"{path}: a value cannot be decoded ({shorten(str(err))})",
            hint="the file is damaged; start over with --fresh or another --out",
        ) from err
    except sqlite3.Error as err:
        hints: Mapping[str, str] = {
            "full": "free some space and run the same command again: all answers on disk are kept",
            "readonly": "the folder must be writable; choose another with --out",
            "unable to open": "the folder must exist and be writable; choose another with --out",
            "disk I/O": "check the disk; run the same command again: all answers on disk are kept",
            "not a database": "it is damaged or another program's; start over with --fresh or another --out",
            "malformed": "the file is damaged; start over with --fresh or another --out",
            "locked": "another process holds the run; wait for it or choose another --out",
        }
        hint = next((text for word, text in hints.items() if word in str(err)), "")
        raise StoreError(f"{path}: {err}", hint=hint) from err


# -- One thread that writes, in groups
#
# `put` adds to a queue and returns; the writer takes all that has gathered there into one transaction. The
# disk sets the pace, so a slow one gets larger groups, not a slower run.
#
# What waits in the queue is memory. Producers check `is_behind`, and call `wait_for_room` when it is true:
# `put` itself never blocks, because the event loop calls it.

# Between two commits. A crash costs what was answered within this time and that of a commit, besides all
# requests in flight. Less would cost CPU: every commit takes as much as several answers.
_GATHER_S = 0.004
# SQLite releases the GIL in every call, and getting it back costs more than writing a row: so equal
# statements are combined into few calls, each with at most so many rows.
_ROWS_AT_ONCE = 64
# Twenty times the backlog of an endpoint at full speed; a model in this process can be faster.
_BACKLOG_BYTES = 16 * 2**20
_PUT_BYTES = 1024  # of a put besides its texts: the statements, their rows, keys
_GROUP_PUTS = 2_000  # at most, so that a long backlog makes room before all of it is on disk


class WriteStatement(NamedTuple):
    """One row to write. An `sql` that ends with ``VALUES`` takes many rows at once; any other takes one."""

    table: str
    sql: str
    row: tuple[Any, ...]


_Put = tuple[list[WriteStatement], int]  # and the bytes that they take while they wait
_Done = Callable[[], object]  # called when everything before it is on disk


class Writer:
    """A thread that writes to one SQLite file until it is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[_Put | _Done | None] = queue.SimpleQueue()
        self._trouble: StoreError | None = None
        self._latest: deque[WriteStatement] = deque(maxlen=1)
        self._is_awaited = threading.Event()  # a caller waits for the disk: write at once
        self._is_closed = False
        self._queue_lock = threading.Lock()  # no puts after the close sentinel
        self._written = threading.Condition(self._queue_lock)
        self._n_bytes = 0  # put and not on disk yet
        self._committed_at = 0.0
        self._thread = threading.Thread(target=self._write, name="eyechart-journal", daemon=True)
        self._thread.start()

    def put(self, statements: list[WriteStatement], n_bytes: int = 0) -> None:
        """Queue these for writing in one transaction. `n_bytes`: of the texts in them."""
        self._enqueue((statements, n_bytes + _PUT_BYTES), n_bytes + _PUT_BYTES)

    @property
    def is_behind(self) -> bool:
        """Whether the backlog is too large: see `wait_for_room`."""
        return self._n_bytes > _BACKLOG_BYTES

    def wait_for_room(self) -> None:
        """Return when at most half of the allowed backlog is left; raise if it cannot be written."""
        with self._written:
            self._is_awaited.set()
            self._written.wait_for(lambda: self._n_bytes <= _BACKLOG_BYTES // 2 or self._trouble is not None)
        self.raise_trouble()

    def put_latest(self, statement: WriteStatement) -> None:
        """Write this with the next group, replacing the one given before: for running totals."""
        self._latest.append(statement)

    def flush(self) -> None:
        """Return when everything queued is on disk; raise if it cannot be written."""
        done = threading.Event()
        self._enqueue(done.set)
        self._is_awaited.set()
        done.wait()
        self.raise_trouble()

    async def written(self) -> None:
        """The same, without blocking the event loop."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        self._enqueue(functools.partial(loop.call_soon_threadsafe, done.set))
        self._is_awaited.set()
        await done.wait()
        self.raise_trouble()

    def close(self) -> None:
        """Write what is left and stop."""
        with self._queue_lock:
            if not self._is_closed:
                self._is_closed = True
                self._queue.put(None)
                self._is_awaited.set()
        self._thread.join()
        self.raise_trouble()

    def raise_trouble(self) -> None:
        """Raise the error that stopped the writer, if any."""
        if self._trouble is not None:
            raise self._trouble

    def _enqueue(self, what: _Put | _Done, n_bytes: int = 0) -> None:
        self.raise_trouble()
        with self._queue_lock:
            assert not self._is_closed, "it was closed"
            self._n_bytes += n_bytes
            self._queue.put(what)

    def _write(self) -> None:
        """The thread: take what is queued, commit it, wake those who wait."""
        waiting: list[_Done] = []
        is_open = True
        try:
            with store_errors(self._path), contextlib.closing(connect(self._path)) as db:
                while is_open:
                    group = self._gather()
                    waiting = [item for item in group if callable(item)]
                    is_open = None not in group
                    puts = [item for item in group if isinstance(item, tuple)]
                    self._commit(db, itertools.chain(*(statements for statements, _ in puts)))
                    _release(waiting)
                    self._make_room(sum(n_bytes for _, n_bytes in puts))
                    del group, puts  # free the memory while waiting for more
        except Exception as err:  # callers of `put` must see any error
            other = f"{self._path}: {type(err).__name__}: {err}"
            self._trouble = err if isinstance(err, StoreError) else StoreError(other)
            _release(waiting)
            self._make_room(0)
            # Release callers that wait; the close sentinel may already be in the queue.
            while is_open and (item := self._queue.get()) is not None:
                _release([item] if callable(item) else [])

    def _make_room(self, n_bytes: int) -> None:
        with self._written:
            self._n_bytes -= n_bytes
            self._written.notify_all()

    def _gather(self) -> list[_Put | _Done | None]:
        """Wait for something to write and for the time of the next commit, then take all that is queued."""
        group = [self._queue.get()]
        self._is_awaited.wait(max(0.0, self._committed_at + _GATHER_S - time.monotonic()))
        if self._queue.empty():
            self._is_awaited.clear()  # otherwise the waiting caller's items may not be in this group
        # Only what is queued now: a steady stream of puts must not delay the commit.
        group += [self._queue.get() for _ in range(min(self._queue.qsize(), _GROUP_PUTS))]
        return group

    def _commit(self, db: sqlite3.Connection, statements: Iterable[WriteStatement]) -> None:
        latest = [self._latest.pop()] if self._latest else []
        db.execute("BEGIN IMMEDIATE")
        for sql, row in _in_bulk([*statements, *latest]):
            db.execute(sql, row)
        db.execute("COMMIT")
        self._committed_at = time.monotonic()


def _in_bulk(statements: Iterable[WriteStatement]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Combine statements into fewer calls. Order is kept within a table; tables are independent."""
    tables: dict[str, list[WriteStatement]] = {}
    for statement in statements:
        tables.setdefault(statement.table, []).append(statement)
    for of_table in tables.values():
        for sql, alike in itertools.groupby(of_table, key=attrgetter("sql")):
            rows = [statement.row for statement in alike]
            if sql.endswith("VALUES"):
                yield from _many_rows(sql, rows)
            else:
                yield from ((sql, row) for row in rows)


def _many_rows(sql: str, rows: list[tuple[Any, ...]]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[start : start + _ROWS_AT_ONCE]
        yield _repeat(sql, len(rows[0]), len(some)), tuple(itertools.chain(*some))


@lru_cache(maxsize=64)
def _repeat(sql: str, n_columns: int, n_rows: int) -> str:
    """The statement for so many rows at once."""
    one = f"({', '.join('?' * n_columns)})"
    return f"{sql} {', '.join([one] * n_rows)}"


def _release(waiting: Iterable[_Done]) -> None:
    for done in waiting:
        with contextlib.suppress(RuntimeError):  # an event loop that has ended
            done()


# -- The tables of run.sqlite, and their version
#
# `samples` is the source as it was read; `asks` is what was last asked for each sample and trial;
# `replies` keeps every answer ever paid for, keyed by what was asked; `failures` and `scores` follow them;
# since format 2, `calls` keeps earlier rounds of a conversation and judge calls, and `slips` the scorer
# errors: why a scorer gave no verdict; since format 3, `paid` says what a request took from the budget.

VERSION = 3
OLDEST = 1  # the first format that can be brought up to date

SINCE_2 = """
CREATE {kind} calls (
  sample TEXT NOT NULL, trial INTEGER NOT NULL, key TEXT NOT NULL,
  purpose TEXT NOT NULL,                  -- "round:0", "judge:mcqa"
  asked  BLOB NOT NULL,                   -- the messages as sent
  body   BLOB NOT NULL,                   -- types.Reply as JSON
  attempts INTEGER NOT NULL,
  at     REAL NOT NULL,
  PRIMARY KEY (sample, trial, key)
) WITHOUT ROWID;

CREATE {kind} slips (
  sample TEXT NOT NULL, trial INTEGER NOT NULL, scorer TEXT NOT NULL,
  body   BLOB NOT NULL,                   -- types.Failure as JSON
  at     REAL NOT NULL,
  PRIMARY KEY (sample, trial, scorer)
) WITHOUT ROWID;
"""

# `paid`: types.Usage as JSON, of this request alone, guessed where the endpoint does not count; NULL where
# nothing was: for a reply that another run paid for, and for one that came with another.
PAID_REPLIES = "ALTER TABLE replies ADD COLUMN paid TEXT;"
PAID_CALLS = """
ALTER TABLE calls ADD COLUMN paid TEXT;
ALTER TABLE calls ADD COLUMN model TEXT NOT NULL DEFAULT '';  -- who was asked; empty: not known
"""

TABLES = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE samples (
  position INTEGER PRIMARY KEY,
  id       TEXT NOT NULL UNIQUE,
  body     BLOB NOT NULL                  -- types.Sample as JSON
);

CREATE TABLE asks (
  sample TEXT NOT NULL, trial INTEGER NOT NULL,
  key    TEXT NOT NULL,                   -- hash of model, endpoint, parameters, messages, images, trial
  recipe TEXT NOT NULL,                   -- the same from file names, sizes and times: cheap to compute again
  body   BLOB NOT NULL,                   -- the messages as sent, each image by its record
  PRIMARY KEY (sample, trial)
) WITHOUT ROWID;

CREATE TABLE replies (
  sample TEXT NOT NULL, trial INTEGER NOT NULL, key TEXT NOT NULL,
  body   BLOB NOT NULL,                   -- types.Reply as JSON
  attempts INTEGER NOT NULL,
  at     REAL NOT NULL,
  PRIMARY KEY (sample, trial, key)
) WITHOUT ROWID;

CREATE TABLE failures (
  sample TEXT NOT NULL, trial INTEGER NOT NULL,
  body   BLOB NOT NULL,                   -- types.Failure as JSON
  at     REAL NOT NULL,
  PRIMARY KEY (sample, trial)
) WITHOUT ROWID;

CREATE TABLE scores (
  sample TEXT NOT NULL, trial INTEGER NOT NULL, key TEXT NOT NULL,
  scorer TEXT NOT NULL, version TEXT NOT NULL,
  outcome TEXT NOT NULL, value REAL NOT NULL,
  body   BLOB NOT NULL,                   -- types.Score as JSON
  PRIMARY KEY (sample, trial, scorer)
) WITHOUT ROWID;

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY, started_at REAL NOT NULL, seconds REAL NOT NULL,
  sent INTEGER NOT NULL, retried INTEGER NOT NULL, cached INTEGER NOT NULL
);
{SINCE_2.format(kind="TABLE")}
{PAID_REPLIES}
{PAID_CALLS}"""

# Scorers that failed were among the failures: without a verdict, those replies are scored again.
_FORGET_SCORER_ERRORS = "DELETE FROM failures WHERE json_extract(CAST(body AS TEXT), '$.stage') = 'score';"
# What an endpoint counted was what it took; a reply counted its rounds as well.
_TAKE_COUNTED = """
UPDATE replies SET paid = json_extract(CAST(body AS TEXT), '$.usage') WHERE attempts > 0;
UPDATE calls SET paid = json_extract(CAST(body AS TEXT), '$.usage')
  WHERE attempts > 0 AND purpose LIKE 'judge:%';
"""
# A run had one judge then, and its manifest names it.
_ONE_JUDGE = """coalesce(
    (SELECT json_extract(value, '$.judge.model') FROM meta WHERE name = 'manifest'), '')"""
_NAME_JUDGES = f"UPDATE calls SET model = {_ONE_JUDGE} WHERE purpose LIKE 'judge:%';"  # noqa: S608
_STEPS = (
    (2, SINCE_2.format(kind="TABLE") + _FORGET_SCORER_ERRORS),
    (3, PAID_REPLIES + PAID_CALLS + _TAKE_COUNTED + _NAME_JUDGES),
)


def create_tables(db: sqlite3.Connection) -> None:
    """Create the tables of an empty journal."""
    db.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;")


def upgrade_tables(db: sqlite3.Connection) -> None:
    """Upgrade an older journal in one transaction."""
    found = _version(db)
    if steps := "".join(step for version, step in _STEPS if found < version):
        db.executescript(f"BEGIN IMMEDIATE; {steps} PRAGMA user_version = {VERSION}; COMMIT;")


def complete_tables(db: sqlite3.Connection) -> None:
    """Add temporary tables to read an older journal like a current one, without changing it."""
    found = _version(db)
    if found < 2:
        db.executescript(SINCE_2.format(kind="TEMP TABLE") + PAID_CALLS)
    elif found < 3:
        model = f"CASE WHEN purpose LIKE 'judge:%' THEN {_ONE_JUDGE} ELSE '' END"
        db.execute(f"CREATE TEMP VIEW calls AS SELECT *, NULL AS paid, {model} AS model FROM main.calls")  # noqa: S608


def check_version(db: sqlite3.Connection, where: str) -> None:
    """Refuse a journal that this eyechart cannot read."""
    found = _version(db)
    if found > VERSION:
        raise StoreError(
            f"{where} was written by a newer eyechart (format {found}, this one reads {VERSION})",
            hint="upgrade eyechart, or start over in another folder with --out",
        )
    if found < OLDEST:
        raise StoreError(f"{where} is not a run of eyechart", hint="give the folder that contains run.sqlite")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])
