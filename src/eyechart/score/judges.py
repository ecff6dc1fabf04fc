"""Benchmarks that a judge scores by a contract of their own: CharXiv, MM-Vet, LLaVABench, SimpleVQA.

Each scorer asks the judge, reads its reply as the official code does (ms-vlmeval 0.0.20, or lmms-eval 0.7.3
where the name ends in ``-lmms``), and asks again as often as that does while the reply cannot be read, each
time at a temperature half a degree higher. Then, as published, the row counts 0; the score says why. A judge
call that fails leaves the row unscored. The wording is ours (judge_prompts.py). Parity of reading:
tests/catalogue/vectors.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from eyechart.errors import API_FAILURE
from eyechart.registry import judged_scorer
from eyechart.score.judged import UNREADABLE
from eyechart.score.reading import check_finish_reason, score_official, to_outcome
from eyechart.score.text import yes_no
from eyechart.score.thinking import cut_reasoning
from eyechart.types import JudgeCall, JudgeFailed, Judging, NoJudge, Reply, Sample, Score

T = TypeVar("T")
TRIES = 5
WARMER = 0.5  # added to the judge's temperature with every try
MAX_JSON_CHARS = 100_000


def get_fact(sample: Sample, *names: str) -> str:
    """The first of these columns that the sample has; columns that give the answer away are withheld."""
    for name in names:
        for facts in (sample.meta, sample.withheld):
            value = facts.get(name)
            if value is not None and value == value:
                return str(value)
    return ""


def ask_judge(
    reply: Reply, sample: Sample, stage: str, read: Callable[[str], T | None], *, tries: int = TRIES,
    warmer: float = WARMER, prompt: str = "", values: Mapping[str, str] | None = None,
) -> Judging[tuple[T | None, str]]:  # fmt: skip
    """What is read from the judge's reply, and the reply; it is asked again while nothing can be read."""
    shown = {"question": sample.question, "gold": " | ".join(sample.golds), "answer": reply.text}
    said = ""
    for number in range(tries):
        said = yield JudgeCall(
            stage=stage, values={**shown, **(values or {})}, prompt=prompt, more_temperature=number * warmer
        )
        if API_FAILURE not in said and (found := read(said)) is not None:
            return found, said
    return None, said


def or_unscored(judging: Judging[Score], route: str) -> Judging[Score]:
    """The score; unscored if a judge call fails. `NoJudge` is for the scorer to answer."""
    try:
        return (yield from judging)
    except NoJudge:
        raise
    except JudgeFailed as failure:
        detail = {"fail_reason": "judge_failed", "judge": failure.message}
        return Score(outcome="unscored", value=0.0, route=f"{route}:judge", detail=detail)


def _settle(
    reply: Reply, sample: Sample, route: str, asking: Judging[Score], *, judges_all: bool = False
) -> Judging[Score]:
    """The judge's score; without golds, without a text to judge or without a judge, the reason for none.

    With `judges_all`, replies without a text and truncated ones are judged, too; what the judge says of them
    is in the detail of their score, and they have no credit.
    """
    outcome = check_finish_reason(reply, is_whole=False) or (None if reply.text.strip() else "unparsed")
    if not sample.golds:
        return Score(outcome="unscored", value=0.0, route=route)
    if outcome and not judges_all:
        return Score(outcome=outcome, value=0.0, route=route)
    try:
        score = yield from or_unscored(asking, route)
    except NoJudge:
        return Score(outcome="unparsed", value=0.0, route=route, detail={"fail_reason": "no_judge"})
    return replace(score, outcome=outcome, value=0.0) if outcome and score.outcome != "unscored" else score


def _give(value: float | None, said: str, route: str, *, read: str | None, **detail: Any) -> Score:
    """A score by the judge's value from 0 to 1; None or NaN: it could not be read, which counts 0."""
    if value is None or value != value:
        told = {"fail_reason": UNREADABLE, "judge": said, **detail}
        return Score(outcome="unparsed", value=0.0, route=f"{route}:judge", detail=told)
    return Score(
        outcome=to_outcome(value),
        value=value,
        read=read,
        route=f"{route}:judge",
        detail={"judge": said, **detail},
    )


def _read_share(text: object) -> float | None:
    """A number from 0 to 1, or NaN, which is not asked for again."""
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return None if value < 0 or value > 1 else value


# -- CharXiv (Wang et al., 2024, https://arxiv.org/abs/2406.18521): JSON with the answer and a score

_CHARXIV_TRIES = 10


@judged_scorer("charxiv", version="1", parity="official", needs_judge=True)
def score_charxiv(reply: Reply, sample: Sample) -> Judging[Score]:
    """CharXiv: the judge gets the row's own `grading_query` and returns JSON with a score.

    As published, bad JSON is asked for again up to ten times, and an object without the keys is not.
    """
    return (yield from _settle(reply, sample, "charxiv", _ask_charxiv(reply, sample)))


def _ask_charxiv(reply: Reply, sample: Sample) -> Judging[Score]:
    found, said = yield from ask_judge(
        reply, sample, "charxiv", read_charxiv, tries=_CHARXIV_TRIES, warmer=0,
        prompt=get_fact(sample, "grading_query"), values={"PREDICTION": reply.text},
    )  # fmt: skip
    value = _read_share(found.get("score")) if found else None
    read = str(found.get("extract_answer")) if found else None
    return _give(value, said, "charxiv", read=read, judged=found)


def read_charxiv(said: str) -> dict[str, Any] | None:
    """The judge's object; empty if it lacks a key; None if it is not JSON, so that the judge is asked again.

    >>> read_charxiv('{"extract_answer": "5", "score": 1}'), read_charxiv('{"score": 1}'), read_charxiv("1")
    ({'extract_answer': '5', 'score': 1}, {}, {})
    """
    try:
        found = json.loads(said) if len(said) <= MAX_JSON_CHARS else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and {"score", "extract_answer"} <= found.keys() else {}


# -- MM-Vet: a number from 0 to 1


@judged_scorer("mmvet", version="1", parity="official", needs_judge=True)
def score_mmvet(reply: Reply, sample: Sample) -> Judging[Score]:
    """MM-Vet: the judge's whole reply is a number from 0 to 1. Depends on the judge's version."""
    return (yield from _settle(reply, sample, "mmvet", _ask_mmvet(reply, sample)))


def _ask_mmvet(reply: Reply, sample: Sample) -> Judging[Score]:
    gold = (sample.golds[0] if sample.golds else "").replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    found, said = yield from ask_judge(reply, sample, "mmvet", _read_share, values={"gold": gold})
    return _give(found, said, "mmvet", read=reply.text.strip())


# -- LLaVABench: two grades from 1 to 10 on the first line


@judged_scorer("llavabench", version="2", parity="official", needs_judge=True)
def score_llavabench(reply: Reply, sample: Sample) -> Judging[Score]:
    """LLaVABench: the judge grades the reference answer and the reply; `llavabench` aggregates their ratio.

    The score of a row is the reply's grade / 10. As published, a line that is not two numbers gives both
    grades -1, which count in the means, and an empty reply is graded, too.
    """
    asking = _ask_grades(reply, sample, read_grades)
    return (yield from _settle(reply, sample, "llavabench", asking, judges_all=True))


@judged_scorer("llavabench-lmms", version="2", parity="official", needs_judge=True, cut=cut_reasoning)
def score_llavabench_lmms(reply: Reply, sample: Sample) -> Judging[Score]:
    """LLaVABench in lmms-eval: as `llavabench`, with the first two numbers of the judge's first line."""
    asking = _ask_grades(reply, sample, read_grades_lmms)
    return (yield from _settle(reply, sample, "llavabench", asking, judges_all=True))


def _ask_grades(
    reply: Reply, sample: Sample, read: Callable[[str], tuple[float, float] | None]
) -> Judging[Score]:
    values = {
        "caption": get_fact(sample, "caption"),
        "reference": get_fact(sample, "gpt4_ans") or (sample.golds[0] if sample.golds else ""),
    }
    found, said = yield from ask_judge(reply, sample, "llavabench", read, tries=1, values=values)
    reference, grade = found or (-1.0, -1.0)
    value = min(1.0, max(0.0, grade / 10)) if grade >= 0 else None
    grades = {"reference grade": reference, "grade": grade}
    return _give(value, said, "llavabench", read=reply.text.strip(), **grades)


def read_grades(said: str) -> tuple[float, float] | None:
    """Two numbers on the first line, with exactly one space or comma between them.

    >>> read_grades("8 9"), read_grades("8, 9"), read_grades("8 of 10")
    ((8.0, 9.0), None, None)
    """
    parts = said.split("\n")[0].replace(",", " ").split(" ")
    try:
        first, second = (float(part) for part in parts)
    except ValueError:
        return None
    return (first, second) if math.isfinite(first) and math.isfinite(second) else None


_GRADE = re.compile(r"-?\d+(?:\.\d+)?")


def read_grades_lmms(said: str) -> tuple[float, float] | None:
    """The first two numbers of the first line.

    >>> read_grades_lmms("Scores: 8, 9.5"), read_grades_lmms("8")
    ((8.0, 9.5), None)
    """
    numbers = _GRADE.findall(said.strip().split("\n")[0])[:2]
    grades = [float(number) for number in numbers if len(number) < 300]
    return (grades[0], grades[1]) if len(grades) == 2 else None


# -- SimpleVQA: right, wrong or not attempted

_VERDICTS = {"正确": "correct", "错误": "incorrect", "未尝试": "not attempted"}


@judged_scorer("simplevqa", version="1", parity="official", needs_judge=True)
def score_simplevqa(reply: Reply, sample: Sample) -> Judging[Score]:
    """SimpleVQA: the judge's JSON says right, wrong or not attempted; `simplevqa` aggregates F1."""
    return (yield from _settle(reply, sample, "simplevqa", _ask_simplevqa(reply, sample)))


def _ask_simplevqa(reply: Reply, sample: Sample) -> Judging[Score]:
    found, said = yield from ask_judge(reply, sample, "simplevqa", read_first_value, tries=1)
    judged = name_verdict(found)
    value = None if judged is None else float(judged == "correct")
    return _give(value, said, "simplevqa", read=reply.text.strip(), judged=judged or "unreadable", told=found)


def read_first_value(said: str) -> Any:
    """The first value of a JSON object; None without an object, and an empty object without a value.

    The object may be fenced and may lack its last brace.
    """
    text = said.replace("```json", "").replace("```python", "").replace("```", "").strip()
    if not text or len(text) > MAX_JSON_CHARS:
        return None
    try:
        found = json.loads(text if text.endswith("}") else text + "}")
    except (ValueError, RecursionError):
        return None
    return next(iter(found.values()), {}) if isinstance(found, dict) else None


def name_verdict(told: Any) -> str | None:
    """What a value says; None if it says nothing.

    As published, a text of more than three characters is no attempt.

    >>> name_verdict("**正确**"), name_verdict("模型没有回答"), name_verdict("对")
    ('correct', 'not attempted', None)
    """
    is_nested = isinstance(told, dict)
    text = told.get("conclusion") if isinstance(told, dict) else told
    if not isinstance(text, str):
        return None
    text = text.replace("**", "")
    if not is_nested and len(text) > 3 and text not in _VERDICTS:
        return "not attempted"
    return _VERDICTS.get(text)


# -- LogicVista: the letters of the chosen options


@judged_scorer("logicvista", version="2", parity="official")
def score_logicvista(reply: Reply, sample: Sample) -> Judging[Score]:
    """LogicVista: the judge names letters; they must be those of the answer, repeated ones as often.

    Without a judge, a reply that is nothing but capital letters is read.
    """
    return (yield from _settle(reply, sample, "logicvista", _ask_logicvista(reply, sample)))


def _ask_logicvista(reply: Reply, sample: Sample) -> Judging[Score]:
    try:
        letters, said = yield from ask_judge(reply, sample, "logicvista", read_capitals)
    except NoJudge:
        letters, said = read_capitals(reply.text.strip()), ""
        hit = letters is not None and _is_same_letters(letters, sample)
        return score_official(reply, sample, value=float(hit), read=letters, route="logicvista")
    value = None if letters is None else float(_is_same_letters(letters, sample))
    return _give(value, said, "logicvista", read=letters)


def read_capitals(text: str) -> str | None:
    """A text of capital letters only.

    >>> read_capitals("BD"), read_capitals("B, D")
    ('BD', None)
    """
    return text if text.isupper() and text.isalpha() else None


def _is_same_letters(letters: str, sample: Sample) -> bool:
    said = "".join(sorted(letters.lower()))  # as published, letters of a gold without commas are not sorted
    return any(said == "".join(sorted(gold.lower().split(", "))) for gold in sample.golds)


# -- HallusionBench in lmms-eval, as its authors score it


@judged_scorer("hallusion-lmms", version="2", parity="official", needs_judge=True, cut=cut_reasoning)
def score_hallusion(reply: Reply, sample: Sample) -> Judging[Score]:
    """HallusionBench: the judge says correct, incorrect or unclear.

    As published, unclear is right where the question has no figure (category VS, figure 0).
    """
    return (yield from _settle(reply, sample, "hallusion-lmms", _ask_hallusion(reply, sample)))


def _ask_hallusion(reply: Reply, sample: Sample) -> Judging[Score]:
    gold = get_fact(sample, "gt_answer_details") or " | ".join(sample.golds)
    said = yield JudgeCall(
        stage="hallusion", values={"question": sample.question, "gold": gold, "answer": reply.text}
    )
    judged = read_agreement(said)
    is_without_figure = get_fact(sample, "category") == "VS" and get_fact(sample, "figure_id") == "0"
    value = float(judged == "correct" or (judged == "unclear" and is_without_figure))
    return _give(value, said, "hallusion-lmms", read=reply.text.strip(), judged=judged)


def read_agreement(said: str) -> str:
    """``incorrect``, ``correct`` or ``unclear``, whichever occurs first in this order.

    >>> read_agreement("It is Incorrect."), read_agreement("partially correct"), read_agreement("?")
    ('incorrect', 'correct', 'unclear')
    """
    lower = said.lower()
    return next((word for word in ("incorrect", "correct") if word in lower), "unclear")


# -- Yes or no in VLMEvalKit, with a judge for the rest


@judged_scorer("yes-no-judged-vlmevalkit", version="1", parity="official")
def score_yes_no_judged(reply: Reply, sample: Sample) -> Judging[Score]:
    """``yes-no-vlmevalkit``, and a judge where the rules read neither; its reply is read the same way."""
    return (yield from or_unscored(_judge_yes_no(reply, sample), "yes-no-vlmevalkit"))


def _judge_yes_no(reply: Reply, sample: Sample) -> Judging[Score]:
    read, route = yes_no(reply.text), "yes-no-vlmevalkit"
    if read is None and sample.golds and reply.text.strip():
        try:
            read, _ = yield from ask_judge(reply, sample, "yes-no", yes_no)
            route += ":judge"
        except NoJudge:
            pass
    hit = read is not None and read in sample.golds
    return score_official(reply, sample, value=float(hit), read=read, route=route)
