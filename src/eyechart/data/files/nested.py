"""Values inside objects, named by a path: ``picture.file`` is the `file` of the object `picture`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eyechart.data.files.rows import Blob, OnProblem, Reader, Row, raise_problem

_MAX_DEPTH = 4
_MAX_NAMES = 500


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


@dataclass(frozen=True, slots=True)
class NestedReader:
    """The rows of another reader, with the values at some paths as columns of their own."""

    reader: Reader
    paths: tuple[str, ...]

    def columns(self) -> tuple[str, ...]:
        return ()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        roots = {path.partition(".")[0] for path in self.paths}
        for row in self.reader.rows(set(blobs) - roots, on_problem):
            values = {name: value for name, value in row.values.items() if name not in roots}
            for path in self.paths:
                value = find_value(row.values, path)
                if value is not None and not isinstance(value, Blob):
                    values[path] = value
            # What no path names stays as it is: an object of which one value is used keeps its others.
            for name in roots & row.values.keys():
                rest = _without(
                    row.values[name], [p.split(".")[1:] for p in self.paths if p.startswith(f"{name}.")]
                )
                if rest not in (None, {}, []):
                    values[name] = rest
            yield Row(row.number, row.line, values)


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
