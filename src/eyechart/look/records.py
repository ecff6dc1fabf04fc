"""Dialogues as their authors' programs write them: InSight-o3's conversations, InSight-doc's export."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.look.replies import last_between

_TAGS = ("think", "tool_call", "answer")


def image_part(data: bytes, mime: str, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An image as a part of an OpenAI message; `extra`: settings such as `detail`."""
    url = f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url, **(extra or {})}}


def write_image_ref(
    number: int,
    kind: str,
    original_size: Sequence[int],
    on_original: Sequence[int],
    display_size: Sequence[int],
    *,
    source: int = 0,
    **details: object,
) -> dict[str, Any]:
    """A presented image in InSight-doc's export, without pixels. Details that are None are left out."""
    return {
        "presented_img_idx": number,
        "kind": kind,
        "source_original_img_idx": source,
        "bbox_on_original": on_original,
        "display_size": display_size,
        "original_size": original_size,
        **{name: value for name, value in details.items() if value is not None},
    }


def type_reply(reply: str) -> dict[str, Any]:
    """A reply in InSight-doc's export: a call or an answer if it has thoughts and exactly one of the two."""
    written: dict[str, Any] = {
        "tag_counts": {
            name: {"open": reply.count(f"<{name}>"), "close": reply.count(f"</{name}>")} for name in _TAGS
        }
    }
    inside = {name: last_between(reply, f"<{name}>", f"</{name}>") for name in _TAGS}
    found: dict[str, Any] = {name: text for name, text in inside.items() if text is not None}
    if (call := inside["tool_call"]) is not None:
        try:
            found["tool_call"] = call if (value := json.loads(call)) is None else value
        except (ValueError, RecursionError) as err:
            written["tool_call_parse_error"] = str(err)
    wanted = [name for name in ("tool_call", "answer") if name in found]
    thoughts = inside["think"]
    if thoughts is None and len(wanted) == 1:  # what comes before, if it has no tag of thoughts
        before = reply.split(f"<{wanted[0]}>", 1)[0].strip()
        thoughts = None if "<think>" in before or "</think>" in before else before or None
    if thoughts is not None and len(wanted) == 1:
        return {"type": wanted[0], "content": {"think": thoughts, wanted[0]: found[wanted[0]]}, **written}
    extracted = {"extracted_tags": found} if found else {}
    return {"type": "others", "content": {"text": reply, **extracted}, **written}


def write_native(
    messages: Sequence[Mapping[str, Any]],
    images: Sequence[bytes],
    mime: str,
    *,
    detail: str | None = None,
    tool_as_user: bool = False,
) -> list[dict[str, Any]]:
    """The messages that InSight-doc's HTTP client sends: without `tool_calls`, with the images in place."""
    left = iter(images)
    extra = {"detail": detail} if detail else None

    def write(part: object) -> dict[str, Any]:
        if not isinstance(part, Mapping):
            return {"type": "text", "text": str(part)}
        if part.get("type") in ("image", "image_url"):
            return image_part(next(left), mime, extra)
        known = part.get("type") == "text"
        return {
            "type": "text",
            "text": str(part.get("text", "")) if known else json.dumps(part, ensure_ascii=False),
        }

    sent = []
    for message in messages:
        role, content = str(message.get("role", "user")), message.get("content")
        if isinstance(content, list):
            content = [write(part) for part in content]
        elif content is not None:
            content = str(content)
        kept = {name: message[name] for name in ("name", "tool_call_id") if name in message}
        sent.append({"role": "user" if tool_as_user and role == "tool" else role, "content": content, **kept})
    return sent
