"""Amazon Bedrock's Converse API, against a server that refuses what the documentation does not allow."""

from __future__ import annotations

from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models.specs import make_model
from eyechart.types import Message, ModelSettings, Reply, Request, Usage
from support.parts import image, request, sample
from support.providers import ask, error_of
from support.server import Asked, Server
from support.wire import KEY, as_json, serve_bedrock

NAME = "bedrock/us.amazon.nova-pro-v1:0"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_BEARER_TOKEN_BEDROCK"):
        monkeypatch.delenv(name, raising=False)


def put(one: Request, **parameters: Any) -> tuple[Reply, Asked]:
    with Server(serve_bedrock) as server:
        reply = ask(NAME, server, one, **parameters)
    return reply, server.asked[0]


def test_a_conversation_with_images_and_a_system_message() -> None:
    turns = (
        Message("system", ("Be brief.",)),
        Message("user", (image("red"), "Look.")),
        Message("assistant", ("",)),
        Message("user", ("What colour was it?",)),
    )
    reply, asked = put(Request(messages=turns, sample=sample(0)), max_tokens=64, temperature=0, stop="END")
    assert reply.text == "red"
    assert asked.path == "/model/us.amazon.nova-pro-v1:0/converse"
    picture = {"format": "png", "source": {"bytes": image("red").base64.decode()}}
    assert asked.body == {
        "system": [{"text": "Be brief."}],
        "messages": [
            {
                "role": "user",
                "content": [{"image": picture}, {"text": "Look."}, {"text": "What colour was it?"}],
            },
        ],
        "inferenceConfig": {"maxTokens": 64, "temperature": 0, "stopSequences": ["END"]},
    }
    assert reply.usage == Usage(prompt_tokens=18, completion_tokens=7, cached_tokens=5)


def test_thinking_of_claude() -> None:
    more = {"additionalModelRequestFields": {"top_k": 5}}
    reply, asked = put(request("What colour is a banana?"), thinking_budget=2048, extra_body=more)
    assert asked.body["additionalModelRequestFields"] == {
        "top_k": 5, "thinking": {"type": "enabled", "budget_tokens": 2048},
    }  # fmt: skip
    assert (reply.text, reply.thinking) == ("yellow", "One colour.")


@pytest.mark.parametrize(
    ("said", "finish_reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_use"),
        ("max_tokens", "length"),
        ("guardrail_intervened", "content_filter"),
        ("content_filtered", "content_filter"),
        (None, ""),
    ],
)
def test_stop_reasons(said: str | None, finish_reason: str) -> None:
    body = {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": said}
    with Server(lambda asked: as_json(body)) as server:
        assert ask(NAME, server, request()).finish_reason == finish_reason


def test_malformed_output_is_retried() -> None:
    body = {"output": {"message": {"content": []}}, "stopReason": "malformed_model_output"}
    assert error_of(NAME, as_json(body)).is_retryable


# What the server says, and: is it retried, does it end the run.
ERRORS = {
    "throttled": (as_json({"message": "Too many requests"}, 429), True, False),
    "model failed": (as_json({"message": "The model failed"}, 424), True, False),
    "not ready": (as_json({"message": "unavailable"}, 503), True, False),
    "no access": (as_json({"message": "You don't have access to the model"}, 403), False, True),
    "unknown model": (as_json({"message": "The provided model identifier is invalid."}, 400), False, True),
    "invalid": (as_json({"message": "The text field is blank."}, 400), False, False),
}  # fmt: skip


@pytest.mark.parametrize("what", ERRORS)
def test_errors(what: str) -> None:
    said, is_retryable, is_fatal = ERRORS[what]
    error = error_of(NAME, said)
    assert (error.is_retryable, error.is_fatal) == (is_retryable, is_fatal)


def test_the_region_names_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no region"):
        make_model(NAME, ModelSettings(api_key=KEY))
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    with pytest.raises(UsageError, match="no API key") as caught:
        make_model(NAME)
    assert "AWS_BEARER_TOKEN_BEDROCK" in caught.value.hint
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", KEY)
    assert make_model(NAME).identity == {
        "endpoint": "https://bedrock-runtime.eu-west-1.amazonaws.com", "model": "us.amazon.nova-pro-v1:0",
    }  # fmt: skip
    monkeypatch.setenv("AWS_REGION", "evil.example/")
    with pytest.raises(UsageError, match="no region"):
        make_model(NAME)


def test_limits() -> None:
    with Server(serve_bedrock) as server:
        with pytest.raises(ModelError, match="21 images, and 20 per request"):
            ask(NAME, server, request(*[image("red")] * 21, "?"))
        with pytest.raises(ModelError, match="3,750,001 bytes, and 3,750,000 are accepted"):
            ask(NAME, server, request(image("red", n_bytes=3_750_001), "?"))
        assert server.asked == []


def test_an_arn_is_one_part_of_the_path() -> None:
    with Server(serve_bedrock) as server:
        ask("bedrock/arn:aws:bedrock:eu:1:inference-profile/eu.x", server, request())
    assert server.asked[0].path.startswith("/model/arn:aws:bedrock:eu:1:inference-profile")
