"""Python models: the user's classes, functions and objects.

``python:file.py:Name`` names one; `adapt` gives it the `Model` protocol. Its shape says which method is
called, and with which arguments:

- ``async generate(messages) -> Reply | str``: eyechart's own; a plain ``def`` with one argument works too
- ``generate(text, images) -> str``: as InfoChartQA's example models. The class decides whether images are
  given as paths, one path, or URLs (`_image_form`). Their literal answer ``Error!`` is a failure here
- ``generate_batch(conversations) -> list`` or ``generate_batch(texts, images) -> list``: the same for up to
  `batch_size` questions at a time
- others, registered under the name of the method, such as MULTI's ``generate_answer(question)``

Each may be async, or a generator that yields pieces of the text. Plain methods run in threads, as many at a
time as the run's concurrency allows; a class that is not thread-safe sets ``max_concurrency = 1``.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib.util
import inspect
import itertools
import queue
import shutil
import sys
import sysconfig
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from secrets import token_hex
from types import ModuleType
from typing import Any, Literal

import msgspec

from eyechart.errors import ModelError, UsageError, join_names
from eyechart.files import look_beside
from eyechart.models.batching import Batcher
from eyechart.models.redact import (
    Secrets,
    find_environment_keys,
    find_secrets,
    read_attributes,
    redact_model,
    redact_parameters,
)
from eyechart.models.specs import refuse_unknown
from eyechart.registry import Registry, model, packages, suggest_name
from eyechart.terminal import print_note
from eyechart.types import ImageRef, Message, Model, ModelSettings, Reply, Request, read_capabilities

SHAPES = "async generate(messages), generate(text, images), generate_batch(list) or generate_answer(question)"
_BATCH = 8  # questions, where a class with generate_batch states no batch_size
_FAILED = "Error!"  # what InfoChartQA's example client returns after its last attempt


# -- python:file.py:Name ---------------------------------------------------------------------------


@model("python")
def python(name: str, settings: ModelSettings) -> Model:
    """The class, function or object that ``file.py:Name`` or ``package.module:Name`` holds."""
    return make_python_model(load_object(name), name, settings)


def make_python_model(
    found: Any, name: str, settings: ModelSettings, keys: Mapping[str, Any] | None = None
) -> Model:
    """A model of what `load_object` found under that name.

    `keys` are further parameters that are secret: they do not enter the model's identity.
    """
    who, keys = f"python:{name}", keys or {}
    secrets = Secrets(settings.parameters, keys, find_environment_keys())
    with secrets.redact_errors(who):
        thing = _make_instance(found, {**settings.parameters, **keys}, who=who)
    return adapt(thing, who, settings, keys=keys)


def load_object(name: str) -> Any:
    """What ``file.py:Name`` or ``package.module:Name`` names: a class, a function, an object."""
    place, colon, attribute = name.rpartition(":")
    if not colon:
        raise UsageError(f"python:{name} names no class", hint="write python:file.py:Class")
    module = load_module(place)
    found = getattr(module, attribute, None)
    if found is None:
        public = [
            name for name, held in vars(module).items() if name[0] != "_" and not inspect.ismodule(held)
        ]
        near = suggest_name(attribute, public, otherwise=f"it holds: {join_names(public, 10) or 'nothing'}")
        raise UsageError(f"{place} has no {attribute!r}", hint=near)
    return found


def load_module(place: str) -> ModuleType:
    """Run the file, or import the module, of that name."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # for modules beside a package, as MULTI's; last, so that they shadow nothing
    if not place.endswith(".py"):
        try:
            return importlib.import_module(place)
        except ImportError as err:
            raise UsageError(
                f"cannot import {place!r}: {err}", hint="for a file, add its suffix .py"
            ) from err
        except (Exception, SystemExit) as err:
            raise UsageError(f"{place} cannot be loaded: {describe_error(err)}") from err
    path = Path(place).resolve()
    if not path.is_file():
        raise UsageError(f"no such file: {place}", hint="write python:path/to/file.py:Class")
    place_sha = hashlib.sha256(str(path).encode()).hexdigest()[:8]  # two folders may hold a model.py each
    name = f"eyechart_user_{path.stem}_{place_sha}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "a .py file always has a loader"  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that dataclasses and pickles in the file find themselves
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # the file's neighbours, as when it is run as a script
    try:
        with look_beside(path):
            try:
                spec.loader.exec_module(module)
            except ModuleNotFoundError as err:  # a kit that is not installed; we may provide it
                kit = str(err.name).partition(".")[0]
                if kit not in packages.names():
                    raise
                packages.get(kit)()
                spec.loader.exec_module(module)
    except (Exception, SystemExit) as err:  # a script may end itself
        del sys.modules[name]
        raise UsageError(f"{place} cannot be loaded: {describe_error(err)}") from err
    return module


def _make_instance(found: Any, parameters: Mapping[str, Any], *, who: str) -> Any:
    """An instance of a class, or what a factory function returns; else the object or function itself."""
    if not (inspect.isclass(found) or inspect.isfunction(found)):
        refuse_unknown(set(parameters), set(), who=who)  # it already exists
        return found
    known = list_parameters(found)
    if known is not None:
        refuse_unknown(set(parameters), set(known), who=who)
    if inspect.isfunction(found) and _answers_itself(found, parameters):
        return partial(found, **parameters) if parameters else found
    try:
        return found(**parameters)
    except (Exception, SystemExit) as err:
        hint = "give its arguments with --param NAME=VALUE"
        if any(word in str(err).casefold() for word in ("cuda", "gpu")):
            hint = "it found no usable GPU; if it takes a device: --param device_map=cpu"
        if inspect.isfunction(found):
            hint += "; a function that answers itself takes (text, images) or (messages)"
        raise UsageError(f"{who} could not be created: {describe_error(err)}", hint=hint) from err


def list_parameters(maker: Callable[..., Any]) -> list[str] | None:
    """The parameters that a class or a function takes, in order; None when it takes any, or does not say."""
    try:
        wanted = inspect.signature(maker).parameters
    except ValueError:  # written in C
        return None
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in wanted.values())
    return None if takes_any else list(wanted)


_TEXTS = frozenset({"text", "prompt", "question", "query", "message"})
_IMAGES = ("image", "img", "pic", "photo", "path", "url")
_ONE_IMAGE = frozenset({"image", "img", "pic", "picture", "photo"})


def _answers_itself(function: Callable[..., Any], parameters: Mapping[str, Any]) -> bool:
    """Whether a function answers questions rather than creating a model.

    A factory can be called with the given parameters alone; a function that answers still needs `messages`,
    or a text and the images. If it needs a text alone, the images may be optional; if it needs nothing, its
    names must say that they are a text and images.

    >>> _answers_itself(lambda text, images=None: "A", {}), _answers_itself(lambda weights="w": None, {})
    (True, False)
    """
    open_ones = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.name not in parameters
    ]
    names = [parameter.name.lower() for parameter in open_ones]
    n_required = sum(parameter.default is parameter.empty for parameter in open_ones)
    first, second = (*names, "", "")[:2]
    is_text, is_image = first in _TEXTS, any(word in second for word in _IMAGES)
    is_optional = first == "text" and second.removesuffix("s") in _ONE_IMAGE
    if inspect.iscoroutinefunction(function) and n_required:
        return n_required <= 2
    if n_required == 2:
        return is_text or is_image
    if n_required == 1:
        return first == "messages" or (is_text and (is_image or not second))
    return n_required == 0 and (first == "messages" or is_optional)


# -- any object as a Model -------------------------------------------------------------------------


def adapt(
    thing: Any,
    name: str,
    settings: ModelSettings | None = None,
    *,
    is_ready_made: bool = False,
    keys: Mapping[str, Any] | None = None,
) -> Model:
    """Give the `Model` protocol to an object of any shape.

    The parameters of one that is ready made are not known: what it holds is its identity. `keys` are secret
    parameters beside those of the settings. Secrets are removed from all that the object says.
    """
    settings = settings or ModelSettings()
    if inspect.isclass(thing):
        raise UsageError(
            f"{thing.__name__} is a class, not a model", hint=f"pass an instance: {thing.__name__}(...)"
        )
    said = (settings.parameters, keys or {}, {"api_key": settings.api_key})
    secrets = Secrets(*said, find_secrets(thing), find_environment_keys())
    if not callable(getattr(thing, "reply", None)):
        return _Adapter(thing, name, settings, secrets, is_ready_made=is_ready_made)
    if missing := [part for part in ("name", "identity", "close") if not hasattr(thing, part)]:
        raise UsageError(f"{name} has reply() but no {' and no '.join(missing)}", hint=f"or give it {SHAPES}")
    native: Model = thing
    if not is_ready_made:
        redact_model(native, secrets)
    return native


class _Adapter:
    """Calls a user's method, off the event loop unless it is async, and reads what it returns."""

    def __init__(
        self, thing: Any, name: str, settings: ModelSettings, secrets: Secrets, *, is_ready_made: bool
    ) -> None:
        self.name = name
        self._thing = thing
        self._method, shape = _find_shape(thing, name)
        self._parameters = redact_parameters(settings.parameters)
        if is_ready_made:
            self._parameters["state_sha256"] = _state_sha256(thing)  # as it is before the first question
        self._shape = shape
        self._secrets = secrets
        stated = read_capabilities(thing)
        n = _read_count(name, stated.max_concurrency or shape.usual_concurrency or settings.concurrency)
        self._batcher: Batcher[Request, Any] | None = None
        self._slots = asyncio.Semaphore(n)
        self._threads = Threads(n)
        if shape.is_batch:
            size = _read_count(name, getattr(thing, "batch_size", None) or _BATCH, "batch_size")
            self._batcher = Batcher(self._answer_batch, size=size, n_at_once=n)
            n *= 2 * size  # so that the next batch is complete when one ends
            self._slots = asyncio.Semaphore(n)
        self.capabilities = replace(
            stated,
            takes_rounds=shape.takes_rounds,
            takes_messages=shape.takes_messages,
            takes_urls=shape.takes_urls,
            wants_urls=shape.wants_urls,
            max_concurrency=n,
        )

    @property
    def identity(self) -> Mapping[str, Any]:
        """The parameters the object was made with, and its source text: edit the class, ask again."""
        try:
            source = inspect.getsource(_definition_of(self._thing))
        except (OSError, TypeError):
            source = ""
        digest = hashlib.sha256(source.encode()).hexdigest()
        return {"python": self.name, "source_sha256": digest, **self._parameters}

    async def reply(self, request: Request) -> Reply:
        with self._secrets.redact_errors(self.name):
            return self._secrets.redact_reply(await self._reply(request))

    async def _reply(self, request: Request) -> Reply:
        try:
            async with self._slots:
                start = time.perf_counter()
                said = await (self._batcher.ask(request) if self._batcher else self._answer(request))
                latency_s = time.perf_counter() - start
        except ModelError:
            raise
        except BaseException as err:  # user code: any exception is that sample's failure
            if _is_from_outside(err):
                raise
            raise ModelError(f"{self.name} raised {describe_error(err)}") from err
        if isinstance(said, str):
            return Reply.read(replace_surrogates(said), latency_s=latency_s)
        if isinstance(said, ModelError):
            raise said
        if isinstance(said, Exception):  # in a batch, in place of a reply
            raise ModelError(f"{self.name} raised {describe_error(said)}") from said
        if not isinstance(said, Reply):
            raise ModelError(f"{self.name} returned {type(said).__name__}, not text")
        try:  # a `Reply` of the user's code must be storable in the journal
            said = msgspec.json.decode(msgspec.json.encode(said), type=Reply)
        except (TypeError, ValueError) as err:  # an object among the evidence, half a surrogate pair
            raise ModelError(f"{self.name} returned a reply that cannot be stored: {err}") from err
        return said if said.latency_s else replace(said, latency_s=latency_s)

    async def _answer(self, request: Request) -> Any:
        return self._shape.answer(await self._call([request]))

    async def _answer_batch(self, requests: list[Request]) -> list[Any]:
        returned = await self._call(requests)
        n = len(returned) if isinstance(returned, Sequence) and not isinstance(returned, str) else None
        if n != len(requests):
            what = f"{n} replies" if n is not None else type(returned).__name__
            why = f"{self.name}: generate_batch returned {what} for {len(requests)} questions"
            return [ModelError(why) for _ in requests]
        return [self._shape.answer(one) for one in returned]

    async def _call(self, requests: list[Request]) -> Any:
        """What the method returns; the image files written for it are deleted afterwards."""
        with _name_scratch(len(requests)) as folders:
            if inspect.iscoroutinefunction(self._method) or inspect.isasyncgenfunction(self._method):
                returned = self._begin(requests, folders)
            else:
                returned = await self._threads.call(self._begin, requests, folders)
            # A decorator can hide that a method is async.
            returned = await returned if inspect.isawaitable(returned) else returned
            if inspect.isasyncgen(returned):
                return self._join([piece async for piece in returned])
            if inspect.isgenerator(returned):  # of an async method: plain ones are read in their thread
                return self._join(list(returned))
            return returned

    def _begin(self, requests: list[Request], folders: list[Path]) -> Any:
        if self._shape.is_batch:
            given = [self._shape.arguments(*pair) for pair in zip(requests, folders, strict=True)]
            returned = self._method(*map(list, zip(*given, strict=True)))
            return list(returned) if inspect.isgenerator(returned) else returned
        returned = self._method(*self._shape.arguments(requests[0], folders[0]))
        return self._join(list(returned)) if inspect.isgenerator(returned) else returned

    def _join(self, pieces: list[Any]) -> Any:
        """What a generator has yielded: the pieces of a text, or replies of a batch."""
        if self._shape.is_batch:
            return pieces
        if wrong := next((piece for piece in pieces if not isinstance(piece, str)), None):
            raise ModelError(f"{self.name} yielded {type(wrong).__name__}, not text")
        return "".join(pieces)

    async def close(self) -> None:
        """End the threads and close the object; if that fails, a note is printed and no answer is lost."""
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


def _state_sha256(thing: Any) -> str:
    """The digest of an object's attributes, which may be secret; those that JSON cannot say are left out."""
    digest = hashlib.sha256()
    for name, held in sorted(read_attributes(thing).items()):
        with contextlib.suppress(TypeError, ValueError, AttributeError, RecursionError):
            value = msgspec.json.encode(held, order="deterministic")
            digest.update(b"%s=%s;" % (name.encode(), value))
    return digest.hexdigest()


def _read_count(name: str, stated: Any, what: str = "max_concurrency") -> int:
    try:
        return max(1, int(stated))
    except (TypeError, ValueError, OverflowError) as err:
        hint = "it limits parallel calls, e.g. 4" if what == "max_concurrency" else "e.g. 8"
        raise UsageError(f"{name}: {what} is {stated!r}, not a number", hint=hint) from err


@contextlib.contextmanager
def _name_scratch(n: int) -> Iterator[list[Path]]:
    """Folders for the images of n requests that lie in no file: made with the first one, and removed.

    So a process that is killed leaves no empty folder behind.
    """
    name = f"eyechart-{token_hex(8)}"
    folders = [Path(tempfile.gettempdir(), f"{name}-{number}") for number in range(n)]
    try:
        yield folders
    finally:
        for folder in folders:  # after a timeout the method may still be writing there
            shutil.rmtree(folder, ignore_errors=True)


_OURS = str(Path(__file__).parents[1])


def describe_error(err: BaseException) -> str:
    r"""An error in a user's file with the place: the last line of theirs that led to it.

    >>> try:
    ...     exec(compile("def answer():\n    return 1 / 0\nanswer()", "mine.py", "exec"))
    ... except ZeroDivisionError as error:
    ...     print(describe_error(error))
    ZeroDivisionError: division by zero (mine.py, line 2, in answer)
    """
    said = f"{type(err).__name__}: {err}".removesuffix(": ")
    if isinstance(err, SyntaxError):  # its text has the place already
        return said
    libraries = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    for frame in reversed(traceback.extract_tb(err.__traceback__)):
        path = frame.filename
        if path.startswith((*libraries, _OURS, "<frozen")):
            continue
        with contextlib.suppress(ValueError):
            path = str(Path(path).relative_to(Path.cwd()))
        within = f", in {frame.name}" if not frame.name.startswith("<") else ""
        return f"{said} ({path}, line {frame.lineno}{within})"
    return said


def _is_from_outside(err: BaseException) -> bool:
    """Whether it is Ctrl-C or a cancelled request, and was not raised by the method (as a Rust panic)."""
    if isinstance(err, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    return isinstance(err, KeyboardInterrupt | GeneratorExit)


# -- shapes ----------------------------------------------------------------------------------------


class Shape(msgspec.Struct, frozen=True):
    """What a method is called with, and how its answer is found in what it returns."""

    # The path is that of a folder for images that lie in no file of their own; the first of them makes it.
    arguments: Callable[[Request, Path], tuple[Any, ...]]
    n_arguments: int
    answer: Callable[[Any], Any] = lambda returned: returned
    takes_rounds: bool = False
    takes_messages: bool = False
    takes_urls: bool = False
    wants_urls: bool = False
    usual_concurrency: int | None = None  # where the object states none; None: what the run allows
    is_batch: bool = False  # the method is given lists of these arguments, and returns a list


# Beside `generate`: a method's name to its shape, announced by entry points of the group "eyechart.shapes".
shapes: Registry[Shape] = Registry("shape", see="eyechart model check --help")


def _find_shape(thing: Any, name: str) -> tuple[Callable[..., Any], Shape]:
    """The method that answers, and how it is called."""
    known = (*shapes.names(), "generate_batch", "generate")
    called = next((one for one in known if callable(getattr(thing, one, None))), "")
    if not called and not _is_function(thing):
        with contextlib.suppress(TypeError, ValueError):  # written in C: it does not say what it takes
            if callable(thing) and _answers_itself(thing.__call__, {}):
                called = "__call__"
        if not called:
            hint = f"it needs a method or must be a function: {SHAPES}"
            raise UsageError(f"{name} is not a model", hint=hint)
    method = getattr(thing, called) if called else thing
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # written in C: it does not say what it takes
        signature = inspect.signature(lambda *arguments: None)
    is_batch = called == "generate_batch"
    shown = f"{called or name_of(thing)}({', '.join(signature.parameters)})"
    if called in ("", "__call__", "generate"):
        _refuse_other_arguments(signature, name, shown)
    if called in shapes.names():
        shape = shapes.get(called)
    elif _takes_messages(signature):
        shape = Shape(lambda request, folder: (list(request.messages),), 1, takes_messages=True)
    else:
        form = _image_form(thing, signature)
        takes_urls, wants_urls = form in ("paths", "urls"), form == "urls"
        arguments = partial(_text_and_images, form)
        shape = Shape(arguments, 2, _unless_failed, takes_urls=takes_urls, wants_urls=wants_urls)
    if is_batch:  # weights on one GPU: one batch at a time
        shape = msgspec.structs.replace(shape, is_batch=True, usual_concurrency=1)
    try:
        signature.bind(*[None] * shape.n_arguments)
    except TypeError as err:
        raise UsageError(
            f"{name}: {shown} cannot be called: {err}", hint=f"supported signatures: {SHAPES}"
        ) from err
    return method, shape


def _is_function(thing: Any) -> bool:
    """Whether it is called itself: a function, a method, or one with some arguments filled in."""
    return inspect.isroutine(thing) or isinstance(thing, partial)


def name_of(thing: Any) -> str:
    """What a function is called, or of which class an object is.

    >>> name_of(print), name_of(partial(print, end="")), name_of(lambda text, images: "A"), name_of("A")
    ('print', 'print', 'lambda', 'str')
    """
    return str(_definition_of(thing).__name__).strip("<>")


def _definition_of(thing: Any) -> Any:
    """Where its source text is: the function itself, or the class of an object."""
    function = thing.func if isinstance(thing, partial) else thing
    return function if _is_function(function) else type(function)


def _takes_messages(signature: inspect.Signature) -> bool:
    """Whether the method has our shape: one argument, or the first of several by its name."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]
    return len(names) == 1 or names[:1] == ["messages"]


def _refuse_other_arguments(signature: inspect.Signature, name: str, called: str) -> None:
    """Refuse a method whose names say that it takes something else: a text alone, or the images first."""
    names = [parameter.lower() for parameter in signature.parameters]
    is_text_alone = len(names) == 1 and names[0] in _TEXTS - {"message"}
    is_turned = len(names) > 1 and names[1] in _TEXTS and any(word in names[0] for word in _IMAGES)
    if is_text_alone or is_turned:
        given = "messages" if is_text_alone else "the text first, then the images"
        raise UsageError(f"{name}: {called} is called with {given}", hint=f"supported signatures: {SHAPES}")


_ImageForm = Literal["path", "paths", "urls"]


def _image_form(thing: Any, signature: inspect.Signature) -> _ImageForm:
    """What a class with ``generate(text, images)`` is given its images as.

    The parameter's name decides if it can: `image_path` is one path, `image_paths` a list of paths,
    `image_urls` a list of URLs. Under any other name it is a list of paths, or one path if the name is
    `image`, unless the class writes its arguments into ``image_url`` parts as they are (no ``data:`` URL is
    built in its file), which needs URLs.
    """
    names = [parameter.name.lower() for parameter in signature.parameters.values()]
    name = names[1] if len(names) > 1 else ""
    if name.endswith(("path", "file")):
        return "path"
    if name.endswith(("paths", "files")):
        return "paths"
    if name.endswith(("url", "urls")) or _writes_urls(_definition_of(thing)):
        return "urls"
    return "path" if name in _ONE_IMAGE else "paths"


def _writes_urls(kind: Any) -> bool:
    try:
        own = inspect.getsource(kind)
    except (OSError, TypeError):  # written in C, or typed at a prompt
        return False
    try:
        around = inspect.getsource(sys.modules[kind.__module__])
    except (OSError, TypeError, KeyError):
        around = own
    return "image_url" in own and "data:" not in around


def _text_and_images(form: _ImageForm, request: Request, folder: Path) -> tuple[Any, ...]:
    text = _as_one_text(request.messages)
    if form == "urls":
        return text, list_image_urls(request.messages)
    paths = list_image_paths(request.messages, folder)
    if form == "path" and len(paths) > 1:
        raise ModelError(
            f"this question has {len(paths)} images, but the class takes one path; "
            "rename its parameter to image_paths to get a list"
        )
    return text, paths if form == "paths" else paths[0] if paths else None


def _unless_failed(returned: Any) -> Any:
    if returned == _FAILED:
        raise ModelError(f"the model's own client failed: it returned {_FAILED!r}")
    return returned


def _as_one_text(messages: Sequence[Message]) -> str:
    """A conversation for models that take one text: a single turn as it is, several with their speakers.

    Where images stand between the texts of a single turn, each is marked there with its number.
    """
    if len(messages) != 1:
        return "\n\n".join(f"{turn.role}: {turn.text}" for turn in messages)
    [turn] = messages
    kinds = [kind for kind, _ in itertools.groupby(turn.parts, lambda part: isinstance(part, str))]
    if kinds.count(True) < 2:
        return turn.text
    numbers = itertools.count(1)
    return "\n".join(part if isinstance(part, str) else f"<image {next(numbers)}>" for part in turn.parts)


# -- what is handed to a method --------------------------------------------------------------------


def list_image_paths(messages: Sequence[Message], folder: Path) -> list[str]:
    """Paths to the images as they would be sent; those that lie in no file of their own are written to one.

    Where one of them is passed on by its URL, all are URLs: no class takes a mixture of the two.
    """
    paths = []
    for number, image in enumerate((image for turn in messages for image in turn.images), start=1):
        if isinstance(image, ImageRef):
            return list_image_urls(messages)
        path = image.path
        if path is None:
            path = str(folder / f"{number}.{image.mime.rpartition('/')[2]}")
            folder.mkdir(mode=0o700, exist_ok=True)
            Path(path).write_bytes(image.data())
        paths.append(path)
    return paths


def list_image_urls(messages: Sequence[Message]) -> list[str]:
    """The URLs of images that are passed on by them; for all others, data URLs of what would be sent."""
    images = [image for turn in messages for image in turn.images]
    return [
        image.location if isinstance(image, ImageRef) else f"data:{image.mime};base64,{image.base64.decode()}"
        for image in images
    ]


def replace_surrogates(text: str) -> str:
    """The text with the halves of surrogate pairs, which no file can hold, marked as unreadable."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


# -- threads ---------------------------------------------------------------------------------------


class Threads:
    """At most `n` calls at once, each off the event loop.

    The standard pool waits for its threads when the program ends; a model that hangs would hang it too.
    """

    def __init__(self, n: int) -> None:
        self._n = n
        self._calls: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What `function` returns or raises, from a thread."""
        future: Future[Any] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                try:
                    future.set_result(function(*arguments))
                except StopIteration as err:  # a future cannot raise one: its caller would wait for ever
                    raise RuntimeError("the call raised StopIteration") from err
            except BaseException as err:  # raised where the result is awaited
                future.set_exception(err)

        self._calls.put(work)
        if len(self._threads) < self._n:
            name = f"model-{len(self._threads)}"
            self._threads.append(threading.Thread(target=self._serve, name=name, daemon=True))
            self._threads[-1].start()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let idle threads end now, and busy ones after their call."""
        for _ in self._threads:
            self._calls.put(None)

    def _serve(self) -> None:
        while (work := self._calls.get()) is not None:
            work()
