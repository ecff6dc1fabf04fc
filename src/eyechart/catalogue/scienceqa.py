"""ScienceQA (Lu et al., 2022): school science."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry, Kit, read_letter
from eyechart.prompt.published import LETTER, ask_with, list_options
from eyechart.score.lmms import is_same_text, reading_scorer
from eyechart.types import Card, Sample


def ask_scienceqa(sample: Sample) -> str:
    """lmms-eval's prompt of ScienceQA."""
    context = f"Context: {sample.hint}\n" if sample.hint else ""
    return f"{context}{sample.question}\n{list_options(sample)}{LETTER}"


Entry(
    "scienceqa-test",
    "school science, the questions with an image",
    Card("knowledge", "2,017 questions", "https://arxiv.org/abs/2209.09513", "CC BY-NC-SA 4.0"),
    aliases=("scienceqa_img",),
    file="ScienceQA_TEST",
    hub="lmms-lab/ScienceQA:ScienceQA-IMG/test",
    change_row=lambda row: {"answer": read_letter(row["answer"], len(row["choices"]))},
    lmms=Kit(max_tokens=16, prompt=ask_with(ask_scienceqa), scorer="scienceqa-lmms"),
).register()


@reading_scorer("scienceqa-lmms", version="2", matches=is_same_text)
def read_scienceqa(reply: str) -> str:
    """lmms-eval's ScienceQA: the whole reply is the letter, or it begins with the capital and a full stop."""
    text = reply.strip()
    return text[0] if text[:1].isupper() and text[1:2] == "." else text
