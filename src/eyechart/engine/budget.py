"""What a run may spend: tokens and USD, counted as replies come in, the judge's among them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from eyechart.model.prices import Price, usd
from eyechart.types import Usage

Role = Literal["model", "judge"]

_UNKNOWING = 4  # requests under way while nobody knows yet what one takes


class _Spent(msgspec.Struct):
    """What one model has taken. Its mean is kept apart: a judge's short questions say nothing of pictures."""

    n: int = 0
    tokens: int = 0
    cost: float = 0.0


class Budget:
    """Counts what is spent, and says whether one more request fits. For the event loop alone.

    Before a request: `leaves_room(in_flight)`. If it says no, either the limit is reached, and `spent` says
    how; or what is under way may reach it, and the next request waits until one of those has come back.

    >>> budget = Budget(max_cost=1.0, max_tokens=None, prices={"model": Price(input=1, output=1)})
    >>> budget.count("model", Usage(prompt_tokens=400_000))
    >>> budget.leaves_room(0), budget.leaves_room(1), budget.spent()
    (True, False, None)
    >>> budget.count("model", Usage(prompt_tokens=400_000))
    >>> budget.leaves_room(0), budget.spent()
    (False, '--max-cost 1.00 is reached: 0.80 USD for 2 requests')
    """

    def __init__(
        self, *, max_cost: float | None, max_tokens: int | None, prices: Mapping[Role, Price | None]
    ) -> None:
        self._max_cost = max_cost
        self._max_tokens = max_tokens
        self._prices = prices
        self._by_model: dict[Role, _Spent] = {}
        self._is_cost_known = True

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._max_cost is not None or self._max_tokens is not None

    @property
    def tokens(self) -> int:
        """All that were counted, earlier starts included."""
        return sum(one.tokens for one in self._by_model.values())

    @property
    def cost(self) -> float | None:
        """In USD, earlier starts included; None where a model was asked whose price nobody knows."""
        if not self._is_cost_known or not any(self._prices.values()):
            return None
        return self._known_cost

    @property
    def _known_cost(self) -> float:
        return sum(one.cost for one in self._by_model.values())

    @property
    def n_requests(self) -> int:
        """How many were counted, earlier starts included."""
        return sum(one.n for one in self._by_model.values())

    def count(self, role: Role, used: Usage) -> None:
        """One request has been answered."""
        self.carry(role, used, self._prices.get(role))

    def carry(self, role: Role, used: Usage, price: Price | None, n_requests: int = 1) -> None:
        """What requests of an earlier start took, at the price of that time; `run.bill` knows it."""
        spent = self._by_model.setdefault(role, _Spent())
        spent.n += n_requests
        spent.tokens += used.total_tokens
        if price is None:
            self._is_cost_known = False
        else:
            spent.cost += price.cost(used)

    def leaves_room(self, in_flight: int) -> bool:
        """Whether one more may be sent while so many are under way, each taken for an average one."""
        if not self.is_limited:
            return True
        per_request = self._dearest()
        if per_request is None and in_flight >= _UNKNOWING:
            return False
        tokens, cost = per_request or (0.0, 0.0)
        return not self._breaks_tokens((in_flight + 1) * tokens) and not self._breaks_cost(
            (in_flight + 1) * cost
        )

    def spent(self) -> str | None:
        """Why nothing more may be sent, even when all that is under way has come back; None while it may."""
        if not self.is_limited:
            return None
        tokens, cost = self._dearest() or (0.0, 0.0)
        requests = f"{self.n_requests:,} request{'s' * (self.n_requests != 1)}"
        if self._breaks_cost(cost):
            paid = usd(self._known_cost)
            return f"--max-cost {usd(self._max_cost or 0)} is reached: {paid} USD for {requests}"
        if self._breaks_tokens(tokens):
            return f"--max-total-tokens {self._max_tokens:,} is reached: {self.tokens:,} for {requests}"
        return None

    def _dearest(self) -> tuple[float, float] | None:
        """Tokens and USD of a mean request to the model that takes most; None while none is known."""
        seen = [one for one in self._by_model.values() if one.n]
        if not seen:
            return None
        return max(one.tokens / one.n for one in seen), max(one.cost / one.n for one in seen)

    def _breaks_tokens(self, more: float) -> bool:
        return self._max_tokens is not None and self.tokens + more > self._max_tokens

    def _breaks_cost(self, more: float) -> bool:
        return self._max_cost is not None and self._known_cost + more > self._max_cost
