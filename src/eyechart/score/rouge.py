"""ROUGE as `rouge_chinese` 1.0 computes it, on words that are separated by spaces.

rapidfuzz finds the longest common subsequence about a hundred times faster.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Where a sentence ends, one rule after the other. The character after the mark begins the next sentence.
_ENDS = (
    re.compile("([。！？?])([^”’])"),
    re.compile(r"(\.{6})([^”’])"),
    re.compile("(…{2})([^”’])"),
    re.compile("([。！？?][”’])([^，。！？?])"),
)


class Rouge(NamedTuple):
    """Of the words in common: their share of the reference, of the reply, and the F-measure of both."""

    recall: float
    precision: float
    f_measure: float


def split_words(spaced: str) -> list[str]:
    r"""The words of a text whose words are separated by white space.

    Quirks kept: marks end a sentence also within a word, and a sentence of white space is one empty word.

    >>> split_words("Which?This one.\n\n \nYes"), split_words("第一段 。 \n \n 第二段 。")
    (['Which?', 'This', 'one.', '', 'Yes'], ['第一段', '。', '', '', '第二段', '。'])
    """
    for end in _ENDS:
        spaced = end.sub(r"\1\n\2", spaced)
    return [word for piece in spaced.rstrip().split("\n") if piece for word in piece.split() or [""]]


def compute_rouge_n(said: Sequence[str], wanted: Sequence[str], n: int) -> Rouge:
    """ROUGE of the different n-grams.

    >>> compute_rouge_n(["a", "red", "bus"], ["a", "red", "car"], 2).precision
    0.5
    """
    mine, theirs = (
        {tuple(words[at : at + n]) for at in range(len(words) - n + 1)} for words in (said, wanted)
    )
    return _measure(len(mine & theirs), len(mine), len(theirs))


def compute_rouge_l(said: Sequence[str], wanted: Sequence[str]) -> Rouge:
    """ROUGE of the longest common subsequence. The F-measure stays just below 1 even for the same words.

    >>> compute_rouge_l(["a"], ["a"]).f_measure, compute_rouge_l([], ["a"]).recall
    (0.999999995, 0.0)
    """
    from rapidfuzz.distance import LCSseq

    numbers: dict[str, int] = {}
    mine, theirs = ([numbers.setdefault(word, len(numbers)) for word in words] for words in (said, wanted))
    return _measure(int(LCSseq.similarity(mine, theirs)), len(mine), len(theirs))


def _measure(n_common: int, n_said: int, n_wanted: int) -> Rouge:
    precision, recall = (n_common / n if n else 0.0 for n in (n_said, n_wanted))
    return Rouge(recall, precision, 2.0 * ((precision * recall) / (precision + recall + 1e-8)))
