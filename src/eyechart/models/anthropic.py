"""Anthropic's Messages API: ``anthropic/claude-…``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyechart.errors import UsageError
from eyechart.models.chat import (
    Attachments,
    ChatEndpoint,
    ImageLimits,
    UsageFields,
    join_system,
    read_arguments,
)
from eyechart.models.specs import SAMPLING, refuses_sampling
from eyechart.models.streams import Event, StreamedAnswer
from eyechart.registry import model
from eyechart.types import Capabilities, Image, Message, Part, Reply, ToolCall

_VERSION = "2026-10-21"
_VERSION_WITH_SAMPLING = "2023-06-01"  # later ones refuse temperature, top_p and top_k for every model
_DEFAULT_MAX_TOKENS = 4096  # the API requires one; every Claude model with vision accepts this
FINISHED = {  # others, such as refusal, tool_use and pause_turn, by their own name
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class _Events(StreamedAnswer):
    """The events of a message: its beginning, its blocks part by part, and how it ended."""

    continued = ("text", "thinking", "signature", "partial_json")

    def add(self, event: Event) -> None:
        match event.get("type"):
            case "message_start":
                self.whole.add(event["message"])
            case "content_block_start":
                self._add_block(event["index"], event["content_block"])
            case "content_block_delta":
                delta = {name: value for name, value in event["delta"].items() if name != "type"}
                self._add_block(event["index"], delta)
            case "message_delta":
                self.whole.add({**event["delta"], "usage": event.get("usage")})
            case "message_stop":
                self.is_complete = True
            case "error":
                self.whole.add({"error": event["error"]})

    def _add_block(self, index: int, part: Event) -> None:
        self.whole.add({"content": [{"index": index, **part}]})
        if isinstance(words := part.get("text"), str):
            self.texts.append(words)
        self.note(*map(part.get, ("text", "thinking", "partial_json")))

    def join(self) -> Event:
        whole = {"content": [], **super().join()}
        for block in whole["content"]:
            if written := block.pop("partial_json", ""):
                block["input"] = msgspec.json.decode(written)
        return whole


@model("anthropic")
class Anthropic(ChatEndpoint):
    """A Claude model: ``anthropic/claude-sonnet-4-6``."""

    provider = "anthropic"
    vendor = "Anthropic"
    server = "a server of Anthropic's Messages API"
    official_url = "https://api.anthropic.com/v1"
    path = "/messages"
    key_variable = "ANTHROPIC_API_KEY"
    max_temperature = 1.0
    error_words = ("type", "message")
    url_variables = ("ANTHROPIC_BASE_URL",)
    url_version = "v1"
    batch_api = "AnthropicBatches"
    capabilities = Capabilities(is_endpoint=True, takes_urls=True, takes_tools=True)
    streamed = _Events
    parameters = frozenset({
        "max_tokens", "temperature", "top_p", "top_k", "stop", "stop_sequences", "thinking",
        "thinking_budget", "effort", "service_tier", "metadata", "extra_body",
    })  # fmt: skip
    out_of_credit = re.compile("credit balance is too low|billing_error", re.IGNORECASE)
    # Bytes per image depend on model and platform: the API refuses what is too large, with the number.
    limits = ImageLimits(
        max_images=600, max_side=8000, many_images=20, max_side_of_many=2000, max_body_bytes=32 * 10**6
    )

    def build_headers(self, api_key: str | None) -> dict[str, str]:
        version = _VERSION_WITH_SAMPLING if SAMPLING & self._fields.keys() else _VERSION
        return {**({"x-api-key": api_key} if api_key else {}), "anthropic-version": version}

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        fields = {**parameters}
        if refuses_sampling(self.model) and (refused := SAMPLING & fields.keys()):
            raise UsageError(
                f"{self.name} takes no {min(refused)}",
                hint="leave it out: Claude models from Opus 4.7 on refuse temperature, top_p and top_k",
            )
        budget = fields.pop("thinking_budget", None)
        if budget is not None:
            if "thinking" in fields:
                raise UsageError(f"{self.name}: thinking and thinking_budget are both given", hint="give one")
            fields["thinking"] = (
                {"type": "enabled", "budget_tokens": budget} if budget else {"type": "disabled"}
            )
        if (stop := fields.pop("stop", None)) is not None:
            fields["stop_sequences"] = [stop] if isinstance(stop, str) else stop
        if (effort := fields.pop("effort", None)) is not None:
            fields["output_config"] = {"effort": effort}
        thinking = fields.get("thinking")
        budget = thinking.get("budget_tokens", 0) if isinstance(thinking, Mapping) else 0
        max_tokens = fields.setdefault("max_tokens", _DEFAULT_MAX_TOKENS + budget)
        if max_tokens <= budget:
            raise UsageError(
                f"{self.name}: max_tokens is {max_tokens}, of which thinking may take {budget}",
                hint=f"max_tokens counts thinking as well: add --max-tokens {budget + _DEFAULT_MAX_TOKENS}",
            )
        return super().build_fields(fields, extra)

    def build_body(self, messages: Sequence[Message], attachments: Attachments) -> dict[str, Any]:
        turns: list[dict[str, Any]] = []
        after_tool = False
        for turn in messages:
            content = self._content(turn, attachments, after_tool=after_tool)
            if turn.role == "system" or not content:
                continue
            role = "user" if turn.role == "tool" else turn.role
            if role == "user" and after_tool:  # what follows the result of a tool belongs to the same turn
                turns[-1]["content"] += content
            else:
                turns.append({"role": role, "content": content})
            after_tool = turn.role == "tool" or (after_tool and role == "user")
        system = join_system(messages)
        return {"messages": turns, **({"system": system} if system else {})}

    def _content(
        self, turn: Message, attachments: Attachments, *, after_tool: bool = False
    ) -> str | list[dict[str, Any]]:
        """The parts of a turn. The API refuses blank texts, which an empty earlier reply would be."""
        parts = [
            _build_part(part, attachments) for part in turn.parts if not isinstance(part, str) or part.strip()
        ]
        if turn.answers:
            return [{"type": "tool_result", "tool_use_id": turn.answers, "content": parts}]
        if turn.calls:
            calls = (
                {"type": "tool_use", "id": one.id, "name": one.name, "input": read_arguments(one)}
                for one in turn.calls
            )
            return [*parts, *calls]
        if len(turn.parts) == 1 and isinstance(turn.parts[0], str) and not after_tool:
            return turn.parts[0] if turn.parts[0].strip() else ""
        return parts

    def build_tools(self, tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"tools": [
            {"name": one["name"], "description": one["description"], "input_schema": one["parameters"]}
            for one in tools
        ]}  # fmt: skip

    def read_replies(self, content: bytes, latency_s: float) -> list[Reply]:
        said = _decode(content)
        self.raise_error(said.error)
        details = said.stop_details if isinstance(said.stop_details, dict) else {}
        why = map(details.get, ("category", "explanation"))
        withheld = ": ".join(word for word in why if isinstance(word, str) and word)
        return [
            Reply.read(
                "".join(block.text for block in said.content if block.type == "text"),
                thinking="\n\n".join(block.thinking for block in said.content if block.type == "thinking"),
                finish_reason=FINISHED.get(said.stop_reason or "", said.stop_reason or ""),
                usage=_USAGE.read(said.usage),
                model=said.model,
                latency_s=latency_s,
                evidence={"withheld": withheld} if withheld else {},
                calls=tuple(
                    ToolCall(block.name, msgspec.json.encode(block.input).decode(), block.id)
                    for block in said.content
                    if block.type == "tool_use"
                ),
            )
        ]


def _build_part(part: Part, attachments: Attachments) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, Image):
        source = {"type": "base64", "media_type": part.mime, "data": attachments.base64(part)}
        return {"type": "image", "source": source}
    return {"type": "image", "source": {"type": "url", "url": attachments.url(part)}}


# -- what comes back


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    thinking: str = ""
    name: str = ""  # of a call, as the two below
    id: str = ""
    input: Any = None


class _Answer(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    stop_details: Any = None
    model: str = ""
    usage: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Answer).decode

# Anthropic counts cached input apart; thinking is part of the output.
_USAGE = UsageFields(
    ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    ("output_tokens",),
    reasoning="output_tokens_details.thinking_tokens",
    cached="cache_read_input_tokens",
)
