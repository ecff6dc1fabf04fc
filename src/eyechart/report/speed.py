"""How fast the replies of a run came: of those that arrived in parts, and of local weights."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.types import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Medians, and what the slowest twentieth of the replies exceeds; of tokens per second, stays below.

    >>> Speed(n=80, latency_s=(2.5, 4), first_token_s=(0.21, 0.5), tokens_per_s=(61.24, 30)).line
    'first token 0.21 s (p95 0.50), 61.2 tokens/s (p5 30.0), whole reply 2.50 s (p95 4.00)'
    """

    n: int  # replies
    latency_s: tuple[float, float]
    first_token_s: tuple[float, float]
    tokens_per_s: tuple[float, float] | None  # None: the endpoint counts no tokens, or each reply has one

    @property
    def line(self) -> str:
        """On one line."""
        first = "first token {:.2f} s (p95 {:.2f})".format(*self.first_token_s)
        rate = "{:.1f} tokens/s (p5 {:.1f}), ".format(*self.tokens_per_s) if self.tokens_per_s else ""
        return f"{first}, {rate}" + "whole reply {:.2f} s (p95 {:.2f})".format(*self.latency_s)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        rate = self.tokens_per_s
        return {
            "n": self.n,
            "first_token_s": dict(zip(("p50", "p95"), self.first_token_s, strict=True)),
            "tokens_per_s": dict(zip(("p50", "p5"), rate, strict=True)) if rate else None,
            "latency_s": dict(zip(("p50", "p95"), self.latency_s, strict=True)),
        }

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Speed:
        """As `to_json` wrote it."""
        pairs = {name: one and tuple(one.values()) for name, one in said.items() if name != "n"}
        return cls(n=said["n"], **pairs)


class SpeedCounter:
    """The times of all replies that have them: 24 bytes each."""

    def __init__(self) -> None:
        self._latency_s, self._first_s, self._rate = array("d"), array("d"), array("d")

    def add(self, reply: Reply) -> None:
        if reply.first_token_s is None:
            return
        self._latency_s.append(reply.latency_s)
        self._first_s.append(reply.first_token_s)
        if (rate := reply.tokens_per_s) is not None:
            self._rate.append(rate)

    def close(self) -> Speed | None:
        """None if no reply has the time of its first words."""
        if not self._first_s:
            return None
        return Speed(
            n=len(self._first_s),
            latency_s=(_quantile(self._latency_s, 0.5), _quantile(self._latency_s, 0.95)),
            first_token_s=(_quantile(self._first_s, 0.5), _quantile(self._first_s, 0.95)),
            tokens_per_s=(_quantile(self._rate, 0.5), _quantile(self._rate, 0.05)) if self._rate else None,
        )


def _quantile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed.

    >>> [_quantile([4, 1, 3, 2], share) for share in (0.05, 0.5, 0.95)]
    [1, 2, 4]
    """
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
