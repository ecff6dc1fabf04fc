"""A model of local weights in this process: prepares requests in threads, and hands them to its engine."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from eyechart.models.hf.chat import Chat
from eyechart.models.hf.decode import Row, Sampling
from eyechart.models.hf.engine import Engine
from eyechart.models.hf.kept import keep_inputs
from eyechart.models.hf.options import HfOptions
from eyechart.models.hf.weights import Checkpoint, load_decoder, open_checkpoint, read_sampling, send_ahead
from eyechart.models.python import Threads
from eyechart.terminal import print_note
from eyechart.types import Capabilities, ModelSettings, Reply, Request, Usage

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
        row = Row(lambda: self._encode(request), sampling, self._encode_options(request))
        row.asked_at = started
        return row

    def _encode_options(self, request: Request) -> dict[str, list[int]]:
        how, options = self._score_options, request.sample.choices
        if how is None:
            return {}
        return self._chat.encode_options({name: name for name in options} if how == "letter" else options)

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
