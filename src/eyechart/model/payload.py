"""A large request body on its way. Imports aiohttp, so it is imported with the first one."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

_SLICE = 256 * 1024  # what may wait in a socket's buffer while the loop turns to others


class Pieces(Payload):
    """A body that is never copied into one text, and never larger in a socket's buffer than a slice."""

    def __init__(self, value: Sequence[bytes]) -> None:
        super().__init__(value, content_type="application/json")
        self._size = sum(map(len, value))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """The body as text."""
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Send it, as fast as the other side takes it."""
        for piece in self._value:
            view = memoryview(piece)
            for start in range(0, len(view), _SLICE):
                await writer.write(view[start : start + _SLICE])

    def forget(self) -> None:
        """Let go of the pictures: requests and responses know each other, and stay until Python tidies up."""
        self._value = ()
