"""Multiple choice on pictures, in the way of `vlmeval.dataset.image_mcq`."""

from __future__ import annotations

from string import ascii_uppercase
from typing import ClassVar

from eyechart.compat.vlmeval.changes import as_written
from eyechart.compat.vlmeval.dataset.image_base import ImageBaseDataset, Part, image_parts, row_of
from eyechart.compat.vlmeval.frames import Row, is_missing, plain
from eyechart.data.fields import as_text
from eyechart.prompt.mmbench import vlmevalkit_prompt
from eyechart.types import Sample


def choice_text(line: Row) -> str:
    """Hint, question and options in VLMEvalKit's frame."""
    here = {name: as_text(plain(line[name])) for name in (*ascii_uppercase, "hint") if name in line}
    choices = {letter: here[letter] for letter in ascii_uppercase if here.get(letter)}
    question = "" if is_missing(line["question"]) else as_text(plain(line["question"]))
    sample = Sample(id="", question=question, choices=choices, hint=here.get("hint", ""))
    return vlmevalkit_prompt(sample)[-1].text


@as_written
class ImageMCQDataset(ImageBaseDataset):
    """Questions with options in columns A, B, ..."""

    TYPE: ClassVar[str] = "MCQ"

    def build_prompt(self, line: Row | int) -> list[Part]:
        """The pictures, then hint, question and options as one text."""
        line = row_of(self, line)
        return [*image_parts(self, line), {"type": "text", "value": choice_text(line)}]


@as_written
class CustomMCQDataset(ImageMCQDataset):
    """Multiple choice of one's own. Scripts assign their functions onto it."""
