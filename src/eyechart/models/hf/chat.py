"""From messages to what a processor takes: the conversation of a chat template, with decoded images.

Models without a chat template (base models) get the texts one after the other, with the processor's image
token where an image stands.
"""

from __future__ import annotations

import copy
import io
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.errors import ModelError
from eyechart.files import suppress_warnings
from eyechart.types import Image, Message

_MARK = "eyechartmark"  # a word that a template must repeat where it uses a text


class Chat:
    """Turns messages into a processor's tensors. May be used from several threads."""

    def __init__(self, processor: Any, options: Mapping[str, Any], *, name: str) -> None:
        self._processor = processor
        self._options = dict(options)
        self._name = name
        self._own = threading.local()  # a processor per thread: tokenizers may not be shared by threads
        self.has_template = bool(getattr(processor, "chat_template", None))
        self.limits = self._find_limits() if self.has_template else ["no chat template: sent as plain text"]
        self.takes_system = "no system message" not in self.limits

    @property
    def tokenizer(self) -> Any:
        return getattr(self._processor, "tokenizer", self._processor)

    def encode(self, messages: Sequence[Message]) -> dict[str, Any]:
        """The tensors of one conversation, as a batch of one."""
        if not hasattr(self._own, "processor"):
            self._own.processor = copy.deepcopy(self._processor)
        processor = self._own.processor
        if not self.takes_system and any(turn.role == "system" for turn in messages):
            raise ModelError(
                f"{self._name}: the chat template takes no system message",
                hint="leave out --system, or put its text into the prompt",
                is_fatal=True,
            )
        turns = [_as_turn(turn) for turn in messages]
        try:
            if self.has_template:
                made = processor.apply_chat_template(
                    turns,
                    tokenize=True,
                    add_generation_prompt=True,
                    return_dict=True,
                    return_tensors="pt",
                    **self._options,
                )
            else:
                made = _encode_plain(processor, turns)
        except Exception as err:  # templates and processors raise anything
            raise ModelError(
                f"{self._name} cannot encode this question: {type(err).__name__}: {err}"
            ) from err
        return {name: value for name, value in made.items() if hasattr(value, "shape") and name != "labels"}

    def encode_options(self, options: Mapping[str, str]) -> dict[str, list[int]]:
        """The tokens of each option as they would follow the prompt: after a space where it is plain text."""
        space = "" if self.has_template else " "
        tokens = {
            name: self.tokenizer(space + text, add_special_tokens=False)["input_ids"]
            for name, text in options.items()
        }
        return {name: ids for name, ids in tokens.items() if ids}

    def decode(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))

    def _find_limits(self) -> list[str]:
        """What the chat template refuses or silently drops."""
        image, text = {"type": "image"}, {"type": "text", "text": _MARK}
        question = {"role": "user", "content": [image, text]}
        system = {"role": "system", "content": [text]}
        answer = {"role": "assistant", "content": [text]}
        once = self._render([question])
        limits = []
        if self._render([system, question]).count(_MARK) < 2:
            limits.append("no system message")
        if len(self._render([{"role": "user", "content": [image, image, text]}])) <= len(once):
            limits.append("one image per question")
        if self._render([question, answer, question]).count(_MARK) < 3:
            limits.append("no conversation of several rounds")
        return limits

    def _render(self, turns: list[Any]) -> str:
        try:
            shown = self._processor.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=True, **self._options
            )
        except Exception:  # a template says no by raising
            return ""
        return str(shown)


def _as_turn(turn: Message) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    for part in turn.parts:
        if not isinstance(part, str):
            assert isinstance(part, Image), "the engine loads all images of a model that takes no URLs"
            content.append({"type": "image", "image": decode_image(part)})
        elif content and content[-1]["type"] == "text":
            content[-1]["text"] += f"\n{part}"
        else:
            content.append({"type": "text", "text": part})
    return {"role": turn.role, "content": content}


def decode_image(image: Image) -> Any:
    """The pixels, upright and in RGB, as transformers' own loader gives them."""
    from PIL import Image as Pictures
    from PIL import ImageOps

    with suppress_warnings():  # of large images: the run has checked their size
        picture = Pictures.open(io.BytesIO(image.data()))
    return ImageOps.exif_transpose(picture).convert("RGB")


def _encode_plain(processor: Any, turns: Sequence[Mapping[str, Any]]) -> Any:
    mark = getattr(processor, "image_token", "<image>")
    parts = [part for turn in turns for part in turn["content"]]
    images = [part["image"] for part in parts if part["type"] == "image"]
    text = "\n".join(mark if part["type"] == "image" else part["text"] for part in parts)
    return processor(text=text, return_tensors="pt", **({"images": images} if images else {}))
