"""Names for what was measured: colours by hue, saturation and lightness, shapes by their outline."""

from __future__ import annotations

import colorsys
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]
    Points = NDArray[np.integer[Any] | np.floating[Any]]

RGB = tuple[int, int, int]

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
_POLYGONS = {sides: name for name, sides in SIDES.items() if sides > 4}


@dataclass(frozen=True, slots=True)
class Outline:
    """A shape's name, or None, and the measures that led to it. What lies in its holes is part of it."""

    name: str | None
    area: float
    fill: float  # of the box
    solidity: float  # of the convex hull
    corners: int = 0


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


def name_outline(mask: Pixels) -> Outline:
    """Name the outline of a patch."""
    contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    contour = max(contours, key=cv2.contourArea)
    hull = cv2.convexHull(contour).reshape(-1, 2)
    # Both join the middles of pixels; half a pixel all round brings them to the area they cover.
    area = cv2.contourArea(contour) + len(contour) / 2 + 1
    around = cv2.contourArea(hull) + cv2.arcLength(hull, closed=True) / 2 + 1
    fill, solidity = round(area / mask.size, 3), round(min(1.0, area / around), 3)
    if min(mask.shape) < 4 or len(hull) < 3:
        return Outline(None, area, fill, 1.0)
    # Of a few pixels, the staircase of the edge alone takes some away.
    if solidity < 0.91 - 0.5 / math.sqrt(area):
        return Outline(_name_spiky(contour, hull), area, fill, solidity)
    name, corners = _name_convex(hull.astype(np.float32))
    return Outline(name, area, fill, solidity, corners)


def _name_convex(hull: Points) -> tuple[str | None, int]:
    """The name by the tightest triangle, turned box and circle around it; and its corners, 0 if round."""
    area = cv2.contourArea(hull)
    size = math.sqrt(area)
    _, sides, angle = cv2.minAreaRect(hull)
    aspect = max(sides) / max(min(sides), 1e-6)
    if area / cv2.minEnclosingTriangle(hull)[0] > 0.86 - 1.6 / size:
        return "triangle", 3
    if area / math.prod(sides) > 0.94 - 0.3 / size:
        if aspect < 1.05 + 1.0 / size:
            return ("diamond" if 25 < angle % 90 < 65 else "square"), 4
        return "rectangle", 4
    polygon = cv2.approxPolyDP(hull, max(1.2, 0.04 * size), closed=True)
    if len(polygon) == 4:  # a diamond's corners stand in the middle of the box's sides; trapezia have no name
        return ("diamond" if 0.42 < area / math.prod(np.ptp(hull, axis=0)) < 0.6 else None), 4
    is_elliptic = abs(area / (math.pi / 4 * math.prod(sides)) - 1) < 0.04 + 1.0 / size
    if aspect > 1.17 + 1.0 / size and is_elliptic:
        return "ellipse", 0
    if area / (math.pi * cv2.minEnclosingCircle(hull)[1] ** 2) > 0.94 - 1.0 / size:
        return "circle", 0
    return _POLYGONS.get(len(polygon)), len(polygon)


def _name_spiky(contour: Points, hull: Points) -> str | None:
    """Star or cross, by its arms: those of a regular one reach equally far, a letter's strokes seldom do."""
    defects = cv2.convexityDefects(contour, cv2.convexHull(contour, returnPoints=False))
    depths = defects.reshape(-1, 4)[:, 3] / 256
    arms = int((depths > 0.5 * depths.max()).sum())
    tips = cv2.approxPolyDP(hull, 0.1 * math.sqrt(cv2.contourArea(hull)), closed=True).reshape(-1, 2)
    moments = cv2.moments(contour)
    middle = np.array([moments["m10"], moments["m01"]]) / moments["m00"]
    reach = np.hypot(*(tips - middle).T)
    if arms < 4 or reach.min() < 0.8 * reach.max():
        return None
    return "cross" if arms == 4 else "star"
