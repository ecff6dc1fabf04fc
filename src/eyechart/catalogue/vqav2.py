"""VQAv2 (Goyal et al., 2016), OK-VQA (Marino et al., 2019), VizWiz (Gurari et al., 2018): ten answers each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from eyechart.catalogue.entry import LMMS_EVAL, Entry, Kit
from eyechart.prompt.published import BRIEFLY, ask
from eyechart.score.lmms import average_credit, lmms_scorer, normalise_marks, score_short
from eyechart.score.text import get_answers, list_accepted
from eyechart.types import Card, Reply, Sample, Score

_UNANSWERABLE = "When the provided information is insufficient, respond with 'Unanswerable'."


def list_answers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Ten answers, of which VQAv2 writes each as an object."""
    answers = [one["answer"] if isinstance(one, Mapping) else one for one in row["answers"]]
    return {"index": row["question_id"], "answers": answers}


Entry(
    "vqav2-val",
    "photographs, ten answers each",
    Card("vqa", "214,354 questions", "https://arxiv.org/abs/1612.00837", "CC BY 4.0"),
    hub="lmms-lab/VQAv2:validation",
    change_row=list_answers,
    prompt=ask(f"\n{BRIEFLY}"),
    scorer="vqav2-lmms",
    kit=LMMS_EVAL,
    max_tokens=16,
    metric="VQA accuracy",
).register()

Entry(
    "okvqa-val",
    "photographs, questions that need knowledge",
    Card("vqa", "5,046 questions", "https://arxiv.org/abs/1906.00067", "CC BY 4.0"),
    aliases=("ok_vqa_val2014",),
    hub="lmms-lab/OK-VQA:val2014",
    change_row=list_answers,
    prompt=ask(f"\n{_UNANSWERABLE}\n{BRIEFLY}"),
    scorer="vqa-accuracy-lmms",
    kit=LMMS_EVAL,
    metric="VQA accuracy",
).register()

Entry(
    "vizwiz-val",
    "photographs and questions of blind people",
    Card("vqa", "4,319 questions", "https://arxiv.org/abs/1802.08218", "CC BY 4.0"),
    aliases=("vizwiz_vqa_val",),
    file="VizWiz",
    hub="lmms-lab/VizWiz-VQA:val",
    change_row=list_answers,
    prompt=ask(),
    scorer="vqa-accuracy",
    lmms=Kit(prompt=ask(f"\n{_UNANSWERABLE}\n{BRIEFLY}", capitalize=True), scorer="vqa-accuracy-lmms"),
    metric="VQA accuracy",
).register()


@lmms_scorer("vqav2-lmms", version="2")
def score_vqav2_lmms(reply: Reply, sample: Sample) -> Score:
    """VQA accuracy as lmms-eval computes it for VQAv2: without the first steps of ``vqa-accuracy-lmms``."""
    answers = [(answer, number) for number, answer in enumerate(list_accepted(get_answers(sample)))]
    read = normalise_marks(reply.text)
    return score_short(reply, sample, vqav2_lmms(reply.text, answers), read, "vqav2-lmms")


def vqav2_lmms(reply: str, answers: Sequence[tuple[str, Hashable]]) -> float:
    """VQA accuracy of answers with the id of the person; as published, equal ones are left out together.

    >>> vqav2_lmms("dog", [("dog", 1), ("dog", 2), ("cat", 3)]) == (1 + 1 + 2) / 9
    True
    """
    read = normalise_marks(reply)
    golds = [(normalise_marks(answer), who) for answer, who in answers]
    n = Counter(golds)
    agreeing = sum(gold == read for gold, _ in golds)
    return average_credit(agreeing, [n[one] if one[0] == read else 0 for one in golds])
