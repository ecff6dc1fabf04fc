"""From bytes to patches: an image decoded into one form, small enough to measure quickly, then split.

A drawing has few colours, each covering a good part of it. In a photograph or noise this is not so, and
patches have no meaning (`Patches.flatness` is the share of the image that the few colours cover).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyechart.data.images.ocr import decode_page, shrink, to_array
from eyechart.errors import ImageError, ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Labels = NDArray[np.int32]
    Mask = NDArray[np.bool_]
    Colour = NDArray[np.float64]


RGB = tuple[int, int, int]

LOOK_SIDE = 800  # pixels; regions are measured at this size: 0.1 s instead of 3 s for a photograph


@dataclass(frozen=True, slots=True)
class DecodedImage:
    """A decoded image: `pixels` for measuring, `page` for OCR, `scale` from page to pixels."""

    pixels: Pixels
    page: Pixels
    scale: float

    @property
    def height(self) -> int:
        return int(self.pixels.shape[0])

    @property
    def width(self) -> int:
        return int(self.pixels.shape[1])


def decode(data: bytes) -> DecodedImage:
    """Decode an image: transparency on white, any mode to RGB, large ones made smaller."""
    try:
        page = decode_page(data)
    except ImageError as err:
        raise ModelError(err.message) from err
    pixels = shrink(page, LOOK_SIDE)
    return DecodedImage(to_array(pixels), to_array(page), pixels.width / page.width)


# -- Connected patches of one colour: what a drawing is made of

MAX_COLOURS = 24
MIN_SHARE = 0.0012  # of the image, for a colour to be one of its colours
NEAR = 26  # channels that differ by less are the same colour: JPEG rings and paper grain stay below
MAX_PATCHES = 400
BLENDED = -1  # pixels between two colours that belong to neither


@dataclass(frozen=True, slots=True)
class Patch:
    """One connected patch. The box is half-open: x0 <= x < x1."""

    label: int
    rgb: RGB
    area: int
    x0: int
    y0: int
    x1: int
    y1: int
    cx: float
    cy: float
    is_background: bool  # of the background's colour, the background itself or a hole onto it

    @property
    def width(self) -> int:
        return self.x1 - self.x0

    @property
    def height(self) -> int:
        return self.y1 - self.y0

    @property
    def fill(self) -> float:
        """The share of its box that it covers."""
        return self.area / (self.width * self.height)


@dataclass(frozen=True, slots=True)
class Patches:
    """All patches of an image, largest first, and the label of every pixel."""

    patches: tuple[Patch, ...]
    labels: Labels
    background: RGB
    flatness: float

    def mask(self, patch: Patch) -> Mask:
        """The patch's own pixels, within its box."""
        box = self.labels[patch.y0 : patch.y1, patch.x0 : patch.x1]
        return np.asarray(box == patch.label)


def find_patches(pixels: Pixels) -> Patches:
    """Split an image into patches of one colour."""
    colours, index, flatness = _palette(pixels)
    border = np.concatenate([index[0], index[-1], index[:, 0], index[:, -1]])
    border = border[border != BLENDED]
    ground = int(np.bincount(border).argmax()) if border.size else 0
    labels = label_areas(index)
    patches = _measure(labels, index, colours, ground)
    return Patches(tuple(patches), labels, colours[ground], flatness)


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
    flatness = float((index != BLENDED).mean())
    _free_blends(index, centres)
    return centres, _settle_blends(pixels, index, centres), flatness


def _free_blends(index: Labels, centres: list[RGB]) -> None:
    """Undo colours that are only the smoothed edge between two others: never two pixels wide."""
    solid = np.zeros(index.shape, dtype=bool)
    same = (index[1:, 1:] == index[:-1, 1:]) & (index[1:, 1:] == index[1:, :-1])
    solid[1:, 1:] = same & (index[1:, 1:] == index[:-1, :-1])
    counts = np.bincount(index[index != BLENDED], minlength=len(centres))
    solids = np.bincount(index[solid & (index != BLENDED)], minlength=len(centres))
    palette = np.asarray(centres, dtype=np.float64)
    for n, centre in enumerate(palette):
        firm = [m for m in range(len(centres)) if m != n and counts[m] > counts[n]]
        is_thin = solids[n] < 0.12 * counts[n]
        if is_thin and any(
            _lies_between(centre, palette[a], palette[b]) for a in firm for b in firm if a < b
        ):
            index[index == n] = BLENDED


def _lies_between(colour: Colour, one: Colour, other: Colour) -> bool:
    line = other - one
    along = float((colour - one) @ line) / max(float(line @ line), 1.0)
    return 0.03 < along < 0.97 and float(np.abs(one + along * line - colour).max()) < NEAR


def _settle_blends(pixels: Pixels, index: Labels, centres: list[RGB]) -> Labels:
    """Give each smoothed edge pixel to the neighbouring colour it is most like."""
    palette = np.asarray(centres, dtype=np.int32)
    height, width = index.shape
    for _ in range(3):
        ys, xs = np.nonzero(index == BLENDED)
        if not len(ys):
            break
        own = pixels[ys, xs].astype(np.int32)
        best = np.full(len(ys), BLENDED, dtype=np.int32)
        best_distance = np.full(len(ys), 1 << 20)
        for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            other = index[np.clip(ys + dy, 0, height - 1), np.clip(xs + dx, 0, width - 1)]
            distance = np.abs(own - palette[other]).sum(axis=1)
            better = (other != BLENDED) & (distance < best_distance)
            best[better], best_distance[better] = other[better], distance[better]
        index = index.copy()
        index[ys, xs] = best
    return index


def label_areas(index: Labels) -> Labels:
    """Number the connected areas of equal value (four neighbours), from 0.

    Rows are cut into runs; runs that touch are joined by hooking the higher root to the lower and
    following parents until nothing moves: a handful of passes over arrays, no loop over pixels.

    >>> label_areas(np.array([[1, 1, 0], [0, 1, 0], [2, 0, 0]], dtype=np.int32)).tolist()
    [[0, 0, 1], [2, 0, 1], [3, 1, 1]]
    """
    starts = np.ones(index.shape, dtype=bool)
    starts[:, 1:] = index[:, 1:] != index[:, :-1]
    runs = np.cumsum(starts).reshape(index.shape) - 1
    touch = index[1:] == index[:-1]
    above, below = runs[:-1][touch], runs[1:][touch]
    parent = np.arange(int(runs[-1, -1]) + 1)
    while True:
        roots_a, roots_b = parent[above], parent[below]
        differ = roots_a != roots_b
        if not differ.any():
            break
        above, below, roots_a, roots_b = above[differ], below[differ], roots_a[differ], roots_b[differ]
        np.minimum.at(parent, np.maximum(roots_a, roots_b), np.minimum(roots_a, roots_b))
        while (parent[parent] != parent).any():
            parent = parent[parent]
    _, dense = np.unique(parent, return_inverse=True)
    return np.asarray(dense[runs], dtype=np.int32)


def _measure(labels: Labels, index: Labels, colours: list[RGB], ground: int) -> list[Patch]:
    flat = labels.ravel()
    areas = np.bincount(flat)
    smallest = max(6, 0.00004 * flat.size)
    kept = [int(n) for n in np.argsort(-areas, kind="stable")[:MAX_PATCHES] if areas[n] >= smallest]
    ys, xs = np.divmod(np.arange(flat.size), labels.shape[1])
    first = np.full(len(areas), flat.size)
    np.minimum.at(first, flat, np.arange(flat.size))
    limits = np.full((4, len(areas)), -1)
    limits[:2] = flat.size
    for row, values in ((0, xs), (1, ys)):
        np.minimum.at(limits[row], flat, values)
        np.maximum.at(limits[row + 2], flat, values)
    mean_x = np.bincount(flat, xs) / areas
    mean_y = np.bincount(flat, ys) / areas
    patches = []
    for n in kept:
        colour = int(index.ravel()[first[n]])
        if colour == BLENDED:
            continue
        x0, y0, x1, y1 = (int(limits[row, n]) for row in range(4))
        patches.append(
            Patch(
                label=n, rgb=colours[colour], area=int(areas[n]), x0=x0, y0=y0, x1=x1 + 1, y1=y1 + 1,
                cx=float(mean_x[n]), cy=float(mean_y[n]), is_background=colour == ground,
            )
        )  # fmt: skip
    return patches
