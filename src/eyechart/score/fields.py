"""Answers that are objects, scored field by field, by our own reader (`eyechart.readers.fields`)."""

from __future__ import annotations

from eyechart.readers.fields import FieldScore, combine_fields, count_fields, score_fields
from eyechart.readers.objects import score_object as score

__all__ = ["FieldScore", "combine_fields", "count_fields", "score", "score_fields"]
