"""DynaMath (Zou et al., 2024): one problem in ten variants of its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask, ask_with
from eyechart.registry import judge_prompt
from eyechart.score.aggregates import ALL, Counts, average, count_by, declare_aggregate, divide, get_column
from eyechart.score.judges import official_judged, parse_json
from eyechart.score.math import extract_answer, read_as, score_answer
from eyechart.types import CannotAggregate, Card, Judging, MetricTable, Reply, Sample, Score, ScoredRow


def ask_dynamath(sample: Sample) -> str:
    """The question, then the JSON that is asked for."""
    told = {
        "multiple choice": "Provide the corresponing choice option in the 'short answer' key, such as 'A', 'B', 'C', or 'D'.",
        "float": "Format the answer as a three-digit floating-point number and provide it in the 'short answer' key.",
    }.get(
        str(sample.meta.get("answer_type")),
        "Float numbers in the answer should be formatted as three-digit floating-point numbers.",
    )
    return (
        f"## Question\n {sample.question}\n## Answer Instruction Please provide an answer to the question outlined above. "
        "Your response should adhere to the following JSON format, which includes two keys: 'solution' and 'short answer'. "
        "The 'solution' key can contain detailed steps needed to solve the question, and the 'short answer' key should "
        f"provide a concise response. {told}\n\nExample of expected JSON response format:\n\n"
        '{\n    "solution": "[Detailed step-by-step explanation]",\n    "short answer": "[Concise Answer]"\n}'
    )


Entry(
    "dynamath",
    "one problem in ten variants of its numbers",
    Card("math", "5,010 questions", "https://arxiv.org/abs/2411.00836", "Apache-2.0"),
    file={"DynaMath": "", "DynaMath_noprompt": "vlmevalkit-noprompt"},
    hub=[f"DynaMath/DynaMath_Sample:sample_variant{number}" for number in range(1, 11)],
    also_hub=["lscpku/DynaMath_Sample"],
    change_row=lambda row: {
        "id": None,
        "qid": row["id"],
        "varid": int(row["part"].removeprefix("sample_variant")),
        "answer": row["ground_truth"],
    },
    prompt=ask_with(ask_dynamath),
    scorer="dynamath",
    kits={"vlmevalkit-noprompt": Kit(prompt=ask(lead="## Question\n "), scorer="dynamath")},
    aggregate="dynamath",
    cluster=("qid",),
    metric="worst case: a problem counts if all its variants are right; and the mean",
).register()


# -- Scores

_OPTIONS = "ABCDE"
_PI = 3.141592653589793


@official_judged("dynamath", version="1", is_settled=False)
def score_dynamath(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's DynaMath: the key ``short answer`` of a JSON object, else a judge.

    A number must be within 0.001. As published, a text is right if it is contained in the answer.
    """
    kind = str(sample.meta.get("answer_type"))
    text = _cut_object(reply.text)
    is_read, answer = _read_short_answer(text, kind)
    if not is_read:
        is_read, answer = parse_dynamath(text, kind)
    said: str | None = None
    if not is_read:
        said = yield from extract_answer(reply, sample, "short-answer", form=_FORMS.get(kind, _FORMS[""]))
        if said is not None:
            is_read, answer = parse_dynamath(said, kind)
    hit = any(_is_dynamath_right(answer, gold, kind, text, is_read=is_read) for gold in sample.golds)
    read = str(answer) if is_read and isinstance(answer, str | float) else None
    score = score_answer(reply, sample, hit=hit, read=read, route="dynamath", judge=said)
    return replace(score, detail={**score.detail, "short answer": answer}) if is_read else score


_FORMS = {
    "float": "a number with three decimal places",
    "multiple choice": "the letter of an option, such as A",
    "": "a short answer on one line, numbers with three decimal places",
}


def _cut_object(text: str) -> str:
    """What lies between the first and the last brace, without backslashes."""
    start, end = text.find("{"), text.rfind("}")
    return (text[start : end + 1] if 0 <= start < end else text).replace("\\", "")


def _read_short_answer(text: str, kind: str) -> tuple[bool, Any]:
    found = parse_json(text, strict=False)
    answer = found.get("short answer") if isinstance(found, dict) else None
    if answer is None or (kind in ("float", "multiple choice") and not isinstance(answer, str)):
        return False, None
    return parse_dynamath(answer, kind) if isinstance(answer, str) else (True, answer)


def parse_dynamath(text: str, kind: str) -> tuple[bool, str | float | None]:
    """Whether a short answer can be read, and what it says.

    >>> parse_dynamath("2π rad", "float"), parse_dynamath("(b)", "multiple choice")
    ((True, 6.283185307179586), (True, 'B'))
    """
    if kind == "float":
        try:
            number, is_pi, _ = text.split(" ")[0].partition("π") if not text.isdigit() else (text, "", "")
            return True, float(number) * _PI if is_pi else float(number)
        except ValueError:
            return False, None
    if kind == "multiple choice":
        if len(text) == 1:
            return True, text.upper()
        letters = [letter for letter in _OPTIONS if letter in text.upper()]
        return (True, letters[0]) if len(letters) == 1 else (False, None)
    return True, text


def _is_dynamath_right(answer: Any, gold: str, kind: str, text: str, *, is_read: bool) -> bool:
    if kind == "float":
        true = read_as("float", gold)
        return is_read and true is not None and abs(float(answer) - true) <= 0.001
    if kind == "multiple choice":
        return answer == gold if is_read else gold in text[:3].upper()
    return isinstance(answer, str) and answer.lower() in gold.lower()


# -- The official number: the average, and the worst of a question's variants


def _list_dynamath(row: ScoredRow) -> Iterable[str]:
    return (f"Subject-{get_column(row, 'subject')}", f"Level-{get_column(row, 'knowledge_level')}")


def _count_variants(rows: Sequence[ScoredRow]) -> Counts:
    found = count_by(_list_dynamath)(rows)
    firsts = [row for row in rows if get_column(row, "varid").removesuffix(".0") == "1"]
    if not firsts:
        raise CannotAggregate(
            f"DynaMath: question {get_column(rows[0], 'qid')!r} has no variant 1",
            hint="--limit must not cut a question in half",
        )
    for first in firsts if all(row.is_scored for row in rows) else ():
        for group in (ALL, *_list_dynamath(first)):
            found[group, "questions"] = found.get((group, "questions"), 0) + 1
            found[group, "worst"] = found.get((group, "worst"), 0) + min(row.value for row in rows)
    return found


@declare_aggregate(
    "dynamath",
    _count_variants,
    unit=lambda row: get_column(row, "qid", "question_id"),
    headline="worst case",
    sees_unscored=True,
    version="2",
)
def _combine_dynamath(total: Counts) -> MetricTable:
    """Accuracy over all variants, and of questions with every variant right."""
    table: dict[str, dict[str, float | None]] = {}
    for group, one in average(total).items():
        worst = divide(total.get((group, "worst"), 0), total.get((group, "questions"), 0))
        table[group] = {"average": one["accuracy"], "worst case": worst}
    return table


# A short answer in the form that the question asks for.
judge_prompt(
    "short-answer",
    """\
Write the answer that this reply gives, as {form}, on a single line and with nothing else.

Question: {question}
Reply: {answer}
Answer:""",
)
