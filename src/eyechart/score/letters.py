"""Letters out of replies in lmms-eval: its reader of a choice, and what the rules of single benchmarks share.

`choice.py` has our own reader and VLMEvalKit's common one. lmms-eval has a rule of its own for almost every
benchmark; they differ in what they let pass beside the letter. Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from eyechart.score.reading import score_official
from eyechart.score.thinking import lmms_scorer
from eyechart.types import Reply, Sample, Score


def score_letter(reply: Reply, sample: Sample, letter: str | None, route: str) -> Score:
    """Right if the letter is a gold."""
    hit = letter is not None and letter in sample.golds
    return score_official(reply, sample, value=float(hit), read=letter, route=route)


# -- lmms-eval's reader of a choice: MMStar, RealWorldQA, ERQA

LETTERS = "ABCDEFGH"
# -- VisuLogic: the last box, or a phrase

FOUR = ("A", "B", "C", "D")
_PHRASES = (
    *(
        f"{the}{which}{what} is"
        for what, kinds in (
            ("answer", ("", "correct ", "best ")),
            ("option", ("correct ", "best ")),
            ("choice", ("", "correct ")),
        )
        for which in kinds
        for the in ("the ", "")
    ),
    "i choose", "i select", "i pick", "my answer is", "my choice is",
    "옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは",
)  # fmt: skip
_STRIPPED = ",.!?;:'\""


@lmms_scorer("choice-lmms", version="2")
def score_choice_lmms(reply: Reply, sample: Sample) -> Score:
    """The letter that lmms-eval reads; an answer that is no letter must be the reply, but for case and dots.

    RealWorldQA has both kinds of answers.
    """
    letters = list(sample.choices) or list("ABCD")
    if sample.golds and not any(gold.strip().upper() in letters for gold in sample.golds):
        read = reply.text.lower().strip().rstrip(".")
        hit = read in {gold.strip().lower() for gold in sample.golds}
        return score_official(reply, sample, value=float(hit), read=read or None, route="choice-lmms:text")
    golds = tuple(gold.strip().upper() for gold in sample.golds)
    return score_letter(reply, replace(sample, golds=golds), read_letter(reply.text, letters), "choice-lmms")


def read_letter(reply: str, letters: Iterable[str] = LETTERS) -> str | None:
    """The letter at the start, at the end, after a phrase, in brackets, before a mark or space, or anywhere.

    The first of these kinds that occurs decides; of several letters the last one.

    >>> read_letter("B"), read_letter("I think the answer is (C) here"), read_letter("none")
    ('B', 'C', None)
    """
    text = reply.strip()
    for mark in _STRIPPED:
        text = text.strip(mark)
    text = f" {text} "
    bare, lower, known = text.strip(), text.lower(), list(letters)
    kinds: dict[str, list[tuple[int, str]]] = {}

    def note(kind: str, letter: str, position: int) -> None:
        if position >= 0:
            kinds.setdefault(kind, []).append((position, letter))

    after = [at + len(phrase) for phrase in _PHRASES if (at := lower.find(phrase)) >= 0]
    for letter in known:
        if bare.startswith(letter) and (len(bare) == 1 or not bare[1].isalpha()):
            note("start", letter, 0)
        if bare.endswith(letter) and (len(bare) == 1 or not bare[-2].isalpha()):
            note("end", letter, 0)
        for start in after:
            note("phrase", letter, text.find(letter, start))
        for kind, written in (("(", "({})"), (".", "{}."), (":", "{}:"), (")", "{})"), (" ", "{} ")):
            note(kind, letter, text.rfind(written.format(letter)))
        note("anywhere", letter, text.rfind(letter))
    for kind in ("start", "end", "phrase", "(", ".", ":", ")", " ", "anywhere"):
        if found := kinds.get(kind):
            last = max(position for position, _ in found)
            return next(letter for position, letter in found if position == last)
    return None


# -- lmms-eval's rules of single sets

_LEADING = re.compile(r"([A-Z])\.")


def read_leading(reply: str) -> str:
    """The capital before a full stop with which a reply begins; without one the whole reply.

    >>> read_leading("B. a cat"), read_leading("B a cat")
    ('B', 'B a cat')
    """
    text = reply.strip()
    found = _LEADING.match(text)
    return found[1] if found else text


def is_same_text(text: str, gold: str) -> bool:
    """Equality but for case and outer white space."""
    return text.lower().strip() == gold.lower().strip()


def score_text(
    reply: Reply, sample: Sample, read: str, route: str, compare: Callable[[str, str], bool]
) -> Score:
    """Right if what was read compares to a gold."""
    hit = any(compare(read, gold) for gold in sample.golds)
    return score_official(reply, sample, value=float(hit), read=read or None, route=route)
