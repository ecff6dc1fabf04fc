"""Ranges of bytes of the data files that a run reads its pictures from."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import msgspec

from eyechart.data.fetch import Fetcher
from eyechart.data.parquet import ParquetCells
from eyechart.data.pixels import (
    MIME,
    clip_box,
    decode_fully,
    fit_size,
    inspect,
    is_complete,
    open_image,
    reencode,
)
from eyechart.data.rows import (
    DOWNLOAD_TIMEOUT_S,
    MAX_DOWNLOAD_BYTES,
    MAX_FILE_BYTES,
    MAX_SENT_BYTES,
    REFUSALS,
)
from eyechart.errors import ImageError, UsageError
from eyechart.memory import claim_image, reserve
from eyechart.types import Image, ImageRef

_KEPT_OPEN = 8  # files; a run has one, as a rule
# Another process may have put a pipe in the file's place: opening it must not wait for somebody to write.
_MODE = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


class _Kept(NamedTuple):
    handle: int
    status: os.stat_result  # when it was opened


class OpenFiles:
    """Keeps the files open: to open one anew costs more than to read a cell.

    What is read is the file as it was first opened, though another may have taken its name since: the
    ranges belong to that one. If it is written to meanwhile, they belong to nothing, and reading says so.
    Any number of threads may read at once.
    """

    def __init__(self) -> None:
        self._files: dict[str, _Kept] = {}
        self._opening = threading.Lock()

    def status(self, path: str, look: Callable[[], os.stat_result]) -> os.stat_result:
        """What the file was when it was opened; `look` finds out whether it can be."""
        if kept := self._files.get(path):
            return kept.status
        status = look()
        try:
            kept = self._keep(path)
        except OSError:  # reading it will say so
            return status
        return kept.status if kept else status

    def knows(self, path: str) -> bool:
        """Whether the file has been opened and is kept so."""
        return path in self._files

    def read(self, path: str, offset: int, length: int) -> bytes:
        """The bytes of one cell; fewer where the file ends within it."""
        kept = self._files.get(path) or self._keep(path)
        if kept is None:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a path as the file wrote it
                file.seek(offset)
                return file.read(length)
        data = os.pread(kept.handle, length, offset)
        now, before = os.fstat(kept.handle), kept.status
        if now.st_mtime_ns != before.st_mtime_ns or now.st_size != before.st_size:
            raise ImageError(
                f"{path}: the file was changed while the run read from it", hint="start the run again"
            )
        return data

    def _keep(self, path: str) -> _Kept | None:
        """The file, opened for good; None where no more are kept, or the system cannot read at an offset."""
        with self._opening:
            if path not in self._files and len(self._files) < _KEPT_OPEN and hasattr(os, "pread"):
                handle = os.open(path, _MODE)
                self._files[path] = _Kept(handle, os.fstat(handle))
            return self._files.get(path)

    def close(self, close: Callable[[int], None] = os.close) -> None:
        """Close the files. No thread may be reading now; what is read later opens them anew."""
        # The function is taken along: when Python ends, modules may be gone before us.
        while self._files:
            try:  # noqa: SIM105 - as above
                close(self._files.popitem()[1].handle)
            except OSError:
                pass

    __del__ = close


# -- References to pictures that are ready to send.
#
# Base64 that is already a JPEG, PNG, WebP or still GIF and needs no cut goes from the file to the request as
# it stands: it is decoded once to be checked and hashed, and never encoded again, unless a JPEG quality is
# asked for. Everything is done when asked for and no picture is kept, so memory follows what is in flight.
# EXIF orientation is left to whoever shows the picture, as in the file.

_LONGEST_SHOWN = 200  # characters of a path in a message
_SENT_AS_THEY_ARE = (b"\x89PNG", b"\xff\xd8\xff")
_BLANKS = b" \t\r\n\v\f"
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9+/=]")


class MissingImage(ImageError):
    """The file is not there; nothing is known of the picture."""


class _Raw(msgspec.Struct, frozen=True):
    """A picture's file: its bytes, the base64 text if that is how it is kept, the path if it has one."""

    data: bytes
    base64: bytes = b""
    path: str | None = None
    is_fetched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageLoader:
    """Loads pictures. Share one between threads; it holds no picture."""

    max_pixels: int | None = None
    max_side: int | None = None  # of the longer one
    jpeg_quality: int | None = None  # every picture is encoded anew as JPEG, even one that is a JPEG already
    allow_urls: bool = True
    allow_private_urls: bool = False
    cache_dir: Path | str | None = None
    max_download_bytes: int = MAX_DOWNLOAD_BYTES
    timeout_s: float = DOWNLOAD_TIMEOUT_S
    _cells: OpenFiles = field(default_factory=OpenFiles, repr=False, compare=False)
    _parquet: ParquetCells = field(default_factory=ParquetCells, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.jpeg_quality is not None and not 1 <= self.jpeg_quality <= 100:
            raise UsageError(
                f"a JPEG quality of {self.jpeg_quality}", hint="it goes from 1 to 100; Pillow's own is 75"
            )

    def close(self) -> None:
        """Close the data files that are kept open. No thread may be loading now."""
        self._cells.close()
        self._parquet.close()

    def load(self, ref: ImageRef) -> Image:
        """The picture, checked and encoded only as far as it has to be; `ImageError` if it cannot be sent."""
        import pybase64

        what = str(ref)
        raw = self._fetched(ref) if ref.kind == "url" else self._read(ref)
        header = inspect(raw.data, what)
        size = (header.width, header.height)
        is_too_large = fit_size(*size, self.max_pixels, self.max_side) != size
        must_change = header.format not in MIME or header.is_animated or ref.box is not None or is_too_large
        if not must_change and self.jpeg_quality is None:
            if len(raw.data) > MAX_SENT_BYTES:
                raise _too_large(what, len(raw.data))
            return Image(
                base64=raw.base64 or pybase64.b64encode(raw.data),
                mime=MIME[header.format],
                width=header.width,
                height=header.height,
                sha256=hashlib.sha256(raw.data).hexdigest(),
                n_bytes=len(raw.data),
                origin=what,
                path=raw.path,
            )
        new = reencode(
            raw.data,
            what,
            box=ref.box,
            max_pixels=self.max_pixels,
            max_side=self.max_side,
            jpeg_quality=self.jpeg_quality,
        )
        return Image(
            base64=pybase64.b64encode(new.data),
            mime=MIME[new.format],
            width=new.width,
            height=new.height,
            sha256=hashlib.sha256(new.data).hexdigest(),
            n_bytes=len(new.data),
            resized=new.resized,
            reencoded=True,
            origin=what,
        )

    def _fetched(self, ref: ImageRef) -> _Raw:
        """A picture from the web, kept for the next run if it is one; many may want it, one fetches it."""
        from eyechart.data.fetch import get_url_lock

        with get_url_lock(ref.location) if self.cache_dir else nullcontext():
            raw = self._read(ref)
            if raw.is_fetched:
                inspect(raw.data, str(ref))
                self._fetcher().write_cached(ref.location, raw.data)
        return raw

    def original(self, ref: ImageRef) -> bytes:
        """The file's own bytes, looked at but not changed; `ImageError` if they are no picture."""
        data = self._read(ref).data
        inspect(data, str(ref))
        return data

    def check(self, ref: ImageRef) -> tuple[int, int, int]:
        """Decode every pixel; width, height and bytes of the file, or `ImageError`."""
        with claim_image():
            data = self._read(ref).data
            header = decode_fully(data, str(ref))
            return header.width, header.height, len(data)

    def fingerprint(self, ref: ImageRef) -> str:
        """Which picture this is, without reading it: changes when the file, the crop or our options do."""
        _refuse(ref)
        parts = [ref.kind, ref.location, ref.offset, ref.length, ref.column, ref.box, self.max_pixels]
        if ref.kind in ("file", "cell", "parquet"):
            is_cell = ref.kind == "cell"
            status = self._cells.status(ref.location, lambda: _status(ref)) if is_cell else _status(ref)
            parts += [status.st_size, status.st_mtime_ns]
        if ref.kind == "hub":
            from eyechart.data.hub import get_identity

            parts.append(get_identity(ref))
        if self.max_side is not None:
            parts.append(f"side {self.max_side}")
        if self.jpeg_quality is not None:
            parts.append(f"jpeg {self.jpeg_quality}")
        return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def _fetcher(self) -> Fetcher:
        from eyechart.data.fetch import Fetcher

        return Fetcher(
            cache_dir=Path(self.cache_dir) if self.cache_dir else None,
            allow_private=self.allow_private_urls,
            max_bytes=self.max_download_bytes,
            timeout_s=self.timeout_s,
        )

    def _read(self, ref: ImageRef) -> _Raw:
        _refuse(ref)
        if ref.kind == "cell":
            return _from_base64(_read_cell(ref, self._cells), str(ref))
        if ref.kind == "data":
            return _from_base64(ref.location.encode("ascii", "replace"), str(ref))
        if ref.kind in ("parquet", "hub"):
            value = _read_hub(ref) if ref.kind == "hub" else self._parquet_cell(ref)
            return _Raw(value) if isinstance(value, bytes) else _from_base64(value.encode(), str(ref))
        if ref.kind == "url":
            return self._download(ref.location)
        is_sent_as_it_is = ref.box is None and not (self.max_pixels or self.max_side or self.jpeg_quality)
        return _Raw(_read_picture(ref, is_sent_as_it_is), path=None if ref.box else ref.location)

    def _parquet_cell(self, ref: ImageRef) -> bytes | str:
        _status(ref)
        return self._parquet.read(ref)

    def _download(self, url: str) -> _Raw:
        if not self.allow_urls:
            raise ImageError(f"{url}: pictures at web addresses are not allowed", hint="leave out --no-urls")
        fetcher = self._fetcher()
        kept = fetcher.read_cached(url)
        return _Raw(kept) if kept is not None else _Raw(fetcher.fetch(url), is_fetched=True)


def _read_hub(ref: ImageRef) -> bytes | str:
    from eyechart.data.hub import read_hub_image

    return read_hub_image(ref)


def _refuse(ref: ImageRef) -> None:
    """A reference that was marked when it was read, because its path or address must not be followed."""
    if ref.refused:
        why, hint = REFUSALS[ref.refused]
        raise ImageError(f"{ref}: {why}", hint=hint)


def _status(ref: ImageRef) -> os.stat_result:
    path = ref.location
    try:
        status = os.stat(path)  # noqa: PTH116 - a path as the file wrote it, NUL bytes and all
    except FileNotFoundError as err:
        hint = "pictures are looked for beside the data file, then in --image-root"
        if "\\" in path and os.sep == "/":
            hint = "the path is one of Windows: write / in it; where pictures lie elsewhere: --image-root"
        if len(path) > _LONGEST_SHOWN:  # hardly a path: more likely base64 that went wrong
            shown = f"{path[:_LONGEST_SHOWN]}…"
            raise MissingImage(f"{shown}: neither base64 nor the path of a file", hint=hint) from err
        raise MissingImage(f"{path}: no such file", hint=hint) from err
    except (OSError, ValueError) as err:
        raise ImageError(f"{path!r}: cannot be read: {getattr(err, 'strerror', None) or err}") from err
    if stat.S_ISDIR(status.st_mode):
        raise ImageError(f"{path}: a folder, not a picture", hint="give the picture's own path")
    if not stat.S_ISREG(status.st_mode):
        raise ImageError(f"{path}: not a regular file")
    return status


def _read_cell(ref: ImageRef, cells: OpenFiles) -> bytes:
    reserve(ref.length * 7 // 4)  # the text, and what it stands for
    if not cells.knows(ref.location):
        _status(ref)  # a file that can be read, or a message that says why not
    with _reading(ref):
        data = cells.read(ref.location, ref.offset, ref.length)
    if len(data) != ref.length:
        raise ImageError(
            f"{ref}: the file has become shorter since it was opened", hint="start the run again"
        )
    return data


def _read_picture(ref: ImageRef, is_sent_as_it_is: bool) -> bytes:
    size = _status(ref).st_size
    if size > MAX_FILE_BYTES:
        raise ImageError(f"{ref}: {size // 1_000_000} MB, more than a picture can have")
    reserve(size * 7 // 3)  # the file, and its base64
    with _reading(ref), open(ref.location, "rb", buffering=0) as file:  # noqa: PTH123
        # Not read whole only to be refused; other formats are encoded anew, and become smaller.
        if size > MAX_SENT_BYTES and is_sent_as_it_is and file.read(4).startswith(_SENT_AS_THEY_ARE):
            raise _too_large(str(ref), size)
        file.seek(0)
        return file.readall()


def _too_large(what: str, n_bytes: int) -> ImageError:
    return ImageError(
        f"{what}: {n_bytes // 1_000_000} MB, more than is sent as it is ({MAX_SENT_BYTES // 2**20} MB)",
        hint="--max-side and --jpeg-quality make images smaller",
    )


@contextmanager
def _reading(ref: ImageRef) -> Iterator[None]:
    try:
        yield
    except OSError as err:
        raise ImageError(
            f"{ref}: cannot be read: {err.strerror or err}", hint="check its permissions"
        ) from err


def _from_base64(text: bytes, what: str) -> _Raw:
    """Decode, tolerating blanks and JSON's escaped slashes; the text that is kept has neither."""
    import binascii

    import pybase64

    try:
        return _Raw(pybase64.b64decode(text, validate=True), text)
    except (binascii.Error, ValueError):
        pass
    clean = text.replace(b"\\/", b"/").replace(b"\\n", b"").replace(b"\\r", b"").translate(None, _BLANKS)
    if bad := _NOT_BASE64.search(clean):
        hint = (
            "URL-safe base64 is not read here"
            if bad[0] in b"-_"
            else "the cell may be cut off or be no picture"
        )
        raise ImageError(f"{what}: broken base64: character {bad[0]!r} at position {bad.start()}", hint=hint)
    try:
        return _Raw(pybase64.b64decode(clean, validate=True), clean)
    except (binascii.Error, ValueError) as err:
        padding = clean.find(b"=")
        why = f"{len(clean)} characters, not a multiple of 4"
        if 0 <= padding < len(clean) - 2:
            why = f"'=' at position {padding}, before the end"
        raise ImageError(
            f"{what}: broken base64: {why}", hint="the cell is cut off; export it again"
        ) from err


# -- Pictures measured, not sent: width, height and bytes, from as little of the file as will tell.
#
# For a run that is only estimated. Nothing is fetched from the web: a picture at an address counts as kept
# from an earlier run, or has the size that is assumed of all such.

ASSUMED_SIZE = (1024, 768)
ASSUMED_BYTES = 200_000

_LARGE = 256 * 1024  # bytes in the file: of larger ones only the ends are read
_HEAD = 64 * 1024
_TAIL = 24


@dataclass(slots=True)
class Measurer:
    """What a loader would send, without the pixels; `base64` and `sha256` of its pictures are empty.

    `is_exact`: load what lies here after all, so that a request can be recognised by its content.
    """

    loader: ImageLoader
    is_exact: bool = False
    n_assumed: int = 0  # pictures at addresses whose size nobody knows yet

    def fingerprint(self, ref: ImageRef) -> str:
        return self.loader.fingerprint(ref)

    def close(self) -> None:
        self.loader.close()

    def load(self, ref: ImageRef) -> Image:
        """The picture as it would be sent; `ImageError` if it could not be."""
        if ref.kind == "url" and self.loader.allow_urls:
            return self._at_address(ref)
        if self.is_exact:
            return self.loader.load(ref)
        return self._changed(ref, *(_ends_of(ref) or self._whole(ref)))

    def _whole(self, ref: ImageRef) -> tuple[str, int, int, int]:
        data = self.loader.original(ref)
        name, picture = open_image(data, str(ref))
        return name, *picture.size, len(data)

    def _at_address(self, ref: ImageRef) -> Image:
        loader = self.loader
        fetcher = Fetcher(
            cache_dir=Path(loader.cache_dir) if loader.cache_dir else None,
            allow_private=loader.allow_private_urls,
        )
        if fetcher.read_cached(ref.location) is not None:
            return loader.load(ref) if self.is_exact else self._changed(ref, *self._whole(ref))
        self.n_assumed += 1
        return self._changed(ref, "JPEG", *ASSUMED_SIZE, ASSUMED_BYTES, is_assumed=True)

    def _changed(
        self, ref: ImageRef, name: str, width: int, height: int, n_bytes: int, *, is_assumed: bool = False
    ) -> Image:
        """Cut and shrunk as the loader would. A new encoding is taken to need as many bytes a pixel."""
        size = (width, height)
        if ref.box is not None and is_assumed:
            size = ref.box[2:]
        elif ref.box is not None:
            left, top, right, bottom = clip_box(ref.box, size, str(ref))
            size = (right - left, bottom - top)
        new = fit_size(*size, self.loader.max_pixels, self.loader.max_side)
        is_changed = new != (width, height)
        if is_changed:
            n_bytes = max(1, n_bytes * new[0] * new[1] // (width * height))
        is_jpeg = self.loader.jpeg_quality is not None
        return Image(
            base64=b"",
            mime="image/jpeg" if is_jpeg else MIME.get(name, MIME["PNG"]),
            width=new[0],
            height=new[1],
            sha256="",
            n_bytes=n_bytes,
            resized=new != size,
            reencoded=is_changed or is_jpeg or name not in MIME,
            origin=str(ref),
        )


def _ends_of(ref: ImageRef) -> tuple[str, int, int, int] | None:
    """Format, width, height and bytes of a large picture by its ends; None where they do not tell."""
    import pybase64

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
        name, picture = open_image(head, str(ref))
    except (OSError, ValueError, ImageError):
        return None  # the loader has the words for what is wrong, if anything is
    return (name, *picture.size, length) if is_complete(name, head, tail, length) else None
