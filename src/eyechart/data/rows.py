"""How much of a stranger's pictures is taken, and how long one is waited for."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec

from eyechart.errors import DataError, join_names, quote_value
from eyechart.files import suppress_warnings
from eyechart.types import ImageRef

MAX_FILE_BYTES = 512 * 1024 * 1024
MAX_SENT_BYTES = 64 * 1024 * 1024  # of an image that is sent as it is: endpoints take less
MAX_DOWNLOAD_BYTES = 64 * 1024 * 1024
DOWNLOAD_TIMEOUT_S = 30.0


# -- What every reader hands on: a row of named values, and the place it came from.
#
# A value is text (delimited files), a JSON value, or, in columns that may hold pictures, a `Blob`: bytes
# that know where they lie in the file, so that a picture can be left there.

# A row longer than this is a quote that never closes, not a row: the largest published picture cells
# are a tenth of it.
MAX_ROW_BYTES = 256 * 1024 * 1024

# Enough of a picture to find it by: the first characters of a base64 text hold size and tables.
_HEAD_BYTES = 96

OnProblem = Callable[[DataError], None]


def raise_problem(error: DataError) -> NoReturn:
    """The usual answer to a malformed row: stop."""
    raise error


class Blob(msgspec.Struct, frozen=True):
    """A value that may hold a picture. `raw` is how it stands in the file, from byte `offset` on.

    >>> blob = Blob(b"['abc', 'xyz']", offset=100)
    >>> blob.find(b"xyz")
    109
    """

    data: bytes
    offset: int = -1  # -1: not at one place of a file
    raw: bytes = b""  # where quoting or escapes make it differ from `data`
    column: str = ""  # set for a column that is read by row number, not by byte

    def find(self, part: bytes) -> int:
        """Byte offset of `part` in the file, or -1 when it is written differently there."""
        if self.offset < 0 or not part:
            return -1
        raw = self.raw or self.data
        at = raw.find(part[:_HEAD_BYTES])
        if at >= 0 and not raw.startswith(part, at):
            at = raw.find(part, at + 1)
        return self.offset + at if at >= 0 else -1


class Row(msgspec.Struct, frozen=True):
    """One row. `number` counts data rows from 1, `line` lines of the file from 1 (0: no lines there)."""

    number: int
    line: int
    values: dict[str, Any]


class Reader(Protocol):
    """One file, read row by row as often as wanted."""

    def columns(self) -> tuple[str, ...]:
        """Names of a header; empty where each row names its own values."""
        ...

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows; values of the columns `blobs` come as `Blob` (or as references to pictures)."""
        ...


def refuse_repeated_names(names: Sequence[str], where: str) -> None:
    """Refuse a header in which a name stands more than once."""
    if len(set(names)) < len(names):
        twice = sorted(map(quote_value, (name for name, n in Counter(names).items() if n > 1)))
        raise DataError(f"{where} names {join_names(twice, 10)} more than once", hint="rename one of them")


_ROW = re.compile(r": row (\d+)")


def find_row_number(message: str) -> int:
    """The row that a message names with `name_row`; 0 when it names none.

    >>> find_row_number("demo.tsv: row 3 (line 4): 2 cells"), find_row_number("demo.tsv: the file is empty")
    (3, 0)
    """
    found = _ROW.search(message)
    return int(found[1]) if found else 0


def name_row(path: Path, number: int, line: int = 0) -> str:
    """How messages name a row; the header is row 0.

    >>> name_row(Path("demo.tsv"), 3, 4), name_row(Path("demo.tsv"), 0, 1)
    ('demo.tsv: row 3 (line 4)', 'demo.tsv: header (line 1)')
    """
    row = f"row {number}" if number else "header"
    return f"{path.name}: {row}" + (f" (line {line})" if line else "")


# -- Lists written as text: ``['a', 'b']`` as Python writes them, ``["a", "b"]`` as JSON does.

# Far above any published option list or gold list; the parser's memory grows with a multiple of it.
MAX_LITERAL_CHARS = 1_000_000
_MAX_DEPTH = 8

# An unclosed one is taken to the end of its line: no parser reads it, and looking for its end takes one pass.
_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?""")
_ITEM = re.compile(rb"""\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*""")


def read_literal(text: str) -> Any:
    """The list or dict that a text spells, or None when it spells neither. Nothing is evaluated.

    >>> read_literal("['red', 'blue']"), read_literal('{"A": "x"}'), read_literal("[1, 2")
    (['red', 'blue'], {'A': 'x'}, None)
    """
    text = text.strip()
    is_bracketed = text[:1] + text[-1:] in {"[]", "{}"}
    if not is_bracketed or len(text) > MAX_LITERAL_CHARS or _depth(text) > _MAX_DEPTH:
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        value = _python_literal(text)
    return value if isinstance(value, list | dict) else None


def _python_literal(text: str) -> Any:
    try:
        with suppress_warnings():  # an odd escape such as '\d' is kept as it stands
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _depth(text: str) -> int:
    """How deep brackets are nested; those inside strings nest nothing."""
    depth = deepest = 0
    for mark in re.findall(r"[\[\](){}]", _STRING.sub("", text)):
        depth += 1 if mark in "[({" else -1
        deepest = max(deepest, depth)
    return deepest


def read_list_items(data: bytes) -> list[bytes] | None:
    r"""The strings of a list literal as bytes, however long; None when it is no plain list of strings.

    >>> read_list_items(b"['/9j/4AA', \"iVBO\"]")
    [b'/9j/4AA', b'iVBO']
    """
    data = data.strip()
    if not (data.startswith(b"[") and data.endswith(b"]")):
        return None
    items: list[bytes] = []
    at, end = 1, len(data) - 1
    while match := _ITEM.match(data, at, end):
        items.append(match[1] if match[1] is not None else match[2])
        at = match.end()
        if data[at : at + 1] != b",":
            break
        at += 1
    if data[at:end].strip():
        value = read_literal(data.decode("utf-8", "replace"))  # escapes inside: the slow, exact way
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return None
        return [item.encode() for item in value]
    return items


# -- Where a picture's path leads, and which paths are not followed.
#
# A relative path is looked for below the data file's folder, then `image_root`, then the image folder of the
# VLMEvalKit data directory, then the current directory; the first that exists is taken, and the first of all
# when none does, so that a missing picture is its sample's problem and no one else's. For the same reason a
# path that is not followed becomes a reference that the loader refuses: it says why itself.
#
# Links are followed in a user's own file, as absolute paths are; in data of others only where they stay below
# those folders.

OUTSIDE = "outside"
ABSOLUTE = "absolute"
URLS = "urls"
REFUSALS: Mapping[str, tuple[str, str]] = {
    OUTSIDE: (
        "the path leads out of the data set's folder",
        "keep pictures below the data file's folder, or name their folder with --image-root",
    ),
    ABSOLUTE: (
        "absolute paths are not followed in data that is not your own file",
        "save the data set as a file of your own if you trust it",
    ),
    URLS: ("pictures at web addresses are not fetched for this data set", "leave out --no-urls"),
}


class PathRules(msgspec.Struct, frozen=True):
    """Turns a path as a file writes it into a reference."""

    roots: Sequence[str]
    allow_absolute: bool = True

    def to_ref(self, path: str) -> ImageRef:
        """The picture at `path`, or a reference that will be refused with a reason."""
        if os.path.isabs(path) or path.startswith("~"):  # noqa: PTH117 - no Path objects, this is per row
            return ImageRef(kind="file", location=path, refused="" if self.allow_absolute else ABSOLUTE)
        inside = os.path.normpath(path)
        if inside == ".." or inside.startswith(".." + os.sep):
            return ImageRef(kind="file", location=path, refused=OUTSIDE)
        candidates = [os.path.join(root, inside) for root in self.roots]  # noqa: PTH118
        found = next(filter(os.path.exists, candidates), candidates[0])
        is_inside = self.allow_absolute or _is_below(found, tuple(self.roots))
        return ImageRef(kind="file", location=found, refused="" if is_inside else OUTSIDE)


def _is_below(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a path stays below the roots, its links followed."""
    return os.path.realpath(path).startswith(_homes(roots))


@lru_cache(maxsize=16)
def _homes(roots: tuple[str, ...]) -> tuple[str, ...]:
    """The roots as their links lead, for `startswith`. In the hub's cache, files are links to blobs."""
    homes = []
    for root in map(Path, roots):
        place = root.resolve()
        is_cached = place.parent.name == "snapshots" and place.parent.parent.name.startswith("datasets--")
        homes.append(os.path.join(place.parent.parent if is_cached else place, ""))  # noqa: PTH118
    return tuple(homes)


def list_lmu_roots() -> list[Path]:
    """The folders in which the VLMEvalKit family keeps its data: `$LMUData`, then `~/LMUData`."""
    named = os.environ.get("LMUData")  # noqa: SIM112 - the variable is spelt that way
    roots = [Path(named).expanduser()] if named else []
    return [*roots, Path.home() / "LMUData"]
