"""Pictures cut, shrunk and saved anew, in a format that can be sent."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from eyechart.data.pixels import Header, decode, decoded_bytes, fitted, inspect, open_picture, reason
from eyechart.errors import ImageError
from eyechart.memory import MAX_BYTES, reserve
from eyechart.quiet import quiet

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

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
    name, picture = open_picture(data, what)
    # Colours that are made out of others take as much again.
    n_copies = 1 if picture.mode in ("RGB", "L") or box else 2
    is_huge = box is None and n_copies * decoded_bytes(picture) > MAX_BYTES
    full = picture.size
    try:
        if is_huge and name == "JPEG":  # which holds smaller versions of itself
            width, height = fitted(*full, max_pixels, max_side)
            picture.draft(None, (2 * width, 2 * height))
        else:
            reserve(n_copies * decoded_bytes(picture))
        decode(picture, what)
        full = full if name == "JPEG" else picture.size  # which a TIFF turns as it is decoded
        corners = None if box is None else clipped(box, full, what)
        left, top, right, bottom = corners or (0, 0, *full)
        size = fitted(right - left, bottom - top, max_pixels, max_side)
        resized = size != (right - left, bottom - top)
        if is_huge and resized:
            picture = _brought_down(picture, size)
        if jpeg_quality is not None:
            return _as_jpeg(picture, corners, size, jpeg_quality, resized=resized)
        return _cut_and_saved(picture, corners, size, _target(header, corners), resized=resized)
    except (OSError, ValueError, MemoryError) as err:  # a pixel format that Pillow reads but cannot change
        raise ImageError(
            f"{what}: a {name} of mode {picture.mode} that cannot be cut, shrunk or saved ({reason(err)})",
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
        with quiet():  # Pillow warns about crops above half of our limit
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

    with quiet():  # Pillow warns about large crops, and about palettes whose transparency it drops
        picture = picture if corners is None else picture.crop(corners)
        grey = _smooth(picture) if picture.mode.startswith("I") else picture
        picture = grey if grey.mode == "RGB" else grey.convert("RGB")  # which would copy it
    if resized:
        picture = picture.resize(size, Resampling.LANCZOS)
    out = BytesIO()
    picture.save(out, "JPEG", quality=quality)
    return Encoded(out.getvalue(), "JPEG", *size, resized)


def clipped(box: tuple[int, int, int, int], size: tuple[int, int], what: str) -> tuple[int, int, int, int]:
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
