"""What an image cell means: base64, a list, a path, an address, or another row's picture.

The rules, in this order, for a cell without its outer blanks:

1. ``data:image/...;base64,`` begins a data URL; ``http://`` and ``https://`` begin an address, and so does
   any other ``scheme://`` (which is then refused, not taken for a path).
2. ``[`` to ``]`` is a list; each item is read by these rules, but cannot refer to a row.
3. An ending such as ``.jpg`` makes it a path: base64 has no dot.
4. Up to 64 characters is the index of another row, as in MMBench's files, unless it begins like an encoded
   picture (a one-pixel GIF fits) or holds a character no index would, such as a slash.
5. Anything longer is base64 if it begins like an encoded picture, if its first characters are of that
   alphabet or if it is longer than any path can be, else a path.

A column that can only hold paths (`image_path`, `file_name`) skips rules 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from eyechart.data.literals import read_list_items
from eyechart.data.paths import URLS
from eyechart.data.rows import Blob
from eyechart.types import ImageRef

REFERENCE_CHARS = 64  # the official loader's line between an index and base64

PICTURE_SUFFIXES = (
    b".jpg", b".jpeg", b".png", b".webp", b".gif", b".bmp", b".tif", b".tiff", b".jfif", b".avif", b".jp2",
    b".ppm", b".pgm", b".heic", b".svg", b".ico",
)  # fmt: skip

# The first base64 characters of JPEG, PNG, GIF, WebP (RIFF) and TIFF files.
_PICTURE_HEADS = (b"/9j/", b"iVBORw0KGgo", b"R0lGOD", b"UklGR", b"SUkqA", b"TU0AK")
_BASE64_HEAD = re.compile(rb"[A-Za-z0-9+/=\s]*")
_HEAD_BYTES = 256
_MAX_PATH_BYTES = 4096  # what operating systems allow
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://")
_DATA_URL = re.compile(rb"data:[^,]{0,200};base64,", re.IGNORECASE)


class RowReference(msgspec.Struct, frozen=True):
    """The picture is another row's: the one whose index is `id`."""

    id: str


class ImageCells(msgspec.Struct, frozen=True):
    """Reads image cells of one file. `to_file` turns a path as written into a reference."""

    location: str  # the file the cells lie in
    to_file: Callable[[str], ImageRef]
    allow_urls: bool = True
    encoding: str = "utf-8"
    by_row: Literal["parquet", "hub"] = "parquet"  # what a column is read from that has rows and no bytes

    def read(self, value: Any, row: int, *, only_paths: bool = False) -> list[ImageRef | RowReference]:
        """The pictures of one value, in order; ValueError says why it cannot be one."""
        if isinstance(value, str):
            value = Blob(value.encode(self.encoding, "surrogatepass"))
        if isinstance(value, Blob) and not value.data.strip():
            return []
        if isinstance(value, Blob) and (items := _items(value)) is not None:
            return [self._one(item, row, True, only_paths) for item in items if item.data.strip()]
        if isinstance(value, list):
            return [ref for item in value for ref in self._listed(item, row, only_paths)]
        return [self._one(value, row, False, only_paths)]

    def _listed(self, item: Any, row: int, only_paths: bool) -> Iterator[ImageRef | RowReference]:
        if item is None or item == "":
            return
        if isinstance(item, str):
            item = Blob(item.encode(self.encoding, "surrogatepass"))
        yield self._one(item, row, True, only_paths)

    def _one(self, value: Any, row: int, in_list: bool, only_paths: bool) -> ImageRef | RowReference:
        if isinstance(value, ImageRef):
            return value
        if isinstance(value, dict):  # {"path": ..., "bytes": base64} as media columns are written in JSON
            found = next((value[key] for key in ("bytes", "base64", "url", "path") if value.get(key)), None)
            if not isinstance(found, str):
                raise ValueError(
                    f"an object without path, url or bytes (found: {', '.join(map(str, value))})"
                )
            value = Blob(found.encode(self.encoding, "surrogatepass"))
        if isinstance(value, int) and not isinstance(value, bool):
            value = Blob(str(value).encode())  # an index that was not quoted
        if not isinstance(value, Blob):
            raise ValueError(f"{type(value).__name__} {str(value)[:40]!r} is neither text nor an object")
        return self._text(value, row, in_list, only_paths)

    def _text(self, blob: Blob, row: int, in_list: bool, only_paths: bool) -> ImageRef | RowReference:
        data = blob.data.strip()
        if match := _DATA_URL.match(data):
            return self._base64(blob, data[match.end() :], row)
        if _SCHEME.match(data[:40]):
            return ImageRef(kind="url", location=self._decoded(data), refused="" if self.allow_urls else URLS)
        if only_paths or data[-5:].lower().endswith(PICTURE_SUFFIXES):
            return self.to_file(self._decoded(data))
        if len(data) > REFERENCE_CHARS or data.startswith(_PICTURE_HEADS):
            is_base64 = (
                len(data) > _MAX_PATH_BYTES
                or data.startswith(_PICTURE_HEADS)
                or _BASE64_HEAD.fullmatch(data, 0, _HEAD_BYTES)
            )
            return self._base64(blob, data, row) if is_base64 else self.to_file(self._decoded(data))
        if not in_list and not set(b"/\\").intersection(data):
            return RowReference(self._decoded(data))
        if in_list and _BASE64_HEAD.fullmatch(data):
            return self._base64(blob, data, row)
        return self.to_file(self._decoded(data))

    def _base64(self, blob: Blob, text: bytes, row: int) -> ImageRef:
        if blob.column:
            return ImageRef(kind=self.by_row, location=self.location, offset=row - 1, column=blob.column)
        offset = blob.find(text)
        if offset >= 0:
            return ImageRef(kind="cell", location=self.location, offset=offset, length=len(text))
        if blob.raw and blob.offset >= 0 and b"\\" in blob.raw:  # JSON's `\/`: the loader takes it out
            begin = blob.raw.find(b",") + 1 if blob.raw[:5].lower() == b"data:" else 0
            length = len(blob.raw) - begin
            return ImageRef(kind="cell", location=self.location, offset=blob.offset + begin, length=length)
        return ImageRef(kind="data", location=text.decode("ascii", "replace"))

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode(self.encoding)
        except UnicodeDecodeError as err:
            raise ValueError(f"a path that is not {self.encoding.upper()} text: {data[:60]!r}") from err


def _items(blob: Blob) -> list[Blob] | None:
    """The items of a list written as text, each with its own place; a cell read by row has no such places."""
    texts = read_list_items(blob.data)
    return None if texts is None else [Blob(text, blob.find(text)) for text in texts]
