"""Letters out of replies by the rules of single benchmarks: VLMEvalKit's for two sets, lmms-eval's for many.

`choice.py` has our own reader and VLMEvalKit's common one, `mmmu.py` that of MMMU. lmms-eval has a rule of
its own for almost every set; they differ in what they let pass beside the letter. Parity:
tests/catalogue/vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from string import ascii_uppercase

from eyechart.registry import scorer
from eyechart.score.reading import score_official
from eyechart.score.short_answers import gqa_lmms
from eyechart.score.thinking import cut_reasoning
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


@scorer("choice-lmms", version="2", parity="official", cut=cut_reasoning)
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


@scorer("ai2d-lmms", version="2", parity="official", cut=cut_reasoning)
def score_ai2d_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's AI2D: ``B.`` at the start, or a reply that is the letter but for case and punctuation."""
    return _score_text(reply, sample, read_leading(reply.text), "ai2d-lmms", gqa_lmms)


@scorer("muirbench-lmms", version="2", parity="official", cut=cut_reasoning)
def score_muirbench_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's MuirBench: ``B.`` at the start, or a reply that is the letter. ``(B)`` is wrong."""
    return _score_text(reply, sample, read_leading(reply.text), "muirbench-lmms", _is_same)


@scorer("seedbench-lmms", version="2", parity="official", cut=cut_reasoning)
def score_seedbench_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's SEED-Bench and SEED-Bench-2-Plus: the first character. "Because" is B."""
    return _score_text(reply, sample, reply.text.strip()[:1], "seedbench-lmms", _is_same)


@scorer("scienceqa-lmms", version="2", parity="official", cut=cut_reasoning)
def score_scienceqa_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's ScienceQA: the whole reply is the letter, or it begins with the capital and a full stop."""
    text = reply.text.strip()
    letter = text[0] if text[:1].isupper() and text[1:2] == "." else text
    return _score_text(reply, sample, letter, "scienceqa-lmms", _is_same)


def _is_same(text: str, gold: str) -> bool:
    return text.lower().strip() == gold.lower().strip()


def _score_text(
    reply: Reply, sample: Sample, read: str, route: str, compare: Callable[[str, str], bool]
) -> Score:
    hit = any(compare(read, gold) for gold in sample.golds)
    return score_official(reply, sample, value=float(hit), read=read or None, route=route)


_BLINK_ANSWER = r"answers?(?:\s++is)?+\s*+(?:[:\-]\s*+)?+\(?([{}])\)?(?![A-Za-z])"


@scorer("blink-lmms", version="2", parity="official", cut=cut_reasoning)
def score_blink_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's BLINK: a short first line, else after "answer", else in brackets, else the first letter."""
    return _score(reply, sample, read_blink(reply.text, len(sample.choices)), "blink-lmms")


def read_blink(reply: str, n_options: int = 26) -> str | None:
    """The letter of an option in a reply; None without one. Of several the last one, except at the start.

    >>> read_blink("The answer is b.", 4), read_blink("so I pick (C)", 4), read_blink("cats", 4)
    ('B', 'C', 'C')
    """
    text = reply.strip()
    letters = ascii_uppercase[: n_options or 26]
    first = text.split("\n", 1)[0].strip()
    short = re.match(rf"\(?([{letters}])\)?[.\s:,)]*$", first[:5], re.IGNORECASE)
    if short and len(first) <= 4:
        return short[1].upper()
    named = re.findall(_BLINK_ANSWER.format(letters), text, re.IGNORECASE)
    if not named:
        named = re.findall(rf"\(([{letters}])\)", text)
    if not named:
        named = re.findall(rf"\A[(\s]*([{letters}])", text, re.IGNORECASE)
    return named[-1].upper() if named else None


_MMVP = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\A\(?([AB])\)?\.?\Z", r"\A\(?([AB])\)?[.\s]", r"answer\s+is\s+\(?([AB])\)?",
        r"option\s+\(?([AB])\)?",
        r"\(?([AB])\)?(?:\s|\Z)",
    )
)  # fmt: skip


@scorer("mmvp-lmms", version="2", parity="official", cut=cut_reasoning)
def score_mmvp_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's MMVP: A or B alone, at the start, after "answer is" or "option", or at a word's end."""
    golds = tuple(read_mmvp_gold(gold) for gold in sample.golds)
    return _score(reply, replace(sample, golds=golds), read_mmvp(reply.text), "mmvp-lmms")


def read_mmvp(reply: str) -> str | None:
    """A or B; None without one. As published, a word that ends in a or b counts.

    >>> read_mmvp("(a) Open"), read_mmvp("grab it"), read_mmvp("**B**")
    ('A', 'B', None)
    """
    text = reply.strip()
    found = next((match for pattern in _MMVP if (match := pattern.search(text))), None)
    if found is not None:
        return found[1].upper()
    return text[0].upper() if text[:1].upper() in ("A", "B") else None


def read_mmvp_gold(gold: str) -> str:
    """The letter of an answer such as ``(a)``.

    >>> read_mmvp_gold("(b)"), read_mmvp_gold("A")
    ('B', 'A')
    """
    lower = gold.strip().lower()
    return next((letter.upper() for letter in "ab" if f"({letter})" in lower), lower.upper())


_VSTAR = tuple(
    re.compile(pattern)
    for pattern in (
        r"\A([A-D])", r"(?:ANSWER|CHOICE|OPTION)(?:\s++IS)?[\s:]++([A-D])", r"\(([A-D])\)",
        r"([A-D])\s*+[.)\]]",
        r"(?:\A|\s)([A-D])(?:\s|\Z)",
    )
)  # fmt: skip


@scorer("vstar-lmms", version="2", parity="official", cut=cut_reasoning)
def score_vstar_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's V*: a reply that begins with A to D, else the letter after "answer", in brackets, alone."""
    return _score(reply, sample, read_vstar(reply.text), "vstar-lmms")


def read_vstar(reply: str) -> str | None:
    """A letter from A to D; None without one. As published, "Because" is B.

    >>> read_vstar("the answer is: c"), read_vstar("Because"), read_vstar("none")
    ('C', 'B', None)
    """
    text = reply.strip().upper()
    found = next((match for pattern in _VSTAR if (match := pattern.search(text))), None)
    if found is not None:
        return found[1]
    letters = [char for char in text if char in _FOUR]
    return letters[0] if len(letters) == 1 else None


_VISULOGIC = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"<answer>\s*\(?([A-D])\)?\s*</answer>", r"\\boxed\{\s*([A-D])\s*\}",
        r"answer\s*(?:is|:|-)\s*\(?([A-D])\)?\b",
        r"option\s*([A-D])\b", r"\(([A-D])\)",
    )
)  # fmt: skip


@scorer("visulogic-lmms", version="2", parity="official", cut=cut_reasoning)
def score_visulogic_lmms(reply: Reply, sample: Sample) -> Score:
    """lmms-eval's VisuLogic: the last letter in a tag, a box, after "answer" or "option", or in brackets."""
    return _score(reply, sample, read_visulogic_lmms(reply.text), "visulogic-lmms")


def read_visulogic_lmms(reply: str) -> str | None:
    r"""A letter from A to D; None without one.

    >>> read_visulogic_lmms(r"\boxed{a} or \boxed{b}"), read_visulogic_lmms("C.")
    ('B', 'C')
    """
    text = reply.strip()
    found = next((letters for pattern in _VISULOGIC if (letters := pattern.findall(text))), [])
    if found:
        return str(found[-1]).upper()
    return text[0].upper() if 0 < len(text) <= 3 and text[0].upper() in _FOUR else None


# -- OmniSpatial (https://arxiv.org/abs/2506.03135): the line that its prompt asks for

_ANSWER_LINE = re.compile(r"answer\s*:\s*([A-D])\b", re.IGNORECASE)


@scorer("omnispatial", version="1", parity="official")
def score_omnispatial(reply: Reply, sample: Sample) -> Score:
    """OmniSpatial's own rule: the letter of the last ``Answer: X``. As published, none is A; here, unread."""
    return _score(reply, sample, read_answer_line(reply.text), "omnispatial")


def read_answer_line(reply: str) -> str | None:
    """The letter of the last ``Answer: X``.

    >>> read_answer_line("Answer: A? No. Answer: b"), read_answer_line("It is B.")
    ('B', None)
    """
    found = _ANSWER_LINE.findall(reply)
    return found[-1].upper() if found else None
