"""InfoChartQA (2025): questions on infographics and on plain charts of the same data.

Paper: https://arxiv.org/abs/2505.19028. Data: Jietson/InfoChartQA on the Hugging Face hub, 58,857 questions
(text, visual_basic, visual_metaphor), or rows of either release in a file.
Parity: tests/golden/infochartqa.jsonl.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from eyechart.registry import benchmark
from eyechart.types import Benchmark

# A type of question and a chart, under the names that they have in the two releases.
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
    """Return the hub's questions, or those of `file`; `image_root` holds charts named by `figure_id`."""
    from eyechart.data.formats import origin_of
    from eyechart.data.infochartqa import HUB, open_infochartqa
    from eyechart.data.infochartqa.replies import read_model_response
    from eyechart.data.lazy import LazySource
    from eyechart.prompt.infochartqa import BUILDERS

    settings = {"file": file, "split": split, "builder": builder, "image_root": image_root}
    origin = origin_of(file) if file else f"{HUB}:{split}" if split else HUB
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
        files="infochartqa",
        read_replies=read_model_response,
        prompt_settings=("builder",),
        settings={name: str(value) for name, value in settings.items() if value},
        about="infographics and plain charts: numbers, names, lists and choices; 58,857 questions",
    )
