"""The shapes that people's own models have, told apart by their methods.

- ``async generate(messages) -> Reply | str``: ours; a plain ``def`` with one argument works too
- ``generate(text, images) -> str``: as InfoChartQA's example models. What the images are given as is told by
  the class (`image_form`): paths, one path, or URLs. The literal answer ``Error!``, theirs for a call that
  failed, is a failure here
- ``generate_answer(question) -> dict``: as MULTI's evaluators; all rounds of a question at once
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from eyechart.errors import ModelError, UsageError
from eyechart.model.evaluator import multi_question, multi_reply
from eyechart.model.handover import files_of, urls_of
from eyechart.types import Message, Request

FAILED = "Error!"  # what InfoChartQA's example client returns after its last attempt
SHAPES = "async generate(messages), generate(text, images) or generate_answer(question)"


class Shape(msgspec.Struct, frozen=True):
    """What a method is called with, and how its answer is found in what it returns."""

    # The path is that of a folder for pictures that lie in no file of their own.
    argument: Callable[[Request, Path], tuple[Any, ...]]
    n_arguments: int
    answer: Callable[[Any], Any] = lambda returned: returned
    takes_rounds: bool = False
    takes_urls: bool = False
    wants_urls: bool = False  # images at an address are handed over by it, whatever the run says
    usual_concurrency: int | None = None  # where the object says nothing; None: what the run allows


def shape_of(thing: Any, name: str) -> tuple[Callable[..., Any], Shape]:
    """The method that answers, and how it is called."""
    called = next((one for one in ("generate_answer", "generate") if callable(getattr(thing, one, None))), "")
    if not called and not is_function(thing):
        raise UsageError(f"{name} is not a model", hint=f"it needs a method {SHAPES}, or is such a function")
    method = getattr(thing, called) if called else thing
    try:
        signature = inspect.signature(method)
    except (TypeError, ValueError):  # written in C: it does not say what it takes
        signature = inspect.signature(lambda *arguments: None)
    if called == "generate_answer":
        shape = Shape(multi_question, 1, multi_reply, takes_rounds=True, usual_concurrency=1)
    elif _takes_messages(signature):
        shape = Shape(_messages, 1)
    else:
        form = image_form(thing, signature)
        shape = Shape(
            _ARGUMENTS[form],
            2,
            _unless_failed,
            takes_urls=form in ("paths", "urls"),
            wants_urls=form == "urls",
        )
    try:
        signature.bind(*[None] * shape.n_arguments)
    except TypeError as err:
        takes = ", ".join(signature.parameters)
        raise UsageError(
            f"{name}: {called or name_of(thing)}({takes}) cannot be called: {err}",
            hint=f"give it the form {SHAPES}",
        ) from err
    return method, shape


def is_function(thing: Any) -> bool:
    """Whether it is called itself: a function, a method, or one with some arguments filled in."""
    return inspect.isroutine(thing) or isinstance(thing, partial)


def name_of(thing: Any) -> str:
    """What a function is called, or of which class an object is.

    >>> name_of(print), name_of(partial(print, end="")), name_of(lambda text, images: "A"), name_of("A")
    ('print', 'print', 'lambda', 'str')
    """
    function = thing.func if isinstance(thing, partial) else thing
    name = function.__name__ if is_function(function) else type(function).__name__
    return str(name).strip("<>")


def answers_itself(function: Callable[..., Any], parameters: Mapping[str, Any]) -> bool:
    """Whether a function answers questions, and is not one that makes a model.

    One that makes a model can be called with the parameters that were given; one that answers still lacks
    the question: `messages`, or a text and the images.

    >>> answers_itself(lambda text, images: "A", {}), answers_itself(lambda weights="w": None, {})
    (True, False)
    """
    required = [
        parameter.name.lower()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        and parameter.name not in parameters
    ]
    if inspect.iscoroutinefunction(function):
        return 1 <= len(required) <= 2
    if len(required) == 2:
        return required[0] in _TEXTS or any(word in required[1] for word in _IMAGES)
    return required == ["messages"]


_TEXTS = frozenset({"text", "prompt", "question", "query", "message"})
_IMAGES = ("image", "img", "pic", "photo", "path", "url")


def _takes_messages(signature: inspect.Signature) -> bool:
    """Whether the method has our shape: one argument, or the first of several by its name."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]
    return len(names) == 1 or names[:1] == ["messages"]


def _messages(request: Request, folder: Path) -> tuple[Any, ...]:
    return (list(request.messages),)


def _text_and_paths(request: Request, folder: Path) -> tuple[Any, ...]:
    return _as_one_text(request.messages), files_of(request.messages, folder)


def _text_and_one_path(request: Request, folder: Path) -> tuple[Any, ...]:
    paths = files_of(request.messages, folder)
    if len(paths) > 1:
        raise ModelError(
            f"this question has {len(paths)} images, and the class takes one path; "
            "call its parameter image_paths to be given a list"
        )
    return _as_one_text(request.messages), paths[0] if paths else None


def _text_and_urls(request: Request, folder: Path) -> tuple[Any, ...]:
    return _as_one_text(request.messages), urls_of(request.messages)


_ARGUMENTS = {"path": _text_and_one_path, "paths": _text_and_paths, "urls": _text_and_urls}


def image_form(thing: Any, signature: inspect.Signature) -> Literal["path", "paths", "urls"]:
    """What a class with ``generate(text, images)`` is given its images as.

    The parameter's name decides where it says so: `image_path` is one path, `image_paths` a list of them,
    `image_urls` a list of URLs. Under any other name it is a list of paths, unless the class writes its
    arguments into ``image_url`` parts as they are (no ``data:`` URL is built in its file): only a URL means
    something there.
    """
    names = [parameter.name.lower() for parameter in signature.parameters.values()]
    name = names[1] if len(names) > 1 else ""
    if name.endswith(("path", "file")):
        return "path"
    if name.endswith(("paths", "files")):
        return "paths"
    return "urls" if name.endswith(("url", "urls")) or _writes_urls(definition_of(thing)) else "paths"


def definition_of(thing: Any) -> Any:
    """Where its source text is: the function itself, or the class of an object."""
    function = thing.func if isinstance(thing, partial) else thing
    return function if is_function(function) else type(function)


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


def _unless_failed(returned: Any) -> Any:
    if returned == FAILED:
        raise ModelError(f"the model's own client gave up: it returned {FAILED!r}")
    return returned


def _as_one_text(messages: Sequence[Message]) -> str:
    """A conversation for models that take one text: a single turn as it is, several with their speakers."""
    if len(messages) == 1:
        return _text_of(messages[0])
    return "\n\n".join(f"{turn.role}: {turn.text}" for turn in messages)


def _text_of(turn: Message) -> str:
    """The text of a turn; where images stand between texts, each leaves a mark with its number there."""
    texts = [at for at, part in enumerate(turn.parts) if isinstance(part, str)]
    if not texts or all(isinstance(part, str) for part in turn.parts[texts[0] : texts[-1] + 1]):
        return turn.text
    said: list[str] = []
    n_images = 0
    for part in turn.parts:
        n_images += not isinstance(part, str)
        said.append(part if isinstance(part, str) else f"<image {n_images}>")
    return "\n".join(said)
