"""Words: when two short texts say the same.

Forgiven are case, width, articles, wrapping, a plural, a hyphen or a space inside a word, accents, British
and American spelling, "&" for "and", and the order of a list whose gold is a list. More than the gold is
never the gold. Whether a whole sentence states a gold is the subject of `sentence`.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from eyechart.score.reading import normalise_characters, unwrap
from eyechart.score.vocabulary import ENDING_IE, ENDING_OE, KEPT_SPELLINGS, SPELLINGS

MAX_ELEMENTS = 60  # of a list
SHORT = 200  # characters of texts whose forms are remembered: golds, and most replies
_ARTICLES = re.compile(r"(?<![^\s(\"'/-])(?:an?|the)\s+(?=\S)", re.IGNORECASE)  # not the A of "Vitamin A"


def normalise(text: str) -> str:
    """Text as we compare it: NFKC, no case, single spaces, no wrapping, no articles.

    >>> normalise("**The  Eiffel Tower.**"), normalise("Ｐａｒｉｓ。"), normalise("“A”")
    ('eiffel tower', 'paris', 'a')
    """
    plain = " ".join(unicodedata.normalize("NFKC", normalise_characters(text)).casefold().split())
    plain = " ".join(unwrap(plain).split()) or plain
    return _ARTICLES.sub("", plain).strip() or plain


def is_same_wording(said: str, gold: str) -> bool:
    """Whether two short texts say the same, in other forms of the same words.

    >>> pairs = [("dogs", "dog"), ("traffic-light", "traffic light"), ("cafe", "café"), ("grey", "gray")]
    >>> [is_same_wording(said, gold) for said, gold in pairs]
    [True, True, True, True]
    >>> pairs = [("hot dog", "dog"), ("7", "007"), ("12B", "12A"), ("Parisian", "Paris"), ("C++", "C")]
    >>> [is_same_wording(said, gold) for said, gold in pairs]
    [False, False, False, False, False]
    """
    one, other = normalise(said), normalise(gold)
    if one == other:
        return bool(one)
    if len(one) > 4 * len(other) + 40 or not one or not other:
        return False
    words, wanted = simplify(one), simplify(other)
    if not wanted or not words:
        return False
    if (
        words == wanted
        or "".join(words) == "".join(wanted)
        or _SQUEEZED.sub("", one) == _SQUEEZED.sub("", other)
    ):
        return True
    if len(words) == len(wanted) and all(map(_is_same_but_typo, words, wanted)):
        return True
    if (decade := _DECADE.fullmatch(other)) and _SHORT_DECADE.sub("", one) in (
        decade[1],
        _DECADES.get(decade[1], ""),
    ):
        return True
    if _RATIO.fullmatch(other) and _RATIO_SIGN.sub(":", one) == _RATIO_SIGN.sub(":", other):
        return True
    if _CODE.search(other) and _squeeze_code(said) == _squeeze_code(gold):
        return True
    return is_same_list(said, gold)


_SQUEEZED = re.compile(r"['\s-]+")
_DECADE = re.compile(r"(?:19|20)(\d0)'?s")
_SHORT_DECADE = re.compile(r"^'|'?s$")
_DECADES = {
    "20": "twentie",
    "30": "thirtie",
    "40": "fortie",
    "50": "fiftie",
    "60": "sixtie",
    "70": "seventie",
    "80": "eightie",
    "90": "ninetie",
}
_RATIO = re.compile(r"\d{1,6}\s?:\s?\d{1,6}")
_RATIO_SIGN = re.compile(r"\s?(?::|\bto\b)\s?")
_CODE = re.compile(r"\d.*[^\W\d_]|[^\W\d_].*\d", re.DOTALL)  # letters and digits: 12A, AB-1234
_MIN_TYPO_CHARS = 9  # in a shorter word, another letter makes another word


def _squeeze_code(text: str) -> str:
    return re.sub(r"[\s-]+", "", unwrap(normalise_characters(text)).casefold())


def _is_same_but_typo(one: str, other: str) -> bool:
    """Whether two long words differ by a letter left out, or by two swapped, before their ending."""
    if one == other:
        return True
    shorter, longer = sorted((one, other), key=len)
    if (
        len(longer) < _MIN_TYPO_CHARS
        or len(longer) - len(shorter) > 1
        or not (one.isalpha() and other.isalpha())
    ):
        return False
    first = next(
        (place for place, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter)
    )
    if not 0 < first < len(shorter) - 2:
        return False
    if len(longer) > len(shorter):
        return longer[first + 1 :] == shorter[first:]
    swapped = longer[:first] + longer[first + 1] + longer[first] + longer[first + 2 :]
    return swapped == shorter


def simplify(text: str) -> tuple[str, ...]:
    """The words of a normalised text, each in one form: no accents, American spelling, singular."""
    return _simplified(text) if len(text) <= SHORT else _simplified.__wrapped__(text)


@lru_cache(maxsize=8192)
def _simplified(text: str) -> tuple[str, ...]:
    plain = strip_accents(text).replace("&", " and ")
    plain = _ABBREVIATION.sub(lambda found: found.group().replace(".", ""), plain)
    words = [word for part in _SPLIT.split(plain) if (word := part.strip("'\""))]
    return tuple(
        _simplify_word(word)
        for place, word in enumerate(words, start=1)
        if word not in ("a", "an", "the") or place == len(words)
    )


_ABBREVIATION = re.compile(r"\b[^\W\d_](?:\.[^\W\d_])+\b\.?")  # U.S.A.
_SPLIT = re.compile(
    r"[\s,;:!?()\[\]{}\"“”。，、；：！？·|*_`]+|(?<=[^\W\d_])[-./](?=[^\W\d_])|\.(?=\s|$)|(?<=[^\W\d_])[-/](?=\d)"
    r"|(?<=\d)[-](?=[^\W\d_])"
)


def strip_accents(text: str) -> str:
    """Latin and Greek letters without their accents; other scripts as they are.

    >>> strip_accents("café, São Paulo, Пушкин, が")
    'cafe, Sao Paulo, Пушкин, が'
    """
    if text.isascii():
        return text
    return "".join(_LIGATURES.get(char) or _bare(char) for char in unicodedata.normalize("NFC", text))


_LIGATURES = {"ø": "o", "ł": "l", "đ": "d", "æ": "ae", "œ": "oe", "ı": "i", "ё": "е", "ß": "ss", "’": "'"}


@lru_cache(maxsize=4096)
def _bare(char: str) -> str:
    if "\u00c0" <= char <= "\u03ff" or "\u1e00" <= char <= "\u1fff":
        return unicodedata.normalize("NFD", char)[0]
    return char


_OUR = re.compile(
    r"(?<=[lnvbm])our(?=$|s$|ed$|ing$|ful$|able$|ite$)|(?<=(?:rd|ap|um|od|rm|im|th))our(?=$|s$|ed$)"
    r"|(?<=beh)aviour"
)
_ISE = re.compile(r"(?<=[^\W\d_]{4})(?:is(?=e$|ed$|es$|ing$|ation$|er$)|ys(?=e$|ed$|ing$|er$))")
_DOUBLED = re.compile(r"(?<=[aeiou])ll(?=ed$|ing$|er$|ers$)")
_NOT_PLURAL = ("ss", "us", "is", "news")


def _simplify_word(word: str) -> str:
    if word in SPELLINGS:
        return SPELLINGS[word]
    if len(word) < 3 or not word.isascii() or not word.isalpha() or word in KEPT_SPELLINGS:
        return word
    if word.endswith("s") and len(word) > 3 and not word.endswith(_NOT_PLURAL):
        word = _singular(word)
    word = SPELLINGS.get(word, word)
    if word in KEPT_SPELLINGS:
        return word
    word = _OUR.sub(lambda found: "avior" if found.group() == "aviour" else "or", word)
    word = _ISE.sub(lambda found: found.group()[0] + "z", word)
    return _DOUBLED.sub("l", word)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4 and word[:-1] not in ENDING_IE:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")) or (word.endswith("uses") and word[-5] not in "oa"):
        return word[:-2]
    if word.endswith("oes") and word[:-1] not in ENDING_OE:
        return word[:-2]
    return word[:-1]


# -- Lists

_SEPARATOR = re.compile(
    r"\s*(?:,\s*(?:and|or)?\s|[;；、，\n•]|\s&\s|\band\b|\bplus\b|(?<=[^\W\d]),(?=[^\W\d])|\s/\s|和|及|以及"
    r"|\bund\b|\bet\b|\by\b)\s*",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)])\s+")


def split_list(text: str) -> list[str]:
    r"""The elements of a list as people write it; one element where it is none.

    >>> split_list("red, white and blue"), split_list("- apple\n- pear"), split_list("Paris")
    (['red', 'white', 'blue'], ['apple', 'pear'], ['Paris'])
    """
    lines = text.split("\n")
    plain = "\n".join(_BULLET.sub("", line) for line in lines) if len(lines) > 1 else text
    return [element for part in _SEPARATOR.split(plain)[: MAX_ELEMENTS + 1] if (element := part.strip())]


def is_same_list(said: str, gold: str) -> bool:
    """Whether both are lists with the same elements, in any order; coordinates like (3, 4) are not lists.

    >>> is_same_list("blue, red", "red and blue"), is_same_list("(4, 3)", "(3, 4)")
    (True, False)
    """
    if gold.strip().startswith(("(", "[")) or len(gold) > 600 or len(said) > 1000:
        return False
    wanted = split_list(unwrap(gold))
    if len(wanted) < 2 or len(wanted) > MAX_ELEMENTS:
        return False
    elements = sorted(map(_element, wanted))
    bodies = [unwrap(said)]
    if (verb := list(_LIST_VERB.finditer(bodies[0]))) and not _LIST_DENIED.search(bodies[0]):
        bodies.append(unwrap(bodies[0][verb[-1].end() :]))  # "The colours are red, white and blue."
    for body in bodies:
        stated = split_list(body)
        if len(stated) == len(wanted) and sorted(map(_element, stated)) == elements:
            return True
    return False


_LIST_VERB = re.compile(
    r"\b(?:is|are|were|was|include|includes|contains?|shows?|see|says|has|have)\b:?\s|:\s|(?:是|有|为|包括)",
    re.IGNORECASE,
)
_LIST_DENIED = re.compile(r"\b(?:not|no|never|except|but|without|or)\b|n't\b|不|没", re.IGNORECASE)


def _element(text: str) -> tuple[str, ...]:
    return simplify(normalise(text))
