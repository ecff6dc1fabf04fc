"""The engine of local weights: a thread that owns the device and keeps it busy.

Requests are prepared in other threads (images decoded, chat template, tokens) and wait here as `Row`s. The
engine takes rows of like length, as many as memory allows, decodes them together, and hands over each reply
as soon as it ends. When half of a batch has ended, waiting rows take the free places. If memory runs out, the
rows are decoded again in batches half as large. One engine serves one device.
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
_USUAL_TOKENS = 256  # new tokens per row that a batch is planned with; most replies are shorter
_READY_BYTES = 4 * 2**30  # of prepared rows: 330 images of a megapixel as Qwen2.5-VL wants them


@dataclass(slots=True)
class BatchLimits:
    """The largest batch: in rows, and in tokens with padding. The second falls when memory runs out."""

    rows: int
    tokens: int

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
        return self._is_closed or sum(row.n_bytes for row in self._ready) < _READY_BYTES

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
        with torch.inference_mode():
            self._decode()

    def _decode(self) -> None:
        batch: Batch | None = None
        while not self._is_closed:
            rows = self._take(batch)
            is_out_of_memory = False
            try:
                if rows:
                    self.batch_sizes.append(len(rows))
                    more, rows = self._decoder.start(rows), []
                    if batch is None:
                        batch = more
                    else:
                        self._decoder.join(batch, more)
                elif batch is not None:
                    self._decoder.step(batch)
            except torch.OutOfMemoryError:
                is_out_of_memory = True
            except Exception as err:  # of the model's own code: the rows fail, the next ones may not
                self._fail([*rows, *(batch.rows if batch else ())], err)
                batch = None
            if is_out_of_memory:  # outside of `except`, whose traceback holds the tensors
                batch = self._shrink(rows, batch)
            if batch is not None:
                batch = self._hand_over(batch)
        self._fail([*self._ready, *(batch.rows if batch else ())], ModelError("the run has ended"))

    def _take(self, batch: Batch | None) -> list[Row]:
        """Rows to start next; none while a batch runs that is more than half full. Waits if all is idle."""
        with self._changed:
            if batch is None:
                self._changed.wait_for(lambda: self._is_closed or bool(self._ready))
                deadline = time.monotonic() + _LINGER_S
                while self._n_preparing and len(self._ready) < self._limits.rows and not self._is_closed:
                    if not self._changed.wait(timeout=deadline - time.monotonic()):
                        break
            if self._is_closed:
                return []
            rows = choose_rows(self._ready, self._limits, batch)
            taken = {id(row) for row in rows}
            self._ready = [row for row in self._ready if id(row) not in taken]
            self._changed.notify_all()
        return rows

    def _hand_over(self, batch: Batch) -> Batch | None:
        """Give the replies that have ended; the other rows go on."""
        kept = []
        for n, row in enumerate(batch.rows):
            if row.finish_reason:
                _settle(row, self._finish)
            elif not row.reply.cancelled():  # else the engine of the run no longer waits for it
                kept.append(n)
        if not kept:
            return None
        if len(kept) < len(batch.rows):
            self._decoder.select(batch, kept)
        return batch

    def _shrink(self, rows: list[Row], batch: Batch | None) -> Batch | None:
        """Out of memory: allow half of what was tried, and put the rows back to be decoded again."""
        running = batch.rows if batch else []
        tried = [*rows, *running]
        n_tokens = sum(row.n_prompt + len(row.tokens) for row in tried)
        self._limits.tokens = max(1, min(self._limits.tokens, n_tokens) // 2)
        self._limits.rows = max(1, min(self._limits.rows, len(tried) // 2))
        back = rows or running
        if not rows:  # it was not a prefill: the batch itself has grown too large
            batch = None
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(back) == 1 and batch is None:
            why = f"{back[0].n_prompt:,} tokens do not fit into the memory of {self._decoder.device}"
            self._fail(back, ModelError(why, hint="make images smaller with --max-pixels"))
            return None
        for row in back:
            row.restart()
        with self._changed:
            self._ready = [*back, *self._ready]
        return batch

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

    Beside a running batch: only if half of its places are free, and only as many as fit beside its rows.
    """
    beside = 0 if batch is None else len(batch.rows)
    if not ready or (batch is not None and (beside > limits.rows // 2 or not batch.can_grow)):
        return []
    first = ready[0]
    alike = [row for row in ready if row.inputs.keys() == first.inputs.keys()]  # with images, or without
    alike.sort(
        key=lambda row: abs(row.n_prompt - first.n_prompt)
    )  # stable: the order of arrival among equals
    chosen: list[Row] = []
    length = 0 if batch is None else batch.length
    for row in alike:
        length = max(length, row.n_prompt + min(row.sampling.max_tokens, _USUAL_TOKENS))
        if not limits.fits(beside + len(chosen) + 1, length):
            break
        chosen.append(row)
    return chosen
