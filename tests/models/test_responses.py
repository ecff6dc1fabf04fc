"""OpenAI's Responses API, against a server that refuses what the documentation does not allow."""

from __future__ import annotations

from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models.prices import find_price
from eyechart.models.specs import make_model
from eyechart.types import ImageRef, Message, ModelSettings, Reply, Request, Usage
from support.parts import image, request, sample
from support.providers import ask, error_of
from support.server import Asked, Server
from support.wire import KEY, as_json, chat_error, serve_responses

NAME = "openai-responses/gpt-5"


def put(one: Request, **parameters: Any) -> tuple[Reply, Asked]:
    with Server(serve_responses) as server:
        reply = ask(NAME, server, one, **parameters)
    return reply, server.asked[0]


def read(*output: dict[str, Any], **said: Any) -> Reply:
    with Server(lambda asked: as_json({"output": list(output), "status": "completed", **said})) as server:
        return ask(NAME, server, request())


def say(**part: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [part]}


def test_a_conversation_with_images_and_a_system_message() -> None:
    turns = (
        Message("system", ("Be brief.",)),
        Message("user", (image("red"), "Look.", image("blue"))),
        Message("assistant", ("I see.",)),
        Message("user", ("What colour was the last one?",)),
    )
    reply, asked = put(Request(messages=turns, sample=sample(0)), image_detail="low")
    assert reply.text == "blue"
    assert asked.path == "/v1/responses"
    picture = f"data:image/png;base64,{image('red').base64.decode()}"
    assert asked.body["input"] == [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "input_image", "image_url": picture, "detail": "low"},
                {"type": "input_text", "text": "Look."},
                {
                    "type": "input_image",
                    "image_url": f"data:image/png;base64,{image('blue').base64.decode()}",
                    "detail": "low",
                },
            ],
        },
        {"role": "assistant", "content": "I see."},
        {"role": "user", "content": "What colour was the last one?"},
    ]
    assert asked.body["store"] is False, "nothing is kept at the provider unless asked for"


def test_an_image_may_go_by_its_url() -> None:
    _, asked = put(request(ImageRef(kind="url", location="https://a.example/1.png"), "What colour?"))
    assert asked.body["input"][0]["content"][0] == {
        "type": "input_image", "image_url": "https://a.example/1.png", "detail": "auto",
    }  # fmt: skip


def test_parameters_and_reasoning() -> None:
    reply, asked = put(
        request("What colour is a banana?"), max_tokens=64, temperature=0, reasoning_effort="low",
        reasoning_summary="auto", verbosity="low", store=True,
    )  # fmt: skip
    sent = {name: value for name, value in asked.body.items() if name not in ("input", "model")}
    assert sent == {
        "max_output_tokens": 64, "temperature": 0, "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"verbosity": "low"}, "store": True,
    }  # fmt: skip
    assert (reply.text, reply.thinking) == ("yellow", "One colour.")
    assert reply.usage == Usage(prompt_tokens=30, completion_tokens=9, reasoning_tokens=5, cached_tokens=8)
    assert reply.model == "gpt-5-2025-08-07"
    both = {"reasoning": {"effort": "low"}, "reasoning_effort": "high"}
    with pytest.raises(UsageError, match="reasoning_effort and reasoning are both given"):
        make_model(NAME, ModelSettings(api_key=KEY, parameters=both))


def test_the_price_is_that_of_the_model() -> None:
    price = find_price(NAME, make_model(NAME, ModelSettings(api_key=KEY)).identity)
    assert price is not None
    assert (price.input, price.output) == (1.25, 10.0)


def test_what_comes_back() -> None:
    assert read(say(type="output_text", text="B")).text == "B"
    refused = read(say(type="refusal", refusal="I cannot help with that."))
    assert (refused.text, refused.finish_reason) == ("I cannot help with that.", "refusal")
    cut = read(
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        status="incomplete", incomplete_details={"reason": "max_output_tokens"},
    )  # fmt: skip
    assert (cut.text, cut.thinking, cut.finish_reason) == ("", "hm", "length")
    filtered = read(status="incomplete", incomplete_details={"reason": "content_filter"})
    assert filtered.finish_reason == "content_filter"
    other = read({"type": "web_search_call", "id": "1"}, say(type="output_text", text="B"), usage="odd")
    assert (other.text, other.usage) == ("B", None)


@pytest.mark.parametrize(
    "said",
    [
        {"output": []},
        {"output": [], "status": "failed", "error": {"code": "server_error", "message": "sorry"}},
        {"output": [], "status": "in_progress"},
        {"choices": []},
    ],
)
def test_an_answer_without_a_reply_is_retried(said: dict[str, Any]) -> None:
    error = error_of(NAME, as_json(said))
    assert error.is_retryable
    assert ("sorry" in error.message) == ("error" in said)


@pytest.mark.parametrize(
    ("code", "is_retryable"),
    [("server_error", True), ("rate_limit_exceeded", True), ("image_too_large", False)],
)
def test_a_failed_response_is_retried_if_that_can_help(code: str, is_retryable: bool) -> None:
    failed = {"output": [], "status": "failed", "error": {"code": code, "message": "no"}}
    assert error_of(NAME, as_json(failed)).is_retryable == is_retryable


def test_a_response_that_was_stopped_for_its_content_is_a_refusal() -> None:
    reply = read(status="failed", error={"code": "image_content_policy_violation", "message": "no"})
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


def test_errors() -> None:
    flagged = chat_error(400, "Invalid prompt: your prompt was flagged", "invalid_prompt")
    with Server(lambda asked: flagged) as server:
        assert ask(NAME, server, request()).finish_reason == "content_filter"
    unknown = error_of(NAME, chat_error(400, "The requested model 'x' does not exist.", "model_not_found"))
    assert unknown.is_fatal
    busy = error_of(
        NAME, chat_error(429, "Rate limit reached", "rate_limit_exceeded", **{"retry-after": "2"})
    )
    assert (busy.is_retryable, busy.retry_after_s) == (True, 2)
    assert error_of(NAME, chat_error(429, "quota", "insufficient_quota")).is_fatal


@pytest.mark.parametrize("path", ["", "/", "/responses", "/chat/completions"])
def test_the_address_is_openais(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://a:1/v1{path}")
    assert make_model(NAME).identity["endpoint"] == "http://a:1/v1"


def test_the_strict_server_refuses_what_the_api_would() -> None:
    for parameters in ({"extra_body": {"seed": 1}}, {"max_tokens": 4}, {"temperature": 3}):
        with pytest.raises(ModelError, match="HTTP 400"):
            put(request(), **parameters)
