"""InfoChartQA (2025): questions on infographics and on plain charts of the same data.

Paper: https://arxiv.org/abs/2505.19028. Data: Jietson/InfoChartQA on the Hugging Face hub, 58,857 questions
(text, visual_basic, visual_metaphor), or rows of either release in a file.
Parity: tests/golden/infochartqa.jsonl.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from eyechart.data.files.formats import resolve_origin
from eyechart.data.samples import LazySource
from eyechart.pipelines.infochartqa.data import HUB, PAIR, open_infochartqa, read_model_response
from eyechart.registry import benchmark
from eyechart.types import Benchmark, Card, Message, Sample

# A question type and a chart, under the column names of the two releases.
_COLUMNS = [
    (kind, chart)
    for kind in ("question_type_id", "qtype")
    for chart in ("url", "figure_path", "extra_input_figure_bboxes")
]


@benchmark("infochartqa", hub="Jietson/InfoChartQA", columns=_COLUMNS)
def infochartqa(
    file: Path | None = None,
    split: str = "",
    builder: Literal["seed", "head"] = "seed",
    image_root: Path | None = None,
) -> Benchmark:
    """The hub's questions, or those of `file`; `image_root` is a folder of charts named by `figure_id`."""
    settings = {"file": file, "split": split, "builder": builder, "image_root": image_root}
    origin = resolve_origin(file) if file else f"{HUB}:{split}" if split else HUB
    return Benchmark(
        name="infochartqa",
        source=LazySource(
            "infochartqa", origin, lambda: open_infochartqa(file, split=split, image_root=image_root)
        ),
        prompt=BUILDERS[builder],
        scorer="infochartqa",
        group_by=(
            "question_type_id",
            "question_type_name",
            "chart_type",
            "difficulty",
            "chart_form",
            "split",
        ),
        cluster=("figure_id", PAIR),
        files="infochartqa",
        read_replies=read_model_response,
        prompt_settings=("builder",),
        settings={name: str(value) for name, value in settings.items() if value},
        card=Card(hub=("Jietson/InfoChartQA",)),
        about="infographics and plain charts: numbers, names, lists and choices; 58,857 questions",
    )


# -- Prompts: the text first, then the images
#
# `seed` follows the authors' evaluation instructions and is the default: prompt, question, options and
# instructions, each on its own line. `head` follows their repository's code: the question with its
# instructions right after it, without a line break.


def render_seed(sample: Sample) -> list[Message]:
    """One user turn: prompt, question, options and instructions, line by line."""
    meta = sample.meta
    text = build_seed_text(sample.question, meta.get("instructions"), meta.get("prompt"), sample.choices_text)
    return [Message("user", (text, *sample.images))]


def render_head(sample: Sample) -> list[Message]:
    """One user turn: question and instructions, nothing between them."""
    text = build_head_text(sample.question, sample.meta.get("instructions"))
    return [Message("user", (text, *sample.images))]


def build_seed_text(
    question: str, instructions: str | None = None, prompt: str | None = None, options: str = ""
) -> str:
    r"""Each on its own line, with no line break after the instructions.

    >>> build_seed_text("Which?", "Answer with a letter.", "Look at the chart.", "A) cat\nB) dog")
    'Look at the chart.\nWhich?\nA) cat\nB) dog\nAnswer with a letter.'
    """
    lines = [*([] if prompt is None else [prompt]), question, *([options] if options else [])]
    return "".join(f"{line}\n" for line in lines) + (instructions or "")


def build_head_text(question: str, instructions: str | None = None) -> str:
    """Question and instructions, with nothing between them.

    >>> build_head_text("How many?", "Answer with a number.")
    'How many?Answer with a number.'
    """
    return question + (instructions or "")


# By the values of the option `builder`.
BUILDERS = {"seed": render_seed, "head": render_head}
