"""The file of the cache: opened, read, and set aside when it is damaged."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from pathlib import Path

from eyechart.replacing import make_file, make_folder
from eyechart.store import cache_schema

FILE_NAME = "responses.sqlite"

OPEN_S = 2.0  # how long to wait for other processes: when a run starts,
READ_S = 1.0  # when a reply is looked up (writers do not keep readers out, so this is rare),
WRITE_S = 5.0  # and when a group is written, which nobody waits for but the last

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def open_to_write(path: Path) -> sqlite3.Connection:
    """A connection to the cache, which is made where there is none; a damaged one is replaced."""
    make_folder(path.parent)
    before = identity(path)
    try:
        return _open(path)
    except (sqlite3.DatabaseError, cache_schema.Damaged) as err:
        if not is_damage(err) or not set_aside(path, before):
            raise
        return _open(path)


def connect(path: Path, *, wait_s: float) -> sqlite3.Connection:
    """A connection to a file that is there."""
    where = f"{path.absolute().as_uri()}?mode=rw"
    return sqlite3.connect(where, uri=True, isolation_level=None, timeout=wait_s, check_same_thread=False)


def is_damage(err: BaseException) -> bool:
    """Whether the file itself is at fault, rather than the disk or whoever holds it."""
    code = getattr(err, "sqlite_errorcode", 0) or 0
    return isinstance(err, cache_schema.Damaged) or code & 0xFF in _DAMAGE


def identity(path: Path) -> tuple[int, int] | None:
    """Which file lies at `path` now; None when there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def set_aside(path: Path, damaged: tuple[int, int] | None) -> bool:
    """Move a damaged file out of the way, unless another process has replaced it already."""
    if damaged is None:
        return False
    if identity(path) != damaged:
        return True
    with contextlib.suppress(OSError):
        for name in log_files(path):  # first: a new file must not find the old one's log
            name.unlink(missing_ok=True)
        os.replace(path, aside(path))  # noqa: PTH105 - one is kept, the latest
        return True
    return False


def aside(path: Path) -> Path:
    """Where a damaged cache is kept, for whoever wants to know what befell it."""
    return path.with_name(f"{path.name}.damaged")


def log_files(path: Path) -> tuple[Path, Path]:
    """What SQLite keeps beside the file while it is in use."""
    return path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")


def _open(path: Path) -> sqlite3.Connection:
    make_file(path)
    db = sqlite3.connect(path, isolation_level=None, timeout=OPEN_S, check_same_thread=False)
    try:
        # A crash may cost the last replies, which the run's own journal holds: not worth a wait for the disk.
        db.execute("PRAGMA synchronous = NORMAL")
        cache_schema.prepare(db, str(path), patience_s=OPEN_S)
        db.execute(f"PRAGMA busy_timeout = {int(WRITE_S * 1000)}")
    except BaseException:
        db.close()
        raise
    return db


class Readers:
    """A connection for each thread that looks replies up, made when it is first needed."""

    _SQL = """SELECT e.id, e.used, e.crc, b.body FROM entries e JOIN bodies b ON b.id = e.id
              WHERE e.short = ? AND e.key = ?"""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own = threading.local()
        self._all: list[_Reader] = []
        self._is_closed = False
        self._lock = threading.Lock()

    def row(self, key: bytes) -> tuple[int, int, int, bytes] | None:
        """Id, day of use, checksum and body of an entry."""
        reader: _Reader | None = getattr(self._own, "reader", None)
        if reader is None:
            reader = self._new()
        with reader.lock:  # held against `close` alone: each thread has its own
            if self._is_closed:
                return None
            cursor = reader.db.execute(self._SQL, (cache_schema.short(key), key))
            found: tuple[int, int, int, bytes] | None = cursor.fetchone()
        return found

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._is_closed = True
            for reader in self._all:
                with reader.lock:
                    reader.db.close()
            self._all.clear()

    def _new(self) -> _Reader:
        reader = _Reader(connect(self._path, wait_s=READ_S))
        with self._lock:
            if self._is_closed:
                reader.db.close()
            else:
                self._all.append(reader)
        self._own.reader = reader
        return reader


class _Reader:
    __slots__ = ("db", "lock")

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.lock = threading.Lock()
