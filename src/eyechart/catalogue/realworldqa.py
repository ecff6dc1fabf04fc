"""RealWorldQA (xAI, 2024): photographs, many from vehicles."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask_with, list_options
from eyechart.types import Card, Sample

_LINES = re.compile(r"^\s*([A-Z])\. ?(.*)$", re.MULTILINE)
_CLOSING = re.compile(r"\s*Please answer directly with [^\n]*$")


def split_option_lines(row: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a question with a line ``A. text`` for each; the closing line is dropped."""
    text = _CLOSING.sub("", row["question"])
    found = list(_LINES.finditer(text))
    if not found:
        return {"question": text.strip()}
    options = {one[1]: one[2].strip() for one in found}
    return {"question": text[: found[0].start()].strip(), "options": options}


def ask_realworldqa(sample: Sample) -> str:
    """The question as published; put together again where only its parts are known."""
    if asked := sample.meta.get("asked"):
        return str(asked)
    if not sample.choices:
        return sample.question.strip()
    closing = "Please answer directly with only the letter of the correct option and nothing else."
    return f"{sample.question.strip()}\n\n{list_options(sample)}{closing}"


Entry(
    "realworldqa",
    "photographs, many from vehicles",
    Card("general", "765 questions", "https://x.ai/news/grok-1.5v", "CC BY-ND 4.0"),
    file="RealWorldQA",
    hub="lmms-lab/RealWorldQA:test",
    also_hub=["xai-org/RealworldQA"],
    change_row=lambda row: {**split_option_lines(row), "asked": row["question"].strip()},
    lmms=Kit(max_tokens=16, prompt=ask_with(ask_realworldqa), scorer="choice-lmms"),
    note="lmms-eval sends the question as published, with its options and instruction; the file has these in "
    "columns, from which the question is put together again.",
).register()
