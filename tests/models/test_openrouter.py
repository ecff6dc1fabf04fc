"""OpenRouter, against a server that refuses what the documentation does not allow."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models.checkup import check_model
from eyechart.models.specs import make_model
from eyechart.types import Message, ModelSettings, Reply, Request, Usage
from support.parts import image, request, sample
from support.providers import PATHS, address_of, ask, error_of
from support.server import Answer, Asked, Server
from support.wire import KEY, as_json, chat_error, serve_openrouter

NAME = "openrouter/qwen/qwen2.5-vl-72b-instruct"


def put(one: Request, **parameters: Any) -> tuple[Reply, Asked]:
    with Server(serve_openrouter) as server:
        reply = ask(NAME, server, one, **parameters)
    return reply, server.asked[0]


def test_a_conversation_with_images() -> None:
    turns = (
        Message("system", ("Be brief.",)),
        Message("user", (image("red"), image("green"), "Look.")),
        Message("assistant", ("I see.",)),
        Message("user", ("What colour was the last one?",)),
    )
    reply, asked = put(Request(messages=turns, sample=sample(0)), max_tokens=64, provider={"order": ["x"]})
    assert reply.text == "green"
    assert asked.path == "/api/v1/chat/completions"
    assert asked.body["model"] == "qwen/qwen2.5-vl-72b-instruct"
    assert (asked.body["max_tokens"], asked.body["provider"]) == (64, {"order": ["x"]})
    assert reply.usage == Usage(prompt_tokens=10, completion_tokens=2, reasoning_tokens=1, cached_tokens=4)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"thinking_budget": 512}, {"max_tokens": 512}),
        ({"reasoning_effort": "low"}, {"effort": "low"}),
        ({"reasoning": {"effort": "high", "exclude": False}}, {"effort": "high", "exclude": False}),
    ],
)
def test_reasoning(given: dict[str, Any], sent: dict[str, Any]) -> None:
    reply, asked = put(request("What colour is a banana?"), **given)
    assert asked.body["reasoning"] == sent
    assert (reply.text, reply.thinking) == ("yellow", "One colour.")


def test_reasoning_is_set_in_one_way() -> None:
    both = {"thinking_budget": 512, "reasoning_effort": "low"}
    with pytest.raises(UsageError, match="reasoning is set in two ways"):
        make_model(NAME, ModelSettings(api_key=KEY, parameters=both))


# What the server says, and: is it retried, does it end the run.
ERRORS = {
    "credit": (chat_error(402, "Insufficient credits. Add more using https://…", 402), False, True),
    "credit for this": (chat_error(402, "This request requires more credits", 402), False, True),
    "rate limit": (chat_error(429, "Rate limit exceeded: free-models-per-min", 429), True, False),
    "unknown model": (chat_error(400, "qwen/x is not a valid model ID", 400), False, True),
    "provider down": (chat_error(502, "Provider returned error", 502), True, False),
    "no images": (chat_error(404, "No endpoints found that support image input", 404), False, False),
    "key": (chat_error(401, "No auth credentials found", 401), False, True),
    "an error in a 200": (as_json({"error": {"code": 502, "message": "Upstream error"}}), True, False),
    "an error in a choice": (
        as_json({"choices": [{"message": {"content": ""}, "finish_reason": "error"}]}), True, False
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", ERRORS)
def test_errors(what: str) -> None:
    said, is_retryable, is_fatal = ERRORS[what]
    error = error_of(NAME, said)
    assert (error.is_retryable, error.is_fatal) == (is_retryable, is_fatal)


def test_a_question_that_is_flagged_is_a_refusal_and_not_a_failure() -> None:
    error = {"code": 403, "message": "Your input was flagged", "metadata": {"reasons": ["violence"]}}
    with Server(lambda asked: as_json({"error": error}, 403)) as server:
        reply = ask(NAME, server, request())
    assert (reply.text, reply.finish_reason) == ("", "content_filter")


def test_the_check_of_a_model_without_vision_goes_on() -> None:
    def serve(asked: Asked) -> Answer:
        has_images = "image_url" in str(asked.body)
        return ERRORS["no images"][0] if has_images else serve_openrouter(asked)

    async def check(url: str) -> list[str]:
        model = make_model(NAME, ModelSettings(base_url=url, api_key=KEY))
        try:
            return [found.verdict async for found in check_model(model)]
        finally:
            await model.close()

    with Server(serve) as server:
        verdicts = asyncio.run(check(address_of(server, PATHS["openrouter"])))
    assert verdicts == ["yes", *["no"] * 5]


def test_the_key_has_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-this-one-0123456789")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://not-this-one/v1")
    with pytest.raises(UsageError, match="no API key for OpenRouter's endpoint"):
        make_model(NAME)
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    assert make_model(NAME).identity == {
        "endpoint": "https://openrouter.ai/api/v1", "model": "qwen/qwen2.5-vl-72b-instruct",
    }  # fmt: skip


def test_the_strict_server_refuses_what_the_api_would() -> None:
    with pytest.raises(ModelError, match="unknown field"):
        put(request(), extra_body={"max_output_tokens": 1})
