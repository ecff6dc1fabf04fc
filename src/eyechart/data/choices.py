"""Parses options as benchmarks write them into letters and texts.

Seen in the wild: ``(A) rubber``, ``A. left``, ``A.27B``, ``A) red``, ``A: red``, ``A、红``, ``A Cast iron``,
leading blanks, two options on one line, a line break inside an option, a letter that is used twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ROTATION_OFFSET = 1_000_000  # as published: rotation i of a numbered question is its index plus i times this

# How a letter can be marked; the style that finds most letters, from A on, is used.
_STYLES = ("({})", "（{}）", "[{}]", "{}.", "{}．", "{})", "{}）", "{}:", "{}：", "{}、")
_BARE = re.compile(r"([A-Z])[ \t]+(?=\S)")


def parse_choices(block: str) -> dict[str, str]:
    r"""Letter to text for a block of options; empty if it has no letters.

    >>> parse_choices("A.27B\nB.37B")
    {'A': '27B', 'B': '37B'}
    >>> parse_choices("A. Bright gold  B. Matte black \nC. Bluish-green")
    {'A': 'Bright gold', 'B': 'Matte black', 'C': 'Bluish-green'}
    """
    best: dict[str, str] = {}
    for style in _STYLES:
        if style.format("A") not in block:
            continue
        found = _parse_marked(block, style)
        if len(found) > len(best):
            best = found
    return best if len(best) > 1 else _parse_bare(block) or best


def _parse_marked(block: str, style: str) -> dict[str, str]:
    at_line_start = {
        letter: [match.span() for match in re.finditer(_marker(style, letter, r"^\s*"), block, re.MULTILINE)]
        for letter in LETTERS
        if style.format(letter) in block
    }
    marks: list[tuple[str, int, int]] = []
    position = 0
    for index, letter in enumerate(LETTERS):
        span = next((span for span in at_line_start.get(letter, ()) if span[0] >= position), None)
        if span is None and _may_be_inline(block, at_line_start, LETTERS[index + 1 :], position):
            match = re.compile(_marker(style, letter, r"(?<=\s)")).search(block, position)
            span = match.span() if match else None
        if span is None:
            break
        marks.append((letter, *span))
        position = span[1]
    return _texts(block, marks, at_line_start)


def _marker(style: str, letter: str, before: str) -> str:
    return before + re.escape(style.format(letter))


def _may_be_inline(
    block: str, at_line_start: Mapping[str, Sequence[tuple[int, int]]], later: str, position: int
) -> bool:
    """Whether a letter may be in the middle of a line.

    Only if a later letter begins a line, or the block is one line: the E in "D. Vitamin E. coli" is not an
    option.
    """
    if "\n" not in block.strip():
        return True
    return any(begin >= position for letter in later for begin, _ in at_line_start.get(letter, ()))


def _texts(
    block: str, marks: Sequence[tuple[str, int, int]], at_line_start: Mapping[str, Sequence[tuple[int, int]]]
) -> dict[str, str]:
    ends = [begin for _, begin, _ in marks[1:]] + [len(block)]
    choices = {}
    for (letter, _, begin), end in zip(marks, ends, strict=False):
        # A repeated letter keeps its first text; the block itself is sent unchanged.
        repeats = [start for start, _ in at_line_start.get(letter, ()) if begin < start < end]
        choices[letter] = block[begin : min([end, *repeats])].strip()
    return choices


def _parse_bare(block: str) -> dict[str, str]:
    """``A Cast iron``: accepted only if every line begins with the next letter."""
    choices = {}
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    for letter, line in zip(LETTERS, lines, strict=False):
        match = _BARE.match(line)
        if match is None or match[1] != letter:
            return {}
        choices[letter] = line[match.end() :].strip()
    return choices if len(choices) == len(lines) > 1 else {}


def label_choices(texts: Sequence[str | None]) -> dict[str, str]:
    """Letters for a list of options, by position; an empty entry is a missing option.

    The caller makes sure that there are enough letters.

    >>> label_choices(["cat", "dog"]), label_choices(["A) cat", "B) dog"])
    ({'A': 'cat', 'B': 'dog'}, {'A': 'cat', 'B': 'dog'})
    """
    lettered = dict(zip(LETTERS, texts, strict=False))
    return {letter: text for letter, text in _strip_prefixes(lettered).items() if text}


def _strip_prefixes(lettered: Mapping[str, str | None]) -> Mapping[str, str | None]:
    for style in _STYLES:
        if len(lettered) > 1 and all(
            text is not None and text.lstrip().startswith(style.format(letter))
            for letter, text in lettered.items()
        ):
            return {
                letter: (text or "").strip().removeprefix(style.format(letter)).lstrip()
                for letter, text in lettered.items()
            }
    return lettered


def read_lettered_choices(options: Mapping[str, Any], to_text: Callable[[Any], str]) -> dict[str, str]:
    """Letters as the file gives them, in its order; an empty text is a missing option."""
    texts = {str(letter): to_text(text) for letter, text in options.items()}
    return {letter: text for letter, text in texts.items() if text}
