"""Through a proxy: the same promises as without one, kept by the same client."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from eyechart.errors import ModelError
from eyechart.models import http as room
from eyechart.models.http import Broken, Http, Response, Unreachable
from support.raw import LOOPS, Served, Talk, Wire, answer, make_certificate, run, saying, serving, tls_server

on_both_loops = pytest.mark.parametrize("loop", LOOPS)
LARGE = [b'{"image": "', b"x" * (8 * 2**20), b'"}']
FAR = "http://far.invalid/v1?a=b"


def through(loop: str, talk: Talk, work: Callable[[Served, Http], Awaitable[None]]) -> Served:
    async def both() -> Served:
        async with serving(talk) as served:
            http = Http(FAR, {"X-Of": "us"}, f"http://127.0.0.1:{served.port}")
            try:
                await work(served, http)
            finally:
                await http.close()
                await asyncio.sleep(0)
            return served

    return run(loop, both())


@on_both_loops
def test_requests_arrive_whole_over_one_connection(loop: str) -> None:
    heard: list[tuple[str, bytes]] = []

    async def talk(wire: Wire) -> None:
        while True:
            heard.append(await wire.hear())
            await wire.say(answer(b"hello", headers="X-AbC: d"))

    async def work(served: Served, http: Http) -> None:
        for pieces in ([b"a", b"", b"bc"], LARGE):
            said = await http.post(pieces)
            assert said == Response(200, {"content-length": "5", "x-abc": "d"}, b"hello")

    assert through(loop, talk, work).n_connections == 1
    assert [body for _, body in heard] == [b"abc", b"".join(LARGE)]
    assert heard[0][0].startswith("POST http://far.invalid/v1?a=b HTTP/1.1\r\nHost: far.invalid\r\n")
    assert "\r\nX-Of: us\r\n" in heard[0][0]


@on_both_loops
@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000,
        answer(b"no gzip", headers="Content-Encoding: gzip"),
        answer(gzip.compress(b"hello" * 100, mtime=0)[:-10], headers="Content-Encoding: gzip"),
    ],
)
def test_an_answer_that_is_cut_or_twisted_is_broken(loop: str, said: bytes) -> None:
    async def work(served: Served, http: Http) -> None:
        with pytest.raises(Broken) as caught:
            await http.post([b"?"])
        assert str(caught.value)

    through(loop, saying(said, then_close=True), work)


@pytest.mark.slow
@on_both_loops
@pytest.mark.parametrize("is_packed", [False, True])
def test_an_answer_without_end_is_left_at_the_limit(
    loop: str, is_packed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MAX_ANSWER_BYTES", 2**20)
    bomb = gzip.compress(bytes(50 * 2**20))

    async def talk(wire: Wire) -> None:
        await wire.hear()
        if is_packed:
            await wire.say(answer(bomb, headers="Content-Encoding: gzip"))
        else:
            wire.writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                wire.writer.write(b"x" * 65536)
                await wire.writer.drain()

    async def work(served: Served, http: Http) -> None:
        with pytest.raises(Broken):
            await http.post([b"?"])

    through(loop, talk, work)


@on_both_loops
def test_a_packed_answer_is_unpacked(loop: str) -> None:
    content = json.dumps(["hello"] * 1000).encode()

    async def work(served: Served, http: Http) -> None:
        assert (await http.post([b"?"])).content == content

    through(loop, saying(answer(gzip.compress(content, mtime=0), headers="Content-Encoding: gzip")), work)


@on_both_loops
def test_a_reset_is_broken_and_the_next_request_is_well(loop: str) -> None:
    async def talk(wire: Wire) -> None:
        await wire.reader.read(100)
        if wire.number == 0:
            wire.reset()
        else:
            await wire.reader.readuntil(b"?")
            await wire.say(answer())

    async def work(served: Served, http: Http) -> None:
        with pytest.raises(Broken):
            await http.post(LARGE)
        assert (await http.post([b"?"])).content == b"hi"

    through(loop, talk, work)


@on_both_loops
def test_a_proxy_that_nobody_answers_at_is_unreachable(loop: str) -> None:
    async def work() -> str:
        async with serving(saying(answer())) as served:
            gone = served.port
        http = Http(FAR, {}, f"http://127.0.0.1:{gone}")
        try:
            with pytest.raises(Unreachable) as caught:
                await http.post([b"?"])
        finally:
            await http.close()
        return str(caught.value)

    said = run(loop, work())
    assert said.startswith("the proxy 127.0.0.1:")
    assert said.endswith(": Connection refused")


@on_both_loops
def test_whoever_stops_waiting_does_not_leave_an_answer_for_others(loop: str) -> None:
    async def talk(wire: Wire) -> None:
        while True:
            _, body = await wire.hear()
            await asyncio.sleep(0.03)
            await wire.say(answer(body))

    async def work(served: Served, http: Http) -> None:
        for number in range(4):
            body = b"%d" % number
            try:
                async with asyncio.timeout(5 if number % 2 else 0.02):
                    assert (await http.post([body])).content == body
            except TimeoutError:
                assert number % 2 == 0

    through(loop, talk, work)


@on_both_loops
@pytest.mark.parametrize("is_trusted", [True, False])
def test_tls_goes_through_a_tunnel_and_certificates_count(
    loop: str, is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    heads: list[bytes] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def work() -> Response:
        async def tunnel(wire: Wire) -> None:
            heads.append(await wire.reader.readuntil(b"\r\n\r\n"))
            reader, writer = await asyncio.open_connection("127.0.0.1", far.port)
            await wire.say(b"HTTP/1.1 200 Connection established\r\n\r\n")
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(pump(wire.reader, writer))
                    group.create_task(pump(reader, wire.writer))
            except* (ConnectionError, RuntimeError):
                pass
            finally:
                writer.close()

        async with serving(saying(answer()), tls=tls_server(certificate)) as far, serving(tunnel) as proxy:
            host = "localhost" if is_trusted else "127.0.0.1"  # the certificate is for the first alone
            http = Http(f"https://{host}:{far.port}/v1", {}, f"http://127.0.0.1:{proxy.port}")
            try:
                return await http.post(LARGE if is_trusted else [b"?"])
            finally:
                await http.close()
                await asyncio.sleep(0.05)

    if is_trusted:
        assert run(loop, work()).content == b"hi"
    else:
        with pytest.raises(Unreachable, match=r"its certificate is not trusted: .*127\.0\.0\.1"):
            run(loop, work())
    assert heads[0].startswith(b"CONNECT ")


@pytest.mark.parametrize("key", ["sk-one\nsk-two", "“sk-one”", "sk-例"])
def test_a_key_that_no_header_can_hold_is_refused_and_not_told(key: str) -> None:
    async def work() -> None:
        with pytest.raises(ModelError, match="API key cannot be sent") as caught:
            Http(FAR, {"Authorization": f"Bearer {key}"}, "http://127.0.0.1:9")
        assert caught.value.is_fatal
        assert "one" not in str(caught.value)

    run("asyncio", work())
