"""Option letters in running text: which single letter is an answer, and which is an article or a subject."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from eyechart.score.cues import CLOSERS, LETTER, WRAPPING, strong_cues, strong_predicates, weak_cues
from eyechart.score.options import Options, is_negated
from eyechart.score.patterns import Pattern
from eyechart.score.statement import is_hypothetical, stated

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


class Found(msgspec.Struct, frozen=True):
    """What was found at one place: a letter of an option, several at once, or one that is no option."""

    kind: Kind
    letter: str | None
    span: tuple[int, int]


def letter_after(text: str, start: int, end: int, options: Options, *, may_be_subject: bool) -> Found | None:
    """The letter that `text` gives right after a cue, if it is given as the answer.

    None where there is no letter, where it is an article or a pronoun ("is a cat", "I think"), where it
    is asked or denied ("B?", "B is wrong"), and where a sentence about it begins, unless
    `may_be_subject`.
    """
    filler = _FILLER.match(text, start, end)
    found = _LETTER_HERE.match(text, filler.end() if filler else start, end)
    if found is None or not _is_a_letter(text, found, options):
        return None
    tail = text[found.end() : found.end() + 80]
    if _DOUBTED.match(tail) or _REJECTED.match(tail) or (not may_be_subject and _SUBJECT.match(tail)):
        return None
    letter = options.label(found.group(1))
    if letter is None:
        is_meant = found.group(1).isupper() and _CLOSED.match(tail)
        return Found("not-an-option", None, found.span(1)) if is_meant else None
    if other_letter(text, found.end(), letter, options):
        return Found("ambiguous", None, found.span(1))
    return Found("letter", letter, found.span(1))


def other_letter(text: str, position: int, letter: str, options: Options) -> bool:
    """Whether a second option is offered beside the one that ends at `position`: "A or B", "A, C"."""
    pair = _PAIRED.match(text[position : position + 60])
    if pair is None or options.label(pair.group(1)) in (None, letter):
        return False
    tail = text[position + pair.end() : position + pair.end() + 80]
    return not (_SUBJECT.match(tail) or _is_article(pair.group(1), tail))


def strong(text: str, start: int, options: Options) -> Iterator[Found]:
    """Letters given in so many words: "the answer is B", "I choose B", "B is correct", "选B"."""
    for place in stated(text, start):
        if found := letter_after(text, place.start, place.end, options, may_be_subject=True):
            yield found
    for cue in strong_cues(text, start):
        if is_negated(text, cue.start()) or is_hypothetical(text, cue.start()):
            continue
        if found := letter_after(text, cue.end(), len(text), options, may_be_subject=False):
            yield found
    for cue in strong_predicates(text, start):
        at, letter = cue.start(1), options.label(cue.group(1))
        is_denied = is_negated(text, at) or is_hypothetical(text, at)
        if letter is None or is_denied or text[cue.end() : cue.end() + 1] in ("?", "？", "吗"):
            continue
        before = _PAIRED_BEFORE.search(text[max(start, at - 30) : at])
        is_paired = before is not None and options.label(before.group(1)) not in (None, letter)
        yield Found("ambiguous", None, cue.span(1)) if is_paired else Found("letter", letter, cue.span(1))


def weak(text: str, start: int, options: Options) -> Iterator[Found]:
    """Letters that are only spoken of in passing: "it is B", "so B", "option B"."""
    for cue in weak_cues(text, start):
        if is_negated(text, cue.start()) or is_negated(text, cue.end()) or is_hypothetical(text, cue.start()):
            continue
        if found := letter_after(text, cue.end(), len(text), options, may_be_subject=False):
            yield found


def _is_a_letter(text: str, found: re.Match[str], options: Options) -> bool:
    """Not an article, not the pronoun, and not the first letter of an option's own words ("C major")."""
    if _is_article(found.group(1), text[found.end() : found.end() + 40]):
        return False
    return not any(
        mention.span[0] == found.start() and mention.span[1] > found.end()
        for mention in options.mentions(text, found.start(), found.start() + 80)
    )


def _is_article(letter: str, tail: str) -> bool:
    if letter in "Ii":
        return _CLOSED.match(tail) is None
    return letter in "Aa" and _CONNECTOR.match(tail) is None
