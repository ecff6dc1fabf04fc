import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from eyechart.data.images import fetch
from eyechart.data.images.fetch import Fetcher, is_public
from eyechart.data.images.loading import ImageLoader
from eyechart.errors import ImageError
from eyechart.types import ImageRef
from support.files import picture
from support.trickle import trickling


class Handler(BaseHTTPRequestHandler):
    """A small web of pictures and traps."""

    hits: list[str] = []  # noqa: RUF012

    def do_GET(self) -> None:
        self.hits.append(self.path)
        with suppress(OSError):
            getattr(self, "_" + self.path.strip("/").partition("?")[0].partition(".")[0], self._missing)()

    def _reply(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _missing(self) -> None:
        self._reply(404)

    def _good(self) -> None:
        self._reply(200, picture())

    def _moved(self) -> None:
        self._reply(302, Location="/good.png")

    def _circle(self) -> None:
        self._reply(302, Location="/circle")

    def _elsewhere(self) -> None:
        self._reply(302, Location="file:///etc/passwd")

    def _page(self) -> None:
        self._reply(200, b"<html>", Content_Type="text/html")

    def _fake(self) -> None:
        self._reply(200, b"secret words", Content_Type="image/png")

    def _large(self) -> None:
        self._reply(200, b"x" * 5000)

    def _flaky(self) -> None:
        self._reply(200, picture()) if self.hits.count(self.path) > 1 else self._reply(503)

    def _broken(self) -> None:
        self._reply(500)

    def _cut(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"short")

    def _drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(100):
            self.wfile.write(b"x")
            time.sleep(0.05)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def web() -> Iterator[str]:
    Handler.hits.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_PAUSE_S", 0.01)


def load(url: str, **options: object) -> bytes:
    loader = ImageLoader(allow_private_urls=True, **options)  # type: ignore[arg-type]
    return loader.load(ImageRef(kind="url", location=url)).data()


def test_pictures_are_fetched(web: str) -> None:
    assert load(f"{web}/good.png") == picture()
    assert load(f"{web}/moved") == picture()
    assert load(f"{web}/good.png?w=1&h=ä b") == picture()
    assert load(f"{web}/flaky") == picture()


def test_a_picture_in_packets_of_one_byte(web: str) -> None:
    with trickling(web) as slow:
        assert load(f"{slow}/good.png") == picture()


def test_private_addresses_are_refused(web: str) -> None:
    for url in (
        web,
        web.replace("127.0.0.1", "localhost"),
        "http://[::1]:9",
        "http://10.1.2.3",
        "http://169.254.169.254",
    ):
        with pytest.raises(ImageError, match="the private address"):
            ImageLoader().load(ImageRef(kind="url", location=f"{url}/good.png"))
    assert Handler.hits == []


def test_a_redirect_is_checked_too(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([True, False])
    monkeypatch.setattr(fetch, "is_public", lambda address: next(answers))
    with pytest.raises(ImageError, match="private"):
        Fetcher().fetch(f"{web}/moved")
    assert Handler.hits == ["/moved"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/none", "HTTP 404"),
        ("/circle", "redirects"),
        ("/elsewhere", "only http and https"),
        ("/page", "a web page"),
        ("/fake", "not a supported image"),
        ("/broken", "HTTP 500"),
        ("/cut", "download failed|cut off"),
    ],
)
def test_traps(web: str, path: str, message: str) -> None:
    with pytest.raises(ImageError, match=message):
        load(web + path)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/a.png",
        "file:///etc/passwd",
        "http://",
        "http://x:99999/",
        "http://" + "a" * 300 + ".org/",
    ],
)
def test_addresses_that_cannot_be_meant(url: str) -> None:
    with pytest.raises(ImageError):
        load(url)


@pytest.mark.slow
def test_limits(web: str) -> None:
    with pytest.raises(ImageError, match=r"more than 0\.001 MB"):
        Fetcher(allow_private=True, max_bytes=1000).fetch(f"{web}/large")
    started = time.monotonic()
    with pytest.raises(ImageError, match="no response within"):
        Fetcher(allow_private=True, timeout_s=0.3).fetch(f"{web}/drip")
    assert time.monotonic() - started < 20


def test_nobody_there() -> None:
    with pytest.raises(ImageError, match="download failed"):
        load("http://127.0.0.1:9/a.png")


def test_downloads_are_kept(web: str, tmp_path: Path) -> None:
    for _ in range(2):
        assert load(f"{web}/good.png", cache_dir=tmp_path) == picture()
    assert Handler.hits == ["/good.png"]
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.read_bytes() for path in kept] == [picture()]
    with pytest.raises(ImageError):
        load(f"{web}/fake", cache_dir=tmp_path)
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_a_cache_that_cannot_be_written_does_not_matter(web: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert load(f"{web}/good.png", cache_dir=tmp_path / "file") == picture()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0",
        "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1",
        "64:ff9b::7f00:1", "2002:7f00:1::",
    ],
)  # fmt: skip
def test_private_ranges(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public_ranges(address: str) -> None:
    assert is_public(address)


def test_an_address_that_several_want_at_once_is_fetched_once(web: str, tmp_path: Path) -> None:
    loader = ImageLoader(allow_private_urls=True, cache_dir=tmp_path)
    ref = ImageRef(kind="url", location=f"{web}/good.png?shared")
    threads = [threading.Thread(target=loader.load, args=(ref,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Handler.hits.count("/good.png?shared") == 1
