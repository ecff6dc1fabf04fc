"""The words of Chinese text, by jieba 0.42: an extra, imported when a text needs it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any

from eyechart.errors import MissingExtra
from eyechart.files import suppress_warnings

# jieba copies its path at each character of a run that its dictionary does not know: 50,000 of them take 9 s.
# So longer runs are cut here. No real answer has as many characters without a punctuation mark.
_HAN_RUN = re.compile(r"[\u4e00-\u9fd5]+")
_LONGEST_RUN = 2000


def cut_words(text: str) -> Iterator[str]:
    """The words of a text, in order; spaces and punctuation marks are words."""
    cut = _tokenizer().cut
    return (word for piece in _split_runs(text) for word in cut(piece))


def _split_runs(text: str) -> Iterator[str]:
    """Cut runs of Chinese characters that are too long for jieba.

    >>> [len(piece) for piece in _split_runs("光" * 4500 + "。")]
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
    """A separate tokenizer with jieba's dictionary.

    The global one logs to stderr, can be changed by other code, and keeps a cache in the shared temporary
    folder that it reads back unchecked. Building this one takes about a second, once.
    """
    made = require_jieba("the words of Chinese text").Tokenizer()
    with suppress_warnings():
        made.FREQ, made.total = made.gen_pfdict(made.get_dict_file())
    made.initialized = True
    return made


def require_jieba(needed_for: str) -> Any:
    """The library that finds words in Chinese text; `MissingExtra` if it is not installed."""
    try:
        with suppress_warnings():
            import jieba
    except ImportError as error:
        raise MissingExtra.named("multi", needed_for=needed_for) from error
    return jieba
