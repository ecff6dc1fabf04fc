"""One address of a model: how much it bears, how it has been doing, and whether it still lives."""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from eyechart.engine.pace import Limit
from eyechart.errors import ModelError
from eyechart.types import Model

TOO_MANY = 429
OVERLOADED = frozenset({TOO_MANY, 503})

_SUSPECT = 3  # failures in a row, after which an endpoint is left alone for a while, then asked one at a time
FIRST_REST_S = 2.0
_LONGEST_REST_S = 30.0
_FIRST_PAUSE_S = 0.005  # of an endpoint that refuses even one request at a time; doubled until it answers
_LONGEST_PAUSE_S = 4.0
_SILENCE_S = 60.0
_FATAL_IN_A_ROW = 3  # after an answer, one may concern one sample alone; so many concern them all
NEVER = float("-inf")


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A try that failed: whose it was, when it was sent, and when the first of its tries failed."""

    who: Hashable
    sent_at: float
    began_at: float


class Refusal(msgspec.Struct, frozen=True):
    """What an endpoint did not want, though another one might."""

    endpoint: Endpoint
    error: ModelError
    sent_at: float


class Endpoint:
    """One address, and how it has been doing."""

    def __init__(self, model: Model, limit: Limit, *, first_rest_s: float = FIRST_REST_S) -> None:
        self.model = model
        self.limit = limit
        self._first_rest_s = first_rest_s
        self.in_flight = 0
        self.failures = 0  # in a row
        self.rests_until = 0.0
        self.is_barred = False  # it has turned away whatever it was sent: a wrong key, an unknown model
        self.is_told_of = False  # people know that it is left out
        self.told_at = NEVER  # when they heard that it may be dead
        self._n_pauses = self._n_rests = self._n_fatal = 0  # since its last answer
        self._answered_at = self._failed_at = self._rested_at = NEVER
        self._failed: set[Hashable] = set()  # the samples that failed in this row
        self._is_gone = False  # nobody listens there: it is not the samples

    @property
    def is_suspect(self) -> bool:
        """It may be dead: left alone for a while, then tried with one request at a time."""
        if self.failures < _SUSPECT:
            return self.is_barred
        return self.is_barred or self._is_gone or len(self._failed) >= _SUSPECT

    def is_dead(self, give_up_after: int) -> bool:
        """So many failures in a row, and not of a few unlucky samples alone."""
        if self.is_barred:
            return True
        n_samples = min(give_up_after, _SUSPECT + 1)
        return self.failures >= give_up_after and (self._is_gone or len(self._failed) >= n_samples)

    def is_free(self, now: float) -> bool:
        """Whether it can take one more."""
        if now < self.rests_until:
            return False
        return self.in_flight < (1 if self.is_suspect else self.limit.value)

    def has_refused(self, error: ModelError, sent_at: float, now: float) -> None:
        """It has too much to do. If it says so to one request at a time, it is left alone for a moment."""
        if self.limit.value == 1:
            self._n_pauses += 1
            pause_s = _doubled(_FIRST_PAUSE_S, self._n_pauses, _LONGEST_PAUSE_S)
            if error.retry_after_s is not None:
                pause_s = min(pause_s, error.retry_after_s)
            self.rests_until = max(self.rests_until, now + pause_s)
        self.limit.overloaded(sent_at)

    def has_answered(self, now: float) -> None:
        """It lives."""
        self._answered_at = now
        self.rests_until, self._n_pauses, self._n_rests = 0.0, 0, 0
        if self.failures or self._n_fatal:
            self.failures, self._n_fatal = 0, 0
            self._is_gone = self.is_barred = False
            self._failed.clear()

    def has_failed(self, trouble: Trouble, error: ModelError, now: float) -> None:
        """It may be dead, unless the sample itself is to blame: others were answered since it first failed.

        Failures that were under way together count once. Silence counts once more for every minute of it:
        whoever waits for ten minutes need not do so eight times.
        """
        if trouble.began_at < self._answered_at:
            return
        self._failed.add(trouble.who)
        self._is_gone = self._is_gone or error.is_unreachable
        if trouble.sent_at < self._failed_at:
            return
        self.failures += 1
        if error.was_silent:
            self.failures += int((now - trouble.sent_at) / _SILENCE_S)
        self._failed_at = now
        if self.is_suspect:
            self.rest(trouble.sent_at, now)

    def has_denied(self, *, is_proven: bool) -> None:
        """It said that no request can succeed. One that has answered may mean a single sample."""
        self._n_fatal += 1
        has_answered = is_proven or self._answered_at > NEVER
        self.is_barred = self.is_barred or not has_answered or self._n_fatal >= _FATAL_IN_A_ROW

    def was_outdone(self, refusal: Refusal, who: Hashable, now: float) -> None:
        """Another one answered what it refused. If it has answered others since, that was for one sample."""
        if refusal.sent_at < self._answered_at:
            return
        if refusal.error.is_fatal:
            self.is_barred = True
        elif not self.is_suspect or refusal.sent_at >= self._rested_at:
            self._failed.add(who)
            self.failures += 1
        if self.is_suspect:
            self.rest(refusal.sent_at, now)

    def rest(self, sent_at: float, now: float) -> None:
        """It is left alone, longer every time; those that were under way together count once."""
        if sent_at >= self._rested_at:
            self.rests_until = now + _doubled(self._first_rest_s, self._n_rests, _LONGEST_REST_S)
            self._n_rests += 1
            self._rested_at = now


def _doubled(first_s: float, n_times: int, longest_s: float) -> float:
    return min(first_s * 2.0 ** min(n_times, 30), longest_s)  # more would leave the range of a float
