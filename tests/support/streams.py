"""The same reply in both forms, as each provider's API documents them: at once, and in events."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any, NamedTuple

OK = "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n\r\n"


class Both(NamedTuple):
    """A reply at once, and its events."""

    whole: dict[str, Any]
    events: list[dict[str, Any]]


def write_sse(events: list[dict[str, Any]], *, is_named: bool = False, ends_done: bool = False) -> bytes:
    lines = [
        (f"event: {event['type']}\n" if is_named else "") + f"data: {json.dumps(event)}\n\n"
        for event in events
    ]
    return ("".join(lines) + ("data: [DONE]\n\n" if ends_done else "")).encode()


def write_frame(event: dict[str, Any]) -> bytes:
    """An event as Amazon writes it."""
    [(name, payload)] = event.items()
    is_error = name.endswith("Exception")
    kind = "exception" if is_error else "event"
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\7" + struct.pack(">H", len(value)) + value.encode()
        for key, value in (
            (":exception-type" if is_error else ":event-type", name),
            (":content-type", "application/json"),
            (":message-type", kind),
        )
    )
    body = json.dumps(payload).encode()
    start = struct.pack(">II", 12 + len(headers) + len(body) + 4, len(headers))
    frame = start + struct.pack(">I", zlib.crc32(start)) + headers + body
    return frame + struct.pack(">I", zlib.crc32(frame))


def write(name: str, events: list[dict[str, Any]]) -> bytes:
    """The body of a stream of this provider."""
    provider = name.partition("/")[0]
    if provider == "bedrock":
        return b"".join(map(write_frame, events))
    is_named = provider in ("anthropic", "openai-responses")
    return write_sse(events, is_named=is_named, ends_done=provider in ("openai", "azure", "openrouter"))


def chunked(body: bytes, n: int) -> bytes:
    """The body in chunks of so many bytes, without the last chunk."""
    parts = (body[start : start + n] for start in range(0, len(body), n))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)


def head(name: str) -> bytes:
    is_amazon = name.startswith("bedrock/")
    kind = "application/vnd.amazon.eventstream" if is_amazon else "text/event-stream; charset=utf-8"
    return OK.format(kind=kind).encode()


# -- OpenAI's chat completions

_CHAT_USAGE = {
    "prompt_tokens": 20, "completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 4},
    "prompt_tokens_details": {"cached_tokens": 8},
}  # fmt: skip


def chat(*deltas: dict[str, Any], finish: str, more: dict[str, Any] | None = None, **message: Any) -> Both:
    said = {"role": "assistant", "content": None, **message}
    ended = {"index": 0, "finish_reason": finish, **(more or {})}
    whole = {"model": "m-1", "choices": [{"message": said, **ended}], "usage": _CHAT_USAGE}
    first = {"role": "assistant", "content": None if message.get("content") is None else ""}
    events: list[dict[str, Any]] = [
        *(
            {"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": None}
            for delta in (first, *deltas)
        ),
        {"model": "m-1", "choices": [{"delta": {}, **ended}], "usage": None},
        {"model": "m-1", "choices": [], "usage": _CHAT_USAGE},
    ]
    return Both(whole, events)


def _call(**function: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "function": function}]}


_CALL = {"id": "c1", "type": "function", "function": {"name": "crop", "arguments": '{"x": 1}'}}
CHAT = {
    "text": chat({"content": "A c"}, {"content": "at é猫."}, finish="stop", content="A cat é猫."),
    "empty": chat(finish="stop", content=""),
    "thinking": chat(
        {"reasoning_content": "Four"}, {"reasoning_content": " legs."}, {"content": "A cat."},
        finish="stop", content="A cat.", reasoning_content="Four legs.",
    ),
    "thinking in the text": chat(
        {"content": "<think>hm"}, {"content": "</think>B"}, finish="stop", content="<think>hm</think>B"
    ),
    "cut off": chat({"reasoning": "Four legs"}, finish="length", reasoning="Four legs"),
    "filtered": chat({"content": "The"}, finish="content_filter", content="The"),
    "refusal": chat({"refusal": "I can"}, {"refusal": "not."}, finish="stop", refusal="I cannot."),
    "call": chat(
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "crop"}}]},
        _call(arguments='{"x"'), _call(arguments=": 1}"), finish="tool_calls", tool_calls=[_CALL],
    ),
}  # fmt: skip


# -- OpenAI's responses


def response(*deltas: tuple[str, str], **whole: Any) -> Both:
    said = {"status": "completed", "model": "gpt-5", "error": None, **whole}
    said["usage"] = {
        "input_tokens": 7, "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2},
        "input_tokens_details": {"cached_tokens": 3},
    }  # fmt: skip
    ended = f"response.{said['status']}"
    return Both(
        said,
        [
            {"type": "response.created", "response": {**said, "status": "in_progress", "output": []}},
            *({"type": f"response.{kind}.delta", "delta": words} for kind, words in deltas),
            {"type": ended, "response": said},
        ],
    )


_MESSAGE = {"type": "message", "content": [{"type": "output_text", "text": "A cat."}]}
RESPONSES = {
    "text": response(("output_text", "A c"), ("output_text", "at."), output=[_MESSAGE]),
    "thinking": response(
        ("reasoning_summary_text", "Legs."), ("output_text", "A cat."),
        output=[{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Legs."}]}, _MESSAGE],
    ),
    "cut off": response(
        ("output_text", "A"), status="incomplete", incomplete_details={"reason": "max_output_tokens"},
        output=[{"type": "message", "content": [{"type": "output_text", "text": "A"}]}],
    ),
    "filtered": response(
        ("output_text", "A"), status="incomplete", incomplete_details={"reason": "content_filter"},
        output=[{"type": "message", "content": [{"type": "output_text", "text": "A"}]}],
    ),
    "refusal": response(
        ("refusal", "No."), output=[{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]
    ),
}  # fmt: skip


# -- Anthropic's messages


def message(
    *blocks: tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]], stop: str, **more: Any
) -> Both:
    """Blocks: as a whole, as it starts, and its deltas."""
    usage = {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 12}
    base = {"type": "message", "role": "assistant", "model": "claude-sonnet-4-6"}
    whole = {
        **base,
        "content": [block for block, _, _ in blocks],
        "stop_reason": stop,
        "usage": usage,
        **more,
    }
    counted = {**usage, "output_tokens": 1}
    started: dict[str, Any] = {**base, "content": [], "stop_reason": None, "usage": counted}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": started}, {"type": "ping"}]
    for index, (_, start, deltas) in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index},
        ]
    ended = {"stop_reason": stop, "stop_sequence": None, **more}
    events += [
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 12}}, {"type": "message_stop"}
    ]  # fmt: skip
    return Both(whole, events)


def _words(*said: str) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    deltas = [{"type": "text_delta", "text": words} for words in said]
    return {"type": "text", "text": "".join(said)}, {"type": "text", "text": ""}, deltas


_THOUGHTS = (
    {"type": "thinking", "thinking": "Four legs.", "signature": "sig"},
    {"type": "thinking", "thinking": "", "signature": ""},
    [
        {"type": "thinking_delta", "thinking": "Four"}, {"type": "thinking_delta", "thinking": " legs."},
        {"type": "signature_delta", "signature": "sig"},
    ],
)  # fmt: skip
_TOOL = (
    {"type": "tool_use", "id": "t1", "name": "crop", "input": {"x": 1}},
    {"type": "tool_use", "id": "t1", "name": "crop", "input": {}},
    [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"x"', ": 1}")],
)
_REDACTED = {"type": "redacted_thinking", "data": "x"}
MESSAGES = {
    "text": message(_words("A c", "at."), stop="end_turn"),
    "empty": message(stop="end_turn"),
    "thinking": message(_THOUGHTS, (_REDACTED, _REDACTED, []), _words("A cat."), stop="end_turn"),
    "cut off": message(_words("A"), stop="max_tokens"),
    "call": message(_words("Look."), _TOOL, stop="tool_use"),
    "refusal": message(
        _words("I"), stop="refusal", stop_details={"type": "refusal", "category": "bio", "explanation": "No."}
    ),
}


# -- Google's Gemini


def gemini(*parts: dict[str, Any], finish: str | None = "STOP", joined: list[dict[str, Any]]) -> Both:
    def count(n: int) -> dict[str, Any]:
        counts = {"promptTokenCount": 9, "candidatesTokenCount": n, "thoughtsTokenCount": 2}
        return {"usageMetadata": counts, "modelVersion": "gemini-2.5-pro"}

    content = {"content": {"parts": joined, "role": "model"}}
    whole = {"candidates": [{**content, "finishReason": finish}], **count(len(parts))}
    events: list[dict[str, Any]] = [
        {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}], **count(n + 1)}
        for n, part in enumerate(parts)
    ]
    events[-1]["candidates"][0]["finishReason"] = finish
    return Both(whole, events)


_BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "gemini-2.5-pro"}
GEMINI = {
    "text": gemini({"text": "A c"}, {"text": "at."}, joined=[{"text": "A cat."}]),
    "thinking": gemini(
        {"text": "Four", "thought": True}, {"text": " legs.", "thought": True}, {"text": "A cat."},
        joined=[{"text": "Four legs.", "thought": True}, {"text": "A cat."}],
    ),
    "cut off": gemini({"text": "A"}, finish="MAX_TOKENS", joined=[{"text": "A"}]),
    "filtered": gemini({"text": "A"}, finish="SAFETY", joined=[{"text": "A"}]),
    "blocked": Both(_BLOCKED, [_BLOCKED]),
}  # fmt: skip


# -- Bedrock's Converse


def converse(*blocks: tuple[dict[str, Any], list[dict[str, Any]]], stop: str) -> Both:
    """Blocks: as a whole, and their deltas; the first may be a start."""
    usage = {"inputTokens": 6, "outputTokens": 4, "cacheReadInputTokens": 2}
    content = [block for block, _ in blocks]
    whole = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": stop}
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    for index, (_, parts) in enumerate(blocks):
        for part in parts:
            kind, name = ("Start", "start") if "toolUseId" in part.get("toolUse", {}) else ("Delta", "delta")
            events.append({f"contentBlock{kind}": {"contentBlockIndex": index, name: part}})
        events.append({"contentBlockStop": {"contentBlockIndex": index}})
    events += [{"messageStop": {"stopReason": stop}}, {"metadata": {"usage": usage, "metrics": {}}}]
    return Both({**whole, "usage": usage}, events)


_REASONING = (
    {"reasoningContent": {"reasoningText": {"text": "Four legs.", "signature": "s"}}},
    [{"reasoningContent": {"text": "Four"}}, {"reasoningContent": {"text": " legs."}},
     {"reasoningContent": {"signature": "s"}}],
)  # fmt: skip
_USE = (
    {"toolUse": {"toolUseId": "t", "name": "crop", "input": {"x": 1}}},
    [{"toolUse": {"toolUseId": "t", "name": "crop"}}, {"toolUse": {"input": '{"x"'}},
     {"toolUse": {"input": ": 1}"}}],
)  # fmt: skip
_CAT = ({"text": "A cat."}, [{"text": "A c"}, {"text": "at."}])
CONVERSE = {
    "text": converse(_CAT, stop="end_turn"),
    "thinking": converse(_REASONING, _CAT, stop="end_turn"),
    "cut off": converse(_CAT, stop="max_tokens"),
    "filtered": converse(_CAT, stop="guardrail_intervened"),
    "call": converse(_CAT, _USE, stop="tool_use"),
}

CASES: dict[str, dict[str, Both]] = {
    "openai/m": CHAT,
    "azure/my-gpt": CHAT,
    "openrouter/a/b": CHAT,
    "openai-responses/gpt-5": RESPONSES,
    "anthropic/claude-sonnet-4-6": MESSAGES,
    "google/gemini-2.5-pro": GEMINI,
    "bedrock/us.amazon.nova-pro-v1:0": CONVERSE,
}
