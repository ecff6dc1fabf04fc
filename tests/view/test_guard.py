"""Who may ask the server: names of this machine, the page itself, and GET alone."""

from __future__ import annotations

import contextlib

import pytest

from eyechart.errors import UsageError
from eyechart.view.server import find_refusal, is_own_host, open_socket


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:2020", "127.0.0.1:2020", "[::1]:2020", "a.localhost", "192.168.1.7:80"]
)
def test_own_names(host: str) -> None:
    assert is_own_host(host)
    assert find_refusal("GET", {"host": host}) is None
    assert find_refusal("GET", {"host": host, "origin": f"http://{host}"}) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:2020",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "127.0.0.1@evil",
        "localhost/x",
        "[::1",
        "[oops]",
        "127.0.0.1:2020, evil.example",
        "127.0.0.1:x",
    ],
)
def test_other_names(host: str) -> None:
    assert not is_own_host(host)
    refusal = find_refusal("GET", {"host": host})
    assert refusal is not None
    assert refusal[0] == 421


def test_a_name_can_be_allowed() -> None:
    assert is_own_host("box.lan:2020", ["box.lan"])
    assert not is_own_host("other.lan", ["box.lan"])


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://127.0.0.1:1",
        "https://localhost",
        "",
        "http://[bad",
        "http://a:b:c",
    ],
)
def test_other_origins(origin: str) -> None:
    refusal = find_refusal("GET", {"host": "127.0.0.1:2020", "origin": origin})
    assert refusal is not None
    assert refusal[0] == 403


def test_parts_of_other_pages() -> None:
    headers = {"host": "127.0.0.1:2020", "sec-fetch-site": "cross-site"}
    assert find_refusal("GET", {**headers, "sec-fetch-mode": "navigate"}) is None
    assert find_refusal("GET", {**headers, "sec-fetch-mode": "no-cors"}) is not None


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_reading_alone(method: str) -> None:
    refusal = find_refusal(method, {"host": "127.0.0.1:2020"})
    assert refusal is not None
    assert refusal[0] == 405


def test_a_port_that_is_taken_and_an_address_elsewhere_are_told() -> None:
    with contextlib.closing(open_socket("127.0.0.1", 0)) as first:
        with pytest.raises(UsageError, match="cannot listen") as taken:
            open_socket("127.0.0.1", first.getsockname()[1])
        assert "--port" in taken.value.hint
    with pytest.raises(UsageError, match="cannot listen") as elsewhere:
        open_socket("192.0.2.1", 0)  # an address for documentation
    assert "--host" in elsewhere.value.hint
