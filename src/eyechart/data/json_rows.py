"""JSON Lines and JSON files, one record at a time.

Strings that may be pictures are not decoded: they become byte ranges of the file. A JSON file (a list;
an object of id to row; an object whose `data`, `questions` or `rows` is the list) is walked with a
moving window, so it needs no more memory than its longest row.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from eyechart.data.columns import ALIASES
from eyechart.data.encoding import BOM, refuse_wide_text, undecodable
from eyechart.data.json_window import elements
from eyechart.data.rows import MAX_ROW_BYTES, Blob, OnProblem, Row, place, raise_problem
from eyechart.errors import DataError

_BUFFER_BYTES = 1 << 20
_LONG = 4096  # bytes; a shorter string is decoded, it can be a path with escapes in it
_RECORD = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode_record(line: bytes, offset: int, blobs: Collection[str]) -> dict[str, Any]:
    """One JSON object; values of the columns `blobs` as `Blob`s that know their place.

    >>> decode_record(b'{"q": 3, "image": "iVBO"}', 0, {"image"})["image"]
    Blob(data=b'iVBO', offset=19, raw=b'', column='')
    """
    try:
        record = _RECORD.decode(line)
    except msgspec.DecodeError:
        if b"NaN" not in line and b"Infinity" not in line:
            raise
        # Python and pandas write NaN for a missing value, which is not JSON but is common.
        return _without_nan(line, blobs)
    return {
        name: _picture_value(line, raw, offset) if name in blobs else msgspec.json.decode(raw)
        for name, raw in record.items()
    }


def _without_nan(line: bytes, blobs: Collection[str]) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_constant=lambda word: None)
    except (ValueError, RecursionError) as err:
        raise msgspec.DecodeError(str(err)) from err
    if not isinstance(record, dict):
        raise msgspec.ValidationError("Expected `object`")
    return {
        name: Blob(value.encode()) if name in blobs and isinstance(value, str) and value else value
        for name, value in record.items()
    }


def _picture_value(line: bytes, raw: msgspec.Raw, offset: int) -> Any:
    text = bytes(raw)
    if text.startswith(b'"'):
        content = text[1:-1]
        at = Blob(line, 0).find(text)
        begin = offset + at + 1 if at >= 0 and offset >= 0 else -1
        if b"\\" not in content:
            return Blob(content, begin) if content else None
        decoded = msgspec.json.decode(text, type=str).encode()
        return Blob(decoded, begin, content) if decoded else None
    value = msgspec.json.decode(text)
    if isinstance(value, list):
        whole = Blob(line, offset)
        return [_located(whole, item) if isinstance(item, str) else item for item in value]
    return value


def _located(whole: Blob, item: str) -> Blob:
    data = item.encode()
    return Blob(data, whole.find(data) if len(data) > _LONG else -1)


class JsonLinesReader(msgspec.Struct):
    """Rows of a JSON Lines file."""

    path: Path
    encoding: str = "utf-8"

    def columns(self) -> tuple[str, ...]:
        """Each row names its own values."""
        return ()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        """All rows, in order; blank lines are skipped."""
        with self.path.open("rb", buffering=_BUFFER_BYTES) as file:
            offset = _skip_mark(file, self.path)
            number = line_number = 0
            while line := file.readline(MAX_ROW_BYTES + 1):
                line_number += 1
                begin, offset = offset, offset + len(line)
                if len(line) > MAX_ROW_BYTES:
                    where = place(self.path, number + 1, line_number)
                    raise DataError(f"{where}: no line break within {MAX_ROW_BYTES // 1024 // 1024} MB")
                if line.isspace():
                    continue
                number += 1
                row = _read_row(self, line, begin, Row(number, line_number, {}), blobs, on_problem)
                if row is not None:
                    yield row


class JsonReader(msgspec.Struct):
    """Rows of a JSON file that holds a list, or an object of rows."""

    path: Path
    encoding: str = "utf-8"

    def columns(self) -> tuple[str, ...]:
        """Each row names its own values."""
        return ()

    def rows(self, blobs: Collection[str], on_problem: OnProblem = raise_problem) -> Iterator[Row]:
        with self._open() as file:
            is_copy = isinstance(file, BytesIO)
            for number, (key, offset, element) in enumerate(elements(file, self.path), start=1):
                begin = -1 if is_copy else offset
                # A transcoded copy is UTF-8 by now, whatever the file is.
                reader = JsonReader(self.path) if is_copy else self
                row = _read_row(reader, element, begin, Row(number, 0, {}), blobs, on_problem)
                if row is None:
                    continue
                if key is not None and not any(name in row.values for name in ALIASES["id"]):
                    row = Row(number, 0, {"id": key, **row.values})
                yield row

    def _open(self) -> BinaryIO:
        if self.encoding != "utf-8":
            return self._transcoded()
        file = self.path.open("rb", buffering=_BUFFER_BYTES)
        try:
            _skip_mark(file, self.path)
        except BaseException:
            file.close()
            raise
        return file

    def _transcoded(self) -> BinaryIO:
        """All of the file as UTF-8, the only encoding in which braces are always braces."""
        data = self.path.read_bytes()
        try:
            return BytesIO(data.decode(self.encoding).encode())
        except UnicodeDecodeError as err:
            raise undecodable(self.path.name, "?", data[err.start :][:200], self.encoding) from err


def _skip_mark(file: BinaryIO, path: Path) -> int:
    head = file.read(4)
    refuse_wide_text(path, head)
    offset = len(BOM) if head.startswith(BOM) else 0
    file.seek(offset)
    return offset


def _read_row(
    reader: JsonLinesReader | JsonReader,
    text: bytes,
    offset: int,
    row: Row,
    blobs: Collection[str],
    on_problem: OnProblem,
) -> Row | None:
    """The row with its values, or None after reporting what is wrong with it."""
    where = place(reader.path, row.number, row.line)
    try:
        if reader.encoding != "utf-8":
            text, offset = text.decode(reader.encoding).encode(), -1
        return Row(row.number, row.line, decode_record(text, offset, blobs))
    except UnicodeDecodeError:
        on_problem(undecodable(where, _broken_column(text), text, reader.encoding))
    except msgspec.ValidationError as err:
        if "`object`" in str(err):
            hint = "each row names its own values; pandas: df.to_json(..., orient='records')"
            what = f'a row must be an object like {{"question": ...}} ({err})'
        else:
            what, hint = f"a value that cannot be read: {err}", "write it as a text, in quotes"
        on_problem(DataError(f"{where}: {what}", hint=hint))
    except (msgspec.DecodeError, RecursionError) as err:
        if not _is_text(text):
            on_problem(undecodable(where, "?", text, reader.encoding))
            return None
        begin = text[:60].decode("utf-8", "replace").strip()
        hint = (
            "one object per line, closed on the same line" if row.line else "check the file with a JSON tool"
        )
        if not begin:
            hint = "there is a comma too many before it"
        on_problem(DataError(f"{where}: not JSON: {err} (it begins {begin!r})", hint=hint))
    return None


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _broken_column(text: bytes) -> str:
    try:
        for name, raw in _RECORD.decode(text).items():
            if not _is_text(bytes(raw)):
                return name
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    return "?"
