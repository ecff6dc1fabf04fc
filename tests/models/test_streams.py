"""Replies that arrive in parts: the same as those that come at once, for every provider."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import ModelError, UsageError
from eyechart.models.chat import MAX_SILENT_TOKENS
from eyechart.models.specs import make_model
from eyechart.models.streams import AmazonEvents, ServerSentEvents
from eyechart.types import ModelSettings, Reply, Usage
from support import streams
from support.parts import request
from support.raw import Wire, answer, serving
from support.streams import CASES, chunked
from support.wire import KEY

Listen = Callable[[str, bytes], None]
EACH = [(name, case) for name, cases in CASES.items() for case in cases]
PROVIDERS = list(CASES)


def ask(
    name: str, *segments: bytes, is_streamed: bool = True, listen: Listen | None = None, **more: Any
) -> Reply:
    """The reply to one request that a server answers with these segments, and then hangs up."""

    async def talk(wire: Wire) -> None:
        head, body = await wire.hear()
        if listen is not None:
            listen(head, body)
        await wire.say(*segments)

    async def work() -> Reply:
        async with serving(talk) as served:
            url = served.url.removesuffix("/v1")
            settings = ModelSettings(base_url=url, api_key=KEY, stream=is_streamed, parameters=more)
            model = make_model(name, settings)
            try:
                return await model.reply(request())
            finally:
                await model.close()

    return asyncio.run(work())


def stream(name: str, case: str = "text", *, packet: int = 0, chunk: int = 64) -> list[bytes]:
    """A whole answer in segments of so many bytes; by default one."""
    body = streams.write(name, CASES[name][case].events)
    data = streams.head(name) + chunked(body, chunk) + b"0\r\n\r\n"
    return [data[start : start + packet] for start in range(0, len(data), packet)] if packet else [data]


def at_once(name: str, case: str = "text") -> Reply:
    return ask(name, answer(json.dumps(CASES[name][case].whole).encode()), is_streamed=False)


def same(reply: Reply) -> dict[str, Any]:
    """All of a reply but its times."""
    fields = {name: getattr(reply, name) for name in Reply.__dataclass_fields__}
    return {name: value for name, value in fields.items() if name not in ("latency_s", "first_token_s")}


@pytest.mark.parametrize(("name", "case"), EACH)
def test_a_streamed_reply_is_the_one_that_comes_at_once(name: str, case: str) -> None:
    whole, streamed = at_once(name, case), ask(name, *stream(name, case))
    assert same(streamed) == same(whole)
    assert whole.first_token_s is None
    if whole.text or whole.thinking:
        assert streamed.first_token_s is not None
        assert 0 <= streamed.first_token_s <= streamed.latency_s


@pytest.mark.parametrize(("name", "case"), EACH)
def test_packets_of_one_byte_change_nothing(name: str, case: str) -> None:
    assert same(ask(name, *stream(name, case, packet=1, chunk=7))) == same(at_once(name, case))


@pytest.mark.parametrize("name", PROVIDERS)
@given(data=st.data())
def test_events_are_the_same_however_they_are_cut(name: str, data: st.DataObject) -> None:
    framing = AmazonEvents if name.startswith("bedrock") else ServerSentEvents
    body = streams.write(name, CASES[name]["text"].events)
    ends = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    events = framing()
    found: list[bytes] = []
    for start, end in zip([0, *ends], [*ends, len(body)], strict=True):
        found += events.feed(body[start:end])
    whole = framing()
    assert found == list(whole.feed(body))
    assert events.n_waiting == whole.n_waiting == 0


def cut(name: str) -> list[dict[str, Any]]:
    """The events before the second words."""
    events = CASES[name]["text"].events
    second = next(k for k, event in enumerate(events) if '"at' in json.dumps(event))
    return events[:second]


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_cut_stream_is_a_failure_that_keeps_its_words(name: str) -> None:
    body = streams.write(name, cut(name)).removesuffix(b"data: [DONE]\n\n")
    more = streams.write(name, CASES[name]["text"].events)[len(body) :][:20]
    for segments in (
        [streams.head(name), chunked(body + more, 64)],  # the connection ends in the middle of an event
        [streams.head(name), chunked(body, 64), b"0\r\n\r\n"],  # the answer ends, as answers do
        [streams.head(name).replace(b"Transfer-Encoding: chunked\r\n", b""), body],  # it has no length
    ):
        with pytest.raises(ModelError, match="was cut") as caught:
            ask(name, *segments)
        assert caught.value.is_retryable
        assert caught.value.partial == "A c"


@pytest.mark.parametrize("name", PROVIDERS)
def test_what_is_asked(name: str) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []

    def listen(head: str, body: bytes) -> None:
        heard.append((head.split()[1], json.loads(body)))

    ask(name, *stream(name), listen=listen)
    ask(name, answer(json.dumps(CASES[name]["text"].whole).encode()), is_streamed=False, listen=listen)
    (path, asked), (usual_path, usual) = heard
    if name.startswith("google"):
        assert path == usual_path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    elif name.startswith("bedrock"):
        assert path == f"{usual_path}-stream"
    else:
        assert path == usual_path
        assert asked.pop("stream") is True
        options = asked.pop("stream_options", None)
        assert (options == {"include_usage": True}) is (
            name.partition("/")[0] in ("openai", "azure", "openrouter")
        )
    assert asked == usual


@pytest.mark.parametrize("name", PROVIDERS)
def test_streaming_is_no_part_of_the_identity(name: str) -> None:
    settings = ModelSettings(base_url="http://127.0.0.1:1", api_key=KEY)
    assert make_model(name, settings).identity == make_model(name, replace(settings, stream=True)).identity


@pytest.mark.parametrize("name", PROVIDERS)
def test_long_replies_are_streamed_without_being_asked_to(name: str) -> None:
    def streams_with(n: int) -> bool:
        settings = ModelSettings(base_url="http://127.0.0.1:1", api_key=KEY, parameters={"max_tokens": n})
        found: bool = make_model(name, settings).streams  # type: ignore[attr-defined]
        return found

    is_own = name.partition("/")[0] in ("openai", "azure", "openrouter")  # at an address of one's own
    found = (streams_with(MAX_SILENT_TOKENS), streams_with(MAX_SILENT_TOKENS + 1))
    assert found == (False, not is_own)


def test_long_replies_of_openai_itself_are_streamed() -> None:
    settings = ModelSettings(api_key=KEY, parameters={"max_tokens": MAX_SILENT_TOKENS + 1})
    assert make_model("openai/gpt-4o", settings).streams  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_server_that_does_not_stream_is_read_as_usual(name: str) -> None:
    reply = ask(name, answer(json.dumps(CASES[name]["text"].whole).encode()))
    assert same(reply) == same(at_once(name))
    assert reply.first_token_s is None


def test_a_stream_of_another_content_type_is_read_when_it_has_ended() -> None:
    body = streams.write("openai/m", CASES["openai/m"]["text"].events)
    assert same(ask("openai/m", answer(body))) == same(at_once("openai/m"))


@pytest.mark.parametrize("name", ["openai/m", "bedrock/us.amazon.nova-pro-v1:0"])
def test_through_a_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def talk(wire: Wire) -> None:
        head, _ = await wire.hear()
        assert head.startswith("POST http://model.example/")
        await wire.say(*stream(name, packet=5))

    async def work() -> Reply:
        async with serving(talk) as served:
            monkeypatch.setenv("HTTP_PROXY", served.url.removesuffix("/v1"))
            settings = ModelSettings(base_url="http://model.example", api_key=KEY, stream=True)
            model = make_model(name, settings)
            try:
                return await model.reply(request())
            finally:
                await model.close()

    whole, reply = at_once(name), asyncio.run(work())
    assert same(reply) == same(whole)
    assert reply.first_token_s is not None


def test_many_lines_of_one_event_take_no_more_time_each() -> None:
    """What is held is counted, not added up anew with every packet."""
    events = ServerSentEvents()
    for number in range(1, 4):
        assert list(events.feed(b"data: 1\n")) == []
        assert events.n_waiting == number * len(b"data: 1")
    assert list(events.feed(b"\n")) == [b"1\n1\n1"]
    assert events.n_waiting == 0


def test_several_replies_in_one_stream() -> None:
    events = [
        {"choices": [{"index": index, "delta": {"content": words}, "finish_reason": reason}]}
        for index, words, reason in ((1, "no", None), (0, "y", None), (0, "es", "stop"), (1, "!", "length"))
    ]
    body = streams.write_sse(events)
    model = make_model("openai/m", ModelSettings(base_url="http://127.0.0.1:1", stream=True))
    answers = model.streamed()  # type: ignore[attr-defined]
    for byte in body:
        answers.feed(bytes([byte]))
    replies = model.read_replies(json.dumps(answers.finish()).encode(), 0.0)  # type: ignore[attr-defined]
    assert [(one.text, one.finish_reason) for one in replies] == [("yes", "stop"), ("no!", "length")]
    assert answers.is_complete


ERRORS: dict[str, list[dict[str, Any]]] = {
    "openai/m": [{"error": {"message": "upstream died", "code": 502}}],
    "openai-responses/gpt-5": [{"type": "error", "code": "server_error", "message": "upstream died"}],
    "anthropic/claude-sonnet-4-6": [
        {"type": "error", "error": {"type": "overloaded_error", "message": "upstream died"}}
    ],
    "google/gemini-2.5-pro": [{"error": {"message": "upstream died", "status": "INTERNAL"}}],
    "bedrock/us.amazon.nova-pro-v1:0": [{"modelStreamErrorException": {"message": "upstream died"}}],
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_in_a_stream_is_no_reply(name: str) -> None:
    events = CASES[name]["text"].events
    n = next(
        k for k, event in enumerate(events) if "at." in json.dumps(event) or "at \\u" in json.dumps(event)
    )
    body = streams.write(name, [*events[:n], *ERRORS[name]])
    with pytest.raises(ModelError, match="upstream died") as caught:
        ask(name, streams.head(name) + chunked(body, 64) + b"0\r\n\r\n")
    assert caught.value.is_retryable
    assert caught.value.partial == "A c"


@pytest.mark.parametrize("name", ERRORS)
@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=3),
            lambda inner: st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["choices", "delta", "content", "index", "type", "message", "usage",
                                 "candidates", "tool_calls", "function", "text", "contentBlockDelta"]),
                inner, max_size=4,
            ),
            max_leaves=12,
        ),
        max_size=4,
    )
)  # fmt: skip
def test_no_event_can_break_the_reader(name: str, events: list[Any]) -> None:
    model = make_model(name, ModelSettings(base_url="http://127.0.0.1:1", api_key=KEY, stream=True))
    one = model.streamed()  # type: ignore[attr-defined]
    data = [json.dumps(event).encode() for event in events]
    one._events = ServerSentEvents()  # the events matter here, not how Amazon frames them
    one.feed(b"".join(b"data: %b\n\n" % event for event in data))
    with contextlib.suppress(ModelError):
        model._read_stream(one, 0.0, 0.0)  # type: ignore[attr-defined]


def test_a_damaged_frame_is_a_cut_stream() -> None:
    name = "bedrock/us.amazon.nova-pro-v1:0"
    body = bytearray(streams.write(name, CASES[name]["text"].events))
    body[-20] ^= 1
    with pytest.raises(ModelError, match="not what its checksum says") as caught:
        ask(name, streams.head(name) + chunked(bytes(body), 64) + b"0\r\n\r\n")
    assert caught.value.partial == "A cat."
    body[0] = 255
    with pytest.raises(ModelError, match="not what its checksum says"):
        ask(name, streams.head(name) + chunked(bytes(body), 64) + b"0\r\n\r\n")


def test_a_page_in_place_of_a_stream() -> None:
    with pytest.raises(ModelError, match="is not a chat completion"):
        ask("openai/m", answer(b"<html>Welcome</html>"))
    with pytest.raises(ModelError, match="is not a chat completion"):
        ask("openai/m", streams.head("openai/m") + b"0\r\n\r\n")


def test_the_key_is_not_in_the_words_that_are_kept() -> None:
    event = {"choices": [{"index": 0, "delta": {"content": f"My key is {KEY}, "}}]}
    with pytest.raises(ModelError, match="was cut") as caught:
        ask("openai/m", streams.head("openai/m") + chunked(streams.write_sse([event]), 9))
    assert caught.value.partial == "My key is [key], "


def test_memory_is_bounded_by_what_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by what has passed: a stream takes a hundred times the bytes of its words."""
    monkeypatch.setattr("eyechart.models.http.MAX_HEAD_BYTES", 512)
    monkeypatch.setattr("eyechart.models.http.MAX_ANSWER_BYTES", 8192)
    event = b'data: {"choices": [{"index": 0, "delta": {"content": "a"}}], "padding": "%b"}\n\n' % (
        b"x" * 500
    )
    end = b'data: {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n'
    sent = streams.head("openai/m") + chunked(event * 1000 + end, 3000) + b"0\r\n\r\n"
    assert ask("openai/m", sent).text == "a" * 1000
    endless = streams.head("openai/m") + chunked(b"data: " + b"x" * 20_000, 3000)
    with pytest.raises(ModelError, match="exceeds"):
        ask("openai/m", endless)


def test_tokens_per_second_are_those_after_the_first() -> None:
    reply = Reply(text="A", usage=Usage(completion_tokens=101), latency_s=3.0, first_token_s=1.0)
    assert reply.tokens_per_s == 50
    for other in (
        replace(reply, first_token_s=None), replace(reply, usage=None), replace(reply, latency_s=1.0),
        replace(reply, usage=Usage(completion_tokens=1)),
    ):  # fmt: skip
        assert other.tokens_per_s is None


def test_a_provider_without_a_streaming_form_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyechart.models.openai.OpenAI.streamed", None)
    with pytest.raises(UsageError, match="openai/m does not stream"):
        make_model("openai/m", ModelSettings(base_url="http://127.0.0.1:1", stream=True))
    long = ModelSettings(base_url="http://127.0.0.1:1", parameters={"max_tokens": 60_000})
    assert not make_model("openai/m", long).streams  # type: ignore[attr-defined]
