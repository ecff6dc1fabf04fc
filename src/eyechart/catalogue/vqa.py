"""Open questions on photographs, answered in a word or a number: VQA accuracy, exact answers, counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.declare import LMMS_EVAL, Apart, Kit, declare
from eyechart.catalogue.prompts import BRIEFLY, ask, ask_with
from eyechart.data.files.rows import read_literal
from eyechart.types import Sample

_UNANSWERABLE = "When the provided information is insufficient, respond with 'Unanswerable'."


def list_answers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Ten answers, of which VQAv2 writes each as an object."""
    answers = [one["answer"] if isinstance(one, Mapping) else one for one in row["answers"]]
    return {"index": row["question_id"], "answers": answers}


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


def list_cover_questions(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The questions on one book cover of OCR-VQA."""
    pairs = zip(row["questions"], row["answers"], strict=True)
    return [{"question": question, "answers": None, "answer": answer} for question, answer in pairs]


def ask_count(sample: Sample) -> str:
    """lmms-eval's prompt of CountBenchQA: the image's caption, where the row has it, and the question."""
    caption = f"{sample.meta['text']}\n\n" if sample.meta.get("text") else ""
    return f"{caption}{sample.question}\nAnswer with a single number."


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
    scorer="vqav2-lmms",
    kit=LMMS_EVAL,
    metric="VQA accuracy",
    parity="lmms-eval",
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
    hub="lmms-lab/GQA:testdev_balanced_instructions/testdev",
    also_hub=["lmms-lab-encoder/GQA"],
    change_row=lambda row: {"index": row["id"]},
    images=Apart("testdev_balanced_images/testdev", "imageId"),
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="gqa",
    kits={LMMS_EVAL: Kit(prompt=ask(f"\n{BRIEFLY}"), scorer="gqa-lmms")},
    metric="exact match without case",
    parity="VLMEvalKit, lmms-eval",
    note="lmms-eval also drops punctuation.",
)

for _name, _about, _size, _file, _hub, _note in (
    (
        "ocrvqa",
        "book covers, a sample of the questions",
        "3,072 questions",
        "OCRVQA_TESTCORE",
        (),
        "VLMEvalKit's sample of `ocrvqa-test`; it is not on the hub.",
    ),
    ("ocrvqa-test", "book covers", "about 100,000 questions", "OCRVQA_TEST", "howard-hou/OCR-VQA:test", ""),
):
    declare(
        _name,
        _about,
        group="documents",
        size=_size,
        paper="https://doi.org/10.1109/ICDAR.2019.00156",
        licence="see its page",
        file=_file,
        hub=_hub,
        change_row=list_cover_questions,
        prompt=ask(f"\n{BRIEFLY}"),
        scorer="ocrvqa",
        metric="exact match without case",
        parity="VLMEvalKit",
        note=_note,
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
    kits={LMMS_EVAL: Kit(prompt=ask_with(ask_count), scorer="countbenchqa-lmms")},
    metric="accuracy",
    parity="VLMEvalKit, lmms-eval",
    note="The reply must contain the gold: 13 contains 3. lmms-eval requires the reply to be the number, and shows the image's caption.",
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
    scorer="pixmo-count-lmms",
    kit=LMMS_EVAL,
    metric="accuracy",
    parity="lmms-eval",
    note="The first digits of the reply count; `--scorer number` reads numbers in words, too.",
)

declare(
    "tallyqa",
    "counting, simple and complex questions",
    group="counting",
    size="38,589 questions",
    paper="https://arxiv.org/abs/1810.12440",
    licence="Apache-2.0",
    file=("TallyQA", "tallyqa_data"),
    hub="moondream/TallyQA-VLMEvalKit:tallyqa_data.tsv",
    prompt=ask("\nAnswer the question using a single number."),
    scorer="tallyqa",
    metric="accuracy",
    parity="VLMEvalKit",
)

for _name, _about, _size, _files, _part in (
    ("zerobench", "questions that no model could answer", "100", ("ZEROBench", "zerobench"), "zerobench"),
    (
        "zerobench-sub",
        "the steps of ZEROBench's questions",
        "334",
        ("ZEROBench_sub", "zerobench_sub"),
        "zerobench_subquestions",
    ),
):
    declare(
        _name,
        _about,
        group="reasoning",
        size=f"{_size} questions",
        paper="https://arxiv.org/abs/2502.09696",
        licence="see its page",
        file=_files,
        hub=f"jonathan-roberts1/zerobench:{_part}",
        change_row=lambda row: {
            "index": row["question_id"],
            "question": row["question_text"],
            "answer": str(row["question_answer"]),
        },
        prompt=ask(
            " \n\n\nLet's think step by step and give the final answer in curly braces,  like this: {final answer}"
        ),
        scorer="zerobench",
        kits={
            LMMS_EVAL: Kit(
                prompt=ask("\nAnswer with only the final answer.", strip=True), scorer="zerobench-lmms"
            )
        },
        metric="accuracy",
        parity="VLMEvalKit, lmms-eval",
        note="The gold is searched in the last curly braces of the reply.",
    )

declare(
    "mtvqa",
    "text in photographs, nine languages",
    group="documents",
    size="6,778 questions",
    paper="https://arxiv.org/abs/2405.11985",
    licence="CC BY-NC 4.0",
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
)
