"""Documents and text in images: DocVQA, InfographicVQA, TextVQA, OCRBench."""

from __future__ import annotations

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import BRIEFLY, ask

declare(
    "docvqa-val",
    "scanned pages",
    group="documents",
    size="5,349 questions",
    paper="https://arxiv.org/abs/2007.00398",
    licence="MIT",
    file="DocVQA_VAL",
    hub="lmms-lab/DocVQA:DocVQA/validation",
    also_hub=["lmms-lab-encoder/DocVQA"],
    change_row=lambda row: {"index": row["questionId"]},
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="anls",
    metric="ANLS, threshold 0.5",
    parity="VLMEvalKit, lmms-eval",
    note="The answers of the test split are not public.",
)

declare(
    "infovqa-val",
    "infographics",
    group="documents",
    size="2,801 questions",
    paper="https://arxiv.org/abs/2104.12756",
    licence="MIT",
    file="InfoVQA_VAL",
    hub="lmms-lab/DocVQA:InfographicVQA/validation",
    also_hub=["lmms-lab-encoder/DocVQA"],
    change_row=lambda row: {"index": row["questionId"]},
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="anls",
    metric="ANLS, threshold 0.5",
    parity="VLMEvalKit, lmms-eval",
)

declare(
    "textvqa-val",
    "text in photographs",
    group="documents",
    size="5,000 questions",
    paper="https://arxiv.org/abs/1904.08920",
    licence="CC BY 4.0",
    file="TextVQA_VAL",
    hub="lmms-lab/textvqa:validation",
    also_hub=["lmms-lab-encoder/textvqa"],
    change_row=lambda row: {"index": row["question_id"]},
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="vqa-accuracy",
    kits={LMMS_EVAL: Kit(prompt=ask(f"\n{BRIEFLY}", capitalize=True), scorer="vqa-accuracy-lmms")},
    metric="VQA accuracy over ten answers",
    parity="VLMEvalKit, lmms-eval",
    note="Asked without the OCR tokens that some cards add to the question; they change results.",
)

declare(
    "ocrbench",
    "text recognition, documents, key information, handwritten formulas",
    group="documents",
    size="1,000 questions",
    paper="https://arxiv.org/abs/2305.07895",
    licence="MIT",
    file="OCRBench",
    hub="echo840/OCRBench:test",
    change_row=lambda row: {"category": row["question_type"]},
    prompt=ask(),
    scorer="ocrbench",
    group_by=("category",),
    aggregate="ocrbench",
    kits={LMMS_EVAL: Kit(prompt=ask(strip=True), scorer="ocrbench-lmms", more={"aggregate": "ocrbench"})},
    metric="points of 1,000: the answer occurs in the reply",
    parity="VLMEvalKit, lmms-eval",
)
