"""One purse for the model and its judge: what is under way, and who waits for it to be counted."""

from __future__ import annotations

import asyncio

from eyechart.engine.budget import Budget, Role
from eyechart.errors import ModelError
from eyechart.types import Usage


class BudgetSpent(ModelError):
    """What the user allowed is used up. Everything that was paid for is kept."""

    exit_code = 1


class Purse:
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
