"""What `build_prompt` returns, as our messages.

Understood: a text, one part, a list of parts (``{"type": "image", "value": ...}``), a list of texts and
paths, and a conversation (``{"role": ..., "content": ...}``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from eyechart.compat.vlmeval.pictures import is_place
from eyechart.data.paths import PathRules
from eyechart.errors import DataError
from eyechart.types import ImageRef, Message, Part, Role

_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_SHAPE = 'a list of {"type": "image" or "text", "value": ...}, pictures first'


def to_messages(said: Any, rules: PathRules, who: str) -> list[Message]:
    """The messages of a row: what has the role of the system comes first, then the rest in order."""
    items: Any = [said] if isinstance(said, str | Mapping) else said
    if not isinstance(items, Sequence) or not items:
        what = "nothing" if not items else type(said).__name__
        raise DataError(f"{who} returned {what}", hint=f"it is {_SHAPE}")
    if all(isinstance(item, Mapping) and "content" in item for item in items):
        return [_turn(item, rules, who) for item in items]
    system = [item for item in items if isinstance(item, Mapping) and item.get("role") == "system"]
    first = tuple(_part(item, rules, who) for item in system)
    parts = tuple(_part(item, rules, who) for item in items if item not in system)
    if not parts:
        raise DataError(f"{who} returned nothing for the user's turn", hint=f"it is {_SHAPE}")
    return [*([Message("system", first)] if first else []), Message("user", parts)]


def image_ref(place: str, rules: PathRules) -> ImageRef:
    """The picture at a path, an address or a data URL."""
    if place.startswith("data:"):
        return ImageRef(kind="data", location=place.partition(",")[2])
    if place.startswith(("http://", "https://")):
        return ImageRef(kind="url", location=place)
    return rules.to_ref(place)


def _turn(item: Mapping[str, Any], rules: PathRules, who: str) -> Message:
    role = _ROLES.get(str(item.get("role")))
    if role is None:
        raise DataError(f"{who}: a turn of {item.get('role')!r}", hint=f"known: {', '.join(_ROLES)}")
    content = item["content"]
    parts = [content] if isinstance(content, str | Mapping) else content
    return Message(role, tuple(_part(part, rules, who) for part in parts))


def _part(item: Any, rules: PathRules, who: str) -> Part:
    if isinstance(item, str):
        return image_ref(item, rules) if is_place(item) and "\n" not in item else item
    if not isinstance(item, Mapping) or not {"type", "value"} <= set(item):
        raise DataError(f"{who}: a part without type and value: {str(item)[:80]}", hint=f"it is {_SHAPE}")
    kind, value = item["type"], item["value"]
    if kind == "text":
        return str(value)
    if kind != "image":
        raise DataError(f"{who}: a part of the type {kind!r}", hint="pictures and text can be sent")
    value = str(value) if isinstance(value, PurePath) else value
    if not isinstance(value, str) or not value:
        raise DataError(
            f"{who}: the picture {str(value)[:80]!r} is no path", hint="give a path or an address"
        )
    return image_ref(value, rules)
