"""Conversations as questions: rows with `messages` (OpenAI's form) or `conversations` (LLaVA's form).

In a table, the turns are a JSON text. The last question is asked; the answer after it is the gold, and the
turns before it are sent as they are. Images are those of the turns (``image_url`` parts), or those of the
row's image column or columns, which stand where ``<image>``, ``<image 1>`` or an image part does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from eyechart.data.columns.image_columns import is_image_name, parse_column_name
from eyechart.data.columns.meaning import ALIASES
from eyechart.data.files.rows import OnProblem, Reader, Row, raise_problem
from eyechart.errors import DataError

COLUMNS = ("messages", "conversations", "conversation")
HISTORY = "history"  # the column of the turns before the question
_ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant", "model": "assistant",
    "bot": "assistant", "system": "system", "developer": "system",
}  # fmt: skip
_MARK = "<image>"


def find_chat_column(columns: Collection[str], rows: Sequence[Row]) -> str:
    """The column that holds conversations, if the rows have no question of their own; else empty."""
    if any(name in columns for name in ALIASES["question"]):
        return ""
    for name in COLUMNS:
        values = [row.values[name] for row in rows if row.values.get(name)]
        several = [_decode(value) for value in values]
        if several and all(
            isinstance(turns, list) and all(isinstance(turn, dict) for turn in turns) for turns in several
        ):
            return name
    return ""


def _decode(value: Any) -> Any:
    """The turns of a cell, which is a JSON text in a table."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        with contextlib.suppress(msgspec.DecodeError):
            return msgspec.json.decode(value)
    return value


@dataclass(frozen=True, slots=True)
class ChatReader:
    """The rows of another reader, with a conversation turned into question, answer, images and history."""

    reader: Reader
    column: str
    name: str  # of the file, for messages

    def columns(self) -> tuple[str, ...]:
        return ()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        for row in self.reader.rows(blobs, on_problem):
            try:
                values = read_conversation(row.values, self.column)
            except ValueError as err:
                where = f"{self.name}: row {row.number}" + (f" (line {row.line})" if row.line else "")
                on_problem(DataError(f"{where}: {self.column}: {err}", hint="see: eyechart docs data"))
                continue
            yield Row(row.number, row.line, values)


def read_conversation(values: Mapping[str, Any], column: str) -> dict[str, Any]:
    r"""The row with `question`, `answer`, `image` and `history` in place of its conversation.

    >>> turns = [{"from": "human", "value": "<image>\nWhat is it?"}, {"from": "gpt", "value": "A cat."}]
    >>> read_conversation({"image": "a.png", "conversations": turns}, "conversations")
    {'image': ['a.png'], 'question': '<image>\nWhat is it?', 'answer': 'A cat.'}
    """
    turns, inside = _read_turns(_decode(values.get(column)))
    answer = turns.pop()[1] if turns and turns[-1][0] == "assistant" else None
    if not turns or turns[-1][0] != "user":
        raise ValueError("no question of the user before the last answer")
    found = {name: value for name, value in values.items() if name != column}
    images = list(inside)
    named = [name for name in found if is_image_name(name) and found[name]]
    numbered = sorted((number, name) for name in named if (number := parse_column_name(name)[1]) is not None)
    used = [name for _, name in numbered] or named[:1]  # image_1, image_2, ... are several images
    if not inside:
        values_of = [found[name] for name in used]
        images = [one for value in values_of for one in (value if isinstance(value, list) else [value])]
    # A table has the numbered columns in every row, filled or not.
    numbers = [name for name in found if is_image_name(name) and parse_column_name(name)[1] is not None]
    found = {name: value for name, value in found.items() if name not in (*used, *numbers)}
    if images:
        found["image"] = images
    found["question"] = turns[-1][1]
    if answer is not None and not any(found.get(name) for name in ALIASES["answer"]):
        found["answer"] = answer
    if before := turns[:-1]:
        found[HISTORY] = [[role, text] for role, text in before]
    return found


def _read_turns(turns: Any) -> tuple[list[tuple[str, str]], list[Any]]:
    """Role and text of each turn, and the images inside them, in order."""
    found: list[tuple[str, str]] = []
    images: list[Any] = []
    if isinstance(turns, str):
        raise ValueError("not a list of turns as JSON")
    for turn in turns if isinstance(turns, list) else ():
        if not isinstance(turn, dict):
            raise ValueError("a turn is not an object")
        said = str(turn.get("role", turn.get("from", ""))).lower()
        if said not in _ROLES:
            raise ValueError(f"a turn has the role {said!r}; known: {', '.join(_ROLES)}")
        content = turn.get("content", turn.get("value"))
        found.append((_ROLES[said], _read_content(content, images)))
    return found, images


def _read_content(content: Any, images: list[Any]) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise ValueError(f"a turn's content is {type(content).__name__}, not text or a list of parts")
    texts: list[str] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            texts.append(part)
        elif kind in ("text", "input_text"):
            texts.append(str(part.get("text", "")))
        elif kind in ("image_url", "input_image", "image"):
            texts.append(_MARK)
            value = part.get("image_url", part.get("image", part.get("path", part.get("url"))))
            if isinstance(value, dict):
                value = value.get("url", value.get("path"))
            if value:
                images.append(value)
        else:
            raise ValueError(f"a part of type {kind!r} cannot be sent")
    return "\n".join(texts)
