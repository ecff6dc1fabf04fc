"""HTTP as far as the bench server needs it: heads in, bodies by Content-Length, the words of a question."""

from __future__ import annotations

import asyncio
import hashlib
import re
import socket
import struct
from collections.abc import Callable
from typing import Any, NamedTuple, cast

import msgspec

HEAD_BYTES = 128 * 1024  # room for a head and, mostly, the whole of a small request behind it
PICTURE = re.compile(rb'(?<!\\)"data:[^"]{0,99}?;base64,')
REASONS = {
    200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 411: "Length Required",
    429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip


class Asked(NamedTuple):
    """What a chat request says, without its pictures."""

    text: str
    n: int
    first_image: tuple[int, int]  # where its base64 text lies in the body; (0, 0): there is none


def read_asked(body: bytes | bytearray) -> Asked:
    """The words of the last user turn and how many answers are wanted.

    Base64 text is stepped over from quote to quote, so a body of 8 MB costs one fast search, and what is
    left is a small JSON document.

    >>> url = "data:image/jpeg;base64,/9j/4AAQ"
    >>> parts = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "Who?"}]
    >>> body = msgspec.json.encode({"messages": [{"role": "user", "content": parts}]})
    >>> read_asked(body).text, body[slice(*read_asked(body).first_image)]
    ('Who?', b'/9j/4AAQ')
    """
    pieces, at, first = [], 0, (0, 0)
    while picture := PICTURE.search(body, at):  # an unescaped quote before it: a string begins here
        start = picture.end()
        end = body.find(b'"', start)
        if end < 0:
            break
        first = first if first[1] else (start, end)
        pieces.append(body[at:start])
        at = end
    pieces.append(body[at:])
    asked = msgspec.json.decode(b"".join(pieces))
    turns = [turn for turn in asked["messages"] if turn["role"] == "user"]
    return Asked(_words(turns[-1]["content"]) if turns else "", asked.get("n") or 1, first)


def _words(content: str | list[dict[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def image_sha256(body: bytes | bytearray, asked: Asked) -> str:
    """The hash of the first picture's base64 text; empty without one."""
    start, end = asked.first_image
    return hashlib.sha256(memoryview(body)[start:end]).hexdigest() if end else ""


def response(status: int, body: bytes, *, headers: str = "", length: int | None = None) -> bytes:
    """A whole HTTP response; `length` is what it claims to be, where that differs from what it is."""
    head = (
        f"HTTP/1.1 {status} {REASONS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body) if length is None else length}\r\n{headers}\r\n"
    )
    return head.encode() + body


class Connection(asyncio.BufferedProtocol):
    """One client's connection: reads requests one after the other, straight into a body's own buffer.

    `began` is called with each head's path, `arrived` with each full request, `lost` at the end.
    """

    def __init__(
        self,
        began: Callable[[Connection, str], None],
        arrived: Callable[[Connection, str, bytearray], None],
        lost: Callable[[Connection], None],
    ) -> None:
        self._began, self._arrived, self._lost = began, arrived, lost
        self.transport: asyncio.Transport
        self.has_asked = False
        self.is_in_flight = False
        self.timer: asyncio.TimerHandle | None = None
        self._head = bytearray(HEAD_BYTES)
        self._head_n = 0
        self._path = ""
        self._body: bytearray | None = None
        self._body_n = 0
        self._is_busy = False  # a request is being answered; a pipelined one waits

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Answers are small: they go out at once (asyncio sets TCP_NODELAY itself)."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's own is none by descent

    def connection_lost(self, exc: Exception | None) -> None:
        """The client went away, or we did."""
        if self.timer is not None:
            self.timer.cancel()
        self._lost(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the next bytes go: the rest of the body, or the room for a head."""
        if self._body is not None and not self._is_busy:
            return memoryview(self._body)[self._body_n :]
        return memoryview(self._head)[self._head_n :]

    def buffer_updated(self, nbytes: int) -> None:
        """So many bytes have been put there."""
        if self._body is not None and not self._is_busy:
            self._body_n += nbytes
            self._finish_body()
        else:
            self._head_n += nbytes
            self._read_head()

    def done(self) -> None:
        """The answer is out: the next request may be read."""
        self._is_busy, self._body = False, None
        if self._head_n:
            self._read_head()

    def reset(self) -> None:
        """Drop the connection with RST: what was sent may never be read."""
        sock = self.transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _read_head(self) -> None:
        end = -1 if self._is_busy else self._head.find(b"\r\n\r\n", 0, self._head_n)
        if end < 0:
            if self._head_n == HEAD_BYTES:
                self.transport.abort()
            return
        head = bytes(self._head[:end])
        self._path = head.split(b" ", 2)[1].decode("latin-1")
        fields = head.lower()
        if b"\r\ntransfer-encoding:" in fields:
            self.transport.write(response(411, b"{}", headers="Connection: close\r\n"))
            self.transport.close()
            return
        at = fields.find(b"\r\ncontent-length:")
        n_body = int(fields[at + 17 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        start = end + 4
        self._body_n = min(n_body, self._head_n - start)
        self._body = bytearray(n_body)
        self._body[: self._body_n] = memoryview(self._head)[start : start + self._body_n]
        n_left = self._head_n - start - self._body_n
        self._head[:n_left] = self._head[self._head_n - n_left : self._head_n]
        self._head_n = n_left
        self._began(self, self._path)
        self._finish_body()

    def _finish_body(self) -> None:
        assert self._body is not None
        if self._body_n == len(self._body):
            self._is_busy = True
            self._arrived(self, self._path, self._body)
