"""The bytes of the bench server's answers: whole, refused, or spoiled as their kind says."""

from __future__ import annotations

import functools

import msgspec
from switches import ECHO_HASH, Fate, Switches, letter
from wire import Asked, response

ERRORS = {
    "500": "the server had an error",
    "503": "the server is overloaded",
    "429": "rate limit reached",
    "401": "incorrect API key provided",
    "404": "the model does not exist",
}


def written(switches: Switches, asked: Asked, fate: Fate) -> bytes:
    """The whole HTTP response that `fate` holds for a request."""
    if fate.kind.isdecimal():
        return _refusal(fate)
    text = letter(asked.text) if switches.answer == ECHO_HASH else switches.answer
    said = None if fate.kind == "null-content" else text
    n = 0 if fate.kind == "empty-choices" else asked.n
    tokens = (switches.prompt_tokens, switches.completion_tokens)
    body = _completion(said, n, switches.finish_reason, tokens)
    if fate.kind == "truncated":
        return response(200, body[: len(body) // 2], length=len(body))
    if fate.kind == "invalid-json":
        return response(200, body[:-20])
    return response(200, b"" if fate.kind == "empty-body" else body)


def _refusal(fate: Fate) -> bytes:
    is_limit = fate.kind in {"429", "503"}
    headers = f"Retry-After: {fate.retry_after}\r\n" if is_limit and fate.retry_after else ""
    error = {"message": ERRORS.get(fate.kind, "the request cannot be read"), "code": fate.kind}
    return response(int(fate.kind), msgspec.json.encode({"error": error}), headers=headers)


@functools.lru_cache(maxsize=64)
def _completion(text: str | None, n: int, finish_reason: str, tokens: tuple[int, int]) -> bytes:
    message = {"role": "assistant", "content": text}
    choices = [{"index": k, "message": message, "finish_reason": finish_reason} for k in range(n)]
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    completion = {"id": "x", "object": "chat.completion", "created": 0, "model": "bench"}
    return msgspec.json.encode({**completion, "choices": choices, "usage": usage})
