"""Pictures to base64 and back, in the way of `vlmeval.smp`. What is no picture is refused."""

from __future__ import annotations

import binascii
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyechart.data.pixels import decode, inspect, open_picture
from eyechart.errors import ImageError
from eyechart.replacing import replacing

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP", ".gif": "GIF", ".bmp": "BMP"}


def picture_bytes(base64_string: str, what: str = "the base64 text") -> bytes:
    """The bytes of a picture's file out of base64 or a data URL, looked at but not changed."""
    import pybase64

    text = base64_string.partition(",")[2] if base64_string[:5].lower() == "data:" else base64_string
    try:
        data = pybase64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as err:
        raise ImageError(f"{what}: broken base64 ({err})", hint="the cell may be cut off") from err
    inspect(data, what)
    return data


def decode_base64_to_image(base64_string: str, target_size: int = -1) -> Any:
    """The picture as Pillow has it, in RGB where it has a palette or transparency."""
    return _small(_opened(picture_bytes(base64_string), "the base64 text"), target_size)


def decode_base64_to_image_file(base64_string: str, image_path: str | Path, target_size: int = -1) -> None:
    """Write the picture to a file, in the format that its name asks for."""
    data = picture_bytes(base64_string)
    path = Path(image_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    format = _FORMATS.get(path.suffix.lower(), "PNG")
    if target_size <= 0 and inspect(data, path.name).format == format:
        with replacing(path) as place:
            place.write_bytes(data)
        return
    picture = _small(_opened(data, path.name), target_size)
    with replacing(path) as place, place.open("wb") as file:
        picture.save(file, format)


def encode_image_to_base64(img: Any, target_size: int = -1, fmt: str = "JPEG") -> str:
    """A picture of Pillow's as base64 of a file."""
    import pybase64

    out = BytesIO()
    _small(img, target_size).save(out, fmt)
    return pybase64.b64encode(out.getvalue()).decode("ascii")


def encode_image_file_to_base64(image_path: str | Path, target_size: int = -1, fmt: str = "JPEG") -> str:
    """A picture's file as base64, encoded anew as `fmt`."""
    try:
        data = Path(image_path).read_bytes()
    except OSError as err:
        raise ImageError(f"{image_path}: cannot be read: {err.strerror or err}") from err
    return encode_image_to_base64(_opened(data, str(image_path)), target_size, fmt)


def _opened(data: bytes, what: str) -> Picture:
    inspect(data, what)
    _, picture = open_picture(data, what)
    decode(picture, what)
    return picture


def _small(picture: Picture, target_size: int) -> Picture:
    """Fit into a square of `target_size` pixels, never enlarged; -1 leaves the size."""
    picture = picture.convert("RGB") if picture.mode in ("RGBA", "P", "LA") else picture
    if target_size > 0 and max(picture.size) > target_size:
        picture = picture.copy()
        picture.thumbnail((target_size, target_size))
    return picture
