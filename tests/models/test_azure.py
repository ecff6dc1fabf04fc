"""Azure OpenAI, against a server that refuses what the documentation does not allow."""

from __future__ import annotations

from typing import Any

import pytest

from eyechart.errors import ModelError, UsageError
from eyechart.models.specs import make_model
from eyechart.types import Message, ModelSettings, Reply, Request, Usage
from support.parts import image, request, sample
from support.providers import ask, error_of
from support.server import Asked, Server
from support.wire import KEY, as_json, chat_error, serve_azure

NAME = "azure/my-gpt"
RESOURCE = "https://mine.openai.azure.com"


def put(one: Request, name: str = NAME, **parameters: Any) -> tuple[Reply, Asked]:
    with Server(serve_azure) as server:
        reply = ask(name, server, one, **parameters)
    return reply, server.asked[0]


def test_without_a_version_requests_go_to_the_v1_api() -> None:
    turns = (
        Message("system", ("Be brief.",)),
        Message("user", (image("red"), "Look.")),
        Message("assistant", ("I see.",)),
        Message("user", ("What colour was it?",)),
    )
    reply, asked = put(Request(messages=turns, sample=sample(0)), max_tokens=64, temperature=0)
    assert reply.text == "red"
    assert (asked.path, asked.query) == ("/openai/v1/chat/completions", {})
    assert asked.headers["api-key"] == KEY
    assert "Authorization" not in asked.headers
    assert (asked.body["model"], asked.body["max_completion_tokens"]) == ("my-gpt", 64)
    assert reply.usage == Usage(prompt_tokens=10, completion_tokens=2, reasoning_tokens=1, cached_tokens=4)


@pytest.mark.parametrize("name", ["", "AZURE_OPENAI_API_VERSION", "OPENAI_API_VERSION"])
def test_with_a_version_they_go_to_the_deployment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name:
        monkeypatch.setenv(name, "2024-10-21")
    given = {} if name else {"api_version": "2024-10-21"}
    reply, asked = put(request(image("blue"), "?"), max_tokens=64, **given)
    assert reply.text == "blue"
    assert asked.path == "/openai/deployments/my-gpt/chat/completions"
    assert asked.query == {"api-version": "2024-10-21"}
    assert asked.body["max_tokens"] == 64
    assert "api_version" not in asked.body


def test_the_version_is_part_of_the_identity() -> None:
    parameters = {"api_version": "2024-10-21"}
    made = make_model(NAME, ModelSettings(base_url=RESOURCE, api_key=KEY, parameters=parameters))
    assert made.identity == {"endpoint": RESOURCE, "model": "my-gpt", "api_version": "2024-10-21"}


@pytest.mark.parametrize(
    "url",
    [
        RESOURCE,
        f"{RESOURCE}/",
        f"{RESOURCE}/openai",
        f"{RESOURCE}/openai/v1/",
        f"{RESOURCE}/openai/v1/chat/completions",
        f"{RESOURCE}/openai/deployments/my-gpt/chat/completions",
    ],
)
def test_any_url_below_the_resource_will_do(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", url)
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", KEY)
    assert make_model(NAME).identity["endpoint"] == RESOURCE


def test_a_url_with_a_version_is_refused_with_what_to_write() -> None:
    url = f"{RESOURCE}/openai/deployments/my-gpt/chat/completions?api-version=2025-01-01-preview"
    with pytest.raises(UsageError, match="holds an API version") as caught:
        make_model(NAME, ModelSettings(base_url=url, api_key=KEY))
    assert caught.value.hint.endswith(f"--base-url {RESOURCE} --param api_version=2025-01-01-preview")
    with pytest.raises(UsageError, match="a password or a query"):
        make_model(NAME, ModelSettings(base_url=f"{RESOURCE}?code=1", api_key=KEY))


def test_the_endpoint_and_the_key_are_asked_for() -> None:
    with pytest.raises(UsageError, match="no endpoint for azure/my-gpt") as caught:
        make_model(NAME, ModelSettings(api_key=KEY))
    assert "AZURE_OPENAI_ENDPOINT" in caught.value.hint
    with pytest.raises(UsageError, match="no API key for Azure's endpoint"):
        make_model(NAME, ModelSettings(base_url=RESOURCE))


def test_a_filtered_question_is_a_refusal_and_not_a_failure() -> None:
    said = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy."
    with Server(lambda asked: chat_error(400, said, "content_filter")) as server:
        reply = ask(NAME, server, request())
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
    assert "content management policy" in reply.evidence["withheld"]


def test_a_filtered_answer_is_withheld() -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": ""}, "finish_reason": "content_filter"}
    with Server(lambda asked: as_json({"choices": [choice]})) as server:
        assert ask(NAME, server, request()).finish_reason == "content_filter"


def test_errors() -> None:
    busy = error_of(NAME, chat_error(429, "exceeded token rate limit", "429", **{"retry-after": "12"}))
    assert (busy.is_retryable, busy.retry_after_s) == (True, 12)
    with Server(serve_azure) as server, pytest.raises(ModelError, match="DeploymentNotFound") as caught:
        ask("azure/other", server, request())
    assert caught.value.is_fatal
    key = error_of(NAME, chat_error(401, "Access denied due to invalid subscription key", "401"))
    assert key.is_fatal
    assert "AZURE_OPENAI_API_KEY" in key.hint


def test_images_above_20_megabytes_are_not_sent() -> None:
    with Server(serve_azure) as server:
        with pytest.raises(ModelError, match="20,971,521 bytes, and 20,971,520 are accepted"):
            ask(NAME, server, request(image("red", n_bytes=20 * 2**20 + 1), "?"))
        assert server.asked == []


def test_the_strict_server_refuses_what_the_api_would() -> None:
    with pytest.raises(ModelError, match="unknown field"):
        put(request(), extra_body={"thinking": 1})
