"""Words: when two short texts say the same.

Forgiven are case, width, articles, wrapping, a plural, a hyphen or a space inside a word, accents,
British and American spelling, "&" for "and", other names of some countries, and the order of a list whose
gold is a list. Signs, operators and brackets are not forgiven: "-5" is not "5", "p/q" is not "p*q". More
than the gold is never the gold.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from eyechart.readers.clauses import to_plain
from eyechart.readers.languages import load_languages
from eyechart.replies import normalise_characters, unwrap

MAX_LONGER_CHARS = 400  # a text this much longer than the gold says more
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
    >>> pairs = [("hot dog", "dog"), ("7", "007"), ("C-", "C"), ("(-4, 1)", "(4, 1)"), ("7-2", "72")]
    >>> [is_same_wording(said, gold) for said, gold in pairs]
    [False, False, False, False, False]
    """
    if len(said) > 4 * len(gold) + MAX_LONGER_CHARS:
        return False
    if list_signs(said) != list_signs(gold):
        return _is_same_formula(said, gold)
    one, other = normalise(said), normalise(gold)
    if one == other:
        return bool(one)
    words, wanted = simplify(one), simplify(other)
    if not wanted or not words or len(one) > 4 * len(other) + 40:
        return False
    names, decade = _list_names(), _DECADE.fullmatch(other)
    return (
        _SQUEEZED.sub("", one) == _SQUEEZED.sub("", other)
        or (len(words) == len(wanted) and all(map(_is_same_but_typo, words, wanted)))
        or names.get(" ".join(words), "") == names.get(" ".join(wanted))
        or (decade and _SHORT_DECADE.sub("", one) in (decade[1], _DECADES.get(decade[1])))
        or (_RATIO.fullmatch(other) and _RATIO_SIGN.sub(":", one) == _RATIO_SIGN.sub(":", other))
        or is_same_list(said, gold)
        or _is_same_formula(said, gold)
    )


_SQUEEZED = re.compile(r"['\s-]+")
_DECADE = re.compile(r"(?:19|20)(\d0)'?s")
_SHORT_DECADE = re.compile(r"^'|'?s$")
_DECADES = {
    "20": "twentie", "30": "thirtie", "40": "fortie", "50": "fiftie", "60": "sixtie", "70": "seventie",
    "80": "eightie", "90": "ninetie",
}  # fmt: skip
_RATIO = re.compile(r"\d{1,6}\s?:\s?\d{1,6}")
_RATIO_SIGN = re.compile(r"\s?(?::|\bto\b)\s?")
_MIN_TYPO_CHARS = 9  # in a shorter word, another letter makes another word

# What distinguishes answers: operators, comparisons, brackets of intervals, a minus beside a digit.
_SIGN = re.compile(
    r"[+×÷=<>≤≥≠±^√%‰#·]|(?<![\w)])-(?=[\w.(√])|(?<=\d)\s?-\s?(?=[\d(])|(?<=[a-z])[-+](?=$|[\s.,)])|(?<=\w)\*(?=\w)"
    r"|(?<![a-z]{2})(?<=\w)/(?=\w)(?!\w[a-z])|\[(?=\s?-?\d)|(?<=\d)\s?\]|\((?=\s?-?\d[^()]*,)|(?<=\d)\)|!(?=$|\s)(?<=\d!)",
    re.IGNORECASE,
)


def list_signs(text: str) -> list[str]:
    """The signs of a text that distinguish it from another one with the same words.

    >>> list_signs("y = -7"), list_signs("well-known"), list_signs("[1, 9)")
    (['=', '-'], [], ['[', ')'])
    """
    plain = to_plain(text).strip()
    inner = plain.strip("*`\"' .,;:") if _OUTER_SIGN.search(plain) else unwrap(plain)
    return [found.group().strip() for found in _SIGN.finditer(inner)]


_OUTER_SIGN = re.compile(r"[\d)\]%!+-]\W{0,9}$|^\W{0,9}[\[(+-]")
_FORMULA = re.compile(r"[√π^=²³*·×/\\]|sqrt|\bpi\b|[a-z]\d|\d[a-z]\b", re.IGNORECASE)


def _is_same_formula(said: str, gold: str) -> bool:
    r"""Whether two formulas are written differently: 3√2 and 3*sqrt(2), 25\pi and 25π; "5" is "n = 5".

    >>> _is_same_formula("3*sqrt(2)", "3√2"), _is_same_formula("5", "n = 5"), _is_same_formula("p*q", "p/q")
    (True, True, False)
    """
    if len(said) > SHORT or len(gold) > SHORT or not _FORMULA.search(gold + said):
        return False
    one, other = _to_formula(said), _to_formula(gold)
    if "=" in one and "=" in other:
        return one == other
    values = [re.fullmatch(r"(?:[a-z]\w{0,2}=)?([^=]*\d[^=]*)", formula) for formula in (one, other)]
    return values[0] is not None and values[1] is not None and values[0][1] == values[1][1]


def _to_formula(text: str) -> str:
    plain = unicodedata.normalize("NFKD", to_plain(text)).casefold()
    plain = re.sub(
        r"sqrt\s*\(([^()]*)\)|√\s*\(([^()]*)\)", lambda found: "√" + (found[1] or found[2] or ""), plain
    )
    plain = re.sub(r"\bpi\b|(?<=\d)pi\b", "π", plain.replace("**", "^"))
    plain = re.sub(r"(?<=[\d)])[*·×\s]+(?=[√πa-z(])", "", plain)
    return re.sub(r"[\s$*·×]+", "", plain).strip(".,;:\"'`")


def _is_same_but_typo(one: str, other: str) -> bool:
    """Whether two long words differ by a letter left out, or by two swapped, before their ending."""
    if one == other:
        return True
    if max(len(one), len(other)) < _MIN_TYPO_CHARS or not (one.isalpha() and other.isalpha()):
        return False
    has_ends = one[0] == other[0] and one[-2:] == other[-2:]
    if not has_ends or (len(one) == len(other) and sorted(one) != sorted(other)):
        return False
    from rapidfuzz.distance import OSA

    return OSA.distance(one, other) == 1


# -- One form of every word


def simplify(text: str) -> tuple[str, ...]:
    """The words of a normalised text, each in one form: no accents, American spelling, singular."""
    return _simplified(text) if len(text) <= SHORT else _simplified.__wrapped__(text)


@lru_cache(maxsize=8192)
def _simplified(text: str) -> tuple[str, ...]:
    plain = strip_accents(text).replace("&", " and ")
    plain = _ABBREVIATION.sub(lambda found: found.group().replace(".", ""), plain)
    words = [word for part in _SPLIT.split(plain) if (word := part.strip("'\""))]
    return tuple(
        simplify_word(word)
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
    r"(?<=[lnvbm])our(?=$|s$|ed$|ing$|ful$|able$|ite$)|(?<=(?:rd|ap|um|od|rm|im|th))our(?=$|s$|ed$)|(?<=beh)aviour"
)
_ISE = re.compile(r"(?<=[^\W\d_]{4})(?:is(?=e$|ed$|es$|ing$|ation$|er$)|ys(?=e$|ed$|ing$|er$))")
_DOUBLED = re.compile(r"(?<=[aeiou])ll(?=ed$|ing$|er$|ers$)")


def simplify_word(word: str) -> str:
    """One form of a word: "colours" and "color" are the same."""
    spellings, kept = _list_spellings()
    if word in spellings:
        return spellings[word]
    if len(word) < 3 or not word.isascii() or not word.isalpha() or word in kept:
        return word
    if word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is", "news")):
        word = _to_singular(word, kept)
    word = spellings.get(word, word)
    word = _OUR.sub(lambda found: "avior" if found.group() == "aviour" else "or", word)
    word = _DOUBLED.sub("l", _ISE.sub(lambda found: found.group()[0] + "z", word))
    return word[:-2] + "er" if word.endswith(("tre", "bre")) else word  # metre, fibre


def _to_singular(word: str, kept: frozenset[str]) -> str:
    if word[:-1] in kept:  # movies, shoes
        return word[:-1]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    is_bus = word.endswith("uses") and word[-5:-4] not in ("o", "a", "")
    return word[:-2] if is_bus or word.endswith(("sses", "shes", "ches", "xes", "oes")) else word[:-1]


@lru_cache(maxsize=1)
def _list_spellings() -> tuple[Mapping[str, str], frozenset[str]]:
    table = load_languages()["en"]
    spellings = dict(entry.split("=") for entry in table["spellings"])
    for form, *others in (entry.split("/") for entry in (*table["months"], *table["ordinals"])):
        spellings |= dict.fromkeys(others, form)  # january/jan, first/1st
    return spellings, frozenset(table["kept"])


@lru_cache(maxsize=1)
def _list_names() -> Mapping[str, str]:
    """Other names of the same thing: "uk" and "britain"."""
    groups = (entry.split("=") for entry in load_languages()["en"]["same_names"])
    return {" ".join(simplify(name)): names[0] for names in groups for name in names}


def list_other_names(text: str) -> list[str]:
    """The other names of what a text names.

    >>> list_other_names("UK")
    ['united kingdom', 'britain', 'great britain']
    """
    key = _list_names().get(" ".join(simplify(normalise(text))))
    groups = (entry.split("=") for entry in load_languages()["en"]["same_names"])
    return [name for names in groups if names[0] == key for name in names if name != normalise(text)]


# -- Lists

_SEPARATOR = re.compile(
    r"(?:,\s*(?:and|or)?\s|[;；、，\n•]|\s&\s|\band\b|\bplus\b|(?<=[^\W\d]),(?=[^\W\d])|\s/\s|和|及|以及|\bund\b|\bet\b"
    r"|\by\b)",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^[^\S\n]*(?:[-*•]|\(?\d{1,2}[.)])[^\S\n]+", re.MULTILINE)


def split_list(text: str) -> list[str]:
    r"""The elements of a list as people write it; one element where it is none.

    >>> split_list("red, white and blue"), split_list("- apple\n- pear"), split_list("Paris")
    (['red', 'white', 'blue'], ['apple', 'pear'], ['Paris'])
    """
    plain = _BULLET.sub("", text) if "\n" in text else text
    return [element for part in _SEPARATOR.split(plain) if (element := part.strip())][: MAX_ELEMENTS + 1]


def is_same_list(said: str, gold: str) -> bool:
    """Whether both are lists with the same elements, in any order; coordinates like (3, 4) are not lists.

    >>> is_same_list("blue, red", "red and blue"), is_same_list("1, 3, 5", "1, 3")
    (True, False)
    """
    if gold.strip().startswith(("(", "[")) or len(gold) > 600 or len(said) > 1000:
        return False
    wanted = split_list(unwrap(gold))
    if not 2 <= len(wanted) <= MAX_ELEMENTS:
        return False
    bodies = [unwrap(said)]
    verbs = list(_LIST_VERB.finditer(bodies[0]))
    if verbs and not _LIST_DENIED.search(bodies[0]):
        bodies.append(unwrap(bodies[0][verbs[-1].end() :]))  # "The colours are red, white and blue."
    elements, *others = (
        sorted((simplify(normalise(one)), list_signs(one)) for one in listed)
        for listed in (wanted, *map(split_list, bodies))
    )
    return elements in others


_LIST_VERB = re.compile(
    r"\b(?:is|are|were|was|include|includes|contains?|shows?|see|says|has|have)\b:?\s|:\s|(?:是|有|为|包括)",
    re.IGNORECASE,
)
_LIST_DENIED = re.compile(r"\b(?:not|no|never|except|but|without|or)\b|n't\b|不|没", re.IGNORECASE)
