"""The boxes that a row carries: where to look in its image.

All of them are in pixels of the original image, as left, top, right and bottom. Target boxes are those that
the question is about.

====================  ======================================================================================
``target_instances``  a list of boxes, all of them targets (TreeBench)
``layout_infos``      number to ``{"bbox": box}``; those whose number is in ``target_layouts`` are targets
                      (O3-Bench)
``bbox``, ``bboxes``  a box or a list of them, in a file of one's own
``target_boxes``      the same, as a benchmark's own reader leaves them: V*Bench's are in a file of their own
====================  ======================================================================================

Each may be a list or the text of one. What is no box (not four finite numbers, no width or height) is left
out; so are all boxes of a row with several images, because it does not say which image they belong to.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from itertools import islice
from typing import Any

import msgspec

from eyechart.data.files.rows import read_literal
from eyechart.data.images.loading import ImageLoader, Measurer
from eyechart.errors import ImageError
from eyechart.terminal import to_one_line
from eyechart.types import Sample

MAX_BOXES = 500  # of a row; more could not be told apart on any screen
TARGET_BOXES = "target_boxes"
# Of a file of one's own. What a benchmark withholds under these names may be in another scale (OCRBench v2).
_OWN = ("bbox", "bboxes")


class Box(msgspec.Struct, frozen=True, kw_only=True):
    """A box in pixels."""

    left: float
    top: float
    right: float
    bottom: float
    is_target: bool = True
    label: str = ""  # the number of a layout, or of a crop
    is_crop: bool = False  # what a model asked for, not the row


def read_boxes(sample: Sample) -> list[Box]:
    """The boxes of a sample with one image, at most `MAX_BOXES`; targets last, so that they are drawn on top.

    >>> from eyechart.types import ImageRef
    >>> layouts = {"1": {"bbox": [0, 0, 50, 40]}, "2": {"bbox": [60, 0, 90, 40]}}
    >>> row = {"layout_infos": layouts, "target_layouts": [2]}
    >>> sample = Sample(id="1", question="?", images=(ImageRef(kind="file", location="a.png"),), withheld=row)
    >>> [(box.label, box.is_target) for box in read_boxes(sample)]
    [('1', False), ('2', True)]
    """
    if len(sample.images) != 1:
        return []
    facts = {name: value for name, value in sample.withheld.items() if name not in _OWN}
    found = list(islice(_list_boxes({**facts, **sample.meta}), MAX_BOXES))
    return sorted(found, key=lambda box: box.is_target)


def clip_boxes(boxes: Iterable[Box], width: int, height: int) -> list[Box]:
    """The boxes within an image of this size; what is less than a pixel wide or high there is left out.

    >>> clip_boxes([Box(left=-5, top=1, right=9, bottom=99), Box(left=30, top=0, right=40, bottom=9)], 20, 10)
    [Box(left=0, top=1, right=9, bottom=10, is_target=True, label='', is_crop=False)]
    """
    clipped = []
    for box in boxes:
        left, top = max(0, box.left), max(0, box.top)
        right, bottom = min(width, box.right), min(height, box.bottom)
        if right - left >= 1 and bottom - top >= 1:
            clipped.append(msgspec.structs.replace(box, left=left, top=top, right=right, bottom=bottom))
    return clipped


def describe_boxes(boxes: Iterable[Box]) -> str:
    """How many boxes there are of both kinds; empty if there are none.

    >>> describe_boxes([Box(left=0, top=0, right=5, bottom=5)])
    '1 target box'
    """
    kinds = [box.is_target for box in boxes if not box.is_crop]
    n_targets, n_others = sum(kinds), len(kinds) - sum(kinds)
    counts = ((n_targets, "target box"), (n_others, "other box"))
    return ", ".join(f"{n} {name}{'es' * (n != 1)}" for n, name in counts if n)


def _list_boxes(facts: Mapping[str, Any]) -> Iterator[Box]:
    for name in ("target_instances", TARGET_BOXES, *_OWN):
        found = _parse(facts.get(name))
        if isinstance(found, list | tuple):
            is_one = bool(found) and not isinstance(found[0], list | tuple | Mapping)
            for one in [found] if is_one else found:
                yield from _read_box(one.get("bbox") if isinstance(one, Mapping) else one)
    layouts = _parse(facts.get("layout_infos"))
    if isinstance(layouts, Mapping):
        targets = _parse(facts.get("target_layouts"))
        wanted = {str(one) for one in targets} if isinstance(targets, list | tuple) else set()
        for number, layout in layouts.items():
            corners = layout.get("bbox") if isinstance(layout, Mapping) else None
            label = to_one_line(str(number)[:40])[:20]
            yield from _read_box(corners, is_target=str(number) in wanted, label=label)


def _parse(value: Any) -> Any:
    """A value, or what its text holds; bare numbers with commas are a list."""
    if not isinstance(value, str):
        return value
    text = value.strip()
    return read_literal(text if text[:1] in ("[", "{") else f"[{text}]")


def _read_box(value: Any, *, is_target: bool = True, label: str = "") -> Iterator[Box]:
    """The box of four finite numbers that has width and height; none for anything else."""
    if not isinstance(value, list | tuple) or len(value) != 4:
        return
    if any(isinstance(one, bool) or not isinstance(one, int | float) for one in value):
        return
    with suppress(OverflowError):
        left, top, right, bottom = map(float, value)
        if all(map(math.isfinite, (left, top, right, bottom))) and left < right and top < bottom:
            yield Box(left=left, top=top, right=right, bottom=bottom, is_target=is_target, label=label)


# -- Gold boxes: out of the columns, into the scale of a rule

_COORDINATE = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
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
    return [float(number) for number in _COORDINATE.findall(str(box))]


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
