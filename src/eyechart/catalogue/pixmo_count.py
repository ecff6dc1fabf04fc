"""PixMo-Count (Deitke et al., 2024): how many objects."""

from __future__ import annotations

import re

from eyechart.catalogue.entry import LMMS_EVAL, Entry
from eyechart.prompt.published import ask
from eyechart.score.lmms import reading_scorer
from eyechart.types import Card

Entry(
    "pixmo-count",
    "how many objects, labelled by people",
    Card("counting", "527 questions", "https://arxiv.org/abs/2409.17146", "ODC-BY 1.0"),
    hub="kcz358/pixmo-count:test",
    change_row=lambda row: {"question": row["question"].replace("<image>", "").strip()},
    prompt=ask("\nAnswer with a single number."),
    scorer="pixmo-count-lmms",
    kit=LMMS_EVAL,
    max_tokens=32,
    note="The first digits of the reply count; `--scorer number` reads numbers in words, too.",
).register()


@reading_scorer("pixmo-count-lmms", version="2", reads_golds=True, is_whole=True)
def find_digits(text: str) -> str:
    """lmms-eval's PixMo-Count: the first digits of the reply, or all of a reply without any."""
    found = re.search(r"\d+", text)
    return found[0] if found else text.strip()
