"""Short answers in lmms-eval 0.7.3, which strips every reply first: VQA accuracy, and equality but for case.

text.py has VLMEvalKit's rules. The steps of VQA accuracy are those of text.py but for two: commas, question
marks and ``'s`` are dealt with first, and a full stop after a digit is deleted unless a digit follows.
Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import punctuation

from eyechart.score.reading import score_official
from eyechart.score.text import ARTICLES, CONTRACTIONS, NUMBER_WORDS, PUNCTUATION, get_answers, list_accepted
from eyechart.score.thinking import lmms_scorer
from eyechart.stats.intervals import add_in_order
from eyechart.types import Reply, Sample, Score

_PERIODS_DROPPED = 32  # as published: a regex flag is passed where the count belongs


def score_short(
    reply: Reply, sample: Sample, value: float, read: str | None, route: str, *, is_whole: bool = True
) -> Score:
    """The official score of a short answer; by default the reply is the answer and nothing else."""
    return score_official(reply, sample, value=value, read=read or None, route=route, is_whole=is_whole)


def gqa(reply: str, answers: Sequence[str]) -> float:
    """The share of accepted answers that the reply equals.

    >>> gqa(" Left ", ["left"]), gqa("left.", ["left"]), gqa("a", ["a", "b"])
    (1.0, 0.0, 0.5)
    """
    text = reply.strip().lower()
    return sum(answer.strip().lower() == text for answer in answers) / len(answers) if answers else 0.0


_WITHOUT_PUNCTUATION = str.maketrans("", "", punctuation)


def gqa_lmms(reply: str, answer: str) -> bool:
    """Whether the two are equal without case and ASCII punctuation.

    >>> gqa_lmms("Light-blue.", "lightblue")
    True
    """
    text, gold = (one.lower().translate(_WITHOUT_PUNCTUATION) for one in (reply.strip(), answer))
    return text == gold


# -- lmms-eval: VQA accuracy of TextVQA, OK-VQA and VizWiz
#
# The steps are those of text.py but for two: commas, question marks and ``'s`` are dealt with first, and a
# full stop after a digit is deleted unless a digit follows.

_PERIOD = re.compile(r"\.(?!\d)")
_COMMA = re.compile(r"\d,+\d")


@lmms_scorer("vqa-accuracy-lmms", version="2")
def score_vqa_lmms(reply: Reply, sample: Sample) -> Score:
    """VQA accuracy as lmms-eval computes it for TextVQA, OK-VQA and VizWiz."""
    read = normalise_lmms(reply.text)
    value = vqa_accuracy_lmms(reply.text, list_accepted(get_answers(sample)))
    return score_short(reply, sample, value, read, "vqa-accuracy-lmms")


def vqa_accuracy_lmms(reply: str, answers: Sequence[str]) -> float:
    """The share of three other people who gave this answer, averaged over the person left out.

    >>> vqa_accuracy_lmms("The dog's", ["dog 's"] * 4)
    1.0
    """
    read = normalise_lmms(reply.strip())
    golds = [normalise_lmms(answer) for answer in answers]
    return average_credit(golds.count(read), [float(gold == read) for gold in golds])


def average_credit(agreeing: float, left_out: Sequence[float]) -> float:
    """The mean credit, over the agreeing answers that are left out each time."""
    credits = [min(1.0, (agreeing - n) / 3) for n in left_out]
    return add_in_order(credits) / len(credits) if credits else 0.0


def normalise_lmms(text: str) -> str:
    """The form in which lmms-eval compares answers.

    >>> normalise_lmms("The 2,000 dog's.")
    "2000 dog 's"
    """
    return normalise_marks(text.lower().replace(",", "").replace("?", "").replace("'s", " 's").strip())


def normalise_marks(text: str) -> str:
    """The steps after the first: punctuation, number words, articles, contractions.

    >>> normalise_marks("The 2,000 dog's.")
    "2000 dog's"
    """
    text = text.replace("\n", " ").replace("\t", " ").strip()
    stripped = text
    has_digit_comma = _COMMA.search(text) is not None
    for mark in PUNCTUATION:
        is_deleted = has_digit_comma or f"{mark} " in text or f" {mark}" in text
        stripped = stripped.replace(mark, "" if is_deleted else " ")
    stripped = _PERIOD.sub("", stripped, count=_PERIODS_DROPPED)
    words = [NUMBER_WORDS.get(word, word) for word in stripped.lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)
