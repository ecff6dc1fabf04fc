"""DocVQA and InfographicVQA (Mathew et al., 2020 and 2021): scanned pages, infographics."""

from __future__ import annotations

from dataclasses import replace

from eyechart.catalogue.entry import Entry
from eyechart.prompt.published import BRIEFLY, ask
from eyechart.types import Card

DOCVQA = Entry(
    "docvqa-val",
    "scanned pages",
    Card("documents", "5,349 questions", "https://arxiv.org/abs/2007.00398", "MIT"),
    file="DocVQA_VAL",
    hub="lmms-lab/DocVQA:DocVQA/validation",
    change_row=lambda row: {"index": row["questionId"]},
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="anls",
    metric="ANLS, threshold 0.5",
    parity="VLMEvalKit, lmms-eval",
    note="The answers of the test split are not public.",
).register()

replace(
    DOCVQA,
    name="infovqa-val",
    about="infographics",
    facts=replace(DOCVQA.facts, size="2,801 questions", paper="https://arxiv.org/abs/2104.12756"),
    file="InfoVQA_VAL",
    hub="lmms-lab/DocVQA:InfographicVQA/validation",
    note="",
).register()
