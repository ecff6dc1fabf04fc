"""Replies that arrive in parts: events are read as they come and joined to the answer in its usual form.

A provider so reads one form of answer. What is new in a streamed one is when its first words came, and that
it may be cut: then there is no reply, and what has come is kept with the failure.
"""

from __future__ import annotations

import io
import struct
import time
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any, ClassVar

import msgspec

Event = Mapping[str, Any]

# -- Events in bytes


class ServerSentEvents:
    r"""The data of server-sent events, however the bytes are cut.

    >>> events = ServerSentEvents()
    >>> [*events.feed(b': hello\n\ndata: {"a"'), *events.feed(b': 1}\r\n\r\ndata: [DONE]'), *events.close()]
    [b'{"a": 1}', b'[DONE]']
    """

    def __init__(self) -> None:
        self._line = bytearray()  # its beginning
        self._data: list[bytes] = []
        self._n_data = 0

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The events that are complete now."""
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._line += line
            whole = bytes(self._line).removesuffix(b"\r")
            self._line.clear()
            if whole.startswith(b"data:"):
                self._data.append(whole[5:].removeprefix(b" "))
                self._n_data += len(whole)
            elif not whole:
                yield from self._take()
        self._line += rest

    def close(self) -> Iterator[bytes]:
        """The last event, which some servers do not end with an empty line."""
        yield from self.feed(b"\n\n")

    @property
    def n_waiting(self) -> int:
        return len(self._line) + self._n_data

    def _take(self) -> Iterator[bytes]:
        if self._data:
            yield b"\n".join(self._data)
            self._data, self._n_data = [], 0


_PRELUDE = struct.Struct(">III")  # bytes of all, bytes of the headers, their checksum
_FIXED_BYTES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # of a header's value, by its type
_MAX_FRAME_BYTES = 24 * 2**20


class AmazonEvents:
    """The events of Amazon's binary streams, each as JSON: its payload under its name."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The events that are complete now; raises `ValueError` if a checksum is wrong."""
        self._bytes += data
        while len(self._bytes) >= _PRELUDE.size:
            n_bytes, n_headers, checksum = _PRELUDE.unpack_from(self._bytes)
            is_sane = _PRELUDE.size + n_headers + 4 <= n_bytes <= _MAX_FRAME_BYTES
            if zlib.crc32(self._bytes[:8]) != checksum or not is_sane:
                raise ValueError(
                    "the stream is damaged: the length of an event is not what its checksum says"
                )
            if len(self._bytes) < n_bytes:
                return
            frame = bytes(self._bytes[:n_bytes])
            del self._bytes[:n_bytes]
            if zlib.crc32(frame[:-4]) != int.from_bytes(frame[-4:], "big"):
                raise ValueError("the stream is damaged: an event is not what its checksum says")
            headers = _read_headers(frame[_PRELUDE.size : _PRELUDE.size + n_headers])
            yield _name_event(headers, frame[_PRELUDE.size + n_headers : -4])

    def close(self) -> Iterator[bytes]:
        return iter(())

    @property
    def n_waiting(self) -> int:
        return len(self._bytes)


def _read_headers(data: bytes) -> dict[str, str]:
    """The headers that are texts."""
    found, at = {}, 0
    while at < len(data):
        name = data[at + 1 : at + 1 + data[at]].decode()
        at += 1 + data[at]
        kind, at = data[at], at + 1
        if kind in _FIXED_BYTES:
            at += _FIXED_BYTES[kind]
            continue
        n_bytes = int.from_bytes(data[at : at + 2], "big")
        if kind == 7:  # a text; 6 are bytes
            found[name] = data[at + 2 : at + 2 + n_bytes].decode()
        at += 2 + n_bytes
    return found


def _name_event(headers: Mapping[str, str], payload: bytes) -> bytes:
    if headers.get(":message-type") == "event":
        return b'{"%s":%s}' % (headers.get(":event-type", "").encode(), payload)
    said = headers.get(":exception-type") or headers.get(":error-code") or "error"
    message = headers.get(":error-message", "").encode() or payload
    return msgspec.json.encode({"error": {"code": said, "message": message.decode(errors="replace")}})


# -- An answer while it arrives

# What reading events that are not what they should be raises.
MALFORMED = (ValueError, LookupError, TypeError, AttributeError, RecursionError, msgspec.MsgspecError)


class StreamedAnswer(ABC):
    """The parts of one answer so far. A provider says how a part adds to the answer, and what it is then."""

    framing: ClassVar[type[ServerSentEvents | AmazonEvents]] = ServerSentEvents
    continued: ClassVar[tuple[str, ...]] = ()  # the texts that come in parts

    def __init__(self) -> None:
        self.first_at: float | None = None  # when the first words came, thoughts included
        self.is_complete = False  # the answer has said that it ends
        self.texts: list[str] = []  # the words so far, without thoughts
        self.whole = Fields(*self.continued)
        self.has_events = False
        self._events = self.framing()
        self._n_joined = 0
        self._trouble: Exception | None = None
        self._heard = current_stream.get()

    @abstractmethod
    def add(self, event: Event) -> None:
        """Add a part."""

    def join(self) -> Event:
        """The answer in the form that it has without streaming."""
        return self.whole.join()

    def feed(self, data: bytes) -> int:
        """Read what has come; returns how many bytes are held because of it."""
        if self._heard is not None:
            self._heard.is_new = True
        self._read(self._events.feed(data))
        return self._n_joined + self._events.n_waiting

    def finish(self) -> Event:
        """The answer, now that nothing more comes; raises one of `MALFORMED` if it cannot be read."""
        self._read(self._events.close())
        if self._trouble is not None:
            raise self._trouble
        return self.join()

    def leave(self, text: str) -> None:
        """No request waits any longer: hand over the words so far."""
        if self._heard is not None:
            self._heard.text = text

    @property
    def text(self) -> str:
        """The words so far."""
        return "".join(self.texts)

    def note(self, *said: object) -> None:
        """Take account of words that came: the time of the first ones, and their size."""
        n = sum(len(one) for one in said if isinstance(one, str))
        self._n_joined += n
        if n and self.first_at is None:
            self.first_at = time.perf_counter()

    def _read(self, events: Iterator[bytes]) -> None:
        if self._trouble is not None:
            return
        try:
            for data in events:
                self.has_events = True
                if data == b"[DONE]":
                    self.is_complete = True
                elif isinstance(event := msgspec.json.decode(data), dict):
                    self.add(event)
        except MALFORMED as err:
            self.has_events, self._trouble = True, err  # to be raised where the reply is awaited


class Fields:
    """What comes in parts: some texts are continued, items of lists known by their index, others replaced.

    >>> fields = Fields("text")
    >>> for part in ({"kind": 1, "said": [{"index": 0, "text": "A c"}]}, {"said": [{"text": "at"}]}):
    ...     fields.add(part)
    >>> fields.join()
    {'kind': 1, 'said': [{'index': 0, 'text': 'A cat'}]}
    """

    def __init__(self, *continued: str) -> None:
        self._continued = continued
        self._held: dict[str, Any] = {}  # of a list, its items by index

    def add(self, part: Event) -> None:
        for name, value in part.items():
            if isinstance(value, str) and name in self._continued:
                self._held.setdefault(name, io.StringIO()).write(value)
            elif isinstance(value, dict):
                self._held.setdefault(name, Fields(*self._continued)).add(value)
            elif isinstance(value, list) and all(isinstance(one, dict) for one in value):
                items = self._held.setdefault(name, {})
                for number, one in enumerate(value):
                    items.setdefault(one.get("index", number), Fields(*self._continued)).add(one)
            elif value is not None:
                self._held[name] = value

    def join(self) -> dict[str, Any]:
        return {name: _join(held) for name, held in self._held.items()}


def _join(held: Any) -> Any:
    if isinstance(held, io.StringIO):
        return held.getvalue()
    if isinstance(held, Fields):
        return held.join()
    return [item.join() for _, item in sorted(held.items())] if isinstance(held, dict) else held


# -- Who waits for it


class Heard:
    """What is seen of a reply from outside: whether parts come in, and its words when it was given up."""

    __slots__ = ("is_new", "text")

    def __init__(self) -> None:
        self.is_new = False  # something came since this was last set to false
        self.text = ""  # of a reply that was given up


current_stream: ContextVar[Heard | None] = ContextVar("current_stream", default=None)
