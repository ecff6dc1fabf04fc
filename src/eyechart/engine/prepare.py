"""From a task to a request that can be sent: render, load the pictures, and name what is asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from eyechart.errors import EyechartError
from eyechart.store.journal import Ask
from eyechart.store.tasks import Task
from eyechart.types import Failure, Image, ImageRef, Message, Part, Prompt, Request, Sample, Stage

_NEAR = frozenset({"file", "cell", "data"})
_SMALL_CELL = 512 * 1024


class Pictures(Protocol):
    """What the engine needs of an image loader."""

    def load(self, ref: ImageRef) -> Image:
        """The picture, checked and encoded."""
        ...

    def fingerprint(self, ref: ImageRef) -> str:
        """Its cheap identity: changes when the picture may have changed."""
        ...

    def close(self) -> None:
        """Close what is kept open; called when no thread loads any more."""
        ...


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A task on its way: to be asked, already answered, or failed before it could be asked."""

    task: Task
    request: Request | None = None
    ask: Ask | None = None
    failure: Failure | None = None
    is_answered: bool = False
    n_bytes: int = 0
    siblings: tuple[Prepared, ...] = ()  # further trials of the same sample, for the same request


class Preparer:
    """Knows the prompt, the pictures and the model's identity of one run."""

    def __init__(
        self,
        prompt: Prompt,
        pictures: Pictures,
        identity: Mapping[str, Any],
        *,
        pass_urls: bool = False,  # the model fetches pictures at addresses itself
    ) -> None:
        self._pass_urls = pass_urls
        self._prompt = prompt
        self._pictures = pictures
        self._identity = msgspec.json.encode(identity, order="deterministic")

    @staticmethod
    def is_quick(task: Task) -> bool:
        """Whether its pictures, as far as one can tell without a look, lie on this machine and are small."""
        return all(ref.kind in _NEAR and ref.length <= _SMALL_CELL for ref in task.sample.images)

    def close(self) -> None:
        """Close the files that images are read from."""
        self._pictures.close()

    def prepare(self, task: Task) -> Prepared:
        """Everything about a request that does not need the model. For any thread."""
        first, *others = self._prepare_trials(task.sample.without_golds(), (task, *task.siblings))
        return msgspec.structs.replace(first, siblings=tuple(others)) if others else first

    def _prepare_trials(self, sample: Sample, trials: Sequence[Task]) -> list[Prepared]:
        """Render and load once, however many trials are asked."""
        try:
            messages = tuple(self._prompt(sample))
            if not all(isinstance(turn, Message) for turn in messages):
                raise TypeError("a prompt makes messages, and nothing else")
        except Exception as err:  # a prompt may be the user's own: its slip is this sample's failure
            return [Prepared(task=task, failure=_failure("render", err)) for task in trials]
        try:
            asked = self._asked(messages)
            recipes = {task.trial: self._recipe(asked, task.trial) for task in trials}
            if all(task.recipe == recipes[task.trial] for task in trials):
                return [Prepared(task=task, is_answered=True) for task in trials]
            loaded = tuple(self._with_pictures(turn) for turn in messages)
        except Exception as err:  # decoders of pictures raise all sorts of errors
            return [Prepared(task=task, failure=_failure("load", err)) for task in trials]
        written = [_written(turn) for turn in loaded]
        n_bytes = sum(len(part.base64) for turn in loaded for part in turn.parts if isinstance(part, Image))
        prepared: list[Prepared] = []
        for task in trials:
            # The first one is released when all are done.
            held = 0 if prepared else n_bytes
            if task.recipe == recipes[task.trial]:
                prepared.append(Prepared(task=task, is_answered=True, n_bytes=held))
                continue
            ask = Ask(key=self._key(written, task.trial), recipe=recipes[task.trial], messages=written)
            request = Request(messages=loaded, sample=sample, trial=task.trial)
            is_answered = ask.key in task.keys
            prepared.append(
                Prepared(task=task, request=request, ask=ask, is_answered=is_answered, n_bytes=held)
            )
        return prepared

    def _with_pictures(self, turn: Message) -> Message:
        return Message(turn.role, tuple(map(self._loaded, turn.parts)))

    def _loaded(self, part: Part) -> Part:
        if not isinstance(part, ImageRef) or self._is_passed(part):
            return part
        return self._pictures.load(part)

    def _is_passed(self, ref: ImageRef) -> bool:
        """Whether the address itself is sent. A part of a picture has none."""
        return self._pass_urls and ref.kind == "url" and ref.box is None and not ref.refused

    def _key(self, written: Sequence[Mapping[str, Any]], trial: int) -> str:
        """The name of what is asked: it changes with anything that could change the answer."""
        asked = [
            {"role": turn["role"], "parts": [_content_of(part) for part in turn["parts"]]} for turn in written
        ]
        digest = hashlib.sha256(self._identity)
        digest.update(msgspec.json.encode([asked, trial], order="deterministic"))
        return digest.hexdigest()

    def _asked(self, messages: Sequence[Message]) -> list[Any]:
        return [[turn.role, [self._part_identity(part) for part in turn.parts]] for turn in messages]

    def _recipe(self, asked: Sequence[Any], trial: int) -> str:
        digest = hashlib.sha256(self._identity)
        digest.update(msgspec.json.encode([asked, trial]))
        return digest.hexdigest()[:32]

    def _part_identity(self, part: Part) -> str | list[str]:
        if isinstance(part, str):
            return part
        if isinstance(part, ImageRef) and self._is_passed(part):
            return ["url", part.location]
        return [part.sha256 if isinstance(part, Image) else self._pictures.fingerprint(part)]


def _written(turn: Message) -> dict[str, Any]:
    """A turn as the journal keeps it: words in full, pictures by their record."""
    parts: list[dict[str, Any]] = []
    for part in turn.parts:
        if isinstance(part, str):
            parts.append({"text": part})
        else:
            sent = {"url": part.location} if isinstance(part, ImageRef) else part.record()
            parts.append({"image": sent})
    return {"role": turn.role, "parts": parts}


def _content_of(part: Mapping[str, Any]) -> object:
    """What a part asks: its text, or the content of its picture wherever that came from."""
    if "text" in part:
        return part["text"]
    image = part["image"]
    return ["url", image["url"]] if "url" in image else [image["sha256"], image["mime"]]


def _failure(stage: Stage, err: BaseException) -> Failure:
    text = str(err) if isinstance(err, EyechartError) else f"{type(err).__name__}: {err}"
    return Failure(stage=stage, reason=text)


Prepare = Callable[[Task], Prepared]
