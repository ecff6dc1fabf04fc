"""Names on charts for the strict scorer: when two of them are the same, and when a sentence says one.

A slip of the pen is forgiven, another name is not. Names that differ by a letter or two are often two
(Niger and Nigeria, Ireland and Iceland, Male and Female), so similarity as a number says too little.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from eyechart.score.fold import fold
from eyechart.score.options import ARTICLE, is_negated, is_part_of_more
from eyechart.score.statement import bare

_MIN_SLIP_CHARS = 5  # in a shorter word, another letter makes another word
_MAX_OTHER_WORDS = 3  # of a second name: "Japan and South Korea"
_FILLERS = frozenset({"a", "an", "the", "of", "in", "for", "and"})
_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_SHORT_MONTHS = {month[:3]: month for month in _MONTHS} | {"sept": "september"}
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_SPACED_SIGN = re.compile(r"(?<=\d) (?=[+%])")
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*|[+%&$€£<>≥≤]")
_UNSPACED = re.compile(r"[\u2e80-\u9fff]")
_ASIDE = re.compile(
    r"\b(?:followed by|ahead of|compared (?:to|with)|unlike|versus|vs\.?)\s+(?:\w+\s+){0,2}$"
    r"|(?:, |\band |\bor )$"
)
_GOES_ON = re.compile(r",? (?:and|or) ")
_DEGREE = re.compile(r"\b(?:strongly|somewhat|slightly|very|extremely|fairly|partly|mostly)\s$")
_OR = re.compile(r"\bor (?:\w+ )?$")


def same_words(gold: str, said: str) -> bool:
    """Whether two short texts say the same: alike but for case, marks, a plural and a slip of the pen.

    >>> same_words("Korea", "korea."), same_words("Japan", "Japn"), same_words("Health care", "healthcare")
    (True, True, True)
    >>> same_words("Group 1", "Group 2"), same_words("Male", "Female"), same_words("Ireland", "Iceland")
    (False, False, False)
    """
    one, other = _words(gold), _words(said)
    if not all(any(word[0].isalnum() for word in words) for words in (one, other)):  # signs, or nothing
        return bool(_plain(gold)) and _plain(gold) == _plain(said)
    if "".join(one) == "".join(other):
        return True
    one, other = _content(one), _content(other)
    return len(one) == len(other) and all(map(_same_word, one, other))


def _words(text: str) -> list[str]:
    """Words, numbers and the signs that change a meaning, without accents."""
    plain = _plain(text)
    if not plain.isascii():
        plain = "".join(
            char for char in unicodedata.normalize("NFD", plain) if not unicodedata.combining(char)
        )
    return _WORD.findall(_APOSTROPHE.sub("", plain).replace("&", " and "))


def _plain(text: str) -> str:
    """No case, no wrapping, no article before it. The A of "Group A" is no article."""
    plain = " ".join(unicodedata.normalize("NFKC", fold(text)).casefold().split())
    plain = bare(plain) or plain
    return ARTICLE.sub("", plain, count=1) if ARTICLE.match(plain) else plain


def _content(words: list[str]) -> list[str]:
    """Without the words that carry no meaning; the last one does, as in "Vitamin A"."""
    kept = [word for word in words[:-1] if word not in _FILLERS]
    return [_SHORT_MONTHS.get(word, word) for word in (*kept, words[-1])]


def _same_word(one: str, other: str) -> bool:
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < 3 or not (one.isalpha() and other.isalpha()) or one[0] != other[0]:
        return False
    if longer in (f"{shorter}s", f"{shorter}es") or (shorter[:-1] + "ies" == longer and shorter[-1] == "y"):
        return True
    return len(shorter) + 1 >= _MIN_SLIP_CHARS and _is_slip(shorter, longer)


def _is_slip(shorter: str, longer: str) -> bool:
    """One letter left out, two in the wrong order, or ``s`` for ``z``. Another letter is another word."""
    if len(shorter) == len(longer):
        places = [k for k, (a, b) in enumerate(zip(shorter, longer, strict=True)) if a != b]
        if len(places) == 1:
            return {shorter[places[0]], longer[places[0]]} == {"s", "z"}
        return [b - a for a, b in pairwise(places)] == [1] and (
            shorter[places[0]], shorter[places[1]]) == (longer[places[1]], longer[places[0]])  # fmt: skip
    first = next((k for k, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    return len(longer) == len(shorter) + 1 and longer[first + 1 :] == shorter[first:]


def holds_words(gold: str, said: str) -> bool:
    """Whether a text says the gold in whole words, and neither denies it nor names it beside another.

    >>> holds_words("yes", "yesterday")
    False
    >>> holds_words("Japan", "It is Japan, with 45%."), holds_words("Japan", "It is not Japan.")
    (True, False)
    >>> holds_words("Japan", "China, followed by Japan"), holds_words("Japan", "China, Japan and Peru")
    (False, False)
    """
    wanted, text = _plain(gold), _SPACED_SIGN.sub("", _plain(said))
    if not wanted:
        return False
    found = list(re.finditer(rf"(?<![\w.,])(?<!\w-){re.escape(wanted)}(?!\w|[.,]\d|\s?%|-\w)", text))
    if not found and _UNSPACED.search(wanted):
        found = list(re.finditer(re.escape(wanted), text))
    return any(
        not is_negated(text, match.start())
        and not is_part_of_more(text, *match.span())
        and not _is_beside(text, *match.span())
        for match in found
    )


def _is_beside(text: str, start: int, end: int) -> bool:
    """Whether it stands there as one of several, or as what something else is compared with."""
    before, goes_on = text[max(0, start - 48) : start], _GOES_ON.match(text, end)
    if goes_on and not start and len(text[goes_on.end() :].split()) <= _MAX_OTHER_WORDS:
        return True
    if _OR.search(before) or _DEGREE.search(before) or (goes_on and goes_on.group().endswith("or ")):
        return True
    aside = _ASIDE.search(before)
    if aside is None:
        return False
    return goes_on is not None if aside.group() == ", " else True
