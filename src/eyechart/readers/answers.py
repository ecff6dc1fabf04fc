"""Open answers: what a reply answers, and whether that is the gold.

Each gold is read by what it is: yes or no, a time, a date, a range, a number with its unit, or text. The
places where a reply may give its answer are tried in order: a JSON key, a box or tag, what is headed or
stated ("the answer is ..."), the whole reply. A place that is nothing but an answer is compared with the
gold. A place that is a sentence is read as choices are (`decide`): the numbers, dates or words that it
names are its options, and one of them must be asserted. What no rule can read is `unparsed`; `wrong` is
an answer that was read and differs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from eyechart.readers import languages as r
from eyechart.readers.clauses import (
    EDGE,
    Clause,
    Token,
    ends_sentence,
    find_clauses,
    find_tokens,
    join_roles,
    lower,
    skip_back,
    to_plain,
)
from eyechart.readers.decide import Slot, decide_tokens, find_contained, read_choice, read_statement
from eyechart.readers.languages import load_languages
from eyechart.readers.mentions.dates import Clock, find_clocks, find_dates, is_same_clock, is_same_date
from eyechart.readers.mentions.numbers import Quantity
from eyechart.readers.mentions.options import (
    Options,
    is_other_number,
    join_tokens,
    list_polar_words,
    mark_words,
    prepare_options,
)
from eyechart.readers.mentions.quantities import (
    TOLERANCE,
    find_quantities,
    is_same_quantity,
    parse_quantity,
    parse_range,
    read_bound,
)
from eyechart.readers.mentions.units import ORDINAL
from eyechart.readers.wording import is_same_wording, list_other_names, list_signs, normalise
from eyechart.replies import Reading, find_answer_start, is_abstention, normalise_characters, unwrap

MAX_SLOT_CHARS = 300
MAX_STATED = 16  # the last ones; no real reply states an answer this often
MAX_GOLD_CHARS = 500  # of a gold that can be anything but text
MAX_ANSWER_WORDS = 6  # more words are a sentence
MAX_SPANS = 200  # numbers of a reply; no real reply needs more


_BLANK = re.compile(r"_{3,}")  # a form that was not filled in


class Verdict(msgspec.Struct, frozen=True):
    """What was read, and whether it is a gold."""

    reading: Reading
    is_right: bool = False


def judge_answer(reply: str, golds: Sequence[str], question: str = "") -> Verdict:
    """What a reply answers, and whether it meets one of the golds.

    >>> judge_answer("The difference between 30 and 12 is 18.", ["18"]).is_right
    True
    >>> judge_answer("The roof is green and the door is white.", ["white"]).reading.rule
    'text:no-statement'
    """
    kinds: dict[str, list[str]] = {}
    for gold in golds:
        kinds.setdefault(find_kind(gold) if len(gold) <= MAX_GOLD_CHARS else "text", []).append(gold)
    if _BLANK.search(reply):
        return Verdict(Reading(None, "text:no-statement"))
    verdicts = [
        judge_kind(kind, reply, some, question=question) for kind, some in (kinds or {"text": []}).items()
    ]
    return next((verdict for verdict in verdicts if verdict.is_right), verdicts[0])


def judge_kind(
    kind: str, reply: str, golds: Sequence[str], tolerance: float = TOLERANCE, question: str = ""
) -> Verdict:
    """The same for golds that are all read as one kind."""
    if kind == "yes-no":
        return judge_yes_no(reply, golds, question)
    verdict = Verdict(Reading(None, f"{kind}:empty"))
    for slot in find_slots(reply):
        verdict = _read_number(slot, golds, tolerance) if kind == "number" else _READERS[kind](slot, golds)
        if verdict.reading.answer is not None or slot.kind in ("json", "tag", "boxed"):
            break  # what a box holds is the answer, readable or not
    return verdict


# -- Where an answer is given


def find_slots(reply: str) -> list[Slot]:
    """The places where a reply may give its answer, the most explicit first; the whole reply is the last.

    >>> [(slot.kind, slot.text) for slot in find_slots("Let me see. The answer is Dr. Smith.")][:1]
    [('stated', 'Dr. Smith')]
    """
    begin = find_answer_start(reply)
    body = reply[begin:].strip()
    if not body:
        return []
    slots: list[Slot] = []
    contained = [place for place in find_contained(reply, begin) if place.text.strip()]
    if contained:
        last = contained[-1]
        held = last.text.strip()
        slots.append(replace(last, text=held if held.endswith("!") else _unwrap(held)))  # a factorial
    slots += [*find_stated(reply, begin), *find_marked(reply, begin)]
    start = begin + reply[begin:].find(body[0])
    return [*slots, Slot("whole", body, start, start + len(body))]


_BOLD = re.compile(r"(?<!\*)\*\*(?=[^\s*])([^*\n]{1,60})(?<=[^\s*])\*\*(?!\*)")
_QUOTED = re.compile(
    r'\b(?:reads|says|spells|displays|states|called|named|written as)[:,]?\s+"([^"\n]{1,80})"'
)


def find_marked(reply: str, begin: int = 0) -> list[Slot]:
    """The one thing that a reply prints in bold, or that a text in the picture reads.

    >>> [(slot.kind, slot.text) for slot in find_marked("It was highest in **2019**, with 45 units.")]
    [('bold', '2019')]
    """
    found: list[Slot] = []
    for kind, pattern in (("bold", _BOLD), ("quoted", _QUOTED)):
        marked = list(pattern.finditer(normalise_characters(reply), begin))
        if len(marked) == 1 and ":" not in (marked[0][1][-1:], reply[marked[0].end() : marked[0].end() + 1]):
            found.append(Slot(kind, _unwrap(marked[0][1].strip()), *marked[0].span(1)))
    return found


_BRACKETS = re.compile(r"[(\[][^()\[\]]*\d[^()\[\]]*,[^()\[\]]*[)\]]")


def _unwrap(text: str) -> str:
    """The text without quotes, Markdown and brackets, but for those of coordinates and intervals."""
    plain = text.strip("*_`\"' $.,;:")
    return plain if _BRACKETS.fullmatch(plain) or len(plain) < 3 else unwrap(text) or text


def find_stated(reply: str, begin: int = 0) -> list[Slot]:
    """What follows "the answer is", "Answer:", "答案是", the last one first; not what is only supposed."""
    tokens, _ = find_tokens(to_plain(reply)[begin:])
    found: list[Slot] = []
    stated = [clause for clause in find_clauses(tokens) if clause.roles & r.ANSWER]
    for clause in stated[-MAX_STATED:]:
        place = _find_cue_end(tokens, clause)
        if clause.carried & (r.IF | r.REPORT | r.FIRST) or place is None or place >= len(tokens):
            continue
        stop = place + 1
        while stop < min(len(tokens), place + MAX_SLOT_CHARS) and not (
            tokens[stop].is_end and ends_sentence(tokens, stop, stop, starts=False)
        ):
            stop += 1
        start, end = tokens[place].start + begin, tokens[stop - 1].end + begin
        answer = reply[start : min(end, start + MAX_SLOT_CHARS)].strip()
        if any(map(str.isalnum, answer)) or not found:
            line = reply[start : start + MAX_SLOT_CHARS].partition("\n")[0]
            found.append(Slot("stated", _unwrap(answer), start, end, line.strip()))
    return found[::-1][:3]


def _find_cue_end(tokens: Sequence[Token], clause: Clause) -> int | None:
    """Where what an answer clause states begins: after "is", a colon, or a line break after a heading."""
    part = tokens[clause.start : clause.end]
    first = next(at for at, token in enumerate(part, clause.start) if token.roles & r.ANSWER)
    is_heading = all(token.is_mark or token.roles & _HEADING for token in part)
    for at in range(first + 1, min(first + 9, len(tokens))):
        token = tokens[at]
        if token.roles & (r.NOT | r.CHOOSE) or (token.is_end and not (is_heading and token.word == "\n")):
            return None
        if token.roles & (r.BE | r.BE_LAST) or token.word in _CUES:
            at += 1
            while at < len(tokens) and (tokens[at].word in _SKIPPED or tokens[at].roles & r.SMALL):
                at += 1
            return at
    return None


_HEADING = r.ANSWER | r.RIGHT | r.SMALL | r.ARTICLE | r.SO
_CUES = frozenset(":=→-\n")
_SKIPPED = frozenset(":,\n*_#=→`\"'")


# -- What a gold is

_LEADING_ZERO = re.compile(r"0\d")
_MAX_PLAIN_DIGITS = 10  # more digits are an identifier: a phone, a card, an order
_DECADE = re.compile(r"(?:the\s)?'?(?:\d\d)?\d0'?s", re.IGNORECASE)  # not 1980 seconds
_MAY_BE_MOMENT = re.compile(r"\d|[点點時시]|\b(?:noon|midday|midnight|past|to|clock|[ap]m)\b", re.IGNORECASE)
_MAX_MOMENT_CHARS = 60


@lru_cache(maxsize=4096)
def find_kind(gold: str) -> str:
    """What a gold is: yes-no, time, date, range, number or text.

    >>> [find_kind(gold) for gold in ("3 pm", "5 March 2021", "3-5", "12 kg", "12A", "007", "3rd", "no")]
    ['time', 'date', 'range', 'number', 'text', 'text', 'text', 'yes-no']
    """
    if read_polarity(gold):
        return "yes-no"
    if _DECADE.fullmatch(gold.strip()):
        return "text"
    plain = unwrap(normalise_characters(gold))
    if len(gold) <= _MAX_MOMENT_CHARS and _MAY_BE_MOMENT.search(gold):
        if any(_is_all(plain, clock.span) for clock in find_clocks(plain)):
            return "time"
        if any(_is_all(plain, date.span) for date in find_dates(plain)):
            return "date"
        if parse_range(gold):
            return "range"
    quantity = parse_quantity(gold)
    return "text" if quantity is None or ORDINAL in quantity.units or is_code(gold) else "number"


def _is_all(text: str, span: tuple[int, int]) -> bool:
    return not text[: span[0]].strip(" (") and not text[span[1] :].strip(" .)")


def is_code(gold: str) -> bool:
    """Whether digits are an identifier rather than an amount, so that they are compared as text.

    >>> is_code("007"), is_code("13800138000"), is_code("0.5"), is_code("1998"), is_code("1,000,000,000")
    (True, True, False, False, False)
    """
    digits = gold.strip().lstrip("+")
    return _LEADING_ZERO.match(digits) is not None or (digits.isdigit() and len(digits) > _MAX_PLAIN_DIGITS)


@lru_cache(maxsize=4096)
def read_polarity(gold: str) -> str | None:
    """Yes or No if a gold is one of the words for them, or true or false; else None.

    >>> read_polarity("yes"), read_polarity("False"), read_polarity("Nein"), read_polarity("none")
    ('Yes', 'No', 'No', None)
    """
    return list_polar_words().get(unwrap(normalise_characters(gold)).lower())


# -- Numbers, times and dates: the ones that a place names are its options


def _read_number(slot: Slot, golds: Sequence[str], tolerance: float = TOLERANCE) -> Verdict:
    wanted = [quantity for gold in golds if (quantity := parse_quantity(gold))]
    inner = _IN_BRACKETS.fullmatch(slot.text.strip())  # (5) is -5 in accounts, and 5 elsewhere
    texts = (slot.text, inner[1]) if inner else (slot.text,)
    said = [quantity for text in texts if (quantity := parse_quantity(text))]
    if said and not (slot.text.endswith("!") and slot.kind in ("boxed", "tag")):
        is_right = any(is_same_quantity(one, gold, tolerance) for one in said for gold in wanted)
        return Verdict(slot.read("number"), is_right)
    if any(gold.value == 0 for gold in wanted) and _says_none(slot.text):
        return Verdict(slot.read("number", "0", "none"), is_right=True)
    if any(is_same_wording(slot.text, gold) for gold in golds):
        return Verdict(slot.read("number"), is_right=True)
    return _read_number_within(slot, golds, wanted, tolerance)


def _read_number_within(
    slot: Slot, golds: Sequence[str], wanted: Sequence[Quantity], tolerance: float
) -> Verdict:
    """The one number that a sentence asserts; a year or a total is one only if it is the gold's kind."""
    text = to_plain(slot.text)
    tokens, codes = find_tokens(text)
    labels: list[Quantity] = []
    spans: list[tuple[int, int, str]] = []
    for one in find_quantities(text, codes)[:MAX_SPANS]:
        if ORDINAL in one.units:
            continue
        same = (is_same_quantity(one, other) and one.noun == other.noun for other in labels)
        label = next((at for at, is_same in enumerate(same) if is_same), len(labels))
        labels += [one] if label == len(labels) else []
        spans += [] if read_bound(text, one.span)[0] else [(*one.span, f"{label}")]
    if not any(_YEAR.fullmatch(gold.strip()) for gold in golds):
        spans = [span for span in spans if not _is_year(text, span)] or spans
    asides = {at for found in re.finditer(r"\([^()\n]{0,200}\)", text) for at in range(*found.span())}
    outside = [span for span in spans if span[0] not in asides]
    reading = _decide_spans(text, tokens, outside or spans, "number")
    rule = reading.rule.partition(":")[2]
    is_unsure = _CHANGE.match(text.strip()) is not None or (slot.kind == "stated" and len(labels) > 1)
    if reading.answer is None or (rule == "option-text" and is_unsure):
        return Verdict(Reading(None, reading.rule))
    said = labels[int(reading.answer)]
    is_right = any(is_same_quantity(said, gold, tolerance) for gold in wanted)
    answer = text[slice(*said.span)].strip()
    return Verdict(slot.read("number", answer, rule if slot.kind == "whole" else ""), is_right)


_CHANGE = re.compile(  # "8% decrease" is not 8%
    r"[-+\d.,\s]{1,20}[%‰] (?:decrease|increase|drop|rise|decline|lower|higher|less|more|fewer)\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[5-9]|20|21)\d\d")
_IN_BRACKETS = re.compile(r"\(\s?([\d.,]+)\s?\)")
_WHEN = re.compile(r"\b(?:in|since|by|from|of|year|during|until|for)\s$")
_OF_ALL = re.compile(r"\b(?:out of|of the|of all)\s(?:the\s)?$")


def _is_year(text: str, span: tuple[int, int, str]) -> bool:
    """Whether a number only says when, or of how many: "in 2020", "8 out of 10"."""
    said, before = text[span[0] : span[1]], lower(text[max(0, span[0] - 12) : span[0]])
    is_when = _YEAR.fullmatch(said.strip()) and _WHEN.search(before)
    return bool(is_when or _OF_ALL.search(before))


def _says_none(text: str) -> bool:
    """Whether a text says that there is none: "None.", "There are no giraffes."."""
    if normalise(text) in ("none", "nil", "nothing", "nobody", "no one", "没有", "无"):
        return True
    found = read_statement(text, "")
    return found is not None and found.answer == "No" and len(text) < MAX_SLOT_CHARS


def _decide_spans(
    text: str, tokens: Sequence[Token], spans: Sequence[tuple[int, int, str]], kind: str
) -> Reading:
    """Which of some places in a text is asserted; its label."""
    made = (
        Token(start, end, lower(text[start:end]), letters=(label,), keys=(label,))
        for start, end, label in sorted(spans)
    )
    plain = join_tokens(text, list(tokens), made)
    merged = [
        replace(token, letters=None)
        if kind == "number" and token.letters and is_other_number(text, plain, place, place)
        else token
        for place, token in enumerate(plain)
    ]
    options = Options({label: label for _, _, label in spans}, has_numbers=True)
    reading = decide_tokens(text, 0, merged, options)
    return Reading(reading.answer, f"{kind}:{reading.rule.partition(':')[2]}", reading.span)


def _read_moment(slot: Slot, golds: Sequence[str], kind: str) -> Verdict:
    """The one time or date that a place asserts; one that can be read two ways is right if one way is."""
    is_time = kind == "time"
    find: Callable[[str], Sequence[Any]] = find_clocks if is_time else find_dates
    is_same: Callable[[Any, Any], bool] = is_same_clock if is_time else is_same_date
    wanted = [one for gold in golds for one in find(normalise_characters(gold))]
    text = to_plain(slot.text)
    found = find(_DOTTED.sub(r"\1:\2", text) if is_time else text)
    hour = parse_quantity(slot.text) if is_time and not found else None
    if hour and not hour.units and not hour.bound and hour.value in range(1, 13):
        found = [Clock(int(hour.value) * 60, "", (0, len(text)))]  # 10 for 10 am
    labels: dict[tuple[int, int], str] = {}
    for one in found:
        if labels.get(one.span) != "gold":
            is_gold = any(is_same(one, gold) for gold in wanted)
            labels[one.span] = "gold" if is_gold else lower(text[slice(*one.span)])
    spans = [(*span, label) for span, label in labels.items()]
    reading = _decide_spans(text, find_tokens(text)[0], spans, kind)
    if reading.answer is None:
        return _read_text(slot, golds)
    answer = next(text[start:end] for start, end, label in spans if label == reading.answer)
    return Verdict(slot.read(kind, answer), reading.answer == "gold")


_DOTTED = re.compile(r"(?<![\d.])(\d{1,2})\.([0-5]\d)(?![\d.])")  # 9.15 for 9:15
_LEAD = re.compile(
    r"(?:(?:according to|based on|in|judging by) the [a-z]+(?: [a-z]+)?, "
    r"|(?:it|the \w+|they|there)\s(?:is|was|are|were)\s|about\s|approximately\s|around\s|roughly\s){1,2}",
    re.IGNORECASE,
)


def _read_range(slot: Slot, golds: Sequence[str]) -> Verdict:
    said = parse_range(_LEAD.sub("", slot.text, count=1))
    if said is None:
        return _read_text(slot, golds)
    wanted = filter(None, map(parse_range, golds))
    return Verdict(slot.read("range"), any(all(map(is_same_quantity, said, ends)) for ends in wanted))


# -- Text


def _read_text(slot: Slot, golds: Sequence[str]) -> Verdict:
    """A text: the place is the gold, or a sentence that asserts it; a short one that is neither is wrong."""
    for text in (slot.text, slot.line):
        if any(is_same_wording(text, gold) for gold in golds):
            return Verdict(slot.read("text", text), is_right=True)
    for head in _list_heads(slot.text):
        if any(is_same_wording(head, gold) for gold in golds):
            return Verdict(slot.read("text", head.strip(), f"{slot.kind}-within"), is_right=True)
    is_answer = _is_answer(slot.text)
    like = [gold for gold in golds if list_signs(gold) == list_signs(slot.text)]
    if is_answer and any(is_same_wording(bare, gold) for bare in _list_bare(slot.text) for gold in like):
        return Verdict(slot.read("text"), is_right=True)
    if not (is_answer and _is_name(slot.text)) and (found := _find_statement(slot.text, golds)) is not None:
        return Verdict(slot.read("text", slot.text[slice(*found)], f"{slot.kind}-within"), is_right=True)
    if is_answer and not (slot.kind == "whole" and is_abstention(slot.text)):
        return Verdict(slot.read("text"))
    return Verdict(Reading(None, "text:no-statement"))


_HEAD_END = re.compile(
    r"\s\(|: | - |, not | rather than |, followed by |, because |, i think|, i believe|, specifically "
    r"|, which | \U0001f1e6",
    re.IGNORECASE,
)


def _list_heads(text: str) -> Iterator[str]:
    """An answer before what only adds to it: "China: 45%", "Titanic (1997)", "a dog, not a cat"."""
    plain = to_plain(text)
    end = _HEAD_END.search(plain) if len(plain) <= MAX_SLOT_CHARS else None
    if end and not list_polar_words().get(normalise(plain[end.end() :])):
        yield text[: end.start()]
    if (lead := _LEAD.match(plain)) and len(plain) <= MAX_SLOT_CHARS:
        yield text[lead.end() :]


def _list_bare(text: str) -> Iterator[str]:
    """An answer without what only says its kind: "a slice of pizza", "on the left side", "Paris, France"."""
    kinds, places = load_languages()["en"]["kinds"], load_languages()["en"]["places"]
    head, _, tail = text.strip(" .").rpartition(", ")
    is_within = normalise(tail) in places and normalise(head) not in places
    if head and (is_within or normalise(tail) in ("of course", "i think", "i believe")):
        yield head
    tokens = [token for token in find_tokens(to_plain(text))[0] if not token.is_mark]
    is_kind_last = bool(tokens) and tokens[-1].word in load_languages()["en"]["kinds_after"]
    ends = [token.end for token in (tokens[-2:] if is_kind_last else tokens[-1:])]
    for first, (token, following) in enumerate(pairwise(tokens)):
        yield from (text[token.start : end] for end in ends if end > token.start)
        is_code = any(map(str.isdigit, following.word))  # "Gate B7"
        is_article = token.roles & r.ARTICLE or token.word in _BEFORE
        is_name = token.is_capital and following.is_capital and not (is_code or is_article)
        is_small = is_article or token.roles & (r.ADJECTIVE | r.SMALL)
        if is_name or not (is_small or "-" in token.word or token.word in kinds):
            return
        if first + 2 == len(tokens):
            yield text[following.start : following.end]


_BEFORE = r.words("of to on in at from by the with its it's that's every")


def _is_name(text: str) -> bool:
    """Whether a text is a few unknown words, which may be another name: "table tennis", "White House"."""
    tokens, _ = find_tokens(to_plain(text))
    words = [token for token in tokens if not token.is_mark and not token.roles & r.ARTICLE]
    is_known = [token.roles and not token.is_capital and not token.roles & r.LABEL for token in words]
    return len(words) < 4 and not any(is_known)


def _is_answer(text: str) -> bool:
    """Whether a text is an answer, not a sentence: a few words without a verb."""
    tokens, _ = find_tokens(to_plain(text))
    n_words = sum(not token.is_mark for token in tokens)
    has_verb = join_roles(tokens) & (r.BE | r.THINK | r.PRESENT | r.CHOOSE | r.BE_LAST)
    is_one = not has_verb and not any(token.is_end for token in tokens[:-1])
    return 0 < n_words <= MAX_ANSWER_WORDS and is_one


_WORD = re.compile(r"[^\W\d_]{2}|\d[:-]\d|\d[^\W\d_]|[^\W\d_]\d|[\u2e80-\u9fff\uac00-\ud7af]")


def _find_statement(text: str, golds: Sequence[str]) -> tuple[int, int] | None:
    """Where a sentence asserts a gold in whole words; None if it does not, or asserts something else, too."""
    golds = [gold for gold in golds if _WORD.search(to_plain(gold))]
    golds += [name for gold in golds for name in list_other_names(gold)]
    plain = to_plain(text)
    options = prepare_options({f"{place}": gold for place, gold in enumerate(golds) if normalise(gold)})
    tokens, codes = find_tokens(plain)
    tokens = mark_words(plain, tokens, options, codes)
    if not any(token.letters for token in tokens):
        return None
    for token in tokens:
        token.letters = ("gold",) if token.letters else token.letters
    reading = decide_tokens(plain, 0, tokens, Options({"gold": "gold"}))
    if reading.answer is None:
        return None
    place = next(at for at, token in enumerate(tokens) if token.start == reading.span[0])
    said = text[slice(*reading.span)]
    is_other = all(len(gold) < 4 and gold.isupper() and said != gold for gold in golds)  # "us" for "US"
    if is_other or _is_beside_another(tokens, place):
        return None
    if reading.rule.endswith("option-text"):
        first, last = _find_sentence(tokens, place)
        is_one = not first and last + 2 >= len(tokens) and not any(token.word == ";" for token in tokens)
        if not is_one or _is_beside_complement(tokens[: last + 1], place):
            return None  # "Brazil is second; the tallest bar belongs to Mexico."
    return reading.span


def _find_sentence(tokens: Sequence[Token], place: int) -> tuple[int, int]:
    """The first and the last token of the sentence around a place, its mark left out."""
    first = last = place
    while first and not tokens[first - 1].is_end:
        first -= 1
    while last + 1 < len(tokens) and not tokens[last + 1].is_end:
        last += 1
    return first, last


def _is_beside_complement(sentence: Sequence[Token], place: int) -> bool:
    """Whether another noun comes first: "a cat next to a dog", "it is a man with a dog"."""
    lead = skip_back(sentence, place - 1, r.ARTICLE)
    verb_after = next((at for at in range(place + 1, len(sentence) - 1) if sentence[at].roles & r.BE), None)
    if lead > 0 and sentence[lead].word in _NEAR and verb_after and not sentence[verb_after + 1].is_mark:
        return True  # "the country next to Italy is Austria"
    verb = next((at for at in range(place - 1, -1, -1) if sentence[at].roles & (r.BE | r.PRESENT)), None)
    begin = 0 if verb is None else verb + 1
    kinds = load_languages()["en"]["kinds"]
    has_verb = any(not token.roles and token.word.endswith("s") for token in sentence[:place])
    for at, token in enumerate(sentence[begin:place], begin):
        is_word = not token.roles and token.word.isascii() and token.word.isalpha()
        is_noun = at == begin or sentence[at - 1].roles & (r.ARTICLE | r.ADJECTIVE)
        is_quality = token.word.endswith(("ing", "ed", "en")) or token.word in kinds
        if is_word and is_noun and not is_quality:
            return verb is not None or not has_verb
    return False


_NEAR = r.words("to near beside behind above below from with of by under over") | {"next to", "close to"}


def _is_beside_another(tokens: Sequence[Token], place: int) -> bool:
    """Whether another answer stands beside: "the roof is green and the door is white"."""
    first, last = _find_sentence(tokens, place)
    before, after = tokens[first:place], [*tokens[place + 1 : last + 1], EDGE]
    words = [token.word for token in before]
    if words.count("(") > words.count(")") or not {"which", "who", "whose", "where"}.isdisjoint(words):
        return True  # "India (China is second)"
    if after[0].word == "," and any(token.roles & (r.AND | r.OR) for token in after):
        return True
    is_named_again = any(token.letters for token in tokens[place + 1 :])
    if not is_named_again and any(token.roles & r.BUT for token in after):
        return True
    verbs = [at for at in range(first, last + 1) if tokens[at].roles & (r.BE | r.PRESENT)] or [0]
    is_turn = any(token.roles & _TURNING for token in tokens[first : last + 1])
    for joint in range(first, last + 1):
        is_comma = tokens[joint].word == ","
        if joint == place or not (is_comma or tokens[joint].roles & (r.AND | r.OR)):
            continue
        beside = joint + 1
        while beside < place and tokens[beside].roles & (r.ARTICLE | r.ADJECTIVE):
            beside += 1
        if place in (joint - 1, beside) and not is_comma:
            return True
        if verbs[0] < joint <= verbs[-1] and not (is_comma and is_turn):  # "It's not London, it's Paris."
            return True
    if len(after) > 2 and after[0].word == "," and (not after[1].roles or len(after) < 5):
        return not after[1].roles & (r.BECAUSE | r.SO | r.SMALL | r.ARTICLE)
    return len(before) > 1 and before[-1].word == "," and not before[-2].roles and not before[-2].is_mark


_TURNING = r.NOT | r.FIRST | r.BUT | r.SO | r.REPORT


# -- Yes and no


def judge_yes_no(reply: str, golds: Sequence[str], question: str = "") -> Verdict:
    """Whether a reply says yes or no, in words or by what it states; true is yes, false is no.

    >>> replies = {"Daher lautet die Antwort: Ja.": "yes", "There is no car.": "no"}
    >>> [judge_yes_no(reply, [gold]).is_right for reply, gold in replies.items()]
    [True, True]
    """
    reading = read_yes_no(reply, question)
    wanted = {read_polarity(gold) for gold in golds}
    return Verdict(reading, reading.answer is not None and reading.answer in wanted)


def read_yes_no(reply: str, question: str = "") -> Reading:
    """Yes or No, by the words for it, or by what a first sentence states."""
    words = normalise(reply[find_answer_start(reply) :])
    if alone := _list_lone_words().get(words.replace(",", "")):
        return Reading(alone, "yes-no:whole", (0, len(reply)), is_whole=True)
    found = read_choice(reply, {"Yes": "Yes", "No": "No"})
    answers = {list_polar_words().get(word) for word in re.findall(r"\w+", lower(reply[:MAX_SLOT_CHARS]))}
    if {"Yes", "No"} <= answers and found.answer is None:
        return Reading(None, "yes-no:ambiguous")
    rule = found.rule.partition(":")[2]
    said = read_polarity(found.evidence(reply)) if rule == "denied" else None
    if said:  # "The answer is not yes."
        return Reading("No" if said == "Yes" else "Yes", "yes-no:denied", found.span)
    if found.answer is not None or rule == "ambiguous":
        rule = "whole" if rule in ("option-text", "bare-letter") else rule
        return Reading(found.answer, f"yes-no:{rule}", found.span, found.is_whole)
    end = reply.rstrip().rfind(". ") + 2
    if end > 1 and _CONCLUDES.match(reply, end) and (last := read_statement(reply[end:], question)):
        return Reading(last.answer, "yes-no:concluded", (end, len(reply)))
    return read_statement(reply, question) or Reading(None, "yes-no:unread")


_CONCLUDES = re.compile(r"(?:therefore|so|thus|hence|consequently|in conclusion|overall)\b", re.IGNORECASE)


@lru_cache(maxsize=1)
def _list_lone_words() -> dict[str, str]:
    """What is a yes or a no where nothing else is said: "It is.", "Not at all."."""
    found = dict(list_polar_words())
    for role, answer in (("yes_alone", "Yes"), ("no_alone", "No")):
        found |= dict.fromkeys(map(normalise, load_languages()["en"][role]), answer)
    return found


_READERS: dict[str, Callable[[Slot, Sequence[str]], Verdict]] = {
    "time": partial(_read_moment, kind="time"), "date": partial(_read_moment, kind="date"),
    "range": _read_range, "text": _read_text,
}  # fmt: skip


def explain_answer(reply: str, golds: Sequence[str], question: str = "") -> Iterator[str]:
    r"""The steps by which an open answer is read from a reply and compared with the golds.

    >>> print(*explain_answer("Let me see. The answer is Dr. Smith.", ["dr smith"]), sep="\n")
    gold       'dr smith' is text
    places     stated 'Dr. Smith', whole 'Let me see. The answer is Dr. Smith.'
    decision   right: 'Dr. Smith' by text:stated
    """
    yield "gold       " + ", ".join(f"{gold!r} is {find_kind(gold)}" for gold in golds)
    slots = find_slots(reply)
    yield "places     " + (", ".join(f"{slot.kind} {slot.text[:80]!r}" for slot in slots) or "none")
    verdict = judge_answer(reply, golds, question)
    read = verdict.reading.answer
    outcome = "right" if verdict.is_right else "unparsed" if read is None else "wrong"
    yield f"decision   {outcome}: {read!r} by {verdict.reading.rule}"
