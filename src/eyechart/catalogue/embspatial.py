"""EmbSpatial-Bench (Du et al., 2024): directions and distances in rooms."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry, read_letter
from eyechart.types import Card

Entry(
    "embspatial",
    "directions and distances in rooms",
    Card("spatial", "3,640 questions", "https://arxiv.org/abs/2406.05756", "Apache-2.0"),
    file=("EmbSpatialBench", "EmbSpatial"),
    hub="FlagEval/EmbSpatial-Bench:test",
    change_row=lambda row: {
        "index": row["question_id"],
        "options": row["answer_options"],
        "answer": read_letter(row["answer"], len(row["answer_options"])),
        "category": row["relation"],
    },
).register()
