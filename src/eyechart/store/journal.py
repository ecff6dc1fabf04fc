"""The journal: all that is known of a run, in one SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import DataError, StoreError
from eyechart.files import make_file
from eyechart.store import sqlite
from eyechart.store.reader import PROVISIONAL, JournalReader
from eyechart.store.sqlite import Writer, WriteStatement, connect, store_errors
from eyechart.types import Failure, Reply, Sample, Score, Scorer, Usage
from eyechart.validate import check_samples

FILE_NAME = "run.sqlite"

_encode = msgspec.json.Encoder().encode

_TABLES = ("meta", "asks", "replies", "failures", "slips", "scores", "calls")
_REPLACE = {table: f"INSERT OR REPLACE INTO {table} VALUES" for table in _TABLES}
_FORGET_FAILURE = "DELETE FROM failures WHERE sample = ? AND trial = ?"
_FORGET_SCORER_ERRORS = "DELETE FROM slips WHERE sample = ? AND trial = ?"
_FORGET_SCORER_ERROR = f"{_FORGET_SCORER_ERRORS} AND scorer = ?"

_FORGET_OLD_VERDICTS = """
    DELETE FROM scores WHERE sample IN (
      SELECT before.id FROM before JOIN samples USING (id) WHERE samples.body <> before.body
      AND json_remove(CAST(samples.body AS TEXT), '$.images', '$.row')
       <> json_remove(CAST(before.body AS TEXT), '$.images', '$.row'))"""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What was asked: the key it is known by, and the messages without the pixels."""

    key: str
    recipe: str
    messages: list[dict[str, Any]]


class Journal(JournalReader):
    """The journal of a run, to be written and read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._writer: Writer | None = None
        self._session: tuple[int, float] | None = None
        # Most runs have none, and then there is nothing to clear with every reply.
        self._has_failures = True
        self._has_scorer_errors = True

    @classmethod
    def create(cls, path: Path) -> Journal:
        """Open the journal at `path` for writing, laying it out if it is new."""
        journal = cls(path)
        make_file(path)
        with store_errors(path), contextlib.closing(connect(path)) as db:
            is_new = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if not is_new:
                sqlite.check_version(db, str(path))  # before anything is changed in a file that is not ours
            db.execute("PRAGMA journal_mode = WAL")
            if is_new:
                sqlite.create_tables(db)
            else:
                sqlite.upgrade_tables(db)
            journal._has_failures = db.execute("SELECT EXISTS (SELECT 1 FROM failures)").fetchone()[0] == 1
            journal._has_scorer_errors = db.execute("SELECT EXISTS (SELECT 1 FROM slips)").fetchone()[0] == 1
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
            for count, sample in enumerate(check_samples(samples), start=1):
                body = _body_of(sample)
                try:
                    db.execute(insert, (count - 1, sample.id, body))
                except sqlite3.IntegrityError:
                    raise DataError(
                        f"{_place(sample)}: the id {sample.id!r} stands twice",
                        hint="ids must be unique: they name the sample in the run and on resume",
                    ) from None
            db.execute(_FORGET_OLD_VERDICTS)
        return count

    def set_meta(self, name: str, value: Any) -> None:
        """Keep a fact about the whole run."""
        self._writing.put([WriteStatement("meta", _REPLACE["meta"], (name, _encode(value).decode()))])

    def append_reply(
        self,
        sample: str,
        trial: int,
        ask: Ask,
        reply: Reply,
        *,
        attempts: int = 1,
        paid: Usage | None = None,
    ) -> None:
        """Keep a reply. It clears an earlier failure of the same sample."""
        asked, body = _encode(ask.messages), _encode(reply)
        row = (sample, trial, ask.key, body, attempts, time.time(), _paid(paid))
        statements = [
            WriteStatement("asks", _REPLACE["asks"], (sample, trial, ask.key, ask.recipe, asked)),
            WriteStatement("replies", _REPLACE["replies"], row),
        ]
        if self._has_failures:
            statements.append(WriteStatement("failures", _FORGET_FAILURE, (sample, trial)))
        if self._has_scorer_errors:
            statements.append(WriteStatement("slips", _FORGET_SCORER_ERRORS, (sample, trial)))
        self._writing.put(statements, len(asked) + len(body))

    def append_failure(self, sample: str, trial: int, failure: Failure, *, ask: Ask | None = None) -> None:
        """Keep the reason why there is no reply."""
        row = (sample, trial, _encode(failure), time.time())
        self._has_failures = True
        statements = [WriteStatement("failures", _REPLACE["failures"], row)]
        if ask is not None:
            statements.append(self._ask_row(sample, trial, ask))
        else:  # what was asked before is not what is meant now: its old reply must not stand in
            forget = "DELETE FROM asks WHERE sample = ? AND trial = ?"
            statements.append(WriteStatement("asks", forget, (sample, trial)))
        self._writing.put(statements)

    def append_scorer_error(self, sample: str, trial: int, scorer: Scorer, failure: Failure) -> None:
        """Keep the reason why a scorer gave no verdict; what an earlier version of it said is over."""
        row = (sample, trial, scorer.name, _encode(failure), time.time())
        self._has_scorer_errors = True
        forget = "DELETE FROM scores WHERE sample = ? AND trial = ? AND scorer = ?"
        self._writing.put(
            [
                WriteStatement("slips", _REPLACE["slips"], row),
                WriteStatement("scores", forget, (sample, trial, scorer.name)),
            ]
        )

    def append_score(
        self,
        sample: str,
        trial: int,
        key: str,
        scorer: Scorer,
        score: Score,
        *,
        is_provisional: bool = False,
    ) -> None:
        """Keep a verdict. It clears an earlier failure of the same scorer."""
        version = scorer.version + PROVISIONAL * is_provisional
        body = _encode(score)
        row = (sample, trial, key, scorer.name, version, score.outcome, score.value, body)
        statements = [WriteStatement("scores", _REPLACE["scores"], row)]
        if self._has_scorer_errors:
            statements.append(WriteStatement("slips", _FORGET_SCORER_ERROR, (sample, trial, scorer.name)))
        self._writing.put(statements, len(body))

    def append_call(
        self,
        sample: str,
        trial: int,
        ask: Ask,
        purpose: str,
        reply: Reply,
        *,
        attempts: int = 1,
        paid: Usage | None = None,
        model: str = "",
    ) -> None:
        """Keep what an earlier round or a judge said, so that it is not asked again."""
        asked, body = _encode(ask.messages), _encode(reply)
        row = (sample, trial, ask.key, purpose, asked, body, attempts, time.time(), _paid(paid), model)
        self._writing.put([WriteStatement("calls", _REPLACE["calls"], row)], len(asked) + len(body))

    def renew_ask(self, sample: str, trial: int, ask: Ask) -> None:
        """The same is asked as once before: its reply, kept all along, counts again.

        A failure to load or to answer what was asked in between is over.
        """
        clear = WriteStatement("failures", _FORGET_FAILURE, (sample, trial))
        self._writing.put([self._ask_row(sample, trial, ask), clear])

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
        self._writing.put_latest(WriteStatement("sessions", sql, row))

    @property
    def is_behind(self) -> bool:
        """So much waits for the disk that producers should wait for room first."""
        return self._writing.is_behind

    def wait_for_room(self) -> None:
        """Return when the disk has caught up with most of what was appended; raise if it cannot."""
        self._writing.wait_for_room()

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
    def _ask_row(sample: str, trial: int, ask: Ask) -> WriteStatement:
        row = (sample, trial, ask.key, ask.recipe, _encode(ask.messages))
        return WriteStatement("asks", _REPLACE["asks"], row)


def _paid(usage: Usage | None) -> str | None:
    return None if usage is None else _encode(usage).decode()


def _body_of(sample: Sample) -> bytes:
    """A sample as it is kept."""
    try:
        return _encode(sample)
    except UnicodeEncodeError as err:  # half of a surrogate pair, as JSON can hold
        raise DataError(f"{_place(sample)}: the text is not valid Unicode: {err.reason}") from err
    except (TypeError, ValueError, RecursionError) as err:
        raise DataError(
            f"{_place(sample)}: it cannot be kept: {err}",
            hint="`meta` may hold what JSON can: texts, numbers, true and false, lists and dicts of these",
        ) from err


def _place(sample: Sample) -> str:
    return f"row {sample.row}" if sample.row else f"the sample {sample.id!r}"
