r"""MathVista and MathVision as lmms-eval 0.7.3 scores them, with its own extraction and comparison.

MathVista's code there is the authors'. Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from string import ascii_uppercase

from eyechart.registry import judged_scorer, scorer
from eyechart.score.expressions import evaluate_old_latex
from eyechart.score.judges import or_unscored
from eyechart.score.math import extract_answer, list_options, read_as, score_answer
from eyechart.score.reading import score_official
from eyechart.score.thinking import cut_reasoning
from eyechart.types import Judging, Reply, Sample, Score

# -- MathVista

_BRACKETED = re.compile(r"\(([a-zA-Z])\)")


@judged_scorer("mathvista-lmms", version="2", parity="official", cut=cut_reasoning)
def score_mathvista_lmms(reply: Reply, sample: Sample) -> Judging[Score]:
    """lmms-eval's MathVista: what was extracted is brought into the answer's form and compared as text.

    As published, without a letter the option with the nearest spelling is always taken.
    """
    return (yield from or_unscored(_judge_mathvista_lmms(reply, sample), "mathvista-lmms"))


def _judge_mathvista_lmms(reply: Reply, sample: Sample) -> Judging[Score]:
    said: str | None = None
    result = prefetch_mathvista_lmms(reply.text.strip(), sample)
    if result is None:
        result = said = yield from extract_answer(reply, sample, "math-extract")
    read = None if result is None else normalise_mathvista(
        result, list(list_options(sample).values()), str(sample.meta.get("question_type")),
        str(sample.meta.get("answer_type")), sample.meta.get("precision"),
    )  # fmt: skip
    hit = result is not None and any(str(read).strip() == gold.strip() for gold in _get_texts(sample))
    score = score_answer(reply, sample, hit=hit, read=read, route="mathvista-lmms", judge=said)
    return replace(score, detail={**score.detail, "extracted": result, "normalised": read})


def _get_texts(sample: Sample) -> tuple[str, ...]:
    """The golds as texts of options, where they are letters."""
    options = list_options(sample)
    is_choice = sample.meta.get("question_type") == "multi_choice"
    return tuple(options.get(gold, gold) if is_choice else gold for gold in sample.golds)


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
        letters = _BRACKETED.findall(stripped)
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


# -- MathVision: the answer is cut out of the reply, tidied, and compared at two decimals

_PHRASES = tuple(
    f"{article} {phrase}"
    for phrase in ("final answer is", "answer is", "correct answer is", "answer should be")
    for article in ("the", "The")
)
_DROPPED = (  # one after the other, as published: units are dropped within words, too
    " ", "\\,", "\n", "\\text", "\\mbox", "\\left", "\\right", "^{\\circ}", "^\\circ", "{m}^3", "m^3",
    "{units}", "units", "{km}", "km", "\\!", "\\$", "$", "\\%",
)  # fmt: skip
_BRACKETED_LETTER = re.compile(r"\(([a-e])\)")
_BRACED_LETTER = re.compile(r"\{([a-e])\}")
_BARE_ROOT = re.compile(r"\\sqrt([^{])")


@scorer("mathvision-lmms", version="2", parity="official", cut=cut_reasoning)
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
    for pattern in (_BRACKETED_LETTER, _BRACED_LETTER):
        answer = pattern.sub(r"\1", answer)
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
    return _write_fractions(_drop_marks(text))


def _drop_marks(text: str) -> str:
    text = text.replace(" ", "").replace("\\,", "").replace("∞", "\\infty").replace("+\\infty", "\\infty")
    text = text.replace("\\\\", "\\").replace("bmatrix", "pmatrix")
    for mark in _DROPPED:
        text = text.replace(mark, "")
    return text.replace("\\\\", "\\")


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
    try:
        if slash and f"{int(above)}/{int(below)}" == text:
            return f"\\frac{{{int(above)}}}{{{int(below)}}}"
    except ValueError:
        pass
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
    texts = [one.lower(), other.lower()]
    if not all(text.strip(" ") for text in texts):
        return False
    if texts[0].strip() == texts[1].strip():
        return True
    texts = [_evaluate_items(text) for text in texts]
    if texts[0] == texts[1]:
        return True
    values = [_round(text) for text in texts]
    return values[0] is not None and values[0] == values[1]


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
