"""From a task to a request that can be sent: render, load the images, compute key and recipe.

`Preparer` prepares one task. `Prefetcher` has that done ahead of the requests. Quick tasks (a cell of a local
file, to be checked and sent as it is) are prepared in the event loop, a few at a time whenever a worker finds
none ready: handing them from thread to thread would cost more than the work. What takes time (large images,
crops, URLs, a slow disk) is prepared in threads; from the first such task on, all of it.

Memory is bounded by what is in flight, never by the size of the data set: a thread that would exceed the
limit waits until requests have released their images.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from eyechart.errors import EyechartError, ImageError
from eyechart.memory import LARGE_BYTES, Claim, current_claim
from eyechart.store.journal import Ask
from eyechart.store.reader import Task
from eyechart.types import (
    MODELS_TURN,
    Failure,
    Image,
    ImageRef,
    Message,
    Part,
    Prompt,
    Request,
    Sample,
    Stage,
)

_LOCAL = frozenset({"file", "cell", "data"})
_SMALL_CELL = 512 * 1024

Prepare = Callable[["Task"], "Prepared"]
Item = TypeVar("Item", bound="Rendered | Prepared")  # how far tasks are prepared


class ImageSource(Protocol):
    """What the engine needs of an image loader."""

    def load(self, ref: ImageRef) -> Image: ...

    def fingerprint(self, ref: ImageRef) -> str:
        """Its cheap identity: changes when the image may have changed."""

    def close(self) -> None:
        """Close what is kept open; called when no thread loads any more."""


class OriginalImages(ImageSource, Protocol):
    """What a look run needs besides: images as they are in their files."""

    def describe(self, ref: ImageRef) -> Image:
        """Size and content, without the pixels."""

    def open(self, ref: ImageRef) -> Any:
        """The pixels, as Pillow has them."""


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A task that is to be asked, is answered already, or failed before it could be asked. Picklable."""

    task: Task
    request: Request | None = None
    ask: Ask | None = None
    failure: Failure | None = None
    is_answered: bool = False
    n_bytes: int = 0
    siblings: tuple[Prepared, ...] = ()  # further trials of the same sample, for the same request


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """A task whose messages are rendered, and whose images are not loaded yet. Picklable."""

    task: Task
    sample: Sample  # without its golds
    messages: tuple[Message, ...]
    recipes: Mapping[int, str]  # by trial
    n_bytes: int = 0  # as of `Prepared`: no image is held


class Preparer:
    """Prepares tasks, with the prompt, the images and the model's identity of one run."""

    def __init__(
        self,
        prompt: Prompt,
        images: ImageSource,
        identity: Mapping[str, Any],
        *,
        pass_urls: bool = False,  # the model fetches images at URLs itself
        is_slow: bool = False,  # prompts take time, such as reading the text in an image
    ) -> None:
        self._pass_urls = pass_urls
        self._is_slow = is_slow
        self._prompt = prompt
        self._images = images
        self._identity = msgspec.json.encode(identity, order="deterministic")

    def is_quick(self, task: Task) -> bool:
        """Whether it is prepared in no time, as far as one can tell."""
        return not self._is_slow and has_small_images(task)

    def close(self) -> None:
        self._images.close()

    def prepare(self, task: Task) -> Prepared:
        """Everything about a request that does not need the model. For any thread."""
        rendered = self.render(task)
        return rendered if isinstance(rendered, Prepared) else self.load(rendered)

    def render(self, task: Task) -> Rendered | Prepared:
        """The messages, without loading an image; prepared if it needs none: answered, or failed already."""
        trials = (task, *task.siblings)
        sample = task.sample.without_golds()
        try:
            messages = tuple(self._prompt(sample))
            if not all(isinstance(turn, Message) for turn in messages):
                raise TypeError("a prompt must return messages")
        except Exception as err:  # a prompt may be a plug-in: its error is this sample's failure
            stage: Stage = "load" if isinstance(err, ImageError) else "render"
            return _join_trials([Prepared(task=one, failure=_failure(stage, err)) for one in trials])
        try:
            asked = [[turn.role, [self._identify(part) for part in turn.parts]] for turn in messages]
            recipes = {one.trial: self._make_recipe(asked, one.trial) for one in trials}
        except Exception as err:  # a file that cannot be looked at
            return _join_trials([Prepared(task=one, failure=_failure("load", err)) for one in trials])
        if all(one.recipe == recipes[one.trial] for one in trials):
            return _join_trials([Prepared(task=one, is_answered=True) for one in trials])
        return Rendered(task=task, sample=sample, messages=messages, recipes=recipes)

    def load(self, rendered: Rendered) -> Prepared:
        """Load the images once, however many trials are asked, and compute the keys."""
        trials, recipes = (rendered.task, *rendered.task.siblings), rendered.recipes
        try:
            loaded = tuple(
                Message(turn.role, tuple(map(self._load, turn.parts))) for turn in rendered.messages
            )
        except Exception as err:  # image decoders raise all sorts of errors
            return _join_trials([Prepared(task=task, failure=_failure("load", err)) for task in trials])
        written = [write_turn(turn) for turn in loaded]
        n_bytes = sum(len(part.base64) for turn in loaded for part in turn.parts if isinstance(part, Image))
        prepared: list[Prepared] = []
        for task in trials:
            # The first one is released when all are done.
            held = 0 if prepared else n_bytes
            if task.recipe == recipes[task.trial]:
                prepared.append(Prepared(task=task, is_answered=True, n_bytes=held))
                continue
            ask = Ask(key=self._make_key(written, task.trial), recipe=recipes[task.trial], messages=written)
            request = self._make_request(loaded, rendered, task.trial)
            is_answered = ask.key in task.keys
            prepared.append(
                Prepared(task=task, request=request, ask=ask, is_answered=is_answered, n_bytes=held)
            )
        return _join_trials(prepared)

    def _make_request(self, messages: tuple[Message, ...], rendered: Rendered, trial: int) -> Request:
        return Request(messages=messages, sample=rendered.sample, trial=trial)

    def _load(self, part: Part) -> Part:
        if not isinstance(part, ImageRef) or self._is_passed(part):
            return part
        return self._images.load(part)

    def _is_passed(self, ref: ImageRef) -> bool:
        """Whether the URL itself is sent. A crop has none."""
        return self._pass_urls and ref.kind == "url" and ref.box is None and not ref.refused

    def _make_key(self, written: Sequence[Mapping[str, Any]], trial: int) -> str:
        """The key of what is asked: it changes with anything that could change the answer."""
        asked = [{"role": turn["role"], "parts": [*map(_read_content, turn["parts"])]} for turn in written]
        digest = hashlib.sha256(self._identity)
        digest.update(msgspec.json.encode([asked, trial], order="deterministic"))
        return digest.hexdigest()

    def _make_recipe(self, asked: Sequence[Any], trial: int) -> str:
        digest = hashlib.sha256(self._identity)
        digest.update(msgspec.json.encode([asked, trial]))
        return digest.hexdigest()[:32]

    def _identify(self, part: Part) -> str | list[str]:
        if isinstance(part, str):
            return part
        if isinstance(part, ImageRef) and self._is_passed(part):
            return ["url", part.location]
        return [part.sha256 if isinstance(part, Image) else self._images.fingerprint(part)]


def has_small_images(task: Task) -> bool:
    """Whether its images, as far as one can tell without opening them, are local and small."""
    return all(ref.kind in _LOCAL and ref.length <= _SMALL_CELL for ref in task.sample.images)


def _join_trials(trials: Sequence[Prepared]) -> Prepared:
    """The trials of a sample as one: the first, with the others as its siblings."""
    first, *others = trials
    return msgspec.structs.replace(first, siblings=tuple(others)) if others else first


class LookPreparer(Preparer):
    """Prepares tasks of a look run: the loop itself loads images, from their originals (engine/look.py)."""

    def __init__(self, prompt: Prompt, images: OriginalImages, identity: Mapping[str, Any]) -> None:
        super().__init__(prompt, images, identity, is_slow=True)
        self._originals = images

    def load(self, rendered: Rendered) -> Prepared:
        if MODELS_TURN not in rendered.messages:
            return super().load(rendered)
        failure = Failure(stage="render", reason="a question in rounds cannot be asked with --look")
        tasks = (rendered.task, *rendered.task.siblings)
        return _join_trials([Prepared(task=task, failure=failure) for task in tasks])

    def _make_request(self, messages: tuple[Message, ...], rendered: Rendered, trial: int) -> Request:
        originals = [ref for turn in rendered.messages for ref in turn.images if isinstance(ref, ImageRef)]
        return Request(messages=messages, sample=rendered.sample, trial=trial, originals=tuple(originals))

    def _load(self, part: Part) -> Part:
        return self._originals.describe(part) if isinstance(part, ImageRef) else part


def write_turn(turn: Message) -> dict[str, Any]:
    """A turn as the journal keeps it: text in full, images by their record."""
    parts: list[dict[str, Any]] = []
    for part in turn.parts:
        if isinstance(part, str):
            parts.append({"text": part})
        else:
            sent = {"url": part.location} if isinstance(part, ImageRef) else part.record()
            parts.append({"image": sent})
    calls = [{"name": one.name, "arguments": one.arguments} for one in turn.calls]
    return {"role": turn.role, "parts": parts, **({"calls": calls} if calls else {})}


def _read_content(part: Mapping[str, Any]) -> object:
    """What a part asks: its text, or the content of its image wherever that came from."""
    if "text" in part:
        return part["text"]
    image = part["image"]
    return ["url", image["url"]] if "url" in image else [image["sha256"], image["mime"]]


def _failure(stage: Stage, err: BaseException) -> Failure:
    text = str(err) if isinstance(err, EyechartError) else f"{type(err).__name__}: {err}"
    return Failure(stage=stage, reason=text)


# -- Prefetching: tasks are prepared ahead of the requests, within a limit of bytes.

_QUICK_S = 0.002  # ten times what a quick task takes; more means a slow disk, or decoding
_SLOW_ONES = 8  # of the last 32 are no accident, such as the first one, which imports decoders
_QUICK_BYTES = 512 * 1024
# Prepared one right after the other, tasks take half as long as one by one between requests: the processor's
# caches then hold what one kind of work needs. The limits keep the event loop responsive.
_BATCH = 32
_BATCH_S = 0.003
_TURN_S = 0.01  # after so much work, yield to the event loop: thousands of replies may have arrived


class Prefetcher(Generic[Item]):
    """Prepares tasks, in `n_threads` threads where they take time; workers take them as an async iterator."""

    def __init__(
        self,
        tasks: Iterator[Task],
        prepare: Callable[[Task], Item],
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
        self._here: deque[Item] = deque()  # prepared in the event loop, and not taken yet
        self._loop = asyncio.get_running_loop()
        self._ready: asyncio.Queue[Item | BaseException | None] = asyncio.Queue()

    async def __aiter__(self) -> AsyncIterator[Item]:
        """Prepared tasks, in about the order they came; each must be released when it is done with.

        Several may iterate at once: each task goes to one of them, the end to all.
        """
        while not self._is_stopped and (self._here or not self._is_over):
            if self._is_turn_over():
                await asyncio.sleep(0)
                continue
            if not (self._here or self._is_threaded or self._trouble):
                self._prepare_batch()
            item = self._here.popleft() if self._here else await self._take()
            if item is not None:
                yield item
                item = None  # its images must not stay in memory while we wait for the next one

    def release(self, item: Item) -> None:
        """Free the room that an item took."""
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
        """Prepare nothing more, and end all iterations at once: a slow disk must not delay the end."""
        self._close()
        if self._is_threaded:
            self._hand_over(None)
        else:
            self._close_source()

    def _is_turn_over(self) -> bool:
        """Whether all workers together have run long enough since the event loop last came round."""
        now = time.perf_counter()
        if not self._turn_ends_at:
            self._turn_ends_at = now + _TURN_S
            self._loop.call_soon(self._end_turn)
        return now > self._turn_ends_at

    def _end_turn(self) -> None:
        self._turn_ends_at = 0.0

    def _prepare_batch(self) -> None:
        """Prepare the next ones, up to the end, an error, or where threads have to take over."""
        until = time.perf_counter() + _BATCH_S
        for _ in range(min(_BATCH, self._max_items)):
            if not self._prepare_here() or time.perf_counter() > until:
                return

    def _prepare_here(self) -> bool:
        """Prepare the next one; whether one more can be prepared here."""
        start = time.perf_counter()
        try:
            task = next(self._tasks, None)
            if task is None:
                self._is_over = True
                self._close_source()
                return False
            if not self._is_quick(task) or self._n_bytes >= self._max_bytes:
                self._tasks = itertools.chain([task], self._tasks)
                self._start_threads()
                return False
            item = self._prepare(task)
        except Exception as err:  # those before it can still be sent
            self._trouble = err
            return False
        self._here.append(item)
        self._n_items += 1
        self._n_bytes += item.n_bytes
        self._slow = (self._slow << 1 | (time.perf_counter() - start > _QUICK_S)) & 0xFFFFFFFF
        if self._slow.bit_count() >= _SLOW_ONES or item.n_bytes > _QUICK_BYTES:
            self._start_threads()
        return not self._is_threaded

    async def _take(self) -> Item | None:
        if self._trouble is not None:  # for one worker; the others see the end
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
                del item  # its images must not stay in memory while we wait for room
        except BaseException as err:  # it is raised in the event loop, which waits for us
            claim.release()
            self._hand_over(err)
        finally:
            self._leave()

    def _keep_claim(self, item: Item, claim: Claim) -> None:
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
            # One item is always let through: an image larger than the limit must still be sent.
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
        """The last thread to end closes the source, and says so."""
        with self._room:
            self._n_working -= 1
            is_last = self._n_working == 0
        if is_last:
            self._close_source()
            self._hand_over(None)

    def _close_source(self) -> None:
        """Close the source, which may hold a file open, and what preparing opened: no thread prepares now."""
        if isinstance(self._origin, Generator):
            self._origin.close()
        self._on_end()

    def _close(self) -> None:
        with self._room:
            self._is_stopped = True
            claims, self._claims = [*self._claims.values()], {}
            self._room.notify_all()
        for claim in claims:
            claim.release()

    def _has_room(self) -> bool:
        return self._n_items < self._max_items and self._n_bytes < self._max_bytes

    def _hand_over(self, item: Item | BaseException | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._ready.put_nowait, item)
        except RuntimeError:  # the loop is closed
            self._close()
