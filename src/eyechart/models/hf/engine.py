"""The engine of local weights: a thread that owns the device and keeps it busy.

Requests are prepared in other threads (images decoded, chat template, tokens, sent to the device) and wait
here as `Row`s. The engine runs the prompts of rows of like length, as many as the activations allow, adds
them to the batch that is being decoded, as many as the cache allows, and hands over each reply when it ends.
Prompts run in a second thread, so that tokens are decoded meanwhile: a step hardly uses the GPU, and mostly
waits for Python. Waiting rows take the places that become free. If memory runs out, batches become half as
large and the rows that have no room are decoded again. One engine serves one device.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch

from eyechart.errors import EyechartError, ModelError
from eyechart.models.hf.decode import Batch, Decoder, Row
from eyechart.types import Reply

_LINGER_S = 0.3  # a first batch waits as long for rows that are being prepared: it would run with few
_FULL_SHARE = 7 / 8  # of the rows of a batch: with fewer that run, the others are removed from it
_USUAL_TOKENS = 256  # new tokens per row that a batch is planned with; most replies are shorter
_FIRST_BYTES = 256 * 2**20  # of rows prepared before the weights are there: 20 images of a megapixel
_PAUSE_S = 0.1  # between steps while prompts run: a step reads all weights, so it should serve many rows
_PARTS_AHEAD = 2  # prompts that run or wait for those that do: the GPU never waits for Python

Stage: TypeAlias = Literal["prompts", "join", "step"]


@dataclass(slots=True)
class BatchLimits:
    """The largest batch. The numbers of tokens count padding, and fall when memory runs out."""

    rows: int
    tokens: int  # of all rows that are decoded together: what the cache can hold
    prompt_tokens: int  # of prompts that run together: what the activations allow
    ready_bytes: int  # of rows that wait


@dataclass(frozen=True, slots=True)
class Begun:
    """Rows whose prompts run in the other thread."""

    rows: list[Row]
    batch: Future[Batch | None]  # None: memory ran out

    @property
    def running(self) -> list[Row]:
        return self.rows

    @property
    def length(self) -> int:
        return max(row.n_prompt for row in self.rows)

    @property
    def can_grow(self) -> bool:
        """Whether rows may join; not known before the prompts are laid out."""
        batch = self.batch.result() if self.batch.done() and not self.batch.exception() else None
        return batch is not None and batch.can_grow

    @property
    def has_run(self) -> bool:
        """Whether the batch is ready, or has failed."""
        if not self.batch.done() or self.batch.exception():
            return self.batch.done()
        batch = self.batch.result()
        return batch is None or batch.has_run


class Engine:
    """Takes rows, gives replies. Starts its thread, and loads the weights there, with the first request."""

    def __init__(
        self,
        load: Callable[[], tuple[Decoder, BatchLimits]],
        finish: Callable[[Row], Reply],
        *,
        name: str,
        is_compiled: bool = False,
    ) -> None:
        self._load = load
        self._finish = finish
        self._name = name
        self._first = "compiling" if is_compiled else "running the first prompts"
        self._ready: list[Row] = []
        self._n_preparing = 0
        self._changed = threading.Condition()
        self._ready_bytes = _FIRST_BYTES
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._batch: Batch | None = None  # rows that are being decoded
        self._begun: deque[Begun] = deque()
        self.status = ""  # what takes long before the first reply, for the progress line
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
        self.status = "loading the weights"
        try:
            self._decoder, self._limits = self._load()
        except Exception as err:  # whatever transformers raises; every request fails with it
            self._refuse_all(err)
            return
        self.status = self._first
        with self._changed:
            self._ready_bytes = self._limits.ready_bytes
            self._changed.notify_all()
        beside = ThreadPoolExecutor(1, thread_name_prefix=f"{self._name} prompts")
        with torch.inference_mode(), self._decoder.on_stream():
            self._decode(beside)
        beside.shutdown(cancel_futures=True)
        begun = [row for part in self._begun for row in part.rows]
        left = [*self._ready, *begun, *(self._batch.rows if self._batch else [])]
        self._fail(left, ModelError("the run has ended"))

    def _decode(self, beside: ThreadPoolExecutor) -> None:
        """Keep prompts running, and decode tokens meanwhile."""
        while not self._is_closed:
            if self._batch is None and self._begun:
                wait([self._begun[0].batch])  # then it is known whether others may follow
            if len(self._begun) < _PARTS_AHEAD and (rows := self._take()):
                self.batch_sizes.append(len(rows))
                self._begun.append(Begun(rows, beside.submit(self._run_prompts, rows)))
            if self._begun and (self._batch is None or self._begun[0].has_run):
                self._admit(self._begun.popleft())
                self.status = ""
            elif self._batch is not None:
                self._batch = self._attempt("step", self._decoder.step, self._batch)
            self._hand_over()
            until = time.monotonic() + _PAUSE_S  # leave the device to the prompts that run, for a moment
            while self._begun and not self._begun[0].has_run and time.monotonic() < until:
                time.sleep(0.005)

    def _run_prompts(self, rows: list[Row]) -> Batch | None:
        try:
            with torch.inference_mode():
                return self._decoder.start(rows)
        except torch.OutOfMemoryError:  # as a result it would hold the tensors
            return None

    def _admit(self, begun: Begun) -> None:
        """Decode these rows with the others, as soon as their prompts have run."""
        if error := begun.batch.exception():
            self._fail(begun.rows, error)
        elif (batch := begun.batch.result()) is None:
            self._shrink("prompts", begun.rows)
        else:
            self._batch = self._attempt("join", self._join, batch, begun.rows)

    def _attempt(
        self, stage: Stage, work: Callable[[Batch], Batch], given: Batch, rows: Sequence[Row] = ()
    ) -> Batch | None:
        """The batch that comes of it; if memory runs out, what is left of it."""
        try:
            return work(given)
        except torch.OutOfMemoryError:
            pass  # goes on below: here the traceback would hold the tensors
        except Exception as err:  # of the model's own code: the rows fail, the next ones may not
            self._fail([*rows, *(self._batch.rows if self._batch else [])], err)
            return None
        return self._shrink(stage, rows)

    def _join(self, begun: Batch) -> Batch:
        more = self._decoder.admit(begun)
        if not more.can_grow:  # no rows can be added later: let more prompts run at once
            self._limits.prompt_tokens = max(self._limits.prompt_tokens, self._limits.tokens // 4)
        if self._batch is None:
            return more
        n_tokens = min(_USUAL_TOKENS, max(row.sampling.max_tokens for row in more.rows))
        length = max(self._batch.length, more.length) + n_tokens
        n_places = min(self._limits.rows, self._limits.tokens // length)
        return self._decoder.join(self._batch, more, n_places=n_places, n_tokens=n_tokens)

    def _take(self) -> list[Row]:
        """Rows to start next; none while a batch runs that is nearly full. Waits if all is idle."""
        with self._changed:
            if self._batch is None and not self._begun:
                self._changed.wait_for(lambda: self._is_closed or bool(self._ready))
                deadline = time.monotonic() + _LINGER_S
                while self._n_preparing and not self._has_enough() and not self._is_closed:
                    if not self._changed.wait(timeout=deadline - time.monotonic()):
                        break
            if self._is_closed:
                return []
            running: list[Batch | Begun] = [*([self._batch] if self._batch else []), *self._begun]
            rows = choose_rows(self._ready, self._limits, running, is_last=not self._n_preparing)
            taken = {id(row) for row in rows}
            self._ready = [row for row in self._ready if id(row) not in taken]
            self._changed.notify_all()
        return rows

    def _has_enough(self) -> bool:
        """Whether the rows that wait fill a first batch."""
        n_tokens = sum(row.n_prompt for row in self._ready)
        return len(self._ready) >= self._limits.rows or n_tokens >= self._limits.prompt_tokens

    def _hand_over(self) -> None:
        """Give the replies that have ended; the other rows go on."""
        if (batch := self._batch) is None:
            return
        for row in batch.rows:
            if row.finish_reason and not row.reply.done():
                _settle(row, self._finish)
        running = batch.running
        if not running:
            self._batch = None
        elif len(running) <= _FULL_SHARE * len(batch.rows):
            self._decoder.select(batch, running)

    def _shrink(self, stage: Stage, rows: Sequence[Row]) -> Batch | None:
        """Out of memory: allow half of what was tried, and put rows back that have to be decoded again.

        Gives what the stage would have given: prompts that run, or the batch that is decoded.
        """
        batch = self._batch
        running = [batch.rows[n] for n in batch.running] if batch else []
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        left = None
        back: Sequence[Row]
        if stage == "prompts" and len(rows) > 1:
            self._limits.prompt_tokens = max(1, sum(row.n_prompt for row in rows) // 2)
            back = rows
        else:
            begun = [row for part in self._begun for row in part.rows]
            tried = [*running, *begun, *(row for row in rows if row not in running)]
            self._limits.tokens = max(1, sum(row.n_prompt + len(row.tokens) for row in tried) // 2)
            self._limits.rows = max(1, len(tried) // 2)
            if len(tried) == 1:
                why = f"{tried[0].n_prompt:,} tokens do not fit into the memory of {self._decoder.device}"
                self._fail(tried, ModelError(why, hint="make images smaller with --max-pixels"))
                return None
            if stage == "step" and batch is not None and batch.can_grow:
                back, left = self._drop_half(batch), batch
            elif stage == "prompts":  # one row beside others: it waits until there are fewer
                back = rows
            else:
                back = tried
        for row in back:
            row.restart()
        with self._changed:
            self._ready = [*back, *self._ready]
        return left

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

    def _fail(self, rows: Sequence[Row], err: BaseException, *, is_fatal: bool = False) -> None:
        if not isinstance(err, ModelError):
            message = err.message if isinstance(err, EyechartError) else f"{type(err).__name__}: {err}"
            hint = err.hint if isinstance(err, EyechartError) else ""
            err = ModelError(f"{self._name}: {message}", hint=hint, is_fatal=is_fatal)
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


def choose_rows(
    ready: Sequence[Row], limits: BatchLimits, running: Sequence[Batch | Begun], *, is_last: bool
) -> list[Row]:
    """The row that has waited longest, with those most like it in length, as many as fit.

    Beside others only if that is worth a pause of them: an eighth of the places can be filled, half of them
    are free, or no more rows are to come (`is_last`) and all have a place.
    """
    beside = sum(len(batch.running) for batch in running)
    n_places = limits.rows - beside
    if not ready or not all(batch.can_grow for batch in running):
        return []
    if running and beside > limits.rows // 2:
        is_rest = is_last and len(ready) <= n_places
        if n_places <= 0 or not (is_rest or min(len(ready), n_places) >= limits.rows // 8):
            return []
    first = ready[0]
    alike = [row for row in ready if row.inputs.keys() == first.inputs.keys()]  # with images, or without
    alike.sort(key=lambda row: abs(row.n_prompt - first.n_prompt))  # stable: first come, first served
    chosen: list[Row] = []
    length = max((batch.length for batch in running), default=0)
    longest = 0
    for row in alike:
        length = max(length, row.n_prompt + min(row.sampling.max_tokens, _USUAL_TOKENS))
        longest = max(longest, row.n_prompt)
        n_prompts = len(chosen) + 1
        n_rows = beside + n_prompts
        if n_rows > 1 and (n_rows > limits.rows or n_rows * length > limits.tokens):
            break
        if chosen and n_prompts * longest > limits.prompt_tokens:
            break
        chosen.append(row)
    return chosen
