"""A moving window over a JSON file: finds where values begin and end, and decodes nothing.

Enough of JSON to walk a list of a hundred thousand rows with the memory of one of them. Whether a row
is sound JSON is found out when it is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from eyechart.data.rows import MAX_ROW_BYTES
from eyechart.errors import DataError

LIST_KEYS = ("data", "questions", "rows")

_CHUNK_BYTES = 1 << 20
_NOT_BLANK = re.compile(rb"[^ \t\r\n]")
_STRUCTURE = re.compile(rb'["{}\[\],]')
_NESTED_STRUCTURE = re.compile(rb'["{}\[\]]')


def elements(file: BinaryIO, path: Path) -> Iterator[tuple[str | None, int, bytes]]:
    """Key (None in a list), offset and text of each row of a JSON file.

    >>> from io import BytesIO
    >>> list(elements(BytesIO(b'{"version": 1, "data": [{"a": 1}]}'), Path("demo.json")))
    [(None, 24, b'{"a": 1}')]
    """
    start = file.tell()
    window = Window(file, path)
    opening = window.peek()
    if opening == b"[":
        yield from window.items()
        if window.peek() != b"":
            raise window.malformed("the end of the file")
    elif opening == b"{":
        offset = _find_list(window)
        file.seek(start if offset is None else offset)
        rows = Window(file, path)
        yield from rows.members() if offset is None else rows.items()
    elif opening == b"":
        raise DataError(f"{path.name}: the file is empty", hint="a JSON file holds a list of rows")
    else:
        raise window.malformed("a list or an object of rows")


def _find_list(window: Window) -> int | None:
    """Where the list of rows begins; None when the object itself maps ids to rows."""
    keys = []
    has_rows = False
    for key, offset, opening in window.openings():
        if key in LIST_KEYS and opening == b"[":
            return offset
        keys.append(key)
        has_rows |= opening == b"{"
    if not has_rows:
        found = ", ".join(keys[:8]) or "nothing"
        raise DataError(
            f"{window.path.name}: one object without rows (found: {found})",
            hint=f"rows are a list, an object of id to row, or a list under {', '.join(LIST_KEYS)}",
        )
    return None


class Window:
    """The bytes from the value now being read to the end of what was read ahead."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.file = file
        self.path = path
        self.base = file.tell()  # offset in the file of the window's first byte
        self.buffer = b""
        self.at = 0

    def peek(self) -> bytes:
        """The next byte that is not blank, left in place; empty at the end of the file."""
        while True:
            match = _NOT_BLANK.search(self.buffer, self.at)
            if match is not None:
                self.at = match.start()
                return match[0]
            self.at = len(self.buffer)
            if not self._read_on():
                return b""

    def items(self) -> Iterator[tuple[None, int, bytes]]:
        """The elements of the list that begins here."""
        self._take(b"[", "a list")
        if self.peek() == b"]":
            self.at += 1
            return
        while True:
            offset, text = self.value()
            yield None, offset, text
            if not self._goes_on(b"]"):
                return

    def members(self) -> Iterator[tuple[str, int, bytes]]:
        """The members of the object that begins here."""
        for key, _, _ in self.openings(skip=False):
            offset, text = self.value()
            yield key, offset, text

    def openings(self, *, skip: bool = True) -> Iterator[tuple[str, int, bytes]]:
        """Key, offset and first byte of each member's value; the value is stepped over if `skip`."""
        self._take(b"{", "an object")
        if self.peek() == b"}":
            self.at += 1
            return
        while True:
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
            if not self._goes_on(b"}"):
                return

    def value(self) -> tuple[int, bytes]:
        """Take the value that begins here."""
        self.peek()
        size = self._size()
        begin = self.at
        self.at += size
        return self.base + begin, self.buffer[begin : self.at].rstrip()

    def malformed(self, expected: str) -> DataError:
        """The error for something else than expected."""
        found = self.buffer[self.at : self.at + 30].decode("utf-8", "replace") or "the end of the file"
        return DataError(
            f"{self.path.name}: not JSON at byte {self.base + self.at}: expected {expected}, found {found!r}",
            hint="check the file with a JSON tool; for one object per line use --format jsonl",
        )

    def _size(self) -> int:
        """Bytes from here to the end of the value."""
        depth = size = 0
        while True:
            match = (_NESTED_STRUCTURE if depth else _STRUCTURE).search(self.buffer, self.at + size)
            if match is None:
                size = len(self.buffer) - self.at
                if not self._read_on():
                    raise self.malformed("a value that ends")
                continue
            size = match.end() - self.at
            mark = match[0]
            if mark == b'"':
                size = self._string_size(size)
            elif mark in b"{[":
                depth += 1
                continue
            elif depth == 0:  # the comma or bracket after a number or a word
                return size - 1
            else:
                depth -= 1
            if depth == 0:
                return size

    def _string_size(self, size: int) -> int:
        """`size` stands just behind an opening quote; the result just behind the closing one."""
        while True:
            at = self.buffer.find(b'"', self.at + size)
            if at < 0:
                size = len(self.buffer) - self.at
                if not self._read_on():
                    raise self.malformed("a text that ends")
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

    def _goes_on(self, closing: bytes) -> bool:
        """Take the comma or the closing bracket behind a value."""
        mark = self.peek()
        if mark not in (b",", closing):
            raise self.malformed(f"a comma or {closing.decode()}")
        self.at += 1
        return mark == b","

    def _read_on(self) -> bool:
        """Drop what lies behind and read as much again, so that a long value costs linear time."""
        kept = len(self.buffer) - self.at
        if kept > MAX_ROW_BYTES:
            raise self.malformed(f"a row of at most {MAX_ROW_BYTES // 1024 // 1024} MB")
        chunk = self.file.read(max(_CHUNK_BYTES, kept))
        if not chunk:
            return False
        self.base += self.at
        self.buffer = self.buffer[self.at :] + chunk
        self.at = 0
        return True
