"""MULTI (Zhu et al., 2024): exam questions in Chinese, from school to driving test, with text and pictures.

Paper: https://arxiv.org/abs/2402.03173. Parity: the numbering of pictures (tests/golden/multi_prepare.jsonl),
rounds (multi_rounds.jsonl), scores (multi_score.jsonl). The words of the prompts are ours; the authors' own
can be given as a file. Options bear the names of the official arguments.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from eyechart.errors import UsageError
from eyechart.registry import benchmark
from eyechart.types import Benchmark

ASKED_TYPES = "0,1,2"  # asked when nothing else is said; a file of replies is scored whatever its types
EVERY_TYPE = "0,1,2,3,4"  # asked of a subset when nothing else is said, as published

Codes = str | int | list[int]


@benchmark("multi")
def multi(
    file: str = "",
    problem_file: str = "",
    knowledge_file: str = "",
    caption_file: str = "",
    subset: str = "",
    questions_type: Codes = "",
    image_type: Codes = "0,1,2",
    subject: str = "",
    input_type: Literal[0, 1, 2] = 0,
    in_turn: bool = False,
    cot: bool = False,
    few_shot: int = 0,
    no_background: bool = False,
    no_sys: bool = False,
    cap_in_cnt: bool = False,
    lang: Literal["zh", "en"] = "zh",
    blank_image: bool = False,
    eval_num: int = -1,
    random: bool = False,
    seed: int = 0,
    split_sys: bool = False,
    wording: str = "",
    answer_position: Literal["start", "end"] = "start",
    image_root: str = "",
    renumbering: Literal["official", "correct"] = "official",
    allow_missing_captions: bool = False,
    allow_unknown_ids: bool = False,
) -> Benchmark:
    """Return the questions of a problem file, chosen and prompted as the options say."""
    from eyechart.benchmarks.multi_options import Options
    from eyechart.benchmarks.multi_parts import declared

    options = Options(
        problem_file=_only_one(file, problem_file),
        knowledge_file=knowledge_file,
        caption_file=caption_file,
        subset=subset,
        questions_type=_written(questions_type) or (EVERY_TYPE if subset else ASKED_TYPES),
        image_type=_written(image_type),
        subject=subject,
        input_type=input_type if input_type != 1 or caption_file else 0,  # as published: nothing to put in
        in_turn=in_turn,
        cot=cot,
        few_shot=few_shot,
        no_background=no_background,
        no_sys=no_sys,
        cap_in_cnt=cap_in_cnt,
        lang=lang,
        blank_image=blank_image,
        eval_num=eval_num,
        random=random,
        seed=seed,
        split_sys=split_sys,
        wording=wording,
        answer_position=answer_position,
        image_root=image_root,
        renumbering=renumbering,
        allow_missing_captions=allow_missing_captions,
        allow_unknown_ids=allow_unknown_ids,
    )
    return declared(options, is_every_type_scored=not _written(questions_type))


def _only_one(file: str, problem_file: str) -> str:
    if file and problem_file and Path(file) != Path(problem_file):
        raise UsageError(f"multi: two problem files are given: {file} and {problem_file}")
    return file or problem_file


def _written(codes: Codes) -> str:
    return ",".join(map(str, codes)) if isinstance(codes, list) else str(codes)
