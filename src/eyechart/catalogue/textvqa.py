"""TextVQA (Singh et al., 2019): text in photographs."""

from __future__ import annotations

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import BRIEFLY, ask
from eyechart.types import Card

Entry(
    "textvqa-val",
    "text in photographs",
    Card("documents", "5,000 questions", "https://arxiv.org/abs/1904.08920", "CC BY 4.0"),
    file="TextVQA_VAL",
    hub="lmms-lab/textvqa:validation",
    change_row=lambda row: {"index": row["question_id"]},
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="vqa-accuracy",
    lmms=Kit(prompt=ask(f"\n{BRIEFLY}", capitalize=True), scorer="vqa-accuracy-lmms"),
    metric="VQA accuracy over ten answers",
    note="Asked without the OCR tokens that some model cards add to the question; they change results.",
).register()
