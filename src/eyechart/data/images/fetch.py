"""Downloads of images from URLs, within limits.

A URL in a data file is untrusted: only http and https are allowed; the host is resolved once and refused if
any of its addresses is private, and the connection goes to the address that was checked, so that a second
look-up cannot change it. Each redirect is checked the same way. Proxies are not used, because behind a proxy
the address cannot be checked.
"""

from __future__ import annotations

import hashlib
import http.client
import ipaddress
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit

import msgspec

from eyechart.errors import ImageError, StoreError, shorten
from eyechart.files import atomic_write, make_folder

_MAX_REDIRECTS = 5
_SAFE = "/%:@!$&'()*+,;=~-._"  # in the path of a URL
_ATTEMPTS = 3
_PAUSE_S = 0.2
_CHUNK_BYTES = 1 << 16
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_URL_LOCKS = tuple(threading.Lock() for _ in range(256))
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class _Transient(Exception):
    """The next attempt may succeed."""


class Fetcher(msgspec.Struct, frozen=True, kw_only=True):
    """Downloads images, and caches them if it has a folder."""

    cache_dir: Path | None = None
    allow_private: bool = False
    max_bytes: int = 64 * 1024 * 1024
    timeout_s: float = 30.0

    @staticmethod
    def lock(url: str) -> threading.Lock:
        """The lock for downloads of a URL, so that a second one finds what the first has cached."""
        return _URL_LOCKS[hash(url) % len(_URL_LOCKS)]

    def read_cached(self, url: str) -> bytes | None:
        with suppress(OSError):
            return self._place(url).read_bytes() if self.cache_dir else None
        return None

    def write_cached(self, url: str, data: bytes) -> None:
        """Cache a download. Errors are ignored: the image at hand is still usable."""
        if self.cache_dir:
            target = self._place(url)
            with suppress(OSError, StoreError):
                make_folder(target.parent)
                with atomic_write(target) as place:
                    place.write_bytes(data)

    def fetch(self, url: str) -> bytes:
        """Download; `ImageError` if that fails or is not allowed."""
        deadline = time.monotonic() + self.timeout_s
        attempt = 1
        while True:
            try:
                return self._follow(url, deadline)
            except _Transient as err:
                is_late = time.monotonic() + _PAUSE_S * attempt >= deadline
                if attempt == _ATTEMPTS or is_late:
                    why = f"no response within {self.timeout_s:g} s" if is_late else str(err)
                    hint = "try again later, or save the images beside the data file"
                    raise ImageError(f"{url}: {why}", hint=hint) from err
            time.sleep(_PAUSE_S * attempt)
            attempt += 1

    def _place(self, url: str) -> Path:
        """The cache file of a URL; downloads from private addresses are only used where those are allowed."""
        assert self.cache_dir is not None
        digest = hashlib.sha256(url.encode("utf-8", "surrogatepass")).hexdigest()
        return self.cache_dir / ("private" if self.allow_private else "public") / digest[:2] / digest

    def _follow(self, url: str, deadline: float) -> bytes:
        current = url
        for _ in range(_MAX_REDIRECTS + 1):
            found = self._get(current, deadline)
            if isinstance(found, bytes):
                return found
            try:
                current = urljoin(current, found)
            except ValueError as err:
                raise ImageError(f"{url}: redirects to an invalid URL ({shorten(found)}: {err})") from err
        raise ImageError(f"{url}: more than {_MAX_REDIRECTS} redirects")

    def _get(self, url: str, deadline: float) -> bytes | str:
        """The body, or the URL of a redirect."""
        try:
            parts = urlsplit(url)
        except ValueError as err:
            raise ImageError(f"{url}: invalid URL ({err})") from err
        if parts.scheme not in ("http", "https") or not parts.hostname:
            hint = "write the path without file://" if parts.scheme == "file" else ""
            raise ImageError(f"{url}: only http and https URLs are supported", hint=hint)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            host = parts.hostname.encode("idna").decode()
        except (ValueError, UnicodeError) as err:
            raise ImageError(f"{url}: invalid URL ({err})") from err
        address = self._checked_address(url, host, port)
        kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
        connection = kinds[parts.scheme](host, port, timeout=max(0.1, deadline - time.monotonic()))
        target = quote(parts.path or "/", safe=_SAFE)
        if parts.query:
            target += f"?{quote(parts.query, safe=f'{_SAFE}?')}"
        try:
            _connect(connection, address)
            with _cut_off_at(connection.sock, deadline):
                connection.request("GET", target, headers={"Accept": "image/*", "User-Agent": "eyechart"})
                return self._read_response(url, connection.getresponse())
        # ValueError: http.client refuses control characters, and reads of a closed socket.
        except (OSError, http.client.HTTPException, ValueError) as err:
            raise _Transient(f"the download failed ({str(err) or type(err).__name__})") from err
        finally:
            connection.close()

    def _read_response(self, url: str, response: http.client.HTTPResponse) -> bytes | str:
        if response.status in _REDIRECTS and (target := response.headers.get("Location")):
            return target
        if response.status == 429 or response.status >= 500:
            raise _Transient(f"HTTP {response.status} {response.reason}")
        if response.status != 200:
            raise ImageError(f"{url}: HTTP {response.status} {response.reason}")
        kind = response.headers.get("Content-Type", "")
        if kind.startswith("text/html"):
            raise ImageError(f"{url}: a web page ({kind}), not an image", hint="use the URL of the image")
        body = bytearray()
        while chunk := response.read1(_CHUNK_BYTES):
            body += chunk
            if len(body) > self.max_bytes:
                hint = "if the size is correct, save the image beside the data file"
                raise ImageError(f"{url}: more than {self.max_bytes / 1e6:g} MB", hint=hint)
        if response.length:
            raise _Transient("the response was cut off")
        return bytes(body)

    def _checked_address(self, url: str, host: str, port: int) -> str:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as err:
            raise _Transient(f"cannot resolve the host {host!r} ({err.strerror or err})") from err
        addresses = [str(entry[4][0]) for entry in found]
        private = [address for address in addresses if not is_public(address)]
        if private and not self.allow_private:
            why = f"{url}: the private address {private[0]} is not allowed in data files"
            raise ImageError(why, hint="for your own server: --allow-private-urls")
        return addresses[0]


# As `Fetcher._place` names them, and drafts of them.
_CACHED = re.compile(r"(public|private)/([0-9a-f]{2})/(\2[0-9a-f]{62}|\.part-\w+)")


def count_cached(folder: Path, *, older_days: int = 0, is_removing: bool = False) -> tuple[int, int]:
    """How many images were downloaded at least so many days ago, and their bytes; other files stay."""
    sizes = []
    for path in folder.glob("*/*/*"):
        with suppress(OSError):  # another process may remove it first
            found = path.lstat()
            is_old = found.st_mtime <= time.time() - older_days * 86_400
            if is_old and _CACHED.fullmatch("/".join(path.parts[-3:])):
                if is_removing:
                    path.unlink()
                sizes.append(found.st_size)
    return len(sizes), sum(sizes)


def is_public(address: str) -> bool:
    """Whether an IP address is public.

    >>> is_public("93.184.216.34"), is_public("127.0.0.1"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if inner or ip in _NAT64:
            return is_public(str(inner or ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def _connect(connection: http.client.HTTPConnection, address: str) -> None:
    """Connect to the address that was checked, with the host's name for TLS and HTTP."""
    plain = socket.create_connection((address, connection.port), connection.timeout)
    if isinstance(connection, http.client.HTTPSConnection):
        import ssl

        connection.sock = plain  # closed with the connection if the handshake fails
        plain = ssl.create_default_context().wrap_socket(plain, server_hostname=connection.host)
    connection.sock = plain


@contextmanager
def _cut_off_at(connected: socket.socket, deadline: float) -> Iterator[None]:
    """Abort a slow download at the deadline: socket timeouts only notice silence."""

    def cut() -> None:
        with suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
        if time.monotonic() >= deadline:
            raise _Transient("the response took too long")
    finally:
        timer.cancel()
