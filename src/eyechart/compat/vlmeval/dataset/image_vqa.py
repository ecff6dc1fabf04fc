"""Open questions on pictures, in the way of `vlmeval.dataset.image_vqa`."""

from __future__ import annotations

from typing import ClassVar

from eyechart.compat.vlmeval.changes import as_written
from eyechart.compat.vlmeval.dataset.image_base import ImageBaseDataset, Part
from eyechart.compat.vlmeval.frames import Row

SHORT_ANSWER = "\nAnswer the question using a single word or phrase."


@as_written
class ImageVQADataset(ImageBaseDataset):
    """Open questions that ask for a short answer."""

    TYPE: ClassVar[str] = "VQA"

    def build_prompt(self, line: Row | int) -> list[Part]:
        """The pictures, then the question with the request for a word or a phrase."""
        parts = ImageBaseDataset.build_prompt(self, line)
        parts[-1]["value"] += SHORT_ANSWER
        return parts


@as_written
class CustomVQADataset(ImageBaseDataset):
    """Open questions of one's own, asked as they stand. Scripts assign their functions onto it."""

    TYPE: ClassVar[str] = "VQA"
