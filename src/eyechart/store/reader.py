"""Reading a journal: samples, requests, replies and verdicts, the tasks that are left, and totals.

Safe at any time and from any thread, while the journal is being written or after.
"""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from eyechart.store import sqlite
from eyechart.store.sqlite import connect_to_read, connect_untouched, store_errors
from eyechart.types import Failure, ImageRef, Reply, Result, Sample, Score, Scorer, Usage

PROVISIONAL = "?"  # ends the version of a verdict that waits for a judge; it is scored again next time
PAGE = 500  # rows per query: short reads let SQLite checkpoint its write-ahead log
NO_CLUSTERS: Mapping[int, str] = MappingProxyType({})
_HELD_BYTES = 8 * 2**20  # of texts: longer rows are yielded before the page is complete

_sample = msgspec.json.Decoder(Sample)
_reply = msgspec.json.Decoder(Reply)
_failure = msgspec.json.Decoder(Failure)
_score = msgspec.json.Decoder(Score)
_asked = msgspec.json.Decoder(list[dict[str, Any]])
_FIELDS = tuple(Usage.__dataclass_fields__)
_SUMS = ", ".join(f"total(json_extract(usage, '$.{name}'))" for name in _FIELDS)

Verdict = tuple[tuple[str, int], tuple[str, float]]  # sample and trial; outcome and value
# A reply as tasks need it: trial, key, and the recipe if it answers the current request. A sample without
# replies may have a row of None.
ReplyRow = tuple[int | None, str | None, str | None]


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One trial of one sample, with the keys of every reply to it that is already in the journal.

    `recipe` is that of the current request, if it has a reply. `siblings` are the sample's further trials, if
    all share one request.
    """

    position: int
    sample: Sample
    trial: int
    recipe: str | None = None
    keys: frozenset[str] = frozenset()
    siblings: tuple[Task, ...] = ()


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """A reply to be scored."""

    sample: Sample
    trial: int
    key: str
    reply: Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A further request for a sample: an earlier round, or a judge call."""

    sample: str
    trial: int
    key: str
    purpose: str  # "round:0", "judge:mcqa"
    messages: list[dict[str, Any]]
    reply: Reply
    model: str = ""  # the judge's name: a run may have had several judges


class Belonging(msgspec.Struct, kw_only=True):
    """What says which samples belong together: the images of a sample, its circle and its columns."""

    position: int = 0
    id: str = ""
    images: tuple[ImageRef, ...] = ()
    circle: str = ""
    meta: Mapping[str, Any] = {}
    withheld: Mapping[str, Any] = {}
    sent: tuple[str, ...] = ()  # the SHA-256 of its images as they were sent


class _SentImage(msgspec.Struct):
    sha256: str = ""  # none where a URL was sent
    origin: str = ""
    look: dict[str, Any] = {}  # of a look run: the region that it shows, with a `parent` if it is a crop


class _SentPart(msgspec.Struct):
    image: _SentImage | None = None


class _SentTurn(msgspec.Struct):
    parts: list[_SentPart] = []


def _list_sent(images: Sequence[ImageRef], turns: Sequence[_SentTurn]) -> tuple[str, ...]:
    """Digests of the sample's own images: no examples or blank images that a prompt adds, no crops of a look.

    Examples come before the question, so the last ones count where several have the same origin.
    """
    own = {str(image) for image in images}
    sent = [part.image for turn in turns for part in turn.parts if part.image and part.image.origin in own]
    whole = [image.sha256 for image in sent if "parent" not in image.look]
    return tuple(filter(None, whole[-len(images) :]))


class PaidTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that this run paid for, and their tokens, estimated if the endpoint did not count them."""

    n: int
    usage: Usage


class JudgeTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The calls of one judge and their tokens, whichever run paid for them."""

    model: str  # empty if an earlier eyechart did not store it
    n_asked: int
    n_cached: int  # found in the cache of other runs
    n_counted: int
    usage: Usage


_belonging = msgspec.json.Decoder(Belonging)
_sent = msgspec.json.Decoder(list[_SentTurn])


class JournalReader:
    """Everything about a run, read at any time and from any thread."""

    def __init__(self, path: Path, *, is_untouched: bool = False) -> None:
        self.path = path
        self.is_untouched = is_untouched  # reads create no files beside the journal: for short reads only
        self._held: sqlite3.Connection | None = None

    def meta(self, name: str) -> Any:
        """A value about the whole run; None if it was never set."""
        row = self._first("SELECT value FROM meta WHERE name = ?", name)
        with store_errors(self.path):
            return None if row is None else msgspec.json.decode(row[0])

    def read_mapping(self, name: str) -> dict[str, Any]:
        """A mapping about the whole run; empty if it was never set."""
        with store_errors(self.path):
            return msgspec.convert(self.meta(name) or {}, dict[str, Any])

    def list_meta(self) -> dict[str, Any]:
        """All values about the whole run, by name."""
        with self._reading() as db:
            return {name: msgspec.json.decode(value) for name, value in db.execute("SELECT * FROM meta")}

    def samples(self) -> Iterator[Sample]:
        """The source as it was read, in order."""
        sql = "SELECT body FROM samples WHERE position > ?1 AND position <= ?2 ORDER BY position"
        with store_errors(self.path):
            for row in self._pages(sql):
                yield _sample.decode(row[0])

    def belongings(self, *, with_sent: bool = True) -> Iterator[Belonging]:
        """What says which samples belong together, in order; `with_sent`: with the images that were sent."""
        sql = """
            SELECT s.position, s.body, a.body FROM samples s
            LEFT JOIN asks a ON ?3 AND a.sample = s.id AND a.trial = 0
            WHERE s.position > ?1 AND s.position <= ?2
            ORDER BY s.position"""
        with store_errors(self.path):
            for position, body, asked in self._pages(sql, with_sent):
                found = _belonging.decode(body)
                found.position = position
                if asked is not None:
                    found.sent = _list_sent(found.images, _sent.decode(asked))
                yield found

    def tasks(
        self, trials: int = 1, *, together: bool = False, order: Sequence[int] | None = None
    ) -> Iterator[Task]:
        """Every trial of every sample, with the keys of its replies.

        `together`: one task per sample, its further trials as siblings of the first. `order`: the positions
        of the samples, in which they are listed.
        """
        columns = "SELECT s.position, s.body, r.trial, r.key, a.recipe"
        replied = """
            LEFT JOIN replies r ON r.sample = s.id AND r.trial < {}
            LEFT JOIN asks a ON a.sample = r.sample AND a.trial = r.trial AND a.key = r.key"""
        if order is None:
            sql = f"""{columns} FROM samples s {replied.format("?3")}
                      WHERE s.position > ?1 AND s.position <= ?2 ORDER BY s.position"""
            found = self._pages(sql, trials)
        else:
            sql = f"""{columns} FROM json_each(?2) w JOIN samples s ON s.position = w.value
                      {replied.format("?1")} ORDER BY w.key"""
            found = self._ordered_pages(sql, trials, order)
        with store_errors(self.path):
            for _, of_sample in itertools.groupby(found, key=itemgetter(0)):
                rows = list(of_sample)
                position, body = rows[0][:2]
                replies = [row[2:] for row in rows]
                yield from list_tasks(position, _sample.decode(body), replies, trials, together=together)

    def _ordered_pages(self, sql: str, trials: int, order: Sequence[int]) -> Iterator[tuple[Any, ...]]:
        for first in range(0, len(order), PAGE):
            with self._reading() as db:
                yield from _gathered(db.execute(sql, (trials, _as_json(order[first : first + PAGE]))))

    def results(
        self,
        scorer: str,
        *,
        version: str = "",
        trials: int = 1,
        trial: int | None = None,
        sample: str | None = None,
        is_brief: bool = False,
        clusters: Mapping[int, str] = NO_CLUSTERS,
    ) -> Iterator[Result]:
        """How each trial of each sample ended, with the verdict of `scorer`.

        With `version`, verdicts of other versions do not count. With `trial`, only that trial.
        `is_brief`: without the messages, which counting does not need. `clusters`: by position.
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
            ORDER BY s.position"""  # noqa: S608 - only constants
        # Trials come in list order: sorting by them would make SQLite hold every reply of a page.
        numbers = list(range(trials)) if trial is None else [trial]
        listed = _as_json(numbers)
        with store_errors(self.path):
            for row in self._pages(sql, listed, scorer, version, PROVISIONAL, only=sample):
                turns = () if row[4] is None else msgspec.json.decode(row[4])
                yield Result(
                    position=row[0],
                    sample=_sample.decode(row[1]),
                    trial=row[2],
                    key=row[3] or "",
                    sent=tuple(
                        [part["image"] for turn in turns for part in turn["parts"] if "image" in part]
                    ),
                    asked=tuple(turns),
                    reply=_reply.decode(row[5]) if row[5] is not None else None,
                    attempts=row[6] or 0,
                    score=_score.decode(row[7]) if row[7] is not None else None,
                    failure=_failure.decode(row[8]) if row[8] is not None else None,
                    cluster=clusters.get(row[0], ""),
                )

    def unscored(self, scorer: Scorer, *, trials: int = 1) -> Iterator[Answered]:
        """Replies without a verdict of this version of `scorer`."""
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
        """The messages as sent; empty if none were."""
        row = self._first("SELECT body FROM asks WHERE sample = ? AND trial = ?", sample, trial)
        with store_errors(self.path):
            return [] if row is None else _asked.decode(row[0])

    def calls(self, sample: str, trial: int) -> list[Call]:
        """Earlier rounds and judge calls of one trial of one sample, in order."""
        sql = """SELECT key, purpose, asked, body, model FROM calls WHERE sample = ? AND trial = ?
                 ORDER BY at, purpose"""
        with self._reading() as db:
            return [
                Call(
                    sample=sample,
                    trial=trial,
                    key=key,
                    purpose=purpose,
                    messages=_asked.decode(asked),
                    reply=_reply.decode(body),
                    model=model,
                )
                for key, purpose, asked, body, model in db.execute(sql, (sample, trial)).fetchall()
            ]

    # -- Totals

    def verdicts(self, scorer: str, *, version: str = "", trials: int = 1) -> Iterator[Verdict]:
        """Outcome and value of every reply, in order; a reply without a verdict counts as failed."""
        sql = """
            SELECT s.id, r.trial, c.outcome, c.value FROM samples s
            JOIN asks a ON a.sample = s.id AND a.trial < ?3
            JOIN replies r ON r.sample = a.sample AND r.trial = a.trial AND r.key = a.key
            LEFT JOIN scores c ON c.sample = r.sample AND c.trial = r.trial AND c.key = r.key
                              AND c.scorer = ?4 AND (?5 = '' OR c.version IN (?5, ?5 || ?6))
            WHERE s.position > ?1 AND s.position <= ?2
            ORDER BY s.position, r.trial"""
        for row in self._pages(sql, trials, scorer, version, PROVISIONAL):
            yield (row[0], row[1]), (row[2] or "failed", row[3] or 0.0)

    def scores(
        self, scorer: str, *, version: str = "", trials: int = 1
    ) -> Iterator[tuple[str, int, Score, bool]]:
        """Sample, trial and score of every current reply that has one, and whether it waits for a judge."""
        sql = """
            SELECT s.id, c.trial, c.body, c.version FROM samples s
            JOIN asks a ON a.sample = s.id AND a.trial < ?3
            JOIN scores c ON c.sample = a.sample AND c.trial = a.trial AND c.key = a.key
                         AND c.scorer = ?4 AND (?5 = '' OR c.version IN (?5, ?5 || ?6))
            WHERE s.position > ?1 AND s.position <= ?2
            ORDER BY s.position, c.trial"""
        with store_errors(self.path):
            for name, trial, body, found in self._pages(sql, trials, scorer, version, PROVISIONAL):
                yield name, trial, _score.decode(body), found.endswith(PROVISIONAL)

    def score_so_far(self, scorer: Scorer) -> tuple[float, float]:
        """The weighted sum of the verdicts so far, and the sum of their weights."""
        sql = """
            SELECT total(c.value * coalesce(json_extract(CAST(s.body AS TEXT), '$.weight'), 1)),
                   total(coalesce(json_extract(CAST(s.body AS TEXT), '$.weight'), 1)) FROM samples s
            JOIN asks a ON a.sample = s.id
            JOIN scores c ON c.sample = a.sample AND c.trial = a.trial AND c.key = a.key
            WHERE c.scorer = ? AND c.version = ? AND c.outcome <> 'unscored'"""
        total, count = self._first(sql, scorer.name, scorer.version)
        return float(total), float(count)

    def count_provisional(self, scorer: str, *, version: str = "", trials: int = 1) -> int:
        """How many verdicts on current replies wait for a judge that failed."""
        sql = """
            SELECT count(*) FROM samples s
            JOIN asks a ON a.sample = s.id AND a.trial < ?1
            JOIN scores c ON c.sample = a.sample AND c.trial = a.trial AND c.key = a.key
            WHERE c.scorer = ?2 AND CASE ?3 WHEN '' THEN c.version LIKE '%' || ?4
                                            ELSE c.version = ?3 || ?4 END"""
        return int(self._first(sql, trials, scorer, version, PROVISIONAL)[0])

    def count_samples(self) -> int:
        return int(self._first("SELECT count(*) FROM samples")[0])

    def has_replies(self) -> bool:
        """Whether the model has ever answered in this run."""
        return bool(self._first("SELECT EXISTS (SELECT 1 FROM replies)")[0])

    def has_answers(self) -> bool:
        """Whether anything was ever answered in this run, by the model or by a judge."""
        return bool(self._first("SELECT EXISTS (SELECT 1 FROM replies) OR EXISTS (SELECT 1 FROM calls)")[0])

    def find_judged(self, judges: Sequence[str]) -> set[tuple[str, int]]:
        """Sample and trial of every reply that one of these judges was asked about, but not aside."""
        sql = """SELECT DISTINCT sample, trial FROM calls
                 WHERE purpose LIKE 'judge:%' AND purpose NOT LIKE 'judge:%:%'
                 AND model IN (SELECT value FROM json_each(?))"""
        with self._reading() as db:
            return {(sample, trial) for sample, trial in db.execute(sql, (_as_json(judges),))}

    def count_calls(self, judges: Sequence[str]) -> dict[str, int]:
        """How many calls of these judges had which purpose: "judge:verdict", "judge:repeat:verdict"."""
        sql = """SELECT purpose, count(*) FROM calls WHERE purpose LIKE 'judge:%'
                 AND model IN (SELECT value FROM json_each(?)) GROUP BY purpose ORDER BY purpose"""
        with self._reading() as db:
            return dict(db.execute(sql, (_as_json(judges),)).fetchall())

    def judged_totals(self, role: Literal["judge", "search"] = "judge") -> list[JudgeTotals]:
        """The totals of each judge that the run has had, or of each searcher."""
        sql = f"""
            SELECT model, total(attempts > 0), total(attempts = 0), count(usage), {_SUMS}
            FROM (SELECT model, attempts, json_extract(CAST(body AS TEXT), '$.usage') AS usage
                  FROM calls WHERE purpose LIKE ? || ':%')
            GROUP BY model ORDER BY model"""  # noqa: S608
        with self._reading() as db:
            return [
                JudgeTotals(
                    model=model,
                    n_asked=int(asked),
                    n_cached=int(cached),
                    n_counted=counted,
                    usage=_usage(tokens),
                )
                for model, asked, cached, counted, *tokens in db.execute(sql, (role,)).fetchall()
            ]

    def paid_totals(self) -> tuple[PaidTotals, dict[str, PaidTotals]]:
        """What all starts of this run paid for: the model, all rounds included; judges and searcher by name.

        Replies found in the cache or in other runs were paid for by those.
        """
        model = self._paid("""
            SELECT '' AS model, paid AS usage FROM replies UNION ALL
            SELECT '', paid FROM calls WHERE purpose LIKE 'round:%' OR purpose LIKE 'recheck:%'""")
        judges = self._paid("""
            SELECT model, paid AS usage FROM calls
            WHERE purpose NOT LIKE 'round:%' AND purpose NOT LIKE 'recheck:%'""")
        return model.get("", PaidTotals(n=0, usage=Usage())), judges

    def _paid(self, rows: str) -> dict[str, PaidTotals]:
        sql = f"SELECT model, count(*), {_SUMS} FROM ({rows}) WHERE usage IS NOT NULL GROUP BY model"  # noqa: S608
        with self._reading() as db:
            found = db.execute(sql).fetchall()
        return {model: PaidTotals(n=n, usage=_usage(tokens)) for model, n, *tokens in found}

    def totals(self) -> dict[str, float]:
        """Requests and seconds over all sessions."""
        sql = "SELECT total(seconds), total(sent), total(retried), total(cached) FROM sessions"
        seconds, sent, retried, cached = self._first(sql)
        return {"seconds": seconds, "sent": int(sent), "retried": int(retried), "cached": int(cached)}

    def read_starts(self) -> tuple[float, float]:
        """When the run was first and last started, in seconds since 1970; 0 if it never was."""
        first, last = self._first("SELECT min(started_at), max(started_at) FROM sessions")
        return float(first or 0), float(last or 0)

    # -- Connections and pages

    def _first(self, sql: str, *values: object) -> Any:
        """The first row of a query; None if it has none."""
        with self._reading() as db:
            return db.execute(sql, values).fetchone()

    def _pages(self, sql: str, *values: object, only: str | None = None) -> Iterator[tuple[Any, ...]]:
        """Rows of a query over samples, one page of samples at a time: those after `?1`, up to `?2`.

        `only`: only the sample with this id.
        """
        page = """SELECT max(position) FROM
                  (SELECT position FROM samples WHERE position > ? ORDER BY position LIMIT ?)"""
        with self._reading() as db:
            if only is not None:
                found = db.execute("SELECT position FROM samples WHERE id = ?", (only,)).fetchone()
                if found is not None:
                    yield from db.execute(sql, (found[0] - 1, found[0], *values)).fetchall()
                return
            last = -1
            while (end := db.execute(page, (last, PAGE)).fetchone()[0]) is not None:
                yield from _gathered(db.execute(sql, (last, end, *values)))
                last = end

    @contextlib.contextmanager
    def hold_open(self) -> Iterator[None]:
        """Share one connection among the reads of a block: opening one takes longer than most reads."""
        with contextlib.closing(open_to_read(self.path, is_untouched=self.is_untouched)) as self._held:
            try:
                yield
            finally:
                self._held = None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if self._held is not None:
            with store_errors(self.path):
                yield self._held
            return
        opened = open_to_read(self.path, is_untouched=self.is_untouched)
        with store_errors(self.path), contextlib.closing(opened) as db:
            yield db


def open_to_read(path: Path, *, is_untouched: bool = False) -> sqlite3.Connection:
    """A connection to a journal of any version that this eyechart reads."""
    with store_errors(path):
        db = connect_untouched(path) if is_untouched else connect_to_read(path)
        try:
            sqlite.check_version(db, str(path))
            sqlite.complete_tables(db)
        except BaseException:
            db.close()
            raise
        return db


def _gathered(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    """All rows, read before the first is yielded, unless they are long."""
    rows: list[tuple[Any, ...]] = []
    n_bytes = 0
    for row in cursor:
        rows.append(row)
        n_bytes += sum([len(value) for value in row if type(value) is bytes])
        if n_bytes > _HELD_BYTES:
            yield from rows
            rows = []
    yield from rows


def _as_json(values: Sequence[str] | Sequence[int]) -> str:
    return msgspec.json.encode(values).decode()


def _usage(sums: Sequence[float]) -> Usage:
    return Usage(**{name: int(total) for name, total in zip(_FIELDS, sums, strict=True)})


def list_tasks(
    position: int, sample: Sample, replies: Sequence[ReplyRow], trials: int, *, together: bool = False
) -> list[Task]:
    """Every trial of a sample with the keys of its replies; `together`: as one task, for one request.

    >>> [first] = list_tasks(0, Sample(id="q", question="?"), [(0, "key", None), (0, "new", "recipe")], 1)
    >>> sorted(first.keys), first.recipe
    (['key', 'new'], 'recipe')
    """
    each = [_task(position, sample, trial, replies) for trial in range(trials)]
    return [msgspec.structs.replace(each[0], siblings=tuple(each[1:]))] if together and trials > 1 else each


def _task(position: int, sample: Sample, trial: int, replies: Sequence[ReplyRow]) -> Task:
    mine = [reply for reply in replies if reply[0] == trial]
    if not mine:
        return Task(position=position, sample=sample, trial=trial)
    return Task(
        position=position,
        sample=sample,
        trial=trial,
        recipe=next((recipe for _, _, recipe in mine if recipe is not None), None),
        keys=frozenset(key for _, key, _ in mine if key is not None),
    )


class StoredCalls:
    """Calls on disk, over one connection that opens with the first hit; `close` it at the end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        with store_errors(path), contextlib.closing(open_to_read(path)) as db:
            self._keys = {row[0] for row in db.execute("SELECT key FROM calls")}

    def has(self, key: str) -> bool:
        """Whether this was ever asked; its reply may not be on disk yet."""
        return key in self._keys

    def reply(self, sample: str, trial: int, key: str) -> Reply | None:
        """The stored reply; None if it was never asked."""
        if self._db is None:
            self._db = open_to_read(self._path)
        sql = "SELECT body FROM calls WHERE sample = ? AND trial = ? AND key = ?"
        row = self._db.execute(sql, (sample, trial, key)).fetchone()
        with store_errors(self._path):
            return None if row is None else _reply.decode(row[0])

    def expect(self, key: str) -> None:
        """Note a call that is being written."""
        self._keys.add(key)

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None
