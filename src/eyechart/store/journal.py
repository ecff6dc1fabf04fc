"""The journal: one SQLite file, one writer thread, commits in groups.

Whoever appends does not wait: rows go to a queue, and the writer takes whatever has gathered there into
one transaction. The disk itself sets the pace, so a slow one gets larger groups, not a slower run.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import DataError, StoreError
from eyechart.store import schema
from eyechart.types import Failure, Reply, Result, Sample, Score, Scorer

FILE_NAME = "run.sqlite"
PAGE = 500  # rows read at a time: a reader that never lingers lets SQLite fold its log back in

_sample = msgspec.json.Decoder(Sample)
_reply = msgspec.json.Decoder(Reply)
_failure = msgspec.json.Decoder(Failure)
_score = msgspec.json.Decoder(Score)
_encode = msgspec.json.Encoder().encode


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


@dataclass(frozen=True, slots=True)
class _Flush:
    done: threading.Event


_Statement = tuple[str, tuple[Any, ...]]


class Journal:
    """All that is known of a run. Reading is safe at any time, from any thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._queue: queue.SimpleQueue[list[_Statement] | _Flush | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None
        self._trouble: StoreError | None = None
        self._session: tuple[int, float] | None = None

    @classmethod
    def create(cls, path: Path) -> Journal:
        """Open the journal at `path` for writing, laying it out if it is new."""
        journal = cls(path)
        with _store_errors(path), contextlib.closing(_connect(path)) as db:
            is_new = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if not is_new:
                schema.check_version(db, str(path))  # before anything is changed in a file that is not ours
            db.execute("PRAGMA journal_mode = WAL")
            if is_new:
                schema.create(db)
        journal._writer = threading.Thread(target=journal._write, name="eyechart-journal", daemon=True)
        journal._writer.start()
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
        """Keep the source as it was read, all or nothing. Replies of samples that are gone stay."""
        insert = "INSERT INTO samples VALUES (?, ?, ?)"
        count = 0
        with _store_errors(self.path), contextlib.closing(_connect(self.path)) as db, db:
            db.execute("BEGIN IMMEDIATE")
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
        return count

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a fact about the whole run."""
        self._put([("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, _encode(value).decode()))])

    def append_reply(self, sample: str, trial: int, ask: Ask, reply: Reply, *, attempts: int = 1) -> None:
        """Keep a reply. It clears an earlier failure of the same sample."""
        self._put(
            [
                self._ask_row(sample, trial, ask),
                (
                    "INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?, ?)",
                    (sample, trial, ask.key, _encode(reply), attempts, time.time()),
                ),
                ("DELETE FROM failures WHERE sample = ? AND trial = ?", (sample, trial)),
            ]
        )

    def append_failure(self, sample: str, trial: int, failure: Failure, *, ask: Ask | None = None) -> None:
        """Keep the reason why there is no reply (or, for stage "score", no score)."""
        row = (sample, trial, _encode(failure), time.time())
        statements: list[_Statement] = [("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?)", row)]
        if ask is not None:
            statements.append(self._ask_row(sample, trial, ask))
        elif failure.stage != "score":
            # What was asked before is not what is meant now: its old reply must not stand in.
            statements.append(("DELETE FROM asks WHERE sample = ? AND trial = ?", (sample, trial)))
        self._put(statements)

    def append_score(self, sample: str, trial: int, key: str, scorer: Scorer, score: Score) -> None:
        """Keep a verdict. It clears an earlier failure to score."""
        row = (sample, trial, key, scorer.name, scorer.version, score.outcome, score.value, _encode(score))
        self._put(
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
        self._put([self._ask_row(sample, trial, ask), (clear, (sample, trial))])

    def start_session(self) -> None:
        """Begin to count requests and seconds of this start of the run."""
        with _store_errors(self.path), contextlib.closing(_connect(self.path)) as db, db:
            cursor = db.execute("INSERT INTO sessions VALUES (NULL, ?, 0, 0, 0, 0)", (time.time(),))
            self._session = (int(cursor.lastrowid or 0), time.monotonic())

    def count_requests(self, *, sent: int, retried: int, cached: int) -> None:
        """Totals of this session so far."""
        assert self._session is not None, "start_session comes first"
        number, since = self._session
        row = (time.monotonic() - since, sent, retried, cached, number)
        self._put([("UPDATE sessions SET seconds = ?, sent = ?, retried = ?, cached = ? WHERE id = ?", row)])

    def flush(self) -> None:
        """Return when all that was appended is on disk; raise if it cannot be."""
        flush = _Flush(threading.Event())
        self._put(flush)
        flush.done.wait()
        self.raise_trouble()

    def close(self) -> None:
        """Write what is left and stop the writer."""
        if self._writer is not None:
            self._queue.put(None)
            self._writer.join()
            self._writer = None
        self.raise_trouble()

    def raise_trouble(self) -> None:
        """Raise what stopped the writer, if anything did."""
        if self._trouble is not None:
            raise self._trouble

    def _put(self, what: list[_Statement] | _Flush) -> None:
        self.raise_trouble()
        assert self._writer is not None, "opened for reading"
        self._queue.put(what)

    @staticmethod
    def _ask_row(sample: str, trial: int, ask: Ask) -> _Statement:
        row = (sample, trial, ask.key, ask.recipe, _encode(ask.messages))
        return ("INSERT OR REPLACE INTO asks VALUES (?, ?, ?, ?, ?)", row)

    def _write(self) -> None:
        """The writer thread: take what has gathered, commit it, tell those who wait."""
        waiting: list[_Flush] = []
        is_open = True
        try:
            with _store_errors(self.path), contextlib.closing(_connect(self.path)) as db:
                while is_open:
                    group = [self._queue.get()]
                    with contextlib.suppress(queue.Empty):
                        while True:
                            group.append(self._queue.get_nowait())
                    waiting = [item for item in group if isinstance(item, _Flush)]
                    is_open = None not in group
                    db.execute("BEGIN IMMEDIATE")
                    for item in group:
                        if isinstance(item, list):
                            for sql, row in item:
                                db.execute(sql, row)
                    db.execute("COMMIT")
                    _release(waiting)
        except Exception as err:  # whatever it is, those who append must hear of it
            other = f"{self.path}: {type(err).__name__}: {err}"
            self._trouble = err if isinstance(err, StoreError) else StoreError(other)
            _release(waiting)
            # Nobody may wait for ever; `close` may have spoken its last word already.
            while is_open and (item := self._queue.get()) is not None:
                _release([item] if isinstance(item, _Flush) else [])

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
        with _store_errors(self.path), contextlib.closing(_connect_to_read(self.path)) as db:
            schema.check_version(db, str(self.path))
            yield db


def _connect(path: Path) -> sqlite3.Connection:
    # Iterators are handed from thread to thread, never used by two at once.
    db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")  # a reply counts as done when it is on disk
    return db


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """A connection that also works in a folder where nothing may be written, such as a colleague's."""
    where = path.absolute().as_uri()
    db = sqlite3.connect(
        f"{where}?mode=rw", uri=True, isolation_level=None, timeout=30, check_same_thread=False
    )
    try:
        db.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError as err:
        db.close()
        if "readonly" not in str(err) or path.with_name(f"{path.name}-wal").exists():
            raise
        # No log lies beside it, and none can be made: the file is all there is.
        return sqlite3.connect(
            f"{where}?immutable=1", uri=True, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error:
        db.close()
        raise
    return db


@contextlib.contextmanager
def _store_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as err:
        hints: Mapping[str, str] = {
            "full": "free some space and start the same command again: all answers on disk are kept",
            "readonly": "the folder must be writable; choose another with --out",
            "unable to open": "the folder must exist and be writable; choose another with --out",
            "disk I/O": "check the disk; start the same command again: all answers on disk are kept",
            "not a database": "the file is damaged or not ours; start over with --fresh or another --out",
            "malformed": "the file is damaged; start over with --fresh or another --out",
            "locked": "another process holds the run; wait for it or choose another --out",
        }
        hint = next((text for word, text in hints.items() if word in str(err)), "")
        raise StoreError(f"{path}: {err}", hint=hint) from err


def _release(flushes: list[_Flush]) -> None:
    for flush in flushes:
        flush.done.set()


def _image_records(asked: bytes | None) -> Iterator[Mapping[str, Any]]:
    if asked is not None:
        for message in msgspec.json.decode(asked):
            yield from (part["image"] for part in message["parts"] if "image" in part)
