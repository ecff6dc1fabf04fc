"""BLEU and ROUGE of one reply, as EvalScope 1.14.1 computes them for `general_vqa`.

BLEU is nltk's `sentence_bleu` for a single n at a time, without smoothing; ROUGE is `rouge_chinese` 1.0.3.
Chinese texts are split into words by jieba. Other texts are split at spaces for ROUGE, and by nltk's
`word_tokenize` for BLEU, whose sentence model (``punkt_tab``) is downloaded separately.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter
from collections.abc import Sequence

from eyechart.errors import MissingExtra, UsageError
from eyechart.score import rouge
from eyechart.score.chinese_words import cut_words

MAX_N = 4
_CHINESE = re.compile("[\u4e00-\u9fa5]")
Values = dict[str, float]


def is_chinese(text: str) -> bool:
    """Whether a text is split into words by jieba: one Chinese character is enough."""
    return _CHINESE.search(text) is not None


# -- BLEU


def compute_bleu(said: str, wanted: str) -> Values:
    """BLEU of 1-grams to 4-grams, each for itself."""
    return count_bleu(
        *(list(cut_words(text)) if is_chinese(text) else _tokenize(text) for text in (said, wanted))
    )


def count_bleu(said: Sequence[str], wanted: Sequence[str]) -> Values:
    """BLEU of words.

    Quirk kept: if some 1-gram matches, an n without a match is the smallest float instead of 0.

    >>> count_bleu(["a", "red", "bus"], ["a", "red", "car"])["bleu-2"]
    0.5
    >>> count_bleu(["bus"], ["car"])["bleu-1"], count_bleu(["bus"], ["bus"])["bleu-2"] < 1e-300
    (0, True)
    """
    shares: list[float] = []
    for n in range(1, MAX_N + 1):
        mine, theirs = (
            Counter(zip(*(words[at:] for at in range(n)), strict=False)) for words in (said, wanted)
        )
        n_right = sum((mine & theirs).values())
        shares.append(n_right / mine.total() if n_right else sys.float_info.min)
        if n == 1 and not n_right:
            return {f"bleu-{each}": 0 for each in range(1, MAX_N + 1)}
    brevity = 1.0 if len(said) > len(wanted) else math.exp(1 - len(wanted) / len(said))
    return {f"bleu-{n}": brevity * math.exp(math.log(share)) for n, share in enumerate(shares, 1)}


def _tokenize(text: str) -> list[str]:
    from nltk.tokenize import word_tokenize

    return list(word_tokenize(text))


def require_bleu() -> None:
    """Refuse BLEU without nltk or its sentence model."""
    try:
        _tokenize("One. Two.")
    except ImportError as err:
        raise MissingExtra.named("evalscope", needed_for="BLEU scores") from err
    except LookupError as err:
        raise UsageError(
            "BLEU needs nltk's sentence model punkt_tab, which is not on this machine",
            hint="python -m nltk.downloader punkt_tab (or set NLTK_DATA to the folder that has it)",
        ) from err


# -- ROUGE


def compute_rouge(said: str, wanted: str) -> Values:
    """ROUGE-1, ROUGE-2 and ROUGE-L: recall, precision and F-measure. All are 0 if a text is blank.

    >>> values = compute_rouge("a red bus", "a red car")
    >>> round(values["Rouge-L-R"], 3), values["Rouge-2-P"]
    (0.667, 0.5)
    """
    mine, theirs = (
        rouge.split_words(" ".join(cut_words(text)) if is_chinese(text) else text) for text in (said, wanted)
    )
    found = {f"Rouge-{n}": rouge.compute_rouge_n(mine, theirs, n) for n in (1, 2)}
    found["Rouge-L"] = rouge.compute_rouge_l(mine, theirs)
    return {
        f"{name}-{letter}": value
        for name, values in found.items()
        for letter, value in zip("RPF", values, strict=True)
    }
