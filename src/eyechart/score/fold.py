"""One way to write each character: full-width letters, fancy quotes and styled letters become plain.

Folding never moves a character, so a place found in the folded text is a place in the reply.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from string import ascii_lowercase, ascii_uppercase

# The compatibility forms Unicode does not unify, but that people type for the same mark.
_ALIKE = {
    **dict.fromkeys("‘’‚‛′´", "'"),
    **dict.fromkeys("“”„‟″「」『』«»", '"'),
    **dict.fromkeys("−‐‑‒–—―", "-"),
    **dict.fromkeys("【〔〖", "["),
    **dict.fromkeys("】〕〗", "]"),
    **dict.fromkeys("《〈", "<"),
    **dict.fromkeys("》〉", ">"),
    **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff", " "),  # invisible, yet they glue words together
}
# Tokens of chat templates that servers leave in replies: <|im_end|>, <|begin_of_box|>, </s>.
_TEMPLATE_TOKEN = re.compile(r"<\|[^|<>\n]{1,40}\|>|</?s>")
# "x²" is not "x2" and "5½" is not "51/2": readers of numbers want these as they are.
_KEPT_FORMS = ("<super>", "<sub>", "<fraction>")


def fold(text: str) -> str:
    """The same text, each character in its plain form where it has one of the same length.

    >>> fold("答案是Ｂ。 “𝐁” 10⁶")
    '答案是B。 "B" 10⁶'

    Tokens of chat templates become blanks.

    >>> fold("B</s>")
    'B    '
    """
    if "<" in text:
        text = _TEMPLATE_TOKEN.sub(lambda token: " " * len(token.group()), text)
    if text.isascii():
        return text
    return text.translate({ord(char): plain for char in set(text) if (plain := _plain(char)) != char})


def lower(text: str) -> str:
    """The text with A to Z in lower case, nothing moved. Patterns over it need no flag, which is much faster.

    >>> lower("The Ｂ in İzmir")
    'the Ｂ in İzmir'
    """
    return text.lower() if text.isascii() else text.translate(_LOWER)


_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


@lru_cache(maxsize=8192)
def _plain(char: str) -> str:
    if char in _ALIKE:
        return _ALIKE[char]
    if unicodedata.decomposition(char).startswith(_KEPT_FORMS):
        return char
    plain = unicodedata.normalize("NFKC", char)
    return _ALIKE.get(plain, plain) if len(plain) == 1 else char
