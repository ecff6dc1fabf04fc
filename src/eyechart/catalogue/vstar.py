"""V* Bench (Wu and Xie, 2023) in the ways of VLMEvalKit and lmms-eval; InSight-o3's is in pipelines/insight_o3."""

from __future__ import annotations

import re

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import choose
from eyechart.score.lmms import FOUR, reading_scorer
from eyechart.types import Card

Entry(
    "vstar-vlmevalkit",
    "small things in photographs, prompt and scoring of VLMEvalKit (`vstar`: those of InSight-o3)",
    Card("perception", "191 questions", "https://arxiv.org/abs/2312.14135", "MIT"),
    file="VStarBench",
    hub="lmms-lab/vstar-bench:test",
    change_row=lambda row: {
        "index": row["question_id"],
        "question": re.split(r"\s*\([A-Z]\) ", row["text"])[0],
        "options": re.findall(r"\([A-Z]\) ([^\n(]*[^\s(])", row["text"]),
        "answer": row["label"],
    },
    lmms=Kit(max_tokens=16, prompt=choose(), scorer="vstar-lmms"),
).register()


_VSTAR = (
    r"\A([A-D])", r"(?:ANSWER|CHOICE|OPTION)(?:\s++IS)?[\s:]++([A-D])", r"\(([A-D])\)",
    r"([A-D])\s*+[.)\]]",
    r"(?:\A|\s)([A-D])(?:\s|\Z)",
)  # fmt: skip


@reading_scorer("vstar-lmms", version="2")
def read_vstar(reply: str) -> str | None:
    """lmms-eval's V*: a reply that begins with A to D, else the letter after "answer", in brackets, alone.

    As published, "Because" is B.

    >>> read_vstar("the answer is: c"), read_vstar("Because"), read_vstar("none")
    ('C', 'B', None)
    """
    text = reply.strip().upper()
    found = next((match for pattern in _VSTAR if (match := re.search(pattern, text))), None)
    if found is not None:
        return found[1]
    letters = [char for char in text if char in FOUR]
    return letters[0] if len(letters) == 1 else None
