"""Which keys the cache may hold, in memory: most look-ups of a first run are misses, and cost no I/O."""

from __future__ import annotations

import sqlite3
from array import array
from bisect import bisect_left

MOST = 500_000  # keys, at 8 bytes each; a larger cache is asked itself


class Known:
    """The first 64 bits of every key. Read by any thread, written by the one that writes the cache."""

    def __init__(self) -> None:
        self._at_first: array[int] | None = None  # sorted; None: not read yet, or too many
        self._since: set[int] = set()
        self._last_id = 0
        self._seen: int | None = None  # SQLite's count of other processes' commits

    def may_hold(self, short: int) -> bool:
        """False: it is not there. True: look."""
        keys = self._at_first
        if keys is None or short in self._since:
            return True
        at = bisect_left(keys, short)
        return at < len(keys) and keys[at] == short

    def add(self, shorts: list[int], last_id: int) -> None:
        """These were written by this process."""
        self._since.update(shorts)
        self._last_id = max(self._last_id, last_id)
        self._give_up_if_many()

    def learn(self, db: sqlite3.Connection) -> None:
        """Read what is there; later, what other processes have added since."""
        seen = db.execute("PRAGMA data_version").fetchone()[0]
        if seen == self._seen:
            return
        is_first, self._seen = self._seen is None, seen
        (last_id,) = db.execute("SELECT coalesce(max(id), 0) FROM entries").fetchone()
        if is_first:
            if db.execute("SELECT count(*) FROM entries").fetchone()[0] <= MOST:
                keys = db.execute("SELECT short FROM entries ORDER BY short")
                self._at_first = array("q", (short for (short,) in keys))
        elif self._at_first is not None:
            new = db.execute("SELECT short FROM entries WHERE id > ?", (self._last_id,))
            self._since.update(short for (short,) in new)
        self._last_id = max(self._last_id, last_id)
        self._give_up_if_many()

    def _give_up_if_many(self) -> None:
        if self._at_first is None or len(self._at_first) + len(self._since) > MOST:
            self._at_first = None
            self._since = set()
