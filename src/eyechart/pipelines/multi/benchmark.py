"""The benchmark ``multi``: exam questions in Chinese, from school to the driving test, with text and images.

`multi` takes the official arguments as options and declares files, prompt, scorer and groups. Parity: the
numbering of images (tests/golden/multi_prepare.jsonl), rounds (multi_rounds.jsonl), scores
(multi_score.jsonl); the wording of the prompts is ours, unless the authors' prompts.py is there. Paper: https://arxiv.org/abs/2402.03173.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from eyechart.data.files.formats import resolve_origin
from eyechart.data.samples import ChangedSource, LazySource
from eyechart.errors import UsageError
from eyechart.pipelines.multi.arguments import MultiOptions
from eyechart.pipelines.multi.data import MultiSource, open_multi, read_replies
from eyechart.pipelines.multi.prompt import OWN_WORDING, MultiPrompt, find_wording
from eyechart.registry import BenchmarkFactory, benchmark
from eyechart.score.chinese_words import require_jieba
from eyechart.types import Benchmark, Card, Replies, Sample, Source

ASKED_TYPES = "0,1,2"  # the default; a file of replies is scored whatever its types
EVERY_TYPE = "0,1,2,3,4"  # the default with a subset, as published

_INPUT_TYPES = ("input type 0, text only", "input type 1, captions instead of images", "input type 2, images")

_OF_THE_PROMPT = (
    "in_turn", "cot", "few_shot", "no_background", "no_sys", "lang", "blank_image", "split_sys", "wording",
)  # fmt: skip
Codes = str | int | list[int]


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
    given = MultiOptions(
        **settings,
        questions_type=types or (EVERY_TYPE if settings.get("subset") else ASKED_TYPES),
        image_type=_written(image_type),
    )
    if file and given.problem_file and Path(file) != Path(given.problem_file):
        raise UsageError(f"multi: two problem files are given: {file} and {given.problem_file}")
    options = replace(
        given,
        problem_file=file or given.problem_file,
        input_type=given.input_type if given.input_type != 1 or given.caption_file else 0,  # as published
        eval_num=given.eval_num or -1,  # as published: 0 means all, too
        wording="" if given.wording == OWN_WORDING else given.wording or find_wording(),
    )
    return declare_multi(options, is_every_type_scored=not types)


def _written(codes: Codes) -> str:
    return ",".join(map(str, codes)) if isinstance(codes, list) else str(codes)


def declare_multi(options: MultiOptions, *, is_every_type_scored: bool) -> Benchmark:
    """MULTI with these options; a file of replies may hold every type even if fewer are asked."""
    prompt = MultiPrompt(options)
    origin = resolve_origin(options.problem_file) if options.problem_file else "multi"

    def opened(options: MultiOptions, *remarks: str) -> MultiSource:
        source = open_multi(options)
        return replace(
            source,
            is_system_empty=options.split_sys and options.no_sys,
            remarks=(*source.remarks, *filter(None, remarks)),
        )

    def asked_about() -> Source:
        _ = prompt.words  # a wrong wording must fail before the first question is asked
        return ChangedSource(opened(options, prompt.describe_wording()), _scorable)

    def read(path: Path) -> Replies:
        types = EVERY_TYPE if is_every_type_scored else options.questions_type
        said = read_replies(path, opened(replace(options, questions_type=types)))
        assert said.source is not None, "it holds the questions that the file answers"
        return replace(said, source=ChangedSource(said.source, _scorable))

    return Benchmark(
        name="multi",
        source=LazySource("multi", origin, asked_about),
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


def _scorable(samples: Iterable[Sample]) -> Iterator[Sample]:
    """The same samples; fails before the first request if what scoring open ones needs is missing."""
    for sample in samples:
        if sample.meta["question_type"] == "OP" and sample.weight:
            require_jieba("MULTI's open questions")
        yield sample
