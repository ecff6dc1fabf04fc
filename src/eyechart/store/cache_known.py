"""Which keys the cache may hold, in memory: most look-ups of a first run are misses, and cost no I/O."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable

_BITS = 1 << 24  # 2 MB, however many keys there are: of a million, 6 % of the misses look in vain
_WORTH_IT = 100  # look-ups after which the keys are read: a handful of questions is sooner answered without


class Known:
    """A bit for each key, shared by keys that begin alike. Read by any thread, written by the writer's."""

    def __init__(self, wanted: threading.Event) -> None:
        self._wanted = wanted  # set when the keys are worth reading
        self._bits = bytearray()
        self._looks = 0
        self._last_id = 0
        self._seen: int | None = None  # SQLite's count of other processes' commits; None: nothing was read
        self.is_read = False

    def may_hold(self, short: int) -> bool:
        """False: it is not there. True: look."""
        if not self.is_read:
            self._looks += 1
            if self._looks >= _WORTH_IT:
                self._wanted.set()
            return True
        at = short & (_BITS - 1)
        return bool(self._bits[at >> 3] & 1 << (at & 7))

    def add(self, shorts: list[int], last_id: int) -> None:
        """These were written by this process."""
        if self.is_read:
            self._set(shorts)
            self._last_id = max(self._last_id, last_id)

    def learn(self, db: sqlite3.Connection) -> None:
        """Read which keys there are, once that is worth it; later, what other processes have added since."""
        if self._looks < _WORTH_IT:
            return
        seen = db.execute("PRAGMA data_version").fetchone()[0]
        if seen == self._seen:
            return
        self._seen = seen
        self._bits = self._bits or bytearray(_BITS // 8)
        (last_id,) = db.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()
        # Without the condition the index alone is read, which is a small part of the file.
        since = f" WHERE id > {self._last_id:d}" if self.is_read else ""
        self._set(short for (short,) in db.execute(f"SELECT short FROM entries{since}"))  # noqa: S608
        self._last_id = max(self._last_id, last_id)
        self.is_read = True

    def _set(self, shorts: Iterable[int]) -> None:
        bits = self._bits
        for short in shorts:
            at = short & (_BITS - 1)
            bits[at >> 3] |= 1 << (at & 7)
