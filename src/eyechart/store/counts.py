"""What a journal adds up to: verdicts, requests, seconds, the judge's calls."""

from __future__ import annotations

from dataclasses import dataclass

from eyechart.store.pages import Pages
from eyechart.types import Scorer, Usage

PROVISIONAL = "?"  # ends the version of a verdict that a judge still owes; it is scored again next time


@dataclass(frozen=True, slots=True, kw_only=True)
class Paid:
    """Answers, and the tokens of those that the endpoint counted."""

    n: int
    n_counted: int
    usage: Usage

    def __add__(self, other: Paid) -> Paid:
        names = Usage.__dataclass_fields__
        sums = {name: getattr(self.usage, name) + getattr(other.usage, name) for name in names}
        return Paid(n=self.n + other.n, n_counted=self.n_counted + other.n_counted, usage=Usage(**sums))


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

    def has_replies(self) -> bool:
        """Whether the model has ever answered in this run."""
        with self._reading() as db:
            return bool(db.execute("SELECT EXISTS (SELECT 1 FROM replies)").fetchone()[0])

    def judged_totals(self) -> Paid:
        """What the judge was asked and counted."""
        return self._paid("calls WHERE purpose LIKE 'judge:%'")

    def paid_totals(self) -> tuple[Paid, Paid]:
        """What was paid for over all starts: the model's replies, the judge's calls.

        A reply counts all its rounds; rounds that have led to no reply yet are counted by themselves. What
        was not asked but found (no attempts) was paid for by another run.
        """
        replies = self._paid("replies WHERE attempts > 0")
        rounds = self._paid("""calls c WHERE purpose LIKE 'round:%' AND attempts > 0 AND NOT EXISTS (
                               SELECT 1 FROM replies r WHERE r.sample = c.sample AND r.trial = c.trial)""")
        return replies + rounds, self._paid("calls WHERE purpose LIKE 'judge:%' AND attempts > 0")

    def _paid(self, rows: str) -> Paid:
        fields = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
        sums = ", ".join(f"total(json_extract(usage, '$.{name}'))" for name in fields)
        sql = f"""SELECT count(*), count(usage), {sums} FROM
                  (SELECT json_extract(CAST(body AS TEXT), '$.usage') AS usage FROM {rows})"""  # noqa: S608
        with self._reading() as db:
            n, n_counted, *tokens = db.execute(sql).fetchone()
        usage = Usage(**{name: int(total) for name, total in zip(fields, tokens, strict=True)})
        return Paid(n=n, n_counted=n_counted, usage=usage)

    def totals(self) -> dict[str, float]:
        """Requests and seconds over all sessions."""
        sql = "SELECT total(seconds), total(sent), total(retried), total(cached) FROM sessions"
        with self._reading() as db:
            seconds, sent, retried, cached = db.execute(sql).fetchone()
        return {"seconds": seconds, "sent": int(sent), "retried": int(retried), "cached": int(cached)}
