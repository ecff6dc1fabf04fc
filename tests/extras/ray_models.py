"""Models for runs on Ray, as a user's file holds them."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any


class Letters:
    """Answers by the length of the question."""

    async def generate(self, messages: Any) -> str:
        return "ABCD"[len(messages[-1].text) % 4]


class Slow(Letters):
    """The same, a tenth of a second later, two at a time."""

    max_concurrency = 2

    async def generate(self, messages: Any) -> str:
        await asyncio.sleep(0.1)
        return await super().generate(messages)


class Deadly(Letters):
    """Kills its process with question 7 always, and with question 11 the first time."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    async def generate(self, messages: Any) -> str:
        text = messages[-1].text
        await asyncio.sleep(0.05)
        marker = Path(self.folder) / "killed"
        if "Question 7?" in text or ("Question 11?" in text and not marker.exists()):
            if "Question 11?" in text:
                marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().generate(messages)
