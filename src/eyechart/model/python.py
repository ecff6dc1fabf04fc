"""People's own classes as models: ``python:file.py:Class``.

Three shapes are understood, told apart by their methods:

- ``async generate(messages) -> Reply | str``: ours; a plain ``def`` with one argument works too
- ``generate(text, images) -> str``: as InfoChartQA's example models; images are paths
- ``generate_answer(question) -> dict``: as MULTI's evaluators

Plain functions run in threads, as many at once as the run's concurrency allows; a class that is not
safe to call from several threads says so with ``max_concurrency = 1``.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import inspect
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

from eyechart.errors import ModelError, UsageError
from eyechart.model.specs import refuse_unknown
from eyechart.model.thinking import split_thinking
from eyechart.registry import model
from eyechart.types import Image, Message, Model, ModelSettings, Reply, Request

_SHAPES = "async generate(messages), generate(text, images) or generate_answer(question)"


@model("python")
def python(name: str, settings: ModelSettings) -> Model:
    """The class, function or object that ``file.py:Name`` or ``package.module:Name`` holds."""
    place, colon, attribute = name.rpartition(":")
    if not colon:
        raise UsageError(f"python:{name} does not say which class", hint="write python:file.py:Class")
    module = _load_module(place)
    found = getattr(module, attribute, None)
    if found is None:
        public = [known for known in vars(module) if not known.startswith("_")]
        raise UsageError(f"{place} has no {attribute!r}", hint=f"it holds: {', '.join(public)}")
    return adapt(_made(found, settings, who=f"python:{name}"), f"python:{name}", settings)


def adapt(thing: Any, name: str, settings: ModelSettings | None = None) -> Model:
    """Give the `Model` shape to an object of any of the three kinds."""
    settings = settings or ModelSettings()
    if callable(getattr(thing, "reply", None)):
        adapted: Model = thing
        return adapted
    if callable(getattr(thing, "generate_answer", None)):
        return _Adapter(thing, name, settings, thing.generate_answer, _ask_multi)
    generate = getattr(thing, "generate", None)
    if not callable(generate):
        raise UsageError(f"{name} is not a model", hint=f"it needs a method {_SHAPES}")
    if inspect.iscoroutinefunction(generate) or _n_positional(generate) == 1:
        return _Adapter(thing, name, settings, generate, _ask_native)
    return _Adapter(thing, name, settings, generate, _ask_text_and_images)


_Ask = Callable[[Callable[..., Any], Request, Callable[[Image], str]], Any]


class _Adapter:
    """Runs a user's method, off the event loop unless it is async, and reads what it returns."""

    def __init__(
        self, thing: Any, name: str, settings: ModelSettings, method: Callable[..., Any], ask: _Ask
    ) -> None:
        self.name = name
        self._thing = thing
        self._parameters = dict(settings.parameters)
        self._method = method
        self._ask = ask
        self._files: tempfile.TemporaryDirectory[str] | None = None
        n_threads = int(getattr(thing, "max_concurrency", None) or settings.concurrency)
        self._threads = ThreadPoolExecutor(max_workers=max(1, n_threads), thread_name_prefix="model")

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
        start = time.perf_counter()
        try:
            if inspect.iscoroutinefunction(self._method):
                said = await self._ask(self._method, request, self._file_of)
            else:
                loop = asyncio.get_running_loop()
                said = await loop.run_in_executor(
                    self._threads, self._ask, self._method, request, self._file_of
                )
        except ModelError:
            raise
        except Exception as err:  # their code: any exception is that sample's failure, told in full
            raise ModelError(f"{self.name} raised {type(err).__name__}: {err}") from err
        if isinstance(said, Reply):
            return said
        if not isinstance(said, str):
            raise ModelError(f"{self.name} returned {type(said).__name__}, not text")
        text, thinking = split_thinking(said)
        return Reply(text=text, thinking=thinking, latency_s=time.perf_counter() - start)

    async def close(self) -> None:
        """End the threads, remove the pictures written for the model, close the object if it can be."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._files is not None:
            self._files.cleanup()
        closing = getattr(self._thing, "close", None)
        if callable(closing):
            result = closing()
            if inspect.isawaitable(result):
                await result

    def _file_of(self, image: Image) -> str:
        """A path to the picture as it would be sent; written once if it lies in no file of its own."""
        if image.path is not None:
            return image.path
        if self._files is None:
            self._files = tempfile.TemporaryDirectory(prefix="eyechart-")
        path = Path(self._files.name) / f"{image.sha256}.{image.mime.rpartition('/')[2]}"
        if not path.exists():
            path.write_bytes(image.data())
        return str(path)


def _ask_native(method: Callable[..., Any], request: Request, file_of: Callable[[Image], str]) -> Any:
    return method(list(request.messages))


def _ask_text_and_images(
    method: Callable[..., Any], request: Request, file_of: Callable[[Image], str]
) -> Any:
    return method(_as_one_text(request.messages), [file_of(image) for image in _pictures(request.messages)])


def _ask_multi(method: Callable[..., Any], request: Request, file_of: Callable[[Image], str]) -> Any:
    """MULTI's prompted question in, its answered question out."""
    pictures = [file_of(image) for image in _pictures(request.messages)]
    rounds = [turn.text for turn in request.messages if turn.role == "user"]
    system = "\n".join(turn.text for turn in request.messages if turn.role == "system")
    question: dict[str, Any] = {
        "question_id": request.sample.id,
        "question_image_number": len(pictures),
        "image_list": pictures,
    }
    if system:
        question["prompted_system_content"] = system
    if len(rounds) > 1:
        question["prompted_content_list"] = rounds
    else:
        question["prompted_content"] = rounds[0] if rounds else ""
    answered = method(question)
    if not isinstance(answered, Mapping) or "prediction" not in answered:
        raise ModelError("generate_answer must return the question with a 'prediction'")
    prediction = answered["prediction"]
    if not prediction and answered.get("feedback"):
        raise ModelError(f"generate_answer gave no prediction: {answered['feedback']}")
    return prediction


def _pictures(messages: Sequence[Message]) -> list[Image]:
    return [image for turn in messages for image in turn.images if isinstance(image, Image)]


def _as_one_text(messages: Sequence[Message]) -> str:
    """A conversation for models that take one text: a single turn as it is, several with their speakers."""
    if len(messages) == 1:
        return messages[0].text
    return "\n\n".join(f"{turn.role}: {turn.text}" for turn in messages)


def _load_module(place: str) -> ModuleType:
    if not place.endswith(".py"):
        try:
            return importlib.import_module(place)
        except ImportError as err:
            raise UsageError(f"cannot import {place!r}: {err}", hint="for a file, write its .py too") from err
    path = Path(place).resolve()
    if not path.is_file():
        raise UsageError(f"there is no file {place}", hint="write python:path/to/file.py:Class")
    spec = importlib.util.spec_from_file_location(f"eyechart_user_{path.stem}", path)
    assert spec is not None, "a .py file always has a loader"
    assert spec.loader is not None, "a .py file always has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # so that dataclasses and pickles in the file find themselves
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # the file's neighbours, as when it is run as a script
    try:
        spec.loader.exec_module(module)
    except Exception as err:
        raise UsageError(f"{place} cannot be loaded: {type(err).__name__}: {err}") from err
    return module


def _made(found: Any, settings: ModelSettings, *, who: str) -> Any:
    """An instance: of a class, from a factory function, or the object itself."""
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        return found
    wanted = inspect.signature(found).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in wanted.values())
    if not takes_any:
        refuse_unknown(set(settings.parameters), set(wanted), who=who)
    try:
        return found(**settings.parameters)
    except Exception as err:
        raise UsageError(
            f"{who} could not be made: {type(err).__name__}: {err}",
            hint="give its arguments with --param NAME=VALUE",
        ) from err


def _n_positional(function: Callable[..., Any]) -> int:
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return sum(1 for parameter in parameters if parameter.kind in kinds)
