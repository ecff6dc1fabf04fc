"""A server of bytes: it says exactly what a test tells it to, with no library in between."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import shutil
import socket
import ssl
import struct
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
LOOPS = {"asyncio": asyncio.run}
with contextlib.suppress(ImportError):  # there is none for Windows
    import uvloop

    LOOPS["uvloop"] = uvloop.run


def run(loop: str, work: Coroutine[Any, Any, T], *, limit_s: float = 20) -> T:
    """Do the work on one kind of loop, within a time. Nothing may be left that a loop complains about."""
    complaints: list[dict[str, Any]] = []

    async def watched() -> T:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with asyncio.timeout(limit_s):
            return await work

    async def tidy() -> T:
        done = await watched()
        gc.collect(0)  # futures complain when they are thrown away
        await asyncio.sleep(0)
        return done

    try:
        return LOOPS[loop](tidy())
    finally:
        assert complaints == []


@dataclass
class Wire:
    """One connection, seen from the server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    number: int  # of connections before this one

    async def hear(self) -> tuple[str, bytes]:
        """The next request: head and body. Ends the talk when the other side has hung up."""
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"(?i)^content-length: (\d+)\r$", head, re.MULTILINE)
            return head, await self.reader.readexactly(int(length[1]) if length else 0)
        except (asyncio.IncompleteReadError, ConnectionError):
            raise HungUp from None

    async def say(self, *segments: bytes) -> None:
        """Each segment on its own: the client has read it before the next is sent."""
        for segment in segments:
            if self.writer.transport.is_closing():
                raise HungUp
            self.writer.write(segment)
            await asyncio.sleep(0)  # uvloop sends at the end of a turn,
            await asyncio.sleep(0)  # and the client, who lives in the same loop, reads in the next

    def reset(self) -> None:
        """Hang up the rude way."""
        descriptor = self.writer.get_extra_info("socket").fileno()
        with socket.socket(fileno=os.dup(descriptor)) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class HungUp(Exception):
    """The client is gone."""


@dataclass
class Served:
    """A server at work."""

    url: str
    port: int
    n_connections: int = 0


Talk = Callable[[Wire], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(
    talk: Talk, *, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Served]:
    """Serve until the block ends. A connection is closed when its talk is over."""
    tasks: set[asyncio.Task[None]] = set()

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        wire = Wire(reader, writer, served.n_connections)
        served.n_connections += 1
        try:
            with contextlib.suppress(HungUp, ConnectionError, asyncio.CancelledError):
                await talk(wire)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, ssl.SSLError, asyncio.CancelledError, TimeoutError):
                async with asyncio.timeout(1):
                    await writer.wait_closed()
            tasks.discard(task)

    server = await asyncio.start_server(on_connection, host, 0, ssl=tls, limit=2**20, backlog=512)
    port = server.sockets[0].getsockname()[1]
    shown = f"[{host}]" if ":" in host else host
    served = Served(f"{'https' if tls else 'http'}://{shown}:{port}/v1", port)
    try:
        yield served
    finally:
        server.close()
        for task in tuple(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()


def saying(*segments: bytes, then_close: bool = False) -> Talk:
    """Answer every request with the same bytes."""

    async def talk(wire: Wire) -> None:
        while True:
            await wire.hear()
            await wire.say(*segments)
            if then_close:
                return

    return talk


def answer(
    content: bytes = b"hi", *, status: str = "200 OK", headers: str = "", version: str = "1.1"
) -> bytes:
    """A plain answer."""
    more = "".join(f"{line}\r\n" for line in headers.splitlines())
    return f"HTTP/{version} {status}\r\nContent-Length: {len(content)}\r\n{more}\r\n".encode() + content


def make_certificate(folder: Path) -> Path:
    """One that we signed ourselves, for localhost, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate")
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([openssl, *words.split(), *names], cwd=folder, check=True, capture_output=True, timeout=30)
    whole = folder / "both.pem"
    whole.write_bytes((folder / "cert.pem").read_bytes() + (folder / "key.pem").read_bytes())
    return whole


def tls_server(certificate: Path) -> ssl.SSLContext:
    """What a server needs to speak TLS."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    return context
