"""MTVQA (Tang et al., 2024): text in photographs, nine languages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.entry import Entry
from eyechart.data.files.rows import read_literal
from eyechart.prompt.published import ask
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.lmms import reading_scorer
from eyechart.types import Card


def list_pairs(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The questions on one image of MTVQA, whose pairs of question and answer are written as text."""
    pairs = row["qa_pairs"]
    found = read_literal(pairs) if isinstance(pairs, str) else pairs
    if not isinstance(found, list):
        raise ValueError(f"qa_pairs is not a list: {str(pairs)[:40]!r}")
    several = [one for one in found if one["question"].strip() and str(one["answer"]).strip()]
    return [
        {"id": None, "question": one["question"], "answer": str(one["answer"]), "category": row["lang"]}
        for one in several
    ]


Entry(
    "mtvqa",
    "text in photographs, nine languages",
    Card("documents", "6,778 questions", "https://arxiv.org/abs/2405.11985", "CC BY-NC 4.0"),
    file="MTVQA_TEST",
    hub="ByteDance/MTVQA:test",
    change_row=list_pairs,
    prompt=ask("\nAnswer the question using a word or phrase in the language of the question."),
    scorer="mtvqa",
    group_by=("category",),
    aggregate="mtvqa",
    metric="the gold occurs in the reply, dots removed",
    parity="VLMEvalKit, lmms-eval",
    note="The two kits agree on all vectors.",
).register()


def mtvqa(reply: str, answer: str) -> bool:
    """Whether the answer occurs in the reply.

    >>> mtvqa("Das ist Nr. 5", "nr 5")
    True
    """
    text, gold = (one.strip().lower().replace(".", "") for one in (reply, answer))
    return gold in text


@reading_scorer("mtvqa", version="1", matches=mtvqa, cut=None)
def read_mtvqa(reply: str) -> str:
    """MTVQA: the answer occurs in the reply, without case and full stops. The same in both kits."""
    return reply.strip()


declare_means("mtvqa", "accuracy by language", lambda row: (get_column(row, "category"),))
