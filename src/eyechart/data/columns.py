"""Which column means what, decided once from the header and the first rows.

One table of names serves every format. What was decided, and why, is a `Detection` that can be shown
to the user before anything is spent.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.choices import LETTERS, choices_from_dict, label_choices, parse_choices
from eyechart.data.image_columns import (
    ALWAYS,
    MediaColumn,
    MediaDetector,
    find_image_slots,
    find_same_images,
    find_unread_images,
    is_image_name,
    is_path_column,
    list_next_names,
    select_image_cells,
)
from eyechart.data.rows import Blob, Row, read_literal
from eyechart.errors import DataError, UsageError
from eyechart.registry import find_near_names, suggest_name
from eyechart.types import ImageRef

# What a sample needs, and the columns that give it; of several the first wins.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("index", "id", "question_id"),
    "question": ("question",),
    "answer": ("answer", "answers"),
    "options": ("options", "choices"),
    "image": ALWAYS,  # and many more: see image_columns.py
    "hint": ("hint", "context"),
    "category": ("category", "subset"),
    "l2-category": ("l2-category", "l2_category"),
    "split": ("split",),
}
GROUPS = ("category", "l2-category", "split")
Overrides = Mapping[str, str | Sequence[str]]  # what is meant, to a column or, for images, to several

# InSight-style files repeat a question_id by publication: repeats get a number, they are no mistake.
REPEATING_IDS = ("question_id",)


_MORE_IMAGES = 20  # numbered columns that a later row of JSON may have
# How people call columns of options, besides by their letters alone.
_LIKE_OPTIONS = re.compile(r"(?:(?:option|choice|opt)[ _.-]*([a-h1-8])|([a-h]))", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What a file was taken for, and why."""

    format: str
    shape: str
    encoding: str = "utf-8"
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # target to columns, first wins
    letters: Mapping[str, str] = field(default_factory=dict)  # option letter to column
    tried: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # as `fields`, and what may come later
    columns: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()  # columns that mean nothing to us; they stay in the sample's meta
    like_options: tuple[str, ...] = ()  # of those: columns that look like options
    one_option: str = ""  # of those: the only column that looks like one
    images: tuple[tuple[str, ...], ...] = ()  # for each image of a row the columns it may stand in
    media: tuple[MediaColumn, ...] = ()  # columns that look like images, or videos, and are none of these
    unread_images: tuple[str, ...] = ()  # columns with the names of images, which hold none, where none does
    same_images: frozenset[str] = frozenset()  # columns with other names of an image in `images`
    has_named_images: bool = False  # the user said which columns the images are in
    reasons: tuple[str, ...] = ()


def resolve_target(name: str) -> str:
    """A target, also by the name of one of its usual columns.

    >>> resolve_target("index"), resolve_target("B")
    ('id', 'B')
    """
    if name in ALIASES or (len(name) == 1 and name in LETTERS):
        return name
    for target, aliases in ALIASES.items():
        if name in aliases:
            return target
    if is_image_name(name):
        return "image"
    known = list(dict.fromkeys([*ALIASES, *(alias for names in ALIASES.values() for alias in names)]))
    targets = f"known: {', '.join(ALIASES)}, A to Z"
    hint = f"{suggest_name(name, known)} {targets}".strip()
    raise UsageError(f"--field {name}=...: a sample has no {name!r}", hint=hint)


def map_columns(
    path: Path, columns: Sequence[str], overrides: Overrides
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Target to columns, and option letter to column; images only where the user named their columns."""
    by_user = _named_by_user(path, columns, overrides)
    folded = {column.strip().lower(): column for column in reversed(columns)}
    taken = {column for named in by_user.values() for column in named}
    fields: dict[str, tuple[str, ...]] = {}
    for target, aliases in ALIASES.items():
        if target in by_user:
            fields[target] = by_user[target]
            continue
        if target == "image":
            continue
        found = tuple(name for name in aliases if name in columns and name not in taken)
        if not found:  # `Question` is meant to be `question`, and so is ` question` after a comma
            found = tuple(folded[name] for name in aliases if name in folded and folded[name] not in taken)[
                :1
            ]
        if found:
            fields[target] = found
    stripped = {column.strip(): column for column in columns} | {column: column for column in columns}
    letters = {name: stripped[name] for name in LETTERS if name in stripped and stripped[name] not in taken}
    letters |= {name: named[0] for name, named in by_user.items() if name in LETTERS}
    letters = dict(sorted(letters.items())) if {"A", "B"} <= set(letters) else {}
    return fields, letters


def _named_by_user(path: Path, columns: Sequence[str], overrides: Overrides) -> dict[str, tuple[str, ...]]:
    """Target to the columns that the user named for it; several are several images."""
    found: dict[str, tuple[str, ...]] = {}
    for name, given in overrides.items():
        target = resolve_target(name)
        several = (given,) if isinstance(given, str) else tuple(given)
        if target == "image":
            several = tuple(column for one in several for column in _split_names(one, columns))
        for column in several:
            if column not in columns:
                near = suggest_name(column, list(columns))
                has = f"has: {', '.join(columns)}"
                raise UsageError(
                    f"--field {name}={column}: {path.name} has no column {column!r}",
                    hint=f"{near} It {has}" if near else f"it {has}",
                )
        found[target] = tuple(dict.fromkeys((*found.get(target, ()), *several)))
        if len(found[target]) > 1 and target != "image":
            listed = " and ".join(found[target])
            raise UsageError(
                f"--field {target}=...: two columns are named, {listed}", hint="name one of them"
            )
    return found


def _split_names(given: str, columns: Sequence[str]) -> list[str]:
    """The columns in ``a,b``; a column may be called so itself."""
    parts = [part.strip() for part in given.split(",")]
    return parts if given not in columns and len(parts) > 1 else [given]


def detect(
    path: Path,
    format: str,
    encoding: str,
    columns: Sequence[str],
    rows: Iterable[Row],
    overrides: Overrides,
) -> Detection:
    """Decide what the columns mean, from their names and the first rows."""
    fields, letters = map_columns(path, columns, overrides)
    if "question" not in fields:
        near = find_near_names("question", list(columns), at_most=1)
        hint = f"name the column that holds it: --field question={shlex.quote(near[0]) if near else 'COLUMN'}"
        if is_json(format) and all(name.isdigit() for name in columns if name != "id"):
            hint = "it seems to be written column by column; pandas: df.to_json(..., orient='records')"
        if {"problem_content_list", "problem_type_list"} <= set(columns):
            hint = "it is a problem file of MULTI: add --as multi"
        raise DataError(
            f"{path.name}: no column 'question' (found: {', '.join(columns)})",
            hint=hint,
        )
    first = list(rows)
    has_named_images = "image" in fields
    used = {column for names in fields.values() for column in names} | set(letters.values())
    images: tuple[tuple[str, ...], ...] = tuple((column,) for column in fields.get("image", ()))
    if not has_named_images:
        images = find_image_slots([column for column in columns if column not in used], first)
    if images:
        fields["image"] = tuple(column for slot in images for column in slot)
    shape, reasons = _shape(format, fields, letters, first)
    read = {column for names in fields.values() for column in names[:1]} | set(letters.values())
    read |= set(fields.get("image", ()))
    kept = tuple(column for column in columns if column not in read)
    by_user = {resolve_target(name) for name in overrides}
    # What a question is asked by is text; an id may be the name of an image that nobody sends.
    asked = ("question", "answer", "options", *(["id"] if images else []))
    texts = {column for name in asked for column in fields.get(name, ())}
    same = find_same_images(images, columns) if not has_named_images else set()
    looks = MediaDetector({*texts, *letters.values(), *fields.get("image", ()), *same})
    for row in first:
        looks.add_row(row.number, row.values)
    media = tuple(looks.found())
    several = [f"{', '.join(slot[0] for slot in images)}: {len(images)} images per row"] * (len(images) > 1)
    like = () if letters or "options" in fields else _like_options(kept)
    tried: Mapping[str, tuple[str, ...]] = fields
    if is_json(format):
        images = _tried_images(images, by_user)
        tried = _tried(fields, by_user) | {"image": tuple(column for slot in images for column in slot)}
    return Detection(
        format=format,
        shape=shape,
        encoding=encoding,
        fields=fields,
        letters=letters,
        tried=tried,
        columns=tuple(columns),
        kept=kept,
        like_options=like if len(like) > 1 else (),
        one_option=like[0] if len(like) == 1 else "",
        images=images,
        media=media,
        unread_images=() if images else find_unread_images(columns, first, {one.column for one in media}),
        same_images=frozenset(same),
        has_named_images=has_named_images,
        reasons=(*reasons, *_id_reason(fields), *_renamed(fields), *several),
    )


def _tried_images(
    images: tuple[tuple[str, ...], ...], by_user: Collection[str]
) -> tuple[tuple[str, ...], ...]:
    """Rows that name their own values may have an image under another of the usual names, or further ones."""
    if "image" in by_user:
        return images
    if len(images) < 2:
        return (tuple(dict.fromkeys((*(images[0] if images else ()), *ALWAYS))),)
    return images + tuple((name,) for name in list_next_names(images[-1][0], _MORE_IMAGES))


def _like_options(columns: Sequence[str]) -> tuple[str, ...]:
    """Columns that look like options, the first of them A or 1."""
    found = {
        column: (match[1] or match[2]).lower()
        for column in columns
        if (match := _LIKE_OPTIONS.fullmatch(column.strip()))
    }
    return tuple(found) if {"a", "1"} & set(found.values()) else ()


def is_json(format: str) -> bool:
    """Whether rows name their own values, so that a later one may have what the first had not."""
    return format in ("json", "jsonl")


def _tried(fields: Mapping[str, tuple[str, ...]], by_user: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Rows that name their own values may have one that the first rows had not."""
    found = {target: fields.get(target, ()) for target in ALIASES}
    return {
        target: names
        if target in by_user or target == "id"
        else tuple(dict.fromkeys((*names, *ALIASES[target])))
        for target, names in found.items()
    }


def _shape(
    format: str, fields: Mapping[str, tuple[str, ...]], letters: Mapping[str, str], rows: Sequence[Row]
) -> tuple[str, list[str]]:
    pictures = fields.get("image", ())
    seen = f"column {pictures[0]}" if pictures else "no picture column"
    if letters:
        what = "multiple choice with pictures" if pictures else "multiple choice without pictures"
        reason = f"columns {' and '.join(list(letters.values())[:2])}, {seen}: {what}, as VLMEvalKit reads it"
        return ("vlmeval-mcq" if pictures else "vlmeval-text-mcq"), [reason]
    first = _first_value(rows, fields.get("options", ()))
    if first is not None:
        column = fields["options"][0]
        is_block = isinstance(first, str) and read_literal(first) is None
        if is_block and pictures and is_json(format):
            return "insight-mcq", [
                f"column {column} holds options as one text, {seen}: as InSight-o3 reads it"
            ]
        kind = "one text" if is_block else "a list or an object"
        return ("rows-mcq" if pictures else "rows-text-mcq"), [
            f"column {column} holds options as {kind}, {seen}"
        ]
    if pictures:
        shape = "insight-vqa" if is_json(format) else "vlmeval-vqa"
        return shape, [f"{seen} and no options: open questions on pictures"]
    return "rows-text", ["no picture column and no options: open questions without pictures"]


def _first_value(rows: Sequence[Row], columns: Sequence[str]) -> Any:
    return next((row.values[name] for row in rows for name in columns if row.values.get(name)), None)


def _id_reason(fields: Mapping[str, tuple[str, ...]]) -> list[str]:
    if "id" not in fields:
        return ["no column index, id or question_id: samples are numbered by row"]
    column = fields["id"][0]
    if column.lower() in REPEATING_IDS:
        return [f"samples are named by {column}; a repeat gets #2, #3, ..."]
    return [f"samples are named by {column}"]


def _renamed(fields: Mapping[str, tuple[str, ...]]) -> list[str]:
    return [
        f"column {names[0]} is taken for {target}"
        for target, names in fields.items()
        if names[0] not in ALIASES[target]
    ]


# -- A row taken apart: the question, its options, its golds, its picture cell, and all the rest.


class RowParts(msgspec.Struct, frozen=True):
    """A row taken apart, pictures still to be read."""

    id: str
    question: str
    golds: tuple[str, ...]
    choices: dict[str, str]
    choices_text: str
    hint: str
    meta: dict[str, Any]
    images: list[tuple[str, Any]]  # the columns that hold them, in order, with what stands there


def parse_row(row: Row, detection: Detection, where: str) -> RowParts:
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

    sample_id = to_text(take("id")) if fields.get("id") else str(row.number)
    if not sample_id:
        raise DataError(f"{where}: nothing in {fields['id'][0]!r}", hint="every row needs its own id")
    images = list(select_image_cells(values, detection.images))
    choices, choices_text = _choices(letters, values, take, where)
    parts = RowParts(
        id=sample_id,
        question=_question(take("question"), where),
        golds=_as_letters(_golds(take("answer")), choices),
        choices=choices,
        choices_text=choices_text,
        hint=to_text(take("hint")),
        meta={group: text for group in GROUPS if (text := to_text(take(group)))},
        images=images,
    )
    # A path beside the image that is sent is a text like any other.
    beside = {name for name in fields.get("image", ()) if not is_path_column(name)}
    used |= beside.union(column for column, _ in images)
    parts.meta.update(_rest(values, used | set(parts.meta)))
    return parts


def _question(value: Any, where: str) -> str:
    hint = "--field question=COLUMN names a column of texts"
    return _plain(value, f"{where}: a question", hint)


def _plain(value: Any, what: str, hint: str) -> str:
    """A value that people are to read: lists and objects have no business there."""
    if isinstance(value, list | dict):
        raise DataError(f"{what} that is no text: {to_text(value)[:60]}", hint=hint)
    return to_text(value)


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
    lettered = {letter: to_text(values.get(column)) for letter, column in letters.items()}
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
    return label_choices(texts)


def _golds(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        literal = read_literal(value)
        if isinstance(literal, list) and all(isinstance(item, str | int | float) for item in literal):
            value = literal
    if isinstance(value, list):
        return tuple(text for item in value if (text := to_text(item)))
    return (text,) if (text := to_text(value)) else ()


def _as_letters(golds: tuple[str, ...], choices: Mapping[str, str]) -> tuple[str, ...]:
    """Golds as letters: one that is no letter but the exact text of one option is that option."""
    if not choices:
        return golds
    letters = []
    for gold in golds:
        same = [letter for letter, text in choices.items() if text == gold]
        letters.append(same[0] if gold not in choices and len(same) == 1 else gold)
    return tuple(letters)


def to_text(value: Any) -> str:
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
