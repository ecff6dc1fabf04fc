"""MuirBench (Wang et al., 2024): 12 tasks over several images."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask_in_place, choose
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.lmms import is_same_text, read_leading, reading_scorer
from eyechart.types import Card

Entry(
    "muirbench",
    "12 tasks over several images, some not answerable",
    Card("several images", "2,600 questions", "https://arxiv.org/abs/2406.09411", "CC BY 4.0"),
    file="MUIRBench",
    hub="MUIRBENCH/MUIRBENCH:test",
    change_row=lambda row: {"index": row["idx"], "category": row["task"]},
    prompt=ask_in_place(closing="Answer with the option's letter from the given choices directly."),
    lmms=Kit(max_tokens=16, prompt=choose(), scorer="muirbench-lmms", aggregate="muirbench"),
    group_by=("category",),
    note="VLMEvalKit drops images that no `<image>` in the question refers to; here they come first.",
).register()


@reading_scorer("muirbench-lmms", version="2", matches=is_same_text)
def read_muirbench(reply: str) -> str:
    """lmms-eval's MuirBench: ``B.`` at the start, or a reply that is the letter. ``(B)`` is wrong."""
    return read_leading(reply)


declare_means("muirbench", "accuracy by task", lambda row: (get_column(row, "task", "category"),))
