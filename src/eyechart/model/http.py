"""HTTP/1.1 to one address over kept-alive connections: all that asking an endpoint takes, and no more.

A general client spends twice the time of everything else we do for a request.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlsplit

from eyechart.errors import ModelError
from eyechart.memory import current_claim
from eyechart.model.connection import Broken, Connection, Response, Unreachable, plain

_CONNECT_S = 30.0
_CLOSE_S = 2.0
IDLE_S = 4.0  # servers hang up after five seconds or more; a request must not cross that on its way
_IN_A_PATH = "/?:@!$&'()*+,;=%"  # these mean something there; others are written as %XX


class Http:
    """One address. As many connections as there are requests under way."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self._host = _host(parts.hostname or "")
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        named = f"[{self._host}]" if ":" in self._host else self._host
        port = f":{parts.port}" if parts.port else ""
        query = f"?{parts.query}" if parts.query else ""
        self._head = _head(f"{parts.path or '/'}{query}", named + port, headers)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        self._is_closed = False

    async def post(self, pieces: Sequence[bytes]) -> Response:
        """Send a body, and wait for the answer; raises `Unreachable` or `Broken`."""
        connection = self._take() or await self._connect()
        try:
            response = await connection.exchange(self._head, pieces)
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
            connection.fail("closed from our side")
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
                await loop.create_connection(lambda: connection, self._host, self._port, ssl=self._tls)
            if self._is_closed:
                raise Broken("closed from our side")
        except BaseException as err:
            connection.abort()
            all_open.discard(connection)  # uvloop says nothing of the end of what had hardly begun
            if isinstance(err, TimeoutError):
                raise Unreachable(f"no connection within {_CONNECT_S:g} s") from None
            if isinstance(err, OSError):  # refused, no such host, no route, a certificate not to be trusted
                raise Unreachable(plain(err)) from err
            raise
        return connection


def check_headers(headers: Mapping[str, str]) -> None:
    """Refuse what would end a header, or arrive as something else. The value may be a key: it is not told."""
    for name, value in headers.items():
        if not (value.isascii() and value.isprintable()):
            what = "API key" if name == "Authorization" else f"header {name}"
            raise ModelError(
                f"the {what} cannot be sent: it holds a line break or another letter that is not plain ASCII",
                hint="was it copied with quotation marks, or with what stood below it?",
                is_fatal=True,
            )


def _head(path: str, host: str, headers: Mapping[str, str]) -> bytes:
    """All of a request's head but the length of its body."""
    check_headers(headers)
    lines = [f"POST {quote(path, _IN_A_PATH)} HTTP/1.1", f"Host: {host}", "Accept-Encoding: identity"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "Content-Length: "]).encode("ascii")


def _host(name: str) -> str:
    """A host as the name service and the server know it.

    >>> _host("localhost"), _host("::1"), _host("bücher.example")
    ('localhost', '::1', 'xn--bcher-kva.example')
    """
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError:
        raise ModelError(
            f"no host can be called {name!r}",
            hint="write the address like http://localhost:8000/v1",
            is_fatal=True,
        ) from None
