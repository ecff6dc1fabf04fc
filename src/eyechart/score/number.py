"""Numbers in replies: whether a reply states the gold, by our own reader (`eyechart.readers`)."""

from __future__ import annotations

from eyechart.readers.default import number, score_number
from eyechart.readers.mentions.quantities import is_close, is_same_quantity, parse_quantity

__all__ = ["is_close", "is_same_quantity", "number", "parse_quantity", "score_number"]
