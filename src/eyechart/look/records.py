"""Dialogues as their authors' programs write them: InSight-o3's conversations, InSight-doc's export."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from eyechart.look.replies import load_json

_TAGS = ("think", "tool_call", "answer")


def image_part(data: bytes, mime: str, extra: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An image as a part of an OpenAI message; `extra`: settings such as `detail`."""
    url = f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return {"type": "image_url", "image_url": {"url": url, **(extra or {})}}


def write_results(
    agent: str,
    image: Mapping[str, Any],
    prompt: str,
    choices: Sequence[Mapping[str, Any]],
    *,
    system: str | None = None,
    failure: str = "",
) -> list[dict[str, Any]]:
    """The `inference_result` of each reply, as `eval_records.jsonl` has them; one if the request failed."""
    if failure:
        nothing = {"conversations": [], "last_message_content": "", "finish_reason": ""}
        return [{"success": False, "fail_reason": failure, **nothing}]
    sent: list[dict[str, Any]] = [] if system is None else [{"role": "system", "content": system}]
    sent.append({"role": "user", "content": [dict(image), {"type": "text", "text": prompt}]})
    return [
        {
            "success": True,
            "fail_reason": "",
            "finish_reason": choice["finish_reason"],
            "conversations": [{"agent": agent, "messages": [*sent, dict(choice["message"])]}],
            "last_message_content": choice["message"].get("content"),
        }
        for choice in choices
    ]


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
    counts = {name: {"open": reply.count(f"<{name}>"), "close": reply.count(f"</{name}>")} for name in _TAGS}
    found: dict[str, Any] = {name: text for name in _TAGS if (text := _last_pair(reply, name)) is not None}
    written: dict[str, Any] = {"tag_counts": counts}
    if "tool_call" in found:
        try:
            found["tool_call"] = load_json(_strip_fence(found["tool_call"]))
        except ValueError as err:
            written["tool_call_parse_error"] = str(err)
    wanted = [name for name in ("tool_call", "answer") if name in found]
    thoughts = found.get("think")
    if not thoughts and len(wanted) == 1 and not counts["think"]["open"]:
        thoughts = reply.split(f"<{wanted[0]}>", 1)[0].strip()
    if thoughts and len(wanted) == 1:
        content = {"think": thoughts, wanted[0]: found[wanted[0]]}
        return {"type": wanted[0], "content": content, **written}
    return {"type": "others", "content": {"text": reply, "extracted_tags": found}, **written}


def _last_pair(text: str, name: str) -> str | None:
    """What follows the last opening tag, up to a closing one, if both tags occur anywhere."""
    opening, closing = f"<{name}>", f"</{name}>"
    if opening not in text or closing not in text:
        return None
    return text.rsplit(opening, 1)[1].split(closing, 1)[0].strip()


def _strip_fence(text: str) -> str:
    if not text.startswith("```"):
        return text
    return text.removeprefix("```").removeprefix("json").removesuffix("```").strip()


def write_native(
    messages: Sequence[Mapping[str, Any]],
    images: Sequence[bytes],
    mime: str,
    *,
    detail: str | None = None,
    tool_as_user: bool = False,
) -> list[dict[str, Any]]:
    """The messages that InSight-doc's HTTP client sends, with the images in place."""
    left = iter(images)
    extra = {"detail": detail} if detail else None

    def write(part: Mapping[str, Any]) -> dict[str, Any]:
        return image_part(next(left), mime, extra) if part.get("type") == "image" else dict(part)

    sent = []
    for message in messages:
        copy = dict(message)
        if not isinstance(copy["content"], str):
            copy["content"] = [write(part) for part in copy["content"]]
        if tool_as_user and copy["role"] == "tool":
            copy["role"] = "user"
        sent.append(copy)
    return sent
