"""AI2D (Kembhavi et al., 2016): diagrams of school science."""

from __future__ import annotations

from dataclasses import replace

from eyechart.catalogue.entry import Entry, Kit, read_letter
from eyechart.prompt.published import choose
from eyechart.score.lmms import gqa_lmms, read_leading, reading_scorer
from eyechart.types import Card

AI2D = Entry(
    "ai2d",
    "diagrams of school science, labels replaced by letters",
    Card("charts", "3,088 questions", "https://arxiv.org/abs/1603.07396", "CC BY-SA 4.0"),
    file="AI2D_TEST",
    hub="lmms-lab/ai2d:test",
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["options"]))},
    lmms=Kit(max_tokens=16, prompt=choose(), scorer="ai2d-lmms"),
).register()

replace(
    AI2D,
    name="ai2d-no-mask",
    about="the same diagrams with their labels",
    file="AI2D_TEST_NO_MASK",
    hub="Efficient-Large-Model/ai2d-no-mask:test",
).register()


@reading_scorer("ai2d-lmms", version="2", matches=gqa_lmms)
def read_ai2d(reply: str) -> str:
    """lmms-eval's AI2D: ``B.`` at the start, or a reply that is the letter but for case and punctuation."""
    return read_leading(reply)
