"""The options of one question: their letters, and where a text names them by their own words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from eyechart.score.fold import fold
from eyechart.score.statement import bare

# Letters that need a space between words; in Chinese, Japanese and Korean a word ends without one.
WORD = r"[^\W_\u2e80-\u9fff\uac00-\ud7af]"

_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:n't|\b(?:not|no|never|neither|nor|without|than|instead of|except|cannot be|eliminate|exclude|"
    r"rule out))"
    rf"\s+(?:(?!but\b|rather\b|just\b){WORD}+\s+){{0,2}}?(?:(?:an?|the|option|choice|answer)\s+)*[\"'*(]*$"
    r"|(?:不是|并非|而非|不选|不能选|不应选|排除|没有|没|不|非)[\"'*(\s]*(?:选项)?$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A place where an option stands in a text by its own words; no `letter` when two options share them."""

    letter: str | None
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Options:
    """Letters and texts, prepared once for many replies."""

    labels: Mapping[str, str]  # upper-cased label -> label as the sample spells it
    by_case: Mapping[str, str | None]  # text as written -> letter; None when two options share it
    by_text: Mapping[str, str | None]  # the same without case
    pattern: re.Pattern[str] | None
    n_chars: int

    def label(self, text: str) -> str | None:
        """The option whose letter this is, in either case."""
        return self.labels.get(text.upper())

    def named(self, text: str) -> str | None:
        """The option whose own text this is, wrapping and a leading article aside.

        >>> options_of({"A": "red", "B": "dark red"}).named("**Dark red.**")
        'B'
        """
        words = _words(fold(text))
        return self.by_case.get(words) or self.by_text.get(words.lower())

    def mentions(self, text: str, start: int = 0, end: int | None = None) -> list[Mention]:
        """Where `text` (already folded) names options: whole words, the longest first, denied ones left out.

        >>> [m.letter for m in options_of({"A": "red", "B": "dark red"}).mentions("not red, it is dark red")]
        ['B']
        """
        if self.pattern is None:
            return []
        end = len(text) if end is None else end
        return [
            Mention(self._letter_of(found.group()), found.span())
            for found in self.pattern.finditer(text, start, end)
            if not is_negated(text, found.start())
        ]

    def _letter_of(self, words: str) -> str | None:
        words = " ".join(words.split())
        return self.by_case.get(words) or self.by_text.get(words.lower())


def is_negated(text: str, position: int) -> bool:
    """Whether what stands at `position` is denied: "not the cat", "rather than B", "不是B"."""
    return _NEGATED.search(text[max(0, position - 48) : position]) is not None


def options_of(choices: Mapping[str, str]) -> Options:
    """Options prepared for reading; the same choices are prepared once."""
    return _prepared(tuple((str(letter), str(text)) for letter, text in choices.items()))


@lru_cache(maxsize=4096)
def _prepared(choices: tuple[tuple[str, str], ...]) -> Options:
    by_case: dict[str, str | None] = {}
    by_text: dict[str, str | None] = {}
    for letter, text in choices:
        words = _words(fold(text))
        if words:
            by_case[words] = None if words in by_case else letter
            by_text[words.lower()] = None if words.lower() in by_text else letter
    return Options(
        labels={letter.strip().upper(): letter for letter, _ in choices},
        by_case=by_case,
        by_text=by_text,
        pattern=_pattern(list(by_case)),
        n_chars=sum(len(text) for text in by_case),
    )


def _words(text: str) -> str:
    """Text as compared: unwrapped, single spaces, no leading article. Marks that are all there is stay."""
    words = " ".join((bare(text) or text).split())
    return _ARTICLE.sub("", words, count=1) if _ARTICLE.match(words) else words


def _pattern(texts: list[str]) -> re.Pattern[str] | None:
    # Without a letter or digit ("+", "≥") there is no word to find; such options must be the whole answer.
    findable = sorted((text for text in texts if any(map(str.isalnum, text))), key=len, reverse=True)
    if not findable:
        return None
    return re.compile("|".join(_bounded(text) for text in findable), re.IGNORECASE)


def _bounded(text: str) -> str:
    inner = r"\s+".join(re.escape(word) for word in text.split())
    before = rf"(?<!{WORD})" if re.match(WORD, text[0]) else ""
    after = rf"(?!{WORD})" if re.match(WORD, text[-1]) else ""
    if text[0].isdigit():  # "5" is not in "2.5", "1,5", "3/5" or "-5"
        before += r"(?<!\d[.,:/])(?<![-.])"
    if text[-1].isdigit():  # nor in "5.2", "5,000", "5:30", "5/6" or "5%"
        after += r"(?![.,:/]\d)(?!\s?%)"
    return f"{before}{inner}{after}"
