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
_BARE = re.compile(r"([A-Z])[ \t]+(\S.*)", re.DOTALL)


def parse_choices(block: str) -> dict[str, str]:
    r"""Letter to text for a block of options; empty if it has no letters.

    >>> parse_choices("A.27B\nB.37B")
    {'A': '27B', 'B': '37B'}
    >>> parse_choices("A. Bright gold  B. Matte black \nC. Bluish-green")
    {'A': 'Bright gold', 'B': 'Matte black', 'C': 'Bluish-green'}
    """
    found = (_parse_marked(block, style) for style in _STYLES if style.format("A") in block)
    best = max(found, key=len, default={})
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
    before, *parts = _NUMBER_IN_LINE.split(block.strip())
    marked = [("", "")] if before else list(zip(parts[::2], parts[1::2], strict=True))
    if len(lines) != 1:
        matches = [_NUMBERED_LINE.fullmatch(line) for line in lines]
        marked = [(match[1], match[2]) if match else ("", "") for match in matches]
    is_counted = len(marked) > 1 and [int(one or 0) for one, _ in marked] == [*range(1, len(marked) + 1)]
    return [text.strip() for _, text in marked] if is_counted else []


def _parse_marked(block: str, style: str, letters: str = LETTERS) -> dict[str, str]:
    at_line_start = {
        letter: [match.span() for match in _find_marks(style, letter, r"^\s*").finditer(block)]
        for letter in letters
        if style.format(letter) in block
    }
    marks: list[tuple[str, int, int]] = []
    position = 0
    for index, letter in enumerate(letters):
        span = next((span for span in at_line_start.get(letter, ()) if span[0] >= position), None)
        if span is None and _may_be_inline(block, at_line_start, letters[index + 1 :], position):
            match = _find_marks(style, letter, r"(?<=\s)").search(block, position)
            span = match.span() if match else None
        if span is None:
            break
        marks.append((letter, *span))
        position = span[1]
    return _texts(block, marks, at_line_start)


def _find_marks(style: str, letter: str, before: str) -> re.Pattern[str]:
    return re.compile(before + re.escape(style.format(letter)), re.MULTILINE)


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
    lines = [line.strip() for line in block.splitlines() if line.strip()]
    found = [match for line in lines if (match := _BARE.fullmatch(line))]
    is_counted = [match[1] for match in found] == [*LETTERS[: len(lines)]]
    return {match[1]: match[2].strip() for match in found} if is_counted and len(lines) > 1 else {}


def label_choices(texts: Sequence[str | None]) -> dict[str, str]:
    """Letters for a list of options, by position; an empty entry is a missing option.

    The caller makes sure that there are enough letters.

    >>> label_choices(["cat", "dog"]), label_choices(["A) cat", "B) dog"])
    ({'A': 'cat', 'B': 'dog'}, {'A': 'cat', 'B': 'dog'})
    """
    lettered = dict(zip(LETTERS, texts, strict=False))
    return {letter: text for letter, text in _strip_prefixes(lettered).items() if text}


def _strip_prefixes(lettered: Mapping[str, str | None]) -> Mapping[str, str | None]:
    texts = {letter: (text or "").strip() for letter, text in lettered.items()}
    for style in _STYLES if len(lettered) > 1 else ():
        marks = {letter: style.format(letter) for letter in lettered}
        if all(text.startswith(marks[letter]) for letter, text in texts.items()):
            return {letter: text.removeprefix(marks[letter]).lstrip() for letter, text in texts.items()}
    return lettered


def read_lettered_choices(options: Mapping[str, Any], to_text: Callable[[Any], str]) -> dict[str, str]:
    """Letters as the file gives them, in its order; an empty text is a missing option."""
    texts = {str(letter): to_text(text) for letter, text in options.items()}
    return {letter: text for letter, text in texts.items() if text}
