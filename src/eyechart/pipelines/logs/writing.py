"""What the files for other tools have in common: questions, messages and replies as plain values.

Images are named, never copied: by path or URL if they have one, otherwise described with their hash.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec

from eyechart.pipelines.logs.reading import MARK
from eyechart.report.clusters import OF_RUN
from eyechart.report.rows import to_json_text
from eyechart.types import ImageRef, Reply, Result, Usage

_HALF = re.compile("[\ud800-\udfff]")
_STOPS = {
    "length": "max_tokens",
    "content_filter": "content_filter",
    "refusal": "content_filter",
    "": "unknown",
}


def encode_json_line(value: Any) -> str:
    r"""JSON on one line that every parser takes. Half a character, which some refuse, becomes U+FFFD.

    >>> encode_json_line({"said": "a\ud800b"})
    '{"said": "a�b"}'
    >>> encode_json_line({"图": float("nan"), "odd": "\u2028"})
    '{"图":null,"odd":"\\u2028"}'
    """
    try:
        text = msgspec.json.encode(value, enc_hook=str).decode()  # in a tenth of the time
    except (UnicodeEncodeError, TypeError, ValueError, OverflowError, RecursionError):
        return to_json_text(_whole(value))
    for separator in ("\x85", "\u2028", "\u2029"):  # at which some readers end a line
        text = text.replace(separator, f"\\u{ord(separator):04x}")
    return text


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return _HALF.sub("\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, Mapping):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list | tuple) else value


def format_sample(result: Result) -> dict[str, Any]:
    """A question without its images, to be found again by `eyechart score --replies`."""
    sample = result.sample
    fields = {
        "id": sample.id,
        "question": sample.question,
        "golds": list(sample.golds),
        "choices": dict(sample.choices),
        "choices_text": sample.choices_text,
        "hint": sample.hint,
        "meta": dict(sample.meta),
        "weight": None if sample.weight == 1 else sample.weight,
        "circle": sample.circle,
        "withheld": {name: value for name, value in sample.withheld.items() if name != OF_RUN},
        "cluster": result.cluster,
    }
    return {name: value for name, value in fields.items() if name in ("id", "question") or value}


def format_reply(reply: Reply) -> dict[str, Any]:
    """What is known of a reply besides its text, where it is not the usual."""
    fields = {
        "thinking": reply.thinking,
        "usage": asdict(reply.usage) if reply.usage else None,
        "model": reply.model,
        "latency_s": reply.latency_s,
        "evidence": dict(reply.evidence),
        "earlier": list(reply.earlier),
        "tags": reply.tags,
    }
    finish = {} if reply.finish_reason == "stop" else {"finish_reason": reply.finish_reason}
    return {**{name: value for name, value in fields.items() if value}, **finish}


def format_messages(result: Result) -> list[dict[str, Any]]:
    """What was sent, as Inspect and EvalScope write messages; the bare question where that is not known."""
    sample = result.sample
    if not result.asked:
        parts = [_reference(ref, {}) for ref in sample.images] + [{"type": "text", "text": sample.question}]
        return [_message("user", parts)]
    is_own = len(sample.images) == len(result.sent)  # else crops or examples are among them
    refs: Sequence[ImageRef | None] = sample.images if is_own else [None] * len(result.sent)
    images = map(_reference, refs, result.sent)
    turns = []
    for turn in result.asked:
        parts = [
            {"type": "text", "text": part["text"]} if "text" in part else next(images)
            for part in turn["parts"]
        ]
        turns.append(_message(turn["role"], parts))
    return turns


def join_prompt(result: Result) -> str:
    """The words that were sent."""
    texts = (part["text"] for turn in result.asked for part in turn["parts"] if "text" in part)
    return "\n".join(texts) if result.asked else result.sample.question


def format_reply_message(reply: Reply) -> dict[str, Any]:
    """What the model said, thinking apart."""
    thought = {"type": "reasoning", "reasoning": reply.thinking}
    content = [thought, {"type": "text", "text": reply.text}] if reply.thinking else reply.text
    return {"role": "assistant", "content": content, "source": "generate"}


def format_output(reply: Reply | None, model: str) -> dict[str, Any]:
    """A reply as the output of a model."""
    if reply is None:
        return {"model": model, "choices": []}
    choice = {"message": format_reply_message(reply), "stop_reason": _STOPS.get(reply.finish_reason, "stop")}
    return {
        "model": reply.model or model,
        "choices": [choice],
        **({"usage": format_usage(reply.usage)} if reply.usage else {}),
        "time": reply.latency_s,
        "metadata": {MARK: format_reply(reply)},
    }


def format_usage(usage: Usage) -> dict[str, int]:
    """Tokens by the names that Inspect and EvalScope use."""
    return {
        "input_tokens": usage.prompt_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "input_tokens_cache_read": usage.cached_tokens,
        "reasoning_tokens": usage.reasoning_tokens,
    }


def format_failure(result: Result) -> str:
    """Why there is no reply or no verdict."""
    failure = result.failure
    return f"{failure.stage}: {failure.reason}" if failure else ""


_OF_ROWS = ("plain", "mean of trials")  # beside CircularEval, beside a vote


def name_rows(numbers: Mapping[str, Any]) -> str:
    """The number that is the mean over all rows: not the headline, if that counts several rows as one."""
    return next((name for name in _OF_ROWS if name in numbers["also"]), "score")


def read_parameters(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of requests that were set."""
    return dict((manifest.get("identity") or {}).get("parameters") or {})


def compute_run_id(manifest: Mapping[str, Any]) -> str:
    """A short name that the same run always gets."""
    names = ("benchmark", "model", "origin", "settings", "identity", "options", "replies", "scorer")
    known = encode_json_line({name: manifest.get(name) for name in names})
    return hashlib.sha256(known.encode()).hexdigest()[:22]


def _message(role: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    is_text = all(part["type"] == "text" for part in parts)
    return {"role": role, "content": "\n".join(part["text"] for part in parts) if is_text else parts}


def _reference(ref: ImageRef | None, record: Mapping[str, Any]) -> dict[str, Any]:
    if "url" in record:
        return {"type": "image", "image": str(record["url"])}
    if ref is not None and ref.kind in ("file", "url") and ref.box is None and not ref.refused:
        return {"type": "image", "image": ref.location}
    known = [str(ref)] if ref is not None else []
    if record:
        known += [f"{record.get('width')}x{record.get('height')}", str(record.get("mime", ""))]
        known.append(f"sha256 {record.get('sha256', '')}")
    return {"type": "text", "text": f"[image: {', '.join(known) or 'not kept'}]"}
