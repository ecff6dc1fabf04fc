"""Look runs: a conversation whose next turn is computed from the model's last reply (look/dialogue.py).

Each request is a call like a round of any conversation: stored as soon as it is answered, and found again
when the run goes on. The dialogue itself is a generator without a state on disk: the same replies lead to the
same dialogue. Images are cut from the originals in threads, within the limit of memory, each original decoded
once per request.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import msgspec

from eyechart.engine.prepare import OriginalImages, write_turn
from eyechart.engine.retry import RequestResult, RetryingClient
from eyechart.engine.sample import Calls, join_rounds, make_key
from eyechart.errors import ImageError
from eyechart.look.crops import ProtocolError, Rules, View, usual_rules
from eyechart.look.dialogue import (
    Ask,
    Dialogue,
    Found,
    Heard,
    Locate,
    Outcome,
    Turn,
    find_answer,
    locate,
    start,
)
from eyechart.look.replies import CALL
from eyechart.look.wording import describe_tool, fill_words
from eyechart.memory import MemoryBudget, claim_image, reserve, return_large_blocks
from eyechart.store.journal import Ask as Asked
from eyechart.types import Image, Message, Model, Reply, Request

_THREADS = 4  # that cut and encode
_BYTES_PER_PIXEL = 10  # of a decoded original: Pillow takes four, as many to convert it, its file the rest
_MAX_DECODED_BYTES = 1024 * 2**20  # two originals of 50 megapixels; one larger than it is decoded alone
_MAX_HELD_BYTES = 512 * 2**20  # of images that dialogues keep for their next requests, and of these
_HELD_PER_PIXEL = 8  # at most, of an encoded image: base64 of three bytes, and again in a request


class LookSetup(msgspec.Struct, frozen=True, kw_only=True):
    """How a run looks: the rules of its dialogues, the user's own texts, and the model that finds regions."""

    rules: Rules
    words: Mapping[str, str] = msgspec.field(default_factory=dict)
    searcher: Model | None = None

    def identity(self, *, with_wording: bool = False) -> dict[str, Any]:
        """All that can change a dialogue besides the model: of the rules, what is not usual."""
        usual = asdict(usual_rules(self.rules.protocol))
        changed = {name: value for name, value in asdict(self.rules).items() if value != usual[name]}
        words: object = dict(self.words)
        if with_wording:  # ours may change with a later version: replies to other texts are other replies
            words = make_key(fill_words(self.words, self.rules))
        searcher = self.searcher and {"model": self.searcher.name, **self.searcher.identity}
        return {"protocol": self.rules.protocol, **changed, "words": words, "searcher": searcher}

    def describe(self) -> dict[str, Any]:
        """Its part of the manifest, with all settings and the version of the library that resizes."""
        from PIL import __version__

        searcher = self.searcher and {"model": self.searcher.name, "identity": dict(self.searcher.identity)}
        return {**asdict(self.rules), "words": dict(self.words), "searcher": searcher, "pillow": __version__}


class Looker:
    """Plays the dialogues of a run, any number at once."""

    def __init__(
        self, setup: LookSetup, images: OriginalImages, calls: Calls, searcher: RetryingClient | None = None
    ) -> None:
        self.rules = setup.rules
        self.words = fill_words(setup.words, setup.rules)
        self.calls = calls
        self.searcher = searcher
        self._images = images
        return_large_blocks()
        self._decoded = MemoryBudget(_MAX_DECODED_BYTES)
        self._threads = ThreadPoolExecutor(_THREADS, "eyechart-look")
        self.held = HeldBytes(_MAX_HELD_BYTES)

    async def converse(
        self, client: RetryingClient, request: Request, ask: Asked
    ) -> tuple[RequestResult, Asked]:
        """The dialogue about a question: the reply with its answer, and all that was asked."""
        conversation = _Conversation(self, client, request, ask)
        try:
            return await conversation.play()
        finally:
            self.held.release(conversation)

    async def draw(self, views: Sequence[View], request: Request) -> list[Image]:
        """The images of these views, from one decoding of each original; `ImageError` if one is damaged."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._draw, views, request)

    def _draw(self, views: Sequence[View], request: Request) -> list[Image]:
        drawn: dict[View, Image] = {}
        for source in dict.fromkeys(view.source for view in views):
            ref, own = request.originals[source], [view for view in views if view.source == source]
            with claim_image(self._decoded):
                # All at once: a claim that holds something is never kept waiting for more.
                reserve(_BYTES_PER_PIXEL * math.prod(own[0].original))
                original = self._images.open(ref)
                if original.mode != "RGB" and all(view.parent is None for view in own):
                    original = original.convert("RGB")  # here, so that the other pixels are not kept
                for view in own:
                    if original.size != view.original:
                        raise ImageError(f"{ref}: the image has changed", hint="start the run again")
                    drawn[view] = view.to_image(original, str(ref))
        return [drawn[view] for view in views]

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)  # no thread may be loading
        self._images.close()


@dataclass(slots=True, eq=False)
class _Conversation:
    """One dialogue on its way."""

    looker: Looker
    client: RetryingClient
    request: Request
    ask: Asked
    replies: list[Reply] = field(default_factory=list)
    n_attempts: int = 0
    n_searches: int = 0
    _drawn: dict[View, Image] = field(default_factory=dict)
    _last: Ask = field(default_factory=lambda: Ask(()))

    async def play(self) -> tuple[RequestResult, Asked]:
        rules = self.looker.rules
        system = "\n\n".join(turn.text for turn in self.request.messages if turn.role == "system")
        turns = [turn for turn in self.request.messages if turn.role != "system"]
        images = [part for turn in turns for part in turn.parts if isinstance(part, Image)]
        question = "\n".join(text for turn in turns if (text := turn.text))
        words = dict(self.looker.words)
        for name in ("system", "system_several", "zoom", "tools"):
            words[name] = "\n\n".join(filter(None, (system, words[name])))
        sizes = [(image.width, image.height) for image in images]
        outcome = await self._drive(start(question, sizes, rules, words), words)
        return self._settle(outcome)

    async def _drive(self, dialogue: Dialogue, words: Mapping[str, str]) -> Outcome:
        rules = self.looker.rules
        first = () if rules.protocol == "search" else (Turn("system", (words[rules.protocol],)),)
        heard: Heard | Found | None = None
        try:
            while True:
                step = dialogue.send(heard)
                if isinstance(step, Locate):
                    self.n_searches += 1
                    heard = await self._locate(step)
                else:
                    self._last = Ask((*first, *step.turns))
                    heard = await self._hear(self._last)
        except StopIteration as end:
            outcome: Outcome = end.value
            return replace(outcome, turns=(*first, *outcome.turns))
        except ProtocolError as err:  # as published, the whole dialogue is lost
            said = () if not self.replies else (Turn("assistant", (self.replies[-1].content,)),)
            turns = (*self._last.turns, *said)
            return Outcome(stop="error", is_critical=True, reasons=[err.message], turns=turns)

    async def _hear(self, asked: Ask) -> Heard:
        """The model's reply, kept for the end."""
        tools = (describe_tool(self.looker.words),) if self.looker.rules.protocol == "tools" else ()
        reply = await self._send(self.client, asked, f"round:{len(self.replies)}", self._drawn, tools)
        self.replies.append(reply)
        # Results refer to their calls by id; some servers give none, or the same again.
        n = len(self.replies)
        calls = tuple(replace(one, id=one.id or f"call-{n}-{k}") for k, one in enumerate(reply.calls))
        return Heard(reply.content, reply.finish_reason, calls)

    async def _locate(self, step: Locate) -> Found | None:
        """The searcher's box: a dialogue of its own, whose images are kept no longer than it."""
        assert self.looker.searcher is not None, "a search has one"
        search = locate(step, self.looker.rules, self.looker.words)
        drawn: dict[View, Image] = {}
        asked, n = next(search), 0
        try:
            while True:
                purpose = f"search:{self.n_searches - 1}.{n}"
                reply = await self._send(self.looker.searcher, asked, purpose, drawn)
                n += 1
                asked = search.send(Heard(reply.content, reply.finish_reason))
        except StopIteration as end:
            self.looker.held.free(self, _count_held(drawn.values()))
            found: Found | None = end.value
            return found

    async def _send(
        self,
        client: RetryingClient,
        asked: Ask,
        purpose: str,
        drawn: dict[View, Image],
        tools: tuple[Mapping[str, Any], ...] = (),
    ) -> Reply:
        views = dict.fromkeys(part for turn in asked.turns for part in turn.parts if isinstance(part, View))
        if new := [view for view in views if view not in drawn]:
            at_most = sum(_HELD_PER_PIXEL * math.prod(view.size) for view in new)
            await self.looker.held.add(self, at_most)
            images = await self.looker.draw(new, self.request)
            self.looker.held.free(self, at_most - _count_held(images))
            drawn |= dict(zip(new, images, strict=True))
        request = replace(
            self.request, messages=tuple(_write_message(turn, drawn) for turn in asked.turns), tools=tools
        )
        written = _write(asked.turns, drawn)
        key = make_key(purpose, self.ask.key, written)  # the same question again is another one
        reply, n_attempts = await self.looker.calls.ask(client, request, key, written, purpose)
        if n_attempts:  # the next request is not sent before this reply is on disk
            await self.looker.calls.written()
        self.n_attempts += n_attempts
        return reply

    def _settle(self, outcome: Outcome) -> tuple[RequestResult, Asked]:
        """The reply with the answer as its text: what official scorers see is the whole turn around it."""
        rules, said = self.looker.rules, outcome.said
        n_tried = sum(bool(turn.calls) or CALL in str(turn.parts[0]) for turn in said)
        # A request that fails is the failure of the sample: the authors' name is left for bad replies.
        stop = "no valid reply" if outcome.stop == "request failed" else outcome.stop or ""
        facts = {
            "protocol": rules.protocol,
            "stop": stop,
            "reasons": list(outcome.reasons),
            "critical": outcome.is_critical,
            "limit": rules.max_looks,
            "calls": n_tried,
            "requests": len(self.replies),
            "searches": self.n_searches,
        }
        span = find_answer(outcome, rules)
        turns, last = outcome.turns, join_rounds(self.replies[-1], self.replies[:-1])
        is_early = span is not None and span[0] < len(said) - 1
        if is_early:  # what the last reply was like says nothing about this one
            last = replace(last, finish_reason="stop", evidence={})
        content = self.replies[-1].content if span is None else str(said[span[0]].parts[0])
        begin, end = (0, 0) if span is None else span[1:]
        reply = replace(
            last,
            text=content[begin:end],
            tags=(content[:begin], content[end:]),
            evidence={**last.evidence, "look": {**facts, "answered": span is not None}},
        )
        is_whole = is_early or not turns or turns[-1].role != "assistant"
        written = _write(turns if is_whole else turns[:-1], self._drawn)
        return RequestResult([reply], self.n_attempts), msgspec.structs.replace(self.ask, messages=written)


def _write_message(turn: Turn, drawn: Mapping[View, Image]) -> Message:
    """A turn for the model. A result of a call that was written as text is the user's, as templates do it."""
    parts = tuple(drawn[part] if isinstance(part, View) else part for part in turn.parts)
    if turn.role == "tool" and not turn.answers:
        return Message("user", ("<tool_response>\n", *parts, "\n</tool_response>"))
    return Message(turn.role, parts, turn.calls, turn.answers)


def _write(turns: Sequence[Turn], drawn: Mapping[View, Image]) -> list[dict[str, Any]]:
    """The turns as the journal keeps them: images by their records, with the region that they show."""
    written = []
    for turn in turns:
        message = write_turn(_write_message(turn, drawn))
        views = iter([part for part in turn.parts if isinstance(part, View) and part in drawn])
        for part in message["parts"]:
            if "image" in part:
                part["image"]["look"] = next(views).describe()
        written.append(message)
    return written


def _count_held(images: Iterable[Image]) -> int:
    return 2 * sum(len(image.base64) for image in images)


class HeldBytes:
    """The images that dialogues keep for their next requests, and these, within a limit.

    A dialogue that would exceed it waits for others to end. The one that came first never waits, so that one
    of them can always go on.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._held: dict[object, int] = {}  # in order of arrival
        self._changed = asyncio.Event()

    async def add(self, owner: object, n_bytes: int) -> None:
        self._held[owner] = self._held.get(owner, 0) + n_bytes
        while sum(self._held.values()) > self._max_bytes and next(iter(self._held)) is not owner:
            self._changed.clear()
            await self._changed.wait()

    def free(self, owner: object, n_bytes: int) -> None:
        self._held[owner] -= n_bytes
        self._changed.set()

    def release(self, owner: object) -> None:
        self._held.pop(owner, None)
        self._changed.set()
