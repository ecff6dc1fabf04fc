"""People's own objects as models.

Three shapes are understood, told apart by their methods:

- ``async generate(messages) -> Reply | str``: ours; a plain ``def`` with one argument works too
- ``generate(text, images) -> str``: as InfoChartQA's example models; images are paths, or addresses in a run
  that passes them on. The literal answer ``Error!``, theirs for a call that failed, is a failure here
- ``generate_answer(question) -> dict``: as MULTI's evaluators; all rounds of a question at once

Plain functions run in threads, as many at once as the run's concurrency allows; a class that is not
safe to call from several threads says so with ``max_concurrency = 1``. MULTI's evaluators are called one
question at a time, as there, because they keep the question they are at in themselves; one that does not
says so with a higher number.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from eyechart.errors import ModelError, UsageError
from eyechart.model.evaluator import multi_question, multi_reply
from eyechart.model.handover import as_unicode, files_of
from eyechart.model.secrecy import Secrets, attributes_of, environment, make_discreet, secrets_in
from eyechart.model.secrets import without_secrets
from eyechart.model.thinking import split_thinking
from eyechart.model.threads import Threads
from eyechart.types import Message, Model, ModelSettings, Reply, Request

FAILED = "Error!"  # what InfoChartQA's example client returns after its last attempt
_SHAPES = "async generate(messages), generate(text, images) or generate_answer(question)"


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
    if callable(getattr(thing, "reply", None)):
        missing = [part for part in ("name", "identity", "close") if not hasattr(thing, part)]
        if missing:
            raise UsageError(
                f"{name} has reply() but no {' and no '.join(missing)}", hint=f"or give it {_SHAPES}"
            )
        adapted: Model = thing
        if not is_ready_made:
            make_discreet(adapted, secrets)
        return adapted
    method = getattr(thing, "generate_answer", None)
    if callable(method):
        shape = _Shape(multi_question, multi_reply, takes_rounds=True, usual_concurrency=1)
        return _Adapter(thing, name, settings, method, shape, secrets, is_ready_made=is_ready_made)
    method = getattr(thing, "generate", None)
    if not callable(method):
        raise UsageError(f"{name} is not a model", hint=f"it needs a method {_SHAPES}")
    if _takes_messages(method):
        shape = _Shape(_messages)
    else:
        shape = _Shape(_text_and_images, _unless_failed, takes_urls=True)
    return _Adapter(thing, name, settings, method, shape, secrets, is_ready_made=is_ready_made)


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a method is called with, and how its answer is found in what it returns."""

    # The path is that of a folder for pictures that lie in no file of their own.
    argument: Callable[[Request, Path], tuple[Any, ...]]
    answer: Callable[[Any], Any] = lambda returned: returned
    takes_rounds: bool = False
    takes_urls: bool = False
    usual_concurrency: int | None = None  # where the object says nothing; None: what the run allows


class _Adapter:
    """Runs a user's method, off the event loop unless it is async, and reads what it returns."""

    def __init__(
        self,
        thing: Any,
        name: str,
        settings: ModelSettings,
        method: Callable[..., Any],
        shape: _Shape,
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
        usual = shape.usual_concurrency or settings.concurrency
        self.max_concurrency = max(1, int(getattr(thing, "max_concurrency", None) or usual))
        self._slots = asyncio.Semaphore(self.max_concurrency)
        self._threads = Threads(self.max_concurrency)

    @property
    def identity(self) -> Mapping[str, Any]:
        """The parameters the object was made with, and its source text: edit the class, ask again."""
        try:
            source = inspect.getsource(type(self._thing))
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
        except (Exception, SystemExit) as err:  # their code: any of it is that sample's failure
            raise ModelError(f"{self.name} raised {type(err).__name__}: {err}") from err
        if isinstance(said, str):
            text, thinking = split_thinking(as_unicode(said))
            return Reply(text=text, thinking=thinking, latency_s=latency_s)
        if not isinstance(said, Reply):
            raise ModelError(f"{self.name} returned {type(said).__name__}, not text")
        return self._checked(said if said.latency_s else replace(said, latency_s=latency_s))

    async def close(self) -> None:
        """End the threads, close the object if it can be."""
        self._threads.close()
        closing = getattr(self._thing, "close", None)
        if callable(closing):
            with self._secrets.out_of_errors(self.name):
                result = closing()
                if inspect.isawaitable(result):
                    await result

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


def _messages(request: Request, folder: Path) -> tuple[Any, ...]:
    return (list(request.messages),)


def _text_and_images(request: Request, folder: Path) -> tuple[Any, ...]:
    return _as_one_text(request.messages), files_of(request.messages, folder)


def _unless_failed(returned: Any) -> Any:
    if returned == FAILED:
        raise ModelError(f"the model's own client gave up: it returned {FAILED!r}")
    return returned


def _as_one_text(messages: Sequence[Message]) -> str:
    """A conversation for models that take one text: a single turn as it is, several with their speakers."""
    if len(messages) == 1:
        return messages[0].text
    return "\n\n".join(f"{turn.role}: {turn.text}" for turn in messages)


def _state_sha256(thing: Any) -> str:
    """The digest of an object's attributes, which may be secret; those that JSON cannot say are left out."""
    digest = hashlib.sha256()
    for name, held in sorted(attributes_of(thing).items()):
        with contextlib.suppress(TypeError, ValueError, AttributeError, RecursionError):
            value = msgspec.json.encode(held, order="deterministic")
            digest.update(b"%s=%s;" % (name.encode(), value))
    return digest.hexdigest()


def _takes_messages(generate: Callable[..., Any]) -> bool:
    """Whether the method has our shape: one argument, or the first of several by its name."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(generate).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.kind in kinds]
    return len(names) == 1 or names[:1] == ["messages"]
