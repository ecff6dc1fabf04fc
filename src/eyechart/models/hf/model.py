"""A model of local weights in this process: prepares requests in threads, and hands them to its engine."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import io
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from eyechart.errors import ModelError
from eyechart.files import suppress_warnings
from eyechart.models.hf import HfOptions
from eyechart.models.hf.decode import Row, Sampling
from eyechart.models.hf.engine import Engine
from eyechart.models.hf.weights import (
    Checkpoint,
    keep_inputs,
    load_decoder,
    open_checkpoint,
    read_sampling,
    send_ahead,
)
from eyechart.models.python import Threads
from eyechart.terminal import print_note
from eyechart.types import Capabilities, Image, Message, ModelSettings, Reply, Request, Usage

# That prepare requests: 22 to 32 ms per image of a megapixel. More would keep Python from decoding.
_THREADS = 4


def open_single(where: str, name: str, settings: ModelSettings, *, is_quiet: bool = False) -> HfModel:
    """The model in this process, on one device or spread over several."""
    options = HfOptions.read(settings.parameters, who=name)
    made = HfModel(name, open_checkpoint(where, options), settings.score_options)
    if made.limits and not is_quiet:
        print_note(f"{name}: {', '.join(made.limits)}")
    return made


class HfModel:
    """A model of local weights. The weights are loaded with the first request."""

    def __init__(
        self, name: str, checkpoint: Checkpoint, score_options: Literal["letter", "text"] | None = None
    ) -> None:
        self.name = name
        # More than a batch, so that the next rows are ready when places become free.
        in_flight = 64 if checkpoint.device == "cpu" else 768
        self.capabilities = Capabilities(is_free=True, usual_concurrency=in_flight, scores_options=True)
        self._chat = Chat(checkpoint.processor, checkpoint.options.template, name=name)
        self._sampling: Sampling = read_sampling(checkpoint)
        self._checkpoint = checkpoint
        self._score_options = score_options
        self._threads = Threads(min(_THREADS, os.cpu_count() or 1))
        self.engine = Engine(
            lambda: load_decoder(checkpoint),
            self._finish,
            name=name,
            is_compiled=checkpoint.options.compile and checkpoint.device != "cpu",
        )
        self.options = checkpoint.options
        self.limits = self._chat.limits  # what the model cannot do, for people

    @property
    def status(self) -> str:
        """What the run waits for before the first reply, for the progress line."""
        return self.engine.status

    @property
    def identity(self) -> Mapping[str, Any]:
        """The checkpoint's content, and how it is asked."""
        how = self._sampling
        sampling: dict[str, Any] = {"max_tokens": how.max_tokens, "temperature": how.temperature}
        if how.temperature > 0:
            sampling |= {"top_p": how.top_p, "top_k": how.top_k, "seed": how.seed}
        if how.repetition_penalty != 1:
            sampling["repetition_penalty"] = how.repetition_penalty
        options = self._checkpoint.options
        more = {
            "processor": options.processor,
            "load": options.load,
            "template": options.template,
            "score_options": self._score_options,
        }
        return {
            "hf": self.name,
            **self._checkpoint.identity,
            **sampling,
            **{name: value for name, value in more.items() if value},
        }

    async def reply(self, request: Request) -> Reply:
        started = time.perf_counter()
        self.engine.expect()
        future = await self._threads.call(self.engine.put, lambda: self._prepare(request, started))
        reply: Reply = await asyncio.wrap_future(future)
        return replace(reply, latency_s=time.perf_counter() - started)

    def _prepare(self, request: Request, started: float = 0.0) -> Row:
        sampling = self._sampling
        if sampling.temperature > 0:
            seeded_by = f"{sampling.seed}/{request.sample.id}/{request.trial}/{len(request.messages)}"
            sampling = replace(sampling, seed=int(hashlib.sha256(seeded_by.encode()).hexdigest()[:15], 16))
        how, texts, options = self._score_options, request.sample.choices, dict[str, list[int]]()
        if how is not None:
            options = self._chat.encode_options({name: name for name in texts} if how == "letter" else texts)
        row = Row(lambda: self._encode(request), sampling, options)
        row.asked_at = started
        return row

    def _encode(self, request: Request) -> Mapping[str, Any]:
        inputs = keep_inputs(self._checkpoint, request.messages, lambda: self._chat.encode(request.messages))
        dtype = self._checkpoint.dtype
        half = {name: one.to(dtype) if one.is_floating_point() else one for name, one in inputs.items()}
        return send_ahead(half, self._checkpoint.device)

    def _finish(self, row: Row) -> Reply:
        if row.options:
            return self._choose_option(row)
        return Reply.read(
            self._chat.decode(row.tokens),
            finish_reason=row.finish_reason,
            usage=Usage(prompt_tokens=row.n_prompt, completion_tokens=len(row.tokens)),
            model=self.name,
            first_token_s=None if row.first_at is None else row.first_at - row.asked_at,
        )

    def _choose_option(self, row: Row) -> Reply:
        """The option that is most likely; texts by their mean per token, since long ones are less likely."""
        is_text = self._score_options == "text"
        likelihoods = {
            name: total / (len(row.options[name]) if is_text else 1)
            for name, total in row.likelihoods.items()
        }
        return Reply(
            text=max(likelihoods, key=lambda name: likelihoods[name]),
            usage=Usage(prompt_tokens=row.n_prompt, completion_tokens=0),
            model=self.name,
            evidence={"log_likelihoods": {name: round(one, 4) for name, one in likelihoods.items()}},
        )

    async def close(self) -> None:
        self._threads.close()
        await asyncio.to_thread(self.engine.close)


# -- From messages to what a processor takes: the conversation of a chat template, with decoded images

_MARK = "eyechartmark"  # a word that a template must repeat where it uses a text


class Chat:
    """Turns messages into a processor's tensors. May be used from several threads.

    Models without a chat template (base models) get the texts one after the other, with the processor's image
    token where an image stands.
    """

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
