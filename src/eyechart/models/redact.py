"""Redaction: keys and passwords are removed from everything that is stored or printed.

Parameters are redacted by name. Replies and errors of a user's model are searched for the values of secrets.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import quote, quote_plus

from eyechart.errors import EyechartError, ModelError
from eyechart.types import Model, Reply, Request

HIDDEN = "[secret]"

# Only names that mean nothing else: what is hidden no longer tells two runs apart, and `image_token` or
# `answer_key` may well change an answer.
_SECRET = re.compile(
    r"secret|passw(?:or)?d|passphrase|authorization|credential"
    r"|^(?:key|token)$"
    r"|api_?(?:keys?|token)$"
    r"|(?:^|_)(?:auth|access|private|signing|subscription|judge|hf|hub|huggingface"
    r"|openai|azure|anthropic|google|gemini|dashscope|github)_?keys?(?:_id)?$"
    r"|(?:^|_)(?:auth|access|bearer|refresh|session|judge|hf|hub|huggingface|openai|github)_?token$",
    re.IGNORECASE,
)


def is_secret(name: Any) -> bool:
    """Whether what goes by that name is a key or a password."""
    return _SECRET.search(str(name).replace("-", "_").lstrip("_")) is not None


def redact_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The same parameters with keys and passwords hidden, however deep they lie.

    >>> redact_parameters({"max_tokens": 9, "api_key": "sk-1", "headers": {"X-Api-Key": "sk-2"}})
    {'max_tokens': 9, 'api_key': '[secret]', 'headers': {'X-Api-Key': '[secret]'}}
    """
    return {
        name: HIDDEN if value and is_secret(name) else _redact_value(value)
        for name, value in parameters.items()
    }


def is_unlike_answers(secret: str) -> bool:
    """Whether no answer holds it by chance, so that hiding it there moves no score.

    >>> [is_unlike_answers(key) for key in ("EMPTY", "sk-admin", "token-abc123", "correct-horse-battery")]
    [False, False, True, True]
    """
    has_both = any(map(str.isdigit, secret)) and any(map(str.isalpha, secret))
    return len(secret) >= 16 or (len(secret) >= 8 and has_both)


def _redact_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return redact_parameters(value)
    return [_redact_value(one) for one in value] if isinstance(value, list | tuple) else value


# -- what a user's own model says -------------------------------------------------------------------

_IN_ENVIRONMENT = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$")  # others name files: no use to hide those
_SHORTEST = 4  # shorter values are not secrets and occur in any text
_ANYWHERE = 8  # a shorter one is hidden only where it is a word of its own: EMPTY, but not in NOT_EMPTY
_MIN_IN_ENVIRONMENT = 16  # a shorter value may be anything


class Secrets:
    """The values of a model's secrets, found by their names, to be removed from what it says."""

    def __init__(self, *named: Mapping[str, Any], mark: str = HIDDEN) -> None:
        self._mark = mark
        values = {value for names in named for value in _find_values(names)}
        self._everywhere = _compile_pattern(value for value in values if len(value) >= _SHORTEST)
        self._in_answers = _compile_pattern(filter(is_unlike_answers, values))

    def __bool__(self) -> bool:
        return self._everywhere is not None

    def hide(self, value: Any) -> Any:
        """The same text, list or object without them.

        >>> Secrets({"api_key": "sk-12345"}).hide({"feedback": ["sk-12345 is wrong"], "n": 1})
        {'feedback': ['[secret] is wrong'], 'n': 1}
        """
        if self._everywhere is None:
            return value
        if isinstance(value, str):
            return self._everywhere.sub(self._mark, value)
        if isinstance(value, Mapping):
            return {self.hide(name): self.hide(said) for name, said in value.items()}
        return [self.hide(one) for one in value] if isinstance(value, list | tuple) else value

    def redact_reply(self, reply: Reply) -> Reply:
        """The reply without them. The scored text loses only those that no answer could hold by chance."""
        if self._everywhere is None:
            return reply
        return replace(
            reply,
            text=self._redact_answer(reply.text),
            earlier=tuple(self._redact_answer(said) for said in reply.earlier),
            thinking=self.hide(reply.thinking),
            finish_reason=self.hide(reply.finish_reason),
            model=self.hide(reply.model),
            evidence=self.hide(reply.evidence),
            tags=reply.tags and tuple(self.hide(reply.tags)),
        )

    def _redact_answer(self, text: str) -> str:
        return text if self._in_answers is None else self._in_answers.sub(self._mark, text)

    @contextlib.contextmanager
    def redact_errors(self, who: str) -> Iterator[None]:
        """Raise errors without them. One that is not eyechart's own and holds one becomes a `ModelError`."""
        try:
            yield
        except Exception as err:
            if not self:
                raise
            trace = "".join(traceback.format_exception(err))  # with its causes, which others may show
            if self.hide(trace) == trace:
                raise
            if not isinstance(err, EyechartError):
                raise ModelError(f"{who} raised {type(err).__name__}: {self.hide(str(err))}") from None
            err.message, err.hint = self.hide(err.message), self.hide(err.hint)
            err.args = (err.message,)
            raise err from None


def redact_model(model: Model, secrets: Secrets) -> None:
    """Remove the secrets from the replies and errors of an object that already is a `Model`."""
    if not secrets:
        return
    reply = model.reply
    replies: Any = getattr(model, "replies", None)

    async def one(request: Request) -> Reply:
        with secrets.redact_errors(model.name):
            return secrets.redact_reply(await reply(request))

    async def several(request: Request, n: int) -> list[Reply]:
        with secrets.redact_errors(model.name):
            return [secrets.redact_reply(said) for said in await replies(request, n)]

    with contextlib.suppress(AttributeError):  # a class with slots takes no method of ours
        object.__setattr__(model, "reply", one)
        if callable(replies):
            object.__setattr__(model, "replies", several)


def read_attributes(thing: Any) -> dict[str, Any]:
    """What an object holds, by name; of a function, the values it was made with."""
    if isinstance(thing, partial):
        return {**read_attributes(thing.func), "args": thing.args, **thing.keywords}
    found = {}
    if inspect.isfunction(thing):
        defaults = inspect.signature(thing).parameters.values()
        found = {one.name: one.default for one in defaults if one.default is not one.empty}
        with contextlib.suppress(ValueError):  # a name that has no value yet
            found |= inspect.getclosurevars(thing).nonlocals
    for name in {*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())}:
        with contextlib.suppress(Exception):  # a property of a user's class may raise anything
            found[name] = getattr(thing, name)
    return found


def find_secrets(thing: Any) -> dict[str, Any]:
    """The attributes of an object that may hold a key; others may be large and are not searched."""
    held = read_attributes(thing)
    return {name: value for name, value in held.items() if is_secret(name) or "headers" in name.lower()}


def find_environment_keys() -> dict[str, str]:
    """The keys in the environment, which many classes use."""
    return {
        name: value
        for name, value in os.environ.items()
        if _IN_ENVIRONMENT.search(name) and len(value) >= _MIN_IN_ENVIRONMENT
    }


def _find_values(named: Any, *, below: bool = False) -> Iterator[str]:
    """The texts under secret names, however deep, and of `Bearer KEY` also the key."""
    if isinstance(named, Mapping):
        for name, value in named.items():
            yield from _find_values(value, below=below or is_secret(name))
    elif isinstance(named, list | tuple):
        for value in named:
            yield from _find_values(value, below=below)
    elif below and isinstance(named, str | int) and not isinstance(named, bool):
        value = str(named).strip()
        yield from {value, *value.split()[-1:]}


def _compile_pattern(values: Iterable[str]) -> re.Pattern[str] | None:
    """Finds the values in a text as they are, and as Python, JSON and addresses write them."""
    found: set[str] = set()
    for value in values:
        found |= {value, repr(value)[1:-1], json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value)}
    if not found:
        return None
    longest_first = sorted(found, key=lambda form: (-len(form), form))
    word = r"(?<!\w){}(?!\w)"
    return re.compile(
        "|".join(("{}" if len(form) >= _ANYWHERE else word).format(re.escape(form)) for form in longest_first)
    )
