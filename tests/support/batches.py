"""Servers of OpenAI's and Anthropic's batch APIs for tests, strict about what their documentation says."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from support.server import Server

Body = dict[str, Any]
# A status and a body in place of an answer; None: no result at all.
Said = tuple[int, Body] | str | None


class BatchServer(Server):
    """Keeps batches, and answers them once `ready` is set."""

    max_requests = 50_000

    def __init__(self, reply: Callable[[Body], Said] = lambda body: "A") -> None:
        super().__init__()
        self.reply = reply
        self.ready = threading.Event()
        self.ready.set()
        self.batches: dict[str, list[tuple[str, Body]]] = {}
        self.names: dict[str, dict[str, str]] = {}
        self.times_asked: Counter[str] = Counter()  # by the text of the question
        self.n_looks = 0
        self.is_deaf = False  # accepts a batch, and closes the connection without saying so
        self.failing: list[int] = []  # statuses of the next answers about batches
        self.refused = ""  # why every batch fails as a whole
        # By the name of a handler: what to say in place of its answer, what to do to the compressed one.
        self.spoiled: dict[str, Callable[[], web.Response]] = {}
        self.packed: dict[str, Callable[[bytes], bytes]] = {}
        self.problems: list[str] = []

    def get(self, name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
        """A handler, whose work is done whatever is said about it."""

        async def handle(request: web.Request) -> web.Response:
            said: web.Response = await getattr(self, name)(request)
            if name in self.packed:
                assert isinstance(said.body, bytes)
                packed = self.packed[name](gzip.compress(said.body))
                return web.Response(body=packed, headers={"Content-Encoding": "gzip"})
            return self.spoiled[name]() if name in self.spoiled else said

        return handle

    def _keep(self, requests: list[tuple[str, Body]], **names: str) -> str:
        number = f"batch_{len(self.batches)}"
        ids = [custom_id for custom_id, _ in requests]
        self._check(len(set(ids)) == len(ids), "custom ids are not unique")
        self._check(all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids), "a custom id is not one")
        self._check(0 < len(ids) <= self.max_requests, f"{len(ids)} requests in a batch")
        self.batches[number] = requests
        self.names[number] = names
        for _, body in requests:
            self.times_asked[text_of(body)] += 1
        return number

    def _check(self, is_right: bool, otherwise: str) -> None:
        if not is_right:
            self.problems.append(otherwise)

    def _fail(self) -> web.Response | None:
        if not self.failing:
            return None
        return web.json_response(
            {"error": {"type": "api_error", "message": "try later"}}, status=self.failing.pop(0)
        )

    async def _accepted(self, request: web.Request, said: Body) -> web.Response:
        if self.is_deaf:
            self.is_deaf = False
            assert request.transport is not None
            request.transport.abort()
            await asyncio.sleep(0)
        return web.json_response(said)


def text_of(body: Body) -> str:
    content = body["messages" if "messages" in body else "input"][-1]["content"]
    return content if isinstance(content, str) else "\n".join(one.get("text", "") for one in content)


class OpenAIBatchServer(BatchServer):
    endpoint = "/v1/chat/completions"

    def __init__(self, reply: Callable[[Body], Said] = lambda body: "A") -> None:
        super().__init__(reply)
        self.files: dict[str, bytes] = {}

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/files", self.get("upload"))
        app.router.add_post("/v1/batches", self.get("create"))
        app.router.add_get("/v1/batches", self.get("list"))
        app.router.add_get("/v1/batches/{id}", self.get("look"))
        app.router.add_get("/v1/files/{id}/content", self.get("download"))

    async def upload(self, request: web.Request) -> web.Response:
        self._check(request.headers.get("Authorization") == "Bearer k", "no key")
        fields = await request.post()
        self._check(fields.get("purpose") == "batch", "purpose is not batch")
        file = fields["file"]
        assert isinstance(file, web.FileField)
        self._check(file.filename.endswith(".jsonl"), "the file is no .jsonl")
        number = f"file-{len(self.files)}"
        self.files[number] = file.file.read()
        return web.json_response({"id": number, "object": "file", "purpose": "batch"})

    async def create(self, request: web.Request) -> web.Response:
        if (failed := self._fail()) is not None:
            return failed
        said = await request.json()
        self._check(said.keys() == {"input_file_id", "endpoint", "completion_window", "metadata"}, str(said))
        self._check((said["endpoint"], said["completion_window"]) == (self.endpoint, "24h"), str(said))
        requests = []
        for line in self.files[said["input_file_id"]].splitlines():
            one = json.loads(line)
            self._check(one.keys() == {"custom_id", "method", "url", "body"}, str(one.keys()))
            self._check((one["method"], one["url"]) == ("POST", said["endpoint"]), "not the batch's endpoint")
            requests.append((one["custom_id"], one["body"]))
        number = self._keep(requests, **said["metadata"])
        return await self._accepted(request, self.describe(number))

    def describe(self, number: str) -> Body:
        n = len(self.batches[number])
        is_over = self.ready.is_set()
        said: Body = {
            "id": number, "object": "batch", "status": "completed" if is_over else "in_progress",
            "metadata": self.names[number], "output_file_id": f"out-{number}" if is_over else None,
            "error_file_id": f"err-{number}" if is_over else None,
            "request_counts": {"total": n, "completed": n if is_over else 0, "failed": 0},
        }  # fmt: skip
        if self.refused:
            errors = {"object": "list", "data": [{"code": "token_limit_exceeded", "message": self.refused}]}
            said |= {"status": "failed", "errors": errors, "output_file_id": None, "error_file_id": None}
        return said

    async def look(self, request: web.Request) -> web.Response:
        self.n_looks += 1
        return self._fail() or web.json_response(self.describe(request.match_info["id"]))

    async def list(self, request: web.Request) -> web.Response:
        self._check(int(request.query["limit"]) <= 100, "more than 100 at once")
        data = [self.describe(number) for number in reversed(self.batches)]
        return web.json_response({"object": "list", "data": data, "has_more": False})

    async def download(self, request: web.Request) -> web.Response:
        kind, _, number = request.match_info["id"].partition("-")
        lines = []
        for custom_id, body in self.batches[number]:
            said = self.reply(body)
            if said is None or (kind == "out") == isinstance(said, tuple):
                continue
            status, answer = said if isinstance(said, tuple) else (200, self.complete(said))
            response = {"status_code": status, "request_id": "r", "body": answer}
            lines.append({"id": "x", "custom_id": custom_id, "response": response, "error": None})
        return web.Response(body="".join(json.dumps(line) + "\n" for line in reversed(lines)).encode())

    def complete(self, text: str) -> Body:
        return completion(text)


class ResponsesBatchServer(OpenAIBatchServer):
    endpoint = "/v1/responses"

    def complete(self, text: str) -> Body:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        return {"status": "completed", "output": [{"type": "message", "content": content}], "model": "m-1"}


def completion(text: str) -> Body:
    message = {"role": "assistant", "content": text, "refusal": None}
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    return {
        "id": "x", "object": "chat.completion", "model": "m-1", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }  # fmt: skip


class AnthropicBatchServer(BatchServer):
    max_requests = 100_000

    def add_routes(self, app: web.Application) -> None:
        app.router.add_post("/v1/messages/batches", self.get("create"))
        app.router.add_get("/v1/messages/batches", self.get("list"))
        app.router.add_get("/v1/messages/batches/{id}", self.get("look"))
        app.router.add_get("/v1/messages/batches/{id}/results", self.get("results"))

    async def create(self, request: web.Request) -> web.Response:
        if (failed := self._fail()) is not None:
            return failed
        self._check(request.headers.get("x-api-key") == "k", "no key")
        self._check(request.headers.get("anthropic-version") == "2026-10-21", "no version")
        self._check(request.headers.get("Content-Type") == "application/json", "no content type")
        said = await request.json()
        self._check(said.keys() == {"requests"}, str(said.keys()))
        for one in said["requests"]:
            self._check(one.keys() == {"custom_id", "params"}, str(one.keys()))
            self._check(
                {"model", "max_tokens", "messages"} <= one["params"].keys(), str(one["params"].keys())
            )
        number = self._keep([(one["custom_id"], one["params"]) for one in said["requests"]])
        return await self._accepted(request, self.describe(number))

    def describe(self, number: str) -> Body:
        n, is_over = len(self.batches[number]), self.ready.is_set()
        counts = {"processing": 0 if is_over else n, "succeeded": n if is_over else 0}
        return {
            "id": number, "type": "message_batch", "processing_status": "ended" if is_over else "in_progress",
            "request_counts": counts | {"errored": 0, "canceled": 0, "expired": 0},
            "created_at": "2999-01-01T00:00:00Z", "results_url": "https://elsewhere.example/results",
        }  # fmt: skip

    async def look(self, request: web.Request) -> web.Response:
        self.n_looks += 1
        return self._fail() or web.json_response(self.describe(request.match_info["id"]))

    async def list(self, request: web.Request) -> web.Response:
        data = [self.describe(number) for number in reversed(self.batches)]
        return web.json_response({"data": data, "has_more": False, "first_id": None, "last_id": None})

    async def results(self, request: web.Request) -> web.Response:
        lines = []
        for custom_id, body in self.batches[request.match_info["id"]]:
            said = self.reply(body)
            if said is None:
                result: Body = {"type": "expired"}
            elif isinstance(said, tuple):
                result = {"type": "errored", "error": {"type": "error", "error": said[1]}}
            else:
                usage = {"input_tokens": 1000, "output_tokens": 100}
                message = {
                    "content": [{"type": "text", "text": said}],
                    "stop_reason": "end_turn",
                    "usage": usage,
                }
                result = {"type": "succeeded", "message": {"model": "c-1", "role": "assistant", **message}}
            lines.append({"custom_id": custom_id, "result": result})
        return web.Response(body="".join(json.dumps(line) + "\n" for line in reversed(lines)).encode())
