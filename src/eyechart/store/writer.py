"""One thread that writes, in groups.

Whoever has something to write does not wait: it goes to a queue, and the writer takes whatever has gathered
there into one transaction. The disk itself sets the pace, so a slow one gets larger groups, not a slower run.
"""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eyechart.errors import StoreError
from eyechart.store.database import connect, store_errors

Statement = tuple[str, tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class _Flush:
    done: threading.Event


class Writer:
    """Writes to one SQLite file, from when it is made until it is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[list[Statement] | _Flush | None] = queue.SimpleQueue()
        self._trouble: StoreError | None = None
        self._latest: Statement | None = None
        self._thread: threading.Thread | None = threading.Thread(
            target=self._write, name="eyechart-journal", daemon=True
        )
        self._thread.start()

    def put(self, statements: list[Statement]) -> None:
        """Write these, together or not at all, some time soon."""
        self._enqueue(statements)

    def put_latest(self, statement: Statement) -> None:
        """Write this with the next group, in place of the one given before: for running totals."""
        self._latest = statement

    def flush(self) -> None:
        """Return when all that was put is on disk; raise if it cannot be."""
        flush = _Flush(threading.Event())
        self._enqueue(flush)
        flush.done.wait()
        self.raise_trouble()

    def close(self) -> None:
        """Write what is left and stop."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None
        self.raise_trouble()

    def raise_trouble(self) -> None:
        """Raise what stopped the writer, if anything did."""
        if self._trouble is not None:
            raise self._trouble

    def _enqueue(self, what: list[Statement] | _Flush) -> None:
        self.raise_trouble()
        assert self._thread is not None, "it was closed"
        self._queue.put(what)

    def _write(self) -> None:
        """The thread: take what has gathered, commit it, tell those who wait."""
        waiting: list[_Flush] = []
        is_open = True
        try:
            with store_errors(self._path), contextlib.closing(connect(self._path)) as db:
                while is_open:
                    group = [self._queue.get()]
                    with contextlib.suppress(queue.Empty):
                        while True:
                            group.append(self._queue.get_nowait())
                    waiting = [item for item in group if isinstance(item, _Flush)]
                    is_open = None not in group
                    self._commit(db, [item for item in group if isinstance(item, list)])
                    _release(waiting)
        except Exception as err:  # whatever it is, those who append must hear of it
            other = f"{self._path}: {type(err).__name__}: {err}"
            self._trouble = err if isinstance(err, StoreError) else StoreError(other)
            _release(waiting)
            # Nobody may wait for ever; `close` may have spoken its last word already.
            while is_open and (item := self._queue.get()) is not None:
                _release([item] if isinstance(item, _Flush) else [])

    def _commit(self, db: sqlite3.Connection, group: list[list[Statement]]) -> None:
        latest, self._latest = self._latest, None
        db.execute("BEGIN IMMEDIATE")
        for statements in [*group, [latest] if latest else []]:
            for sql, row in statements:
                db.execute(sql, row)
        db.execute("COMMIT")


def _release(flushes: list[_Flush]) -> None:
    for flush in flushes:
        flush.done.set()
