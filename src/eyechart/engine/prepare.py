"""From a task to a request that can be sent: render, load the pictures, and name what is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from eyechart.errors import EyechartError
from eyechart.store.journal import Ask, Task
from eyechart.types import Failure, Image, ImageRef, Message, Part, Prompt, Request, Stage


class Pictures(Protocol):
    """What the engine needs of an image loader."""

    def load(self, ref: ImageRef) -> Image:
        """The picture, checked and encoded."""
        ...

    def fingerprint(self, ref: ImageRef) -> str:
        """Its cheap identity: changes when the picture may have changed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A task on its way: to be asked, already answered, or failed before it could be asked."""

    task: Task
    request: Request | None = None
    ask: Ask | None = None
    failure: Failure | None = None
    is_answered: bool = False
    n_bytes: int = 0


class Preparer:
    """Knows the prompt, the pictures and the model's identity of one run."""

    def __init__(self, prompt: Prompt, pictures: Pictures, identity: Mapping[str, Any]) -> None:
        self._prompt = prompt
        self._pictures = pictures
        self._identity = msgspec.json.encode(identity, order="deterministic")

    def prepare(self, task: Task) -> Prepared:
        """Everything about a request that does not need the model. Runs off the event loop."""
        sample = task.sample.without_golds()
        try:
            messages = tuple(self._prompt(sample))
            if not all(isinstance(turn, Message) for turn in messages):
                raise TypeError("a prompt makes messages, and nothing else")
        except Exception as err:  # a prompt may be the user's own: its slip is this sample's failure
            return Prepared(task=task, failure=_failure("render", err))
        try:
            recipe = self._recipe(messages, task.trial)
            if task.recipe == recipe:
                return Prepared(task=task, is_answered=True)
            loaded = tuple(self._with_pictures(turn) for turn in messages)
        except Exception as err:  # decoders of pictures raise all sorts of errors
            return Prepared(task=task, failure=_failure("load", err))
        written = [_written(turn) for turn in loaded]
        ask = Ask(key=self._key(written, task.trial), recipe=recipe, messages=written)
        return Prepared(
            task=task,
            request=Request(messages=loaded, sample=sample, trial=task.trial),
            ask=ask,
            is_answered=ask.key in task.keys,
            n_bytes=sum(
                len(part.base64) for turn in loaded for part in turn.parts if isinstance(part, Image)
            ),
        )

    def _with_pictures(self, turn: Message) -> Message:
        parts = tuple(self._pictures.load(p) if isinstance(p, ImageRef) else p for p in turn.parts)
        return Message(turn.role, parts)

    def _key(self, written: Sequence[Mapping[str, Any]], trial: int) -> str:
        """The name of what is asked: it changes with anything that could change the answer."""
        asked = [
            {"role": turn["role"], "parts": [_content_of(part) for part in turn["parts"]]} for turn in written
        ]
        digest = hashlib.sha256(self._identity)
        digest.update(msgspec.json.encode([asked, trial], order="deterministic"))
        return digest.hexdigest()

    def _recipe(self, messages: Sequence[Message], trial: int) -> str:
        asked = [[turn.role, [self._part_identity(part) for part in turn.parts]] for turn in messages]
        digest = hashlib.sha256(self._identity)
        digest.update(msgspec.json.encode([asked, trial]))
        return digest.hexdigest()[:32]

    def _part_identity(self, part: Part) -> str | list[str]:
        if isinstance(part, str):
            return part
        return [part.sha256 if isinstance(part, Image) else self._pictures.fingerprint(part)]


def _written(turn: Message) -> dict[str, Any]:
    """A turn as the journal keeps it: words in full, pictures by their record."""
    parts: list[dict[str, Any]] = []
    for part in turn.parts:
        assert not isinstance(part, ImageRef), "pictures are loaded before they are written down"
        parts.append({"text": part} if isinstance(part, str) else {"image": part.record()})
    return {"role": turn.role, "parts": parts}


def _content_of(part: Mapping[str, Any]) -> object:
    """What a part asks: its text, or the content of its picture wherever that came from."""
    return part["text"] if "text" in part else [part["image"]["sha256"], part["image"]["mime"]]


def _failure(stage: Stage, err: BaseException) -> Failure:
    text = str(err) if isinstance(err, EyechartError) else f"{type(err).__name__}: {err}"
    return Failure(stage=stage, reason=text)


Prepare = Callable[[Task], Prepared]
