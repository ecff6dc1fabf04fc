"""What MULTI's declaration is made of: files, prompt, points. Imported when somebody wants MULTI itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

from eyechart.benchmarks.multi_options import TYPES, Options
from eyechart.data.lazy import ChangedSource, LazySource
from eyechart.data.multi import MultiFiles, open_multi
from eyechart.data.multi.replies import read_replies
from eyechart.errors import UsageError
from eyechart.prompt.multi import MultiPrompt
from eyechart.prompt.multi.rounds import MARK
from eyechart.prompt.multi.words import WORDS, read_words
from eyechart.types import Benchmark, Message, Replies, Sample, Source

_INPUT_TYPES = (
    "input type 0, the words alone",
    "input type 1, captions in place of pictures",
    "input type 2, pictures",
)


_OF_THE_PROMPT = (
    "in_turn", "cot", "few_shot", "no_background", "no_sys", "lang", "blank_image", "split_sys", "wording",
)  # fmt: skip


def declared(options: Options, *, is_every_type_scored: bool) -> Benchmark:
    """MULTI with these options; a file of replies may hold every type though fewer are asked."""
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
        prompt_settings=_OF_THE_PROMPT,
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
