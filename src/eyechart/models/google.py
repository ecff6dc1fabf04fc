"""Google's Gemini API: ``google/gemini-…``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import msgspec

from eyechart.models.chat import (
    NOTHING,
    Attachments,
    ChatEndpoint,
    ImageLimits,
    UsageFields,
    join_system,
    read_arguments,
)
from eyechart.models.http import Response
from eyechart.models.streams import Event, StreamedAnswer
from eyechart.registry import model
from eyechart.types import Capabilities, Image, Message, Part, Reply, Request, ToolCall, Usage

# Names of `generationConfig`, by the name that other providers use.
_CONFIG = {
    "temperature": "temperature", "top_p": "topP", "top_k": "topK", "max_tokens": "maxOutputTokens",
    "seed": "seed", "stop": "stopSequences", "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty", "media_resolution": "mediaResolution",
    "response_mime_type": "responseMimeType", "response_schema": "responseSchema",
}  # fmt: skip
_THINKING = {
    "thinking_budget": "thinkingBudget", "thinking_level": "thinkingLevel",
    "include_thoughts": "includeThoughts",
}  # fmt: skip
_FINISHED: dict[str | None, str] = {
    None: "",
    "FINISH_REASON_UNSPECIFIED": "",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",  # and no token with which to go on
    **dict.fromkeys((
        "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "LANGUAGE", "ESCALATION", "PUP_LIMITED_DISABLED",
        "MODEL_ARMOR",
    ), "content_filter"),
}  # fmt: skip
_REST = "continuationToken"
_MAX_PARTS = 64  # of one reply
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


class _Chunks(StreamedAnswer):
    """Answers with some parts of the content each; facts about the whole come last."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[Event] = []

    def add(self, event: Event) -> None:
        candidates = (event.get("candidates") or [])[:1]
        self.whole.add({**event, "candidates": [{**one, "content": None} for one in candidates]})
        for candidate in candidates:
            for part in (candidate.get("content") or {}).get("parts") or ():
                self._parts.append(part)
                self.note(part.get("text"))
                if not part.get("thought"):
                    self.texts.append(part.get("text") or "")
            self.is_complete = self.is_complete or bool(candidate.get("finishReason"))
        self.is_complete = self.is_complete or bool((event.get("promptFeedback") or {}).get("blockReason"))

    def join(self) -> Event:
        whole = self.whole.join()
        candidates = [{**one, "content": {"parts": self._parts}} for one in whole["candidates"]]
        return {**whole, "candidates": candidates}


@model("google")
class Google(ChatEndpoint):
    """A Gemini model: ``google/gemini-2.5-pro``."""

    provider = "google"
    vendor = "Google"
    server = "a server of Google's Gemini API"
    official_url = "https://generativelanguage.googleapis.com/v1beta"
    path = "/models/{model}:generateContent"
    stream_path = "/models/{model}:streamGenerateContent?alt=sse"
    streamed = _Chunks
    stream_fields: ClassVar[Mapping[str, Any]] = {}
    key_variable = "GEMINI_API_KEY"
    other_key_variables = ("GOOGLE_API_KEY",)
    url_variables = ("GOOGLE_GEMINI_BASE_URL",)
    url_version = "v1beta"
    parameters = frozenset({*_CONFIG, *_THINKING, "safety_settings", "extra_body"})
    out_of_credit = re.compile("PerDay|prepayment credits are depleted")  # a retry today would fail, too
    limits = ImageLimits(
        formats=frozenset({"image/jpeg", "image/png", "image/webp"}),
        max_images=3600,
        max_body_bytes=100 * 10**6,
    )
    capabilities = Capabilities(is_endpoint=True, takes_tools=True)

    def build_headers(self, api_key: str | None) -> dict[str, str]:
        return {"x-goog-api-key": api_key} if api_key else {}

    def build_fields(self, parameters: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
        given = {**parameters}
        if isinstance(given.get("stop"), str):
            given["stop"] = [given["stop"]]
        thinking = {theirs: given[ours] for ours, theirs in _THINKING.items() if ours in given}
        if thinking:
            thinking.setdefault("includeThoughts", True)  # else thinking is paid for and not shown
        config = {theirs: given[ours] for ours, theirs in _CONFIG.items() if ours in given}
        config |= {"thinkingConfig": thinking} if thinking else {}
        config |= extra.get("generationConfig") or {}
        safety = given.get("safety_settings")
        return {
            **extra,
            **({"generationConfig": config} if config else {}),
            **({"safetySettings": safety} if safety is not None else {}),
        }

    def build_body(self, messages: Sequence[Message], attachments: Attachments) -> dict[str, Any]:
        contents: list[dict[str, Any]] = []
        names = {call.id: call.name for turn in messages for call in turn.calls}
        for turn in messages:
            if turn.role == "system" or not (parts := _build_parts(turn, names, attachments)):
                continue
            role = "model" if turn.role == "assistant" else "user"
            if contents and contents[-1]["role"] == role == "user" and turn.role == "tool":
                contents[-1]["parts"] += parts  # all results of a turn come together
            else:
                contents.append({"role": role, "parts": parts})
        system = join_system(messages)
        return {
            "contents": contents,
            **({"systemInstruction": {"parts": [{"text": system}]}} if system else {}),
        }

    async def ask(self, request: Request, more: Mapping[str, Any] = NOTHING) -> list[Reply]:
        """Ask for the rest as long as the reply is not complete: each request has a limit of its own."""
        parts = await super().ask(request, more)
        while (token := parts[-1].evidence.get(_REST)) and len(parts) < _MAX_PARTS:
            parts += await super().ask(request, {**more, _REST: token})
            if parts[-1].evidence.get(_REST) == token:  # it would be the same part again
                break
        return [_join(parts)] if len(parts) > 1 or token else parts

    def build_tools(self, tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        return {"tools": [{"functionDeclarations": [dict(one) for one in tools]}]}

    def read_replies(self, content: bytes, latency_s: float) -> list[Reply]:
        said = _decode(content)
        self.raise_error(said.error)
        blocked = said.prompt_feedback.block_reason if said.prompt_feedback else None
        if not said.candidates and not blocked:
            raise self.no_reply("without any candidate")
        candidate = said.candidates[0] if said.candidates else _Candidate(finish_reason="SAFETY")
        parts = candidate.content.parts if candidate.content else []
        finish_reason = _FINISHED.get(candidate.finish_reason, "stop")
        text = "".join(part.text for part in parts if not part.thought)
        called = [part.function_call for part in parts if part.function_call is not None]
        if not text and not called and finish_reason == "stop" and candidate.finish_reason != "STOP":
            raise self.no_reply(f"with nothing, for the reason {candidate.finish_reason!r}")
        return [
            Reply.read(
                text,
                thinking="".join(part.text for part in parts if part.thought),
                finish_reason=finish_reason,
                usage=_USAGE.read(said.usage_metadata),
                model=said.model_version,
                latency_s=latency_s,
                evidence=_note(blocked, candidate, finish_reason),
                calls=tuple(
                    ToolCall(one.name, msgspec.json.encode(one.args).decode(), one.id or f"call-{number}")
                    for number, one in enumerate(called)
                ),
            )
        ]

    def read_error(self, content: bytes) -> str:
        error = _read_failure(content)
        # Which quota is used up decides whether a retry can help.
        return " / ".join([f"{error.status}: {error.message}", *_list_quotas(error)])

    def is_wrong_key(self, status: int, said: str) -> bool:
        return super().is_wrong_key(status, said) or (status == 400 and "API key not valid" in said)

    def retry_after_s(self, response: Response) -> float | None:
        """The delay in the body (`RetryInfo`), as Google sends it, or in the header."""
        try:
            details = _read_failure(response.content).details
        except (msgspec.DecodeError, UnicodeDecodeError):
            details = []
        for detail in details:
            delay = detail.get("retryDelay")
            if detail.get("@type") == _RETRY_INFO and re.fullmatch(r"\d{1,9}(\.\d{1,9})?s", str(delay)):
                return float(str(delay)[:-1])
        return super().retry_after_s(response)


def _build_parts(turn: Message, names: Mapping[str, str], attachments: Attachments) -> list[dict[str, Any]]:
    """The parts of a turn; `names` are those of the tools that were called, by the ids of the calls."""
    if turn.answers:
        name, response = names.get(turn.answers, ""), {"result": turn.text}
        images = [_build_part(part, attachments) for part in turn.images]
        return [{"functionResponse": {"name": name, "response": response}}, *images]
    calls = [{"functionCall": {"name": one.name, "args": read_arguments(one)}} for one in turn.calls]
    return [*(_build_part(part, attachments) for part in turn.parts if part), *calls]


def _build_part(part: Part, attachments: Attachments) -> dict[str, Any]:
    if isinstance(part, str):
        return {"text": part}
    assert isinstance(part, Image), "images are not passed by URL"
    return {"inlineData": {"mimeType": part.mime, "data": attachments.base64(part)}}


# -- what comes back


class _Call(msgspec.Struct):
    name: str
    args: Any = {}
    id: str = ""


class _Part(msgspec.Struct, rename="camel"):
    text: str = ""
    thought: bool = False
    function_call: _Call | None = None


class _Content(msgspec.Struct, rename="camel"):
    parts: list[_Part] = []


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    continuation_token: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Answer(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] = []
    prompt_feedback: _Feedback | None = None
    model_version: str = ""
    usage_metadata: Any = None
    error: Any = None


class _Error(msgspec.Struct, rename="camel"):
    message: str
    status: str = ""
    details: list[dict[str, Any]] = []


class _Failed(msgspec.Struct, rename="camel"):
    error: _Error


_decode = msgspec.json.Decoder(_Answer).decode

# Google counts thinking apart from the answer.
_USAGE = UsageFields(
    ("promptTokenCount",),
    ("candidatesTokenCount", "thoughtsTokenCount"),
    reasoning="thoughtsTokenCount",
    cached="cachedContentTokenCount",
)


def _note(blocked: str | None, candidate: _Candidate, finish_reason: str) -> dict[str, str]:
    """Why a reply was withheld; and with what to ask for the rest of one that is not complete."""
    if finish_reason == "content_filter":
        return {"withheld": blocked or candidate.finish_reason or ""}
    is_open = candidate.finish_reason == "CONTINUATION"
    return {_REST: candidate.continuation_token} if is_open and candidate.continuation_token else {}


def _join(parts: Sequence[Reply]) -> Reply:
    """A reply that took several requests, each of which is paid for."""
    counted = [part.usage for part in parts if part.usage is not None]
    last = parts[-1]
    return replace(
        last,
        text="".join(part.text for part in parts),
        thinking="".join(part.thinking for part in parts),
        calls=tuple(call for part in parts for call in part.calls),
        usage=sum(counted, Usage()) if len(counted) == len(parts) else None,
        latency_s=sum(part.latency_s for part in parts),
        first_token_s=parts[0].first_token_s,
        evidence={name: value for name, value in last.evidence.items() if name != _REST},
    )


def _read_failure(content: bytes) -> _Error:
    return msgspec.json.decode(content, type=_Failed).error


def _list_quotas(error: _Error) -> Iterator[str]:
    for detail in error.details:
        violations = detail.get("violations")
        for violation in violations if isinstance(violations, list) else ():
            if isinstance(violation, dict) and isinstance(violation.get("quotaId"), str):
                yield violation["quotaId"]
