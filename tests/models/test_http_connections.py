"""Connections: used again, given up in time, refused, reset, cancelled, closed: with nothing left behind."""

import asyncio
import contextlib
import gc
import os
import random
import socket
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from eyechart.errors import ModelError
from eyechart.models import http as room
from eyechart.models.http import Broken, Http, Response, Unreachable
from support.command import eyechart
from support.raw import LOOPS, Served, Talk, Wire, answer, make_certificate, run, saying, serving, tls_server
from support.waiting import until

on_both_loops = pytest.mark.parametrize("loop", LOOPS)
LARGE = [b'{"image": "', b"x" * (8 * 2**20), b'"}']


def try_out(loop: str, talk: Talk, work: Callable[[Served, Http], Awaitable[None]]) -> Served:
    """Let a client work with a server of our making."""

    async def both() -> Served:
        async with serving(talk) as served:
            http = Http(served.url, {})
            try:
                await work(served, http)
            finally:
                await http.close()
            return served

    return run(loop, both())


# -- used again ------------------------------------------------------------------------------------


@pytest.mark.slow
@on_both_loops
@pytest.mark.parametrize(("n", "at_once"), [(50, 1), (200, 8), (1024, 256)])
def test_there_are_no_more_connections_than_requests_at_once(loop: str, n: int, at_once: int) -> None:
    async def talk(wire: Wire) -> None:
        while True:
            _, body = await wire.hear()
            await wire.say(answer(body))

    async def work(served: Served, http: Http) -> None:
        left = iter(range(n))

        async def worker() -> None:
            for number in left:
                body = b"%d" % number
                assert (await http.post([b"<", body, b">"])).content == b"<%b>" % body

        await asyncio.gather(*(worker() for _ in range(at_once)))

    assert try_out(loop, talk, work).n_connections <= at_once


@on_both_loops
def test_a_connection_that_the_server_was_seen_to_close_is_not_used(loop: str) -> None:
    async def work(served: Served, http: Http) -> None:
        for _ in range(5):
            assert (await http.post([b"?"])).content == b"hi"
            await until(lambda: not http._open)

    assert try_out(loop, saying(answer(), then_close=True), work).n_connections == 5


@on_both_loops
@pytest.mark.parametrize("goodbye", [answer(headers="Connection: close"), answer(version="1.0")])
def test_a_connection_that_is_about_to_close_is_not_used(loop: str, goodbye: bytes) -> None:
    async def work(served: Served, http: Http) -> None:
        for _ in range(5):
            assert (await http.post([b"?"])).content == b"hi"

    for then_close in (True, False):
        assert try_out(loop, saying(goodbye, then_close=then_close), work).n_connections == 5


@on_both_loops
def test_a_connection_of_http_1_0_may_be_kept(loop: str) -> None:
    async def work(served: Served, http: Http) -> None:
        for _ in range(5):
            await http.post([b"?"])

    said = answer(version="1.0", headers="Connection: keep-alive")
    assert try_out(loop, saying(said), work).n_connections == 1


@on_both_loops
def test_a_connection_that_was_left_alone_for_long_is_not_used(
    loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert room.IDLE_S < 5  # uvicorn, which most endpoints run on, hangs up after five seconds
    monkeypatch.setattr(room, "IDLE_S", 0.05)

    async def work(served: Served, http: Http) -> None:
        await asyncio.gather(*(http.post([b"?"]) for _ in range(3)))
        await asyncio.sleep(0.1)
        await http.post([b"?"])
        await http.post([b"?"])
        assert served.n_connections == 4
        assert len(http._open) <= 2  # those left alone were closed

    try_out(loop, saying(answer()), work)


# -- what is sent ----------------------------------------------------------------------------------


def head_for(url: str, headers: dict[str, str] | None = None) -> list[str]:
    return Http(url, headers or {})._head.decode().split("\r\n")


@pytest.mark.parametrize(
    ("url", "path", "host"),
    [
        ("http://localhost:8000/v1/chat/completions", "/v1/chat/completions", "localhost:8000"),
        ("http://LocalHost", "/", "localhost"),
        ("https://api.example/v1", "/v1", "api.example"),
        ("http://[::1]:8000/v1", "/v1", "[::1]:8000"),
        ("http://[::1]/v1", "/v1", "[::1]"),
        ("http://h/a%20b/c?d=e&f=%C3%A9#g", "/a%20b/c?d=e&f=%C3%A9", "h"),
        ("http://h/a;b=c,(d)'e'@f:g+h!*$~-._", "/a;b=c,(d)'e'@f:g+h!*$~-._", "h"),
        ('http://h/é "<例>', "/%C3%A9%20%22%3C%E4%BE%8B%3E", "h"),
        ("http://bücher.example:81/v1", "/v1", "xn--bcher-kva.example:81"),
        ("http://me:secret@h:81/v1", "/v1", "h:81"),
    ],
)
def test_path_and_host_are_written_as_servers_read_them(url: str, path: str, host: str) -> None:
    lines = head_for(url)
    assert lines[:2] == [f"POST {path} HTTP/1.1", f"Host: {host}"]
    assert lines[-1] == "Content-Length: "


@on_both_loops
def test_a_request_is_one_head_and_the_pieces_of_its_body(loop: str) -> None:
    heard: list[tuple[str, bytes]] = []

    async def talk(wire: Wire) -> None:
        while True:
            heard.append(await wire.hear())
            await wire.say(answer())

    async def work(served: Served, http: Http) -> None:
        for pieces in ([b"a", b"", b"bc"], [], LARGE):
            await http.post(pieces)

    served = try_out(loop, talk, work)
    [one, two, three] = heard
    assert one[0] == (
        f"POST /v1 HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
        "Accept-Encoding: identity\r\nContent-Length: 3\r\n\r\n"
    )
    assert (one[1], two[1], three[1]) == (b"abc", b"", b"".join(LARGE))
    assert served.n_connections == 1


@on_both_loops
def test_addresses_of_the_sixth_version(loop: str) -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("no IPv6 here")
    heads: list[str] = []

    async def talk(wire: Wire) -> None:
        heads.append((await wire.hear())[0])
        await wire.say(answer())

    async def work() -> int:
        async with serving(talk, host="::1") as served:
            http = Http(served.url, {})
            assert (await http.post([b"?"])).status == 200
            await http.close()
            return served.port

    port = run(loop, work())
    assert f"\r\nHost: [::1]:{port}\r\n" in heads[0]


KEYS = [
    "sk-one\nsk-two",
    "sk-one\r\nX-Evil: 1",
    "sk-\x00",
    "sk-\x7f",
    "“sk-one”",
    "sk-例",
    "sk-é",
    "sk\u2028-one",
]


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_no_header_can_hold_is_refused_and_not_told(key: str) -> None:
    with pytest.raises(ModelError, match="API key cannot be sent") as caught:
        Http("http://localhost/v1", {"Authorization": f"Bearer {key}"})
    assert caught.value.is_fatal
    assert "sk" not in str(caught.value).replace("ask", "")
    with pytest.raises(ModelError, match="header X-A cannot be sent"):
        Http("http://localhost/v1", {"X-A": "a\nb"})


@pytest.mark.parametrize("host", ["a..b", "a" * 64, "é" * 80])
def test_a_host_that_cannot_be_is_refused(host: str) -> None:
    with pytest.raises(ModelError, match="is not a host name") as caught:
        Http(f"http://{host}/v1", {})
    assert caught.value.is_fatal


# -- nobody there ----------------------------------------------------------------------------------


def reason_of(loop: str, url: str) -> str:
    async def work() -> str:
        http = Http(url, {})
        try:
            with pytest.raises(Unreachable) as caught:
                await http.post([b"?"])
        finally:
            await http.close()
        return str(caught.value)

    said = run(loop, work())
    assert "\n" not in said
    return said


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


@on_both_loops
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_port_where_nobody_listens(loop: str, host: str, scheme: str) -> None:
    said = reason_of(loop, f"{scheme}://{host}:{free_port()}/v1")
    assert said.startswith("Connection refused")
    assert "Errno" not in said


@on_both_loops
def test_a_host_that_nobody_knows(loop: str) -> None:
    assert reason_of(loop, "http://no-such-host.invalid/v1").startswith("unknown host (")


@pytest.mark.slow
@on_both_loops
def test_a_host_that_never_takes_the_call(loop: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_CONNECT_S", 0.2)
    waiting: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        try:
            for _ in range(4):  # more than the queue holds: the next one's call is not even refused
                caller = socket.socket()
                caller.setblocking(False)
                caller.connect_ex(address)
                waiting.append(caller)
            assert reason_of(loop, f"http://127.0.0.1:{address[1]}/v1") == "no connection within 0.2 s"
        finally:
            for caller in waiting:
                caller.close()


# -- TLS -------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@on_both_loops
def test_a_certificate_that_is_trusted_works_and_connections_are_kept(
    loop: str, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async def talk(wire: Wire) -> None:
        while True:
            _, body = await wire.hear()
            await wire.say(answer(b"%d" % len(body)))

    async def work() -> None:
        async with serving(talk, tls=tls_server(certificate)) as served:
            http = Http(f"https://localhost:{served.port}/v1", {})
            for pieces in ([b"?"], LARGE, [b"??"]):
                assert (await http.post(pieces)).content == b"%d" % sum(map(len, pieces))
            assert served.n_connections == 1
            await http.close()

    run(loop, work())


@on_both_loops
@pytest.mark.parametrize("then_close", [True, False])
def test_over_tls_an_answer_may_end_with_the_connection_or_not_at_all(
    loop: str, certificate: Path, then_close: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))

    async def talk(wire: Wire) -> None:
        await wire.hear()
        await wire.say(b"HTTP/1.1 200 OK\r\n\r\nhel", b"lo")
        if not then_close:
            wire.reset()

    async def work() -> bytes:
        async with serving(talk, tls=tls_server(certificate)) as served:
            http = Http(f"https://localhost:{served.port}/v1", {})
            try:
                return (await http.post([b"?"])).content
            finally:
                await http.close()

    if then_close:
        assert run(loop, work()) == b"hello"
    else:
        with pytest.raises(Broken):
            run(loop, work())


@on_both_loops
def test_a_certificate_that_nobody_vouches_for_is_refused(
    loop: str, certificate: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(host: str) -> str:
        async with serving(saying(answer()), tls=tls_server(certificate)) as served:
            http = Http(f"https://{host}:{served.port}/v1", {})
            with pytest.raises(Unreachable) as caught:
                await http.post([b"?"])
            await http.close()
            return str(caught.value)

    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    said = run(loop, work("localhost"))
    assert "its certificate is not trusted: self" in said
    assert "_ssl.c" not in said
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    said = run(loop, work("127.0.0.1"))
    assert "its certificate is not trusted: " in said
    assert "127.0.0.1" in said


@on_both_loops
def test_https_to_a_server_that_speaks_plain_http(loop: str) -> None:
    async def talk(wire: Wire) -> None:
        await wire.reader.read(100)
        await wire.say(answer(status="400 Bad Request", headers="Connection: close"))

    async def work() -> str:
        async with serving(talk) as served:
            http = Http(served.url.replace("http:", "https:"), {})
            with pytest.raises(Unreachable) as caught:
                await http.post([b"?"])
            await http.close()
            return str(caught.value)

    said = run(loop, work())
    assert "TLS handshake failed" in said
    assert "http://" in said


@on_both_loops
def test_plain_http_to_a_server_that_speaks_tls(loop: str, certificate: Path) -> None:
    async def work() -> str:
        loop_ = asyncio.get_running_loop()
        loop_.set_exception_handler(lambda *_: None)  # the server's side grumbles
        async with serving(saying(answer()), tls=tls_server(certificate)) as served:
            http = Http(served.url.replace("https:", "http:"), {})
            with pytest.raises(Broken) as caught:
                await http.post([b"?"])
            await http.close()
            return str(caught.value)

    said = run(loop, work())
    assert "https://" in said or "closed" in said or "reset" in said


@on_both_loops
@pytest.mark.parametrize("is_reset", [True, False])
def test_a_server_that_hangs_up_before_tls_was_agreed_on(loop: str, is_reset: bool) -> None:
    async def talk(wire: Wire) -> None:
        await wire.reader.read(10)
        if is_reset:
            wire.reset()

    async def work() -> str:
        async with serving(talk) as served:
            http = Http(served.url.replace("http:", "https:"), {})
            with pytest.raises(Unreachable) as caught:
                await http.post([b"?"])
            await http.close()
            return str(caught.value)

    assert run(loop, work()) in (
        "Connection reset by peer",
        "the server closed the connection",
        "the TLS handshake failed (unexpected eof while reading); is it an http:// URL?",
    )


# -- hung up on ------------------------------------------------------------------------------------


@on_both_loops
@pytest.mark.parametrize("is_reset", [True, False])
@pytest.mark.parametrize("after_bytes", [0, 10, 2**20])
@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi"]
)
@pytest.mark.parametrize("pieces", [[b"?" * 100], LARGE], ids=["small", "large"])
def test_a_server_that_hangs_up_at_any_moment(
    loop: str, is_reset: bool, after_bytes: int, said: bytes, pieces: list[bytes]
) -> None:
    async def talk(wire: Wire) -> None:
        if after_bytes:
            await wire.reader.read(min(after_bytes, 100)) if pieces is not LARGE else (
                await wire.reader.readexactly(after_bytes)
            )
        if said:
            await wire.say(said)
        if is_reset:
            wire.reset()

    async def work(served: Served, http: Http) -> None:
        for _ in range(3):
            with pytest.raises(Broken, match=r"closed the connection|reset by peer|Broken pipe"):
                await http.post(pieces)
        assert not http._idle

    try_out(loop, talk, work)


@on_both_loops
def test_an_answer_that_ends_with_the_connection_is_not_whole_when_that_was_reset(loop: str) -> None:
    async def talk(wire: Wire) -> None:
        await wire.hear()
        await wire.say(b"HTTP/1.1 200 OK\r\n\r\nhel")
        wire.reset()

    async def work(served: Served, http: Http) -> None:
        with pytest.raises(Broken, match="reset"):
            await http.post([b"?"])

    try_out(loop, talk, work)


@on_both_loops
@pytest.mark.parametrize(
    ("manner", "has_length"),
    [
        ("reads on", True),
        ("hangs up", True),
        ("waits", True),
        ("half hangs up", True),
        ("half hangs up", False),
    ],
)
@pytest.mark.parametrize("after_bytes", [0, 2**20])
def test_a_refusal_is_heard_before_all_was_sent(
    loop: str, manner: str, after_bytes: int, has_length: bool
) -> None:
    async def talk(wire: Wire) -> None:
        await wire.reader.readuntil(b"\r\n\r\n")
        await wire.reader.readexactly(after_bytes)
        refusal = answer(b"too large", status="413 Too Large")
        if not has_length:
            refusal = refusal.replace(b"Content-Length: 9\r\n", b"")
        await wire.say(refusal)
        if manner == "half hangs up":
            wire.writer.write_eof()
        if manner in ("waits", "half hangs up"):
            await asyncio.sleep(1)
        while manner == "reads on" and await wire.reader.read(2**16):
            pass

    async def work(served: Served, http: Http) -> None:
        for _ in range(2):
            assert await http.post(LARGE) == Response(
                413, {"content-length": "9"} if has_length else {}, b"too large"
            )
        assert served.n_connections == 2
        assert not http._idle

    try_out(loop, talk, work)


@pytest.mark.slow
@on_both_loops
def test_bodies_wait_outside_of_the_buffers_for_a_slow_reader(loop: str) -> None:
    async def talk(wire: Wire) -> None:
        await gate.wait()
        _, body = await wire.hear()
        await wire.say(answer(b"%d" % len(body)))

    async def work(served: Served, http: Http) -> None:
        tracemalloc.start()
        try:
            tasks = [asyncio.create_task(http.post(LARGE)) for _ in range(20)]
            await until(lambda: len(http._open) == 20)
            await asyncio.sleep(0.2)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert len(http._open) == 20
        assert peak < 60 * 2**20  # 160 MB are on their way; the server's own side holds some
        gate.set()
        assert {(await task).content for task in tasks} == {b"%d" % sum(map(len, LARGE))}

    gate = asyncio.Event()
    try_out(loop, talk, work)


# -- told to stop ----------------------------------------------------------------------------------


def n_sockets() -> int:
    n = 0
    for descriptor in range(1000):
        with contextlib.suppress(OSError):
            n += stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    return n


@pytest.mark.slow
@on_both_loops
@pytest.mark.parametrize("pieces", [[b"?"], LARGE], ids=["small", "large"])
@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "tls"])
def test_whoever_stops_waiting_leaves_nothing_behind_and_spoils_nothing(
    loop: str, pieces: list[bytes], is_tls: bool, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    dice = random.Random(7)
    patience_s = 0.05 if pieces is LARGE else 0.01 if is_tls else 0.004

    async def talk(wire: Wire) -> None:
        while True:
            _, body = await wire.hear()
            whole = answer(body[:20])
            await asyncio.sleep(dice.random() * 0.002)
            place = dice.randrange(len(whole))
            await wire.say(whole[:place], whole[place:])

    async def work() -> tuple[int, int]:
        asyncio.get_running_loop().slow_callback_duration = 10
        tls = tls_server(certificate) if is_tls else None
        n_done = n_stopped = 0
        async with serving(talk, tls=tls) as served:
            before = n_sockets()
            http = Http(served.url.replace("127.0.0.1", "localhost"), {})

            async def one(number: int) -> None:
                nonlocal n_done, n_stopped
                body = [b"%06d" % number, *pieces]
                try:
                    async with asyncio.timeout(dice.random() * patience_s):
                        response = await http.post(body)
                except TimeoutError:
                    n_stopped += 1
                else:
                    n_done += 1
                    assert response.content[:6] == body[0]  # our answer, not that of one who left

            async def worker(first: int) -> None:
                for number in range(first, 60, 6):
                    await one(number)

            await asyncio.gather(*(worker(first) for first in range(6)))
            async with asyncio.timeout(5):
                assert (await http.post([b"000007"])).content == b"000007"
            await http.close()
            assert not http._open
            await until(lambda: n_sockets() <= before)
        return n_done, n_stopped

    n_done, n_stopped = run(loop, work())
    assert n_stopped > 5
    assert n_done + n_stopped == 60


@on_both_loops
@pytest.mark.parametrize("pieces", [[b"?"], LARGE], ids=["small", "large"])
def test_closing_ends_requests_under_way(loop: str, pieces: list[bytes]) -> None:
    async def talk(wire: Wire) -> None:
        await wire.reader.read(1)
        await asyncio.sleep(10)

    async def work(served: Served, http: Http) -> None:
        tasks = [asyncio.create_task(http.post(pieces)) for _ in range(5)]
        await until(lambda: len(http._open) == served.n_connections == 5)
        late = asyncio.create_task(http.post(pieces))
        await asyncio.sleep(0)
        await http.close()
        for task in (*tasks, late):
            with pytest.raises(Broken, match="closed by eyechart"):
                await task
        with pytest.raises(Broken, match="closed by eyechart"):
            await http.post(pieces)
        await http.close()
        assert not http._open

    try_out(loop, talk, work)


@on_both_loops
def test_stopping_and_failing_in_the_same_moment(loop: str) -> None:
    async def talk(wire: Wire) -> None:
        await wire.reader.read(1)
        await asyncio.sleep(10)

    async def work(served: Served, http: Http) -> None:
        for pieces in ([b"?"], LARGE):
            task = asyncio.create_task(http.post(pieces))
            await until(lambda: bool(http._open))
            [connection] = http._open
            connection.fail("the line is dead")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            del task, connection
            await until(lambda: not http._open)

    try_out(loop, talk, work)


# -- one loop after another ------------------------------------------------------------------------


@pytest.mark.slow
@on_both_loops
@pytest.mark.filterwarnings("ignore:unclosed")  # that is so: nobody closed them
@pytest.mark.parametrize("is_closed_between", [True, False])
def test_one_client_in_several_loops(loop: str, is_closed_between: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        code = (
            "import socket, sys\n"
            "listening = socket.socket(fileno=int(sys.argv[1]))\n"
            "while True:\n"
            "    connection, _ = listening.accept()\n"
            "    connection.recv(65536)\n"
            "    connection.sendall(b'HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nhi')\n"
        )
        descriptor = listening.fileno()
        server = subprocess.Popen([sys.executable, "-c", code, str(descriptor)], pass_fds=[descriptor])
    try:
        http = Http(f"http://127.0.0.1:{port}/v1", {})

        async def work() -> bytes:
            content = (await http.post([b"?"])).content
            if is_closed_between:
                await http.close()
                http._is_closed = False
            return content

        assert [run(loop, work()) for _ in range(3)] == [b"hi"] * 3
        run(loop, http.close())
        gc.collect()  # those of the loops that ended: here, where their complaint is expected
    finally:
        server.kill()
        server.wait()


# -- what users see --------------------------------------------------------------------------------


QUESTIONS = '{"question": "2 + 2?", "answer": "4"}\n{"question": "2 + 3?", "answer": "5"}\n'


def message_of(tmp_path: Path, base_url: str, *more: str) -> tuple[int, str]:
    (tmp_path / "sums.jsonl").write_text(QUESTIONS)
    outcome = eyechart(
        "run",
        "sums.jsonl",
        "--model",
        "openai/x",
        "--base-url",
        base_url,
        "--retries",
        0,
        *more,
        cwd=tmp_path,
    )
    assert "Traceback" not in outcome.err
    return outcome.code, outcome.err + outcome.out


def test_users_read_why_nobody_was_reached(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/v1"
    code, said = message_of(tmp_path, url)
    assert code == 2
    assert f"eyechart: cannot connect to {url}: Connection refused\n" in said
    code, said = message_of(tmp_path, "http://no-such-host.invalid/v1")
    assert code == 2
    assert "cannot connect to http://no-such-host.invalid/v1: unknown host (" in said


@pytest.mark.parametrize("key", ["sk-secret\nsecond", "“sk-secret”"])
def test_users_read_that_their_key_cannot_be_sent(tmp_path: Path, key: str) -> None:
    code, said = message_of(tmp_path, f"http://127.0.0.1:{free_port()}/v1", "--api-key", key)
    assert code == 2
    assert said.count("the API key cannot be sent") == 1
    assert "sk-secret" not in said
    for file in tmp_path.rglob("*.*"):
        assert b"sk-secret" not in file.read_bytes()


@pytest.mark.parametrize(
    ("said_by_server", "scheme", "code", "reason"),
    [
        (b"", "http", 1, "the server closed the connection"),
        (b"HTTP/1.1 400 Bad\r\nContent-Length: 0\r\n\r\n", "https", 2, "is it an http:// URL?"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "http", 1, "the server uses TLS: try https://"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "http", 1, "the response is not HTTP ("),
    ],
)
def test_users_read_why_the_talk_failed(
    tmp_path: Path, said_by_server: bytes, scheme: str, code: int, reason: str
) -> None:
    program = (
        "import socket, sys\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "print(listening.getsockname()[1], flush=True)\n"
        "while True:\n"
        "    connection, _ = listening.accept()\n"
        "    with connection:\n"
        "        connection.recv(65536)\n"
        f"        connection.sendall({said_by_server!r})\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            got, said = message_of(tmp_path, f"{scheme}://127.0.0.1:{port}/v1")
        finally:
            server.kill()
    assert got == code
    assert reason in said
