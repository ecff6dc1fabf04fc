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


def parse_small_letters(block: str) -> dict[str, str]:
    r"""The same for options marked by small letters: ``a) red``, ``(a) red``, or lines with ``a. red``.

    >>> parse_small_letters("a) red b) blue"), parse_small_letters("a. red\nb. blue")
    ({'A': 'red', 'B': 'blue'}, {'A': 'red', 'B': 'blue'})
    """
    styles = ("({})", "{})", "{}.", "{}:") if "\n" in block.strip() else ("({})", "{})")
    found = (_parse_marked(block, style, LETTERS.lower()) for style in styles if style.format("a") in block)
    best = max(found, key=len, default={})
    return {letter.upper(): text for letter, text in best.items()} if len(best) > 1 else {}


_NUMBERED_LINE = re.compile(r"\(?([0-9]{1,2})[.):](?![0-9])\s*(\S.*)")
_NUMBER_IN_LINE = re.compile(r"(?:^|(?<=\s))\(?([0-9]{1,2})\)\s+")


def parse_numbered(block: str) -> list[str]:
    r"""The options of a block that counts them from 1, one per line or in one; empty for other blocks.

    >>> parse_numbered("1. red\n2. blue"), parse_numbered("1) red 2) blue"), parse_numbered("1.5\n2.5")
    (['red', 'blue'], ['red', 'blue'], [])
    """
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    if len(lines) == 1:
        before, *parts = _NUMBER_IN_LINE.split(lines[0])
        numbers, texts = ([], []) if before else (parts[::2], parts[1::2])
    else:
        found = [match for line in lines if (match := _NUMBERED_LINE.fullmatch(line))]
        numbers, texts = (
            ([], []) if len(found) < len(lines) else ([m[1] for m in found], [m[2] for m in found])
        )
    is_counted = len(numbers) > 1 and [*map(int, numbers)] == [*range(1, len(numbers) + 1)]
    return [text.strip() for text in texts] if is_counted else []


def _parse_marked(block: str, style: str, letters: str = LETTERS) -> dict[str, str]:
    at_line_start = {
        letter: [match.span() for match in re.finditer(_marker(style, letter, r"^\s*"), block, re.MULTILINE)]
        for letter in letters
        if style.format(letter) in block
    }
    marks: list[tuple[str, int, int]] = []
    position = 0
    for index, letter in enumerate(letters):
        span = next((span for span in at_line_start.get(letter, ()) if span[0] >= position), None)
        if span is None and _may_be_inline(block, at_line_start, letters[index + 1 :], position):
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
