"""A row taken apart: the question, its options, its golds, its picture cell, and all the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from eyechart.data.choices import LETTERS, choices_from_dict, choices_from_list, parse_choices
from eyechart.data.columns import GROUPS, Detection, is_json
from eyechart.data.image_columns import filled_columns, holds_paths
from eyechart.data.literals import read_literal
from eyechart.data.rows import Blob, Row
from eyechart.errors import DataError
from eyechart.types import ImageRef


class Fields(msgspec.Struct, frozen=True):
    """A row taken apart, pictures still to be read."""

    id: str
    question: str
    golds: tuple[str, ...]
    choices: dict[str, str]
    choices_text: str
    hint: str
    meta: dict[str, Any]
    images: list[tuple[str, Any]]  # the columns that hold them, in order, with what stands there


def take_apart(row: Row, detection: Detection, where: str) -> Fields:
    """The parts of a sample out of one row; `where` names the row in messages."""
    values = row.values
    fields = detection.tried
    letters = detection.letters
    if not letters and is_json(detection.format) and "A" in values and "B" in values:
        letters = {letter: letter for letter in LETTERS if letter in values}
    used = set(letters.values())

    def take(target: str) -> Any:
        for column in fields.get(target, ()):
            value = values.get(column)
            used.add(column)
            if value is not None and value != "":
                return value
        return None

    sample_id = as_text(take("id")) if fields.get("id") else str(row.number)
    if not sample_id:
        raise DataError(f"{where}: nothing in {fields['id'][0]!r}", hint="every row needs its own id")
    images = list(filled_columns(values, detection.images))
    choices, choices_text = _choices(letters, values, take, where)
    parts = Fields(
        id=sample_id,
        question=_question(take("question"), where),
        golds=_as_letters(_golds(take("answer")), choices),
        choices=choices,
        choices_text=choices_text,
        hint=as_text(take("hint")),
        meta={group: text for group in GROUPS if (text := as_text(take(group)))},
        images=images,
    )
    # A path beside the image that is sent is a text like any other.
    beside = {name for name in fields.get("image", ()) if not holds_paths(name)}
    used |= beside.union(column for column, _ in images)
    parts.meta.update(_rest(values, used | set(parts.meta)))
    return parts


def _question(value: Any, where: str) -> str:
    hint = "--field question=COLUMN names a column of texts"
    return _plain(value, f"{where}: a question", hint)


def _plain(value: Any, what: str, hint: str) -> str:
    """A value that people are to read: lists and objects have no business there."""
    if isinstance(value, list | dict):
        raise DataError(f"{what} that is no text: {as_text(value)[:60]}", hint=hint)
    return as_text(value)


def _rest(values: Mapping[str, Any], used: Collection[str]) -> dict[str, Any]:
    """What the columns hold that mean nothing to us: kept with the sample, to group and to select by."""
    return {
        name: value
        for name, value in values.items()
        if name not in used and value is not None and not isinstance(value, Blob | ImageRef)
    }


def _choices(
    letters: Mapping[str, str], values: Mapping[str, Any], take: Callable[[str], Any], where: str
) -> tuple[dict[str, str], str]:
    """Options by letter, and the block they stand in if the file prints its own letters."""
    lettered = {letter: as_text(values.get(column)) for letter, column in letters.items()}
    lettered = {letter: text for letter, text in lettered.items() if text}
    if lettered:
        return lettered, ""
    value = take("options")
    if isinstance(value, str):
        if (literal := read_literal(value)) is None:
            return _block_choices(value, where)
        value = literal
    if isinstance(value, list):
        return _list_choices([_option(item, where) for item in value], where), ""
    if isinstance(value, dict):
        return choices_from_dict(value, lambda item: _option(item, where)), ""
    return {}, ""


def _option(value: Any, where: str) -> str:
    hint = 'options are a list of texts, or an object of letter to text: {"A": "left", "B": "right"}'
    return _plain(value, f"{where}: an option", hint)


def _block_choices(block: str, where: str) -> tuple[dict[str, str], str]:
    if choices := parse_choices(block):
        return choices, block
    # Options without letters: ours are printed then, so the block is not sent as it stands.
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    return (_list_choices(lines, where), "") if len(lines) > 1 else ({}, block)


def _list_choices(texts: list[str], where: str) -> dict[str, str]:
    if len(texts) > len(LETTERS):
        raise DataError(f"{where}: {len(texts)} options", hint=f"at most {len(LETTERS)} can be lettered")
    return choices_from_list(texts)


def _golds(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        literal = read_literal(value)
        if isinstance(literal, list) and all(isinstance(item, str | int | float) for item in literal):
            value = literal
    if isinstance(value, list):
        return tuple(text for item in value if (text := as_text(item)))
    return (text,) if (text := as_text(value)) else ()


def _as_letters(golds: tuple[str, ...], choices: Mapping[str, str]) -> tuple[str, ...]:
    """Golds as letters: one that is no letter but the exact text of one option is that option."""
    if not choices:
        return golds
    letters = []
    for gold in golds:
        same = [letter for letter, text in choices.items() if text == gold]
        letters.append(same[0] if gold not in choices and len(same) == 1 else gold)
    return tuple(letters)


def as_text(value: Any) -> str:
    """A value as text: 3 is "3", true is "true", null is nothing, a list is its JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Blob):
        return value.data.decode("utf-8", "replace")
    return msgspec.json.encode(value, enc_hook=str).decode()
