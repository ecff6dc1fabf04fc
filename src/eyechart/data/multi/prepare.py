"""MULTI's questions before they are prompted: pictures numbered, captions put in. Pure.

A text marks its pictures as ``[IMAGE_n]``, n counting the problem's pictures from 1. A question shows some
of them, so they are numbered anew. The official code does that by replacing one mark after the other in
the whole text, and a mark that was just written may be replaced again: ``[IMAGE_2]…[IMAGE_1]`` becomes
``[IMAGE_2]…[IMAGE_2]``. That is what models were asked, so it is what we ask; ``correct`` numbering gives
each mark the number of its own picture.

Parity: tests/golden/multi_prepare.jsonl.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from eyechart.data.multi.files import MARK, MOST_DIGITS
from eyechart.errors import DataError

InputType = Literal[0, 1, 2]  # the words alone; captions or text read from pictures; pictures
Numbering = Literal["official", "correct"]

WHOLE_NAME = "shjk"  # ids of the driving test, whose `knowledge` may be one text instead of a list


@dataclass(frozen=True, slots=True)
class Placed:
    """A text with its pictures numbered from 1, and the paths of those pictures, repeats included."""

    text: str
    images: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How pictures are to be shown in a text."""

    captions: Mapping[str, str] | None = None  # path to caption; None: no captions are asked for
    in_content: bool = False  # in the mark itself instead of behind the text
    numbering: Numbering = "official"


def count_marks(text: str) -> int:
    """How many pictures a text shows: marks, not distinct pictures."""
    return len(MARK.findall(text))


def place_images(text: str, paths: Sequence[str], wanted: Wanted | None = None) -> Placed:
    """Number the pictures of a text anew, with captions where they are wanted.

    >>> place_images("A.[IMAGE_3] B.[IMAGE_4]", ["a", "b", "c", "d"])
    Placed(text='A.[IMAGE_1] B.[IMAGE_2]', images=('c', 'd'))
    >>> place_images("[IMAGE_1]?", ["a"], Wanted({"a": "a cat"}, in_content=True)).text
    '[IMAGE_1:a cat]?'
    >>> place_images("[IMAGE_2], [IMAGE_1]", ["a", "b"], Wanted(numbering="correct")).text
    '[IMAGE_1], [IMAGE_2]'
    """
    wanted = wanted or Wanted()
    marks = list(MARK.finditer(text))
    images = tuple(paths[int(mark[1]) - 1] for mark in marks)  # as published: 0 is the last one
    written = [_mark(number, path, wanted) for number, path in enumerate(images, start=1)]
    if wanted.numbering == "official":
        for mark, new in zip(marks, written, strict=True):
            text = text.replace(mark[0], new)
    else:
        names = iter(written)
        text = MARK.sub(lambda _: next(names), text)
    if wanted.captions is not None and not wanted.in_content:
        # Right behind the text, with no line break before the first: as published.
        lines = (f"[IMAGE_{k}]: {wanted.captions.get(path, '')}\n" for k, path in enumerate(images, start=1))
        text += "".join(lines)
    return Placed(text, images)


def _mark(number: int, path: str, wanted: Wanted) -> str:
    if wanted.captions is None or not wanted.in_content:
        return f"[IMAGE_{number}]"
    return f"[IMAGE_{number}:{wanted.captions.get(path, '')}]"


def check_marks(text: str, paths: Sequence[str], *, where: str, field: str) -> None:
    """Refuse a mark that stands for no picture of the list, naming the place."""
    for mark in MARK.finditer(text):
        if len(mark[1]) > MOST_DIGITS or not 1 <= int(mark[1]) <= len(paths):
            raise DataError(
                f"{where}: {mark[0][:40]} stands in the text, but {field} holds {len(paths)} "
                f"picture{'s' * (len(paths) != 1)}",
                hint=f"pictures are counted from 1; put the missing path into {field} or correct the mark",
            )


def knowledge_name(knowledge: Sequence[str] | str, problem_id: str) -> str:
    """The knowledge point that a prompt names: the first entry.

    Where the file holds one text instead of a list, the official code names its first character, but all
    of it in the driving test.

    >>> knowledge_name(["圆", "切线"], "czsx_0"), knowledge_name("圆", "czsx_0"), knowledge_name([], "czsx_0")
    ('圆', '圆', '')
    >>> knowledge_name("交通标志", "shjk_3"), knowledge_name("交通标志", "czsx_3")
    ('交通标志', '交')
    """
    if isinstance(knowledge, str) and problem_id.startswith(WHOLE_NAME):
        return knowledge
    return knowledge[0] if knowledge else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A question as it goes into a prompt. `record` is its published structure."""

    question_id: str
    question_content: str
    question_type: str  # as the file names it: 单选, ...
    knowledge: Sequence[str] | str
    question_images: tuple[str, ...]
    knowledge_content: str | None = None  # None: there is none
    knowledge_images: tuple[str, ...] = ()
    input_type: InputType = 2

    def record(self) -> dict[str, Any]:
        """The structure that the official code calls a prepared question."""
        record: dict[str, Any] = {
            "question_id": self.question_id,
            "question_content": self.question_content,
            "question_type": self.question_type,
            "knowledge": self.knowledge if isinstance(self.knowledge, str) else list(self.knowledge),
            "question_image_number": len(self.question_images),
        }
        has_list = self.input_type == 2
        if has_list:
            record["question_image_list"] = list(self.question_images)
        if self.knowledge_content is not None:
            record["knowledge_content"] = self.knowledge_content
            record["knowledge_image_number"] = len(self.knowledge_images)
            if has_list:
                record["knowledge_image_list"] = list(self.knowledge_images)
        return record
