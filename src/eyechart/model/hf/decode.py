"""Decoding several prompts at once: rows leave the batch when they end, and others join it while it runs.

`Decoder.start` runs the prompts of some rows (the prefill) and gives a `Batch`; every `Decoder.step` adds
one token to each of its rows. The loop is our own because `generate` of transformers returns only when the
longest reply is complete. It calls nothing but the model's `forward` with a cache; prompts are padded on the
left.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from transformers import DynamicCache

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


@dataclass(eq=False, slots=True)
class Row:
    """One request: the processor's tensors (a batch of one), and the tokens of its reply so far."""

    inputs: Mapping[str, Tensor]
    sampling: Sampling
    reply: Future[Reply] = field(default_factory=Future)
    tokens: list[int] = field(default_factory=list)
    finish_reason: str = ""
    random: Any = None  # its own generator, so that a sampled reply does not depend on the batch it was in

    @property
    def n_prompt(self) -> int:
        return int(self.inputs["input_ids"].shape[1])

    @property
    def n_bytes(self) -> int:
        return sum(one.numel() * one.element_size() for one in self.inputs.values())

    def restart(self) -> None:
        """Forget the tokens so far: the row will be decoded again, in another batch."""
        self.tokens, self.random = [], None


@dataclass(slots=True)
class Batch:
    """Rows that are decoded together. All tensors have a row each, in the order of `rows`."""

    rows: list[Row]
    cache: Any
    mask: Tensor  # 1 where a token is, 0 where there is padding: rows x length of the cache
    positions: Tensor  # of the next token of every row
    latest: Tensor  # the last token of every row
    seen: Tensor | None = None  # rows x vocabulary, where a repetition penalty needs it

    @property
    def length(self) -> int:
        return int(self.mask.shape[1])

    @property
    def can_grow(self) -> bool:
        """Whether rows may join: every layer keeps all tokens, so that older rows can be padded."""
        return all(type(layer).__name__ == "DynamicLayer" for layer in self.cache.layers)


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

    def start(self, rows: Sequence[Row]) -> Batch:
        """Run the prompts, and choose the first token of every reply."""
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
        positions = mask.sum(-1)
        if "position_ids" not in inputs:
            positions = positions + self._rope.rope_deltas.to(self.device).flatten()  # type: ignore[union-attr]
        batch = Batch(list(rows), out.past_key_values, mask, positions, positions)
        if any(row.sampling.repetition_penalty != 1.0 for row in rows):
            batch.seen = torch.zeros(len(rows), out.logits.shape[-1], dtype=torch.bool, device=self.device)
            ids = inputs["input_ids"]
            batch.seen.scatter_(1, torch.where(mask.bool(), ids, ids[:, -1:]), True)
        self._append(batch, out.logits[:, -1])
        return batch

    def step(self, batch: Batch) -> None:
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

    def _append(self, batch: Batch, logits: Tensor) -> None:
        batch.latest = choose_tokens(batch.rows, logits.float(), batch.seen)
        if batch.seen is not None:
            batch.seen.scatter_(1, batch.latest[:, None], True)
        for row, token in zip(batch.rows, batch.latest.tolist(), strict=True):
            if token in self._end_ids:
                row.finish_reason = "stop"
                continue
            row.tokens.append(token)
            room = min(row.sampling.max_tokens, self._max_length - row.n_prompt)
            if len(row.tokens) >= room:
                row.finish_reason = "length"

    def select(self, batch: Batch, kept: Sequence[int]) -> None:
        """Keep some rows; the memory of the others becomes free."""
        at = torch.tensor(kept, device=self.device)
        batch.rows = [batch.rows[n] for n in kept]
        batch.cache.reorder_cache(at)
        batch.mask, batch.positions, batch.latest = batch.mask[at], batch.positions[at], batch.latest[at]
        batch.seen = None if batch.seen is None else batch.seen[at]

    def join(self, batch: Batch, more: Batch) -> None:
        """Add the rows of another batch; the shorter one is padded on the left."""
        length = max(batch.length, more.length)
        batch.rows += more.rows  # first: if memory runs out below, all of them are decoded again
        for mine, other in zip(batch.cache.layers, more.cache.layers, strict=True):
            mine.keys = torch.cat([_pad_layer(mine.keys, length), _pad_layer(other.keys, length)])
            mine.values = torch.cat([_pad_layer(mine.values, length), _pad_layer(other.values, length)])
            other.keys = other.values = None  # one layer at a time, so that both are never there twice
        batch.mask = torch.cat([_pad_left(one.mask, length) for one in (batch, more)])
        batch.positions = torch.cat([batch.positions, more.positions])
        batch.latest = torch.cat([batch.latest, more.latest])
        if batch.seen is not None and more.seen is not None:
            batch.seen = torch.cat([batch.seen, more.seen])


def _pad_left(table: Tensor, length: int, value: int = 0) -> Tensor:
    """Rows x tokens, with padding before the tokens."""
    return torch.nn.functional.pad(table, (length - table.shape[1], 0), value=value)


def _pad_layer(states: Tensor, length: int) -> Tensor:
    """Rows x heads x tokens x dimensions, with padding before the tokens."""
    return torch.nn.functional.pad(states, (0, 0, length - states.shape[2], 0))


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
    """The next token of every row, each by its own rule and its own random numbers."""
    if seen is not None:
        penalty = torch.tensor([[row.sampling.repetition_penalty] for row in rows], device=logits.device)
        penalised = torch.where(logits > 0, logits / penalty, logits * penalty)
        logits = torch.where(seen, penalised, logits)
    chosen = logits.argmax(-1)
    for n, row in enumerate(rows):
        if row.sampling.temperature > 0:
            chosen[n] = _sample(row, logits[n])
    return chosen


def _sample(row: Row, logits: Tensor) -> Tensor:
    how = row.sampling
    if row.random is None:
        row.random = torch.Generator(device=logits.device).manual_seed(how.seed)
    logits = logits / how.temperature
    if 0 < how.top_k < len(logits):
        logits = logits.masked_fill(logits < logits.topk(how.top_k).values[-1], -torch.inf)
    if how.top_p < 1:
        ordered, order = logits.sort(descending=True)
        shares = ordered.softmax(-1)
        beyond = shares.cumsum(-1) - shares >= how.top_p  # the first token always stays
        logits = logits.scatter(0, order, ordered.masked_fill(beyond, -torch.inf))
    return torch.multinomial(logits.softmax(-1), 1, generator=row.random)[0]
