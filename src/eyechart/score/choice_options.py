"""The options of one question, and where a reply names them in their own words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from eyechart.score.clauses import build_lexicon, lower
from eyechart.score.languages import LANGUAGES
from eyechart.score.reading import SIGNS, normalise_characters, unwrap

if TYPE_CHECKING:
    from eyechart.score.quantity import Quantity

# A letter of scripts that put spaces between words (not Chinese, Japanese, Korean). Those ranges have no case
# and would take 50 ms to compile with IGNORECASE on.
WORD = r"(?-i:(?![\u2e80-\u9fff\uac00-\ud7af])[^\W_])"
ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_NEGATED = re.compile(
    r"(?:n't|\b(?:not|no|never|neither|nor|without|than|instead of|except|cannot be|eliminate|exclude|"
    r"rule out))"
    rf"\s+(?:(?!but\b|rather\b|just\b){WORD}+\s+){{0,2}}?(?:(?:an?|the|option|choice|answer)\s+)*[\"'*(]*$"
    r"|(?:不是|并非|而非|不选|不能选|不应选|排除|没有|没|不|非)[\"'*(\s]*(?:选项)?$",
    re.IGNORECASE,
)
NUMBER_WORDS = frozenset(
    (
        *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
        *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
        *("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
        *("hundred", "thousand", "million", "half", "quarter", "quarters", "third", "thirds"),
    )
)
_CHINESE_DIGITS = frozenset("一二两三四五六七八九十百千万")
_DECADE = re.compile(r"\d{3}0s")
MAX_QUANTITY = 40  # characters of an option that is a quantity
_MAX_AMOUNT = 16  # characters of a text that is nothing but a number in words
_SHORT = 400  # characters of options that are prepared once for thousands of questions
_JOINS_BEFORE = frozenset("&")  # "R&D"
_JOINS_AFTER = frozenset("+#&")  # "Disney+", "C#", "AT&T"


class Mention(msgspec.Struct, frozen=True, gc=False):
    """A place where a text names an option by its own words, which several options may share."""

    letter: str | None  # the option that is meant; None when two options share the words
    letters: tuple[str, ...]  # all that share them, in any case
    span: tuple[int, int]
    is_amount: bool = False


class ChoiceOptions(msgspec.Struct, frozen=True):
    """Letters and texts, prepared once for many replies."""

    labels: Mapping[str, str]  # upper-cased label -> label as the sample spells it
    by_case: Mapping[str, tuple[str, ...]]  # text as written -> letters; several where a file repeats options
    by_text: Mapping[str, tuple[str, ...]]  # the same without case
    aliases: Mapping[
        str, tuple[str, ...]
    ]  # other ways to write a text: "three" for "3", "5 percent" for "5%"
    quantities: tuple[tuple[Quantity, str], ...]  # options that are quantities, with their letters
    formulas: Mapping[str, tuple[str, ...]]  # how a formula is written does not matter: "x=2", "$x = 2$", "2"
    findable: tuple[tuple[str, ...], ...]  # the words of texts that can be found inside a sentence
    n_label_chars: int  # of the longest label
    is_numbered: bool  # labels are numbers
    has_shades: bool  # an option is another one and a word before it: "red", "dark red"
    n_chars: int

    def find_by_letter(self, text: str) -> str | None:
        """The option whose letter this is, in either case."""
        return self.labels.get(text.upper()) if len(text) <= self.n_label_chars else None

    def find_by_text(self, text: str) -> str | None:
        """The option with this text, ignoring wrapping and a leading article.

        >>> prepare_options({"A": "red", "B": "dark red"}).find_by_text("**Dark red.**")
        'B'
        """
        return self.find_by_words(_words(normalise_characters(text)))

    def find_by_words(self, words: str) -> str | None:
        """The same of words in plain characters, without wrapping and article."""
        return (
            self._letter_of(words)
            or (self.formulas and _only(self.formulas.get(_to_formula(words), ())))
            or None
        )

    def find_all_by_text(self, text: str) -> tuple[str, ...]:
        """All options with this text, in any case.

        >>> prepare_options({"A": "red", "B": "white", "C": "Red"}).find_all_by_text("red")
        ('A', 'C')
        """
        return self.by_text.get(_words(normalise_characters(text)).lower(), ())

    def find_mentions(self, text: str, start: int = 0, end: int | None = None) -> list[Mention]:
        """Where a text of plain characters names options, denied or not: whole words, the longest first.

        >>> options = prepare_options({"A": "red", "B": "dark red", "C": "2", "D": "3"})
        >>> [mention.letter for mention in options.find_mentions("It is dark red, not red, on two sides.")]
        ['B', 'A', 'C']
        """
        end = len(text) if end is None else end
        low = lower(text)
        likely = (words for words in self.findable if words[0] in low)  # most options do not occur at all
        spans = [span for words in likely for span in _spans(words, low, start, end)]
        amounts = self._find_amounts(text, start, end) if self.quantities else {}
        spans += amounts
        mentions, free_from = [], start
        for begin, stop in sorted(spans, key=lambda span: (span[0], -span[1])):
            if begin >= free_from:  # the longest of those that begin there: "dark red", not "red"
                free_from = stop
                words = " ".join(text[begin:stop].split())
                if (begin, stop) in amounts:
                    letter = amounts[begin, stop]
                    mentions.append(Mention(letter, (letter,), (begin, stop), is_amount=True))
                    continue
                letters = self.by_text.get(words.lower()) or self.aliases.get(words.lower(), ())
                letters = letters or self.formulas.get(_to_formula(words), ())
                mentions.append(Mention(self._letter_of(words) or _only(letters), letters, (begin, stop)))
        return mentions

    def _find_amounts(self, text: str, start: int, end: int) -> dict[tuple[int, int], str]:
        """Quantities that are exactly one of the options: "two thousand" for "2,000", "5" for "5 kg"."""
        from eyechart.score.numerals import normalise_numerals
        from eyechart.score.quantity import find_quantities, is_same_quantity

        amounts: dict[tuple[int, int], str] = {}
        is_whole = len(text[start:end].strip()) < _MAX_AMOUNT
        for found in find_quantities(normalise_numerals(text), start, end, is_whole=is_whole):
            same = [letter for quantity, letter in self.quantities if is_same_quantity(found, quantity)]
            is_share = "%" in text[found.span[0] : found.span[1] + 2]
            is_known = not is_share or any(quantity.units for quantity, _ in self.quantities)  # 3% is not 3
            said = text[found.span[0] : found.span[1] + 1]
            is_decade = _DECADE.search(said) is not None  # "the 2010s" is not 2010
            if len(same) == 1 and not found.bound and is_known and not is_decade:
                amounts[found.span] = same[0]
        return amounts

    def _letter_of(self, words: str) -> str | None:
        return _only(self.by_case.get(words, ())) or _only(
            self.by_text.get(words.lower()) or self.aliases.get(words.lower(), ())
        )


def prepare_options(choices: Mapping[str, str]) -> ChoiceOptions:
    """Options prepared for reading; the same choices are prepared once."""
    try:
        n_chars = len("".join(choices.values()))  # also the quickest way to see that all are texts
    except TypeError:
        return _prepare(tuple((str(letter), str(text)) for letter, text in choices.items()))
    return (_prepared if n_chars <= _SHORT else _prepared_long)(tuple(choices.items()))


def _prepare(choices: tuple[tuple[str, str], ...]) -> ChoiceOptions:
    by_case: dict[str, tuple[str, ...]] = {}
    by_text: dict[str, tuple[str, ...]] = {}
    for letter, text in choices:
        words = _words(normalise_characters(text))
        if words:
            by_case[words] = (*by_case.get(words, ()), letter)
            by_text[words.lower()] = (*by_text.get(words.lower(), ()), letter)
    aliases: dict[str, tuple[str, ...]] = {}
    for words, letters in by_text.items():
        for alias in list_aliases(words):
            if alias not in by_text:
                aliases[alias] = (*aliases.get(alias, ()), *letters)
    for alias, letters in _list_short_names(by_case).items():
        if alias not in by_text:
            aliases[alias] = (*aliases.get(alias, ()), *letters)
    texts = [*map(lower, by_case), *(alias for alias in aliases if len(alias) > 1)]
    return ChoiceOptions(
        labels={letter.strip().upper(): letter for letter, _ in choices},
        by_case=by_case,
        by_text=by_text,
        aliases=aliases,
        quantities=_parse_quantities(choices),
        formulas=_list_formulas(by_case),
        # Options without a letter or digit ("+", "≥") are only looked for as whole answers, as is a letter.
        findable=tuple(
            tuple(words.split())
            for words in dict.fromkeys(texts)
            if any(map(str.isalnum, words)) and not (len(words) == 1 and words.isascii() and words.isalpha())
        ),
        n_label_chars=max((len(letter) for letter, _ in choices), default=0),
        is_numbered=any(letter.strip().isdecimal() for letter, _ in choices),
        has_shades=any(" " in words and words.partition(" ")[2] in by_text for words in by_text),
        n_chars=sum(len(text) for text in by_case),
    )


def _list_short_names(by_case: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What names options for short: surnames, or what is left without the word that all of them share.

    >>> _list_short_names({"Charles Darwin": ("A",), "Gregor Mendel": ("B",)})
    {'darwin': ('A',), 'mendel': ('B',)}
    >>> _list_short_names({"Atlantic Ocean": ("A",), "Indian Ocean": ("B",)})
    {'atlantic': ('A',), 'indian': ('B',)}
    >>> _list_short_names({"red car": ("A",), "blue car": ("B",)})
    {}
    """
    names = [words.split() for words in by_case]
    if len(names) < 2 or not all(1 < len(name) < 4 for name in names):
        return {}
    if len({name[-1].lower() for name in names}) == 1:
        kept = [" ".join(name[:-1]) for name in names]
    elif len({name[0].lower() for name in names}) == 1:
        kept = [" ".join(name[1:]) for name in names]
    else:
        kept = [name[-1] for name in names]
    known = build_lexicon(("en",))
    is_name = all(
        word.isalpha() and word[0].isupper() and lower(word) not in known for name in names for word in name
    )
    if not is_name or len(set(kept)) < len(kept) or not all(len(short) > 2 for short in kept):
        return {}
    return {lower(short): letters for short, letters in zip(kept, by_case.values(), strict=True)}


_FORMULA = re.compile(r"[=^\\_/*+<>≤≥²³₂-]|[a-z]\d", re.IGNORECASE)
_LAYOUT = re.compile(
    r"\\(?:left|right|text|mathrm|mathbf|mathit|displaystyle|,|;|!|quad)|[\s${}_^*·×]|\\cdot|\\times"
)
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([^{}]{1,40})\}\s?\{([^{}]{1,40})\}")
_MAX_FORMULA_CHARS = 120


def _list_formulas(by_case: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    """Options that are formulas, as `_to_formula` writes them; "2" stands for "x = 2" if all begin "x =".

    >>> sorted(_list_formulas({"x = 2": ("A",), "x = -2": ("B",)}))
    ['-2', '2', 'x=-2', 'x=2']
    """
    likely = {words: letters for words, letters in by_case.items() if len(words) <= _MAX_FORMULA_CHARS}
    if not any(_FORMULA.search(words) for words in likely):
        return {}
    formulas: dict[str, tuple[str, ...]] = {}
    for words, letters in likely.items():
        formula = _to_formula(words)
        formulas[formula] = (*formulas.get(formula, ()), *letters)
    sides = [formula.split("=") for formula in formulas]
    if len({side[0] for side in sides}) == 1 and all(len(side) == 2 and side[1] for side in sides):
        formulas |= {side[1]: letters for side, letters in zip(sides, list(formulas.values()), strict=True)}
    return formulas


def _to_formula(words: str) -> str:
    r"""A formula without spaces, LaTeX and the height of digits.

    >>> [_to_formula(words) for words in ("f(x) = x²", "H₂O", r"\frac{1}{2} x", "x^{2}")]
    ['f(x)=x2', 'H2O', '1/2x', 'x2']
    """
    if len(words) > _MAX_FORMULA_CHARS:
        return words
    plain = unicodedata.normalize("NFKC", _FRACTION.sub(r"\1/\2", words))
    return _LAYOUT.sub("", normalise_characters(plain))


def _parse_quantities(choices: tuple[tuple[str, str], ...]) -> tuple[tuple[Quantity, str], ...]:
    """The options that are quantities, if several are."""
    likely = [
        (letter, text) for letter, text in choices if len(text) <= MAX_QUANTITY and _may_be_quantity(text)
    ]
    if len(likely) < 2:
        return ()
    from eyechart.score.quantity import parse_quantity  # most options are not amounts

    parsed = [(parse_quantity(text), letter) for letter, text in likely]
    found = tuple((quantity, letter) for quantity, letter in parsed if quantity and not quantity.bound)
    return found if len(found) > 1 else ()


def _may_be_quantity(text: str) -> bool:
    if any(map(str.isdigit, text)) or (len(text) <= 6 and not _CHINESE_DIGITS.isdisjoint(text)):
        return True
    return not list_number_words().isdisjoint(text.lower().replace("-", " ").split())


@lru_cache(maxsize=1)
def list_number_words() -> frozenset[str]:
    """The words for small numbers in all languages of the table."""
    numbers = (number for language in LANGUAGES.values() for number in language.numbers)
    return NUMBER_WORDS.union(*(number.split("/") for number in numbers))


# Long ones are used again at once or never, and thousands of them would fill the memory.
_prepared = lru_cache(maxsize=4096)(_prepare)
_prepared_long = lru_cache(maxsize=64)(_prepare)


def _words(text: str) -> str:
    """Text as compared: unwrapped, single spaces, no leading article. A text of marks alone stays."""
    return strip_article(unwrap(text) or text)


def strip_article(text: str) -> str:
    """Text with single spaces and without a leading article."""
    words = " ".join(text.split())
    return ARTICLE.sub("", words, count=1) if ARTICLE.match(words) else words


def list_aliases(words: str) -> list[str]:
    """Other ways to write an option, in lower case: its plural, or without the article of another language.

    >>> list_aliases("dog"), list_aliases("un chat"), list_aliases("a red car")
    (['dogs'], ['chat'], [])
    """
    if polar := _list_polar().get(words):
        return [word for word in polar if word != words and word not in ("correct", "negative")]
    first, _, rest = words.partition(" ")
    if rest in ("am", "pm"):
        return [f"{first}{rest}", f"{first} {rest[0]}.m", f"{first} {rest[0]}.m."]
    if rest:
        return [rest] if first in _list_articles() and len(rest) > 2 else []
    is_noun = len(words) > 2 and words.isascii() and words.isalpha() and words[-1] != "s"
    return [f"{words}s"] if is_noun else []


@lru_cache(maxsize=1)
def _list_polar() -> Mapping[str, Sequence[str]]:
    """The words for yes or no by the first of them, of every language; of two languages, the first."""
    polar: dict[str, Sequence[str]] = {}
    for language in LANGUAGES.values():
        for said in (language.yes, language.no):
            if said:
                polar.setdefault(said[0], said)
    return polar


@lru_cache(maxsize=1)
def _list_articles() -> frozenset[str]:
    """Articles of all languages but English, whose articles are never part of an option."""
    return frozenset(
        word
        for language in LANGUAGES.values()
        for word in language.article
        if len(word) > 1 and word.isascii()
    )


def _only(letters: tuple[str, ...]) -> str | None:
    return letters[0] if len(letters) == 1 else None


def _spans(words: Sequence[str], low: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where a text has these words, with any spaces between them; both in lower case."""
    first, rest = words[0], words[1:]
    while (begin := low.find(first, start, end)) >= 0:
        stop = begin + len(first)
        for word in rest:
            if (stop := _find_next(word, low, stop, end)) < 0:
                break
        is_found = stop > begin and _begins_word(low, begin) and _ends_word(low, stop)
        if is_found:
            yield begin, stop
        start = stop if is_found else begin + 1


_TIGHT = frozenset("=+<>≤≥≠")  # "x = 2" is also written "x=2"


def _find_next(word: str, low: str, at: int, end: int) -> int:
    """Where a word ends that follows that place; -1 if another one does."""
    after = at
    while after < end and low[after].isspace():
        after += 1
    is_apart = after > at or word[0] in _TIGHT or low[at - 1] in _TIGHT
    return after + len(word) if is_apart and low.startswith(word, after, end) else -1


def _begins_word(text: str, at: int) -> bool:
    first, before = text[at], text[at - 1] if at else ""
    if _is_letter(first) and (_is_letter(before) or (before == "-" and _is_letter(text[at - 2 : at - 1]))):
        return False
    if not first.isdecimal():
        return True
    # "5" is not in "2.5", "1,5", "3/5", "2^5", "#5" or "-5"
    return before not in tuple("-.^#") and not (before in tuple(",:/") and text[at - 2 : at - 1].isdecimal())


def _ends_word(text: str, at: int) -> bool:
    last, after = text[at - 1], text[at : at + 1]
    if _is_letter(last) and (
        _is_letter(after) or (after in tuple("-'") and _is_letter(text[at + 1 : at + 2]))
    ):
        return False  # nor in "horse-drawn" or "the cat's"
    if not last.isdecimal():
        return True
    # nor in "5.2", "5,000", "5:30", "5/6" or "5%"
    is_percent = after == "%" or (after.isspace() and text[at + 1 : at + 2] == "%")
    return not is_percent and not (after in tuple(".,:/") and text[at + 1 : at + 2].isdecimal())


def _is_letter(char: str) -> bool:
    """A character that `WORD` matches."""
    return char.isalnum() and not ("\u2e80" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7af")


def is_negated(text: str, position: int) -> bool:
    """Whether the words at `position` are negated: "not the cat", "rather than B", "不是B"."""
    return _NEGATED.search(text[max(0, position - 48) : position]) is not None


def is_part_of_more(text: str, start: int, end: int) -> bool:
    """Whether the slice is a part of something else: the C of "C++", the "=" of ">=".

    >>> is_part_of_more("C++", 0, 1), is_part_of_more(">=", 1, 2), is_part_of_more('It is "<".', 7, 8)
    (True, True, False)
    """
    found = text[start:end]
    before, after = text[start - 1 : start] if start else "", text[end : end + 1]
    if any(map(str.isalnum, found)):
        return before in _JOINS_BEFORE or after in _JOINS_AFTER
    signs = SIGNS.union(found)
    return before in signs or after in signs
