"""References to pictures that are ready to send.

Base64 that is already a JPEG, PNG, WebP or still GIF and needs no cut goes from the file to the request as
it stands: it is decoded once to be checked and hashed, and never encoded again, unless a JPEG quality is
asked for. Everything is done when asked for and no picture is kept, so memory follows what is in flight. EXIF
orientation is left to whoever shows the picture, as in the file.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from eyechart.data.cells import Cells
from eyechart.data.encode import reencode
from eyechart.data.limits import DOWNLOAD_TIMEOUT_S, MAX_DOWNLOAD_BYTES, MAX_FILE_BYTES, MAX_SENT_BYTES
from eyechart.data.parquet import ParquetCells
from eyechart.data.paths import REFUSALS
from eyechart.data.pixels import MIME, decode_fully, fitted, inspect
from eyechart.errors import ImageError, UsageError
from eyechart.memory import claiming_image, reserve
from eyechart.types import Image, ImageRef

if TYPE_CHECKING:
    from eyechart.data.fetch import Fetcher

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
    _cells: Cells = field(default_factory=Cells, repr=False, compare=False)
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
        is_too_large = fitted(*size, self.max_pixels, self.max_side) != size
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
        from eyechart.data.fetch import alone

        with alone(ref.location) if self.cache_dir else nullcontext():
            raw = self._read(ref)
            if raw.is_fetched:
                inspect(raw.data, str(ref))
                self._fetcher().keep(ref.location, raw.data)
        return raw

    def original(self, ref: ImageRef) -> bytes:
        """The file's own bytes, looked at but not changed; `ImageError` if they are no picture."""
        data = self._read(ref).data
        inspect(data, str(ref))
        return data

    def check(self, ref: ImageRef) -> tuple[int, int, int]:
        """Decode every pixel; width, height and bytes of the file, or `ImageError`."""
        with claiming_image():
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
            from eyechart.data.hub.rows import identity_of

            parts.append(identity_of(ref))
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
        kept = fetcher.kept(url)
        return _Raw(kept) if kept is not None else _Raw(fetcher.fetch(url), is_fetched=True)


def _read_hub(ref: ImageRef) -> bytes | str:
    from eyechart.data.hub.rows import read_picture

    return read_picture(ref)


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


def _read_cell(ref: ImageRef, cells: Cells) -> bytes:
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
