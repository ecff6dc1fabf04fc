"""The thread that writes the cache: what was put, in groups, and what has been used; then makes room."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator

import msgspec

from eyechart.store.cache_known import Known
from eyechart.store.cache_schema import short
from eyechart.types import Reply

EVERY_S = 0.5  # between groups: a commit for each reply would cost more than the reply's own request
MANY = 2_000  # replies that are not left waiting so long
MOST_WAITING_BYTES = 64 * 2**20  # of text; what comes while a disk is that slow is not kept
LOW_WATER = 0.9  # of the limit, once it was passed
SHARE = 0.1  # of the limit: a larger reply would drive out too many others

_BATCH = 1_000  # entries removed at once, so that other processes get their turn
_ROW_BYTES = 200  # of an entry besides its body, indexes included
_CLOSE_S = 30.0

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Reply).decode

_Row = tuple[bytes, str, bytes]  # key, model, body


class CacheWriter:
    """Writes over one connection, which it closes in the end."""

    def __init__(self, db: sqlite3.Connection, max_bytes: int, give_up: Callable[[Exception], None]) -> None:
        self.today = _today()
        self._db = db
        self._max_bytes = max_bytes
        self._give_up = give_up
        self._lock = threading.Lock()
        self._waiting: dict[str, tuple[str, Reply]] = {}
        self._under_way: dict[str, tuple[str, Reply]] = {}
        self._waiting_bytes = 0
        self._used: set[int] = set()
        self._wake = threading.Event()
        self.known = Known(self._wake)
        self._is_closing = False
        self._thread = threading.Thread(target=self._work, name="eyechart-cache", daemon=True)
        self._thread.start()

    def put(self, key: str, model: str, reply: Reply) -> None:
        """Write this some time soon."""
        with self._lock:
            if self._waiting_bytes > MOST_WAITING_BYTES or self._is_closing:
                return
            self._waiting[key] = (model, reply)
            self._waiting_bytes += len(reply.text) + len(reply.thinking)
            is_many = len(self._waiting) == MANY
        if is_many:
            self._wake.set()

    def waiting(self, key: str) -> Reply | None:
        """A reply that is on its way to the file."""
        # In this order: a group moves from the one to the other, then to the file.
        found = self._waiting.get(key) or self._under_way.get(key)
        return found[1] if found is not None else None

    def use(self, entry: int) -> None:
        """Note that an entry was used today."""
        with self._lock:
            self._used.add(entry)

    def close(self) -> None:
        """Write what is left and stop."""
        with self._lock:
            self._is_closing = True
        self._wake.set()
        self._thread.join(_CLOSE_S)

    def _work(self) -> None:
        """The thread."""
        try:
            is_last = False
            while not is_last:
                self._wake.wait(EVERY_S)
                self._wake.clear()
                is_last = self._is_closing
                self.today = _today()
                if self._write():
                    make_room(self._db, self._max_bytes)
        except Exception as err:  # whatever it is: the run goes on without its cache
            self._give_up(err)
        finally:
            with self._lock:
                self._is_closing = True
                self._waiting, self._under_way, self._used = {}, {}, set()
            self._db.close()

    def _write(self) -> bool:
        """One group, in one transaction; whether it added anything."""
        with self._lock:
            self._under_way, self._waiting, self._waiting_bytes = self._waiting, {}, 0
            used, self._used = self._used, set()
        self.known.learn(self._db)
        rows = list(_rows(self._under_way, int(self._max_bytes * SHARE)))
        if rows or used:
            write_group(self._db, self.known, rows, used, self.today)
        self._under_way = {}
        return bool(rows)


def write_group(
    db: sqlite3.Connection, known: Known, rows: list[_Row], used: Iterable[int], today: int
) -> None:
    """Add replies, each in place of an earlier one to the same question, and note which were used."""
    now = time.time()
    with _transaction(db):
        known.learn(db)
        (last,) = db.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()
        numbered = list(enumerate(rows, start=last + 1))
        for key, _, _ in rows:
            if known.may_hold(short(key)):
                earlier = db.execute("SELECT id FROM entries WHERE short = ? AND key = ?", (short(key), key))
                _delete(db, [entry for (entry,) in earlier.fetchall()])
        db.executemany(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (number, short(key), key, model, len(body), checksum(key, body), now, today)
                for number, (key, model, body) in numbered
            ],
        )
        db.executemany("INSERT INTO bodies VALUES (?, ?)", [(number, row[2]) for number, row in numbered])
        db.executemany("UPDATE entries SET used = ? WHERE id = ?", [(today, entry) for entry in used])
    known.add([short(key) for key, _, _ in rows], last + len(rows))


def make_room(db: sqlite3.Connection, max_bytes: int) -> None:
    """Once the limit is passed, let the least recently used go, and give back what the file has too much."""
    if _bytes_in_use(db) <= max_bytes:
        return
    while (over := _bytes_in_use(db) - int(max_bytes * LOW_WATER)) > 0:
        oldest = db.execute("SELECT id, bytes FROM entries ORDER BY used, id LIMIT ?", (_BATCH,)).fetchall()
        if not oldest:
            break
        # Half of the way at a time: what an entry takes of its pages can only be guessed beforehand.
        taken = itertools.accumulate((n_bytes + _ROW_BYTES for _, n_bytes in oldest), initial=0)
        forget(db, [entry for (entry, _), before in zip(oldest, taken, strict=False) if before < over / 2])
    (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
    (n_pages,) = db.execute("PRAGMA page_count").fetchone()
    # Free pages below the limit stay in the file: the next replies need them.
    give_back(db, n_pages - max_bytes // page_bytes)


def forget(db: sqlite3.Connection, entries: list[int]) -> None:
    """Remove these, together."""
    with _transaction(db):
        _delete(db, entries)


def give_back(db: sqlite3.Connection, n_pages: int) -> None:
    """Let the file shrink by so many pages, as far as that many are free."""
    while n_pages > 0:
        (free,) = db.execute("PRAGMA freelist_count").fetchone()
        if free == 0:
            return
        some = min(n_pages, _BATCH)
        # As a script: `execute` stops at each row, and this has one a page, of no columns.
        db.executescript(f"PRAGMA incremental_vacuum({some})")
        n_pages -= some


def checksum(key: bytes, body: bytes) -> int:
    """Ties a body to its key, so that no damage to the file can hand out another answer."""
    return zlib.crc32(body, zlib.crc32(key))


def _rows(group: dict[str, tuple[str, Reply]], most_bytes: int) -> Iterable[_Row]:
    """What can be kept of a group: only a reply that will come back as it is now."""
    for key, (model, reply) in group.items():
        try:
            body = _encode(reply)
            # All but the evidence is of types that come back as they are.
            if len(body) <= most_bytes and (not reply.evidence or _decode(body) == reply):
                yield bytes.fromhex(key), model, body
        except Exception:  # noqa: S112 - half a character, whatever a model of one's own calls evidence
            continue


@contextlib.contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _delete(db: sqlite3.Connection, entries: list[int]) -> None:
    each = [(entry,) for entry in entries]
    db.executemany("DELETE FROM bodies WHERE id = ?", each)
    db.executemany("DELETE FROM entries WHERE id = ?", each)


def _bytes_in_use(db: sqlite3.Connection) -> int:
    (page_bytes,) = db.execute("PRAGMA page_size").fetchone()
    (n_pages,) = db.execute("PRAGMA page_count").fetchone()
    (free,) = db.execute("PRAGMA freelist_count").fetchone()
    return int(page_bytes) * (int(n_pages) - int(free))


def _today() -> int:
    return int(time.time() // 86_400)
