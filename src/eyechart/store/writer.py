"""One thread that writes, in groups.

Whoever has something to write does not wait: it goes to a queue, and the writer takes whatever has gathered
there into one transaction. The disk itself sets the pace, so a slow one gets larger groups, not a slower run.

What waits in the queue is memory. Whoever produces more must ask `is_behind`, and `wait_for_room` when it is:
`put` itself never blocks, because the event loop calls it.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from eyechart.errors import StoreError
from eyechart.store.database import connect, store_errors

# A crash costs what was answered within this time, besides all that was under way, which is more as a rule;
# and every commit costs as much as several answers.
_GATHER_S = 0.05
# SQLite's calls let other threads run, and to wait for one's turn again costs more than a row: so rows of a
# kind go in as few calls as possible. Few sizes, because each is a statement of its own to be prepared.
_ROWS_AT_ONCE = (64, 16, 4, 1)
# Twenty times what an endpoint's answers leave waiting at full speed; a model in this process can be faster.
_BACKLOG_BYTES = 16 * 2**20
_PUT_BYTES = 1024  # of a put besides its texts: the statements, their rows, keys
_GROUP_PUTS = 2_000  # at most, so that a long backlog makes room before all of it is on disk


class Statement(NamedTuple):
    """One row to write. An `sql` that ends with ``VALUES`` takes many rows at once; any other takes one."""

    table: str
    sql: str
    row: tuple[Any, ...]


class _Flush(msgspec.Struct, frozen=True):
    done: threading.Event


_Put = tuple[list[Statement], int]  # and the bytes that they take while they wait


class Writer:
    """Writes to one SQLite file, from when it is made until it is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[_Put | _Flush | None] = queue.SimpleQueue()
        self._trouble: StoreError | None = None
        self._latest: deque[Statement] = deque(maxlen=1)
        self._is_awaited = threading.Event()  # somebody waits for the disk: gather no longer
        self._is_closed = False
        self._door = threading.Lock()  # no puts after the close sentinel
        self._written = threading.Condition(self._door)
        self._n_bytes = 0  # put and not on disk yet
        self._thread = threading.Thread(target=self._write, name="eyechart-journal", daemon=True)
        self._thread.start()

    def put(self, statements: list[Statement], n_bytes: int = 0) -> None:
        """Write these, together or not at all, some time soon. `n_bytes`: of the texts in them."""
        self._enqueue((statements, n_bytes + _PUT_BYTES), n_bytes + _PUT_BYTES)

    @property
    def is_behind(self) -> bool:
        """So much waits for the disk that no more should be produced for now: see `wait_for_room`."""
        return self._n_bytes > _BACKLOG_BYTES

    def wait_for_room(self) -> None:
        """Return when at most half of the allowed backlog is left; raise if it cannot be written."""
        with self._written:
            self._is_awaited.set()
            self._written.wait_for(lambda: self._n_bytes <= _BACKLOG_BYTES // 2 or self._trouble is not None)
        self.raise_trouble()

    def put_latest(self, statement: Statement) -> None:
        """Write this with the next group, in place of the one given before: for running totals."""
        self._latest.append(statement)

    def flush(self) -> None:
        """Return when all that was put is on disk; raise if it cannot be."""
        flush = _Flush(threading.Event())
        self._enqueue(flush)
        self._is_awaited.set()
        flush.done.wait()
        self.raise_trouble()

    def close(self) -> None:
        """Write what is left and stop."""
        with self._door:
            if not self._is_closed:
                self._is_closed = True
                self._queue.put(None)
                self._is_awaited.set()
        self._thread.join()
        self.raise_trouble()

    def raise_trouble(self) -> None:
        """Raise what stopped the writer, if anything did."""
        if self._trouble is not None:
            raise self._trouble

    def _enqueue(self, what: _Put | _Flush, n_bytes: int = 0) -> None:
        self.raise_trouble()
        with self._door:
            assert not self._is_closed, "it was closed"
            self._n_bytes += n_bytes
            self._queue.put(what)

    def _write(self) -> None:
        """The thread: take what has gathered, commit it, tell those who wait."""
        waiting: list[_Flush] = []
        is_open = True
        try:
            with store_errors(self._path), contextlib.closing(connect(self._path)) as db:
                while is_open:
                    group = self._gather()
                    waiting = [item for item in group if isinstance(item, _Flush)]
                    is_open = None not in group
                    puts = [item for item in group if isinstance(item, tuple)]
                    self._commit(db, itertools.chain(*(statements for statements, _ in puts)))
                    _release(waiting)
                    self._make_room(sum(n_bytes for _, n_bytes in puts))
                    del group, puts  # while we wait for more, what is written must not stay
        except Exception as err:  # whatever it is, those who append must hear of it
            other = f"{self._path}: {type(err).__name__}: {err}"
            self._trouble = err if isinstance(err, StoreError) else StoreError(other)
            _release(waiting)
            self._make_room(0)
            # Nobody may wait for ever; `close` may have spoken its last word already.
            while is_open and (item := self._queue.get()) is not None:
                _release([item] if isinstance(item, _Flush) else [])

    def _make_room(self, n_bytes: int) -> None:
        with self._written:
            self._n_bytes -= n_bytes
            self._written.notify_all()

    def _gather(self) -> list[_Put | _Flush | None]:
        """What there is to write, once there is something."""
        group = [self._queue.get()]
        self._is_awaited.wait(_GATHER_S)
        if self._queue.empty():
            self._is_awaited.clear()  # else those who wait are not served with this group, as a rule
        # Only what is there by now: those who go on putting must not keep us from the disk.
        group += [self._queue.get() for _ in range(min(self._queue.qsize(), _GROUP_PUTS))]
        return group

    def _commit(self, db: sqlite3.Connection, statements: Iterable[Statement]) -> None:
        latest = [self._latest.pop()] if self._latest else []
        db.execute("BEGIN IMMEDIATE")
        for sql, row in _in_bulk([*statements, *latest]):
            db.execute(sql, row)
        db.execute("COMMIT")


def _in_bulk(statements: Iterable[Statement]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The same in fewer calls. What concerns one table stays in order; tables do not know each other."""
    tables: dict[str, list[Statement]] = {}
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
    one = f"({', '.join('?' * len(rows[0]))})"
    start = 0
    while start < len(rows):
        n = next(size for size in _ROWS_AT_ONCE if size <= len(rows) - start)
        yield f"{sql} {', '.join([one] * n)}", tuple(itertools.chain(*rows[start : start + n]))
        start += n


def _release(flushes: list[_Flush]) -> None:
    for flush in flushes:
        flush.done.set()
