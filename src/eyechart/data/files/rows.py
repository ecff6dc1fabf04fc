"""What every reader yields: rows of named values that know their place in the file.

A value is text (delimited files), a JSON value, or, in columns that may hold images, a `Blob`: bytes with
their offset in the file, so that the image can stay there. Below: lists written as text, and the rules for
image paths.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NoReturn, Protocol

import msgspec

from eyechart.errors import DataError, ImageError, join_names, quote_value
from eyechart.files import suppress_warnings
from eyechart.types import ImageRef

# A row longer than this is a quote that never closes: the largest published image cells are a tenth of it.
MAX_ROW_BYTES = 256 * 1024 * 1024
MAX_FILE_BYTES = 512 * 1024 * 1024  # of an image file
MAX_SENT_BYTES = 64 * 1024 * 1024  # of an image that is sent unchanged; endpoints accept less

# Enough of an image to find it by: the first characters of a base64 text hold size and tables.
_HEAD_BYTES = 96
_ROW = re.compile(r": row (\d+)")

OnProblem = Callable[[DataError], None]


def raise_problem(error: DataError) -> NoReturn:
    """The default `OnProblem`: stop at the first malformed row."""
    raise error


class Blob(msgspec.Struct, frozen=True):
    """A value that may hold an image. `raw` is its text in the file, from byte `offset` on.

    >>> blob = Blob(b"['abc', 'xyz']", offset=100)
    >>> blob.find(b"xyz")
    109
    """

    data: bytes
    offset: int = -1  # -1: unknown
    raw: bytes = b""  # where quotes or escapes make it differ from `data`
    column: str = ""  # set where cells are read by row number, not by offset

    def find(self, part: bytes) -> int:
        """Byte offset of `part` in the file, or -1 if it is written differently there."""
        if self.offset < 0 or not part:
            return -1
        raw = self.raw or self.data
        at = raw.find(part[:_HEAD_BYTES])
        if at >= 0 and not raw.startswith(part, at):
            at = raw.find(part, at + 1)
        return self.offset + at if at >= 0 else -1


class Row(msgspec.Struct, frozen=True):
    """One row. `number` counts data rows from 1, `line` lines of the file from 1 (0: none)."""

    number: int
    line: int
    values: dict[str, Any]


class Reader(Protocol):
    """One file, read row by row, any number of times."""

    def columns(self) -> tuple[str, ...]:
        """The names in the header; empty where each row names its own values."""

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows; values of the columns `blobs` are `Blob`s or image references."""


def refuse_repeated_names(names: Sequence[str], where: str) -> None:
    """Raise `DataError` for a header with a repeated name."""
    if len(set(names)) < len(names):
        twice = sorted(map(quote_value, (name for name, n in Counter(names).items() if n > 1)))
        raise DataError(f"{where} names {join_names(twice, 10)} more than once", hint="rename one of them")


def find_row_number(message: str) -> int:
    """The number of the row in a message made with `name_row`; 0 if there is none.

    >>> find_row_number("demo.tsv: row 3 (line 4): 2 cells"), find_row_number("demo.tsv: the file is empty")
    (3, 0)
    """
    found = _ROW.search(message)
    return int(found[1]) if found else 0


def name_row(path: Path, number: int, line: int = 0) -> str:
    """A row as messages name it; the header is row 0.

    >>> name_row(Path("demo.tsv"), 3, 4), name_row(Path("demo.tsv"), 0, 1)
    ('demo.tsv: row 3 (line 4)', 'demo.tsv: header (line 1)')
    """
    row = f"row {number}" if number else "header"
    return f"{path.name}: {row}" + (f" (line {line})" if line else "")


# -- Image cells that are read by row number (Parquet, hub)

_LIST_COLUMN = re.compile(r"(.+)\[(\d+)\]")


def parse_item_column(column: str, known: Collection[str]) -> tuple[str, int | None]:
    """Column and index of ``images[1]``, the second image of a list column; no index for a known column."""
    if column not in known and (match := _LIST_COLUMN.fullmatch(column)):
        return match[1], int(match[2])
    return column, None


def pick_image_data(value: Any, index: int | None, ref: ImageRef) -> bytes | str:
    """The bytes, or base64 text, of an image in a cell: a value, a struct with bytes, or a list of these.

    A text may be a data URL.
    """
    if index is not None:
        value = value[index] if isinstance(value, list) and index < len(value) else None
    if isinstance(value, dict):
        value = value.get("bytes")
    if not isinstance(value, bytes | str) or not value:
        raise ImageError(f"{ref}: no image in column {ref.column!r}")
    is_data_url = isinstance(value, str) and value[:64].lstrip()[:5].lower() == "data:"
    return value.partition(",")[2] if isinstance(value, str) and is_data_url else value


# -- Lists written as text: ``['a', 'b']`` (Python) or ``["a", "b"]`` (JSON)

# Far above any published option list or gold list; the parser needs a multiple of it in memory.
MAX_LITERAL_CHARS = 1_000_000
_MAX_DEPTH = 8  # from 3.13 on, Python reads lists in thousands of lists, which nothing after it can walk

# An unclosed string ends with its line: no parser accepts it, and the search stays linear.
_STRING = re.compile(r"""'(?:[^'\\\n]|\\.)*+'?|"(?:[^"\\\n]|\\.)*+"?""")
_ITEM = re.compile(rb"""\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*""")


def read_literal(text: str) -> Any:
    """Parse a list or dict literal; None for any other text. Nothing is evaluated.

    >>> read_literal("['red', 'blue']"), read_literal('{"A": "x"}'), read_literal("[1, 2")
    (['red', 'blue'], {'A': 'x'}, None)
    """
    text = text.strip()
    is_bracketed = text[:1] + text[-1:] in {"[]", "{}"}
    if not is_bracketed or len(text) > MAX_LITERAL_CHARS or _depth(text) > _MAX_DEPTH:
        return None
    value: Any = None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        # An invalid escape such as '\d' is kept as written.
        with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError), suppress_warnings():
            value = ast.literal_eval(text)
    return value if isinstance(value, list | dict) else None


def _depth(text: str) -> int:
    """How deep brackets are nested, outside strings."""
    marks = re.findall(r"[\[\](){}]", _STRING.sub("", text))
    return max(accumulate(1 if mark in "[({" else -1 for mark in marks), default=0)


def read_list_items(data: bytes) -> list[bytes] | None:
    r"""The strings of a list literal as bytes, of any length; None if it is not a list of strings.

    >>> read_list_items(b"['/9j/4AA', \"iVBO\"]")
    [b'/9j/4AA', b'iVBO']
    """
    data = data.strip()
    if data[:1] + data[-1:] != b"[]":
        return None
    items: list[bytes] = []
    at, end = 1, len(data) - 1
    while match := _ITEM.match(data, at, end):
        items.append(match[1] if match[1] is not None else match[2])
        at = match.end()
        if data[at : at + 1] != b",":
            break
        at += 1
    if not data[at:end].strip():
        return items
    value = read_literal(data.decode("utf-8", "replace"))  # escapes inside: slow but exact
    is_texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return [item.encode() for item in value] if is_texts else None


# -- Image paths
#
# A relative path is looked for below the data file's folder, then `image_root`, then the image folder of the
# VLMEvalKit data directory, then the current directory. The first that exists is used, else the first of all,
# so that a missing image fails its own sample only. For the same reason a forbidden path becomes a reference
# that the loader refuses with a reason.
#
# Links and absolute paths are followed in a user's own file; in downloaded data only below those folders.

OUTSIDE = "outside"
ABSOLUTE = "absolute"
URLS = "urls"
REFUSALS: Mapping[str, tuple[str, str]] = {
    OUTSIDE: (
        "the path leads out of the data set's folder",
        "keep images below the data file's folder, or name their folder with --image-root",
    ),
    ABSOLUTE: (
        "absolute paths are not followed in downloaded data",
        "if you trust the data set, save it as a local file",
    ),
    URLS: ("images are not fetched from URLs for this data set", "leave out --no-urls"),
}


class PathRules(msgspec.Struct, frozen=True):
    """Turns a path as written in a file into a reference. `search` finds files that are elsewhere."""

    roots: Sequence[str]
    allow_absolute: bool = True
    search: Callable[[str], str] | None = None

    def to_ref(self, path: str) -> ImageRef:
        """The image at `path`, or a reference that the loader refuses with a reason."""
        if os.path.isabs(path) or path.startswith("~"):  # noqa: PTH117 - no Path objects, this is per row
            location = path
            if self.search and not os.path.exists(path):  # noqa: PTH110
                location = self.search(path) or path
            return ImageRef(kind="file", location=location, refused="" if self.allow_absolute else ABSOLUTE)
        inside = os.path.normpath(path)
        if inside == ".." or inside.startswith(".." + os.sep):
            return ImageRef(kind="file", location=path, refused=OUTSIDE)
        candidates = [os.path.join(root, inside) for root in self.roots]  # noqa: PTH118
        found = next(filter(os.path.exists, candidates), "")
        found = found or (self.search(path) if self.search else "") or candidates[0]
        is_inside = self.allow_absolute or os.path.realpath(found).startswith(_resolve(tuple(self.roots)))
        return ImageRef(kind="file", location=found, refused="" if is_inside else OUTSIDE)


@lru_cache(maxsize=16)
def _resolve(roots: tuple[str, ...]) -> tuple[str, ...]:
    """The roots with links resolved, for `startswith`. In the hub's cache, files are links to blobs."""
    resolved = []
    for root in map(Path, roots):
        place = root.resolve()
        is_cached = place.parent.name == "snapshots" and place.parent.parent.name.startswith("datasets--")
        resolved.append(os.path.join(place.parent.parent if is_cached else place, ""))  # noqa: PTH118
    return tuple(resolved)


def list_lmu_roots() -> list[Path]:
    """The folders in which the VLMEvalKit family keeps its data: `$LMUData`, then `~/LMUData`."""
    named = os.environ.get("LMUData")  # noqa: SIM112 - the variable is spelt that way
    roots = [Path(os.path.expanduser(named))] if named else []  # noqa: PTH111 - raises for no user
    return [*roots, Path.home() / "LMUData"]
