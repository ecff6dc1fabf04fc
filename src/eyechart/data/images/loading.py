"""Loads images: references become `Image`s that are ready to send.

Base64 that is already a JPEG, PNG, WebP or still GIF and needs no crop goes from the file to the request
unchanged: it is decoded once to be checked and hashed, and not encoded again unless a JPEG quality is set. No
image is kept, so memory is bounded by the requests in flight. EXIF orientation is left in the file,
unapplied.

`Measurer` does the same for an estimate, without decoding. `OpenFiles` keeps data files open for their cells.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pybase64

from eyechart.data.files.hub import find_reader, read_hub_image
from eyechart.data.files.parquet import ParquetCells
from eyechart.data.files.pdf import render_page
from eyechart.data.files.rows import (
    MAX_FILE_BYTES,
    MAX_SENT_BYTES,
    REFUSALS,
)
from eyechart.data.files.sheets import read_member
from eyechart.data.images.pixels import (
    MIME,
    Encoded,
    clip_box,
    decode,
    decode_fully,
    fit_size,
    inspect,
    is_complete,
    make_thumbnail,
    open_image,
    read_orientation,
    reencode,
)
from eyechart.errors import ImageError, UsageError
from eyechart.memory import claim_image, reserve
from eyechart.types import Image, ImageRef

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage

    from eyechart.data.images.fetch import Fetcher


_KEPT_OPEN = 8  # files; a run usually has one
# The file may have been replaced by a pipe: opening it must not block.
_MODE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class _Kept(NamedTuple):
    handle: int
    status: os.stat_result  # when it was opened


class OpenFiles:
    """Reads byte ranges of data files and keeps the files open: opening one costs more than reading a cell.

    Ranges refer to the file as it was first opened, even if another file has replaced it since. If it was
    changed in place, reading raises `ImageError`. Threads may read at the same time.
    """

    def __init__(self) -> None:
        self._files: dict[str, _Kept] = {}
        self._opening = threading.Lock()

    def status(self, path: str, look: Callable[[], os.stat_result]) -> os.stat_result:
        """The status of the file when it was opened; `look` raises if it cannot be."""
        if kept := self._files.get(path):
            return kept.status
        status = look()
        with suppress(OSError):  # reading it will raise
            kept = self._keep(path)
        return kept.status if kept else status

    def knows(self, path: str) -> bool:
        return path in self._files

    def read(self, path: str, offset: int, length: int) -> bytes:
        """The bytes of one cell; fewer if the file ends within it."""
        kept = self._files.get(path) or self._keep(path)
        if kept is None:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a path as the file wrote it
                file.seek(offset)
                return file.read(length)
        data = os.pread(kept.handle, length, offset)
        now, before = os.fstat(kept.handle), kept.status
        if now.st_mtime_ns != before.st_mtime_ns or now.st_size != before.st_size:
            raise ImageError(f"{path}: the file was changed during the run", hint="start the run again")
        return data

    def _keep(self, path: str) -> _Kept | None:
        """Open the file and keep it open; None at the limit, or where the system has no `pread`."""
        with self._opening:
            if path not in self._files and len(self._files) < _KEPT_OPEN and hasattr(os, "pread"):
                handle = os.open(path, _MODE)
                self._files[path] = _Kept(handle, os.fstat(handle))
            return self._files.get(path)

    def close(self, close: Callable[[int], None] = os.close) -> None:
        """Close the files. No thread may be reading; a later read opens them again."""
        # The function is an argument: at interpreter shutdown, modules may be gone already.
        while self._files:
            try:  # noqa: SIM105 - as above
                close(self._files.popitem()[1].handle)
            except OSError:
                pass

    __del__ = close


_MAX_SHOWN_CHARS = 200  # characters of a path in a message
_SENT_AS_THEY_ARE = (b"\x89PNG", b"\xff\xd8\xff")
_BLANKS = b" \t\r\n\v\f"
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]")


class MissingImage(ImageError):
    """The image file does not exist."""


class _Raw(msgspec.Struct, frozen=True):
    """An image file: its bytes, the base64 text if stored as such, the path if it has one."""

    data: bytes
    base64: bytes = b""
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLoader:
    """Loads images. Share one between threads; it keeps no image."""

    max_pixels: int | None = None
    max_side: int | None = None  # of the longer side
    jpeg_quality: int | None = None  # re-encode every image as JPEG, even a JPEG
    allow_urls: bool = True
    allow_private_urls: bool = False
    cache_dir: Path | str | None = None
    _cells: OpenFiles = field(default_factory=OpenFiles, repr=False, compare=False)
    _parquet: ParquetCells = field(default_factory=ParquetCells, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.jpeg_quality is not None and not 1 <= self.jpeg_quality <= 100:
            hint = "use 1 to 100; Pillow's default is 75"
            raise UsageError(f"invalid JPEG quality: {self.jpeg_quality}", hint=hint)

    def close(self) -> None:
        """Close the data files that are kept open. No thread may be loading."""
        self._cells.close()
        self._parquet.close()

    def load(self, ref: ImageRef) -> Image:
        """The image, checked, and re-encoded only if necessary; `ImageError` if it cannot be sent."""
        what = str(ref)
        raw = self._read(ref)
        header = inspect(raw.data, what)
        size = (header.width, header.height)
        is_too_large = fit_size(*size, self.max_pixels, self.max_side) != size
        must_change = header.format not in MIME or header.is_animated or ref.box is not None or is_too_large
        if not must_change and self.jpeg_quality is None:
            if len(raw.data) > MAX_SENT_BYTES:
                raise _too_large(what, len(raw.data))
            return Image.encode(
                raw.data, MIME[header.format], size, text=raw.base64, origin=what, path=raw.path
            )
        limits = {"max_pixels": self.max_pixels, "max_side": self.max_side, "jpeg_quality": self.jpeg_quality}
        new = reencode(raw.data, what, box=ref.box, **limits)
        size = (new.width, new.height)
        return Image.encode(
            new.data, MIME[new.format], size, resized=new.resized, reencoded=True, origin=what
        )

    def is_cached(self, ref: ImageRef) -> bool:
        """Whether an image at a URL was downloaded before."""
        return self._fetcher().read_cached(ref.location) is not None

    def describe(self, ref: ImageRef) -> Image:
        """The image as it is in its file, without the pixels."""
        what, data = str(ref), self._read(ref).data
        header = inspect(data, what)
        size = _crop(ref, (header.width, header.height))
        return Image(
            base64=b"",
            mime=MIME.get(header.format, MIME["PNG"]),
            width=size[0],
            height=size[1],
            sha256=hashlib.sha256(data).hexdigest(),
            n_bytes=len(data),
            origin=what,
        )

    def open(self, ref: ImageRef) -> PilImage:
        """The pixels of the image as it is in its file, cropped to the reference's box."""
        what = str(ref)
        image = decode(open_image(self.original(ref), what)[1], what)
        return image if ref.box is None else image.crop(clip_box(ref.box, image.size, what))

    def original(self, ref: ImageRef) -> bytes:
        """The bytes of the file, unchanged; `ImageError` if they are not an image."""
        data = self._read(ref).data
        inspect(data, str(ref))
        return data

    def make_thumbnail(self, ref: ImageRef, *, max_side: int, max_bytes: int) -> Encoded:
        """A small copy for pages, or the file itself where it is small enough.

        Nothing is downloaded: an image at a URL must be in the cache.
        """
        what = str(ref)
        with claim_image():
            data = self._read(ref, download=False).data
            if ref.box is None and len(data) <= max_bytes:
                header = inspect(data, what)
                if header.format in MIME and not header.is_animated:
                    return Encoded(data, header.format, header.width, header.height, resized=False)
            return make_thumbnail(data, what, box=ref.box, max_side=max_side, max_bytes=max_bytes)

    def load_here(self, ref: ImageRef) -> Image:
        """As `load`, but nothing is downloaded."""
        if ref.kind == "url":
            self._read(ref, download=False)
        with claim_image():
            return self.load(ref)

    def measure(self, ref: ImageRef) -> tuple[int, int] | None:
        """Width and height of the file's pixels; None for a crop, and for an image that viewers turn.

        Nothing is downloaded.
        """
        if ref.box is not None:
            return None
        with claim_image():
            _, image = open_image(self._read(ref, download=False).data, str(ref))
            return image.size if read_orientation(image) == 1 else None

    def check(self, ref: ImageRef) -> tuple[int, int, int]:
        """Decode every pixel; width, height and bytes of the file, or `ImageError`."""
        with claim_image():
            data = self._read(ref).data
            header = decode_fully(data, str(ref))
            return header.width, header.height, len(data)

    def fingerprint(self, ref: ImageRef) -> str:
        """A hash that changes with the file, the crop or our options; the image is not read."""
        _refuse(ref)
        parts = [ref.kind, ref.location, ref.offset, ref.length, ref.column, ref.box, self.max_pixels]
        if ref.kind == "hub":
            parts.append(find_reader(ref).identity)
        elif ref.kind not in ("url", "data"):
            is_cell = ref.kind == "cell"
            status = self._cells.status(ref.location, lambda: _status(ref)) if is_cell else _status(ref)
            parts += [status.st_size, status.st_mtime_ns]
        limits = {"side": self.max_side, "jpeg": self.jpeg_quality}
        parts += [f"{name} {value}" for name, value in limits.items() if value is not None]
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def _fetcher(self) -> Fetcher:
        from eyechart.data.images.fetch import Fetcher

        folder = Path(self.cache_dir) if self.cache_dir else None
        return Fetcher(cache_dir=folder, allow_private=self.allow_private_urls)

    def _read(self, ref: ImageRef, *, download: bool = True) -> _Raw:
        _refuse(ref)
        if ref.kind == "url":
            return _Raw(self._download(ref) if download else self._read_cached(ref))
        if ref.kind == "cell":
            return _from_base64(_read_cell(ref, self._cells), str(ref))
        if ref.kind == "data":
            return _from_base64(ref.location.encode("ascii", "replace"), str(ref))
        if ref.kind == "hub":
            return _to_raw(read_hub_image(ref), ref)
        n_bytes = _status(ref).st_size
        if ref.kind == "parquet":
            return _to_raw(self._parquet.read(ref), ref)
        if ref.kind in ("member", "page"):
            return _Raw(read_member(ref) if ref.kind == "member" else render_page(ref))
        is_sent_as_it_is = ref.box is None and not (self.max_pixels or self.max_side or self.jpeg_quality)
        return _Raw(_read_picture(ref, n_bytes, is_sent_as_it_is), path=None if ref.box else ref.location)

    def _download(self, ref: ImageRef) -> bytes:
        """An image from a URL, cached if it is valid; of several threads, one fetches it."""
        url, fetcher = ref.location, self._fetcher()
        if not self.allow_urls:
            raise ImageError(f"{url}: images from URLs are not allowed", hint="leave out --no-urls")
        with fetcher.lock(url) if self.cache_dir else nullcontext():
            if (kept := fetcher.read_cached(url)) is not None:
                return kept
            data = fetcher.fetch(url)
            inspect(data, str(ref))
            fetcher.write_cached(url, data)
            return data

    def _read_cached(self, ref: ImageRef) -> bytes:
        if (kept := self._fetcher().read_cached(ref.location)) is None:
            raise ImageError(f"{ref}: not in the cache")
        return kept


def _crop(ref: ImageRef, size: tuple[int, int]) -> tuple[int, int]:
    """The size of what the reference shows of an image."""
    if ref.box is None:
        return size
    left, top, right, bottom = clip_box(ref.box, size, str(ref))
    return right - left, bottom - top


def _to_raw(value: bytes | str, ref: ImageRef) -> _Raw:
    return _Raw(value) if isinstance(value, bytes) else _from_base64(value.encode(), str(ref))


def open_picture(ref: ImageRef) -> PilImage:
    """The image of a reference for people: decoded and cropped, as Pillow has it."""
    with closing(ImageLoader()) as loader:
        return loader.open(ref)


def _refuse(ref: ImageRef) -> None:
    """Raise for a reference whose path or URL must not be followed (see `PathRules`)."""
    if ref.refused:
        why, hint = REFUSALS[ref.refused]
        raise ImageError(f"{ref}: {why}", hint=hint)


def _status(ref: ImageRef) -> os.stat_result:
    path = ref.location
    try:
        status = os.stat(path)  # noqa: PTH116 - a path as written in the file, possibly with NUL bytes
    except FileNotFoundError as err:
        hint = "images are looked for beside the data file, then in --image-root"
        if "\\" in path and os.sep == "/":
            hint = "a Windows path: write / instead of \\; if the images are in another folder: --image-root"
        if len(path) > _MAX_SHOWN_CHARS:  # more likely damaged base64 than a path
            shown = f"{path[:_MAX_SHOWN_CHARS]}…"
            raise MissingImage(f"{shown}: neither base64 nor an existing file", hint=hint) from err
        raise MissingImage(f"{path}: no such file", hint=hint) from err
    except (OSError, ValueError) as err:
        raise ImageError(f"{path!r}: cannot be read: {getattr(err, 'strerror', None) or err}") from err
    if stat.S_ISDIR(status.st_mode):
        raise ImageError(f"{path}: a folder, not an image", hint="use the path of the image")
    if not stat.S_ISREG(status.st_mode):
        raise ImageError(f"{path}: not a regular file")
    return status


def _read_cell(ref: ImageRef, cells: OpenFiles) -> bytes:
    reserve(ref.length * 7 // 4)  # the text, and what it decodes to
    if not cells.knows(ref.location):
        _status(ref)  # raises if the file cannot be read
    try:
        data = cells.read(ref.location, ref.offset, ref.length)
    except OSError as err:
        raise _unreadable(ref, err) from err
    if len(data) != ref.length:
        raise ImageError(f"{ref}: the file is shorter than when it was opened", hint="start the run again")
    return data


def _read_picture(ref: ImageRef, size: int, is_sent_as_it_is: bool) -> bytes:
    if size > MAX_FILE_BYTES:
        raise ImageError(f"{ref}: {size // 1_000_000} MB; the limit is {MAX_FILE_BYTES // 2**20} MB")
    reserve(size * 7 // 3)  # the file, and its base64
    try:
        with open(ref.location, "rb", buffering=0) as file:  # noqa: PTH123
            # Refused before it is read completely; other formats are re-encoded and become smaller.
            if size > MAX_SENT_BYTES and is_sent_as_it_is and file.read(4).startswith(_SENT_AS_THEY_ARE):
                raise _too_large(str(ref), size)
            file.seek(0)
            return file.readall()
    except OSError as err:
        raise _unreadable(ref, err) from err


def _too_large(what: str, n_bytes: int) -> ImageError:
    what = f"{what}: {n_bytes // 1_000_000} MB; unchanged images may have {MAX_SENT_BYTES // 2**20} MB"
    return ImageError(what, hint="--max-side and --jpeg-quality make images smaller")


def _unreadable(ref: ImageRef, err: OSError) -> ImageError:
    return ImageError(f"{ref}: cannot be read: {err.strerror or err}", hint="check permissions")


def _from_base64(text: bytes, what: str) -> _Raw:
    """Decode base64, ignoring whitespace and JSON's escaped slashes; the text returned has neither."""
    with suppress(ValueError):
        return _Raw(pybase64.b64decode(text, validate=True), text)
    clean = text.replace(b"\\/", b"/").replace(b"\\n", b"").replace(b"\\r", b"").translate(None, _BLANKS)
    try:
        return _Raw(pybase64.b64decode(clean, validate=True), clean)
    except ValueError as err:
        why, hint = f"{len(clean)} characters, not a multiple of 4", "export the truncated cell again"
        if bad := _NOT_BASE64.search(clean):
            why = f"character {bad[0]!r} at position {bad.start()}"
            is_url_safe = bad[0] in b"-_"
            hint = "URL-safe base64 is not supported" if is_url_safe else "the cell may be truncated"
        elif 0 <= (padding := clean.find(b"=")) < len(clean) - 2:
            why = f"'=' at position {padding}, before the end"
        raise ImageError(f"{what}: invalid base64: {why}", hint=hint) from err


# -- Measuring images for an estimate
#
# Width, height and bytes come from as little of the file as possible. Nothing is downloaded: an image at a
# URL is taken from the cache, or an average size is assumed.

ASSUMED_SIZE = (1024, 768)
ASSUMED_BYTES = 200_000

_LARGE = 256 * 1024  # bytes: of larger files only both ends are read
_HEAD = 64 * 1024
_TAIL = 24


@dataclass(slots=True)
class Measurer:
    """The images that a loader would send, without pixels: `base64` and `sha256` are empty.

    `is_exact`: load local images completely, so that a cached request can be recognised by its content.
    """

    loader: ImageLoader
    is_exact: bool = False
    n_assumed: int = 0  # images at URLs whose size is not known yet

    def fingerprint(self, ref: ImageRef) -> str:
        return self.loader.fingerprint(ref)

    def close(self) -> None:
        self.loader.close()

    def load(self, ref: ImageRef) -> Image:
        """The image as it would be sent; `ImageError` if it cannot be."""
        if ref.kind == "url" and self.loader.allow_urls and not self.loader.is_cached(ref):
            self.n_assumed += 1
            return self._resize(ref, "JPEG", *ASSUMED_SIZE, ASSUMED_BYTES, is_assumed=True)
        if self.is_exact:
            return self.loader.load(ref)
        if (found := _measure_ends(ref)) is None:
            data = self.loader.original(ref)
            name, image = open_image(data, str(ref))
            found = (name, *image.size, len(data))
        return self._resize(ref, *found)

    def describe(self, ref: ImageRef) -> Image:
        return self.loader.describe(ref) if self.is_exact and ref.kind != "url" else self.load(ref)

    def _resize(
        self, ref: ImageRef, name: str, width: int, height: int, n_bytes: int, *, is_assumed: bool = False
    ) -> Image:
        """Cropped and resized as by the loader; a new encoding is assumed to need as many bytes per pixel."""
        size = ref.box[2:] if ref.box is not None and is_assumed else _crop(ref, (width, height))
        new = fit_size(*size, self.loader.max_pixels, self.loader.max_side)
        is_changed = new != (width, height)
        if is_changed:
            n_bytes = max(1, n_bytes * new[0] * new[1] // (width * height))
        is_jpeg = self.loader.jpeg_quality is not None
        return Image(
            base64=b"",
            mime=MIME["JPEG"] if is_jpeg else MIME.get(name, MIME["PNG"]),
            width=new[0],
            height=new[1],
            sha256="",
            n_bytes=n_bytes,
            resized=new != size,
            reencoded=is_changed or is_jpeg or name not in MIME,
            origin=str(ref),
        )


def _measure_ends(ref: ImageRef) -> tuple[str, int, int, int] | None:
    """Format, width, height and bytes of a large image from both ends; None if they are not enough."""
    if ref.kind not in ("file", "cell"):
        return None
    is_cell = ref.kind == "cell"
    try:
        with Path(ref.location).open("rb", buffering=0) as file:
            start, length = (ref.offset, ref.length) if is_cell else (0, file.seek(0, 2))
            if length <= _LARGE:
                return None
            file.seek(start)
            head = file.read(_HEAD)
            file.seek(start + length - _TAIL)
            tail = file.read(_TAIL)
        if is_cell:
            if length % 4:
                return None
            length = length // 4 * 3 - tail.count(b"=")
            head, tail = (pybase64.b64decode(end, validate=True) for end in (head, tail))
        name, image = open_image(head, str(ref))
    except (OSError, ValueError, ImageError):
        return None  # the loader reports what is wrong
    return (name, *image.size, length) if is_complete(name, head, tail, length) else None
