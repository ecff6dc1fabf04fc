"""One model, served at several addresses."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.errors import UsageError
from eyechart.types import Model, Reply, Request, Several


class Spread:
    """The same model behind several endpoints, or behind one that has a name.

    The engine asks its `members` itself, the least busy one first, and leaves out those that are dead.
    Whoever asks it as one model gets the members in turn. With an `endpoint_name`, that name and not the
    addresses is part of what was asked: the same model at another port or node is the same model.
    """

    def __init__(self, members: Sequence[Model], endpoint_name: str | None = None) -> None:
        self.members = tuple(members)
        self._endpoint_name = endpoint_name
        self.name = self.members[0].name
        self.takes_urls = all(getattr(member, "takes_urls", False) for member in self.members)
        self.is_endpoint = all(getattr(member, "is_endpoint", False) for member in self.members)
        self.takes_rounds = all(getattr(member, "takes_rounds", False) for member in self.members)
        self._turns = itertools.cycle(self.members)
        self.addresses = sorted(str(member.identity.get("endpoint", "")) for member in self.members)
        if twice := {one for one in self.addresses if self.addresses.count(one) > 1}:
            raise UsageError(f"an address is given twice: {min(twice)}", hint="give every --base-url once")

    @property
    def identity(self) -> Mapping[str, Any]:
        """That of any member, with the endpoint's name or all addresses: which of them answers is chance."""
        return {**self.members[0].identity, "endpoint": self._endpoint_name or self.addresses}

    async def reply(self, request: Request) -> Reply:
        """Ask the next one."""
        return await next(self._turns).reply(request)

    async def replies(self, request: Request, n: int) -> list[Reply]:
        """Ask the next one for several answers."""
        member = next(self._turns)
        return (
            await member.replies(request, n) if isinstance(member, Several) else [await member.reply(request)]
        )

    async def close(self) -> None:
        """Close all of them."""
        await asyncio.gather(*(member.close() for member in self.members))
