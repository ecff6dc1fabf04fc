"""TallyQA (Acharya et al., 2018): counting, with simple and complex questions."""

from __future__ import annotations

import re

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import ask
from eyechart.score.lmms import reading_scorer
from eyechart.score.text import COUNTS
from eyechart.types import Card

Entry(
    "tallyqa",
    "counting, simple and complex questions",
    Card("counting", "38,589 questions", "https://arxiv.org/abs/1810.12440", "Apache-2.0"),
    file=("TallyQA", "tallyqa_data"),
    hub="moondream/TallyQA-VLMEvalKit:tallyqa_data.tsv",
    prompt=ask("\nAnswer the question using a single number."),
    scorer="tallyqa",
).register()


_COUNT = re.compile(rf"\b(?:[0-9]|1[0-9]|20|{'|'.join(COUNTS)})\b")


@reading_scorer(
    "tallyqa", version="1", cut=None, matches=lambda read, gold: read == gold.strip().removesuffix(".0")
)
def read_tallyqa(reply: str) -> str | None:
    """TallyQA: the first number from 0 to 20, in digits or as an English word."""
    count = read_count(reply)
    return None if count is None else str(count)


def read_count(reply: str | float) -> int | None:
    """The first number from 0 to 20 in a reply; a number, as a spreadsheet holds it, must be in that range.

    >>> read_count("About 45, no: Three"), read_count("45"), read_count(20.5)
    (3, None, None)
    """
    if not isinstance(reply, str):
        return int(reply) if 0 <= reply <= 20 else None
    found = _COUNT.search(reply.lower())
    if found is None:
        return None
    return int(found[0]) if found[0].isdigit() else COUNTS.index(found[0])
