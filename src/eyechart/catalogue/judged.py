"""Open answers that a judge scores, each with its own form of verdict. The numbers depend on the judge."""

from __future__ import annotations

from dataclasses import replace

from eyechart.catalogue.declare import LMMS_EVAL, Apart, Kit, declare
from eyechart.catalogue.prompts import ask
from eyechart.types import Sample

declare(
    "mmvet",
    "six abilities at once, answers of a sentence",
    group="open",
    size="218 questions",
    paper="https://arxiv.org/abs/2308.02490",
    licence="CC BY-NC 4.0",
    file="MMVet",
    hub="lmms-lab/MMVet:test",
    also_hub=["lmms-lab-encoder/MMVet"],
    change_row=lambda row: {
        "index": str(row["question_id"]).removeprefix("v1_"),
        "category": ",".join(row["capability"]) if isinstance(row["capability"], list) else row["capability"],
    },
    prompt=ask(),
    scorer="mmvet",
    group_by=(),
    aggregate="mmvet",
    metric="mean of the judge's scores, 0 to 1",
    parity="VLMEvalKit",
    note="Needs a judge, GPT-4 in the paper. The judge matters: the same model got 64.2 from GPT-4-0613 and 62.1 from GPT-4 Turbo.",
)

declare(
    "llavabench",
    "conversation, description and reasoning on 24 images",
    group="open",
    size="60 questions",
    paper="https://arxiv.org/abs/2304.08485",
    licence="CC BY-NC 4.0",
    file="LLaVABench",
    hub="lmms-lab/llava-bench-in-the-wild:train",
    also_hub=["lmms-lab-encoder/llava-bench-in-the-wild"],
    change_row=lambda row: {"index": row["question_id"], "gpt4_ans": row["gpt_answer"]},
    fields={"answer": "gpt4_ans"},
    prompt=ask(),
    scorer="llavabench",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask(),
            scorer="llavabench-lmms",
            more={"group_by": ("category",), "aggregate": "llavabench-lmms"},
        )
    },
    group_by=("category",),
    aggregate="llavabench",
    metric="the reply's score by the judge, divided by that of GPT-4's answer",
    parity="VLMEvalKit, lmms-eval",
    note="Needs a judge. VLMEvalKit counts a failed judge call as −1; here such a row has no score.",
)

declare(
    "simplevqa",
    "facts about what is shown, English and Chinese",
    group="knowledge",
    size="2,025 questions",
    paper="https://arxiv.org/abs/2502.13059",
    licence="see its page",
    file="SimpleVQA",
    hub="m-a-p/SimpleVQA:test",
    change_row=lambda row: {"index": row["data_id"]},
    prompt=ask(),
    scorer="simplevqa",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask("\nAnswer the question using a short phrase.", strip=True), scorer="simplevqa-lmms"
        )
    },
    group_by=(),
    aggregate="simplevqa",
    metric="F1 of accuracy and accuracy given attempted",
    parity="VLMEvalKit, lmms-eval",
    note="Needs a judge: correct, incorrect, not attempted.",
)

_MAX_PAGES = 120


def limit_pages(sample: Sample) -> Sample:
    """The sample with the first pages of its document, as in the paper."""
    return replace(sample, images=sample.images[:_MAX_PAGES])


declare(
    "mmlongbench-doc",
    "documents of many pages, some questions not answerable",
    group="documents",
    size="1,082 questions",
    paper="https://arxiv.org/abs/2407.01523",
    licence="Apache-2.0",
    file="MMLongBench_DOC",
    hub="yubo2333/MMLongBench-Doc:train",
    images=Apart("documents/"),
    change_row=lambda row: {"image_path": f"documents/{row['doc_id']}"},
    prepare=limit_pages,
    prompt=ask(),
    scorer="mmlongbench",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask(
                "\nAnswer with a single word or phrase. If the answer is not in the document, answer 'Not answerable'.",
                strip=True,
            ),
            scorer="mmlongbench-lmms",
            more={"group_by": ("doc_type",), "aggregate": "mmlongbench-lmms"},
        )
    },
    group_by=("doc_type",),
    aggregate="mmlongbench",
    metric="accuracy and F1",
    parity="VLMEvalKit, lmms-eval",
    note="Needs a judge, which extracts the answer. The first 120 pages are sent, each as an image, as VLMEvalKit does for "
    "GPT-4o. Pages of the hub's PDF files need the extra `[pdf]`; VLMEvalKit's file, which has the documents as base64, cannot "
    "be read: use the hub, or a file whose image column names PDF files.",
)
