"""Tools as each API takes them: how they are offered, called, and answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from eyechart.models.chat import ChatEndpoint
from eyechart.models.specs import make_model
from eyechart.types import Message, ModelSettings, Request, Sample, ToolCall
from support.parts import image

TOOL: dict[str, Any] = {"name": "zoom", "description": "Shows more.", "parameters": {"type": "object"}}
CALLS = (ToolCall("zoom", '{"x": 1}', "c1"), ToolCall("zoom", "{", "c2"))
TURNS = (
    Message("user", ("Which?",)),
    Message("assistant", ("Let me see.",), CALLS),
    Message("tool", ("Shown below.",), answers="c1"),
    Message("tool", ("Not run.",), answers="c2"),
    Message("user", ("Image 1:", image("red"))),
)
URL = "http://127.0.0.1:9/v1"


def endpoint(provider: str) -> ChatEndpoint:
    made = make_model(f"{provider}/m", ModelSettings(base_url=URL, api_key="k"))
    assert isinstance(made, ChatEndpoint)
    return made


def body(provider: str) -> Mapping[str, Any]:
    request = Request(messages=TURNS, sample=Sample(id="1", question="?"), tools=(TOOL,))
    found = msgspec.json.decode(b"".join(endpoint(provider).encode_request(request)))
    assert isinstance(found, dict)
    return found


def test_openai() -> None:
    sent = body("openai")
    assert sent["tools"] == [{"type": "function", "function": TOOL}]
    _, called, one, two, shown = sent["messages"]
    assert [call["id"] for call in called["tool_calls"]] == ["c1", "c2"]
    assert called["tool_calls"][1]["function"] == {"name": "zoom", "arguments": "{"}
    assert (one["role"], one["tool_call_id"], one["content"]) == ("tool", "c1", "Shown below.")
    assert two["tool_call_id"] == "c2"
    assert [part["type"] for part in shown["content"]] == ["text", "image_url"]


def test_openai_responses() -> None:
    sent = body("openai-responses")
    assert sent["tools"] == [{"type": "function", **TOOL}]
    kinds = [item.get("type", item.get("role")) for item in sent["input"]]
    assert kinds == ["user", "assistant", *["function_call"] * 2, *["function_call_output"] * 2, "user"]
    assert sent["input"][4] == {"type": "function_call_output", "call_id": "c1", "output": "Shown below."}


def test_anthropic_puts_results_and_what_follows_into_one_turn() -> None:
    sent = body("anthropic")
    assert sent["tools"][0]["input_schema"] == TOOL["parameters"]
    asked, called, shown = sent["messages"]
    assert asked["content"] == "Which?"
    assert [block["type"] for block in called["content"]] == ["text", "tool_use", "tool_use"]
    assert [block["input"] for block in called["content"][1:]] == [{"x": 1}, {}]
    assert [block["type"] for block in shown["content"]] == ["tool_result", "tool_result", "text", "image"]
    assert shown["role"] == "user"


def test_google() -> None:
    sent = body("google")
    assert sent["tools"] == [{"functionDeclarations": [TOOL]}]
    _, called, results, shown = sent["contents"]
    assert called["parts"][1] == {"functionCall": {"name": "zoom", "args": {"x": 1}}}
    assert [part["functionResponse"]["name"] for part in results["parts"]] == ["zoom", "zoom"]
    assert len(shown["parts"]) == 2


ANSWERS: dict[str, Any] = {
    "openai": {"choices": [{
        "message": {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "zoom", "arguments": '{"x": 1}'}},
            {"id": "c2", "function": {"name": 7}}, "odd", {"id": "c3", "function": None},
        ]},
        "finish_reason": "stop",
    }]},
    "openai-responses": {"output": [
        {"type": "function_call", "call_id": "c1", "name": "zoom", "arguments": '{"x": 1}'}
    ]},
    "anthropic": {"content": [
        {"type": "text", "text": ""}, {"type": "tool_use", "id": "c1", "name": "zoom", "input": {"x": 1}}
    ], "stop_reason": "tool_use"},
    "google": {"candidates": [
        {"content": {"parts": [{"functionCall": {"name": "zoom", "args": {"x": 1}, "id": "c1"}}]},
         "finishReason": "STOP"}
    ]},
}  # fmt: skip


@pytest.mark.parametrize("provider", ANSWERS)
def test_calls_are_read_from_replies(provider: str) -> None:
    [reply] = endpoint(provider).read_replies(msgspec.json.encode(ANSWERS[provider]), 0.1)
    [call] = reply.calls
    assert (call.name, call.id, msgspec.json.decode(call.arguments)) == ("zoom", "c1", {"x": 1})
    assert reply.text == ""
