"""Asking one model, again and again where that may help, until it answers or all hope is gone."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from eyechart.engine.backoff import Backoff
from eyechart.errors import ModelError
from eyechart.types import Model, Reply, Request, Several

T = TypeVar("T")

_UNREACHABLE_TRIES = 3  # before the first answer, so many refused connections mean a wrong address
_FATAL_IN_A_ROW = 3  # after it, one refusal may concern one sample alone; so many concern them all
_ODD_REQUEST = frozenset({400, 422, 501})  # what endpoints say to a number of answers they cannot give


class Unanswered(Exception):
    """No reply, after as many tries as were allowed."""

    def __init__(self, error: ModelError, attempts: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.attempts = attempts


class Stopped(Exception):
    """The run was stopped between two tries: neither answered nor failed."""


class Stop:
    """Whether the run goes on, and if not, why."""

    def __init__(self) -> None:
        self.is_interrupted = False
        self.trouble: BaseException | None = None
        self._event = asyncio.Event()
        self._then: list[Callable[[], None]] = []

    def interrupt(self) -> None:
        """Somebody wants it to end."""
        self.is_interrupted = True
        self.set()

    def give_up(self, trouble: BaseException) -> None:
        """Going on is pointless; the first reason stands."""
        self.trouble = self.trouble or trouble
        self.set()

    def then(self, action: Callable[[], None]) -> None:
        """Have something done when the run stops; at once, if it has."""
        self._then.append(action)
        if self.is_set:
            action()

    def set(self) -> None:
        """Ask nothing more."""
        self._event.set()
        for action in self._then:
            action()

    @property
    def is_set(self) -> bool:
        """The run is ending."""
        return self._event.is_set()

    async def wait(self, at_most_s: float | None = None) -> None:
        """Until the run is stopped, or for so many seconds."""
        try:
            await asyncio.wait_for(self._event.wait(), timeout=at_most_s)
        except TimeoutError:
            return


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, and how many tries it took."""

    replies: list[Reply]
    attempts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for one try, how many there may be, and how many at once."""

    concurrency: int = 32
    timeout_s: float = 600.0
    backoff: Backoff = field(default_factory=Backoff)

    def asker(self, model: Model, stop: Stop) -> Asker:
        """One that asks `model` so."""
        at_once = getattr(model, "max_concurrency", None) or self.concurrency
        slots = asyncio.Semaphore(at_once) if at_once < self.concurrency else None
        return Asker(model, self.backoff, self.timeout_s, stop, slots=slots)


@dataclass(slots=True)
class Asker:
    """One model, asked with patience. Counts what it sends."""

    model: Model
    backoff: Backoff
    timeout_s: float
    stop: Stop
    rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311  (jitter, not secrets)
    sent: int = 0
    retried: int = 0
    answered: int = 0
    is_proven: bool = False  # it has answered in an earlier start of the run
    is_one_by_one: bool = False  # several answers to one request are not to be had from it
    slots: asyncio.Semaphore | None = None  # of a model that takes few at once: waiting is not its silence
    _fatal_in_a_row: int = 0

    async def ask(self, request: Request, n: int = 1) -> Answer:
        """One reply or, with `n`, up to as many; raises `Unanswered` or `Stopped`."""
        model = self.model
        if n == 1 or self.is_one_by_one or not isinstance(model, Several):
            return await self._persist(lambda: self.model.reply(request))
        try:
            return await self._persist(lambda: model.replies(request, n))
        except Unanswered as failed:
            if failed.error.status not in _ODD_REQUEST:
                raise
        answer = await self._persist(
            lambda: self.model.reply(request)
        )  # if this one succeeds, it was the number that was refused
        self.is_one_by_one = True
        return answer

    async def _persist(self, call: Callable[[], Awaitable[Reply | list[Reply]]]) -> Answer:
        attempts = 0
        while True:
            attempts += 1
            try:
                said = await self._try(call)
            except ModelError as err:
                if self._is_hopeless(err, attempts):
                    self.stop.give_up(err)
                if self.stop.is_set or not self.backoff.may_retry(attempts, err):
                    raise Unanswered(err, attempts) from err
                await self.stop.wait(self.backoff.delay_s(attempts, err.retry_after_s, self.rng))
            else:
                self.answered += 1
                self._fatal_in_a_row = 0
                return Answer([said] if isinstance(said, Reply) else said, attempts)
            if self.stop.is_set:
                raise Stopped
            self.retried += 1

    async def _try(self, call: Callable[[], Awaitable[T]]) -> T:
        async with self.slots or contextlib.nullcontext():
            return await self._send(call)

    async def _send(self, call: Callable[[], Awaitable[T]]) -> T:
        self.sent += 1
        try:
            async with asyncio.timeout(self.timeout_s):
                return await call()
        except TimeoutError:
            message = f"no answer within {self.timeout_s:g} s"
            raise ModelError(message, hint="--timeout allows more", is_retryable=True) from None
        except ModelError:
            raise
        except Exception as err:  # a model may be anybody's: its slip is this sample's failure
            raise ModelError(f"{self.model.name} raised {type(err).__name__}: {err}") from err

    def _is_hopeless(self, error: ModelError, attempts: int) -> bool:
        """Whether no request can succeed: a wrong key, model or address, as far as anyone can tell."""
        if error.is_unreachable:
            is_last = not self.backoff.may_retry(attempts, error)
            return self.answered == 0 and (attempts >= _UNREACHABLE_TRIES or is_last)
        self._fatal_in_a_row += error.is_fatal
        is_new = self.answered == 0 and not self.is_proven
        return error.is_fatal and (is_new or self._fatal_in_a_row >= _FATAL_IN_A_ROW)
