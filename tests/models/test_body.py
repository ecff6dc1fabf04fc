"""Bodies of requests: the same JSON as if it were made in one go, whole at the server, large or small."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import random
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest
from aiohttp import web
from hypothesis import example, given
from hypothesis import strategies as st

from eyechart.errors import ModelError
from eyechart.models.http import SMALL, Http
from eyechart.models.openai import OpenAI
from eyechart.types import Image, ImageRef, Message, ModelSettings, Part, Request
from support.parts import request, sample
from support.server import Answer, Server

FIELDS = {"model": "served", "temperature": 0}


def image(n_bytes: int = 30, mime: str = "image/png") -> Image:
    data = random.Random(n_bytes).randbytes(n_bytes)
    text = base64.b64encode(data)
    return Image(base64=text, mime=mime, width=1, height=1, sha256="0" * 64, n_bytes=n_bytes)


def made(
    *messages: Message,
    fields: Mapping[str, Any] = FIELDS,
    more: Mapping[str, Any] = MappingProxyType({}),
    detail: Any = None,
) -> bytes:
    return b"".join(model(fields, detail).encode_body(messages, more))


def model(fields: Mapping[str, Any] = FIELDS, detail: Any = None) -> OpenAI:
    given = {name: value for name, value in fields.items() if name in OpenAI.parameters}
    extra = {name: value for name, value in fields.items() if name not in given}
    parameters = {**given, "image_detail": detail, "extra_body": extra}
    return OpenAI("served", ModelSettings(base_url="http://localhost/v1", parameters=parameters))


def expected(message: Message, detail: str | None = None) -> dict[str, Any]:
    """A turn as OpenAI's documentation has it."""
    if all(isinstance(part, str) for part in message.parts):
        return {"role": message.role, "content": message.text}
    content: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, str):
            content.append({"type": "text", "text": part})
            continue
        is_loaded = isinstance(part, Image)
        address = f"data:{part.mime};base64,{part.base64.decode()}" if is_loaded else part.location  # type: ignore[union-attr]
        url = {"url": address, "detail": detail} if detail else {"url": address}
        content.append({"type": "image_url", "image_url": url})
    return {"role": message.role, "content": content}


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
pictures = st.builds(image, st.integers(0, 50), st.sampled_from(["image/png", "image/jpeg", "image/webp"]))
addresses = st.builds(lambda path: ImageRef(kind="url", location=f"https://example.org/{path}"), texts)
parts: st.SearchStrategy[Part] = st.one_of(texts, texts, pictures, addresses)
turns = st.builds(
    Message, st.sampled_from(["system", "user", "assistant"]), st.lists(parts, max_size=6).map(tuple)
)
more = st.sampled_from([{}, {"n": 3}, {"temperature": 1, "n": 2}])
ODD = '\0 "\\\\" \\u0000 \x1f \x7f \u2028 😀 "data:image/png;base64,AAAA" {"url":"'


@pytest.mark.slow
@given(st.lists(turns, max_size=4), more, st.sampled_from([None, "low"]))
@example([Message("user", (ODD, image(), "\0", image(3), '"\0"'))], {"n": 2}, "high")
@example([Message("user", ("\0",))], {}, None)
@example([Message("user", (ImageRef(kind="url", location="https://example.org/\0\0"), image()))], {}, None)
@example([], {}, None)
def test_a_body_is_what_one_encoder_would_make(
    messages: Sequence[Message], more: Mapping[str, Any], detail: str | None
) -> None:
    whole = made(*messages, more=more, detail=detail)
    truth = {**FIELDS, **more, "messages": [expected(turn, detail) for turn in messages]}
    assert json.loads(whole) == truth
    names = [name for name, _ in json.loads(whole, object_pairs_hook=list)]
    assert len(names) == len(set(names)), "no field stands twice"


def test_words_alone_are_a_plain_string_and_pictures_are_not_touched() -> None:
    picture = image(3000)
    assert json.loads(made(Message("user", ("What", " is?"))))["messages"] == [
        {"role": "user", "content": Message("user", ("What", " is?")).text}
    ]
    pieces = model().encode_body([Message("user", ("What?", picture, picture))])
    assert sum(piece is picture.base64 for piece in pieces) == 2


def test_a_field_given_by_the_user_gives_way_to_that_of_the_request() -> None:
    whole = made(Message("user", ("?",)), fields={**FIELDS, "n": 7, "seed": 1}, more={"n": 2})
    assert whole.count(b'"n":') == 1
    assert json.loads(whole) == {**FIELDS, "n": 2, "seed": 1, "messages": [{"role": "user", "content": "?"}]}


def test_the_messages_are_the_runs_own_whatever_the_user_adds() -> None:
    whole = made(Message("user", ("?",)), fields={**FIELDS, "messages": [{"role": "user", "content": "!"}]})
    assert whole.count(b'"messages"') == 1
    assert json.loads(whole)["messages"] == [{"role": "user", "content": "?"}]


# -- on the wire -----------------------------------------------------------------------------------


class Heard:
    """What a server heard, as it came."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[Mapping[str, str]] = []
        self.answers: list[web.Response] = []

    async def hear(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        self.headers.append(request.headers)
        return (
            self.answers.pop(0)
            if self.answers
            else web.json_response({"choices": [{"message": {"content": "A"}}]})
        )

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        app = web.Application(client_max_size=2**30)
        app.router.add_post("/{path:.*}", self.hear)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        try:
            yield f"http://127.0.0.1:{runner.addresses[0][1]}"
        finally:
            await runner.cleanup()


@pytest.mark.slow
@pytest.mark.parametrize("n_bytes", [0, 1, SMALL - 1, SMALL, SMALL + 1, 256 * 1024, 800_001, 5_000_000])
def test_bodies_arrive_byte_for_byte_with_their_length(n_bytes: int) -> None:
    noise = random.Random(n_bytes).randbytes(n_bytes)
    heard = Heard()

    async def drive() -> None:
        async with heard.listening() as address:
            http = Http(address, {})
            try:
                for _ in range(2):  # the same again, as when a request is repeated
                    response = await http.post([b"[", noise[:10], noise[10:], b"", b"]"])
                    assert response.status == 200
            finally:
                await http.close()

    asyncio.run(drive())
    assert heard.bodies == [b"[" + noise + b"]"] * 2
    assert [headers.get("Content-Length") for headers in heard.headers] == [str(n_bytes + 2)] * 2
    assert not any("Transfer-Encoding" in headers for headers in heard.headers)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_an_endpoint_that_has_moved_is_not_followed_but_named(status: int) -> None:
    heard = Heard()
    heard.answers = [web.Response(status=status, headers={"Location": "http://elsewhere/v1"})]

    async def drive() -> None:
        async with heard.listening() as address:
            model = OpenAI("served", ModelSettings(base_url=address))
            try:
                await model.reply(request("What?"))
            finally:
                await model.close()

    with pytest.raises(ModelError, match="redirected to http://elsewhere/v1") as caught:
        asyncio.run(drive())
    assert caught.value.is_fatal
    assert "--base-url" in caught.value.hint
    assert len(heard.bodies) == 1


@pytest.mark.parametrize("n_bytes", [100, 3_000_000])
def test_what_goes_through_a_model_arrives_as_json_of_known_length(n_bytes: int) -> None:
    heard = Heard()
    asked = request("What?", image(n_bytes), "And this?", image(n_bytes + 1))

    async def drive() -> None:
        async with heard.listening() as address:
            given = ModelSettings(base_url=address, parameters={"extra_body": {"n": 5}})
            model = OpenAI("served", given)
            try:
                await asyncio.gather(*(model.replies(asked, 2) for _ in range(4)))
            finally:
                await model.close()

    asyncio.run(drive())
    assert len(set(heard.bodies)) == 1
    assert json.loads(heard.bodies[0]) == {
        "model": "served",
        "n": 2,
        "messages": [expected(asked.messages[0])],
    }
    for headers in heard.headers:
        assert headers.getall("Content-Type") == ["application/json"]  # type: ignore[attr-defined]
        assert int(headers["Content-Length"]) == len(heard.bodies[0])


def test_a_large_body_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    asked = request("What?", image(3_000_000))

    async def drive() -> None:
        async with heard.listening() as address:
            monkeypatch.setenv("http_proxy", address)
            model = OpenAI("served", ModelSettings(base_url="http://far.invalid/v1"))
            try:
                await model.reply(asked)
            finally:
                await model.close()

    asyncio.run(drive())
    assert json.loads(heard.bodies[0])["messages"] == [expected(asked.messages[0])]


def test_a_server_that_refuses_before_it_has_read_a_large_body_is_understood() -> None:
    refusal = b"HTTP/1.1 413 Too Large\r\nContent-Length: 8\r\nConnection: close\r\n\r\ntoo much"
    asked = request("What?", image(20_000_000))

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(refusal)
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.transport.abort()  # what comes on is not read

    async def drive() -> None:
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        model = OpenAI("served", ModelSettings(base_url=f"http://127.0.0.1:{port}/v1"))
        try:
            async with asyncio.timeout(10):
                await model.reply(asked)
        finally:
            await model.close()
            server.close()
            await server.wait_closed()
            await asyncio.sleep(0.05)  # until the connection is seen to be gone

    with pytest.raises(ModelError) as caught:
        asyncio.run(drive())
    assert "413" in str(caught.value) or caught.value.is_retryable


def test_a_request_that_is_given_up_in_the_middle_of_its_body_leaves_nothing_behind() -> None:
    may_answer = threading.Event()
    asked = Request(messages=(Message("user", ("What?", image(5_000_000))),), sample=sample(0))

    async def drive(address: str) -> None:
        model = OpenAI("served", ModelSettings(base_url=address))
        try:
            for _ in range(5):
                waiting = asyncio.ensure_future(model.reply(asked))
                await asyncio.sleep(0.001)
                waiting.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await waiting
            may_answer.set()
            assert (await model.reply(asked)).text == "B"
        finally:
            await model.close()

    with Server(lambda _: Answer("B", after=may_answer)) as server:
        asyncio.run(drive(server.base_url))
        assert server.asked[-1].images == [expected(asked.messages[0])["content"][1]["image_url"]["url"]]
