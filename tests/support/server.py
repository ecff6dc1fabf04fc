"""An OpenAI-compatible server for tests: answers what it is told to, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True)
class Answer:
    """What to send back: a completion with this text, or a raw response when `status` or `body` is given."""

    text: str | None = "A"
    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    finish_reason: str = "stop"
    drop: bool = False  # close the connection without an answer
    cut: bool = False  # close it in the middle of the answer
    after: threading.Event | None = None  # answer when this happens, or after ten seconds
    message: dict[str, Any] = field(default_factory=dict)  # further fields of the message
    others: tuple[str, ...] | None = None  # further choices, where more are asked for; None: the same again


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str
    query: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The words of the last turn."""
        content = self.body["messages"][-1]["content"]
        if isinstance(content, str):
            return content
        return "\n".join(part["text"] for part in content if part["type"] == "text")

    @property
    def images(self) -> list[str]:
        """The picture URLs of the last turn."""
        content = self.body["messages"][-1]["content"]
        parts = [] if isinstance(content, str) else content
        return [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]


class Server:
    """Runs in a thread of its own from ``with`` to the end of the block."""

    def __init__(self, answer: Callable[[Asked], Answer | str] = lambda asked: "A") -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self.answered: Counter[str] = Counter()  # by the words of the last turn: full answers given
        self.most_at_once = 0
        self.connections: set[object] = set()
        self._at_once = 0
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.base_url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        app = web.Application(client_max_size=2**30)
        self.add_routes(app)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        self._loop.run_until_complete(runner.setup())
        site = web.TCPSite(runner, "127.0.0.1", 0)
        self._loop.run_until_complete(site.start())
        port = runner.addresses[0][1]
        self.base_url = f"http://127.0.0.1:{port}/v1"
        self._started.set()
        self._loop.run_forever()
        self._loop.run_until_complete(runner.cleanup())
        self._loop.run_until_complete(self._end_all())
        self._loop.close()

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/{path:.*}", self._reply)

    @staticmethod
    async def _end_all() -> None:
        """Requests that nobody waits for any more."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        asked = Asked(
            json.loads(await request.read()), dict(request.headers), request.path, dict(request.query)
        )
        self.asked.append(asked)
        assert request.transport is not None
        self.connections.add(request.transport.get_extra_info("peername"))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            said = self.answer(asked)
            answer = Answer(said) if isinstance(said, str) else said
            if answer.delay_s:
                await asyncio.sleep(answer.delay_s)
            if answer.after is not None:
                await asyncio.to_thread(answer.after.wait, 100)
        finally:
            self._at_once -= 1
        is_cut = answer.cut and not asked.body.get("stream")
        if is_cut:
            await self._cut(request)
        if answer.drop or is_cut:
            if request.transport is not None:
                request.transport.abort()
        elif answer.status == 200 and answer.body is None:
            self.answered[asked.text] += 1
        n = int(asked.body.get("n", 1))
        if asked.body.get("stream") and answer.status == 200 and answer.body is None:
            return await self._stream(request, json.loads(self._completion(answer, n)), is_cut=answer.cut)
        body = answer.body if answer.body is not None else self._completion(answer, n)
        return web.Response(
            status=answer.status, body=body, headers=answer.headers, content_type="application/json"
        )

    @staticmethod
    async def _cut(request: web.Request) -> None:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices": [{"message": {"content": "A"')

    @staticmethod
    async def _stream(
        request: web.Request, completion: dict[str, Any], *, is_cut: bool
    ) -> web.StreamResponse:
        """The completion letter by letter; cut: all but its end."""
        usage, choices = completion.pop("usage"), completion.pop("choices")
        said = [
            {"index": one["index"], "delta": {"content": letter}}
            for one in choices
            for letter in one["message"]["content"]
        ]
        ends = [{**one, "message": None, "delta": {}} for one in choices]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for choice in said if is_cut else [*said, *ends]:
            await response.write(b"data: %b\n\n" % json.dumps({**completion, "choices": [choice]}).encode())
        if is_cut:
            await asyncio.sleep(0.01)
            assert request.transport is not None
            request.transport.abort()
        else:
            last = json.dumps({**completion, "choices": [], "usage": usage}).encode()
            await response.write(b"data: %b\n\ndata: [DONE]\n\n" % last)
        return response

    @staticmethod
    def _completion(answer: Answer, n: int) -> bytes:
        others = (answer.text,) * (n - 1) if answer.others is None else answer.others[: n - 1]
        messages = [
            {"role": "assistant", "content": text, **answer.message} for text in (answer.text, *others)
        ]
        return json.dumps(
            {
                "id": "x",
                "object": "chat.completion",
                "model": "test-model-1",
                "choices": [
                    {"index": index, "message": message, "finish_reason": answer.finish_reason}
                    for index, message in enumerate(messages)
                ],
                "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
            }
        ).encode()
