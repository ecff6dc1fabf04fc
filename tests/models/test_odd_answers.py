"""What all providers have in common: odd token counts, errors beside an answer, content filters."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyechart.errors import ModelError
from eyechart.models.chat import tidy_json
from eyechart.types import Reply, Usage
from support.parts import request
from support.providers import ask
from support.server import Answer, Server

CHAT: dict[str, Any] = {
    "choices": [{"message": {"role": "assistant", "content": "B"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": "COUNT", "completion_tokens": 2},
}
# A good answer of each provider, with COUNT in place of the number of tokens in the prompt.
ANSWERS: dict[str, dict[str, Any]] = {
    "openai/m": CHAT,
    "openrouter/a/b": CHAT,
    "azure/my-gpt": CHAT,
    "openai-responses/gpt-5": {
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "B"}]}],
        "usage": {"input_tokens": "COUNT", "output_tokens": 2},
    },
    "anthropic/claude-sonnet-4-6": {
        "content": [{"type": "text", "text": "B"}], "stop_reason": "end_turn",
        "usage": {"input_tokens": "COUNT", "output_tokens": 2},
    },
    "google/gemini-2.5-pro": {
        "candidates": [{"content": {"parts": [{"text": "B"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": "COUNT", "candidatesTokenCount": 2},
    },
    "bedrock/us.amazon.nova-pro-v1:0": {
        "output": {"message": {"content": [{"text": "B"}]}}, "stopReason": "end_turn",
        "usage": {"inputTokens": "COUNT", "outputTokens": 2},
    },
}  # fmt: skip
each = pytest.mark.parametrize("name", ANSWERS)


def read(name: str, content: bytes, status: int = 200) -> Reply:
    with Server(lambda asked: Answer(status=status, body=content)) as server:
        return ask(name, server, request())


def write(name: str, count: str = "10", **more: Any) -> bytes:
    return json.dumps({**ANSWERS[name], **more}).replace('"COUNT"', count).encode()


@each
@pytest.mark.parametrize(
    "count",
    [
        "-10",
        str(2**53 + 1),
        "9" * 19,
        "9" * 400,
        "9" * 6000,
        "1.5",
        "1e999",
        "-1e999",
        "NaN",
        "Infinity",
        "true",
    ],
)
def test_a_count_that_is_none_is_not_believed_and_loses_no_answer(name: str, count: str) -> None:
    reply = read(name, write(name, count))
    assert (reply.text, reply.usage) == ("B", None)


@each
def test_the_largest_count_and_a_byte_order_mark(name: str) -> None:
    reply = read(name, b"\xef\xbb\xbf" + write(name, str(2**53)))
    assert (reply.text, reply.usage) == ("B", Usage(prompt_tokens=2**53, completion_tokens=2))


@each
def test_an_error_beside_an_answer_is_a_failure(name: str) -> None:
    with pytest.raises(ModelError, match="upstream died"):
        read(name, write(name, error={"message": "upstream died", "code": "bad_gateway"}))
    nothing: tuple[Any, ...] = (None, {}, "")
    for none in nothing:
        if not name.startswith("openai-responses") or none is None:
            assert read(name, write(name, error=none)).text == "B"


@each
def test_a_content_filter_refuses_at_every_provider(name: str) -> None:
    error = {"message": "The response was filtered", "code": "content_filter", "type": "content_filter"}
    said = {"error": {**error, "status": "content_filter"}, "message": "content_filter"}
    reply = read(name, json.dumps(said).encode(), status=400)
    assert (reply.text, reply.finish_reason) == ("", "content_filter")
    assert "content_filter" in reply.evidence["withheld"]
    beside = read(name, write(name, error=error | {"status": "content_filter"}))
    assert (beside.text, beside.finish_reason) == ("", "content_filter")


def test_anthropics_words_for_it() -> None:
    said = {"type": "invalid_request_error", "message": "Output blocked by content filtering policy"}
    body = json.dumps({"type": "error", "error": said}).encode()
    assert read("anthropic/claude-sonnet-4-6", body, status=400).finish_reason == "content_filter"


@pytest.mark.parametrize("name", [name for name in ANSWERS if ANSWERS[name] is CHAT])
def test_an_error_of_one_of_several_choices_is_left_out(name: str) -> None:
    good = CHAT["choices"][0]
    bad = {
        **good,
        "message": {"role": "assistant", "content": "C"},
        "error": {"message": "died", "code": 502},
    }
    assert read(name, write(name, choices=[bad, good])).text == "B"
    with pytest.raises(ModelError, match="died"):
        read(name, write(name, choices=[bad]))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats()
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
)


@given(JSON)
def test_tidying_changes_nothing_but_numbers_that_are_none(value: Any) -> None:
    tidied = tidy_json(json.dumps(value).encode())
    assert tidied is not None

    def strip(one: Any) -> Any:
        if isinstance(one, dict):
            return {name: strip(part) for name, part in one.items()}
        if isinstance(one, list):
            return [strip(part) for part in one]
        return json.dumps(one) if isinstance(one, float) and not math.isfinite(one) else one

    assert json.loads(tidied) == strip(value)
