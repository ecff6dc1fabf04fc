"""The journal: all that is known of a run, in one SQLite file."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import DataError, StoreError
from eyechart.store import schema
from eyechart.store.database import connect, connect_to_read, store_errors
from eyechart.store.writer import Statement, Writer
from eyechart.types import Failure, Reply, Result, Sample, Score, Scorer

FILE_NAME = "run.sqlite"
PAGE = 500  # rows read at a time: a reader that never lingers lets SQLite fold its log back in

_sample = msgspec.json.Decoder(Sample)
_reply = msgspec.json.Decoder(Reply)
_failure = msgspec.json.Decoder(Failure)
_score = msgspec.json.Decoder(Score)
_encode = msgspec.json.Encoder().encode


_FORGET_OLD_VERDICTS = """
    DELETE FROM scores WHERE sample IN (
      SELECT before.id FROM before JOIN samples USING (id) WHERE samples.body <> before.body
      AND json_remove(CAST(samples.body AS TEXT), '$.images', '$.row')
       <> json_remove(CAST(before.body AS TEXT), '$.images', '$.row'))"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One trial of one sample, with the keys of every reply to it that is already in the journal.

    `recipe` is that of what was asked last, if it has a reply.
    """

    position: int
    sample: Sample
    trial: int
    recipe: str | None = None
    keys: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What was asked: the key it is known by, and the messages without the pixels."""

    key: str
    recipe: str
    messages: list[dict[str, Any]]


class Journal:
    """All that is known of a run. Reading is safe at any time, from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer: Writer | None = None
        self._session: tuple[int, float] | None = None

    @classmethod
    def create(cls, path: Path) -> Journal:
        """Open the journal at `path` for writing, laying it out if it is new."""
        journal = cls(path)
        with store_errors(path), contextlib.closing(connect(path)) as db:
            is_new = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if not is_new:
                schema.check_version(db, str(path))  # before anything is changed in a file that is not ours
            db.execute("PRAGMA journal_mode = WAL")
            if is_new:
                schema.create(db)
        journal._writer = Writer(path)
        return journal

    @classmethod
    def open(cls, path: Path) -> Journal:
        """Open an existing journal for reading."""
        if not path.is_file():
            raise StoreError(
                f"there is no run in {path.parent}", hint="give the folder that holds run.sqlite"
            )
        journal = cls(path)
        with journal._reading():
            pass
        return journal

    # -- writing -----------------------------------------------------------------------------------

    def replace_samples(self, samples: Iterable[Sample]) -> int:
        """Keep the source as it was read, all or nothing. Replies of samples that are gone stay.

        A sample that changed in anything but its place and its pictures loses its verdict: it was given by
        another gold.
        """
        insert = "INSERT INTO samples VALUES (?, ?, ?)"
        count = 0
        with store_errors(self.path), contextlib.closing(connect(self.path)) as db, db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("CREATE TEMP TABLE before AS SELECT id, body FROM samples")
            db.execute("DELETE FROM samples")
            for count, sample in enumerate(samples, start=1):
                try:
                    db.execute(insert, (count - 1, sample.id, _encode(sample)))
                except UnicodeEncodeError as err:  # half of a surrogate pair, as JSON can hold
                    raise DataError(f"row {sample.row}: the text is not valid Unicode: {err.reason}") from err
                except sqlite3.IntegrityError:
                    raise DataError(
                        f"row {sample.row}: the id {sample.id!r} stands twice",
                        hint="ids must be unique: they name the sample in the run and on resume",
                    ) from None
            db.execute(_FORGET_OLD_VERDICTS)
        return count

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a fact about the whole run."""
        self._writing.put([("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, _encode(value).decode()))])

    def append_reply(self, sample: str, trial: int, ask: Ask, reply: Reply, *, attempts: int = 1) -> None:
        """Keep a reply. It clears an earlier failure of the same sample."""
        self._writing.put(
            [
                self._ask_row(sample, trial, ask),
                (
                    "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)",
                    (sample, trial, ask.key, _encode(reply), attempts, time.time()),
                ),
                ("DELETE FROM failures WHERE sample = ? AND trial = ?", (sample, trial)),
            ]
        )

    def append_failure(
        self,
        sample: str,
        trial: int,
        failure: Failure,
        *,
        ask: Ask | None = None,
        scorer: Scorer | None = None,
    ) -> None:
        """Keep the reason why there is no reply (or, for stage "score", no verdict of `scorer`)."""
        row = (sample, trial, _encode(failure), time.time())
        statements: list[Statement] = [("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", row)]
        if ask is not None:
            statements.append(self._ask_row(sample, trial, ask))
        elif scorer is not None:  # what an earlier version of it said must not stand in
            sql = "DELETE FROM scores WHERE sample = ? AND trial = ? AND scorer = ?"
            statements.append((sql, (sample, trial, scorer.name)))
        elif failure.stage != "score":
            # What was asked before is not what is meant now: its old reply must not stand in.
            statements.append(("DELETE FROM asks WHERE sample = ? AND trial = ?", (sample, trial)))
        self._writing.put(statements)

    def append_score(self, sample: str, trial: int, key: str, scorer: Scorer, score: Score) -> None:
        """Keep a verdict. It clears an earlier failure to score."""
        row = (sample, trial, key, scorer.name, scorer.version, score.outcome, score.value, _encode(score))
        self._writing.put(
            [
                ("INSERT OR REPLACE INTO scores VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row),
                ("DELETE FROM failures WHERE sample = ? AND trial = ?", (sample, trial)),
            ]
        )

    def renew_ask(self, sample: str, trial: int, ask: Ask) -> None:
        """The same is asked as once before: its reply, kept all along, counts again.

        A failure to load or to answer what was asked in between is over; one to score is not.
        """
        clear = """DELETE FROM failures WHERE sample = ? AND trial = ?
                   AND json_extract(CAST(body AS TEXT), '$.stage') <> 'score'"""
        self._writing.put([self._ask_row(sample, trial, ask), (clear, (sample, trial))])

    def start_session(self) -> None:
        """Begin to count requests and seconds of this start of the run."""
        with store_errors(self.path), contextlib.closing(connect(self.path)) as db, db:
            cursor = db.execute("INSERT INTO sessions VALUES (NULL, ?, 0, 0, 0, 0)", (time.time(),))
            self._session = (int(cursor.lastrowid or 0), time.monotonic())

    def count_requests(self, *, sent: int, retried: int, cached: int) -> None:
        """Totals of this session so far."""
        assert self._session is not None, "start_session comes first"
        number, since = self._session
        row = (time.monotonic() - since, sent, retried, cached, number)
        sql = "UPDATE sessions SET seconds = ?, sent = ?, retried = ?, cached = ? WHERE id = ?"
        self._writing.put_latest((sql, row))

    def flush(self) -> None:
        """Return when all that was appended is on disk; raise if it cannot be."""
        self._writing.flush()

    def close(self) -> None:
        """Write what is left and stop writing."""
        if self._writer is not None:
            self._writer.close()

    def raise_trouble(self) -> None:
        """Raise what stopped the writer, if anything did."""
        if self._writer is not None:
            self._writer.raise_trouble()

    @property
    def _writing(self) -> Writer:
        assert self._writer is not None, "opened for reading"
        return self._writer

    @staticmethod
    def _ask_row(sample: str, trial: int, ask: Ask) -> Statement:
        row = (sample, trial, ask.key, ask.recipe, _encode(ask.messages))
        return ("INSERT OR REPLACE INTO asks VALUES (?, ?, ?, ?, ?)", row)

    # -- reading -----------------------------------------------------------------------------------

    def meta(self, name: str) -> Any:
        """A fact about the whole run; None when it was never set."""
        with self._reading() as db:
            row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else msgspec.json.decode(row[0])

    def samples(self) -> Iterator[Sample]:
        """The source as it was read, in order."""
        sql = "SELECT body FROM samples WHERE position > ?1 AND position <= ?2 ORDER BY position"
        for row in self._pages(sql):
            yield _sample.decode(row[0])

    def tasks(self, trials: int = 1) -> Iterator[Task]:
        """Every trial of every sample, saying which have a reply."""
        sql = """
            SELECT s.position, s.body, r.trial, r.key, a.recipe FROM samples s
            LEFT JOIN replies r ON r.sample = s.id AND r.trial < ?3
            LEFT JOIN asks a ON a.sample = r.sample AND a.trial = r.trial AND a.key = r.key
            WHERE s.position > ?1 AND s.position <= ?2
            ORDER BY s.position"""
        for _, replies in itertools.groupby(self._pages(sql, trials), key=lambda row: row[0]):
            rows = list(replies)
            sample = _sample.decode(rows[0][1])
            for trial in range(trials):
                mine = [row for row in rows if row[2] == trial]
                yield Task(
                    position=rows[0][0],
                    sample=sample,
                    trial=trial,
                    recipe=next((row[4] for row in mine if row[4] is not None), None),
                    keys=frozenset(row[3] for row in mine),
                )

    def results(self, scorer: str, *, trials: int = 1, sample: str | None = None) -> Iterator[Result]:
        """How each trial of each sample ended, with the verdict of `scorer`."""
        sql = """
            SELECT s.position, s.body, t.value, a.key, a.body, r.body, r.attempts, c.body, f.body
            FROM samples s CROSS JOIN (SELECT value FROM json_each(?3)) t
            LEFT JOIN asks a ON a.sample = s.id AND a.trial = t.value
            LEFT JOIN replies r ON r.sample = a.sample AND r.trial = a.trial AND r.key = a.key
            LEFT JOIN scores c ON c.sample = r.sample AND c.trial = r.trial AND c.key = r.key
                              AND c.scorer = ?4
            LEFT JOIN failures f ON f.sample = s.id AND f.trial = t.value
            WHERE s.position > ?1 AND s.position <= ?2 AND (?5 IS NULL OR s.id = ?5)
            ORDER BY s.position, t.value"""
        numbers = _encode(list(range(trials))).decode()
        for row in self._pages(sql, numbers, scorer, sample):
            yield Result(
                position=row[0],
                sample=_sample.decode(row[1]),
                trial=row[2],
                key=row[3] or "",
                sent=tuple(_image_records(row[4])),
                reply=_reply.decode(row[5]) if row[5] is not None else None,
                attempts=row[6] or 0,
                score=_score.decode(row[7]) if row[7] is not None else None,
                failure=_failure.decode(row[8]) if row[8] is not None else None,
            )

    def unscored(self, scorer: Scorer, *, trials: int = 1) -> Iterator[tuple[Sample, int, str, Reply]]:
        """Replies that have no verdict of this version of `scorer` yet."""
        sql = """
            SELECT s.body, r.trial, r.key, r.body FROM samples s
            JOIN asks a ON a.sample = s.id AND a.trial < ?3
            JOIN replies r ON r.sample = a.sample AND r.trial = a.trial AND r.key = a.key
            LEFT JOIN scores c ON c.sample = r.sample AND c.trial = r.trial AND c.key = r.key
                              AND c.scorer = ?4 AND c.version = ?5
            WHERE c.sample IS NULL AND s.position > ?1 AND s.position <= ?2
            ORDER BY s.position, r.trial"""
        for row in self._pages(sql, trials, scorer.name, scorer.version):
            yield _sample.decode(row[0]), row[1], row[2], _reply.decode(row[3])

    def score_so_far(self, scorer: Scorer) -> tuple[float, int]:
        """Sum and number of the verdicts that stand already."""
        sql = """
            SELECT total(c.value), count(*) FROM samples s
            JOIN asks a ON a.sample = s.id
            JOIN scores c ON c.sample = a.sample AND c.trial = a.trial AND c.key = a.key
            WHERE c.scorer = ? AND c.version = ? AND c.outcome <> 'unscored'"""
        with self._reading() as db:
            total, count = db.execute(sql, (scorer.name, scorer.version)).fetchone()
        return float(total), int(count)

    def asked(self, sample: str, trial: int = 0) -> list[dict[str, Any]]:
        """The messages as they were sent; empty when nothing was."""
        with self._reading() as db:
            sql = "SELECT body FROM asks WHERE sample = ? AND trial = ?"
            row = db.execute(sql, (sample, trial)).fetchone()
        return [] if row is None else msgspec.json.decode(row[0], type=list[dict[str, Any]])

    def count_samples(self) -> int:
        """How many samples the run has."""
        with self._reading() as db:
            return int(db.execute("SELECT count(*) FROM samples").fetchone()[0])

    def totals(self) -> dict[str, float]:
        """Requests and seconds over all sessions."""
        sql = "SELECT total(seconds), total(sent), total(retried), total(cached) FROM sessions"
        with self._reading() as db:
            seconds, sent, retried, cached = db.execute(sql).fetchone()
        return {"seconds": seconds, "sent": int(sent), "retried": int(retried), "cached": int(cached)}

    def _pages(self, sql: str, *values: object) -> Iterator[tuple[Any, ...]]:
        """Rows of a query over samples, a page of samples at a time: those after `?1`, up to `?2`."""
        page = """SELECT max(position) FROM
                  (SELECT position FROM samples WHERE position > ? ORDER BY position LIMIT ?)"""
        with self._reading() as db:
            last = -1
            while (end := db.execute(page, (last, PAGE)).fetchone()[0]) is not None:
                yield from db.execute(sql, (last, end, *values)).fetchall()
                last = end

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with store_errors(self.path), contextlib.closing(connect_to_read(self.path)) as db:
            schema.check_version(db, str(self.path))
            yield db


def _image_records(asked: bytes | None) -> Iterator[Mapping[str, Any]]:
    if asked is not None:
        for message in msgspec.json.decode(asked):
            yield from (part["image"] for part in message["parts"] if "image" in part)
