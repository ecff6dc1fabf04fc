"""MULTI (Zhu et al., 2024): exam questions in Chinese, from school to driving test, with text and pictures.

Paper: https://arxiv.org/abs/2402.03173. Parity: the numbering of pictures (tests/golden/multi_prepare.jsonl),
rounds (multi_rounds.jsonl), scores (multi_score.jsonl). The words of the prompts are ours; the authors' own
can be given as a file. Options bear the names of the official arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from eyechart.benchmarks.multi_options import TYPES, Options
from eyechart.data.lazy import ChangedSource, LazySource
from eyechart.data.multi import MultiFiles, open_multi
from eyechart.data.multi.replies import read_replies
from eyechart.errors import UsageError
from eyechart.prompt.multi import MultiPrompt
from eyechart.prompt.multi.rounds import MARK
from eyechart.prompt.multi.words import WORDS, Language, read_words
from eyechart.registry import benchmark
from eyechart.types import Benchmark, Message, Replies, Sample, Source

ASKED_TYPES = "0,1,2"  # asked when nothing else is said; a file of replies is scored whatever its types

_INPUT_TYPES = (
    "input type 0, the words alone",
    "input type 1, captions in place of pictures",
    "input type 2, pictures",
)

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
    lang: Language = "zh",
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
    options = Options(
        problem_file=_only_one(file, problem_file),
        knowledge_file=knowledge_file,
        caption_file=caption_file,
        subset=subset,
        questions_type=_written(questions_type) or ASKED_TYPES,
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
    return _declared(options, is_every_type_scored=not _written(questions_type))


def _declared(options: Options, *, is_every_type_scored: bool) -> Benchmark:
    asked = options.selection()
    scored = replace(asked, types=frozenset(TYPES)) if is_every_type_scored else asked
    prompt = _Prompt(options)

    def opened(files: MultiFiles) -> Source:
        prompt.check()  # a mistake in the wording must show before the first question is asked
        return ChangedSource(open_multi(files), _weighed)

    def asked_about() -> Source:
        return ChangedSource(opened(options.files(asked)), _scorable)

    def read(path: Path) -> Replies:
        chosen = opened(options.files(scored))
        said = read_replies(path, chosen, LazySource("multi", chosen.origin, lambda: opened(options.every())))
        assert said.source is not None, "it holds the questions that the file answers"
        return replace(said, source=ChangedSource(said.source, _scorable))

    return Benchmark(
        name="multi",
        source=LazySource("multi", options.origin, asked_about),
        prompt=prompt,
        scorer="multi" if options.answer_position == "start" else "multi-end",
        group_by=("level", "image_class", "question_type", "subject"),
        files="multi",
        read_replies=read,
        settings=asdict(options),
        about=f"MULTI: Chinese exam questions with text and pictures; {_INPUT_TYPES[options.input_type]}",
    )


def _weighed(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Samples that weigh as many points as their label can earn."""
    from eyechart.score.multi import total_points

    for sample in samples:
        kind = sample.meta["question_type"]
        points = float(total_points(sample.golds[0], kind)) if sample.golds else 0.0
        yield replace(sample, weight=points)


def _scorable(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The same samples; what scoring an open one needs is asked for before anything is spent on it."""
    from eyechart.score.multi.rouge import require_words

    for sample in samples:
        if sample.meta["question_type"] == "OP" and sample.weight:
            require_words()
        yield sample


@dataclass(frozen=True)
class _Prompt:
    """The prompt, made at the first question: naming a benchmark reads no file."""

    options: Options

    def __call__(self, sample: Sample) -> list[Message]:
        return self._made(sample)

    def check(self) -> None:
        """Make it now; `UsageError` for words that are none of MULTI's."""
        _ = self._made

    @cached_property
    def _made(self) -> MultiPrompt:
        said = self.options
        words = read_words(said.wording, said.lang) if said.wording else WORDS[said.lang]
        marked = next((name for name, text in words.items() if MARK.search(text)), "")
        if said.in_turn and marked:
            raise UsageError(
                f"{said.wording}: the piece {marked!r} holds the mark of a picture, where rounds are cut",
                hint="write [IMAGE_i], without a number",
            )
        return MultiPrompt(
            words=words,
            input_type=said.input_type,
            in_turn=said.in_turn,
            cot=said.cot,
            no_background=said.no_background,
            no_sys=said.no_sys,
            few_shot=said.few_shot,
            blank_image=said.blank_image,
            split_sys=said.split_sys,
        )


def _only_one(file: str, problem_file: str) -> str:
    if file and problem_file and Path(file) != Path(problem_file):
        raise UsageError(f"multi: two problem files are given: {file} and {problem_file}")
    return file or problem_file


def _written(codes: Codes) -> str:
    return ",".join(map(str, codes)) if isinstance(codes, list) else str(codes)
