"""The demo benchmark: charts, tables, signs, receipts, shapes, counting and positions, on drawn images.

97 questions on 31 images, two thirds of them multiple choice. It is small on purpose: it shows what a run
looks like without a key, a GPU or a download, and says little about a good model. The answers are known
because tools/draw_demo.py draws the images. Parity: none, it is eyechart's own benchmark.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from eyechart.registry import benchmark
from eyechart.types import Benchmark

QUESTIONS = Path(__file__).parent / "demo_data" / "questions.jsonl"
PANELS = QUESTIONS.parent / "panels"  # the spreadsheet of the tutorials and its photos: tools/draw_panels.py


@benchmark("demo")
def demo() -> Benchmark:
    """Return the questions that come with the package."""
    from eyechart.data.source import open_source
    from eyechart.prompt.default import build_custom_prompt

    return Benchmark(
        name="demo",
        source=replace(open_source(QUESTIONS), name="demo"),
        prompt=build_custom_prompt,
        scorer="default",
        judged_scorer="judged",
        group_by=("category",),
        about="drawn charts, tables, signs, receipts, shapes, counting and positions; 97 questions",
    )
