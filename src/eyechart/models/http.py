"""HTTP/1.1 to one address over kept-alive connections, perhaps by a proxy: what a request needs, and no more.

A general client takes twice the time of everything else that is done per request. Requests are sent in
pieces, responses are parsed with httptools (the parser of Node.js and uvicorn), and all input is bounded.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import ssl
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import cast
from urllib.parse import SplitResult, quote, unquote, urlsplit

import msgspec
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from eyechart.errors import ModelError
from eyechart.memory import LARGE_BYTES, Claim, current_claim
from eyechart.models.redact import is_secret

MAX_ANSWER_BYTES = 64 * 2**20  # an endpoint that sends more is broken, or hostile
MAX_HEAD_BYTES = 64 * 1024  # the same; counted by segments of the stream, so a little more may pass
SMALL = 128 * 1024  # bodies below this are sent in one go, together with the head
SLICE = 1024 * 1024  # of a larger one: what may wait in a socket's buffer while the loop turns to others
COPIES = 4  # of an answer at its worst moment: as it came, as one text, decoded, and written to the journal
IDLE_S = 4.0  # servers close idle connections after five seconds or more; a request must not meet that

OK = 200
Sink = Callable[[bytes], int]  # takes what came; returns how many bytes it holds in all

_CONNECT_S = 30.0
_CLOSE_S = 2.0
_BUFFER = 16 * 1024  # of each connection, for what comes in: answers are short
_UNKNOWN_BYTES = 4 * 2**20  # from here on, an answer without a length is taken for a very long one
_SURELY_SMALL = LARGE_BYTES // 1024  # compressed: nothing unpacks to much more than a thousand times that
GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS  # zlib detects which
_FIRST_OF_TLS = (b"\x15\x03", b"\x16\x03")  # an alert, a greeting
_UNTIL_CLOSED = frozenset({"content-length", "transfer-encoding"})  # else an answer ends with its connection
_IN_A_PATH = "/?:@!$&'()*+,;=%"  # these mean something there; others are written as %XX


class Unreachable(Exception):
    """No connection could be made."""


class Broken(Exception):
    """A connection that ended too early, or an answer that is not HTTP."""


class Response(msgspec.Struct, frozen=True):
    """What came back. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Http:
    """A client of one address, with as many connections as there are requests in flight."""

    def __init__(self, url: str, headers: Mapping[str, str], proxy: str | None = None) -> None:
        check_headers(headers)
        parts = urlsplit(url)
        self._host = _encode_host(parts.hostname or "")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._proxy = urlsplit(proxy) if proxy else None
        named = f"[{self._host}]" if ":" in self._host else self._host
        host = f"{named}:{parts.port}" if parts.port else named
        target = quote(f"{parts.path or '/'}{'?' * bool(parts.query)}{parts.query}", _IN_A_PATH)
        lines = [f"Host: {host}", "Accept-Encoding: identity", *(f"{k}: {v}" for k, v in headers.items())]
        if self._proxy is not None and self._tls is None:
            target = f"http://{host}{target}"
            lines += _authorize(self._proxy)
        self._head = "\r\n".join([f"POST {target} HTTP/1.1", *lines, "Content-Length: "]).encode("ascii")
        self._tunnel = f"{named}:{self._port}"  # that a proxy is asked for
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._is_closed = False

    async def post(self, pieces: Sequence[bytes], sink: Sink | None = None) -> Response:
        """Send a body, and wait for the answer; raises `Unreachable` or `Broken`.

        An answer of events goes to the `sink` as it comes, and is no part of the response.
        """
        connection = self._take() or await self._connect()
        try:
            response = await connection.exchange(self._head, pieces, sink)
        except BaseException:  # also when we were told to wait no longer: the answer may still come
            connection.abort()
            connection.forget_answer()
            raise
        if current_claim.get() is None:
            connection.forget_answer()
        if connection.is_reusable and not self._is_closed:
            self._idle.append(connection)
        else:
            connection.abort()
        return response

    async def close(self) -> None:
        """Close the connections, and wait until the loop has let go of them: it may be closed next."""
        self._is_closed = True
        self._stay_in_this_loop()
        self._idle.clear()
        leaving = [connection.gone for connection in self._open]
        for connection in tuple(self._open):
            connection.fail("closed by eyechart")
            connection.abort()
        if leaving:
            await asyncio.wait(leaving, timeout=_CLOSE_S)

    def _take(self) -> Connection | None:
        """A connection that is open and was not left alone for long; the one that was used last."""
        self._stay_in_this_loop()
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and time.monotonic() - connection.idle_since < IDLE_S:
                return connection
            connection.abort()
        return None

    def _stay_in_this_loop(self) -> None:
        """Connections of another event loop ended with it."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._idle, self._open = loop, [], set()

    async def _connect(self) -> Connection:
        loop, all_open = asyncio.get_running_loop(), self._open
        connection = Connection(loop, all_open)
        try:
            async with asyncio.timeout(_CONNECT_S):
                if self._proxy is None:
                    await loop.create_connection(lambda: connection, self._host, self._port, ssl=self._tls)
                elif self._tls is None:
                    await _reach_proxy(self._proxy, connection)
                else:
                    tunnel = await self._dig_tunnel(self._proxy)
                    transport = await loop.start_tls(
                        tunnel, connection, self._tls, server_hostname=self._host
                    )
                    assert transport is not None, "it raises if there is none"
                    connection.connection_made(transport)
            if self._is_closed:
                raise Broken("closed by eyechart")
        except BaseException as err:
            connection.abort()
            all_open.discard(connection)  # uvloop says nothing of the end of what had hardly begun
            if isinstance(err, TimeoutError):
                raise Unreachable(f"no connection within {_CONNECT_S:g} s") from None
            if isinstance(err, OSError):  # refused, no such host, no route, a certificate not to be trusted
                raise Unreachable(describe_os_error(err)) from err
            raise
        return connection

    async def _dig_tunnel(self, proxy: SplitResult) -> asyncio.Transport:
        """A connection to the server that goes through the proxy."""
        handshake = _Handshake()
        transport = await _reach_proxy(proxy, handshake)
        lines = [f"CONNECT {self._tunnel} HTTP/1.1", f"Host: {self._tunnel}", *_authorize(proxy), "\r\n"]
        transport.write("\r\n".join(lines).encode("ascii"))
        try:
            said = (await handshake.answer).partition(b"\r\n")[0].decode("latin-1")
            if not re.match(r"HTTP/1\.\d 2\d\d\b", said):
                raise Broken(f"the proxy {proxy.hostname} answered {said}")
        except BaseException:  # also when we were told to wait no longer
            transport.abort()
            raise
        return transport


class _Handshake(asyncio.Protocol):
    """What a proxy says to the wish for a tunnel."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._said = b""

    def data_received(self, data: bytes) -> None:
        self._said += data
        is_whole = b"\r\n\r\n" in self._said or len(self._said) > MAX_HEAD_BYTES
        if is_whole and not self.answer.done():
            self.answer.set_result(self._said)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.answer.done():
            self.answer.set_exception(Broken("the proxy closed the connection"))


async def _reach_proxy(proxy: SplitResult, protocol: asyncio.BaseProtocol) -> asyncio.Transport:
    host, port = proxy.hostname or "", proxy.port or (443 if proxy.scheme == "https" else 80)
    tls = ssl.create_default_context() if proxy.scheme == "https" else None
    try:
        made = await asyncio.get_running_loop().create_connection(lambda: protocol, host, port, ssl=tls)
    except OSError as err:
        raise Unreachable(f"the proxy {host}:{port}: {describe_os_error(err)}") from err
    return made[0]


def _authorize(proxy: SplitResult) -> list[str]:
    """The header with the user and the password of a proxy's URL, if it has one."""
    if proxy.username is None:
        return []
    told = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return [f"Proxy-Authorization: Basic {b64encode(told.encode()).decode()}"]


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse what would end a header, or arrive changed. The value may be a key: it is not shown."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            what = "API key" if is_secret(name) else f"header {name}"
            raise ModelError(
                f"the {what} cannot be sent: it holds a line break or a character that is not plain ASCII",
                hint="was it copied with quotation marks, or with the line below it?",
                is_fatal=True,
            )


def _encode_host(name: str) -> str:
    """A host as the name service and the server know it.

    >>> _encode_host("localhost"), _encode_host("::1"), _encode_host("bücher.example")
    ('localhost', '::1', 'xn--bcher-kva.example')
    """
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        raise ModelError(
            f"{name!r} is not a host name",
            hint="write the URL like http://localhost:8000/v1",
            is_fatal=True,
        ) from None


# -- one connection ---------------------------------------------------------------------------------


class Connection(asyncio.BufferedProtocol):
    """A kept-alive connection with one request at a time on it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, all_open: set[Connection]) -> None:
        self.is_open = False
        self.is_reusable = False
        self.idle_since = 0.0
        self.gone: asyncio.Future[None] = loop.create_future()
        self._loop = loop
        self._all_open = all_open
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Response] | None = None  # set while one is awaited
        self._room: asyncio.Future[None] | None = None  # set while the socket takes no more
        self._is_sent = True
        self._buffer = memoryview(bytearray(_BUFFER))  # asyncio's own would be 256 KB, made anew every time
        self._parser = HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._n_bytes = 0
        self._is_head_read = False
        self._sink: Sink | None = None
        self._is_streamed = False
        self._claim: Claim | None = None
        self._n_claimed = 0  # for this answer
        self._n_allowed = 0  # that may come in before more is asked for

    # -- a request ---------------------------------------------------------------------------------

    async def exchange(self, head: bytes, pieces: Sequence[bytes], sink: Sink | None = None) -> Response:
        """Send a request, and wait for its answer."""
        transport = self._transport
        if transport is None or not self.is_open:
            raise Broken("the server closed the connection")
        self.is_reusable = False
        self._n_bytes = 0
        self._n_claimed = 0
        self._n_allowed = LARGE_BYTES
        self._claim = current_claim.get()
        self._sink, self._is_streamed = sink, False
        answer: asyncio.Future[Response] = self._loop.create_future()
        self._answer = answer
        n_bytes = sum(map(len, pieces))
        start = b"%b%d\r\n\r\n" % (head, n_bytes)
        if n_bytes < SMALL:
            transport.write(b"".join((start, *pieces)))
        else:
            await self._send(transport, answer, (start, *pieces))
        return await answer

    async def _send(
        self, transport: asyncio.Transport, answer: asyncio.Future[Response], pieces: Sequence[bytes]
    ) -> None:
        """As fast as the other side takes it, and no longer than until it has answered."""
        self._is_sent = False
        for piece in pieces:
            view = memoryview(piece)
            for start in range(0, len(view), SLICE):
                if answer.done() or transport.is_closing():
                    return  # refused before it was read to its end
                transport.write(view[start : start + SLICE])
                try:
                    if self._room is not None:
                        await self._room
                    await asyncio.sleep(0)  # a refusal may have come: the next write would be in vain
                except BaseException:
                    _ = answer.cancel() or answer.exception()  # it will not be awaited
                    raise
        self._is_sent = True

    def abort(self) -> None:
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def forget_answer(self) -> None:
        """Give back the memory claimed for an answer that is not awaited any more, or not counted."""
        if self._n_claimed and self._claim is not None:
            self._claim.release()
            self._n_claimed = 0

    def fail(self, why: str) -> None:
        """End the wait for an answer with an error."""
        self.is_reusable = False
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(Broken(why))
        self.resume_writing()

    # -- what asyncio tells us ---------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are so in deed, not in name
        self.is_open = True
        self._all_open.add(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        data = self._buffer[:nbytes]
        if self._answer is None:  # data without a request
            self.abort()
            return
        self._n_bytes += nbytes
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.fail("the server switched to another protocol")
        except HttpParserError as err:
            is_tls = bytes(data).startswith(_FIRST_OF_TLS)
            self.fail("the server uses TLS: try https://" if is_tls else f"the response is not HTTP ({err})")
        if self._n_bytes > MAX_HEAD_BYTES:
            self._check_size()

    def eof_received(self) -> bool:
        self.abort()  # at once: what waits to be sent would hold up the end of the connection
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        self._all_open.discard(self)
        if not self.gone.done():
            self.gone.set_result(None)
        if self._is_head_read and exc is None and _UNTIL_CLOSED.isdisjoint(self._headers):
            self._finish()
        self.fail(describe_os_error(exc) if isinstance(exc, OSError) else "the server closed the connection")
        del self._parser  # it refers to us: the cycle would stay until the next garbage collection

    def pause_writing(self) -> None:
        self._room = self._loop.create_future()

    def resume_writing(self) -> None:
        room, self._room = self._room, None
        if room is not None and not room.done():
            room.set_result(None)

    # -- what the parser tells us ------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._answer is None:  # a second response without a request
            self.is_reusable = False
        self._headers = {}
        self._body = []
        self._is_head_read = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_head_read:  # else: what a server says after the body changes nothing about it
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._is_head_read = True
        is_fine = self._sink is not None and self._parser.get_status_code() == OK
        self._is_streamed = is_fine and is_event_stream(self._headers)

    def on_body(self, body: bytes) -> None:
        if self._is_streamed and self._sink is not None:
            self._n_bytes = self._sink(body)  # what it holds counts against the limits
        else:
            self._body.append(body)

    def on_message_complete(self) -> None:
        if 100 <= self._parser.get_status_code() < 200:
            self._is_head_read = False  # the answer itself comes next
        elif self._answer is not None:
            self.is_reusable = self.is_open and self._is_sent and self._parser.should_keep_alive()
            self._finish()

    # -- the answer --------------------------------------------------------------------------------

    def _check_size(self) -> None:
        if not self._is_head_read:
            self.fail(f"the response's headers exceed {MAX_HEAD_BYTES // 1024} KB")
        elif self._n_bytes > MAX_ANSWER_BYTES:
            self.fail(f"the response exceeds {MAX_ANSWER_BYTES // 2**20} MB")
        elif self._n_bytes > self._n_allowed and self._answer is not None:
            self._ask_for_room()

    def _ask_for_room(self) -> None:
        """Pause a large answer until there is room for it in memory."""
        length = self._headers.get("content-length", "")
        if not length.isdecimal() and self._n_bytes <= _UNKNOWN_BYTES:
            self._n_allowed = _UNKNOWN_BYTES
            return
        self._n_allowed = MAX_ANSWER_BYTES
        n_bytes = min(int(length), MAX_ANSWER_BYTES) if length.isdecimal() else MAX_ANSWER_BYTES
        transport = self._transport
        if transport is not None and not self._claim_room(
            n_bytes, lambda: None if transport.is_closing() else transport.resume_reading()
        ):
            transport.pause_reading()

    def _claim_room(self, n_bytes: int, go_on: Callable[[], None]) -> bool:
        self._claim = self._claim or Claim("answer")
        self._n_claimed += COPIES * n_bytes

        def granted() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is gone
                self._loop.call_soon_threadsafe(go_on)

        return self._claim.acquire(COPIES * n_bytes, granted)

    def _finish(self) -> None:
        answer = self._answer
        if answer is None or answer.done():
            return
        self._answer = None
        came, self._body = b"".join(self._body), []
        status, encoding = self._parser.get_status_code(), self._headers.get("content-encoding", "")
        if encoding and is_compressed(encoding) and len(came) > _SURELY_SMALL and not self._n_claimed:
            unpack = partial(self._settle, answer, status, came, encoding)
            if not self._claim_room(MAX_ANSWER_BYTES, unpack):
                return
        self._settle(answer, status, came, encoding)

    def _settle(self, answer: asyncio.Future[Response], status: int, came: bytes, encoding: str) -> None:
        """Decompress the answer and end the wait for it."""
        if answer.done():  # given up meanwhile
            return
        self.idle_since = time.monotonic()
        try:
            content = unpack(came, encoding)
        except Broken as err:
            self.is_reusable = False
            answer.set_exception(err)
        else:
            if self._n_claimed and self._claim is not None:
                spare = max(0, self._n_claimed - COPIES * len(content))
                self._n_claimed -= spare
                self._claim.shrink(self._claim.n_bytes - spare)
            answer.set_result(Response(status, self._headers, content))
        if self._room is not None:
            self.resume_writing()


def is_event_stream(headers: Mapping[str, str]) -> bool:
    """Whether an answer comes in events that can be read at once: server-sent, or Amazon's."""
    is_packed = is_compressed(headers.get("content-encoding", ""))
    return "event" in headers.get("content-type", "").lower() and not is_packed


def is_compressed(encoding: str) -> bool:
    """Whether an answer has to be decompressed."""
    return encoding.strip().lower() in ("gzip", "x-gzip", "deflate")


def unpack(content: bytes, encoding: str) -> bytes:
    """Decompress a response: some servers compress although the request says not to."""
    if not content or not is_compressed(encoding):
        return content
    unpacker = zlib.decompressobj(GZIP_OR_ZLIB)
    try:
        text = unpacker.decompress(content, MAX_ANSWER_BYTES + 1)
    except zlib.error as err:
        raise Broken(f"the response cannot be decompressed ({err})") from None
    if len(text) > MAX_ANSWER_BYTES:
        raise Broken(f"the response cannot be decompressed: more than {MAX_ANSWER_BYTES // 2**20} MB")
    if not unpacker.eof or unpacker.unused_data:
        raise Broken("the response cannot be decompressed: it is truncated or has trailing data")
    return text


def describe_os_error(err: OSError) -> str:
    """The operating system's reason; asyncio's text does not say that a connection was refused."""
    if isinstance(err, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {err.verify_message}"
    if isinstance(err, ssl.SSLError):
        said = (err.reason or "no reason given").lower().replace("_", " ")
        return f"the TLS handshake failed ({said}); is it an http:// URL?"
    if isinstance(err, socket.gaierror):
        return f"unknown host ({err.strerror})"
    numbers = [err.errno] if err.errno else map(int, re.findall(r"\[Errno (\d+)\]", str(err)))
    reasons = dict.fromkeys(os.strerror(number) for number in numbers)  # of a host with several addresses
    return ", ".join(reasons) or str(err) or "the server closed the connection"
