"""Sizes of everyday pictures, read from their first bytes.

Pillow takes ten times as long to say the same, which is felt when thousands of pictures a second go out as
they are. Only what is beyond doubt is said here; everything else is Pillow's to judge: what it would refuse,
and what it would read otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from io import BytesIO
from math import floor, sqrt
from typing import TYPE_CHECKING, Any, TypeAlias, cast
from zlib import crc32

import msgspec

from eyechart.errors import ImageError
from eyechart.files import suppress_warnings
from eyechart.memory import MAX_BYTES, reserve

if TYPE_CHECKING:
    from PIL.Image import Image as Picture


# Frames whose header gives the size, as all JPEGs in the wild have them: baseline, extended, progressive.
_FRAMES = frozenset({0xC0, 0xC1, 0xC2})
# Segments that may come besides, and the least length they give: tables (DHT, DRI), comments, application
# data, of which Pillow reads JFIF, colour profiles and Adobe's.
_SEGMENTS = {0xC4: 2, 0xDD: 4, 0xFE: 2} | dict.fromkeys(range(0xE0, 0xF0), 2) | {0xE0: 9, 0xE2: 16, 0xEE: 9}
_NEVER = 2**16
_TABLES, _SCAN = 0xDB, 0xDA
_TABLE_BYTES = 65  # of a quantisation table with 8 bits an entry
_PLAIN_DEPTH = 8
_COMPONENTS = frozenset({1, 3, 4})

_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_COLOURS = frozenset({0, 2, 3, 4, 6})
# Depth 8, any colours, compression and filter 0: those that exist.
_PLAIN_HEADS = frozenset(bytes((8, colour, 0, 0)) for colour in _COLOURS)
# Chunks that may come before the pixels, and the least they hold. What is compressed (profiles, texts) could
# be a bomb, and what else there is could be an animation.
_CHUNKS = {
    b"PLTE": 3,
    b"bKGD": 1,
    b"cHRM": 32,
    b"eXIf": 0,
    b"gAMA": 4,
    b"pHYs": 9,
    b"sBIT": 1,
    b"sRGB": 1,
    b"tEXt": 0,
    b"tIME": 7,
}
_MOST_BYTES_BEFORE = 1024 * 1024


def read_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a JPEG or of a still PNG; None when that takes a closer look.

    >>> read_size(b"GIF89a") is None
    True
    """
    try:
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(_PNG):
            return _png(data)
    except IndexError:  # cut off within the header
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Up to the first scan: a frame that no scan follows is no picture, and a second one may be larger."""
    size = None
    place = 2
    while data[place] == 0xFF:
        marker = data[place + 1]
        length = data[place + 2] << 8 | data[place + 3]
        if marker == _SCAN:
            return size if place + 2 + length <= len(data) else None
        if marker in _FRAMES:
            n_components = data[place + 9]
            is_plain = data[place + 4] == _PLAIN_DEPTH and n_components in _COMPONENTS
            if size or not is_plain or length != 8 + 3 * n_components:
                return None
            size = data[place + 7] << 8 | data[place + 8], data[place + 5] << 8 | data[place + 6]
            if not all(size):
                return None
        elif marker == _TABLES:
            # A first byte above 15 means wider entries, which are rare.
            names = data[place + 4 : place + 2 + length : _TABLE_BYTES]
            if length % _TABLE_BYTES != 2 or (names and max(names) > 15):
                return None
        elif length < _SEGMENTS.get(marker, _NEVER) or data[place + 4 : place + 8] == b"MPF\0":
            # A second picture within the first (MPF) makes it another kind of file to Pillow.
            return None
        place += 2 + length
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    """Up to the pixels, with the checksum of every chunk."""
    if data[24:28] not in _PLAIN_HEADS or data[28] > 1 or not _is_sound(data, 8, 13):
        return None
    place = 33
    while (kind := data[place + 4 : place + 8]) != b"IDAT":
        length = int.from_bytes(data[place : place + 4], "big")
        least = _CHUNKS.get(kind)
        if (
            least is None
            or length < least
            or place > _MOST_BYTES_BEFORE
            or not _is_sound(data, place, length)
        ):
            return None
        place += 12 + length
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    return (width, height) if width and height else None


def _is_sound(data: bytes, place: int, length: int) -> bool:
    """Whether the chunk is there as it was written."""
    end = place + 8 + length
    checksum = data[end : end + 4]
    return len(checksum) == 4 and crc32(data[place + 4 : end]) == int.from_bytes(checksum, "big")


# -- Encoded pictures: what they are, whether they are whole, and the size they are shrunk to.
#
# Only formats in `_FORMATS` are read at all. The classes are called directly, not through `Image.open`, which
# would try every format Pillow knows (some start other programs) and warn about large pictures.

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


def open_image(data: bytes, what: str) -> tuple[str, Picture]:
    """The format's name and the picture, of which only the header is read."""
    name, stem = _sniff(data, what)
    try:
        with suppress_warnings():
            picture: Picture = _pillow_class(stem)(BytesIO(data))
    except Exception as err:  # a hostile header can raise nearly anything; all of it means the same
        raise ImageError(
            f"{what}: a broken {name} file ({shorten_reason(err)})", hint="fetch or export it again"
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


def shorten_reason(err: BaseException) -> str:
    """What Pillow found wrong, without the objects that it names."""
    return str(err).split("<")[0].strip().rstrip(":") or type(err).__name__


def decode(picture: Picture, what: str) -> Picture:
    """The same picture with its pixels, when there is room for them in memory."""
    reserve(count_decoded_bytes(picture))
    try:
        picture.load()
    except Exception as err:  # as above: what the decoder raises depends on where the damage lies
        raise ImageError(
            f"{what}: the picture is truncated or broken ({shorten_reason(err)})",
            hint="fetch or export it again",
        ) from err
    return picture


def count_decoded_bytes(picture: Picture) -> int:
    """What its pixels take: Pillow spends four bytes on most, whatever the mode."""
    width, height = picture.size
    return width * height * (1 if picture.mode in ("1", "L", "P") else 4)


def inspect(data: bytes, what: str) -> Header:
    """Read the header, and make sure that the end is there, without decoding what looks whole."""
    size = read_size(data)
    if size is not None and size[0] * size[1] <= MAX_DECODED_PIXELS:
        name = "PNG" if data.startswith(b"\x89") else "JPEG"
        if _looks_whole(name, data):
            return Header(name, *size, is_animated=False)
    name, picture = open_image(data, what)
    try:
        with suppress_warnings():
            is_animated = bool(getattr(picture, "is_animated", False))
    except Exception as err:  # counting frames walks through the whole file
        raise ImageError(f"{what}: a broken {name} file ({shorten_reason(err)})") from err
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
    decode(open_image(data, what)[1], what)
    return header


def _looks_whole(name: str, data: bytes) -> bool:
    return is_complete(name, data[:32], data[-32:], len(data))


def is_complete(name: str, head: bytes, tail: bytes, n_bytes: int) -> bool:
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


def fit_size(width: int, height: int, max_pixels: int | None, max_side: int | None = None) -> tuple[int, int]:
    """The size that keeps the shape within `max_pixels`, and the longer side within `max_side`.

    >>> fit_size(400, 100, 10_000), fit_size(10, 10, None), fit_size(10_000, 1, 100)
    ((200, 50), (10, 10), (1000, 1))
    >>> fit_size(400, 100, None, 200)
    (200, 50)
    """
    ratio = 1.0
    if max_pixels is not None and width * height > max_pixels:
        ratio = sqrt(max_pixels / (width * height))
    if max_side is not None and max(width, height) * ratio > max_side:
        ratio = max_side / max(width, height)
    if ratio == 1.0:
        return width, height
    return max(1, floor(width * ratio)), max(1, floor(height * ratio))


# -- Pictures cut, shrunk and saved anew, in a format that can be sent.

_JPEG_QUALITY = 95
_ORIENTATION = 0x0112
_STRIP = 64  # rows
_PNG_MODES = frozenset({"1", "L", "LA", "I;16", "P", "RGB", "RGBA"})
_JPEG_MODES = frozenset({"L", "RGB", "CMYK"})
_Corners: TypeAlias = tuple[int, int, int, int]  # left, top, right, bottom


class Encoded(msgspec.Struct, frozen=True):
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
    max_side: int | None = None,
    jpeg_quality: int | None = None,
) -> Encoded:
    """Decode the first frame, cut `box` out, shrink as far as asked, and save in a format that can be sent.

    JPEG stays JPEG (quality 95) and a resized WebP stays WebP; everything else becomes PNG. With
    `jpeg_quality` all become JPEG of that quality, by the steps of `_as_jpeg`.
    """
    header = inspect(data, what)
    name, picture = open_image(data, what)
    # Colours that are made out of others take as much again.
    n_copies = 1 if picture.mode in ("RGB", "L") or box else 2
    is_huge = box is None and n_copies * count_decoded_bytes(picture) > MAX_BYTES
    full = picture.size
    try:
        if is_huge and name == "JPEG":  # which holds smaller versions of itself
            width, height = fit_size(*full, max_pixels, max_side)
            picture.draft(None, (2 * width, 2 * height))
        else:
            reserve(n_copies * count_decoded_bytes(picture))
        decode(picture, what)
        full = full if name == "JPEG" else picture.size  # which a TIFF turns as it is decoded
        corners = None if box is None else clip_box(box, full, what)
        left, top, right, bottom = corners or (0, 0, *full)
        size = fit_size(right - left, bottom - top, max_pixels, max_side)
        resized = size != (right - left, bottom - top)
        if is_huge and resized:
            picture = _brought_down(picture, size)
        if jpeg_quality is not None:
            return _as_jpeg(picture, corners, size, jpeg_quality, resized=resized)
        return _cut_and_saved(picture, corners, size, _target(header, corners), resized=resized)
    except (OSError, ValueError, MemoryError) as err:  # a pixel format that Pillow reads but cannot change
        raise ImageError(
            f"{what}: cannot crop, resize or save {name} of mode {picture.mode} ({shorten_reason(err)})",
            hint="convert it to an RGB PNG or JPEG",
        ) from err


def _brought_down(picture: Picture, size: tuple[int, int]) -> Picture:
    """A picture that takes too much memory to be copied, in strips: at least twice the size it shall have."""
    factor = min(picture.width // (2 * size[0]), picture.height // (2 * size[1]))
    if factor < 2:
        return picture
    width, height = -(-picture.width // factor), -(-picture.height // factor)
    rough: Picture | None = None
    for top in range(0, height, _STRIP):
        bottom = min(picture.height, (top + _STRIP) * factor)
        strip = _smooth(picture.crop((0, top * factor, picture.width, bottom))).reduce(factor)
        if rough is None:
            from PIL.Image import new as new_picture

            rough = new_picture(strip.mode, (width, height))
        rough.paste(strip, (0, top))
    assert rough is not None
    if profile := picture.info.get("icc_profile"):
        rough.info["icc_profile"] = profile
    rough.getexif()[_ORIENTATION] = _orientation(picture)
    return rough


def _target(header: Header, corners: _Corners | None) -> str:
    is_webp = header.format == "WEBP" and not header.is_animated and corners is None
    return header.format if header.format == "JPEG" or is_webp else "PNG"


def _cut_and_saved(
    picture: Picture, corners: _Corners | None, size: tuple[int, int], format: str, *, resized: bool
) -> Encoded:
    orientation = _orientation(picture)
    profile = picture.info.get("icc_profile")
    if corners is not None:
        with suppress_warnings():  # Pillow warns about crops above half of our limit
            picture = picture.crop(corners)
    if resized:
        from PIL.Image import Resampling

        picture = _smooth(picture).resize(size, Resampling.LANCZOS)
    return Encoded(_save(picture, format, orientation, profile), format, *picture.size, resized)


def _as_jpeg(
    picture: Picture, corners: _Corners | None, size: tuple[int, int], quality: int, *, resized: bool
) -> Encoded:
    """InSight-o3's steps: to RGB, then Lanczos, then Pillow's plain JPEG, without turn and colour profile.

    The bytes are those that Pillow gives for these steps. One thing is ours: 16-bit grey is brought to 8 bits
    first, where Pillow would cut everything brighter than a 256th off to white.
    """
    from PIL.Image import Resampling

    with (
        suppress_warnings()
    ):  # Pillow warns about large crops, and about palettes whose transparency it drops
        picture = picture if corners is None else picture.crop(corners)
        grey = _smooth(picture) if picture.mode.startswith("I") else picture
        picture = grey if grey.mode == "RGB" else grey.convert("RGB")  # which would copy it
    if resized:
        picture = picture.resize(size, Resampling.LANCZOS)
    out = BytesIO()
    picture.save(out, "JPEG", quality=quality)
    return Encoded(out.getvalue(), "JPEG", *size, resized)


def clip_box(box: tuple[int, int, int, int], size: tuple[int, int], what: str) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a crop, as far as it lies in the picture."""
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
        with suppress_warnings():
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
