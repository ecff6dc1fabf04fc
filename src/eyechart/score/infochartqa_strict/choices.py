"""Several option letters at once, for the strict scorer: "A and C", "A. Rain, C. Sun", ``["A", "C"]``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from eyechart.score.fold import fold
from eyechart.score.options import Options, options_of
from eyechart.score.statement import answer_start, bare, whole_json
from eyechart.score.text import read_text

LETTERS = "ABCDEFGH"
_MAX_CHARS = 600  # of a reply that is a list of options

_JOIN = r"(?:\s*(?:,|;|、|，|&|\+|/|\n|\band\b|和)\s*)+"
_ONE = r"[(\[]?[A-Ha-h][)\].]?(?![A-Za-z])"
_SEVERAL = rf"{_ONE}(?:(?:{_JOIN}|\s+){_ONE})+"
_SAID = re.compile(
    rf"(?:both\s)?(?:(?:the\s)?(?:correct\s)?(?:options?|answers?|choices?|letters?)(?:\s(?:is|are))?)?[\s:]*({_SEVERAL})"
    r"(?:\s(?:is|are)\s(?:the\s)?(?:correct|right)(?:\s\w+)?)?[.!]?",
    re.IGNORECASE,
)
_CUE = re.compile(rf"\b(?:answers|options|choices|letters)(?:\s(?:is|are))?[\s:]+({_SEVERAL})", re.IGNORECASE)
_LETTER = re.compile(r"(?<![A-Za-z])[A-Ha-h](?![A-Za-z])")
_SEPARATOR = re.compile(r"[,;\n、，；]|\band\b")
_REASON = re.compile(r",?\s(?:because|since|as)\b.*$", re.IGNORECASE | re.DOTALL)
_LABELLED = re.compile(r"[(\[]?([A-Ha-h])[)\].:]+\s*(.*)", re.DOTALL)
_MARKS = str.maketrans("", "", "*`\"'_")


def read_letters(text: str, choices: Mapping[str, str]) -> frozenset[str]:
    """The letters of a reply that names several options; empty where it names one, or none.

    >>> sorted(read_letters("A. Rain, C. Sun", {"A": "Rain", "B": "Snow", "C": "Sun"}))
    ['A', 'C']
    >>> [sorted(read_letters(said, {})) for said in ("The correct answers are A and C.", "AC", "B")]
    [['A', 'C'], ['A', 'C'], []]
    """
    value = whole_json(text, answer_start(text))
    if isinstance(value, list):
        text = ", ".join(map(str, value))
    stated = fold(read_text(text).answer or "")[:_MAX_CHARS].translate(_MARKS)
    stated = _REASON.sub("", stated)
    plain = bare(stated)
    if 1 < len(plain) <= 4 and set(plain) <= set(LETTERS) and len(set(plain)) == len(plain):
        return frozenset(plain)
    if said := _SAID.fullmatch(plain) or _CUE.search(stated):
        return frozenset(letter.upper() for letter in _LETTER.findall(re.sub(r"\band\b", ",", said[1])))
    return _named(stated, options_of(choices))


def _named(text: str, options: Options) -> frozenset[str]:
    """Options by their letters and words, where every part of the reply is one."""
    parts = [part for part in map(str.strip, _SEPARATOR.split(text)) if part]
    letters = [_letter(part, options) for part in parts]
    is_list = len(parts) > 1 and None not in letters and len(set(letters)) == len(letters)
    return frozenset(letter for letter in letters if letter) if is_list else frozenset()


def _letter(part: str, options: Options) -> str | None:
    if found := _LABELLED.fullmatch(part):
        letter = found[1].upper()
        return letter if not bare(found[2]) or letter in options.all_named(found[2]) else None
    return part.upper() if part.upper() in tuple(LETTERS) else options.named(part)
