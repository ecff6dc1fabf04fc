"""Open questions on photographs, answered in a word or a number: VQA accuracy, exact answers, counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import BRIEFLY, ask

_UNANSWERABLE = "When the provided information is insufficient, respond with 'Unanswerable'."


def list_answers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Ten answers, of which VQAv2 writes each as an object."""
    answers = [one["answer"] if isinstance(one, Mapping) else one for one in row["answers"]]
    return {"index": row["question_id"], "answers": answers}


declare(
    "vqav2-val",
    "photographs, ten answers each",
    group="vqa",
    size="214,354 questions",
    paper="https://arxiv.org/abs/1612.00837",
    licence="CC BY 4.0",
    hub="lmms-lab/VQAv2:validation",
    also_hub=["lmms-lab-encoder/VQAv2"],
    change_row=list_answers,
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="vqa-accuracy-lmms",
    kit=LMMS_EVAL,
    metric="VQA accuracy",
    parity="lmms-eval",
    note="lmms-eval compares answers with their ids and so drops equal ones of one person twice; here as for OK-VQA.",
)

declare(
    "okvqa-val",
    "photographs, questions that need knowledge",
    group="vqa",
    size="5,046 questions",
    paper="https://arxiv.org/abs/1906.00067",
    licence="CC BY 4.0",
    hub="lmms-lab/OK-VQA:val2014",
    also_hub=["lmms-lab-encoder/OK-VQA"],
    change_row=list_answers,
    prompt=ask(f"\n{_UNANSWERABLE}\n{BRIEFLY}"),
    scorer="vqa-accuracy-lmms",
    kit=LMMS_EVAL,
    metric="VQA accuracy",
    parity="lmms-eval",
)

declare(
    "vizwiz-val",
    "photographs and questions of blind people",
    group="vqa",
    size="4,319 questions",
    paper="https://arxiv.org/abs/1802.08218",
    licence="CC BY 4.0",
    file="VizWiz",
    hub="lmms-lab/VizWiz-VQA:val",
    also_hub=["lmms-lab-encoder/VizWiz-VQA"],
    change_row=list_answers,
    prompt=ask(),
    scorer="vqa-accuracy",
    kits={
        LMMS_EVAL: Kit(
            prompt=ask(f"\n{_UNANSWERABLE}\n{BRIEFLY}", capitalize=True), scorer="vqa-accuracy-lmms"
        )
    },
    metric="VQA accuracy",
    parity="VLMEvalKit, lmms-eval",
)

declare(
    "gqa",
    "scene graphs: relations, attributes, logic",
    group="vqa",
    size="12,578 questions",
    paper="https://arxiv.org/abs/1902.09506",
    licence="CC BY 4.0",
    file="GQA_TestDev_Balanced",
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="gqa",
    kits={LMMS_EVAL: Kit(prompt=ask(f"\n{BRIEFLY}"), scorer="gqa-lmms")},
    metric="exact match without case",
    parity="VLMEvalKit, lmms-eval",
    note="lmms-eval also drops punctuation. On the hub the images are in another config than the questions, so "
    "only VLMEvalKit's file is read.",
)

declare(
    "ocrvqa",
    "book covers",
    group="documents",
    size="3,072 questions",
    paper="https://doi.org/10.1109/ICDAR.2019.00156",
    licence="see its page",
    file=("OCRVQA_TESTCORE", "OCRVQA_TEST"),
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="ocrvqa",
    metric="exact match without case",
    parity="VLMEvalKit",
)

declare(
    "countbenchqa",
    "how many objects, 2 to 10",
    group="counting",
    size="491 questions",
    paper="https://arxiv.org/abs/2302.12066",
    licence="see its page",
    file="CountBenchQA",
    hub="vikhyatk/CountBenchQA:test",
    change_row=lambda row: {"answer": str(row["number"])},
    prompt=ask(" Note that: answer with a number directly e.g. 3. Do not include any additional text."),
    scorer="countbenchqa",
    metric="accuracy",
    parity="VLMEvalKit",
    note="The gold is searched in the reply: 3 is found in 13.",
)

declare(
    "pixmo-count",
    "how many objects, labelled by people",
    group="counting",
    size="527 questions",
    paper="https://arxiv.org/abs/2409.17146",
    licence="ODC-BY 1.0",
    hub="kcz358/pixmo-count:test",
    change_row=lambda row: {"question": row["question"].replace("<image>", "").strip()},
    prompt=ask("\nAnswer with a single number."),
    scorer="number",
    kit=LMMS_EVAL,
    metric="accuracy",
    parity="none: our own reading of numbers",
    note="lmms-eval takes the first digits of the reply.",
)

declare(
    "tallyqa",
    "counting, simple and complex questions",
    group="counting",
    size="38,589 questions",
    paper="https://arxiv.org/abs/1810.12440",
    licence="Apache-2.0",
    file="tallyqa_data",
    prompt=ask("\nAnswer the question using a single number."),
    scorer="tallyqa",
    metric="accuracy",
    parity="VLMEvalKit",
)

declare(
    "zerobench",
    "questions that no model could answer",
    group="reasoning",
    size="100 questions",
    paper="https://arxiv.org/abs/2502.09696",
    licence="see its page",
    file="zerobench",
    hub="jonathan-roberts1/zerobench:zerobench",
    change_row=lambda row: {
        "index": row["question_id"],
        "question": row["question_text"],
        "answer": str(row["question_answer"]),
    },
    prompt=ask(
        " \n\n\nLet's think step by step and give the final answer in curly braces,  like this: {final answer}"
    ),
    scorer="zerobench",
    metric="accuracy",
    parity="VLMEvalKit",
    note="The gold is searched in the last curly braces of the reply.",
)

declare(
    "zerobench-sub",
    "the steps of ZEROBench's questions",
    group="reasoning",
    size="334 questions",
    paper="https://arxiv.org/abs/2502.09696",
    licence="see its page",
    file="zerobench_sub",
    prompt=ask(
        " \n\n\nLet's think step by step and give the final answer in curly braces,  like this: {final answer}"
    ),
    scorer="zerobench",
    metric="accuracy",
    parity="VLMEvalKit",
)

declare(
    "mtvqa",
    "text in photographs, nine languages",
    group="documents",
    size="6,778 questions",
    paper="https://arxiv.org/abs/2405.11985",
    licence="CC BY-NC 4.0",
    file="MTVQA_TEST",
    prompt=ask("\nAnswer the question using a word or phrase in the language of the question."),
    scorer="mtvqa",
    group_by=("category",),
    aggregate="mtvqa",
    metric="the gold occurs in the reply, dots removed",
    parity="VLMEvalKit, lmms-eval",
    note="The two kits agree on all vectors.",
)
