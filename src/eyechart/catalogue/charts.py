"""Charts: ChartQA and ChartQAPro."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from eyechart.catalogue.declare import LMMS_EVAL, Kit, declare
from eyechart.catalogue.prompts import BRIEFLY, ask
from eyechart.data.files.rows import read_literal
from eyechart.types import Message, Sample


def change_chartqa(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of VLMEvalKit's file, from lmms-eval's rows or those of HuggingFaceM4."""
    if "query" not in row:
        return {"split": "test_human" if row["type"] == "human_test" else "test_augmented"}
    is_human = row["human_or_machine"] in (0, "0", "human")
    return {
        "question": row["query"],
        "answer": row["label"][0] if isinstance(row["label"], list) else row["label"],
        "split": "test_human" if is_human else "test_augmented",
    }


declare(
    "chartqa",
    "questions on charts, written by people and by a model",
    group="charts",
    size="2,500 questions",
    paper="https://arxiv.org/abs/2203.10244",
    licence="GPL-3.0",
    file="ChartQA_TEST",
    hub="lmms-lab/ChartQA:test",
    also_hub=["lmms-lab-encoder/ChartQA", "HuggingFaceM4/ChartQA:test"],
    change_row=change_chartqa,
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
    note="The authors publish no prompt; the default is VLMEvalKit's. 50% is read as 0.5, as in both kits.",
)


# -- ChartQAPro: a text per kind of question, as published with its indentation

_SHORT = """
            Your answer should be a single word, number, or phrase. If the question is unanswerable based on
            the information in the provided image, your answer should be unanswerable. Do not generate units.
            But if numerical units such as million, m, billion, B, or K are required, use the exact notation
            shown in the chart."""
_ENDING = """
            If there are multiple answers, put them in brackets using this format [’Answer1’, ’Answer2’].
            Remember to generate the final answer only without any additional text!
            """
_KINDS = {
    "Factoid": f"""
            You are given a factoid question that you need to answer based on the provided image.{_SHORT}""",
    "Multi Choice": """
            You are given a question along with different possible answers. You need to select the correct answer
            from them based on the provided image.
            Your answer should be one of the options letters only: a, b, c or d (just the letter itself without any
            additional text). If the question is unanswerable based on the information in the provided image, your
            answer should be unanswerable.""",
    "Conversational": f"""
            You are given a multi-turn conversation, and your job is to answer the final question based on the
            conversation history and the information in the provided image.{_SHORT}""",
    "Fact Checking": """
            You are given a fact statement that you need to assess based on the provided image.
            Your answer should be either true or false (without any additional text). If the question is
            unanswerable based on the information in the provided image, your answer should be unanswerable.""",
    "Hypothetical": f"""
            You are given a hypothetical question that you need to answer based on the provided image.{_SHORT}""",
}


def unfold(sample: Sample) -> Sample:
    """The last question of a row, with the questions and answers before it in `history`."""
    found = read_literal(sample.question)
    asked = [str(one) for one in found] if isinstance(found, list) and found else [sample.question]
    before = [text for pair in zip(asked[:-1], sample.golds[:-1], strict=False) for text in pair]
    return replace(sample, question=asked[-1], meta={**sample.meta, "first": asked[0], "history": before})


def ask_chartqapro(sample: Sample) -> list[Message]:
    """VLMEvalKit's prompt: the paragraph, then the text of the kind of question."""
    kind = str(sample.meta.get("question_type", "Factoid"))
    question = f"Question: {sample.meta.get('first', sample.question)}"
    if kind == "Conversational":
        question = f"Conversation: {sample.meta.get('history', [])} Question: {sample.question}"
    text = f"{_KINDS.get(kind, _KINDS['Factoid'])}{_ENDING}{question}\n            "
    paragraph = str(sample.meta.get("paragraph") or "")
    return [Message("user", (*sample.images, *([paragraph] if paragraph else []), text))]


def ask_chartqapro_lmms(sample: Sample) -> list[Message]:
    """lmms-eval's prompt: paragraph and conversation, then a closing line."""
    paragraph = sample.meta.get("paragraph")
    text = f"Context: {paragraph}\n\n" if paragraph else ""
    history = list(sample.meta.get("history", ()))
    if sample.meta.get("question_type") == "Conversational" and history:
        for at in range(0, len(history), 2):
            text += f"Q{at // 2 + 1}: {history[at]}\nA{at // 2 + 1}: {history[at + 1]}\n"
        text += f"Q{len(history) // 2 + 1}: {sample.question}"
    else:
        text += sample.question
    return [Message("user", (*sample.images, f"{text}\nAnswer the question with a short phrase."))]


def change_chartqapro(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of VLMEvalKit's file."""
    return {
        "question": str(list(row["Question"])),
        "answer": list(row["Answer"]),
        "question_type": row["Question Type"],
        "paragraph": row.get("Paragraph") or "",
        "year": list(row["Year"]),
    }


declare(
    "chartqapro",
    "charts, infographics and dashboards; five kinds of questions",
    group="charts",
    size="1,948 questions",
    paper="https://arxiv.org/abs/2504.05506",
    licence="MIT",
    file=("ChartQAPro", "chartqapro"),
    hub="ahmed-masry/ChartQAPro:test",
    change_row=change_chartqapro,
    prepare=unfold,
    prompt=ask_chartqapro,
    scorer="chartqapro",
    group_by=("question_type",),
    kits={
        LMMS_EVAL: Kit(
            prompt=ask_chartqapro_lmms,
            scorer="chartqapro-lmms",
            more={"aggregate": "chartqapro", "group_by": ("question_type",)},
        )
    },
    aggregate="chartqapro",
    metric="relaxed accuracy for numbers, exact for years, ANLS for text",
    parity="VLMEvalKit, lmms-eval",
    note="VLMEvalKit, like the authors' own code, computes the exact rule for fact checking and multiple choice and does not "
    "apply it; lmms-eval does, as the paper says. Only the direct prompt is available: VLMEvalKit scores replies to its prompts "
    "with reasoning or code by the same rule, as if they were the answer alone.",
)
