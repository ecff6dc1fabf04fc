"""Providers' wire formats, strictly: a request with an unknown field, a wrong role or a false media type is
refused with the provider's own error; a valid one is answered by what can be seen in its images.

`serve_anthropic` and the like are answer functions for `support.server.Server`.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from PIL import Image

from support.server import Answer, Asked

T = TypeVar("T")
Serve = Callable[[Asked], Answer]

KEY = "test-key-0123456789abcdef"
_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/webp": "WEBP", "image/gif": "GIF"}
_COLOURS = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255)}
Image.MAX_IMAGE_PIXELS = None  # one of the questions shows 108 megapixels


class Refused(Exception):
    """A request that the provider would refuse."""


def as_json(said: object, status: int = 200, **headers: str) -> Answer:
    return Answer(status=status, body=json.dumps(said).encode(), headers=headers)


# -- what is in a request, whatever its format: turns of texts and colours


@dataclass(frozen=True)
class Turn:
    role: str
    parts: tuple[str, ...]  # a text, or a colour in brackets

    @property
    def text(self) -> str:
        return "\n".join(part for part in self.parts if not part.startswith("<"))

    @property
    def colours(self) -> list[str]:
        return [part.strip("<>") for part in self.parts if part.startswith("<")]


def look(data: str, mime: str, *, max_side: int | None = None) -> str:
    """The colour of an image in base64, in brackets; refuses what is not an image of that type."""
    try:
        picture = Image.open(io.BytesIO(base64.b64decode(data, validate=True)))
    except (binascii.Error, OSError) as err:
        raise Refused(f"could not process image: {err}") from err
    if picture.format != _FORMATS.get(mime):
        raise Refused(f"the image was specified using the {mime} media type, but is {picture.format}")
    if max_side is not None and max(picture.size) > max_side:
        raise Refused(f"image dimensions exceed max allowed size: {max_side} pixels")
    seen = picture.crop((0, 0, 1, 1)).convert("RGB").tobytes()
    far = {name: sum((a - b) ** 2 for a, b in zip(rgb, seen, strict=True)) for name, rgb in _COLOURS.items()}
    return f"<{min(far, key=lambda name: far[name])}>"


def look_at_url(url: str) -> str:
    found = re.fullmatch(r"data:(image/\w+);base64,(.+)", url)
    if found is None:
        return "<red>" if url.startswith("https://") else ""
    return look(found[2], found[1])


def answer(turns: list[Turn]) -> str:
    """What a model that sees would say to the questions of `eyechart model check`, and to multiple choice."""
    last = turns[-1]
    if "banana" in last.text:
        return "yellow"
    shown = [colour for turn in turns for colour in turn.colours]
    if not shown:
        return "I see no image."
    options = re.findall(r"^([A-D])\. (\w+)$", last.text, re.MULTILINE)
    letters: dict[str, str] = {name: letter for letter, name in options}
    return letters.get(shown[-1], shown[-1])


def decode(asked: Asked, kind: type[T]) -> T:
    try:
        return msgspec.convert(asked.body, kind)
    except msgspec.ValidationError as err:
        raise Refused(str(err)) from err


def require_header(asked: Asked, name: str, value: str) -> None:
    if {key.lower(): said for key, said in asked.headers.items()}.get(name) != value:
        raise PermissionError(name)


class Strict(Struct, forbid_unknown_fields=True, kw_only=True):
    """The base of all requests."""


Filled = Annotated[str, Meta(min_length=1)]
Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
UpToTwo = Annotated[float, Meta(ge=0, le=2)]


# -- Anthropic's Messages API


class AnthropicText(Strict, tag_field="type", tag="text"):
    text: Filled


class AnthropicBase64(Strict, tag_field="type", tag="base64"):
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    data: Filled


class AnthropicUrl(Strict, tag_field="type", tag="url"):
    url: Filled


class AnthropicImage(Strict, tag_field="type", tag="image"):
    source: AnthropicBase64 | AnthropicUrl


class AnthropicMessage(Strict):
    role: Literal["user", "assistant"]
    content: Filled | Annotated[list[AnthropicText | AnthropicImage], Meta(min_length=1)]


class AnthropicThinking(Strict):
    type: Literal["enabled", "disabled", "adaptive"]
    display: Literal["summarized", "omitted"] | UnsetType = UNSET
    budget_tokens: Annotated[int, Meta(ge=1024)] | UnsetType = UNSET


class AnthropicOutput(Strict):
    effort: Literal["low", "medium", "high", "xhigh", "max"]


class AnthropicRequest(Strict):
    model: str
    max_tokens: Positive
    messages: Annotated[list[AnthropicMessage], Meta(min_length=1)]
    system: Filled | UnsetType = UNSET
    temperature: Share | UnsetType = UNSET
    top_p: Share | UnsetType = UNSET
    top_k: int | UnsetType = UNSET
    stop_sequences: list[Filled] | UnsetType = UNSET
    thinking: AnthropicThinking | UnsetType = UNSET
    output_config: AnthropicOutput | UnsetType = UNSET
    service_tier: Literal["auto", "standard_only"] | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET


def anthropic_error(status: int, kind: str, message: str, **headers: str) -> Answer:
    said = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return as_json(said, status, **headers)


def serve_anthropic(asked: Asked) -> Answer:
    try:
        return _answer_anthropic(asked)
    except PermissionError as err:
        return anthropic_error(401, "authentication_error", f"invalid {err}")
    except Refused as err:
        return anthropic_error(400, "invalid_request_error", str(err))


def _answer_anthropic(asked: Asked) -> Answer:
    require_header(asked, "x-api-key", KEY)
    version = asked.headers["anthropic-version"]
    if version not in ("2023-06-01", "2026-10-21"):
        raise Refused(f"anthropic-version: {version} is not a valid version")
    if asked.path != "/v1/messages":
        return anthropic_error(404, "not_found_error", "Not found")
    request = decode(asked, AnthropicRequest)
    if not request.model.startswith("claude-"):
        return anthropic_error(404, "not_found_error", f"model: {request.model}")
    if request.messages[0].role != "user":
        raise Refused("messages: first message must use the user role")
    for name in ("temperature", "top_p", "top_k"):
        if version > "2023-06-01" and getattr(request, name) is not UNSET:
            raise Refused(f"{name}: Extra inputs are not permitted")
    thinking = request.thinking if request.thinking is not UNSET else AnthropicThinking(type="disabled")
    if thinking.type == "enabled":
        if thinking.budget_tokens is UNSET or thinking.budget_tokens >= request.max_tokens:
            raise Refused("max_tokens must be greater than thinking.budget_tokens")
        if request.temperature not in (UNSET, 1) or request.top_k is not UNSET:
            raise Refused("temperature may only be set to 1 when thinking is enabled")
    turns = [Turn(one.role, tuple(_parts_of_anthropic(one))) for one in request.messages]
    thoughts = {"type": "thinking", "thinking": "One colour.", "signature": "x"}
    return as_json({
        "id": "msg_1", "type": "message", "role": "assistant", "model": f"{request.model}-20250929",
        "content": [
            *([thoughts] if thinking.type != "disabled" else []), {"type": "text", "text": answer(turns)},
        ],
        "stop_reason": "end_turn", "stop_sequence": None,
        "usage": {
            "input_tokens": 10, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 5,
            "output_tokens": 7, "output_tokens_details": {"thinking_tokens": 2}, "service_tier": "standard",
        },
    })  # fmt: skip


def _parts_of_anthropic(message: AnthropicMessage) -> list[str]:
    blocks = [AnthropicText(text=message.content)] if isinstance(message.content, str) else message.content
    found = []
    for block in blocks:
        if isinstance(block, AnthropicText):
            if not block.text.strip():
                raise Refused("messages: text content blocks must contain non-whitespace text")
            found.append(block.text)
        elif message.role == "assistant":
            raise Refused("messages: image blocks are not permitted in assistant turns")
        elif isinstance(block.source, AnthropicUrl):
            found.append(look_at_url(block.source.url))
        else:
            found.append(look(block.source.data, block.source.media_type, max_side=8000))
    return found


# -- Google's Gemini API


class GoogleBlob(Strict, rename="camel"):
    mime_type: Literal["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]
    data: Filled


class GooglePart(Strict, rename="camel"):
    text: str | UnsetType = UNSET
    inline_data: GoogleBlob | UnsetType = UNSET


class GoogleContent(Strict, rename="camel"):
    parts: Annotated[list[GooglePart], Meta(min_length=1)]
    role: Literal["user", "model"] | UnsetType = UNSET


class GoogleThinking(Strict, rename="camel"):
    thinking_budget: int | UnsetType = UNSET
    thinking_level: (
        Literal["minimal", "low", "medium", "high", "MINIMAL", "LOW", "MEDIUM", "HIGH"] | UnsetType
    ) = UNSET
    include_thoughts: bool | UnsetType = UNSET


class GoogleConfig(Strict, rename="camel"):
    temperature: UpToTwo | UnsetType = UNSET
    top_p: Share | UnsetType = UNSET
    top_k: int | UnsetType = UNSET
    max_output_tokens: Positive | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    stop_sequences: list[str] | UnsetType = UNSET
    presence_penalty: float | UnsetType = UNSET
    frequency_penalty: float | UnsetType = UNSET
    candidate_count: int | UnsetType = UNSET
    media_resolution: str | UnsetType = UNSET
    response_mime_type: str | UnsetType = UNSET
    response_schema: dict[str, Any] | UnsetType = UNSET
    thinking_config: GoogleThinking | UnsetType = UNSET


class GoogleSafety(Strict, rename="camel"):
    category: str
    threshold: str


class GoogleRequest(Strict, rename="camel"):
    contents: Annotated[list[GoogleContent], Meta(min_length=1)]
    system_instruction: GoogleContent | UnsetType = UNSET
    generation_config: GoogleConfig | UnsetType = UNSET
    safety_settings: list[GoogleSafety] | UnsetType = UNSET
    cached_content: str | UnsetType = UNSET


def google_error(status: int, kind: str, message: str, *details: dict[str, Any]) -> Answer:
    said = {"code": status, "message": message, "status": kind, "details": list(details)}
    return as_json({"error": said}, status)


def serve_google(asked: Asked) -> Answer:
    try:
        return _answer_google(asked)
    except PermissionError:
        said = "API key not valid. Please pass a valid API key."
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        return google_error(400, "INVALID_ARGUMENT", said, info)
    except Refused as err:
        return google_error(400, "INVALID_ARGUMENT", str(err))


def _answer_google(asked: Asked) -> Answer:
    require_header(asked, "x-goog-api-key", KEY)
    found = re.fullmatch(r"/v1beta/models/([\w.-]+):generateContent", asked.path)
    if found is None or not found[1].startswith("gemini-"):
        return google_error(404, "NOT_FOUND", "model is not found for API version v1beta")
    request = decode(asked, GoogleRequest)
    turns = [Turn(one.role or "user", tuple(map(_read_google_part, one.parts))) for one in request.contents]
    if turns[-1].role != "user":
        raise Refused("the last turn must be the user's")
    config = request.generation_config
    thinking = config.thinking_config if config is not UNSET else UNSET
    shows_thoughts = thinking is not UNSET and thinking.include_thoughts is True
    parts = [{"text": answer(turns)}]
    return as_json({
        "candidates": [{
            "content": {
                "role": "model",
                "parts": [*([{"text": "One colour.", "thought": True}] if shows_thoughts else []), *parts],
            },
            "finishReason": "STOP", "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": 20, "candidatesTokenCount": 2, "thoughtsTokenCount": 6,
            "cachedContentTokenCount": 4, "totalTokenCount": 28,
        },
        "modelVersion": found[1], "responseId": "r1",
    })  # fmt: skip


def _read_google_part(part: GooglePart) -> str:
    if (part.text is UNSET) == (part.inline_data is UNSET):
        raise Refused("exactly one of text and inlineData must be set")
    if part.inline_data is not UNSET:
        return look(part.inline_data.data, part.inline_data.mime_type)
    if not part.text:
        raise Refused("Unable to submit request because it has an empty text parameter.")
    return str(part.text)


# -- chat completions at Azure and at OpenRouter


class ChatText(Strict, tag_field="type", tag="text"):
    text: str


class ChatImageUrl(Strict):
    url: Filled
    detail: Literal["low", "high", "auto"] | UnsetType = UNSET


class ChatImage(Strict, tag_field="type", tag="image_url"):
    image_url: ChatImageUrl


class ChatMessage(Strict):
    role: Literal["system", "user", "assistant"]
    content: str | Annotated[list[ChatText | ChatImage], Meta(min_length=1)]


class ChatRequest(Strict):
    model: str
    messages: Annotated[list[ChatMessage], Meta(min_length=1)]
    temperature: UpToTwo | UnsetType = UNSET
    top_p: Share | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    stop: str | list[str] | UnsetType = UNSET
    n: Positive | UnsetType = UNSET


class AzureRequest(ChatRequest):
    max_tokens: Positive | UnsetType = UNSET
    max_completion_tokens: Positive | UnsetType = UNSET
    reasoning_effort: Literal["minimal", "low", "medium", "high"] | UnsetType = UNSET


class OpenRouterReasoning(Strict):
    effort: Literal["minimal", "low", "medium", "high"] | UnsetType = UNSET
    max_tokens: Positive | UnsetType = UNSET
    exclude: bool | UnsetType = UNSET


class OpenRouterRequest(ChatRequest):
    max_tokens: Positive | UnsetType = UNSET
    reasoning: OpenRouterReasoning | UnsetType = UNSET
    provider: dict[str, Any] | UnsetType = UNSET
    top_k: int | UnsetType = UNSET


def chat_error(status: int, message: str, code: object = None, **headers: str) -> Answer:
    return as_json({"error": {"message": message, "code": code}}, status, **headers)


def _read_chat(request: ChatRequest) -> list[Turn]:
    turns = []
    for message in request.messages:
        parts = [ChatText(text=message.content)] if isinstance(message.content, str) else message.content
        if message.role != "user" and any(isinstance(part, ChatImage) for part in parts):
            raise Refused("image_url is only supported in user messages")
        seen = (
            part.text if isinstance(part, ChatText) else look_at_url(part.image_url.url) for part in parts
        )
        turns.append(Turn(message.role, tuple(seen)))
    return turns


def _complete_chat(request: ChatRequest, **message: Any) -> Answer:
    said = {"role": "assistant", "content": answer(_read_chat(request)), "refusal": None, **message}
    return as_json({
        "id": "c1", "object": "chat.completion", "model": request.model,
        "choices": [{"index": 0, "message": said, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12,
            "prompt_tokens_details": {"cached_tokens": 4},
            "completion_tokens_details": {"reasoning_tokens": 1},
        },
    })  # fmt: skip


def serve_azure(asked: Asked) -> Answer:
    try:
        require_header(asked, "api-key", KEY)
        request = decode(asked, AzureRequest)
        dated = re.fullmatch(r"/openai/deployments/([^/]+)/chat/completions", asked.path)
        is_dated = dated is not None and re.fullmatch(
            r"\d{4}-\d\d-\d\d(-preview)?", asked.query.get("api-version", "")
        )
        if not is_dated and (asked.path, asked.query) != ("/openai/v1/chat/completions", {}):
            return chat_error(404, "Resource not found", "404")
        if (dated[1] if dated else request.model) != "my-gpt":
            return chat_error(
                404, "The API deployment for this resource does not exist.", "DeploymentNotFound"
            )
        return _complete_chat(request)
    except PermissionError:
        return chat_error(401, "Access denied due to invalid subscription key or wrong API endpoint.", "401")
    except Refused as err:
        return chat_error(400, str(err), "BadRequest")


def serve_openrouter(asked: Asked) -> Answer:
    try:
        require_header(asked, "authorization", f"Bearer {KEY}")
        if asked.path != "/api/v1/chat/completions":
            return chat_error(404, "Not Found", 404)
        request = decode(asked, OpenRouterRequest)
        if "/" not in request.model:
            return chat_error(400, f"{request.model} is not a valid model ID", 400)
        is_thinking = request.reasoning is not UNSET
        return _complete_chat(request, reasoning="One colour." if is_thinking else None)
    except PermissionError:
        return chat_error(401, "No auth credentials found", 401)
    except Refused as err:
        return chat_error(400, str(err), 400)


# -- OpenAI's Responses API


class ResponsesText(Strict, tag_field="type", tag="input_text"):
    text: str


class ResponsesImage(Strict, tag_field="type", tag="input_image"):
    image_url: Filled
    detail: Literal["low", "high", "auto"]


class ResponsesMessage(Strict):
    role: Literal["user", "assistant", "system", "developer"]
    content: str | Annotated[list[ResponsesText | ResponsesImage], Meta(min_length=1)]


class ResponsesReasoning(Strict):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | UnsetType = UNSET
    summary: Literal["auto", "concise", "detailed"] | UnsetType = UNSET


class ResponsesOutput(Strict):
    verbosity: Literal["low", "medium", "high"] | UnsetType = UNSET
    format: dict[str, Any] | UnsetType = UNSET


class ResponsesRequest(Strict):
    model: str
    input: Annotated[list[ResponsesMessage], Meta(min_length=1)]
    store: bool | UnsetType = UNSET
    temperature: UpToTwo | UnsetType = UNSET
    top_p: Share | UnsetType = UNSET
    max_output_tokens: Annotated[int, Meta(ge=16)] | UnsetType = UNSET
    reasoning: ResponsesReasoning | UnsetType = UNSET
    text: ResponsesOutput | UnsetType = UNSET
    service_tier: str | UnsetType = UNSET
    metadata: dict[str, str] | UnsetType = UNSET


def serve_responses(asked: Asked) -> Answer:
    try:
        require_header(asked, "authorization", f"Bearer {KEY}")
        if asked.path != "/v1/responses":
            return chat_error(404, "Invalid URL")
        request = decode(asked, ResponsesRequest)
    except PermissionError:
        return chat_error(401, "Incorrect API key provided", "invalid_api_key")
    except Refused as err:
        return chat_error(400, str(err))
    if not request.model.startswith("gpt-"):
        return chat_error(400, f"The requested model '{request.model}' does not exist.", "model_not_found")
    turns = []
    for message in request.input:
        parts = [ResponsesText(text=message.content)] if isinstance(message.content, str) else message.content
        if message.role == "assistant" and not isinstance(message.content, str):
            return chat_error(400, "Invalid value: 'input_text'. Supported values are: 'output_text'.")
        seen = (
            part.text if isinstance(part, ResponsesText) else look_at_url(part.image_url) for part in parts
        )
        turns.append(Turn(message.role, tuple(seen)))
    summary = {"type": "summary_text", "text": "One colour."}
    is_shown = request.reasoning is not UNSET and request.reasoning.summary is not UNSET
    content = {"type": "output_text", "text": answer(turns), "annotations": [], "logprobs": []}
    return as_json({
        "id": "resp_1", "object": "response", "status": "completed", "error": None,
        "incomplete_details": None, "model": f"{request.model}-2025-08-07",
        "output": [
            {"id": "rs_1", "type": "reasoning", "summary": [summary] if is_shown else []},
            {
                "id": "msg_1", "type": "message", "status": "completed", "role": "assistant",
                "content": [content],
            },
        ],
        "usage": {
            "input_tokens": 30, "input_tokens_details": {"cached_tokens": 8}, "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 5}, "total_tokens": 39,
        },
    })  # fmt: skip


# -- Amazon Bedrock's Converse API


class BedrockSource(Strict):
    bytes: Filled


class BedrockImage(Strict):
    format: Literal["png", "jpeg", "gif", "webp"]
    source: BedrockSource


class BedrockBlock(Strict):
    text: Filled | UnsetType = UNSET
    image: BedrockImage | UnsetType = UNSET


class BedrockMessage(Strict):
    role: Literal["user", "assistant"]
    content: Annotated[list[BedrockBlock], Meta(min_length=1)]


class BedrockConfig(Strict, rename="camel"):
    max_tokens: Positive | UnsetType = UNSET
    temperature: Share | UnsetType = UNSET
    top_p: Share | UnsetType = UNSET
    stop_sequences: list[Filled] | UnsetType = UNSET


class BedrockRequest(Strict, rename="camel"):
    messages: Annotated[list[BedrockMessage], Meta(min_length=1)]
    system: list[BedrockBlock] | UnsetType = UNSET
    inference_config: BedrockConfig | UnsetType = UNSET
    additional_model_request_fields: dict[str, Any] | UnsetType = UNSET


def serve_bedrock(asked: Asked) -> Answer:
    try:
        require_header(asked, "authorization", f"Bearer {KEY}")
        found = re.fullmatch(r"/model/(.+)/converse", asked.path)
        if found is None or "." not in found[1]:
            return as_json({"message": "The provided model identifier is invalid."}, 400)
        request = decode(asked, BedrockRequest)
        if any(one.role != ("user", "assistant")[n % 2] for n, one in enumerate(request.messages)):
            raise Refused("A conversation must alternate between user and assistant roles.")
        turns = [
            Turn(one.role, tuple(_read_bedrock_block(block) for block in one.content))
            for one in request.messages
        ]
    except PermissionError:
        return as_json({"Message": "Invalid API Key format"}, 403)
    except Refused as err:
        return as_json({"message": str(err)}, 400)
    thoughts = {"reasoningContent": {"reasoningText": {"text": "One colour.", "signature": "x"}}}
    more = request.additional_model_request_fields
    is_thinking = more is not UNSET and "thinking" in more
    return as_json({
        "output": {
            "message": {
                "role": "assistant",
                "content": [*([thoughts] if is_thinking else []), {"text": answer(turns)}],
            }
        },
        "stopReason": "end_turn", "metrics": {"latencyMs": 5},
        "usage": {
            "inputTokens": 10, "outputTokens": 7, "totalTokens": 25, "cacheReadInputTokens": 5,
            "cacheWriteInputTokens": 3,
        },
    })  # fmt: skip


def _read_bedrock_block(block: BedrockBlock) -> str:
    if (block.text is UNSET) == (block.image is UNSET):
        raise Refused("exactly one member of the union must be set")
    if block.image is not UNSET:
        return look(block.image.source.bytes, f"image/{block.image.format}", max_side=8000)
    assert block.text is not UNSET
    return block.text
