"""What can be switched at the bench server, and the fate each request draws from it.

Kinds of answer: ``ok``; an HTTP status (``500``, ``503``, ``429``, ``401``, ``404``); a broken answer
(``truncated``, ``invalid-json``, ``empty-choices``, ``null-content``, ``empty-body``); a broken connection
(``slow-loris``, ``reset``, ``hang``).
"""

from __future__ import annotations

import hashlib
import math
import random
import time
from email.utils import formatdate
from typing import Literal, NamedTuple

import msgspec

Failing = Literal[
    "500", "503", "429", "truncated", "invalid-json", "empty-choices", "null-content", "empty-body",
    "slow-loris", "reset", "hang",
]  # fmt: skip
AT_ONCE = frozenset({"429", "503", "401", "404", "reset"})  # kinds that no latency is waited for

ECHO_HASH = "echo-hash"


class Switches(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """All of them, as they stand when nothing is asked for. `bench/server.py` explains each."""

    latency_s: float = 0.05
    latency_jitter_s: float = 0.0
    answer: str = "A"
    finish_reason: str = "stop"
    prompt_tokens: int = 10
    completion_tokens: int = 1
    seed: int = 0
    failures: dict[Failing, float] = {}
    sticky: bool = False
    fail_first_n: int = 0
    fail_first_kind: Failing = "500"
    retry_after_s: float | None = None
    retry_after_form: Literal["seconds", "date", "none"] = "seconds"
    loris_s: float = 1.0
    loris_finishes: bool = True
    max_rps: float = 0.0
    burst: float = 1.0
    max_in_flight: int = 0
    over_limit: Literal["429", "503"] = "429"
    degrade_above: int = 0
    degrade_power: float = 2.0
    wrong_key: bool = False
    wrong_model: bool = False
    dead: bool | float = False

    def changed(self, **fields: object) -> Switches:
        """The same with some moved; `msgspec.ValidationError` names a wrong one."""
        return msgspec.convert({**msgspec.structs.asdict(self), **fields}, Switches)


class Fate(NamedTuple):
    """What becomes of one request."""

    kind: str
    wait_s: float
    retry_after: str = ""


class Chaos:
    """Draws fates: the state behind the switches, i.e. the dice, the bucket of tokens, the count."""

    def __init__(self, switches: Switches) -> None:
        self.switches = switches
        self._rng = random.Random(switches.seed)
        self._n_first = 0
        self._tokens = switches.burst
        self._filled_at = time.monotonic()

    def change(self, switches: Switches) -> None:
        """Take new switches; only what they move starts anew."""
        old, self.switches = self.switches, switches
        if (old.seed, old.failures) != (switches.seed, switches.failures):
            self._rng = random.Random(switches.seed)
        if old.fail_first_n != switches.fail_first_n:
            self._n_first = 0
        if (old.max_rps, old.burst) != (switches.max_rps, switches.burst):
            self._tokens, self._filled_at = switches.burst, time.monotonic()

    def fate(self, *, text: str, in_flight: int) -> Fate:
        """The fate of a request with these words, when so many are in flight, itself included."""
        switches = self.switches
        kind, lacking_s = self._kind(text, in_flight)
        retry_after = ""
        if kind in {"429", "503"} and switches.retry_after_form != "none":
            retry_after = self._retry_after(lacking_s)
        if kind in AT_ONCE:
            return Fate(kind, 0.0, retry_after)
        wait_s = switches.latency_s
        if switches.latency_jitter_s:
            wait_s += self._rng.uniform(0, switches.latency_jitter_s)
        if switches.degrade_above and in_flight > switches.degrade_above:
            wait_s *= (in_flight / switches.degrade_above) ** switches.degrade_power
        return Fate(kind, wait_s)

    def _kind(self, text: str, in_flight: int) -> tuple[str, float]:
        """The kind, and in how many seconds the next token is there."""
        switches = self.switches
        if switches.wrong_key:
            return "401", 0.0
        if switches.wrong_model:
            return "404", 0.0
        if switches.max_in_flight and in_flight > switches.max_in_flight:
            return switches.over_limit, switches.latency_s
        if switches.max_rps and (lacking_s := self._lacking_s()) > 0:
            return "429", lacking_s
        if self._n_first < switches.fail_first_n:
            self._n_first += 1
            return switches.fail_first_kind, 0.0
        return (self._drawn(text) if switches.failures else "ok"), 0.0

    def _lacking_s(self) -> float:
        switches, now = self.switches, time.monotonic()
        self._tokens = min(switches.burst, self._tokens + (now - self._filled_at) * switches.max_rps)
        self._filled_at = now
        if self._tokens < 1:
            return (1 - self._tokens) / switches.max_rps
        self._tokens -= 1
        return 0.0

    def _drawn(self, text: str) -> str:
        rng = random.Random(f"{self.switches.seed} {text}") if self.switches.sticky else self._rng
        at = rng.random()
        for kind, probability in self.switches.failures.items():
            at -= probability
            if at < 0:
                return kind
        return "ok"

    def _retry_after(self, lacking_s: float) -> str:
        given = self.switches.retry_after_s
        seconds = math.ceil(lacking_s) if given is None else given
        if self.switches.retry_after_form == "date":
            return formatdate(math.ceil(time.time() + seconds), usegmt=True)
        return f"{seconds:g}"


def letter(text: str) -> str:
    """A letter A to D that the words decide, the same in every process.

    >>> letter("What is shown?") == letter("What is shown?")
    True
    """
    return "ABCD"[hashlib.sha256(text.encode()).digest()[0] % 4]
