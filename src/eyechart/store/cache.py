"""The response cache: replies kept between runs, so that the same request is not sent and paid for twice.

One SQLite file in WAL mode with one table. Lookups read it where they are asked for; one thread per run
writes, in groups, and deletes what was not used for the longest time once the file is larger than allowed.
A run never depends on the cache: if the file cannot be used, the run continues, and `trouble` says why.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from eyechart.errors import EyechartError, StoreError, UsageError
from eyechart.files import make_file, make_folder
from eyechart.store.folder import find_cache_folder
from eyechart.store.sqlite import connect_as, connect_to_read
from eyechart.types import Reply

FILE_NAME = "responses.sqlite"
SIZE_VARIABLE = "EYECHART_CACHE_SIZE"
DEFAULT_BYTES = 2 * 10**9

WAIT_S = 5.0  # for another process's lock
EVERY_S = 0.5  # between groups: a commit per reply would cost more than the reply's own request
MOST_WAITING_BYTES = 64 * 2**20  # of text; while a disk is that slow, further replies are not kept
LOW_WATER = 0.9  # of the limit: how far the cache shrinks once it is full
SHARE = 0.1  # of the limit: a larger reply would displace too many others

_DAY_S = 86_400
_CLOSE_S = 30.0
_BATCH = 1_000  # rows removed per transaction, so that other processes get their turn

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Reply).decode


class ResponseCache:
    """The replies of earlier runs, by the SHA-256 of the request.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     first = ResponseCache.open(Path(folder))
    ...     first.put("ab" * 32, "openai/some-model", Reply(text="A"))
    ...     first.close()
    ...     cache = ResponseCache.open(Path(folder))
    ...     print(cache.find("ab" * 32).text, cache.find("cd" * 32))
    ...     cache.close()
    A None
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""  # why the cache is out of use, if it is
        self.is_on = False
        self._max_bytes = 0
        self._file: os.stat_result | None = None
        self._lock = threading.RLock()  # of what is below
        self._reader: sqlite3.Connection | None = None
        self._waiting: list[tuple[object, ...]] = []  # rows, until they are written
        self._waiting_bytes = 0
        self._used: set[bytes] = set()  # keys that were found and whose day of use has to be written
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def open(cls, folder: Path | None = None, *, max_bytes: int | None = None) -> ResponseCache:
        """Open the cache in `folder`, by default the user's; 0 bytes turn it off. Never raises."""
        cache = cls(_file_in(folder))
        try:
            cache._max_bytes = read_size_limit() if max_bytes is None else max_bytes
            if cache._max_bytes > 0:
                db = _open_or_replace(cache.path)
                cache._file = cache.path.stat()
                cache._reader = connect_as(cache.path, "mode=rw", timeout=WAIT_S)
                cache.is_on = True
                writing = threading.Thread(
                    target=cache._write, args=(db,), name="eyechart-cache", daemon=True
                )
                writing.start()  # closes `db` in the end
                cache._thread = writing
        except Exception as err:  # a problem with the cache must not stop the run
            cache._give_up(err)
        return cache

    def find(self, key: str) -> Reply | None:
        """The reply that an earlier run stored under `key`. Thread-safe."""
        if not self.is_on:
            return None
        try:
            name = bytes.fromhex(key)
            with self._lock:
                if self._reader is None:
                    return None
                if not self._reader.in_transaction:  # which the writer ends: locking costs more than reading
                    self._reader.execute("BEGIN")
                row = self._reader.execute(_FIND, (name,)).fetchone()
                if row is None:
                    return None
                used, crc, body = row
                if _checksum(name, body) != crc:
                    raise UnusableCache("an entry does not match its checksum")
                if used != _today():
                    self._used.add(name)
            return _decode(body)
        except msgspec.DecodeError:  # written by a version whose replies had other fields
            return None
        except Exception as err:
            self._give_up(err)
            return None

    def put(self, key: str, model: str, reply: Reply) -> None:
        """Queue an answer for writing. Replies that ended in an error or say nothing are not stored."""
        says_nothing = reply.evidence.get("null_content") and not reply.calls
        if not self.is_on or reply.finish_reason == "error" or says_nothing:
            return
        try:
            body, name = _encode(reply), bytes.fromhex(key)
            # All but the evidence is of types that come back unchanged.
            is_exact = not reply.evidence or _decode(body) == reply
        except Exception:  # a lone surrogate, or evidence of a user's own model that JSON cannot hold
            return
        if not is_exact or len(body) > self._max_bytes * SHARE:
            return
        row = (name, model, len(body), _checksum(name, body), time.time(), _today(), body)
        with self._lock:
            if self._waiting_bytes <= MOST_WAITING_BYTES:
                self._waiting.append(row)
                self._waiting_bytes += len(body)

    def close(self) -> None:
        """Write what is waiting and close the file."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(_CLOSE_S)
        self.is_on = False
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._reader is not None:
                self._reader.close()
            self._reader = None

    def _write(self, db: sqlite3.Connection) -> None:
        """The writer thread: replies and days of use, a group per transaction, until the cache is closed."""
        try:
            with contextlib.closing(db):
                is_last = False
                while not is_last:
                    is_last = self._closing.wait(EVERY_S)
                    with self._lock:
                        rows, self._waiting, self._waiting_bytes = self._waiting, [], 0
                        used, self._used = [(_today(), key) for key in self._used], set()
                        if self._reader is not None and self._reader.in_transaction:
                            self._reader.rollback()  # later lookups see what was written since
                    if rows or used:
                        db.execute("BEGIN IMMEDIATE")
                        with db:  # commits, or rolls back
                            db.executemany(_INSERT, rows)
                            db.executemany("UPDATE replies SET used = ? WHERE key = ?", used)
                        _make_room(db, self._max_bytes)
        except Exception as err:
            self._give_up(err)

    def _give_up(self, err: Exception) -> None:
        """Continue without the cache; the first reason is reported."""
        with self._lock:
            self.is_on, self._waiting = False, []
            if not self.trouble:
                is_plain = isinstance(err, sqlite3.Error | OSError | UnusableCache)
                self.trouble = f"{self.path}: {err if is_plain else repr(err)}"
                if isinstance(err, EyechartError):
                    self.trouble = err.message + (f" ({err.hint})" if err.hint else "")
                if _is_damage(err) and _set_aside(self.path, self._file):
                    self.trouble += f"; set aside as {self.path.name}.damaged, the next run starts a new one"


def _checksum(key: bytes, body: bytes) -> int:
    """Binds a body to its key, so that a damaged file never returns the answer to another request."""
    return zlib.crc32(body, zlib.crc32(key))


def _today() -> int:
    return int(time.time() // _DAY_S)


# -- The file and its table

VERSION = 2
APPLICATION = 0x65796563  # "eyec": marks the file as ours

_TABLE = f"""BEGIN IMMEDIATE;  -- two runs may create the file at the same moment
CREATE TABLE IF NOT EXISTS replies (
  id    INTEGER PRIMARY KEY,           -- in the order in which they came
  key   BLOB NOT NULL UNIQUE,          -- sha256 of the request
  model TEXT NOT NULL,                 -- as the user wrote it
  bytes INTEGER NOT NULL,              -- of the body
  crc   INTEGER NOT NULL,              -- of key and body
  made  REAL NOT NULL,                 -- seconds since 1970
  used  INTEGER NOT NULL,              -- the last day, counted from 1970: at most one write per day
  body  BLOB NOT NULL                  -- types.Reply as JSON
);
CREATE INDEX IF NOT EXISTS replies_by_use ON replies (used);
CREATE INDEX IF NOT EXISTS replies_by_model ON replies (model, made, bytes);  -- all that `cache info` reads
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
COMMIT;
"""
_FIND = "SELECT used, crc, body FROM replies WHERE key = ?"
_INSERT = """INSERT OR REPLACE INTO replies (key, model, bytes, crc, made, used, body)
             VALUES (?, ?, ?, ?, ?, ?, ?)"""
_WAL_BYTES = 16 * 2**20  # what the write-ahead log may keep of the disk after a checkpoint


class UnusableCache(Exception):
    """The file is a cache that cannot be used: damaged, or of an older format."""


def _open_or_replace(path: Path) -> sqlite3.Connection:
    """A connection for writing. A damaged or old file is set aside for a new one."""
    make_folder(path.parent)
    found = path.stat() if path.exists() else None
    try:
        return _open(path)
    except (sqlite3.DatabaseError, UnusableCache) as err:
        if not _is_damage(err) or not _set_aside(path, found):
            raise
        return _open(path)


def _open(path: Path) -> sqlite3.Connection:
    make_file(path)
    with contextlib.ExitStack() as stack:
        db = stack.enter_context(contextlib.closing(connect_as(path, "mode=rw", timeout=WAIT_S)))
        # A crash may cost the last replies, which the run's own journal has: not worth waiting for the disk.
        db.execute("PRAGMA synchronous = NORMAL")
        is_new = not _has_table(db, path)
        db.execute("PRAGMA auto_vacuum = FULL")  # the file shrinks when replies are deleted
        if is_new:
            _use_wal(db)
            db.executescript(_TABLE)
        db.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
        stack.pop_all()
        return db


def _has_table(db: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is more than empty. Refuses one that is not ours, or of another format."""
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master")]
    if not names:
        return False
    if _pragma(db, "application_id") != APPLICATION:
        raise StoreError(f"{path} is not a cache of eyechart", hint="move or rename it")
    if (found := _pragma(db, "user_version")) > VERSION:
        raise StoreError(
            f"{path} was written by a newer eyechart (format {found}, this one reads {VERSION})",
            hint="upgrade eyechart, or name another folder in EYECHART_CACHE",
        )
    if found < VERSION or "replies" not in names:
        raise UnusableCache(f"{path} has the format of an older eyechart, or lacks its table")
    return True


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL, so that reads and writes do not block. SQLite does not retry this when it is locked."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as err:
            if "locked" not in str(err) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


def _is_damage(err: BaseException) -> bool:
    """Whether the file itself is the problem, not the disk or another process's lock."""
    code = (getattr(err, "sqlite_errorcode", 0) or 0) & 0xFF
    return isinstance(err, UnusableCache) or code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def _set_aside(path: Path, opened: os.stat_result | None) -> bool:
    """Rename a damaged or old file, unless another process has already replaced the one that was opened."""
    try:
        if opened is not None and os.path.samestat(path.stat(), opened):
            *logs, damaged = _other_files(path)
            for log in logs:  # first: a new file must not find those of the old one
                log.unlink(missing_ok=True)
            path.replace(damaged)
        return opened is not None
    except OSError:
        return False


def _other_files(path: Path) -> list[Path]:
    """SQLite's logs beside the cache, and the latest damaged one."""
    return [path.with_name(path.name + end) for end in ("-wal", "-shm", ".damaged")]


def _file_in(folder: Path | None) -> Path:
    return (find_cache_folder() if folder is None else folder) / FILE_NAME


# -- Size


def _make_room(db: sqlite3.Connection, max_bytes: int) -> None:
    """Once the limit is passed, delete the least recently used replies."""
    page_bytes, target = _pragma(db, "page_size"), max_bytes
    # Half of the way at a time: how many pages a row frees can only be guessed beforehand.
    chosen = """SELECT id FROM (SELECT id, sum(bytes + 200) OVER (ORDER BY used, id) - bytes - 200 AS before
                FROM (SELECT id, used, bytes FROM replies ORDER BY used, id LIMIT ?)) WHERE before < ? / 2"""
    while (over := page_bytes * _pragma(db, "page_count") - target) > 0:
        target = int(max_bytes * LOW_WATER)
        if not _delete(db, chosen, (_BATCH, over)):
            break


def _delete(db: sqlite3.Connection, chosen: str, values: tuple[object, ...]) -> int:
    """Delete the replies whose ids a query selects; returns how many."""
    return db.execute(f"DELETE FROM replies WHERE id IN ({chosen})", values).rowcount  # noqa: S608


_SIZE = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*(?:([kmgt])(i?))?b?\s*", re.ASCII | re.IGNORECASE)


def read_size_limit() -> int:
    """The size limit from the environment, or the default; 0 turns the cache off."""
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    return parse_size(text, where=f"${SIZE_VARIABLE}") if text else DEFAULT_BYTES


def parse_size(text: str, *, where: str) -> int:
    """Bytes, from a number with or without a unit.

    >>> [parse_size(text, where="the limit") for text in ("500MB", "1.5 GiB", "0")]
    [500000000, 1610612736, 0]
    """
    found = _SIZE.fullmatch(text)
    if found is None:
        raise UsageError(
            f"{where}: {text!r} is not a size", hint="write it as 500MB or 2GB; 0 turns the cache off"
        )
    return int(float(found[1]) * (1024 if found[3] else 1000) ** " kmgt".index((found[2] or " ").lower()))


# -- For `eyechart cache`: inspect and clear


class CachedAmount(NamedTuple):
    """A number of cached replies and their size."""

    n: int
    n_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """What the response cache holds."""

    path: Path
    bytes_on_disk: int
    by_model: dict[str, CachedAmount] = field(default_factory=dict)  # bytes of the replies; largest first
    oldest: float | None = None  # seconds since 1970
    newest: float | None = None
    trouble: str = ""  # why it cannot be read

    @property
    def entries(self) -> int:
        return sum(amount.n for amount in self.by_model.values())


def inspect_cache(folder: Path | None = None) -> CacheInfo:
    """Count the replies without changing the file."""
    path = _file_in(folder)
    on_disk = _measure(path)
    rows: list[tuple[str, int, float, float, float]] = []
    sql = """SELECT model, count(*), total(bytes), min(made), max(made) FROM replies
             GROUP BY model ORDER BY total(bytes) DESC, model"""
    try:
        if path.exists():
            with contextlib.closing(connect_to_read(path)) as db:
                rows = db.execute(sql).fetchall() if _has_table(db, path) else []
        rows = msgspec.convert(rows, list[tuple[str, int, float, float, float]])
    except (msgspec.ValidationError, TypeError):  # or no number where one is summed
        return CacheInfo(path=path, bytes_on_disk=on_disk, trouble="the file is damaged")
    except (sqlite3.Error, UnusableCache, StoreError) as err:
        return CacheInfo(path=path, bytes_on_disk=on_disk, trouble=str(err).partition("\n")[0])
    return CacheInfo(
        path=path,
        bytes_on_disk=on_disk,
        by_model={row[0]: CachedAmount(row[1], int(row[2])) for row in rows},
        oldest=min((row[3] for row in rows), default=None),
        newest=max((row[4] for row in rows), default=None),
    )


def clear_cache(
    folder: Path | None = None, *, model: str | None = None, unused_days: int | None = None
) -> CachedAmount:
    """Remove all replies, those of one model, or those not used for some days. Returns the space freed.

    Safe while runs use the cache: they continue, and their later replies are stored.
    """
    path = _file_in(folder)
    before, count = _measure(path), 0
    is_all = model is None and unused_days is None
    latest = None if unused_days is None else _today() - unused_days
    chosen = "SELECT id FROM replies WHERE (?1 IS NULL OR model = ?1) AND (?2 IS NULL OR used <= ?2) LIMIT ?3"
    try:
        if path.exists():
            with contextlib.closing(_open(path)) as db:
                while n := _delete(db, chosen, (model, latest, _BATCH)):
                    count += n
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # the file shrinks at the checkpoint
    except (sqlite3.DatabaseError, UnusableCache) as err:
        if not _is_damage(err):
            raise StoreError(f"{path}: {err}", hint="try again when no run is using it") from err
        if not is_all:
            hint = "without --model and --older-than, the file itself is removed"
            raise StoreError(f"{path}: {err}", hint=hint) from err
        for file in (path, *_other_files(path)):
            file.unlink(missing_ok=True)
    if is_all:
        _other_files(path)[-1].unlink(missing_ok=True)
    return CachedAmount(count, max(0, before - _measure(path)))


def _measure(path: Path) -> int:
    """Bytes on disk of the cache and the files beside it."""
    return sum(file.stat().st_size for file in (path, *_other_files(path)) if file.exists())
