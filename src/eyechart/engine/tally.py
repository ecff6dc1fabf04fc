"""What a run has done so far: plain counters that the live line reads from another thread."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Sequence

import msgspec

from eyechart.engine.budget import Budget
from eyechart.engine.endpoints import Endpoints
from eyechart.types import Score, Snapshot

_WINDOW_S = 10.0  # the rate shown is that of the last seconds, so that it follows the endpoint


class Tally(msgspec.Struct):
    """Counted by the engine, in the event loop only; read anywhere."""

    total: int = 0
    resumed: int = 0
    answered: int = 0
    cached: int = 0
    failed: int = 0
    slipped: int = 0  # of these: there is a reply, but the scorer failed on it
    sent: int = 0
    retried: int = 0
    score_sum: float = 0.0
    weight_sum: float = 0.0
    started_at: float = msgspec.field(default_factory=time.monotonic)
    _recent: deque[float] = msgspec.field(default_factory=deque)

    @property
    def done(self) -> int:
        """Samples with an outcome, found or made."""
        return self.resumed + self.answered + self.cached + self.failed - self.slipped

    def count_answer(self) -> None:
        """One reply is in."""
        self.answered += 1
        now = time.monotonic()
        self._recent.append(now)
        while self._recent[0] < now - _WINDOW_S:
            self._recent.popleft()

    def count_slip(self) -> None:
        """A reply is in, and the scorer failed on it."""
        self.failed += 1
        self.slipped += 1

    def count_score(self, score: Score, weight: float = 1.0) -> None:
        """One verdict is in. What has no public answer does not move the mean."""
        if score.outcome != "unscored":
            self.score_sum += weight * score.value
            self.weight_sum += weight

    def snapshot(
        self,
        endpoints: Endpoints | None = None,
        budget: Budget | None = None,
        *,
        waiting: int = 0,
        score_name: str = "score",
    ) -> Snapshot:
        """Where the run stands now, its endpoints and its purse included."""
        now = time.monotonic()
        elapsed = now - self.started_at
        recent = sum(1 for at in tuple(self._recent) if at >= now - _WINDOW_S)
        rate = recent / min(elapsed, _WINDOW_S) if elapsed > 0 else 0.0
        left = max(0, self.total - self.done)
        latencies = sorted(endpoints.latencies) if endpoints else []
        return Snapshot(
            done=self.done,
            total=self.total,
            resumed=self.resumed,
            score=self.score_sum / self.weight_sum if self.weight_sum else None,
            score_name=score_name,
            waiting=waiting,
            in_flight=endpoints.in_flight if endpoints else 0,
            limit=endpoints.limit if endpoints else 0,
            sent=self.sent,
            retried=self.retried,
            cached=self.cached,
            failed=self.failed,
            throttled=_share(endpoints.throttled) if endpoints else 0.0,
            p50_s=_quantile(latencies, 0.5),
            p95_s=_quantile(latencies, 0.95),
            tokens=budget.tokens if budget else 0,
            cost=budget.cost if budget else None,
            requests_per_s=rate,
            elapsed_s=elapsed,
            eta_s=left / rate if rate > 0 else None,
        )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None


def _share(flags: Collection[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0
