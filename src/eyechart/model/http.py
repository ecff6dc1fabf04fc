"""HTTP/1.1 to one address over kept-alive connections: all that asking an endpoint takes, and no more.

A general client spends twice the time of everything else we do for a request. This one sends a body that is
ready, in pieces, and reads the answer with the parser that Node.js and uvicorn use.
"""

from __future__ import annotations

import asyncio
import ssl
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlsplit

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MAX_ANSWER_BYTES = 64 * 2**20  # an endpoint that sends more has gone wrong, or means harm

_CONNECT_S = 30.0
_CLOSE_S = 2.0
_IDLE_S = 4.0  # servers hang up after five seconds or more; a request must not cross that on its way
SMALL = 128 * 1024  # bodies below this are sent in one go, together with the head
_SLICE = 256 * 1024  # of a large one: what may wait in a socket's buffer while the loop turns to others
_INFORMATIONAL = range(100, 200)
_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # zlib's word for: look which it is


class Unreachable(Exception):
    """Nobody could be reached there."""


class Broken(Exception):
    """A connection that ended too early, or an answer that is no HTTP."""


@dataclass(frozen=True, slots=True)
class Response:
    """What came back. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Http:
    """One address. As many connections as there are requests under way."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._host = parts.hostname
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._head = _head(parts.path or "/", parts.netloc, headers)
        self._idle: list[_Connection] = []
        self._open: set[_Connection] = set()
        self._is_closed = False

    async def post(self, pieces: Sequence[bytes]) -> Response:
        """Send a body, and wait for the answer; raises `Unreachable` or `Broken`."""
        connection = self._take() or await self._connect()
        try:
            response = await connection.exchange(self._head, pieces)
        except BaseException:  # also when we were told to wait no longer: the answer may still come
            connection.abort()
            raise
        if connection.is_reusable and not self._is_closed:
            self._idle.append(connection)
        else:
            connection.abort()
        return response

    async def close(self) -> None:
        """Close the connections, and wait until the loop has let go of them: it may be closed next."""
        self._is_closed = True
        self._idle.clear()
        leaving = [connection.gone for connection in self._open]
        for connection in tuple(self._open):
            connection.abort()
        if leaving:
            await asyncio.wait(leaving, timeout=_CLOSE_S)

    def _take(self) -> _Connection | None:
        """A connection that is open and was not left alone for long; the one that was used last."""
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and time.monotonic() - connection.idle_since < _IDLE_S:
                return connection
            connection.abort()
        return None

    async def _connect(self) -> _Connection:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_CONNECT_S):
                _, connection = await loop.create_connection(
                    lambda: _Connection(loop, self._open), self._host, self._port, ssl=self._tls
                )
        except TimeoutError:
            raise Unreachable(f"no connection within {_CONNECT_S:g} s") from None
        except OSError as err:  # refused, no such host, no route, a certificate that is not to be trusted
            raise Unreachable(_plain(err)) from err
        return connection


def _head(path: str, host: str, headers: Mapping[str, str]) -> bytes:
    """All of a request's head but the length of its body."""
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}", "Accept-Encoding: identity"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if any("\r" in line or "\n" in line for line in lines):
        raise ValueError("a header cannot hold a line break")
    return "\r\n".join([*lines, "Content-Length: "]).encode("latin-1")


class _Connection(asyncio.Protocol):
    """One connection, with one request at a time on it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, of: set[_Connection]) -> None:
        self.is_open = False
        self.gone: asyncio.Future[None] = loop.create_future()
        self._of = of  # all that are open
        self.is_reusable = False
        self.idle_since = 0.0
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Response] | None = None
        self._room: asyncio.Future[None] | None = None  # set while the socket takes no more
        self._is_sent = True
        self._parser: HttpResponseParser | None = None
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._n_bytes = 0
        self._is_head_read = False

    # -- a request ---------------------------------------------------------------------------------

    async def exchange(self, head: bytes, pieces: Sequence[bytes]) -> Response:
        """Send a request, and wait for its answer."""
        transport = self._transport
        if transport is None or not self.is_open:
            raise Broken("the connection was closed")
        self.is_reusable = False
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._answer = answer
        self._expect_head()
        n_bytes = sum(map(len, pieces))
        start = b"%b%d\r\n\r\n" % (head, n_bytes)
        if n_bytes < SMALL:
            transport.write(b"".join((start, *pieces)))
        else:
            self._is_sent = False
            await self._send(transport, (start, *pieces))
        return await answer

    async def _send(self, transport: asyncio.Transport, pieces: Sequence[bytes]) -> None:
        """As fast as the other side takes it, and no longer than until it has answered."""
        assert self._answer is not None
        for piece in pieces:
            view = memoryview(piece)
            for start in range(0, len(view), _SLICE):
                if self._answer.done():
                    return  # refused before it was read to its end
                transport.write(view[start : start + _SLICE])
                if self._room is not None:
                    await self._room
        self._is_sent = True

    def abort(self) -> None:
        """Hang up."""
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()
        if self._answer is not None and not self._answer.done():
            self._answer.cancel()

    # -- what asyncio tells us ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are so in deed, not in name
        self.is_open = True
        self._of.add(self)

    def data_received(self, data: bytes) -> None:
        if self._parser is None:  # words that nobody asked for
            self.abort()
            return
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._fail("it wants to speak another protocol")
        except HttpParserError as err:
            self._fail(f"the answer is no HTTP ({err})")

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._of.discard(self)
        if not self.gone.done():
            self.gone.set_result(None)
        if self._is_head_read and exc is None and self._ends_with_connection():
            self._finish()
        self._fail(_plain(exc) if isinstance(exc, OSError) else "the server closed the connection")

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    # -- what the parser tells us ------------------------------------------------------------------

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._is_head_read = True

    def on_body(self, body: bytes) -> None:
        self._n_bytes += len(body)
        if self._n_bytes > MAX_ANSWER_BYTES:
            self._fail(f"an answer of more than {MAX_ANSWER_BYTES // 2**20} MB")
            return
        self._body.append(body)

    def on_message_complete(self) -> None:
        assert self._parser is not None
        if self._parser.get_status_code() in _INFORMATIONAL:
            self._expect_head()  # the answer itself comes next
            return
        self.is_reusable = self.is_open and self._is_sent and self._parser.should_keep_alive()
        self._finish()

    # -- the answer --------------------------------------------------------------------------------

    def _expect_head(self) -> None:
        self._parser = HttpResponseParser(self)
        self._headers = {}
        self._body = []
        self._n_bytes = 0
        self._is_head_read = False

    def _ends_with_connection(self) -> bool:
        """Whether nothing but its end says how long the answer is."""
        return "content-length" not in self._headers and "transfer-encoding" not in self._headers

    def _finish(self) -> None:
        parser, self._parser = self._parser, None
        answer = self._answer
        if answer is None or answer.done() or parser is None:
            return
        self.idle_since = time.monotonic()
        try:
            content = _unpacked(b"".join(self._body), self._headers.get("content-encoding", ""))
        except (zlib.error, ValueError) as err:
            self._fail(f"the answer cannot be unpacked ({err})")
            return
        self._body = []
        answer.set_result(Response(parser.get_status_code(), self._headers, content))
        self.resume_writing()

    def _fail(self, why: str) -> None:
        self.is_reusable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Broken(why))
        self.resume_writing()


def _unpacked(content: bytes, encoding: str) -> bytes:
    """Some servers pack their answers though they were told not to."""
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return content
    unpacker = zlib.decompressobj(_GZIP_OR_ZLIB)
    unpacked = unpacker.decompress(content, MAX_ANSWER_BYTES)
    if unpacker.unconsumed_tail:
        raise ValueError(f"more than {MAX_ANSWER_BYTES // 2**20} MB")
    return unpacked


def _plain(err: OSError) -> str:
    return err.strerror or str(err) or type(err).__name__
