"""The body of a request, made of pieces: pictures go from memory to the socket as they are.

A picture's base64 text needs no JSON escaping, so it never passes through an encoder. The words around it are
encoded with a mark in its place, and cut at the marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyechart.types import Image, ImageRef, Message

_encode = msgspec.json.Encoder().encode
_MARK = b"\0"  # stands in no JSON: in a text it would be escaped
_PICTURE = msgspec.Raw(_MARK)


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
        words = _encode(turns).split(_MARK)
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
        address: str | msgspec.Raw = _PICTURE
        if isinstance(image, Image):
            pictures.append(image)
        else:
            assert image.kind == "url", "the engine loads all other pictures before it asks"
            address = image.location
        url = {"url": address, "detail": self._detail} if self._detail else {"url": address}
        return {"type": "image_url", "image_url": url}


def _head_of(fields: Mapping[str, Any]) -> bytes:
    """All before the messages, which are the run's own whatever an `extra_body` says."""
    others = {name: value for name, value in fields.items() if name != "messages"}
    return _encode(others)[:-1] + b',"messages":'
