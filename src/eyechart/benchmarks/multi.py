"""MULTI (Zhu et al., 2024): exam questions in Chinese, from school to driving test, with text and pictures.

Paper: https://arxiv.org/abs/2402.03173. Parity: the numbering of pictures (tests/golden/multi_prepare.jsonl),
rounds (multi_rounds.jsonl), scores (multi_score.jsonl). The words of the prompts are ours; the authors' own
can be given as a file. Options bear the names of the official arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

from eyechart.data.formats import origin_of
from eyechart.data.lazy import ChangedSource, HeldSource, LazySource
from eyechart.data.multi import MultiFiles, image_class, open_multi
from eyechart.data.multi.predictions import read_predictions
from eyechart.data.multi.select import Selection, read_codes, refuse_unknown_ids
from eyechart.errors import UsageError
from eyechart.prompt.multi import MultiPrompt
from eyechart.prompt.multi.rounds import MARK
from eyechart.prompt.multi.words import WORDS, Language, read_words
from eyechart.registry import benchmark
from eyechart.types import Benchmark, Message, Replies, Reply, Sample, Source

ASKED_TYPES = "0,1,2"  # asked when nothing else is said; a file of replies is scored whatever its types

_ALL = Selection(types=frozenset(range(5)))

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
    settings = {**locals(), "problem_file": _only_one(file, problem_file)}
    del settings["file"]
    if input_type not in (0, 1, 2):
        raise UsageError(
            f"multi: input_type is {input_type}, but must be 0, 1 or 2",
            hint="3, pictures without words, exists in name only",
        )
    if input_type == 1 and not caption_file:
        settings["input_type"] = 0  # as published: without captions there is nothing to put in
    if eval_num == 0 or eval_num < -1:
        raise UsageError(f"multi: eval_num is {eval_num}, but must be -1 (all) or more than 0")
    settings["questions_type"] = _written(questions_type) or ASKED_TYPES
    settings["image_type"] = _written(image_type)
    selection = Selection(
        types=read_codes(settings["questions_type"], range(5), name="questions_type"),
        image_types=read_codes(settings["image_type"], range(3), name="image_type"),
        subject=subject,
        eval_num=eval_num,
        shuffle=random,
        seed=seed,
    )
    prompt = _Prompt(settings)
    origin = origin_of(settings["problem_file"]) if settings["problem_file"] else "multi"

    def opened(chosen: Selection, *, is_all: bool = False) -> Source:
        prompt.made()  # a mistake in the wording must show before the first question is asked
        files = _files(settings, chosen)
        source = open_multi(replace(files, subset=None, input_type=0) if is_all else files)
        return ChangedSource(source, _weighed)

    def read(path: Path) -> Replies:
        any_type = replace(selection, types=frozenset(range(5)))
        chosen = opened(selection if _written(questions_type) else any_type)
        everything = LazySource("multi", chosen.origin, lambda: opened(_ALL, is_all=True))
        return _read_replies(path, chosen, everything)

    return Benchmark(
        name="multi",
        source=LazySource("multi", origin, lambda: opened(selection)),
        prompt=prompt,
        scorer="multi" if answer_position == "start" else "multi-end",
        group_by=("level", "image_class", "question_type", "subject"),
        files="multi",
        read_replies=read,
        settings=settings,
        about="MULTI: Chinese exam questions with text and pictures; input type "
        + ("0, the words alone", "1, captions in place of pictures", "2, pictures")[settings["input_type"]],
    )


def _weighed(samples: Iterable[Sample]) -> Iterator[Sample]:
    """Samples that weigh as many points as their label can earn; what scoring needs is asked for first."""
    from eyechart.score.multi import total_points
    from eyechart.score.multi.rouge import require_words

    for sample in samples:
        kind = sample.meta["question_type"]
        points = float(total_points(sample.golds[0], kind)) if sample.golds else 0.0
        if kind == "OP" and points:
            require_words()  # before anything is spent on a question that could not be scored
        yield replace(sample, weight=points)


class _Prompt:
    """The prompt, made at the first question: naming a benchmark reads no file."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self.made: Callable[[], MultiPrompt] = cache(self._make)

    def __call__(self, sample: Sample) -> list[Message]:
        return self.made()(sample)

    def _make(self) -> MultiPrompt:
        said = self._settings
        words = read_words(said["wording"], said["lang"]) if said["wording"] else WORDS[said["lang"]]
        marked = next((name for name, text in words.items() if MARK.search(text)), "")
        if said["in_turn"] and marked:
            raise UsageError(
                f"{said['wording']}: the piece {marked!r} holds the mark of a picture, where rounds are cut",
                hint="write [IMAGE_i], without a number",
            )
        own = MultiPrompt.__dataclass_fields__.keys() & said.keys()
        return MultiPrompt(words=words, **{name: said[name] for name in own})


def _read_replies(path: Path, chosen: Source, everything: Source) -> Replies:
    """prediction.json. Questions that are not in it are not counted, as published.

    Its own number of pictures decides in which group a question is counted.
    """
    predictions = read_predictions(path)
    samples = [sample for sample in chosen if sample.id in predictions]
    meant = {sample.id for sample in samples}
    others = [name for name in predictions if name not in meant]
    if others:
        known = (sample.id for sample in everything)
        refuse_unknown_ids(others, known, file=path.name, of=Path(chosen.origin).name)
    answered = []
    for sample in samples:
        number = predictions[sample.id].question_image_number
        if number is not None:
            counted = {"question_image_number": number, "image_class": image_class(number)}
            sample = replace(sample, meta={**sample.meta, **counted})
        answered.append(sample)
    return Replies(
        by_id={
            name: Reply(text=predictions[name].text, earlier=predictions[name].earlier)
            for name in predictions
            if name in meant
        },
        source=HeldSource(chosen.name, chosen.origin, tuple(answered)),
        skipped=dict.fromkeys(others, "not among the questions that the options choose"),
    )


def _files(settings: Mapping[str, Any], selection: Selection) -> MultiFiles:
    if not settings["problem_file"]:
        raise UsageError(
            "multi needs MULTI's problem file",
            hint="eyechart run multi --set problem_file=data/problem_v1.3.1_20241210.json -m MODEL",
        )
    paths = ("problem_file", "knowledge_file", "caption_file", "subset", "image_root")
    found = {name: Path(settings[name]).expanduser().absolute() for name in paths if settings[name]}
    return MultiFiles(
        **found,
        input_type=settings["input_type"],
        cap_in_cnt=settings["cap_in_cnt"],
        numbering=settings["renumbering"],
        selection=selection,
        allow_missing_captions=settings["allow_missing_captions"],
        allow_unknown_ids=settings["allow_unknown_ids"],
    )


def _only_one(file: str, problem_file: str) -> str:
    if file and problem_file and Path(file) != Path(problem_file):
        raise UsageError(f"multi: two problem files are given: {file} and {problem_file}")
    return file or problem_file


def _written(codes: Codes) -> str:
    return ",".join(map(str, codes)) if isinstance(codes, list) else str(codes)
