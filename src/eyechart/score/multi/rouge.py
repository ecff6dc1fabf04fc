"""ROUGE-L over Chinese words: how MULTI scores open questions.

The numbers are those of `jieba` 0.42 words in `rouge_chinese` 1.0: the longest common subsequence of the two
word lists, as the F of its shares. The subsequence is found by rapidfuzz, some hundred times faster.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from eyechart.errors import MissingExtra
from eyechart.quiet import quiet

# Sentences end after these, unless a closing quote follows. The cut eats the character behind the mark
# (a blank, between words), so that the piece which follows begins with it.
_SENTENCE_END = re.compile(r"([。！？?]|\.{6})([^”’])")

# jieba copies its path at each character of a run that its dictionary does not know: 50,000 of them take 9 s.
# So longer runs are cut here. No real answer has as many characters without a punctuation mark.
_HAN_RUN = re.compile(r"[\u4e00-\u9fd5]+")
_LONGEST_RUN = 2000


def rouge_l(prediction: str, label: str) -> float:
    """The F of ROUGE-L. The official formula keeps it just below 1 even for the same text.

    >>> round(rouge_l("今天天气很好", "今天天气不错。"), 6), rouge_l("略", "略")
    (0.333333, 0.999999995)
    """
    from rapidfuzz.distance import LCSseq

    numbers: dict[str, int] = {}
    said, wanted = (
        [numbers.setdefault(token, len(numbers)) for token in tokens(text)] for text in (prediction, label)
    )
    if not said or not wanted:
        return 0.0
    common = LCSseq.similarity(said, wanted)
    precision, recall = common / len(said), common / len(wanted)
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def tokens(text: str) -> list[str]:
    r"""The words of a text as they are compared.

    Quirk kept: a sentence of nothing but white space is one empty word, so that a blank line after a full
    stop costs two.

    >>> tokens("第一段。\n\n第二段。")
    ['第一段', '。', '', '', '第二段', '。']
    """
    cut = _tokenizer().cut
    words = (word for piece in _pieces(text) for word in cut(piece))
    spaced = _SENTENCE_END.sub(r"\1\n\2", " ".join(words)).rstrip()
    pieces = [piece.split() or [""] for piece in spaced.split("\n") if piece]
    return [token for piece in pieces for token in piece]


def _pieces(text: str) -> Iterator[str]:
    """Cut runs of Chinese characters that are too long for jieba.

    >>> [len(piece) for piece in _pieces("光" * 4500 + "。")]
    [2000, 2000, 501]
    """
    begin = 0
    for run in _HAN_RUN.finditer(text):
        for end in range(run.start() + _LONGEST_RUN, run.end(), _LONGEST_RUN):
            yield text[begin:end]
            begin = end
    yield text[begin:]


@functools.cache
def _tokenizer() -> Any:
    """A tokenizer of our own with jieba's dictionary.

    The global one logs to stderr, is open to changes by others, and keeps a cache in the shared temporary
    folder that it reads back without a check. Building this one takes about a second, once.
    """
    jieba = require_words()
    made = jieba.Tokenizer()
    with quiet():
        made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return made


def require_words() -> Any:
    """The library that finds words in Chinese text; `MissingExtra` where it is not installed."""
    try:
        with quiet():
            import jieba
    except ImportError as error:
        raise MissingExtra.named("multi", needed_for="MULTI's open questions") from error
    return jieba
