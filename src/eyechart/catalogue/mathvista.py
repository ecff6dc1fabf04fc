"""MathVista (Lu et al., 2023): figures, plots, geometry and puzzles.

As VLMEvalKit scores it (ms-vlmeval 0.0.20); lmms-eval's code (0.7.3) is the authors'. Parity:
tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

from eyechart.catalogue.entry import LMMS_EVAL, Entry, Kit
from eyechart.prompt.published import ask, ask_with
from eyechart.registry import judged_scorer
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.choice_rules import RULES as LETTER_RULES
from eyechart.score.choice_rules import infer
from eyechart.score.judges import official_judged
from eyechart.score.lmms import cut_reasoning
from eyechart.score.math import RULES, extract_answer, fetch_or_extract, list_options, read_as, score_answer
from eyechart.score.text import parse_literal
from eyechart.types import Card, Judging, Reply, Sample, Score, ScoredRow

_QUESTION = re.compile(r"Question:\s*(.*?)(?:\nChoices:|\Z)", re.DOTALL)
_REAL = (
    "requiring a floating-point number with {} decimal {} and provide the final value, e.g., {}, at the end."
)
_NUMBERS = {
    ("integer", ""): "requiring an integer answer and provide the final value, e.g., 1, 2, 3, at the end.",
    ("float", "1"): _REAL.format("one", "place", "1.2, 1.3, 1.4"),
    ("float", "2"): _REAL.format("two", "places", "1.23, 1.34, 1.45"),
    (
        "list",
        "",
    ): "requiring a Python list as an answer and provide the final list, e.g., [1, 2, 3], [1.2, 1.3, 1.4], "
    "at the end.",
}


def ask_mathvista(sample: Sample) -> str:
    """lmms-eval's prompt of MathVista: question, choices, then the hint on the kind of answer."""
    found = _QUESTION.search(sample.question)
    text = str(sample.meta.get("plain_question") or (found[1] if found else sample.question))
    if unit := sample.meta.get("unit"):
        text = f"{text} (Unit: {unit})"
    lines = [f"Question: {text}"]
    if sample.meta.get("question_type") == "multi_choice":
        lines += ["Choices:", *(f"({letter}) {choice}" for letter, choice in sample.choices.items())]
        hint = "and provide the correct option letter, e.g., A, B, C, D, at the end."
    else:
        kind = str(sample.meta.get("answer_type", ""))
        precision = str(sample.meta.get("precision") or "").removesuffix(".0") if kind == "float" else ""
        hint = _NUMBERS.get((kind, precision), _NUMBERS["integer", ""])
    return "\n".join([*lines, f"Hint: Please answer the question {hint}"])


def change_mathvista(row: Mapping[str, Any]) -> dict[str, Any]:
    """As in the file: the question is the query, with its hint and choices; skills and task are columns."""
    facts = row.get("metadata") or {}
    return {
        "index": row["pid"],
        "question": row["query"],
        "plain_question": row["question"],
        "task": facts.get("task"),
        "skills": facts.get("skills"),
    }


Entry(
    "mathvista-mini",
    "figures, plots, geometry and puzzles",
    Card("math", "1,000 questions", "https://arxiv.org/abs/2310.02255", "CC BY-SA 4.0"),
    aliases=("mathvista_testmini",),
    file="MathVista_MINI",
    hub="AI4Math/MathVista:testmini",
    change_row=change_mathvista,
    prompt=ask(),
    scorer="mathvista-lmms",
    kits={
        "vlmevalkit": Kit(prompt=ask(), scorer="mathvista"),
        LMMS_EVAL: Kit(max_tokens=16384, prompt=ask_with(ask_mathvista), scorer="mathvista-lmms"),
    },
    kit="authors",
    aggregate="mathvista",
    parity="authors (lmms-eval), VLMEvalKit",
    note="Needs a judge for most replies. The default asks the authors' query and compares as they do (lmms-eval's code); "
    "VLMEvalKit counts answers that are text or lists as wrong and compares floats without tolerance.",
).register()


# -- VLMEvalKit


@judged_scorer("mathvista", version="1", parity="official", rules=LETTER_RULES[RULES].source)
def score_mathvista(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's MathVista: a letter, or a whole number or number equal to the answer; a judge extracts it.

    As published, an answer that is a list or a text is never right, and neither is ``14.0`` for 14.
    """
    fetched = prefetch_mathvista(reply.text, sample)
    return (yield from fetch_or_extract(reply, sample, "mathvista", fetched, is_mathvista_right))


def prefetch_mathvista(reply: str, sample: Sample) -> str | None:
    """The answer that the rules read; None where a judge is asked. As published, a right 0 is not read."""
    if sample.meta.get("question_type") == "multi_choice":
        return infer(reply, list_options(sample), RULES)
    kind = sample.meta.get("answer_type")
    if kind not in ("integer", "float"):
        return "None" if is_mathvista_right(reply, sample) else None
    return reply if read_as(kind, reply) and is_mathvista_right(reply, sample) else None


def is_mathvista_right(result: str, sample: Sample) -> bool:
    """Whether an extracted answer is right, by the kind of question."""
    if sample.meta.get("question_type") == "multi_choice":
        return infer(result, list_options(sample), RULES) == _find_option(sample)
    kind = sample.meta.get("answer_type")
    if kind not in ("integer", "float"):
        return "None" in sample.golds  # as published: the text of None is compared with the answer
    value = read_as(kind, result)
    return value is not None and any(value == read_as(kind, gold) for gold in sample.golds)


def _find_option(sample: Sample) -> str | None:
    """The letter of the right option: the column ``answer_option``, a gold, or the option with its text."""
    told, options = sample.meta.get("answer_option"), list_options(sample)
    if told is not None and told == told:
        return str(told)
    letters = [letter for letter, text in options.items() if letter in sample.golds or text in sample.golds]
    return letters[0] if letters else None


# -- lmms-eval


@official_judged("mathvista-lmms", version="2", is_settled=False, cut=cut_reasoning)
def score_mathvista_lmms(reply: Reply, sample: Sample) -> Judging[Score]:
    """lmms-eval's MathVista: what was extracted is brought into the answer's form and compared as text.

    As published, without a letter the option with the nearest spelling is always taken.
    """
    said: str | None = None
    result = prefetch_mathvista_lmms(reply.text.strip(), sample)
    if result is None:
        result = said = yield from extract_answer(reply, sample, "math-extract")
    options, is_choice = list_options(sample), sample.meta.get("question_type") == "multi_choice"
    read = None if result is None else normalise_mathvista(
        result, list(options.values()), str(sample.meta.get("question_type")),
        str(sample.meta.get("answer_type")), sample.meta.get("precision"),
    )  # fmt: skip
    golds = [options.get(gold, gold) if is_choice else gold for gold in sample.golds]  # texts, not letters
    hit = result is not None and any(str(read).strip() == gold.strip() for gold in golds)
    score = score_answer(reply, sample, hit=hit, read=read, route="mathvista-lmms", judge=said)
    return replace(score, detail={**score.detail, "extracted": result, "normalised": read})


def prefetch_mathvista_lmms(reply: str, sample: Sample) -> str | None:
    """What lmms-eval takes without its judge: an option's text, a whole number, a number, an empty reply."""
    if not reply:
        return ""
    if sample.meta.get("question_type") == "multi_choice" and reply in list_options(sample).values():
        return reply
    value = read_as(sample.meta.get("answer_type"), reply)
    return None if value is None else str(value)


def normalise_mathvista(
    text: str, choices: Sequence[str], question_type: str, answer_type: str, precision: object
) -> str | None:
    """An extracted answer in the form of the question's answers; None if it has none.

    >>> normalise_mathvista("(b) no", ["yes", "no"], "multi_choice", "text", None)
    'no'
    >>> normalise_mathvista("3.14159", [], "free_form", "float", 2.0)
    '3.14'
    """
    if question_type == "multi_choice":
        from rapidfuzz.distance import Levenshtein

        stripped = text.strip()
        letters = re.findall(r"\(([a-zA-Z])\)", stripped)
        letter = letters[0].upper() if letters else stripped
        options = dict(zip(ascii_uppercase, choices, strict=False))
        if letter in options:
            return options[letter]
        return min(choices, key=lambda choice: Levenshtein.distance(letter, choice), default=None)
    try:
        if answer_type == "integer":
            return str(int(float(text)))
        if answer_type == "float":
            return str(round(float(text), None if precision is None else int(float(str(precision)))))
    except (ValueError, OverflowError):
        return None
    return text


def _list_skills(row: ScoredRow) -> Iterable[str]:
    """Task and skills of MathVista; skills are written as a list."""
    written = row.meta.get("skills")
    skills = parse_literal(written) if isinstance(written, str) else written
    listed = skills if isinstance(skills, list | tuple) else [written]
    return [str(one) for one in (*listed, get_column(row, "task")) if one]


declare_means("mathvista", "accuracy by task and skill", _list_skills)
