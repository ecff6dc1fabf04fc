"""Waiting for what is to happen, not for a time in which it should have."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

WITHIN_S = 60.0  # however busy the machine is


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait, in a thread, until it is so."""
    deadline_s = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.002)


async def until(holds: Callable[[], bool]) -> None:
    """Wait, in an event loop, until it is so."""
    async with asyncio.timeout(WITHIN_S):
        while not holds():  # noqa: ASYNC110 - there is no event for it
            await asyncio.sleep(0.001)
