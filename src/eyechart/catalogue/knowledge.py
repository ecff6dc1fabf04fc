"""MMMU and MMMU-Pro: questions of college exams, with images in the text.

The authors' parser is the default. Where it finds no option it picks one at random; here such a reply is
unparsed, and the expected score with random picks is shown too. lmms-eval has the same parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eyechart.catalogue.declare import LMMS_EVAL, VLMEVALKIT, Kit, declare
from eyechart.catalogue.prompts import BRIEFLY, LETTER, frame, list_options, put_in_place
from eyechart.score.aggregates.subjects import DOMAINS
from eyechart.types import Message, Prompt, Sample

_COT = (
    "The last line of your response should be of the following format: 'Answer: $LETTER' (without quotes) where "
    "LETTER is one of the options. Think step by step before answering. "
)
_DIRECT = "Answer directly with the option letter from the given choices. "
_LMMS_COT = (
    "Answer the following multiple choice question. The last line of your response should be of the following "
    "format: 'Answer: $LETTER' (without quotes) where LETTER is one of options. Think step by step before answering."
)
_IN_IMAGE = "Answer the following multiple-choice question in the image. "
_LMMS_DIRECT = "Answer with the option letter from the given choices directly."


def ask_lmms(closing: str, *, in_place: bool = False) -> Prompt:
    """lmms-eval's prompt: question, options, a blank line, the closing; of MMMU with images in the text."""

    def prompt(sample: Sample) -> list[Message]:
        text = f"{sample.question}\n{list_options(sample)}\n{closing if sample.choices else BRIEFLY}"
        if in_place:
            return [Message("user", put_in_place(text, sample, trim=True))]
        return [Message("user", (*sample.images, text))]

    return prompt


def show_image(closing: str) -> Prompt:
    """The question is in the image."""

    def prompt(sample: Sample) -> list[Message]:
        return [Message("user", (*sample.images, closing))]

    return prompt


def name_subject(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that the file has and the hub has in the id: ``validation_Accounting_1``."""
    split, _, rest = str(row["id"]).partition("_")
    return {"category": rest.rpartition("_")[0], "split": split}


declare(
    "mmmu-val",
    "college exams in 30 subjects",
    group="knowledge",
    size="900 questions",
    paper="https://arxiv.org/abs/2311.16502",
    licence="Apache-2.0",
    file="MMMU_DEV_VAL",
    hub="lmms-lab/MMMU:validation",
    also_hub=[
        "lmms-lab-encoder/MMMU",
        *(f"MMMU/MMMU:{subject}/validation" for several in DOMAINS.values() for subject in several),
    ],
    change_row=name_subject,
    fields={"id": "id"},
    splits=("validation", "dev"),
    prompt=ask_lmms(LETTER, in_place=True),
    scorer="mmmu",
    kit=LMMS_EVAL,
    kits={
        VLMEVALKIT: Kit(
            prompt=frame(in_place=True),
            scorer="mmmu-vlmevalkit",
            more={"group_by": ("split", "l2-category", "category")},
        )
    },
    group_by=("category",),
    aggregate="mmmu",
    metric="accuracy over questions",
    parity="authors (lmms-eval), VLMEvalKit",
    note="VLMEvalKit turns open questions into A or `Other Answers`, and asks a judge where its rules read nothing. "
    "The file also has the 150 questions of dev: `--set split=all`.",
)

declare(
    "mmmu-pro",
    "MMMU's questions with ten options",
    group="knowledge",
    size="1,730 questions",
    paper="https://arxiv.org/abs/2409.02813",
    licence="Apache-2.0",
    file={"MMMU_Pro_10c": "", "MMMU_Pro_10c_COT": "vlmevalkit-cot"},
    hub="MMMU/MMMU_Pro:standard (10 options)/test",
    change_row=lambda row: {"category": row["subject"]},
    fields={"id": "id"},
    prompt=ask_lmms(_LMMS_DIRECT),
    scorer="mmmu",
    kit=LMMS_EVAL,
    kits={
        "lmms-eval-cot": Kit(prompt=ask_lmms(_LMMS_COT), scorer="mmmu", more={"aggregate": "mmmu"}),
        VLMEVALKIT: Kit(prompt=frame(_DIRECT, hint=False, in_place=True), scorer="choice-vlmevalkit"),
        "vlmevalkit-cot": Kit(
            prompt=frame(f"Answer the following multiple-choice question. {_COT}", hint=False, in_place=True),
            scorer="mmmu-pro-cot-vlmevalkit",
        ),
    },
    group_by=("category",),
    aggregate="mmmu",
    metric="accuracy",
    parity="authors (lmms-eval), VLMEvalKit",
    note="The paper's figure is the mean of this and `mmmu-pro-vision`; neither kit computes it.",
)

declare(
    "mmmu-pro-vision",
    "the same questions, photographed or as a screenshot",
    group="knowledge",
    size="1,730 questions",
    paper="https://arxiv.org/abs/2409.02813",
    licence="Apache-2.0",
    file={"MMMU_Pro_V": "", "MMMU_Pro_V_COT": "vlmevalkit-cot"},
    hub="MMMU/MMMU_Pro:vision/test",
    change_row=lambda row: {"category": row["subject"], "question": "placeholder"},
    fields={"id": "id"},
    prompt=show_image(_IN_IMAGE + _DIRECT),
    scorer="choice-vlmevalkit",
    kits={
        "vlmevalkit-cot": Kit(prompt=show_image(_IN_IMAGE + _COT), scorer="mmmu-pro-cot-vlmevalkit"),
        LMMS_EVAL: Kit(prompt=show_image(_LMMS_DIRECT), scorer="mmmu-pro-vision-lmms"),
    },
    group_by=("category",),
    metric="accuracy",
    parity="VLMEvalKit, lmms-eval",
    note="lmms-eval requires the whole reply to be the letter: `B.` and the `Answer: B` of its own step-by-step prompt "
    "count as wrong there. So VLMEvalKit's rule is the default.",
)
