"""People's own objects as models.

Which shapes are understood stands in shapes.py. Plain functions run in threads, as many at once as the
run's concurrency allows; a class that is not safe to call from several threads says so with
``max_concurrency = 1``. MULTI's evaluators are called one question at a time, as there, because they keep the
question they are at in themselves; one that does not says so with a higher number.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import ModelError, UsageError
from eyechart.model.handover import as_unicode
from eyechart.model.secrecy import Secrets, attributes_of, environment, make_discreet, secrets_in
from eyechart.model.secrets import without_secrets
from eyechart.model.shapes import SHAPES, Shape, definition_of, shape_of
from eyechart.model.thinking import split_thinking
from eyechart.model.threads import Threads
from eyechart.terminal import print_note
from eyechart.types import Model, ModelSettings, Reply, Request


def adapt(
    thing: Any,
    name: str,
    settings: ModelSettings | None = None,
    *,
    is_ready_made: bool = False,
    keys: Mapping[str, Any] | None = None,
) -> Model:
    """Give the `Model` shape to an object of any of the three kinds.

    One that is ready made is known by what it holds: nobody told us the parameters it was made with.
    `keys` were among them beside those of the settings. What the object says is told without any secret.
    """
    settings = settings or ModelSettings()
    if inspect.isclass(thing):
        raise UsageError(
            f"{thing.__name__} is a class, not a model", hint=f"make one of it: {thing.__name__}(...)"
        )
    said = (settings.parameters, keys or {}, {"api_key": settings.api_key})
    secrets = Secrets(*said, secrets_in(thing), environment())
    if not callable(getattr(thing, "reply", None)):
        method, shape = shape_of(thing, name)
        return _Adapter(thing, name, settings, method, shape, secrets, is_ready_made=is_ready_made)
    if missing := [part for part in ("name", "identity", "close") if not hasattr(thing, part)]:
        raise UsageError(f"{name} has reply() but no {' and no '.join(missing)}", hint=f"or give it {SHAPES}")
    native: Model = thing
    if not is_ready_made:
        make_discreet(native, secrets)
    return native


class _Adapter:
    """Runs a user's method, off the event loop unless it is async, and reads what it returns."""

    def __init__(
        self,
        thing: Any,
        name: str,
        settings: ModelSettings,
        method: Callable[..., Any],
        shape: Shape,
        secrets: Secrets,
        *,
        is_ready_made: bool,
    ) -> None:
        self.name = name
        self._thing = thing
        self._parameters = without_secrets(settings.parameters)
        if is_ready_made:
            self._parameters["state_sha256"] = _state_sha256(thing)  # as it is before the first question
        self._method = method
        self._shape = shape
        self._secrets = secrets
        # The engine hands over the whole conversation, the model's own turns left empty.
        self.takes_rounds = shape.takes_rounds
        self.takes_urls = shape.takes_urls
        self.wants_urls = shape.wants_urls
        self.max_concurrency = _concurrency_of(thing, name, shape.usual_concurrency or settings.concurrency)
        self._slots = asyncio.Semaphore(self.max_concurrency)
        self._threads = Threads(self.max_concurrency)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The parameters the object was made with, and its source text: edit the class, ask again."""
        try:
            source = inspect.getsource(definition_of(self._thing))
        except (OSError, TypeError):
            source = ""
        digest = hashlib.sha256(source.encode()).hexdigest()
        return {"python": self.name, "source_sha256": digest, **self._parameters}

    async def reply(self, request: Request) -> Reply:
        """Call the user's method once."""
        with self._secrets.out_of_errors(self.name):
            return self._secrets.out_of_reply(await self._reply(request))

    async def _reply(self, request: Request) -> Reply:
        try:
            async with self._slots:
                start = time.perf_counter()
                said = self._shape.answer(await self._call(request))
                latency_s = time.perf_counter() - start
        except ModelError:
            raise
        except BaseException as err:  # their code: any of it is that sample's failure
            if _is_meant_for_us(err):
                raise
            raise ModelError(f"{self.name} raised {type(err).__name__}: {err}") from err
        if isinstance(said, str):
            text, thinking = split_thinking(as_unicode(said))
            return Reply(text=text, thinking=thinking, latency_s=latency_s)
        if not isinstance(said, Reply):
            raise ModelError(f"{self.name} returned {type(said).__name__}, not text")
        return self._checked(said if said.latency_s else replace(said, latency_s=latency_s))

    async def close(self) -> None:
        """End the threads, close the object if it can be: if not, its answers are as good as before."""
        self._threads.close()
        closing = getattr(self._thing, "close", None)
        if not callable(closing):
            return
        try:
            result = closing()
            if inspect.isawaitable(result):
                await result
        except (Exception, SystemExit) as err:
            why = self._secrets.hide(f"{type(err).__name__}: {err}")
            print_note(f"{self.name} could not be closed: {why}")

    async def _call(self, request: Request) -> Any:
        """What the method returns; the pictures written for it are gone afterwards."""
        # After a timeout the method may still be writing there: what it leaves must not hide the timeout.
        with tempfile.TemporaryDirectory(prefix="eyechart-", ignore_cleanup_errors=True) as folder:
            if inspect.iscoroutinefunction(self._method):
                returned = self._begin(request, Path(folder))
            else:
                returned = await self._threads.call(self._begin, request, Path(folder))
            # A decorator can hide that a method is async.
            return await returned if inspect.isawaitable(returned) else returned

    def _begin(self, request: Request, folder: Path) -> Any:
        return self._method(*self._shape.argument(request, folder))

    def _checked(self, reply: Reply) -> Reply:
        """A reply of their own making, if the journal can hold it."""
        try:
            return msgspec.json.decode(msgspec.json.encode(reply), type=Reply)
        except (TypeError, ValueError) as err:  # an object among the evidence, half a surrogate pair
            raise ModelError(f"{self.name} returned a reply that cannot be kept: {err}") from err


def _state_sha256(thing: Any) -> str:
    """The digest of an object's attributes, which may be secret; those that JSON cannot say are left out."""
    digest = hashlib.sha256()
    for name, held in sorted(attributes_of(thing).items()):
        with contextlib.suppress(TypeError, ValueError, AttributeError, RecursionError):
            value = msgspec.json.encode(held, order="deterministic")
            digest.update(b"%s=%s;" % (name.encode(), value))
    return digest.hexdigest()


def _concurrency_of(thing: Any, name: str, usual: int) -> int:
    said = getattr(thing, "max_concurrency", None)
    try:
        return max(1, int(said or usual))
    except (TypeError, ValueError, OverflowError) as err:
        raise UsageError(
            f"{name}: max_concurrency is {said!r}", hint="it is how many calls it bears at once, such as 4"
        ) from err


def _is_meant_for_us(err: BaseException) -> bool:
    """Whether it comes from outside: Ctrl-C, or a request that is given up. A Rust panic, say, does not."""
    if isinstance(err, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(err, KeyboardInterrupt | GeneratorExit)
