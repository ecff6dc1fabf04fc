"""ERQA (Gemini Robotics Team, 2025): embodied reasoning."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import ask_in_place
from eyechart.types import Card

Entry(
    "erqa",
    "embodied reasoning: robots, trajectories, several views",
    Card("spatial", "400 questions", "https://arxiv.org/abs/2503.20020", "Apache-2.0"),
    file="ERQA",
    hub="FlagEval/ERQA:test",
    change_row=lambda row: {"index": row["question_id"], "category": row["question_type"]},
    prompt=ask_in_place(trim=True),
    scorer="choice-lmms",
    group_by=("category",),
    parity="lmms-eval (rule), VLMEvalKit (prompt)",
    note="The options are part of the question. VLMEvalKit requires the whole reply to be the letter.",
).register()
