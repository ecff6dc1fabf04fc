"""OpenAI's Responses API: ``openai-responses/gpt-…``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyechart.errors import UsageError
from eyechart.models.chat import Attachments, ChatEndpoint, UsageFields, read_calls
from eyechart.models.environment import ADDRESSES, KEY
from eyechart.models.streams import Event, StreamedAnswer
from eyechart.registry import model
from eyechart.types import Capabilities, Message, Reply

_FLAGGED = re.compile("invalid_prompt|policy_violation|bio_policy|content_filter")
_PASSING = ("server_error", "rate_limit_exceeded")  # errors that a retry may not meet again
# Short names, and where they go.
_NESTED = {
    "reasoning_effort": ("reasoning", "effort"),
    "reasoning_summary": ("reasoning", "summary"),
    "verbosity": ("text", "verbosity"),
}


class _Events(StreamedAnswer):
    """The events of a response; the last one has the whole of it."""

    def __init__(self) -> None:
        super().__init__()
        self._whole: Event = {}

    def add(self, event: Event) -> None:
        kind = event.get("type")
        if kind in _ENDS:
            self._whole, self.is_complete = event["response"], True
        elif kind == "error":
            said = event.get("error") or event
            error = {name: said[name] for name in ("code", "message") if isinstance(said.get(name), str)}
            self._whole, self.is_complete = {"output": [], "error": error}, True
        elif str(kind).endswith(".delta"):
            if kind == "response.output_text.delta":
                self.texts.append(event["delta"])
            self.note(event.get("delta"))

    def join(self) -> Event:
        return self._whole


_ENDS = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


@model("openai-responses")
class OpenAIResponses(ChatEndpoint):
    """A model by OpenAI's Responses API: ``openai-responses/gpt-5``."""

    provider = "openai-responses"
    vendor = "OpenAI"
    server = "a server of OpenAI's Responses API"
    official_url = "https://api.openai.com/v1"
    path = "/responses"
    key_variable = KEY
    url_variables = ADDRESSES
    batch_api = "OpenAIBatches"
    capabilities = Capabilities(is_endpoint=True, takes_urls=True, takes_tools=True)
    streamed = _Events
    parameters = frozenset({
        "temperature", "top_p", "max_tokens", "max_output_tokens", "reasoning", "text", *_NESTED,
        "truncation", "service_tier", "store", "metadata", "include", "top_logprobs", "user",
        "safety_identifier", "prompt_cache_key", "image_detail", "extra_body",
    })  # fmt: skip

    @classmethod
    def normalise_url(cls, url: str) -> str:
        return super().normalise_url(url).removesuffix("/chat/completions")  # as $OPENAI_BASE_URL may end

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = {"store": False, **parameters}  # OpenAI would keep questions for 30 days
        self._detail = fields.pop("image_detail", None) or "auto"
        if "max_tokens" in fields:
            fields.setdefault("max_output_tokens", fields.pop("max_tokens"))
        for short, (name, part) in _NESTED.items():
            if short not in fields:
                continue
            whole = fields.get(name, {})
            if not isinstance(whole, Mapping) or part in whole:
                raise UsageError(f"{self.name}: {short} and {name} are both given", hint="give one")
            fields[name] = {**whole, part: fields.pop(short)}
        return super().build_fields(fields, extra)

    @property
    def identity(self) -> Mapping[str, Any]:
        return {**super().identity, **({"image_detail": self._detail} if self._detail != "auto" else {})}

    def build_body(self, messages: Sequence[Message], attachments: Attachments) -> dict[str, Any]:
        return {"input": [item for turn in messages for item in self._build_items(turn, attachments)]}

    def _build_items(self, turn: Message, attachments: Attachments) -> list[dict[str, Any]]:
        """A turn; calls of tools and their results are items of their own."""
        content = self._content(turn, attachments)
        if turn.answers:
            return [{"type": "function_call_output", "call_id": turn.answers, "output": content}]
        calls = [
            {"type": "function_call", "call_id": one.id, "name": one.name, "arguments": one.arguments}
            for one in turn.calls
        ]
        return [*([{"role": turn.role, "content": content}] if content or not calls else []), *calls]

    def build_tools(self, tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"tools": [{"type": "function", **tool} for tool in tools]}

    def _content(self, turn: Message, attachments: Attachments) -> str | list[dict[str, Any]]:
        if all(isinstance(part, str) for part in turn.parts):
            return turn.text
        return [
            {"type": "input_text", "text": part}
            if isinstance(part, str)
            else {"type": "input_image", "image_url": attachments.url(part), "detail": self._detail}
            for part in turn.parts
        ]

    def read_replies(self, content: bytes, latency_s: float) -> list[Reply]:
        said = _decode(content)
        if said.error is not None:
            return [self._read_failure(said.error, latency_s)]
        if said.status in ("failed", "cancelled", "queued", "in_progress"):
            raise self.no_reply(f"with the status {said.status!r}")
        parts = [part for item in said.output if item.type == "message" for part in item.content or []]
        text = "".join(part.text for part in parts if part.type == "output_text")
        refusal = "".join(part.refusal for part in parts if part.type == "refusal")
        stopped = said.incomplete_details.reason if said.incomplete_details else None
        finish_reason = {"max_output_tokens": "length", "content_filter": "content_filter"}.get(
            stopped or "", "stop"
        )
        if refusal and not text:
            text, finish_reason = refusal, "refusal"
        if not said.output and finish_reason == "stop":
            raise self.no_reply("without any output")
        return [
            Reply.read(
                text,
                thinking="\n\n".join(_list_thoughts(said.output)),
                finish_reason=finish_reason,
                usage=_USAGE.read(said.usage),
                model=said.model,
                latency_s=latency_s,
                calls=read_calls(
                    [
                        {"name": item.name, "arguments": item.arguments, "id": item.call_id}
                        for item in said.output
                        if item.type == "function_call"
                    ]
                ),
            )
        ]

    def _read_failure(self, error: _Error, latency_s: float) -> Reply:
        why = f"{error.code}: {error.message}"
        if _FLAGGED.search(error.code):
            return self._withhold(why, latency_s)
        err = self.no_reply(f"with the error {why}")
        err.is_retryable = error.code in _PASSING
        raise err

    def is_withheld(self, status: int, said: str) -> bool:
        return status == 400 and _FLAGGED.search(said) is not None


# -- what comes back


class _Part(msgspec.Struct):
    type: str
    text: str = ""
    refusal: str = ""


class _Item(msgspec.Struct):
    type: str
    content: list[_Part] | None = None
    summary: list[_Part] | None = None
    name: str = ""  # of a call, as the two below
    arguments: str = ""
    call_id: str = ""


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Error(msgspec.Struct):
    code: str = ""
    message: str = ""


class _Answer(msgspec.Struct):
    output: list[_Item]
    status: str = "completed"
    error: _Error | None = None
    incomplete_details: _Incomplete | None = None
    model: str = ""
    usage: Any = None


_decode = msgspec.json.Decoder(_Answer).decode

_USAGE = UsageFields(
    ("input_tokens",),
    ("output_tokens",),
    reasoning="output_tokens_details.reasoning_tokens",
    cached="input_tokens_details.cached_tokens",
)


def _list_thoughts(output: Sequence[_Item]) -> list[str]:
    """Reasoning: its text where a server shows it, else its summary."""
    return [
        part.text
        for item in output
        if item.type == "reasoning"
        for part in item.content or item.summary or []
        if part.text
    ]
