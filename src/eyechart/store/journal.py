"""Writing the journal: everything about a run, in one SQLite file (`reader.py` reads it)."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

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


_COUNT_EDITS = """
    WITH pairs AS (
      SELECT CAST(samples.body AS TEXT) AS new, CAST(before.body AS TEXT) AS old
      FROM before JOIN samples USING (id) WHERE samples.body <> before.body),
    parts AS (
      SELECT json_array(json_extract(new, '$.question'), json_extract(new, '$.choices'),
          json_extract(new, '$.choices_text'), json_extract(new, '$.hint'))
        IS NOT json_array(json_extract(old, '$.question'), json_extract(old, '$.choices'),
          json_extract(old, '$.choices_text'), json_extract(old, '$.hint')) AS is_asked_apart,
        json_extract(new, '$.golds') IS NOT json_extract(old, '$.golds') AS is_gold_apart FROM pairs)
    SELECT sum(is_asked_apart), sum(NOT is_asked_apart AND is_gold_apart),
      (SELECT count(*) FROM samples
        WHERE id NOT IN (SELECT id FROM before) AND EXISTS (SELECT 1 FROM before)),
      (SELECT count(*) FROM before WHERE id NOT IN (SELECT id FROM samples)) FROM parts"""


class Edits(msgspec.Struct, frozen=True):
    """How many samples of the last start have another question now, and how many only another answer.

    >>> str(Edits(answers=40, questions=1, new=2))
    '40 answers and 1 question changed since the last start, 2 questions are new'
    """

    questions: int = 0
    answers: int = 0
    new: int = 0  # in the file now, and not at the last start
    gone: int = 0

    def __str__(self) -> str:
        changed = {"answer": self.answers, "question": self.questions}
        edited = " and ".join(f"{n:,} {name}{'s' * (n != 1)}" for name, n in changed.items() if n)
        moved = [
            f"{n:,} {'question is' if n == 1 else 'questions are'} {what}"
            for what, n in (("new", self.new), ("gone", self.gone))
            if n
        ]
        first, *others = [*([f"{edited} changed"] if edited else []), *moved] or [""]
        return ", ".join([f"{first} since the last start", *others]) if first else ""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """A request: its key, and the messages without the pixels."""

    key: str
    recipe: str
    messages: list[dict[str, Any]]


class ScorerName(NamedTuple):
    """The name under which scores are kept, and the version of the scorer."""

    name: str
    version: str


class Journal(JournalReader):
    """The journal of a run, for writing and reading."""

    def __init__(self, path: Path, *, is_untouched: bool = False) -> None:
        super().__init__(path, is_untouched=is_untouched)
        self._writer: Writer | None = None
        self._session: tuple[int, float] | None = None
        # Most runs have none; then no reply needs a statement to clear them.
        self._has_failures = True
        self._has_scorer_errors = True

    @classmethod
    def create(cls, path: Path) -> Journal:
        """Open the journal at `path` for writing; creates its tables if it is new."""
        journal = cls(path)
        make_file(path)
        with store_errors(path), contextlib.closing(connect(path)) as db:
            is_new = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
            if not is_new:
                sqlite.check_version(db, str(path))  # before changing a file that may not be a journal
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
    def open(cls, path: Path, *, is_untouched: bool = False) -> Journal:
        """Open an existing journal for reading."""
        if not path.is_file():
            raise StoreError(f"no run in {path.parent}", hint="give the folder that contains run.sqlite")
        journal = cls(path, is_untouched=is_untouched)
        with journal._reading():
            pass
        return journal

    def replace_samples(self, samples: Iterable[Sample]) -> int:
        """Store the source's samples in one transaction. Replies to samples that are gone are kept.

        A sample that changed in anything but its row and its images loses its verdict, which may rest on
        another gold.
        """
        insert = "INSERT INTO samples VALUES (?, ?, ?)"
        count = 0
        with store_errors(self.path), contextlib.closing(connect(self.path)) as db, db:
            db.execute("BEGIN IMMEDIATE")
            db.execute("CREATE TEMP TABLE before AS SELECT id, body FROM samples")
            db.execute("DELETE FROM samples")
            for count, sample in enumerate(check_samples(samples), start=1):
                body = _encode_sample(sample)
                try:
                    db.execute(insert, (count - 1, sample.id, body))
                except sqlite3.IntegrityError:
                    raise DataError(
                        f"{_place(sample)}: the id {sample.id!r} occurs twice",
                        hint="ids must be unique: they name the sample in the run and on resume",
                    ) from None
            db.execute(_FORGET_OLD_VERDICTS)
            self.edits = Edits(*(n or 0 for n in db.execute(_COUNT_EDITS).fetchone()))
        return count

    def keep_samples(self, positions: Iterable[int]) -> int:
        """Remove all samples but those at these positions; returns how many are left."""
        with store_errors(self.path), contextlib.closing(connect(self.path)) as db, db:
            db.execute("CREATE TEMP TABLE kept (position INTEGER PRIMARY KEY)")
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO kept VALUES (?)", ((position,) for position in positions))
            db.execute("DELETE FROM samples WHERE position NOT IN (SELECT position FROM kept)")
            return int(db.execute("SELECT count(*) FROM samples").fetchone()[0])

    def set_meta(self, name: str, value: Any) -> None:
        """Store a value about the whole run."""
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
        """Store a reply and clear an earlier failure of the same sample."""
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
        """Store the reason why a sample has no reply."""
        row = (sample, trial, _encode(failure), time.time())
        self._has_failures = True
        statements = [WriteStatement("failures", _REPLACE["failures"], row)]
        if ask is not None:
            statements.append(self._ask_row(sample, trial, ask))
        else:  # the earlier request is outdated: its reply must not count
            forget = "DELETE FROM asks WHERE sample = ? AND trial = ?"
            statements.append(WriteStatement("asks", forget, (sample, trial)))
        self._writing.put(statements)

    def append_scorer_error(self, sample: str, trial: int, scorer: Scorer, failure: Failure) -> None:
        """Store the reason why a scorer gave no verdict, and remove its earlier verdict."""
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
        scorer: Scorer | ScorerName,
        score: Score,
        *,
        is_provisional: bool = False,
    ) -> None:
        """Store a verdict and clear an earlier error of the same scorer."""
        version = scorer.version + PROVISIONAL * is_provisional
        body = _encode(score)
        row = (sample, trial, key, scorer.name, version, score.outcome, score.value, body)
        statements = [WriteStatement("scores", _REPLACE["scores"], row)]
        if self._has_scorer_errors:
            statements.append(WriteStatement("slips", _FORGET_SCORER_ERROR, (sample, trial, scorer.name)))
        self._writing.put(statements, len(body))

    def copy_scores(self, scorer: str, version: str, name: str) -> None:
        """Keep the verdicts of a scorer under another name, too."""
        sql = """INSERT OR REPLACE INTO scores
                 SELECT sample, trial, key, ?, version, outcome, value, body FROM scores
                 WHERE scorer = ? AND version IN (?, ?)"""
        row = (name, scorer, version, version + PROVISIONAL)
        self._writing.put([WriteStatement("scores", sql, row)])

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
        """Store the reply of an earlier round or a judge, so that it is not asked again."""
        asked, body = _encode(ask.messages), _encode(reply)
        row = (sample, trial, ask.key, purpose, asked, body, attempts, time.time(), _paid(paid), model)
        self._writing.put([WriteStatement("calls", _REPLACE["calls"], row)], len(asked) + len(body))

    def renew_ask(self, sample: str, trial: int, ask: Ask) -> None:
        """A request sent before is current again: its stored reply counts, and a failure is cleared."""
        clear = WriteStatement("failures", _FORGET_FAILURE, (sample, trial))
        self._writing.put([self._ask_row(sample, trial, ask), clear])

    def start_session(self) -> None:
        """Start counting the requests and seconds of this start of the run."""
        with store_errors(self.path), contextlib.closing(connect(self.path)) as db, db:
            cursor = db.execute("INSERT INTO sessions VALUES (NULL, ?, 0, 0, 0, 0)", (time.time(),))
            self._session = (int(cursor.lastrowid or 0), time.monotonic())

    def count_requests(self, *, sent: int, retried: int, cached: int) -> None:
        """Update the totals of this session."""
        assert self._session is not None, "start_session comes first"
        number, since = self._session
        row = (time.monotonic() - since, sent, retried, cached, number)
        sql = "UPDATE sessions SET seconds = ?, sent = ?, retried = ?, cached = ? WHERE id = ?"
        self._writing.put_latest(WriteStatement("sessions", sql, row))

    @property
    def is_behind(self) -> bool:
        """Whether the backlog is so large that producers should call `wait_for_room`."""
        return self._writing.is_behind

    def wait_for_room(self) -> None:
        """Return when most of the backlog is on disk; raise if it cannot be written."""
        self._writing.wait_for_room()

    def flush(self) -> None:
        """Return when everything appended is on disk; raise if it cannot be written."""
        self._writing.flush()

    async def written(self) -> None:
        """The same, without blocking the event loop."""
        await self._writing.written()

    def close(self) -> None:
        """Write the backlog and stop."""
        if self._writer is not None:
            self._writer.close()

    def raise_trouble(self) -> None:
        """Raise the error that stopped the writer, if any."""
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


def _encode_sample(sample: Sample) -> bytes:
    """A sample as it is stored."""
    try:
        return _encode(sample)
    except UnicodeEncodeError as err:  # a lone surrogate, which JSON can hold
        raise DataError(f"{_place(sample)}: the text is not valid Unicode: {err.reason}") from err
    except (TypeError, ValueError, RecursionError) as err:
        raise DataError(
            f"{_place(sample)}: cannot be stored: {err}",
            hint="`meta` may hold JSON values: strings, numbers, booleans, lists and dicts of these",
        ) from err


def _place(sample: Sample) -> str:
    return f"row {sample.row}" if sample.row else f"the sample {sample.id!r}"
