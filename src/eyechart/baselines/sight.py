"""The content of an image, computed on demand: words (by RapidOCR), patches of one colour, things.

A drawing has few colours, each covering a good part of it. In a photograph or noise this is not so, and
patches have no meaning (`Patches.flatness` is the share of the image that the few colours cover).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import cv2
import numpy as np

from eyechart.baselines.shapes import RGB, Outline, name_colour, name_outline
from eyechart.data.images import ocr
from eyechart.errors import ImageError, ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eyechart.baselines.shapes import Pixels

    Labels = NDArray[np.int32]

LOOK_SIDE = 800  # pixels; patches are measured at this size: 0.1 s instead of 3 s for a photograph
MIN_THING = 0.0004  # of the image's area

FLAT = 0.8  # of the image in a few colours makes a drawing; photographs and noise have less
MAX_COLOURS = 24
MIN_SHARE = 0.0012  # of the image, for a colour to be one of its colours
NEAR = 26  # channels that differ by less are the same colour: JPEG rings and paper grain stay below
MAX_PATCHES = 400
BLENDED = -1  # pixels between two colours that belong to neither


class Sight:
    """One image, evaluated lazily: reading text takes a second, measuring a few milliseconds."""

    def __init__(self, data: bytes, *, reads: bool, measures: bool = True) -> None:
        try:
            page = ocr.decode_page(data)  # transparency on white, any mode to RGB
        except ImageError as err:
            raise ModelError(err.message) from err
        pixels = ocr.shrink(page, LOOK_SIDE)
        self._page, self._pixels = ocr.to_array(page), ocr.to_array(pixels)
        self.width, self.height = pixels.size
        self._scale = pixels.width / page.width
        self.reads = reads
        self.measures = measures
        # Not `cached_property`, which in Python 3.11 has one lock for all images.
        self._words: tuple[Box, ...] | None = None
        self._things: tuple[Patch, ...] | None = None

    @property
    def words(self) -> tuple[Box, ...]:
        """Text in the image, from top to bottom; empty where it is too small or OCR is off."""
        if self._words is None:
            is_readable = self.reads and max(self.width, self.height) >= ocr.MIN_READABLE
            read, by = ocr.read_boxes(self._page) if is_readable else (), self._scale
            self._words = tuple(
                Box(one.x0 * by, one.y0 * by, one.x1 * by, one.y1 * by, one.text) for one in read
            )
        return self._words

    @cached_property
    def patches(self) -> Patches:
        return find_patches(self._pixels)

    @property
    def is_drawing(self) -> bool:
        """Whether patches are meaningful, and wanted."""
        return self.measures and self.patches.is_drawing

    @cached_property
    def figures(self) -> tuple[Patch, ...]:
        """Patches that are neither background nor too small."""
        smallest = max(8, MIN_THING * self.width * self.height)
        return tuple(one for one in self.patches.patches if not one.is_background and one.area >= smallest)

    @property
    def things(self) -> tuple[Patch, ...]:
        """Figures that may be objects: without lines and, where some have no name, letters."""
        if self._things is None:
            found = tuple(one for one in self.figures if not self._is_line(one))
            if not all(one.shape for one in found):
                found = tuple(one for one in found if not self._is_letter(one))
            self._things = found
        return self._things

    def _is_line(self, patch: Patch) -> bool:
        """A stroke: an axis, a rule, a curve."""
        is_thin = min(patch.width, patch.height) <= max(2.0, 0.006 * max(self.width, self.height))
        return is_thin or patch.outline.fill < 0.15 or patch.outline.solidity < 0.2

    def _is_letter(self, patch: Patch) -> bool:
        return any(word.holds(patch, 2) and patch.height <= 1.25 * word.height for word in self.words)


@dataclass(frozen=True, eq=False)
class Box:
    """A place in an image: sides in pixels from the top left. x1 and y1 lie outside."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str = ""  # what is written there; it may be several words

    @property
    def cx(self) -> float:
        return (self.x0 + self.x1) / 2

    @property
    def cy(self) -> float:
        return (self.y0 + self.y1) / 2

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def size(self) -> float:
        return self.width * self.height

    def holds(self, other: Box, margin: float = 0) -> bool:
        """Whether the middle of another box lies in this one."""
        is_across = self.x0 - margin <= other.cx <= self.x1 + margin
        return is_across and self.y0 - margin <= other.cy <= self.y1 + margin


@dataclass(frozen=True, eq=False, kw_only=True)
class Patch(Box):
    """One connected patch, perhaps an object: a shape with a colour and a place."""

    rgb: RGB
    area: int
    mask: Pixels  # 1 at its own pixels, within its box
    is_background: bool  # of the background's colour, the background itself or a hole onto it

    @property
    def middle(self) -> tuple[float, float]:
        """The centre of its area, which of a slice is not that of its box."""
        ys, xs = np.nonzero(self.mask)
        return self.x0 + float(xs.mean()), self.y0 + float(ys.mean())

    @property
    def fill(self) -> float:
        """The share of its box that it covers."""
        return self.area / (self.width * self.height)

    @cached_property
    def colour(self) -> str:
        return name_colour(self.rgb)

    @cached_property
    def outline(self) -> Outline:
        return name_outline(self.mask)

    @property
    def shape(self) -> str | None:
        return self.outline.name

    @property
    def size(self) -> float:
        return self.outline.area

    def describe(self) -> dict[str, object]:
        box = [self.x0, self.y0, self.x1, self.y1]
        return {"colour": self.colour, "shape": self.shape, "box": box, "fill": self.outline.fill}


@dataclass(frozen=True, slots=True)
class Patches:
    """All patches of a drawing, largest first."""

    patches: tuple[Patch, ...]
    background: RGB
    flatness: float

    @property
    def is_drawing(self) -> bool:
        """Whether a few colours make up the image; if not, it has no patches."""
        return self.flatness >= FLAT


def find_patches(pixels: Pixels) -> Patches:
    """Split an image into patches of one colour."""
    colours, index, flatness = _palette(pixels)
    border = np.concatenate([index[0], index[-1], index[:, 0], index[:, -1]])
    ground = int(np.bincount(border[border != BLENDED], minlength=1).argmax())
    smallest, patches = max(6, 0.00004 * index.size), list[Patch]()
    if flatness < FLAT:
        return Patches((), colours[ground], flatness)
    if flatness < 1:
        _settle_blends(pixels, index, colours)
    for number, rgb in enumerate(colours):
        of_colour = (index == number).astype(np.uint8)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(of_colour, connectivity=4)
        for label in np.flatnonzero(stats[1:, cv2.CC_STAT_AREA] >= smallest) + 1:
            x, y, width, height, area = map(int, stats[label])
            mask = (labels[y : y + height, x : x + width] == label).astype(np.uint8)
            is_ground = number == ground
            box = (x, y, x + width, y + height)
            patches.append(Patch(*box, rgb=rgb, area=area, mask=mask, is_background=is_ground))
    patches.sort(key=lambda patch: -patch.area)
    return Patches(tuple(patches[:MAX_PATCHES]), colours[ground], flatness)


def _palette(pixels: Pixels) -> tuple[list[RGB], Labels, float]:
    """The image's main colours, the colour of each pixel, and the share of pixels that have one."""
    bins = pixels.astype(np.int32) >> 3
    codes = (bins[..., 0] << 10) | (bins[..., 1] << 5) | bins[..., 2]
    counts = np.bincount(codes.ravel(), minlength=1 << 15)
    used = np.flatnonzero(counts)
    levels = np.stack([used >> 10, (used >> 5) & 31, used & 31], axis=1) * 8 + 4
    weights = counts[used].copy()
    owner = np.full(len(used), BLENDED, dtype=np.int32)
    centres: list[RGB] = []
    while len(centres) < MAX_COLOURS and weights.max(initial=0) > 0:
        peak = int(weights.argmax())
        distance = np.abs(levels - levels[peak]).max(axis=1)
        near = (distance < NEAR) & (weights > 0)
        if weights[near].sum() < max(4, MIN_SHARE * codes.size) and centres:
            break
        # Only the core tells the colour: blends with the neighbours would pull it aside.
        core = near & (distance <= 8)
        mean = (levels[core] * weights[core, None]).sum(axis=0) / weights[core].sum()
        centres.append((int(mean[0]), int(mean[1]), int(mean[2])))
        owner[near] = len(centres) - 1
        weights[near] = 0
    of_code = np.full(1 << 15, BLENDED, dtype=np.int32)
    of_code[used] = owner
    index = of_code[codes]
    return centres, index, float((index != BLENDED).mean())


def _settle_blends(pixels: Pixels, index: Labels, colours: Sequence[RGB]) -> None:
    """Give pixels of smoothed edges, which have no colour of their own, the most similar one around them."""
    masks = [(index == number).astype(np.uint8) for number in range(len(colours))]
    for mask in masks:
        if cv2.erode(mask, np.ones((2, 2), np.uint8)).sum() < 0.12 * mask.sum():
            index[mask == 1], mask[:] = BLENDED, 0  # never two pixels wide
    blended = index == BLENDED
    least = np.full(index.shape, np.inf)
    for number, (rgb, mask) in enumerate(zip(colours, masks, strict=True)):
        distance = np.abs(pixels.astype(np.int32) - rgb).sum(axis=2)
        nearest = blended & (cv2.dilate(mask, np.ones((5, 5), np.uint8)) == 1) & (distance < least)
        index[nearest], least[nearest] = number, distance[nearest]
