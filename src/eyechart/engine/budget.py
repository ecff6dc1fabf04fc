"""What a run may spend: tokens and USD, counted as replies arrive, including the judge's.

`Budget` counts and knows the limits. `BudgetGate` admits requests as long as the budget has room for them; a
model and its judge share one gate.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Literal, Protocol

import msgspec

from eyechart.errors import ModelError
from eyechart.models.prices import Price, format_usd
from eyechart.types import Usage

Role = str  # "model", "judge"; of several judges "judge:" and the name

_FIRST_REQUESTS = 4  # in flight at most at first; later as many as have come back


class BudgetSpent(ModelError):
    """The user's limit is reached. All replies are kept."""

    exit_code = 1


class Gate(Protocol):
    """What a client needs of a budget: `BudgetGate`, or a worker's way to that of the driver."""

    def try_acquire(self) -> bool: ...

    async def acquire(self) -> BudgetSpent | None: ...

    def release(self, role: Role, usage: Usage | None) -> None: ...

    def wake_all(self) -> None: ...


class BudgetGate:
    """Admits requests as long as the budget has room for them."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._in_flight = 0
        self._waiting: list[asyncio.Future[None]] = []

    def try_acquire(self) -> bool:
        """Admit one more request, if the budget has room for it now."""
        if not self.budget.has_room(self._in_flight):
            return False
        self._in_flight += 1
        return True

    async def acquire(self) -> BudgetSpent | None:
        """Wait until one more request is admitted; returns the reason when none ever will be."""
        while not self.try_acquire():
            if (why := self.budget.why_spent()) is not None:
                return BudgetSpent(
                    why,
                    hint="all replies are kept; to resume, run the same command again with a higher limit",
                )
            place = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            await place
        return None

    def release(self, role: Role, usage: Usage | None) -> None:
        """An admitted request is over; `usage` is None where there is nothing to pay for."""
        self._in_flight -= 1
        if usage is not None:
            self.budget.count(role, usage)
        if self._waiting:
            self.wake_all()

    def wake_all(self) -> None:
        """Have all waiting requests check the budget again."""
        waiting, self._waiting = self._waiting, []
        for place in waiting:
            if not place.done():
                place.set_result(None)


class Budget:
    """Counts what is spent, and says whether one more request fits. For the event loop alone.

    Requests in flight and the next one are taken to be larger than the largest one so far, by as much as that
    differs from the smallest; and no more are in flight than have come back, since short replies come first.
    If `has_room` says no, either the limit is reached, and `why_spent` says how; or the requests in flight
    may reach it, and the next one has to wait.

    >>> budget = Budget(max_cost=1.0, max_tokens=None, prices={"model": Price(input=1, output=1)})
    >>> budget.count("model", Usage(prompt_tokens=400_000))
    >>> budget.has_room(0), budget.has_room(1), budget.why_spent()
    (True, False, None)
    >>> budget.count("model", Usage(prompt_tokens=400_000))
    >>> budget.has_room(0), budget.why_spent()
    (False, '--max-cost 1.00 is reached: 0.80 USD for 2 requests')
    """

    def __init__(
        self, *, max_cost: float | None, max_tokens: int | None, prices: Mapping[Role, Price | None]
    ) -> None:
        self._max_cost = max_cost
        self._max_tokens = max_tokens
        self._prices = prices
        self._by_role: dict[Role, _Spent] = {}
        self._is_cost_known = True

    @property
    def is_limited(self) -> bool:
        return self._max_cost is not None or self._max_tokens is not None

    @property
    def tokens(self) -> int:
        """All tokens, those of earlier starts included."""
        return sum(one.tokens for one in self._by_role.values())

    @property
    def cost(self) -> float | None:
        """In USD, earlier starts included; None where a model has no known price."""
        if not self._is_cost_known or not any(self._prices.values()):
            return None
        return self._known_cost

    @property
    def _known_cost(self) -> float:
        return sum(one.cost for one in self._by_role.values())

    @property
    def n_requests(self) -> int:
        """All requests, those of earlier starts included."""
        return sum(one.n for one in self._by_role.values())

    def count(self, role: Role, used: Usage) -> None:
        self.carry(role, used, self._prices.get(role))

    def carry(self, role: Role, used: Usage, price: Price | None, n_requests: int = 1) -> None:
        """Count requests at a given price: those of an earlier start, at the price of that time."""
        spent = self._by_role.setdefault(role, _Spent())
        spent.n += n_requests
        spent.tokens += used.total_tokens
        spent.token_range.add(used.total_tokens / max(1, n_requests))
        if price is None:
            self._is_cost_known = False
        else:
            cost = price.cost(used)
            spent.cost += cost
            spent.cost_range.add(cost / max(1, n_requests))

    def has_room(self, in_flight: int) -> bool:
        """Whether one more request may be sent while `in_flight` are under way."""
        if not self.is_limited:
            return True
        if in_flight >= max(_FIRST_REQUESTS, self.n_requests):
            return False
        return not self._limit_reached(in_flight + 1)

    def why_spent(self) -> str | None:
        """Why nothing more may be sent even when nothing is in flight; None while it may."""
        reached = self._limit_reached(1)
        requests = f"{self.n_requests:,} request{'s' * (self.n_requests != 1)}"
        if reached == "cost":
            paid = format_usd(self._known_cost)
            return f"--max-cost {format_usd(self._max_cost or 0)} is reached: {paid} USD for {requests}"
        if reached == "tokens":
            return f"--max-total-tokens {self._max_tokens:,} is reached: {self.tokens:,} for {requests}"
        return None

    def why_beyond(self, role: Role, more: Usage) -> str | None:
        """Why so many more tokens are not allowed; None if they are, or if there is no limit.

        >>> budget = Budget(max_cost=1.0, max_tokens=None, prices={"model": Price(input=1, output=1)})
        >>> budget.why_beyond("model", Usage(prompt_tokens=1_500_000))
        '--max-cost 1.00 would be exceeded: 0.00 USD are spent, and a batch may cost 1.50 more'
        """
        price = self._prices.get(role)
        cost = price.cost(more) if price is not None else 0.0
        if self._max_cost is not None and self._known_cost + cost > self._max_cost:
            return (
                f"--max-cost {format_usd(self._max_cost)} would be exceeded: {format_usd(self._known_cost)} "
                f"USD are spent, and a batch may cost {format_usd(cost)} more"
            )
        if self._max_tokens is not None and self.tokens + more.total_tokens > self._max_tokens:
            return (
                f"--max-total-tokens {self._max_tokens:,} would be exceeded: {self.tokens:,} are used, and a "
                f"batch may take {more.total_tokens:,} more"
            )
        return None

    def _limit_reached(self, n_more: int) -> Literal["cost", "tokens", ""]:
        """The limit that `n_more` requests could break, each as large as that of any role may be."""
        seen = self._by_role.values()
        more_cost = n_more * max((one.cost_range.bound() for one in seen), default=0.0)
        if self._max_cost is not None and self._known_cost + more_cost > self._max_cost:
            return "cost"
        more_tokens = n_more * max((one.token_range.bound() for one in seen), default=0.0)
        if self._max_tokens is not None and self.tokens + more_tokens > self._max_tokens:
            return "tokens"
        return ""


class _Range(msgspec.Struct):
    """The smallest and the largest of some numbers, and how large the next ones may be."""

    least: float = math.inf
    most: float = 0.0

    def add(self, value: float) -> None:
        self.least, self.most = min(self.least, value), max(self.most, value)

    def bound(self) -> float:
        """Beyond the largest by its distance from the smallest: numbers that are all equal stay so."""
        return 2 * self.most - min(self.least, self.most)


class _Spent(msgspec.Struct):
    """What one role has taken; of requests of an earlier start, the average stands for each."""

    n: int = 0
    tokens: int = 0
    cost: float = 0.0
    token_range: _Range = msgspec.field(default_factory=_Range)  # of one request
    cost_range: _Range = msgspec.field(default_factory=_Range)
