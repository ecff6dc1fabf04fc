"""The way into a journal that is only read: a connection, and rows a page at a time."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyechart.store import schema
from eyechart.store.database import connect_to_read, store_errors

_HELD_BYTES = 8 * 2**20  # of texts: rows that are longer than that together are handed out one by one
PAGE = 500  # rows read at a time: a reader that never lingers lets SQLite fold its log back in


class Pages:
    """A journal to be read, at any time and from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _pages(self, sql: str, *values: object, only: str | None = None) -> Iterator[tuple[Any, ...]]:
        """Rows of a query over samples, a page of samples at a time: those after `?1`, up to `?2`.

        `only`: a page with nothing but the sample of this id.
        """
        page = """SELECT max(position) FROM
                  (SELECT position FROM samples WHERE position > ? ORDER BY position LIMIT ?)"""
        with self._reading() as db:
            if only is not None:
                found = db.execute("SELECT position FROM samples WHERE id = ?", (only,)).fetchone()
                if found is not None:
                    yield from db.execute(sql, (found[0] - 1, found[0], *values)).fetchall()
                return
            last = -1
            while (end := db.execute(page, (last, PAGE)).fetchone()[0]) is not None:
                yield from _gathered(db.execute(sql, (last, end, *values)))
                last = end

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with store_errors(self.path), contextlib.closing(open_to_read(self.path)) as db:
            yield db


def open_to_read(path: Path) -> sqlite3.Connection:
    """A connection to a journal of any version that this eyechart reads."""
    with store_errors(path):
        db = connect_to_read(path)
        try:
            schema.check_version(db, str(path))
            schema.complete_tables(db)
        except BaseException:
            db.close()
            raise
        return db


def _gathered(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    """All rows, read before the first is handed out, as far as they are short."""
    rows: list[tuple[Any, ...]] = []
    n_bytes = 0
    for row in cursor:
        rows.append(row)
        n_bytes += sum(len(value) for value in row if type(value) is bytes)
        if n_bytes > _HELD_BYTES:
            yield from rows
            rows = []
    yield from rows
