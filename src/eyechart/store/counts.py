"""What a journal adds up to: verdicts, requests, seconds, the judge's calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from eyechart.store.pages import Pages
from eyechart.types import Scorer, Usage

PROVISIONAL = "?"  # ends the version of a verdict that a judge still owes; it is scored again next time


Verdict = tuple[tuple[str, int], tuple[str, float]]  # sample and trial; outcome and value

_FIELDS = tuple(Usage.__dataclass_fields__)
_SUMS = ", ".join(f"total(json_extract(usage, '$.{name}'))" for name in _FIELDS)


class Paid(msgspec.Struct, frozen=True, kw_only=True):
    """Requests that this run paid for, and their tokens, guessed where the endpoint did not count them."""

    n: int
    usage: Usage


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What one judge said, and the tokens of what was counted, whoever paid for it."""

    model: str  # empty where an earlier eyechart did not keep it
    n_asked: int
    n_cached: int  # found in the cache of other runs
    n_counted: int
    usage: Usage


class Counts(Pages):
    """Sums over a run."""

    def verdicts(self, scorer: str, *, version: str = "", trials: int = 1) -> Iterator[Verdict]:
        """Outcome and value of every reply, in order; one without a verdict has failed."""
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

    def score_so_far(self, scorer: Scorer) -> tuple[float, float]:
        """The points of the verdicts that stand already, and how many there were to earn."""
        sql = """
            SELECT total(c.value * coalesce(json_extract(CAST(s.body AS TEXT), '$.weight'), 1)),
                   total(coalesce(json_extract(CAST(s.body AS TEXT), '$.weight'), 1)) FROM samples s
            JOIN asks a ON a.sample = s.id
            JOIN scores c ON c.sample = a.sample AND c.trial = a.trial AND c.key = a.key
            WHERE c.scorer = ? AND c.version = ? AND c.outcome <> 'unscored'"""
        with self._reading() as db:
            total, count = db.execute(sql, (scorer.name, scorer.version)).fetchone()
        return float(total), float(count)

    def count_provisional(self, scorer: str, *, version: str = "", trials: int = 1) -> int:
        """How many verdicts wait for a judge that failed, on replies that count now."""
        sql = """
            SELECT count(*) FROM samples s
            JOIN asks a ON a.sample = s.id AND a.trial < ?1
            JOIN scores c ON c.sample = a.sample AND c.trial = a.trial AND c.key = a.key
            WHERE c.scorer = ?2 AND CASE ?3 WHEN '' THEN c.version LIKE '%' || ?4
                                            ELSE c.version = ?3 || ?4 END"""
        with self._reading() as db:
            return int(db.execute(sql, (trials, scorer, version, PROVISIONAL)).fetchone()[0])

    def count_samples(self) -> int:
        with self._reading() as db:
            return int(db.execute("SELECT count(*) FROM samples").fetchone()[0])

    def has_replies(self) -> bool:
        """Whether the model has ever answered in this run."""
        with self._reading() as db:
            return bool(db.execute("SELECT EXISTS (SELECT 1 FROM replies)").fetchone()[0])

    def has_answers(self) -> bool:
        """Whether anything was ever answered in this run, by the model or by a judge."""
        sql = "SELECT EXISTS (SELECT 1 FROM replies) OR EXISTS (SELECT 1 FROM calls)"
        with self._reading() as db:
            return bool(db.execute(sql).fetchone()[0])

    def has_judged(self, judge: str) -> bool:
        """Whether this judge has ever answered in this run."""
        sql = "SELECT EXISTS (SELECT 1 FROM calls WHERE purpose LIKE 'judge:%' AND model = ?)"
        with self._reading() as db:
            return bool(db.execute(sql, (judge,)).fetchone()[0])

    def judged_totals(self) -> list[Judged]:
        """What was said by each judge that the run has had."""
        sql = f"""
            SELECT model, total(attempts > 0), total(attempts = 0), count(usage), {_SUMS}
            FROM (SELECT model, attempts, json_extract(CAST(body AS TEXT), '$.usage') AS usage
                  FROM calls WHERE purpose LIKE 'judge:%')
            GROUP BY model ORDER BY model"""  # noqa: S608
        with self._reading() as db:
            rows = db.execute(sql).fetchall()
        return [
            Judged(
                model=model,
                n_asked=int(asked),
                n_cached=int(cached),
                n_counted=counted,
                usage=_usage(tokens),
            )
            for model, asked, cached, counted, *tokens in rows
        ]

    def paid_totals(self) -> tuple[Paid, dict[str, Paid]]:
        """What was paid for over all starts: to the model, all rounds included, and to each judge by name.

        What was not asked but found was paid for by another run.
        """
        model = self._paid("""
            SELECT '' AS model, paid AS usage FROM replies UNION ALL
            SELECT '', paid FROM calls WHERE purpose LIKE 'round:%'""")
        judges = self._paid("SELECT model, paid AS usage FROM calls WHERE purpose LIKE 'judge:%'")
        return model.get("", Paid(n=0, usage=Usage())), judges

    def _paid(self, rows: str) -> dict[str, Paid]:
        sql = f"SELECT model, count(*), {_SUMS} FROM ({rows}) WHERE usage IS NOT NULL GROUP BY model"  # noqa: S608
        with self._reading() as db:
            found = db.execute(sql).fetchall()
        return {model: Paid(n=n, usage=_usage(tokens)) for model, n, *tokens in found}

    def totals(self) -> dict[str, float]:
        """Requests and seconds over all sessions."""
        sql = "SELECT total(seconds), total(sent), total(retried), total(cached) FROM sessions"
        with self._reading() as db:
            seconds, sent, retried, cached = db.execute(sql).fetchone()
        return {"seconds": seconds, "sent": int(sent), "retried": int(retried), "cached": int(cached)}


def _usage(sums: Sequence[float]) -> Usage:
    return Usage(**{name: int(total) for name, total in zip(_FIELDS, sums, strict=True)})
