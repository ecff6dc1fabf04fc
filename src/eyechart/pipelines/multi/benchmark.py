"""The benchmark ``multi``: exam questions in Chinese, from school to the driving test, with text and images.

`multi` takes the official arguments as options and declares files, prompt, scorer and groups. Parity: the
numbering of images (tests/golden/multi_prepare.jsonl), rounds (multi_rounds.jsonl), scores
(multi_score.jsonl); the wording of the prompts is ours, unless the authors' prompts.py is there. Paper: https://arxiv.org/abs/2402.03173.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from eyechart.data.files.formats import resolve_origin
from eyechart.data.wrappers import ChangedSource, LazySource
from eyechart.errors import UsageError
from eyechart.pipelines.multi.arguments import MultiSettings
from eyechart.pipelines.multi.data import MultiFiles, open_multi, read_replies
from eyechart.pipelines.multi.prompt import (
    MARK,
    OWN_WORDING,
    WORDS,
    MultiPrompt,
    find_wording,
    read_authors_words,
    read_words,
)
from eyechart.pipelines.multi.score import count_points
from eyechart.pipelines.multi.select import InputType, Numbering, Selection, read_codes
from eyechart.registry import BenchmarkFactory, benchmark
from eyechart.score.chinese_words import require_jieba
from eyechart.types import Benchmark, Card, Message, Replies, Sample, Source

TYPES = range(5)  # of questions, as `questions_type` numbers them
ASKED_TYPES = "0,1,2"  # the default; a file of replies is scored whatever its types
EVERY_TYPE = "0,1,2,3,4"  # the default with a subset, as published

_INPUT_TYPES = ("input type 0, text only", "input type 1, captions instead of images", "input type 2, images")

_OF_THE_PROMPT = (
    "in_turn", "cot", "few_shot", "no_background", "no_sys", "lang", "blank_image", "split_sys", "wording",
)  # fmt: skip
Codes = str | int | list[int]


@dataclass(frozen=True, kw_only=True)
class MultiOptions(MultiSettings):
    """All settings. They go to the manifest and into the run folder's name, so their names stay."""

    input_type: InputType = 0
    seed: int = 0
    split_sys: bool = False
    wording: str = ""
    answer_position: Literal["start", "end"] = "start"
    image_root: str = ""
    renumbering: Numbering = "official"
    allow_missing_captions: bool = False
    allow_unknown_ids: bool = False

    def __post_init__(self) -> None:
        if self.input_type not in (0, 1, 2):
            raise UsageError(
                f"multi: input_type is {self.input_type}, but must be 0, 1 or 2",
                hint="3, images without text, was never implemented",
            )
        if self.eval_num < -1:
            raise UsageError(f"multi: eval_num is {self.eval_num}, but must be -1 or 0 (all), or a number")

    @property
    def origin(self) -> str:
        return resolve_origin(self.problem_file) if self.problem_file else "multi"

    def selection(self) -> Selection:
        return Selection(
            types=read_codes(self.questions_type, TYPES, name="questions_type"),
            image_types=read_codes(self.image_type, range(3), name="image_type"),
            subject=self.subject,
            eval_num=self.eval_num,
            shuffle=self.random,
            seed=self.seed,
        )

    def files(self, selection: Selection) -> MultiFiles:
        """The files, and how the selected questions are assembled from them."""
        if not self.problem_file:
            raise UsageError(
                "multi needs a problem file",
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
        """All questions of the problem file, to tell ids that were not selected from unknown ones."""
        return replace(self.files(Selection(types=frozenset(TYPES))), subset=None, input_type=0)


def _with_settings(function: BenchmarkFactory) -> BenchmarkFactory:
    """Give a function with ``**settings`` the signature of `MultiOptions`, which `--set` and Python read."""
    own = inspect.signature(function, eval_str=True).parameters
    settings = inspect.signature(MultiOptions, eval_str=True).parameters
    named = [one for one in own.values() if one.kind is not one.VAR_KEYWORD]
    rest = [one for name, one in settings.items() if name not in own]
    function.__signature__ = inspect.Signature([*named, *rest])  # type: ignore[attr-defined]
    return function


@benchmark("multi")
@_with_settings
def multi(
    file: str = "", questions_type: Codes = "", image_type: Codes = "0,1,2", **settings: Any
) -> Benchmark:
    """Return the questions of a problem file, chosen and prompted as `MultiOptions` says."""
    types = _written(questions_type)
    given = MultiOptions(**settings, questions_type=types, image_type=_written(image_type))
    options = replace(
        given,
        problem_file=_only_one(file, given.problem_file),
        questions_type=types or (EVERY_TYPE if given.subset else ASKED_TYPES),
        input_type=given.input_type if given.input_type != 1 or given.caption_file else 0,  # as published
        eval_num=given.eval_num or -1,  # as published: 0 means all, too
        wording="" if given.wording == OWN_WORDING else given.wording or find_wording(),
    )
    return declare_multi(options, is_every_type_scored=not types)


def _only_one(file: str, problem_file: str) -> str:
    if file and problem_file and Path(file) != Path(problem_file):
        raise UsageError(f"multi: two problem files are given: {file} and {problem_file}")
    return file or problem_file


def _written(codes: Codes) -> str:
    return ",".join(map(str, codes)) if isinstance(codes, list) else str(codes)


def declare_multi(options: MultiOptions, *, is_every_type_scored: bool) -> Benchmark:
    """MULTI with these options; a file of replies may hold every type even if fewer are asked."""
    asked = options.selection()
    scored = replace(asked, types=frozenset(TYPES)) if is_every_type_scored else asked
    prompt = _Prompt(options)

    def opened(files: MultiFiles, *remarks: str) -> Source:
        source = open_multi(files)
        source = replace(source, is_system_empty=options.split_sys and options.no_sys)
        return ChangedSource(replace(source, remarks=(*source.remarks, *filter(None, remarks))), _weighed)

    def asked_about() -> Source:
        prompt.check()  # a wrong wording must fail before the first question is asked
        return ChangedSource(opened(options.files(asked), prompt.describe_wording()), _scorable)

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
        judged_scorer="multi-judged",
        group_by=("level", "image_class", "question_type", "subject"),
        cluster=("problem_id",),
        files="multi",
        read_replies=read,
        settings=asdict(options),
        prompt_settings=_OF_THE_PROMPT,
        card=Card(url="https://github.com/OpenDFM/MULTI-Benchmark"),
        about=f"MULTI: Chinese exam questions with text and images; {_INPUT_TYPES[options.input_type]}",
    )


def _weighed(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Samples weighted by the points that they can earn."""
    for sample in samples:
        kind = sample.meta["question_type"]
        label = sample.golds[0] if sample.golds else None
        yield replace(sample, weight=float(count_points(label, kind)))


def _scorable(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The same samples; fails before the first request if what scoring open ones needs is missing."""
    for sample in samples:
        if sample.meta["question_type"] == "OP" and sample.weight:
            require_jieba("MULTI's open questions")
        yield sample


@dataclass(frozen=True)
class _Prompt:
    """The prompt, made at the first question: declaring a benchmark reads no file."""

    options: MultiOptions

    def __call__(self, sample: Sample) -> list[Message]:
        return self._made(sample)

    def check(self) -> None:
        """Make it now; `UsageError` for a wrong wording."""
        _ = self._made

    def describe_wording(self) -> str:
        """Whose words the prompts have; empty if they are the user's, who knows."""
        said = self.options
        if not said.wording:
            return (
                "the prompts have eyechart's own wording, not the authors', so the score is not exactly "
                "comparable with published ones; for theirs: --set wording=PATH/eval/prompts.py of their "
                "repository"
            )
        if Path(said.wording).suffix != ".py":
            return ""
        theirs = read_authors_words(Path(said.wording), said.lang, cot=said.cot)
        ours = [name for name in WORDS[said.lang] if name not in theirs]
        rest = f", except for {', '.join(ours)}, which it lacks" if ours else ""
        return f"the prompts have the authors' wording, from {said.wording}{rest}"

    @cached_property
    def _made(self) -> MultiPrompt:
        said = self.options
        words = read_words(said.wording, said.lang, cot=said.cot) if said.wording else WORDS[said.lang]
        marked = next((name for name, text in words.items() if MARK.search(text)), "")
        if said.in_turn and marked:
            raise UsageError(
                f"{said.wording}: the piece {marked!r} holds an image mark, at which rounds are cut",
                hint="write [IMAGE_i], without a number",
            )
        options = ("input_type", *(name for name in _OF_THE_PROMPT if name not in ("lang", "wording")))
        return MultiPrompt(words=words, **{name: getattr(said, name) for name in options})


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()
