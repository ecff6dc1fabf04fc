"""Amazon Bedrock's Converse API, with an API key: ``bedrock/MODEL-ID``."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote

import msgspec

from eyechart.errors import UsageError
from eyechart.models.anthropic import FINISHED
from eyechart.models.chat import Attachments, ChatEndpoint, ImageLimits, UsageFields, join_system
from eyechart.models.streams import AmazonEvents, Event, StreamedAnswer
from eyechart.registry import model
from eyechart.types import Capabilities, Image, Message, Part, Reply

_CONFIG = {
    "temperature": "temperature",
    "top_p": "topP",
    "max_tokens": "maxTokens",
    "stop": "stopSequences",
}
_FINISHED = {**FINISHED, **dict.fromkeys(("guardrail_intervened", "content_filtered"), "content_filter")}
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_UNKNOWN_MODEL = re.compile(r"model identifier is invalid", re.IGNORECASE)


class _Events(StreamedAnswer):
    """The events of a conversation: blocks part by part, how it ended, and what it used."""

    framing = AmazonEvents

    continued = ("text", "signature", "input")

    def add(self, event: Event) -> None:
        [(name, said)] = event.items()
        if name in ("contentBlockStart", "contentBlockDelta"):
            part = said.get("delta") or said.get("start") or {}
            self.whole.add({"content": [{"index": said["contentBlockIndex"], **part}]})
            if "text" in part:
                self.texts.append(part["text"])
            self.note(part.get("text"), *(one.get("text") for one in part.values() if isinstance(one, dict)))
        elif name == "messageStop":
            self.whole.add({"stopReason": said.get("stopReason")})
            self.is_complete = True
        elif name == "metadata":
            self.whole.add({"usage": said.get("usage")})
        elif name == "error" or name.endswith("Exception"):
            self.whole.add({"error": said})

    def join(self) -> Event:
        whole = self.whole.join()
        content = whole.pop("content", [])
        for block in content:
            if (thought := block.get("reasoningContent")) and thought.keys() & {"text", "signature"}:
                block["reasoningContent"] = {"reasoningText": thought}
        return {"output": {"message": {"role": "assistant", "content": content}}, **whole}


@model("bedrock")
class Bedrock(ChatEndpoint):
    """A model at Bedrock: ``bedrock/us.amazon.nova-pro-v1:0``. Requests are not signed: a key is needed."""

    provider = "bedrock"
    vendor = "Amazon Bedrock"
    server = "a server of Bedrock's Converse API"
    official_url = ""  # every region has its own
    path = "/model/{model}/converse"
    stream_path = "/model/{model}/converse-stream"
    streamed = _Events
    stream_fields: ClassVar[Mapping[str, Any]] = {}
    key_variable = "AWS_BEARER_TOKEN_BEDROCK"
    max_temperature = 1.0
    url_variables = ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",)
    parameters = frozenset({*_CONFIG, "thinking_budget", "extra_body"})
    limits = ImageLimits(max_images=20, max_side=8000, max_bytes=3_750_000)
    capabilities = Capabilities(is_endpoint=True)

    @classmethod
    def is_official_host(cls, host: str) -> bool:
        return host.endswith((".amazonaws.com", ".amazonaws.com.cn"))

    def find_url(self) -> str:
        region = next(filter(None, map(os.environ.get, _REGION_VARIABLES)), None)
        if url := super().find_url():
            return url
        if not region or not re.fullmatch(r"[a-z0-9-]+", region):
            raise UsageError(
                f"no region for {self.name}",
                hint="set AWS_REGION, or --base-url https://bedrock-runtime.REGION.amazonaws.com",
            )
        return f"https://bedrock-runtime.{region}.amazonaws.com"

    def build_url(self) -> str:
        path = self.stream_path if self.streams else self.path
        return self.base_url + path.format(model=quote(self.model, safe=""))  # it may be an ARN

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        given = {**parameters}
        if isinstance(given.get("stop"), str):
            given["stop"] = [given["stop"]]
        config = {theirs: given[ours] for ours, theirs in _CONFIG.items() if ours in given}
        more = {**(extra.get("additionalModelRequestFields") or {})}
        if budget := given.get("thinking_budget"):
            more["thinking"] = {"type": "enabled", "budget_tokens": budget}
        return {
            **extra,
            **({"inferenceConfig": config} if config else {}),
            **({"additionalModelRequestFields": more} if more else {}),
        }

    def build_body(self, messages: Sequence[Message], attachments: Attachments) -> dict[str, Any]:
        turns: list[dict[str, Any]] = []
        for turn in messages:
            if turn.role == "system" or not (content := _build_content(turn, attachments)):
                continue
            if turns and turns[-1]["role"] == turn.role:  # roles have to alternate
                turns[-1]["content"] += content
            else:
                turns.append({"role": turn.role, "content": content})
        system = join_system(messages)
        return {"messages": turns, **({"system": [{"text": system}]} if system else {})}

    def read_replies(self, content: bytes, latency_s: float) -> list[Reply]:
        said = _decode(content)
        self.raise_error(said.error)
        if said.stop_reason == "malformed_model_output":
            raise self.no_reply("with malformed output of the model")
        blocks = said.output.message.content
        thoughts = [block.reasoning_content.reasoning_text for block in blocks if block.reasoning_content]
        return [
            Reply.read(
                "".join(block.text for block in blocks),
                thinking="\n\n".join(thought.text for thought in thoughts if thought),
                finish_reason=_FINISHED.get(said.stop_reason or "", said.stop_reason or ""),
                usage=_USAGE.read(said.usage),
                latency_s=latency_s,
            )
        ]

    def is_retryable(self, status: int, said: str) -> bool:
        return status == 424 or super().is_retryable(status, said)  # 424: the model failed to process it

    def is_unknown_model(self, status: int, said: str) -> bool:
        return status == 400 and _UNKNOWN_MODEL.search(said) is not None


def _build_content(turn: Message, attachments: Attachments) -> list[dict[str, Any]]:
    """The parts of a turn. The API refuses blank texts, which an empty earlier reply would be."""
    return [
        _build_part(part, attachments) for part in turn.parts if not isinstance(part, str) or part.strip()
    ]


def _build_part(part: Part, attachments: Attachments) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    assert isinstance(part, Image), "images are not passed by URL"
    kind = part.mime.removeprefix("image/")
    return {"image": {"format": kind, "source": {"bytes": attachments.base64(part)}}}


# -- what comes back


class _Thought(msgspec.Struct):
    text: str = ""


class _Reasoning(msgspec.Struct, rename="camel"):
    reasoning_text: _Thought | None = None


class _Block(msgspec.Struct, rename="camel"):
    text: str = ""
    reasoning_content: _Reasoning | None = None


class _Message(msgspec.Struct):
    content: list[_Block]


class _Output(msgspec.Struct):
    message: _Message


class _Answer(msgspec.Struct, rename="camel"):
    output: _Output
    stop_reason: str | None = None
    usage: Any = None
    error: Any = None


_decode = msgspec.json.Decoder(_Answer).decode

# Bedrock counts cached input apart.
_USAGE = UsageFields(
    ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
    ("outputTokens",),
    cached="cacheReadInputTokens",
)
