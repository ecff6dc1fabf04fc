"""What run folders already hold of samples that are read anew, without writing to any of them.

A reply is known by what was asked, so it serves every run that asks the same, whatever else that run selects.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import StoreError
from eyechart.store.database import store_errors
from eyechart.store.journal import FILE_NAME
from eyechart.store.pages import open_to_read
from eyechart.store.tasks import Replied, Task, list_tasks
from eyechart.types import Reply, Sample

_reply = msgspec.json.Decoder(Reply)


def find_siblings(folder: Path, root: Path | None = None) -> list[Path]:
    """The journals of other runs of the same benchmark and model as `folder`, beside it or below `root`.

    >>> find_siblings(Path("runs/demo/openai-m-e4ff4911"))
    []
    """
    model = folder.name.rpartition("-")[0]
    beside = folder.parent if root is None else root / folder.parent.name
    if not model or not beside.is_dir():
        return []
    found = [
        beside / one.name / FILE_NAME for one in beside.iterdir() if one.name.rpartition("-")[0] == model
    ]
    return sorted(path for path in found if path.parent != folder and path.is_file())


class EarlierRuns:
    """Journals of other runs, in which replies and judge calls are looked up; `close` it in the end.

    Only those of the same model under the same `identity` are kept open. One that cannot be read is passed
    over: it belongs to another run, and must not stop this one.
    """

    def __init__(self, journals: Iterable[Path], identity: Mapping[str, Any] | None = None) -> None:
        wanted = None if identity is None else msgspec.json.decode(msgspec.json.encode(identity))
        self._open: list[sqlite3.Connection] = []
        for path in dict.fromkeys(journals):
            with contextlib.suppress(StoreError, msgspec.DecodeError), store_errors(path):
                self._add(path, wanted)

    def __bool__(self) -> bool:
        """Whether there is a journal to look into."""
        return bool(self._open)

    def _add(self, path: Path, wanted: Any) -> None:
        with contextlib.ExitStack() as stack:
            db = stack.enter_context(contextlib.closing(open_to_read(path)))
            if wanted is not None:
                said = db.execute("SELECT value FROM meta WHERE name = 'manifest'").fetchone()
                if said is None or msgspec.json.decode(said[0]).get("identity") != wanted:
                    return
            self._open.append(db)
            stack.pop_all()

    def find(self, sample: str, trial: int, key: str) -> Reply | None:
        """The newest reply to what has this key, be it an answer, an earlier round or a judge's."""
        sql = """
            SELECT at, body FROM replies WHERE sample = ?1 AND trial = ?2 AND key = ?3 UNION ALL
            SELECT at, body FROM calls WHERE sample = ?1 AND trial = ?2 AND key = ?3"""
        newest, found = 0.0, None
        for db in self._open:
            with contextlib.suppress(sqlite3.Error, msgspec.DecodeError):  # damaged: as if it were not there
                for at, body in db.execute(sql, (sample, trial, key)).fetchall():
                    if at > newest:
                        newest, found = at, _reply.decode(body)
        return found

    def replied(self, sample: str, trials: int) -> list[Replied]:
        """What has a reply, as `list_tasks` takes it."""
        return [row for db in self._open for row in _replied(db, sample, trials)]

    def close(self) -> None:
        for db in self._open:
            db.close()


class KeptReplies:
    """Replies by sample, over one connection; `close` it in the end. Without a journal there are none."""

    def __init__(self, path: Path | None, earlier: EarlierRuns | None = None) -> None:
        self._path = path or Path()
        self._earlier = earlier
        self._db = None
        if path is not None and path.is_file():
            self._db = open_to_read(path)

    def tasks(self, position: int, sample: Sample, trials: int, *, together: bool = False) -> list[Task]:
        """Every trial of a sample, saying which have a reply, as the journal's own tasks do."""
        return list_tasks(position, sample, self._rows(sample.id, trials), trials, together=together)

    def _rows(self, sample: str, trials: int) -> list[Replied]:
        with store_errors(self._path):
            own = [] if self._db is None else _replied(self._db, sample, trials)
        return own + (self._earlier.replied(sample, trials) if self._earlier is not None else [])

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


def _replied(db: sqlite3.Connection, sample: str, trials: int) -> list[Replied]:
    sql = """
        SELECT r.trial, r.key, a.recipe FROM replies r
        LEFT JOIN asks a ON a.sample = r.sample AND a.trial = r.trial AND a.key = r.key
        WHERE r.sample = ? AND r.trial < ?"""
    return db.execute(sql, (sample, trials)).fetchall()
