"""SEED-Bench (Li et al., 2023) and SEED-Bench-2-Plus (Li et al., 2024), as far as they ask about single images."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import choose
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.lmms import is_same_text, reading_scorer
from eyechart.types import Card

Entry(
    "seedbench-img",
    "nine abilities on single images",
    Card("general", "14,232 questions", "https://arxiv.org/abs/2307.16125", "CC BY-NC 4.0"),
    file="SEEDBench_IMG",
    hub="lmms-lab/SEED-Bench:test",
    change_row=lambda row: (
        [{"index": row["question_id"], "options": [row[f"choice_{letter}"] for letter in "abcd"]}]
        if row["data_type"] == "image"
        else []
    ),
    lmms=Kit(prompt=choose(), scorer="seedbench-lmms"),
    note="The hub data set also has questions on videos; they are left out.",
).register()

Entry(
    "seedbench2-plus",
    "charts, maps and web pages",
    Card("charts", "2,277 questions", "https://arxiv.org/abs/2404.16790", "CC BY-NC 4.0"),
    file="SEEDBench2_Plus",
    hub="doolayer/SEED-Bench-2-Plus:test",
    also_hub=["AILab-CVC/SEED-Bench-2-plus"],
    change_row=lambda row: {
        "index": row["question_id"],
        "options": [row[f"choice_{letter}"] for letter in "ABCD"],
        "category": row["question_image_type"],
    },
    lmms=Kit(max_tokens=16, prompt=choose(), scorer="seedbench-lmms", aggregate="seedbench-lmms"),
).register()


@reading_scorer("seedbench-lmms", version="2", matches=is_same_text)
def read_seedbench(reply: str) -> str:
    """lmms-eval's SEED-Bench and SEED-Bench-2-Plus: the first character. "Because" is B."""
    return reply.strip()[:1]


declare_means(
    "seedbench-lmms",
    "accuracy by type of data: image or video; chart, map or web page",
    lambda row: (get_column(row, "data_type", "question_image_type", "category").lower(),),
)
