"""When to try again, and how long to wait first."""

from __future__ import annotations

import random

import msgspec

from eyechart.errors import ModelError


class Backoff(msgspec.Struct, frozen=True, kw_only=True):
    """Exponential waits with full jitter, so that many clients do not come back at the same moment.

    >>> Backoff(first_s=1, longest_s=30).delay_s(4, None, random.Random(0)) <= 8
    True
    """

    attempts: int = 6  # tries in all
    first_s: float = 0.5
    longest_s: float = 60.0
    longest_asked_s: float = 600.0  # a server that asks for more than this is answered with a failure

    def delay_s(self, attempt: int, asked_s: float | None, rng: random.Random) -> float:
        """Seconds to wait after the `attempt`-th try failed; what the server asked for is obeyed."""
        doublings = min(attempt - 1, 30)  # more would leave the range of a float, and none waits that long
        wait = rng.uniform(0, min(self.longest_s, self.first_s * 2**doublings))
        if asked_s is not None:
            return min(asked_s, self.longest_asked_s) + wait / 10  # a little apart, never early
        return wait

    def may_retry(self, attempt: int, error: ModelError) -> bool:
        """Whether another try makes sense after the `attempt`-th one."""
        asks_too_much = (error.retry_after_s or 0) > self.longest_asked_s
        return error.is_retryable and attempt < self.attempts and not asks_too_much
