"""MathVision (Wang et al., 2024): problems of competitions.

As VLMEvalKit (ms-vlmeval 0.0.20) and lmms-eval (0.7.3) score it: a letter, or an expression of the same value.
Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from eyechart.catalogue.entry import Entry, Kit
from eyechart.prompt.published import ask_with, ask_with_choices
from eyechart.registry import judged_scorer
from eyechart.score.aggregates import declare_means, get_column
from eyechart.score.choice_rules import RULES as LETTER_RULES
from eyechart.score.choice_rules import infer
from eyechart.score.expressions import evaluate_latex, evaluate_old_latex, evaluate_python
from eyechart.score.lmms import lmms_scorer
from eyechart.score.math import RULES, fetch_or_extract, list_options, read_as
from eyechart.score.reading import score_official
from eyechart.types import Card, Judging, Reply, Sample, Score


def ask_mathvision(sample: Sample) -> str:
    """lmms-eval's prompt of MathVision."""
    text = f'Please solve the problem step by step and put your answer in one "\\boxed{{}}".{sample.question}'
    if not sample.choices:
        return text
    listed = "\n".join(f"{letter}. {choice}" for letter, choice in sample.choices.items())
    return f"{text}\nChoices: {listed}\nAnswer the question with the option's letter from the given choices directly."


for _name, _file, _split, _size in (
    ("mathvision", "MathVision", "test", "3,040"),
    ("mathvision-mini", "MathVision_MINI", "testmini", "304"),
):
    Entry(
        _name,
        "competition problems of all school years",
        Card("math", f"{_size} questions", "https://arxiv.org/abs/2402.14804", "MIT"),
        aliases=(f"mathvision_{_split}",),
        file=_file,
        hub=f"MathLLMs/MathVision:{_split}",
        change_row=lambda row: {"index": row["id"], "category": row["subject"]},
        prompt=ask_with(ask_with_choices),
        scorer="mathvision",
        lmms=Kit(max_tokens=16384, prompt=ask_with(ask_mathvision), scorer="mathvision-lmms"),
        group_by=("category",),
        aggregate="mathvision",
        note="Needs a judge for replies that are not the answer alone. As published, the free answer `a` equals any "
        "number. lmms-eval takes the box and needs no judge.",
    ).register()


# -- VLMEvalKit


@judged_scorer("mathvision", version="1", parity="official", rules=LETTER_RULES[RULES].source)
def score_mathvision(reply: Reply, sample: Sample) -> Judging[Score]:
    """VLMEvalKit's MathVision: a letter, or an expression of the same value; a judge extracts it.

    As published, a free answer ``A`` equals any number: see `is_equal`.
    """
    fetched = prefetch_mathvision(reply.text, sample)
    return (yield from fetch_or_extract(reply, sample, "mathvision", fetched, is_mathvision_right))


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
    if (value := evaluate_latex(true)) is not None:
        return _is_close(value, evaluate_latex(said, {"a": value}))
    value = evaluate_latex(said)
    return value is not None and _is_close(value, evaluate_latex(true, {"b": value}))


_TOLERANCE = 1e-6


def _is_close(one: Any, other: Any) -> bool:
    with suppress(OverflowError):
        return other is not None and bool(abs(one - other) < _TOLERANCE)
    return False


# -- lmms-eval: the answer is cut out of the reply, tidied, and compared at two decimals

_PHRASES = tuple(
    f"{article} {phrase}"
    for phrase in ("final answer is", "answer is", "correct answer is", "answer should be")
    for article in ("the", "The")
)
_DROPPED = (  # one after the other, as published: units are dropped within words, too
    " ", "\\,", "\n", "\\text", "\\mbox", "\\left", "\\right", "^{\\circ}", "^\\circ", "{m}^3", "m^3",
    "{units}", "units", "{km}", "km", "\\!", "\\$", "$", "\\%",
)  # fmt: skip
_BARE_ROOT = re.compile(r"\\sqrt([^{])")


@lmms_scorer("mathvision-lmms", version="2")
def score_mathvision_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's MathVision: the box, or what follows "the answer is", equals the letter or its option."""
    read = read_mathvision(reply.text)
    options = list_options(sample)
    golds = [text for gold in sample.golds for text in (gold, options.get(gold, ""))]
    hit = any(is_equal_lmms(gold, read) for gold in golds)
    return score_official(reply, sample, value=float(hit), read=read or None, route="mathvision-lmms")


def read_mathvision(reply: str) -> str:
    r"""The answer in a reply, in the form in which it is compared.

    >>> read_mathvision("The answer is (B)."), read_mathvision(r"so \boxed{x = 5\text{cm}}")
    ('b', '5{cm}')
    """
    text = reply.strip()
    for letter in "ABCDE":
        is_last = text.endswith((f" {letter}.", f" ({letter})."))
        if is_last or text.startswith((f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n")):
            text = letter
    number = text.rpartition("is ")[2].rstrip(".")
    if read_as("float", number) is not None:
        text = number
    if "oxed{" not in text:
        for phrase in _PHRASES:
            _, is_there, after = text.rpartition(phrase)
            text = after.strip()
            if is_there:
                text = text.split("\n")[0].split(". ")[0]
    elif text.count("oxed{") > 1:
        text = "oxed{" + text.rpartition("oxed{")[2]
    answer = tidy_answer(text)
    for pattern in (r"\(([a-e])\)", r"\{([a-e])\}"):
        answer = re.sub(pattern, r"\1", answer)
    return answer.rstrip(".").lstrip(":").strip()


def tidy_answer(text: str) -> str:
    r"""The content of a box, or the whole text, after the last equals sign and without marks and units.

    >>> tidy_answer(r"\boxed{x = 0.5}"), tidy_answer("3 km"), tidy_answer("1/3")
    ('\\frac{1}{2}', '3', '\\frac{1}{3}')
    """
    text = text.lower().replace("{}", "")
    start, end = text.find("oxed{") + len("oxed{"), text.rfind("}")
    if len("oxed{") <= start <= end:
        text = text[start:end]
    closing, opening = text.find("}"), text.find("{")
    if closing >= 0 and (opening < 0 or closing < opening):
        text = text[:closing]
    text = text.rpartition("=")[2].rpartition("\\approx")[2]
    text = text.replace(" ", "").replace("\\,", "").replace("∞", "\\infty").replace("+\\infty", "\\infty")
    text = text.replace("\\\\", "\\").replace("bmatrix", "pmatrix")
    for mark in _DROPPED:
        text = text.replace(mark, "")
    return _write_fractions(text.replace("\\\\", "\\"))


def _write_fractions(text: str) -> str:
    r"""Fractions and roots in one notation: ``\frac{1}{2}``, ``\sqrt{2}``, ``0.5`` for ``.5``."""
    text = text.replace("tfrac", "frac").replace("dfrac", "frac").replace("{.", "{0.")
    if text.startswith("."):
        text = f"0{text}"
    if "sqrt" in text:
        text = _brace_fractions(_BARE_ROOT.sub(r"\\sqrt{\1}", text))
    if text == "0.5":
        return "\\frac{1}{2}"
    above, slash, below = text.partition("/")
    with suppress(ValueError):
        if slash and f"{int(above)}/{int(below)}" == text:
            return f"\\frac{{{int(above)}}}{{{int(below)}}}"
    return text


def _brace_fractions(text: str) -> str:
    r"""``\frac12`` as ``\frac{1}{2}``; the text as it is if a fraction has fewer than two signs."""
    first, *rest = text.split("\\frac")
    written = [first]
    for part in rest:
        if part.startswith("{"):
            written.append(part)
        elif len(part) < 2:
            return text
        else:
            below = part[1:] if part[1] == "{" else f"{{{part[1]}}}{part[2:]}"
            written.append(f"{{{part[0]}}}{below}")
    return "\\frac".join(written)


def is_equal_lmms(one: str, other: str) -> bool:
    r"""Whether two answers are the same text, or have the same value at two decimals; lists item by item.

    >>> is_equal_lmms(r"\frac{1}{3}", "0.333"), is_equal_lmms("(1/2, 3)", "(0.5,3)"), is_equal_lmms("", "")
    (True, True, False)
    """
    texts = one.lower(), other.lower()
    if not all(text.strip(" ") for text in texts):
        return False
    if texts[0].strip() == texts[1].strip():
        return True
    said, true = map(_evaluate_items, texts)
    value = _round(said)
    return said == true or (value is not None and value == _round(true))


def _evaluate_items(text: str) -> str:
    """A list in brackets with the values of its items; the text as it is if an item has none."""
    items = text[1:-1].split(",")
    if len(items) < 2 or text[0] + text[-1] not in ("()", "[]"):
        return text
    found = []
    for item in items:
        value = item if "infty" in item or item in ("a", "-a") else _round(item)
        if value is None:
            return text
        found.append(str(value))
    return f"{text[0]}{','.join(found)}{text[-1]}"


def _round(text: str) -> float | None:
    value = evaluate_old_latex(text)
    return None if value is None or isinstance(value, complex) else round(value, 2)


declare_means("mathvision", "accuracy by subject", lambda row: (get_column(row, "category", "subject"),))
