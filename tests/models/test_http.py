"""Answers over HTTP/1.1, however they are cut, packed or twisted: whole, or an error that says why not."""

import asyncio
import gzip
import http.client
import io
import zlib
from collections.abc import Awaitable, Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from eyechart.models import http as room
from eyechart.models.http import Broken, Http, Response
from support.raw import LOOPS, Served, Wire, answer, run, saying, serving
from support.waiting import until

on_both_loops = pytest.mark.parametrize("loop", LOOPS)
few = settings(max_examples=60, deadline=None)


def ask(loop: str, *segments: bytes, then_close: bool = False, times: int = 1) -> list[Response]:
    """What comes back when a server answers with these bytes."""

    async def work() -> list[Response]:
        async with serving(saying(*segments, then_close=then_close)) as served:
            http = Http(served.url, {})
            try:
                return [await http.post([b"?"]) for _ in range(times)]
            finally:
                await http.close()

    return run(loop, work())


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(stream) + 1) for place in places} | {len(stream)})
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False) if start != end]


places = st.lists(st.integers(0, 10_000), max_size=6)


def chunked(*chunks: bytes, headers: str = "", trailers: str = "", extension: str = "") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{headers}\r\n".encode()
    body = b"".join(b"%x%b\r\n%b\r\n" % (len(one), extension.encode(), one) for one in chunks if one)
    return head + body + f"0{extension}\r\n{trailers}\r\n".encode()


# -- how an answer says where it ends --------------------------------------------------------------


@pytest.mark.slow
@on_both_loops
@few
@given(content=st.binary(max_size=300), places=places)
def test_a_length_is_kept_however_the_answer_is_cut(loop: str, content: bytes, places: list[int]) -> None:
    [response] = ask(loop, *cut(answer(content), places))
    assert (response.status, response.content) == (200, content)


@pytest.mark.slow
@on_both_loops
@few
@given(chunks=st.lists(st.binary(max_size=100), max_size=5), places=places)
def test_chunks_are_joined_however_the_answer_is_cut(
    loop: str, chunks: list[bytes], places: list[int]
) -> None:
    stream = chunked(*chunks, extension=';of="x"', trailers="X-Sum: 7\r\n")
    [response] = ask(loop, *cut(stream, places))
    assert (response.status, response.content) == (200, b"".join(chunks))


@on_both_loops
@pytest.mark.parametrize("stream", [answer(b"hello"), chunked(b"hel", b"lo", trailers="A: b\r\n")])
def test_one_byte_at_a_time(loop: str, stream: bytes) -> None:
    [one, two] = ask(loop, *(stream[i : i + 1] for i in range(len(stream))), times=2)
    assert one.content == two.content == b"hello"


@on_both_loops
@pytest.mark.parametrize(
    "head",
    [
        "HTTP/1.1 200 OK\r\n",
        "HTTP/1.0 200 OK\r\n",
        "HTTP/1.1 200 OK\r\nConnection: close\r\n",
        "HTTP/1.1 200\r\n",
    ],
)
def test_without_a_length_the_end_of_the_connection_is_the_end_of_the_answer(loop: str, head: str) -> None:
    one, two = ask(loop, f"{head}\r\nhel".encode(), b"lo", then_close=True, times=2)
    assert one.content == two.content == b"hello"


@pytest.mark.slow
@on_both_loops
@pytest.mark.parametrize(
    "before",
    [
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nContent-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 102 Processing\r\n\r\n" * 3,
    ],
)
def test_what_is_said_before_the_answer_is_not_the_answer(loop: str, before: bytes) -> None:
    stream = before + answer(b"hello", headers="X-A: b")
    for place in range(len(stream)):
        pieces = [piece for piece in (stream[:place], stream[place:]) if piece]
        for response in ask(loop, *pieces, times=2):
            expected = {"content-length": "5", "x-a": "b"}
            assert response == Response(200, expected, b"hello")


@on_both_loops
@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
@pytest.mark.parametrize("headers", ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"])
def test_some_answers_have_no_body_whatever_they_say(loop: str, status: str, headers: str) -> None:
    [one, two] = ask(loop, f"HTTP/1.1 {status}\r\n{headers}\r\n".encode(), times=2)
    assert (one.status, one.content) == (two.status, two.content) == (int(status[:3]), b"")


@on_both_loops
def test_an_answer_of_nothing_is_whole(loop: str) -> None:
    assert [one.content for one in ask(loop, answer(b""), times=3)] == [b""] * 3
    assert ask(loop, chunked())[0].content == b""


@on_both_loops
def test_headers_have_small_names_and_trailers_change_nothing(loop: str) -> None:
    stream = chunked(b"hello", headers="X-AbC: dé\r\n", trailers="Content-Encoding: gzip\r\nX-abc: e\r\n")
    [response] = ask(loop, stream)
    assert response.headers == {"transfer-encoding": "chunked", "x-abc": "dÃ©"}
    assert response.content == b"hello"


# -- answers that are cut short, or twisted --------------------------------------------------------


def error_of(loop: str, *segments: bytes, then_close: bool = True) -> str:
    with pytest.raises(Broken) as caught:
        ask(loop, *segments, then_close=then_close)
    said = str(caught.value)
    assert said
    assert "\n" not in said
    return said


@on_both_loops
@pytest.mark.parametrize(
    "stream",
    [
        answer(b"hello", headers="X-A: b"),
        chunked(b"hel", b"lo", trailers="A: b\r\n", extension=";x"),
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"hello"),
    ],
)
def test_an_answer_that_is_cut_short_is_no_answer(loop: str, stream: bytes) -> None:
    for place in range(len(stream)):
        assert "closed the connection" in error_of(loop, *([stream[:place]] if place else []))


@on_both_loops
def test_an_answer_without_a_length_must_at_least_have_a_head(loop: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n"
    for place in range(len(head)):
        error_of(loop, head[:place])
    assert ask(loop, head, then_close=True)[0].content == b""


@on_both_loops
def test_an_answer_shorter_than_it_says_is_broken_and_a_longer_one_is_cut_there(loop: str) -> None:
    assert "closed" in error_of(loop, b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello")
    [one, two] = ask(loop, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello", times=2)
    assert one.content == two.content == b"hell"


@on_both_loops
@pytest.mark.parametrize(
    "lines",
    [
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 5",
        "Content-Length: +5",
        "Content-Length: -5",
        "Content-Length: 0x5",
        "Content-Length: 5 5",
        "Content-Length: 99999999999999999999",
        "Content-Length : 5",
        "Content-Length:",
        " Content-Length: 5",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: gzip",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
        "Transfer-Encoding : chunked",
        "Transfer-Encoding:",
        "X-Folded: a\r\n b\r\nContent-Length: 5",
        "X\x00: a\r\nContent-Length: 5",
        "X: a\x00b\r\nContent-Length: 5",
        "no colon\r\nContent-Length: 5",
        "X: a\rContent-Length: 5",
        "X: a\nContent-Length: 5",
    ],
)
@pytest.mark.parametrize("body", ["hello", "5\r\nhello\r\n0\r\n\r\n"])
def test_an_answer_that_can_be_read_in_two_ways_is_not_read(loop: str, lines: str, body: str) -> None:
    error_of(loop, f"HTTP/1.1 200 OK\r\n{lines}\r\n\r\n{body}".encode())


@on_both_loops
@pytest.mark.parametrize(
    "stream",
    [
        b"garbage", b"\x00" * 100, b"\xff" * 10, b"<html>", b"220 mail.example ESMTP\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n", b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 1000 No\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n", b"HTTP/9.9 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nabc",
        b"HTTP/1.1 101 Switching\r\n\r\nabc", b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloworld",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n",
    ],
)  # fmt: skip
def test_what_is_no_http_is_told_at_once(loop: str, stream: bytes) -> None:
    said = error_of(loop, stream, b"", then_close=False)
    assert "not HTTP" in said or "another protocol" in said


@on_both_loops
@pytest.mark.parametrize("first", [b"\x15\x03\x01\x00\x02\x02\x46", b"\x16\x03\x03\x00\x10" + b"x" * 16])
def test_an_address_that_should_begin_with_https_is_told_so(loop: str, first: bytes) -> None:
    assert "https://" in error_of(loop, first)


# -- more than was asked for -----------------------------------------------------------------------


SMUGGLED = answer(b"evil", headers="X-Evil: 1")


@on_both_loops
@pytest.mark.parametrize("stream", [answer(b"good"), chunked(b"good"), b"HTTP/1.1 204 No Content\r\n\r\n"])
@pytest.mark.parametrize("n", [1, 4, 20, len(SMUGGLED) - 1, len(SMUGGLED), 2 * len(SMUGGLED)])
@pytest.mark.parametrize("is_together", [True, False])
def test_a_second_answer_to_one_question_is_thrown_away_with_its_connection(
    loop: str, stream: bytes, n: int, is_together: bool
) -> None:
    extra = (SMUGGLED * 2)[:n]

    async def talk(wire: Wire) -> None:
        while True:
            await wire.hear()
            await (wire.say(stream + extra) if is_together else wire.say(stream, extra, b""))

    async def work() -> int:
        async with serving(talk) as served:
            http = Http(served.url, {})
            for _ in range(3):
                response = await http.post([b"?"])
                assert b"evil" not in response.content
                assert "x-evil" not in response.headers
                await until(lambda: not http._open)
            await http.close()
            return served.n_connections

    assert run(loop, work()) == 3


@on_both_loops
def test_words_on_an_idle_connection_end_it(loop: str) -> None:
    async def talk(wire: Wire) -> None:
        while True:
            await wire.hear()
            await wire.say(answer(b"good"))
            await asyncio.sleep(0.01)
            await wire.say(b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n")

    async def work() -> int:
        async with serving(talk) as served:
            http = Http(served.url, {})
            for _ in range(3):
                assert (await http.post([b"?"])).content == b"good"
                await until(lambda: not http._open)
            await http.close()
            return served.n_connections

    assert run(loop, work()) == 3


# -- more than can be held -------------------------------------------------------------------------


async def endless(wire: Wire, start: bytes, more: bytes) -> None:
    await wire.hear()
    wire.writer.write(start)
    while True:
        wire.writer.write(more)
        await wire.writer.drain()


def error_of_endless(loop: str, start: bytes, more: bytes) -> str:
    async def work() -> str:
        async with serving(lambda wire: endless(wire, start, more)) as served:
            http = Http(served.url, {})
            with pytest.raises(Broken) as caught:
                await http.post([b"?"])
            await http.close()
            return str(caught.value)

    return run(loop, work())


@on_both_loops
@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 65536),
        (b"HTTP/1.1 200 OK\r\n" + b"x" * 100, b"x" * 65536),
        (b"HTTP/1.1 200 ", b"O" * 65536),
        (b"HTTP/1.1 200 OK\r\n", b"".join(b"X-%d: y\r\n" % n for n in range(5000))),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        (b"", b"\r\n" * 1000),
    ],
)
def test_a_head_without_end_is_left_early(loop: str, start: bytes, more: bytes) -> None:
    assert "headers exceed" in error_of_endless(loop, start, more)


@on_both_loops
@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", b"x" * 65536),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"x" * 65536),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X: y\r\n" * 10_000),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ", b"y" * 65536),
    ],
)
def test_a_body_without_end_is_left_at_the_limit(
    loop: str, start: bytes, more: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MAX_ANSWER_BYTES", 2 * 2**20)
    assert error_of_endless(loop, start, more) == "the response exceeds 2 MB"


@pytest.mark.slow
@on_both_loops
def test_large_answers_within_the_limit_are_taken(loop: str) -> None:
    content = bytes(range(256)) * 20_000
    assert ask(loop, answer(content), times=2)[1].content == content
    many = "".join(f"X-{n}: y\n" for n in range(1000))
    assert len(ask(loop, answer(headers=many))[0].headers) == 1001


# -- packed answers --------------------------------------------------------------------------------


def packed(content: bytes, encoding: str = "gzip") -> bytes:
    return answer(content, headers=f"Content-Encoding: {encoding}")


@on_both_loops
@pytest.mark.parametrize(
    ("name", "pack"),
    [("gzip", gzip.compress), ("GZip", gzip.compress), ("x-gzip", gzip.compress), ("deflate", zlib.compress)],
)
def test_a_packed_answer_is_unpacked(loop: str, name: str, pack: Callable[[bytes], bytes]) -> None:
    content = b"hello " * 1000
    assert ask(loop, packed(pack(content), name))[0].content == content


@on_both_loops
def test_what_is_packed_in_an_unknown_way_or_empty_stays_as_it_is(loop: str) -> None:
    assert ask(loop, packed(b"hello", "identity"))[0].content == b"hello"
    assert ask(loop, packed(b"hello", "utf-8"))[0].content == b"hello"
    assert ask(loop, packed(b"", "gzip"))[0].content == b""
    assert ask(loop, b"HTTP/1.1 204 No\r\nContent-Encoding: gzip\r\n\r\n")[0].content == b""


WHOLE = gzip.compress(b"hello " * 20, mtime=0)


@on_both_loops
@pytest.mark.parametrize(
    "content",
    [
        *(WHOLE[:place] for place in range(1, len(WHOLE))),
        b"hello",
        WHOLE[:20] + bytes([WHOLE[20] ^ 255]) + WHOLE[21:],
        WHOLE[:-8] + bytes(8),
        WHOLE + b"more",
        gzip.compress(bytes(3 * 2**20), mtime=0),
    ],
)
def test_a_packed_answer_that_is_cut_broken_or_a_bomb_is_refused(
    loop: str, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "MAX_ANSWER_BYTES", 2**20)
    assert "cannot be decompressed" in error_of(loop, packed(content), then_close=False)


@on_both_loops
def test_after_an_answer_that_could_not_be_unpacked_the_next_request_is_well(loop: str) -> None:
    async def talk(wire: Wire) -> None:
        await wire.hear()
        await wire.say(packed(b"no gzip") if wire.number == 0 else answer(b"fine"))

    async def work(served: Served, http: Http) -> None:
        with pytest.raises(Broken):
            await http.post([b"?"])
        assert (await http.post([b"?"])).content == b"fine"
        assert served.n_connections == 2

    run(loop, with_server(talk, work))


async def with_server(
    talk: Callable[[Wire], Awaitable[None]], work: Callable[[Served, Http], Awaitable[None]]
) -> None:
    async with serving(talk) as served:
        http = Http(served.url, {})
        try:
            await work(served, http)
        finally:
            await http.close()


# -- anything at all -------------------------------------------------------------------------------


class _Bytes(io.BytesIO):
    """What `http.client` needs of a socket."""

    def makefile(self, mode: str) -> io.BytesIO:
        return self


def is_incomplete(stream: bytes) -> bool:
    """Whether Python's own client misses something of the answer."""
    response = http.client.HTTPResponse(_Bytes(stream), method="POST")  # type: ignore[arg-type]
    try:
        response.begin()
        response.read()
    except http.client.IncompleteRead:
        return True
    except (http.client.HTTPException, ValueError):
        return not stream
    return False


lines = st.sampled_from([
    b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 200 OK\r\n", b"HTTP/1.1 204 No\r\n", b"HTTP/1.1 100 Go\r\n", b"\r\n",
    b"Content-Length: 3\r\n", b"Content-Length: 0\r\n", b"Content-Length: 7\r\n", b"Connection: close\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Connection: keep-alive\r\n", b"Content-Encoding: gzip\r\n",
    b"X: y\r\n", b" folded\r\n", b"3;x=y\r\n", b"abc\r\n", gzip.compress(b"x", mtime=0),
    b"Upgrade: h2c\r\n", b"\x00", b"3\r\n", b"abc", b"0\r\n", b"\n",
])  # fmt: skip
streams = st.one_of(
    st.binary(max_size=60),
    st.lists(lines | st.binary(max_size=4), max_size=12).map(b"".join),
    st.lists(lines, max_size=10).map(lambda some: b"HTTP/1.1 200 OK\r\n" + b"".join(some)),
    st.builds(
        lambda stream, place, other: stream[:place] + other + stream[place + len(other) :],
        st.sampled_from([answer(b"hello"), chunked(b"hel", b"lo"), packed(WHOLE)]),
        st.integers(0, 200),
        st.binary(max_size=3),
    ),
)  # fmt: skip


@pytest.mark.slow
@on_both_loops
@settings(max_examples=150, deadline=None)
@given(stream=streams, places=places)
@example(stream=b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", places=[])
def test_any_bytes_are_an_answer_or_broken_and_never_half_an_answer(
    loop: str, stream: bytes, places: list[int]
) -> None:
    try:
        [response] = ask(loop, *cut(stream, places), then_close=True)
    except Broken:
        return
    assert response.content in stream or b"ncoding" in stream
    assert not is_incomplete(stream.lstrip(b"\r\n"))


def test_the_stranger_is_asked_the_right_way() -> None:
    assert is_incomplete(answer(b"hello")[:-1])
    assert is_incomplete(chunked(b"hello")[:-8])
    assert not is_incomplete(answer(b"hello"))
