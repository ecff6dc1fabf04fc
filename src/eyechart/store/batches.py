"""Batches of a run in its journal: what was submitted, under which id, and what each one asks.

A batch is recorded before it is submitted, under a name that is submitted with it. So a run that is killed at
any moment finds its batches again, and never submits a request twice.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from eyechart.store.journal import Ask
from eyechart.store.sqlite import connect, connect_to_read, store_errors
from eyechart.types import Usage

_encode = msgspec.json.Encoder().encode

# Made when the first batch is: other runs, and other versions of the format, do without.
_BATCHES = """CREATE TABLE IF NOT EXISTS batches (
  name   TEXT PRIMARY KEY,                -- ours, sent along
  id     TEXT NOT NULL,                   -- the provider's; empty while it is not known
  state  TEXT NOT NULL,                   -- "pending", "collected", "withdrawn"
  n      INTEGER NOT NULL,                -- requests
  guess  TEXT NOT NULL,                   -- types.Usage as JSON: about what it will take
  at     REAL NOT NULL
) WITHOUT ROWID"""
_REQUESTS = """CREATE TABLE IF NOT EXISTS batch_requests (
  batch  TEXT NOT NULL, number INTEGER NOT NULL,
  sample TEXT NOT NULL, trial INTEGER NOT NULL,
  key    TEXT NOT NULL, recipe TEXT NOT NULL,
  asked  BLOB NOT NULL,                   -- the messages, each image by its record
  purpose TEXT NOT NULL,                  -- "round:0" of a conversation; empty: the sample's reply
  PRIMARY KEY (batch, number)
) WITHOUT ROWID"""


class BatchedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request of a batch: of which trial of which sample."""

    sample: str
    trial: int
    ask: Ask
    purpose: str = ""  # "round:0" of a conversation


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that was submitted, or was about to be, and has not been collected."""

    name: str
    id: str
    n: int
    guess: Usage
    at: float


class BatchLog:
    """The batches of one journal. Every change is on disk when its method returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._writing() as db:
            _create_tables(db)

    def begin(self, name: str, requests: Sequence[BatchedRequest], guess: Usage) -> Batch:
        """A batch is about to be submitted."""
        batch = Batch(name=name, id="", n=len(requests), guess=guess, at=time.time())
        rows = [
            (
                name,
                number,
                one.sample,
                one.trial,
                one.ask.key,
                one.ask.recipe,
                _encode(one.ask.messages),
                one.purpose,
            )
            for number, one in enumerate(requests)
        ]
        with self._writing() as db, db:
            db.execute("BEGIN IMMEDIATE")
            said = (name, "", "pending", batch.n, _encode(guess).decode(), batch.at)
            db.execute("INSERT INTO batches VALUES (?, ?, ?, ?, ?, ?)", said)
            db.executemany("INSERT INTO batch_requests VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return batch

    def set_id(self, batch: Batch, number: str) -> Batch:
        """It was submitted."""
        with self._writing() as db:
            db.execute("UPDATE batches SET id = ? WHERE name = ?", (number, batch.name))
        return msgspec.structs.replace(batch, id=number)

    def end(self, batch: Batch, state: str = "collected") -> None:
        """Its results are in the journal; or, "withdrawn", it was surely never accepted."""
        with self._writing() as db, db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("UPDATE batches SET state = ? WHERE name = ?", (state, batch.name))
            db.execute("DELETE FROM batch_requests WHERE batch = ?", (batch.name,))

    def pending(self) -> list[Batch]:
        """Those to be collected, oldest first."""
        with self._reading() as db:
            sql = "SELECT name, id, n, guess, at FROM batches WHERE state = 'pending' ORDER BY at, name"
            return [
                Batch(name=name, id=number, n=n, guess=msgspec.json.decode(guess, type=Usage), at=at)
                for name, number, n, guess, at in db.execute(sql)
            ]

    def pending_keys(self) -> set[tuple[str, int, str]]:
        """Sample, trial and key of every request that a pending batch asks."""
        with self._reading() as db:
            return set(db.execute("SELECT sample, trial, key FROM batch_requests"))

    def known_ids(self) -> set[str]:
        """The provider's ids of all batches of the run."""
        with self._reading() as db:
            return {row[0] for row in db.execute("SELECT id FROM batches WHERE id <> ''")}

    @contextlib.contextmanager
    def requests(self, batch: Batch) -> Iterator[BatchedRequests]:
        """The requests of a batch, to be looked up one by one."""
        with self._reading() as db:
            yield BatchedRequests(db, batch)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with store_errors(self._path), contextlib.closing(connect(self._path)) as db:
            yield db

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with store_errors(self._path), contextlib.closing(connect_to_read(self._path)) as db:
            yield db


class BatchedRequests:
    """The requests of one batch by number, each to be taken once."""

    def __init__(self, db: sqlite3.Connection, batch: Batch) -> None:
        self._db = db
        self._name = batch.name
        self._left = set(range(batch.n))

    def take(self, custom_id: str) -> BatchedRequest | None:
        """The request of that id; None if the id is another's, or was taken before."""
        name, _, number = custom_id.rpartition("-")
        if name != self._name or not number.isdecimal() or len(number) > 9 or int(number) not in self._left:
            return None
        return self._take(int(number))

    def take_rest(self) -> Iterator[BatchedRequest]:
        """Those that were not taken."""
        for number in sorted(self._left):
            yield self._take(number)

    def _take(self, number: int) -> BatchedRequest:
        self._left.discard(number)
        sql = """SELECT sample, trial, key, recipe, asked, purpose FROM batch_requests
                 WHERE batch = ? AND number = ?"""
        sample, trial, key, recipe, asked, purpose = self._db.execute(sql, (self._name, number)).fetchone()
        messages = msgspec.json.decode(asked, type=list[dict[str, Any]])
        ask = Ask(key=key, recipe=recipe, messages=messages)
        return BatchedRequest(sample=sample, trial=trial, ask=ask, purpose=purpose)


def copy_batches(db: sqlite3.Connection) -> None:
    """Copy the batches of an attached journal ``part``, if it has any."""
    if db.execute("SELECT count(*) FROM part.sqlite_master WHERE name = 'batches'").fetchone()[0]:
        _create_tables(db)
        db.execute("INSERT OR IGNORE INTO batches SELECT * FROM part.batches")
        db.execute("INSERT OR IGNORE INTO batch_requests SELECT * FROM part.batch_requests")


def _create_tables(db: sqlite3.Connection) -> None:
    for statement in (_BATCHES, _REQUESTS):
        db.execute(statement)


def has_pending(path: Path) -> bool:
    """Whether a journal has batches to be collected."""
    return "pending" in _list_states(path)


def was_batched(path: Path) -> bool:
    """Whether a journal has a batch that the provider accepted, or may have accepted."""
    return bool(_list_states(path) - {"withdrawn"})


def _list_states(path: Path) -> set[str]:
    with store_errors(path), contextlib.closing(connect_to_read(path)) as db:
        if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'batches'").fetchone()[0]:
            return set()
        return {state for (state,) in db.execute("SELECT DISTINCT state FROM batches")}
