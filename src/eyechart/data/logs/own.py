"""Questions and replies as our own exports keep them in other tools' files: they come back as they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from eyechart.data.logs.entries import report_field_errors
from eyechart.exchange import MARK
from eyechart.types import Reply, Sample, Usage


class _Record(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    question: str
    golds: tuple[str, ...] = ()
    choices: dict[str, str] = {}
    choices_text: str = ""
    hint: str = ""
    meta: dict[str, Any] = {}
    weight: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 1.0
    circle: str = ""
    withheld: dict[str, Any] = {}


class _Facts(msgspec.Struct, frozen=True, kw_only=True):
    thinking: str = ""
    finish_reason: str = "stop"
    usage: Usage | None = None
    model: str = ""
    latency_s: float = 0.0
    evidence: dict[str, Any] = {}
    earlier: tuple[str, ...] = ()


def read_own_reply(metadata: Any, text: str, where: str) -> Reply | None:
    """A reply with all that an export of ours says of it; None in anybody else's file."""
    record = metadata.get(MARK) if isinstance(metadata, Mapping) else None
    if record is None:
        return None
    with report_field_errors(f"{where}, {MARK}"):
        found = msgspec.convert(record, _Facts)
    return Reply(text=text, **{name: getattr(found, name) for name in _Facts.__struct_fields__})


def read_own_sample(metadata: Any, where: str) -> Sample | None:
    """The question that an export of ours put there; None in anybody else's file."""
    record = metadata.get(MARK) if isinstance(metadata, Mapping) else None
    if record is None:
        return None
    with report_field_errors(f"{where}, {MARK}"):
        found = msgspec.convert(record, _Record)
    return Sample(**{name: getattr(found, name) for name in _Record.__struct_fields__})
