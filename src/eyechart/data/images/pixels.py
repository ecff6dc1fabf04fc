"""Encoded images: their format and size, whether they are complete, and how they are cropped and re-encoded.

`inspect` reads the header only. Common JPEG and PNG headers are parsed here, because Pillow takes ten times
as long, which matters at thousands of images per second; everything unusual is left to Pillow. `reencode`
crops, resizes and saves in a format that endpoints accept. `make_thumbnail` makes small copies for pages.
"""

from __future__ import annotations

import re
from importlib import import_module
from io import BytesIO
from math import floor, sqrt
from typing import TYPE_CHECKING, Any
from zlib import crc32

import msgspec

from eyechart.errors import ImageError
from eyechart.files import suppress_warnings
from eyechart.memory import MAX_BYTES, reserve

if TYPE_CHECKING:
    from PIL.Image import Image as PilImage


# -- Inspecting images
#
# Only formats in `_FORMATS` are read. Pillow's classes are called directly, not through `Image.open`, which
# would try every format that Pillow knows (some start other programs) and warn about large images.

# The limit at which Pillow raises; an image of this size takes half a gigabyte when decoded.
MAX_DECODED_PIXELS = 178_956_970

# Trailing data up to the larger of these is sent with the image.
_MAX_TRAILING_BYTES = 2**20
_MAX_TRAILING_RATIO = 10

# Sent unchanged: every known endpoint accepts these. Other formats are converted to PNG.
MIME = {"JPEG": "image/jpeg", "PNG": "image/png", "WEBP": "image/webp", "GIF": "image/gif"}


class Header(msgspec.Struct, frozen=True):
    """What `inspect` finds out."""

    format: str
    width: int
    height: int
    is_animated: bool


# The name of a format, how its files begin, and the prefix of Pillow's module and class.
_FORMATS = (
    ("JPEG", rb"\xff\xd8\xff", "Jpeg"),
    ("PNG", rb"\x89PNG\r\n\x1a\n", "Png"),
    ("WEBP", rb"RIFF....WEBP", "WebP"),
    ("GIF", rb"GIF8[79]a", "Gif"),
    ("BMP", rb"BM", "Bmp"),
    ("TIFF", rb"II[*+]\0|MM\0[*+]", "Tiff"),
    ("PPM", rb"P[1-6]\s", "Ppm"),
    ("JPEG2000", rb"\xff\x4f\xff\x51|\0\0\0\x0cjP  ", "Jpeg2K"),
    ("AVIF", rb"....ftypavi[fs]", "Avif"),
)
_BEGINNINGS = [(name, re.compile(mark, re.DOTALL), stem) for name, mark, stem in _FORMATS]

# Files that are mistaken for images, by lower-case text near the beginning.
_OTHERS = (
    (b"ftyphei", "HEIC"), (b"ftypmif1", "HEIC"), (b"%pdf-", "a PDF document"), (b"<svg", "an SVG drawing"),
    (b"<html", "a web page"), (b"<!doctype html", "a web page"), (b"https://git-lfs", "a Git LFS pointer"),
)  # fmt: skip


def _sniff(data: bytes, what: str) -> tuple[str, str]:
    for name, mark, stem in _BEGINNINGS:
        if mark.match(data):
            return name, stem
    if not data:
        raise ImageError(f"{what}: the image is empty (0 bytes)", hint="download or export it again")
    known = ", ".join(name for name, _, _ in _FORMATS)
    kind = next((kind for mark, kind in _OTHERS if mark in data[:256].lower()), "")
    # The bytes are not shown: the path may lead anywhere, and messages are stored.
    is_what = f"it is {kind}" if kind else f"{len(data):,} bytes of unknown format"
    raise ImageError(f"{what}: not a supported image ({is_what})", hint=f"supported: {known}")


def open_image(data: bytes, what: str) -> tuple[str, PilImage]:
    """The format's name, and the image with only its header read."""
    name, stem = _sniff(data, what)
    try:
        with suppress_warnings():
            module = import_module(f"PIL.{stem}ImagePlugin")
            image: PilImage = getattr(module, f"{stem}ImageFile")(BytesIO(data))
    except Exception as err:  # a malicious header can raise nearly anything
        why = f"{what}: invalid {name} file ({shorten_reason(err)})"
        raise ImageError(why, hint="download or export it again") from err
    width, height = image.size
    if width * height > MAX_DECODED_PIXELS:
        what = f"{what}: {width} x {height} pixels, more than {MAX_DECODED_PIXELS // 1_000_000} million"
        raise ImageError(what, hint="resize the image first")
    if width < 1 or height < 1:
        raise ImageError(f"{what}: {width} x {height} pixels")
    return name, image


def shorten_reason(err: BaseException) -> str:
    """Pillow's message, without the objects in it."""
    return str(err).split("<")[0].strip().rstrip(":") or type(err).__name__


def decode(image: PilImage, what: str) -> PilImage:
    """Decode the pixels, once there is room for them in memory."""
    reserve(count_decoded_bytes(image))
    try:
        image.load()
    except Exception as err:  # as above
        why = f"{what}: the image is truncated or damaged ({shorten_reason(err)})"
        raise ImageError(why, hint="download or export it again") from err
    return image


def count_decoded_bytes(image: PilImage) -> int:
    """Memory for the pixels: Pillow uses four bytes per pixel in most modes."""
    width, height = image.size
    return width * height * (1 if image.mode in ("1", "L", "P") else 4)


def inspect(data: bytes, what: str) -> Header:
    """Read the header and check that the file is complete; pixels are decoded only if that is in doubt."""
    size = read_size(data)
    if size is not None and size[0] * size[1] <= MAX_DECODED_PIXELS:
        name = "PNG" if data.startswith(b"\x89") else "JPEG"
        if is_complete(name, data[:32], data[-32:], len(data)):
            return Header(name, *size, is_animated=False)
    name, image = open_image(data, what)
    try:
        with suppress_warnings():
            is_animated = bool(getattr(image, "is_animated", False))
    except Exception as err:  # counting frames reads the whole file
        raise ImageError(f"{what}: invalid {name} file ({shorten_reason(err)})") from err
    if not is_complete(name, data[:32], data[-32:], len(data)):
        source = getattr(image, "fp", None)  # Pillow drops it after the last pixel
        decode(image, what)
        if name in MIME and not is_animated and source is not None:
            _refuse_padding(source.tell(), len(data), what)
    elif name == "WEBP":
        _refuse_padding(int.from_bytes(data[4:8], "little") + 8, len(data), what)
    return Header(name, *image.size, is_animated)


def _refuse_padding(end: int, n_bytes: int, what: str) -> None:
    """A short video after a photo is sent with it; far more trailing data than image is refused."""
    behind = n_bytes - end
    if behind > max(_MAX_TRAILING_BYTES, _MAX_TRAILING_RATIO * end):
        what = f"{what}: {behind:,} bytes follow the end of the image, which has {end:,}"
        raise ImageError(what, hint="the file is damaged or contains other data; save the image again")


def decode_fully(data: bytes, what: str) -> Header:
    """`inspect`, and decode every pixel."""
    header = inspect(data, what)
    decode(open_image(data, what)[1], what)
    return header


def is_complete(name: str, head: bytes, tail: bytes, n_bytes: int) -> bool:
    """Whether the last bytes end such a file. If not, decoding decides."""
    if name == "WEBP":
        return int.from_bytes(head[4:8], "little") + 8 <= n_bytes
    endings = {"JPEG": b"\xff\xd9", "PNG": b"IEND\xaeB`\x82", "GIF": b";"}
    return name in endings and tail.endswith(endings[name])


def fit_size(width: int, height: int, max_pixels: int | None, max_side: int | None = None) -> tuple[int, int]:
    """The size within `max_pixels`, and with the longer side within `max_side`, of the same shape.

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


# -- Re-encoding images

_JPEG_QUALITY = 95
_ORIENTATION = 0x0112
_STRIP = 64  # rows
_PNG_MODES = frozenset({"1", "L", "LA", "I;16", "P", "RGB", "RGBA"})
_JPEG_MODES = frozenset({"L", "RGB", "CMYK"})


class Encoded(msgspec.Struct, frozen=True):
    """An image that was re-encoded."""

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
    """Decode the first frame, crop to `box`, resize, and save in a format that endpoints accept.

    JPEG stays JPEG (quality 95) and a resized WebP stays WebP; everything else becomes PNG. With
    `jpeg_quality` everything becomes JPEG of that quality, see `_crop`.
    """
    from PIL.Image import Resampling

    header = inspect(data, what)
    name, image = open_image(data, what)
    # Converting the mode takes as much memory again.
    n_copies = 1 if image.mode in ("RGB", "L") or box else 2
    is_huge = box is None and n_copies * count_decoded_bytes(image) > MAX_BYTES
    full = image.size
    try:
        if is_huge and name == "JPEG":  # which can be decoded at a smaller size
            width, height = fit_size(*full, max_pixels, max_side)
            image.draft(None, (2 * width, 2 * height))
        else:
            reserve(n_copies * count_decoded_bytes(image))
        decode(image, what)
        full = full if name == "JPEG" else image.size  # decoding rotates a TIFF
        corners = (0, 0, *full) if box is None else clip_box(box, full, what)
        shown = (corners[2] - corners[0], corners[3] - corners[1])
        size = fit_size(*shown, max_pixels, max_side)
        if is_huge and size != shown:
            image = _reduce_in_strips(image, size)
        is_webp = header.format == "WEBP" and not header.is_animated and box is None
        is_kept = header.format == "JPEG" or is_webp
        format = "JPEG" if jpeg_quality is not None else header.format if is_kept else "PNG"
        image, orientation, profile = _crop(image, None if box is None else corners, jpeg_quality is not None)
        if size != shown:
            image = _smooth(image).resize(size, Resampling.LANCZOS)
        quality = _JPEG_QUALITY if jpeg_quality is None else jpeg_quality
        data = _save(image, format, orientation, profile, quality)
        return Encoded(data, format, *image.size, size != shown)
    except (OSError, ValueError, MemoryError) as err:  # a mode that Pillow reads but cannot convert
        what = f"{what}: cannot crop, resize or save {name} of mode {image.mode} ({shorten_reason(err)})"
        raise ImageError(what, hint="convert it to an RGB PNG or JPEG") from err


def _reduce_in_strips(image: PilImage, size: tuple[int, int]) -> PilImage:
    """Reduce an image that is too large to copy, in strips, to at least twice the final size."""
    factor = min(image.width // (2 * size[0]), image.height // (2 * size[1]))
    if factor < 2:
        return image
    width, height = -(-image.width // factor), -(-image.height // factor)
    rough: PilImage | None = None
    for top in range(0, height, _STRIP):
        bottom = min(image.height, (top + _STRIP) * factor)
        strip = _smooth(image.crop((0, top * factor, image.width, bottom))).reduce(factor)
        if rough is None:
            from PIL.Image import new as new_image

            rough = new_image(strip.mode, (width, height))
        rough.paste(strip, (0, top))
    assert rough is not None
    if profile := image.info.get("icc_profile"):
        rough.info["icc_profile"] = profile
    rough.getexif()[_ORIENTATION] = read_orientation(image)
    return rough


def _crop(
    image: PilImage, corners: tuple[int, int, int, int] | None, is_bare: bool
) -> tuple[PilImage, int, Any]:
    """The cropped image, with its orientation and colour profile.

    `is_bare`: by InSight-o3's steps for a JPEG quality, as RGB without orientation and profile, so that the
    bytes are what Pillow gives for these steps (Lanczos, Pillow's default JPEG). One difference: 16-bit grey
    is scaled to 8 bits first, where Pillow would clip everything above 255 to white.
    """
    orientation, profile = read_orientation(image), image.info.get("icc_profile")
    with suppress_warnings():  # about large crops, and about palettes whose transparency is dropped
        image = image if corners is None else image.crop(corners)
        if not is_bare:
            return image, orientation, profile
        image = _smooth(image) if image.mode.startswith("I") else image
        return image if image.mode == "RGB" else image.convert("RGB"), 1, None  # which would copy


def clip_box(box: tuple[int, int, int, int], size: tuple[int, int], what: str) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a crop, clipped to the image."""
    x, y, width, height = box
    left, top = max(0, x), max(0, y)
    right, bottom = min(size[0], x + width), min(size[1], y + height)
    if left >= right or top >= bottom:
        raise ImageError(
            f"{what}: the crop {box} (x, y, width, height) is outside the image of {size[0]} x {size[1]}",
            hint="the box needs pixels of this image: x, y, width, height, not two corners",
        )
    return left, top, right, bottom


def read_orientation(image: PilImage) -> int:
    """The EXIF orientation. It is kept, not applied: a resized image displays like the original."""
    try:
        with suppress_warnings():
            turn = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # invalid EXIF does not matter
        return 1
    return turn if isinstance(turn, int) and 1 < turn <= 8 else 1


def turn_upright(image: PilImage) -> PilImage:
    """The image as viewers show it."""
    from PIL.ImageOps import exif_transpose

    return image if read_orientation(image) == 1 else exif_transpose(image)


def _smooth(image: PilImage) -> PilImage:
    """Convert to a mode in which pixels can be interpolated."""
    if image.mode == "P":
        return image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode == "1":
        return image.convert("L")
    if image.mode.startswith("I"):  # 16-bit grey to 8 bits
        return image.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return image


def _save(image: PilImage, format: str, orientation: int, profile: Any, quality: int) -> bytes:
    from PIL.Image import Exif

    extra: dict[str, Any] = {"icc_profile": profile} if profile else {}
    if orientation != 1:
        exif = Exif()
        exif[_ORIENTATION] = orientation
        extra["exif"] = exif.tobytes()
    if image.mode == "I" and format == "PNG":
        image = image.convert("I;16")
    if image.mode not in (_JPEG_MODES if format == "JPEG" else _PNG_MODES):
        image = image.convert("RGBA" if "A" in image.getbands() and format != "JPEG" else "RGB")
    if format != "PNG":
        extra["quality"] = quality
    out = BytesIO()
    image.save(out, format, **extra)
    return out.getvalue()


# -- Thumbnails

# Tried in turn until the bytes are few enough, with fewer pixels each time; from the second where there is
# little room, because the first would hardly ever do.
_THUMBNAIL_QUALITIES = (75, 50, 50, 45)
_LITTLE_ROOM = 16_000  # bytes
_LEAST_SIDE = 64


def make_thumbnail(
    data: bytes, what: str, *, box: tuple[int, int, int, int] | None, max_side: int, max_bytes: int
) -> Encoded:
    """A small copy for pages: the first frame, cropped to `box`, upright, of about `max_bytes`."""
    name, image = open_image(data, what)
    full = image.size
    if box is None and name == "JPEG":
        # Decodes at a half, a quarter or an eighth, if that is enough.
        margin = 0 if max_bytes < _LITTLE_ROOM else max_side // 4
        image.draft("RGB", fit_size(*full, None, max_side + margin))
    decode(image, what)
    try:
        with suppress_warnings():
            if box is not None:
                image = image.crop(clip_box(box, full, what))
            # First of all smaller: each step below copies the image.
            image = _reduce_in_strips(image, fit_size(*image.size, None, max_side))
            image = _smooth(image) if image.mode not in ("RGB", "L") else image
            image = turn_upright(image)
            if image.mode not in ("RGB", "RGBA", "L"):
                image = image.convert("RGBA" if "A" in image.getbands() else "RGB")
        return _save_thumbnail(image, max_side, max_bytes)  # outside: other threads wait for the block above
    except (OSError, ValueError, MemoryError) as err:
        raise ImageError(f"{what}: no thumbnail of a {name} image ({shorten_reason(err)})") from err


def _save_thumbnail(image: PilImage, max_side: int, max_bytes: int) -> Encoded:
    """As JPEG where there is little room, that is where there are many: WebP takes twenty times as long."""
    from PIL.Image import Resampling
    from PIL.Image import new as new_image

    full, side = image.size, max_side
    is_small = max_bytes < _LITTLE_ROOM
    if is_small and image.mode == "RGBA":
        opaque = new_image("RGB", full, "white")
        opaque.paste(image, mask=image.getchannel("A"))
        image = opaque
    best, format = b"", "JPEG" if is_small else "WEBP"
    method = Resampling.BILINEAR if is_small else Resampling.BICUBIC
    for quality in _THUMBNAIL_QUALITIES[is_small:]:
        size = fit_size(*full, None, side)
        if image.size != size:
            image = image.resize(size, method, reducing_gap=2.0)
        out = BytesIO()
        image.save(out, format, quality=quality, method=2)
        best = out.getvalue()
        if len(best) <= max_bytes:
            break
        side = max(_LEAST_SIDE, int(max(size) * min(0.95, sqrt(1.1 * max_bytes / len(best)))))
    return Encoded(best, format, *image.size, image.size != full)


# -- Parsing common JPEG and PNG headers

# Frames with the size, as in all common JPEGs: baseline, extended, progressive.
_FRAMES = frozenset({0xC0, 0xC1, 0xC2})
# Other segments that are allowed, and their minimum length: tables (DHT, DRI), comments, application data, of
# which Pillow reads JFIF, colour profiles and Adobe's.
_SEGMENTS = {0xC4: 2, 0xDD: 4, 0xFE: 2} | dict.fromkeys(range(0xE0, 0xF0), 2) | {0xE0: 9, 0xE2: 16, 0xEE: 9}
_NEVER = 2**32
_TABLES, _SCAN = 0xDB, 0xDA
_TABLE_BYTES = 65  # of a quantisation table with 8 bits per entry
_PLAIN_DEPTH = 8
_COMPONENTS = frozenset({1, 3, 4})

_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
# Depth 8, any colour type, compression and filter 0.
_PLAIN_HEADS = frozenset(bytes((8, colour, 0, 0)) for colour in (0, 2, 3, 4, 6))
# Chunks that are allowed before the pixels, and their minimum length. Compressed chunks (profiles, texts)
# could be decompression bombs, and others could be animations.
_CHUNKS = {
    b"PLTE": 3, b"bKGD": 1, b"cHRM": 32, b"eXIf": 0, b"gAMA": 4, b"pHYs": 9, b"sBIT": 1, b"sRGB": 1,
    b"tEXt": 0, b"tIME": 7,
}  # fmt: skip
_MAX_BYTES_BEFORE_PIXELS = 1024 * 1024


def read_size(data: bytes) -> tuple[int, int] | None:
    """Width and height of a common JPEG or still PNG; None if only Pillow can tell.

    >>> read_size(b"GIF89a") is None
    True
    """
    try:
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
        if data.startswith(_PNG):
            return _png(data)
    except IndexError:  # truncated header
        return None
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Parse up to the first scan: without one it is not an image, and a second frame may be larger."""
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
            # Pillow reads a file with a second image inside (MPF) as another format.
            return None
        place += 2 + length
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    """Parse up to the pixels, and verify the checksum of every chunk."""
    if data[24:28] not in _PLAIN_HEADS or data[28] > 1 or not _is_chunk_valid(data, 8, 13):
        return None
    place = 33
    while (kind := data[place + 4 : place + 8]) != b"IDAT":
        length = int.from_bytes(data[place : place + 4], "big")
        is_allowed = length >= _CHUNKS.get(kind, _NEVER) and place <= _MAX_BYTES_BEFORE_PIXELS
        if not is_allowed or not _is_chunk_valid(data, place, length):
            return None
        place += 12 + length
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    return (width, height) if width and height else None


def _is_chunk_valid(data: bytes, place: int, length: int) -> bool:
    end = place + 8 + length
    checksum = data[end : end + 4]
    return len(checksum) == 4 and crc32(data[place + 4 : end]) == int.from_bytes(checksum, "big")
