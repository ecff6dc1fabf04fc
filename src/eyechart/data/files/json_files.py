"""JSON and JSON Lines files, one row at a time, with the images left in the file.

Strings that may be images are not decoded: they become byte ranges. A JSON file (a list; an object of id to
row; an object whose `data`, `questions` or `rows` is the list; rows one after another) is read through a
moving window, `JsonWindow`, so it needs no more memory than its longest row. Tables that pandas writes to
JSON are read whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from eyechart.data.columns.meaning import ALIASES
from eyechart.data.files.rows import MAX_ROW_BYTES, Blob, OnProblem, Row, name_row, raise_problem
from eyechart.data.files.tables import BOM, make_decode_error, refuse_wide_text
from eyechart.errors import DataError

LIST_KEYS = ("data", "questions", "rows")

_CHUNK_BYTES = 1 << 20
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_STRUCTURE = re.compile(rb'["{}\[\],]')
_NESTED_STRUCTURE = re.compile(rb'["{}\[\]]')


_BUFFER_BYTES = 1 << 20
_LONG = 4096  # bytes; a shorter string is decoded, it may be a path with escapes
_RECORD = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode_record(line: bytes, offset: int, blobs: Collection[str]) -> dict[str, Any]:
    """Decode one JSON object; values of the columns `blobs` become `Blob`s with their offsets.

    >>> decode_record(b'{"q": 3, "image": "iVBO"}', 0, {"image"})["image"]
    Blob(data=b'iVBO', offset=19, raw=b'', column='')
    """
    try:
        record = _RECORD.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        if b"NaN" not in line and b"Infinity" not in line:
            raise
        # Python and pandas write NaN for a missing value: not JSON, but common.
        return _without_nan(line, blobs)
    return {
        name: _image_value(line, raw, offset) if name in blobs else msgspec.json.decode(raw)
        for name, raw in record.items()
    }


def _without_nan(line: bytes, blobs: Collection[str]) -> dict[str, Any]:
    try:
        clean = msgspec.json.encode(json.loads(line, parse_constant=lambda word: None))
    except (ValueError, RecursionError) as err:
        raise msgspec.DecodeError(str(err)) from err
    return decode_record(clean, -1, blobs)


def _image_value(line: bytes, raw: msgspec.Raw, offset: int) -> Any:
    text = bytes(raw)
    if text.startswith(b'"'):
        content = text[1:-1]
        at = Blob(line, 0).find(text)
        begin = offset + at + 1 if at >= 0 and offset >= 0 else -1
        if b"\\" not in content:
            return Blob(content, begin) if content else None
        decoded = msgspec.json.decode(text, type=str).encode()
        return Blob(decoded, begin, content) if decoded else None
    value, whole = msgspec.json.decode(text), Blob(line, offset)
    if not isinstance(value, list):
        return value
    items = [item.encode() if isinstance(item, str) else item for item in value]
    return [
        Blob(item, whole.find(item) if len(item) > _LONG else -1) if isinstance(item, bytes) else item
        for item in items
    ]


class JsonReader(msgspec.Struct):
    """Rows of a JSON file that holds a list, or an object of rows; with `is_lines` of a JSON Lines file."""

    path: Path
    encoding: str = "utf-8"
    is_lines: bool = False

    def columns(self) -> tuple[str, ...]:
        return ()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order; blank lines are skipped."""
        encoding = self.encoding if self.is_lines else "utf-8"
        found = self._walk_lines() if self.is_lines else self._walk_elements()
        for number, (key, line, offset, text) in enumerate(found, start=1):
            try:
                if encoding != "utf-8":
                    text, offset = text.decode(encoding).encode(), -1
                values = decode_record(text, offset, blobs)
            except (UnicodeDecodeError, msgspec.DecodeError, RecursionError) as err:
                where = name_row(self.path, number, line)
                on_problem(_explain(err, text, where, encoding, is_line=self.is_lines))
                continue
            if key is not None and not any(name in values for name in ALIASES["id"]):
                values = {"id": key, **values}
            yield Row(number, line, values)

    def _walk_lines(self) -> Iterator[tuple[None, int, int, bytes]]:
        """Number, offset and text of each line that is not blank, after a key that lines do not have."""
        with self.path.open("rb", buffering=_BUFFER_BYTES) as file:
            head = file.read(4)
            refuse_wide_text(self.path, head)
            offset = file.seek(len(BOM) if head.startswith(BOM) else 0)
            n_rows = line_number = 0
            while line := file.readline(MAX_ROW_BYTES + 1):
                line_number += 1
                if len(line) > MAX_ROW_BYTES:
                    where = name_row(self.path, n_rows + 1, line_number)
                    raise DataError(f"{where}: no line break within {MAX_ROW_BYTES // 1024 // 1024} MB")
                if not line.isspace():
                    n_rows += 1
                    yield None, line_number, offset, line
                offset += len(line)

    def _walk_elements(self) -> Iterator[tuple[str | None, int, int, bytes]]:
        """The elements of a JSON file, as UTF-8: elsewhere a brace byte may be part of a character."""
        if self.encoding == "utf-8":
            with self.path.open("rb", buffering=_BUFFER_BYTES) as file:
                for key, offset, text in walk_rows(file, self.path):
                    yield key, 0, offset, text
            return
        data = self.path.read_bytes()
        try:
            copy = BytesIO(data.decode(self.encoding).encode())
        except UnicodeDecodeError as err:
            raise make_decode_error(self.path.name, "?", data[err.start :][:200], self.encoding) from err
        for key, _, text in walk_rows(copy, self.path):
            yield key, 0, -1, text


def _explain(err: Exception, text: bytes, where: str, encoding: str, *, is_line: bool) -> DataError:
    """What is wrong with the text of a row."""
    if isinstance(err, UnicodeDecodeError):
        return make_decode_error(where, _broken_column(text), text, encoding)
    if isinstance(err, msgspec.ValidationError):
        if "`object`" in str(err):
            hint = "each row must name its values; in pandas use df.to_json(..., orient='records')"
            return DataError(f'{where}: a row must be an object like {{"question": ...}} ({err})', hint=hint)
        return DataError(f"{where}: a value cannot be read: {err}", hint="write it as a string, in quotes")
    if not _is_text(text):
        return make_decode_error(where, "?", text, encoding)
    begin = text[:60].decode("utf-8", "replace").strip()
    hint = "write one complete object per line" if is_line else "validate the file with a JSON tool"
    if not begin:
        hint = "remove the extra comma before it"
    return DataError(f"{where}: invalid JSON: {err} (the row begins {begin!r})", hint=hint)


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _broken_column(text: bytes) -> str:
    with suppress(msgspec.DecodeError, UnicodeDecodeError):
        return next((name for name, raw in _RECORD.decode(text).items() if not _is_text(bytes(raw))), "?")
    return "?"


# -- Walking through a JSON file without decoding it


def walk_rows(file: BinaryIO, path: Path) -> Iterator[tuple[str | None, int, bytes]]:
    """Key (None in a list), offset and text of each row of a JSON file, not decoded.

    >>> from io import BytesIO
    >>> list(walk_rows(BytesIO(b'{"version": 1, "data": [{"a": 1}]}'), Path("demo.json")))
    [(None, 24, b'{"a": 1}')]
    >>> list(walk_rows(BytesIO(b'{"question": "a"}, {"question": "b"}'), Path("demo.json")))
    [(None, 0, b'{"question": "a"}'), (None, 19, b'{"question": "b"}')]
    """
    refuse_wide_text(path, file.read(4))
    file.seek(0)
    window = JsonWindow(file, path)
    opening = window.peek()
    if opening == b"[":
        yield from window.items()
        if window.peek() != b"":
            raise window.malformed("the end of the file")
    elif opening == b"{":
        walk, offset = _find_rows(window)
        file.seek(offset)
        yield from walk(JsonWindow(file, path))
    elif opening == b"":
        raise DataError(f"{path.name}: the file is empty", hint="a JSON file must hold a list of rows")
    else:
        raise window.malformed("a list or an object of rows")


Walk = Callable[["JsonWindow"], Iterator[tuple[str | None, int, bytes]]]


def _find_rows(window: JsonWindow) -> tuple[Walk, int]:
    """How to walk through the rows of an object, and from which offset.

    It has a list of them, maps ids to rows, or is one itself.
    """
    openings: dict[str, bytes] = {}
    for key, offset, opening in window.openings():
        if key in LIST_KEYS and opening == b"[":
            return JsonWindow.items, offset
        if key in ALIASES["question"] and opening == b'"':
            return JsonWindow.objects, 0
        openings[key] = opening
    if b"{" not in openings.values():
        found = ", ".join([*openings][:8]) or "nothing"
        hint = f"write a list of rows, an object of id to row, or a list under {', '.join(LIST_KEYS)}"
        raise DataError(f"{window.path.name}: an object without rows (keys: {found})", hint=hint)
    return JsonWindow.members, 0


class JsonWindow:
    """The bytes from the current value to the end of what was read ahead; a byte order mark is skipped."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file = file
        self.path = path
        if not file.tell() and file.read(len(BOM)) != BOM:
            file.seek(0)
        self.base = file.tell()  # offset in the file of the window's first byte
        self.buffer = b""
        self.at = 0

    def peek(self) -> bytes:
        """The next byte that is not whitespace, not consumed; empty at the end of the file."""
        while (match := _NOT_BLANK.search(self.buffer, self.at)) is None:
            self.at = len(self.buffer)
            if not self._read_on():
                return b""
        self.at = match.start()
        return match[0]

    def items(self) -> Iterator[tuple[None, int, bytes]]:
        """The elements of the list that begins here."""
        for _ in self._walk(b"[", b"]", "a list"):
            yield None, *self.value()

    def objects(self) -> Iterator[tuple[None, int, bytes]]:
        """Objects that follow one another, with or without commas between them."""
        while self.peek() == b"{":
            yield None, *self.value()
            self.at += self.peek() == b","
        if self.peek() != b"":
            raise self.malformed("an object, or the end of the file")

    def members(self) -> Iterator[tuple[str, int, bytes]]:
        """The members of the object that begins here."""
        for key, _, _ in self.openings(skip=False):
            yield key, *self.value()

    def openings(self, *, skip: bool = True) -> Iterator[tuple[str, int, bytes]]:
        """Key, offset and first byte of each member's value; with `skip`, the value is consumed."""
        for _ in self._walk(b"{", b"}", "an object"):
            if self.peek() != b'"':
                raise self.malformed("a key in quotes")
            try:
                key = msgspec.json.decode(self.value()[1], type=str)
            except (msgspec.DecodeError, UnicodeDecodeError) as err:
                raise self.malformed("a key in quotes") from err
            self._take(b":", "a colon")
            opening = self.peek()
            yield key, self.base + self.at, opening
            if skip:
                self.value()

    def _walk(self, opening: bytes, closing: bytes, what: str) -> Iterator[None]:
        """Yield before each element of a list or an object, which the caller consumes."""
        self._take(opening, what)
        is_open = self.peek() != closing
        while is_open:
            yield
            if self.peek() not in (b",", closing):
                raise self.malformed(f"a comma or {closing.decode()}")
            is_open = self.peek() == b","
            self.at += is_open
        self.at += 1

    def value(self) -> tuple[int, bytes]:
        """Consume the value that begins here: its offset and text."""
        self.peek()
        size = self._size()
        begin = self.at
        self.at += size
        return self.base + begin, self.buffer[begin : self.at].rstrip()

    def malformed(self, expected: str) -> DataError:
        """The error for anything but what was expected here."""
        found = self.buffer[self.at : self.at + 30].decode("utf-8", "replace") or "the end of the file"
        where = f"{self.path.name}: invalid JSON at byte {self.base + self.at}"
        hint = "validate the file with a JSON tool; for one object per line use --format jsonl"
        return DataError(f"{where}: expected {expected}, found {found!r}", hint=hint)

    def _size(self) -> int:
        """Bytes from here to the end of the value."""
        depth = size = 0
        while True:
            match = (_NESTED_STRUCTURE if depth else _STRUCTURE).search(self.buffer, self.at + size)
            if match is None:
                size = len(self.buffer) - self.at
                self._read_on("the end of the value")
                continue
            size = match.end() - self.at
            mark = match[0]
            if mark == b'"':
                size = self._string_size(size)
            elif mark in b"{[":
                depth += 1
                continue
            elif depth == 0:  # the comma or bracket after a number or a literal
                return size - 1
            else:
                depth -= 1
            if depth == 0:
                return size

    def _string_size(self, size: int) -> int:
        """From just after the opening quote to just after the closing one."""
        while True:
            at = self.buffer.find(b'"', self.at + size)
            if at < 0:
                size = len(self.buffer) - self.at
                self._read_on("the end of the string")
                continue
            size = at + 1 - self.at
            slash = at
            while self.buffer[slash - 1] == 0x5C:
                slash -= 1
            if (at - slash) % 2 == 0:
                return size

    def _take(self, byte: bytes, what: str) -> None:
        if self.peek() != byte:
            raise self.malformed(what)
        self.at += 1

    def _read_on(self, expected: str = "") -> bool:
        """Drop what was consumed and read as much again, so that a long value takes linear time.

        At the end of the file it is False, or an error where something is `expected`.
        """
        kept = len(self.buffer) - self.at
        if kept > MAX_ROW_BYTES:
            raise self.malformed(f"a row of at most {MAX_ROW_BYTES // 1024 // 1024} MB")
        chunk = self.file.read(max(_CHUNK_BYTES, kept))
        if not chunk and expected:
            raise self.malformed(expected)
        self.base += self.at
        self.buffer = self.buffer[self.at :] + chunk
        self.at = 0
        return bool(chunk)


# -- Helpers for other readers of JSON; errors name the file and the row

_EMPTY_BYTES = 64  # a file without rows is not longer
_AT = re.compile(r"(?P<what>.*?)(?: - at `\$\.?(?P<field>.*)`)?", re.DOTALL)


def read_bytes(path: Path) -> bytes:
    """The whole file, without a byte order mark."""
    with _file_errors(path):
        data = path.read_bytes()
    refuse_wide_text(path, data[:4])
    return data.removeprefix(BOM)


def read_row_texts(
    path: Path, *, may_be_empty: bool = False, hint: str = ""
) -> Iterator[tuple[str | None, bytes]]:
    """Key (None in a list) and text of each row; `hint` replaces that of errors about the structure."""
    with _file_errors(path), path.open("rb") as file:
        head = file.read(_EMPTY_BYTES)
        if may_be_empty and b"".join(head.removeprefix(BOM).split()) in (b"[]", b"{}"):
            return
        file.seek(0)
        try:
            for key, _, text in walk_rows(file, path):
                yield key, text
        except DataError as err:
            raise DataError(err.message, hint=hint or err.hint) from err


@contextmanager
def translate_json_errors(where: str, *, hint: str = "validate the file with a JSON tool") -> Iterator[None]:
    """Turn errors of a decoder into a `DataError` about `where`."""
    try:
        yield
    except UnicodeDecodeError as err:
        hint = "save the file as UTF-8, e.g. with iconv -f GBK -t UTF-8"
        raise DataError(f"{where}: not UTF-8 text", hint=hint) from err
    except msgspec.ValidationError as err:
        raise DataError(f"{where}: {_put_field_first(str(err))}", hint=hint) from err
    except (msgspec.DecodeError, ValueError, RecursionError) as err:
        raise DataError(f"{where}: invalid JSON: {err}", hint=hint) from err


def _put_field_first(message: str) -> str:
    """A decoder's message with the field in front.

    >>> _put_field_first("Expected `str`, got `int` - at `$.subject[0]`")
    'field subject[0]: Expected `str`, got `int`'
    """
    found = _AT.fullmatch(message)
    assert found is not None, "the pattern takes any text"
    return f"field {found['field']}: {found['what']}" if found["field"] else found["what"]


@contextmanager
def _file_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as err:
        raise DataError(f"{path}: no such file", hint="check the path") from err
    except OSError as err:
        raise DataError(f"{path}: cannot be read: {err.strerror or err}") from err


# -- Tables as pandas writes them to JSON
#
# By default an object of columns, each an object of row to value; with ``orient="split"`` the names of the
# columns, and the rows as lists of cells.

SPLIT_KEYS = frozenset({"columns", "index", "data"})


class _Split(msgspec.Struct, frozen=True):
    columns: list[str]
    data: list[list[Any]]


def read_json_columns(path: Path) -> list[dict[str, Any]]:
    """The rows of such a file, which is read whole; columns may also be lists."""
    text = read_bytes(path)
    with translate_json_errors(path.name):
        table = msgspec.json.decode(text, type=dict[str, dict[str, Any] | list[Any]])
        if table.keys() == SPLIT_KEYS:
            return _join_split(path, msgspec.convert(table, _Split))
    columns = {
        name: values if isinstance(values, dict) else {str(at): v for at, v in enumerate(values)}
        for name, values in table.items()
    }
    first, column = next(iter(columns.items()))
    for name, values in columns.items():
        if values.keys() != column.keys():
            hint = "every column needs every row; a list of records does not"
            raise DataError(f"{path.name}: the columns {first!r} and {name!r} have different rows", hint=hint)
    return [{name: values[key] for name, values in columns.items()} for key in column]


def _join_split(path: Path, found: _Split) -> list[dict[str, Any]]:
    """The rows of a table with separate names and cells."""
    names = found.columns
    if len(set(names)) != len(names):
        raise DataError(f"{path.name}: repeated column name", hint="rename one of them")
    for number, cells in enumerate(found.data, start=1):
        if len(cells) != len(names):
            where = f"{path.name}: row {number}"
            raise DataError(f"{where}: {len(cells)} cells, but {len(names)} columns")
    return [dict(zip(names, cells, strict=True)) for cells in found.data]
