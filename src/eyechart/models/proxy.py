"""HTTP through a proxy: tunnels and passwords are left to aiohttp.

A module of its own, because importing aiohttp takes longer than a hundred requests; it is imported only where
the environment names a proxy.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from aiohttp.payload import Payload

from eyechart.memory import LARGE_BYTES, Claim, current_claim
from eyechart.models.http import (
    COPIES,
    IDLE_S,
    MAX_ANSWER_BYTES,
    OK,
    SLICE,
    SMALL,
    Broken,
    Response,
    Sink,
    Unreachable,
    check_headers,
    describe_os_error,
    is_compressed,
    is_event_stream,
    unpack,
)


class ProxiedHttp:
    """As `Http`, through a proxy."""

    def __init__(self, url: str, headers: Mapping[str, str], proxy: str) -> None:
        check_headers(headers)
        self._url = url
        self._proxy = proxy
        self._session = aiohttp.ClientSession(
            # The engine bounds what is in flight; a second bound here could only get in its way.
            connector=aiohttp.TCPConnector(
                limit=0,
                ttl_dns_cache=300,
                keepalive_timeout=IDLE_S,
                # aiohttp's own is made when it is imported: too early for an SSL_CERT_FILE of a .env file.
                ssl=ssl.create_default_context() if url.startswith("https:") else True,
            ),
            # How long an answer may take is the engine's to say.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=30),
            headers={"Accept-Encoding": "identity", **headers},
            auto_decompress=False,  # its way lets answers pass that end too early
            cookie_jar=aiohttp.DummyCookieJar(),  # endpoints know us by our key
        )

    async def post(self, pieces: Sequence[bytes], sink: Sink | None = None) -> Response:
        """Send a body, and wait for the answer; raises `Unreachable` or `Broken`."""
        own = Claim("answer")
        is_small = sum(map(len, pieces)) < SMALL
        body = b"".join(pieces) if is_small else Pieces(pieces)
        try:
            async with self._session.post(
                self._url, data=body, proxy=self._proxy, allow_redirects=False
            ) as response:
                headers = {name.lower(): value for name, value in response.headers.items()}
                is_streamed = response.status == OK and is_event_stream(headers)
                content = await _whole(response, current_claim.get() or own, sink if is_streamed else None)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as err:
            raise Unreachable(_reason(err)) from err
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as err:
            raise Broken(str(err) or type(err).__name__) from err
        finally:
            own.release()
            if isinstance(body, Pieces):
                body.forget()
        return Response(response.status, headers, content)

    async def close(self) -> None:
        await self._session.close()


def _reason(err: aiohttp.ClientError) -> str:
    """Why no connection was made, and whether it was the proxy that failed."""
    cause = err.__cause__
    said = describe_os_error(cause) if isinstance(cause, OSError) else str(err)
    if isinstance(err, aiohttp.ClientProxyConnectionError):
        return f"the proxy {err.host}:{err.port}: {said}"
    return said


async def _whole(response: aiohttp.ClientResponse, claim: Claim, sink: Sink | None) -> bytes:
    parts = []
    n_bytes = 0
    n_allowed = LARGE_BYTES
    async for part in response.content.iter_any():
        if sink is None:
            parts.append(part)
            n_bytes += len(part)
        else:
            n_bytes = sink(part)
        if n_bytes > MAX_ANSWER_BYTES:
            raise Broken(f"the response exceeds {MAX_ANSWER_BYTES // 2**20} MB")
        if n_bytes > n_allowed:
            n_allowed = MAX_ANSWER_BYTES
            await claim.acquire_async(COPIES * (response.content_length or n_allowed))
    encoding = response.headers.get("Content-Encoding", "")
    if is_compressed(encoding) and not claim.n_bytes:
        await claim.acquire_async(COPIES * MAX_ANSWER_BYTES)
    content = unpack(b"".join(parts), encoding)
    if n_allowed > LARGE_BYTES or encoding:
        claim.shrink(COPIES * len(content))
    return content


class Pieces(Payload):
    """A body that is never copied into one text, and never larger in a socket's buffer than a slice."""

    def __init__(self, value: Sequence[bytes]) -> None:
        super().__init__(value, content_type="application/json")
        self._size = sum(map(len, value))

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return b"".join(self._value).decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Send it as fast as the other side takes it."""
        for piece in self._value:
            view = memoryview(piece)
            for start in range(0, len(view), SLICE):
                await writer.write(view[start : start + SLICE])

    def forget(self) -> None:
        """Release the images: requests and responses refer to each other until they are collected."""
        self._value = ()
