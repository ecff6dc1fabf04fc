"""Anthropic's Messages API, against a server that refuses what the documentation does not allow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models.prices import find_price
from eyechart.models.specs import make_model
from eyechart.types import ImageRef, Message, ModelSettings, Reply, Request, Usage
from support.parts import image, request, sample
from support.providers import ask, error_of
from support.server import Answer, Asked, Server
from support.wire import KEY, anthropic_error, as_json, serve_anthropic

NAME = "anthropic/claude-sonnet-4-6"
SAFE = {"content": [], "stop_reason": "end_turn"}


def put(one: Request, **parameters: Any) -> tuple[Reply, Asked]:
    with Server(serve_anthropic) as server:
        reply = ask(NAME, server, one, **parameters)
    return reply, server.asked[0]


def read(**said: Any) -> Reply:
    with Server(lambda asked: as_json(SAFE | said)) as server:
        return ask(NAME, server, request())


def test_a_conversation_with_images_and_a_system_message() -> None:
    turns = (
        Message("system", ("Be brief.",)),
        Message("user", (image("red"), "Look.", image("blue"))),
        Message("assistant", ("I see.",)),
        Message("user", ("What colour was the last one?",)),
    )
    reply, asked = put(Request(messages=turns, sample=sample(0)))
    assert reply.text == "blue"
    assert asked.path == "/v1/messages"
    assert asked.body["system"] == "Be brief."
    assert asked.body["max_tokens"] == 4096
    assert [turn["role"] for turn in asked.body["messages"]] == ["user", "assistant", "user"]
    first = asked.body["messages"][0]["content"]
    assert [part["type"] for part in first] == ["image", "text", "image"]
    assert first[0]["source"] == {
        "type": "base64", "media_type": "image/png", "data": image("red").base64.decode(),
    }  # fmt: skip


def test_an_image_may_go_by_its_url() -> None:
    reply, asked = put(request(ImageRef(kind="url", location="https://a.example/1.png"), "What colour?"))
    source = asked.body["messages"][0]["content"][0]["source"]
    assert source == {"type": "url", "url": "https://a.example/1.png"}
    assert reply.text == "red"


def test_an_empty_reply_of_an_earlier_round_is_left_out() -> None:
    turns = (
        Message("user", (image("green"), "Look.")), Message("assistant", ("",)),
        Message("user", (" \n", "Which colour?")),
    )  # fmt: skip
    reply, asked = put(Request(messages=turns, sample=sample(0)))
    assert reply.text == "green"
    assert [turn["role"] for turn in asked.body["messages"]] == ["user", "user"]


def test_parameters_of_sampling_and_thinking() -> None:
    _, asked = put(
        request(), temperature=0, top_p=0.9, top_k=5, max_tokens=64, stop="END", service_tier="auto"
    )
    sent = {name: value for name, value in asked.body.items() if name not in ("messages", "model")}
    assert sent == {
        "temperature": 0, "top_p": 0.9, "top_k": 5, "max_tokens": 64, "stop_sequences": ["END"],
        "service_tier": "auto",
    }  # fmt: skip
    reply, asked = put(request("What colour is a banana?"), thinking_budget=2048, effort="low")
    assert asked.body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert asked.body["output_config"] == {"effort": "low"}
    assert asked.body["max_tokens"] == 4096 + 2048
    assert (reply.text, reply.thinking) == ("yellow", "One colour.")
    assert "thinking" not in put(request(), thinking={"type": "disabled"})[0].thinking


def test_sampling_parameters_go_with_the_last_version_that_takes_them() -> None:
    assert put(request(), top_k=5)[1].headers["anthropic-version"] == "2023-06-01"
    assert put(request())[1].headers["anthropic-version"] == "2026-10-21"


@pytest.mark.parametrize("model", ["claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5-20260901"])
def test_a_model_that_refuses_sampling_parameters_is_not_sent_them(model: str) -> None:
    for name in ("temperature", "top_p", "top_k"):
        with pytest.raises(UsageError, match=f"{model} takes no {name}"):
            make_model(f"anthropic/{model}", ModelSettings(api_key=KEY, parameters={name: 0}))
    make_model(f"anthropic/{model}", ModelSettings(api_key=KEY, parameters={"effort": "low"}))


def test_a_budget_that_leaves_no_room_for_an_answer_is_refused() -> None:
    settings = ModelSettings(api_key=KEY, parameters={"thinking_budget": 2048, "max_tokens": 1024})
    with pytest.raises(UsageError, match="max_tokens is 1024, of which thinking may take 2048"):
        make_model(NAME, settings)
    both = ModelSettings(api_key=KEY, parameters={"thinking_budget": 2048, "thinking": {"type": "adaptive"}})
    with pytest.raises(UsageError, match="both given"):
        make_model(NAME, both)


def test_seed_is_not_a_parameter() -> None:
    with pytest.raises(UsageError, match="has no parameter 'seed'"):
        make_model(NAME, ModelSettings(api_key=KEY, parameters={"seed": 1}))


def test_usage_counts_cached_input_and_prices_it() -> None:
    reply, _ = put(request())
    assert reply.usage == Usage(prompt_tokens=18, completion_tokens=7, reasoning_tokens=2, cached_tokens=5)
    assert reply.model == "claude-sonnet-4-6-20250929"
    price = find_price(NAME, make_model(NAME, ModelSettings(api_key=KEY)).identity)
    assert price is not None
    assert (price.input, price.cached, price.output) == (3.0, 0.3, 15.0)


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("tool_use", "tool_use"),
        ("pause_turn", "pause_turn"),
        ("something_new", "something_new"),
        (None, ""),
    ],
)
def test_stop_reasons(stop_reason: str | None, finish_reason: str) -> None:
    reply = read(stop_reason=stop_reason, content=[{"type": "text", "text": "B"}])
    assert (reply.text, reply.finish_reason) == ("B", finish_reason)


def test_a_refusal_says_why() -> None:
    details = {"type": "refusal", "category": "bio", "explanation": "The question asks for a recipe."}
    reply = read(stop_reason="refusal", stop_details=details)
    assert (reply.text, reply.finish_reason) == ("", "refusal")
    assert reply.evidence == {"withheld": "bio: The question asks for a recipe."}
    assert read(stop_reason="refusal", stop_details={"type": "refusal", "category": None}).evidence == {}


def test_blocks_of_other_kinds_are_passed_over() -> None:
    blocks = [
        {"type": "thinking", "thinking": "a", "signature": "s"}, {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "B", "citations": None}, {"type": "server_tool_use", "id": "1"},
        {"type": "text", "text": "!"},
    ]  # fmt: skip
    reply = read(content=blocks, usage={"input_tokens": "?"})
    assert (reply.text, reply.thinking, reply.usage) == ("B!", "a", None)
    assert read().text == "", "an answer without content is an empty answer"


# What the server says, and: is it retried, does it end the run, what does it say.
ERRORS = {
    "rate limit": (anthropic_error(429, "rate_limit_error", "slow down"), True, False, "rate_limit_error"),
    "overloaded": (anthropic_error(529, "overloaded_error", "Overloaded"), True, False, "Overloaded"),
    "bug": (anthropic_error(500, "api_error", "Internal server error"), True, False, "api_error"),
    "key": (anthropic_error(401, "authentication_error", "invalid x-api-key"), False, True, "x-api-key"),
    "unknown model": (anthropic_error(404, "not_found_error", "model: claude-0"), False, True, "claude-0"),
    "credit": (
        anthropic_error(400, "invalid_request_error", "Your credit balance is too low to access the API"),
        False, True, "credit balance",
    ),
    "too large": (anthropic_error(413, "request_too_large", "exceeds the maximum size"), False, False, "413"),
    "invalid": (anthropic_error(400, "invalid_request_error", "image exceeds 5 MB"), False, False, "5 MB"),
    "a proxy": (Answer(status=502, body=b"<html>bad gateway"), True, False, "bad gateway"),
}  # fmt: skip


@pytest.mark.parametrize("what", ERRORS)
def test_errors(what: str) -> None:
    said, is_retryable, is_fatal, words = ERRORS[what]
    error = error_of(NAME, said)
    assert (error.is_retryable, error.is_fatal) == (is_retryable, is_fatal)
    assert words in error.message


def test_a_rate_limit_says_how_long_to_wait() -> None:
    headers = {"retry-after": "7", "anthropic-ratelimit-requests-remaining": "0"}
    error = error_of(NAME, anthropic_error(429, "rate_limit_error", "slow down", **headers))
    assert error.retry_after_s == 7


def test_a_wait_in_milliseconds_is_more_precise() -> None:
    headers = {"retry-after": "1", "retry-after-ms": "350"}
    assert error_of(NAME, anthropic_error(429, "rate_limit_error", "slow", **headers)).retry_after_s == 0.35


@pytest.mark.parametrize(("said", "is_retryable"), [("true", True), ("false", False), ("perhaps", True)])
def test_whether_to_retry_is_the_servers_to_say(said: str, is_retryable: bool) -> None:
    error = error_of(NAME, anthropic_error(529, "overloaded_error", "busy", **{"x-should-retry": said}))
    assert error.is_retryable is is_retryable
    assert error_of(NAME, anthropic_error(400, "x", "y", **{"x-should-retry": "true"})).is_retryable


def test_the_strict_server_refuses_what_the_api_would() -> None:
    def refuse(**parameters: Any) -> str:
        with Server(serve_anthropic) as server, pytest.raises(ModelError) as caught:
            ask(NAME, server, request(), **parameters)
        return caught.value.message

    assert "unknown field" in refuse(extra_body={"frequency_penalty": 1})
    assert "temperature" in refuse(temperature=1.5)
    assert "budget_tokens" in refuse(thinking_budget=10)
    wrong = image("red", mime="image/jpeg")
    with Server(serve_anthropic) as server, pytest.raises(ModelError, match="media type"):
        ask(NAME, server, request(wrong, "What colour?"))


# -- limits


def test_an_image_beyond_the_limits_is_refused_before_it_is_sent() -> None:
    with Server(serve_anthropic) as server:
        with pytest.raises(ModelError) as caught:
            ask(NAME, server, request(image("red", width=9000, origin="a.png"), "?"))
        assert "a.png has 9000 x 24 pixels, and 8000 per side are accepted" in caught.value.message
        assert caught.value.hint == "--max-side 8000 shrinks larger images"
        assert (caught.value.is_retryable, caught.value.is_fatal) == (False, False)
        many = [image("red", width=2001)] * 21
        with pytest.raises(
            ModelError, match="2000 per side are accepted in requests with more than 20 images"
        ):
            ask(NAME, server, request(*many, "?"))
        with pytest.raises(ModelError, match="601 images, and 600 per request are accepted"):
            ask(NAME, server, request(*[image("red")] * 601, "?"))
        large = image("red", base64=b"A" * 33_000_000)
        with pytest.raises(ModelError, match="the request has 33,000,"):
            ask(NAME, server, request(large, "?"))
        assert server.asked == []
        ask(NAME, server, request(image("red", width=9000), "?"), ignore_limits=True)
        assert len(server.asked) == 1


def test_limits_are_not_part_of_the_identity() -> None:
    free = make_model(NAME, ModelSettings(api_key=KEY, parameters={"ignore_limits": True}))
    assert free.identity == make_model(NAME, ModelSettings(api_key=KEY)).identity


# -- address and key


@pytest.mark.parametrize("url", ["http://a:1", "http://a:1/", "http://a:1/v1", "http://a:1/v1/messages"])
def test_the_version_may_be_left_out_of_the_url(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert make_model(NAME).identity["endpoint"] == "http://a:1/v1"


def test_the_key_comes_from_the_environment_and_is_written_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no API key for Anthropic's endpoint") as caught:
        make_model(NAME)
    assert "ANTHROPIC_API_KEY" in caught.value.hint
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-this-one-0123456789")
    with pytest.raises(UsageError):
        make_model(NAME)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    assert KEY not in json.dumps(dict(make_model(NAME).identity))
    assert KEY not in str(error_of(NAME, anthropic_error(401, "authentication_error", f"{KEY} is not valid")))
