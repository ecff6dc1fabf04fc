"""A provider in full: Acme's API, which there is not. Its shapes are unlike OpenAI's in every respect."""

from collections.abc import Sequence
from typing import Any

import msgspec

from eyechart import Capabilities, Message, Reply, Usage, model
from eyechart.models.chat import Attachments, ChatEndpoint


class Answer(msgspec.Struct):
    output: list[dict[str, str]]
    ended: str
    tokens: dict[str, int] = {}


@model("acme")
class Acme(ChatEndpoint):
    provider = "acme"
    vendor = "Acme"
    official_url = "https://api.acme.example/v2"
    path = "/models/{model}:answer"
    key_variable = "ACME_API_KEY"
    parameters = frozenset({"temperature", "max_tokens"})
    capabilities = Capabilities(is_endpoint=True)  # images by their URL are not taken

    def build_headers(self, api_key: str | None) -> dict[str, str]:
        return {"X-Acme-Key": api_key or "", "X-Acme-Version": "2026-01"}

    def build_body(self, messages: Sequence[Message], attachments: Attachments) -> dict[str, Any]:
        turns = [
            {"by": turn.role, "parts": [self._part(part, attachments) for part in turn.parts]}
            for turn in messages
            if turn.role != "system"
        ]
        return {"turns": turns, "rules": "\n".join(turn.text for turn in messages if turn.role == "system")}

    def _part(self, part: Any, attachments: Attachments) -> dict[str, Any]:
        if isinstance(part, str):
            return {"text": part}
        return {"image": {"mime": part.mime, "data": attachments.base64(part)}}

    def read_replies(self, content: bytes, latency_s: float) -> list[Reply]:
        answer = msgspec.json.decode(content, type=Answer)
        text, thinking = ("".join(one.get(kind, "") for one in answer.output) for kind in ("say", "think"))
        return [
            Reply(
                text=text,
                thinking=thinking,
                finish_reason={"full": "length", "blocked": "content_filter"}.get(answer.ended, "stop"),
                usage=Usage(prompt_tokens=answer.tokens["in"], completion_tokens=answer.tokens["out"]),
                latency_s=latency_s,
            )
        ]

    def read_error(self, content: bytes) -> str:
        return str(msgspec.json.decode(content)["fault"]["why"])

    def is_retryable(self, status: int, said: str) -> bool:
        return said == "busy" or super().is_retryable(status, said)
