"""MMStar (Chen et al., 2024): six abilities, with questions that cannot be answered without the image."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import LETTER, ask_with
from eyechart.types import Card, Sample

_INLINE = re.compile(r"\n?Options:\s*A: (.*?), B: (.*?), C: (.*?), D: (.*)$", re.DOTALL)


def split_inline_options(row: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a question that ends in ``Options: A: ..., B: ..., C: ..., D: ...``."""
    found = _INLINE.search(row["question"])
    if found is None:
        return {}
    texts = [text.strip() for text in found.groups()]
    return {"question": row["question"][: found.start()].rstrip(), "options": texts}


def ask_mmstar(sample: Sample) -> str:
    """lmms-eval's prompt of MMStar: question and options on one line, as published on the hub."""
    listed = ", ".join(f"{letter}: {text}" for letter, text in sample.choices.items())
    text = f"{sample.question}\nOptions: {listed}" if listed else sample.question
    asked = text.strip().replace(" Please answer yes or no.", "")
    return f"{asked}\n{LETTER.removesuffix('.')}"


Entry(
    "mmstar",
    "six abilities, questions that need the image",
    Card("general", "1,500 questions", "https://arxiv.org/abs/2403.20330", "see its page"),
    file="MMStar",
    hub="Lin-Chen/MMStar:mmstar.parquet",
    also_hub=["Lin-Chen/MMStar:val"],
    change_row=split_inline_options,
    lmms=Kit(prompt=ask_with(ask_mmstar), scorer="choice-lmms", aggregate="macro-l2-category"),
    group_by=("category", "l2-category"),
    macro="category",
    note="All six categories have 250 questions, so the mean of categories is the same number; lmms-eval averages subcategories.",
).register()
