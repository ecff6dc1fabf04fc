"""Replies kept between runs: what was asked before, exactly so, is not asked and paid for again.

The cache is a convenience. Whatever befalls its file, a run goes on without it: `trouble` says why.
"""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from pathlib import Path

import msgspec

from eyechart.errors import EyechartError
from eyechart.store.cache_file import (
    FILE_NAME,
    Readers,
    aside,
    identity,
    is_damage,
    open_to_write,
    set_aside,
)
from eyechart.store.cache_schema import Damaged, short
from eyechart.store.cache_size import size_limit
from eyechart.store.cache_writer import CacheWriter, checksum
from eyechart.store.folder import cache_home
from eyechart.types import Reply

_decode = msgspec.json.Decoder(Reply).decode


class ResponseCache:
    """The replies of earlier runs, by the sha256 of what was asked.

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
        self._is_on = False
        self._readers = Readers(path)
        self._writer: CacheWriter | None = None
        self._file: tuple[int, int] | None = None
        self._lock = threading.Lock()

    @classmethod
    def open(cls, folder: Path | None = None, *, max_bytes: int | None = None) -> ResponseCache:
        """The cache in `folder`, or else in the user's; of 0 bytes, one that keeps nothing. Never raises."""
        cache = cls((cache_home() if folder is None else folder) / FILE_NAME)
        try:
            limit = size_limit() if max_bytes is None else max_bytes
            if limit > 0:
                db = open_to_write(cache.path)
                cache._file = identity(cache.path)
                cache._is_on = True
                cache._writer = CacheWriter(db, limit, cache._give_up)
        except Exception as err:  # of all that may be wrong with a disk, nothing is worth a run
            cache._give_up(err)
        return cache

    @property
    def is_on(self) -> bool:
        """Whether anything is found or kept."""
        return self._is_on

    def find(self, key: str) -> Reply | None:
        """The reply that was put under `key`, by this run or an earlier one. For any thread."""
        writer = self._writer
        if not self._is_on or writer is None:
            return None
        if (reply := writer.waiting(key)) is not None:
            return reply
        try:
            digest = bytes.fromhex(key)
            return self._read(digest, writer) if writer.known.may_hold(short(digest)) else None
        except Exception as err:
            self._give_up(err)
            return None

    def put(self, key: str, model: str, reply: Reply) -> None:
        """Keep an answer. What only looks like one is not kept."""
        if not self._is_on or self._writer is None:
            return
        if reply.finish_reason == "error" or reply.evidence.get("null_content"):
            return
        self._writer.put(key, model, reply)

    def close(self) -> None:
        """Write what is left and let go of the file."""
        if self._writer is not None:
            self._writer.close()
        self._is_on = False
        with contextlib.suppress(sqlite3.Error):
            self._readers.close()

    def _read(self, key: bytes, writer: CacheWriter) -> Reply | None:
        row = self._readers.row(key)
        if row is None:
            return None
        entry, used, crc, body = row
        if checksum(key, body) != crc:
            raise Damaged("an entry does not match its checksum")
        if used != writer.today:
            writer.use(entry)
        try:
            return _decode(body)
        except msgspec.DecodeError:  # of an eyechart whose replies were made otherwise
            return None

    def _give_up(self, err: Exception) -> None:
        """Go on without; the first reason is the one that counts."""
        with self._lock:
            self._is_on = False
            if self.trouble:
                return
            self.trouble = _reason(self.path, err)
            if is_damage(err) and self._file is not None and set_aside(self.path, self._file):
                self.trouble += f"; set aside as {aside(self.path).name}, the next run starts a new one"


def _reason(path: Path, err: Exception) -> str:
    """One line."""
    if isinstance(err, EyechartError):
        return err.message + (f" ({err.hint})" if err.hint else "")
    if isinstance(err, OSError):
        return f"{path.parent}: {err.strerror or err}"
    if isinstance(err, sqlite3.Error | Damaged):
        return f"{path}: {err}"
    return f"{path}: {type(err).__name__}: {err}"
