"""From a task to a request that can be sent: render, load the pictures, and name what is asked."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from eyechart.errors import EyechartError
from eyechart.memory import LARGE_BYTES, Claim, current_claim
from eyechart.store.journal import Ask
from eyechart.store.tasks import Task
from eyechart.types import Failure, Image, ImageRef, Message, Part, Prompt, Request, Sample, Stage

_NEAR = frozenset({"file", "cell", "data"})
_SMALL_CELL = 512 * 1024


class ImageSource(Protocol):
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
        pictures: ImageSource,
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


# -- Work made ready ahead of the requests, within a budget of bytes.
#
# Quick work (a cell of a local file, to be checked and sent as it is) is done in the event loop, a handful of
# tasks whenever a worker finds none ready: to hand it from thread to thread would cost more than the work.
# What
# takes time (large pictures, crops, addresses, a slow disk) is done ahead, in threads; from the first such
# task
# on, all of it.
#
# Memory is bounded by what is in flight, never by the size of the data set: a thread that would exceed the
# budget waits until requests have let go of their pictures.

_QUICK_S = 0.002  # ten times what a quick task takes; more means a slow disk, or decoding
_SLOW_ONES = 8  # of the last 32 are no accident, such as the first one, which imports decoders
_QUICK_BYTES = 512 * 1024
# Made one right after the other, tasks take half as long as one by one between requests: the processor's
# caches then hold what one kind of work needs. Those who wait for the loop must not feel it.
_HANDFUL = 32
_HANDFUL_S = 0.003
_TURN_S = 0.01  # after so much work without a pause, let the others go on: thousands may be answered already


class Prefetcher:
    """Prepares tasks, in `n_threads` threads where they take time; workers take them as an async iterator."""

    def __init__(
        self,
        tasks: Iterator[Task],
        prepare: Prepare,
        *,
        n_threads: int,
        max_items: int,
        max_bytes: int,
        is_quick: Callable[[Task], bool] = lambda task: False,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        self._tasks: Iterator[Task] = tasks
        self._origin = tasks
        self._prepare = prepare
        self._is_quick = is_quick
        self._on_end = on_end
        self._n_threads = n_threads
        self._max_items = max_items
        self._max_bytes = max_bytes
        self._source = threading.Lock()  # guards the iterator, which only one thread may advance
        self._room = threading.Condition()
        self._n_items = 0
        self._n_bytes = 0
        self._n_working = n_threads
        self._claims: dict[int, Claim] = {}  # of large images, by the item that holds them
        self._is_threaded = False
        self._is_stopped = False
        self._is_over = False
        self._trouble: Exception | None = None
        self._slow = 0  # of the last 32 tasks, a bit each
        self._turn_ends_at = 0.0
        self._here: deque[Prepared] = deque()  # made in the event loop, and not taken yet
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Queue[Prepared | BaseException | None] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[Prepared]:
        """Prepared tasks, in about the order they came; each must be released when it is done with.

        Several may iterate at once: each task goes to one of them, the end to all.
        """
        while not self._is_stopped and (self._here or not self._is_over):
            if self._is_turn_over():
                await asyncio.sleep(0)
                continue
            if not (self._here or self._is_threaded or self._trouble):
                self._prepare_handful()
            item = self._here.popleft() if self._here else await self._take()
            if item is not None:
                yield item
                item = None  # while we wait for the next one, this one's pictures must not wait with us

    def release(self, item: Prepared) -> None:
        """Give back the room that an item took."""
        if not self._is_threaded:
            self._n_items -= 1
            self._n_bytes -= item.n_bytes
            return
        with self._room:
            self._n_items -= 1
            self._n_bytes -= item.n_bytes
            claim = self._claims.pop(id(item), None) if self._claims else None
            self._room.notify_all()
        if claim is not None:
            claim.release()

    def stop(self) -> None:
        """Prepare nothing more, and let the loop go at once: a slow disk must not hold it up."""
        self._close_room()
        if self._is_threaded:
            self._hand_over(None)
        else:
            self._let_go()

    def _is_turn_over(self) -> bool:
        """Whether those who iterate have worked long enough, all together, since the loop last came round."""
        now = time.perf_counter()
        if not self._turn_ends_at:
            self._turn_ends_at = now + _TURN_S
            self._loop.call_soon(self._end_turn)
        return now > self._turn_ends_at

    def _end_turn(self) -> None:
        self._turn_ends_at = 0.0

    def _prepare_handful(self) -> None:
        """Make the next ones, up to the end, an error, or where threads have to take over."""
        until = time.perf_counter() + _HANDFUL_S
        for _ in range(_HANDFUL):
            if not self._prepare_here() or time.perf_counter() > until:
                return

    def _prepare_here(self) -> bool:
        """Make the next one; whether one more can be made like it."""
        start = time.perf_counter()
        try:
            task = next(self._tasks, None)
            if task is None:
                self._is_over = True
                self._let_go()
                return False
            if not self._is_quick(task) or self._n_bytes >= self._max_bytes:
                self._tasks = itertools.chain([task], self._tasks)
                self._start_threads()
                return False
            item = self._prepare(task)
        except Exception as err:  # those before it can still be asked
            self._trouble = err
            return False
        self._here.append(item)
        self._n_items += 1
        self._n_bytes += item.n_bytes
        self._slow = (self._slow << 1 | (time.perf_counter() - start > _QUICK_S)) & 0xFFFFFFFF
        if self._slow.bit_count() >= _SLOW_ONES or item.n_bytes > _QUICK_BYTES:
            self._start_threads()
        return not self._is_threaded

    async def _take(self) -> Prepared | None:
        if self._trouble is not None:  # to the one who asked; for the others this is the end
            self.stop()
            raise self._trouble
        if self._is_over:
            return None
        item = await self._ready.get()
        if item is None:
            self._is_over = True
            self._ready.put_nowait(None)  # the others wait for it too
        if isinstance(item, BaseException):
            self.stop()
            raise item
        return item

    def _start_threads(self) -> None:
        self._is_threaded = True
        for n in range(self._n_threads):
            threading.Thread(target=self._work, name=f"eyechart-prefetch-{n}", daemon=True).start()

    def _work(self) -> None:
        claim = Claim("image")
        try:
            while (task := self._next()) is not None:
                current_claim.set(claim := Claim("image"))
                item = self._prepare(task)
                self._keep_claim(item, claim)
                with self._room:
                    self._n_bytes += item.n_bytes
                self._hand_over(item)
                del item  # it is the loop's now: while we wait for room, its pictures must not wait with us
        except BaseException as err:  # whatever it is, it belongs to the loop that waits for us
            claim.release()
            self._hand_over(err)
        finally:
            self._leave()

    def _keep_claim(self, item: Prepared, claim: Claim) -> None:
        """Of what a large image took while it was prepared, hold what will be sent."""
        claim.shrink(item.n_bytes if item.n_bytes > LARGE_BYTES else 0)
        if claim.n_bytes:
            with self._room:
                if not self._is_stopped:
                    self._claims[id(item)] = claim
                    return
            claim.release()

    def _next(self) -> Task | None:
        with self._room:
            # One item is always let through: a picture larger than the budget must still be sent.
            self._room.wait_for(lambda: self._is_stopped or self._n_items == 0 or self._has_room())
            if self._is_stopped:
                return None
            self._n_items += 1
        with self._source:
            task = next(self._tasks, None)
        if task is None:
            with self._room:
                self._n_items -= 1
        return task

    def _leave(self) -> None:
        """The last thread out lets go of the source, and says so."""
        with self._room:
            self._n_working -= 1
            is_last = self._n_working == 0
        if is_last:
            self._let_go()
            self._hand_over(None)

    def _let_go(self) -> None:
        """Of the source, which may hold a file open, and of what preparing opened: no thread prepares now."""
        if isinstance(self._origin, Generator):
            self._origin.close()
        self._on_end()

    def _close_room(self) -> None:
        with self._room:
            self._is_stopped = True
            claims, self._claims = [*self._claims.values()], {}
            self._room.notify_all()
        for claim in claims:
            claim.release()

    def _has_room(self) -> bool:
        return self._n_items < self._max_items and self._n_bytes < self._max_bytes

    def _hand_over(self, item: Prepared | BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._ready.put_nowait, item)
        except RuntimeError:  # the loop is gone: nobody waits any more
            self._close_room()
