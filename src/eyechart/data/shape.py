"""Row to Sample: which column means what, decided once from the header and the first rows.

One table of names serves every format. What was decided, and why, is a `Detection` that can be shown
to the user before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.choices import LETTERS, choices_from_dict, choices_from_list, parse_choices
from eyechart.data.literals import read_literal
from eyechart.data.rows import Blob, Row
from eyechart.errors import DataError, UsageError
from eyechart.registry import did_you_mean, near_names
from eyechart.types import ImageRef

# What a sample needs, and the columns that give it; of several the first wins.
ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("index", "id", "question_id"),
    "question": ("question",),
    "answer": ("answer", "answers"),
    "options": ("options", "choices"),
    "image": ("image", "images", "img", "image_path", "file_name"),
    "hint": ("hint", "context"),
    "category": ("category", "subset"),
    "l2-category": ("l2-category", "l2_category"),
    "split": ("split",),
}
GROUPS = ("category", "l2-category", "split")
ONLY_PATHS = ("image_path", "file_name")

# InSight-style files repeat a question_id by publication: repeats get a number, they are no mistake.
REPEATING_IDS = ("question_id",)


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
    known = [*ALIASES, *(alias for names in ALIASES.values() for alias in names)]
    targets = f"known: {', '.join(ALIASES)}, A to Z"
    hint = f"{did_you_mean(name, known)} {targets}".strip()
    raise UsageError(f"--field {name}=...: a sample has no {name!r}", hint=hint)


def map_columns(
    path: Path, columns: Sequence[str], overrides: Mapping[str, str]
) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Target to columns, and option letter to column."""
    by_user = {resolve_target(name): column for name, column in overrides.items()}
    for name, column in by_user.items():
        if column not in columns:
            near = did_you_mean(column, list(columns))
            raise UsageError(
                f"--field {name}={column}: {path.name} has no column {column!r}",
                hint=f"{near} It has: {', '.join(columns)}".strip(),
            )
    folded = {column.lower(): column for column in reversed(columns)}
    taken = set(by_user.values())
    fields: dict[str, tuple[str, ...]] = {}
    for target, aliases in ALIASES.items():
        if target in by_user:
            fields[target] = (by_user[target],)
            continue
        found = tuple(name for name in aliases if name in columns and name not in taken)
        if not found:  # `Question` is meant to be `question`
            found = tuple(folded[name] for name in aliases if name in folded and folded[name] not in taken)[
                :1
            ]
        if found:
            fields[target] = found
    letters = {name: name for name in LETTERS if name in columns and name not in taken}
    letters |= {name: column for name, column in by_user.items() if name in LETTERS}
    letters = dict(sorted(letters.items())) if {"A", "B"} <= set(letters) else {}
    return fields, letters


def detect(
    path: Path,
    format: str,
    encoding: str,
    columns: Sequence[str],
    rows: Iterable[Row],
    overrides: Mapping[str, str],
) -> Detection:
    """Decide what the columns mean, from their names and the first rows."""
    fields, letters = map_columns(path, columns, overrides)
    if "question" not in fields:
        near = near_names("question", list(columns), at_most=1)
        if len(columns) == 1 and any(mark in columns[0] for mark in "\t,;"):
            raise DataError(
                f"{path.name}: read as {format} it has a single column ({columns[0][:60]!r})",
                hint="columns are separated by tabs (--format tsv) or commas (--format csv)",
            )
        raise DataError(
            f"{path.name}: no column 'question' (found: {', '.join(columns)})",
            hint=f"name the column that holds it: --field question={near[0] if near else columns[0]}",
        )
    shape, reasons = _shape(format, fields, letters, list(rows))
    used = {column for names in fields.values() for column in names[:1]} | set(letters.values())
    used |= set(fields.get("image", ()))
    return Detection(
        format=format,
        shape=shape,
        encoding=encoding,
        fields=fields,
        letters=letters,
        tried=_tried(fields, {resolve_target(name) for name in overrides}) if _is_json(format) else fields,
        columns=tuple(columns),
        kept=tuple(column for column in columns if column not in used),
        reasons=(*reasons, *_id_reason(fields), *_renamed(fields)),
    )


def _is_json(format: str) -> bool:
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
    is_json = _is_json(format)
    first = _first_value(rows, fields.get("options", ()))
    if first is not None:
        column = fields["options"][0]
        is_block = isinstance(first, str) and read_literal(first) is None
        if is_block and pictures and is_json:
            return "insight-mcq", [
                f"column {column} holds options as one text, {seen}: as InSight-o3 reads it"
            ]
        kind = "one text" if is_block else "a list or an object"
        return ("rows-mcq" if pictures else "rows-text-mcq"), [
            f"column {column} holds options as {kind}, {seen}"
        ]
    if pictures:
        shape = "insight-vqa" if is_json else "vlmeval-vqa"
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


@dataclass(frozen=True, slots=True)
class Fields:
    """A row taken apart, pictures still to be read."""

    id: str
    question: str
    golds: tuple[str, ...]
    choices: dict[str, str]
    choices_text: str
    hint: str
    meta: dict[str, Any]
    image: Any
    image_column: str


def take_apart(row: Row, detection: Detection, where: str) -> Fields:
    """The parts of a sample out of one row; `where` names the row in messages."""
    values = row.values
    fields = detection.tried
    letters = detection.letters
    if not letters and _is_json(detection.format) and "A" in values and "B" in values:
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
    image_column = next(
        (name for name in fields.get("image", ()) if values.get(name) not in (None, "", [])), ""
    )
    choices, choices_text = _choices(letters, values, take, where)
    parts = Fields(
        id=sample_id,
        question=as_text(take("question")),
        golds=_as_letters(_golds(take("answer")), choices),
        choices=choices,
        choices_text=choices_text,
        hint=as_text(take("hint")),
        meta={group: text for group in GROUPS if (text := as_text(take(group)))},
        image=values.get(image_column),
        image_column=image_column,
    )
    pictures = fields.get("image", ())
    for name, value in values.items():
        if name in used or name in parts.meta or value is None or isinstance(value, Blob | ImageRef):
            continue
        if name not in pictures or (name in ONLY_PATHS and name != image_column):
            parts.meta[name] = value
    return parts


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
        return _list_choices([as_text(item) for item in value], where), ""
    return (choices_from_dict(value, as_text) if isinstance(value, dict) else {}), ""


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
