"""The content of an image, computed on demand: patches, things (shapes with colours), words (by RapidOCR)."""

from __future__ import annotations

from functools import cached_property

from eyechart.baselines.patches import Box, Patch, Patches, find_patches
from eyechart.data.images import ocr
from eyechart.errors import ImageError, ModelError

LOOK_SIDE = 800  # pixels; patches are measured at this size: 0.1 s instead of 3 s for a photograph
MIN_THING = 0.0004  # of the image's area


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
