"""Encoded pictures: what they are, whether they are whole, and the size they are shrunk to.

Only formats in `_FORMATS` are read at all. The classes are called directly, not through `Image.open`, which
would try every format Pillow knows (some start other programs) and warn about large pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from math import floor, sqrt
from typing import TYPE_CHECKING, Any, cast

import msgspec

from eyechart.data.headers import size_of
from eyechart.errors import ImageError
from eyechart.memory import reserve
from eyechart.quiet import quiet

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# The limit at which Pillow raises; a picture of this size takes half a gigabyte when decoded.
MAX_DECODED_PIXELS = 178_956_970

# Behind an image's end: what is less than both is sent with it.
_MAX_BEHIND = 2**20
_TIMES_BEHIND = 10

# Sent as they are. Every known endpoint reads these; others are turned into PNG.
MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif"}


class Header(msgspec.Struct, frozen=True):
    """What the first bytes say."""

    format: str
    width: int
    height: int
    is_animated: bool


# A format's name, whether a file's first bytes are its, and what Pillow's module and class for it begin with.
_FORMATS: tuple[tuple[str, Callable[[bytes], bool], str], ...] = (
    ("JPEG", lambda head: head.startswith(b"\xff\xd8\xff"), "Jpeg"),
    ("PNG", lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"), "Png"),
    ("WEBP", lambda head: head.startswith(b"RIFF") and head[8:12] == b"WEBP", "WebP"),
    ("GIF", lambda head: head.startswith((b"GIF87a", b"GIF89a")), "Gif"),
    ("BMP", lambda head: head.startswith(b"BM"), "Bmp"),
    ("TIFF", lambda head: head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")), "Tiff"),
    ("PPM", lambda head: head[:1] == b"P" and head[1:2] in b"123456" and head[2:3].isspace(), "Ppm"),
    ("JPEG2000", lambda head: head.startswith((b"\xff\x4f\xff\x51", b"\0\0\0\x0cjP  ")), "Jpeg2K"),
    ("AVIF", lambda head: head[4:8] == b"ftyp" and head[8:12] in (b"avif", b"avis"), "Avif"),
)


# What people take for pictures, by what stands near the beginning in small letters.
_OTHERS = (
    (b"ftyphei", "HEIC"), (b"ftypmif1", "HEIC"), (b"%pdf-", "a PDF document"), (b"<svg", "SVG, a drawing"),
    (b"<html", "a web page"), (b"<!doctype html", "a web page"), (b"https://git-lfs", "a pointer of Git LFS"),
)  # fmt: skip


def _sniff(data: bytes, what: str) -> tuple[str, str]:
    head = data[:32]
    for name, fits, stem in _FORMATS:
        if fits(head):
            return name, stem
    if not data:
        raise ImageError(f"{what}: 0 bytes", hint="the picture is empty; fetch or export it again")
    known = ", ".join(name for name, _, _ in _FORMATS)
    kind = next((kind for mark, kind in _OTHERS if mark in data[:256].lower()), "")
    # Its bytes are not shown: the path may lead anywhere, and messages are kept and passed on.
    is_what = f"it is {kind}" if kind else f"{len(data):,} bytes of something else"
    raise ImageError(f"{what}: not a picture we can read ({is_what})", hint=f"readable: {known}")


def _pillow_class(stem: str) -> Callable[[BytesIO], Any]:
    module = import_module(f"PIL.{stem}ImagePlugin")
    return cast("Callable[[BytesIO], Any]", getattr(module, f"{stem}ImageFile"))


def open_picture(data: bytes, what: str) -> tuple[str, Picture]:
    """The format's name and the picture, of which only the header is read."""
    name, stem = _sniff(data, what)
    try:
        with quiet():
            picture: Picture = _pillow_class(stem)(BytesIO(data))
    except Exception as err:  # a hostile header can raise nearly anything; all of it means the same
        raise ImageError(
            f"{what}: a broken {name} file ({reason(err)})", hint="fetch or export it again"
        ) from err
    width, height = picture.size
    if width * height > MAX_DECODED_PIXELS:
        raise ImageError(
            f"{what}: {width} x {height} pixels, more than {MAX_DECODED_PIXELS // 1_000_000} million",
            hint="a file this large when unpacked is refused; shrink it first",
        )
    if width < 1 or height < 1:
        raise ImageError(f"{what}: {width} x {height} pixels")
    return name, picture


def reason(err: BaseException) -> str:
    """What Pillow found wrong, without the objects that it names."""
    return str(err).split("<")[0].strip().rstrip(":") or type(err).__name__


def decode(picture: Picture, what: str) -> Picture:
    """The same picture with its pixels, when there is room for them in memory."""
    reserve(decoded_bytes(picture))
    try:
        picture.load()
    except Exception as err:  # as above: what the decoder raises depends on where the damage lies
        raise ImageError(
            f"{what}: the picture is truncated or broken ({reason(err)})", hint="fetch or export it again"
        ) from err
    return picture


def decoded_bytes(picture: Picture) -> int:
    """What its pixels take: Pillow spends four bytes on most, whatever the mode."""
    width, height = picture.size
    return width * height * (1 if picture.mode in ("1", "L", "P") else 4)


def inspect(data: bytes, what: str) -> Header:
    """Read the header, and make sure that the end is there, without decoding what looks whole."""
    size = size_of(data)
    if size is not None and size[0] * size[1] <= MAX_DECODED_PIXELS:
        name = "PNG" if data.startswith(b"\x89") else "JPEG"
        if _looks_whole(name, data):
            return Header(name, *size, is_animated=False)
    name, picture = open_picture(data, what)
    try:
        with quiet():
            is_animated = bool(getattr(picture, "is_animated", False))
    except Exception as err:  # counting frames walks through the whole file
        raise ImageError(f"{what}: a broken {name} file ({reason(err)})") from err
    if not _looks_whole(name, data):
        source = getattr(picture, "fp", None)  # which is forgotten with the last pixel
        decode(picture, what)
        if name in MIME and not is_animated and source is not None:
            _refuse_padding(source.tell(), len(data), what)
    elif name == "WEBP":
        _refuse_padding(int.from_bytes(data[4:8], "little") + 8, len(data), what)
    return Header(name, *picture.size, is_animated)


def _refuse_padding(end: int, n_bytes: int, what: str) -> None:
    """A short video behind a photo is sent along, as in the file; far more than the image has is refused."""
    behind = n_bytes - end
    if behind > max(_MAX_BEHIND, _TIMES_BEHIND * end):
        raise ImageError(
            f"{what}: {behind:,} bytes lie behind the end of the image, which has {end:,}",
            hint="the file is damaged or holds something else; save the image anew",
        )


def decode_fully(data: bytes, what: str) -> Header:
    """As `inspect`, and every pixel decoded."""
    header = inspect(data, what)
    decode(open_picture(data, what)[1], what)
    return header


def _looks_whole(name: str, data: bytes) -> bool:
    return looks_whole(name, data[:32], data[-32:], len(data))


def looks_whole(name: str, head: bytes, tail: bytes, n_bytes: int) -> bool:
    """Whether the last bytes are those that end such a file. If not, decoding decides."""
    if name == "JPEG":
        return tail.endswith(b"\xff\xd9")
    if name == "PNG":
        return tail.endswith(b"IEND\xaeB`\x82")
    if name == "WEBP":
        return int.from_bytes(head[4:8], "little") + 8 <= n_bytes
    if name == "GIF":
        return tail.endswith(b";")
    return False


def fitted(width: int, height: int, max_pixels: int | None, max_side: int | None = None) -> tuple[int, int]:
    """The size that keeps the shape within `max_pixels`, and the longer side within `max_side`.

    >>> fitted(400, 100, 10_000), fitted(10, 10, None), fitted(10_000, 1, 100), fitted(400, 100, None, 200)
    ((200, 50), (10, 10), (1000, 1), (200, 50))
    """
    ratio = 1.0
    if max_pixels is not None and width * height > max_pixels:
        ratio = sqrt(max_pixels / (width * height))
    if max_side is not None and max(width, height) * ratio > max_side:
        ratio = max_side / max(width, height)
    if ratio == 1.0:
        return width, height
    return max(1, floor(width * ratio)), max(1, floor(height * ratio))
