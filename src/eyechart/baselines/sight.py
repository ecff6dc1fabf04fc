"""The content of an image, computed on demand: patches, things (shapes with colours), words (by RapidOCR)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from eyechart.baselines.patches import DecodedImage, Patch, Patches, find_patches
from eyechart.baselines.shapes import Outline, name_colour, name_outline
from eyechart.data.images import ocr

MIN_THING = 0.0004  # of the image's area


@dataclass(frozen=True, slots=True)
class Thing:
    """A patch taken as an object: a shape with a colour and a place."""

    patch: Patch
    colour: str
    outline: Outline

    @property
    def shape(self) -> str | None:
        return self.outline.name

    @property
    def middle(self) -> tuple[float, float]:
        return self.patch.cx, self.patch.cy

    def describe(self) -> dict[str, object]:
        patch = self.patch
        return {
            "colour": self.colour,
            "shape": self.shape,
            "box": [patch.x0, patch.y0, patch.x1, patch.y1],
            "fill": self.outline.fill,
        }


class Sight:
    """One image, evaluated lazily: reading text takes a second, measuring a few milliseconds."""

    def __init__(self, image: DecodedImage, *, reads: bool, measures: bool = True) -> None:
        self.image = image
        self.reads = reads
        self.measures = measures
        # Not `cached_property`, which in Python 3.11 has one lock for all images.
        self._words: tuple[Box, ...] | None = None
        self._things: tuple[Thing, ...] | None = None

    @property
    def words(self) -> tuple[Box, ...]:
        """Text in the image; empty where it is too small or OCR is off."""
        if self._words is None:
            is_readable = self.reads and max(self.image.width, self.image.height) >= ocr.MIN_READABLE
            self._words = read_words(self.image) if is_readable else ()
        return self._words

    @cached_property
    def patches(self) -> Patches:
        return find_patches(self.image.pixels)

    @property
    def is_drawing(self) -> bool:
        """Whether patches are meaningful, and wanted."""
        return self.measures and self.patches.is_drawing

    @cached_property
    def figures(self) -> tuple[Patch, ...]:
        """Patches that are neither background nor too small."""
        if not self.is_drawing:
            return ()
        smallest = max(8, MIN_THING * self.image.width * self.image.height)
        return tuple(
            patch for patch in self.patches.patches if not patch.is_background and patch.area >= smallest
        )

    @property
    def things(self) -> tuple[Thing, ...]:
        """Figures with a shape and a colour; letters and lines are left out."""
        if self._things is None:
            found = [Thing(one, name_colour(one.rgb), name_outline(one.mask)) for one in self.figures]
            found = [thing for thing in found if not self._is_line(thing)]
            if not all(thing.shape for thing in found):
                found = [thing for thing in found if not self._is_letter(thing.patch)]
            self._things = tuple(found)
        return self._things

    def _is_line(self, thing: Thing) -> bool:
        """A stroke: an axis, a rule, a curve."""
        patch = thing.patch
        thin = max(2.0, 0.006 * max(self.image.width, self.image.height))
        is_straight = min(patch.width, patch.height) <= thin
        is_winding = thing.outline.fill < 0.15 or thing.outline.solidity < 0.2
        return is_straight or is_winding

    def _is_letter(self, patch: Patch) -> bool:
        return any(
            word.x0 - 2 <= patch.cx <= word.x1 + 2
            and word.y0 - 2 <= patch.cy <= word.y1 + 2
            and patch.height <= 1.25 * word.height
            for word in self.words
        )


# -- Places in an image: a bar, a word, a curve


@dataclass(frozen=True, slots=True)
class Box:
    """Sides in pixels from the top left, and what lies there; a text may be several words."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str = ""
    colour: str = ""

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

    def turned(self) -> Box:
        """The box turned a quarter left: horizontal bars become vertical ones."""
        return Box(self.y0, -self.x1, self.y1, -self.x0, self.text, self.colour)


def read_words(image: DecodedImage) -> tuple[Box, ...]:
    """The text in an image, from top to bottom, with places in the measured image's pixels."""
    scale = image.scale
    return tuple(
        Box(box.x0 * scale, box.y0 * scale, box.x1 * scale, box.y1 * scale, box.text)
        for box in ocr.read_boxes(image.page)
    )
