"""MathVista, MathVision, MathVerse and DynaMath: an answer is extracted and compared.

MathVista: Lu et al., 2023 (https://arxiv.org/abs/2310.02255). MathVision: Wang et al., 2024
(https://arxiv.org/abs/2402.14804). MathVerse: Zhang et al., 2024 (https://arxiv.org/abs/2403.14624).
DynaMath: Zou et al., 2024 (https://arxiv.org/abs/2411.00836). As VLMEvalKit scores them (ms-vlmeval 0.0.20);
math_lmms.py has lmms-eval's rules. Parity: tests/catalogue/vectors.

Without a judge, a reply that the rules cannot read is unparsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any

from eyechart.registry import judged_scorer
from eyechart.score.choice_rules import RULES as LETTER_RULES
from eyechart.score.choice_rules import infer
from eyechart.score.expressions import evaluate_latex, evaluate_python
from eyechart.score.judges import MAX_JSON_CHARS, ask_judge, or_unscored
from eyechart.score.reading import score_official
from eyechart.score.text import parse_literal
from eyechart.types import Judging, NoJudge, Reply, Sample, Score

RULES = "vlmevalkit-2026-06"  # of reading a letter, in ms-vlmeval 0.0.20
_TOLERANCE = 1e-6


def list_options(sample: Sample) -> dict[str, str]:
    """The options by letter: those of the sample, or those in its column ``choices``, a list."""
    if sample.choices:
        return dict(sample.choices)
    written = sample.meta.get("choices")
    listed = parse_literal(written) if isinstance(written, str) else written
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return {}
    return dict(zip(ascii_uppercase, map(str, listed), strict=False))


def extract_answer(reply: Reply, sample: Sample, stage: str, **values: str) -> Judging[str | None]:
    """What the judge takes for the answer; None without golds or a judge, and if it gives no reply."""
    if not sample.golds:
        return None
    try:
        found, _ = yield from ask_judge(reply, sample, stage, str, values=values)
    except NoJudge:
        return None
    return found


def score_answer(
    reply: Reply, sample: Sample, *, hit: bool, read: str | None, route: str, judge: str | None
) -> Score:
    """A score that says whether a judge extracted the answer, and what it said."""
    route = route if judge is None else f"{route}:judge"
    score = score_official(reply, sample, value=float(hit), read=read or None, route=route)
    return replace(score, detail={"judge": judge}) if judge is not None else score


# -- MathVista


@judged_scorer("mathvista", version="1", parity="official", rules=LETTER_RULES[RULES].source)
def score_mathvista(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's MathVista: a letter, or a whole number or number equal to the answer; a judge extracts it.

    As published, an answer that is a list or a text is never right, and neither is ``14.0`` for 14.
    """
    fetched = prefetch_mathvista(reply.text, sample)
    return (yield from _fetch_or_extract(reply, sample, "mathvista", fetched, is_mathvista_right))


def _fetch_or_extract(
    reply: Reply, sample: Sample, route: str, fetched: str | None, is_right: Callable[[str, Sample], bool]
) -> Judging[Score]:
    """The verdict on what the rules have read, else on what a judge extracts."""

    def steps() -> Judging[Score]:
        said = None if fetched else (yield from extract_answer(reply, sample, "math-extract"))
        read = fetched or said
        hit = read is not None and is_right(read, sample)
        return score_answer(reply, sample, hit=hit, read=read, route=route, judge=said)

    return (yield from or_unscored(steps(), route))


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


def read_as(kind: object, text: str) -> float | None:
    """The number that a text is, by the kind of answer: integer or float; None otherwise."""
    try:
        if kind == "integer":
            return int(text)
        return float(text) if kind == "float" else None
    except ValueError:
        return None


def _find_option(sample: Sample) -> str | None:
    """The letter of the right option: the column ``answer_option``, a gold, or the option with its text."""
    told, options = sample.meta.get("answer_option"), list_options(sample)
    if told is not None and told == told:
        return str(told)
    letters = [letter for letter, text in options.items() if letter in sample.golds or text in sample.golds]
    return letters[0] if letters else None


# -- MathVision


@judged_scorer("mathvision", version="1", parity="official", rules=LETTER_RULES[RULES].source)
def score_mathvision(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's MathVision: a letter, or an expression of the same value; a judge extracts it.

    As published, a free answer ``A`` equals any number: see `is_equal`.
    """
    fetched = prefetch_mathvision(reply.text, sample)
    return (yield from _fetch_or_extract(reply, sample, "mathvision", fetched, is_mathvision_right))


def prefetch_mathvision(reply: str, sample: Sample) -> str | None:
    """The answer that the rules read: a letter, or a whole reply that is right; otherwise None."""
    if options := list_options(sample):
        return infer(reply, options, RULES)
    return reply if reply and is_mathvision_right(reply, sample) else None


def is_mathvision_right(result: str, sample: Sample) -> bool:
    """Whether an extracted answer is right."""
    options = list_options(sample)
    read = infer(result, options, RULES) if options else result
    return read is not None and any(is_equal(read, gold) for gold in sample.golds)


def is_equal(answer: str, gold: str) -> bool:
    r"""Whether two answers are the same text, or expressions whose values differ by less than a millionth.

    The official code evaluates both as Python and then as LaTeX, and its own variables are visible there: as
    published, the answer ``a`` equals any gold that has a value, and the gold ``b`` any answer that has one.
    Roots and multiples of pi have no value and are compared as texts.

    >>> is_equal("0.5", r"\frac{1}{2}"), is_equal("2^3", "8"), is_equal(r"\sqrt{4}", "2"), is_equal("A", "7")
    (True, True, False, True)
    """
    said, true = str(answer).lower().strip(), str(gold).lower().strip()
    if said == true:
        return True
    value = evaluate_python(true)
    if value is not None and _is_close(value, evaluate_python(said, {"a": value})):
        return True
    value = evaluate_latex(true)
    if value is not None:
        return _is_close(value, evaluate_latex(said, {"a": value}))
    value = evaluate_latex(said)
    return value is not None and _is_close(value, evaluate_latex(true, {"b": value}))


def _is_close(one: Any, other: Any) -> bool:
    if other is None:
        return False
    try:
        return bool(abs(one - other) < _TOLERANCE)
    except OverflowError:
        return False


# -- MathVerse


@judged_scorer("mathverse", version="1", parity="official")
def score_mathverse(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's MathVerse: a judge extracts the answer, and decides unless it is the answer's own text.

    The judge must write 0 or 1; it is asked up to five times. As published, the reply then counts as wrong.
    """
    return (yield from or_unscored(_judge_mathverse(reply, sample), "mathverse"))


def _judge_mathverse(reply: Reply, sample: Sample) -> Judging[Score]:
    extracted = yield from extract_answer(reply, sample, "mathverse-extract")
    text = reply.text if extracted is None else extracted
    hit = any(text.strip() == gold.strip() for gold in sample.golds if gold.strip())
    said: str | None = None
    if extracted is not None and not hit:
        question = str(sample.meta.get("question_for_eval") or sample.question)
        verdict, said = yield from ask_judge(
            reply, sample, "mathverse-score", read_bit, values={"question": question, "answer": extracted}
        )
        hit = bool(verdict)
    read = text if hit or extracted is not None else None
    return score_answer(reply, sample, hit=hit, read=read, route="mathverse", judge=said)


def read_bit(said: str) -> int | None:
    """0 or 1, if the judge wrote nothing else.

    >>> read_bit(" 1"), read_bit("Judgement: 1")
    (1, None)
    """
    return int(said) if said.strip() in ("0", "1") else None


# -- DynaMath

_OPTIONS = "ABCDE"
_PI = 3.141592653589793


@judged_scorer("dynamath", version="1", parity="official")
def score_dynamath(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's DynaMath: the key ``short answer`` of a JSON object, else a judge.

    A number must be within 0.001. As published, a text is right if it is contained in the answer.
    """
    return (yield from or_unscored(_judge_dynamath(reply, sample), "dynamath"))


def _judge_dynamath(reply: Reply, sample: Sample) -> Judging[Score]:
    kind = str(sample.meta.get("answer_type"))
    text = _cut_object(reply.text)
    is_read, answer = _read_short_answer(text, kind)
    said: str | None = None
    if not is_read:
        is_read, answer = parse_dynamath(text, kind)
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
    if len(text) > MAX_JSON_CHARS:
        return False, None
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False, None
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
