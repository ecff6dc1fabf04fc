"""The response cache: replies kept between runs, so that the same request is not sent and paid for twice.

One SQLite file in WAL mode with one table. Lookups read it where they are asked for; one thread per run
writes, in groups, and deletes what was not used for the longest time once the file is larger than allowed.
A run never depends on the cache: if the file cannot be used, the run continues, and `trouble` says why.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from eyechart.errors import EyechartError, StoreError, UsageError
from eyechart.files import make_file, make_folder
from eyechart.store.folder import find_cache_folder
from eyechart.store.sqlite import connect_to_read
from eyechart.types import Reply

FILE_NAME = "responses.sqlite"
SIZE_VARIABLE = "EYECHART_CACHE_SIZE"
DEFAULT_BYTES = 2 * 10**9

OPEN_S = 2.0  # how long to wait for other processes: when a run starts,
READ_S = 1.0  # when a reply is looked up (writers do not block readers, so this is rare),
WRITE_S = 5.0  # and when a group is written, in the background
EVERY_S = 0.5  # between groups: a commit per reply would cost more than the reply's own request
GROUP = 2_000  # replies that are written without waiting so long
MOST_WAITING_BYTES = 64 * 2**20  # of text; while a disk is that slow, further replies are not kept
LOW_WATER = 0.9  # of the limit: how far the cache shrinks once it is full
SHARE = 0.1  # of the limit: a larger reply would displace too many others

_DAY_S = 86_400
_CLOSE_S = 30.0
_BATCH = 1_000  # rows or pages removed per transaction, so that other processes get their turn

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Reply).decode


class ResponseCache:
    """The replies of earlier runs, by the SHA-256 of the request.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cache = ResponseCache.open(Path(folder))
    ...     cache.put("ab" * 32, "openai/some-model", Reply(text="A"))
    ...     print(cache.find("ab" * 32).text, cache.find("cd" * 32))
    ...     cache.close()
    A None
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.trouble = ""  # why the cache is out of use, if it is
        self.is_on = False
        self._max_bytes = 0
        self._file: tuple[int, int] | None = None
        self._reader: sqlite3.Connection | None = None
        self._read_lock = threading.Lock()
        self._lock = threading.Lock()  # of what is below
        self._waiting: dict[str, tuple[str, Reply]] = {}
        self._being_written: dict[str, tuple[str, Reply]] = {}
        self._waiting_bytes = 0
        self._used: set[bytes] = set()  # keys that were found and whose day of use has to be written
        self._today = _today()
        self._is_closing = False
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def open(cls, folder: Path | None = None, *, max_bytes: int | None = None) -> ResponseCache:
        """Open the cache in `folder`, by default the user's; 0 bytes turn it off. Never raises."""
        cache = cls(_file_in(folder))
        try:
            cache._max_bytes = read_size_limit() if max_bytes is None else max_bytes
            if cache._max_bytes > 0:
                db = _open_to_write(cache.path)
                cache._file = _identify(cache.path)
                cache._reader = _connect(cache.path, wait_s=READ_S)
                cache.is_on = True
                cache._thread = threading.Thread(
                    target=cache._write_groups, args=(db,), name="eyechart-cache", daemon=True
                )
                cache._thread.start()  # closes `db` in the end
        except Exception as err:  # a problem with the cache must not stop the run
            cache._give_up(err)
        return cache

    def find(self, key: str) -> Reply | None:
        """The reply stored under `key` by this run or an earlier one. Thread-safe."""
        if not self.is_on:
            return None
        # In this order: a group moves from the one to the other, then to the file.
        if (waiting := self._waiting.get(key) or self._being_written.get(key)) is not None:
            return waiting[1]
        try:
            return self._read(bytes.fromhex(key))
        except Exception as err:
            self._give_up(err)
            return None

    def put(self, key: str, model: str, reply: Reply) -> None:
        """Queue an answer for writing. Replies that ended in an error or without content are not stored."""
        if not self.is_on or reply.finish_reason == "error" or reply.evidence.get("null_content"):
            return
        with self._lock:
            if self._waiting_bytes > MOST_WAITING_BYTES or self._is_closing:
                return
            self._waiting[key] = (model, reply)
            self._waiting_bytes += len(reply.text) + len(reply.thinking)
            is_group = len(self._waiting) == GROUP
        if is_group:
            self._wake.set()

    def close(self) -> None:
        """Write what is waiting and close the file."""
        with self._lock:
            self._is_closing = True
        if self._thread is not None:
            self._wake.set()
            self._thread.join(_CLOSE_S)
        self.is_on = False
        with self._read_lock, contextlib.suppress(sqlite3.Error):
            if self._reader is not None:
                self._reader.close()
            self._reader = None

    def _read(self, key: bytes) -> Reply | None:
        with self._read_lock:
            if self._reader is None:  # closed meanwhile
                return None
            row = self._reader.execute("SELECT used, crc, body FROM replies WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        used, crc, body = row
        if _checksum(key, body) != crc:
            raise DamagedCache("an entry does not match its checksum")
        if used != self._today:
            with self._lock:
                self._used.add(key)
        try:
            return _decode(body)
        except msgspec.DecodeError:  # written by a version whose replies had other fields
            return None

    def _write_groups(self, db: sqlite3.Connection) -> None:
        """The writer thread: write a group at a time until the cache is closed."""
        try:
            is_last = False
            while not is_last:
                self._wake.wait(EVERY_S)
                self._wake.clear()
                is_last = self._is_closing
                self._today = _today()
                if self._write_group(db):
                    _make_room(db, self._max_bytes)
        except Exception as err:
            self._give_up(err)
        finally:
            with self._lock:
                self._is_closing = True
                self._waiting, self._being_written, self._used = {}, {}, set()
            db.close()

    def _write_group(self, db: sqlite3.Connection) -> bool:
        """Write replies and days of use in one transaction. Returns whether there were replies."""
        with self._lock:
            self._being_written, self._waiting, self._waiting_bytes = self._waiting, {}, 0
            used, self._used = self._used, set()
        now, today = time.time(), self._today
        rows = []
        for name, (model, reply) in self._being_written.items():
            if (body := _encode_exactly(reply)) and len(body) <= self._max_bytes * SHARE:
                key = bytes.fromhex(name)
                rows.append((key, model, len(body), _checksum(key, body), now, today, body))
        if rows or used:
            with _transaction(db):
                db.executemany(f"INSERT OR REPLACE INTO replies ({_COLUMNS}) VALUES (?,?,?,?,?,?,?)", rows)  # noqa: S608
                db.executemany("UPDATE replies SET used = ? WHERE key = ?", [(today, key) for key in used])
        self._being_written = {}
        return bool(rows)

    def _give_up(self, err: Exception) -> None:
        """Continue without the cache; the first reason is reported."""
        with self._lock:
            self.is_on = False
            if self.trouble:
                return
            self.trouble = _describe(self.path, err)
            if _is_damage(err) and self._file is not None and _set_aside(self.path, self._file):
                self.trouble += f"; set aside as {_aside(self.path).name}, the next run starts a new one"


def _encode_exactly(reply: Reply) -> bytes | None:
    """A reply as JSON, or None if it would not be read back equal."""
    try:
        body = _encode(reply)
        # All but the evidence is of types that come back unchanged.
        return body if not reply.evidence or _decode(body) == reply else None
    except Exception:  # a lone surrogate, or evidence of a user's own model that JSON cannot hold
        return None


def _checksum(key: bytes, body: bytes) -> int:
    """Binds a body to its key, so that a damaged file never returns the answer to another request."""
    return zlib.crc32(body, zlib.crc32(key))


def _describe(path: Path, err: Exception) -> str:
    if isinstance(err, EyechartError):
        return err.message + (f" ({err.hint})" if err.hint else "")
    if isinstance(err, OSError):
        return f"{path.parent}: {err.strerror or err}"
    if isinstance(err, sqlite3.Error | DamagedCache):
        return f"{path}: {err}"
    return f"{path}: {type(err).__name__}: {err}"


def _today() -> int:
    return int(time.time() // _DAY_S)


# -- The file and its table

VERSION = 2
APPLICATION = 0x65796563  # "eyec": marks the file as ours

_COLUMNS = "key, model, bytes, crc, made, used, body"
_TABLE = (
    """CREATE TABLE replies (
      id    INTEGER PRIMARY KEY,           -- in the order in which they came
      key   BLOB NOT NULL UNIQUE,          -- sha256 of the request
      model TEXT NOT NULL,                 -- as the user wrote it
      bytes INTEGER NOT NULL,              -- of the body
      crc   INTEGER NOT NULL,              -- of key and body
      made  REAL NOT NULL,                 -- seconds since 1970
      used  INTEGER NOT NULL,              -- the last day, counted from 1970: at most one write per day
      body  BLOB NOT NULL                  -- types.Reply as JSON
    )""",
    "CREATE INDEX replies_by_use ON replies (used)",
    "CREATE INDEX replies_by_model ON replies (model, made, bytes)",  # all that `cache info` reads
)
_WAL_BYTES = 16 * 2**20  # what the write-ahead log may keep of the disk after a checkpoint
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


class DamagedCache(Exception):
    """The file is a cache that cannot be used: damaged, or of an older format."""


def _open_to_write(path: Path) -> sqlite3.Connection:
    """A connection to the cache, created if missing; a damaged or old file is set aside for a new one."""
    make_folder(path.parent)
    before = _identify(path)
    try:
        return _open_and_prepare(path)
    except (sqlite3.DatabaseError, DamagedCache) as err:
        if not _is_damage(err) or not _set_aside(path, before):
            raise
        return _open_and_prepare(path)


def _open_and_prepare(path: Path) -> sqlite3.Connection:
    make_file(path)
    db = _connect(path, wait_s=OPEN_S)
    try:
        # A crash may cost the last replies, which the run's own journal has: not worth waiting for the disk.
        db.execute("PRAGMA synchronous = NORMAL")
        _check(db, path)
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # has an effect on a file without tables only
        _use_wal(db)
        with _transaction(db):  # two runs may create the file at the same moment
            if _is_empty(db):
                for statement in _TABLE:
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {APPLICATION}")
                db.execute(f"PRAGMA user_version = {VERSION}")
        db.execute(f"PRAGMA busy_timeout = {int(WRITE_S * 1000)}")
    except BaseException:
        db.close()
        raise
    return db


def _connect(path: Path, *, wait_s: float) -> sqlite3.Connection:
    where = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(where, uri=True, isolation_level=None, timeout=wait_s, check_same_thread=False)


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is not ours or that a newer eyechart wrote, before anything in it is changed."""
    if _is_empty(db):
        return
    if _pragma(db, "application_id") != APPLICATION:
        raise StoreError(f"{path} is not a cache of eyechart", hint="move or rename it")
    if (found := _pragma(db, "user_version")) > VERSION:
        raise StoreError(
            f"{path} was written by a newer eyechart (format {found}, this one reads {VERSION})",
            hint="upgrade eyechart, or name another folder in EYECHART_CACHE",
        )
    if found < VERSION:
        raise DamagedCache(f"{path} has the format of an older eyechart")
    if db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'replies'").fetchone() is None:
        raise DamagedCache(f"{path} lacks its table")


def _use_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL, so that reads and writes do not block. SQLite does not retry this when it is locked."""
    deadline = time.monotonic() + OPEN_S
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as err:
            if "locked" not in str(err) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    db.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")


def _is_empty(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def _pragma(db: sqlite3.Connection, name: str) -> int:
    return int(db.execute(f"PRAGMA {name}").fetchone()[0])


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


def _is_damage(err: BaseException) -> bool:
    """Whether the file itself is the problem, not the disk or another process's lock."""
    code = getattr(err, "sqlite_errorcode", 0) or 0
    return isinstance(err, DamagedCache) or code & 0xFF in _DAMAGE


def _identify(path: Path) -> tuple[int, int] | None:
    """Device and inode of the file at `path`; None if it does not exist."""
    with contextlib.suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def _set_aside(path: Path, damaged: tuple[int, int] | None) -> bool:
    """Move a damaged file out of the way, unless another process has already replaced it."""
    if damaged is None:
        return False
    if _identify(path) != damaged:
        return True
    with contextlib.suppress(OSError):
        for name in _log_files(path):  # first: a new file must not find the old one's log
            name.unlink(missing_ok=True)
        os.replace(path, _aside(path))  # noqa: PTH105 - one is kept, the latest
        return True
    return False


def _aside(path: Path) -> Path:
    return path.with_name(f"{path.name}.damaged")


def _log_files(path: Path) -> tuple[Path, Path]:
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _file_in(folder: Path | None) -> Path:
    return (find_cache_folder() if folder is None else folder) / FILE_NAME


# -- Size


def _make_room(db: sqlite3.Connection, max_bytes: int) -> None:
    """Once the limit is passed, delete the least recently used replies, and shrink the file to the limit."""
    page_bytes = _pragma(db, "page_size")
    target = max_bytes
    while (over := page_bytes * (_pragma(db, "page_count") - _pragma(db, "freelist_count")) - target) > 0:
        target = int(max_bytes * LOW_WATER)
        sql = "SELECT id, bytes + 200 FROM replies ORDER BY used, id LIMIT ?"
        oldest = db.execute(sql, (_BATCH,)).fetchall()
        if not oldest:
            break
        # Half of the way at a time: how many pages a row frees can only be guessed beforehand.
        before = itertools.accumulate((n_bytes for _, n_bytes in oldest), initial=0)
        _delete(db, [row for (row, _), taken in zip(oldest, before, strict=False) if taken < over / 2])
    # Free pages below the limit stay in the file: the next replies need them.
    _shrink(db, _pragma(db, "page_count") - max_bytes // page_bytes)


def _delete(db: sqlite3.Connection, ids: list[int]) -> None:
    with _transaction(db):
        db.executemany("DELETE FROM replies WHERE id = ?", [(one,) for one in ids])


def _shrink(db: sqlite3.Connection, n_pages: int) -> None:
    """Shrink the file by up to `n_pages` free pages."""
    while n_pages > 0 and _pragma(db, "freelist_count") > 0:
        # As a script: `execute` stops at each row, and this has one per page, of no columns.
        db.executescript(f"PRAGMA incremental_vacuum({min(n_pages, _BATCH)})")
        n_pages -= _BATCH


_UNITS = {
    "": 1, "b": 1, "k": 10**3, "kb": 10**3, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9, "t": 10**12,
    "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SIZE = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,9})?)\s*([a-z]{0,3})\s*", re.ASCII)


def read_size_limit() -> int:
    """The size limit from the environment, or the default; 0 turns the cache off."""
    text = os.environ.get(SIZE_VARIABLE, "").strip()
    return parse_size(text, where=f"${SIZE_VARIABLE}") if text else DEFAULT_BYTES


def parse_size(text: str, *, where: str) -> int:
    """Bytes, from a number with or without a unit.

    >>> [parse_size(text, where="the limit") for text in ("500MB", "1.5 GiB", "0")]
    [500000000, 1610612736, 0]
    """
    found = _SIZE.fullmatch(text.lower())
    if found is None or found[2] not in _UNITS:
        raise UsageError(
            f"{where}: {text!r} is not a size", hint="write it as 500MB or 2GB; 0 turns the cache off"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def format_size(n_bytes: int) -> str:
    """Bytes for people.

    >>> format_size(0), format_size(20480), format_size(2_000_000_000), format_size(999_960)
    ('0 bytes', '20.5 KB', '2 GB', '1 MB')
    """
    size = float(n_bytes)
    for unit in ("bytes", "KB", "MB", "GB"):
        if round(size, 1) < 1000:
            return f"{round(size, 1):g} {unit}"
        size /= 1000
    return f"{round(size, 1):g} TB"


# -- For `eyechart cache`: inspect and clear

_IMAGE = re.compile(
    r"(public|private)/([0-9a-f]{2})/(\2[0-9a-f]{62}|\.part-\w+)"
)  # as data/images/fetch.py names them


@dataclass(frozen=True, slots=True, kw_only=True)
class CachedAmount:
    """A number of cached items and their size."""

    count: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheInfo:
    """What the response cache holds."""

    path: Path
    entries: int = 0
    bytes_on_disk: int = 0
    by_model: dict[str, CachedAmount] = field(
        default_factory=dict
    )  # bytes of the replies alone; largest first
    oldest: float | None = None  # seconds since 1970
    newest: float | None = None
    trouble: str = ""  # why it cannot be read


def inspect_cache(folder: Path | None = None) -> CacheInfo:
    """Count the replies without changing the file."""
    path = _file_in(folder)
    on_disk = _measure_files(path)
    if not path.exists():
        return CacheInfo(path=path, bytes_on_disk=on_disk)
    sql = """SELECT model, count(*), total(bytes), min(made), max(made) FROM replies
             GROUP BY model ORDER BY total(bytes) DESC, model"""
    try:
        with contextlib.closing(connect_to_read(path)) as db:
            _check(db, path)
            rows = [] if _is_empty(db) else db.execute(sql).fetchall()
        if not all(isinstance(row[0], str) and isinstance(row[3] + row[4], int | float) for row in rows):
            raise DamagedCache("a value has the wrong type")
    except TypeError:
        return CacheInfo(path=path, bytes_on_disk=on_disk, trouble="the file is damaged")
    except (sqlite3.Error, DamagedCache, StoreError) as err:
        return CacheInfo(path=path, bytes_on_disk=on_disk, trouble=str(err).partition("\n")[0])
    return CacheInfo(
        path=path,
        entries=sum(row[1] for row in rows),
        bytes_on_disk=on_disk,
        by_model={row[0]: CachedAmount(count=row[1], bytes=int(row[2])) for row in rows},
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
    is_all = model is None and unused_days is None
    before = _measure_files(path)
    count = 0
    if path.exists():
        try:
            count = _delete_chosen(path, model, unused_days)
        except (sqlite3.DatabaseError, DamagedCache) as err:
            if not _is_damage(err):
                raise StoreError(f"{path}: {err}", hint="try again when no run is using it") from err
            if not is_all:
                raise StoreError(
                    f"{path}: {err}", hint="without --model and --older-than, the file itself is removed"
                ) from err
            for file in (path, *_log_files(path)):
                file.unlink(missing_ok=True)
    if is_all:
        _aside(path).unlink(missing_ok=True)
    return CachedAmount(count=count, bytes=max(0, before - _measure_files(path)))


def _delete_chosen(path: Path, model: str | None, unused_days: int | None) -> int:
    latest = None if unused_days is None else _today() - unused_days
    sql = "SELECT id FROM replies WHERE (?1 IS NULL OR model = ?1) AND (?2 IS NULL OR used <= ?2) LIMIT ?3"
    count = 0
    with contextlib.closing(_open_and_prepare(path)) as db:
        while ids := [one for (one,) in db.execute(sql, (model, latest, _BATCH)).fetchall()]:
            _delete(db, ids)
            count += len(ids)
        _shrink(db, _pragma(db, "freelist_count"))
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # the file shrinks at the checkpoint
    return count


def _measure_files(path: Path) -> int:
    """Bytes on disk of the cache, its logs, and a damaged file set aside."""
    total = 0
    for file in (path, *_log_files(path), _aside(path)):
        with contextlib.suppress(OSError):
            total += file.stat().st_size
    return total


def count_images(folder: Path | None = None) -> CachedAmount:
    """Count the images downloaded from URLs."""
    sizes = [size for _, size, _ in _list_images(folder)]
    return CachedAmount(count=len(sizes), bytes=sum(sizes))


def clear_images(folder: Path | None = None, *, older_days: int | None = None) -> CachedAmount:
    """Remove downloaded images: all, or those at least so many days old."""
    count = n_bytes = 0
    for path, size, fetched in _list_images(folder):
        if older_days is None or fetched <= time.time() - older_days * _DAY_S:
            path.unlink(missing_ok=True)
            count += 1
            n_bytes += size
    return CachedAmount(count=count, bytes=n_bytes)


def find_images_folder(folder: Path | None = None) -> Path:
    """The folder of images downloaded from URLs."""
    return (find_cache_folder() if folder is None else folder) / "images"


def _list_images(folder: Path | None) -> Iterator[tuple[Path, int, float]]:
    """Path, bytes and time of every image of the cache; other files in the folder are left alone."""
    for path in find_images_folder(folder).glob("*/*/*"):
        if _IMAGE.fullmatch("/".join(path.parts[-3:])):
            with contextlib.suppress(OSError):  # another process may remove it first
                found = path.lstat()
                yield path, found.st_size, found.st_mtime
