"""Batch APIs: OpenAI's batch files and Anthropic's message batches.

Both take many requests at once, answer within a day, and charge half the price. A `BatchApi` speaks one of
them for one model: write the requests to a file, submit it, check its progress, read the results. The engine
decides when (engine/batch.py). Files are streamed, so a batch is never in memory as a whole.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
import tempfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar
from urllib.parse import quote, urlencode

import aiohttp
import msgspec

from eyechart.errors import ModelError, StoreError
from eyechart.models.http import GZIP_OR_ZLIB, Response, is_compressed
from eyechart.models.specs import strip_password
from eyechart.types import Reply

if TYPE_CHECKING:
    from eyechart.models.chat import ChatEndpoint

T = TypeVar("T")

_PIECE = 1024 * 1024
_MAX_LINE = 64 * 2**20  # as of an answer of its own
_PER_RESULT = 4 * 2**20  # of a file of results, on average
_MAX_PAGES = 100  # of the list of batches, a hundred each
_CLOCKS_S = 300.0  # by how much two clocks may differ
_WAIT_S = 5.0
_ID = re.compile(r"[\w.-]{1,200}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is."""

    is_ended: bool
    n_done: int = 0
    trouble: str = ""  # why none or not all of it was processed


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of one request: a reply, or an error."""

    custom_id: str
    reply: Reply | None = None
    error: ModelError | None = None


class BatchApi(ABC):
    """The batches of one model."""

    max_requests: ClassVar[int]
    max_bytes: ClassVar[int]
    # Around and between the requests in a file.
    opening: ClassVar[bytes] = b""
    separator: ClassVar[bytes] = b"\n"
    closing: ClassVar[bytes] = b"\n"
    path: ClassVar[str]  # of the batches
    cursor: ClassVar[str]  # of their list: what its next page begins after
    has_names: ClassVar[bool]  # so that looking for one costs nothing
    batch: ClassVar[type[Any]]  # what the API says of one
    page: ClassVar[type[Any]]  # of the list
    line: ClassVar[type[Any]]  # of a file of results

    def __init__(self, endpoint: ChatEndpoint, folder: Path) -> None:
        self.endpoint = endpoint
        self._folder = folder  # for files of results
        self._session: aiohttp.ClientSession | None = None

    # -- what an API defines

    @abstractmethod
    def wrap(self, custom_id: str, body: Sequence[bytes]) -> list[bytes]:
        """A request as it stands in a file."""

    async def upload(self, path: Path, name: str) -> str:
        """Send a file of requests, of which no batch is made yet; returns its id, if the API has files."""
        return ""

    @abstractmethod
    async def submit(self, path: Path, uploaded: str, name: str) -> str:
        """Submit the requests of a file; returns the id of the batch."""

    @abstractmethod
    async def is_named(self, batch: Any, name: str, n: int) -> bool:
        """Whether a batch is the one of `n` requests that was submitted under this name."""

    @abstractmethod
    async def look(self, number: str) -> BatchState:
        """How far a batch is."""

    @abstractmethod
    async def list_files(self, number: str) -> list[str]:
        """The paths of the results of a batch that has ended."""

    @abstractmethod
    def read_line(self, said: Any) -> Response:
        """A result as the response to a single request would have been; raises if there is none."""

    # -- for all

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def find(self, name: str, n: int, since: float, known: set[str]) -> str | None:
        """The id of the batch of `n` requests that was submitted under this name; None if none was.

        It was not submitted before `since`; `known` are the ids of others. Raises a `ModelError` if the
        answers do not tell.
        """
        after = ""
        for _ in range(_MAX_PAGES):
            asked = urlencode({"limit": 100, **({self.cursor: after} if after else {})})
            page = await self.call("GET", f"{self.path}?{asked}", self.page)
            is_recent = False
            for batch in page.data:
                is_recent = _read_time(batch.created_at) >= since - _CLOCKS_S
                may_be = (is_recent or self.has_names) and batch.id not in known
                if may_be and await self.is_named(batch, name, n):
                    return str(batch.id)
                after = batch.id
            if not page.has_more or not is_recent:
                return None
        raise ModelError(f"the batch {name} is not among the latest {100 * _MAX_PAGES:,} of the account")

    async def results(self, number: str, n: int) -> AsyncIterator[BatchResult]:
        """The results of a batch of `n` requests that has ended, in any order. Some may be missing."""
        for path in await self.list_files(number):
            async for line in self._read_lines(path, n):
                try:
                    said = msgspec.json.decode(line, type=self.line)
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    continue
                try:
                    yield BatchResult(said.custom_id, self.endpoint.read_response(self.read_line(said)))
                except ModelError as err:
                    yield BatchResult(said.custom_id, error=err)

    async def get(self, number: str) -> Any:
        """What the API says of a batch. At our own base URL: the key must not go where an answer says."""
        return await self.call("GET", f"{self.path}/{check_id(number)}", self.batch)

    async def call(self, method: str, path: str, kind: type[Any], **body: Any) -> Any:
        """Send a request about batches and decode the answer; raises a `ModelError`."""
        async with self._send(method, path, **body) as response:
            content = b"".join([piece async for piece in self._read_body(response, _MAX_LINE)])
        try:
            return msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as err:
            raise ModelError(
                f"the response from {self.endpoint.base_url}{path} is not what its API documents ({err})",
                hint=f"does {self.endpoint.base_url} have a batch API? Leave out --batch if it does not",
                is_retryable=True,
            ) from err

    async def _read_lines(self, path: str, n: int) -> AsyncIterator[bytes]:
        """The lines of a file of `n` results, downloaded first: reading takes longer than a server waits.

        It is kept beside the journal, where there is room for the run.
        """
        with tempfile.TemporaryFile(dir=self._folder) as file:
            async with self._send("GET", path) as response:
                async for piece in self._read_body(response, _MAX_LINE + n * _PER_RESULT):
                    try:
                        file.write(piece)
                    except OSError as err:
                        raise StoreError(
                            f"{self._folder}: {err.strerror} while results of a batch are downloaded",
                            hint="free some space; the same command collects the batch",
                        ) from err
            file.seek(0)
            while line := file.readline(_MAX_LINE):
                if line.strip():
                    yield line

    @contextlib.asynccontextmanager
    async def _send(self, method: str, path: str, **body: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        endpoint = self.endpoint
        headers = dict(endpoint.headers)
        if "form" in body:  # it has its own type
            del headers["Content-Type"]
        try:
            async with self._connect().request(
                method,
                endpoint.base_url + path,
                headers=headers,
                proxy=endpoint.proxy,
                allow_redirects=False,
                data=body.get("form") or body.get("data"),
                json=body.get("json"),
            ) as response:
                if response.status != 200:
                    said = b""  # as far as it can be read: the status alone says enough
                    with contextlib.suppress(ModelError, aiohttp.ClientError, TimeoutError, OSError):
                        async for piece in self._read_body(response, _PIECE):
                            said += piece
                    answered = {name.lower(): value for name, value in response.headers.items()}
                    raise endpoint.build_error(Response(response.status, answered, said))
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as err:
            why = strip_password(" ".join(str(err).split())) or type(err).__name__
            is_unreachable = isinstance(err, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
            what = "cannot reach" if is_unreachable else "no complete response from"
            raise ModelError(
                f"{what} {endpoint.base_url}: {why}", is_retryable=True, is_unreachable=is_unreachable
            ) from err

    async def _read_body(self, response: aiohttp.ClientResponse, limit: int) -> AsyncIterator[bytes]:
        """The body to its end, in pieces, decompressed; raises if it is cut off or exceeds `limit` bytes."""
        encoding = response.headers.get("Content-Encoding", "")
        unpacker = zlib.decompressobj(GZIP_OR_ZLIB) if is_compressed(encoding) else None
        where, n_bytes = f"the response from {response.url.with_query(None)}", 0
        async for piece in response.content.iter_any():
            packed = piece
            while packed:
                try:
                    text = unpacker.decompress(packed, _PIECE) if unpacker else packed
                except zlib.error as err:
                    raise ModelError(f"{where} cannot be decompressed ({err})", is_retryable=True) from err
                packed = unpacker.unconsumed_tail if unpacker else b""
                n_bytes += len(text)
                if n_bytes > limit:
                    raise ModelError(f"{where} exceeds {limit // 2**20:,} MB")
                yield text
        if unpacker and n_bytes:
            yield unpacker.flush()  # a few bytes, where a piece was full
            if not unpacker.eof:
                raise ModelError(f"{where} cannot be decompressed: it is truncated", is_retryable=True)

    def _connect(self) -> aiohttp.ClientSession:
        if self._session is None:
            is_safe = self.endpoint.base_url.startswith("https:")
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=ssl.create_default_context() if is_safe else True),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=600),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Accept-Encoding": "gzip"},
                auto_decompress=False,  # aiohttp's way lets bodies pass that end too early
            )
        return self._session


class Page(msgspec.Struct, Generic[T]):
    """A part of a list, the latest first."""

    data: list[T]
    has_more: bool = False


def check_id(said: str) -> str:
    """An id that a server chose, which becomes part of a URL."""
    if not _ID.fullmatch(said):
        raise ModelError(f"{said!r} is not the id of a batch or a file")
    return quote(said, safe="")


def _read_time(said: float | str | None) -> float:
    """When a batch was made; if that is not said, it may be now."""
    try:
        return datetime.fromisoformat(said).timestamp() if isinstance(said, str) else float(said or "inf")
    except ValueError:
        return float("inf")


# -- OpenAI: a file of requests, a batch of that file, a file of results and one of errors


class _Made(msgspec.Struct):
    id: str


class _Counts(msgspec.Struct):
    completed: int = 0
    failed: int = 0


class _BatchError(msgspec.Struct):
    code: str | None = None
    message: str | None = None
    line: int | None = None


class _BatchErrors(msgspec.Struct):
    data: list[_BatchError] = []


class _OpenAIBatch(msgspec.Struct):
    id: str
    status: str = ""
    errors: _BatchErrors | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: _Counts | None = None
    metadata: dict[str, Any] | None = None
    created_at: float | None = None


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw


class _OpenAILine(msgspec.Struct):
    custom_id: str
    response: _Response | None = None
    error: _BatchError | None = None


_ENDED = {
    "completed": "",
    "failed": "the batch was refused",
    "expired": "the batch expired: not all of it was processed in time",
    "cancelled": "the batch was cancelled",
}


class OpenAIBatches(BatchApi):
    """https://platform.openai.com/docs/guides/batch: 50,000 requests or 200 MB per file."""

    max_requests = 50_000
    max_bytes = 200 * 10**6
    path = "/batches"
    cursor = "after"
    has_names = True
    batch = _OpenAIBatch
    page = Page[_OpenAIBatch]
    line = _OpenAILine

    def wrap(self, custom_id: str, body: Sequence[bytes]) -> list[bytes]:
        head = f'{{"custom_id":"{custom_id}","method":"POST","url":"/v1{self.endpoint.path}","body":'
        return [head.encode(), *body, b"}"]

    async def upload(self, path: Path, name: str) -> str:
        with path.open("rb") as file:
            form = aiohttp.FormData()
            form.add_field("purpose", "batch")
            form.add_field("file", file, filename=f"{name}.jsonl", content_type="application/jsonl")
            return str((await self.call("POST", "/files", _Made, form=form)).id)

    async def submit(self, path: Path, uploaded: str, name: str) -> str:
        batch = {
            "input_file_id": uploaded,
            "endpoint": f"/v1{self.endpoint.path}",
            "completion_window": "24h",
            "metadata": {"eyechart": name},
        }
        return str((await self.call("POST", "/batches", _Made, json=batch)).id)

    async def is_named(self, batch: _OpenAIBatch, name: str, n: int) -> bool:
        return (batch.metadata or {}).get("eyechart") == name

    async def look(self, number: str) -> BatchState:
        batch: _OpenAIBatch = await self.get(number)
        counts = batch.request_counts or _Counts()
        trouble = _ENDED.get(batch.status, "")
        errors = batch.errors.data if batch.errors else []
        said = [f"{one.message or one.code}" + (f" (line {one.line})" if one.line else "") for one in errors]
        if said:
            trouble = f"{trouble or 'the batch'}: {'; '.join(said[:3])}"
        return BatchState(batch.status in _ENDED, counts.completed + counts.failed, trouble)

    async def list_files(self, number: str) -> list[str]:
        batch: _OpenAIBatch = await self.get(number)
        n_completed = batch.request_counts.completed if batch.request_counts else 0
        if batch.status == "completed" and n_completed and not batch.output_file_id:
            raise ModelError(f"the batch {number} does not name its file of results", is_retryable=True)
        files = filter(None, (batch.output_file_id, batch.error_file_id))
        return [f"/files/{check_id(file)}/content" for file in files]

    def read_line(self, said: _OpenAILine) -> Response:
        if said.response is None:
            error = said.error or _BatchError()
            why = error.message or error.code or "no reason given"
            raise ModelError(f"in the batch: {why}", is_retryable=error.code == "batch_expired")
        return Response(said.response.status_code, {}, bytes(said.response.body))


# -- Anthropic: requests in the body, results as lines


class _AnthropicCounts(msgspec.Struct):
    processing: int = 0
    succeeded: int = 0
    errored: int = 0
    canceled: int = 0
    expired: int = 0


class _AnthropicBatch(msgspec.Struct):
    id: str
    processing_status: str = ""
    request_counts: _AnthropicCounts | None = None
    created_at: str = ""


class _Result(msgspec.Struct):
    type: str
    message: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None


class _AnthropicLine(msgspec.Struct):
    custom_id: str
    result: _Result


_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402,
    "permission_error": 403, "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429,
    "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
_WHY = {
    "expired": "the batch expired before it was processed",
    "canceled": "the batch was cancelled",
}


class AnthropicBatches(BatchApi):
    """https://docs.anthropic.com/en/docs/build-with-claude/batch-processing: 100,000 requests or 256 MB."""

    max_requests = 100_000
    max_bytes = 256 * 10**6
    opening = b'{"requests":['
    separator = b","
    closing = b"]}"
    path = "/messages/batches"
    cursor = "after_id"
    has_names = False
    batch = _AnthropicBatch
    page = Page[_AnthropicBatch]
    line = _AnthropicLine

    def wrap(self, custom_id: str, body: Sequence[bytes]) -> list[bytes]:
        return [f'{{"custom_id":"{custom_id}","params":'.encode(), *body, b"}"]

    async def submit(self, path: Path, uploaded: str, name: str) -> str:
        with path.open("rb") as file:
            return str((await self.call("POST", self.path, _Made, data=file)).id)

    async def is_named(self, batch: _AnthropicBatch, name: str, n: int) -> bool:
        """Its batches have no names: the ids of the requests tell, and those come with the results.

        So one of the same time and size has to be waited for.
        """
        if batch.request_counts is not None and sum(msgspec.structs.astuple(batch.request_counts)) != n:
            return False
        while batch.processing_status != "ended":
            await asyncio.sleep(_WAIT_S)
            batch = await self.get(batch.id)
        async for result in self.results(batch.id, n):
            return result.custom_id.startswith(f"{name}-")
        raise ModelError(f"the results of the batch {batch.id} cannot be read", is_retryable=True)

    async def look(self, number: str) -> BatchState:
        batch: _AnthropicBatch = await self.get(number)
        _, *done = msgspec.structs.astuple(batch.request_counts or _AnthropicCounts())
        return BatchState(batch.processing_status == "ended", sum(done))

    async def list_files(self, number: str) -> list[str]:
        return [f"{self.path}/{check_id(number)}/results"]

    def read_line(self, said: _AnthropicLine) -> Response:
        result = said.result
        if result.type == "succeeded":
            return Response(200, {}, bytes(result.message))
        if result.type == "errored":
            status = 400
            with contextlib.suppress(LookupError, TypeError):  # another one, or in another shape
                status = _STATUS[result.error["error"]["type"]]
            return Response(status, {}, msgspec.json.encode(result.error))
        raise ModelError(_WHY.get(result.type, f"the batch says {result.type!r}"), is_retryable=True)
