"""The body of a request, made of pieces: pictures go from memory to the socket as they are.

A picture's base64 text needs no JSON escaping, so it never passes through an encoder. The words around it are
encoded with a mark in its place, and cut at the marks.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from eyechart.types import Image, ImageRef, Message

if TYPE_CHECKING:
    from aiohttp.payload import Payload

SMALL = 128 * 1024  # bodies below this are sent in one go, together with the headers
_SLICE = 256 * 1024  # of a large one: what may wait in a socket's buffer while the loop turns to others

_encode = msgspec.json.Encoder().encode
_MARK = secrets.token_hex(16)  # no text can hold it but by guessing 128 random bits
_MARK_BYTES = f'"{_MARK}"'.encode()


class Bodies:
    """Makes the bodies for one model: what is the same in all of them is encoded once."""

    def __init__(self, fields: Mapping[str, Any], detail: Any = None) -> None:
        self._detail = detail
        self._fields = fields
        self._head = _head_of(fields)

    def pieces(self, messages: Sequence[Message], more: Mapping[str, Any]) -> list[bytes]:
        """The body for these messages, `more` being fields of this request alone."""
        pictures: list[Image] = []
        turns = [{"role": turn.role, "content": self._content(turn, pictures)} for turn in messages]
        words = _encode(turns).split(_MARK_BYTES)
        is_special = not more.keys().isdisjoint(self._fields)
        head = _head_of({**self._fields, **more}) if is_special else self._head
        pieces = [head, words[0]]
        for picture, after in zip(pictures, words[1:], strict=True):
            pieces += (b'"data:%s;base64,' % picture.mime.encode(), picture.base64, b'"', after)
        pieces.append(b"," + _encode(more)[1:] if more and not is_special else b"}")
        return pieces

    def _content(self, message: Message, pictures: list[Image]) -> str | list[dict[str, Any]]:
        parts = message.parts
        if all(isinstance(part, str) for part in parts):
            return message.text
        return [
            {"type": "text", "text": part} if isinstance(part, str) else self._picture(part, pictures)
            for part in parts
        ]

    def _picture(self, image: Image | ImageRef, pictures: list[Image]) -> dict[str, Any]:
        if isinstance(image, Image):
            pictures.append(image)
            address = _MARK
        else:
            assert image.kind == "url", "the engine loads all other pictures before it asks"
            address = image.location
        url = {"url": address, "detail": self._detail} if self._detail else {"url": address}
        return {"type": "image_url", "image_url": url}


def _head_of(fields: Mapping[str, Any]) -> bytes:
    return _encode(fields)[:-1] + b',"messages":'


def as_data(pieces: Sequence[bytes]) -> bytes | Payload:
    """The pieces as aiohttp takes them: a small body as one text, a large one bit by bit."""
    if sum(map(len, pieces)) < SMALL:
        return b"".join(pieces)
    return _payload_class()(pieces)


_made: list[type[Payload]] = []


def _payload_class() -> type[Payload]:
    """Made when the first large body is sent, so that importing this module does not import aiohttp."""
    if _made:
        return _made[0]
    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.payload import Payload

    class Pieces(Payload):
        """A body that is never copied into one text, and never larger in a socket's buffer than a slice."""

        def __init__(self, value: Sequence[bytes]) -> None:
            super().__init__(value, content_type="application/json")
            self._size = sum(map(len, value))

        def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
            return b"".join(self._value).decode(encoding, errors)

        async def write(self, writer: AbstractStreamWriter) -> None:
            for piece in self._value:
                view = memoryview(piece)
                for start in range(0, len(view), _SLICE):
                    await writer.write(view[start : start + _SLICE])

    _made.append(Pieces)
    return Pieces
