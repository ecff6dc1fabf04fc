"""VQA accuracy: TextVQA, VizWiz and others with ten human answers.

Rule: Antol et al., 2015 (https://arxiv.org/abs/1505.00468), as VLMEvalKit e8e78f05 computes it.
Golden vectors: tests/golden/vqa_acc.jsonl.
"""

from __future__ import annotations

import re
from functools import lru_cache

from eyechart.exchange import add_in_order
from eyechart.score.cells import Answers, accepted
from eyechart.score.contractions import CONTRACTIONS
from eyechart.score.lift import metric

PUNCTUATION = ';/[]"{}()=+\\_-><@`,?!'
ARTICLES = frozenset({"a", "an", "the"})
NUMBER_WORDS = {
    "none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4",
    "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}  # fmt: skip

_DIGIT_COMMA_DIGIT = re.compile(r"\d,\d")
_LONE_PERIOD = re.compile(r"(?<!\d)\.(?!\d)")
_SHORT = 200  # characters of an answer that may come again: a long reply is not worth its memory
_PERIODS_DROPPED = 32  # as published: a regex flag stands where the count belongs


@metric("vqa-accuracy", version="1", parity="official")
def vqa_accuracy(prediction: str, answers: Answers) -> float:
    """How many people gave this answer: three others or more make 1, averaged over who is left out.

    Quirk kept: with a single accepted answer nobody else can agree, so the score is always 0.

    >>> vqa_accuracy("The dog.", ["dog"] * 2 + ["cat"] * 8), vqa_accuracy("two", ["2"] * 10)
    (0.6, 1.0)
    >>> vqa_accuracy("dog", ["dog"])
    0.0
    """
    read = normalise_vqa(str(prediction))
    golds = [normalise_vqa(answer) for answer in accepted(answers)]
    if not golds:
        return 0.0
    agreeing = golds.count(read)
    credits = [min(1.0, (agreeing - (gold == read)) / 3) for gold in golds]
    return add_in_order(credits) / len(credits)


def normalise_vqa(text: str) -> str:
    """The form in which VQA accuracy compares answers.

    >>> normalise_vqa("The two dogs, dont they?")
    "2 dogs don't they"
    """
    return _normalised(text) if len(text) <= _SHORT else _normalised.__wrapped__(text)


@lru_cache(maxsize=4096)  # ten people often give the same answer
def _normalised(text: str) -> str:
    text = strip_vqa_punctuation(text.replace("\n", " ").replace("\t", " ").strip())
    words = [NUMBER_WORDS.get(word, word) for word in text.lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def strip_vqa_punctuation(text: str) -> str:
    """The official punctuation step: a mark beside a space is deleted, any other becomes a space.

    Quirks kept: one ``digit,digit`` anywhere has every mark deleted; apostrophe, colon, ``*``, ``#``,
    ``$``, ``%`` and ``&`` are not marks; at most 32 full stops go.

    >>> strip_vqa_punctuation("dog/cat, pi 3.14"), strip_vqa_punctuation("1,000 dog/cat")
    ('dog cat pi 3.14', '1000 dogcat')
    """
    has_digit_comma = _DIGIT_COMMA_DIGIT.search(text) is not None
    stripped = text
    for mark in PUNCTUATION:
        is_deleted = has_digit_comma or f"{mark} " in text or f" {mark}" in text
        stripped = stripped.replace(mark, "" if is_deleted else " ")
    return _LONE_PERIOD.sub("", stripped, count=_PERIODS_DROPPED)
