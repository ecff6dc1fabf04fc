"""A place in a picture: a bar, a word, a curve."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Box:
    """Sides in pixels from the top left, and what is known of what lies there."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str = ""
    colour: str = ""

    @property
    def cx(self) -> float:
        """Middle across."""
        return (self.x0 + self.x1) / 2

    @property
    def cy(self) -> float:
        """Middle down."""
        return (self.y0 + self.y1) / 2

    @property
    def width(self) -> float:
        """Across."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """Down."""
        return self.y1 - self.y0

    def turned(self) -> Box:
        """The box with what was right now up: lying bars become standing ones."""
        return Box(self.y0, -self.x1, self.y1, -self.x0, self.text, self.colour)


class Word(Box):
    """A piece of text as it stands in the picture, often several words of one line."""

    __slots__ = ()
