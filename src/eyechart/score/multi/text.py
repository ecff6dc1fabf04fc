"""What MULTI's scorer reads out of a prediction: cleaned text, then letters or blanks.

The rules changed five times since the benchmark came out. A `Generation` is one state of them, named by the
month it began; leaderboard rows were scored with the one of their day.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from eyechart.errors import UsageError

Position = Literal["start", "end"]
REFUSAL = "缺少图片信息"  # what the prompts ask for when an image is missing; official scores know no other
REFUSAL_EN = "lack of image information"  # what the English prompts ask for, in any case

_LETTER = re.compile(r"[a-zA-Z]")
# Letters, blanks and commas hold a run of choices together; everything else ends it. Looking for whole runs
# finds what the official patterns find, but in linear time on any text.
_RUN = re.compile(r"[a-zA-Z ,]+")
_LONG_RUN = re.compile(r"[a-zA-Z ,]{2,}")
_THOUGHT = re.compile(r"Thought，持续 [0-9]+ 秒")
_NEWLINES = re.compile(r"\n{2,}")
_LABELS = ("Assistant:", "assistant:", "answer:", "答案：", "user\n", "我的分析如下：")
_BOX = re.compile(r"\\boxed\\?\{\\text\\?\{")
_BOX_END = re.compile(r"\\?\}\\?\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """One state of the official rules."""

    clean: Callable[[str], str]
    is_early: bool = False  # the first letter only, runs of two and more, blanks character for character
    knows_refusals: bool = True


def choice(text: str, position: Position) -> str | None:
    """The letter of a single choice: the first one, or the last. Full-width letters are none.

    >>> choice("The answer is B", "start"), choice("The answer is B", "end"), choice("Ｂ", "start")
    ('T', 'B', None)
    """
    found = _LETTER.search(text if position == "start" else text[::-1])
    return found[0].upper() if found else None


def choices(text: str, position: Position, *, is_early: bool = False) -> str | None:
    """The letters of a multiple choice: those of the first run, or the last, each once.

    `is_early`: the first run of at least two characters, be they blanks or commas.

    >>> choices("A, C", "start"), choices("A、B、D", "end"), choices("A and B", "start")
    ('AC', 'D', 'ANDB')
    >>> choices("A", "start", is_early=True) is None, choices("选 A", "start", is_early=True)
    (True, 'A')
    """
    if is_early:
        first = _LONG_RUN.search(text)
        runs = [first[0]] if first else []
    elif position == "start":
        runs = [next((run[0] for run in _RUN.finditer(text) if _LETTER.search(run[0])), "")]
    else:
        runs = [run for run in _RUN.findall(text) if _LETTER.search(run)]
    if not runs or not runs[-1]:
        return None
    letters = runs[-1].upper().replace(" ", "").replace(",", "")
    return "".join(dict.fromkeys(letters))


def blanks(text: str, *, is_early: bool = False) -> list[str]:
    r"""What a prediction puts into the blanks, one entry each.

    >>> blanks("$x = 2$；3\n\n4"), blanks("x = 2；3", is_early=True)
    (['x=2', '3', '4'], ['x = 2；3'])
    """
    if is_early:
        return text.split("\n")
    bare = _NEWLINES.sub("\n", text).replace("$", "").replace(" ", "")
    return [part.strip() for part in bare.replace(";", "\n").replace("；", "\n").split("\n")]


def wanted(label: str, *, is_early: bool = False) -> list[frozenset[str]]:
    r"""What each blank of a label accepts: its text, and where it says 或 ("or") each side of that.

    A semicolon divides predictions but not labels, so a label that holds one can never be met.

    >>> [sorted(blank) for blank in wanted("$3$或-3\n2; 4")]
    [['-3', '3', '3或-3'], ['2;4']]
    """
    bare = label if is_early else label.replace("$", "").replace(" ", "")
    lines = [[line, *line.split("或")] for line in bare.split("\n")]
    return [frozenset(lines_of if is_early else map(str.strip, lines_of)) for lines_of in lines]


def _as_it_is(text: str) -> str:
    return text


def _after_thought(text: str) -> str:
    parts = _THOUGHT.split(text)
    return text if len(parts) == 1 else parts[-1].strip()


def _after(mark: str, text: str) -> str:
    _, found, rest = text.rpartition(mark)
    return rest.strip() if found else text


def _without_labels(text: str) -> str:
    for label in _LABELS:
        text = text.replace(label, "")
    return text.strip()


def _unboxed(text: str) -> str:
    # A box that does not end leaves none behind it that does, so the first one decides.
    if (start := _BOX.search(text)) and (end := _BOX_END.search(text, start.end() + 1)):
        return text[start.end() : end.start()].strip()
    return text


def _clean_2025_01(text: str) -> str:
    return _without_labels(_after("答案", _after_thought(text)))


def _clean_2025_11(text: str) -> str:
    answer = _after("</think>", _after("答案", _after_thought(text.strip())))
    return _unboxed(_without_labels(answer))


def _clean(text: str) -> str:
    last = text.strip().rpartition("\n\n")[2].strip()  # an explanation after a blank line is what is read
    answer = _after("</think>", _after("答案为：", _after_thought(last)))
    return _unboxed(_without_labels(answer))


GENERATIONS = {
    "latest": Generation(clean=_clean),
    "2025-11": Generation(clean=_clean_2025_11),
    "2025-01": Generation(clean=_clean_2025_01),
    "2024-11": Generation(clean=_after_thought, is_early=True, knows_refusals=False),
    "2024-02": Generation(clean=_as_it_is, is_early=True, knows_refusals=False),
}


def rules_of(name: str) -> Generation:
    """The rules of that name."""
    if name not in GENERATIONS:
        known = ", ".join(GENERATIONS)
        raise UsageError(f"MULTI's scorer has no generation {name!r}", hint=f"use one of: {known}")
    return GENERATIONS[name]
