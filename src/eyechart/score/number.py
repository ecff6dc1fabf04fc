"""Numbers: reading the one that a reply states, and comparing it with the gold.

A number counts where the reply states it, concludes it, or names no other. Numbers that are denied ("not
8"), that name something ("Figure 2", "option 2") or that stand in a question are not read; one that is
bounded ("at least 8") is read with its bound, which only a gold with the same bound meets.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from eyechart.registry import scorer
from eyechart.score.context import Context, prepare_context, read_bound
from eyechart.score.languages import LANGUAGES
from eyechart.score.numerals import (
    Number,
    find_numbers,
    normalise_numerals,
    unwrap_number_span,
)
from eyechart.score.quantity import (
    TOLERANCE,
    Quantity,
    find_quantities,
    is_same_quantity,
    parse_quantity,
    parse_quantity_span,
)
from eyechart.score.reading import (
    Reading,
    StatedAnswer,
    find_all_answers,
    find_answer_start,
    find_sentence_end,
    is_abstention,
    lower_ascii,
    read_json_answer,
    score_reading,
)
from eyechart.stats.intervals import add_in_order
from eyechart.types import Reply, Sample, Score

__all__ = [
    "MAX_NUMBERS", "Number", "add_in_order", "find_numbers", "normalise_numerals", "number", "parse_number",
    "read_number", "score_number", "unwrap_number_span",
]  # fmt: skip

MAX_NUMBERS = 2_000  # a reply with more numbers than this states none of them
MAX_CONCLUSIONS = 4  # the last ones
MAX_WHOLE_CHARS = 120  # of a reply that is one number with its unit and wrapping
MAX_PLAIN_CHARS = 20_000  # nor is the only number of so long a reply its answer
_CLAUSE_END = re.compile(
    r"[,;(（，；。、]|\b(?:because|since|as|which|with|from|based|after|where|if|so)\b", re.IGNORECASE
)
_CONCLUSION = re.compile(
    r"\b(?:so|therefore|thus|hence|in total|total(?: of| is|:)?|altogether|in all|overall|sum is|gives|"
    r"equals|makes?|made|comes to|namely|adds? up to|leaves|(?:difference|average|mean|median|sum|result"
    r"|count|ratio)\s(?:is|was|would be|equals))\b"
    r"|\bi\.e\.,?|\bthat is,|因此|所以|总共|一共|共有|共计|合计|差是|和是|结果是"
)
_CORRECTED = re.compile(
    r"\b(?:wait|actually|correction|scratch that|on second thoughts?|i mean|sorry|oops|no,|rather,"
    r"|make that)\b[\s,:;.-]"
    r"|\bbut\s(?:it|there|that|this|actually|in fact|really|the\s(?:actual|real|correct|true|answer)|now"
    r"|i\s(?:count|see)|on closer)\b"
    r"|不对[,，:]|更正"
)


_ASKS_WHEN = re.compile(r"\b(?:when|years?|date)\b|年", re.IGNORECASE)
_NONE = re.compile(
    r"\W{0,3}(?:there\s(?:are|is|were|was)\s)?(?:none|nothing|nobody|no\sone|no\s(?!idea|doubt|way|answer"
    r"|more|fewer|less|problem)\w+(?:\s\w+){0,8}|zero\s\w+)\W{0,3}$"
    r"|(?:图中|图片中|画面中|这里)?(?:没有|一个也没有|无)(?!法)[^,，。?？]{0,8}[。.]?$"
    r"|(?:il n'y en a )?aucune?\b\W{0,3}$|keine?[rs]?\b\W{0,3}$|ningun[oa]\b\W{0,3}$|nenhuma?\b\W{0,3}$"
    r"|nessun[oa]\b\W{0,3}$|ни одного\W{0,3}$",
    re.IGNORECASE,
)  # fmt: skip


@scorer("number", version="5")
def score_number(reply: Reply, sample: Sample) -> Score:
    """The number the reply states, with its unit, against golds that are numbers."""
    reading, found = find_stated_quantity(reply.text, may_skip_years=not _ASKS_WHEN.search(sample.question))
    golds = [gold for text in sample.golds if (gold := parse_quantity(text))]
    if sample.golds and not golds:
        return Score(outcome="unscored", value=0.0, read=reading.answer, route="number:gold-not-a-number")
    hit = found is not None and any(_is_gold(reply.text, found, gold, TOLERANCE) for gold in golds)
    if (
        found is None
        and any(gold.value == 0 and not gold.bound for gold in golds)
        and _NONE.match(reply.text.strip())
    ):
        return score_reading(reply, sample, Reading("0", "number:none"), 1.0)
    return score_reading(reply, sample, reading, float(hit))


def number(prediction: str, golds: Sequence[str], *, tolerance: float = TOLERANCE) -> float:
    """1 when the number the reply states equals a gold, within the relative `tolerance`; else 0.

    Units that both sides state must agree; a percent sign on one side only may be read either way: ``50%``
    meets both ``50`` and ``0.5``.

    >>> number("The answer is 1,234.50.", ["1234.5"]), number("three dogs", ["3"]), number("2 or 3", ["3"])
    (1.0, 1.0, 0.0)
    >>> number("104", ["100"], tolerance=0.05), number("500 cm", ["5 m"]), number("at least 8", ["8"])
    (1.0, 1.0, 0.0)
    """
    found = find_stated_quantity(prediction, may_skip_years=True)[1]
    if found is None:
        return 0.0
    wanted = (gold for text in golds if (gold := parse_quantity(text)))
    return float(any(_is_gold(prediction, found, gold, tolerance) for gold in wanted))


def read_number(text: str) -> Reading:
    r"""The number a reply states: its last decisive statement, else the only number in it. Never guesses.

    >>> read_number("2 + 3 = 5").answer, read_number(r"\boxed{\frac{1}{2}}").answer
    ('5', '0.5')
    >>> read_number("I see 3 cats and 4 dogs").rule, read_number("There are not 8.").rule
    ('number:ambiguous', 'number:unread')
    """
    return find_stated_quantity(text)[0]


def parse_number(text: str) -> Number | None:
    """The number a short text is, with its sign, currency, unit or percent; None when it is anything else.

    >>> [parse_number(text).value for text in ("-3", "1,234", "3,14", "$5 million", "2.5e3", "50%", "１２")]
    [-3.0, 1234.0, 3.14, 5000000.0, 2500.0, 0.5, 12.0]
    >>> parse_number("room 12"), parse_number("12:30"), parse_number("2019-05-06"), parse_number("12A")
    (None, None, None, None)
    """
    found = parse_quantity(text)
    return None if found is None or found.bound else replace(found.number, span=found.span)


def _is_gold(reply: str, found: Quantity, gold: Quantity, tolerance: float) -> bool:
    if is_same_quantity(found, gold, tolerance):
        return True
    if gold.value < 0 < found.value and reply.strip().startswith("("):  # in accounts, (5) is -5
        negated = parse_quantity(reply)
        return negated is not None and is_same_quantity(negated, gold, tolerance)
    return False


# -- The quantity that a reply states


def find_stated_quantity(reply: str, *, may_skip_years: bool = False) -> tuple[Reading, Quantity | None]:
    """The quantity that a reply states, with the rule that found it.

    With `may_skip_years`, a year that only says when ("45 million in 2020") is not a second answer.
    """
    text = normalise_numerals(reply)
    begin = find_answer_start(text)
    start, end = unwrap_number_span(text, begin)
    if start >= end:
        return Reading(None, "number:empty"), None
    if _DECADE.fullmatch(text, start, end):  # "the 2020s" are not 2020
        return Reading(None, "number:unread"), None
    value = read_json_answer(text, begin)
    if (
        isinstance(value, int | float | str)
        and not isinstance(value, bool)
        and (inner := parse_quantity(str(value)))
    ):
        return _reading(inner, "json", (begin, len(text))), inner
    whole = parse_quantity(text[begin:]) if len(text) - begin <= MAX_WHOLE_CHARS else None
    if whole is not None:
        if whole.value < 0 and text[start] in "0123456789$€£¥":  # "(5)": -5 only where the gold is negative
            positive = replace(whole.number, value=-whole.value, face=-whole.number.face)
            whole = replace(whole, number=positive)
        return _reading(whole, "whole", (start, end)), whole
    for place in chain(find_all_answers(text, begin), _conclusions(text, begin)):
        found = _stated_in(text, place.start, place.end)
        if found == "several":
            return Reading(None, "number:ambiguous", (place.start, place.end)), None
        if isinstance(found, Quantity):
            return _reading(found, place.kind, found.span), found
    return _only_one(text, _find_correction(text, start, end), end, may_skip_years=may_skip_years)


def _stated_in(text: str, start: int, end: int) -> Quantity | str | None:
    """The one quantity of a statement: that of its first clause, or what an equation comes to."""
    equals = text.rfind("=", start, end)
    if equals >= 0 and len(result := _distinct(text, equals + 1, end)) == 1:
        return result[0]
    end = equals if equals >= 0 else end
    start, end = unwrap_number_span(text, start, end)
    if whole := parse_quantity_span(text, start, end):
        return whole if not _is_denied(text, whole.span, start, end) else None
    found = list(_find_kept(text, start, end))
    if not found:
        return None
    clause = _CLAUSE_END.search(text, found[0].span[1], end)
    stop = clause.start() if clause else end
    values = {(one.value, one.bound) for one in found if one.span[1] <= stop}
    return found[0] if len(values) == 1 else "several"


def _conclusions(text: str, begin: int) -> Iterator[StatedAnswer]:
    """The last few "so ...", "in total ...", "= ...", the last first."""
    cues = [cue.end() for cue in _CONCLUSION.finditer(lower_ascii(text), begin)]
    equals = text.rfind("=", begin)
    if equals >= 0:
        cues.append(equals + 1)
    for last in sorted(cues)[: -MAX_CONCLUSIONS - 1 : -1]:
        yield StatedAnswer("concluded", last, find_sentence_end(text, last))


def _find_correction(text: str, start: int, end: int) -> int:
    """Where the last correction begins that states a number, otherwise `start`."""
    cues = list(_CORRECTED.finditer(lower_ascii(text), start, end))
    if cues and any(True for _ in find_numbers(text, cues[-1].end(), min(end, cues[-1].end() + 200))):
        return cues[-1].end()
    return start


def _only_one(text: str, start: int, end: int, *, may_skip_years: bool) -> tuple[Reading, Quantity | None]:
    values = _distinct(text, start, min(end, start + MAX_PLAIN_CHARS))
    if len(values) > 1:
        undated = [one for one in values if not (may_skip_years and _says_when(text, one))]
        undated = [one for one in undated if not _SUBSET.match(text, one.span[1])] or undated
        if len(undated) == 1:
            return _reading(undated[0], "only-number", undated[0].span), undated[0]
        if chosen := _lead(text, start, end) or _picked(text, start, end) or _total(text, start, end):
            return _reading(*chosen, chosen[0].span), chosen[0]
        return Reading(None, "number:ambiguous"), None
    if not values or end - start > MAX_PLAIN_CHARS or is_abstention(text[start:end]):
        return Reading(None, "number:unread"), None
    return _reading(values[0], "only-number", values[0].span), values[0]


_SUBSET = re.compile(r"\sof\s(?:which|whom|them|these|those)\b")  # "12 birds, 4 of which are red"
_WHEN = re.compile(
    r"\b(?:in|since|by|during|until|of|for|year|fy|en|im|jahr|в)\s(?:the\syear\s|early\s|late\s)?$",
    re.IGNORECASE,
)


def _says_when(text: str, found: Quantity) -> bool:
    """Whether a number is a year that only says when: "45 million in 2020"."""
    first = found.span[0]
    return _is_year(found) and _WHEN.search(text[max(0, first - 16) : first]) is not None


_FIRST = re.compile(r"[^\n.]{0,60}(?:\.\d[^\n.]{0,60})?(?:\n|\.(?=\s)|$)")
_EXPLAINED = re.compile(r"[:(.,]|\b(?:with|of which|including)\b")
_LISTED = re.compile(r"\n\s{0,4}[(*]{0,3}\d{1,3}[.)]\s")


def _lead(text: str, start: int, end: int) -> tuple[Quantity, str] | None:
    """The quantity that is the whole first sentence or last line: "5. There are 3 here, 2 there."."""
    first, last = _FIRST.match(text, start, end), text.rfind("\n", start, end) + 1
    if first and not _LISTED.search(text, start, end):
        lead = parse_quantity_span(text, *unwrap_number_span(text, start, first.end()))
        if lead and not lead.noun:
            return lead, "first-sentence"
    opening = next(_find_kept(text, start, end), None)
    if (
        opening
        and opening.span[0] == start
        and re.match(r"(?:\s[a-z]+)?\s\(", text[opening.span[1] : opening.span[1] + 24])
    ):
        return opening, "first"  # "45% (up from 40%)"
    if last > start and (line := parse_quantity_span(text, *unwrap_number_span(text, last, end))):
        return line, "last-line"
    return None


def _picked(text: str, start: int, end: int) -> tuple[Quantity, str] | None:
    """What the last sentence picks out of values listed before: "The middle one is 14."."""
    stop = max(text.rfind(mark, start, end - 1) for mark in (". ", ".\n", "\n", "。"))
    last = _distinct(text, stop + 1, end) if stop > start else []
    before = _distinct(text, start, stop) if len(last) == 1 else []
    is_listed = len(before) >= 3 and any(one.value == last[0].value for one in before)
    return (last[0], "picked") if is_listed else None


def _total(text: str, start: int, end: int) -> tuple[Quantity, str] | None:
    """The first of a few numbers, where the others explain it and add up: "5 dogs: 3 here and 2 there"."""
    found = list(_find_kept(text, start, end, limit=12))
    if not 3 <= len(found) <= 12 or any(one.bound for one in found):
        return None
    is_explained = _EXPLAINED.search(text, found[0].span[1], found[1].span[0]) is not None
    return (
        (found[0], "total")
        if is_explained and sum(one.value for one in found[1:]) == found[0].value
        else None
    )


def _distinct(text: str, start: int, end: int) -> list[Quantity]:
    by_value: dict[tuple[float, str], Quantity] = {}
    for found in _find_kept(text, start, end):
        by_value.setdefault((found.value, found.bound), found)
        if len(by_value) > 8:
            break
    return list(by_value.values())


def _reading(found: Quantity, rule: str, span: tuple[int, int]) -> Reading:
    return Reading(f"{found.bound}{found.value:.15g}", f"number:{rule}", span)


# -- Which numbers of a reply can be an answer


def _is_named(before: str) -> bool:
    """Whether the number after this text only points somewhere: "Figure 2", "option no. 2", 图2."""
    head = _NUMBER_SIGN.sub("", before).rstrip(" (#").lower()
    word = head.rpartition(" ")[2].lstrip("(*\"'")
    if word.endswith("."):  # "See the picture. 5 dogs" points nowhere
        return len(word) <= _MAX_ABBREVIATION and word[:-1] in _REFERENCES
    return word in _REFERENCES or head.endswith(_UNSPACED_REFERENCES)


_MAX_ABBREVIATION = 5  # "figs."
_NUMBER_SIGN = re.compile(r"(?<=\w)\.?\s(?:#|no\.?|number)\s?$", re.IGNORECASE)
_REFERENCES = frozenset(phrase for language in LANGUAGES.values() for phrase in language.reference)
_UNSPACED_REFERENCES = tuple(phrase for phrase in _REFERENCES if "\u2e80" <= phrase[0] <= "\ud7af")
_OUT_OF = re.compile(
    r"\b(?:out of|of the|of all|of these|of those)\s(?:the\s)?(?:total\s(?:of\s)?)?$", re.IGNORECASE
)
_DENIED_AFTER = re.compile(
    r"[\"'*)]{0,3}\s(?:(?:is|was|would be|seems|looks)\s(?:clearly\s|definitely\s)?(?:not\b|wrong"
    r"|incorrect|false|too\s(?:many|few|high|low|large|small|much))|isn't|wasn't|cannot be|can't be)"
    r"|[\"'*)]{0,3}\?\s{0,2}no\b",
    re.IGNORECASE,
)
_DECADE = re.compile(r"(?:in\s)?(?:the\s)?(?:\d\d)?\d0'?s", re.IGNORECASE)
_PRODUCT = re.compile(r"[a-z]{1,3}[A-Z][A-Za-z]{1,20}\s")  # a name that is no word of a sentence
_TERM_AFTER = re.compile(r"\s?(?:[x×*÷]|\+|\s[-/])\s?[$€£]?\d")
_TERM_BEFORE = re.compile(r"\d\s?(?:[x×*÷+])\s?$|\d\s[-/]\s$")
_WOULD = re.compile(r"\b(?:would|could|might)\b[^.!?\n]{0,30}$", re.IGNORECASE)
_IF_AFTER = re.compile(r"[^.!?\n]{0,40}\b(?:if|unless)\b", re.IGNORECASE)
_SENTENCE_MARK = re.compile(r"[.!?\n。！？](?!\d)")
_DATED = re.compile(
    r"(?:before|after|later than|earlier than|until|since|bis|avant|après|antes de|después de|prima del|до"
    r"|после|以前|之前|之后|以后)\s?$",
    re.IGNORECASE,
)


def _find_kept(text: str, start: int, end: int, *, limit: int = MAX_NUMBERS) -> Iterator[Quantity]:
    """The quantities that can be an answer, with their bounds: not denied, not a name, not asked about."""
    context = lower = None
    for count, found in enumerate(find_quantities(text, start, end)):
        if count > limit:
            return
        first, last = found.span
        if _is_named(text[max(start, first - 24) : first]) or _OUT_OF.search(
            text[max(start, first - 20) : first]
        ):
            continue
        if last < end and text[last].isascii() and text[last].isalpha() and text[last - 1].isdigit():
            continue  # a part of a code: 12B
        if _PRODUCT.fullmatch(text, start, first) and last >= end - 1:
            continue  # "iPhone 3"
        if _TERM_AFTER.match(text, last, end) or _TERM_BEFORE.search(text[max(start, first - 4) : first]):
            continue  # a term of a sum or a product, whose result is another number
        if lower is None or context is None:
            lower = lower_ascii(text) if text.isascii() else text.lower()
            lower = lower if len(lower) == len(text) else lower_ascii(text)
            context = prepare_context(lower[start : start + 400])
        bound, span = read_bound(text, found.span, start, end)
        if bound and _DATED.search(text[max(start, first - 16) : first]) and not _is_year(found):
            bound, span = "", found.span
        if _WOULD.search(text[max(start, first - 40) : first]) and _IF_AFTER.match(text, last, end):
            continue  # "There would be 4 if ..."
        if _is_denied_in(context, lower, span, start, end):
            continue
        mark = _SENTENCE_MARK.search(text, last, last + 80)
        if mark and mark.group() in "?？" and not text[:first].strip().endswith(("?", "？")):
            continue
        yield replace(found, bound=bound) if bound else found


def _is_year(found: Quantity) -> bool:
    return found.value.is_integer() and 1000 <= found.value <= 2100 and not found.units


def _is_denied(text: str, span: tuple[int, int], start: int, end: int) -> bool:
    lower = lower_ascii(text)
    return _is_denied_in(prepare_context(lower[start : start + 400]), lower, span, start, end)


def _is_denied_in(context: Context, lower: str, span: tuple[int, int], start: int, end: int) -> bool:
    first, last = span
    if _DENIED_AFTER.match(lower, last, end):
        return True
    window = max(start, first - 130)
    part = lower[window : min(end, last + 60)]
    begin = max(lower.rfind(mark, window, first) for mark in (". ", "! ", "? ", "\n", "。"))
    is_supposed = (begin >= 0 or window == start) and context.is_supposed(
        lower[max(start, begin + 1) : first]
    )
    return is_supposed or context.is_denied(part, first - window, last - window)
