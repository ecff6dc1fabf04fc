"""ChartQA (Masry et al., 2022): questions on charts, written by people and by a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import BRIEFLY, ask
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.lmms import lmms_scorer, score_short
from eyechart.score.text import relaxed
from eyechart.types import Card, Reply, Sample, Score


def change_chartqa(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of VLMEvalKit's file, from lmms-eval's rows or those of HuggingFaceM4."""
    if "query" not in row:
        return {"split": "test_human" if row["type"] == "human_test" else "test_augmented"}
    is_human = row["human_or_machine"] in (0, "0", "human")
    return {
        "question": row["query"],
        "answer": row["label"][0] if isinstance(row["label"], list) else row["label"],
        "split": "test_human" if is_human else "test_augmented",
    }


Entry(
    "chartqa",
    "questions on charts, written by people and by a model",
    Card("charts", "2,500 questions", "https://arxiv.org/abs/2203.10244", "GPL-3.0"),
    file="ChartQA_TEST",
    hub="lmms-lab/ChartQA:test",
    also_hub=["HuggingFaceM4/ChartQA:test"],
    change_row=change_chartqa,
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="relaxed",
    group_by=("split",),
    aggregate="chartqa",
    lmms=Kit(max_tokens=16, prompt=ask("\nAnswer the question with a single word."), scorer="chartqa-lmms"),
    metric="relaxed accuracy (5 %)",
    note="The authors publish no prompt; the default is VLMEvalKit's. 50% is read as 0.5, as in both kits.",
).register()


@lmms_scorer("chartqa-lmms", version="2")
def score_chartqa_lmms(reply: Reply, sample: Sample) -> Score:
    """ChartQA's relaxed match against a single answer, as lmms-eval computes it."""
    value = relaxed(reply.text, list(sample.golds[:1]))
    return score_short(reply, sample, value, reply.text.strip(), "chartqa-lmms")


_HUMAN = ("human_test", "test_human", "human", "0")


declare_means(
    "chartqa",
    "relaxed accuracy of the human and the augmented split",
    lambda row: ("human" if get_column(row, "split", "type", "human_or_machine") in _HUMAN else "augmented",),
)
