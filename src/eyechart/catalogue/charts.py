"""Charts: ChartQA."""

from __future__ import annotations

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import BRIEFLY, ask

declare(
    "chartqa",
    "questions on charts, written by people and by a model",
    group="charts",
    size="2,500 questions",
    paper="https://arxiv.org/abs/2203.10244",
    licence="GPL-3.0",
    file="ChartQA_TEST",
    hub="lmms-lab/ChartQA:test",
    also_hub=["lmms-lab-encoder/ChartQA"],
    change_row=lambda row: {"split": {"human_test": "test_human"}.get(row["type"], "test_augmented")},
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="relaxed",
    group_by=("split",),
    aggregate="chartqa",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask("\nAnswer the question with a single word."),
            scorer="chartqa-lmms",
            more={"group_by": ("split",), "aggregate": "chartqa"},
        )
    },
    metric="relaxed accuracy (5 %)",
    parity="VLMEvalKit, lmms-eval",
    note="The authors have no prompt: the default is VLMEvalKit's. 50% is 0.5 and not 50, as in both kits.",
)
