"""What a journal adds up to: verdicts, requests, seconds, the judge's calls."""

from __future__ import annotations

from eyechart.store.pages import Pages
from eyechart.types import Scorer

PROVISIONAL = "?"  # ends the version of a verdict that a judge still owes; it is scored again next time


class Counts(Pages):
    """Sums over a run."""

    def verdicts(
        self, scorer: str, *, version: str = "", trials: int = 1
    ) -> dict[tuple[str, int], tuple[str, float]]:
        """Outcome and value of every reply, by sample and trial; one without a verdict has failed."""
        sql = """
            SELECT s.id, r.trial, c.outcome, c.value FROM samples s
            JOIN asks a ON a.sample = s.id AND a.trial < ?3
            JOIN replies r ON r.sample = a.sample AND r.trial = a.trial AND r.key = a.key
            LEFT JOIN scores c ON c.sample = r.sample AND c.trial = r.trial AND c.key = r.key
                              AND c.scorer = ?4 AND (?5 = '' OR c.version IN (?5, ?5 || ?6))
            WHERE s.position > ?1 AND s.position <= ?2
            ORDER BY s.position, r.trial"""
        rows = self._pages(sql, trials, scorer, version, PROVISIONAL)
        return {(row[0], row[1]): (row[2] or "failed", row[3] or 0.0) for row in rows}

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

    def count_provisional(self, scorer: str) -> int:
        """How many verdicts wait for a judge that failed."""
        sql = "SELECT count(*) FROM scores WHERE scorer = ? AND version LIKE ?"
        with self._reading() as db:
            return int(db.execute(sql, (scorer, f"%{PROVISIONAL}")).fetchone()[0])

    def count_samples(self) -> int:
        """How many samples the run has."""
        with self._reading() as db:
            return int(db.execute("SELECT count(*) FROM samples").fetchone()[0])

    def judged_totals(self) -> dict[str, int]:
        """What the judge cost: calls, tokens in and out."""
        sql = """
            SELECT count(*), total(json_extract(CAST(body AS TEXT), '$.usage.prompt_tokens')),
                   total(json_extract(CAST(body AS TEXT), '$.usage.completion_tokens'))
            FROM calls WHERE purpose LIKE 'judge:%'"""
        with self._reading() as db:
            row = db.execute(sql).fetchone()
        return {"calls": int(row[0]), "prompt": int(row[1]), "completion": int(row[2])}

    def totals(self) -> dict[str, float]:
        """Requests and seconds over all sessions."""
        sql = "SELECT total(seconds), total(sent), total(retried), total(cached) FROM sessions"
        with self._reading() as db:
            seconds, sent, retried, cached = db.execute(sql).fetchone()
        return {"seconds": seconds, "sent": int(sent), "retried": int(retried), "cached": int(cached)}
