"""Gold boxes of samples: out of the columns, into the scale of a rule."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from eyechart.data.images.loading import ImageLoader, Measurer
from eyechart.errors import ImageError
from eyechart.types import Sample

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_CORNERS = ("x1", "y1", "x2", "y2")
_LARGEST_FRACTION = 1.5  # as in VLMEvalKit: the boxes of some annotators reach over the edge


def hide_box(sample: Sample) -> Sample:
    """The sample with its box as the gold, as columns may be shown to a model, and the size of its image."""
    meta = dict(sample.meta)
    box = meta.pop("bbox", None)
    corners = [meta.pop(f"bbox_{name}", None) for name in _CORNERS]
    for name in _CORNERS:
        meta.pop(f"bbox_{name}_norm", None)
    if box is None and None not in corners:
        box = corners
    numbers = read_numbers(box if box is not None else sample.golds)  # a list as the answer is four golds
    if not any(name in meta for name in ("width", "img_size", "image_size", "image_width")):
        meta |= measure(sample)
    golds = (write_box(numbers),) if len(numbers) == 4 else sample.golds
    return replace(sample, meta=meta, golds=golds)


def read_numbers(box: object) -> list[float]:
    """The numbers of a box, written as a list or as text."""
    return [float(number) for number in _NUMBER.findall(str(box))]


def write_box(numbers: list[float]) -> str:
    """A box as a gold.

    >>> write_box([0, 12.5, 3, 4])
    '[0, 12.5, 3, 4]'
    """
    return f"[{', '.join(f'{number:g}' for number in numbers)}]"


def scale_box(box: list[float], meta: Mapping[str, Any], *, to_pixels: bool) -> list[float]:
    """A box in pixels or as fractions of the image, whatever it is written in; unchanged without a size."""
    try:
        width, height = float(meta.get("width") or 0), float(meta.get("height") or 0)
    except (TypeError, ValueError, OverflowError):
        return box
    if len(box) != 4 or not (width and height) or (max(box) > _LARGEST_FRACTION) == to_pixels:
        return box
    sides = (width, height, width, height)
    return [number * side if to_pixels else number / side for number, side in zip(box, sides, strict=True)]


def measure(sample: Sample) -> dict[str, int]:
    """Width and height of the image; nothing if it cannot be read, which the run reports."""
    if not sample.images:
        return {}
    with closing(ImageLoader(allow_urls=False)) as loader, suppress(ImageError):
        image = Measurer(loader).load(sample.images[0])
        return {"width": image.width, "height": image.height}
    return {}
