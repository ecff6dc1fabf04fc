"""Reading a journal: safe at any time, from any thread, while it is being written or after."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.store.counts import PROVISIONAL, Counts
from eyechart.store.database import store_errors
from eyechart.store.pages import open_to_read
from eyechart.store.tasks import Task, list_tasks
from eyechart.types import Failure, Reply, Result, Sample, Score, Scorer

_sample = msgspec.json.Decoder(Sample)
_reply = msgspec.json.Decoder(Reply)
_failure = msgspec.json.Decoder(Failure)
_score = msgspec.json.Decoder(Score)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Something asked besides the reply itself: an earlier round, or a judge."""

    sample: str
    trial: int
    key: str
    purpose: str  # "round:0", "judge:mcqa"
    messages: list[dict[str, Any]]
    reply: Reply
    model: str = ""  # who was asked, where a run may have had several: a judge


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that waits for a verdict."""

    sample: Sample
    trial: int
    key: str
    reply: Reply


class KeptCalls:
    """Calls that are on disk, over one connection that opens with the first hit; `close` it in the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        with store_errors(path), contextlib.closing(open_to_read(path)) as db:
            self._keys = {row[0] for row in db.execute("SELECT key FROM calls")}

    def has(self, key: str) -> bool:
        """Whether this was ever asked; it may not be on disk yet."""
        return key in self._keys

    def reply(self, sample: str, trial: int, key: str) -> Reply | None:
        """What was said then; None where it was never asked."""
        if self._db is None:
            self._db = open_to_read(self._path)
        sql = "SELECT body FROM calls WHERE sample = ? AND trial = ? AND key = ?"
        row = self._db.execute(sql, (sample, trial, key)).fetchone()
        with store_errors(self._path):
            return None if row is None else _reply.decode(row[0])

    def expect(self, key: str) -> None:
        """One more is being written: it will be there."""
        self._keys.add(key)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None


class JournalReader(Counts):
    """All that is known of a run."""

    def meta(self, name: str) -> Any:
        """A fact about the whole run; None when it was never set."""
        with self._reading() as db:
            row = db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
            return None if row is None else msgspec.json.decode(row[0])

    def mapping(self, name: str) -> dict[str, Any]:
        """A fact that is several ones by name; empty when it was never set."""
        with store_errors(self.path):
            return msgspec.convert(self.meta(name) or {}, dict[str, Any])

    def samples(self) -> Iterator[Sample]:
        """The source as it was read, in order."""
        sql = "SELECT body FROM samples WHERE position > ?1 AND position <= ?2 ORDER BY position"
        with store_errors(self.path):
            for row in self._pages(sql):
                yield _sample.decode(row[0])

    def tasks(self, trials: int = 1, *, together: bool = False) -> Iterator[Task]:
        """Every trial of every sample, saying which have a reply.

        `together`: one task a sample, its further trials as siblings of the first.
        """
        sql = """
            SELECT s.position, s.body, r.trial, r.key, a.recipe FROM samples s
            LEFT JOIN replies r ON r.sample = s.id AND r.trial < ?3
            LEFT JOIN asks a ON a.sample = r.sample AND a.trial = r.trial AND a.key = r.key
            WHERE s.position > ?1 AND s.position <= ?2
            ORDER BY s.position"""
        with store_errors(self.path):
            for _, replies in itertools.groupby(self._pages(sql, trials), key=lambda row: row[0]):
                rows = list(replies)
                position, body = rows[0][:2]
                replied = [row[2:] for row in rows]
                yield from list_tasks(position, _sample.decode(body), replied, trials, together=together)

    def results(
        self,
        scorer: str,
        *,
        version: str = "",
        trials: int = 1,
        trial: int | None = None,
        sample: str | None = None,
        is_brief: bool = False,
    ) -> Iterator[Result]:
        """How each trial of each sample ended, with the verdict of `scorer`.

        With `version`, a verdict of any other version of it does not count. With `trial`, only that one.
        `is_brief`: without what was asked, which counting does not need.
        """
        asked = "NULL" if is_brief else "a.body"
        sql = f"""
            SELECT s.position, s.body, t.value, a.key, {asked}, r.body, r.attempts, c.body,
                   coalesce(f.body, p.body)
            FROM samples s CROSS JOIN (SELECT value FROM json_each(?3)) t
            LEFT JOIN asks a ON a.sample = s.id AND a.trial = t.value
            LEFT JOIN replies r ON r.sample = a.sample AND r.trial = a.trial AND r.key = a.key
            LEFT JOIN scores c ON c.sample = r.sample AND c.trial = r.trial AND c.key = r.key
                              AND c.scorer = ?4 AND (?5 = '' OR c.version IN (?5, ?5 || ?6))
            LEFT JOIN failures f ON f.sample = s.id AND f.trial = t.value
            LEFT JOIN slips p ON p.sample = s.id AND p.trial = t.value AND p.scorer = ?4
            WHERE s.position > ?1 AND s.position <= ?2
            ORDER BY s.position"""  # noqa: S608 - our own words
        # Trials come in the order of the list: to sort by them, SQLite would hold every reply of a page.
        numbers = list(range(trials)) if trial is None else [trial]
        listed = msgspec.json.encode(numbers).decode()
        with store_errors(self.path):
            for row in self._pages(sql, listed, scorer, version, PROVISIONAL, only=sample):
                turns = () if row[4] is None else tuple(msgspec.json.decode(row[4]))
                yield Result(
                    position=row[0],
                    sample=_sample.decode(row[1]),
                    trial=row[2],
                    key=row[3] or "",
                    sent=tuple(part["image"] for turn in turns for part in turn["parts"] if "image" in part),
                    asked=turns,
                    reply=_reply.decode(row[5]) if row[5] is not None else None,
                    attempts=row[6] or 0,
                    score=_score.decode(row[7]) if row[7] is not None else None,
                    failure=_failure.decode(row[8]) if row[8] is not None else None,
                )

    def unscored(self, scorer: Scorer, *, trials: int = 1) -> Iterator[Answered]:
        """Replies that have no verdict of this version of `scorer` yet."""
        sql = """
            SELECT s.body, r.trial, r.key, r.body FROM samples s
            JOIN asks a ON a.sample = s.id AND a.trial < ?3
            JOIN replies r ON r.sample = a.sample AND r.trial = a.trial AND r.key = a.key
            LEFT JOIN scores c ON c.sample = r.sample AND c.trial = r.trial AND c.key = r.key
                              AND c.scorer = ?4 AND c.version = ?5
            WHERE c.sample IS NULL AND s.position > ?1 AND s.position <= ?2
            ORDER BY s.position, r.trial"""
        with store_errors(self.path):
            for row in self._pages(sql, trials, scorer.name, scorer.version):
                yield Answered(
                    sample=_sample.decode(row[0]), trial=row[1], key=row[2], reply=_reply.decode(row[3])
                )

    def asked(self, sample: str, trial: int = 0) -> list[dict[str, Any]]:
        """The messages as they were sent; empty when nothing was."""
        with self._reading() as db:
            sql = "SELECT body FROM asks WHERE sample = ? AND trial = ?"
            row = db.execute(sql, (sample, trial)).fetchone()
            return [] if row is None else msgspec.json.decode(row[0], type=list[dict[str, Any]])

    def kept_calls(self) -> KeptCalls:
        """The calls that are on disk now, to be looked up one by one."""
        return KeptCalls(self.path)

    def calls(self, sample: str, trial: int) -> list[Call]:
        """What was asked for one trial of one sample besides the reply itself, in order."""
        sql = """SELECT key, purpose, asked, body, model FROM calls WHERE sample = ? AND trial = ?
                 ORDER BY at, purpose"""
        with self._reading() as db:
            return [
                Call(
                    sample=sample,
                    trial=trial,
                    key=key,
                    purpose=purpose,
                    messages=msgspec.json.decode(asked, type=list[dict[str, Any]]),
                    reply=_reply.decode(body),
                    model=model,
                )
                for key, purpose, asked, body, model in db.execute(sql, (sample, trial)).fetchall()
            ]
