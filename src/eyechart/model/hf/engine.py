"""The engine of local weights: a thread that owns the device and keeps it busy.

Requests are prepared in other threads (images decoded, chat template, tokens, sent to the device) and wait
here as `Row`s. The engine runs the prompts of rows of like length, as many as the activations allow, adds
them to the batch that is being decoded, as many as the cache allows, and hands over each reply when it ends.
Waiting rows take the places that become free. If memory runs out, batches become half as large and the rows
that have no room are decoded again. One engine serves one device.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import torch

from eyechart.errors import EyechartError, ModelError
from eyechart.model.hf.decode import Batch, Decoder, Row
from eyechart.types import Reply

_LINGER_S = 0.3  # a first batch waits as long for rows that are being prepared: it would run with few
_FULL_SHARE = 7 / 8  # of the rows of a batch: with fewer that run, the others are removed from it
_USUAL_TOKENS = 256  # new tokens per row that a batch is planned with; most replies are shorter
_FIRST_BYTES = 256 * 2**20  # of rows prepared before the weights are there: 20 images of a megapixel


@dataclass(slots=True)
class BatchLimits:
    """The largest batch. The numbers of tokens count padding, and fall when memory runs out."""

    rows: int
    tokens: int  # of all rows that are decoded together: what the cache can hold
    prompt_tokens: int  # of prompts that run together: what the activations allow
    ready_bytes: int  # of rows that wait

    def fits(self, rows: int, length: int) -> bool:
        return rows == 1 or (rows <= self.rows and rows * length <= self.tokens)


class Engine:
    """Takes rows, gives replies. Starts its thread, and loads the weights there, with the first request."""

    def __init__(
        self,
        load: Callable[[], tuple[Decoder, BatchLimits]],
        finish: Callable[[Row], Reply],
        *,
        name: str,
    ) -> None:
        self._load = load
        self._finish = finish
        self._name = name
        self._ready: list[Row] = []
        self._n_preparing = 0
        self._changed = threading.Condition()
        self._ready_bytes = _FIRST_BYTES
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self.batch_sizes: list[int] = []  # rows of every prefill, for tests and measurements

    def expect(self) -> None:
        """A row is being prepared: the next batch may wait a moment for it."""
        with self._changed:
            self._n_preparing += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def put(self, make: Callable[[], Row]) -> Future[Reply]:
        """Prepare a row in the calling thread and queue it; waits while prepared rows fill the memory."""
        row = None
        try:
            with self._changed:
                self._changed.wait_for(self._has_room)
            row = make()
        finally:
            with self._changed:
                self._n_preparing -= 1
                if row is not None:
                    self._ready.append(row)
                self._changed.notify_all()
        return row.reply

    def _has_room(self) -> bool:
        return self._is_closed or sum(row.n_bytes for row in self._ready) < self._ready_bytes

    def close(self) -> None:
        """Stop after the current step; rows that are not finished get no reply."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(timeout=60)

    # -- the thread

    def _run(self) -> None:
        try:
            self._decoder, self._limits = self._load()
        except Exception as err:  # whatever transformers raises; every request fails with it
            self._refuse_all(err)
            return
        with self._changed:
            self._ready_bytes = self._limits.ready_bytes
            self._changed.notify_all()
        with torch.inference_mode():
            self._decode()

    def _decode(self) -> None:
        batch: Batch | None = None
        while not self._is_closed:
            rows = self._take(batch)
            stage = "prompts" if rows else "step"
            is_out_of_memory = False
            try:
                if rows:
                    self.batch_sizes.append(len(rows))
                    more = self._decoder.start(rows)
                    stage = "join"
                    if batch is None:
                        batch = more
                    else:
                        self._decoder.join(batch, more)
                    if not batch.can_grow:  # no rows can be added later: let more prompts run at once
                        self._limits.prompt_tokens = max(self._limits.prompt_tokens, self._limits.tokens // 4)
                elif batch is not None:
                    self._decoder.step(batch)
            except torch.OutOfMemoryError:
                is_out_of_memory = True
            except Exception as err:  # of the model's own code: the rows fail, the next ones may not
                self._fail([*rows, *(batch.rows if batch else ())], err)
                batch = None
            if is_out_of_memory:  # outside of `except`, whose traceback holds the tensors
                batch = self._shrink(stage, rows, batch)
            if batch is not None:
                batch = self._hand_over(batch)
        self._fail([*self._ready, *(batch.rows if batch else ())], ModelError("the run has ended"))

    def _take(self, batch: Batch | None) -> list[Row]:
        """Rows to start next; none while a batch runs that is nearly full. Waits if all is idle."""
        with self._changed:
            if batch is None:
                self._changed.wait_for(lambda: self._is_closed or bool(self._ready))
                deadline = time.monotonic() + _LINGER_S
                while self._n_preparing and not self._has_enough() and not self._is_closed:
                    if not self._changed.wait(timeout=deadline - time.monotonic()):
                        break
            if self._is_closed:
                return []
            rows = choose_rows(self._ready, self._limits, batch)
            taken = {id(row) for row in rows}
            self._ready = [row for row in self._ready if id(row) not in taken]
            self._changed.notify_all()
        return rows

    def _has_enough(self) -> bool:
        """Whether the rows that wait fill a first batch."""
        n_tokens = sum(row.n_prompt for row in self._ready)
        return len(self._ready) >= self._limits.rows or n_tokens >= self._limits.prompt_tokens

    def _hand_over(self, batch: Batch) -> Batch | None:
        """Give the replies that have ended; the other rows go on."""
        for row in batch.rows:
            if row.finish_reason and not row.reply.done():
                _settle(row, self._finish)
        running = batch.running
        if not running:
            return None
        if len(running) <= _FULL_SHARE * len(batch.rows):
            self._decoder.select(batch, running)
        return batch

    def _shrink(self, stage: str, rows: list[Row], batch: Batch | None) -> Batch | None:
        """Out of memory: allow half of what was tried, and put rows back that have to be decoded again."""
        running = [row for row in batch.rows if not row.is_over] if batch else []
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if stage == "prompts" and len(rows) > 1:
            self._limits.prompt_tokens = max(1, sum(row.n_prompt for row in rows) // 2)
            back = rows
        else:
            tried = running if stage == "step" else [*running, *rows]
            self._limits.tokens = max(1, sum(row.n_prompt + len(row.tokens) for row in tried) // 2)
            self._limits.rows = max(1, len(tried) // 2)
            if len(tried) == 1:
                why = f"{tried[0].n_prompt:,} tokens do not fit into the memory of {self._decoder.device}"
                self._fail(tried, ModelError(why, hint="make images smaller with --max-pixels"))
                return None
            if stage == "step" and batch is not None and batch.can_grow:
                back = self._drop_half(batch)
            elif stage == "prompts":  # one row beside a running batch: it waits until that is smaller
                back = rows
            else:
                back, batch = tried, None
        for row in back:
            row.restart()
        with self._changed:
            self._ready = [*back, *self._ready]
        return batch

    def _drop_half(self, batch: Batch) -> list[Row]:
        """Keep the rows that are most advanced; the others have to begin again."""
        self._decoder.rewind(batch)
        order = sorted(batch.running, key=lambda n: -len(batch.rows[n].tokens))
        kept = sorted(order[: len(order) // 2])
        back = [batch.rows[n] for n in sorted(order[len(order) // 2 :])]
        self._decoder.select(batch, kept)
        return back

    def _refuse_all(self, err: Exception) -> None:
        """Until the end: no request can succeed without weights."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or bool(self._ready))
                rows, self._ready = self._ready, []
                self._changed.notify_all()
            self._fail(rows, err, is_fatal=True)
            if self._is_closed:
                return

    def _fail(self, rows: Sequence[Row], err: Exception, *, is_fatal: bool = False) -> None:
        if not isinstance(err, ModelError):
            told = str(err) if isinstance(err, EyechartError) else f"{type(err).__name__}: {err}"
            hint = err.hint if isinstance(err, EyechartError) else ""
            err = ModelError(f"{self._name}: {told}", hint=hint, is_fatal=is_fatal)
        for row in rows:
            if not row.reply.done():
                row.reply.set_exception(err)


def _settle(row: Row, finish: Callable[[Row], Reply]) -> None:
    if not row.reply.set_running_or_notify_cancel():
        return
    try:
        row.reply.set_result(finish(row))
    except Exception as err:  # tokens that the tokenizer cannot decode
        row.reply.set_exception(ModelError(f"the reply could not be decoded: {type(err).__name__}: {err}"))


def choose_rows(ready: Sequence[Row], limits: BatchLimits, batch: Batch | None) -> list[Row]:
    """The row that has waited longest, with those most like it in length, as many as fit.

    Beside a running batch only if that is worth a pause of its rows: an eighth of the places can be filled,
    or half of them are free.
    """
    beside = 0 if batch is None else len(batch.running)
    if not ready or (batch is not None and not batch.can_grow):
        return []
    if batch is not None and beside > limits.rows // 2:
        n_new = min(len(ready), limits.rows - beside)
        if n_new == 0 or n_new < limits.rows // 8:
            return []
    first = ready[0]
    alike = [row for row in ready if row.inputs.keys() == first.inputs.keys()]  # with images, or without
    alike.sort(key=lambda row: abs(row.n_prompt - first.n_prompt))  # stable: first come, first served
    chosen: list[Row] = []
    length = 0 if batch is None else batch.length
    longest = 0
    for row in alike:
        length = max(length, row.n_prompt + min(row.sampling.max_tokens, _USUAL_TOKENS))
        longest = max(longest, row.n_prompt)
        n_prompts = len(chosen) + 1
        if not limits.fits(beside + n_prompts, length):
            break
        if chosen and n_prompts * longest > limits.prompt_tokens:
            break
        chosen.append(row)
    return chosen
