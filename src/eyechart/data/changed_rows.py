"""Rows that are changed before their columns are read: `ChangedReader` wraps another reader.

- `AskingReader`: a file without questions, which are all the same (``--ask``).
- `ChangedRows`: a benchmark whose data set has other columns on the hub than in its published file.
- `NestedReader`: values inside objects, named by a path: ``picture.file`` is `file` in the object `picture`.
- `ChatReader`: conversations as questions, with `messages` (OpenAI's form) or `conversations` (LLaVA's form).
  In a table, the turns are a JSON text. The last question is asked; the answer after it is the gold, and the
  turns before it are sent as they are. Images are those of the turns (``image_url`` parts), or those of the
  row's image column or columns, which stand where ``<image>``, ``<image 1>`` or an image part does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from eyechart.data.columns.image_columns import is_image_name, parse_column_name
from eyechart.data.columns.meaning import ALIASES, ChangeRow
from eyechart.data.files.rows import Blob, OnProblem, Reader, Row, name_row, raise_problem
from eyechart.errors import DataError, UsageError


@dataclass(frozen=True)
class ChangedReader:
    """The rows of another reader, each changed into one, several or none."""

    reader: Reader

    def columns(self) -> tuple[str, ...]:
        return ()  # each row names its own values

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        for row in self.reader.rows(self.list_blobs(blobs), on_problem):
            try:
                found = self.convert(row)
            except DataError as problem:
                on_problem(problem)
                continue
            for values in found:
                yield Row(row.number, row.line, values)

    def list_blobs(self, blobs: Collection[str]) -> Collection[str]:
        """The columns of the other reader that may hold images."""
        return blobs

    def convert(self, row: Row) -> Iterable[dict[str, Any]]:
        """The rows that are made of a row."""
        raise NotImplementedError


@dataclass(frozen=True)
class AskingReader(ChangedReader):
    """The rows of a file without questions, each with the same question."""

    ask: str
    name: str

    def columns(self) -> tuple[str, ...]:
        names = self.reader.columns()
        self._refuse(names)
        return ("question", *names) if names else ()

    def convert(self, row: Row) -> Iterable[dict[str, Any]]:
        self._refuse(row.values)
        return [{"question": self.ask, **row.values}]

    def _refuse(self, names: Collection[str]) -> None:
        if "question" in names:
            raise UsageError(f"--ask: {self.name} has its own questions", hint="leave out --ask")


@dataclass(frozen=True)
class ChangedRows(ChangedReader):
    """Rows with the columns of the benchmark's published file.

    Rows without an id are numbered from 0, as in VLMEvalKit's files.
    """

    change: ChangeRow
    images: Sequence[str]  # columns of the reader that may hold images
    first_number: int = 0

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        number = self.first_number
        for row in super().rows(blobs, on_problem):
            if not _has_id(row):
                row = Row(row.number, row.line, {"index": str(number), **row.values})
                number += 1
            yield row

    def count_numbered(self) -> int:
        """How many rows it gives a number; 0 if the first has an id."""
        rows = super().rows(self.images, lambda problem: None)
        first = next(rows, None)
        return 0 if first is None or _has_id(first) else 1 + sum(1 for _ in rows)

    def list_blobs(self, blobs: Collection[str]) -> Collection[str]:
        return {*blobs, *self.images}

    def convert(self, row: Row) -> Iterable[dict[str, Any]]:
        try:
            found = self.change(row.values)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as err:
            what = f"row {row.number} does not have the benchmark's columns ({type(err).__name__}: {err})"
            hint = f"found: {', '.join(row.values)}; is this the right data set?"
            raise DataError(what, hint=hint) from err
        for changes in [found] if isinstance(found, Mapping) else found:
            dropped = {name for name, value in changes.items() if value is None}
            yield {name: value for name, value in {**row.values, **changes}.items() if name not in dropped}


def _has_id(row: Row) -> bool:
    return any(name in row.values for name in ALIASES["id"])


# -- Values inside objects

_MAX_DEPTH = 4
_MAX_NAMES = 500


@dataclass(frozen=True)
class NestedReader(ChangedReader):
    """The values at some paths as columns of their own."""

    paths: tuple[str, ...]

    def list_blobs(self, blobs: Collection[str]) -> Collection[str]:
        return set(blobs) - self._roots

    @property
    def _roots(self) -> set[str]:
        return {path.partition(".")[0] for path in self.paths}

    def convert(self, row: Row) -> Iterable[dict[str, Any]]:
        roots = self._roots
        values = {name: value for name, value in row.values.items() if name not in roots}
        for path in self.paths:
            value = find_value(row.values, path)
            if value is not None and not isinstance(value, Blob):
                values[path] = value
        # What no path names stays as it is: an object of which one value is used keeps its others.
        for name in roots & row.values.keys():
            below = [path.split(".")[1:] for path in self.paths if path.startswith(f"{name}.")]
            if (rest := _without(row.values[name], below)) not in (None, {}, []):
                values[name] = rest
        return [values]


def find_value(values: Any, path: str) -> Any:
    """The value at a path; None if there is none. A number is a position in a list.

    >>> find_value({"picture": {"files": ["a.png"]}}, "picture.files.0")
    'a.png'
    """
    for name in path.split("."):
        if isinstance(values, dict):
            values = values.get(name)
        elif isinstance(values, list) and name.isdigit() and int(name) < len(values):
            values = values[int(name)]
        else:
            return None
    return values


def list_paths(rows: Sequence[Row]) -> list[str]:
    """The paths of all values inside objects, in the order of their first occurrence.

    >>> list_paths([Row(1, 1, {"id": 1, "qa": {"question": "?", "answer": {"text": "x"}}})])
    ['qa.question', 'qa.answer.text']
    """
    found: dict[str, None] = {}

    def walk(value: Any, path: str, depth: int) -> None:
        if isinstance(value, dict) and depth < _MAX_DEPTH:
            for name, inner in value.items():
                walk(inner, f"{path}.{name}" if path else str(name), depth + 1)
        elif depth > 1 and len(found) < _MAX_NAMES:
            found[path] = None

    for row in rows:
        walk(row.values, "", 0)
    return list(found)


def _without(value: Any, paths: Sequence[Sequence[str]]) -> Any:
    """An object without the values at these paths."""
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, inner in value.items():
        below = [path[1:] for path in paths if path[0] == str(name)]
        if any(not path for path in below):
            continue
        rest = _without(inner, below) if below else inner
        if rest not in (None, {}, []):
            kept[name] = rest
    return kept


# -- Conversations

COLUMNS = ("messages", "conversations", "conversation")
HISTORY = "history"  # the column of the turns before the question
_ROLES = {
    "user": "user", "human": "user", "assistant": "assistant", "gpt": "assistant", "model": "assistant",
    "bot": "assistant", "system": "system", "developer": "system",
}  # fmt: skip
_MARK = "<image>"


@dataclass(frozen=True)
class ChatReader(ChangedReader):
    """A conversation turned into question, answer, images and history."""

    column: str
    name: str  # of the file, for messages

    def convert(self, row: Row) -> Iterable[dict[str, Any]]:
        try:
            return [read_conversation(row.values, self.column)]
        except ValueError as err:
            where = name_row(Path(self.name), row.number, row.line)
            raise DataError(f"{where}: {self.column}: {err}", hint="see: eyechart docs data") from err


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
        with contextlib.suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            return msgspec.json.decode(value)
    return value


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
    named = [name for name in found if is_image_name(name)]
    # A table has the numbered columns in every row, filled or not; they are several images.
    numbers = {name: number for name in named if (number := parse_column_name(name)[1]) is not None}
    filled = [name for name in named if found[name]]
    used = sorted((name for name in filled if name in numbers), key=lambda name: (numbers[name], name))
    used = used or filled[:1]
    cells = [found[name] for name in used]
    images = inside or [one for cell in cells for one in (cell if isinstance(cell, list) else [cell])]
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
