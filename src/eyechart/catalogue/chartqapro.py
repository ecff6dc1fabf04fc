"""ChartQAPro (Masry et al., 2025): charts, infographics and dashboards, with a prompt per kind of question.

Numbers within 5 %, years exactly, texts by ANLS, lists element by element. As VLMEvalKit computes it
(ms-vlmeval 0.0.20), ``chartqapro-lmms`` as lmms-eval 0.7.3 does. Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from eyechart.catalogue.entry import Entry, Kit
from eyechart.data.files.rows import read_literal
from eyechart.registry import scorer
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.judges import get_fact
from eyechart.score.lmms import lmms_scorer
from eyechart.score.reading import score_official
from eyechart.score.text import compare_spelling, parse_literal, to_number
from eyechart.types import Card, Message, Reply, Sample, Score

# -- Prompts: a text per kind of question, as published with its indentation

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


Entry(
    "chartqapro",
    "charts, infographics and dashboards; five kinds of questions",
    Card("charts", "1,948 questions", "https://arxiv.org/abs/2504.05506", "MIT"),
    file=("ChartQAPro", "chartqapro"),
    hub="ahmed-masry/ChartQAPro:test",
    change_row=change_chartqapro,
    prepare=unfold,
    prompt=ask_chartqapro,
    scorer="chartqapro",
    group_by=("question_type",),
    lmms=Kit(max_tokens=128, prompt=ask_chartqapro_lmms, scorer="chartqapro-lmms"),
    aggregate="chartqapro",
    metric="relaxed accuracy for numbers, exact for years, ANLS for text",
    note="VLMEvalKit, like the authors' own code, computes the exact rule for fact checking and multiple choice and does not "
    "apply it; lmms-eval does, as the paper says. Only the direct prompt is available: VLMEvalKit scores replies to its prompts "
    "with reasoning or code by the same rule, as if they were the answer alone.",
).register()


# -- Scores

EXACT_TYPES = ("Fact Checking", "Multi Choice")
_BARE = re.compile(r"(?<!['\w])(\w[^,]*?)(?!['\w])")


@scorer("chartqapro", version="1", parity="official")
def score_chartqapro(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's ChartQAPro. As published, its exact match for two question types is not applied."""
    return _score_chartqapro(reply, sample, "chartqapro", is_exact=False)


@lmms_scorer("chartqapro-lmms", version="2")
def score_chartqapro_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's ChartQAPro: fact checking and multiple choice need the same text."""
    is_exact = get_fact(sample, "question_type", "Question Type", "type") in EXACT_TYPES
    return _score_chartqapro(reply, sample, "chartqapro-lmms", is_exact=is_exact)


def _score_chartqapro(reply: Reply, sample: Sample, route: str, *, is_exact: bool) -> Score:
    gold = (sample.golds[-1] if sample.golds else "").strip(".").strip("\n")
    years = list_years(sample)
    if get_fact(sample, "question_type", "Question Type", "type") == "Conversational":
        years = years[-1:]
    said = reply.text.strip(".").strip("\n")
    value = chartqapro(said, gold, years, is_exact=is_exact) if sample.golds else 0.0
    return score_official(reply, sample, value=value, read=said.strip() or None, route=route, is_whole=True)


def list_years(sample: Sample) -> list[bool]:
    """Which answers are years: the column ``year``, a list of YES and NO."""
    known = (sample.meta.get(name) for name in ("year", "Year"))
    written: Any = next((one for one in known if one is not None), [])
    listed = parse_literal(written) if isinstance(written, str) else written
    return [
        str(item).upper() == "YES" for item in (listed if isinstance(listed, list | tuple) else [written])
    ]


def chartqapro(reply: str, gold: str, years: list[bool], *, is_exact: bool = False) -> float:
    """The mean over the elements of two lists, which must have the same length; one answer is a list of one.

    >>> chartqapro("104", "100", [False]), chartqapro("2019", "2020", [True])
    (1.0, 0.0)
    >>> chartqapro("[1, 2]", "[1, 3]", [False])
    0.5
    """
    wanted = _parse_list(_quote_items(gold)) or [gold]
    said = _parse_list(reply) or [reply]
    flags = chain(years * len(wanted) if len(years) < len(wanted) else years, repeat(False))
    scores = [
        _compare_item(mine, true, is_exact=is_exact or is_year)
        for mine, true, is_year in zip(said, wanted, flags, strict=False)
    ]
    return sum(scores) / max(len(wanted), len(said))


def _quote_items(gold: str) -> str:
    """A list whose items are not quoted, with quotes; anything else as it is."""
    found = re.fullmatch(r"\[(.*)\]", gold.strip())
    if found is None:
        return gold
    quoted = "[" + _BARE.sub(r"'\1'", found[1]) + "]"
    return quoted if isinstance(parse_literal(quoted), list) else gold


def _parse_list(text: str) -> list[str]:
    found = parse_literal(text)
    return [str(item).strip(" '") for item in found] if isinstance(found, list) else []


def _compare_item(said: str, true: str, *, is_exact: bool) -> float:
    if is_exact:
        return float(said.strip().lower() == true.strip().lower())
    said, true = (one.strip().strip("%").strip() for one in (said, true))
    number, gold = to_number(said.strip("%")), to_number(true.strip("%"))
    if number is not None and gold is not None:
        return float(abs(number - gold) / abs(gold) <= 0.05 if gold else number == 0)
    return compare_spelling(" ".join(true.lower().split()), " ".join(said.lower().split()))


declare_means(
    "chartqapro", "relaxed accuracy by question type", lambda row: (get_column(row, "question_type", "type"),)
)
