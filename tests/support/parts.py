"""Parts of a run made by hand: samples, pictures, a scripted model, a scorer that compares."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from eyechart.engine.executor import LocalExecutor
from eyechart.engine.judge import JudgeSetup
from eyechart.engine.prepare import Preparer
from eyechart.engine.retry import EngineSettings, RetryPolicy
from eyechart.errors import ImageError
from eyechart.store import journal as journals
from eyechart.store import sqlite
from eyechart.store.journal import Journal
from eyechart.types import Image, ImageRef, Message, Model, Prompt, Reply, Request, Sample, Score
from support.files import picture

FAST = RetryPolicy(first_s=0.001, longest_s=0.002)


def sample(k: int, **fields: Any) -> Sample:
    """Question k, whose gold is its own number."""
    usual: dict[str, Any] = {"id": f"q{k}", "question": f"Question {k}?", "golds": (str(k),), "row": k + 1}
    return Sample(**(usual | fields))


def samples(n: int) -> list[Sample]:
    return [sample(k) for k in range(n)]


def image(colour: str = "red", **fields: Any) -> Image:
    data = picture(colour)
    usual: dict[str, Any] = {
        "base64": base64.b64encode(data),
        "mime": "image/png",
        "width": 32,
        "height": 24,
        "sha256": hashlib.sha256(data).hexdigest(),
        "n_bytes": len(data),
    }
    return Image(**(usual | fields))


def request(*parts: str | Image | ImageRef, **fields: Any) -> Request:
    """One user turn."""
    return Request(messages=(Message("user", parts or ("Question?",)),), sample=sample(0), **fields)


def ask_plainly(one: Sample) -> list[Message]:
    return [Message("user", (*one.images, one.question))]


class Pictures:
    """Pictures by location; the fingerprint is whatever the test says."""

    def __init__(self, known: Mapping[str, Image] | None = None) -> None:
        self.known = dict(known or {})
        self.prints: dict[str, str] = {}
        self.loaded: Counter[str] = Counter()
        self.n_closed = 0

    def load(self, ref: ImageRef) -> Image:
        self.loaded[ref.location] += 1
        if ref.location not in self.known:
            raise ImageError(f"{ref}: there is no such picture")
        return self.known[ref.location]

    def fingerprint(self, ref: ImageRef) -> str:
        return self.prints.get(ref.location, ref.location)

    def close(self) -> None:
        self.n_closed += 1


Script = Callable[[Request], "Reply | str | Awaitable[Reply | str]"]


class ScriptedModel:
    """Does what the script says, and remembers what it was asked."""

    name = "test/scripted"

    def __init__(self, script: Script | None = None, **identity: Any) -> None:
        self.identity: Mapping[str, Any] = identity
        self.asked: list[str] = []
        self.is_closed = False
        self._script = script or (lambda asked: asked.sample.id.removeprefix("q"))

    async def reply(self, request: Request) -> Reply:
        self.asked.append(request.sample.id)
        said = self._script(request)
        if not isinstance(said, str | Reply):
            said = await said
        return said if isinstance(said, Reply) else Reply(text=said)

    async def close(self) -> None:
        self.is_closed = True


class SameText:
    """Right when the reply is the gold."""

    name = "same-text"
    version = "1"
    parity = ""

    def __call__(self, reply: Reply, sample: Sample) -> Score:
        is_right = reply.text in sample.golds
        return Score(outcome="correct" if is_right else "wrong", value=float(is_right), read=reply.text)


def executor(
    journal: Journal,
    model: Model,
    *,
    pictures: Pictures | None = None,
    scorer: Any = None,
    prompt: Prompt = ask_plainly,
    judge: JudgeSetup | None = None,
    is_circular: bool = False,
    **settings: Any,
) -> LocalExecutor:
    preparer = Preparer(prompt, pictures or Pictures(), {"model": model.name, **model.identity})
    usual: dict[str, Any] = {"concurrency": 4, "retry": FAST, "grace_s": 5.0}
    usual |= {"first_rest_s": 0.001, "give_up_after": 50}
    chosen = EngineSettings(**(usual | settings))
    return LocalExecutor(
        model, preparer, journal, scorer or SameText(), chosen, judge=judge, is_circular=is_circular
    )


def run(
    journal: Journal,
    model: Model,
    *,
    of: Iterable[Sample] | None = None,
    trials: int = 1,
    together: bool = False,
    **settings: Any,
) -> LocalExecutor:
    """One whole start of a run: load, infer, close the model, flush."""
    if of is not None:
        journal.replace_samples(of)

    async def drive() -> LocalExecutor:
        made = executor(journal, model, **settings)
        try:
            await made.run(journal.tasks(trials, together=together))
        finally:
            made.close()
            await model.close()
        return made

    journal.start_session()
    done = asyncio.run(drive())
    journal.flush()
    return done


def our_threads() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith(("eyechart-", "model"))]


def no_thread_left(within_s: float = 20.0) -> bool:
    """Whether all threads of ours have ended, or end within a moment."""
    until = time.monotonic() + within_s
    while our_threads() and time.monotonic() < until:
        time.sleep(0.005)
    return not our_threads()


def do_not_wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which nobody pulls the plug: hand what is written to the system and go on."""
    connect = sqlite.connect

    def quick(path: Path) -> sqlite3.Connection:
        db = connect(path)
        db.execute("PRAGMA synchronous = OFF")
        return db

    for room in (journals, sqlite):
        monkeypatch.setattr(room, "connect", quick)
