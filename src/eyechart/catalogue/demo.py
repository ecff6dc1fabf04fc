"""The demo benchmark: charts, tables, signs, receipts, shapes, counting and positions, drawn by us.

97 questions on 31 pictures, two thirds of them multiple choice. Small on purpose: it shows what a run
looks like without a key, a GPU or a download, and says little about a good model. The answers are
known because the pictures are drawn by tools/draw_demo.py. Parity: none, it is our own.
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
