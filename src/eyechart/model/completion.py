"""What an OpenAI-compatible server says back: a completion, or an error and how long to wait."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from eyechart.model.thinking import split_thinking
from eyechart.types import Reply, Usage


class _Details(msgspec.Struct):
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    completion_tokens_details: _Details | None = None
    prompt_tokens_details: _Details | None = None


# Only the words decide whether an answer can be read: servers differ in the rest, and an answer that is
# paid for must not be lost to an odd token count.
class _Message(msgspec.Struct):
    content: str | list[str | dict[str, Any]] | None = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: Any = None


class Completion(msgspec.Struct):
    """An answer to chat completions."""

    choices: list[_Choice]
    model: Any = None
    usage: Any = None

    def replies(self, *, latency_s: float) -> list[Reply]:
        """Every choice, its thinking kept apart."""
        return [self._reply(choice, latency_s) for choice in self.choices]

    def _reply(self, choice: _Choice, latency_s: float) -> Reply:
        message = choice.message
        text, thinking = split_thinking(_plain(message.content))
        finish_reason = _text_of(choice.finish_reason) or "stop"
        refusal = _text_of(message.refusal)
        if refusal and not text:
            text, finish_reason = refusal, "refusal"
        return Reply(
            text=text,
            thinking=_text_of(message.reasoning_content) or _text_of(message.reasoning) or thinking,
            finish_reason=finish_reason,
            usage=_usage(self.usage),
            model=_text_of(self.model),
            latency_s=latency_s,
            # Some official scorers tell no answer from an empty one.
            evidence={"null_content": True} if message.content is None and not text else {},
        )


_completion = msgspec.json.Decoder(Completion)


def read_completion(content: bytes) -> Completion:
    """Decode a body; what is no completion raises msgspec's `DecodeError`, or `UnicodeDecodeError`."""
    return _completion.decode(content)


def _plain(content: str | list[str | dict[str, Any]] | None) -> str:
    if isinstance(content, list):  # some servers answer in parts
        return "".join(part if isinstance(part, str) else _text_of(part.get("text")) for part in content)
    return content or ""


def _text_of(said: object) -> str:
    """A text as it is, and nothing for anything else."""
    return said if isinstance(said, str) else ""


def _usage(said: Any) -> Usage | None:
    try:
        usage = msgspec.convert(said, _Usage, strict=False)
    except msgspec.ValidationError:
        return None
    completion, prompt = usage.completion_tokens_details, usage.prompt_tokens_details
    return Usage(
        prompt_tokens=usage.prompt_tokens or 0,
        completion_tokens=usage.completion_tokens or 0,
        reasoning_tokens=(completion.reasoning_tokens if completion else 0) or 0,
        cached_tokens=(prompt.cached_tokens if prompt else 0) or 0,
    )


def error_text(content: bytes) -> str:
    """What an error body says, whatever its shape, on one line."""
    try:
        decoded = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = content.decode("utf-8", errors="replace")
    else:
        error = decoded.get("error", decoded) if isinstance(decoded, dict) else decoded
        if isinstance(error, dict):
            words = [error.get(name) for name in ("message", "code", "detail")]
            error = " / ".join(str(word) for word in words if word) or error
        text = str(error)
    return " ".join(text.split())


def shortened(text: str) -> str:
    """As much of what a server said as a message can hold."""
    return (text[:300] + " …" if len(text) > 300 else text) or "(no explanation)"


def retry_after_s(said: str) -> float | None:
    """Seconds to wait, from a header that holds seconds or a date."""
    said = said.strip()
    try:
        return max(0.0, float(said))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(said)
    except (ValueError, OverflowError):
        return None
    if until.tzinfo is None:  # the date's own way of saying UTC
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
