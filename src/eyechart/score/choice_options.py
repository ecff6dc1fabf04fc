"""The options of one question, and where a reply names them: by their own words, or by their letters."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Literal

import msgspec

from eyechart.score.reading import (
    MAX_STATEMENTS,
    SIGNS,
    find_stated_answers,
    is_hypothetical,
    lower_ascii,
    normalise_characters,
    unwrap,
)

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
_SHORT = 400  # characters of options that are prepared once for thousands of questions
_JOINS_BEFORE = frozenset("&")  # "R&D"
_JOINS_AFTER = frozenset("+#&")  # "Disney+", "C#", "AT&T"


class Mention(msgspec.Struct, frozen=True):
    """A place where a text names an option by its own words, which several options may share."""

    letter: str | None  # the option that is meant; None when two options share the words
    letters: tuple[str, ...]  # all that share them, in any case
    span: tuple[int, int]


class ChoiceOptions(msgspec.Struct, frozen=True):
    """Letters and texts, prepared once for many replies."""

    labels: Mapping[str, str]  # upper-cased label -> label as the sample spells it
    by_case: Mapping[str, tuple[str, ...]]  # text as written -> letters; several where a file repeats options
    by_text: Mapping[str, tuple[str, ...]]  # the same without case
    findable: tuple[str, ...]  # texts that can be found inside a sentence
    n_chars: int

    def find_by_letter(self, text: str) -> str | None:
        """The option whose letter this is, in either case."""
        return self.labels.get(text.upper())

    def find_by_text(self, text: str) -> str | None:
        """The option with this text, ignoring wrapping and a leading article.

        >>> prepare_options({"A": "red", "B": "dark red"}).find_by_text("**Dark red.**")
        'B'
        """
        return self._letter_of(_words(normalise_characters(text)))

    def find_all_by_text(self, text: str) -> tuple[str, ...]:
        """All options with this text, in any case.

        >>> prepare_options({"A": "red", "B": "white", "C": "Red"}).find_all_by_text("red")
        ('A', 'C')
        """
        return self.by_text.get(_words(normalise_characters(text)).lower(), ())

    def find_mentions(self, text: str, start: int = 0, end: int | None = None) -> list[Mention]:
        """Where a text of plain characters names options: whole words, the longest first, not negated.

        >>> options = prepare_options({"A": "red", "B": "dark red"})
        >>> [mention.letter for mention in options.find_mentions("not red, it is dark red")]
        ['B']
        """
        end = len(text) if end is None else end
        lower = text[start:end].lower()
        # Most options do not occur at all, and seeing that is cheaper than compiling a pattern.
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
    return ChoiceOptions(
        labels={letter.strip().upper(): letter for letter, _ in choices},
        by_case=by_case,
        by_text=by_text,
        # Options without a letter or digit ("+", "≥") are only looked for as whole answers.
        findable=tuple(words for words in by_case if any(map(str.isalnum, words))),
        n_chars=sum(len(text) for text in by_case),
    )


# Long ones are used again at once or never, and thousands of them would fill the memory.
_prepared = lru_cache(maxsize=4096)(_prepare)
_prepared_long = lru_cache(maxsize=64)(_prepare)


def _words(text: str) -> str:
    """Text as compared: unwrapped, single spaces, no leading article. A text of marks alone stays."""
    words = " ".join((unwrap(text) or text).split())
    return ARTICLE.sub("", words, count=1) if ARTICLE.match(words) else words


def _only(letters: tuple[str, ...]) -> str | None:
    return letters[0] if len(letters) == 1 else None


def _spans(words: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where `text` holds `words` as whole words, in any case and with any spaces between them."""
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


# -- Option letters in running text: which single letter is an answer, and which an article or a subject
#
# English is searched in lower-cased text without a flag, Chinese only where the reply is not plain ASCII, so
# that a page is read in a fraction of a millisecond.


class Pattern:
    """A regular expression that is compiled on first use.

    The long ones take several milliseconds each, and a reply that is one letter needs none of them.

    >>> bool(Pattern("B+", re.IGNORECASE).search("abc"))
    True
    """

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        return self._compiled.match(text, start, end)

    def search(self, text: str, start: int = 0) -> re.Match[str] | None:
        return self._compiled.search(text, start)

    def finditer(self, text: str, start: int = 0) -> Iterator[re.Match[str]]:
        return self._compiled.finditer(text, start)


# Not "B-flat", "C++", "A's", "a.m.", nor the last letter of "U.S.".
LETTER = rf"(?<!{WORD})(?<!{WORD}\.)([A-Za-z])(?!{WORD}|'{WORD}|-{WORD}|\+|#|\.[A-Za-z]\.)"
WRAPPING = r"[\s*_~`\"'$(\[{<:=>|\\]|\\?(?:text|textbf|mathrm|mathbf)\{"
CLOSERS = r"[)\]*\"'`>$}_.]{0,6}\s{0,3}"

# Phrases after which a letter is the answer: "I choose", "the correct option is", "wait, no,", "选".
_STRONG = Pattern(
    r"\b(?:(?:correct|right|best|final|my|chosen|selected|appropriate|matching)\s+"
    r"(?:option|choice|letter|selection|pick)(?:\*{1,3})?\s{0,3}(?:is\b|would be|should be|must be|:|=)"
    r"|(?:option|choice)\s+is\s"
    r"|(?:choose|chose|pick|picked|select|selected|go with|going with|opt for|settle on)\s"
    r"|(?:d|ll|would|will)\s+answer\s"
    r"|it\s+should\s+(?:actually |instead |really )?be\s"
    # A change of mind, where a letter follows: "wait, no, it's C".
    r"|(?:wait|actually|correction|on second thoughts?|scratch that|no|sorry|i mean)\b[ ,.:;!-]{1,6}"
    r"(?:no\b[\s,.]{1,4})?(?:(?:it's|it is|it should be|it must be|i mean|make that|that's|that is)\s)?"
    rf"(?=\W{{0,6}}(?:option\s|choice\s)?\W{{0,4}}[a-z](?!{WORD}))"
    rf"|not\s+(?:{WRAPPING}|option\s|choice\s){{0,4}}{WORD}{{1,24}}[)\]*\"',]{{0,4}}\s+but(?:\s+rather)?\s)"
    r"|(?:^|\n)\W{0,6}(?:option|choice|selection|final answer|final choice|prediction|result|output|"
    r"response|verdict|conclusion|correct|assistant)\W{0,4}(?:[:=]|->|→)"
)
_STRONG_CHINESE = Pattern(
    r"(?<!不)(?:正确|最佳|合适)的?(?:选项)?(?:应该是|应为|是|为|:)"
    r"|结论\s?(?:是|为|:)"
    r"|(?<![不别没挑])(?<!不[能该应要])(?<!不应该)选(?!项|出|中|取|自)择?(?:答案|选项)?(?:是|为|:)?"
    r"|(?:而是|更正为?|应该是|应为)[:,]?"
)

# Letters (group 1) that are called correct: "B is the right answer", "B选项正确".
_PREDICATE = Pattern(
    r"(?:^|[.\n;:,(*!?\"'\[。，；：]|\b(?:option|choice|answer|so|therefore|thus|hence|that|believe|think|"
    rf"conclude|only)\s)[\s(*\[\"']{{0,5}}{LETTER}{CLOSERS}(?:option |choice )?"
    r"(?:(?:is|must be|would be|should be|seems(?: to be)?|appears to be)\s+"
    r"(?:clearly |definitely |indeed |therefore |obviously )?"
    r"(?:the |my )?(?:(?:only |most |best |final )*(?:correct\b|right\b(?!\s*(?:next|side|hand|of|above|"
    r"below|there|in|on|at|behind|beside|-)))|(?:final )?answer\b"
    r"|(?:most |best )(?:appropriate|suitable|accurate|likely|fitting|plausible)\b"
    r"|best (?:answer|choice|option|match|fit|description)\b)"
    r"|best (?:describes|matches|fits|represents)\b|(?:fits|matches|describes)\b[^.!?\n]{0,40}\bbest\b)"
)
_PREDICATE_CHINESE = Pattern(
    rf"(?:^|[.\n;:,(*!?\"'\[。，；：]|选项|项|以|此|故|知|只有)[\s(*\[\"']{{0,5}}{LETTER}{CLOSERS}"
    r"(?:选项|项)?(?:是|为)?最?(?:正确|对的|合适)"
)
# Phrases after which a letter is mentioned: "it is", "I think", "so", "option", "我认为是".
_WEAK = Pattern(
    r"\b(?:(?:it|this|that)(?:'s|\s+is|\s+must be|\s+should be|\s+would be|\s+has to be)\s"
    r"|i(?:'d|\s+would)?\s+(?:think|believe|guess|say|suspect)\s+(?:that\s)?"
    r"|(?:option|choice)\s"
    r"|(?<!might )(?<!may )(?<!could )(?:is|be)\s(?P<capital>(?=[(*\[]{0,4}[a-z](?:[)\]*.:]|\s*$))))"
    r"|(?:^|[.\n,;]\s?)\W{0,3}(?:so|thus|therefore|hence|finally|in conclusion|conclusion)\b[,:]?\s"
)
_WEAK_CHINESE = Pattern(r"选项|就是|(?:所以|因此|大概|应该)是|(?:认为|觉得|判断|看来|推断)应?该?[是选]")
_CAPITAL = Pattern(r"[(*\[]{0,4}[A-Z]")
Kind = Literal["letter", "ambiguous", "not-an-option"]
_FILLER = Pattern(
    rf"(?:{WRAPPING}|\b(?:option|choice|letter|answer|simply|just|only|clearly|probably|likely|definitely|indeed|"
    r"therefore|thus|most|either|both|is|to be|the)\b|选项|选择|选|是|为|应该)*",
    re.IGNORECASE,
)
_LETTER_HERE = Pattern(LETTER)
_CONNECTOR = Pattern(
    r"\s*(?:$|[^\w\s]|_|(?-i:[\u2e80-\u9fff])|(?:because|since|as|for|and|or|which|with|from|based|due|given|but|"
    r"rather|not|so|is|was|in this|according|by|if|when|instead|option|choice|answer)\b)",
    re.IGNORECASE,
)
_CLOSED = Pattern(r"\s*(?:$|[.):\]}*\"'`>$\n。：，、；])")
_SUBJECT = Pattern(
    rf"{CLOSERS}(?:is|was|isn't|wasn't|are|were|has|have|had|shows?|seems?|looks?|appears?|cannot|can't|can|could|would|"
    r"will|may|might|does|doesn't|did|didn't|refers?|describes?|says?|represents?|depicts?|mentions?|also|shares?|"
    r"matches|contains?)\b|(?:选项|项)?[是为的描显表看]",
    re.IGNORECASE,
)
_REJECTED = Pattern(
    rf"{CLOSERS}(?:(?:is|was|are|seems?|looks?|appears?|would be|must be|can be)\s+"
    r"(?:clearly |definitely |also )?"
    r"(?:not\b|wrong|incorrect|false|out\b|excluded|eliminated|ruled|invalid|impossible|unlikely)"
    r"|(?:is|was|does|do)n't\b|can(?:not|'t)\b)"
    r"|(?:选项|项)?(?:是|为)?(?:错|不|有误|排除)",
    re.IGNORECASE,
)
_DOUBTED = Pattern(rf"{CLOSERS}[?？]")
_PAIRED = Pattern(
    r"[)\]*\"'`$}_\s]{0,6}(?:,|;|/|&|\+|、|，|(?<=\))(?=\()|\band\b|\bor\b|和|或者?|与|及|还是)\s{0,3}(?:and\b|or\b)?\s{0,3}(?:both\b)?"
    r"\s{0,3}(?:option|choice|选项)?[\s(\[*\"'$]{0,5}" + LETTER,
    re.IGNORECASE,
)
_PAIRED_BEFORE = Pattern(
    LETTER + r"[)\]*\"'`$\s]{0,5}(?:/|&|、|\band\b|\bor\b|\bnor\b|和|或者?|与|及|还是)\s{0,3}"
    r"(?:option|choice|选项)?[\s(\[*\"'$]{0,5}$",
    re.IGNORECASE,
)


class FoundLetter(msgspec.Struct, frozen=True):
    """What one place holds: the letter of an option, several at once, or a letter that is no option."""

    kind: Kind
    letter: str | None
    span: tuple[int, int]


def find_stated_letters(text: str, start: int, options: ChoiceOptions) -> Iterator[FoundLetter]:
    """Letters stated as the answer: "the answer is B", "I choose B", "B is correct", "选B"."""
    for place in find_stated_answers(text, start):
        if found := read_letter_after(text, place.start, place.end, options, may_be_subject=True):
            yield found
    for cue in _find_cues(text, start, _STRONG, _STRONG_CHINESE):
        if is_negated(text, cue.start()) or is_hypothetical(text, cue.start()):
            continue
        if found := read_letter_after(text, cue.end(), len(text), options, may_be_subject=False):
            yield found
    for cue in _find_cues(text, start, _PREDICATE, _PREDICATE_CHINESE):
        at, letter = cue.start(1), options.find_by_letter(cue.group(1))
        is_denied = is_negated(text, at) or is_hypothetical(text, at)
        if letter is None or is_denied or text[cue.end() : cue.end() + 1] in ("?", "？", "吗"):
            continue
        before = _PAIRED_BEFORE.search(text[max(start, at - 30) : at])
        is_paired = before is not None and options.find_by_letter(before.group(1)) not in (None, letter)
        yield (
            FoundLetter("ambiguous", None, cue.span(1))
            if is_paired
            else FoundLetter("letter", letter, cue.span(1))
        )


def find_implied_letters(text: str, start: int, options: ChoiceOptions) -> Iterator[FoundLetter]:
    """Letters that are only mentioned: "it is B", "so B", "option B"."""
    for cue in _find_cues(text, start, _WEAK, _WEAK_CHINESE):
        # Any "is" may precede a letter only if that is a capital: "the type is B.", not "is a."
        if cue.lastgroup == "capital" and not _CAPITAL.match(text, cue.end()):
            continue
        if is_negated(text, cue.start()) or is_negated(text, cue.end()) or is_hypothetical(text, cue.start()):
            continue
        if found := read_letter_after(text, cue.end(), len(text), options, may_be_subject=False):
            yield found


def _find_cues(text: str, start: int, english: Pattern, chinese: Pattern) -> list[re.Match[str]]:
    found = list(english.finditer(lower_ascii(text), start))
    if not text.isascii():
        found = sorted([*found, *chinese.finditer(text, start)], key=re.Match.start)
    return found[-MAX_STATEMENTS:]


def read_letter_after(
    text: str, start: int, end: int, options: ChoiceOptions, *, may_be_subject: bool
) -> FoundLetter | None:
    """The letter right after a cue, if it is given as the answer.

    None where there is no letter, where it is an article or a pronoun ("is a cat", "I think"), where it is
    doubted or rejected ("B?", "B is wrong"), and, unless `may_be_subject`, where it begins a sentence.
    """
    filler = _FILLER.match(text, start, end)
    found = _LETTER_HERE.match(text, filler.end() if filler else start, end)
    if found is None or not _is_a_letter(text, found, options):
        return None
    tail = text[found.end() : found.end() + 80]
    if _DOUBTED.match(tail) or _REJECTED.match(tail) or (not may_be_subject and _SUBJECT.match(tail)):
        return None
    letter = options.find_by_letter(found.group(1))
    if letter is None:
        is_meant = found.group(1).isupper() and _CLOSED.match(tail)
        return FoundLetter("not-an-option", None, found.span(1)) if is_meant else None
    if has_second_letter(text, found.end(), letter, options):
        return FoundLetter("ambiguous", None, found.span(1))
    return FoundLetter("letter", letter, found.span(1))


def has_second_letter(text: str, position: int, letter: str, options: ChoiceOptions) -> bool:
    """Whether a second option is offered beside the one that ends at `position`: "A or B", "A, C"."""
    pair = _PAIRED.match(text[position : position + 60])
    if pair is None or options.find_by_letter(pair.group(1)) in (None, letter):
        return False
    tail = text[position + pair.end() : position + pair.end() + 80]
    return not (_SUBJECT.match(tail) or _is_article(pair.group(1), tail))


def _is_a_letter(text: str, found: re.Match[str], options: ChoiceOptions) -> bool:
    """Not an article, not the pronoun, and not the first letter of an option's own words ("C major")."""
    if _is_article(found.group(1), text[found.end() : found.end() + 40]):
        return False
    return not any(
        mention.span[0] == found.start() and mention.span[1] > found.end()
        for mention in options.find_mentions(text, found.start(), found.start() + 80)
    )


def _is_article(letter: str, tail: str) -> bool:
    if letter in "Ii":
        return _CLOSED.match(tail) is None
    return letter in "Aa" and _CONNECTOR.match(tail) is None
