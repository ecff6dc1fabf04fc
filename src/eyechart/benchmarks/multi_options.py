"""MULTI's options as they stand, and what they choose: questions, files, and how these are put together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from eyechart.data.formats import origin_of
from eyechart.data.multi import MultiFiles
from eyechart.data.multi.select import Selection, read_codes
from eyechart.errors import UsageError
from eyechart.prompt.multi.words import Language

TYPES = range(5)  # of questions, as `questions_type` numbers them


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options as they stand. They go to the manifest and name the run folder, so their names stay."""

    problem_file: str
    knowledge_file: str
    caption_file: str
    subset: str
    questions_type: str
    image_type: str
    subject: str
    input_type: Literal[0, 1, 2]
    in_turn: bool
    cot: bool
    few_shot: int
    no_background: bool
    no_sys: bool
    cap_in_cnt: bool
    lang: Language
    blank_image: bool
    eval_num: int
    random: bool
    seed: int
    split_sys: bool
    wording: str
    answer_position: Literal["start", "end"]
    image_root: str
    renumbering: Literal["official", "correct"]
    allow_missing_captions: bool
    allow_unknown_ids: bool

    def __post_init__(self) -> None:
        """Refuse what cannot be meant."""
        if self.input_type not in (0, 1, 2):
            raise UsageError(
                f"multi: input_type is {self.input_type}, but must be 0, 1 or 2",
                hint="3, pictures without words, exists in name only",
            )
        if self.eval_num == 0 or self.eval_num < -1:
            raise UsageError(f"multi: eval_num is {self.eval_num}, but must be -1 (all) or more than 0")

    @property
    def origin(self) -> str:
        """Where the questions lie."""
        return origin_of(self.problem_file) if self.problem_file else "multi"

    def selection(self) -> Selection:
        """Which questions are asked."""
        return Selection(
            types=read_codes(self.questions_type, TYPES, name="questions_type"),
            image_types=read_codes(self.image_type, range(3), name="image_type"),
            subject=self.subject,
            eval_num=self.eval_num,
            shuffle=self.random,
            seed=self.seed,
        )

    def files(self, selection: Selection) -> MultiFiles:
        """The files, and how the chosen questions are put together from them."""
        if not self.problem_file:
            raise UsageError(
                "multi needs MULTI's problem file",
                hint="eyechart run multi --set problem_file=data/problem_v1.3.1_20241210.json -m MODEL",
            )
        return MultiFiles(
            problem_file=_path(self.problem_file),
            knowledge_file=_path(self.knowledge_file) if self.knowledge_file else None,
            caption_file=_path(self.caption_file) if self.caption_file else None,
            subset=_path(self.subset) if self.subset else None,
            image_root=_path(self.image_root) if self.image_root else None,
            input_type=self.input_type,
            cap_in_cnt=self.cap_in_cnt,
            numbering=self.renumbering,
            selection=selection,
            allow_missing_captions=self.allow_missing_captions,
            allow_unknown_ids=self.allow_unknown_ids,
        )

    def every(self) -> MultiFiles:
        """All questions of the problem file, to tell an id that was not chosen from one of no question."""
        return replace(self.files(Selection(types=frozenset(TYPES))), subset=None, input_type=0)


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()
