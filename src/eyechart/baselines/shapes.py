"""Names for what was measured: colours by hue, saturation and lightness, shapes by their outline."""

from __future__ import annotations

import colorsys
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eyechart.baselines.patches import RGB, label_areas

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from eyechart.baselines.patches import Mask

    Points = NDArray[np.float64]


# Where one hue's name ends and the next begins, in degrees; red goes round through 0.
_HUES = (
    (14, "red"), (42, "orange"), (68, "yellow"), (165, "green"), (196, "teal"), (256, "blue"),
    (292, "purple"), (340, "pink"), (360, "red"),
)  # fmt: skip

# What words mean; also used for questions.
WORDS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
_COLOURS = frozenset(WORDS["colours"]["names"])
_COLOUR_WORDS: Mapping[str, str] = WORDS["colours"]["words"]


def name_colour(rgb: RGB) -> str:
    """The everyday name of a colour.

    >>> [name_colour(rgb) for rgb in ((214, 47, 47), (125, 74, 38), (0, 128, 128), (139, 144, 150))]
    ['red', 'brown', 'teal', 'grey']
    """
    hue, light, saturation = colorsys.rgb_to_hls(*(channel / 255 for channel in rgb))
    chroma = (max(rgb) - min(rgb)) / 255
    if light < 0.09 or (light < 0.2 and chroma < 0.12):
        return "black"
    if light > 0.93 or (light > 0.88 and chroma < 0.1):
        return "white"
    if chroma < 0.1 or saturation < 0.12:
        return "grey"
    name = next(name for end, name in _HUES if hue * 360 <= end)
    if name in ("red", "orange") and hue * 360 < 60 and light < (0.42 if name == "orange" else 0.22):
        return "brown"
    if name in ("orange", "yellow") and light > 0.72 and saturation < 0.8:
        return "beige"
    if name == "red" and light < 0.45 and saturation < 0.65:
        return "brown"
    if name == "red" and light > 0.68:
        return "pink"
    if name == "pink" and light < 0.35:
        return "purple"
    return name


def read_colour(word: str) -> str | None:
    """The name we use for a colour word, or None.

    >>> read_colour("Gray"), read_colour("violet"), read_colour("round")
    ('grey', 'purple', None)
    """
    word = word.casefold()
    word = _COLOUR_WORDS.get(word, word)
    return word if word in _COLOURS else None


# -- Outlines: circle, square, triangle, star and the like, from their geometry alone

SIDES: Mapping[str, int] = WORDS["shapes"]["sides"]
_SHAPE_WORDS: Mapping[str, str] = WORDS["shapes"]["words"]
_SHAPES = frozenset({*SIDES, *WORDS["shapes"]["others"]})


@dataclass(frozen=True, slots=True)
class Outline:
    """A shape's name, or None, and the measures that led to it."""

    name: str | None
    area: float
    fill: float  # of the box
    solidity: float  # of the convex hull
    corners: int = 0
    aspect: float = 1.0


def read_shape(word: str) -> str | None:
    """The name we use for a shape word, in singular or plural, or None.

    >>> read_shape("discs"), read_shape("Squares"), read_shape("table")
    ('circle', 'square', None)
    """
    word = word.casefold()
    for form in (word, word.removesuffix("s"), word.removesuffix("es")):
        form = _SHAPE_WORDS.get(form, form)
        if form in _SHAPES:
            return form
    return None


def fill_holes(mask: Mask) -> Mask:
    """The mask with all that lies inside it."""
    padded = np.pad(mask, 1).astype(np.int32)
    labels = label_areas(padded)
    return np.asarray((labels != labels[0, 0])[1:-1, 1:-1])


def name_outline(mask: Mask) -> Outline:
    """Name the outline of a mask whose holes are filled."""
    area = float(mask.sum())
    fill = round(area / mask.size, 3)
    if min(mask.shape) < 4:
        return Outline(None, area, fill, 1.0)
    hull = _hull(mask)
    if len(hull) < 3:
        return Outline(None, area, fill, 1.0)
    # The hull joins the middles of pixels; half a pixel all round brings it to the area they cover.
    solidity = min(1.0, area / (_area(hull) + _length(hull) / 2 + 1))
    # Of a few pixels, the staircase of the edge alone takes some away.
    if solidity >= 0.91 - 0.5 / math.sqrt(area):
        name, corners, aspect = _name_convex(hull)
    else:
        name, corners, aspect = _name_spiky(mask, solidity), 0, 1.0
    return Outline(name, area, fill, round(solidity, 3), corners, round(aspect, 2))


def _hull(mask: Mask) -> Points:
    """Convex hull of the pixels' middles, by the monotone chain over each row's ends."""
    rows = np.flatnonzero(mask.any(axis=1))
    left = mask[rows].argmax(axis=1)
    right = mask.shape[1] - 1 - mask[rows][:, ::-1].argmax(axis=1)
    points = sorted({(float(x), float(y)) for ends in (left, right) for x, y in zip(ends, rows, strict=True)})

    def half(ordered: list[tuple[float, float]]) -> list[tuple[float, float]]:
        chain: list[tuple[float, float]] = []
        for point in ordered:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
                chain.pop()
            chain.append(point)
        return chain[:-1]

    return np.asarray(half(points) + half(points[::-1]))


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _area(points: Points) -> float:
    x, y = points[:, 0], points[:, 1]
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2)


def _length(points: Points) -> float:
    return float(np.hypot(*(np.roll(points, -1, axis=0) - points).T).sum())


def _name_convex(hull: Points) -> tuple[str | None, int, float]:
    area = _area(hull)
    size = math.sqrt(area)
    polygon = _simplify(hull, max(1.2, 0.035 * size))
    box_area, aspect, angle = _tightest_box(hull)
    if _largest_triangle(polygon) / area > 0.88 - 1.6 / size:
        return "triangle", 3, aspect
    if area / box_area > 0.93 - 0.3 / size:
        if aspect < 1.05 + 1.0 / size:
            return ("diamond" if 25 < angle < 65 else "square"), 4, aspect
        return "rectangle", 4, aspect
    if _area(_simplify(hull, math.inf, down_to=4)) / area > 0.9 - 0.5 / size:
        return _name_four_corners(hull, area), 4, aspect
    if _roundness(hull) > 0.955 - 2.2 / size:
        return ("circle" if aspect < 1.15 + 1.0 / size else "ellipse"), 0, aspect
    corners = len(polygon)
    names = {sides: name for name, sides in SIDES.items() if sides > 4}
    return names.get(corners), corners, aspect


def _name_four_corners(hull: Points, area: float) -> str | None:
    """Diamond, if the corners stand in the middle of the box's sides; trapezia have no name here."""
    wide, tall = np.ptp(hull, axis=0)
    return "diamond" if 0.42 < area / (wide * tall) < 0.6 else None


def _simplify(hull: Points, tolerance: float, *, down_to: int = 3) -> Points:
    """Corners that stand out: drop, one by one, the point that matters least while it is within tolerance."""
    points = [(float(x), float(y)) for x, y in hull]
    while len(points) > down_to:
        heights = []
        for i, b in enumerate(points):
            a, c = points[i - 1], points[(i + 1) % len(points)]
            base = math.dist(a, c)
            heights.append(abs(_turn(a, b, c)) / base if base else 0.0)
        least = min(range(len(points)), key=heights.__getitem__)
        if heights[least] > tolerance:
            break
        del points[least]
    return np.asarray(points)


def _tightest_box(hull: Points) -> tuple[float, float, float]:
    """Area, aspect and angle (0 to 90 degrees) of the smallest turned box around the hull."""
    edges = np.roll(hull, -1, axis=0) - hull
    best = (math.inf, 1.0, 0.0)
    for angle in sorted({round(math.atan2(dy, dx) % (math.pi / 2), 3) for dx, dy in edges}):
        cos, sin = math.cos(angle), math.sin(angle)
        turned = hull @ np.array([[cos, -sin], [sin, cos]])
        wide, tall = np.ptp(turned, axis=0)
        if wide * tall < best[0] * 0.999:
            best = (
                float(wide * tall), float(max(wide, tall) / max(min(wide, tall), 1e-6)), math.degrees(angle),
            )  # fmt: skip
    return best


def _largest_triangle(polygon: Points) -> float:
    step = max(1, len(polygon) // 16)
    return max(
        (_area(polygon[list(three)]) for three in combinations(range(0, len(polygon), step), 3)), default=0
    )


def _roundness(hull: Points) -> float:
    """Smallest over largest radius once the outline is stretched to equal width and height."""
    dense = np.concatenate([
        hull + (np.roll(hull, -1, axis=0) - hull) * part for part in (0.0, 0.25, 0.5, 0.75)
    ])  # fmt: skip
    low, high = hull.min(axis=0), hull.max(axis=0)
    unit = (dense - (low + high) / 2) / np.maximum((high - low) / 2, 1e-6)
    radii = np.hypot(unit[:, 0], unit[:, 1])
    return float(radii.min() / radii.max())


def _name_spiky(mask: Mask, solidity: float) -> str | None:
    """Star or cross, by the number of arms around the middle."""
    ys, xs = np.nonzero(mask)
    dx, dy = xs - xs.mean(), ys - ys.mean()
    radius = np.hypot(dx, dy)
    bins = ((np.arctan2(dy, dx) + math.pi) / (2 * math.pi) * 60).astype(int) % 60
    reach = np.zeros(60)
    np.maximum.at(reach, bins, radius)
    smooth = (np.roll(reach, 1) + reach + np.roll(reach, -1)) / 3
    if smooth.min() > 0.8 * smooth.max():
        return None
    middle = (smooth.min() + smooth.max()) / 2
    outside = smooth > middle
    arms = int((outside & ~np.roll(outside, 1)).sum())
    # The tips of a regular star reach equally far; a letter's strokes seldom do.
    tips = [smooth[run].max() for run in _runs(outside)]
    if arms < 4 or min(tips) < 0.8 * max(tips) or solidity < 0.3:
        return None
    return "cross" if arms == 4 else "star"


def _runs(flags: Mask) -> list[NDArray[np.int64]]:
    """Positions of each unbroken run of true, going round."""
    start = int(np.flatnonzero(~flags)[0]) if (~flags).any() else 0
    order = (np.arange(len(flags)) + start) % len(flags)
    cuts = np.flatnonzero(np.diff(flags[order].astype(int)) != 0) + 1
    return [part for part in np.split(order, cuts) if flags[part[0]]]
