"""Multiple choice: the letter that a reply chooses, and whether it is the gold.

There are two readers. `read_choice` is our own: it knows many ways of stating a choice and never guesses.
`infer` is VLMEvalKit's, quirks included, for numbers that must compare with published ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase

import msgspec

from eyechart.errors import API_FAILURE, UsageError
from eyechart.registry import scorer
from eyechart.score.choice_options import (
    ARTICLE,
    ChoiceOptions,
    Mention,
    find_implied_letters,
    find_stated_letters,
    has_second_letter,
    prepare_options,
    read_letter_after,
)
from eyechart.score.reading import (
    Reading,
    StatedAnswer,
    find_answer_start,
    find_contained_answers,
    find_stated_answers,
    is_abstention,
    normalise_characters,
    read_json_answer,
    score_reading,
    unwrap,
    unwrap_span,
)
from eyechart.types import Reply, Sample, Score

JUDGE_TRIES = 3  # as published: the judge is called again while its reply names no option
MAX_MENTION_CHARS = 400  # a longer reply may speak of an option without choosing it


@scorer("choice", version="3")
def score_choice(reply: Reply, sample: Sample) -> Score:
    """Our own reader against the gold, which may be given as the letter or as the option's text.

    A sample without options is read by letters alone. A sample whose gold is not an option is unscored.
    """
    choices = sample.choices or dict.fromkeys(ascii_uppercase, "")
    reading = read_choice(reply.text, choices)
    wanted = {letter for gold in sample.golds if (letter := find_gold_letter(gold, choices))}
    if sample.golds and not wanted:
        return Score(outcome="unscored", value=0.0, read=reading.letter, route="choice:gold-not-an-option")
    return score_reading(reply, sample, reading, float(reading.letter in wanted))


def find_gold_letter(gold: str, choices: Mapping[str, str]) -> str | None:
    """The letter of a gold given as letter or as the option's own text; None when it is neither.

    >>> options = {"A": "cat", "B": "dog"}
    >>> find_gold_letter("b", options), find_gold_letter("Dog", options), find_gold_letter("bird", options)
    ('B', 'B', None)
    """
    options = prepare_options(choices)
    return (
        options.find_by_letter(gold.strip())
        or options.find_by_text(gold)
        or options.find_by_letter(unwrap(normalise_characters(gold)))
    )


# -- Our own reader

_BARE = re.compile(
    r"(?:(?:the\s)?(?:correct\s)?(?:option|choice|letter|answer)[\s:]*|(?:definitely|probably|likely|clearly)\s|选项?|答案)?"
    r"[\s\"'*`$(\[=>→•✅✔-]*([A-Za-z])[)\]\"'*`$\s✅✔]*(?:选项|项)?",
    re.IGNORECASE,
)
_JOINED = re.compile(r"\b(?:or|and)\b|[或和与]", re.IGNORECASE)
_LETTER_BESIDE = re.compile(r"[\s\"'*]{0,4}[(\[]([A-Za-z])[)\]]")


def read_choice(text: str, choices: Mapping[str, str]) -> Reading:
    """The option that a reply chooses, the rule that found it, and where. Unclear replies are not read.

    The first rule that finds something decides:

    1. ``choice:bare-letter``: the reply is a letter and what people wrap letters in.
    2. ``choice:option-text``: the reply is an option's own words and nothing else.
    3. Decisive statements, of which the last one counts: ``choice:tag`` (`<answer>`), ``choice:boxed``,
       ``choice:json``, ``choice:stated`` ("the answer is B", "I choose B", "B is correct", "选B", "wait, C"),
       ``choice:last-line`` (the last line is a letter or an option's words). The letter of an explicit
       statement stands even if the words after it are another option's.
    4. ``choice:lettered``: the reply begins "B. ...", "(B) ...", "B, because ...". Where the words after the
       letter are another option's ("B. cat", and cat is A), it contradicts itself: ``choice:contradiction``.
    5. ``choice:last-line``: the last line is "B. dog", the letter and the words of one option.
    6. ``choice:implied``: "it is B", "so B", "option B", if all such places agree.
    7. ``choice:option-text``: a short reply names exactly one option in its own words, whole words, longest
       option first, negated ones aside.

    Otherwise nothing is read, and the rule says why: ``choice:ambiguous`` (several options),
    ``choice:not-an-option``, ``choice:contradiction``, ``choice:empty``, ``choice:unread``.

    >>> read_choice("At first A looks right, but the answer is (c).", {"A": "cat", "C": "dog"})
    Reading(answer='C', rule='choice:stated', span=(43, 44), is_whole=False)
    >>> read_choice("A cat is on the mat", {"A": "dog", "B": "bird"}).rule
    'choice:unread'
    """
    plain, options = normalise_characters(text), prepare_options(choices)
    begin = find_answer_start(plain)
    start, end = unwrap_span(plain, begin)
    if start >= end:
        return _empty(plain, begin, options)
    return (
        _by_whole(plain, start, end, options)
        or _by_whole_json(plain, begin, options)
        or _by_statement(plain, begin, end, options)
        or _by_prose(plain, start, end, options)
    )


def _reading(letter: str | None, rule: str, span: tuple[int, int], *, is_whole: bool = False) -> Reading:
    return Reading(letter, f"choice:{rule}", span, is_whole)


def _empty(text: str, begin: int, options: ChoiceOptions) -> Reading:
    """Nothing but marks: an answer only when an option is written so ("+", "?")."""
    letter = options.find_by_text(text[begin:])
    return Reading(letter, "choice:option-text" if letter else "choice:empty")


def _by_whole(text: str, start: int, end: int, options: ChoiceOptions) -> Reading | None:
    """The reply is a letter, or an option's own words, and nothing else."""
    words, span = text[start:end], (start, end)
    named = options.find_by_text(words) if len(words) <= options.n_chars + 8 else None
    if label := options.find_by_letter(words):
        is_text_too = named not in (None, label) and words not in options.labels
        return (
            _reading(None, "ambiguous", span)
            if is_text_too
            else _reading(label, "bare-letter", span, is_whole=True)
        )
    if named:
        return _reading(named, "option-text", span)
    if len(words) > 40 or not (found := _BARE.fullmatch(words)):
        return None
    if label := options.find_by_letter(found.group(1)):
        at = (start + found.start(1), start + found.end(1))
        return _reading(label, "bare-letter", at, is_whole=True)
    return _reading(None, "not-an-option", span)


def _by_whole_json(text: str, begin: int, options: ChoiceOptions) -> Reading | None:
    value = read_json_answer(text, begin)
    if not isinstance(value, str | int | float | list):
        return None
    span = (begin, len(text))
    content = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    inner = _read_content(content, options)
    return Reading(inner.letter, "choice:json" if inner.letter else inner.rule, span)


def _by_statement(text: str, start: int, end: int, options: ChoiceOptions) -> Reading | None:
    """The last decisive statement; those that name no option are skipped."""
    readings = [*_contained(text, start, options), *_stated(text, start, options)]
    if last := _last_line(text, start, end, options):
        readings.append(last)
    return sorted(readings, key=lambda reading: reading.span[0])[-1] if readings else None


def _contained(text: str, start: int, options: ChoiceOptions) -> list[Reading]:
    readings = []
    for place in find_contained_answers(text, start):
        inner = _read_content(place.text(text), options)
        if inner.letter or inner.rule in ("choice:ambiguous", "choice:not-an-option"):
            rule = f"choice:{place.kind}" if inner.letter else inner.rule
            readings.append(Reading(inner.letter, rule, (place.start, place.end)))
    if len(readings) > 1 and _offers_both(text, *readings[-2:]):
        readings.append(_reading(None, "ambiguous", readings[-1].span))
    return readings


def _offers_both(text: str, first: Reading, second: Reading) -> bool:
    r"""Whether two boxes are joined to one answer: ``\boxed{A} or \boxed{B}``."""
    between = text[first.span[1] : second.span[0]]
    return first.letter != second.letter and len(between) < 30 and _JOINED.search(between) is not None


def _stated(text: str, start: int, options: ChoiceOptions) -> list[Reading]:
    readings = []
    for found in find_stated_letters(text, start, options):
        rule = "choice:stated" if found.letter else f"choice:{found.kind}"
        readings.append(Reading(found.letter, rule, found.span))
    named = (_option_in(text, place, options) for place in find_stated_answers(text, start))
    return readings + [reading for reading in named if reading]


def _option_in(text: str, place: StatedAnswer, options: ChoiceOptions) -> Reading | None:
    """An option named in its own words right after "the answer is"."""
    if read_letter_after(text, place.start, place.end, options, may_be_subject=True):
        return None
    if text[place.end - 1 : place.end] in ("?", "？"):
        return None
    mentions = options.find_mentions(text, place.start, place.end)
    if not mentions:
        return None
    if len({(mention.letter, mention.letters) for mention in mentions}) > 1:
        return _reading(None, "ambiguous", mentions[0].span)
    named = mentions[0]
    beside = _LETTER_BESIDE.match(text, mentions[-1].span[1])
    lettered = options.find_by_letter(beside.group(1)) if beside else None
    if beside and lettered and lettered not in named.letters:
        return _reading(None, "contradiction", (named.span[0], beside.end()))
    letter = lettered or named.letter
    return _reading(letter, "stated", named.span) if letter else _reading(None, "ambiguous", named.span)


def _last_line(text: str, start: int, end: int, options: ChoiceOptions) -> Reading | None:
    newline = text.rfind("\n", start, end)
    if newline < 0 or end - newline > options.n_chars + 60:
        return None
    first, last = unwrap_span(text, newline, end)
    reading = _by_whole(text, first, last, options) if first < last else None
    return Reading(reading.letter, "choice:last-line", (first, last)) if reading and reading.letter else None


def _read_content(content: str, options: ChoiceOptions) -> Reading:
    """What a container holds: a letter, an option's words, or a sentence of its own."""
    start, end = unwrap_span(content)
    if start >= end:
        return _empty(content, 0, options)
    whole = _by_whole(content, start, end, options)
    if whole:
        return whole
    found = read_letter_after(content, start, end, options, may_be_subject=True)
    if found and found.kind != "not-an-option":
        return Reading(found.letter, f"choice:{found.kind}", found.span)
    stated_here = _stated(content, start, options)
    return stated_here[-1] if stated_here else _by_prose(content, start, end, options)


def _by_prose(text: str, start: int, end: int, options: ChoiceOptions) -> Reading:
    return (
        _by_lead(text, start, options)
        or _by_lettered_last_line(text, start, end, options)
        or _by_implication(text, start, options)
        or _by_mention(text, start, end, options)
        or Reading(None, "choice:unread")
    )


def _by_implication(text: str, start: int, options: ChoiceOptions) -> Reading | None:
    found = list(find_implied_letters(text, start, options))
    if not found:
        return None
    if len({(place.kind, place.letter) for place in found}) > 1:
        return _reading(None, "ambiguous", found[0].span)
    last = found[-1]
    if options.by_case.get(last.letter or "", ()) not in ((), (last.letter,)):
        return _reading(None, "ambiguous", last.span)  # "the blood type is A", and A is what option B says
    return Reading(last.letter, "choice:implied" if last.letter else f"choice:{last.kind}", last.span)


def _by_mention(text: str, start: int, end: int, options: ChoiceOptions) -> Reading | None:
    if end - start > MAX_MENTION_CHARS + options.n_chars:
        return None
    mentions = options.find_mentions(text, start, end)
    if is_abstention(text[start:end]):  # "I cannot tell if it is a dog" names a dog; it does not choose one
        mentions = [mention for mention in mentions if is_abstention(text[slice(*mention.span)])]
    if not mentions:
        return None
    letter = mentions[0].letter
    if letter is None or len({mention.letter for mention in mentions}) > 1:
        return _reading(None, "ambiguous", mentions[0].span)
    return _reading(letter, "option-text", mentions[0].span)


# -- A choice that the reply, or its last line, begins with: "B. ...", "(B) ...", "B, because ...", "B dog"

_LEAD = re.compile(
    r"(?:(?:option|choice|answer)\s{1,3}|选项)?[(\[\"'*`$]{0,4}([A-Za-z])"
    r"([)\]\"'*`$]{0,4}(?:[.:,;、。，：；)\]-]|\s{1,2}-)[)\]\"'*`$.]{0,4}|[)\]\"'*`$]{0,4}\s{0,4}\n|[*`\"'$)\]]{1,4}\s|"
    r"\s+(?:because|since|as|due to|based on|given that|for the)\b)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"[\s>#→•*-]{0,12}")  # of a list or a heading, at the beginning of a line
# What precedes a line that begins a sentence: an empty line, a heading, or the end of a sentence.
_NEW_SENTENCE = re.compile(r"(?:\n[ \t]{0,8}|\n#[^\n]{0,80}|[^\w\s,，、][ \t]{0,8})\n\Z")
_LINE_LETTER = re.compile(r"(?:^|\n)[\s*>#-]{0,6}[(\[]?([A-Za-z])[)\].:、]")
_OPTION_WORD = re.compile(
    r"(?:option|choice|answer)\s{1,3}[(\[]?([A-Za-z])\b|选项[(\[]?([A-Za-z])", re.IGNORECASE
)
_KEY_LETTER = re.compile(r"[\"']([A-Za-z])[\"']\s{0,3}:")
_NEXT_LETTER = re.compile(r"[\s,;.]*[(\[]?([A-Za-z])[)\].:、]")


def _by_lead(text: str, start: int, options: ChoiceOptions) -> Reading | None:
    """A letter at the very beginning, then a mark, a line end or a reason.

    Where the words after the letter are another option's, the reply contradicts itself; where the other
    letters follow, it repeats the options and chooses none.
    """
    lead = _LEAD.match(text, start)
    letter = options.find_by_letter(lead.group(1)) if lead else None
    if lead is None:
        return _letter_then_words(text, start, options)
    span = lead.span(1)
    if lead.group(1) in "Ii" and lead.group(2).strip()[:1] not in tuple(".):"):
        return None  # "I, for one, ..."
    if letter is None:
        return _reading(None, "not-an-option", span) if lead.group(1).isupper() else None
    if _lists_options(text, lead, letter, options) or has_second_letter(text, lead.end(1), letter, options):
        return _reading(None, "ambiguous", span)
    named = _named_at(text, lead.end(), options)
    if named and letter not in named.letters and (dash := lead.group(2).find("-")) >= 0:
        named = _named_at(text, lead.start(2) + dash, options) or named  # "(C) -$5": it is a minus
    if named is None:
        return _reading(letter, "lettered", span)
    end = named.span[1]
    if letter not in named.letters:
        return _reading(None, "contradiction", (span[0], end))
    after = _NEXT_LETTER.match(text, end)
    if after and options.find_by_letter(after.group(1)) not in (None, letter):
        return _reading(None, "ambiguous", span)
    return _reading(letter, "lettered", (span[0], end))


def _letter_then_words(text: str, start: int, options: ChoiceOptions) -> Reading | None:
    """A letter and its option's own words with nothing between ("B dog"). An A before words is an article."""
    letter = options.find_by_letter(text[start : start + 1])
    if letter and has_second_letter(text, start + 1, letter, options):
        return _reading(None, "ambiguous", (start, start + 1))
    if letter is None or text[start] in "AaIi" or not text[start + 1 : start + 2].isspace():
        return None
    named = _named_at(text, start + 1, options)
    if named is None:
        return None
    if letter not in named.letters:
        return _reading(None, "contradiction", (start, named.span[1]))
    return _reading(letter, "lettered", (start, named.span[1]))


def _named_at(text: str, position: int, options: ChoiceOptions) -> Mention | None:
    """The option or options whose words begin at `position`, wrapping and an article aside."""
    begin, _ = unwrap_span(text, position, min(len(text), position + 40))
    article = ARTICLE.match(text, begin)
    begins = {begin, article.end() if article else begin}
    stop = min(len(text), begin + options.n_chars + 40)
    for mention in options.find_mentions(text, begin, stop)[:1]:
        if mention.span[0] in begins:
            return mention
    return None


def _lists_options(text: str, lead: re.Match[str], letter: str, options: ChoiceOptions) -> bool:
    """Whether the reply only repeats the options: as lines in order, or as keys ({"A": 0.1, "B": 0.9})."""
    keys = (options.find_by_letter(found.group(1)) for found in _KEY_LETTER.finditer(text, lead.end()))
    if any(key not in (None, letter) for key in keys):
        return True
    labels = list(options.labels.values())
    following = labels[labels.index(letter) + 1 :][:1]
    if not lead.group().startswith(lead.group(1)) and _OPTION_WORD.match(text, lead.start()):
        others = (found.group(1) or found.group(2) for found in _OPTION_WORD.finditer(text, lead.end()))
        if any(options.find_by_letter(other) not in (None, letter) for other in others):
            return True
    line = _LINE_LETTER.search(text, lead.end())
    is_alone = "\n" in lead.group(2)  # a letter on a line of its own is an answer, whatever follows
    return line is not None and not is_alone and [options.find_by_letter(line.group(1))] == following


def _by_lettered_last_line(text: str, start: int, end: int, options: ChoiceOptions) -> Reading | None:
    r"""A last line that is a letter and its option's own words and nothing else, behind any reasoning.

    Not where another line begins with another option's letter: such lines list the options.

    >>> from eyechart.score.choice_options import prepare_options
    >>> options, text = prepare_options({"A": "cat", "B": "dog"}), "Unlike a cat, it barks.\n\n**B. dog**"
    >>> _by_lettered_last_line(text, 0, len(text), options)
    Reading(answer='B', rule='choice:last-line', span=(27, 33), is_whole=False)
    """
    newline = text.rfind("\n", start, end)
    if newline < 0 or end - newline > options.n_chars + 60:
        return None
    marks = _MARKS.match(text, newline, end)
    first, last = unwrap_span(text, marks.end() if marks else newline, end)
    lead = _LEAD.match(text, first, last)
    letter = options.find_by_letter(lead.group(1)) if lead else None
    named = _named_at(text, lead.end(), options) if lead and letter else None
    if letter is None or named is None or letter not in named.letters or named.span[1] < last:
        return None
    if not _NEW_SENTENCE.search(text, max(start, newline - 100), newline + 1):
        return None
    others = (options.find_by_letter(found.group(1)) for found in _LINE_LETTER.finditer(text, start, newline))
    if any(other not in (None, letter) for other in others):
        return None
    return _reading(letter, "last-line", (first, last))


# -- VLMEvalKit's reader
#
# Source: open-compass/VLMEvalKit, commit e8e78f05 and the history of the same file. Golden vectors, produced
# by that code: tests/golden/mcq_infer.jsonl. Its environment switch VERBOSE, which changes verdicts, is not
# reproduced.

REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
NONE_OF_THEM = "Z"
_MARKS_TO_SPACES = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))
# As published: letters A to D only, and no word boundary after them, so "the answer is dog" reads D.
_ANSWER_IS = re.compile(r"answer\s+is\s+\**([A-D])", re.IGNORECASE)


def infer(reply: str, options: Mapping[str, str], rules: str = "vlmevalkit") -> str | None:
    """The option letter a reply chooses; ``Z`` for a refusal; None when undecided.

    `rules`: ``vlmevalkit``, the official heuristics; ``vlmevalkit-2026-06``, their form until 2026-06-17,
    which does not look for "answer is X"; ``vlmevalkit-2025-08``, their form until 2025-08-04, in which
    moreover a lone letter counts wherever it stands and the text rule has no length limit; or ``eyechart``,
    our own reader (never ``Z``).

    Quirk kept: "the answer is dog" reads D. Quirk not kept: the official code changes the caller's dict.

    >>> options = {"A": "teddy bear", "B": "rabbit", "C": "cat", "D": "dog"}
    >>> infer("I think B", options), infer("b", options), infer("b", options, rules="eyechart")
    ('B', None, 'B')
    """
    if rules == "eyechart":
        return read_choice(str(reply), options).letter
    if rules not in RULES:
        known = ", ".join([*RULES, "eyechart"])
        raise UsageError(f"no rules named {rules!r} for reading a choice", hint=f"use one of: {known}")
    text = str(reply)
    return _by_letter(text, options, RULES[rules]) or _by_text(text, options, RULES[rules])


class Rules(msgspec.Struct, frozen=True):
    """One historical form of the heuristics."""

    last_tokens: int | None  # a lone letter must first occur among so many last tokens; None: anywhere
    has_answer_is: bool
    has_length_limit: bool


RULES: Mapping[str, Rules] = {
    "vlmevalkit": Rules(last_tokens=4, has_answer_is=True, has_length_limit=True),
    "vlmevalkit-2026-06": Rules(last_tokens=4, has_answer_is=False, has_length_limit=True),
    "vlmevalkit-2025-08": Rules(last_tokens=None, has_answer_is=False, has_length_limit=False),
}


def _by_letter(text: str, options: Mapping[str, str], rules: Rules) -> str | None:
    if API_FAILURE in text:
        return None
    if any(refusal in text for refusal in REFUSALS):
        return NONE_OF_THEM
    tokens = text.translate(_MARKS_TO_SPACES).split()
    seen = set(tokens)
    letters = [letter for letter in options if letter in seen]
    if len(letters) == 1:
        first = tokens.index(letters[0])
        if rules.last_tokens is None or first >= len(tokens) - rules.last_tokens:
            return letters[0]
    elif not letters and NONE_OF_THEM in seen:
        return NONE_OF_THEM
    return _by_answer_is(text, options) if rules.has_answer_is else None


def _by_answer_is(text: str, options: Mapping[str, str]) -> str | None:
    found = _ANSWER_IS.search(text)
    letter = found.group(1).upper() if found else ""
    return letter if letter in options else None


def _by_text(text: str, options: Mapping[str, str], rules: Rules) -> str | None:
    text = text.lower()
    texts = {letter: str(option).lower() for letter, option in options.items()}
    if rules.has_length_limit and len(text) > 2 * sum(len(str(option)) for option in options.values()):
        return None
    # As published: no word boundaries, so "cat" is found in "concatenate".
    found = [letter for letter, option in texts.items() if option in text]
    return found[0] if len(found) == 1 else None
