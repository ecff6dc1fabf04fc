"""MULTI's prompt: role and instruction, image guide, example, question, knowledge, ending.

The structure is the official one, in the official order, under the official names of its options; the
words are in words.py. With `split_sys` the pieces before the question are the system message,
otherwise all is one text. Pictures follow the text, except where a question with several of them is asked
in rounds (`in_turn`): then every round brings its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from eyechart.errors import DataError
from eyechart.prompt.multi.rounds import MARK, split_rounds
from eyechart.prompt.multi.words import WORDS
from eyechart.types import MODELS_TURN, ImageRef, Message, Sample

# A black picture of 224 x 224 pixels, a PNG of 86 bytes.
BLACK = ImageRef(
    kind="data",
    location="iVBORw0KGgoAAAANSUhEUgAAAOAAAADgAQAAAAAyVldMAAAAHUlEQVR42u3BMQEAAADCoPVPbQZ/oAAAAAAAAHgM"
    "GWAAAQrTbh4AAAAASUVORK5CYII=",
)

_OPEN = "解答"
_PIECES = {"单选": "sa", "多选": "ma", "填空": "fb", _OPEN: "op"}  # all others are asked like open ones


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiPrompt:
    """Makes messages of a sample of MULTI. Options are named as in the official arguments."""

    words: Mapping[str, str] = field(default_factory=lambda: WORDS["zh"])
    input_type: Literal[0, 1, 2] = 0
    in_turn: bool = False
    cot: bool = False
    no_background: bool = False
    no_sys: bool = False
    few_shot: int = 0
    blank_image: bool = False
    split_sys: bool = False

    def __call__(self, sample: Sample) -> list[Message]:
        """The messages of one question; several rounds have a place for what the model says to each."""
        system, text = self.system_text(sample), self.user_text(sample)
        turns = [Message("system", (system,))] if self.split_sys and system else []
        if not self.split_sys:
            text = system + text
        images = sample.images if self.input_type == 2 else ()
        if self.in_turn and len(images) > 1:
            return [*turns, *self._rounds(sample, text)]
        if self._is_black(sample):
            images = (BLACK,)
        return [*turns, Message("user", (text, *images))]

    def system_text(self, sample: Sample) -> str:
        """What comes before the question: role, instruction, image guide, example."""
        if self.no_sys:
            return ""
        words, kind = self.words, self._kind(sample)
        begin = words[f"instruction_{kind}"]
        if not self.no_background:
            role = words["role"].replace("{type}", _asked_as(sample))
            begin = f"{role.replace('{subject}', str(sample.meta.get('knowledge', '')))}\n{begin}"
        example = ""
        if self.few_shot and kind != "op":
            example = f"\n{words[f'example_{kind}']}\n{words['example_end']}\n"  # a line stays empty
        return f"{begin}\n{words[self.guide(sample)]}\n{example}"

    def user_text(self, sample: Sample) -> str:
        """The question, the knowledge where there is some, and the ending."""
        knowledge = sample.meta.get("knowledge_content")
        background = "" if knowledge is None else f"\n{self.words['knowledge']}\n{knowledge}"
        ending = "ending_cot" if self._reasons(sample) else "ending"
        return f"{sample.question}{background}\n{self.words[ending]}"

    def guide(self, sample: Sample) -> str:
        """The name of the piece that says how pictures are given."""
        n_images = _number(sample, "question_image_number") + _number(sample, "knowledge_image_number")
        if n_images == 0:
            return "guide_black_image" if self._is_black(sample) else "guide_text"
        if self.input_type == 2:
            return "guide_image_in_turn" if self.in_turn and n_images > 1 else "guide_image"
        return "guide_caption" if self.input_type == 1 else "guide_no_image"

    def _rounds(self, sample: Sample, text: str) -> list[Message]:
        rounds = split_rounds(text) if MARK.search(text) else []
        if len(rounds) != len(sample.images):
            raise DataError(
                f"question {sample.id!r}: the prompt marks {len(rounds)} pictures, but there are "
                f"{len(sample.images)}, so it cannot be asked in rounds",
                hint="write [IMAGE_i], without a number, where a piece of wording speaks of marks",
            )
        turns = [Message("user", (image, said)) for image, said in zip(sample.images, rounds, strict=True)]
        if self.cot:  # as published: open questions too, though their ending asks for no reasoning
            turns.append(Message("user", (self.words["final_round"],)))
        spoken = [turn for asked in turns for turn in (asked, MODELS_TURN)]
        return spoken[:-1]

    def _reasons(self, sample: Sample) -> bool:
        return self.cot and self._kind(sample) != "op"

    def _is_black(self, sample: Sample) -> bool:
        return self.blank_image and self.input_type == 2 and not sample.images

    @staticmethod
    def _kind(sample: Sample) -> str:
        return _PIECES[_asked_as(sample)]


def _asked_as(sample: Sample) -> str:
    name = str(sample.meta["type_name"])
    return name if name in _PIECES else _OPEN


def _number(sample: Sample, name: str) -> int:
    return int(sample.meta.get(name, 0))
