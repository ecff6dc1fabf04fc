"""The options of one question: their letters, and where a text names them by their own words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from eyechart.score.fold import fold
from eyechart.score.statement import SIGNS, bare

# Letters that need a space between words; in Chinese, Japanese and Korean a word ends without one.
# A case to ignore there is none in these ranges, and looking for one letter by letter takes 50 ms to compile.
WORD = r"(?-i:(?![\u2e80-\u9fff\uac00-\ud7af])[^\W_])"

ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:n't|\b(?:not|no|never|neither|nor|without|than|instead of|except|cannot be|eliminate|exclude|"
    r"rule out))"
    rf"\s+(?:(?!but\b|rather\b|just\b){WORD}+\s+){{0,2}}?(?:(?:an?|the|option|choice|answer)\s+)*[\"'*(]*$"
    r"|(?:不是|并非|而非|不选|不能选|不应选|排除|没有|没|不|非)[\"'*(\s]*(?:选项)?$",
    re.IGNORECASE,
)
_SHORT = 400  # characters of options that are prepared once for thousands of questions
_JOINS_BEFORE = frozenset("&")  # "R&D"
_JOINS_AFTER = frozenset("+#&")  # "Disney+", "C#", "AT&T"


class Mention(msgspec.Struct, frozen=True):
    """A place where an option stands in a text by its own words, which several options may share."""

    letter: str | None  # the one that is meant; none when two options share the words
    letters: tuple[str, ...]  # all that share them, in any case
    span: tuple[int, int]


class Options(msgspec.Struct, frozen=True):
    """Letters and texts, prepared once for many replies."""

    labels: Mapping[str, str]  # upper-cased label -> label as the sample spells it
    by_case: Mapping[str, tuple[str, ...]]  # text as written -> letters, for files repeat options
    by_text: Mapping[str, tuple[str, ...]]  # the same without case
    findable: tuple[str, ...]  # texts that can be found inside a sentence
    n_chars: int

    def label(self, text: str) -> str | None:
        """The option whose letter this is, in either case."""
        return self.labels.get(text.upper())

    def named(self, text: str) -> str | None:
        """The option whose own text this is, wrapping and a leading article aside.

        >>> options_of({"A": "red", "B": "dark red"}).named("**Dark red.**")
        'B'
        """
        return self._letter_of(_words(fold(text)))

    def all_named(self, text: str) -> tuple[str, ...]:
        """All options whose own text this is, in any case.

        >>> options_of({"A": "red", "B": "white", "C": "Red"}).all_named("red")
        ('A', 'C')
        """
        return self.by_text.get(_words(fold(text)).lower(), ())

    def mentions(self, text: str, start: int = 0, end: int | None = None) -> list[Mention]:
        """Where `text` (already folded) names options: whole words, the longest first, denied ones left out.

        >>> [m.letter for m in options_of({"A": "red", "B": "dark red"}).mentions("not red, it is dark red")]
        ['B']
        """
        end = len(text) if end is None else end
        lower = text[start:end].lower()
        # Most options are not there at all, which costs less to see than to compile a pattern for.
        likely = (words for words in self.findable if words.partition(" ")[0].lower() in lower)
        spans = [span for words in likely for span in _spans(words, text, start, end)]
        mentions, free_from = [], start
        for begin, stop in sorted(spans, key=lambda span: (span[0], -span[1])):
            if begin >= free_from:  # the longest of those that begin there: "dark red", not "red"
                free_from = stop
                if not is_negated(text, begin):
                    words = " ".join(text[begin:stop].split())
                    letters = self.by_text.get(words.lower(), ())
                    mentions.append(Mention(self._letter_of(words), letters, (begin, stop)))
        return mentions

    def _letter_of(self, words: str) -> str | None:
        return _only(self.by_case.get(words, ())) or _only(self.by_text.get(words.lower(), ()))


def is_negated(text: str, position: int) -> bool:
    """Whether what stands at `position` is denied: "not the cat", "rather than B", "不是B"."""
    return _NEGATED.search(text[max(0, position - 48) : position]) is not None


def is_part_of_more(text: str, start: int, end: int) -> bool:
    """Whether what stands there is a part of something else: the C of "C++", the "=" of ">=".

    >>> is_part_of_more("C++", 0, 1), is_part_of_more(">=", 1, 2), is_part_of_more('It is "<".', 7, 8)
    (True, True, False)
    """
    found = text[start:end]
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if any(map(str.isalnum, found)):
        return before in _JOINS_BEFORE or after in _JOINS_AFTER
    signs = SIGNS.union(found)
    return before in signs or after in signs


def options_of(choices: Mapping[str, str]) -> Options:
    """Options prepared for reading; the same choices are prepared once."""
    try:
        n_chars = len("".join(choices.values()))  # also the quickest way to see that all are texts
    except TypeError:
        return _prepare(tuple((str(letter), str(text)) for letter, text in choices.items()))
    return (_prepared if n_chars <= _SHORT else _prepared_long)(tuple(choices.items()))


def _prepare(choices: tuple[tuple[str, str], ...]) -> Options:
    by_case: dict[str, tuple[str, ...]] = {}
    by_text: dict[str, tuple[str, ...]] = {}
    for letter, text in choices:
        words = _words(fold(text))
        if words:
            by_case[words] = (*by_case.get(words, ()), letter)
            by_text[words.lower()] = (*by_text.get(words.lower(), ()), letter)
    return Options(
        labels={letter.strip().upper(): letter for letter, _ in choices},
        by_case=by_case,
        by_text=by_text,
        # Without a letter or digit ("+", "≥") there is no word to find; such options are whole answers.
        findable=tuple(words for words in by_case if any(map(str.isalnum, words))),
        n_chars=sum(len(text) for text in by_case),
    )


# Long ones come again at once or not at all, and thousands of them would fill the memory.
_prepared = lru_cache(maxsize=4096)(_prepare)
_prepared_long = lru_cache(maxsize=64)(_prepare)


def _only(letters: tuple[str, ...]) -> str | None:
    return letters[0] if len(letters) == 1 else None


def _words(text: str) -> str:
    """Text as compared: unwrapped, single spaces, no leading article. Marks that are all there is stay."""
    words = " ".join((bare(text) or text).split())
    return ARTICLE.sub("", words, count=1) if ARTICLE.match(words) else words


def _spans(words: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where `words` stand in `text` as whole words, in any case and with any spaces between them."""
    find = (_finder if len(words) <= _SHORT else _long_finder)(words).search
    while found := find(text, start, end):
        begin, stop = found.span()
        is_whole = _begins_word(words, text, begin) and _ends_word(words, text, stop)
        if is_whole:
            yield begin, stop
        start = stop if is_whole else begin + 1


def _compile(words: str) -> re.Pattern[str]:
    # Edges are checked by hand: a class of letters in the pattern costs 10 ms to compile, for every option.
    return re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)


_finder = lru_cache(maxsize=16384)(_compile)
_long_finder = lru_cache(maxsize=64)(_compile)


def _begins_word(words: str, text: str, at: int) -> bool:
    before = text[at - 1] if at else ""
    if _is_letter(words[0]) and _is_letter(before):
        return False
    if not words[0].isdecimal():
        return True
    # "5" is not in "2.5", "1,5", "3/5" or "-5"
    return before not in ("-", ".") and not (before in tuple(",:/") and text[at - 2 : at - 1].isdecimal())


def _ends_word(words: str, text: str, at: int) -> bool:
    after = text[at : at + 1]
    if _is_letter(words[-1]) and _is_letter(after):
        return False
    if not words[-1].isdecimal():
        return True
    # nor in "5.2", "5,000", "5:30", "5/6" or "5%"
    is_percent = after == "%" or (after.isspace() and text[at + 1 : at + 2] == "%")
    return not is_percent and not (after in tuple(".,:/") and text[at + 1 : at + 2].isdecimal())


def _is_letter(char: str) -> bool:
    """A character that `WORD` matches."""
    return char.isalnum() and not ("\u2e80" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af")
