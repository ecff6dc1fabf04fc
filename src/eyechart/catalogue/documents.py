"""Documents and text in images: DocVQA, InfographicVQA, TextVQA, OCRBench."""

from __future__ import annotations

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import BRIEFLY, ask, ask_with
from eyechart.types import Sample

_TABLES = {
    "fintabnetqa": """You are asked to answer questions asked on a image.
You should answer the question within a single word or few words.
If units can be known, the answer should include units such as $, %, million and etc.
Example:\x20
Question: What were the total financing originations for the fiscal year ended October 31, 2004?
Answer: $3,852 million
Question: What is the time period represented in the table?
Answer: October 31
Question: What was the percentage of net sales for selling, general and administrative expenses in 2006?
Answer: 34.2%
Question: {}
Answer:""",
    "vtabfact": """You are asked to answer whether the statement is True or False based on given image
You should only answer True or False.
Example:\x20
Statement: the milwaukee buck win 6 game in the 2010 - 11 season
Answer: True
Statement: only the top team score above the average of 8.8
Answer: False

Statement: {}
Answer:""",
    "vwtq": """You are asked to answer questions asked on an image.
You should answer the question with a single word.
Example:\x20
Question: what was the only year mr. wu competed in the olympic games?
Answer: 2004
Question: which township in pope county, arkansas has the least amount of water area?
Answer: Freeman
If you have multiple answers, please separate them with || marks. Example: Apple||Banana||Tomato

Question: {}
Answer:""",
}


def ask_tablevqa(sample: Sample) -> str:
    """The examples of the part that the question is from."""
    part = str(sample.meta.get("split", "vwtq")).removesuffix("_syn")
    return _TABLES.get(part, "{}").replace("{}", sample.question)


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
    note="Asked without the OCR tokens that some model cards add to the question; they change results.",
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

declare(
    "tablevqa",
    "tables as images: finance, facts, Wikipedia",
    group="documents",
    size="1,500 questions",
    paper="https://arxiv.org/abs/2404.19205",
    licence="CC BY 4.0",
    file=("TableVQABench", "tablevqa-bench"),
    hub=[f"terryoo/TableVQA-Bench:{part}" for part in ("fintabnetqa", "vtabfact", "vwtq", "vwtq_syn")],
    change_row=lambda row: {"answer": row["gt"], "split": row["part"]},
    prompt=ask_with(ask_tablevqa),
    scorer="tablevqa",
    group_by=("split",),
    macro="split",
    metric="accuracy by the rule of each of the four parts, and their mean",
    parity="VLMEvalKit",
    note="VLMEvalKit reports the four parts separately. For finance, it is the relaxed figure: an amount may lack its unit.",
)
