"""Encoded pictures: what they are, whether they are whole, and how to cut, shrink and save them.

Only formats in `_FORMATS` are read at all. The classes are called directly, not through `Image.open`, which
would try every format Pillow knows (some start other programs) and warn about large pictures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from math import floor, sqrt
from typing import TYPE_CHECKING, Any, cast

from eyechart.errors import ImageError
from eyechart.quiet import quiet

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

# The limit at which Pillow raises; a picture of this size takes half a gigabyte when decoded.
MAX_DECODED_PIXELS = 178_956_970

# Sent as they are. Every known endpoint reads these; others are turned into PNG.
MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif"}

_JPEG_QUALITY = 95
_ORIENTATION = 0x0112
_PNG_MODES = frozenset({"1", "L", "LA", "I;16", "P", "RGB", "RGBA"})
_JPEG_MODES = frozenset({"L", "RGB", "CMYK"})


@dataclass(frozen=True, slots=True)
class Header:
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


def _sniff(data: bytes, what: str) -> tuple[str, str]:
    head = data[:32]
    for name, fits, stem in _FORMATS:
        if fits(head):
            return name, stem
    if not data:
        raise ImageError(f"{what}: 0 bytes", hint="the picture is empty; fetch or export it again")
    known = ", ".join(name for name, _, _ in _FORMATS)
    raise ImageError(
        f"{what}: not a picture we can read (it begins {bytes(head[:12])!r})", hint=f"readable: {known}"
    )


def _pillow_class(stem: str) -> Callable[[BytesIO], Any]:
    module = import_module(f"PIL.{stem}ImagePlugin")
    return cast("Callable[[BytesIO], Any]", getattr(module, f"{stem}ImageFile"))


def _open(data: bytes, what: str) -> tuple[str, Picture]:
    name, stem = _sniff(data, what)
    try:
        with quiet():
            picture: Picture = _pillow_class(stem)(BytesIO(data))
    except Exception as err:  # a hostile header can raise nearly anything; all of it means the same
        raise ImageError(
            f"{what}: a broken {name} file ({_reason(err)})", hint="fetch or export it again"
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


def _reason(err: BaseException) -> str:
    return str(err).split("<")[0].strip().rstrip(":") or type(err).__name__


def _decode(picture: Picture, what: str) -> Picture:
    try:
        picture.load()
    except Exception as err:  # as above: what the decoder raises depends on where the damage lies
        raise ImageError(
            f"{what}: the picture is truncated or broken ({_reason(err)})", hint="fetch or export it again"
        ) from err
    return picture


def inspect(data: bytes, what: str) -> Header:
    """Read the header, and make sure that the end is there, without decoding what looks whole."""
    name, picture = _open(data, what)
    try:
        with quiet():
            is_animated = bool(getattr(picture, "is_animated", False))
    except Exception as err:  # counting frames walks through the whole file
        raise ImageError(f"{what}: a broken {name} file ({_reason(err)})") from err
    if not _looks_whole(name, data):
        _decode(picture, what)
    return Header(name, *picture.size, is_animated)


def decode_fully(data: bytes, what: str) -> Header:
    """As `inspect`, and every pixel decoded."""
    header = inspect(data, what)
    _decode(_open(data, what)[1], what)
    return header


def _looks_whole(name: str, data: bytes) -> bool:
    """Whether the last bytes are those that end such a file. If not, decoding decides."""
    if name == "JPEG":
        return data.endswith(b"\xff\xd9")
    if name == "PNG":
        return data.endswith(b"IEND\xaeB`\x82")
    if name == "WEBP":
        return int.from_bytes(data[4:8], "little") + 8 <= len(data)
    if name == "GIF":
        return data.endswith(b";")
    return False


def fitted(width: int, height: int, max_pixels: int | None) -> tuple[int, int]:
    """The size that keeps the shape within `max_pixels`.

    >>> fitted(400, 100, 10_000), fitted(10, 10, None), fitted(10_000, 1, 100)
    ((200, 50), (10, 10), (1000, 1))
    """
    if max_pixels is None or width * height <= max_pixels:
        return width, height
    ratio = sqrt(max_pixels / (width * height))
    return max(1, floor(width * ratio)), max(1, floor(height * ratio))


@dataclass(frozen=True, slots=True)
class Encoded:
    """A picture that was encoded anew."""

    data: bytes
    format: str
    width: int
    height: int
    resized: bool


def reencode(
    data: bytes,
    what: str,
    *,
    box: tuple[int, int, int, int] | None = None,
    max_pixels: int | None = None,
    jpeg_quality: int | None = None,
) -> Encoded:
    """Decode the first frame, cut `box` out, shrink to `max_pixels`, and save in a format that can be sent.

    JPEG stays JPEG (quality 95) and a resized WebP stays WebP; everything else becomes PNG. With
    `jpeg_quality` all become JPEG of that quality, by the steps of `_as_jpeg`.
    """
    header = inspect(data, what)
    name, picture = _open(data, what)
    _decode(picture, what)
    corners = None if box is None else _clipped(box, picture.size, what)
    try:
        if jpeg_quality is not None:
            return _as_jpeg(picture, corners, max_pixels, jpeg_quality)
        return _cut_and_saved(picture, corners, max_pixels, _target(header, corners))
    except (OSError, ValueError, MemoryError) as err:  # a pixel format that Pillow reads but cannot change
        raise ImageError(
            f"{what}: a {name} of mode {picture.mode} that cannot be cut, shrunk or saved ({_reason(err)})",
            hint="convert it to an RGB PNG or JPEG",
        ) from err


def _target(header: Header, corners: tuple[int, int, int, int] | None) -> str:
    is_webp = header.format == "WEBP" and not header.is_animated and corners is None
    return header.format if header.format == "JPEG" or is_webp else "PNG"


def _cut_and_saved(
    picture: Picture, corners: tuple[int, int, int, int] | None, max_pixels: int | None, format: str
) -> Encoded:
    orientation = _orientation(picture)
    profile = picture.info.get("icc_profile")
    if corners is not None:
        with quiet():  # Pillow warns about crops above half of our limit
            picture = picture.crop(corners)
    size = fitted(*picture.size, max_pixels)
    resized = size != picture.size
    if resized:
        from PIL.Image import Resampling

        picture = _smooth(picture).resize(size, Resampling.LANCZOS)
    return Encoded(_save(picture, format, orientation, profile), format, *picture.size, resized)


def _as_jpeg(
    picture: Picture, corners: tuple[int, int, int, int] | None, max_pixels: int | None, quality: int
) -> Encoded:
    """InSight-o3's steps: to RGB, then Lanczos, then Pillow's plain JPEG, without turn and colour profile.

    The bytes are those that Pillow gives for these steps. One thing is ours: 16-bit grey is brought to 8 bits
    first, where Pillow would cut everything brighter than a 256th off to white.
    """
    from PIL.Image import Resampling

    with quiet():  # Pillow warns about large crops, and about palettes whose transparency it drops
        picture = picture if corners is None else picture.crop(corners)
        grey = _smooth(picture) if picture.mode.startswith("I") else picture
        picture = grey.convert("RGB")
    size = fitted(*picture.size, max_pixels)
    resized = size != picture.size
    if resized:
        picture = picture.resize(size, Resampling.LANCZOS)
    out = BytesIO()
    picture.save(out, "JPEG", quality=quality)
    return Encoded(out.getvalue(), "JPEG", *size, resized)


def _clipped(box: tuple[int, int, int, int], size: tuple[int, int], what: str) -> tuple[int, int, int, int]:
    x, y, width, height = box
    left, top = max(0, x), max(0, y)
    right, bottom = min(size[0], x + width), min(size[1], y + height)
    if left >= right or top >= bottom:
        raise ImageError(
            f"{what}: the crop {box} (x, y, width, height) lies outside the picture of {size[0]} x {size[1]}",
            hint="is the box in pixels of this picture, and not in corners?",
        )
    return left, top, right, bottom


def _orientation(picture: Picture) -> int:
    """The EXIF turn. We never turn pixels: a resized picture shows as the original file would."""
    try:
        with quiet():
            turn = picture.getexif().get(_ORIENTATION, 1)
    except Exception:  # broken EXIF is no reason to lose the picture
        return 1
    return turn if isinstance(turn, int) and 1 < turn <= 8 else 1


def _smooth(picture: Picture) -> Picture:
    """A mode in which neighbouring pixels can be mixed."""
    if picture.mode == "P":
        return picture.convert("RGBA" if "transparency" in picture.info else "RGB")
    if picture.mode == "1":
        return picture.convert("L")
    if picture.mode.startswith("I"):  # 16-bit grey, of which a model sees 8
        return picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return picture


def _save(picture: Picture, format: str, orientation: int, profile: Any) -> bytes:
    from PIL.Image import Exif

    extra: dict[str, Any] = {"icc_profile": profile} if profile else {}
    if orientation != 1:
        exif = Exif()
        exif[_ORIENTATION] = orientation
        extra["exif"] = exif.tobytes()
    if picture.mode == "I" and format == "PNG":
        picture = picture.convert("I;16")
    if picture.mode not in (_JPEG_MODES if format == "JPEG" else _PNG_MODES):
        picture = picture.convert("RGBA" if "A" in picture.getbands() and format != "JPEG" else "RGB")
    if format != "PNG":
        extra["quality"] = _JPEG_QUALITY
    out = BytesIO()
    picture.save(out, format, **extra)
    return out.getvalue()
