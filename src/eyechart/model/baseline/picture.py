"""Bytes to pixels: one form for every picture, small enough to be measured quickly."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eyechart.errors import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

LOOK_SIDE = 800  # pixels; regions are measured at this size: 0.1 s instead of 3 s for a photograph
READ_SIDE = 1600  # text is read at this size


@dataclass(frozen=True, slots=True)
class Picture:
    """A decoded picture: `pixels` to measure in, `page` to read from, `scale` from page to pixels."""

    pixels: Pixels
    page: Pixels
    scale: float

    @property
    def height(self) -> int:
        """Of what is measured, in pixels."""
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        """Of what is measured, in pixels."""
        return int(self.pixels.shape[1])


def decode(data: bytes) -> Picture:
    """Decode a picture: transparency on white, any mode to RGB, large ones made smaller."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        with _open(data) as opened:
            opened.draft("RGB", (READ_SIDE, READ_SIDE))  # JPEG: decode at half size or less
            image = _flatten(ImageOps.exif_transpose(opened))
    except (UnidentifiedImageError, OSError, ValueError, Image.DecompressionBombError) as err:
        raise ModelError(f"the picture cannot be decoded: {err}") from err
    page = _shrink(image, READ_SIDE)
    pixels = _shrink(page, LOOK_SIDE)
    return Picture(_array(pixels), _array(page), pixels.width / page.width)


def _open(data: bytes) -> Any:
    """Open what endpoints are sent. `Image.open` would warn about size, which the loader has checked."""
    from PIL import GifImagePlugin, Image, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

    openers: dict[bytes, Any] = {
        b"\x89PNG": PngImagePlugin.PngImageFile,
        b"\xff\xd8\xff": JpegImagePlugin.JpegImageFile,
        b"RIFF": WebPImagePlugin.WebPImageFile,
        b"GIF8": GifImagePlugin.GifImageFile,
    }
    opener = next((one for head, one in openers.items() if data.startswith(head)), Image.open)
    return opener(io.BytesIO(data))


def _flatten(image: Any) -> Any:
    from PIL import Image

    if image.mode == "P" or "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("RGB")
    if image.mode.startswith(("I", "F")):
        return _rescale(image)
    return image.convert("RGB")


def _rescale(image: Any) -> Any:
    """Sixteen bits or floats to eight, by their own range."""
    import numpy as np
    from PIL import Image

    values = np.asarray(image, dtype=np.float64)
    low, high = min(0.0, float(values.min())), max(255.0, float(values.max()))
    scaled = (values - low) / (high - low) * 255
    return Image.fromarray(np.clip(scaled, 0, 255).astype(np.uint8)).convert("RGB")


def _shrink(image: Any, side: int) -> Any:
    from PIL import Image

    longest = max(image.size)
    if longest <= side:
        return image
    size = tuple(max(1, round(length * side / longest)) for length in image.size)
    return image.resize(size, Image.Resampling.BOX, reducing_gap=2.0)


def _array(image: Any) -> Pixels:
    import numpy as np

    return np.asarray(image, dtype=np.uint8)
