"""What a run may spend: tokens and USD, counted as replies come in, the judge's among them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal

import msgspec

from eyechart.errors import ModelError
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


# -- One purse for the model and its judge: what is under way, and who waits for it to be counted.


class BudgetSpent(ModelError):
    """What the user allowed is used up. Everything that was paid for is kept."""

    exit_code = 1


class BudgetGate:
    """Lets requests through as long as the budget has room for them."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._in_flight = 0
        self._waiting: list[asyncio.Future[None]] = []

    def try_to_open(self) -> bool:
        """Take what one more request needs, if that can be afforded now."""
        if not self.budget.leaves_room(self._in_flight):
            return False
        self._in_flight += 1
        return True

    async def open(self) -> BudgetSpent | None:
        """Wait until one more request can be afforded; the reason when none ever can."""
        while not self.try_to_open():
            if (why := self.budget.spent()) is not None:
                return BudgetSpent(
                    why,
                    hint="all replies are kept; start the same command again with a higher limit to go on",
                )
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        return None

    def close(self, role: Role, usage: Usage | None) -> None:
        """A request has come back, without usage where there is nothing to pay for."""
        self._in_flight -= 1
        if usage is not None:
            self.budget.count(role, usage)
        if self._waiting:
            self.let_go()

    def let_go(self) -> None:
        """Have all look again that wait."""
        waiting, self._waiting = self._waiting, []
        for place in waiting:
            if not place.done():
                place.set_result(None)
