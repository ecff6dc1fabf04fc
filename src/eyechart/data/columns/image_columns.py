"""Image columns: how their cells are read, and which columns they are.

A cell, stripped, is read by the first rule that applies:

1. ``data:image/...;base64,`` begins a data URL; ``http://`` and ``https://`` begin a URL, and so does any
   other ``scheme://`` (which is refused later, not taken for a path).
2. ``[`` to ``]`` is a list; its items are read by these rules, but cannot refer to a row.
3. A file extension such as ``.jpg`` makes it a path: base64 has no dot.
4. Up to 64 characters is the index of another row, as in MMBench's files, unless it begins like an encoded
   image (a one-pixel GIF fits) or holds a character no index would, such as a slash.
5. Anything longer is base64 if it begins like an encoded image, if its first characters are of that
   alphabet or if it is longer than any path can be, else a path.

A column that can only hold paths (`image_path`, `file_name`) skips rules 4 and 5.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any, Literal
from urllib.parse import unquote

import msgspec
import pybase64

from eyechart.data.files.pdf import list_pages, split_page
from eyechart.data.files.rows import URLS, Blob, Row, read_list_items
from eyechart.types import ImageRef

REFERENCE_CHARS = 64  # the official loader's limit for an index

# Media by file extension.
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "image": (
        ".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".jfif", ".avif", ".jp2", ".ppm",
        ".pgm", ".heic", ".heif", ".svg", ".ico",
    ),
    "video": (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg", ".wmv", ".flv", ".3gp"),
    "audio": (".wav", ".mp3", ".flac", ".ogg", ".m4a", ".aac"),
    "document": (".pdf",),
}  # fmt: skip
IMAGE_SUFFIXES = tuple(ending.encode() for ending in ENDINGS["image"])
# Where an object has its image, in the order of preference.
_KEYS = (
    "bytes", "base64", "b64", "url", "path", "file", "file_name", "filename", "image_url", "image", "src",
    "data",
)  # fmt: skip

# The first base64 characters of JPEG, PNG, GIF, WebP (RIFF) and TIFF files.
_IMAGE_HEADS = (b"/9j/", b"iVBORw0KGgo", b"R0lGOD", b"UklGR", b"SUkqA", b"TU0AK")
_BASE64_HEAD = re.compile(rb"[A-Za-z0-9+/=\s]*")
_HEAD_BYTES = 256
_MAX_PATH_BYTES = 4096  # what operating systems allow
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://")
_SUFFIX = re.compile(  # at the end of a path
    rb"(?:" + b"|".join(map(re.escape, IMAGE_SUFFIXES)) + rb"|\.pdf(?:#page=[0-9]{1,6})?)$", re.IGNORECASE
)
_DATA_URL = re.compile(rb"data:[^,]{0,200};base64,", re.IGNORECASE)


class RowReference(msgspec.Struct, frozen=True):
    """The image of the row whose index is `id`."""

    id: str


Refs = Sequence[ImageRef | RowReference]


class ImageCells(msgspec.Struct, frozen=True):
    """Reads the image cells of one file. `to_file` turns a path as written into a reference."""

    location: str  # the file of the cells
    to_file: Callable[[str], ImageRef]
    allow_urls: bool = True
    encoding: str = "utf-8"
    by_row: Literal["parquet", "hub"] = "parquet"  # for cells that are read by row number

    def read(self, value: Any, row: int, *, only_paths: bool = False) -> list[ImageRef | RowReference]:
        """The images of one value, in order; ValueError says why it is not an image."""
        value = self._to_blob(value)
        parts: Sequence[Any] | None = value if isinstance(value, list) else None
        if isinstance(value, Blob):
            if not value.data.strip():
                return []
            if (texts := read_list_items(value.data)) is not None:
                parts = [Blob(text, value.find(text)) for text in texts if text.strip()]
            elif texts := _split_several(value.data):
                parts = [Blob(text) for text in texts]
        several = [value] if parts is None else [part for part in parts if part not in (None, "")]
        found = [self._one(part, row, parts is not None, only_paths) for part in several]
        return [one for refs in found for one in refs]

    def _to_blob(self, value: Any) -> Any:
        return Blob(value.encode(self.encoding, "surrogatepass")) if isinstance(value, str) else value

    def _one(self, value: Any, row: int, in_list: bool, only_paths: bool) -> Refs:
        if isinstance(value, ImageRef):
            return [value]
        if isinstance(value, dict):  # {"path": ..., "bytes": base64} as media columns are written in JSON
            found = next((value[key] for key in _KEYS if value.get(key)), None)
            found = found.get("url") if isinstance(found, dict) else found  # {"image_url": {"url": ...}}
            if not isinstance(found, str):
                raise ValueError(f"an object without path, url or bytes (keys: {', '.join(map(str, value))})")
            value = found
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # an index that was not quoted
        value = self._to_blob(value)
        if not isinstance(value, Blob):
            raise ValueError(f"{type(value).__name__} {str(value)[:40]!r} is not text or an object")
        data = value.data.strip()
        if b".pdf" in data[-16:].lower():
            file, page = split_page(self._decoded(data))
            if file and not _SCHEME.match(data[:40]):
                return list_pages(self.to_file(file), page)
        return [self._text(value, data, row, in_list, only_paths)]

    def _text(
        self, blob: Blob, data: bytes, row: int, in_list: bool, only_paths: bool
    ) -> ImageRef | RowReference:
        if match := _DATA_URL.match(data):
            return self._base64(blob, data[match.end() :], row)
        if data[:8].lower() == b"file:///" and data[-5:].lower().endswith(IMAGE_SUFFIXES):
            return self.to_file(read_file_url(self._decoded(data)))
        if _SCHEME.match(data[:40]):
            return ImageRef(kind="url", location=self._decoded(data), refused="" if self.allow_urls else URLS)
        if only_paths or data[-5:].lower().endswith(IMAGE_SUFFIXES):
            return self.to_file(self._decoded(data))
        if len(data) > REFERENCE_CHARS or data.startswith(_IMAGE_HEADS):
            is_base64 = (
                len(data) > _MAX_PATH_BYTES
                or data.startswith(_IMAGE_HEADS)
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
            content, n = _identify_content(text), len(text)
            return ImageRef(kind="cell", location=self.location, offset=offset, length=n, content=content)
        if blob.raw and blob.offset >= 0 and b"\\" in blob.raw:  # JSON's `\/`: the loader removes it
            begin = blob.raw.find(b",") + 1 if blob.raw[:5].lower() == b"data:" else 0
            length = len(blob.raw) - begin
            return ImageRef(kind="cell", location=self.location, offset=blob.offset + begin, length=length)
        return ImageRef(kind="data", location=text.decode("ascii", "replace"))

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode(self.encoding)
        except UnicodeDecodeError as err:
            raise ValueError(f"the path is not {self.encoding.upper()} text: {data[:60]!r}") from err


def _identify_content(text: bytes) -> str:
    """A name for an embedded image: from its length and parts of it, in 2 µs whatever its size.

    The end of a compressed image depends on nearly all of it. Two images with one name would only make the
    interval of their questions a little longer.
    """
    middle = len(text) // 2
    parts = b"%d %b" % (len(text), text[:128] + text[middle : middle + 256] + text[-512:])
    return hashlib.blake2b(parts, digest_size=12).hexdigest()


def _split_several(data: bytes) -> list[bytes]:
    """The paths or URLs in one cell, separated by line breaks, semicolons, bars or commas; empty for one."""
    if len(data) > _MAX_PATH_BYTES:
        return []
    for separator in (b"\n", b";", b"|", b","):
        if separator not in data:
            continue
        parts = [part for one in data.split(separator) if (part := one.strip())]
        n_urls = sum(_SCHEME.match(part) is not None for part in parts)
        is_list = separator == b"\n" and n_urls == len(parts)
        is_list |= n_urls in (0, len(parts)) and all(_SUFFIX.search(part[-16:]) for part in parts)
        if len(parts) > 1 and is_list:
            return parts
    return []


def read_file_url(text: str) -> str:
    """The path in a ``file:`` URL.

    >>> read_file_url("file:///home/ann/a%20b.png"), read_file_url("file:///C:/a.png")
    ('/home/ann/a b.png', 'C:/a.png')
    """
    path = unquote(text[len("file://") :]).removeprefix("localhost")
    return path[1:] if path[2:3] == ":" else path


# -- Which columns hold images
#
# Names alone are not enough: a file with an unknown image column would be asked without its images. So cells
# are examined, too: a column of file names, URLs or encoded images is reported whatever its name.

# These hold images whatever their cells look like; the first that exists is used.
ALWAYS = ("image", "images", "img", "image_path", "file_name")
# Further names, used if the cells look like images: a noun in one of the forms, or a plain name. `image` and
# `img` are one noun, and the plain names belong to it: in one row they all mean the same image.
_NOUNS = (("image", "img"), ("picture", "pic"), ("photo",), ("figure", "fig"), ("screenshot",), ("frame",))
_FORMS = (
    "", "s", "_path", "_paths", "_file", "_files", "_filename", "_file_name", "_name", "_names", "_url",
    "_urls", "_uri", "_link", "_src", "_location", "_base64", "_b64", "_bytes", "_data",
)  # fmt: skip
_PLAIN = ("filename", "file_path", "filepath", "file", "files", "path", "paths", "url", "base64", "b64")
# The names of one image each, in the order of preference.
NAME_GROUPS = tuple(
    tuple(dict.fromkeys((*always, *(noun + form for noun in nouns for form in _FORMS), *plain)))
    for nouns, always, plain in [(_NOUNS[0], ALWAYS, _PLAIN), *((nouns, (), ()) for nouns in _NOUNS[1:])]
)
_ALL = frozenset(name for names in NAME_GROUPS for name in names)
_NAMED = _ALL - {*_PLAIN}
_PATHS = ("path", "paths", "file", "files", "name", "names", "filename", "filepath")

_IDS = re.compile(r"(?:image|img|picture|photo|figure|screenshot|video)_?ids?")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NUMBERED = re.compile(r"([a-z_]*[a-z])_?([0-9]{1,3})(_[a-z_0-9]+)?")

_KIND = {ending: kind for kind, endings in ENDINGS.items() for ending in endings}
_MEDIA_DATA_URL = re.compile(r"data:(image|video|audio)/", re.IGNORECASE)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_ENCODED = re.compile(r"[A-Za-z0-9+/\s]{40}")
_FIRST_ITEM = re.compile(r"""\[\s*['"]([^'"]*)""")
_EXAMINED_CHARS = 1024  # of a cell: longer than any real path
_EXAMINED_CELLS = 1000  # of a column


def is_filled(value: Any) -> bool:
    """Whether a cell has a value."""
    return value is not None and value != "" and value != [] and value != {}


def find_image_slots(columns: Sequence[str], rows: Sequence[Row]) -> tuple[tuple[str, ...], ...]:
    """The image columns: for each image of a row, in order, the columns it may be in.

    Numbered columns (``image_1``, ``image_2``) are several images; other names mean one image.

    >>> find_image_slots(["image", "image_path", "answer"], []), find_image_slots(["img_path"], [])
    ((('image', 'image_path'),), ())
    >>> find_image_slots(["image_2", "image_1"], [Row(1, 2, {"image_1": "a.png", "image_2": None})])
    (('image_1',), ('image_2',))
    """
    for names in NAME_GROUPS:
        plain = _without_number(names, columns, rows)
        numbered: dict[int, tuple[str, ...]] = {}
        looks = []  # an empty numbered column counts if another has images
        for column in columns:
            name, number = parse_column_name(column)
            if number is not None and name in names:
                looks.append(_looks_right(column, name, rows))
                if looks[-1] is not False:
                    numbered[number] = (*numbered.get(number, ()), column)
        if True in looks:
            each = tuple(numbered[number] for number in sorted(numbered))
            # Beside `image2` the column `image` is the first; beside `image_1` its meaning is unclear.
            return (plain, *each) if plain and min(numbered) > 1 else each
        if plain:
            return (plain,)
    return ()


def find_same_images(slots: Sequence[Sequence[str]], columns: Sequence[str]) -> set[str]:
    """Further columns that hold another form of an image in `slots`."""

    def place(column: str) -> tuple[Sequence[str], int | None]:
        name, number = parse_column_name(column)
        return next((names for names in NAME_GROUPS if name in names), (column,)), number

    used = {place(column) for slot in slots for column in slot}
    return {column for column in columns if is_image_name(column) and place(column) in used}


def _without_number(names: Sequence[str], columns: Sequence[str], rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns of a group without a number, in the order of its names."""
    found: dict[str, str] = {}
    for column in columns:
        name, number = parse_column_name(column)
        if number is None and name in names and (column == name or name not in found):
            found[name] = column  # prefer `image` to `Image`
    if always := [found[name] for name in ALWAYS if name in found]:
        exact = [column for column in always if column in ALWAYS]
        return tuple(exact or always[:1]) if ALWAYS[0] in names else ()
    return tuple(found[name] for name in names if name in found and _looks_right(found[name], name, rows))


def _looks_right(column: str, name: str, rows: Sequence[Row]) -> bool | None:
    """Whether at least half of the cells look like images; None if all are empty."""
    looks = [guess_media(value, name) for row in rows if is_filled(value := row.values.get(column))]
    return 2 * looks.count("image") >= len(looks) if looks else None


@lru_cache(1024)
def parse_column_name(column: str) -> tuple[str, int | None]:
    """The name of a column in the spelling of the lists above, and its number.

    >>> parse_column_name("imagePath"), parse_column_name(" Img-2"), parse_column_name("image_1_url")
    (('image_path', None), ('img', 2), ('image_url', 1))
    """
    name = re.sub(r"[\s.-]+", "_", _CAMEL.sub("_", column.strip())).lower()
    if name not in _ALL and (match := _NUMBERED.fullmatch(name)):
        return match[1] + (match[3] or ""), int(match[2])
    return name, None


def is_image_name(column: str) -> bool:
    """Whether a column has an image name.

    >>> is_image_name("imgPath"), is_image_name("photo_2"), is_image_name("impath")
    (True, True, False)
    """
    return parse_column_name(column)[0] in _ALL


def list_next_names(column: str, n: int) -> list[str]:
    """The names of the next numbered columns.

    >>> list_next_names("image_2", 2)
    ['image_3', 'image_4']
    """
    match = re.search(r"[0-9]+", column)
    if match is None:
        return []
    before, after, last = column[: match.start()], column[match.end() :], int(match[0])
    return [f"{before}{number}{after}" for number in range(last + 1, last + 1 + n)]


def is_path_column(column: str) -> bool:
    """Whether an image column holds file names or URLs, never encoded images."""
    return parse_column_name(column)[0].rpartition("_")[2] in _PATHS


def find_unread_images(columns: Sequence[str], rows: Sequence[Row], seen: Collection[str]) -> tuple[str, ...]:
    """Columns named like image columns that hold something else: ids, or names without an extension."""
    return tuple(
        column
        for column in columns
        if column not in seen
        and (parse_column_name(column)[0] in _NAMED or _IDS.fullmatch(parse_column_name(column)[0]))
        and any(is_filled(row.values.get(column)) for row in rows)
    )


class MediaColumn(msgspec.Struct, frozen=True):
    """A column whose cells look like images, videos, audio or documents."""

    column: str
    kind: str
    row: int
    example: str


class MediaDetector:
    """Finds columns of media, row by row; `skipped` columns are not examined."""

    def __init__(self, skipped: Collection[str]) -> None:
        self._skipped = skipped
        self._n_cells: Counter[str] = Counter()
        self._n_media: Counter[str] = Counter()
        self._first: dict[str, MediaColumn] = {}

    def add_row(self, number: int, values: Mapping[str, Any]) -> None:
        for column, value in values.items():
            if column in self._skipped or not is_filled(value):
                continue
            if self._n_cells[column] >= _EXAMINED_CELLS:
                continue
            self._n_cells[column] += 1
            if kind := guess_media(value, parse_column_name(column)[0]):
                self._n_media[column] += 1
                self._first.setdefault(column, MediaColumn(column, kind, number, _example(value)))

    def found(self) -> list[MediaColumn]:
        """The columns in which at least half of the cells look like media."""
        return [one for name, one in self._first.items() if 2 * self._n_media[name] >= self._n_cells[name]]


def find_media(rows: Sequence[Row], skipped: Collection[str]) -> list[MediaColumn]:
    """The columns whose cells look like images, videos, audio or documents."""
    looks = MediaDetector(skipped)
    for row in rows:
        looks.add_row(row.number, row.values)
    return looks.found()


def guess_media(value: Any, name: str = "") -> str:
    """The medium that a cell looks like: ``image``, ``video``, ``audio``, ``document``, or empty.

    In a column with an image `name`, every URL is an image.

    >>> guess_media("photos/cat 1.JPG"), guess_media("https://a.org/x.png?w=2")
    ('image', 'image')
    >>> guess_media("clip.mp4"), guess_media("a cat")
    ('video', '')
    """
    if isinstance(value, str):
        return _guess_by_text(value, name)
    if isinstance(value, Blob):
        return _guess_by_text(value.data[: _EXAMINED_CHARS + 1].decode("utf-8", "replace"), name)
    if isinstance(value, ImageRef):
        return "image"
    if isinstance(value, bytes):
        return _guess_by_bytes(value)
    if isinstance(value, list):
        return next(filter(None, (guess_media(item, name) for item in value[:4])), "")
    if isinstance(value, dict):
        values = (value[key] for key in _KEYS if is_filled(value.get(key)))
        return next(filter(None, (guess_media(one, name) for one in values)), "")
    return ""


def _guess_by_text(text: str, name: str) -> str:
    is_long = len(text) > _EXAMINED_CHARS
    text = text[:_EXAMINED_CHARS].strip()
    if match := _FIRST_ITEM.match(text):
        is_long &= match.end() == len(text)
        text = match[1]
    if match := _MEDIA_DATA_URL.match(text):
        return match[1].lower()
    if _ADDRESS.match(text):
        place = re.split(r"[?#]", text, maxsplit=1)[0]
        return _guess_by_extension(place) or ("image" if name in _NAMED else "")
    if not is_long and "\n" not in text and (kind := _guess_by_extension(text)):
        return kind
    if _ENCODED.match(text):
        with contextlib.suppress(ValueError):
            return _guess_by_bytes(pybase64.b64decode("".join(text[:48].split())[:32]))
    return ""


def _guess_by_extension(place: str) -> str:
    dot = place.rfind(".", -5)
    return _KIND.get(place[dot:].lower(), "") if dot >= 0 else ""


# How files of media begin.
_BEGINNINGS = {
    kind: re.compile(mark, re.DOTALL)
    for kind, mark in {
        "image": rb"\xff\xd8\xff|\x89PNG\r\n|GIF8|II\*\0|MM\0\*|\0\0\0\x0cjP  |BM....\0\0\0\0|RIFF....WEBP"
        rb"|....ftyp(?:avif|avis|heic|heix|mif1)",
        "video": rb"....ftyp|RIFF....AVI |\x1aE\xdf\xa3",
        "audio": rb"RIFF....WAVE",
        "document": rb"%PDF-",
    }.items()
}


def _guess_by_bytes(data: bytes) -> str:
    return next((kind for kind, mark in _BEGINNINGS.items() if mark.match(data)), "")


def _example(value: Any) -> str:
    """A cell for a message: its first characters, or the kind of value."""
    if isinstance(value, Blob):
        value = value.data[:60].decode("utf-8", "replace")
    if isinstance(value, list):
        return f"a list that begins with {_example(value[0])}"
    if not isinstance(value, str):
        return f"an object with {', '.join(map(str, value))}" if isinstance(value, dict) else "encoded image"
    return repr(value if len(value) <= 50 else value[:40] + "…")


def select_image_cells(
    values: Mapping[str, Any], slots: Sequence[Sequence[str]]
) -> Iterator[tuple[str, Any]]:
    """The columns of a row that hold its images, in order, with their values."""
    for slot in slots:
        for column in slot:
            if is_filled(value := values.get(column)):
                yield column, value
                break


# -- Images by name, where they are not at the path that a file gives
#
# A spreadsheet often has the paths of another machine, or names files without their folder, without their
# extension or in other case. If images of the first rows are missing, all missing ones are looked for below
# the folder of the file: the name must fit, and of several files the one whose path has the longest common
# end is used. What was found is reported to the user.

_MAX_FILES = 500_000
_MAX_DEPTH = 4


class ImageSearch:
    """The image files below a folder, by name; remembers what it was asked for."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.found: dict[str, str] = {}  # path as written to path, empty where none fits

    def find(self, written: str) -> str:
        """The one file that a path means; empty if there is none, or if several fit equally well."""
        if written not in self.found:
            self.found[written] = self._find(written)
        return self.found[written]

    def _find(self, written: str) -> str:
        parts = split_path(written)
        fits = sorted((self._compare(parts, path), path) for path in self.list_alike(written))
        if not fits or (len(fits) > 1 and fits[-1][0] == fits[-2][0]):
            return ""
        (n_common, _), found = fits[-1]
        place = "/".join(written.strip().replace("\\", "/").split("/")[:-1])
        if place and not n_common and os.path.isdir(os.path.join(self.folder, place)):  # noqa: PTH112, PTH118
            return ""  # the folder that it names is there, and does not have it
        return found

    def _compare(self, parts: Sequence[str], path: str) -> tuple[int, bool]:
        """How many folders agree, from the last one on, and whether these are all below ours."""
        inside = split_path(os.path.relpath(path, self.folder))[:-1]
        pairs = zip(reversed(parts[:-1]), reversed(inside), strict=False)
        n = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        return n, n == len(inside)

    def list_alike(self, written: str) -> list[str]:
        """All files with the name of a path."""
        parts = split_path(written)
        return sorted(self._by_name.get(parts[-1], ())) if parts else []

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        """Paths by their names in lower case, with and without the ending."""
        found: dict[str, list[str]] = {}
        for path in self._walk():
            name = os.path.basename(path).casefold()  # noqa: PTH119 - there may be half a million
            for key in (name, name.rpartition(".")[0]):
                found.setdefault(key, []).append(path)
        return found

    def _walk(self) -> Iterator[str]:
        n_files = 0
        for place, folders, files in os.walk(self.folder):
            is_deep = place[len(self.folder) :].count(os.sep) >= _MAX_DEPTH
            folders[:] = [] if is_deep or "run.sqlite" in files else [n for n in folders if n[0] != "."]
            for name in files:
                if name[0] != "." and name.lower().endswith((*ENDINGS["image"], ".pdf")):
                    yield os.path.join(place, name)  # noqa: PTH118
            n_files += len(files)
            if n_files > _MAX_FILES:
                return


def split_path(written: str) -> tuple[str, ...]:
    r"""The parts of a path of any system, in lower case, without drive and page.

    >>> split_path(r"C:\Users\Ann\1.JPG"), split_path("./scans/a.pdf#page=2")
    (('users', 'ann', '1.jpg'), ('scans', 'a.pdf'))
    """
    path = written.strip().replace("\\", "/").casefold()
    if path[1:2] == ":":
        path = path[2:]
    before, mark, _ = path.rpartition("#page=")
    parts = PurePosixPath(before if mark else path).parts
    return tuple(part for part in parts if part not in ("/", "//", "."))
