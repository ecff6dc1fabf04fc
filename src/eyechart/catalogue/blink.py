"""BLINK (Fu et al., 2024): 14 tasks of perception that people do at a glance."""

from __future__ import annotations

import re
from string import ascii_uppercase

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask_with
from eyechart.score.lmms import lmms_scorer, score_letter
from eyechart.types import Card, Reply, Sample, Score


def ask_blink(sample: Sample) -> str:
    """lmms-eval's prompt of BLINK: which letters there are, then the question as published on the hub."""
    letters = ", ".join(sample.choices)
    listed = "\n".join(f"({letter}) {text}" for letter, text in sample.choices.items())
    written = f"{sample.question}\nSelect from the following choices.\n{listed}"
    asked = str(sample.meta.get("prompt") or written)
    return f"Note: You only need to respond with {letters} without providing any additional information.\n{asked}"


Entry(
    "blink",
    "14 tasks of perception that people do at a glance, several images",
    Card("several images", "1,901 questions", "https://arxiv.org/abs/2404.12390", "Apache-2.0"),
    file="BLINK",
    hub=[
        f"BLINK-Benchmark/BLINK:{task}/val"
        for task in (
            "Art_Style",
            "Counting",
            "Forensic_Detection",
            "Functional_Correspondence",
            "IQ_Test",
            "Jigsaw",
            "Multi-view_Reasoning",
            "Object_Localization",
            "Relative_Depth",
            "Relative_Reflectance",
            "Semantic_Correspondence",
            "Spatial_Relation",
            "Visual_Correspondence",
            "Visual_Similarity",
        )
    ],
    change_row=lambda row: {
        "index": row["idx"],
        "answer": str(row["answer"]).strip("()"),
        "category": row["sub_task"],
    },
    lmms=Kit(prompt=ask_with(ask_blink), scorer="blink-lmms"),
    group_by=("category",),
    macro="category",
    aggregate="macro-category",
    metric="mean of the tasks' accuracies; the score is the mean over questions, as in VLMEvalKit",
    note="The paper and lmms-eval average tasks, VLMEvalKit questions; both are shown.",
).register()


_BLINK_ANSWER = r"answers?(?:\s++is)?+\s*+(?:[:\-]\s*+)?+\(?([{}])\)?(?![A-Za-z])"


@lmms_scorer("blink-lmms", version="2")
def score_blink_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's BLINK: a short first line, else after "answer", else in brackets, else the first letter."""
    return score_letter(reply, sample, read_blink(reply.text, len(sample.choices)), "blink-lmms")


def read_blink(reply: str, n_options: int = 26) -> str | None:
    """The letter of an option in a reply; None without one. Of several the last one, except at the start.

    >>> read_blink("The answer is b.", 4), read_blink("so I pick (C)", 4), read_blink("cats", 4)
    ('B', 'C', 'C')
    """
    text = reply.strip()
    letters = ascii_uppercase[: n_options or 26]
    first = text.split("\n", 1)[0].strip()
    short = re.match(rf"\(?([{letters}])\)?[.\s:,)]*$", first[:5], re.IGNORECASE)
    if short and len(first) <= 4:
        return short[1].upper()
    named = re.findall(_BLINK_ANSWER.format(letters), text, re.IGNORECASE)
    if not named:
        named = re.findall(rf"\(([{letters}])\)", text)
    if not named:
        named = re.findall(rf"\A[(\s]*([{letters}])", text, re.IGNORECASE)
    return named[-1].upper() if named else None
