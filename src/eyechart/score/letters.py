"""Letters out of replies by the rules of single benchmarks: We-Math, VisuLogic, lmms-eval's choice.

`choice.py` has our own reader and VLMEvalKit's common one, `mmmu.py` that of MMMU. Parity:
tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from eyechart.registry import scorer
from eyechart.score.reading import score_official
from eyechart.types import Reply, Sample, Score


def _score(reply: Reply, sample: Sample, letter: str | None, route: str) -> Score:
    hit = letter is not None and letter in sample.golds
    return score_official(reply, sample, value=float(hit), read=letter, route=route)


# -- lmms-eval's reader of a choice: MMStar, RealWorldQA, ERQA

_LETTERS = "ABCDEFGH"
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


@scorer("choice-lmms", version="1", parity="official")
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
    return _score(reply, replace(sample, golds=golds), read_letter(reply.text, letters), "choice-lmms")


def read_letter(reply: str, letters: Iterable[str] = _LETTERS) -> str | None:
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


# -- We-Math: what follows the last "Answer"

_MARKS = re.compile(r"[><:.]")


@scorer("wemath", version="1", parity="official")
def score_wemath(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's rule without a judge: the first character after the last ``Answer``, if it is A to H."""
    return _score(reply, sample, read_wemath(reply.text), "wemath")


def read_wemath(reply: str) -> str | None:
    """The letter after the last "Answer"; None if no letter from A to H comes first there.

    >>> read_wemath("<<Answer>>: B"), read_wemath("the answer is B")
    ('B', None)
    """
    text = _MARKS.sub("", reply.rpartition("Answer")[2].strip()).strip()
    return text[0] if text and text[0] in _LETTERS else None


# -- VisuLogic: the last box, or a phrase

_FOUR = ("A", "B", "C", "D")
_BOX = re.compile(r"\\boxed\{|[^\\]\}")
_SAID = tuple(
    f"{phrase}{colon}"
    for colon in (":", "")
    for phrase in (
        "the final answer is", "the answer is option", "the answer is", "the correct answer is option",
        "the correct answer is", "the answer should be",
    )
)  # fmt: skip


@scorer("visulogic", version="1", parity="official")
def score_visulogic(reply: Reply, sample: Sample) -> Score:
    """VLMEvalKit's VisuLogic: the letter in the last box, else after a phrase, else none."""
    letter, how = read_visulogic(reply.text)
    return _score(reply, sample, letter, f"visulogic:{how}" if letter else "visulogic")


def read_visulogic(reply: str) -> tuple[str | None, str]:
    r"""The letter, and whether it was in a box or in words.

    >>> read_visulogic(r"so \boxed{B}"), read_visulogic("The answer is: c."), read_visulogic("B)")
    (('B', 'box'), ('C', 'lang'), (None, 'error'))
    """
    if (boxed := _read_box(reply).strip()) in _FOUR:
        return boxed, "box"
    if (said := _read_said(reply)) in _FOUR:
        return said, "lang"
    return None, "error"


def _read_box(text: str) -> str:
    """The content of the last outermost box; the whole text where it is not short."""
    if len(text) < 3:
        return text
    starts: list[int] = []
    content: str | None = None
    for found in _BOX.finditer(text):
        if found[0].endswith("{"):
            starts.append(found.end())
        elif starts:
            start = starts.pop()
            if not starts:
                content = text[start : found.start() + 1]
    if content is None:
        return text
    for mark in (r"\text{", r"\rm{", r"\mathbf{", "$", "}"):
        content = content.replace(mark, "")
    is_odd = "letter" in content.lower() or "or" in content or len(content) > 2
    return text if is_odd else content


def _read_said(text: str) -> str:
    text = text.replace("<|endoftext|>", "")
    for letter in _FOUR:
        if text.endswith((f" {letter}.", f" ({letter}).")) or text.startswith(
            (f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n")
        ):
            return letter
    lower = text.lower()
    for phrase in ("answer:", *_SAID):
        if phrase in lower:
            lower = lower.rpartition(phrase)[2].strip().split("\n")[0].split(".")[0]
            if lower.upper() in _FOUR:
                return lower.upper()
    return text
