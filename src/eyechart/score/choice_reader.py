r"""Our own reading of a choice: it knows many ways of saying the same, and never guesses.

How `read_choice` decides, first rule that finds something:

1. `choice:bare-letter`: the reply is a letter and what people wrap letters in.
2. `choice:option-text`: the reply is an option's own words and nothing else.
3. Decisive statements, of which the last one counts: `choice:tag` (`<answer>`), `choice:boxed`,
   `choice:json`, `choice:stated` ("the answer is B", "I choose B", "B is correct", "选B", "wait, C"),
   `choice:last-line` (the last line is a letter or an option's words). The letter of an explicit
   statement stands even if the words after it are another option's.
4. `choice:lettered`: the reply begins "B. ...", "(B) ...", "B, because ...". Where the words after the
   letter are another option's ("B. cat", and cat is A), it contradicts itself: `choice:contradiction`.
5. `choice:last-line`: the last line is "B. dog", the letter and the words of one option.
6. `choice:implied`: "it is B", "so B", "option B", if all such places agree.
7. `choice:option-text`: a short reply names exactly one option in its own words, whole words, longest
   option first, denied ones aside.

Else nothing was read, and the rule says why: `choice:ambiguous` (several), `choice:not-an-option`,
`choice:contradiction`, `choice:empty`, `choice:unread`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from eyechart.score.abstain import abstains
from eyechart.score.choice_lead import read_last_line, read_lead
from eyechart.score.fold import fold
from eyechart.score.letters import letter_after, strong, weak
from eyechart.score.options import Options, options_of
from eyechart.score.statement import Statement, answer_start, bare_span, containers, stated, whole_json
from eyechart.score.verdict import Reading, chosen, unread

MAX_MENTION_CHARS = 400  # a longer reply may speak of an option without choosing it

_BARE = re.compile(
    r"(?:(?:the\s)?(?:correct\s)?(?:option|choice|letter|answer)[\s:]*|(?:definitely|probably|likely|clearly)\s|选项?|答案)?"
    r"[\s\"'*`$(\[=>→•✅✔-]*([A-Za-z])[)\]\"'*`$\s✅✔]*(?:选项|项)?",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(?:or|and)\b|[或和与]", re.IGNORECASE)
_LETTER_BESIDE = re.compile(r"[\s\"'*]{0,4}[(\[]([A-Za-z])[)\]]")


def read_choice(text: str, choices: Mapping[str, str]) -> Reading:
    """Which option the reply chooses, by which rule, and where it says so. Unclear replies are not read.

    >>> read_choice("At first A looks right, but the answer is (c).", {"A": "cat", "C": "dog"})
    Reading(answer='C', rule='choice:stated', span=(43, 44), is_whole=False)
    >>> read_choice("A cat is on the mat", {"A": "dog", "B": "bird"}).rule
    'choice:unread'
    """
    plain, options = fold(text), options_of(choices)
    begin = answer_start(plain)
    start, end = bare_span(plain, begin)
    if start >= end:
        return _empty(plain, begin, options)
    return (
        _by_whole(plain, start, end, options)
        or _by_whole_json(plain, begin, options)
        or _by_statement(plain, begin, end, options)
        or _by_prose(plain, start, end, options)
    )


def _empty(text: str, begin: int, options: Options) -> Reading:
    """Nothing but marks: still an answer when an option is written so ("+", "?")."""
    letter = options.named(text[begin:])
    return Reading(letter, "choice:option-text" if letter else "choice:empty")


def _by_whole(text: str, start: int, end: int, options: Options) -> Reading | None:
    """The reply is a letter, or an option's own words, and nothing else."""
    words, span = text[start:end], (start, end)
    named = options.named(words) if len(words) <= options.n_chars + 8 else None
    if label := options.label(words):
        is_text_too = named not in (None, label) and words not in options.labels
        return unread("ambiguous", span) if is_text_too else chosen(label, "bare-letter", span, is_whole=True)
    if named:
        return chosen(named, "option-text", span)
    if len(words) > 40 or not (found := _BARE.fullmatch(words)):
        return None
    if label := options.label(found.group(1)):
        at = (start + found.start(1), start + found.end(1))
        return chosen(label, "bare-letter", at, is_whole=True)
    return unread("not-an-option", span)


def _by_whole_json(text: str, begin: int, options: Options) -> Reading | None:
    value = whole_json(text, begin)
    if not isinstance(value, str | int | float | list):
        return None
    span = (begin, len(text))
    content = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    inner = _read_content(content, options)
    return Reading(inner.letter, "choice:json" if inner.letter else inner.rule, span)


def _by_statement(text: str, start: int, end: int, options: Options) -> Reading | None:
    """The last decisive statement; those that say nothing of the options are passed over."""
    readings = [*_contained(text, start, options), *_stated(text, start, options)]
    if last := _last_line(text, start, end, options):
        readings.append(last)
    return sorted(readings, key=lambda reading: reading.span[0])[-1] if readings else None


def _contained(text: str, start: int, options: Options) -> list[Reading]:
    readings = []
    for place in containers(text, start):
        inner = _read_content(place.text(text), options)
        if inner.letter or inner.rule in ("choice:ambiguous", "choice:not-an-option"):
            rule = f"choice:{place.kind}" if inner.letter else inner.rule
            readings.append(Reading(inner.letter, rule, (place.start, place.end)))
    if len(readings) > 1 and _offers_both(text, *readings[-2:]):
        readings.append(unread("ambiguous", readings[-1].span))
    return readings


def _offers_both(text: str, first: Reading, second: Reading) -> bool:
    r"""Whether two boxes are joined to one answer: ``\boxed{A} or \boxed{B}``."""
    between = text[first.span[1] : second.span[0]]
    return first.letter != second.letter and len(between) < 30 and _JOINED.search(between) is not None


def _stated(text: str, start: int, options: Options) -> list[Reading]:
    readings = []
    for found in strong(text, start, options):
        rule = "choice:stated" if found.letter else f"choice:{found.kind}"
        readings.append(Reading(found.letter, rule, found.span))
    named = (_option_in(text, place, options) for place in stated(text, start))
    return readings + [reading for reading in named if reading]


def _option_in(text: str, place: Statement, options: Options) -> Reading | None:
    """An option named in its own words right after "the answer is"."""
    if letter_after(text, place.start, place.end, options, may_be_subject=True):
        return None
    if text[place.end - 1 : place.end] in ("?", "？"):
        return None
    mentions = options.mentions(text, place.start, place.end)
    if not mentions:
        return None
    if len({(mention.letter, mention.letters) for mention in mentions}) > 1:
        return unread("ambiguous", mentions[0].span)
    named = mentions[0]
    beside = _LETTER_BESIDE.match(text, mentions[-1].span[1])
    lettered = options.label(beside.group(1)) if beside else None
    if beside and lettered and lettered not in named.letters:
        return unread("contradiction", (named.span[0], beside.end()))
    letter = lettered or named.letter
    return chosen(letter, "stated", named.span) if letter else unread("ambiguous", named.span)


def _last_line(text: str, start: int, end: int, options: Options) -> Reading | None:
    newline = text.rfind("\n", start, end)
    if newline < 0 or end - newline > options.n_chars + 60:
        return None
    first, last = bare_span(text, newline, end)
    reading = _by_whole(text, first, last, options) if first < last else None
    return Reading(reading.letter, "choice:last-line", (first, last)) if reading and reading.letter else None


def _by_prose(text: str, start: int, end: int, options: Options) -> Reading:
    return (
        read_lead(text, start, options)
        or read_last_line(text, start, end, options)
        or _by_implication(text, start, options)
        or _by_mention(text, start, end, options)
        or Reading(None, "choice:unread")
    )


def _by_implication(text: str, start: int, options: Options) -> Reading | None:
    found = list(weak(text, start, options))
    if not found:
        return None
    if len({(place.kind, place.letter) for place in found}) > 1:
        return unread("ambiguous", found[0].span)
    last = found[-1]
    if options.by_case.get(last.letter or "", ()) not in ((), (last.letter,)):
        return unread("ambiguous", last.span)  # "the blood type is A", and A is what option B says
    return Reading(last.letter, "choice:implied" if last.letter else f"choice:{last.kind}", last.span)


def _by_mention(text: str, start: int, end: int, options: Options) -> Reading | None:
    if end - start > MAX_MENTION_CHARS + options.n_chars:
        return None
    mentions = options.mentions(text, start, end)
    if abstains(text[start:end]):  # "I cannot tell if it is a dog" names a dog; it does not choose one
        mentions = [mention for mention in mentions if abstains(text[slice(*mention.span)])]
    if not mentions:
        return None
    letter = mentions[0].letter
    if letter is None or len({mention.letter for mention in mentions}) > 1:
        return unread("ambiguous", mentions[0].span)
    return chosen(letter, "option-text", mentions[0].span)


def _read_content(content: str, options: Options) -> Reading:
    """What a container holds: a letter, an option's words, or a sentence of its own."""
    start, end = bare_span(content)
    if start >= end:
        return _empty(content, 0, options)
    whole = _by_whole(content, start, end, options)
    if whole:
        return whole
    found = letter_after(content, start, end, options, may_be_subject=True)
    if found and found.kind != "not-an-option":
        return Reading(found.letter, f"choice:{found.kind}", found.span)
    stated_here = _stated(content, start, options)
    return stated_here[-1] if stated_here else _by_prose(content, start, end, options)
