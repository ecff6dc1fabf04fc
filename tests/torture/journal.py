"""run.sqlite as plain SQL sees it: what is committed, and whether the file is whole.

Nothing of eyechart is used here. The file is copied with its log first: opening it would fold the log in,
and the next start has to find what the kill left.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Journal:
    """What is on disk at one moment."""

    replies: Mapping[Row, bytes] = field(default_factory=dict)  # (sample, trial, key) to the reply's JSON
    calls: Mapping[Row, bytes] = field(default_factory=dict)  # the same of rounds and judges
    words: Mapping[Row, str] = field(default_factory=dict)  # what was asked for each of both: the last turn
    wanted: frozenset[Row] = frozenset()  # (sample, trial)
    failures: frozenset[Row] = frozenset()
    scores: frozenset[Row] = frozenset()
    provisional: int = 0

    @property
    def committed(self) -> dict[Row, bytes]:
        """Everything that was paid for and kept."""
        return {("reply", *key): body for key, body in self.replies.items()} | {
            ("call", *key): body for key, body in self.calls.items()
        }

    @property
    def answered(self) -> Counter[str]:
        """How many answers are kept to each question, by its words."""
        return Counter(self.words.values())

    def texts(self) -> Iterator[tuple[str, str]]:
        """Each question's words with the words of the answer that is kept."""
        for key, body in self.committed.items():
            said = json.loads(body)
            yield self.words[key], said["text"]

    def unsettled(self) -> set[Row]:
        """Samples and trials with neither a reply nor a failure."""
        have = {key[:2] for key in self.replies}
        return set(self.wanted - have - self.failures)


def read(file: Path, trials: int = 1) -> Journal:
    """What the file at `file` holds; fails if it is damaged. A file that is not there yet holds nothing."""
    with tempfile.TemporaryDirectory() as place:
        for suffix in ("", "-wal"):  # the third file, the log's index, is made anew by whoever opens it
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                shutil.copy(f"{file}{suffix}", Path(place) / f"run.sqlite{suffix}")
        copy = Path(place) / "run.sqlite"
        if not copy.exists():
            return Journal()
        with contextlib.closing(sqlite3.connect(copy)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            if db.execute("PRAGMA user_version").fetchone()[0] == 0:
                return Journal()  # killed before the tables were laid out
            return _read(db, trials)


def _read(db: sqlite3.Connection, trials: int) -> Journal:
    replies, calls, words = {}, {}, {}
    sql = """SELECT r.sample, r.trial, r.key, r.body, a.body FROM replies r
             LEFT JOIN asks a ON a.sample = r.sample AND a.trial = r.trial AND a.key = r.key"""
    for sample, trial, key, body, asked in db.execute(sql):
        assert asked is not None, f"a reply to {sample} was kept without what was asked"
        replies[sample, trial, key] = bytes(body)
        words["reply", sample, trial, key] = last_words(asked)
    for sample, trial, key, body, asked in db.execute("SELECT sample, trial, key, body, asked FROM calls"):
        calls[sample, trial, key] = bytes(body)
        words["call", sample, trial, key] = last_words(asked)
    ids = [row[0] for row in db.execute("SELECT id FROM samples")]
    scores = db.execute("SELECT sample, trial, scorer, version, outcome, value FROM scores")
    return Journal(
        replies=replies,
        calls=calls,
        words=words,
        wanted=frozenset((name, trial) for name in ids for trial in range(trials)),
        failures=frozenset(db.execute("SELECT sample, trial FROM failures")),
        scores=frozenset(scores),
        provisional=db.execute("SELECT count(*) FROM scores WHERE version LIKE '%?'").fetchone()[0],
    )


def last_words(asked: bytes) -> str:
    """The text of the last turn that was asked, as the server's log has it."""
    turn = [turn for turn in json.loads(asked) if turn["role"] == "user"][-1]
    return "\n".join(part["text"] for part in turn["parts"] if "text" in part)
