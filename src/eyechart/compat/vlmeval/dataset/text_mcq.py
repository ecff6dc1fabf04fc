"""Multiple choice without pictures, in the way of `vlmeval.dataset.text_mcq`."""

from __future__ import annotations

from typing import ClassVar

from eyechart.compat.vlmeval.changes import as_written
from eyechart.compat.vlmeval.dataset.image_base import ImageBaseDataset, Part, row_of
from eyechart.compat.vlmeval.dataset.image_mcq import choice_text
from eyechart.compat.vlmeval.frames import Row


@as_written
class TextMCQDataset(ImageBaseDataset):
    """Questions with options in columns A, B, ..., and no picture."""

    MODALITY: ClassVar[str] = "TEXT"
    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: Row | int) -> list[Part]:
        """Hint, question and options as one text."""
        return [{"type": "text", "value": choice_text(row_of(self, line))}]


@as_written
class CustomTextMCQDataset(TextMCQDataset):
    """Multiple choice of one's own, without pictures. Scripts assign their functions onto it."""
