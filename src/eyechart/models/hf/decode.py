"""Decoding several prompts at once: rows leave the batch when they end, and others join it while it runs.

`Decoder.start` runs the prompts of some rows (the prefill) and gives a `Batch`; `Decoder.admit` reads their
first tokens; every `Decoder.step` adds one token to each row; `Decoder.join` adds the rows of another batch.
So prompts run in parts that fit into memory, and hundreds of rows decode together. The loop is our own
because `generate` of transformers returns only when the longest reply is complete. It calls nothing but the
model's `forward` with a cache; prompts are padded on the left.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import random
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from transformers import DynamicCache
from transformers.cache_utils import DynamicLayer

from eyechart.errors import ModelError
from eyechart.types import Reply

Tensor: TypeAlias = Any  # torch.Tensor; torch is not installed where the types are checked


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is chosen. A temperature of 0 is greedy: always the most probable token."""

    max_tokens: int = 1024
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    repetition_penalty: float = 1.0
    seed: int = 0


class Row:
    """One request: the processor's tensors (a batch of one), and the tokens of its reply so far."""

    def __init__(
        self,
        make: Callable[[], Mapping[str, Tensor]],
        sampling: Sampling,
        options: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        self._make = make
        self.options = options or {}  # tokens to be scored, by letter; empty: the reply is generated
        self.likelihoods: dict[str, float] = {}  # log-likelihood of each option
        self.inputs: Mapping[str, Tensor] = make()  # empty once the prompt has run: a cache holds it then
        self.sampling = sampling
        self.n_prompt = int(self.inputs["input_ids"].shape[1])
        self.n_bytes = sum(one.numel() * one.element_size() for one in self.inputs.values())
        self.reply: Future[Reply] = Future()
        self.tokens: list[int] = []
        self.asked_at = 0.0
        self.first_at: float | None = None  # when the first token came
        self.finish_reason = ""
        self._random = random.Random(sampling.seed)  # noqa: S311 -- its own: no other row matters

    @property
    def is_over(self) -> bool:
        """Whether the reply is complete, or the run no longer waits for it."""
        return bool(self.finish_reason) or self.reply.cancelled()

    def restart(self) -> None:
        """Forget the tokens so far: the row will be decoded again, in another batch."""
        self.tokens, self._random = [], random.Random(self.sampling.seed)  # noqa: S311
        self.inputs = self.inputs or self._make()

    def release_inputs(self) -> None:
        """The prompt has run: its tensors are not needed unless the row begins again."""
        for one in self.inputs.values():
            if one.is_cuda:  # it came by another stream: the memory must not be used before this one is done
                one.record_stream(torch.cuda.current_stream(one.device))
        self.inputs = {}

    def draw(self) -> float:
        """A random number from 0 to 1 for the next token."""
        return self._random.random()


@dataclass(slots=True)
class Batch:
    """Rows that are decoded together. All tensors have a row each, in the order of `rows`.

    Rows that are over stay, unused, until `Decoder.select` removes them: that copies the cache.
    """

    rows: list[Row]
    cache: Any
    mask: Tensor  # 1 where a token is, 0 where there is padding: rows x length of the cache
    positions: Tensor  # of the next token of every row
    logits: Tensor | None  # of the first token of every row, until it is read
    stream: Any = None  # of the GPU, where the prompts run
    latest: Tensor = None  # the last token of every row
    seen: Tensor | None = None  # rows x vocabulary, where a repetition penalty needs it

    @property
    def length(self) -> int:
        return int(self.mask.shape[1])

    @property
    def can_grow(self) -> bool:
        """Whether rows may join: every layer keeps all tokens, so that older rows can be padded."""
        return all(
            type(layer) in (DynamicLayer, GrowingLayer) and layer.is_initialized
            for layer in self.cache.layers
        )

    @property
    def running(self) -> list[int]:
        """The places of the rows that need more tokens."""
        return [n for n, row in enumerate(self.rows) if not row.is_over]

    @property
    def has_run(self) -> bool:
        """Whether the prompts have run, so that `Decoder.admit` need not wait."""
        return self.stream is None or bool(self.stream.query())


class GrowingLayer(DynamicLayer):  # type: ignore[misc]
    """Keys and values of a layer, in buffers with room for more rows and more tokens.

    All rows end at the same column; shorter ones begin later, and what stands before is hidden by the mask.
    transformers' own layer copies everything for every token: 40 GB per step for 512 rows of 1,300 tokens of
    a model with 7 billion weights. Buffers that are allocated once do not break up the GPU's memory, either.
    """

    _RESERVE = 64  # tokens, when a buffer is full

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        super().__init__()
        self.lazy_initialization(keys, values)
        self._buffers = [keys, values]
        self._show(keys.shape[0], 0, keys.shape[2])

    def _show(self, n_rows: int, begin: int, end: int) -> None:
        """What is in use: rows, and columns of tokens."""
        self._begin, self._end = begin, end
        self.keys, self.values = (one[:n_rows, :, begin:end] for one in self._buffers)

    def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        end = self._end + key_states.shape[2]
        if end > self._buffers[0].shape[2]:
            self._make_room(self.keys.shape[0], 0, key_states.shape[2] + self._RESERVE)
            end = self._end + key_states.shape[2]
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[: states.shape[0], :, self._end : end] = states
        self._show(self.keys.shape[0], self._begin, end)
        return self.keys, self.values

    def _make_room(self, n_rows: int, before: int, after: int) -> None:
        """New buffers with room for so many rows, and columns before and after those in use."""
        n, length = self.keys.shape[0], self._end - self._begin
        for k, states in enumerate((self.keys, self.values)):
            shape = (max(n_rows, self._buffers[k].shape[0]), states.shape[1], before + length + after)
            buffer = states.new_zeros((*shape, states.shape[3]))  # hidden columns have to hold numbers
            buffer[:n, :, before : before + length] = states
            self._buffers[k] = buffer
        self._show(n, before, before + length)

    def add(self, other: GrowingLayer, n_places: int, n_tokens: int) -> None:
        """Take the rows of another layer, with room for others (places in all) and for more tokens."""
        n, m, length = self.keys.shape[0], other.keys.shape[0], other.keys.shape[2]
        if n + m > self._buffers[0].shape[0] or length > self._end:
            before = max(0, length - self.keys.shape[2])
            self._make_room(max(n_places, n + m), before, n_tokens)
        for buffer, states in zip(self._buffers, (other.keys, other.values), strict=True):
            buffer[n : n + m, :, self._end - length : self._end] = states
        self._show(n + m, min(self._begin, self._end - length), self._end)
        other._buffers = [one[:0] for one in other._buffers]
        other._show(0, 0, 0)

    def select(self, order: Sequence[int], length: int) -> None:
        """Keep these rows, of the last tokens only."""
        to = [place for place, n in enumerate(order) if place != n]
        if to:
            where = torch.tensor([to, [order[place] for place in to]]).to(self.keys.device)
            for buffer in self._buffers:
                buffer[where[0]] = buffer[where[1]]
        self._show(len(order), self._end - length, self._end)

    def rewind(self, length: int) -> None:
        """Keep the first tokens only."""
        self._show(self.keys.shape[0], self._begin, self._begin + length)


class Decoder:
    """Decodes rows with one model on one device; call it within `torch.inference_mode()`."""

    def __init__(self, model: Any, *, pad_id: int, end_ids: Collection[int]) -> None:
        self.model = model
        self.device = model.device
        self._pad_id = pad_id
        self._end_ids = frozenset(end_ids)
        self._text_config = model.config.get_text_config(decoder=True)
        self._max_length = getattr(self._text_config, "max_position_embeddings", None) or 2**31
        parameters = inspect.signature(model.forward).parameters
        self._for_prefill = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        # Qwen's kind: an image moves the positions of what follows it by less than its number of tokens.
        self._rope = next((one for one in model.modules() if hasattr(one, "get_rope_index")), None)
        is_cuda = self.device.type == "cuda"
        self._streams = itertools.cycle(
            [torch.cuda.Stream(self.device) for _ in range(2)] if is_cuda else [None]
        )
        # Steps are short and go first; prompts fill what they leave of the GPU.
        self._steps = torch.cuda.Stream(self.device, priority=-1) if is_cuda else None
        # cuDNN would plan its attention for every new length, 60 ms each time, and every step has a new one.
        torch.backends.cuda.enable_cudnn_sdp(False)

    def on_stream(self) -> contextlib.AbstractContextManager[Any]:
        """Where all but `start` is to be called."""
        return torch.cuda.stream(self._steps) if self._steps else contextlib.nullcontext()

    def start(self, rows: Sequence[Row]) -> Batch:
        """Run the prompts. On a GPU it only begins: `admit` waits for it. Another thread may call it.

        Two streams take turns. transformers waits for the GPU several times while it lays out a prompt's
        images and positions; in a stream of its own it does not wait for the prompts before.
        """
        stream = next(self._streams)
        if stream is None:
            return self._run_prompts(rows)
        with torch.cuda.stream(stream):
            batch = self._run_prompts(rows)
        batch.stream = stream
        return batch

    def _run_prompts(self, rows: Sequence[Row]) -> Batch:
        inputs = {name: one.to(self.device) for name, one in collate(rows, self._pad_id).items()}
        mask = inputs["attention_mask"]
        if self._rope is None or "image_grid_thw" not in inputs:
            inputs["position_ids"] = (mask.cumsum(-1) - 1).clamp(min=0)
        out = self.model(
            **inputs,
            past_key_values=DynamicCache(config=self._text_config),
            use_cache=True,
            **self._for_prefill,
        )
        for row in rows:
            row.release_inputs()
        positions = mask.sum(-1)
        if "position_ids" not in inputs:
            positions = positions + self._rope.rope_deltas.to(self.device).flatten()  # type: ignore[union-attr]
        batch = Batch(list(rows), out.past_key_values, mask, positions, out.logits[:, -1])
        if any(row.sampling.repetition_penalty != 1.0 for row in rows):
            batch.seen = torch.zeros(len(rows), out.logits.shape[-1], dtype=torch.bool, device=self.device)
            ids = inputs["input_ids"]
            batch.seen.scatter_(1, torch.where(mask.bool(), ids, ids[:, -1:]), True)
        if batch.can_grow:
            batch.cache.layers = [GrowingLayer(layer.keys, layer.values) for layer in batch.cache.layers]
        return batch

    def admit(self, batch: Batch) -> Batch:
        """Wait until the prompts have run, and choose the first token of every reply."""
        if batch.stream is not None:
            self._take_over(batch)
        logits, batch.logits = batch.logits, None
        if any(row.options for row in batch.rows):
            self._score_options(batch, logits)
        self._append(batch, logits)
        return batch

    def _take_over(self, batch: Batch) -> None:
        """Use here what another stream computes: once it is there, and the memory only after its use here."""
        here = torch.cuda.current_stream(self.device)
        here.wait_stream(batch.stream)
        cached = [one for layer in batch.cache.layers for one in (layer.keys, layer.values)]
        for one in (*cached, batch.mask, batch.positions, batch.logits, batch.seen):
            if one is not None:
                one.record_stream(here)

    def _score_options(self, batch: Batch, logits: Tensor) -> None:
        """Compute the likelihood of every option after its prompt; rows with options are complete then.

        The prompt's last logits give the first token of all options. Where options have more, the k-th
        options of all rows run together behind the prompts in the cache, and are removed from it again.
        """
        shares = logits.float().log_softmax(-1)
        for n, row in enumerate(batch.rows):
            row.likelihoods = {name: float(shares[n, ids[0]]) for name, ids in row.options.items()}
            row.finish_reason = "stop" if row.options else ""
        if all(len(ids) == 1 for row in batch.rows for ids in row.options.values()):
            return
        if not batch.can_grow:
            raise ModelError(
                "options of several tokens cannot be scored: the model's cache does not keep whole prompts",
                hint="use --score-options letter",
                is_fatal=True,
            )
        for k in range(max(len(row.options) for row in batch.rows)):
            names = [list(row.options)[k] if k < len(row.options) else "" for row in batch.rows]
            tokens = [row.options.get(name, ()) for row, name in zip(batch.rows, names, strict=True)]
            rest = self._run_on(batch, tokens)
            for row, name, more in zip(batch.rows, names, rest, strict=True):
                if name:
                    row.likelihoods[name] += more

    def _run_on(self, batch: Batch, tokens: Sequence[Sequence[int]]) -> list[float]:
        """The log-likelihood of the tokens of every row from its second one on, given those before."""
        width = max(len(ids) for ids in tokens) - 1
        if width < 1:
            return [0.0] * len(tokens)
        length = batch.length
        padded = torch.tensor([[*ids, *[self._pad_id] * (width + 1 - len(ids))] for ids in tokens])
        padded = padded.to(self.device)
        steps = torch.arange(width, device=self.device)
        out = self.model(
            input_ids=padded[:, :-1],
            attention_mask=torch.cat([batch.mask, batch.mask.new_ones(len(tokens), width)], dim=1),
            position_ids=batch.positions[:, None] + steps,
            past_key_values=batch.cache,
            use_cache=True,
        )
        for layer in batch.cache.layers:
            layer.rewind(length)
        shares = out.logits.float().log_softmax(-1).gather(2, padded[:, 1:, None])[:, :, 0]
        counts = torch.tensor([[max(0, len(ids) - 1)] for ids in tokens], device=self.device)
        return [float(one) for one in (shares * (steps < counts)).sum(-1)]

    def step(self, batch: Batch) -> Batch:
        """One more token for every row."""
        batch.mask = torch.cat([batch.mask, batch.mask.new_ones(len(batch.rows), 1)], dim=1)
        out = self.model(
            input_ids=batch.latest[:, None],
            attention_mask=batch.mask,
            position_ids=batch.positions[:, None],
            past_key_values=batch.cache,
            use_cache=True,
        )
        batch.positions = batch.positions + 1
        self._append(batch, out.logits[:, -1])
        return batch

    def _append(self, batch: Batch, logits: Tensor) -> None:
        batch.latest = choose_tokens(batch.rows, logits.float(), batch.seen)
        if batch.seen is not None:
            batch.seen.scatter_(1, batch.latest[:, None], True)
        for row, token in zip(batch.rows, batch.latest.tolist(), strict=True):
            if row.is_over:
                continue
            if token in self._end_ids:
                row.finish_reason = "stop"
                continue
            if not row.tokens:
                row.first_at = time.perf_counter()
            row.tokens.append(token)
            room = min(row.sampling.max_tokens, self._max_length - row.n_prompt)
            if len(row.tokens) >= room:
                row.finish_reason = "length"

    def rewind(self, batch: Batch) -> None:
        """Undo a step that ran out of memory: some layers have its token, others not."""
        length = min(int(layer.keys.shape[2]) for layer in batch.cache.layers)
        for layer in batch.cache.layers:
            layer.rewind(length)
        batch.mask = batch.mask[:, :length]

    def select(self, batch: Batch, kept: Sequence[int]) -> None:
        """Keep some rows; the places of the others, and columns that only they used, become free."""
        order = list(kept)
        if batch.can_grow:
            # Rows from the end fill the gaps, so that few have to be moved.
            last = [n for n in kept if n >= len(kept)]
            staying = set(kept)
            order = [n if n in staying else last.pop() for n in range(len(kept))]
        rows = [batch.rows[n] for n in order]
        at = torch.tensor(order, device=self.device)
        batch.rows = rows
        batch.mask, batch.positions, batch.latest = batch.mask[at], batch.positions[at], batch.latest[at]
        batch.seen = None if batch.seen is None else batch.seen[at]
        if not batch.can_grow:
            batch.cache.reorder_cache(at)
            return
        length = max(row.n_prompt + len(row.tokens) - 1 for row in rows)  # the last token is not yet there
        for layer in batch.cache.layers:
            layer.select(order, length)
        batch.mask = batch.mask[:, -length:]

    def join(self, batch: Batch, more: Batch, *, n_places: int = 0, n_tokens: int = 64) -> Batch:
        """Add the rows of another batch, with room for so many rows in all and for more tokens of each."""
        if len(batch.running) < len(batch.rows):
            self.select(batch, batch.running)
        length = max(batch.length, more.length)
        batch.rows += more.rows  # first: if memory runs out below, all of them are decoded again
        for mine, other in zip(batch.cache.layers, more.cache.layers, strict=True):
            mine.add(other, n_places, n_tokens)
        batch.mask = torch.cat([_pad_left(one.mask, length) for one in (batch, more)])
        batch.positions = torch.cat([batch.positions, more.positions])
        batch.latest = torch.cat([batch.latest, more.latest])
        if batch.seen is not None and more.seen is not None:
            batch.seen = torch.cat([batch.seen, more.seen])
        return batch


def _pad_left(table: Tensor, length: int, value: int = 0) -> Tensor:
    """Rows x tokens, with padding before the tokens."""
    return torch.nn.functional.pad(table, (length - table.shape[1], 0), value=value)


def collate(rows: Sequence[Row], pad_id: int) -> dict[str, Tensor]:
    """The tensors of several rows as those of one batch.

    What has one value per token is padded on the left. All else (pixels, sizes, grids) is concatenated; where
    images have different numbers of tiles or sizes, zeros follow the smaller ones, as processors do it.
    """
    length = max(row.n_prompt for row in rows)
    batch: dict[str, Tensor] = {}
    for name, first in rows[0].inputs.items():
        tensors = [row.inputs[name] for row in rows]
        if first.shape == rows[0].inputs["input_ids"].shape:
            value = pad_id if name == "input_ids" else 0
            batch[name] = torch.cat([_pad_left(one, length, value) for one in tensors])
        else:
            batch[name] = torch.cat(_pad_alike(tensors))
    return batch


def _pad_alike(tensors: Sequence[Tensor]) -> list[Tensor]:
    largest = [max(sizes) for sizes in zip(*(one.shape[1:] for one in tensors), strict=True)]
    padded = []
    for one in tensors:
        missing = [want - have for want, have in zip(largest, one.shape[1:], strict=True)]
        sides = [side for n in reversed(missing) for side in (0, n)]
        padded.append(torch.nn.functional.pad(one, sides) if any(missing) else one)
    return padded


# -- Choosing tokens


def choose_tokens(rows: Sequence[Row], logits: Tensor, seen: Tensor | None) -> Tensor:
    """The next token of every row. All rows are sampled alike, each with its own random numbers."""
    how = rows[0].sampling
    if seen is not None:
        penalised = torch.where(logits > 0, logits / how.repetition_penalty, logits * how.repetition_penalty)
        logits = torch.where(seen, penalised, logits)
    if how.temperature == 0:
        return logits.argmax(-1)
    logits = logits / how.temperature
    if 0 < how.top_k < logits.shape[-1]:
        logits = logits.masked_fill(logits < logits.topk(how.top_k).values[:, -1:], -torch.inf)
    shares = logits.softmax(-1)
    if how.top_p < 1:
        ordered, order = shares.sort(descending=True)
        beyond = ordered.cumsum(-1) - ordered >= how.top_p  # the first token always stays
        shares = shares.scatter(1, order, ordered.masked_fill(beyond, 0))
    steps = shares.double().cumsum(-1)
    aims = torch.tensor([[row.draw()] for row in rows], dtype=torch.double).to(steps.device) * steps[:, -1:]
    return torch.searchsorted(steps, aims, right=True)[:, 0].clamp(max=steps.shape[-1] - 1)
