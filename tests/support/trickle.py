"""A forwarder that sends every response in packets of one byte, as the worst network would."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit, urlunsplit

_PAUSE_S = 0.0001  # lets the other side read before the next byte comes


@contextlib.contextmanager
def trickling(url: str) -> Iterator[str]:
    """The same URL at a port from which responses come byte by byte."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    server = (parts.hostname, parts.port)
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=_accept, args=(listener, server), daemon=True).start()
    try:
        yield urlunsplit(parts._replace(netloc=f"127.0.0.1:{listener.getsockname()[1]}"))
    finally:
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _accept(listener: socket.socket, server: tuple[str, int]) -> None:
    with contextlib.suppress(OSError):  # closed
        while True:
            client, _ = listener.accept()
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            far = socket.create_connection(server)
            threading.Thread(target=_forward, args=(client, far, 0), daemon=True).start()
            threading.Thread(target=_forward, args=(far, client, 1), daemon=True).start()


def _forward(source: socket.socket, target: socket.socket, packet: int) -> None:
    """Pass on what comes, in packets of that many bytes; 0: as it came."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            for start in range(0, len(data), packet or len(data)):
                target.sendall(data[start : start + (packet or len(data))])
                if packet:
                    time.sleep(_PAUSE_S)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
            one.close()
