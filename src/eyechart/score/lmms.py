"""What the rules of lmms-eval 0.7.3 share: its view of a reply, letters, short answers, VQA accuracy.

`choice.py` has our own reader of a choice and VLMEvalKit's common one. lmms-eval has a rule of its own for
almost every benchmark; they differ in what they let pass beside the letter. It strips every reply first.
text.py has VLMEvalKit's VQA accuracy; here commas, question marks and ``'s`` are dealt with first, and a full
stop after a digit is deleted unless a digit follows. Parity: tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import eq
from string import punctuation
from typing import TypeVar

from eyechart.registry import ScoreFunction, scorer
from eyechart.score.reading import score_official
from eyechart.score.text import get_answers, list_accepted, normalise_words
from eyechart.stats.intervals import add_in_order
from eyechart.types import Reply, Sample, Score

_LMMS_TAGS = (("<think>", "</think>"), ("<analysis>", "</analysis>"))


def cut_reasoning(text: str) -> str:
    """What lmms-eval 0.7.3 leaves of a reply by default: no blocks of these tags, else what follows the last.

    Quirks kept: tags are lower case, and a block that is not closed stays. A text without tags is not
    touched here, although lmms-eval trims it.

    >>> cut_reasoning("<think>A?</think> B <think>C?</think>"), cut_reasoning("A?</think>B")
    ('B', 'B')
    """
    if not any(tag in text for tags in _LMMS_TAGS for tag in tags):
        return text
    for opening, closing in _LMMS_TAGS:
        while (start := text.find(opening)) >= 0 and (end := text.find(closing, start)) >= 0:
            text = text[:start] + text[end + len(closing) :]
        if opening not in text:
            text = text.rpartition(closing)[2]
    return text.strip()


def lmms_scorer(name: str, *, version: str) -> Callable[[ScoreFunction], ScoreFunction]:
    """Declare an official scorer that sees what lmms-eval 0.7.3 leaves of a reply."""
    return scorer(name, version=version, parity="official", cut=cut_reasoning)


ReadText = TypeVar("ReadText", bound=Callable[[str], str | None])


def reading_scorer(
    name: str, *, version: str, matches: Callable[[str, str], bool] = eq, reads_golds: bool = False,
    is_whole: bool = False, cut: Callable[[str], str] | None = cut_reasoning,
) -> Callable[[ReadText], ReadText]:  # fmt: skip
    """Declare an official scorer by what it reads in a reply; the reader stays callable.

    It is right if what was read `matches` a gold; with `reads_golds`, what is read in a gold in the same way.
    `is_whole`: the reply is the answer and nothing else.
    """

    def record(read: ReadText) -> ReadText:
        def score(reply: Reply, sample: Sample) -> Score:
            found = read(reply.text)
            golds: Sequence[str] = (
                [read(gold) or "" for gold in sample.golds] if reads_golds else sample.golds
            )
            hit = found is not None and any(matches(found, gold) for gold in golds)
            return score_short(reply, sample, float(hit), found, name, is_whole=is_whole)

        score.__doc__ = read.__doc__  # for eyechart score --list
        scorer(name, version=version, parity="official", cut=cut)(score)
        return read

    return record


# -- Letters


def score_letter(reply: Reply, sample: Sample, letter: str | None, route: str) -> Score:
    """Right if the letter is a gold."""
    hit = letter is not None and letter in sample.golds
    return score_official(reply, sample, value=float(hit), read=letter, route=route)


# -- lmms-eval's reader of a choice: MMStar, RealWorldQA, ERQA

LETTERS = "ABCDEFGH"
FOUR = ("A", "B", "C", "D")
_CALLED = (
    "answer", "correct answer", "best answer", "correct option", "best option", "choice", "correct choice",
)  # fmt: skip
_PHRASES = (
    *(f"{the}{called} is" for called in _CALLED for the in ("the ", "")),
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


# -- Short answers


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


# -- VQA accuracy of TextVQA, OK-VQA and VizWiz

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
    return normalise_words(text, _COMMA, _PERIOD)
