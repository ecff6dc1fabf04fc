"""What a run folder already holds of samples that are read anew: for looking ahead, not for writing."""

from __future__ import annotations

from pathlib import Path

from eyechart.store import schema
from eyechart.store.database import connect_to_read, store_errors
from eyechart.store.tasks import Replied, Task, tasks_of
from eyechart.types import Sample


class KeptReplies:
    """Replies by sample, over one connection; `close` it in the end. Without a journal there are none."""

    def __init__(self, path: Path | None) -> None:
        self._path = path or Path()
        self._db = None
        if path is not None and path.is_file():
            with store_errors(path):
                self._db = connect_to_read(path)
                schema.check_version(self._db, str(path))

    def tasks(self, position: int, sample: Sample, trials: int, *, together: bool = False) -> list[Task]:
        """Every trial of a sample, saying which have a reply, as the journal's own tasks do."""
        return tasks_of(position, sample, self._rows(sample.id, trials), trials, together=together)

    def _rows(self, sample: str, trials: int) -> list[Replied]:
        if self._db is None:
            return []
        sql = """
            SELECT r.trial, r.key, a.recipe FROM replies r
            LEFT JOIN asks a ON a.sample = r.sample AND a.trial = r.trial AND a.key = r.key
            WHERE r.sample = ? AND r.trial < ?"""
        with store_errors(self._path):
            return self._db.execute(sql, (sample, trials)).fetchall()

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
