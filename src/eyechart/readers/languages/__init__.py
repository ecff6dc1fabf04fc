"""The words that readers know: one data file per language, phrases by what they do in a reply.

A reader never asks which language it reads. It asks what a word does (its roles): names the answer, denies
what follows, begins a condition. A line of a language's file is a role and its phrases, separated by ``|``,
in lower case; the longest phrase wins, so "no doubt" is not "no". In scripts without spaces between words a
phrase is found wherever its characters stand. A phrase stands in a file because a labelled reply needs it.

Languages in Latin letters share words that mean different things ("so", "die"): a reply is read in the
language that has most of its words, or in several if they have equally many.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

Phrase = tuple[tuple[str, ...], int]

_NAMES = re.findall(
    r"\w+",
    """
answer option listing be be_last it choose think right only so because wrong too not not_next not_last maybe
none also if report person say according source first look wait withdraw though but else neutral would i
that or and article small yes no true false bound about label adjective function opinion present then total
""",
)
ROLES: Mapping[str, int] = {name: 1 << place for place, name in enumerate(_NAMES)}

ANSWER, OPTION, LISTING, BE, BE_LAST, IT, CHOOSE, THINK, RIGHT, ONLY = map(ROLES.__getitem__, _NAMES[:10])
SO, BECAUSE, WRONG, TOO, NOT, NOT_NEXT, NOT_LAST, MAYBE, NONE, ALSO = map(ROLES.__getitem__, _NAMES[10:20])
IF, REPORT, PERSON, SAY, ACCORDING, SOURCE, FIRST, LOOK, WAIT, WITHDRAW = map(
    ROLES.__getitem__, _NAMES[20:30]
)
THOUGH, BUT, ELSE, NEUTRAL, WOULD, SELF, THAT, OR, AND, ARTICLE = map(ROLES.__getitem__, _NAMES[30:40])
SMALL, YES, NO, TRUE, FALSE, BOUND, ABOUT, LABEL, ADJECTIVE, FUNCTION = map(ROLES.__getitem__, _NAMES[40:50])

_UNSPACED = "\u2e80-\u9fff\uac00-\ud7af"
_LETTER = rf"(?:(?![{_UNSPACED}\d])[^\W_]|[\u0300-\u036f\u064b-\u0652\u0900-\u0963])"
_WORD = re.compile(
    rf"\d+(?:[.,]\d+|\s?[:/]\s?\d+)*|{_LETTER}+(?:['\-]{_LETTER}+)*|[{_UNSPACED}]|\n|[^\w\s]|_|\w"
)
_WORD_ASCII = re.compile(r"\d+(?:[.,]\d+|\s?[:/]\s?\d+)*|[A-Za-z]+(?:['\-][A-Za-z]+)*|\n|[^\w\s]|_")

OPINION, PRESENT, THEN, TOTAL = (ROLES[name] for name in ("opinion", "present", "then", "total"))


def words(text: str) -> frozenset[str]:
    """The words of a text, for tables of small words."""
    return frozenset(text.split())


MAX_VOTES = 200  # words that decide which language of a script a reply is written in


@lru_cache(maxsize=1)
def load_languages() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """The tables by language code: role to phrases. English is the first."""
    tables = {}
    for path in sorted(Path(__file__).parent.glob("*.toml"), key=lambda path: (path.stem != "en", path.stem)):
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        tables[path.stem] = {
            role: tuple(phrase for part in phrases.split("|") if (phrase := part.strip()))
            for role, phrases in table.items()
        }
    return tables


class Lexicon(NamedTuple):
    """The phrases that a reply in some languages may hold; a character is a word of unspaced scripts."""

    words: Mapping[str, int]  # their roles
    phrases: Mapping[str, Mapping[str, Sequence[Phrase]]]  # by their first two words, the longest first


@lru_cache(maxsize=64)
def build_lexicon(codes: tuple[str, ...]) -> Lexicon:
    """The lexicon of these languages; words of other scripts than Latin are always known."""
    roles: dict[tuple[str, ...], int] = {}
    for code, found in _split_phrases().items():
        for phrase, role in found:
            if code in codes or not is_latin(phrase[0]):
                roles[phrase] = roles.get(phrase, 0) | role
    words: dict[str, int] = {}
    phrases: dict[str, dict[str, list[Phrase]]] = {}
    for phrase in sorted(roles, key=len, reverse=True):
        role = NEUTRAL | SMALL if roles[phrase] & NEUTRAL else roles[phrase]
        if role & IT and len(phrase) > 1:
            role |= roles.get(phrase[-1:], 0) & BE  # "es ist"
        if len(phrase) == 1:
            words[phrase[0]] = role
        else:
            phrases.setdefault(phrase[0], {}).setdefault(phrase[1], []).append((phrase, role))
    return Lexicon(words, phrases)


@lru_cache(maxsize=1)
def _split_phrases() -> Mapping[str, list[Phrase]]:
    return {
        code: [
            (tuple(found.group() for found in split_words(phrase)), ROLES[role])
            for role, phrases in table.items()
            if role in ROLES
            for phrase in phrases
        ]
        for code, table in load_languages().items()
    }


@lru_cache(maxsize=1)
def _list_known_words() -> Mapping[str, Sequence[str]]:
    """The words in Latin letters, each with the languages that have it."""
    known: dict[str, list[str]] = {}
    for code, phrases in _split_phrases().items():
        found = {word for words, _ in phrases for word in words}
        for word in found.union(*map(str.split, spell_numbers(code))):
            if is_latin(word) and not (len(word) == 1 and word.isascii()):
                known.setdefault(word, []).append(code)
    return known


def find_languages(words: Sequence[str]) -> tuple[str, ...]:
    """The languages, of those in Latin letters, that have most of these words; English if none has more.

    >>> [find_languages(reply.split()) for reply in ("the answer is b", "das ist kein hund")]
    [('en',), ('de',)]
    """
    known = _list_known_words()
    counts = Counter(code for word in words[:MAX_VOTES] for code in known.get(word, ()))
    best = max(counts.values(), default=0)
    found = tuple(code for code in load_languages() if counts[code] == best)
    return found[:1] if found[0] == "en" else found


def split_words(text: str) -> Iterator[re.Match[str]]:
    """The words, numbers and marks of a text, in order; of unspaced scripts every character.

    >>> [word.group() for word in split_words("It's 1,200 km, well-known.")]
    ["It's", '1,200', 'km', ',', 'well-known', '.']
    """
    return (_WORD_ASCII if text.isascii() else _WORD).finditer(text)


def is_latin(word: str) -> bool:
    """Whether a word is written in Latin letters."""
    return word[0].isalpha() and (word[0] < "\u0250" or "\u1e00" <= word[0] <= "\u1eff")


def is_unspaced(char: str) -> bool:
    """Whether a character is of a script that puts no spaces between words, or joins particles to them."""
    return "\u2e80" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af"


@lru_cache(maxsize=32)
def spell_numbers(code: str) -> Mapping[str, int]:
    """The words for 0 to 99 of a language, hyphens as spaces, as far as its table has them.

    >>> words = spell_numbers("fr")
    >>> words["vingt et un"], words["soixante quinze"], words["quatre vingt dix sept"]
    (21, 75, 97)
    """
    table = load_languages()[code]
    spelled = {
        word.replace("-", " "): value
        for value, words in enumerate(table.get("numbers", ()))
        for word in words.split("/")
    }
    special = {
        word: int(value) for word, _, value in (entry.partition("=") for entry in table.get("last_units", ()))
    }
    units = {word: value for word, value in (spelled | special).items() if 0 < value < 20}
    for place, words in enumerate(table.get("tens", ())):
        for ten in words.replace("-", " ").split("/"):
            value = 20 + 10 * place
            spelled.setdefault(ten, value)
            for unit, n in units.items():
                if n < 10 or str(value) in table.get("counts_on", ()):
                    for pattern in table.get("tens_and", ()):
                        spelled.setdefault(pattern.format(ten=ten, unit=unit), value + n)
    return spelled | {word: value for word, value in special.items() if value >= 20}
